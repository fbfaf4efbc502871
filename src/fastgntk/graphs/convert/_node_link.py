"""Graphs as dictionaries in NetworkX's node-link form, as stored in JSON files.

One graph is ``{"directed": …, "multigraph": …, "graph": {…}, "nodes": [{"id": …, …}, …], "edges": [{"source": …,
"target": …, …}, …]}``; older files have ``links`` instead of ``edges``. NetworkX is not needed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from fastgntk.errors import InputError
from fastgntk.graphs.convert._assemble import ParsedGraphs
from fastgntk.graphs.convert._attributes import Records
from fastgntk.graphs.convert._column_buffer import ColumnBuffer

__all__ = ["graph_attributes", "node_names", "parse_node_link"]

_ID, _ENDS = itemgetter("id"), itemgetter("source", "target")


def parse_node_link(items: Sequence[Mapping[str, Any]]) -> ParsedGraphs:
    """Parse graphs; nodes keep their order."""
    sizes, counts = [], []
    names: list[Any] = []
    ends = ColumnBuffer(int)
    of_nodes = Records(exclude=("id",), tuples_as_lists=True)
    of_edges = Records(exclude=("source", "target", "key"), tuples_as_lists=True)
    for i, item in enumerate(items):
        nodes, edges = _part(item, i, "nodes"), _part(item, i, "links" if "links" in item else "edges")
        own = node_names(nodes, i)
        place = dict(zip(own, range(len(own)), strict=True))
        if len(place) < len(own):
            twice = next(node for node, times in Counter(own).items() if times > 1)
            raise InputError(f"graph {i} has several nodes with the id {twice!r}; give each node its own.")
        try:
            numbers = list(map(place.__getitem__, chain.from_iterable(map(_ENDS, edges))))
        except (KeyError, TypeError):  # a missing end or node, or a list as the name of a node
            pairs = (_edge_ends(edge, number, place, i) for number, edge in enumerate(edges))
            numbers = list(chain.from_iterable(pairs))
        sizes.append(len(own))
        counts.append(len(edges))
        names += own
        ends.extend(numbers)
        of_nodes.extend(nodes)
        of_edges.extend(edges)
    tails, heads = np.asarray(ends.whole(), dtype=np.int32).reshape(-1, 2).T
    return ParsedGraphs(
        sizes=np.array(sizes, dtype=np.int64),
        counts=np.array(counts, dtype=np.int64),
        tails=tails,
        heads=heads,
        directed=np.array([_flag(item, i, "directed") for i, item in enumerate(items)], dtype=bool),
        parallel=np.array([_flag(item, i, "multigraph") for i, item in enumerate(items)], dtype=bool),
        nodes=of_nodes,
        edges=of_edges,
        node_names=names,
    )


def _edge_ends(edge: Mapping[str, Any], number: int, place: Mapping[Any, int], i: int) -> tuple[int, int]:
    """Return the numbers of the two nodes of an edge."""
    if "source" not in edge or "target" not in edge:
        raise InputError(f"graph {i}, edge {number} of its list has no source and target; give it both.")
    pair = _hashable(edge["source"], i), _hashable(edge["target"], i)
    for name in pair:
        if name not in place:
            raise InputError(f"graph {i}, edge {pair} names the node {name!r}, which is not among its nodes.")
    return place[pair[0]], place[pair[1]]


def node_names(nodes: Sequence[Mapping[str, Any]], i: int) -> list[Any]:
    """Return the names of the nodes of graph ``i``."""
    try:
        names = list(map(_ID, nodes))
    except KeyError:
        names = [node.get("id", number) for number, node in enumerate(nodes)]
    plain = set(map(type, names)) <= {int, str}
    return names if plain else [_hashable(name, i) for name in names]


def graph_attributes(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the attributes of a graph as a whole; older files hold pairs."""
    found = item.get("graph", {})
    try:
        return found if isinstance(found, Mapping) else dict(found)
    except (TypeError, ValueError):
        return {}


def _part(item: Mapping[str, Any], i: int, name: str) -> list[Mapping[str, Any]]:
    rows = item.get(name)
    if not isinstance(rows, list) or not all(issubclass(kind, Mapping) for kind in set(map(type, rows))):
        has = f"has no {name!r}" if rows is None else f"has {name!r} that is no list of objects"
        raise InputError(f"graph {i} is not in node-link form: it {has}; see networkx.node_link_data(graph).")
    return rows if set(map(type, rows)) <= {dict} else list(map(dict, rows))  # other mappings may create missing keys


def _flag(item: Mapping[str, Any], i: int, name: str) -> bool:
    value = item.get(name, False)
    if not isinstance(value, bool):
        raise InputError(f"graph {i} is not in node-link form: {name!r} must be true or false, but is {value!r}.")
    return value


def _hashable(name: Any, i: int) -> Any:
    """Return a node name; lists become tuples, which JSON stores as lists."""
    if isinstance(name, list):
        return tuple(_hashable(part, i) for part in name)
    try:
        hash(name)
    except TypeError:
        raise InputError(f"graph {i} has the node id {name!r}; use a number, a string or a list of these.") from None
    return name
