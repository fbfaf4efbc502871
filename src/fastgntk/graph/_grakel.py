"""Graphs as GraKeL takes them: ``(edges or adjacency, node labels, edge labels)``, or its ``Graph`` objects.

As in GraKeL, an edge (u, v) is there in the direction in which it is given; its own data sets list both. Labels that
are vectors of numbers are features.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk.errors import InputError
from fastgntk.graph._assemble import Found, assemble
from fastgntk.graph._attributes import Choice, Columns
from fastgntk.graph._batch import GraphBatch

__all__ = ["from_grakel", "is_grakel"]


class _Edges(NamedTuple):
    tails: Sequence[Any]
    heads: Sequence[Any]
    weights: Sequence[Any]
    nodes: Collection[Any]


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
    tails: list[int] = []
    heads: list[int] = []
    weights: list[Any] = []
    names: list[Any] = []
    node_labels: list[Any] = []
    edge_labels: list[Any] = []
    for i, item in enumerate(items):
        source, of_nodes, of_edges = _parts(item)
        try:
            edges = _edges(source)
        except InputError as error:
            raise InputError(f"graph {i}: {error}") from None
        own = list(dict.fromkeys([*(of_nodes or ()), *edges.nodes]))
        if isinstance(edges.nodes, range) and len(own) > len(edges.nodes):
            stray = next(node for node in own if node not in edges.nodes)
            raise InputError(
                f"graph {i} has {len(edges.nodes)} nodes, but a label for node {stray!r}; nodes count from 0."
            )
        number = dict(zip(own, range(len(own)), strict=True)).__getitem__
        sizes.append(len(own))
        counts.append(len(edges.tails))
        names += own
        tails += map(number, edges.tails)
        heads += map(number, edges.heads)
        weights += edges.weights
        node_labels += map(of_nodes.get, own) if of_nodes else repeat(None, len(own))
        pairs = zip(edges.tails, edges.heads, strict=True)
        edge_labels += map(of_edges.get, pairs) if of_edges else repeat(None, len(edges.tails))
    nodes_known = {} if all(label is None for label in node_labels) else {_kind(node_labels): node_labels}
    edges_known = {} if all(label is None for label in edge_labels) else {"label": edge_labels}
    found = Found(
        sizes=np.array(sizes, dtype=np.int64),
        counts=np.array(counts, dtype=np.int64),
        tails=np.array(tails, dtype=np.int64),
        heads=np.array(heads, dtype=np.int64),
        one_way=np.ones(len(items), dtype=bool),
        nodes=Columns(nodes_known),
        edges=Columns(edges_known | {"weight": weights}),
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


def _edges(source: Any) -> _Edges:
    """Read one of the forms that GraKeL knows."""
    if isinstance(source, list) and source and all(isinstance(row, list) for row in source):
        try:
            source = np.array(source)
        except ValueError:
            raise InputError("adjacency must be a square matrix, but its rows have different lengths.") from None
    if isinstance(source, np.ndarray):
        return _of_matrix(source)
    try:
        if not isinstance(source, Mapping):
            return _of_tuples(list(source))
        if _all_are(source, tuple) and set(map(len, source)) <= {2} and _all_are(source.values(), numbers.Number):
            return _of_tuples([(u, v, weight) for (u, v), weight in source.items()])
        return _of_rows(source)
    except (TypeError, ValueError):
        raise InputError(
            "edges must be pairs, triples with a weight, a dictionary of either, or an adjacency matrix."
        ) from None


def _all_are(values: Iterable[Any], kind: type) -> bool:
    return all(issubclass(found, kind) for found in set(map(type, values)))


def _of_tuples(tuples: list[Any]) -> _Edges:
    """Read pairs and triples; the nodes are in the order in which the edges name them."""
    if not tuples:
        return _Edges([], [], [], [])
    if not set(map(len, tuples)) <= {3}:
        tuples = [(*edge, 1.0) if len(edge) == 2 else edge for edge in tuples]
    tails, heads, weights = zip(*tuples, strict=True)
    return _Edges(tails, heads, weights, dict.fromkeys(chain.from_iterable(zip(tails, heads, strict=True))))


def _of_rows(source: Mapping[Any, Any]) -> _Edges:
    """Read the neighbours of each node, with weights or without."""
    rows = source.values()
    for kind in set(map(type, rows)):
        if not issubclass(kind, Mapping | list | tuple | set | frozenset):
            raise TypeError
    heads = list(chain.from_iterable(rows))
    return _Edges(
        tails=list(chain.from_iterable(map(repeat, source, map(len, rows)))),
        heads=heads,
        weights=list(chain.from_iterable(r.values() if isinstance(r, Mapping) else repeat(1.0, len(r)) for r in rows)),
        nodes=dict.fromkeys([*source, *heads]),
    )


def _of_matrix(matrix: NDArray[Any]) -> _Edges:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise InputError(f"adjacency must be square and real, but has shape {matrix.shape} and dtype {matrix.dtype}.")
    rows, cols = np.nonzero(matrix)
    return _Edges(rows.tolist(), cols.tolist(), matrix[rows, cols].tolist(), range(len(matrix)))


def _kind(labels: list[Any]) -> str:
    """Tell labels from features, which are vectors."""
    first = next(label for label in labels if label is not None)
    vector = isinstance(first, list | np.ndarray) or (
        isinstance(first, tuple) and any(isinstance(part, float) for part in first)
    )
    return "features" if vector else "label"
