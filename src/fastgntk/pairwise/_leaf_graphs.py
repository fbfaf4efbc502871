"""Graphs prepared for one leaf of a kernel: engine, colours and groups; and the values of the leaf, tile by tile."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.text import format_bytes, round_up_bytes
from fastgntk._util.threads import run, single_threaded_blas
from fastgntk.engines import Choice, Engine, GraphRange, equal_graphs, first_with_equal_colours
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Leaf, Network
from fastgntk.pairwise._combine import combine_levels, mirror_upper_triangle
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

__all__ = ["BuiltGroup", "LeafGraphs", "compute_values"]

_log = logging.getLogger("fastgntk")

Write = Callable[[Ints, Ints, Array], None]
"""Called as write(row graphs, column graphs, tile) for each tile."""


class BuiltGroup(NamedTuple):
    """A group of graphs, and the engine's data of it, from which tiles of the kernel are computed."""

    group: GraphGroup
    kernel: Leaf
    engine: Engine[Any, Any, Any]
    content: Any
    divisors: Array | None = None  # of the readouts of its graphs, or of its nodes; None if they are sums


ComputeTile = Callable[[BuiltGroup, BuiltGroup, NDArray[np.uint8]], Array]
"""`compute_values`, or `compute_levels` for the readouts of all levels."""


