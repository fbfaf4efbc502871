"""Graphs of NetworkX and igraph, and dictionaries in NetworkX's node-link form.

A graph in node-link form, as stored in JSON files, is ``{"directed": …, "multigraph": …, "graph": {…}, "nodes": [{"id":
…, …}, …], "edges": [{"source": …, "target": …, …}, …]}``; older files have ``links`` instead of ``edges``. NetworkX is
not needed for it.
"""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, compress, groupby, islice
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from fastgntk._util.arrays import Int32s, Ints
from fastgntk.errors import InputError
from fastgntk.graphs.convert._assemble import ParsedGraphs
from fastgntk.graphs.convert._tables import ColumnBuffer, Columns, Records, pack_numbers

__all__ = ["graph_attributes", "node_names", "parse_igraph", "parse_networkx", "parse_node_link"]

_GROUP_SIZE = 64
"""NetworkX graphs processed together by NumPy: 16 to 128 take the same time."""

_VERTEX_NAMES = ("name", "_nx_name")
"""Attributes of igraph and its converters that name a vertex."""

_ID, _ENDS = itemgetter("id"), itemgetter("source", "target")


def parse_networkx(graphs: Sequence[Any]) -> ParsedGraphs:
    """Parse graphs of all four kinds; nodes keep their order, and u sums over v for a directed edge (u, v).

    The dictionaries of neighbours are read whole, which is faster than NetworkX's own loops over edges with a tuple
    for each. NumPy processes the node indices of several graphs at a time, few enough for their data to stay in the
    processor's cache until the attributes are read.
    """
    names: list[Any] = []
    nodes, edges = Records(), Records()
    groups = []
    for multigraphs, alike in groupby(graphs, methodcaller("is_multigraph")):
        while group := list(islice(alike, _GROUP_SIZE)):
            groups.append(_parse_group(group, multigraphs, names, nodes, edges))
    sizes, counts, tails, heads = map(np.concatenate, zip(*groups, strict=True))
    directed = [graph.is_directed() for graph in graphs]
    parallel = [graph.is_multigraph() for graph in graphs]
    return ParsedGraphs(
        sizes, counts, tails, heads, nodes, edges, directed=directed, parallel=parallel, node_names=names
    )


def _parse_group(
    graphs: list[Any], multigraphs: bool, names: list[Any], nodes: Records, edges: Records
) -> tuple[Ints, Ints, Int32s, Int32s]:
    """Add names and attributes of some graphs, all multigraphs or none; return sizes, counts, tails and heads.

    An edge of an undirected graph, which is listed at both of its nodes, is kept once.
    """
    lengths: list[int] = []
    ends: list[int] = []
    rows: list[Mapping[Any, Any]] = []  # for each node the edge data by neighbour; in multigraphs, by key in between
    node_data: list[Mapping[Any, Any]] = []
    for graph in graphs:
        data, neighbours = _read_dictionaries(graph)
        graph_nodes, all_numbers = list(data), range(len(data))
        graph_ends: Iterable[Any] = chain.from_iterable(neighbours.values())
        if graph_nodes != list(all_numbers):
            graph_ends = map(dict(zip(graph_nodes, all_numbers, strict=True)).__getitem__, graph_ends)
        lengths.append(len(data))
        ends += graph_ends
        rows += neighbours.values()
        node_data += data.values()
        names += graph_nodes
    sizes, directed = np.array(lengths, dtype=np.int64), np.array([graph.is_directed() for graph in graphs])
    degrees = _lengths(rows)
    try:
        heads = np.asarray(pack_numbers(ends, int), dtype=np.int32)
    except TypeError:  # 1.0 and 1 + 0j equal the node 1 for NetworkX
        index_of = {index: index for index in range(max(lengths))}
        heads = np.array([index_of[end] for end in ends], dtype=np.int32)
    node, graph_of_node = np.arange(len(rows), dtype=np.int32), np.repeat(np.arange(len(sizes)), sizes)
    index = node - np.repeat(np.cumsum(sizes) - sizes, sizes).astype(np.int32)
    kept = np.repeat(index, degrees) <= heads
    if directed.any():
        kept |= np.repeat(directed[graph_of_node], degrees)
    edge_data = list(compress(_chain_values(rows), kept.tobytes()))
    kept_edges = np.flatnonzero(kept)
    node, heads = np.repeat(node, degrees)[kept_edges], heads[kept_edges]
    if multigraphs:
        copies = _lengths(edge_data)
        node, heads = np.repeat(node, copies), np.repeat(heads, copies)
        edge_data = list(_chain_values(edge_data))
    nodes.extend(node_data)
    edges.extend(edge_data)
    return sizes, np.bincount(graph_of_node[node], minlength=len(sizes)), index[node], heads


def _read_dictionaries(graph: Any) -> tuple[Mapping[Any, Any], Mapping[Any, Mapping[Any, Any]]]:
    """Return the data of each node, and its edge data by neighbour, with nodes in the same order."""
    data, neighbours = graph._node, graph._adj  # as nodes(data=True) and adjacency(), without their tuples
    kind, base = type(graph), sys.modules["networkx"].Graph
    inherits_views = kind.adjacency is base.adjacency and kind.nodes is base.nodes
    if not (inherits_views and type(data) is type(neighbours) is dict):  # a subclass with its own views, or a view
        data, neighbours = dict(graph.nodes(data=True)), {u: dict(row) for u, row in graph.adjacency()}
    if list(neighbours) != list(data):  # views may differ in order
        neighbours = {u: neighbours[u] for u in data}
    return data, neighbours


