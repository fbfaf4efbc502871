"""The kernel node by node: which nodes of a graph its values come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import Memory, Workers, memory_budget, worker_count
from fastgntk.engines import check_edges
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind, GraphBatch, NodeFeatures, as_graphs
from fastgntk.kernels import GNTK
from fastgntk.pairwise._path import combine_levels
from fastgntk.pairwise._prepared import PreparedGraphs, prepare
from fastgntk.pairwise._run import check_result
from fastgntk.sketch import SketchOptions

__all__ = ["node_shares", "node_shares_in_chunks"]

_AT_ONCE = 1024  # nodes in one pass: enough to merge many and to make calls few, and rows that stay in the cache


def node_shares(
    graph: Any,
    cols: Any,
    spec: GNTK | None = None,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    **sketching: Unpack[SketchOptions],
) -> NDArray[np.float64]:
    """Compute the share of each node of one graph in its kernel with m graphs: Σ_l Σ_v K(l)_uv for every node u.

    The kernel is a sum over pairs of nodes, so these rows add up to the row that :func:`cross_gram` gives, at the same
    cost. ``cols`` may be prepared graphs; then leave out what they were prepared with. The other arguments
    are those of :func:`gram`.

    Returns
    -------
    array of shape (N, m), float64

    Examples
    --------
    >>> import numpy as np, fastgntk as fg
    >>> data = fg.datasets.load("MUTAG").graphs
    >>> shares = fg.node_shares(data[0], data[:5])
    >>> shares.shape, bool(np.allclose(shares.sum(axis=0), fg.gram(data[:5])[0]))
    ((17, 5), True)
    """
    if isinstance(cols, PreparedGraphs):
        if engine not in ("auto", cols.engine) or features != "auto" or sketching or spec not in (None, cols.spec):
            raise InputError("spec, engine, sketch and features are those of the prepared graphs; leave them out.")
        prepared = cols
    else:
        prepared = prepare(cols, spec, features=features, engine=engine, memory=memory, workers=workers, **sketching)
    batch = as_graphs(graph)
    if len(batch) != 1:
        raise InputError(f"graph must be one graph, but {len(batch)} came.")
    return _rows(batch, prepared, memory, workers)


def node_shares_in_chunks(
    graphs: Any, cols: PreparedGraphs, *, nodes: int = _AT_ONCE, memory: Memory = None, workers: Workers = None
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield what :func:`node_shares` gives for each of many graphs, some graphs at a time, in order.

    What comes is which graphs, and the rows of all their nodes, shape (their nodes, m). Graphs of up to ``nodes`` nodes
    together are one pass: they are computed as one graph, their disjoint union, in which the nodes are the same. A
    sketch depends on the whole graph, so that sketched graphs come one at a time.
    """
    batch = as_graphs(graphs)
    most = max(1, min(nodes, memory_budget(memory) // (16 * 8 * max(len(cols), 1))))
    start = 0
    while start < len(batch):
        stop = start + 1
        if cols.sketching is None:
            stop = max(stop, int(np.searchsorted(batch.offsets, batch.offsets[start] + most, side="right")) - 1)
        yield slice(start, stop), _rows(_union(batch[start:stop]), cols, memory, workers)
        start = stop


def _union(batch: GraphBatch) -> GraphBatch:
    """Return all graphs of a batch as one graph."""
    shift = np.repeat(np.repeat(batch.offsets[:-1], batch.sizes), batch.degrees)
    return replace(
        batch,
        offsets=np.array([0, batch.n_nodes]),
        indices=(batch.indices + shift).astype(np.int32),
        self_loops=np.array([batch.self_loops.sum()]),
    )


def _rows(batch: GraphBatch, prepared: PreparedGraphs, memory: Memory, workers: Workers) -> NDArray[np.float64]:
    """Return the shares (N, m) of the nodes of one graph."""
    batch = prepared.features.extend(batch).transform(batch)
    check_edges(batch, prepared.spec)
    out = np.zeros((batch.n_nodes, len(prepared)))
    budget = memory_budget(memory)
    check_result(out.nbytes, budget)

    def write(_: NDArray[np.int64], far: NDArray[np.int64], levels: NDArray[np.float64]) -> None:
        out[:, far] = combine_levels(levels, prepared.spec)

    if batch.n_nodes:
        run = replace(prepared.run, memory=budget, workers=worker_count(workers), result=out.nbytes)
        run.nodes(batch, prepared.cut, write)
    return out
