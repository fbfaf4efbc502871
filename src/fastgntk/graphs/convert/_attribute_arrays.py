"""Attribute values as arrays: labels as int64 or strings, numbers as float64."""

import json
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.graphs._csr import first_true
from fastgntk.graphs.convert._tables import pack_numbers

__all__ = ["Attribute", "RowName", "label_array", "number_array", "single_label", "weight_array"]

RowName = Callable[[int], str]
"""The name of a row in error messages."""


@dataclass(frozen=True)
class Attribute:
    """A named attribute: a list or array with an entry for each row. An error names the first row that is invalid."""

    name: str
    values: Any
    row_name: RowName

    def labels(self, instead: str) -> NDArray[Any]:
        """Return labels as int64 or strings, (N,), or (N, k) from tuples of length k; ``instead`` is a hint."""
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
        raise self._invalid(wrong, f"a label must be a whole number or a string: {instead}")

    def numbers(self, instead: str) -> Array:
        """Return (N, d) from numbers, or from vectors of length d; ``instead`` is a hint."""
        try:
            array = np.asarray(self.values)
        except ValueError:  # different lengths
            array = np.zeros(0, dtype=object)
        if array.dtype.kind not in "biuf" or array.ndim > 2:
            array = self._row_by_row(instead)
        count = len(self.values)
        out = array.astype(np.float64, copy=False).reshape(count, -1) if count else np.zeros((0, 1))
        finite = np.isfinite(out)
        if not finite.all():
            wrong = int(finite.all(axis=1).argmin())
            raise self._invalid(wrong, "numbers must be finite: fill in or drop missing values first")
        return out

    def _discrete(self) -> NDArray[Any]:
        """Return an array of the values; of dtype object if they are no labels."""
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
                f"{self._entry(row)}, but {self.row_name(0)} has {_short(values[0])}; labels must be all whole numbers "
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

    def _row_by_row(self, instead: str) -> Array:
        rows = []
        for row, value in enumerate(self.values):
            try:
                entry = np.asarray(float(value) if isinstance(value, Decimal | numbers.Real) else value)
            except (ValueError, OverflowError):  # a ragged sequence, or beyond float64
                entry = np.asarray(None)
            if entry.dtype.kind not in "biuf" or entry.ndim > 1:
                raise self._invalid(row, f"it must be a real number or a vector of them: {instead}")
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


def label_array(attributes: Sequence[Attribute], instead: str) -> NDArray[Any] | None:
    """Return (N,) for one attribute, (N, k) for several; strings if any of them is."""
    columns = [attribute.labels(instead) for attribute in attributes]
    return _stack_labels(columns) if len(columns) > 1 else columns[0] if columns else None


def single_label(labels: NDArray[Any] | None) -> NDArray[Any] | None:
    """Combine several labels into one: their JSON text, which depends on the values alone and is unambiguous."""
    if labels is None or labels.ndim == 1:
        return labels
    distinct, place = np.unique(labels, axis=0, return_inverse=True)
    return np.array([json.dumps(row, ensure_ascii=False) for row in distinct.tolist()], dtype=np.str_)[place.ravel()]


def number_array(attributes: Sequence[Attribute], instead: str) -> Array | None:
    """Return the numbers of all attributes side by side, (N, d)."""
    arrays = [attribute.numbers(instead) for attribute in attributes]
    return np.concatenate(arrays, axis=1) if arrays else None


def weight_array(attributes: Sequence[Attribute], instead: str) -> Array | None:
    """Return the weights (m,) of at most one attribute, which must be single numbers."""
    array = number_array(attributes, instead)
    if array is None:
        return None
    if array.shape[1] != 1:
        name, first_row = attributes[0].name, attributes[0].row_name(0)
        raise InputError(f"{first_row} has {array.shape[1]} numbers in {name!r}, but a weight is one number.")
    return array[:, 0]


def _string_array(values: Sequence[str]) -> NDArray[np.str_]:
    """Return an array of strings; NumPy converts each distinct string once, because most labels repeat."""
    distinct = dict.fromkeys(values)
    place = dict(zip(distinct, range(len(distinct)), strict=True)).__getitem__
    return np.array(list(distinct), dtype=np.str_)[np.fromiter(map(place, values), dtype=np.int64, count=len(values))]


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