def _chain_values(mappings: Collection[Mapping[Any, Any]]) -> Iterable[Any]:
    plain = set(map(type, mappings)) <= {dict}
    values: Callable[[Any], Iterable[Any]] = dict.values if plain else methodcaller("values")  # the first is faster
    return chain.from_iterable(map(values, mappings))


def _lengths(mappings: Collection[Mapping[Any, Any]]) -> Ints:
    return np.fromiter(map(len, mappings), dtype=np.int64, count=len(mappings))


def parse_node_link(items: Sequence[Mapping[str, Any]]) -> ParsedGraphs:
    """Parse dictionaries in node-link form; nodes keep their order."""
    sizes, counts = [], []
    names: list[Any] = []
    ends = ColumnBuffer(int)
    node_table = Records(exclude=("id",), tuples_as_lists=True)
    edge_table = Records(exclude=("source", "target", "key"), tuples_as_lists=True)
    for i, item in enumerate(items):
        nodes, edges = _records(item, i, "nodes"), _records(item, i, "links" if "links" in item else "edges")
        graph_nodes = node_names(nodes, i)
        index_of = dict(zip(graph_nodes, range(len(graph_nodes)), strict=True))
        if len(index_of) < len(graph_nodes):
            duplicate = next(node for node, times in Counter(graph_nodes).items() if times > 1)
            raise InputError(f"graph {i} has several nodes with the id {duplicate!r}; give each node its own.")
        try:
            graph_ends = list(map(index_of.__getitem__, chain.from_iterable(map(_ENDS, edges))))
        except (KeyError, TypeError):  # a missing end or node, or a list as the name of a node
            pairs = (_edge_ends(edge, j, index_of, i) for j, edge in enumerate(edges))
            graph_ends = list(chain.from_iterable(pairs))
        sizes.append(len(nodes))
        counts.append(len(edges))
        names += graph_nodes
        ends.extend(graph_ends)
        node_table.extend(nodes)
        edge_table.extend(edges)
    tails, heads = np.asarray(ends.combine(), dtype=np.int32).reshape(-1, 2).T
    directed, parallel = ([_flag(item, i, name) for i, item in enumerate(items)] for name in ("directed", "multigraph"))
    tables = node_table, edge_table
    return ParsedGraphs(sizes, counts, tails, heads, *tables, directed=directed, parallel=parallel, node_names=names)


def _edge_ends(edge: Mapping[str, Any], j: int, index_of: Mapping[Any, int], i: int) -> tuple[int, int]:
    if "source" not in edge or "target" not in edge:
        raise InputError(f"graph {i}, edge {j} of its list has no source and target; give it both.")
    pair = _hashable(edge["source"], i), _hashable(edge["target"], i)
    for name in pair:
        if name not in index_of:
            raise InputError(f"graph {i}, edge {pair} names the node {name!r}, which is not among its nodes.")
    return index_of[pair[0]], index_of[pair[1]]


def node_names(nodes: Sequence[Mapping[str, Any]], i: int) -> list[Any]:
    """Return the names of the nodes of graph ``i``."""
    try:
        names = list(map(_ID, nodes))
    except KeyError:
        names = [node.get("id", index) for index, node in enumerate(nodes)]
    plain = set(map(type, names)) <= {int, str}
    return names if plain else [_hashable(name, i) for name in names]


def graph_attributes(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the attributes of a graph as a whole; older files hold pairs."""
    attributes = item.get("graph", {})
    try:
        return attributes if isinstance(attributes, Mapping) else dict(attributes)
    except (TypeError, ValueError):
        return {}


def _records(item: Mapping[str, Any], i: int, name: str) -> list[Mapping[str, Any]]:
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


def parse_igraph(graphs: Sequence[Any]) -> ParsedGraphs:
    """Parse igraph graphs; an attribute that is None, igraph's default, is missing."""
    sizes, counts = [graph.vcount() for graph in graphs], [graph.ecount() for graph in graphs]
    pairs = list(chain.from_iterable(graph.get_edgelist() for graph in graphs))
    tails, heads = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    nodes = _igraph_columns([graph.vs for graph in graphs])
    names = nodes.get("name")
    if names is not None:  # vertices without a name are called by their index
        indices = chain.from_iterable(map(range, sizes))
        names = [index if name is None else name for name, index in zip(names, indices, strict=True)]
    tables = Columns(nodes, silent=_VERTEX_NAMES), Columns(_igraph_columns([graph.es for graph in graphs]))
    directed = [graph.is_directed() for graph in graphs]
    return ParsedGraphs(sizes, counts, tails, heads, *tables, directed=directed, node_names=names)


def _igraph_columns(sequences: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the attributes of all vertices, or of all edges, as one list for each name."""
    names = dict.fromkeys(name for sequence in sequences for name in sequence.attributes())
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for sequence in sequences:
        present = set(sequence.attributes())
        for name, column in columns.items():
            column += sequence[name] if name in present else [None] * len(sequence)
    return {name: column for name, column in columns.items() if any(entry is not None for entry in column)}
