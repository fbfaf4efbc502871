"""From graphs to matrices: validate, build features, prepare blocks, run tiles."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError
from fastgntk.graph import FeatureKind, GraphBatch, NodeFeatures
from fastgntk.graph import graphs as as_batch
from fastgntk.kernel import GNTK, Engine, check_weights, get_engine
from fastgntk.matrix._executor import Progress, run, single_threaded_blas
from fastgntk.matrix._path import GramPath
from fastgntk.matrix._plan import Block, Plan, plan_cross, plan_diagonal, plan_gram
from fastgntk.matrix._resources import (
    Memory,
    Workers,
    format_bytes,
    memory_budget,
    round_up_bytes,
    worker_count,
)

__all__ = ["cross_gram", "diagonal", "gram", "gram_path"]

_log = logging.getLogger("fastgntk")

Array = NDArray[np.float64]


def gram(
    graphs: Any,
    spec: GNTK | None = None,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    progress: Progress | None = None,
) -> Array:
    """Compute the kernel between all pairs of graphs.

    Parameters
    ----------
    graphs : anything that :func:`fastgntk.graphs` accepts, n graphs
    spec : GNTK, optional
        Which kernel; ``GNTK()`` if left out. Nothing else below changes values beyond rounding.
    features : {"auto", "attributes", "labels", "degree"} or NodeFeatures
        What nodes start with; a kind is fitted on ``graphs``, a fitted :class:`fastgntk.NodeFeatures` is used as it is.
    engine : str
        How to compute it: ``"decoupled"``, which ``"auto"`` takes, or ``"kronecker"``, the slow literal formula.
    memory : int or str, optional
        Upper limit for the result and the tiles in work, as bytes or ``"2GB"``; a quarter of RAM by default.
    workers : int, optional
        Threads; by default every core. The numbers are the same for any count.
    progress : callable, optional
        Called as ``progress(done, total)`` in units of work; only their ratio has a meaning.

    Returns
    -------
    array of shape (n, n), float64, exactly symmetric, positive semi-definite up to rounding

    Examples
    --------
    >>> import numpy as np, fastgntk as fg
    >>> edge, path = fg.Graph(np.eye(2)[::-1]), fg.Graph(np.eye(3, k=1))
    >>> K = fg.gram([edge, path], fg.GNTK(blocks=1, layers=1, jump=False))
    >>> K.shape, bool(K[0, 1] == K[1, 0])
    ((2, 2), True)
    """
    job = _Job.create(spec, engine, memory, workers, progress)
    batch = as_batch(graphs)
    batch = _fitted(features, batch).transform(batch)
    check_weights(batch, job.spec)
    out = np.zeros((len(batch), len(batch)))
    job.run_gram(batch, out, job.combine, progress)
    return out


def cross_gram(
    rows: Any,
    cols: Any,
    spec: GNTK | None = None,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    progress: Progress | None = None,
) -> Array:
    """Compute the kernel between n graphs (rows, say for testing) and m graphs (cols, say for training).

    Features are fitted on ``cols``: a node label in ``rows`` that ``cols`` does not have becomes a zero row,
    with a warning that counts them. So this is a part of ``gram`` over all graphs only if no label is new. The other
    arguments are those of :func:`gram`.

    Returns
    -------
    array of shape (n, m), float64
    """
    job = _Job.create(spec, engine, memory, workers, progress)
    row_batch, col_batch = as_batch(rows), as_batch(cols)
    step = _fitted(features, col_batch)
    row_batch, col_batch = step.transform(row_batch), step.transform(col_batch)
    for batch in (row_batch, col_batch):
        check_weights(batch, job.spec)
    out = np.zeros((len(row_batch), len(col_batch)))
    job.run_cross(row_batch, col_batch, out, progress)
    return out


def diagonal(
    graphs: Any,
    spec: GNTK | None = None,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    progress: Progress | None = None,
) -> Array:
    """Compute the kernel of each graph with itself, the diagonal of :func:`gram`, without the rest of it.

    Returns
    -------
    array of shape (n,), float64
    """
    job = _Job.create(spec, engine, memory, workers, progress)
    batch = as_batch(graphs)
    batch = _fitted(features, batch).transform(batch)
    check_weights(batch, job.spec)
    out = np.zeros(len(batch))
    job.run_diagonal(batch, out, progress)
    return out


def gram_path(
    graphs: Any,
    spec: GNTK | None = None,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    progress: Progress | None = None,
) -> GramPath:
    """Compute the kernels of every depth 1..blocks, with and without jump, in the one pass of the deepest.

    The arguments are those of :func:`gram`; ``spec.blocks`` is the largest depth.

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs[:5]
    >>> path = fg.gram_path(graphs, fg.GNTK(blocks=3))
    >>> path.at(blocks=2, jump=False).shape
    (5, 5)
    """
    job = _Job.create(spec, engine, memory, workers, progress)
    batch = as_batch(graphs)
    batch = _fitted(features, batch).transform(batch)
    check_weights(batch, job.spec)
    levels = np.zeros((job.spec.blocks + 1, len(batch), len(batch)))
    job.run_gram(batch, levels, lambda tile: tile, progress)
    return GramPath(job.spec, levels)


@dataclass(frozen=True)
class _Job:
    """How to compute: engine, memory and workers, checked."""

    spec: GNTK
    engine: Engine
    memory: int
    workers: int

    @classmethod
    def create(
        cls, spec: GNTK | None, engine: str, memory: Memory, workers: Workers, progress: Progress | None
    ) -> _Job:
        spec = GNTK() if spec is None else spec
        if not isinstance(spec, GNTK):
            raise InputError(f"spec must be a fastgntk.GNTK, but is a {type(spec).__name__}.")
        if progress is not None and not callable(progress):
            raise InputError(f"progress must be a function of (done, total), but is {progress!r}.")
        return cls(spec, get_engine(engine), memory_budget(memory), worker_count(workers))

    def combine(self, levels: Array) -> Array:
        """Reduce the readouts of all levels (L + 1, …) to the value of the kernel."""
        return np.asarray(levels.sum(axis=0)) if self.spec.jump else levels[-1]

    def run_gram(
        self, batch: GraphBatch, out: Array, reduce: Callable[[Array], Array], progress: Progress | None
    ) -> None:
        """Fill the symmetric matrix (or stack of matrices) ``out``, each pair computed once and mirrored."""
        plan = plan_gram(batch.sizes, self.engine.block_nodes)
        workers = self.affordable_workers(plan, out.nbytes)
        prepared = self.prepare(batch, plan.rows, workers)

        def compute(tile: tuple[int, int]) -> None:
            i, j = tile
            values = reduce(self.tile(prepared[i], prepared[j], plan.rows[i], plan.cols[j]))
            rows, cols = _span(plan.rows[i]), _span(plan.cols[j])
            if i == j:  # both triangles were computed; keep one, so that the result is exactly symmetric
                upper = np.triu(values)
                values = upper + np.swapaxes(np.triu(values, 1), -1, -2)
            out[..., rows, cols] = values
            out[..., cols, rows] = np.swapaxes(values, -1, -2)

        self.run(plan, compute, workers, progress)

    def run_cross(self, rows: GraphBatch, cols: GraphBatch, out: Array, progress: Progress | None) -> None:
        """Fill the rectangular matrix ``out``."""
        plan = plan_cross(rows.sizes, cols.sizes, self.engine.block_nodes)
        workers = self.affordable_workers(plan, out.nbytes)
        prepared_rows, prepared_cols = self.prepare(rows, plan.rows, workers), self.prepare(cols, plan.cols, workers)

        def compute(tile: tuple[int, int]) -> None:
            i, j = tile
            levels = self.tile(prepared_rows[i], prepared_cols[j], plan.rows[i], plan.cols[j])
            out[_span(plan.rows[i]), _span(plan.cols[j])] = self.combine(levels)

        self.run(plan, compute, workers, progress)

    def run_diagonal(self, batch: GraphBatch, out: Array, progress: Progress | None) -> None:
        """Fill the vector ``out`` graph by graph."""
        plan = plan_diagonal(batch.sizes)
        workers = self.affordable_workers(plan, out.nbytes)

        def compute(tile: tuple[int, int]) -> None:
            block = plan.rows[tile[0]]
            prepared = self.prepare_block(batch[_span(block)])
            levels = self.tile(prepared, prepared, block, block)
            out[_span(block)] = np.diagonal(self.combine(levels))

        self.run(plan, compute, workers, progress)

    def prepare(self, batch: GraphBatch, blocks: tuple[Block, ...], workers: int) -> list[Any]:
        """Prepare every block once."""
        prepared: list[Any] = [None] * len(blocks)

        def compute(i: int) -> None:
            prepared[i] = self.prepare_block(batch[_span(blocks[i])])

        with single_threaded_blas():
            run(compute, range(len(blocks)), workers=workers)
        return prepared

    def prepare_block(self, batch: GraphBatch) -> Any:
        """Prepare one block; an overflow here shows in its tiles, which say so."""
        # Threads start with NumPy's own settings, so this belongs here and not around the loop.
        with np.errstate(over="ignore", invalid="ignore"):
            return self.engine.prepare(batch, self.spec)

    def tile(self, rows: Any, cols: Any, row_block: Block, col_block: Block) -> Array:
        """Compute one tile and refuse values that are no numbers."""
        where = f"graphs {row_block.start}..{row_block.stop - 1} × {col_block.start}..{col_block.stop - 1}"
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                levels = self.engine.tile(rows, cols)
        except Exception as error:
            error.add_note(f"while computing {where}")
            raise
        if not np.isfinite(levels).all():
            level = int(np.argwhere(~np.isfinite(levels))[0][0])
            raise InputError(
                f"kernel values of {where} leave the range of float64 at block {level} of {self.spec.blocks}; use "
                "scale='degree' or scale='unit', fewer blocks, or smaller features."
            )
        return levels

    def affordable_workers(self, plan: Plan, result: int) -> int:
        """Return how many tiles may be in work at once beside a result of that many bytes; refuse if not even one."""
        blocks = [*plan.rows, *plan.cols]
        if not blocks:
            return 1
        # Preparing a block takes what a tile of the block against itself takes, so the largest block decides.
        largest = max(block.nodes for block in blocks)
        tile_bytes = self.engine.tile_bytes(largest, largest)
        needed = result + tile_bytes
        if needed > self.memory:
            raise InputError(
                f"memory={format_bytes(self.memory)} is too small: the result takes {format_bytes(result)} and its "
                f"largest tile {format_bytes(tile_bytes)}; pass memory={round_up_bytes(needed)!r} or fewer graphs."
            )
        return max(1, min(self.workers, (self.memory - result) // max(tile_bytes, 1)))

    def run(
        self, plan: Plan, compute: Callable[[tuple[int, int]], None], workers: int, progress: Progress | None
    ) -> None:
        """Run the tiles."""
        _log.info("engine %s: %d tiles on %d threads", self.engine.name, len(plan.tiles), workers)
        with single_threaded_blas():
            run(compute, plan.tiles, workers=workers, cost=plan.cost, progress=progress)


def _fitted(features: FeatureKind | NodeFeatures, batch: GraphBatch) -> NodeFeatures:
    return features if isinstance(features, NodeFeatures) else NodeFeatures(features).fit(batch)


def _span(block: Block) -> slice:
    return slice(block.start, block.stop)
