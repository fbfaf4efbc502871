"""Descriptors of molecules: RDKit's table of descriptors, and counts of Morgan fingerprints."""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError, format_numbers
from fastgntk.graphs._csr import row_offsets
from fastgntk.graphs.convert._molecule import import_rdkit

if TYPE_CHECKING:
    from rdkit.Chem import Mol

__all__ = ["MOLECULE_DESCRIPTORS", "check_descriptor_names", "descriptor_names", "molecule_descriptors"]

_log = logging.getLogger("fastgntk")

_RADIUS, _BITS = 2, 2048
_REPORT_EVERY = 20  # molecules between two calls of progress


def molecule_descriptors(
    molecules: Sequence["str | Mol"],
    names: str | Sequence[str] = "rdkit",
    *,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Compute descriptors of n molecules with RDKit, as blocks for ``batch.with_descriptors``.

    Parameters
    ----------
    molecules : sequence of str or RDKit molecules
        SMILES, or molecules.
    names : str or sequence of str
        ``"rdkit"``: all of ``rdkit.Chem.Descriptors``, about 210, in alphabetical order (:func:`descriptor_names`),
        an array (n, d). Values that are not finite, such as partial charges of metals, become 0; a log
        message counts them. ``"morgan"``: counts of circular substructures of radius 2, hashed to 2,048 columns, a
        CSR array.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of molecules.

    Returns
    -------
    dict of str to array
        A block for each name.

    Examples
    --------
    >>> import fastgntk as fg
    >>> smiles = ["CCO", "c1ccccc1O"]
    >>> blocks = fg.graphs.molecule_descriptors(smiles, ["rdkit", "morgan"])
    >>> round(float(blocks["rdkit"][0, fg.graphs.descriptor_names("rdkit").index("MolWt")]), 2)
    46.07
    >>> batch = fg.as_graphs(smiles).with_descriptors(blocks)
    >>> batch.descriptors["morgan"].shape
    (2, 2048)
    """
    chosen = check_descriptor_names(names)
    rdkit = import_rdkit("computing descriptors")
    compute = [_MAKERS[name]() for name in chosen]
    columns: list[list[Any]] = [[] for _ in chosen]
    with rdkit.rdBase.BlockLogs():
        for i, source in enumerate(molecules):
            if progress is not None and i % _REPORT_EVERY == 0:
                progress(i, len(molecules))
            mol = rdkit.Chem.MolFromSmiles(source) if isinstance(source, str) else source
            if not isinstance(mol, rdkit.Chem.Mol):
                raise InputError(f"molecule {i} is {source!r}, which is neither an RDKit molecule nor valid SMILES.")
            for column, each in zip(columns, compute, strict=True):
                column.append(each(mol))
    if progress is not None:
        progress(len(molecules), len(molecules))
    return {name: _STACKERS[name](column) for name, column in zip(chosen, columns, strict=True)}


def descriptor_names(name: str) -> tuple[str, ...]:
    """Return the names of the columns of a block of :func:`molecule_descriptors`.

    >>> len(descriptor_names("morgan")), descriptor_names("morgan")[:2]
    (2048, ('morgan 0', 'morgan 1'))
    """
    (checked,) = check_descriptor_names(name)
    return tuple(f"morgan {i}" for i in range(_BITS)) if checked == "morgan" else tuple(_rdkit_names())


def check_descriptor_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of known blocks, each once."""
    listed = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in listed if name not in MOLECULE_DESCRIPTORS]
    if unknown or len(set(listed)) < len(listed):
        raise InputError(
            f"descriptors must be among {', '.join(MOLECULE_DESCRIPTORS)}, each once, but are "
            f"{', '.join(map(str, listed))}."
        )
    return listed


def _rdkit_names() -> list[str]:
    import_rdkit("computing descriptors")
    from rdkit.Chem import Descriptors  # takes a second to load

    return sorted(name for name, _ in Descriptors.descList)


def _rdkit_row() -> Callable[["Mol"], list[float]]:
    from rdkit.Chem import Descriptors

    names = _rdkit_names()

    compute: Any = Descriptors.CalcMolDescriptors  # RDKit ships no types of it

    def row(mol: "Mol") -> list[float]:
        values = compute(mol, missingVal=np.nan, silent=True)
        return [values[name] for name in names]

    return row


def _stack_rdkit(rows: list[list[float]]) -> Array:
    names = _rdkit_names()
    block = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
    wrong = ~np.isfinite(block)
    if wrong.any():
        molecules, columns = (np.flatnonzero(wrong.any(axis=axis)).tolist() for axis in (1, 0))
        _log.info(
            "%d of RDKit's descriptors (%s) are not finite for %d of %d molecules (%s) and were set to 0",
            len(columns),
            ", ".join(names[j] for j in columns[:5]) + (", …" if len(columns) > 5 else ""),
            len(molecules),
            len(rows),
            format_numbers("number", [i + 1 for i in molecules]),
        )
        block[wrong] = 0.0
    return block


def _morgan_row() -> Callable[["Mol"], dict[int, int]]:
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=_RADIUS, fpSize=_BITS)
    return lambda mol: dict(generator.GetCountFingerprint(mol).GetNonzeroElements())


def _stack_morgan(rows: list[dict[int, int]]) -> Any:
    columns = np.array([column for row in rows for column in row], dtype=np.int64)
    counts = np.array([count for row in rows for count in row.values()], dtype=np.float64)
    return sparse.csr_array((counts, columns, row_offsets([len(row) for row in rows])), shape=(len(rows), _BITS))


_MAKERS: dict[str, Callable[[], Callable[["Mol"], Any]]] = {"rdkit": _rdkit_row, "morgan": _morgan_row}
_STACKERS: dict[str, Callable[[list[Any]], Any]] = {"rdkit": _stack_rdkit, "morgan": _stack_morgan}
MOLECULE_DESCRIPTORS = tuple(_MAKERS)
"""The names of blocks that :func:`molecule_descriptors` computes."""
