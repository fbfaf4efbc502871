"""NetworkX graphs of all four kinds.

The dictionaries of neighbours are read whole, which is faster than NetworkX's own loops over edges with a tuple for
each. NumPy processes the numbers of several graphs at a time, few enough for their data to stay in the processor's
cache until the attributes are read.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, compress, groupby, islice
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Int32s, Ints
from fastgntk.graphs.convert._assemble import ParsedGraphs
from fastgntk.graphs.convert._attributes import Records
from fastgntk.graphs.convert._column_buffer import packed

__all__ = ["parse_networkx"]

_GROUP_SIZE = 64
"""Graphs processed together by NumPy: 16 to 128 take the same time."""


def parse_networkx(graphs: Sequence[Any]) -> ParsedGraphs:
    """Parse graphs; nodes keep their order, and an edge (u, v) of a directed graph means that u sums over v."""
    groups: list[_Group] = []
    names: list[Any] = []
    of_nodes, of_edges = Records(), Records()
    plain_class = {kind: _has_plain_views(kind) for kind in set(map(type, graphs))}
    directed = [graph.is_directed() for graph in graphs]
    parallel = [graph.is_multigraph() for graph in graphs]
    for many, alike in groupby(zip(graphs, directed, parallel, strict=True), itemgetter(2)):
        while members := list(islice(alike, _GROUP_SIZE)):
            group = _Group(many)
            for graph, one_way, _ in members:
                names += group.add(graph, one_way, plain_class[type(graph)])
            group.finish(of_nodes, of_edges)
            groups.append(group)
    return ParsedGraphs(
        sizes=np.array([size for group in groups for size in group.sizes], dtype=np.int64),
        counts=_joined([group.counts for group in groups]),
        tails=_joined([group.tails for group in groups]),
        heads=_joined([group.heads for group in groups]),
        directed=np.array(directed, dtype=bool),
        parallel=np.array(parallel, dtype=bool),
        nodes=of_nodes,
        edges=of_edges,
        node_names=names,
    )


class _Group:
    """The edges of some graphs, either all multigraphs or none."""

    counts: Ints
    """Number of edges of each graph, once finished."""
    tails: Int32s
    heads: Int32s

    def __init__(self, parallel: bool) -> None:
        self.sizes: list[int] = []
        self._parallel = parallel
        self._one_way: list[bool] = []
        self._ends: list[int] = []
        self._node_data: list[Mapping[Any, Any]] = []
        self._rows: list[Mapping[Any, Mapping[Any, Any]]] = []
        """For each node the edge data by neighbour; in multigraphs, a mapping from keys to edge data."""

    def add(self, graph: Any, one_way: bool, plain_class: bool) -> Iterable[Any]:
        """Read a graph and return the names of its nodes; ``plain_class`` allows direct access to its dictionaries."""
        data, neighbours = graph._node, graph._adj  # as nodes(data=True) and adjacency(), without their tuples
        if not (plain_class and type(data) is type(neighbours) is dict):  # a subclass with its own views, or a view
            data, neighbours = dict(graph.nodes(data=True)), {u: dict(row) for u, row in graph.adjacency()}
        own = list(data)
        if list(neighbours) != own:  # views may differ in order
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
        """Set counts, tails and heads; edges of undirected graphs, listed at both of their nodes, are kept once."""
        sizes, one_way = np.array(self.sizes), np.array(self._one_way)
        degrees = _lengths(self._rows)
        node, graph = np.arange(len(degrees), dtype=np.int32), np.repeat(np.arange(len(sizes)), sizes)
        in_graph = node - np.repeat(np.cumsum(sizes) - sizes, sizes).astype(np.int32)
        try:
            heads = _numbers(self._ends)
        except TypeError:  # 1.0 and 1 + 0j equal the node 1 for NetworkX
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


def _has_plain_views(kind: Any) -> bool:
    """Return whether a class inherits the node and edge views of NetworkX unchanged."""
    base = sys.modules["networkx"].Graph
    return bool(kind.adjacency is base.adjacency and kind.nodes is base.nodes)


def _joined_values(mappings: Collection[Mapping[Any, Any]]) -> Iterable[Any]:
    plain = set(map(type, mappings)) <= {dict}
    values: Callable[[Any], Iterable[Any]] = dict.values if plain else methodcaller("values")  # the first is faster
    return chain.from_iterable(map(values, mappings))


def _numbers(ends: list[int]) -> Int32s:
    return np.asarray(packed(ends, int), dtype=np.int32)


def _lengths(mappings: Collection[Mapping[Any, Any]]) -> Ints:
    return np.fromiter(map(len, mappings), dtype=np.int64, count=len(mappings))


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts])
