"""Named attributes of nodes and edges: tables of them, and which attribute serves as label, feature or weight.

A source has one table for its nodes and one for its edges, with a row for each node or edge of all graphs together. If
the caller names no attribute of a table, its usual names are taken, provided that every row has them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from fastgntk.errors import InputError, levels_to_the_caller
from fastgntk.graphs.convert._attribute_arrays import NamedColumns, RowName
from fastgntk.graphs.convert._column_buffer import ColumnBuffer

__all__ = [
    "USUAL_NAMES",
    "AttributeNames",
    "Columns",
    "Names",
    "Records",
    "Selection",
    "Table",
    "UnusedAttributesWarning",
    "warn_unused",
]

Names = str | Sequence[str] | None
"""Attributes named by a caller: a name or several, None for the usual ones, an empty sequence for none."""


class UnusedAttributesWarning(UserWarning):
    """Nodes or edges have attributes that are neither named by the caller nor taken by default."""


class Table(Protocol):
    """The interface of :class:`Records` and :class:`Columns`."""

    @property
    def names(self) -> Sequence[str]:
        """The attributes that at least one row has, in the order of appearance."""
        ...

    @property
    def silent(self) -> frozenset[str]:
        """Attributes that raise no warning when they are unused."""
        ...

    def column(self, name: str, *, numbers: bool) -> tuple[Any, int | None]:
        """Return a list or array with an entry for each row, and the first row without one.

        ``numbers`` selects between numbers that measure something and labels.
        """
        ...


class Records:
    """A table with a mapping for each row; the keys ``exclude`` are no attributes.

    All rows are added before anything is read. ``tuples_as_lists`` means that several labels come as lists, which is
    how JSON stores tuples.
    """

    silent: frozenset[str] = frozenset()

    def __init__(
        self, rows: Sequence[Mapping[Any, Any]] = (), *, exclude: Sequence[str] = (), tuples_as_lists: bool = False
    ) -> None:
        self._exclude, self._tuples_as_lists = exclude, tuples_as_lists
        self._columns: dict[Any, ColumnBuffer] = {}
        self._n_rows = 0
        self._rows: list[Mapping[Any, Any]] | None = None  # set once rows differ in names; until then columns suffice
        self.extend(rows)

    def extend(self, rows: Sequence[Mapping[Any, Any]]) -> None:
        """Add rows; those of one graph at a time are still in the processor's cache."""
        # Counting in a list is faster than a set. Mappings other than dict may create missing keys and keep them.
        if list(map(type, rows)).count(dict) != len(rows):
            rows = [dict(row) for row in rows]
        if self._rows is None and not self._extend_columns(rows):
            self._rows = self._from_columns()
        if self._rows is not None:
            self._rows += rows
        self._n_rows += len(rows)

    def _extend_columns(self, rows: Sequence[Mapping[Any, Any]]) -> bool:
        """Add rows to the columns; return whether their names are those of the columns."""
        if rows and not self._n_rows:
            self._columns = {name: ColumnBuffer() for name in rows[0]}
        if list(map(len, rows)).count(len(self._columns)) != len(rows):
            return False
        try:
            for name, column in self._columns.items():
                column.extend(map(itemgetter(name), rows))
        except KeyError:
            return False
        return True

    def _from_columns(self) -> list[Mapping[Any, Any]]:
        columns = {name: column.tolist() for name, column in self._columns.items()}
        return [{name: column[i] for name, column in columns.items()} for i in range(self._n_rows)]

    @cached_property
    def names(self) -> Sequence[str]:
        """See :class:`Table`."""
        found = self._columns if self._rows is None else dict.fromkeys(chain.from_iterable(self._rows))
        return [name for name in found if name not in self._exclude]

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
    """A table with a list or array for each name.

    An entry is missing if it is None in a list, or if ``lacking`` gives its row. ``as_labels`` holds the columns that
    have other values when they are read as labels.
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
        if type(None) in kinds:  # ten times as fast as a test of each entry
            return column, next(i for i, entry in enumerate(column) if entry is None)
        return np.fromiter(column, dtype=np.float64, count=len(column)) if kinds == {float} else column, None


@dataclass(frozen=True)
class AttributeNames:
    """Names of the attributes that are labels, features and weights; None where the caller named none."""

    node_labels: tuple[str, ...] | None = None
    node_features: tuple[str, ...] | None = None
    edge_labels: tuple[str, ...] | None = None
    edge_weights: tuple[str, ...] | None = None

    @classmethod
    def checked(cls, **names: Names) -> AttributeNames:
        """Check names given by a caller."""
        out = cls(**{argument: _checked_names(value, argument) for argument, value in names.items()})
        count = len(out.edge_weights or ())
        if count > 1:
            raise InputError(f"an edge has one weight, but edge_weights names {count} attributes; name one.")
        return out

    @property
    def empty(self) -> bool:
        """Whether the caller named nothing."""
        return all(names is None for names in astuple(self))


USUAL_NAMES = AttributeNames(("label",), ("features", "x"), ("label",), ("weight",))
"""The names taken by default: of each kind the first that every row has."""


def _checked_names(names: Names, argument: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InputError(f"{argument} must be the name of an attribute or a sequence of names, but is {names!r}.")
    if len(set(listed)) != len(listed):
        raise InputError(f"{argument} must name each attribute once, but is {', '.join(map(repr, listed))}.")
    return tuple(listed)


_LabelAndNumberNames = tuple[tuple[str, ...] | None, tuple[str, ...] | None]


class Selection:
    """The labels and numbers selected from the table of nodes or of edges.

    ``named`` and ``usual`` are the names of labels and of numbers; the usual ones count if the caller named neither.
    """

    def __init__(
        self, what: str, table: Table, row_name: RowName, named: _LabelAndNumberNames, usual: _LabelAndNumberNames
    ) -> None:
        self._what, self._table, self._row_name = what, table, row_name
        self._used: set[str] = set()
        self._partial: set[str] = set()
        self._by_name = named != (None, None)
        take, (labels, numbers) = (self._take_named, named) if self._by_name else (self._take_usual, usual)
        self.labels = take(labels or (), numbers=False)
        self.numbers = take(numbers or (), numbers=True)

    def _take_named(self, names: Sequence[str], *, numbers: bool) -> NamedColumns:
        out = []
        for name in names:
            if name not in self._table.names:
                available = ", ".join(map(repr, self._table.names)) or "none at all"
                raise InputError(f"no {self._what} has an attribute {name!r}; there are {available}.")
            column, lacking = self._table.column(name, numbers=numbers)
            if lacking is not None:
                raise InputError(
                    f"{self._row_name(lacking)} has no attribute {name!r}; give it to every {self._what}, or name "
                    "another."
                )
            out.append((name, column))
        return out

    def _take_usual(self, names: Sequence[str], *, numbers: bool) -> NamedColumns:
        for name in names:
            if name not in self._table.names or name in self._used:
                continue
            column, lacking = self._table.column(name, numbers=numbers)
            if lacking is None:
                self._used.add(name)
                return [(name, column)]
            self._partial.add(name)
        return []

    def unused(self) -> str:
        """Describe the attributes that a table without named ones has and does not use."""
        unused = [name for name in self._table.names if name not in self._used and name not in self._table.silent]
        if self._by_name or not unused:
            return ""
        listed = (f"{name!r} (not on every {self._what})" if name in self._partial else repr(name) for name in unused)
        return f"{self._what} attribute{'s' * (len(unused) > 1)} {', '.join(listed)}"


def warn_unused(*selections: Selection) -> None:
    """Raise one :class:`UnusedAttributesWarning` for all unused attributes."""
    unused = [text for text in (selection.unused() for selection in selections) if text]
    if unused:
        warnings.warn(
            f"not used: {' and '.join(unused)}; name what you need in node_labels=, node_features=, "
            "edge_labels=, edge_weights= or pass () there to do without.",
            UnusedAttributesWarning,
            stacklevel=levels_to_the_caller(),
        )
