"""Tables of what is required in a model file: entries of its document, and arrays with dtype and shape."""

import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError

__all__ = ["ArraySpec", "Arrays", "Entry", "check_array", "check_arrays", "check_document", "check_keys"]

Arrays = dict[str, NDArray[Any]]


class Entry(NamedTuple):
    """An entry of the JSON document: its type, and a further condition in words and as a function."""

    kind: type
    description: str = ""
    condition: Callable[[Any], bool] = lambda value: True  # noqa: ARG005

    @classmethod
    def number(cls, description: str, condition: Callable[[float], bool]) -> Self:
        """Return the entry for a finite number."""
        return cls(float, description, lambda value: abs(value) <= sys.float_info.max and condition(value))


class ArraySpec(NamedTuple):
    """An array: the names of its lengths (``"m k"``), its dtype (``"int64 or str"``), and its minimum.

    ``any`` is any length, and ``str`` is a string of any width.
    """

    shape: str
    dtype: str = "float64"
    minimum: float | None = None
    finite: bool = True


def check_document(document: Mapping[str, Any], entries: Mapping[str, Entry]) -> dict[str, Any]:
    """Return these entries of a document by name; raise an error for missing or invalid ones."""
    checked = {}
    for name, (kind, description, condition) in entries.items():
        value = document.get(name)
        fits = isinstance(value, int | float if kind is float else kind)
        if not fits or (kind in (int, float) and isinstance(value, bool)) or not condition(value):
            raise InputError(f"its entry {name!r} is missing or not {description or f'of type {kind.__name__}'}.")
        checked[name] = value
    return checked


def check_arrays(
    arrays: Mapping[str, Any], specs: Mapping[str, ArraySpec], sizes: Mapping[str, int]
) -> dict[str, NDArray[Any]]:
    """Return these arrays by name; ``sizes`` are the lengths by name."""
    return {name: check_array(arrays, name, spec, **sizes) for name, spec in specs.items()}


def check_array(arrays: Mapping[str, Any], name: str, spec: ArraySpec, **sizes: int) -> Any:
    """Return one array; raise an error if it is missing or invalid."""
    lengths, dtype, minimum, finite = spec
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
    return array


def _fits(array: NDArray[Any], dtype: str, shape: list[int | str]) -> bool:
    actual = "str" if array.dtype.kind == "U" else str(array.dtype)
    lengths_fit = len(shape) == array.ndim and all(a in ("any", b) for a, b in zip(shape, array.shape, strict=True))
    return actual in dtype.split(" or ") and lengths_fit


def check_keys(options: Mapping[str, Any], allowed: Collection[str]) -> None:
    """Raise an error for options that this version does not have."""
    unknown = sorted(set(options) - set(allowed))
    if unknown:
        raise InputError(f"it has the option {unknown[0]!r}, which this version does not have.")
