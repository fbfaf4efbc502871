"""Assemble a batch from the nodes and edges of many graphs, listed one graph after the other.

Every converter ends here, so that parallel edges, directions and attributes mean the same for every source, and so
that arrays are made once for all graphs. If the caller names no attribute of nodes, or none of edges, the usual names
are taken, provided that every node or edge has them.
"""

import warnings
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from fastgntk._util.arrays import Ints
from fastgntk.errors import InputError, levels_to_the_caller
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._csr import check_symmetric, from_edges, row_offsets
from fastgntk.graphs.convert._attribute_arrays import (
    Attribute,
    RowName,
    label_array,
    number_array,
    single_label,
    weight_array,
)
from fastgntk.graphs.convert._tables import Table

__all__ = ["AttributeNames", "MessageNames", "Names", "ParsedGraphs", "UnusedAttributesWarning", "assemble"]

Names = str | Sequence[str] | None
"""Attributes named by a caller: a name or several, None for the usual ones, an empty sequence for none."""


class UnusedAttributesWarning(UserWarning):
    """Nodes or edges have attributes that are neither named by the caller nor taken by default."""


@dataclass(frozen=True)
class AttributeNames:
    """Names of the attributes that are labels, features and weights; None where the caller named none."""

    node_labels: tuple[str, ...] | None = None
    node_features: tuple[str, ...] | None = None
    edge_labels: tuple[str, ...] | None = None
    edge_weights: tuple[str, ...] | None = None

    @classmethod
    def checked(cls, **names: Names) -> Self:
        """Check names given by a caller."""
        checked = cls(**{argument: _check_names(value, argument) for argument, value in names.items()})
        count = len(checked.edge_weights or ())
        if count > 1:
            raise InputError(f"an edge has one weight, but edge_weights names {count} attributes; name one.")
        return checked

    @property
    def empty(self) -> bool:
        """Whether the caller named nothing."""
        return all(names is None for names in astuple(self))


_USUAL_NAMES = AttributeNames(("label",), ("features", "x"), ("label",), ("weight",))


