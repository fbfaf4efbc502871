"""Values of many graphs, gathered a graph at a time."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Gathered", "packed"]

_TOGETHER = 8192
"""Values that are held as a list before they are looked at: few enough to be in the processor's cache still."""


class Gathered:
    """Gather values in a list, or in arrays where they are numbers. ``kind`` is the type that all have, if known.

    Much of what long lists of Python's numbers cost is memory that is touched for the first time. Numbers that become
    arrays some at a time need little of it: GraKeL's graphs are read in nine tenths of the time.

    Examples
    --------
    >>> values = Gathered()
    >>> values.add([1, 2])
    >>> values.add([3])
    >>> values.whole()
    array([1, 2, 3], dtype=uint8)
    """

    def __init__(self, kind: type | None = None) -> None:
        self._kind = kind
        self._parts: list[list[Any] | NDArray[Any]] = []
        self._open: list[Any] = []

    def add(self, values: Iterable[Any]) -> None:
        """Add the values of another graph."""
        self._open += values
        if len(self._open) >= _TOGETHER:
            self._close()

    def whole(self, *, vectors: bool = False) -> Any:
        """Return all values: a list, or an array (n,) if each part held floats alone, or whole numbers below 2⁶³ alone.

        With ``vectors`` lists of d numbers each are an array (n, d). What ends in a list is for others to look at.
        """
        if self._open:
            self._close()
        parts = [_rows(part) if vectors and isinstance(part, list) else part for part in self._parts]
        shapes = {part.shape[1:] if isinstance(part, np.ndarray) else None for part in parts}
        return np.concatenate(parts) if len(shapes) == 1 and None not in shapes else self.listed()

    def listed(self) -> list[Any]:
        """Return all values in a list."""
        parts = (part.tolist() if isinstance(part, np.ndarray) else part for part in (*self._parts, self._open))
        return list(chain.from_iterable(parts))

    def _close(self) -> None:
        self._parts.append(packed(self._open, self._kind or _one_kind(self._open)))
        self._open = []


def packed(values: list[Any], kind: type | None) -> list[Any] | NDArray[Any]:
    """Return values of one kind as an array if they are numbers, as they are if not."""
    if kind is float:
        return np.fromiter(values, dtype=np.float64, count=len(values))
    if kind is int:
        with suppress(ValueError):  # small ones, as numbers of nodes and labels mostly are, take a quarter of the time
            return np.frombuffer(bytes(values), dtype=np.uint8)
        with suppress(OverflowError):
            return np.fromiter(values, dtype=np.int64, count=len(values))
    return values


def _one_kind(values: list[Any]) -> type | None:
    """Return the type that all values have."""
    kind = type(values[0])
    return kind if list(map(type, values)).count(kind) == len(values) else None


def _rows(values: list[Any]) -> list[Any] | NDArray[Any]:
    """Return lists of as many numbers of one kind each as rows; by way of one list, which is quicker than NumPy."""
    if _one_kind(values) is not list or not values[0] or len(set(map(len, values))) > 1:
        return values
    flat = list(chain.from_iterable(values))
    numbers = packed(flat, _one_kind(flat))
    return numbers.reshape(len(values), -1) if isinstance(numbers, np.ndarray) else values
