"""NetworkX graphs of all four kinds.

What is read are the dictionaries of neighbours, a whole dictionary at a time: that is quicker than NetworkX's own loops
over edges, which make a tuple for each. Numbers go through NumPy for some graphs together, few enough for what they
hold to stay in the processor's cache until its attributes are read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, compress, groupby, islice
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.graph._assemble import Found, assemble, node_numbers
from fastgntk.graph._attributes import Choice, Records
from fastgntk.graph._batch import GraphBatch

__all__ = ["from_networkx"]

_TOGETHER = 64
"""Graphs that are read before their numbers go to NumPy: 16 to 128 take the same time."""


def from_networkx(graphs: Sequence[Any], choice: Choice, directed: bool | None) -> GraphBatch:
    """Convert; nodes keep their order, and an edge (u, v) of a directed graph means that u sums over v."""
    groups: list[_Group] = []
    names: list[Any] = []
    of_nodes, of_edges = Records(), Records()
    for parallel, alike in groupby(graphs, methodcaller("is_multigraph")):
        while some := list(islice(alike, _TOGETHER)):
            groups.append(_Group(parallel))
            for graph in some:
                names += groups[-1].add(graph)
            groups[-1].finish(of_nodes, of_edges)
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
    """Hold the edges of some graphs, of multigraphs or of others."""

    counts: NDArray[np.int64]
    """Number of edges of each graph, once finished."""
    tails: NDArray[np.int64]
    heads: NDArray[np.int64]

    def __init__(self, parallel: bool) -> None:
        self.sizes: list[int] = []
        self._parallel = parallel
        self._one_way: list[bool] = []
        self._ends: list[int] = []
        self._node_data: list[Mapping[Any, Any]] = []
        self._rows: list[Mapping[Any, Mapping[Any, Any]]] = []
        """What stands between each node and its neighbours: data, or in multigraphs the data of each edge by key."""

    def add(self, graph: Any) -> Iterable[Any]:
        """Read a graph; returns what its nodes are called."""
        data, neighbours = graph._node, graph._adj  # what nodes(data=True) and adjacency() show, without their tuples
        if not (type(data) is type(neighbours) is dict and _shows_all(type(graph))):  # a view, or a class of its own
            data, neighbours = dict(graph.nodes(data=True)), {u: dict(row) for u, row in graph.adjacency()}
        own = list(data)
        if list(neighbours) != own:  # those of a view may have another order
            neighbours = {u: neighbours[u] for u in own}
        rows = neighbours.values()
        numbers = list(range(len(own)))
        ends = chain.from_iterable(rows)
        self._ends += ends if own == numbers else map(dict(zip(own, numbers, strict=True)).__getitem__, ends)
        self._rows += rows
        self.sizes.append(len(own))
        self._one_way.append(graph.is_directed())
        self._node_data += data.values()
        return own

    def finish(self, of_nodes: Records, of_edges: Records) -> None:
        """Set the numbers of edges; of undirected graphs, where an edge stands with both of its nodes, each once."""
        sizes, one_way = np.array(self.sizes), np.array(self._one_way)
        degrees = _lengths(self._rows)
        node, graph = np.arange(len(degrees)), np.repeat(np.arange(len(sizes)), sizes)
        in_graph = node - np.repeat(np.cumsum(sizes) - sizes, sizes)
        try:
            heads = node_numbers(self._ends, self.sizes)
        except TypeError:  # 1.0 and 1 + 0j equal the node 1, and are taken for it by NetworkX
            numbers = dict(zip(range(sizes.max()), range(sizes.max()), strict=True))
            heads = node_numbers(list(map(numbers.__getitem__, self._ends)), self.sizes)
        once = np.repeat(in_graph, degrees) <= heads
        if one_way.any():
            once |= np.repeat(one_way[graph], degrees)
        found = list(compress(_joined_values(self._rows), once.tobytes()))
        node, heads = np.repeat(node, degrees)[once], heads[once]
        if self._parallel:
            copies = _lengths(found)
            node, heads = np.repeat(node, copies), np.repeat(heads, copies)
            found = list(_joined_values(found))
        self.tails, self.heads = in_graph[node], heads
        self.counts = np.bincount(graph[node], minlength=len(sizes))
        of_nodes.extend(self._node_data)
        of_edges.extend(found)
        del self._one_way, self._ends, self._node_data, self._rows


def _shows_all(kind: Any) -> bool:
    """Tell whether graphs of this class show nodes and edges as NetworkX does, or in a way of their own."""
    base = sys.modules["networkx"].Graph
    return bool(kind.adjacency is base.adjacency and kind.nodes is base.nodes)


def _joined_values(mappings: Collection[Mapping[Any, Any]]) -> Iterable[Any]:
    plain = set(map(type, mappings)) <= {dict}
    values: Callable[[Any], Iterable[Any]] = dict.values if plain else methodcaller("values")  # the first is quicker
    return chain.from_iterable(map(values, mappings))


def _lengths(mappings: Collection[Mapping[Any, Any]]) -> NDArray[np.int64]:
    return np.fromiter(map(len, mappings), dtype=np.int64, count=len(mappings))


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
