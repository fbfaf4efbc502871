"""The graphs of one leaf of a kernel, prepared: engine, colours, groups; and the values of the leaf, tile by tile."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.text import format_bytes, round_up_bytes
from fastgntk._util.threads import run, single_threaded_blas
from fastgntk.engines import Choice, Engine, GraphRange, equal_graphs
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.pairwise._combine import combine_levels
from fastgntk.pairwise._compute import Compute, check_fits_memory
from fastgntk.pairwise._plan import (
    GraphGroup,
    Plan,
    cut_into_groups,
    largest_extent,
    plan_cross,
    plan_diagonal,
    plan_gram,
)

__all__ = ["BuiltGroup", "LeafGraphs", "compute_levels"]

_log = logging.getLogger("fastgntk")

Write = Callable[[Ints, Ints, Array], None]
"""Called as write(row graphs, column graphs, levels) for every tile."""


class BuiltGroup(NamedTuple):
    """A group of graphs, and what the engine built of it for tiles of the kernel."""

    group: GraphGroup
    kernel: GNTK
    engine: Engine[Any, Any]
    content: Any


@dataclass(frozen=True, eq=False)
class LeafGraphs:
    """Graphs prepared for one tangent kernel.

    Methods that compute values take the options of the call, and ``result_bytes``, the size of the whole result;
    a method may return only a part of it.
    """

    kernel: GNTK
    batch: GraphBatch  # with its features
    choice: Choice
    prepared: Any  # by the engine
    groups: tuple[GraphGroup, ...]
    built: list[BuiltGroup] = field(default_factory=list)  # when they are first needed
    lock: Any = field(default_factory=threading.Lock)

    @property
    def n(self) -> int:
        """The number of graphs."""
        return len(self.batch.offsets) - 1

    @classmethod
    def prepare(cls, kernel: GNTK, batch: GraphBatch, choice: Choice) -> Self:
        """Do what needs one graph only, and cut the graphs into groups."""
        engine = choice.engine
        with np.errstate(all="ignore"):  # an overflow shows in the tiles, which refuse it
            prepared = engine.prepare(batch, kernel)
        return cls(kernel, batch, choice, prepared, cut_into_groups(engine.outline(prepared), engine.max_group_nodes))

    def cut(self, tile_size: int, order: Ints | None = None) -> Self:
        """Return the same graphs in other groups; ``tile_size`` and ``order`` as in `cut_into_groups`."""
        engine = self.choice.engine
        groups = cut_into_groups(engine.outline(self.prepared), engine.max_group_nodes, tile_size, order)
        return replace(self, groups=groups, built=[], lock=threading.Lock())

    def gram(self, compute: Compute, result_bytes: int) -> Array:
        """Return the Gram matrix (n, n)."""
        out = np.zeros((self.n, self.n))
        write = _write_both_triangles(out, lambda levels: combine_levels(levels, self.kernel))
        self._compute_tiles(self, plan_gram(self.groups), write, compute, result_bytes)
        return out

    def levels(self, compute: Compute) -> Array:
        """Return the readouts of all levels, shape (L + 1, n, n)."""
        out = np.zeros((self.kernel.blocks + 1, self.n, self.n))
        write = _write_both_triangles(out, lambda levels: levels)
        self._compute_tiles(self, plan_gram(self.groups), write, compute, out.nbytes)
        return out

    def cross(self, cols: Self, compute: Compute, result_bytes: int) -> Array:
        """Return the kernel (n, m) with other graphs that were prepared alike."""
        out = np.zeros((self.n, cols.n))

        def write(rows: Ints, cols: Ints, levels: Array) -> None:
            out[rows[:, None], cols] = combine_levels(levels, self.kernel)

        self._compute_tiles(cols, plan_cross(self.groups, cols.groups), write, compute, result_bytes)
        return out

    def diagonal(self, compute: Compute) -> Array:
        """Return the kernel of each graph with itself (n,); groups are built one by one and not kept."""
        out = np.zeros(self.n)
        plan = plan_diagonal(self.choice.engine.outline(self.prepared))
        workers = self.affordable_workers(plan, compute, out.nbytes)
        finished = self._finish_preparation(workers)

        def pick(i: int, _: int) -> tuple[BuiltGroup, BuiltGroup]:
            built = self._build_group(finished, plan.rows[i])
            return built, built

        def write(rows: Ints, _: Ints, levels: Array) -> None:
            out[rows] = np.diagonal(combine_levels(levels, self.kernel))

        self._run_tiles(plan, pick, write, workers, compute)
        return out

    def nodes(self, cols: Self, compute: Compute) -> Array:
        """Return the contribution of each node of the one graph to its row, shape (N, m)."""
        out = np.zeros((self.batch.n_nodes, cols.n))
        check_fits_memory(out.nbytes, compute.budget)
        if not len(out):
            return out
        plan = plan_cross(self.groups, cols.groups)
        workers = self.affordable_workers(plan, compute, out.nbytes, cols, readouts=len(out))
        col_groups = cols.build(workers)
        with single_threaded_blas(), np.errstate(all="ignore"):
            content = self.choice.engine.build_nodes(self._finish_preparation(workers), self.batch)
        nodes = BuiltGroup(self.groups[0], self.kernel, self.choice.engine, content)

        def write(_: Ints, cols: Ints, levels: Array) -> None:
            out[:, cols] = combine_levels(levels, self.kernel)

        self._run_tiles(plan, lambda _, j: (nodes, col_groups[j]), write, workers, compute.with_progress(None))
        return out

    def equal_graphs(self) -> Ints:
        """Return for each graph the number of the first one that the kernel cannot distinguish from it."""
        colours = self.choice.engine.colours(self.prepared)
        return equal_graphs(self.batch, self.kernel.blocks, typed=self.kernel.typed, colours=colours)

    def build(self, workers: int) -> list[BuiltGroup]:
        """Build every group, once."""
        with self.lock:
            if len(self.built) < len(self.groups):
                finished = self._finish_preparation(workers)
                built: list[Any] = [None] * len(self.groups)

                def compute(i: int) -> None:
                    built[i] = self._build_group(finished, self.groups[i])

                with single_threaded_blas():
                    run(compute, range(len(built)), workers)
                self.built[:] = built
        return self.built

    def affordable_workers(
        self, plan: Plan, compute: Compute, result_bytes: int, cols: Self | None = None, readouts: int = 1
    ) -> int:
        """Return how many tiles may be in progress at once beside result and prepared graphs; refuse if not even one.

        ``cols`` are other graphs of the columns, which take memory too. A group has at least that many ``readouts``:
        one for each of its graphs, or for each node.
        """
        groups = [*plan.rows, *plan.cols]
        if not groups:
            return 1
        # Preparing a group takes what a tile of the group against itself takes, so the largest group decides.
        largest = largest_extent(groups)
        largest = largest._replace(graphs=max(largest.graphs, readouts))
        engine, memory = self.choice.engine, compute.budget
        tile_bytes = engine.tile_bytes(largest, largest)
        kept = result_bytes + engine.kept_bytes(self.prepared)
        if cols is not None:
            kept += engine.kept_bytes(cols.prepared)
        if kept + tile_bytes > memory:
            raise InputError(
                f"max_memory={format_bytes(memory)} is too small: result and graphs take {format_bytes(kept)} and the "
                f"largest tile {format_bytes(tile_bytes)}; pass max_memory={round_up_bytes(kept + tile_bytes)!r} or "
                "fewer graphs."
            )
        return max(1, min(compute.threads, (memory - kept) // max(tile_bytes, 1)))

    def _build_group(self, finished: Any, group: GraphGroup) -> BuiltGroup:
        # Threads start with NumPy's own settings, so this belongs here and not around the loop.
        try:
            with np.errstate(all="ignore"):
                content = self.choice.engine.build_group(finished, group.graphs)
        except Exception as error:
            error.add_note(f"while preparing graphs {group}")
            raise
        return BuiltGroup(group, self.kernel, self.choice.engine, content)

    def _finish_preparation(self, workers: int) -> Any:
        """Do the part of preparing that takes time, on threads."""
        engine = self.choice.engine
        cancelled = np.zeros(1, dtype=np.uint8)

        def run_task(task: GraphRange) -> None:
            engine.run_task(self.prepared, task, cancelled)

        run(run_task, engine.preparation_tasks(self.prepared), workers, cancelled=cancelled)
        return engine.finish_preparation(self.prepared)

    def _compute_tiles(self, cols: Self, plan: Plan, write: Write, compute: Compute, result_bytes: int) -> None:
        """Compute every tile of the plan, against these graphs or others, and hand it to ``write``."""
        workers = self.affordable_workers(plan, compute, result_bytes, None if cols is self else cols)
        row_groups, col_groups = self.build(workers), cols.build(workers)
        self._run_tiles(plan, lambda i, j: (row_groups[i], col_groups[j]), write, workers, compute)

    def _run_tiles(
        self,
        plan: Plan,
        pick: Callable[[int, int], tuple[BuiltGroup, BuiltGroup]],
        write: Write,
        workers: int,
        compute: Compute,
    ) -> None:
        """Compute every tile of the plan from the two groups that ``pick`` returns."""
        cancelled = np.zeros(1, dtype=np.uint8)  # a flag of this call alone: prepared graphs may be in use elsewhere

        def compute_tile(tile: tuple[int, int]) -> None:
            rows, cols = pick(*tile)
            write(rows.group.graphs, cols.group.graphs, compute_levels(rows, cols, cancelled))

        shown = (self.choice.engine.name, self.choice.reason, self.kernel, len(plan.tiles), workers)
        _log.info("engine %s (%s): %s, %d tiles on %d threads", *shown)
        with single_threaded_blas():
            run(compute_tile, plan.tiles, workers, plan.cost, compute.progress, cancelled)


def compute_levels(rows: BuiltGroup, cols: BuiltGroup, cancelled: NDArray[np.uint8]) -> Array:
    """Compute the readouts of all levels between two groups, and raise an error if some are not finite."""
    try:
        with np.errstate(all="ignore"):
            levels = rows.engine.tile(rows.content, cols.content, cancelled)
    except Exception as error:
        error.add_note(f"while computing graphs {rows.group} × {cols.group}")
        raise
    if not cancelled[0] and not np.isfinite(levels).all():
        level = int(np.argwhere(~np.isfinite(levels))[0][0])
        scales = " or ".join(f"scale={name!r}" for name in ("degree", "unit") if name != rows.kernel.scale)
        raise InputError(
            f"kernel values of graphs {rows.group} × {cols.group} leave the range of float64 at block {level} of "
            f"{rows.kernel.blocks}; use {scales}, fewer blocks, or smaller features and weights."
        )
    return levels


def _write_both_triangles(out: Array, reduce: Callable[[Array], Array]) -> Write:
    """Return a function that writes a tile and its mirror image, so that the result is exactly symmetric."""

    def write(rows: Ints, cols: Ints, levels: Array) -> None:
        values = reduce(levels)
        if rows is cols:  # both triangles were computed; keep one
            values = np.triu(values) + np.swapaxes(np.triu(values, 1), -1, -2)
        out[..., rows[:, None], cols] = values
        out[..., cols[:, None], rows] = np.swapaxes(values, -1, -2)

    return write
