"""NetworkX graphs of all four kinds.

What is read are the dictionaries of neighbours, a whole dictionary at a time: that is quicker than NetworkX's own loops
over edges, which make a tuple for each. Numbers go through NumPy for some graphs together, few enough for what they
hold to stay in the processor's cache until its attributes are read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, compress, groupby, islice
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs.convert._assemble import Found, assemble
from fastgntk.graphs.convert._attributes import Choice, Records
from fastgntk.graphs.convert._columns import packed

__all__ = ["from_networkx"]

_TOGETHER = 64
"""Graphs that are read before their numbers go to NumPy: 16 to 128 take the same time."""


def from_networkx(graphs: Sequence[Any], choice: Choice, directed: bool | None) -> GraphBatch:
    """Convert; nodes keep their order, and an edge (u, v) of a directed graph means that u sums over v."""
    groups: list[_Group] = []
    names: list[Any] = []
    of_nodes, of_edges = Records(), Records()
    as_held = {kind: _shows_all(kind) for kind in set(map(type, graphs))}
    one_way = [graph.is_directed() for graph in graphs]
    parallel = [graph.is_multigraph() for graph in graphs]
    for many, alike in groupby(zip(graphs, one_way, parallel, strict=True), itemgetter(2)):
        while some := list(islice(alike, _TOGETHER)):
            group = _Group(many)
            for graph, directed_graph, _ in some:
                names += group.add(graph, directed_graph, as_held[type(graph)])
            group.finish(of_nodes, of_edges)
            groups.append(group)
    return assemble(
        Found(
            sizes=np.array([size for group in groups for size in group.sizes], dtype=np.int64),
            counts=_joined([group.counts for group in groups]),
            tails=_joined([group.tails for group in groups]),
            heads=_joined([group.heads for group in groups]),
            one_way=np.array(one_way, dtype=bool),
            parallel=np.array(parallel, dtype=bool),
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
    tails: NDArray[np.int32]
    heads: NDArray[np.int32]

    def __init__(self, parallel: bool) -> None:
        self.sizes: list[int] = []
        self._parallel = parallel
        self._one_way: list[bool] = []
        self._ends: list[int] = []
        self._node_data: list[Mapping[Any, Any]] = []
        self._rows: list[Mapping[Any, Mapping[Any, Any]]] = []
        """What stands between each node and its neighbours: data, or in multigraphs the data of each edge by key."""

    def add(self, graph: Any, one_way: bool, as_held: bool) -> Iterable[Any]:
        """Read a graph; returns what its nodes are called. ``as_held`` says that it shows what it holds."""
        data, neighbours = graph._node, graph._adj  # what nodes(data=True) and adjacency() show, without their tuples
        if not (as_held and type(data) is type(neighbours) is dict):  # a class of its own, or a view
            data, neighbours = dict(graph.nodes(data=True)), {u: dict(row) for u, row in graph.adjacency()}
        own = list(data)
        if list(neighbours) != own:  # those of a view may have another order
            neighbours = {u: neighbours[u] for u in own}
        rows = neighbours.values()
        numbers = range(len(own))
        ends = chain.from_iterable(rows)
        self._ends += ends if own == list(numbers) else map(dict(zip(own, numbers, strict=True)).__getitem__, ends)
        self._rows += rows
        self.sizes.append(len(own))
        self._one_way.append(one_way)
        self._node_data += data.values()
        return own

    def finish(self, of_nodes: Records, of_edges: Records) -> None:
        """Set the numbers of edges; of undirected graphs, where an edge stands with both of its nodes, each once."""
        sizes, one_way = np.array(self.sizes), np.array(self._one_way)
        degrees = _lengths(self._rows)
        node, graph = np.arange(len(degrees), dtype=np.int32), np.repeat(np.arange(len(sizes)), sizes)
        in_graph = node - np.repeat(np.cumsum(sizes) - sizes, sizes).astype(np.int32)
        try:
            heads = _numbers(self._ends)
        except TypeError:  # 1.0 and 1 + 0j equal the node 1, and are taken for it by NetworkX
            numbers = dict(zip(range(sizes.max()), range(sizes.max()), strict=True))
            heads = _numbers(list(map(numbers.__getitem__, self._ends)))
        once = np.repeat(in_graph, degrees) <= heads
        if one_way.any():
            once |= np.repeat(one_way[graph], degrees)
        found = list(compress(_joined_values(self._rows), once.tobytes()))
        places = np.flatnonzero(once)
        node, heads = np.repeat(node, degrees)[places], heads[places]
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


def _numbers(ends: list[int]) -> NDArray[np.int32]:
    return np.asarray(packed(ends, int), dtype=np.int32)


def _lengths(mappings: Collection[Mapping[Any, Any]]) -> NDArray[np.int64]:
    return np.fromiter(map(len, mappings), dtype=np.int64, count=len(mappings))


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts])
