"""Named attributes: which of them serve as labels, features and weights, and their values as arrays.

Labels become int64 or strings, numbers float64. If the caller names no attribute of nodes, or none of edges, the usual
names are taken, provided that every node or edge has them.
"""

import json
import numbers
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError, user_stacklevel
from fastgntk.graphs._csr import first_true
from fastgntk.graphs.convert._tables import Table, pack_numbers

__all__ = ["USUAL_NAMES", "Attribute", "AttributeNames", "Names", "Selection", "UnusedAttributesWarning"]
__all__ += ["check_names", "warn_unused"]

RowName = Callable[[int], str]
"""The name of a row in error messages."""

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
        checked = cls(**{argument: check_names(value, argument) for argument, value in names.items()})
        count = len(checked.edge_weights or ())
        if count > 1:
            raise InputError(f"an edge has one weight, but edge_weights names {count} attributes; name one.")
        return checked


USUAL_NAMES = AttributeNames(("label",), ("features", "x"), ("label",), ("weight",))
"""The names taken by default: of each kind the first that every row has."""

_HINTS = {
    "node": ("pass numbers that measure something as node_features=", "pass discrete values as node_labels="),
    "edge": ("pass a number that measures something as edge_weights=", "pass discrete values as edge_labels="),
}
"""For each table, advice for values that are not labels, and for values that are not numbers."""


def check_names(names: Names, argument: str) -> tuple[str, ...] | None:
    """Return names given by a caller, each once."""
    if names is None:
        return None
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InputError(f"{argument} must be the name of an attribute or a sequence of names, but is {names!r}.")
    if len(set(listed)) != len(listed):
        raise InputError(f"{argument} must name each attribute once, but is {', '.join(map(repr, listed))}.")
    return tuple(listed)


@dataclass(frozen=True)
class Attribute:
    """A named attribute: a list or array with an entry for each row. An error names the first row that is invalid."""

    name: str
    values: Any
    row_name: RowName
    hint: str
    """Advice for values that are not labels, or not numbers."""

    def labels(self) -> NDArray[Any]:
        """Return labels as int64 or strings, (N,), or (N, k) from tuples of length k."""
        is_array = isinstance(self.values, np.ndarray)
        array = self.values if is_array and self.values.dtype.kind != "O" else self._discrete()
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.dtype.kind == "U":
            return array
        if array.dtype.kind in "biu" and (array.dtype.kind != "u" or array.max(initial=0) < 2**63):
            return array.astype(np.int64, copy=is_array)
        if array.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                whole = array.astype(np.int64)
            wrong = first_true((whole != array).reshape(len(array), -1).any(axis=1))
            if wrong is None:
                return whole
        else:
            wrong = next((row for row in range(len(array)) if not _is_label(self.values[row])), 0)
        raise self._invalid(wrong, f"a label must be an integer or a string: {self.hint}")

    def numbers(self) -> Array:
        """Return (N, d) from numbers, or from vectors of length d."""
        try:
            array = np.asarray(self.values)
        except ValueError:  # different lengths
            array = np.zeros(0, dtype=object)
        if array.dtype.kind not in "biuf" or array.ndim > 2:
            array = self._row_by_row()
        count = len(self.values)
        rows = array.astype(np.float64, copy=False).reshape(count, -1) if count else np.zeros((0, 1))
        finite = np.isfinite(rows)
        if not finite.all():
            wrong = int(finite.all(axis=1).argmin())
            raise self._invalid(wrong, "numbers must be finite: fill in or drop missing values first")
        return rows

    def _discrete(self) -> NDArray[Any]:
        """Return an array of the values; of dtype object if they are not labels."""
        values = self.values
        kinds = set(map(type, values))
        if kinds == {int}:
            array = np.asarray(pack_numbers(list(values), int))
            return array.astype(np.int64) if array.dtype == np.uint8 else array
        if all(issubclass(kind, str) for kind in kinds):
            # NumPy would take the name of an Enum member instead of its text.
            texts = values if kinds == {str} else [str.__str__(value) for value in values]
            return _string_array(texts) if len(values) else np.zeros(0, dtype=np.int64)
        if all(issubclass(kind, tuple) for kind in kinds):
            return self._columns_of_tuples()
        if any(issubclass(kind, str) for kind in kinds):
            text = isinstance(values[0], str)
            row = next(row for row, value in enumerate(values) if isinstance(value, str) != text)
            raise InputError(
                f"{self._entry(row)}, but {self.row_name(0)} has {_short(values[0])}; labels must be all integers "
                "or all strings."
            )
        if all(issubclass(kind, numbers.Real | np.bool_) for kind in kinds):
            return np.array(values)
        return np.array([None] * len(values), dtype=object)

    def _columns_of_tuples(self) -> NDArray[Any]:
        self._check_lengths(self.values, "labels")
        positions = range(len(self.values[0]))
        columns = [replace(self, values=[value[i] for value in self.values])._discrete() for i in positions]
        if not columns or any(column.dtype.kind == "O" or column.ndim > 1 for column in columns):
            return np.array([None] * len(self.values), dtype=object)
        return _stack_labels(columns)

    def _row_by_row(self) -> Array:
        rows = []
        for row, value in enumerate(self.values):
            try:
                entry = np.asarray(float(value) if isinstance(value, Decimal | numbers.Real) else value)
            except (ValueError, OverflowError):  # a ragged sequence, or beyond float64
                entry = np.asarray(None)
            if entry.dtype.kind not in "biuf" or entry.ndim > 1:
                raise self._invalid(row, f"it must be a real number or a vector of them: {self.hint}")
            rows.append(entry.astype(np.float64).ravel())
        self._check_lengths(rows, "numbers")
        return np.array(rows)

    def _check_lengths(self, vectors: Sequence[Any], what: str) -> None:
        lengths = list(map(len, vectors))
        for row, length in enumerate(lengths):
            if length != lengths[0]:
                raise InputError(
                    f"{self.row_name(row)} has {length} {what} in {self.name!r}, but {self.row_name(0)} has "
                    f"{lengths[0]}; all must have the same length."
                )

    def _invalid(self, row: int, rule: str) -> InputError:
        return InputError(f"{self._entry(row)}; {rule}.")

    def _entry(self, row: int) -> str:
        return f"{self.row_name(row)} has {self.name!r} = {_short(self.values[row])}"


