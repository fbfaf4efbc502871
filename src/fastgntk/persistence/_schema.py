"""What a model file must hold, as tables: entries of its document, and arrays with their dtype and shape."""

import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError

__all__ = ["Arrays", "Entry", "Part", "check_document", "check_names", "check_parts", "named", "number"]

Arrays = dict[str, NDArray[Any]]


class Entry(NamedTuple):
    """An entry of the JSON document: its type, and what else must hold for it, in words and as a function."""

    kind: type
    what: str = ""
    holds: Callable[[Any], bool] = lambda value: True  # noqa: ARG005


class Part(NamedTuple):
    """An array: names of its lengths, such as ``"m k"``, its dtype, and the least value that is allowed."""

    shape: str
    kind: type = np.float64
    least: float = -np.inf
    finite: bool = True


def number(what: str = "a number", least: float = -np.inf, above: float = -np.inf) -> Entry:
    """Return the entry for a finite number."""
    return Entry(float, what, lambda value: abs(value) <= sys.float_info.max and value >= least and value > above)


def check_document(document: Mapping[str, Any], entries: Mapping[str, Entry]) -> list[Any]:
    """Return the entries of a document in the order of the table; refuse those that are missing or wrong."""
    found = []
    for name, (kind, what, holds) in entries.items():
        value = document.get(name)
        fits = isinstance(value, int | float if kind is float else kind)
        if not fits or (kind in (int, float) and isinstance(value, bool)) or not holds(value):
            raise InputError(f"its entry {name!r} is missing or not {what or f'of type {kind.__name__}'}.")
        found.append(value)
    return found


def check_parts(arrays: Mapping[str, NDArray[Any]], parts: Mapping[str, Part], sizes: Mapping[str, int]) -> list[Any]:
    """Return arrays in the order of the table; ``sizes`` are the lengths by name."""
    found = []
    for name, (lengths, kind, least, finite) in parts.items():
        shape = tuple(sizes[length] for length in lengths.split())
        array = arrays.get(name)
        if array is None or array.dtype != kind or array.shape != shape:
            given = "missing" if array is None else f"{array.dtype} of shape {array.shape}"
            raise InputError(f"its part {name!r} must be {np.dtype(kind)} of shape {shape}, but is {given}.")
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"its part {name!r} holds values that are not finite.")
        if array.size and array.min() < least:
            raise InputError(f"its part {name!r} holds values below {least:g}.")
        found.append(array)
    return found


def check_names(options: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse options that this version does not have."""
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise InputError(f"it has the option {unknown[0]!r}, which this version does not have.")


def named(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Arrays:
    """Return the arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
