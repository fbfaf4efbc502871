"""Tables of molecules: CSV files with a column of SMILES."""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.datasets._dataset import Dataset
from fastgntk.errors import InputError, some
from fastgntk.graph import molecules

__all__ = ["MoleculeTable", "read_columns", "read_table"]

# As they are written, not in any case: Na is sodium.
_MISSING = {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null"}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MoleculeTable(Dataset):
    """Hold the molecules of a table as graphs, with the columns that were asked for.

    Attributes
    ----------
    graphs, y, name
        As in :class:`Dataset`; ``y`` is None if no target was asked for.
    smiles : tuple of n str
    rows : int64 array of shape (n,)
        The data row of each molecule, counted from 1 below the header; blank lines do not count.
    targets : tuple of str
        The columns of ``y``.
    skipped : tuple of int
        The data rows that were left out because their SMILES could not be read.
    columns : tuple of str
        All columns of the file.
    """

    smiles: tuple[str, ...]
    rows: NDArray[np.int64]
    targets: tuple[str, ...]
    skipped: tuple[int, ...]
    columns: tuple[str, ...]

    def __repr__(self) -> str:
        return f"MoleculeTable({self.name!r}, {len(self.graphs)} molecules, {self.graphs.n_nodes} atoms)"


def read_table(
    path: str | Path,
    *,
    smiles: str | None = None,
    target: str | Sequence[str] | None = None,
    skip_invalid: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> MoleculeTable:
    r"""Read molecules and what is known of them from a CSV file.

    Parameters
    ----------
    path : str or Path
        ``.csv``, or ``.tsv`` with tabs, UTF-8, with a header; ``.gz`` after either is unpacked on the way.
    smiles : str, optional
        The column of SMILES; by default the one called smiles, in upper or lower case.
    target : str or sequence of str, optional
        The column of y, shape (n,); or a sequence of k columns, shape (n, k). Numbers become float64. A single
        column that has anything else becomes an array of strings, which are classes.
    skip_invalid : bool
        Leave out rows whose SMILES RDKit cannot read, and list them in ``skipped``; by default they are an error.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of molecules.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "alcohols.csv"
    ...     _ = path.write_text("name,SMILES,boils\nmethanol,CO,64.7\nethanol,CCO,78.2\n")
    ...     table = read_table(path, target="boils")
    >>> table
    MoleculeTable('alcohols', 2 molecules, 5 atoms)
    >>> table.y.tolist(), table.smiles
    ([64.7, 78.2], ('CO', 'CCO'))
    """
    path = Path(path)
    table = _read(path)
    wanted = () if target is None else (target,) if isinstance(target, str) else tuple(target)
    smiles_at = table.smiles_column(smiles)
    targets_at = [table.column(name, "target") for name in wanted]
    if len(set(wanted)) != len(wanted):
        raise InputError(f"each target may be named once, but {', '.join(map(repr, wanted))} came.")

    texts = [row[smiles_at].strip() for row in table.cells]
    graphs, unread = molecules(texts, progress=progress)
    if len(unread) == len(texts):
        raise InputError(
            f"{path} has no SMILES in column {table.columns[smiles_at]!r} that RDKit can read; name the right column "
            f"with smiles= (--smiles) among {', '.join(map(repr, table.columns))}."
        )
    if len(unread) and not skip_invalid:
        rows, lines = some("data row", [int(i) + 1 for i in unread]), some("line", [table.lines[i] for i in unread])
        raise InputError(
            f"{path} has SMILES that RDKit cannot read, in {rows} ({lines} of the file); "
            "correct them, or leave them out with skip_invalid=True (--skip-invalid)."
        )
    kept = np.setdiff1d(np.arange(len(texts)), unread)
    y = None
    if wanted:
        found = [table.values(at, kept, classes=isinstance(target, str)) for at in targets_at]
        y = found[0] if isinstance(target, str) else np.stack(found, axis=1)
    return MoleculeTable(
        graphs=graphs,
        y=y,
        name=table.name,
        smiles=tuple(texts[i] for i in kept),
        rows=kept + 1,
        targets=wanted,
        skipped=tuple(int(i) + 1 for i in unread),
        columns=table.columns,
    )


def read_columns(path: str | Path) -> tuple[str, ...]:
    """Return the names of the columns of a table."""
    return _read(Path(path)).columns


@dataclass(frozen=True)
class _Table:
    """The text of a table: every row as long as the header, and the line of the file on which each starts."""

    path: Path
    name: str
    columns: tuple[str, ...]
    cells: list[list[str]]
    lines: list[int]

    def smiles_column(self, name: str | None) -> int:
        """Find the column of SMILES, by name or by being called so."""
        if name is not None:
            return self.column(name, "smiles")
        called_so = [i for i, column in enumerate(self.columns) if column.lower() == "smiles"]
        if len(called_so) == 1:
            return called_so[0]
        problem = "several columns" if called_so else "no column"
        raise InputError(
            f"{self.path} has {problem} called smiles; name the right one with smiles= (--smiles) among {self._list()}."
        )

    def column(self, name: str, argument: str) -> int:
        """Find a column by its exact name."""
        count = self.columns.count(name)
        if count == 1:
            return self.columns.index(name)
        if count:
            raise InputError(
                f"{self.path} has {count} columns called {name!r}; rename them so that {argument}= "
                f"(--{argument}) names one."
            )
        raise InputError(f"{self.path} has no column {name!r}; choose {argument}= (--{argument}) among {self._list()}.")

    def _list(self) -> str:
        listed = ", ".join(map(repr, self.columns))
        only = self.columns[0] if len(self.columns) == 1 else ""
        for sign, called in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
            if sign in only:
                hint = "call a file with tabs .tsv" if sign == "\t" else "save it with commas as .csv"
                return f"{listed} (it seems to be separated by {called}: {hint})"
        return listed

    def values(self, at: int, kept: NDArray[np.int64], *, classes: bool) -> NDArray[Any]:
        """Return a column as numbers, or as strings where ``classes`` allows them and not all are numbers."""
        texts = [self.cells[i][at].strip() for i in kept]
        numbers = [_number(text) for text in texts]
        missing = [
            int(i) + 1
            for i, text, number in zip(kept, texts, numbers, strict=True)
            if text in _MISSING or (number is not None and not math.isfinite(number))
        ]
        if missing:
            raise InputError(
                f"{self.path} has no finite value in column {self.columns[at]!r} in {some('data row', missing)}; "
                "fill them in or remove these rows."
            )
        words = [int(i) + 1 for i, number in zip(kept, numbers, strict=True) if number is None]
        if not words:
            return np.array(numbers, dtype=np.float64)
        if not classes:
            raise InputError(
                f"{self.path} has something other than a number in column {self.columns[at]!r} in "
                f"{some('data row', words)}; a sequence of targets must hold numbers only."
            )
        return np.array(texts)


def _number(text: str) -> float | None:
    if "_" in text:  # Python reads 1_0 as ten; in a table it is a name
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _read(path: Path) -> _Table:
    packed = path.suffix.lower() == ".gz"
    named = path.with_suffix("") if packed else path
    # newline="" leaves line ends inside quotes as they are and to the reader, which counts them.
    reader = csv.reader(
        io.StringIO(_text(path, packed), newline=""),
        delimiter="\t" if named.suffix.lower() == ".tsv" else ",",
        strict=True,
    )
    header: list[str] | None = None
    cells: list[list[str]] = []
    lines: list[int] = []
    before = 0
    try:
        for row in reader:
            line, before = before + 1, reader.line_num
            if len(row) <= 1 and not "".join(row).strip():
                continue
            if header is None:
                header = [name.strip() for name in row]
                continue
            if len(row) != len(header):
                raise InputError(
                    f"{path}, line {line}: the row has {len(row)} cells, but the header has {len(header)}; quote "
                    "cells that hold the separator."
                )
            cells.append(row)
            lines.append(line)
    except csv.Error as error:
        raise InputError(f"{path}, line {before + 1}: the row cannot be read ({error}); check its quotes.") from None
    if header is None:
        raise InputError(f"{path} is empty; a table needs a header and a row for each molecule.")
    if not cells:
        raise InputError(f"{path} has a header but no rows; a table needs a row for each molecule.")
    return _Table(path, named.stem, tuple(header), cells, lines)


def _text(path: Path, packed: bool) -> str:
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the path of a CSV file.")
    try:
        content = path.read_bytes()
        if packed:
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the path.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8; save the table as CSV in UTF-8.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole gzip file ({error}); get it again, or unpack it first.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path and its permissions.") from None
    if "\0" in text:  # UTF-8 allows it, tables do not
        raise InputError(f"{path} is not text in UTF-8; save the table as CSV in UTF-8.")
    return text
