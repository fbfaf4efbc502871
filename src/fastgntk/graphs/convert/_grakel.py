"""Graphs in GraKeL's form: ``(edges or adjacency, node labels, edge labels)``, or its ``Graph`` objects.

As in GraKeL, an edge (u, v) exists in the given direction only; its own data sets list both. Labels that are vectors
of numbers are features.
"""

import numbers
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, count, repeat
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk.errors import InputError
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._csr import entries
from fastgntk.graphs.convert._assemble import ParsedGraphs, assemble
from fastgntk.graphs.convert._attributes import AttributeNames
from fastgntk.graphs.convert._tables import ColumnBuffer, Columns

__all__ = ["from_grakel", "is_grakel"]


class _Pairs:
    """Edges as pairs of nodes. ``nodes`` exist whether an edge names them or not; a range excludes all other nodes."""

    def __init__(self, pairs: Collection[tuple[Any, Any]], weights: Iterable[Any], nodes: Collection[Any] = ()) -> None:
        self._pairs, self.weights, self.nodes = pairs, weights, nodes

    def ends(self, index_of: Mapping[Any, int]) -> tuple[list[int], list[int]]:
        """Return the node indices of both ends of each edge."""
        flat = list(map(index_of.__getitem__, chain.from_iterable(self._pairs)))
        return flat[::2], flat[1::2]

    def pairs(self) -> list[tuple[Any, Any]]:
        """Return the ends of each edge."""
        return list(self._pairs)


class _Rows:
    """Edges as the neighbours of each node: faster than pairs, with the same result."""

    def __init__(self, rows: Mapping[Any, Collection[Any]], weights: Iterable[Any]) -> None:
        self.weights, self.nodes = weights, rows.keys()
        self._degrees = list(map(len, rows.values()))
        self._heads = list(chain.from_iterable(rows.values()))

    def ends(self, index_of: Mapping[Any, int]) -> tuple[list[int], list[int]]:
        tails = self._repeat(map(index_of.__getitem__, self.nodes))
        return list(tails), list(map(index_of.__getitem__, self._heads))

    def pairs(self) -> list[tuple[Any, Any]]:
        return list(zip(self._repeat(self.nodes), self._heads, strict=True))

    def _repeat(self, nodes: Iterable[Any]) -> Iterable[Any]:
        return chain.from_iterable(map(repeat, nodes, self._degrees))


def is_grakel(item: Any) -> bool:
    """Return whether an object has GraKeL's form: one to three parts, the labels as dictionaries."""
    if not isinstance(item, list | tuple) or not 1 <= len(item) <= 3:
        return False
    first, *labels = item
    fits = sparse.issparse(first) or isinstance(first, np.ndarray | Mapping | list | tuple | set | frozenset)
    return fits and all(part is None or isinstance(part, Mapping) for part in labels)


def from_grakel(items: Sequence[Any], directed: bool | None) -> GraphBatch:
    """Convert graphs; their nodes are those with labels, then those that only edges name."""
    sizes, counts = [], []
    node_names: list[Any] = []
    tails, heads = ColumnBuffer(int), ColumnBuffer(int)
    weights, node_labels, edge_labels = ColumnBuffer(), ColumnBuffer(), ColumnBuffer()
    for i, item in enumerate(items):
        source, labels_by_node, labels_by_edge = _split_parts(item)
        try:
            edges = _read_edges(source)
            index_of = _index_nodes(labels_by_node or (), edges.nodes)
            graph_tails, graph_heads = edges.ends(index_of)
        except InputError as error:
            raise InputError(f"graph {i}: {error}") from None
        except (TypeError, ValueError):  # no pairs, or unhashable nodes
            forms = "pairs, triples with a weight, a dictionary of either, or an adjacency matrix"
            raise InputError(f"graph {i}: edges must be {forms}.") from None
        sizes.append(len(index_of))
        counts.append(len(graph_heads))
        node_names += index_of
        tails.extend(graph_tails)
        heads.extend(graph_heads)
        weights.extend(edges.weights)
        node_labels.extend(_look_up(labels_by_node, list(index_of)) if labels_by_node else repeat(None, sizes[-1]))
        edge_labels.extend(_look_up(labels_by_edge, edges.pairs()) if labels_by_edge else repeat(None, counts[-1]))
    labels, types = node_labels.combine(vectors=True), edge_labels.combine()
    first_label = next((label for label in labels if label is not None), None)
    floats = isinstance(first_label, tuple) and any(isinstance(part, float) for part in first_label)
    vectors = floats or isinstance(first_label, list | np.ndarray)
    label_names = () if vectors or first_label is None else ("label",)
    feature_names = ("features",) if vectors else ()
    type_names = ("label",) if any(label is not None for label in types) else ()
    nodes = Columns(dict.fromkeys(label_names + feature_names, labels))
    edge_table = Columns({"weight": weights.combine()} | dict.fromkeys(type_names, types))
    ends = tails.combine(), heads.combine()
    graphs = ParsedGraphs(sizes, counts, *ends, nodes, edge_table, parallel=False, node_names=node_names)
    # All attributes are named, so that a node or an edge without a label is an error.
    names = AttributeNames(label_names, feature_names, type_names, ("weight",))
    return assemble(graphs, names, directed)


