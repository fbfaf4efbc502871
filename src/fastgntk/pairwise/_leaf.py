"""Graphs prepared for one tangent kernel, a leaf of the kernel: engine, colours, blocks; its values, tile by tile."""

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
from fastgntk.engines import Choice, Engine, equal_graphs
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.pairwise._combine import combine_levels
from fastgntk.pairwise._compute import Compute, check_fits_memory
from fastgntk.pairwise._plan import Block, Plan, cut_blocks, largest_extent, plan_cross, plan_diagonal, plan_gram

__all__ = ["BuiltBlock", "Leaf", "compute_levels"]

_log = logging.getLogger("fastgntk")

Write = Callable[[Ints, Ints, Array], None]
"""Called as write(row graphs, column graphs, levels) for every tile."""


class BuiltBlock(NamedTuple):
    """A block of graphs, and what the engine built of it for tiles of the kernel."""

    block: Block
    kernel: GNTK
    engine: Engine
    content: Any


@dataclass(frozen=True, eq=False)
class Leaf:
    """Graphs prepared for one tangent kernel.

    Methods that compute values take the options of the call, and ``result_bytes``, the size of the whole result;
    a method may return only a part of it.
    """

    kernel: GNTK
    batch: GraphBatch  # with its features
    choice: Choice
    prepared: Any  # by the engine
    blocks: tuple[Block, ...]
    built: list[BuiltBlock] = field(default_factory=list)  # when they are first needed
    lock: Any = field(default_factory=threading.Lock)

    @property
    def n(self) -> int:
        """The number of graphs."""
        return len(self.batch.offsets) - 1

    @classmethod
    def prepare(cls, kernel: GNTK, batch: GraphBatch, choice: Choice) -> Self:
        """Do what needs one graph only, and cut the graphs into blocks."""
        engine = choice.engine
        with np.errstate(all="ignore"):  # an overflow shows in the tiles, which refuse it
            prepared = engine.prepare(batch, kernel)
        return cls(kernel, batch, choice, prepared, cut_blocks(engine.outline(prepared), engine.width))

    def cut(self, side: int, order: Ints | None = None) -> Self:
        """Return the same graphs in other blocks; ``side`` and ``order`` as in `cut_blocks`."""
        engine = self.choice.engine
        blocks = cut_blocks(engine.outline(self.prepared), engine.width, side, order)
        return replace(self, blocks=blocks, built=[], lock=threading.Lock())

    def gram(self, compute: Compute, result_bytes: int) -> Array:
        """Return the Gram matrix (n, n)."""
        out = np.zeros((self.n, self.n))
        write = _write_both_triangles(out, lambda levels: combine_levels(levels, self.kernel))
        self._compute_tiles(self, plan_gram(self.blocks), write, compute, result_bytes)
        return out

    def levels(self, compute: Compute) -> Array:
        """Return the readouts of all levels, shape (L + 1, n, n)."""
        out = np.zeros((self.kernel.blocks + 1, self.n, self.n))
        write = _write_both_triangles(out, lambda levels: levels)
        self._compute_tiles(self, plan_gram(self.blocks), write, compute, out.nbytes)
        return out

    def cross(self, cols: Self, compute: Compute, result_bytes: int) -> Array:
        """Return the kernel (n, m) with other graphs that were prepared alike."""
        out = np.zeros((self.n, cols.n))

        def write(rows: Ints, cols: Ints, levels: Array) -> None:
            out[rows[:, None], cols] = combine_levels(levels, self.kernel)

        self._compute_tiles(cols, plan_cross(self.blocks, cols.blocks), write, compute, result_bytes)
        return out

    def diagonal(self, compute: Compute) -> Array:
        """Return the kernel of each graph with itself (n,); blocks are built one by one and not kept."""
        out = np.zeros(self.n)
        plan = plan_diagonal(self.choice.engine.outline(self.prepared))
        workers = self.affordable_workers(plan, compute, out.nbytes)
        finished = self._finish(workers)

        def pick(i: int, _: int) -> tuple[BuiltBlock, BuiltBlock]:
            built = self._build_block(finished, plan.rows[i])
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
        plan = plan_cross(self.blocks, cols.blocks)
        workers = self.affordable_workers(plan, compute, out.nbytes, cols, readouts=len(out))
        col_blocks = cols.build(workers)
        with single_threaded_blas(), np.errstate(all="ignore"):
            content = self.choice.engine.node_block(self._finish(workers), self.batch)
        nodes = BuiltBlock(self.blocks[0], self.kernel, self.choice.engine, content)

        def write(_: Ints, cols: Ints, levels: Array) -> None:
            out[:, cols] = combine_levels(levels, self.kernel)

        self._run_tiles(plan, lambda _, j: (nodes, col_blocks[j]), write, workers, compute.with_progress(None))
        return out

    def equal_graphs(self) -> Ints:
        """Return for each graph the number of the first one that the kernel cannot distinguish from it."""
        colours = self.choice.engine.colours(self.prepared)
        return equal_graphs(self.batch, self.kernel.blocks, typed=self.kernel.typed, colours=colours)

    def build(self, workers: int) -> list[BuiltBlock]:
        """Build every block, once."""
        with self.lock:
            if len(self.built) < len(self.blocks):
                finished = self._finish(workers)
                built: list[Any] = [None] * len(self.blocks)

                def compute(i: int) -> None:
                    built[i] = self._build_block(finished, self.blocks[i])

                with single_threaded_blas():
                    run(compute, range(len(built)), workers)
                self.built[:] = built
        return self.built

    def affordable_workers(
        self, plan: Plan, compute: Compute, result_bytes: int, cols: Self | None = None, readouts: int = 1
    ) -> int:
        """Return how many tiles may be in work at once beside result and prepared graphs; refuse if not even one.

        ``cols`` are other graphs of the columns, which take memory too. A block has at least that many ``readouts``:
        one for each of its graphs, or for each node.
        """
        blocks = [*plan.rows, *plan.cols]
        if not blocks:
            return 1
        # Preparing a block takes what a tile of the block against itself takes, so the largest block decides.
        largest = largest_extent(blocks)
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

    def _build_block(self, finished: Any, block: Block) -> BuiltBlock:
        # Threads start with NumPy's own settings, so this belongs here and not around the loop.
        try:
            with np.errstate(all="ignore"):
                content = self.choice.engine.block(finished, block.graphs)
        except Exception as error:
            error.add_note(f"while preparing graphs {block}")
            raise
        return BuiltBlock(block, self.kernel, self.choice.engine, content)

    def _finish(self, workers: int) -> Any:
        """Do the part of preparing that takes time, on threads."""
        engine = self.choice.engine
        cancelled = np.zeros(1, dtype=np.uint8)

        def work(task: Any) -> None:
            engine.work(self.prepared, task, cancelled)

        run(work, engine.tasks(self.prepared), workers, cancelled=cancelled)
        return engine.finish(self.prepared)

    def _compute_tiles(self, cols: Self, plan: Plan, write: Write, compute: Compute, result_bytes: int) -> None:
        """Compute every tile of the plan, against these graphs or others, and hand it to ``write``."""
        workers = self.affordable_workers(plan, compute, result_bytes, None if cols is self else cols)
        row_blocks, col_blocks = self.build(workers), cols.build(workers)
        self._run_tiles(plan, lambda i, j: (row_blocks[i], col_blocks[j]), write, workers, compute)

    def _run_tiles(
        self,
        plan: Plan,
        pick: Callable[[int, int], tuple[BuiltBlock, BuiltBlock]],
        write: Write,
        workers: int,
        compute: Compute,
    ) -> None:
        """Compute every tile of the plan from the two blocks that ``pick`` returns."""
        cancelled = np.zeros(1, dtype=np.uint8)  # of this call alone: prepared graphs may be in use elsewhere

        def compute_tile(tile: tuple[int, int]) -> None:
            rows, cols = pick(*tile)
            write(rows.block.graphs, cols.block.graphs, compute_levels(rows, cols, cancelled))

        shown = (self.choice.engine.name, self.choice.reason, self.kernel, len(plan.tiles), workers)
        _log.info("engine %s (%s): %s, %d tiles on %d threads", *shown)
        with single_threaded_blas():
            run(compute_tile, plan.tiles, workers, plan.cost, compute.progress, cancelled)


def compute_levels(rows: BuiltBlock, cols: BuiltBlock, cancelled: NDArray[np.uint8]) -> Array:
    """Compute the readouts of all levels between two blocks, and raise an error if some are not finite."""
    try:
        with np.errstate(all="ignore"):
            levels = rows.engine.tile(rows.content, cols.content, cancelled)
    except Exception as error:
        error.add_note(f"while computing graphs {rows.block} × {cols.block}")
        raise
    if not cancelled[0] and not np.isfinite(levels).all():
        level = int(np.argwhere(~np.isfinite(levels))[0][0])
        scales = " or ".join(f"scale={name!r}" for name in ("degree", "unit") if name != rows.kernel.scale)
        raise InputError(
            f"kernel values of graphs {rows.block} × {cols.block} leave the range of float64 at block {level} of "
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
