"""Graphs as GraKeL takes them: ``(edges or adjacency, node labels, edge labels)``, or its ``Graph`` objects.

As in GraKeL, an edge (u, v) is there in the direction in which it is given; its own data sets list both. Labels that
are vectors of numbers are features.
"""

from __future__ import annotations

import numbers
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, count, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk.errors import InputError
from fastgntk.graph._assemble import Found, assemble, node_numbers
from fastgntk.graph._attributes import Choice, Columns
from fastgntk.graph._batch import GraphBatch

__all__ = ["from_grakel", "is_grakel"]


class _Edges(NamedTuple):
    pairs: Collection[tuple[Any, Any]]
    weights: Iterable[Any]
    nodes: Collection[Any] = ()
    """Those that are there whether an edge names them or not; a range if there can be no others."""


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
    ends: list[int] = []
    weights: list[Any] = []
    names: list[Any] = []
    node_labels: list[Any] = []
    edge_labels: list[Any] = []
    for i, item in enumerate(items):
        source, of_nodes, of_edges = _parts(item)
        try:
            edges = _edges(source)
            place = _numbers(of_nodes or (), edges.nodes)
            ends += map(place.__getitem__, chain.from_iterable(edges.pairs))
        except InputError as error:
            raise InputError(f"graph {i}: {error}") from None
        except (TypeError, ValueError):  # no pairs, or nodes that cannot be looked up
            known = "pairs, triples with a weight, a dictionary of either, or an adjacency matrix"
            raise InputError(f"graph {i}: edges must be {known}.") from None
        sizes.append(len(place))
        counts.append(len(edges.pairs))
        names += place
        weights += edges.weights
        node_labels += _looked_up(of_nodes, list(place))
        edge_labels += _looked_up(of_edges, list(edges.pairs))
    tails, heads = node_numbers(ends, sizes).reshape(-1, 2).T
    nodes_known = {} if all(label is None for label in node_labels) else {_kind(node_labels): node_labels}
    edges_known = {} if all(label is None for label in edge_labels) else {"label": edge_labels}
    found = Found(
        sizes=np.array(sizes, dtype=np.int64),
        counts=np.array(counts, dtype=np.int64),
        tails=tails,
        heads=heads,
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


def _numbers(labelled: Iterable[Any], nodes: Collection[Any]) -> dict[Any, int]:
    """Return a dictionary from nodes to numbers, which gives the next one to whoever it does not know."""
    own = dict.fromkeys([*labelled, *nodes])
    if isinstance(nodes, range) and len(own) > len(nodes):
        stray = next(node for node in own if node not in nodes)
        raise InputError(f"its matrix has {len(nodes)} nodes, but node {stray!r} has a label; nodes count from 0.")
    return defaultdict(count(len(own)).__next__, zip(own, range(len(own)), strict=True))


def _looked_up(labels: Mapping[Any, Any] | None, keys: list[Any]) -> Iterable[Any]:
    """Return the label of each key, None where there is none."""
    if labels is None:
        return repeat(None, len(keys))
    same_order = list(labels) == keys  # as it mostly is, and then nothing needs to be looked up
    return labels.values() if same_order else map(labels.get, keys)


def _edges(source: Any) -> _Edges:
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
        return _of_rows(source, chain.from_iterable(map(dict.values, source.values())))
    if _all_are(numbers.Number, kinds) and _all_are(tuple, set(map(type, source))) and set(map(len, source)) <= {2}:
        return _Edges(source.keys(), source.values())
    if not _all_are(Mapping | list | tuple | set | frozenset, kinds):
        raise TypeError
    rows = source.values()
    return _of_rows(
        source, (w for row in rows for w in (row.values() if isinstance(row, Mapping) else [1.0] * len(row)))
    )


def _all_are(what: Any, kinds: set[type]) -> bool:
    return all(issubclass(kind, what) for kind in kinds)


def _of_tuples(tuples: list[tuple[Any, ...]]) -> _Edges:
    """Read pairs and triples."""
    triples = [(*edge, 1.0) if len(edge) == 2 else edge for edge in tuples]
    return _Edges([(u, v) for u, v, _ in triples], [weight for _, _, weight in triples])


def _of_rows(source: Mapping[Any, Any], weights: Iterable[Any]) -> _Edges:
    """Read the neighbours of each node."""
    rows = source.values()
    tails = chain.from_iterable(map(repeat, source, map(len, rows)))
    return _Edges(list(zip(tails, chain.from_iterable(rows), strict=True)), weights, source.keys())


def _of_matrix(matrix: NDArray[Any]) -> _Edges:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise InputError(f"adjacency must be square and real, but has shape {matrix.shape} and dtype {matrix.dtype}.")
    rows, cols = np.nonzero(matrix)
    return _Edges(list(zip(rows.tolist(), cols.tolist(), strict=True)), matrix[rows, cols].tolist(), range(len(matrix)))


def _kind(labels: list[Any]) -> str:
    """Tell labels from features, which are vectors."""
    first = next(label for label in labels if label is not None)
    vector = isinstance(first, list | np.ndarray) or (
        isinstance(first, tuple) and any(isinstance(part, float) for part in first)
    )
    return "features" if vector else "label"
