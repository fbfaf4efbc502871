"""Attribute values as arrays: labels as int64 or strings, numbers as float64.

An error names the first row with an invalid value, by ``row_name(row)``.
"""

import json
import numbers
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.graphs._csr import first_true

__all__ = ["NamedColumns", "RowName", "label_array", "label_column", "number_array", "single_label", "weight_array"]

RowName = Callable[[int], str]
"""The name of a row in error messages."""

NamedColumns = list[tuple[str, Any]]
"""Attribute names, and for each a list or array with an entry for each row."""


def label_array(columns: NamedColumns, row_name: RowName, instead: str) -> NDArray[Any] | None:
    """Return (N,) for one attribute, (N, k) for several; strings if any of them is."""
    arrays = [label_column(values, name, row_name, instead) for name, values in columns]
    if len(arrays) <= 1:
        return arrays[0] if arrays else None
    return _column_stack(arrays)


def label_column(values: Any, name: str, row_name: RowName, instead: str) -> NDArray[Any]:
    """Return labels as int64 or strings, (N,), or (N, k) from tuples of length k."""
    array = values if isinstance(values, np.ndarray) and values.dtype.kind != "O" else _discrete(values, name, row_name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype.kind == "U":
        return array
    if array.dtype.kind in "biu" and (array.dtype.kind != "u" or array.max(initial=0) < 2**63):
        return array.astype(np.int64, copy=isinstance(values, np.ndarray))
    if array.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.int64)
        wrong = first_true((whole != array).reshape(len(array), -1).any(axis=1))
        if wrong is None:
            return whole
    else:
        wrong = next((row for row in range(len(array)) if not _is_label(values[row])), 0)
    raise _invalid(row_name(wrong), name, values[wrong], f"a label must be a whole number or a string: {instead}")


def single_label(labels: NDArray[Any] | None) -> NDArray[Any] | None:
    """Combine several labels into one: their JSON text, which depends on the values alone and is unambiguous."""
    if labels is None or labels.ndim == 1:
        return labels
    distinct, place = np.unique(labels, axis=0, return_inverse=True)
    return np.array([json.dumps(row, ensure_ascii=False) for row in distinct.tolist()], dtype=np.str_)[place.ravel()]


def number_array(columns: NamedColumns, row_name: RowName, instead: str) -> Array | None:
    """Return the numbers of all attributes side by side, (N, d)."""
    arrays = [_numbers(values, name, row_name, instead) for name, values in columns]
    return np.concatenate(arrays, axis=1) if arrays else None


def weight_array(columns: NamedColumns, row_name: RowName, instead: str) -> Array | None:
    """Return the weights (m,) of at most one attribute, which must be single numbers."""
    array = number_array(columns, row_name, instead)
    if array is None:
        return None
    if array.shape[1] != 1:
        raise InputError(
            f"{row_name(0)} has {array.shape[1]} numbers in {columns[0][0]!r}, but a weight is one number."
        )
    return array[:, 0]


def _discrete(values: Sequence[Any], name: str, row_name: RowName) -> NDArray[Any]:
    """Return an array of the values; of dtype object if they are no labels."""
    kinds = set(map(type, values))
    if kinds == {int} and isinstance(values, list):  # bytes(array) would be the bytes of its memory
        with suppress(ValueError):  # four times as fast for small numbers, as most labels are
            return np.frombuffer(bytes(values), dtype=np.uint8).astype(np.int64)
    if kinds == {int}:
        with suppress(OverflowError):
            return np.fromiter(values, dtype=np.int64, count=len(values))  # twice as fast as np.array
    if all(issubclass(kind, str) for kind in kinds):
        # NumPy would take the name of an Enum member instead of its text.
        texts = values if kinds == {str} else [str.__str__(value) for value in values]
        return _strings(texts) if len(values) else np.zeros(0, dtype=np.int64)
    if all(issubclass(kind, tuple) for kind in kinds):
        return _tuples(values, name, row_name)
    if any(issubclass(kind, str) for kind in kinds):
        text = isinstance(values[0], str)
        row = next(row for row, value in enumerate(values) if isinstance(value, str) != text)
        raise InputError(
            f"{row_name(row)} has {name!r} = {_short(values[row])}, but {row_name(0)} has {_short(values[0])}; labels "
            "must be all whole numbers or all strings."
        )
    if all(issubclass(kind, numbers.Real | np.bool_) for kind in kinds):
        return np.array(values)
    return np.array([None] * len(values), dtype=object)