def _check_names(names: Names, argument: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InputError(f"{argument} must be the name of an attribute or a sequence of names, but is {names!r}.")
    if len(set(listed)) != len(listed):
        raise InputError(f"{argument} must name each attribute once, but is {', '.join(map(repr, listed))}.")
    return tuple(listed)


@dataclass(frozen=True, kw_only=True)
class ParsedGraphs:
    """The nodes and edges of n graphs, all in the order of the graphs."""

    sizes: ArrayLike
    """Number of nodes of each graph."""
    counts: ArrayLike
    """Number of edges of each graph."""
    tails: ArrayLike
    heads: ArrayLike
    """The ends of each edge, numbered within their graph."""
    directed: ArrayLike = True
    """Whether each graph is directed, or whether all are."""
    parallel: ArrayLike = True
    """Whether several edges between two nodes are parallel edges, or copies of one edge; for each graph, or for all."""
    nodes: Table
    edges: Table
    """The attributes of all nodes and of all edges."""
    node_names: Sequence[Any] | None = None
    """The name of each node in the source; None for its number within its graph."""
    graph_names: Sequence[Any] | None = None
    """The name of each graph in the source; None for its number."""
    usual: AttributeNames = _USUAL_NAMES
    """The attributes that are taken by default: of each kind the first that every row has."""


def assemble(graphs: ParsedGraphs, names: AttributeNames, directed: bool | None) -> GraphBatch:
    """Select attributes and merge edges; with ``directed=False`` every edge must exist in both directions."""
    sizes, counts = np.asarray(graphs.sizes, dtype=np.int64), np.asarray(graphs.counts, dtype=np.int64)
    offsets = row_offsets(sizes)
    shift = np.repeat(offsets[:-1].astype(np.int32), counts)
    rows, cols = (np.asarray(ends, dtype=np.int32) + shift for ends in (graphs.tails, graphs.heads))
    message_names = MessageNames(offsets, graphs.node_names, graphs.graph_names)

    def edge_name(i: int) -> str:
        return message_names.edge(rows[i], cols[i])

    named, usual = astuple(names), astuple(graphs.usual)
    nodes = _Selection("node", graphs.nodes, message_names.node, named[:2], usual[:2])
    edges = _Selection("edge", graphs.edges, edge_name, named[2:], usual[2:])
    _warn_unused(nodes, edges)
    labels = label_array(nodes.labels, "pass numbers that measure something as node_features=")
    features = number_array(nodes.numbers, "pass discrete values as node_labels=")
    edge_labels = label_array(edges.labels, "pass a number that measures something as edge_weights=")
    adjacency = from_edges(
        rows,
        cols,
        int(offsets[-1]),
        weights=weight_array(edges.numbers, "pass discrete values as edge_labels="),
        edge_labels=single_label(edge_labels),
        directed=np.repeat(np.broadcast_to(graphs.directed, len(sizes)), counts),
        parallel=np.repeat(np.broadcast_to(graphs.parallel, len(sizes)), counts),
        one_label=True,
        edge_name=message_names.edge,
    )
    if directed is False and np.any(graphs.directed):
        check_symmetric(adjacency.indptr, adjacency.indices, adjacency.weights, message_names.edge)
    return GraphBatch.from_adjacency(adjacency, sizes, features=features, labels=labels)


@dataclass(frozen=True)
class MessageNames:
    """Names of nodes and edges, numbered over all graphs, in error messages."""

    offsets: Ints
    node_names: Sequence[Any] | None = None
    graph_names: Sequence[Any] | None = None

    def node(self, u: int) -> str:
        """Return "graph …, node …"."""
        return f"{self._graph_name(u)}, node {self._node_name(u)}"

    def edge(self, u: int, v: int) -> str:
        """Return "graph …, edge (…, …)"."""
        return f"{self._graph_name(u)}, edge ({self._node_name(u)}, {self._node_name(v)})"

    def _graph(self, u: int) -> int:
        return int(np.searchsorted(self.offsets, u, side="right")) - 1

    def _graph_name(self, u: int) -> str:
        graph = self._graph(u)
        return f"graph {graph if self.graph_names is None else repr(self.graph_names[graph])}"

    def _node_name(self, u: int) -> str:
        return str(u - self.offsets[self._graph(u)]) if self.node_names is None else repr(self.node_names[u])


class _Selection:
    """The attributes of nodes, or of edges, that are selected as labels and as numbers.

    ``named`` and ``usual`` are the names of labels and of numbers; the usual ones count if the caller named neither.
    """

    def __init__(self, what: str, table: Table, row_name: RowName, named: Any, usual: Any) -> None:
        self._what, self._table, self._row_name = what, table, row_name
        self._used: set[str] = set()
        self._partial: set[str] = set()
        self._by_name = named != (None, None)
        select, (labels, numbers) = (self._select_named, named) if self._by_name else (self._select_usual, usual)
        self.labels: list[Attribute] = select(labels or (), numbers=False)
        self.numbers: list[Attribute] = select(numbers or (), numbers=True)

    def _select_named(self, names: Sequence[str], *, numbers: bool) -> list[Attribute]:
        selected = []
        for name in names:
            if name not in self._table.names:
                available = ", ".join(map(repr, self._table.names)) or "none at all"
                raise InputError(f"no {self._what} has an attribute {name!r}; there are {available}.")
            values, missing = self._table.column(name, numbers=numbers)
            if missing is not None:
                row = self._row_name(missing)
                raise InputError(f"{row} has no attribute {name!r}; give it to every {self._what}, or name another.")
            selected.append(Attribute(name, values, self._row_name))
        return selected

    def _select_usual(self, names: Sequence[str], *, numbers: bool) -> list[Attribute]:
        for name in names:
            if name not in self._table.names or name in self._used:
                continue
            values, missing = self._table.column(name, numbers=numbers)
            if missing is None:
                self._used.add(name)
                return [Attribute(name, values, self._row_name)]
            self._partial.add(name)
        return []

    def describe_unused(self) -> str:
        """Describe the attributes that are neither named nor taken by default; nothing if the caller named some."""
        unused = [name for name in self._table.names if name not in self._used and name not in self._table.silent]
        if self._by_name or not unused:
            return ""
        listed = (f"{name!r} (not on every {self._what})" if name in self._partial else repr(name) for name in unused)
        return f"{self._what} attribute{'s' * (len(unused) > 1)} {', '.join(listed)}"


def _warn_unused(*selections: _Selection) -> None:
    """Raise one warning for all unused attributes."""
    unused = [text for text in (selection.describe_unused() for selection in selections) if text]
    if unused:
        warnings.warn(
            f"not used: {' and '.join(unused)}; name what you need in node_labels=, node_features=, "
            "edge_labels=, edge_weights= or pass () there to do without.",
            UnusedAttributesWarning,
            stacklevel=levels_to_the_caller(),
        )
