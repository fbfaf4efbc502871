"""CSV files as columns of text: a header, and rows of equal length."""

import csv
import gzip
import io
import math
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress, islice, repeat
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError, format_numbers

__all__ = ["TextTable", "read_text", "read_text_table", "target_names", "without_gz"]

_CHUNK = 256
"""Rows held as lists before they go into columns: with 700 or more, the garbage collector runs and takes as long as
all the rest."""

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")  # 007 is a name, and so is a number beyond 64 bits
# Case matters: Na is sodium.
_MISSING = {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null"}


@dataclass(frozen=True)
class TextTable:
    """The text of a table, column by column."""

    path: Path
    name: str
    columns: tuple[str, ...]
    cells: tuple[list[str], ...]
    lines: list[int]
    """The line on which each row starts, counted from 1."""

    def find_column(self, name: str, argument: str, option: str | None = None) -> int:
        """Return the index of a column; ``argument`` and the command-line ``option`` select it."""
        selector = f"{argument}= ({option or f'--{argument}'})"
        count = self.columns.count(name)
        if count > 1:
            problem = f"{count} columns called {name!r}; rename them so that {selector} names one"
            raise InputError(f"{self.path} has {problem}.")
        if not count:
            raise InputError(f"{self.path} has no column {name!r}; choose {selector} among {self.list_columns()}.")
        return self.columns.index(name)

    def list_columns(self) -> str:
        """List the columns; if there is only one, add which other delimiter it seems to contain."""
        names = ", ".join(map(repr, self.columns))
        only = self.columns[0] if len(self.columns) == 1 else ""
        for delimiter, plural in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
            if delimiter in only:
                hint = "name a file with tabs .tsv" if delimiter == "\t" else "save it with commas as .csv"
                return f"{names} (it seems to be separated by {plural}: {hint})"
        return names

    def stripped(self, index: int) -> list[str]:
        """Return a column as stripped text."""
        return list(map(str.strip, self.cells[index]))

    def texts(self, index: int, what: str) -> list[str]:
        """Return a column as stripped text; an empty cell raises an error about a missing ``what``."""
        texts = self.stripped(index)
        if "" in texts:
            raise self._cell_error(f"no {what}", index, [i for i, text in enumerate(texts) if not text])
        return texts

    def _cell_error(self, problem: str, index: int, rows: Sequence[int], advice: str = "") -> InputError:
        rows_text = format_numbers("data row", [row + 1 for row in rows])
        return InputError(f"{self.path} has {problem} in column {self.columns[index]!r} in {rows_text}{advice}.")

    def attribute(self, index: int, *, numbers: bool) -> list[Any] | Array:
        """Return a column as numbers or as labels, with None for missing values; an array if all are numbers.

        Invalid numbers stay text. Labels are integers if all cells are, else text; fractions stay numbers, which are
        no labels.
        """
        cells = self.cells[index]
        if numbers and "_" not in "".join(cells):
            with suppress(ValueError):
                return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
        distinct = {cell: cell.strip() for cell in dict.fromkeys(cells)}  # most labels repeat
        present = [text for text in distinct.values() if text not in _MISSING]
        read: Callable[[str], Any] = str
        if numbers:
            read = _parse_number_or_text
        elif all(map(_WHOLE.fullmatch, present)):
            read = int
        else:
            values = list(map(_parse_number, present))
            if all(value is not None for value in values) and any(value % 1 != 0 for value in values if value):
                read = float
        value_of = {cell: None if text in _MISSING else read(text) for cell, text in distinct.items()}
        return list(map(value_of.__getitem__, cells))

    def targets(self, names: str | Sequence[str], rows: Ints, argument: str, option: str | None = None) -> NDArray[Any]:
        """Return the column of targets, (n,), numbers or classes; of several columns the numbers, (n, k)."""
        columns = [self.find_column(name, argument, option) for name in target_names(names)]
        if isinstance(names, str):
            return self._target(columns[0], rows, classes=True)
        return np.stack([self._target(index, rows, classes=False) for index in columns], axis=1)

    def numbers(self, columns: Sequence[int], rows: Ints) -> Array:
        """Return columns of finite numbers, (n, k)."""
        columns_of = "columns of descriptors"
        return np.stack([self._target(i, rows, classes=False, numbers_for=columns_of) for i in columns], axis=1)

    def _target(
        self, index: int, rows: Ints, *, classes: bool, numbers_for: str = "a sequence of targets"
    ) -> NDArray[Any]:
        """Return a column as numbers, or as strings if ``classes`` allows them and some are not numbers."""
        texts = {int(row): self.cells[index][row].strip() for row in rows}
        numbers = {row: _parse_number(text) for row, text in texts.items()}
        infinite = {row for row, number in numbers.items() if number is not None and not math.isfinite(number)}
        missing = [row for row, text in texts.items() if text in _MISSING or row in infinite]
        if missing:
            raise self._cell_error("no finite value", index, missing, "; fill them in or remove these rows")
        words = [row for row, number in numbers.items() if number is None]
        if words and not classes:
            advice = f"; {numbers_for} must hold numbers only"
            raise self._cell_error("something other than a number", index, words, advice)
        return np.array(list(texts.values())) if words else np.array(list(numbers.values()), dtype=np.float64)


def target_names(target: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of targets as a tuple; a caller gives none, one or several."""
    if target is None:
        return ()
    return (target,) if isinstance(target, str) else tuple(target)


def _parse_number_or_text(text: str) -> float | str:
    number = _parse_number(text)
    return text if number is None else number


def _parse_number(text: str) -> float | None:
    if "_" in text:  # Python reads 1_0 as ten; in a table it is a name
        return None
    try:
        return float(text)
    except ValueError:
        return None


def read_text_table(path: Path, row_for: str) -> TextTable:
    """Read a ``.csv`` or ``.tsv`` file in UTF-8, also as ``.gz``; ``row_for`` is the meaning of a row."""
    text = read_text(path, "save the table as CSV in UTF-8")
    delimiter = "\t" if without_gz(path).suffix.lower() == ".tsv" else ","
    header: tuple[str, ...] = ()
    cells: tuple[list[str], ...] = ()
    lines: list[int] = []
    for rows, starts in _read_chunks(path, text, delimiter):
        if not header:
            header = tuple(map(str.strip, rows.pop(0)))
            cells = tuple([] for _ in header)
            del starts[0]
        lengths = list(map(len, rows))
        if lengths.count(len(header)) < len(rows):
            line, length = next(pair for pair in zip(starts, lengths, strict=True) if pair[1] != len(header))
            raise InputError(
                f"{path}, line {line}: the row has {length} cells, but the header has {len(header)}; quote cells that "
                "hold the separator."
            )
        for column, texts in zip(cells, zip(*rows, strict=True), strict=True) if rows else ():
            column += texts
        lines += starts
    if not header:
        raise InputError(f"{path} is empty; a table needs a header and a row for each {row_for}.")
    if not lines:
        raise InputError(f"{path} has a header but no rows; a table needs a row for each {row_for}.")
    return TextTable(path, without_gz(path).stem, header, cells, lines)


def _read_chunks(path: Path, text: str, delimiter: str) -> Iterator[tuple[list[list[str]], list[int]]]:
    """Yield chunks of rows without blank ones, and the line on which each row starts."""
    # newline="" leaves line ends inside quotes to the reader, which counts them.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    numbered = zip(reader, map(attrgetter("line_num"), repeat(reader)), strict=False)  # each row with its last line
    last, failed = 0, ""
    while not failed:
        chunk: list[tuple[list[str], int]] = []
        try:
            chunk.extend(islice(numbered, _CHUNK))
        except csv.Error as error:  # rows read before it stay in the list, and come first
            failed = str(error)
        if not chunk:
            break
        rows, ends = map(list, zip(*chunk, strict=True))
        starts = [last + 1, *(end + 1 for end in ends[:-1])]
        last = ends[-1]
        if min(map(len, rows)) <= 1:  # may be blank
            filled = [len(row) > 1 or bool("".join(row).strip()) for row in rows]
            rows, starts = list(compress(rows, filled)), list(compress(starts, filled))
        if rows:
            yield rows, starts
    if failed:
        raise InputError(f"{path}, line {last + 1}: the row cannot be read ({failed}); check its quotes.")


def without_gz(path: Path) -> Path:
    """Return the path without ``.gz``."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def read_text(path: Path, advice: str) -> str:
    """Read a file in UTF-8, decompressed if it ends in ``.gz``; ``advice`` is for other encodings."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the path of a file.")
    try:
        data = path.read_bytes()
        if without_gz(path) != path:
            data = gzip.decompress(data)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the path.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8; {advice}.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a complete gzip file ({error}); get it again, or unpack it first.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path and its permissions.") from None
    if "\0" in text:  # UTF-8 allows it, tables do not
        raise InputError(f"{path} is not text in UTF-8; {advice}.")
    return text
