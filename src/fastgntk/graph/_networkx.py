"""NetworkX graphs of all four kinds.

What is read are the dictionaries of neighbours, a whole dictionary at a time: that is quicker than NetworkX's own loops
over edges, which make a tuple for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain, compress, repeat
from operator import le, methodcaller
from typing import Any

import numpy as np

from fastgntk.graph._assemble import Found, assemble
from fastgntk.graph._attributes import Choice, Records
from fastgntk.graph._batch import GraphBatch

__all__ = ["from_networkx"]

_VALUES = methodcaller("values")


def from_networkx(graphs: Sequence[Any], choice: Choice, directed: bool | None) -> GraphBatch:
    """Convert; nodes keep their order, and an edge (u, v) of a directed graph means that u sums over v."""
    sizes: list[int] = []
    counts: list[int] = []
    tails: list[int] = []
    heads: list[int] = []
    names: list[Any] = []
    of_nodes, of_edges = Records(), Records()
    for graph in graphs:
        own, node_data = _unzipped(graph.nodes(data=True))
        order, rows = _unzipped(graph.adjacency())
        if order != own:  # a view may go through them in another one
            row_of = dict(zip(order, rows, strict=True))
            rows = tuple(row_of[u] for u in own)
        if graph.is_multigraph():
            edges = [list(_each(row)) for row in rows]
            starts, ends = _repeated(edges), [v for row in edges for v, _ in row]
            edge_data = [data for row in edges for _, data in row]
        else:
            starts, ends = _repeated(rows), list(chain.from_iterable(rows))
            edge_data = list(chain.from_iterable(map(_VALUES, rows)))
        if own != tuple(range(len(own))):
            ends = list(map(dict(zip(own, range(len(own)), strict=True)).__getitem__, ends))
        if not graph.is_directed():  # there an edge stands with both of its nodes
            once = list(map(le, starts, ends))
            starts, ends, edge_data = (list(compress(values, once)) for values in (starts, ends, edge_data))
        sizes.append(len(own))
        counts.append(len(ends))
        tails += starts
        heads += ends
        names += own
        of_nodes.extend(node_data)
        of_edges.extend(edge_data)
    return assemble(
        Found(
            sizes=np.array(sizes, dtype=np.int64),
            counts=np.array(counts, dtype=np.int64),
            tails=np.fromiter(tails, dtype=np.int64, count=len(tails)),
            heads=np.fromiter(heads, dtype=np.int64, count=len(heads)),
            one_way=np.array([graph.is_directed() for graph in graphs], dtype=bool),
            nodes=of_nodes,
            edges=of_edges,
            node_names=names,
        ),
        choice,
        directed,
    )


def _unzipped(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    firsts, seconds = tuple(zip(*pairs, strict=True)) or ((), ())
    return firsts, seconds


def _repeated(rows: Sequence[Sized]) -> list[int]:
    """Return the number of each row as often as it has entries."""
    return list(chain.from_iterable(map(repeat, range(len(rows)), map(len, rows))))


def _each(row: Mapping[Any, Mapping[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Go through the edges of a node of a multigraph."""
    for v, copies in row.items():
        for data in copies.values():
            yield v, data
