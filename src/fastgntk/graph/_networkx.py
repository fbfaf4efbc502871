"""NetworkX graphs of all four kinds.

What is read are the dictionaries of neighbours, a whole dictionary at a time: that is quicker than NetworkX's own loops
over edges, which make a tuple for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, compress
from typing import Any

import numpy as np

from fastgntk.graph._assemble import Found, assemble
from fastgntk.graph._attributes import Choice, Records
from fastgntk.graph._batch import GraphBatch

__all__ = ["from_networkx"]


def from_networkx(graphs: Sequence[Any], choice: Choice, directed: bool | None) -> GraphBatch:
    """Convert; nodes keep their order, and an edge (u, v) of a directed graph means that u sums over v."""
    sizes: list[int] = []
    degrees: list[int] = []
    heads: list[int] = []
    names: list[Any] = []
    node_data: list[Mapping[Any, Any]] = []
    edge_data: list[Mapping[Any, Any]] = []
    for graph in graphs:
        own = dict(graph.nodes(data=True))
        place = dict(zip(own, range(len(own)), strict=True))
        neighbours = dict(graph.adjacency())
        in_order = list(neighbours) == list(own)  # a view may go through them in another one
        rows = list(neighbours.values()) if in_order else [neighbours[u] for u in own]
        sizes.append(len(own))
        names += own
        node_data += own.values()
        if graph.is_multigraph():
            edges = [list(_each(row)) for row in rows]
            degrees += map(len, edges)
            heads += [place[v] for row in edges for v, _ in row]
            edge_data += [data for row in edges for _, data in row]
        else:
            degrees += map(len, rows)
            heads += map(place.__getitem__, chain.from_iterable(rows))
            edge_data += chain.from_iterable([row.values() for row in rows])
    n_nodes = np.array(sizes, dtype=np.int64)
    one_way = np.array([graph.is_directed() for graph in graphs], dtype=bool)
    numbers = np.arange(len(names)) - np.repeat(np.cumsum(n_nodes) - n_nodes, n_nodes)
    tails, ends = np.repeat(numbers, degrees), np.array(heads, dtype=np.int64)
    graph_of_edge = np.repeat(np.repeat(np.arange(len(sizes)), n_nodes), degrees)
    once = one_way[graph_of_edge] | (tails <= ends)  # an undirected edge stands with both of its nodes
    return assemble(
        Found(
            sizes=n_nodes,
            counts=np.bincount(graph_of_edge[once], minlength=len(sizes)),
            tails=tails[once],
            heads=ends[once],
            one_way=one_way,
            nodes=Records(node_data),
            edges=Records(list(compress(edge_data, once.tolist()))),
            node_names=names,
        ),
        choice,
        directed,
    )


def _each(row: Mapping[Any, Mapping[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Go through the edges of a node of a multigraph."""
    for v, copies in row.items():
        for data in copies.values():
            yield v, data