@dataclass(frozen=True, eq=False)
class LeafGraphs:
    """Graphs prepared for one leaf.

    Methods that compute values take the options of the call, and ``result_bytes``, the size of the whole result, which
    may be larger than the array that the method returns.
    """

    kernel: Leaf
    batch: GraphBatch  # with encoded node features
    choice: Choice
    state: Any  # of the engine
    groups: tuple[GraphGroup, ...]
    built: list[BuiltGroup] = field(default_factory=list)  # filled when groups are first needed
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def n(self) -> int:
        """The number of graphs."""
        return len(self.batch.offsets) - 1

    @classmethod
    def prepare(cls, kernel: Leaf, batch: GraphBatch, choice: Choice, others: Self | None = None) -> Self:
        """Do all work that needs one graph only, and cut the graphs into groups.

        ``others`` are the column graphs, if these are rows of a matrix with other graphs.
        """
        engine = choice.engine
        with np.errstate(all="ignore"):  # an overflow makes tiles infinite, and those raise an error
            state = engine.prepare(batch, kernel, None if others is None else others.state)
        return cls(kernel, batch, choice, state, cut_into_groups(engine.outline(state), engine.max_group_nodes))

    def cut(self, tile_size: int, order: Ints | None = None) -> Self:
        """Return the same graphs in other groups; ``tile_size`` and ``order`` as in `cut_into_groups`."""
        engine = self.choice.engine
        groups = cut_into_groups(engine.outline(self.state), engine.max_group_nodes, tile_size, order)
        return replace(self, groups=groups, built=[], lock=threading.Lock())

    def gram(self, compute: Compute, result_bytes: int) -> Array:
        """Return the Gram matrix (n, n)."""
        out = np.zeros((self.n, self.n))
        self._compute_tiles(self, plan_gram(self.groups), _write_both_triangles(out), compute, result_bytes)
        return out

    def levels(self, compute: Compute) -> Array:
        """Return the readouts of all levels, shape (L + 1, n, n)."""
        out = np.zeros((self.kernel.depth + 1, self.n, self.n))
        write = _write_both_triangles(out)
        self._compute_tiles(self, plan_gram(self.groups), write, compute, out.nbytes, compute_levels)
        return out

    def cross(self, cols: Self, compute: Compute, result_bytes: int) -> Array:
        """Return the kernel (n, m) with other graphs that were prepared the same way."""
        out = np.zeros((self.n, cols.n))

        def write(rows: Ints, cols: Ints, values: Array) -> None:
            out[rows[:, None], cols] = values

        self._compute_tiles(cols, plan_cross(self.groups, cols.groups), write, compute, result_bytes)
        return out

    def diagonal(self, compute: Compute) -> Array:
        """Return the kernel of each graph with itself (n,); groups are built one by one and not kept."""
        found = self.choice.engine.diagonal(self.state)
        if found is not None:
            return found
        out = np.zeros(self.n)
        plan = plan_diagonal(self.choice.engine.outline(self.state))
        workers = self.affordable_workers(plan, compute, out.nbytes)
        finished = self._finish_preparation(workers)

        def pick(i: int, _: int) -> tuple[BuiltGroup, BuiltGroup]:
            built = self._build_group(finished, plan.rows[i])
            return built, built

        def write(rows: Ints, _: Ints, values: Array) -> None:
            out[rows] = np.diagonal(values)

        self._run_tiles(plan, pick, write, workers, compute)
        return out

    def node_contributions(self, cols: Self, compute: Compute) -> Array:
        """Return the contributions (N, m) of the nodes of a single graph to its row of the matrix."""
        out = np.zeros((self.batch.n_nodes, cols.n))
        check_fits_memory(out.nbytes, compute.memory_budget)
        if not len(out):
            return out
        plan = plan_cross(self.groups, cols.groups)
        workers = self.affordable_workers(plan, compute, out.nbytes, cols, readouts=len(out))
        col_groups = cols.build(workers)
        with single_threaded_blas(), np.errstate(all="ignore"):
            content = self.choice.engine.build_nodes(self._finish_preparation(workers), self.batch)
        divisors = self._divisors(np.zeros(len(out), dtype=np.int64))
        nodes = BuiltGroup(self.groups[0], self.kernel, self.choice.engine, content, divisors)

        def write(_: Ints, cols: Ints, values: Array) -> None:
            out[:, cols] = values

        self._run_tiles(plan, lambda _, j: (nodes, col_groups[j]), write, workers, compute.with_progress(None))
        return out

    def equal_graphs(self) -> Ints:
        """Return for each graph the number of the first one that the kernel cannot distinguish from it."""
        engine, kernel = self.choice.engine, self.kernel
        found = engine.equal_graphs(self.state)
        if found is not None:
            return found
        colours = engine.colours(self.state)
        if colours is not None:
            return first_with_equal_colours(self.batch.offsets, colours)
        return equal_graphs(self.batch, kernel.depth, **kernel.refinement)

    def build(self, workers: int) -> list[BuiltGroup]:
        """Build every group, once."""
        with self.lock:
            if len(self.built) < len(self.groups):
                finished = self._finish_preparation(workers)
                built: list[Any] = [None] * len(self.groups)

                def build_group(i: int) -> None:
                    built[i] = self._build_group(finished, self.groups[i])

                with single_threaded_blas():
                    run(build_group, range(len(built)), workers)
                self.built[:] = built
        return self.built

    def affordable_workers(
        self, plan: Plan, compute: Compute, result_bytes: int, cols: Self | None = None, readouts: int = 1
    ) -> int:
        """Return how many tiles fit in memory alongside the result and the prepared graphs; raise if not even one fits.

        ``cols`` are the column graphs if they differ from these, and take memory too. ``readouts`` is a lower bound for
        the readouts of a group: one for each of its graphs, or one for each node.
        """
        groups = [*plan.rows, *plan.cols]
        if not groups:
            return 1
        # Building a group takes as much memory as a tile of the group with itself, so the largest group decides.
        largest = largest_extent(groups)
        largest = largest._replace(graphs=max(largest.graphs, readouts))
        engine, budget = self.choice.engine, compute.memory_budget
        tile_bytes = engine.tile_bytes(largest, largest)
        kept_bytes = result_bytes + engine.kept_bytes(self.state)
        if cols is not None:
            kept_bytes += engine.kept_bytes(cols.state)
        if kept_bytes + tile_bytes > budget:
            raise InputError(
                f"max_memory={format_bytes(budget)} is too small: result and graphs take {format_bytes(kept_bytes)} "
                f"and the largest tile {format_bytes(tile_bytes)}; pass "
                f"max_memory={round_up_bytes(kept_bytes + tile_bytes)!r} or fewer graphs."
            )
        return max(1, min(compute.threads, (budget - kept_bytes) // max(tile_bytes, 1)))

    def _build_group(self, finished: Any, group: GraphGroup) -> BuiltGroup:
        # New threads start with NumPy's default error state, so `errstate` belongs here and not around the loop.
        try:
            with np.errstate(all="ignore"):
                content = self.choice.engine.build_group(finished, group.graphs)
        except Exception as error:
            error.add_note(f"while preparing graphs {group}")
            raise
        return BuiltGroup(group, self.kernel, self.choice.engine, content, self._divisors(group.graphs))

    def _divisors(self, graphs: Ints) -> Array | None:
        """Return the number of nodes of each graph if readouts are means; 1 for a graph without nodes."""
        return np.maximum(self.batch.sizes[graphs], 1).astype(np.float64) if self.kernel.pool == "mean" else None

    def _finish_preparation(self, workers: int) -> Any:
        """Do the slow part of the preparation on threads."""
        engine = self.choice.engine
        cancelled = np.zeros(1, dtype=np.uint8)

        def run_task(task: GraphRange) -> None:
            engine.run_task(self.state, task, cancelled)

        run(run_task, engine.preparation_tasks(self.state), workers, cancelled=cancelled)
        return engine.finish_preparation(self.state)

    def _compute_tiles(
        self,
        cols: Self,
        plan: Plan,
        write: Write,
        compute: Compute,
        result_bytes: int,
        compute_tile: ComputeTile | None = None,
    ) -> None:
        """Compute every tile of the plan, with these graphs or others as columns, and pass it to ``write``."""
        workers = self.affordable_workers(plan, compute, result_bytes, None if cols is self else cols)
        row_groups, col_groups = self.build(workers), cols.build(workers)
        self._run_tiles(plan, lambda i, j: (row_groups[i], col_groups[j]), write, workers, compute, compute_tile)

    def _run_tiles(
        self,
        plan: Plan,
        pick: Callable[[int, int], tuple[BuiltGroup, BuiltGroup]],
        write: Write,
        workers: int,
        compute: Compute,
        compute_tile: ComputeTile | None = None,
    ) -> None:
        """Compute every tile of the plan from the two groups that ``pick`` returns, by default its values."""
        cancelled = np.zeros(1, dtype=np.uint8)  # one flag per call: other calls may use these graphs at the same time

        def compute_and_write(tile: tuple[int, int]) -> None:
            rows, cols = pick(*tile)
            write(rows.group.graphs, cols.group.graphs, (compute_tile or compute_values)(rows, cols, cancelled))

        shown = (self.choice.engine.name, self.choice.reason, self.kernel, len(plan.tiles), workers)
        _log.info("engine %s (%s): %s, %d tiles on %d threads", *shown)
        with single_threaded_blas():
            run(compute_and_write, plan.tiles, workers, plan.cost, compute.progress, cancelled)


def compute_values(rows: BuiltGroup, cols: BuiltGroup, cancelled: NDArray[np.uint8]) -> Array:
    """Compute the kernel between two groups, and raise an error if some values are not finite."""
    with _name_groups(rows, cols):
        values: Array | None = rows.engine.weighted_tile(rows.content, cols.content)
    if values is None:
        return combine_levels(compute_levels(rows, cols, cancelled), rows.kernel)
    return _pool(values, rows, cols)


def compute_levels(rows: BuiltGroup, cols: BuiltGroup, cancelled: NDArray[np.uint8]) -> Array:
    """Compute the readouts of all levels between two groups, and raise an error if some are not finite."""
    with _name_groups(rows, cols):
        levels: Array = rows.engine.tile(rows.content, cols.content, cancelled)
    if cancelled[0] or np.isfinite(levels).all():
        return _pool(levels, rows, cols)
    groups = f"{rows.group} × {cols.group}"
    if not isinstance(rows.kernel, Network):
        raise InputError(
            f"values of {rows.kernel} for graphs {groups} leave the range of float64; use smaller numbers."
        )
    level = int(np.argwhere(~np.isfinite(levels))[0][0])
    scales = " or ".join(f"scale={name!r}" for name in ("degree", "unit") if name != rows.kernel.scale)
    raise InputError(
        f"kernel values of graphs {groups} leave the range of float64 at block {level} of "
        f"{rows.kernel.blocks}; use {scales}, fewer blocks, or smaller features and weights."
    )


def _pool(readouts: Array, rows: BuiltGroup, cols: BuiltGroup) -> Array:
    """Return the sums over pairs of nodes (…, n, n'), divided by the numbers of pairs if readouts are means."""
    if rows.divisors is None or cols.divisors is None:
        return readouts
    return np.asarray(readouts / np.multiply.outer(rows.divisors, cols.divisors))


@contextmanager
def _name_groups(rows: BuiltGroup, cols: BuiltGroup) -> Iterator[None]:
    """Name the groups in errors, and silence floating-point warnings: values that are not finite raise an error."""
    try:
        with np.errstate(all="ignore"):
            yield
    except Exception as error:
        error.add_note(f"while computing graphs {rows.group} × {cols.group}")
        raise


def _write_both_triangles(out: Array) -> Write:
    """Return a function that writes a tile and its mirror image, so that the result is exactly symmetric."""

    def write(rows: Ints, cols: Ints, values: Array) -> None:
        if rows is cols:  # rounding differs between the two triangles; keep one
            values = mirror_upper_triangle(values)
        out[..., rows[:, None], cols] = values
        out[..., cols[:, None], rows] = np.swapaxes(values, -1, -2)

    return write
