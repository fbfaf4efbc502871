"""Graphs as GraKeL takes them: ``(edges or adjacency, node labels, edge labels)``, or its ``Graph`` objects.

As in GraKeL, an edge (u, v) is there in the direction in which it is given; its own data sets list both. Labels that
are vectors of numbers are features.
"""

from __future__ import annotations

import numbers
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, count, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk.errors import InputError
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs.convert._assemble import Found, assemble
from fastgntk.graphs.convert._attributes import Choice, Columns
from fastgntk.graphs.convert._columns import Gathered

__all__ = ["from_grakel", "is_grakel"]


class _Pairs:
    """Edges as pairs of nodes.

    ``nodes`` are those that are there whether an edge names them or not; a range if there can be no others.
    """

    def __init__(self, pairs: Collection[tuple[Any, Any]], weights: Iterable[Any], nodes: Collection[Any] = ()) -> None:
        self.weights, self.nodes = weights, nodes
        self._pairs = pairs

    def numbers(self, place: Mapping[Any, int]) -> tuple[list[int], list[int]]:
        """Return the numbers of both ends of each edge."""
        flat = list(map(place.__getitem__, chain.from_iterable(self._pairs)))
        return flat[::2], flat[1::2]

    def labels(self, known: Mapping[Any, Any]) -> Iterable[Any]:
        """Return the label of each edge, None where there is none."""
        return _looked_up(known, list(self._pairs))


class _Rows:
    """Edges as the neighbours of each node: what pairs of nodes come to, in less time."""

    def __init__(self, rows: Mapping[Any, Collection[Any]], weights: Iterable[Any]) -> None:
        self.weights, self.nodes = weights, rows.keys()
        self._degrees = list(map(len, rows.values()))
        self._heads = list(chain.from_iterable(rows.values()))

    def numbers(self, place: Mapping[Any, int]) -> tuple[list[int], list[int]]:
        tails = self._tails(map(place.__getitem__, self.nodes))
        return list(tails), list(map(place.__getitem__, self._heads))

    def labels(self, known: Mapping[Any, Any]) -> Iterable[Any]:
        return _looked_up(known, list(zip(self._tails(self.nodes), self._heads, strict=True)))

    def _tails(self, nodes: Iterable[Any]) -> Iterable[Any]:
        return chain.from_iterable(map(repeat, nodes, self._degrees))


def is_grakel(item: Any) -> bool:
    """Tell whether this has the shape of what GraKeL takes: one to three parts, the labels as dictionaries."""
    if not isinstance(item, list | tuple) or not 1 <= len(item) <= 3:
        return False
    first, *labels = item
    fits = sparse.issparse(first) or isinstance(first, np.ndarray | Mapping | list | tuple | set | frozenset)
    return fits and all(part is None or isinstance(part, Mapping) for part in labels)


def from_grakel(items: Sequence[Any], choice: Choice, directed: bool | None) -> GraphBatch:
    """Convert; the nodes are those of the labels, then those that only edges name."""
    if not choice.empty:
        raise InputError(
            "graphs in the form of GraKeL have no attributes with names; leave out node_labels, node_features, "
            "edge_labels and edge_weights."
        )
    sizes, counts = [], []
    names: list[Any] = []
    tails, heads = Gathered(int), Gathered(int)
    weights, node_labels, edge_labels = Gathered(), Gathered(), Gathered()
    for i, item in enumerate(items):
        source, of_nodes, of_edges = _parts(item)
        try:
            edges = _edges(source)
            place = _numbers(of_nodes or (), edges.nodes)
            own_tails, own_heads = edges.numbers(place)
        except InputError as error:
            raise InputError(f"graph {i}: {error}") from None
        except (TypeError, ValueError):  # no pairs, or nodes that cannot be looked up
            known = "pairs, triples with a weight, a dictionary of either, or an adjacency matrix"
            raise InputError(f"graph {i}: edges must be {known}.") from None
        sizes.append(len(place))
        counts.append(len(own_heads))
        names += place
        tails.add(own_tails)
        heads.add(own_heads)
        weights.add(edges.weights)
        node_labels.add(repeat(None, len(place)) if of_nodes is None else _looked_up(of_nodes, list(place)))
        edge_labels.add(repeat(None, len(own_heads)) if of_edges is None else edges.labels(of_edges))
    of_nodes, of_edges = node_labels.whole(vectors=True), edge_labels.whole()
    nodes_known = {_kind(of_nodes): of_nodes} if _any(of_nodes) else {}
    edges_known = {"label": of_edges} if _any(of_edges) else {}
    found = Found(
        sizes=np.array(sizes, dtype=np.int64),
        counts=np.array(counts, dtype=np.int64),
        tails=np.asarray(tails.whole(), dtype=np.int32),
        heads=np.asarray(heads.whole(), dtype=np.int32),
        one_way=np.ones(len(items), dtype=bool),
        nodes=Columns(nodes_known),
        edges=Columns(edges_known | {"weight": weights.whole()}),
        parallel=False,
        node_names=names,
    )
    # Named here, so that a node or an edge without a label is an error and not a custom that does not apply.
    everything = Choice(
        node_labels=("label",) if "label" in nodes_known else (),
        node_features=("features",) if "features" in nodes_known else (),
        edge_labels=tuple(edges_known),
        edge_weights=("weight",),
    )
    return assemble(found, everything, directed)