class Selection:
    """The attributes of nodes, or of edges, that are selected as labels and as numbers.

    ``named`` and ``usual`` are the names of labels and of numbers; the usual ones count if the caller named neither.
    """

    def __init__(self, what: str, table: Table, row_name: RowName, named: Any, usual: Any) -> None:
        self._what, self._table, self._row_name = what, table, row_name
        self._used: set[str] = set()
        self._partial: set[str] = set()
        self._by_name = named != (None, None)
        select, (labels, numbers) = (self._select_named, named) if self._by_name else (self._select_usual, usual)
        self._labels: list[Attribute] = select(labels or (), numbers=False)
        self._numbers: list[Attribute] = select(numbers or (), numbers=True)

    def _select_named(self, names: Sequence[str], *, numbers: bool) -> list[Attribute]:
        selected = []
        for name in names:
            if name not in self._table.names:
                available = ", ".join(map(repr, self._table.names)) or "none at all"
                raise InputError(f"no {self._what} has an attribute {name!r}; there are {available}.")
            attribute, missing = self._read(name, numbers)
            if missing is not None:
                row = self._row_name(missing)
                raise InputError(f"{row} has no attribute {name!r}; give it to every {self._what}, or name another.")
            selected.append(attribute)
        return selected

    def _select_usual(self, names: Sequence[str], *, numbers: bool) -> list[Attribute]:
        for name in names:
            if name in self._table.names and name not in self._used:
                attribute, missing = self._read(name, numbers)
                if missing is None:
                    self._used.add(name)
                    return [attribute]
                self._partial.add(name)
        return []

    def _read(self, name: str, numbers: bool) -> tuple[Attribute, int | None]:
        """Return an attribute, and the first row without it."""
        values, missing = self._table.column(name, numbers=numbers)
        return Attribute(name, values, self._row_name, _HINTS[self._what][numbers]), missing

    def label_array(self) -> NDArray[Any] | None:
        """Return (N,) for one attribute, (N, k) for several; strings if any of them is."""
        columns = [attribute.labels() for attribute in self._labels]
        return _stack_labels(columns) if len(columns) > 1 else columns[0] if columns else None

    def single_label(self) -> NDArray[Any] | None:
        """Return (N,): several labels as their JSON text, which depends on the values alone and is unambiguous."""
        labels = self.label_array()
        if labels is None or labels.ndim == 1:
            return labels
        distinct, index = np.unique(labels, axis=0, return_inverse=True)
        texts = [json.dumps(row, ensure_ascii=False) for row in distinct.tolist()]
        return np.array(texts, dtype=np.str_)[index.ravel()]

    def number_array(self) -> Array | None:
        """Return the numbers of all attributes side by side, (N, d)."""
        arrays = [attribute.numbers() for attribute in self._numbers]
        return np.concatenate(arrays, axis=1) if arrays else None

    def single_number(self) -> Array | None:
        """Return the weights (N,) of at most one attribute, which must be single numbers."""
        array = self.number_array()
        if array is not None and array.shape[1] != 1:
            first, name = self._row_name(0), self._numbers[0].name
            raise InputError(f"{first} has {array.shape[1]} numbers in {name!r}, but a weight is one number.")
        return None if array is None else array[:, 0]

    def describe_unused(self) -> str:
        """Describe the attributes that are neither named nor taken by default; nothing if the caller named some."""
        unused = [name for name in self._table.names if name not in self._used and name not in self._table.silent]
        if self._by_name or not unused:
            return ""
        listed = (f"{name!r} (not on every {self._what})" if name in self._partial else repr(name) for name in unused)
        return f"{self._what} attribute{'s' * (len(unused) > 1)} {', '.join(listed)}"


def warn_unused(*selections: Selection) -> None:
    """Raise one warning for all unused attributes."""
    unused = [text for text in (selection.describe_unused() for selection in selections) if text]
    if unused:
        warnings.warn(
            f"not used: {' and '.join(unused)}; name what you need in node_labels=, node_features=, "
            "edge_labels=, edge_weights= or pass () to them to ignore it.",
            UnusedAttributesWarning,
            stacklevel=user_stacklevel(),
        )


def _string_array(values: Sequence[str]) -> NDArray[np.str_]:
    """Return an array of strings; NumPy converts each distinct string once, because most labels repeat."""
    distinct = dict.fromkeys(values)
    index_of = dict(zip(distinct, range(len(distinct)), strict=True)).__getitem__
    return np.array(list(distinct), dtype=np.str_)[
        np.fromiter(map(index_of, values), dtype=np.int64, count=len(values))
    ]


def _stack_labels(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """Stack columns of integers and strings; all become strings if any is."""
    if any(column.dtype.kind == "U" for column in columns):
        columns = [column.astype(np.str_) for column in columns]
    return np.column_stack(columns)


def _is_label(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) > 0 and all(not isinstance(part, tuple) and _is_label(part) for part in value)
    return isinstance(value, str) or (isinstance(value, numbers.Real | np.bool_) and bool(-(2**63) <= value < 2**63))  # type: ignore[operator]


def _short(value: Any) -> str:
    text = " ".join(repr(value.tolist() if isinstance(value, np.generic | np.ndarray) else value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
