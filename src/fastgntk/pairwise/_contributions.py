"""Contributions of nodes, and of descriptors, to the kernel of their graph with other graphs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import DescriptorKernel, Kernel, Leaf, Network
from fastgntk.pairwise._arguments import as_single_graph, resolve_compute
from fastgntk.pairwise._combine import combine_nodes
from fastgntk.pairwise._compute import Compute
from fastgntk.pairwise._group_pairs import leaf_contributions, leaf_cross
from fastgntk.pairwise._prepared import PreparedGraphs, prepare
from fastgntk.pairwise._product_factors import put_factor_first

__all__ = ["Contributions", "contributions", "contributions_in_chunks", "node_contributions"]
__all__ += ["node_contributions_in_chunks"]

_NODES_PER_PASS = 1024  # enough to merge many nodes in few calls, while rows stay in the cache


class Contributions(NamedTuple):
    """The parts of a row of a kernel matrix; over nodes and blocks of descriptors they add up to the row."""

    nodes: Array  # (N, m)
    descriptors: dict[str, Array]  # (m,) for each block that a kernel on descriptors uses


def node_contributions(
    graph: Any,
    cols: Any,
    kernel: Kernel | None = None,
    *,
    factor: int | Kernel | None = None,
    compute: Compute | None = None,
) -> Array:
    """Compute the contribution of each node of one graph to its kernel with m graphs.

    A tangent kernel is a sum over pairs of nodes, Σ_u Σ_l Σ_v K(l)_uv (an NNGP with Σ in place of K), and row u of the
    result holds the terms of node u, divided by the number of pairs with ``pool="mean"``. So is :class:`fastgntk.WL`;
    what a colour adds to :class:`fastgntk.WLOA` is shared equally among its nodes. The rows add up to the row that
    :func:`cross_gram` returns, at the same cost. Contributions to a sum of kernels add up; in a product the nodes are
    those of one factor, and the other factors weight the m graphs. Terms of kernels on descriptors belong to no node
    and are missing.

    Parameters
    ----------
    graph : one graph with N nodes
    cols : m graphs
        They may be prepared; then leave out the kernel.
    kernel : Kernel, optional
    factor : int or Kernel, optional
        The factor of a product whose nodes are counted, as a kernel or by its index; 0, the first, by default.
    compute : Compute, optional

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
    prepared = cols if isinstance(cols, PreparedGraphs) else prepare(cols, kernel, compute=compute)
    compute = resolve_compute(prepared, kernel, compute)
    kernel = put_factor_first(prepared.kernel, factor)
    return contributions(as_single_graph(graph), prepared, compute, kernel).nodes


def node_contributions_in_chunks(
    graphs: Any, cols: PreparedGraphs, *, nodes: int = _NODES_PER_PASS, compute: Compute | None = None
) -> Iterator[tuple[slice, Array]]:
    """Yield the results of :func:`node_contributions` for many graphs, in order, several graphs at a time.

    Each item is a slice of graphs and the rows of all their nodes, one row for each node and m columns.
    """
    for chunk, terms in contributions_in_chunks(graphs, cols, nodes=nodes, compute=compute):
        yield chunk, terms.nodes


def contributions_in_chunks(
    graphs: Any, cols: PreparedGraphs, *, nodes: int = _NODES_PER_PASS, compute: Compute | None = None
) -> Iterator[tuple[slice, Contributions]]:
    """Yield the contributions to the rows of many graphs, in order; of several graphs at a time, or of one.

    Each item is a slice of graphs and the contributions of all their nodes, and of the descriptors. Graphs with up
    to ``nodes`` nodes in total are computed in one pass, as one graph: their disjoint union. A sketch, a mean, a
    normalisation and a product depend on the whole graph, so for such kernels graphs come one at a time.
    """
    compute = resolve_compute(cols, None, compute)
    batch = as_graphs(graphs)
    max_nodes = max(1, min(nodes, compute.memory_budget // (16 * 8 * max(len(cols), 1))))
    together = isinstance(cols.kernel, Network) and cols.kernel.sketch is None and cols.kernel.pool == "sum"
    start = 0
    while start < len(batch):
        stop = start + 1
        if together:
            stop = max(stop, int(np.searchsorted(batch.offsets, batch.offsets[start] + max_nodes, side="right")) - 1)
        yield slice(start, stop), contributions(_union(batch[start:stop]), cols, compute)
        start = stop


def _union(batch: GraphBatch) -> GraphBatch:
    """Return all graphs of a batch as one graph; one graph keeps its descriptors and the keys of its sketch."""
    if len(batch) == 1:
        return batch
    shift = np.repeat(np.repeat(batch.offsets[:-1], batch.sizes), batch.degrees)
    return replace(
        batch,
        offsets=np.array([0, batch.n_nodes]),
        indices=(batch.indices + shift).astype(np.int32),
        self_loops=np.array([batch.self_loops.sum()]),
        sketch_keys=None,
        sketch_sizes=None,
        descriptors={},
    )


def contributions(
    batch: GraphBatch, cols: PreparedGraphs, compute: Compute, kernel: Kernel | None = None
) -> Contributions:
    """Return the contributions of the nodes and of the descriptors of one graph to its row of the matrix.

    ``kernel`` is that of ``cols`` with the factors of products in another order; nodes are those of the first.
    """
    row, n = cols.prepare_rows(batch), batch.n_nodes
    blocks = list(dict.fromkeys(leaf.on for leaf in row.graphs_by_leaf if isinstance(leaf, DescriptorKernel)))
    parts: dict[Leaf, Array] = {}  # a row for each node, then one for each block
    for leaf, graphs in row.graphs_by_leaf.items():
        if isinstance(leaf, DescriptorKernel):
            parts[leaf] = np.zeros((n + len(blocks), len(cols)))
            parts[leaf][n + blocks.index(leaf.on)] = leaf_cross(graphs, cols.graphs_by_leaf[leaf], compute, 0)[0]
        else:
            values = leaf_contributions(graphs, cols.graphs_by_leaf[leaf], compute)
            parts[leaf] = np.pad(values, ((0, len(blocks)), (0, 0))) if blocks else values
    diagonals = row.needed_diagonals(compute), cols.needed_diagonals(compute)
    combined = combine_nodes(kernel or cols.kernel, parts, *diagonals)
    return Contributions(combined[:n], dict(zip(blocks, combined[n:], strict=True)))
