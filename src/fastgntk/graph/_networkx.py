"""NetworkX graphs of all four kinds.

What is read are the dictionaries of neighbours, a whole dictionary at a time: that is quicker than NetworkX's own loops
over edges, which make a tuple for each. Numbers go through NumPy for some graphs together, few enough for what they
hold to stay in the processor's cache until its attributes are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, compress
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.graph._assemble import Found, assemble
from fastgntk.graph._attributes import Choice, Records
from fastgntk.graph._batch import GraphBatch

__all__ = ["from_networkx"]

_TOGETHER = 64
"""Graphs that are read before their numbers go to NumPy: 16 to 128 take the same time."""

_VALUES = methodcaller("values")
_SECOND = itemgetter(1)


def from_networkx(graphs: Sequence[Any], choice: Choice, directed: bool | None) -> GraphBatch:
    """Convert; nodes keep their order, and an edge (u, v) of a directed graph means that u sums over v."""
    groups = [_Group() for _ in range(0, len(graphs), _TOGETHER)]
    names: list[Any] = []
    of_nodes, of_edges = Records(), Records()
    for number, group in enumerate(groups):
        for graph in graphs[number * _TOGETHER : (number + 1) * _TOGETHER]:
            names += group.add(graph)
        group.finish(of_nodes, of_edges)
    return assemble(
        Found(
            sizes=np.array([size for group in groups for size in group.sizes], dtype=np.int64),
            counts=_joined([group.counts for group in groups]),
            tails=_joined([group.tails for group in groups]),
            heads=_joined([group.heads for group in groups]),
            one_way=np.array([graph.is_directed() for graph in graphs], dtype=bool),
            parallel=np.array([graph.is_multigraph() for graph in graphs], dtype=bool),
            nodes=of_nodes,
            edges=of_edges,
            node_names=names,
        ),
        choice,
        directed,
    )


class _Group:
    """Hold the edges of some graphs."""

    counts: NDArray[np.int64]
    """Number of edges of each graph, once finished."""
    tails: NDArray[np.int64]
    heads: NDArray[np.int64]

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._one_way: list[bool] = []
        self._ends: list[int] = []
        self._node_data: list[Mapping[Any, Any]] = []
        self._edges: list[Mapping[Any, Mapping[Any, Any]]] = []  # of each node

    def add(self, graph: Any) -> Iterable[Any]:
        """Read a graph; returns what its nodes are called."""
        own, neighbours = list(graph), dict(graph.adjacency())
        if list(neighbours) != own:  # a view may go through them in another order
            neighbours = {u: neighbours[u] for u in own}
        edges: Collection[Mapping[Any, Any]] = neighbours.values()
        if graph.is_multigraph():
            ends: Iterable[Any] = [v for row in edges for v, copies in row.items() for _ in copies]
            edges = [dict(enumerate(chain.from_iterable(map(_VALUES, row.values())))) for row in edges]
        else:
            ends = chain.from_iterable(edges)
        self._edges += edges
        numbers = list(range(len(own)))
        plain = own == numbers and set(map(type, own)) <= {int}  # 1.0 and True equal 1, but are no numbers of nodes
        self._ends += ends if plain else map(dict(zip(own, numbers, strict=True)).__getitem__, ends)
        self.sizes.append(len(own))
        self._one_way.append(graph.is_directed())
        self._node_data += map(_SECOND, graph.nodes(data=True))
        return own

    def finish(self, of_nodes: Records, of_edges: Records) -> None:
        """Set the numbers of edges; of undirected graphs, where an edge stands with both of its nodes, each once."""
        sizes = np.array(self.sizes)
        degrees = np.fromiter(map(len, self._edges), dtype=np.int64, count=len(self._edges))
        ends_of_nodes = np.cumsum(sizes)
        numbers = np.arange(len(degrees)) - np.repeat(ends_of_nodes - sizes, sizes)
        tails, heads = np.repeat(numbers, degrees), np.fromiter(self._ends, dtype=np.int64, count=len(self._ends))
        once = tails <= heads
        ends_of_edges = np.concatenate([[0], np.cumsum(degrees)])[ends_of_nodes]
        if any(self._one_way):
            once |= np.repeat(self._one_way, np.diff(ends_of_edges, prepend=0))
        self.tails, self.heads = tails[once], heads[once]
        self.counts = np.diff(np.concatenate([[0], np.cumsum(once)])[ends_of_edges], prepend=0)
        of_nodes.extend(self._node_data)
        values = dict.values if set(map(type, self._edges)) <= {dict} else _VALUES  # the first is quicker
        of_edges.extend(list(compress(chain.from_iterable(map(values, self._edges)), once.tolist())))
        del self._one_way, self._ends, self._node_data, self._edges


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
