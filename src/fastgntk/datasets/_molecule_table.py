"""Tables of molecules: CSV files with a column of SMILES."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastgntk._util.arrays import Ints
from fastgntk.datasets._dataset import Dataset
from fastgntk.datasets._text_table import TextTable, read_text_table, target_names
from fastgntk.errors import InputError, format_numbers
from fastgntk.graphs import check_descriptor_names, molecule_descriptors, molecules

__all__ = ["MoleculeTable", "read_columns", "read_table"]

_ROW = "molecule"

Progress = Callable[[int, int], None] | None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MoleculeTable(Dataset):
    """The molecules of a table as graphs, with the selected columns.

    Attributes
    ----------
    graphs, y, name
        As in :class:`Dataset`; ``y`` is None without a target.
    smiles : tuple of n str
    rows : int64 array of shape (n,)
        The data row of each molecule, counted from 1 below the header; blank lines do not count.
    targets : tuple of str
        The columns of ``y``.
    skipped : tuple of int
        The data rows left out because their SMILES could not be read.
    columns : tuple of str
        All columns of the file.
    """

    smiles: tuple[str, ...]
    rows: Ints
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
    descriptors: str | Sequence[str] = (),
    with_columns: str | Sequence[str] = (),
    progress: Progress = None,
) -> MoleculeTable:
    r"""Read molecules and their targets from a CSV file.

    Parameters
    ----------
    path : str or Path
        ``.csv``, or ``.tsv`` with tabs, UTF-8, with a header; a file that also ends in ``.gz`` is decompressed.
    smiles : str, optional
        The column of SMILES; by default the one named smiles, in upper or lower case.
    target : str or sequence of str, optional
        The column of y, shape (n,); or a sequence of k columns, shape (n, k). Numbers become float64. A single
        column with anything else becomes an array of strings, which are classes.
    skip_invalid : bool
        Leave out rows whose SMILES RDKit cannot read, and list them in ``skipped``; by default they are an error.
    descriptors : str or sequence of str
        Descriptors to compute, ``"rdkit"`` and ``"morgan"``, as in :func:`fastgntk.graphs.molecule_descriptors`.
    with_columns : str or sequence of str
        Columns of numbers to take as descriptors, each a block of its name. A text with several columns separated by
        commas, such as ``"temperature,pressure"``, is one block of this name.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of molecules, read and, with ``descriptors``, described.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "alcohols.csv"
    ...     _ = path.write_text("name,SMILES,boils\nmethanol,CO,64.7\nethanol,CCO,78.2\n")
    ...     table = read_table(path, target="boils")
    >>> table, table.y.tolist(), table.smiles
    (MoleculeTable('alcohols', 2 molecules, 5 atoms), [64.7, 78.2], ('CO', 'CCO'))
    """
    path = Path(path)
    table = read_text_table(path, _ROW)
    targets = target_names(target)
    smiles_at = _find_smiles_column(table, smiles)
    for name in targets:
        table.find_column(name, "target")  # checked before the molecules are read
    if len(set(targets)) != len(targets):
        raise InputError(f"target must name each column once, but is {', '.join(map(repr, targets))}.")

    known = check_descriptor_names(descriptors)
    columns = {text: _block_columns(table, text) for text in _texts(with_columns)}
    if both := [name for name in columns if name in known]:
        raise InputError(
            f"descriptors {both[0]!r} are computed, but {path} has a column of that name; rename the column."
        )

    texts = table.stripped(smiles_at)
    parts = 1 + bool(known)
    graphs, unread = molecules(texts, progress=_part_of(progress, 0, parts))
    if len(unread) == len(texts):
        raise InputError(
            f"{path} has no SMILES in column {table.columns[smiles_at]!r} that RDKit can read; name the right column "
            f"with smiles= (--smiles) among {', '.join(map(repr, table.columns))}."
        )
    if len(unread) and not skip_invalid:
        rows = format_numbers("data row", [int(i) + 1 for i in unread])
        lines = format_numbers("line", [table.lines[i] for i in unread])
        raise InputError(
            f"{path} has SMILES that RDKit cannot read, in {rows} ({lines} of the file); "
            "correct them, or leave them out with skip_invalid=True (--skip-invalid)."
        )
    kept = np.setdiff1d(np.arange(len(texts)), unread)
    blocks: dict[str, Any] = {text: table.numbers(indices, kept) for text, indices in columns.items()}
    if known:
        read = [texts[i] for i in kept]
        blocks |= molecule_descriptors(read, known, progress=_part_of(progress, 1, parts))
    return MoleculeTable(
        graphs=graphs.with_descriptors(blocks) if blocks else graphs,
        y=table.targets(target, kept, "target") if target else None,
        name=table.name,
        smiles=tuple(texts[i] for i in kept),
        rows=kept + 1,
        targets=targets,
        skipped=tuple(int(i) + 1 for i in unread),
        columns=table.columns,
    )


def _texts(with_columns: str | Sequence[str]) -> tuple[str, ...]:
    texts = (with_columns,) if isinstance(with_columns, str) else tuple(with_columns)
    if len(set(texts)) < len(texts):
        raise InputError(f"with_columns must name each block once, but is {', '.join(map(repr, texts))}.")
    return texts


def _block_columns(table: TextTable, text: str) -> list[int]:
    """Return the columns of a block: the one of this name, or several separated by commas."""
    names = [text] if text in table.columns else [part.strip() for part in text.split(",")]
    return [table.find_column(name, "with_columns", "--with") for name in names]


def _part_of(progress: Progress, part: int, parts: int) -> Progress:
    """Return a callback for one of several equal parts of the work."""
    if progress is None:
        return None
    return lambda done, total: progress(part * total + done, parts * total)


def read_columns(path: str | Path) -> tuple[str, ...]:
    """Return the names of the columns of a table."""
    return read_text_table(Path(path), _ROW).columns


def _find_smiles_column(table: TextTable, name: str | None) -> int:
    if name is not None:
        return table.find_column(name, "smiles")
    candidates = [i for i, column in enumerate(table.columns) if column.lower() == "smiles"]
    if len(candidates) == 1:
        return candidates[0]
    problem, hint = ("several columns", "") if candidates else ("no column", ", or read_edge_list (--graph) for edges")
    raise InputError(
        f"{table.path} has {problem} called smiles; name the right one with smiles= (--smiles) among "
        f"{table.list_columns()}{hint}."
    )
