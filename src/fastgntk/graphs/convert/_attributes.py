"""Attributes that nodes and edges have by name: which of them count as what, and as arrays.

A source has a table for its nodes and one for its edges, with a row for each node or edge of all graphs together. A
side (nodes or edges) of which the caller names nothing is read by custom: the usual names, where every row has them.
"""

from __future__ import annotations

import json
import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError, levels_to_the_caller
from fastgntk.graphs.convert._columns import Gathered

__all__ = [
    "Choice",
    "Chosen",
    "Columns",
    "Custom",
    "Names",
    "Records",
    "Table",
    "UnusedAttributesWarning",
    "choose",
    "label_column",
    "number_columns",
]

Names = str | Sequence[str] | None
"""How a caller names attributes: None for the custom, a name, or several; an empty sequence for none of them."""

Called = Callable[[int], str]
"""How a row is called in messages."""


class UnusedAttributesWarning(UserWarning):
    """Says that nodes or edges have attributes which nobody named and no custom takes."""


class Table(Protocol):
    """What :class:`Records` and :class:`Columns` have in common."""

    @property
    def names(self) -> Sequence[str]:
        """The attributes that at least one row has, in the order of appearance."""
        ...

    @property
    def silent(self) -> frozenset[str]:
        """Those of which nobody needs to hear that they are not used."""
        ...

    def column(self, name: str, *, numbers: bool) -> tuple[Any, int | None]:
        """Return a list or array with an entry for each row, and the first row that has none.

        ``numbers`` says whether they are to be numbers that measure something, or labels.
        """
        ...


class Records:
    """Hold a mapping for each row, some keys of which are no attributes; all rows come before anything is asked for.

    ``tuples_as_lists`` says that several labels come as lists, as which JSON writes tuples.
    """

    silent: frozenset[str] = frozenset()

    def __init__(
        self, rows: Sequence[Mapping[Any, Any]] = (), *, but: Sequence[str] = (), tuples_as_lists: bool = False
    ) -> None:
        self._but, self._tuples_as_lists = but, tuples_as_lists
        self._columns: dict[Any, Gathered] = {}
        self._n_rows = 0
        self._rows: list[Mapping[Any, Any]] | None = None  # once they differ in names; until then columns serve
        self.extend(rows)

    def extend(self, rows: Sequence[Mapping[Any, Any]]) -> None:
        """Add rows; who adds those of one graph at a time has them in the processor's cache."""
        # Counting in a list is quicker than a set; others than dictionaries may make up what is not there, and keep it.
        if list(map(type, rows)).count(dict) != len(rows):
            rows = [dict(row) for row in rows]
        if self._rows is None and not self._shared(rows):
            self._rows = self._of_columns()
        if self._rows is not None:
            self._rows += rows
        self._n_rows += len(rows)

    def _shared(self, rows: Sequence[Mapping[Any, Any]]) -> bool:
        """Add rows to columns; tells whether their names are those of the columns."""
        if rows and not self._n_rows:
            self._columns = {name: Gathered() for name in rows[0]}
        if list(map(len, rows)).count(len(self._columns)) != len(rows):
            return False
        try:
            for name, column in self._columns.items():
                column.add(map(itemgetter(name), rows))
        except KeyError:
            return False
        return True

    def _of_columns(self) -> list[Mapping[Any, Any]]:
        columns = {name: column.listed() for name, column in self._columns.items()}
        return [{name: column[i] for name, column in columns.items()} for i in range(self._n_rows)]

    @cached_property
    def names(self) -> Sequence[str]:
        """See :class:`Table`."""
        found = self._columns if self._rows is None else dict.fromkeys(chain.from_iterable(self._rows))
        return [name for name in found if name not in self._but]

    def column(self, name: str, *, numbers: bool) -> tuple[Any, int | None]:
        """See :class:`Table`."""
        try:
            if self._rows is None:
                column = self._columns[name].whole(vectors=numbers)
            else:
                column = list(map(itemgetter(name), self._rows))
        except KeyError:
            return [], next(i for i, row in enumerate(self._rows or ()) if name not in row)
        may_hold_lists = self._tuples_as_lists and not numbers and isinstance(column, list)
        if may_hold_lists and any(issubclass(kind, list) for kind in set(map(type, column))):
            column = [tuple(value) if isinstance(value, list) else value for value in column]
        return column, None


