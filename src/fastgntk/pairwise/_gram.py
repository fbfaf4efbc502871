"""Kernel matrices: validate, build features, choose, cut, run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import Memory, Workers
from fastgntk._util.threads import Progress
from fastgntk.engines import check_edges
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind, GraphBatch, NodeFeatures, as_graphs
from fastgntk.kernels import GNTK
from fastgntk.pairwise._options import Options, fitted, tell_about_exact
from fastgntk.pairwise._path import GramPath, combine_levels
from fastgntk.pairwise._plan import plan_cross, plan_gram
from fastgntk.pairwise._prepared import PreparedGraphs
from fastgntk.pairwise._run import Cut, Run, Write, check_result
from fastgntk.pairwise.store import StoredGram, as_path, build_gram, check_shard
from fastgntk.sketch import SketchOptions

__all__ = ["combine", "cross_gram", "diagonal", "gram", "gram_path", "write_both_triangles"]

Array = NDArray[np.float64]


@overload
def gram(
    graphs: Any,
    spec: GNTK | None = None,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    progress: Progress | None = None,
    store: None = None,
    shard: None = None,
    executor: None = None,
    **sketching: Unpack[SketchOptions],
) -> Array: ...


@overload
def gram(
    graphs: Any,
    spec: GNTK | None = None,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    progress: Progress | None = None,
    store: str | Path,
    shard: tuple[int, int] | None = None,
    executor: Any = None,
    **sketching: Unpack[SketchOptions],
) -> StoredGram: ...


def gram(
    graphs: Any,
    spec: GNTK | None = None,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    progress: Progress | None = None,
    store: str | Path | None = None,
    shard: tuple[int, int] | None = None,
    executor: Any = None,
    **sketching: Unpack[SketchOptions],
) -> Array | StoredGram:
    """Compute the kernel between all pairs of graphs.

    Parameters
    ----------
    graphs : anything that :func:`fastgntk.as_graphs` accepts, n graphs
    spec : GNTK, optional
        Which kernel; ``GNTK()`` if left out. Nothing below changes values beyond rounding, except a sketch.
    features : {"auto", "attributes", "labels", "all", "degree"} or NodeFeatures
        What nodes start with; a kind is fitted on ``graphs``, a fitted :class:`fastgntk.NodeFeatures` is extended by
        labels that it does not know.
    engine : str
        How to compute it: ``"lossless"`` (compiled, equal nodes merged), ``"decoupled"`` (NumPy and SciPy) or
        ``"kronecker"`` (the slow literal formula); ``"auto"`` takes the first, or the second for very little work. All
        of these give the same numbers. ``"sketched"`` is an approximation for large dense graphs, never taken unasked.
    memory : int or str, optional
        Upper limit for the result and the tiles in work, as bytes or ``"2GB"``; a quarter of RAM by default.
    workers : int, optional
        Threads; by default every core. The numbers are the same for any count.
    progress : callable, optional
        Called as ``progress(done, total)`` in units of work; only their ratio has a meaning.
    store : str or Path, optional
        A folder for the matrix, such as ``"gram.zarr"``. It is written tile by tile and never held in memory; after an
        interruption the same call computes what is missing. Needs the extra ``store``.
    shard : (k, K), optional
        Compute only the k-th of K shares into the store, k = 1..K; several processes, on one machine or on many that
        see the same folder, can each have one.
    executor : dask.distributed.Client, optional
        Compute the tiles on the workers of a Dask cluster, into a store in a folder that all of them see; ``workers``
        threads here prepare the graphs. Needs the extra ``cluster``.
    sketch : {"ams", "gaussian", "srht", "countsketch", "sparse"}
        For ``engine="sketched"``, like those below: the kind of random matrix.
    sketch_size : int, or float in (0, 1], default 0.3
        Rows of a sketch, or a rate: its rows over the nodes of the graph. A graph that has no more nodes
        than that is computed exactly, with a warning.
    seed : int, default 0
        A graph's sketch depends on this and on its edges, so it is the same in every call.
    fresh_each_block : bool, default False
        Draw a new sketch for each block; otherwise one serves all.
    merge_nodes : bool, default True
        Sketch distinct nodes or, as in the paper, all nodes.
    sketch_features : bool, default False
        Sketch the aggregation of the features too, as in the paper; otherwise it is exact, at no cost
        (docs/sketching.md).

    Returns
    -------
    array of shape (n, n), float64, exactly symmetric, positive semi-definite up to rounding; with ``store`` a
    :class:`StoredGram`, which is read like one

    Examples
    --------
    >>> import numpy as np, fastgntk as fg
    >>> edge, path = fg.Graph(np.eye(2)[::-1]), fg.Graph(np.eye(3, k=1))
    >>> K = fg.gram([edge, path], fg.GNTK(blocks=1, layers=1, jump=False))
    >>> K.shape, bool(K[0, 1] == K[1, 0])
    ((2, 2), True)
    """
    options = Options.check(spec, engine, memory, workers, progress, sketching)
    if shard is not None and executor is not None:
        raise InputError("shard is for processes without a scheduler, executor for one; give one of them.")
    if store is not None:
        path, share = as_path(store, "store"), check_shard(shard)
        step, batch = _fitted_and_ready(graphs, features, options)
        return build_gram(batch, step.kind_, options, path, share, progress, executor)
    for name, given in (("shard", shard), ("executor", executor)):
        if given is not None:
            raise InputError(f"{name} is for a store; give store=path too.")
    batch = _ready(graphs, features, options)
    result = 8 * len(batch) ** 2
    run = options.start(batch, None, result)
    cut = run.cut(batch)
    out = np.zeros((len(batch), len(batch)))
    run.tiles(cut, cut, plan_gram(cut.blocks), write_both_triangles(out, combine(options.spec)), progress)
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
    **sketching: Unpack[SketchOptions],
) -> Array:
    """Compute the kernel between n graphs (rows, say for testing) and m graphs (cols, say for training).

    Features are fitted on ``cols``; a node label in ``rows`` that ``cols`` does not have is a label like any other, and
    equal to none of ``cols``. So this is a part of ``gram`` over all graphs. The other arguments are those of
    :func:`gram`.

    Returns
    -------
    array of shape (n, m), float64
    """
    if isinstance(cols, PreparedGraphs):
        _check_prepared(cols, spec, features, engine, sketching)
        return _cross_prepared(rows, cols, memory, workers, progress)
    options = Options.check(spec, engine, memory, workers, progress, sketching)
    row_batch, col_batch = as_graphs(rows), as_graphs(cols)
    step = fitted(features, col_batch, row_batch)
    row_batch, col_batch = step.transform(row_batch), step.transform(col_batch)
    for batch in (row_batch, col_batch):
        check_edges(batch, options.spec)
    run = options.start(row_batch, col_batch, 8 * len(row_batch) * len(col_batch))
    return _cross(run, run.cut(row_batch), run.cut(col_batch), (len(row_batch), len(col_batch)), progress)


def _check_prepared(prepared: PreparedGraphs, spec: GNTK | None, features: Any, engine: str, sketching: Any) -> None:
    """Refuse what prepared graphs have settled already."""
    if engine not in ("auto", prepared.engine) or features != "auto" or sketching:
        raise InputError("engine, sketch and features are those of the prepared graphs; leave them out.")
    if spec is not None and spec != prepared.spec:
        raise InputError(f"the graphs were prepared for {prepared.spec}, but spec is {spec}; leave spec out.")


def _cross_prepared(
    rows: Any, cols: PreparedGraphs, memory: Memory, workers: Workers, progress: Progress | None
) -> Array:
    options = Options.check(cols.spec, cols.engine, memory, workers, progress)
    batch = as_graphs(rows)
    batch = cols.features.extend(batch).transform(batch)
    check_edges(batch, options.spec)
    check_result(8 * len(batch) * len(cols), options.memory)
    if cols.sketching is not None:
        tell_about_exact(cols.sketching, batch.sizes)
    run = replace(cols.run, memory=options.memory, workers=options.workers, result=8 * len(batch) * len(cols))
    return _cross(run, run.cut(batch), cols.cut, (len(batch), len(cols)), progress)


def _cross(run: Run, rows: Cut, cols: Cut, shape: tuple[int, int], progress: Progress | None) -> Array:
    out = np.zeros(shape)
    reduce = combine(run.spec)

    def write(near: NDArray[np.int64], far: NDArray[np.int64], levels: Array) -> None:
        out[near[:, None], far] = reduce(levels)

    run.tiles(rows, cols, plan_cross(rows.blocks, cols.blocks), write, progress)
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
    **sketching: Unpack[SketchOptions],
) -> Array:
    """Compute the kernel of each graph with itself, the diagonal of :func:`gram`, without the rest of it.

    ``graphs`` may be prepared graphs; then leave out what they were prepared with.

    Returns
    -------
    array of shape (n,), float64
    """
    if isinstance(graphs, PreparedGraphs):
        _check_prepared(graphs, spec, features, engine, sketching)
        options = Options.check(graphs.spec, graphs.engine, memory, workers, progress)
        check_result(8 * len(graphs), options.memory)
        run = replace(graphs.run, memory=options.memory, workers=options.workers, result=8 * len(graphs))
        return _diagonal(run, graphs.cut.prepared, len(graphs), progress)
    options = Options.check(spec, engine, memory, workers, progress, sketching)
    batch = _ready(graphs, features, options)
    run = options.start(batch, None, 8 * len(batch), pairs=float(np.sum(batch.sizes.astype(np.float64) ** 2)))
    return _diagonal(run, run.prepare(batch), len(batch), progress)


def _diagonal(run: Run, prepared: Any, count: int, progress: Progress | None) -> Array:
    out = np.zeros(count)
    reduce = combine(run.spec)

    def write(rows: NDArray[np.int64], _: NDArray[np.int64], levels: Array) -> None:
        out[rows] = np.diagonal(reduce(levels))

    run.diagonal(prepared, write, progress)
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
    **sketching: Unpack[SketchOptions],
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
    options = Options.check(spec, engine, memory, workers, progress, sketching)
    batch = _ready(graphs, features, options)
    shape = (options.spec.blocks + 1, len(batch), len(batch))
    run = options.start(batch, None, 8 * int(np.prod(shape)))
    cut = run.cut(batch)
    levels = np.zeros(shape)
    run.tiles(cut, cut, plan_gram(cut.blocks), write_both_triangles(levels, lambda tile: tile), progress)
    return GramPath(options.spec, levels, run.engine.name)


def _ready(graphs: Any, features: FeatureKind | NodeFeatures, options: Options) -> GraphBatch:
    """Return the graphs as a batch with features, checked."""
    return _fitted_and_ready(graphs, features, options)[1]


def _fitted_and_ready(
    graphs: Any, features: FeatureKind | NodeFeatures, options: Options
) -> tuple[NodeFeatures, GraphBatch]:
    batch = as_graphs(graphs)
    step = fitted(features, batch)
    batch = step.transform(batch)
    check_edges(batch, options.spec)
    return step, batch


def write_both_triangles(out: Array, reduce: Callable[[Array], Array]) -> Write:
    """Return a function that writes a tile and its mirror image, so that the result is exactly symmetric."""

    def write(rows: NDArray[np.int64], cols: NDArray[np.int64], levels: Array) -> None:
        values = reduce(levels)
        if rows is cols:  # both triangles were computed; keep one
            values = np.triu(values) + np.swapaxes(np.triu(values, 1), -1, -2)
        out[..., rows[:, None], cols] = values
        out[..., cols[:, None], rows] = np.swapaxes(values, -1, -2)

    return write


def combine(spec: GNTK) -> Callable[[Array], Array]:
    """Return the reduction of the readouts of all levels (L + 1, …) to the value of the kernel."""
    return lambda levels: combine_levels(levels, spec)