def _strings(values: Sequence[str]) -> NDArray[np.str_]:
    """Return an array of strings; NumPy converts each distinct string once, because most labels repeat."""
    distinct = dict.fromkeys(values)
    place = dict(zip(distinct, range(len(distinct)), strict=True)).__getitem__
    return np.array(list(distinct), dtype=np.str_)[np.fromiter(map(place, values), dtype=np.int64, count=len(values))]


def _tuples(values: Sequence[tuple[Any, ...]], name: str, row_name: RowName) -> NDArray[Any]:
    _check_lengths(values, "labels", name, row_name)
    columns = [_discrete([value[i] for value in values], name, row_name) for i in range(len(values[0]))]
    if not columns or any(column.dtype.kind == "O" or column.ndim > 1 for column in columns):
        return np.array([None] * len(values), dtype=object)
    return _column_stack(columns)


def _column_stack(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """Stack columns of integers and strings; all become strings if any is."""
    if any(column.dtype.kind == "U" for column in columns):
        columns = [column.astype(np.str_) for column in columns]
    return np.column_stack(columns)


def _is_label(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) > 0 and all(not isinstance(part, tuple) and _is_label(part) for part in value)
    return isinstance(value, str) or (isinstance(value, numbers.Real | np.bool_) and bool(-(2**63) <= value < 2**63))  # type: ignore[operator]


def _numbers(values: Any, name: str, row_name: RowName, instead: str) -> Array:
    """Return (N, d) for one attribute, whose entries are numbers or vectors of equal length."""
    try:
        array = np.asarray(values)
    except ValueError:  # different lengths
        array = np.zeros(0, dtype=object)
    if array.dtype.kind not in "biuf" or array.ndim > 2:
        array = _row_by_row(values, name, row_name, instead)
    out = array.astype(np.float64, copy=False).reshape(len(values), -1) if len(values) else np.zeros((0, 1))
    finite = np.isfinite(out)
    if not finite.all():
        row = int(np.flatnonzero(~finite.all(axis=1))[0])
        rule = "numbers must be finite: fill in or drop missing values first"
        raise _invalid(row_name(row), name, values[row], rule)
    return out


def _row_by_row(values: Any, name: str, row_name: RowName, instead: str) -> Array:
    rows = []
    for row, value in enumerate(values):
        try:
            entry = np.asarray(float(value) if isinstance(value, Decimal | numbers.Real) else value)
        except (ValueError, OverflowError):  # a ragged sequence, or beyond float64
            entry = np.asarray(None)
        if entry.dtype.kind not in "biuf" or entry.ndim > 1:
            rule = f"it must be a real number or a vector of them: {instead}"
            raise _invalid(row_name(row), name, value, rule)
        rows.append(entry.astype(np.float64).ravel())
    _check_lengths(rows, "numbers", name, row_name)
    return np.array(rows)


def _check_lengths(values: Sequence[Any], what: str, name: str, row_name: RowName) -> None:
    lengths = list(map(len, values))
    for row, length in enumerate(lengths):
        if length != lengths[0]:
            raise InputError(
                f"{row_name(row)} has {length} {what} in {name!r}, but {row_name(0)} has {lengths[0]}; all must have "
                "the same length."
            )


def _invalid(row: str, name: str, value: Any, rule: str) -> InputError:
    return InputError(f"{row} has {name!r} = {_short(value)}; {rule}.")


def _short(value: Any) -> str:
    text = " ".join(repr(value.tolist() if isinstance(value, np.generic | np.ndarray) else value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
