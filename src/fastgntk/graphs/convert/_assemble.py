"""From the nodes and edges of many graphs, one after the other, to a batch.

Every converter ends here, so that parallel edges, directions and attributes mean the same whatever they came from, and
so that arrays are made once for all graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._csr import ROUNDING, Adjacency, from_edges
from fastgntk.graphs.convert._attributes import Choice, Custom, Table, choose

__all__ = ["Found", "assemble", "check_two_way"]


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a converter found in n graphs; everything is in the order of the graphs."""

    sizes: NDArray[np.int64]
    """Number of nodes of each graph."""
    counts: NDArray[np.int64]
    """Number of edges of each graph."""
    tails: NDArray[np.integer]
    heads: NDArray[np.integer]
    """The ends of each edge, numbered within their graph."""
    one_way: NDArray[np.bool_]
    """Whether each graph is directed."""
    nodes: Table
    edges: Table
    """The attributes of all nodes and of all edges."""
    parallel: bool | NDArray[np.bool_] = True
    """Whether edges between the same two nodes are as many edges, or one that is given several times; of each graph."""
    node_names: Sequence[Any] | None = None
    """What the source calls each node; None for its number within its graph."""
    graph_names: Sequence[Any] | None = None
    """What the source calls each graph; None for its number."""
    custom: Custom = field(default_factory=Custom)


def assemble(found: Found, choice: Choice, directed: bool | None) -> GraphBatch:
    """Choose attributes and merge edges; with ``directed=False`` edges must be there in both directions."""
    offsets = np.concatenate([[0], np.cumsum(found.sizes)]).astype(np.int64)
    starts = offsets[:-1].astype(np.int32)
    shift = np.repeat(starts, found.counts)
    rows, cols = found.tails + shift, found.heads + shift
    names = _Names(offsets, found)
    chosen = choose(
        found.nodes,
        found.edges,
        choice,
        found.custom,
        node_called=names.node,
        edge_called=lambda row: names.edge(rows[row], cols[row]),
    )
    one_way = np.repeat(found.one_way, found.counts)
    adjacency = from_edges(
        rows,
        cols,
        int(offsets[-1]),
        weights=chosen.edge_weights,
        edge_labels=chosen.edge_labels,
        directed=bool(one_way.all()) if one_way.all() or not one_way.any() else one_way,
        parallel=np.repeat(np.broadcast_to(found.parallel, len(found.sizes)), found.counts),
        one_label=True,
        called=names.edge,
    )
    if directed is False and found.one_way.any():
        check_two_way(adjacency, names.edge)
    of_loop = np.searchsorted(offsets, adjacency.loops, side="right") - 1
    return GraphBatch(
        offsets=offsets,
        indptr=adjacency.indptr,
        indices=adjacency.indices - np.repeat(np.repeat(starts, found.sizes), np.diff(adjacency.indptr)),
        weights=adjacency.weights,
        features=chosen.features,
        labels=chosen.labels,
        edge_labels=adjacency.edge_labels,
        self_loops=np.bincount(of_loop, minlength=len(found.sizes)).astype(np.int64),
    )


class _Names:
    """What nodes and edges, numbered over all graphs, are called in messages."""

    def __init__(self, offsets: NDArray[np.int64], found: Found) -> None:
        self._offsets, self._found = offsets, found

    def node(self, u: int) -> str:
        return f"{self._graph(u)}, node {self._name(u)}"

    def edge(self, u: int, v: int) -> str:
        return f"{self._graph(u)}, edge ({self._name(u)}, {self._name(v)})"

    def _of(self, u: int) -> int:
        return int(np.searchsorted(self._offsets, u, side="right")) - 1

    def _graph(self, u: int) -> str:
        names, graph = self._found.graph_names, self._of(u)
        return f"graph {graph if names is None else repr(names[graph])}"

    def _name(self, u: int) -> str:
        names = self._found.node_names
        return str(u - int(self._offsets[self._of(u)])) if names is None else repr(names[int(u)])


def check_two_way(adjacency: Adjacency, called: Callable[[int, int], str]) -> None:
    """Refuse an edge that has no other direction, or another weight there."""
    n = len(adjacency.indptr) - 1
    rows, cols = np.repeat(np.arange(n), np.diff(adjacency.indptr)), adjacency.indices.astype(np.int64)
    there, back = rows * n + cols, cols * n + rows  # `there` is sorted
    place = np.minimum(np.searchsorted(there, back), max(len(there) - 1, 0))
    alone = np.flatnonzero(there[place] != back)
    if len(alone):
        u, v = int(rows[alone[0]]), int(cols[alone[0]])
        raise InputError(
            f"{called(u, v)} has no edge back, so the graph cannot be taken with directed=False; leave that out, or "
            "add the other direction first."
        )
    if adjacency.weights is None:
        return
    one, two = adjacency.weights, adjacency.weights[place]
    differs = np.flatnonzero(np.abs(one - two) > ROUNDING * np.maximum(np.abs(one), np.abs(two)))
    if len(differs):
        which = int(differs[0])
        raise InputError(
            f"{called(int(rows[which]), int(cols[which]))} has the weight {one[which]}, but {two[which]} back, so the "
            "graph cannot be taken with directed=False; leave that out."
        )
