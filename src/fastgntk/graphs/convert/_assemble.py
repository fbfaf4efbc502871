"""Assemble a batch from the nodes and edges of many graphs, listed one graph after the other.

Every converter ends here, so that parallel edges, directions and attributes mean the same for every source, and so
that arrays are made once for all graphs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Bools, Ints
from fastgntk.errors import InputError
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._csr import ROUNDING, first_true, from_edges, row_offsets
from fastgntk.graphs.convert._attribute_arrays import label_array, number_array, single_label, weight_array
from fastgntk.graphs.convert._attributes import USUAL_NAMES, AttributeNames, Selection, Table, warn_unused

__all__ = ["ParsedGraphs", "assemble", "check_symmetric", "reverse_edges"]


@dataclass(frozen=True, kw_only=True)
class ParsedGraphs:
    """The nodes and edges of n graphs, all in the order of the graphs."""

    sizes: Ints
    """Number of nodes of each graph."""
    counts: Ints
    """Number of edges of each graph."""
    tails: NDArray[np.integer]
    heads: NDArray[np.integer]
    """The ends of each edge, numbered within their graph."""
    directed: Bools
    """Whether each graph is directed."""
    nodes: Table
    edges: Table
    """The attributes of all nodes and of all edges."""
    parallel: bool | Bools = True
    """Whether several edges between two nodes of a graph are parallel edges, or copies of one edge."""
    node_names: Sequence[Any] | None = None
    """The name of each node in the source; None for its number within its graph."""
    graph_names: Sequence[Any] | None = None
    """The name of each graph in the source; None for its number."""
    usual: AttributeNames = USUAL_NAMES
    """The attributes that are taken by default."""


def assemble(graphs: ParsedGraphs, names: AttributeNames, directed: bool | None) -> GraphBatch:
    """Select attributes and merge edges; with ``directed=False`` every edge must exist in both directions."""
    offsets = row_offsets(graphs.sizes)
    shift = np.repeat(offsets[:-1].astype(np.int32), graphs.counts)
    rows, cols = graphs.tails + shift, graphs.heads + shift
    message_names = _MessageNames(offsets, graphs)
    node_name, edge_name, usual = message_names.node, message_names.edge, graphs.usual

    def row_name(row: int) -> str:
        return edge_name(rows[row], cols[row])

    node_names = (names.node_labels, names.node_features), (usual.node_labels, usual.node_features)
    edge_names = (names.edge_labels, names.edge_weights), (usual.edge_labels, usual.edge_weights)
    nodes = Selection("node", graphs.nodes, node_name, *node_names)
    edges = Selection("edge", graphs.edges, row_name, *edge_names)
    warn_unused(nodes, edges)
    labels = label_array(nodes.labels, node_name, "pass numbers that measure something as node_features=")
    features = number_array(nodes.numbers, node_name, "pass discrete values as node_labels=")
    edge_labels = label_array(edges.labels, row_name, "pass a number that measures something as edge_weights=")
    weights = weight_array(edges.numbers, row_name, "pass discrete values as edge_labels=")
    one_way = np.repeat(graphs.directed, graphs.counts)
    adjacency = from_edges(
        rows,
        cols,
        int(offsets[-1]),
        weights=weights,
        edge_labels=single_label(edge_labels),
        directed=bool(one_way.all()) if one_way.all() or not one_way.any() else one_way,
        parallel=np.repeat(np.broadcast_to(graphs.parallel, len(graphs.sizes)), graphs.counts),
        one_label=True,
        edge_name=edge_name,
    )
    if directed is False and graphs.directed.any():
        check_symmetric(adjacency.indptr, adjacency.indices, adjacency.weights, edge_name)
    return GraphBatch.from_adjacency(adjacency, graphs.sizes, features=features, labels=labels)


class _MessageNames:
    """Names of nodes and edges, numbered over all graphs, in error messages."""

    def __init__(self, offsets: Ints, graphs: ParsedGraphs) -> None:
        self._offsets, self._graphs = offsets, graphs

    def node(self, u: int) -> str:
        return f"{self._graph(u)}, node {self._name(u)}"

    def edge(self, u: int, v: int) -> str:
        return f"{self._graph(u)}, edge ({self._name(u)}, {self._name(v)})"

    def _of(self, u: int) -> int:
        return int(np.searchsorted(self._offsets, u, side="right")) - 1

    def _graph(self, u: int) -> str:
        names, graph = self._graphs.graph_names, self._of(u)
        return f"graph {graph if names is None else repr(names[graph])}"

    def _name(self, u: int) -> str:
        names = self._graphs.node_names
        return str(u - int(self._offsets[self._of(u)])) if names is None else repr(names[int(u)])


def reverse_edges(indptr: Ints, indices: NDArray[np.integer]) -> tuple[Ints, Ints, Bools]:
    """Return the row of each entry (u, v), the position of (v, u), and whether that exists; all of shape (m,)."""
    n = len(indptr) - 1
    rows, cols = np.repeat(np.arange(n), np.diff(indptr)), indices.astype(np.int64)
    keys, back = rows * n + cols, cols * n + rows  # `keys` is sorted
    position = np.minimum(np.searchsorted(keys, back), max(len(keys) - 1, 0))
    return rows, position, keys[position] == back


def check_symmetric(
    indptr: Ints, indices: NDArray[np.integer], weights: Array | None, edge_name: Callable[[int, int], str]
) -> None:
    """Raise if an edge is missing in the other direction, or has a different weight there."""
    rows, position, has_reverse = reverse_edges(indptr, indices)
    if (alone := first_true(~has_reverse)) is not None:
        raise InputError(
            f"{edge_name(int(rows[alone]), int(indices[alone]))} has no edge back, so the graph cannot be converted "
            "with directed=False; leave that out, or add the other direction first."
        )
    if weights is None:
        return
    one, two = weights, weights[position]
    differs = first_true(np.abs(one - two) > ROUNDING * np.maximum(np.abs(one), np.abs(two)))
    if differs is not None:
        raise InputError(
            f"{edge_name(int(rows[differs]), int(indices[differs]))} has the weight {one[differs]}, but {two[differs]} "
            "back, so the graph cannot be converted with directed=False; leave that out."
        )
