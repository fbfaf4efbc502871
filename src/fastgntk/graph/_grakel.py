"""Graphs as GraKeL takes them: ``(edges or adjacency, node labels, edge labels)``, or its ``Graph`` objects.

As in GraKeL, an edge (u, v) is there in the direction in which it is given; its own data sets list both. Labels that
are vectors of numbers are features.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk.errors import InputError
from fastgntk.graph._assemble import Found, assemble
from fastgntk.graph._attributes import Choice, Columns
from fastgntk.graph._batch import GraphBatch

__all__ = ["from_grakel", "is_grakel"]

Edges = list[tuple[Any, Any, Any]]  # tail, head, weight


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
    tails, heads, weights = [], [], []
    names: list[Any] = []
    node_labels: list[Any] = []
    edge_labels: list[Any] = []
    for i, item in enumerate(items):
        source, of_nodes, of_edges = _parts(item)
        try:
            edges, nodes = _edges(source)
        except InputError as error:
            raise InputError(f"graph {i}: {error}") from None
        place = {node: number for number, node in enumerate(dict.fromkeys([*(of_nodes or ()), *nodes]))}
        if isinstance(nodes, range) and len(place) > len(nodes):
            stray = next(node for node in place if node not in nodes)
            raise InputError(f"graph {i} has {len(nodes)} nodes, but a label for node {stray!r}; nodes count from 0.")
        sizes.append(len(place))
        counts.append(len(edges))
        names += place
        tails += [place[u] for u, _, _ in edges]
        heads += [place[v] for _, v, _ in edges]
        weights += [w for _, _, w in edges]
        node_labels += [of_nodes.get(u) for u in place] if of_nodes else [None] * len(place)
        edge_labels += [of_edges.get((u, v)) for u, v, _ in edges] if of_edges else [None] * len(edges)
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


def _edges(source: Any) -> tuple[Edges, Collection[Any]]:
    """Return the edges and the nodes in one of the forms that GraKeL knows."""
    if isinstance(source, list) and source and all(isinstance(row, list) for row in source):
        try:
            source = np.array(source)
        except ValueError:
            raise InputError("adjacency must be a square matrix, but its rows have different lengths.") from None
    if isinstance(source, np.ndarray):
        return _of_matrix(source)
    edges: Edges
    nodes: list[Any] = []
    try:
        if not isinstance(source, Mapping):
            edges = [(*edge, 1.0) if len(edge) == 2 else edge for edge in source]
        elif all(isinstance(k, tuple) and len(k) == 2 and isinstance(w, numbers.Number) for k, w in source.items()):
            edges = [(u, v, w) for (u, v), w in source.items()]
        else:
            nodes = list(source)
            edges = [
                (u, v, row[v] if isinstance(row, Mapping) else 1.0) for u, row in source.items() for v in _row(row)
            ]
        return edges, dict.fromkeys([*nodes, *(end for u, v, _ in edges for end in (u, v))])
    except (TypeError, ValueError):
        raise InputError(
            "edges must be pairs, triples with a weight, a dictionary of either, or an adjacency matrix."
        ) from None


def _row(row: Any) -> Any:
    if not isinstance(row, Mapping | list | tuple | set | frozenset):
        raise TypeError
    return row


def _of_matrix(matrix: NDArray[Any]) -> tuple[Edges, Collection[Any]]:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise InputError(f"adjacency must be square and real, but has shape {matrix.shape} and dtype {matrix.dtype}.")
    rows, cols = np.nonzero(matrix)
    return list(zip(rows.tolist(), cols.tolist(), matrix[rows, cols].tolist(), strict=True)), range(len(matrix))


def _kind(labels: list[Any]) -> str:
    """Tell labels from features, which are vectors."""
    first = next(label for label in labels if label is not None)
    vector = isinstance(first, list | np.ndarray) or (
        isinstance(first, tuple) and any(isinstance(part, float) for part in first)
    )
    return "features" if vector else "label"