def _parts(item: Any) -> tuple[Any, Mapping[Any, Any] | None, Mapping[Any, Any] | None]:
    """Return edges or adjacency, node labels, edge labels."""
    if isinstance(item, list | tuple):
        source, of_nodes, of_edges = [*item, None, None][:3]
    elif item.edge_dictionary is not None:  # an object of GraKeL that holds a dictionary
        source, of_nodes, of_edges = item.edge_dictionary, item.node_labels, item.edge_labels
    else:
        source, of_nodes, of_edges = item.adjacency_matrix, item.index_node_labels, item.index_edge_labels
    if sparse.issparse(source):
        source = source.toarray()
    if isinstance(source, np.ndarray):
        source = np.asarray(source)  # GraKeL holds what was sparse as a matrix, which indexes in its own way
    return source, of_nodes or None, of_edges or None


def _numbers(labelled: Iterable[Any], nodes: Collection[Any]) -> dict[Any, int]:
    """Return a dictionary from nodes to numbers, which gives the next one to whoever it does not know."""
    own: Collection[Any] = list(labelled)
    if own != list(nodes):  # most have labels for all nodes, in the same order
        own = dict.fromkeys([*own, *nodes])
    if isinstance(nodes, range) and len(own) > len(nodes):
        stray = next(node for node in own if node not in nodes)
        raise InputError(f"its matrix has {len(nodes)} nodes, but node {stray!r} has a label; nodes count from 0.")
    return defaultdict(count(len(own)).__next__, zip(own, range(len(own)), strict=True))


def _looked_up(labels: Mapping[Any, Any], keys: list[Any]) -> Iterable[Any]:
    """Return the label of each key, None where there is none."""
    same_order = list(labels) == keys  # as it mostly is, and then nothing needs to be looked up
    return labels.values() if same_order else map(labels.get, keys)


def _edges(source: Any) -> _Pairs | _Rows:
    """Read one of the forms that GraKeL knows."""
    if isinstance(source, list) and source and all(isinstance(row, list) for row in source):
        try:
            source = np.array(source)
        except ValueError:
            raise InputError("adjacency must be a square matrix, but its rows have different lengths.") from None
    if isinstance(source, np.ndarray):
        return _of_matrix(source)
    if not isinstance(source, Mapping):
        return _of_tuples(list(map(tuple, source)))
    kinds = set(map(type, source.values()))
    if kinds <= {dict}:  # as GraKeL's own objects hold them: what is below comes to the same, in more time
        return _Rows(source, chain.from_iterable(map(dict.values, source.values())))
    if _all_are(numbers.Number, kinds) and _all_are(tuple, set(map(type, source))) and set(map(len, source)) <= {2}:
        return _Pairs(source.keys(), source.values())
    if not _all_are(Mapping | list | tuple | set | frozenset, kinds):
        raise TypeError
    rows = source.values()
    return _Rows(source, (w for row in rows for w in (row.values() if isinstance(row, Mapping) else [1.0] * len(row))))


def _all_are(what: Any, kinds: set[type]) -> bool:
    return all(issubclass(kind, what) for kind in kinds)


def _of_tuples(tuples: list[tuple[Any, ...]]) -> _Pairs:
    """Read pairs and triples."""
    triples = [(*edge, 1.0) if len(edge) == 2 else edge for edge in tuples]
    return _Pairs([(u, v) for u, v, _ in triples], [weight for _, _, weight in triples])


def _of_matrix(matrix: NDArray[Any]) -> _Pairs:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise InputError(f"adjacency must be square and real, but has shape {matrix.shape} and dtype {matrix.dtype}.")
    rows, cols = np.nonzero(matrix)
    return _Pairs(list(zip(rows.tolist(), cols.tolist(), strict=True)), matrix[rows, cols].tolist(), range(len(matrix)))


def _any(labels: Any) -> bool:
    return any(label is not None for label in labels)


def _kind(labels: Any) -> str:
    """Tell labels from features, which are vectors."""
    first = next(label for label in labels if label is not None)
    vector = isinstance(first, list | np.ndarray) or (
        isinstance(first, tuple) and any(isinstance(part, float) for part in first)
    )
    return "features" if vector else "label"