class Columns:
    """Hold a list or array for each name; None in a list is nothing, and so is the row that ``lacking`` names.

    ``as_labels`` holds those that stand for something else if labels are wanted.
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        *,
        silent: Sequence[str] = (),
        lacking: Mapping[str, int] | None = None,
        as_labels: Mapping[str, Any] | None = None,
    ) -> None:
        self._columns, self._lacking, self._as_labels = columns, lacking or {}, as_labels or {}
        self.names: Sequence[str] = list(columns)
        self.silent = frozenset(silent)

    def column(self, name: str, *, numbers: bool) -> tuple[Any, int | None]:
        """See :class:`Table`."""
        column = self._columns[name] if numbers else self._as_labels.get(name, self._columns[name])
        if name in self._lacking or not isinstance(column, list):
            return column, self._lacking.get(name)
        kinds = set(map(type, column))
        if type(None) in kinds:  # ten times as quick as looking at each
            return column, next(i for i, entry in enumerate(column) if entry is None)
        return np.fromiter(column, dtype=np.float64, count=len(column)) if kinds == {float} else column, None


@dataclass(frozen=True)
class Custom:
    """What is taken for what if nobody names anything: the first of these names that every row has."""

    node_labels: tuple[str, ...] = ("label",)
    node_features: tuple[str, ...] = ("features", "x")
    edge_labels: tuple[str, ...] = ("label",)
    edge_weights: tuple[str, ...] = ("weight",)


@dataclass(frozen=True)
class Choice:
    """What the caller named; None where nothing was."""

    node_labels: tuple[str, ...] | None = None
    node_features: tuple[str, ...] | None = None
    edge_labels: tuple[str, ...] | None = None
    edge_weights: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        node_labels: Names = None,
        node_features: Names = None,
        edge_labels: Names = None,
        edge_weights: Names = None,
    ) -> Choice:
        """Check names as a caller gives them."""
        weights = _names(edge_weights, "edge_weights")
        if weights is not None and len(weights) > 1:
            raise InputError(f"an edge has one weight, but edge_weights names {len(weights)} attributes; name one.")
        return cls(
            _names(node_labels, "node_labels"),
            _names(node_features, "node_features"),
            _names(edge_labels, "edge_labels"),
            weights,
        )

    @property
    def empty(self) -> bool:
        """Whether nothing was named."""
        return all(n is None for n in (self.node_labels, self.node_features, self.edge_labels, self.edge_weights))


@dataclass(frozen=True)
class Chosen:
    """The arrays that a batch takes: labels (N,) or (N, k), features (N, d), edge labels and weights (m,)."""

    labels: NDArray[Any] | None
    features: NDArray[np.float64] | None
    edge_labels: NDArray[Any] | None
    edge_weights: NDArray[np.float64] | None


def choose(
    nodes: Table, edges: Table, choice: Choice, custom: Custom, *, node_called: Called, edge_called: Called
) -> Chosen:
    """Turn the attributes that were named, or that are customary, into arrays; warn of those that nothing uses."""
    node_side = _Side(nodes, "node", node_called)
    edge_side = _Side(edges, "edge", edge_called)
    by_name = choice.node_labels is not None or choice.node_features is not None
    labels = node_side.pick(choice.node_labels, custom.node_labels, by_name, numbers=False)
    features = node_side.pick(choice.node_features, custom.node_features, by_name, numbers=True)
    edges_by_name = choice.edge_labels is not None or choice.edge_weights is not None
    edge_labels = edge_side.pick(choice.edge_labels, custom.edge_labels, edges_by_name, numbers=False)
    weights = edge_side.pick(choice.edge_weights, custom.edge_weights, edges_by_name, numbers=True)
    unused = [side.unused() for side, named in ((node_side, by_name), (edge_side, edges_by_name)) if not named]
    _warn([text for text in unused if text])
    return Chosen(
        labels=_labels(labels, node_called, "pass numbers that measure something as node_features="),
        features=number_columns(features, node_called, "pass discrete values as node_labels="),
        edge_labels=_one_label(
            _labels(edge_labels, edge_called, "pass a number that measures something as edge_weights=")
        ),
        edge_weights=_weights(weights, edge_called, "pass discrete values as edge_labels="),
    )


def _names(names: Names, argument: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InputError(f"{argument} must be the name of an attribute or a sequence of names, but is {names!r}.")
    if len(set(listed)) != len(listed):
        raise InputError(f"{argument} may name each attribute once, but {', '.join(map(repr, listed))} came.")
    return tuple(listed)


class _Side:
    """Nodes, or edges, and which of their attributes have been taken."""

    def __init__(self, table: Table, what: str, called: Called) -> None:
        self._table, self._what, self._called = table, what, called
        self._used: set[str] = set()
        self._partly: set[str] = set()

    def pick(
        self, named: tuple[str, ...] | None, custom: tuple[str, ...], by_name: bool, *, numbers: bool
    ) -> list[tuple[str, Any]]:
        """Return (name, column) of those that were named; of a side without names, of the customary one."""
        if by_name:
            return [(name, self._named(name, numbers)) for name in named or ()]
        for name in custom:
            if name not in self._table.names or name in self._used:
                continue
            column, lacking = self._table.column(name, numbers=numbers)
            if lacking is None:
                self._used.add(name)
                return [(name, column)]
            self._partly.add(name)
        return []

    def _named(self, name: str, numbers: bool) -> Any:
        if name not in self._table.names:
            there = ", ".join(map(repr, self._table.names)) or "none at all"
            raise InputError(f"no {self._what} has an attribute {name!r}; there are {there}.")
        column, lacking = self._table.column(name, numbers=numbers)
        if lacking is not None:
            raise InputError(
                f"{self._called(lacking)} has no attribute {name!r}; give it to every {self._what}, or name another."
            )
        return column

    def unused(self) -> str:
        left = [name for name in self._table.names if name not in self._used and name not in self._table.silent]
        told = [f"{name!r} (not on every {self._what})" if name in self._partly else repr(name) for name in left]
        return f"{self._what} attribute{'s' * (len(told) > 1)} {', '.join(told)}" if told else ""


def _warn(unused: list[str]) -> None:
    if unused:
        warnings.warn(
            f"not used: {' and '.join(unused)}; name what you need in node_labels=, node_features=, "
            "edge_labels=, edge_weights= or pass () there to do without.",
            UnusedAttributesWarning,
            stacklevel=levels_to_the_caller(),
        )


def _labels(picked: list[tuple[str, Any]], called: Called, instead: str) -> NDArray[Any] | None:
    """Return (N,) for one attribute, (N, k) for several; strings if any of them is."""
    columns = [label_column(values, name, called, instead) for name, values in picked]
    if len(columns) <= 1:
        return columns[0] if columns else None
    if any(column.dtype.kind == "U" for column in columns):
        columns = [column.astype(np.str_) for column in columns]
    return np.column_stack(columns)


def label_column(values: Any, name: str, called: Called, instead: str) -> NDArray[Any]:
    """Return labels as int64 or strings, (N,), or (N, k) from tuples of length k; or say which row is at fault."""
    array = values if isinstance(values, np.ndarray) and values.dtype.kind != "O" else _discrete(values, name, called)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype.kind == "U":
        return array
    if array.dtype.kind in "biu" and (array.dtype.kind != "u" or array.max(initial=0) < 2**63):
        return array.astype(np.int64, copy=isinstance(values, np.ndarray))
    if array.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.int64)
        wrong = np.flatnonzero((whole != array).reshape(len(array), -1).any(axis=1))
        if not len(wrong):
            return whole
    else:
        wrong = np.zeros(1, dtype=np.int64)
        for row in range(len(array)):
            if not _is_label(values[row]):
                wrong[0] = row
                break
    row = int(wrong[0])
    raise InputError(
        f"{called(row)} has {name!r} = {_short(values[row])}; a label must be a whole number or a string: {instead}."
    )


def _discrete(values: Sequence[Any], name: str, called: Called) -> NDArray[Any]:
    """Return an array of the values; of dtype object where they are no labels."""
    kinds = set(map(type, values))
    if kinds == {int} and isinstance(values, list):  # of an array, bytes would be those of its memory
        with suppress(ValueError):  # small numbers, as most labels are, go four times as quick so
            return np.frombuffer(bytes(values), dtype=np.uint8).astype(np.int64)
    if kinds == {int}:
        with suppress(OverflowError):
            return np.fromiter(values, dtype=np.int64, count=len(values))  # twice as quick as np.array
    if all(issubclass(kind, str) for kind in kinds):
        # NumPy, asked for the text of a member of an Enum, would take its name.
        texts = values if kinds == {str} else [str.__str__(value) for value in values]
        return _strings(texts) if len(values) else np.zeros(0, dtype=np.int64)
    if all(issubclass(kind, tuple) for kind in kinds):
        return _tuples(values, name, called)
    if any(issubclass(kind, str) for kind in kinds):
        text = isinstance(values[0], str)
        row = next(row for row, value in enumerate(values) if isinstance(value, str) != text)
        raise InputError(
            f"{called(row)} has {name!r} = {_short(values[row])}, but {called(0)} has {_short(values[0])}; labels must "
            "be all whole numbers or all strings."
        )
    if all(issubclass(kind, numbers.Real | np.bool_) for kind in kinds):
        return np.array(values)
    return np.array([None] * len(values), dtype=object)


def _strings(values: Sequence[str]) -> NDArray[np.str_]:
    """Return an array of strings; NumPy reads each distinct one once, because most labels stand many times."""
    distinct = dict.fromkeys(values)
    place = dict(zip(distinct, range(len(distinct)), strict=True)).__getitem__
    return np.array(list(distinct), dtype=np.str_)[np.fromiter(map(place, values), dtype=np.int64, count=len(values))]


def _tuples(values: Sequence[tuple[Any, ...]], name: str, called: Called) -> NDArray[Any]:
    width = len(values[0])
    for row, value in enumerate(values):
        if len(value) != width:
            raise InputError(
                f"{called(row)} has {len(value)} labels in {name!r}, but {called(0)} has {width}; give the same number "
                "to each."
            )
    columns = [_discrete([value[i] for value in values], name, called) for i in range(width)]
    if not columns or any(column.dtype.kind == "O" or column.ndim > 1 for column in columns):
        return np.array([None] * len(values), dtype=object)
    if len({column.dtype.kind == "U" for column in columns}) > 1:
        columns = [column.astype(np.str_) for column in columns]
    return np.column_stack(columns)


def _is_label(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) > 0 and all(not isinstance(part, tuple) and _is_label(part) for part in value)
    return isinstance(value, str) or (isinstance(value, numbers.Real | np.bool_) and bool(-(2**63) <= value < 2**63))  # type: ignore[operator]


def _one_label(labels: NDArray[Any] | None) -> NDArray[Any] | None:
    """Make one label of several: their JSON text, which depends on the values alone and tells all of them apart."""
    if labels is None or labels.ndim == 1:
        return labels
    distinct, place = np.unique(labels, axis=0, return_inverse=True)
    return np.array([json.dumps(row, ensure_ascii=False) for row in distinct.tolist()], dtype=np.str_)[place.ravel()]


def number_columns(picked: list[tuple[str, Any]], called: Called, instead: str) -> NDArray[np.float64] | None:
    """Return the numbers of all attributes side by side, (N, d); or say which row is at fault."""
    columns = [_numbers(values, name, called, instead) for name, values in picked]
    return np.concatenate(columns, axis=1) if columns else None


def _weights(picked: list[tuple[str, Any]], called: Called, instead: str) -> NDArray[np.float64] | None:
    if not picked:
        return None
    ((name, values),) = picked
    column = _numbers(values, name, called, instead)
    if column.shape[1] != 1:
        raise InputError(f"{called(0)} has {column.shape[1]} numbers in {name!r}, but a weight is one number.")
    return column[:, 0]


def _numbers(values: Any, name: str, called: Called, instead: str) -> NDArray[np.float64]:
    """Return (N, d) for one attribute, whose entries are numbers or vectors of equal length."""
    try:
        array = np.asarray(values)
    except ValueError:  # of different lengths
        array = np.zeros(0, dtype=object)
    if array.dtype.kind not in "biuf" or array.ndim > 2:
        array = _one_by_one(values, name, called, instead)
    out = array.astype(np.float64, copy=False).reshape(len(values), -1) if len(values) else np.zeros((0, 1))
    finite = np.isfinite(out)
    if not finite.all():
        row = int(np.flatnonzero(~finite.all(axis=1))[0])
        raise InputError(
            f"{called(row)} has {name!r} = {_short(values[row])}; numbers must be finite: fill in or drop missing "
            "values first."
        )
    return out


def _one_by_one(values: Any, name: str, called: Called, instead: str) -> NDArray[np.float64]:
    rows = []
    for row, value in enumerate(values):
        try:
            entry = np.asarray(float(value) if isinstance(value, Decimal | numbers.Real) else value)
        except (ValueError, OverflowError):  # a sequence of sequences of different lengths, or beyond float64
            entry = np.asarray(None)
        if entry.dtype.kind not in "biuf" or entry.ndim > 1:
            raise InputError(
                f"{called(row)} has {name!r} = {_short(value)}; it must be a real number or a vector of them: "
                f"{instead}."
            )
        rows.append(entry.astype(np.float64).ravel())
        if len(rows[-1]) != len(rows[0]):
            raise InputError(
                f"{called(row)} has {len(rows[-1])} numbers in {name!r}, but {called(0)} has {len(rows[0])}; all must "
                "have the same length."
            )
    return np.array(rows)


def _short(value: Any) -> str:
    text = " ".join(repr(value.tolist() if isinstance(value, np.generic | np.ndarray) else value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
