"""From prepared graphs to values, tile by tile: cut into blocks, keep to the memory, run, check."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.text import format_bytes, round_up_bytes
from fastgntk._util.threads import Progress, run, single_threaded_blas
from fastgntk.engines import Choice, Engine
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.pairwise._plan import Block, Plan, cut_blocks, largest_extent, plan_cross, plan_diagonal

__all__ = ["Cut", "Run", "Write", "check_result"]

_log = logging.getLogger("fastgntk")

Write = Callable[[Ints, Ints, Array], None]
"""Called as write(row graphs, column graphs, levels) for every tile."""


@dataclass(eq=False)
class Cut:
    """Graphs prepared by an engine and cut into blocks; what tiles need of each block is built when first needed."""

    prepared: Any
    blocks: tuple[Block, ...]
    built: list[Any] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)

    def __getstate__(self) -> dict[str, Any]:
        return {"prepared": self.prepared, "blocks": self.blocks, "built": self.built}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, lock=threading.Lock())


def check_result(result: int, memory: int) -> None:
    """Raise an error if the result would not fit in memory."""
    if result > memory:
        raise InputError(
            f"max_memory={format_bytes(memory)} is too small: the result alone takes {format_bytes(result)}; pass "
            f"max_memory={round_up_bytes(result + result // 8)!r} or fewer graphs."
        )


@dataclass(frozen=True)
class Run:
    """One computation: which kernel, by which engine, with how much memory beside the result, on how many threads."""

    kernel: GNTK
    choice: Choice
    memory: int
    workers: int
    result: int  # bytes

    @property
    def engine(self) -> Engine:
        """The engine that was chosen."""
        return self.choice.engine

    def prepare(self, batch: GraphBatch) -> Any:
        """Do what needs one graph only; an overflow here shows in the tiles, which refuse it."""
        with np.errstate(all="ignore"):
            return self.engine.prepare(batch, self.kernel)

    def cut(self, batch: GraphBatch) -> Cut:
        """Prepare graphs and cut them into blocks."""
        return self.cut_prepared(self.prepare(batch))

    def cut_prepared(self, prepared: Any, side: int | None = None, order: Ints | None = None) -> Cut:
        """Cut prepared graphs into blocks; ``side`` and ``order`` as in `cut_blocks`."""
        return Cut(prepared, cut_blocks(self.engine.outline(prepared), self.engine.width, side, order))

    def build(self, cut: Cut, workers: int) -> list[Any]:
        """Build every block of a cut, once."""
        with cut.lock:
            if len(cut.built) < len(cut.blocks):
                finished = self.finish(cut.prepared, workers)
                built: list[Any] = [None] * len(cut.blocks)

                def compute(i: int) -> None:
                    built[i] = self.block(finished, cut.blocks[i])

                with single_threaded_blas():
                    run(compute, range(len(built)), workers=workers)
                cut.built = built
        return cut.built

    def finish(self, prepared: Any, workers: int) -> Any:
        """Do the part of preparing that takes time, on threads."""
        cancelled = np.zeros(1, dtype=np.uint8)

        def cancel() -> None:
            cancelled[0] = 1

        def work(task: Any) -> None:
            self.engine.work(prepared, task, cancelled)

        run(work, self.engine.tasks(prepared), workers=workers, cancel=cancel)
        return self.engine.finish(prepared)

    def tiles(self, rows: Cut, cols: Cut, plan: Plan, write: Write, progress: Progress | None) -> None:
        """Compute every tile of the plan and hand it to ``write``."""
        sides = (rows.prepared,) if rows is cols else (rows.prepared, cols.prepared)
        workers = self.affordable_workers(plan, *sides)
        near, far = self.build(rows, workers), self.build(cols, workers)
        cancelled = np.zeros(1, dtype=np.uint8)  # of this call alone: prepared graphs may be in use elsewhere

        def compute(tile: tuple[int, int]) -> None:
            i, j = tile
            levels = self.tile(near[i], far[j], plan.rows[i], plan.cols[j], cancelled)
            write(plan.rows[i].graphs, plan.cols[j].graphs, levels)

        self.run(plan, compute, workers, progress, cancelled)

    def diagonal(self, prepared: Any, write: Write, progress: Progress | None) -> None:
        """Compute each graph with itself; blocks are built and forgotten one by one."""
        plan = plan_diagonal(self.engine.outline(prepared))
        workers = self.affordable_workers(plan, prepared)
        prepared = self.finish(prepared, workers)
        cancelled = np.zeros(1, dtype=np.uint8)

        def compute(tile: tuple[int, int]) -> None:
            block = plan.rows[tile[0]]
            built = self.block(prepared, block)
            write(block.graphs, block.graphs, self.tile(built, built, block, block, cancelled))

        self.run(plan, compute, workers, progress, cancelled)

    def nodes(self, batch: GraphBatch, cut: Cut, cols: Cut, write: Write) -> None:
        """Compute the rows of the nodes of one graph, cut already, against every block of a cut."""
        plan = plan_cross(cut.blocks, cols.blocks)
        workers = self.affordable_workers(plan, cut.prepared, cols.prepared, readouts=batch.n_nodes)
        far = self.build(cols, workers)
        with single_threaded_blas(), np.errstate(all="ignore"):
            near = self.engine.node_block(self.finish(cut.prepared, workers), batch)
        cancelled = np.zeros(1, dtype=np.uint8)

        def compute(tile: tuple[int, int]) -> None:
            i, j = tile
            levels = self.tile(near, far[j], plan.rows[i], plan.cols[j], cancelled)
            write(plan.rows[i].graphs, plan.cols[j].graphs, levels)

        self.run(plan, compute, workers, None, cancelled)

    def block(self, prepared: Any, block: Block) -> Any:
        """Build one block."""
        # Threads start with NumPy's own settings, so this belongs here and not around the loop.
        try:
            with np.errstate(all="ignore"):
                return self.engine.block(prepared, block.graphs)
        except Exception as error:
            error.add_note(f"while preparing graphs {block}")
            raise

    def tile(self, rows: Any, cols: Any, row_block: Block, col_block: Block, cancelled: NDArray[np.uint8]) -> Array:
        """Compute one tile and refuse values that are no numbers."""
        try:
            with np.errstate(all="ignore"):
                levels = self.engine.tile(rows, cols, cancelled)
        except Exception as error:
            error.add_note(f"while computing graphs {row_block} × {col_block}")
            raise
        if not cancelled[0] and not np.isfinite(levels).all():
            level = int(np.argwhere(~np.isfinite(levels))[0][0])
            scales = " or ".join(f"scale={name!r}" for name in ("degree", "unit") if name != self.kernel.scale)
            raise InputError(
                f"kernel values of graphs {row_block} × {col_block} leave the range of float64 at block {level} of "
                f"{self.kernel.blocks}; use {scales}, fewer blocks, or smaller features and weights."
            )
        return levels

    def affordable_workers(self, plan: Plan, *prepared: Any, readouts: int = 1) -> int:
        """Return how many tiles may be in work at once beside result and prepared graphs; refuse if not even one.

        A block has at least that many ``readouts``: one for each of its graphs, or for each node.
        """
        blocks = [*plan.rows, *plan.cols]
        if not blocks:
            return 1
        # Preparing a block takes what a tile of the block against itself takes, so the largest block decides.
        largest = largest_extent(blocks)
        largest = largest._replace(graphs=max(largest.graphs, readouts))
        tile_bytes = self.engine.tile_bytes(largest, largest)
        kept = self.result + sum(self.engine.kept_bytes(p) for p in prepared)
        needed = kept + tile_bytes
        if needed > self.memory:
            raise InputError(
                f"max_memory={format_bytes(self.memory)} is too small: result and graphs take {format_bytes(kept)} and "
                f"the largest tile {format_bytes(tile_bytes)}; pass max_memory={round_up_bytes(needed)!r} or fewer "
                "graphs."
            )
        return max(1, min(self.workers, (self.memory - kept) // max(tile_bytes, 1)))

    def run(
        self,
        plan: Plan,
        compute: Callable[[tuple[int, int]], None],
        workers: int,
        progress: Progress | None,
        cancelled: NDArray[np.uint8],
    ) -> None:
        """Run the tiles."""
        what = (self.engine.name, self.choice.reason, self.kernel, len(plan.tiles), workers)
        _log.info("engine %s (%s): %s, %d tiles on %d threads", *what)

        def cancel() -> None:
            cancelled[0] = 1

        with single_threaded_blas():
            run(compute, plan.tiles, workers=workers, cost=plan.cost, progress=progress, cancel=cancel)
