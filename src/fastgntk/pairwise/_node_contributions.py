"""The kernel node by node: how much each node of a graph adds to its values."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import Kernel
from fastgntk.pairwise._combine import combine_nodes, needs_diagonals
from fastgntk.pairwise._compute import Compute
from fastgntk.pairwise._gram import options_of
from fastgntk.pairwise._prepared import PreparedGraphs, prepare, tangent_leaves

__all__ = ["node_contributions", "node_contributions_in_chunks"]

_AT_ONCE = 1024  # nodes in one pass: enough to merge many and to make calls few, and rows that stay in the cache


def node_contributions(graph: Any, cols: Any, kernel: Kernel | None = None, *, compute: Compute | None = None) -> Array:
    """Compute the contribution of each node of one graph to its kernel with m graphs.

    A tangent kernel is a sum over pairs of nodes, Σ_u Σ_l Σ_v K(l)_uv, and this is the part of each u. The rows add up
    to the row that :func:`cross_gram` gives, at the same cost. Contributions to a sum of kernels add up; in a product
    k1 · k2 the nodes are those of k1, and k2 weights the m graphs. ``cols`` may be prepared graphs; then leave out the
    kernel.

    Returns
    -------
    array of shape (N, m), float64

    Examples
    --------
    >>> import numpy as np, fastgntk as fg
    >>> data = fg.datasets.load("MUTAG").graphs
    >>> parts = fg.node_contributions(data[0], data[:5])
    >>> parts.shape, bool(np.allclose(parts.sum(axis=0), fg.gram(data[:5])[0]))
    ((17, 5), True)
    """
    if isinstance(cols, PreparedGraphs):
        prepared, how = cols, options_of(cols, kernel, compute)
    else:
        prepared = prepare(cols, kernel, compute=compute)
        how = prepared.compute
    batch = as_graphs(graph)
    if len(batch) != 1:
        raise InputError(f"graph must be one graph, but {len(batch)} graphs were given.")
    return _contributions(batch, prepared, how)


def node_contributions_in_chunks(
    graphs: Any, cols: PreparedGraphs, *, nodes: int = _AT_ONCE, compute: Compute | None = None
) -> Iterator[tuple[slice, Array]]:
    """Yield what :func:`node_contributions` gives for each of many graphs, some graphs at a time, in order.

    Each item is a slice of graphs and the rows of all their nodes, shape (their nodes, m). Graphs of up to ``nodes``
    nodes together are one pass: they are computed as one graph, their disjoint union, in which the nodes are the same.
    A sketch, a normalisation and a product depend on the whole graph, so such graphs come one at a time.
    """
    how = options_of(cols, None, compute)
    batch = as_graphs(graphs)
    most = max(1, min(nodes, how.budget // (16 * 8 * max(len(cols), 1))))
    leaves = tangent_leaves(cols.kernel)
    together = cols.kernel == leaves[0] and leaves[0].sketch is None
    start = 0
    while start < len(batch):
        stop = start + 1
        if together:
            stop = max(stop, int(np.searchsorted(batch.offsets, batch.offsets[start] + most, side="right")) - 1)
        yield slice(start, stop), _contributions(_union(batch[start:stop]), cols, how)
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


def _contributions(batch: GraphBatch, cols: PreparedGraphs, compute: Compute) -> Array:
    """Return the contributions (N, m) of the nodes of one graph."""
    row = cols.like(batch)
    parts = {leaf: row.leaves[leaf].nodes(cols.leaves[leaf], compute) for leaf in cols.leaves}
    if not needs_diagonals(cols.kernel):
        return combine_nodes(cols.kernel, parts, {}, {})
    silent = compute.watched(None)
    return combine_nodes(cols.kernel, parts, row.leaf_diagonals(silent), cols.leaf_diagonals(silent))
