"""What a model file must hold, as tables: entries of its document, and arrays with their dtype and shape."""

import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError

__all__ = ["Arrays", "Entry", "Part", "check_document", "check_names", "check_parts", "finite_number"]

Arrays = dict[str, NDArray[Any]]


class Entry(NamedTuple):
    """An entry of the JSON document: its type, and a further condition in words and as a function."""

    kind: type
    description: str = ""
    condition: Callable[[Any], bool] = lambda value: True  # noqa: ARG005


class Part(NamedTuple):
    """An array: the names of its lengths (``"m k"``), its dtype (``"int64 or str"``), and its smallest value allowed.

    ``any`` stands for any length, and ``str`` for strings of any width.
    """

    shape: str
    dtype: str = "float64"
    minimum: float | None = None
    finite: bool = True


def finite_number(description: str, condition: Callable[[float], bool]) -> Entry:
    """Return the entry for a finite number."""
    return Entry(float, description, lambda value: abs(value) <= sys.float_info.max and condition(value))


def check_document(document: Mapping[str, Any], entries: Mapping[str, Entry]) -> list[Any]:
    """Return the entries of a document in the order of the table; refuse those that are missing or wrong."""
    found = []
    for name, (kind, description, condition) in entries.items():
        value = document.get(name)
        fits = isinstance(value, int | float if kind is float else kind)
        if not fits or (kind in (int, float) and isinstance(value, bool)) or not condition(value):
            raise InputError(f"its entry {name!r} is missing or not {description or f'of type {kind.__name__}'}.")
        found.append(value)
    return found


def check_parts(arrays: Mapping[str, Any], parts: Mapping[str, Part], sizes: Mapping[str, int]) -> list[Any]:
    """Return arrays in the order of the table; ``sizes`` are the lengths by name."""
    found = []
    for name, (lengths, dtype, minimum, finite) in parts.items():
        shape = [sizes.get(length, length) for length in lengths.split()]
        array = arrays.get(name)
        if not isinstance(array, np.ndarray) or not _fits(array, dtype, shape):
            actual = f"has {array.dtype} and {array.shape}" if isinstance(array, np.ndarray) else "is missing"
            expected = f"dtype {dtype} and shape ({', '.join(map(str, shape))})"
            raise InputError(f"the array {name} must have {expected}, but {actual}.")
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"the array {name} must hold finite numbers.")
        if minimum is not None and array.size and array.min() < minimum:
            raise InputError(f"the array {name} must not hold numbers below {minimum:g}.")
        found.append(array)
    return found


def _fits(array: NDArray[Any], dtype: str, shape: list[int | str]) -> bool:
    actual = "str" if array.dtype.kind == "U" else str(array.dtype)
    lengths_fit = len(shape) == array.ndim and all(a in ("any", b) for a, b in zip(shape, array.shape, strict=True))
    return actual in dtype.split(" or ") and lengths_fit


def check_names(options: Mapping[str, Any], allowed: Collection[str]) -> None:
    """Refuse options that this version does not have."""
    unknown = sorted(set(options) - set(allowed))
    if unknown:
        raise InputError(f"it has the option {unknown[0]!r}, which this version does not have.")
