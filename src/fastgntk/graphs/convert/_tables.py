"""Tables of named attributes: one for the nodes and one for the edges of all graphs of a source together."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["ColumnBuffer", "Columns", "Records", "Table", "pack_numbers"]

_CHUNK = 8192
"""Values held as a list before they are packed: few enough to be still in the processor's cache."""


class Table(Protocol):
    """The interface of :class:`Records` and :class:`Columns`, with a row for each node or edge."""

    @property
    def names(self) -> Sequence[str]:
        """The attributes that at least one row has, in the order of appearance."""

    @property
    def silent(self) -> frozenset[str]:
        """Attributes that raise no warning when they are unused."""

    def column(self, name: str, *, numbers: bool) -> tuple[Any, int | None]:
        """Return a list or array with an entry for each row, and the first row without one.

        ``numbers`` selects between numbers that measure something and labels.
        """


class Records:
    """A table with a mapping for each row; the keys ``exclude`` are not attributes.

    All rows are added before anything is read. ``tuples_as_lists`` means that several labels come as lists, which is
    how JSON stores tuples.
    """

    silent: frozenset[str] = frozenset()

    def __init__(self, *, exclude: Sequence[str] = (), tuples_as_lists: bool = False) -> None:
        self._exclude, self._tuples_as_lists = exclude, tuples_as_lists
        self._columns: dict[Any, ColumnBuffer] = {}
        self._n_rows = 0
        self._rows: list[Mapping[Any, Any]] | None = None  # set once rows differ in names; until then columns suffice

    def extend(self, rows: Sequence[Mapping[Any, Any]]) -> None:
        """Add rows; those of one graph at a time are still in the processor's cache."""
        # Counting in a list is faster than a set. Mappings other than dict may create missing keys and keep them.
        if list(map(type, rows)).count(dict) != len(rows):
            rows = [dict(row) for row in rows]
        if self._rows is None and not self._extend_columns(rows):
            columns = {name: column.tolist() for name, column in self._columns.items()}
            self._rows = [{name: column[i] for name, column in columns.items()} for i in range(self._n_rows)]
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

    @cached_property
    def names(self) -> Sequence[str]:
        """See :class:`Table`."""
        names = self._columns if self._rows is None else dict.fromkeys(chain.from_iterable(self._rows))
        return [name for name in names if name not in self._exclude]

    def column(self, name: str, *, numbers: bool) -> tuple[Any, int | None]:
        """See :class:`Table`."""
        try:
            if self._rows is None:
                column = self._columns[name].combine(vectors=numbers)
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

    An entry is missing if it is None in a list, or if ``missing`` gives its row. ``as_labels`` holds the columns that
    have other values when they are read as labels.
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        *,
        silent: Sequence[str] = (),
        missing: Mapping[str, int] | None = None,
        as_labels: Mapping[str, Any] | None = None,
    ) -> None:
        self._columns, self._missing, self._as_labels = columns, missing or {}, as_labels or {}
        self.names: Sequence[str] = list(columns)
        self.silent = frozenset(silent)

    def column(self, name: str, *, numbers: bool) -> tuple[Any, int | None]:
        """See :class:`Table`."""
        column = self._columns[name] if numbers else self._as_labels.get(name, self._columns[name])
        if name in self._missing or not isinstance(column, list):
            return column, self._missing.get(name)
        kinds = set(map(type, column))
        if type(None) in kinds:  # ten times as fast as a test of each entry
            return column, next(i for i, entry in enumerate(column) if entry is None)
        return np.fromiter(column, dtype=np.float64, count=len(column)) if kinds == {float} else column, None


class ColumnBuffer:
    """Collect the values of many graphs in a list, or in arrays if they are numbers.

    ``kind`` is the type of all values, if known. Long lists of Python numbers are slow mainly because they touch new
    memory. Numbers packed into arrays chunk by chunk need little of it: GraKeL graphs are read in nine tenths of the
    time.

    Examples
    --------
    >>> values = ColumnBuffer()
    >>> values.extend([1, 2])
    >>> values.extend([3])
    >>> values.combine()
    array([1, 2, 3], dtype=uint8)
    """

    def __init__(self, kind: type | None = None) -> None:
        self._kind = kind
        self._chunks: list[list[Any] | NDArray[Any]] = []
        self._pending: list[Any] = []

    def extend(self, values: Iterable[Any]) -> None:
        """Add the values of another graph."""
        self._pending += values
        if len(self._pending) >= _CHUNK:
            self._pack_pending()

    def combine(self, *, vectors: bool = False) -> Any:
        """Return all values: an array (n,) if each chunk held only floats or only integers below 2⁶³, else a list.

        With ``vectors`` lists of d numbers each become an array (n, d). A list is returned unchecked.
        """
        if self._pending:
            self._pack_pending()
        chunks = [_stack_vectors(chunk) if vectors and isinstance(chunk, list) else chunk for chunk in self._chunks]
        shapes = {chunk.shape[1:] if isinstance(chunk, np.ndarray) else None for chunk in chunks}
        return np.concatenate(chunks) if len(shapes) == 1 and None not in shapes else self.tolist()

    def tolist(self) -> list[Any]:
        """Return all values in a list."""
        chunks = (chunk.tolist() if isinstance(chunk, np.ndarray) else chunk for chunk in self._chunks)
        return [*chain.from_iterable(chunks), *self._pending]

    def _pack_pending(self) -> None:
        self._chunks.append(pack_numbers(self._pending, self._kind or _common_type(self._pending)))
        self._pending = []


def pack_numbers(values: list[Any], kind: type | None) -> list[Any] | NDArray[Any]:
    """Return values of one type as an array if they are numbers, unchanged otherwise."""
    if kind is float:
        return np.fromiter(values, dtype=np.float64, count=len(values))
    if kind is int:
        with suppress(ValueError):  # a quarter of the time for small ones, as most node numbers and labels are
            return np.frombuffer(bytes(values), dtype=np.uint8)
        with suppress(OverflowError):
            return np.fromiter(values, dtype=np.int64, count=len(values))
    return values


def _common_type(values: list[Any]) -> type | None:
    kind = type(values[0])
    return kind if list(map(type, values)).count(kind) == len(values) else None


def _stack_vectors(values: list[Any]) -> list[Any] | NDArray[Any]:
    """Return lists of equally many numbers as rows of an array; flattening them first is faster than NumPy."""
    if _common_type(values) is not list or not values[0] or len(set(map(len, values))) > 1:
        return values
    flat = list(chain.from_iterable(values))
    numbers = pack_numbers(flat, _common_type(flat))
    return numbers.reshape(len(values), -1) if isinstance(numbers, np.ndarray) else values
