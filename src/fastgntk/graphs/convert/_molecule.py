"""Molecules as graphs: heavy atoms are nodes, bonds are edges. RDKit parses the SMILES.

Node features follow the table :data:`ATOM_FEATURES`: one-hot groups side by side, of the same width for every
molecule, so that a model accepts any molecule later. Groups that apply to few atoms (charge, aromatic, ring) have no
column for "no": an atom outside rings has zeros there, so that common atoms are not similar by what they lack.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Bools, Ints
from fastgntk.errors import InputError, format_numbers
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._csr import row_offsets
from fastgntk.graphs._graph import Graph

if TYPE_CHECKING:
    from rdkit.Chem import Mol

__all__ = ["ATOM_FEATURES", "BOND_KINDS", "AtomFeature", "from_smiles", "import_rdkit", "molecule", "molecules"]

_REPORT_EVERY = 100  # molecules between two calls of progress, some 20 ms


@dataclass(frozen=True)
class AtomFeature:
    """A group of columns of X; at most one of them is set for an atom."""

    name: str
    choices: tuple[str | int, ...]
    """The meaning of the columns, in order."""
    other: bool
    """Whether one more column represents all other values."""
    value: float = 1.0
    """The value of the column that is set."""

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.choices) + self.other


ATOM_FEATURES = (
    # Elements have more weight than the other groups: with 2 instead of 1, leave-one-out errors were 1 to 3 % lower
    # on each of FreeSolv, ESOL and Lipophilicity.
    AtomFeature("element", ("B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "Br", "I"), other=True, value=2.0),
    AtomFeature("neighbours", (0, 1, 2, 3, 4), other=True),
    AtomFeature("hydrogens", (0, 1, 2, 3), other=True),
    AtomFeature("charge", ("negative", "positive"), other=False),
    AtomFeature("aromatic", ("yes",), other=False),
    AtomFeature("smallest ring", (3, 4, 5, 6, 7), other=True),  # no column is set outside rings
)
"""The columns of X, group by group; 32 in all."""

BOND_KINDS = {0: "other", 1: "single", 2: "double", 3: "triple", 4: "aromatic"}
"""The meaning of edge labels; the numbers are those of MDL files. A dative bond counts as single."""

_AROMATIC = 4
_KIND_OF_ORDER = {1.0: 1, 2.0: 2, 3.0: 3, 1.5: _AROMATIC}
_ATOMIC_NUMBERS = np.array([5, 6, 7, 8, 9, 14, 15, 16, 17, 35, 53])  # elements in ATOM_FEATURES


def molecule(mol: "Mol") -> Graph:
    """Convert an RDKit molecule to a graph.

    Nodes are the atoms in RDKit's order, without the hydrogens that RDKit removes from SMILES (``Chem.RemoveHs``:
    hydrogens that are more than a count, as in H2 or deuterium, stay). X follows :data:`ATOM_FEATURES`, labels are
    element symbols, edge labels are :data:`BOND_KINDS`. Fragments of a salt are parts of one graph.

    Examples
    --------
    >>> from rdkit import Chem
    >>> molecule(Chem.MolFromSmiles("CC(=O)[O-].[Na+]"))
    Graph(n_nodes=5, n_edges=3, features=32, labels)
    """
    rdkit = import_rdkit("molecule()")
    if not isinstance(mol, rdkit.Chem.Mol):
        hint = "; RDKit returns None for SMILES that it cannot read" if mol is None else ""
        raise InputError(f"a molecule must be an RDKit Mol, but has type {type(mol).__name__}{hint}.")
    return from_mols([mol], "")[0]


def from_mols(mols: Sequence["Mol"], prefix: str = "graph {}: ") -> GraphBatch:
    """Convert RDKit molecules as :func:`molecule` does; ``prefix`` names one in error messages."""
    rdkit = import_rdkit("reading molecules")
    position = 0

    def without_hydrogens() -> Iterator["Mol"]:
        nonlocal position
        for position, mol in enumerate(mols):  # noqa: B007  # for the error message
            yield rdkit.Chem.RemoveHs(mol) if any(atom.GetAtomicNum() == 1 for atom in mol.GetAtoms()) else mol

    try:
        with rdkit.rdBase.BlockLogs():
            return _convert(without_hydrogens())
    except (RuntimeError, ValueError):  # not sanitized, or impossible valences
        where = prefix.format(position)
        raise InputError(f"{where}hydrogens and rings are not computed; call Chem.SanitizeMol(mol) first.") from None


def from_smiles(text: str) -> Graph:
    """Parse SMILES to a graph as described in :func:`molecule`.

    Text after a space is a name and ignored, as in RDKit.

    Examples
    --------
    >>> ethanol = from_smiles("CCO")
    >>> ethanol.labels.tolist(), ethanol.edge_labels.tolist()
    (['C', 'C', 'O'], [1, 1, 1, 1])
    >>> from_smiles("C1CC")
    Traceback (most recent call last):
    fastgntk.errors.InputError: RDKit cannot read the SMILES 'C1CC'; check it for typing errors.
    """
    if not isinstance(text, str):
        raise InputError(f"SMILES must be a string, but has type {type(text).__name__}.")
    if not text.strip():
        raise InputError("the SMILES is empty; give at least one atom, as in 'C'.")
    batch, unread = molecules([text])
    if len(unread):
        raise InputError(f"RDKit cannot read the SMILES {text!r}; check it for typing errors.")
    return batch[0]


def from_smiles_list(smiles: Sequence[str]) -> GraphBatch:
    """Parse SMILES to graphs; raise if RDKit cannot read all of them."""
    batch, unread = molecules(smiles)
    if len(unread):
        raise InputError(
            f"RDKit cannot read the SMILES of {format_numbers('graph', unread.tolist())} ({smiles[unread[0]]!r}); "
            "correct them or leave them out."
        )
    return batch


def molecules(smiles: Sequence[str], *, progress: Callable[[int, int], None] | None = None) -> tuple[GraphBatch, Ints]:
    """Parse many SMILES; return the graphs, and the positions of the SMILES that cannot be read.

    The graphs keep their order. An empty string cannot be read. ``progress`` is called as ``progress(done, total)``.

    Examples
    --------
    >>> batch, unread = molecules(["CCO", "C1CC", "c1ccccc1"])
    >>> batch, unread.tolist()
    (GraphBatch(2 graphs, 9 nodes), [1])
    """
    rdkit = import_rdkit("reading SMILES")
    unread: list[int] = []

    def readable() -> Iterator["Mol"]:
        for i, text in enumerate(smiles):
            if progress is not None and i % _REPORT_EVERY == 0:
                progress(i, len(smiles))
            try:
                mol = rdkit.Chem.MolFromSmiles(text)
            except UnicodeEncodeError:  # half a surrogate pair
                mol = None
            if mol is None or mol.GetNumAtoms() == 0:
                unread.append(i)
            else:
                yield mol

    with rdkit.rdBase.BlockLogs():  # RDKit writes a line to standard error for each failure
        batch = _convert(readable())
    if progress is not None:
        progress(len(smiles), len(smiles))
    return batch, np.array(unread, dtype=np.int64)


def import_rdkit(what: str) -> Any:
    """Return the module with ``Chem`` and ``rdBase``; ``what`` begins the error message if it is not installed."""
    try:
        import rdkit.Chem
        import rdkit.rdBase
    except ImportError:
        raise InputError(f"{what} needs RDKit; install it with `pip install 'fastgntk[chem]'`.") from None
    return rdkit


def _convert(mols: Iterable["Mol"]) -> GraphBatch:
    # Calls into RDKit dominate the cost: there are three for each atom, one for the bonds of a molecule and one for its
    # rings; everything else is done for all molecules at once.
    sizes: list[int] = []
    atoms: list[tuple[int, int, int]] = []
    smallest_rings: list[int] = []
    degrees, neighbours, orders = [], [], []
    for mol in mols:
        size = mol.GetNumAtoms()
        sizes.append(size)
        atoms += [(a.GetAtomicNum(), a.GetTotalNumHs(), a.GetFormalCharge()) for a in mol.GetAtoms()]
        smallest_rings += _smallest_rings(mol, size)
        rows, cols, order = _bonds(mol)
        degrees.append(np.bincount(rows, minlength=size))
        neighbours.append(cols)
        orders.append(order)
    atomic_number, hydrogens, charge = np.array(atoms, dtype=np.int64).reshape(-1, 3).T
    degree, order = _concatenate(degrees, np.int64), _concatenate(orders, np.float64)
    kinds = np.zeros(len(order), dtype=np.int64)
    for value, kind in _KIND_OF_ORDER.items():
        kinds[order == value] = kind
    aromatic = np.zeros(len(atomic_number), dtype=bool)
    aromatic[np.repeat(np.arange(len(atomic_number)), degree)[kinds == _AROMATIC]] = True
    distinct, index = np.unique(atomic_number, return_inverse=True)
    symbol = import_rdkit("reading molecules").Chem.GetPeriodicTable().GetElementSymbol  # "*" for an atom of no element
    return GraphBatch(
        offsets=row_offsets(sizes),
        indptr=row_offsets(degree),
        indices=_concatenate(neighbours, np.int32),
        features=_features(
            atomic_number, degree, hydrogens, charge, aromatic, np.array(smallest_rings, dtype=np.int64)
        ),
        labels=np.array([symbol(int(n)) for n in distinct], dtype="U2")[index],
        edge_labels=kinds,
        self_loops=np.zeros(len(sizes), dtype=np.int64),
    )


def _bonds(mol: "Mol") -> tuple[Ints, Ints, Array]:
    """Return both directions of every bond as (atom, neighbour, order), in the order of canonical rows."""
    chem = import_rdkit("reading molecules").Chem
    # Forced, because RDKit caches the matrix even if the molecule has changed since.
    order = chem.GetAdjacencyMatrix(mol, useBO=True, force=True)
    rows, cols = np.nonzero(order)
    if len(rows) != 2 * mol.GetNumBonds():  # dative bonds have one direction there, bonds of order 0 none
        rows, cols = np.nonzero(chem.GetAdjacencyMatrix(mol, force=True))
        order = np.maximum(order, order.T)
    return rows, cols, order[rows, cols]


def _smallest_rings(mol: "Mol", size: int) -> list[int]:
    """Return the size of the smallest ring of each atom; 0 outside rings."""
    smallest = [0] * size
    for ring in sorted(mol.GetRingInfo().AtomRings(), key=len, reverse=True):
        for atom in ring:
            smallest[atom] = len(ring)
    return smallest


def _features(atomic_number: Ints, degree: Ints, hydrogens: Ints, charge: Ints, aromatic: Bools, ring: Ints) -> Array:
    """Return X (N, 32) for atoms of these properties."""
    listed, element = np.isin(atomic_number, _ATOMIC_NUMBERS), np.searchsorted(_ATOMIC_NUMBERS, atomic_number)
    # For each group of ATOM_FEATURES the column within the group, or -1 for none.
    columns = (
        np.where(listed, element, len(_ATOMIC_NUMBERS)),
        np.minimum(degree, 5),
        np.minimum(hydrogens, 4),
        np.where(charge == 0, -1, charge > 0),
        np.where(aromatic, 0, -1),
        np.where(ring == 0, -1, np.minimum(ring, 8) - 3),
    )
    X = np.zeros((len(atomic_number), sum(group.width for group in ATOM_FEATURES)))
    start = 0
    for group, column in zip(ATOM_FEATURES, columns, strict=True):
        atoms = np.flatnonzero(column >= 0)
        X[atoms, start + column[atoms]] = group.value
        start += group.width
    return X


def _concatenate(parts: list[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype)