def _split_parts(item: Any) -> tuple[Any, Mapping[Any, Any] | None, Mapping[Any, Any] | None]:
    """Return edges or adjacency, node labels, edge labels."""
    if isinstance(item, list | tuple):
        source, node_labels, edge_labels = [*item, None, None][:3]
    elif item.edge_dictionary is not None:  # a GraKeL graph in dictionary form
        source, node_labels, edge_labels = item.edge_dictionary, item.node_labels, item.edge_labels
    else:
        source, node_labels, edge_labels = item.adjacency_matrix, item.index_node_labels, item.index_edge_labels
    if sparse.issparse(source):
        source = source.toarray()
    if isinstance(source, np.ndarray):
        source = np.asarray(source)  # GraKeL holds sparse input as np.matrix, which is indexed differently
    return source, node_labels, edge_labels


def _index_nodes(labelled: Iterable[Any], nodes: Collection[Any]) -> dict[Any, int]:
    """Return a dictionary from nodes to indices that gives the next index to an unknown node."""
    distinct: Collection[Any] = list(labelled)
    if distinct != list(nodes):  # usually all nodes have labels, in the same order
        distinct = dict.fromkeys([*distinct, *nodes])
    if isinstance(nodes, range) and len(distinct) > len(nodes):
        stray = next(node for node in distinct if node not in nodes)
        raise InputError(f"its matrix has {len(nodes)} nodes, but node {stray!r} has a label; nodes count from 0.")
    return defaultdict(count(len(distinct)).__next__, zip(distinct, range(len(distinct)), strict=True))


def _look_up(labels: Mapping[Any, Any], keys: list[Any]) -> Iterable[Any]:
    """Return the label of each key, None if it has none."""
    same_order = list(labels) == keys  # the usual case, without lookups
    return labels.values() if same_order else map(labels.get, keys)


def _read_edges(source: Any) -> _Pairs | _Rows:
    """Read edges in any of GraKeL's forms."""
    nested_lists = isinstance(source, list) and source and all(isinstance(row, list) for row in source)
    if nested_lists or isinstance(source, np.ndarray):
        n_nodes, rows, cols, weights = entries(source)
        return _Pairs(list(zip(rows.tolist(), cols.tolist(), strict=True)), weights.tolist(), range(n_nodes))
    if not isinstance(source, Mapping):
        triples = [(*edge, 1.0) if len(edge) == 2 else edge for edge in map(tuple, source)]
        return _Pairs([(u, v) for u, v, _ in triples], [weight for _, _, weight in triples])
    kinds = set(map(type, source.values()))
    if kinds <= {dict}:  # as in GraKeL's own objects; faster than the general case below
        return _Rows(source, chain.from_iterable(map(dict.values, source.values())))
    if _all_are(numbers.Number, kinds) and _all_are(tuple, set(map(type, source))) and set(map(len, source)) <= {2}:
        return _Pairs(source.keys(), source.values())
    if not _all_are(Mapping | list | tuple | set | frozenset, kinds):
        raise TypeError
    weights_of = (row.values() if isinstance(row, Mapping) else [1.0] * len(row) for row in source.values())
    return _Rows(source, chain.from_iterable(weights_of))


def _all_are(what: Any, kinds: set[type]) -> bool:
    return all(issubclass(kind, what) for kind in kinds)
