"""NetworkX graphs of all four kinds.

What is read are the dictionaries of neighbours, a whole dictionary at a time: that is quicker than NetworkX's own loops
over edges, which make a tuple for each. Numbers go through NumPy for some graphs together, few enough for what they
hold to stay in the processor's cache until its attributes are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
_FIRST, _SECOND = itemgetter(0), itemgetter(1)


def from_networkx(graphs: Sequence[Any], choice: Choice, directed: bool | None) -> GraphBatch:
    """Convert; nodes keep their order, and an edge (u, v) of a directed graph means that u sums over v."""
    groups = [_Group() for _ in range(0, len(graphs), _TOGETHER)]
    names: list[Any] = []
    of_nodes, of_edges = Records(), Records()
    for number, group in enumerate(groups):
        for graph in graphs[number * _TOGETHER : (number + 1) * _TOGETHER]:
            names += group.add(graph, of_nodes)
        group.finish(of_edges)
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
        self._degrees: list[int] = []
        self._ends: list[int] = []
        self._data: list[Iterable[Mapping[Any, Any]]] = []

    def add(self, graph: Any, of_nodes: Records) -> Iterable[Any]:
        """Read a graph; returns what its nodes are called."""
        own, rows = list(graph), list(graph.adjacency())
        neighbours = list(map(_SECOND, rows))
        if list(map(_FIRST, rows)) != own:  # a view may go through them in another order
            neighbours = list(map(dict(rows).__getitem__, own))
        if graph.is_multigraph():
            edges = [[(v, data) for v, copies in row.items() for data in copies.values()] for row in neighbours]
            self._degrees += map(len, edges)
            ends: Iterable[Any] = [v for row in edges for v, _ in row]
            self._data.append([data for row in edges for _, data in row])
        else:
            self._degrees += map(len, neighbours)
            ends = chain.from_iterable(neighbours)
            self._data += map(_VALUES, neighbours)
        numbers = list(range(len(own)))
        plain = own == numbers and set(map(type, own)) <= {int}  # 1.0 and True equal 1, but are no numbers of nodes
        self._ends += ends if plain else map(dict(zip(own, numbers, strict=True)).__getitem__, ends)
        self.sizes.append(len(own))
        self._one_way.append(graph.is_directed())
        of_nodes.extend(list(map(_SECOND, graph.nodes(data=True))))
        return own

    def finish(self, of_edges: Records) -> None:
        """Set the numbers of edges; of undirected graphs, where an edge stands with both of its nodes, each once."""
        sizes, degrees = np.array(self.sizes), np.array(self._degrees, dtype=np.int64)
        ends_of_nodes = np.cumsum(sizes)
        numbers = np.arange(len(degrees)) - np.repeat(ends_of_nodes - sizes, sizes)
        tails, heads = np.repeat(numbers, degrees), np.fromiter(self._ends, dtype=np.int64, count=len(self._ends))
        once = tails <= heads
        ends_of_edges = np.concatenate([[0], np.cumsum(degrees)])[ends_of_nodes]
        if any(self._one_way):
            once |= np.repeat(self._one_way, np.diff(ends_of_edges, prepend=0))
        self.tails, self.heads = tails[once], heads[once]
        self.counts = np.diff(np.concatenate([[0], np.cumsum(once)])[ends_of_edges], prepend=0)
        of_edges.extend(list(compress(chain.from_iterable(self._data), once.tolist())))
        del self._one_way, self._degrees, self._ends, self._data


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
