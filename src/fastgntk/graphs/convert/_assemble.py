"""Assemble a batch from the nodes and edges of many graphs, listed one graph after the other.

Every converter ends here, so that parallel edges, directions and attributes mean the same for every source, and so
that arrays are created once for all graphs.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastgntk._util.arrays import Ints
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._csr import check_symmetric, from_edges, row_offsets
from fastgntk.graphs.convert._attributes import USUAL_NAMES, AttributeNames, Selection, warn_unused
from fastgntk.graphs.convert._tables import Table

__all__ = ["MessageNames", "ParsedGraphs", "assemble"]


@dataclass(frozen=True)
class ParsedGraphs:
    """The nodes and edges of n graphs, all in the order of the graphs."""

    sizes: ArrayLike
    """Number of nodes of each graph."""
    counts: ArrayLike
    """Number of edges of each graph."""
    tails: ArrayLike
    heads: ArrayLike
    """The ends of each edge, numbered within their graph."""
    nodes: Table
    edges: Table
    """The attributes of all nodes and of all edges."""
    _: KW_ONLY
    directed: ArrayLike = True
    """Whether each graph is directed, or whether all are."""
    parallel: ArrayLike = True
    """Whether several edges between two nodes are parallel edges, or copies of one edge; for each graph, or for all."""
    node_names: Sequence[Any] | None = None
    """The name of each node in the source; None for its index within its graph."""
    graph_names: Sequence[Any] | None = None
    """The name of each graph in the source; None for its index."""
    usual: AttributeNames = USUAL_NAMES
    """The attributes that are taken by default."""


def assemble(graphs: ParsedGraphs, names: AttributeNames, directed: bool | None) -> GraphBatch:
    """Select attributes and merge edges; with ``directed=False`` every edge must exist in both directions."""
    sizes, counts = np.asarray(graphs.sizes, dtype=np.int64), np.asarray(graphs.counts, dtype=np.int64)
    offsets = row_offsets(sizes)
    shift = np.repeat(offsets[:-1].astype(np.int32), counts)
    rows, cols = (np.asarray(ends, dtype=np.int32) + shift for ends in (graphs.tails, graphs.heads))
    message_names = MessageNames(offsets, graphs.node_names, graphs.graph_names)

    def edge_name(i: int) -> str:
        return message_names.edge(rows[i], cols[i])

    named, usual = astuple(names), astuple(graphs.usual)
    nodes = Selection("node", graphs.nodes, message_names.node, named[:2], usual[:2])
    edges = Selection("edge", graphs.edges, edge_name, named[2:], usual[2:])
    warn_unused(nodes, edges)
    labels, features = nodes.label_array(), nodes.number_array()
    edge_labels, weights = edges.single_label(), edges.single_number()
    adjacency = from_edges(
        rows,
        cols,
        int(offsets[-1]),
        weights=weights,
        edge_labels=edge_labels,
        directed=np.repeat(np.broadcast_to(graphs.directed, len(sizes)), counts),
        parallel=np.repeat(np.broadcast_to(graphs.parallel, len(sizes)), counts),
        one_label=True,
        edge_name=message_names.edge,
    )
    if directed is False and np.any(graphs.directed):
        check_symmetric(adjacency.indptr, adjacency.indices, adjacency.weights, message_names.edge)
    return GraphBatch.from_adjacency(adjacency, sizes, features=features, labels=labels)


@dataclass(frozen=True)
class MessageNames:
    """Names of nodes and edges, numbered over all graphs, in error messages."""

    offsets: Ints
    node_names: Sequence[Any] | None = None
    graph_names: Sequence[Any] | None = None

    def node(self, u: int) -> str:
        """Return "graph …, node …"."""
        return f"{self._graph_name(u)}, node {self._node_name(u)}"

    def edge(self, u: int, v: int) -> str:
        """Return "graph …, edge (…, …)"."""
        return f"{self._graph_name(u)}, edge ({self._node_name(u)}, {self._node_name(v)})"

    def _graph_name(self, u: int) -> str:
        graph = int(np.searchsorted(self.offsets, u, side="right")) - 1
        return f"graph {graph if self.graph_names is None else repr(self.graph_names[graph])}"

    def _node_name(self, u: int) -> str:
        start = self.offsets[self.offsets <= u].max()
        return str(u - start) if self.node_names is None else repr(self.node_names[u])
