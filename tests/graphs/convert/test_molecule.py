from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from rdkit import Chem
from tests.tables import FLOAT64

from fastgntk import GNTK, InputError, gram
from fastgntk.graphs import ATOM_FEATURES, BOND_KINDS, Graph, from_smiles, molecule, molecules


def neighbours(graph: Graph) -> list[list[int]]:
    return [graph.indices[a:b].tolist() for a, b in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)]


def described(graph: Graph) -> list[dict[str, object]]:
    """Read X back through the table: for each atom the choice that is set in each group."""
    atoms = []
    for row in graph.features:
        start, atom = 0, {}
        for group in ATOM_FEATURES:
            part, start = row[start : start + group.width], start + group.width
            assert set(part) <= {0.0, group.value}
            assert np.count_nonzero(part) <= 1
            if part.any():
                atom[group.name] = (*group.choices, "other")[int(np.flatnonzero(part)[0])]
        assert start == graph.features.shape[1]
        atoms.append(atom)
    return atoms


def atom(element, neighbours, hydrogens, **more) -> dict[str, object]:
    more = {name.replace("_", " "): value for name, value in more.items()}
    return {"element": element, "neighbours": neighbours, "hydrogens": hydrogens, **more}


def test_acetic_acid_by_hand():
    graph = from_smiles("CC(=O)O")
    assert neighbours(graph) == [[1], [0, 2, 3], [1], [1]]
    assert graph.labels.tolist() == ["C", "C", "O", "O"]
    assert graph.edge_labels.tolist() == [1, 1, 2, 1, 2, 1]
    assert described(graph) == [atom("C", 1, 3), atom("C", 3, 0), atom("O", 1, 0), atom("O", 1, 1)]
    assert graph.weights is None


def test_aromatic_atoms_and_a_triple_bond():
    graph = from_smiles("c1ccoc1C#N")
    assert neighbours(graph) == [[1, 4], [0, 2], [1, 3], [2, 4], [0, 3, 5], [4, 6], [5]]
    assert graph.edge_labels.tolist() == [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1, 1, 3, 3]
    ring = {"aromatic": "yes", "smallest_ring": 5}
    assert described(graph) == [
        *[atom("C", 2, 1, **ring)] * 3,
        atom("O", 2, 0, **ring),
        atom("C", 3, 0, **ring),
        atom("C", 2, 0),
        atom("N", 1, 0),
    ]


def test_feature_columns_follow_the_table():
    (row,) = from_smiles("[OH-]").features
    assert len(row) == 32
    # element O is column 3, no neighbours 12, one hydrogen 19, negative 23
    assert {int(c): row[c] for c in np.flatnonzero(row)} == {3: 2.0, 12: 1.0, 19: 1.0, 23: 1.0}
    assert [g.width for g in ATOM_FEATURES] == [12, 6, 5, 2, 1, 6]


@pytest.mark.parametrize("symbol", ["B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "Br", "I"])
def test_every_element_of_the_table_has_its_own_column(symbol):
    (found,) = described(from_smiles(f"[{symbol}]"))
    assert found["element"] == symbol


@pytest.mark.parametrize(("smiles", "label"), [("[Na]", "Na"), ("[Se]", "Se"), ("*", "*"), ("[Xe]", "Xe")])
def test_every_other_element_shares_one_column_and_keeps_its_label(smiles, label):
    graph = from_smiles(smiles)
    assert graph.labels.tolist() == [label]
    assert described(graph)[0]["element"] == "other"


def test_salts_are_one_graph_of_several_parts():
    graph = from_smiles("[Na+].[Cl-]")
    assert neighbours(graph) == [[], []]
    assert described(graph) == [atom("other", 0, 0, charge="positive"), atom("Cl", 0, 0, charge="negative")]
    assert neighbours(from_smiles("CO.N")) == [[1], [0], []]


def test_a_single_atom_counts_its_hydrogens():
    graph = from_smiles("C")
    assert (graph.n_nodes, graph.n_edges) == (1, 0)
    assert described(graph) == [atom("C", 0, "other")]


@pytest.mark.parametrize(("size", "expected"), [(3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (8, "other"), (12, "other")])
def test_ring_sizes(size, expected):
    graph = from_smiles("C1" + "C" * (size - 1) + "1")
    assert described(graph) == [atom("C", 2, 2, smallest_ring=expected)] * size


@pytest.mark.parametrize("smiles", ["C1CC2CCCCC12", "C12CCCCC1CC2"])
def test_an_atom_of_two_rings_belongs_to_the_smaller(smiles):
    sizes = [a["smallest ring"] for a in described(from_smiles(smiles))]
    assert (sizes.count(4), sizes.count(6)) == (4, 4)


def test_more_than_four_neighbours_share_a_column():
    graph = from_smiles("FS(F)(F)(F)(F)F")
    assert described(graph)[1] == atom("S", "other", 0)
    assert described(from_smiles("FP(F)(F)(F)F"))[1] == atom("P", "other", 0)


@pytest.mark.parametrize(
    ("smiles", "kind"), [("N->[Fe]", "single"), ("[Fe]<-N", "single"), ("C~C", "other"), ("C$C", "other")]
)
def test_unusual_bonds_count_in_both_directions(smiles, kind):
    graph = from_smiles(smiles)
    assert neighbours(graph) == [[1], [0]]
    assert [BOND_KINDS[k] for k in graph.edge_labels.tolist()] == [kind, kind]


@pytest.mark.parametrize("smiles", ["CCO", "c1cc[nH]c1", "C[NH3+].[Cl-]", "[H][H]", "[2H]OC"])
def test_hydrogens_written_out_change_nothing(smiles):
    plain, mol = from_smiles(smiles), Chem.MolFromSmiles(smiles)
    for graph in (molecule(mol), molecule(Chem.AddHs(mol))):
        assert np.array_equal(graph.features, plain.features)
        assert neighbours(graph) == neighbours(plain)
        assert graph.labels.tolist() == plain.labels.tolist()
        assert graph.edge_labels.tolist() == plain.edge_labels.tolist()
    assert from_smiles("[H][H]").labels.tolist() == ["H", "H"]


def test_changed_molecule_is_read_again():
    mol = Chem.RWMol(Chem.MolFromSmiles("CC"))
    assert molecule(mol).edge_labels.tolist() == [1, 1]
    mol.GetBondWithIdx(0).SetBondType(Chem.BondType.DOUBLE)
    assert molecule(mol).edge_labels.tolist() == [2, 2]


def test_a_molecule_without_atoms_is_a_graph_without_nodes():
    graph = molecule(Chem.Mol())
    assert graph.features.shape == (0, 32)
    assert (graph.n_nodes, graph.labels.shape) == (0, (0,))


@pytest.mark.parametrize(
    ("mol", "message"),
    [
        (None, "must be an RDKit Mol, but has type NoneType; RDKit returns None"),
        ("CCO", "must be an RDKit Mol, but has type str.$"),
        (Chem.MolFromSmiles("CC1CC1", sanitize=False), r"call Chem.SanitizeMol\(mol\) first"),
        (Chem.MolFromSmiles("[H]C(C)(C)(C)(C)C", sanitize=False), r"call Chem.SanitizeMol\(mol\) first"),
    ],
)
def test_invalid_molecules_are_rejected(mol, message, capfd):
    with pytest.raises(InputError, match=message):
        molecule(mol)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("text", ["C1CC", "C(C)(C)(C)(C)C", "xyz", "C)", "\ud800"])
def test_unreadable_smiles_raise_without_rdkit_output(text, capfd):
    with pytest.raises(InputError) as caught:
        from_smiles(text)
    assert str(caught.value) == f"RDKit cannot read the SMILES {text!r}; check it for typing errors."
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("text", ["", "  \t"])
def test_empty_smiles(text):
    with pytest.raises(InputError, match="the SMILES is empty"):
        from_smiles(text)


@pytest.mark.parametrize("text", [None, float("nan"), ["C"]])
def test_smiles_must_be_a_string(text):
    with pytest.raises(InputError, match="SMILES must be a string"):
        from_smiles(text)


def test_spaces_and_names_around_smiles_are_ignored():
    assert from_smiles(" CCO ").labels.tolist() == from_smiles("CCO ethanol").labels.tolist() == ["C", "C", "O"]


def test_molecules_equal_those_read_one_by_one(capfd):
    texts = ["CCO", "", "c1ccccc1", "C1CC", "[Na+].[Cl-]", "C", "CC(=O)[O-]"]
    batch, unread = molecules(texts)
    assert unread.tolist() == [1, 3]
    assert capfd.readouterr() == ("", "")
    singles = [from_smiles(text) for i, text in enumerate(texts) if i not in (1, 3)]
    assert len(batch) == len(singles)
    for graph, single in zip(batch, singles, strict=True):
        assert neighbours(graph) == neighbours(single)
        assert np.array_equal(graph.features, single.features)
        assert graph.labels.tolist() == single.labels.tolist()
        assert graph.edge_labels.tolist() == single.edge_labels.tolist()


def test_empty_list_of_molecules():
    batch, unread = molecules([])
    assert (len(batch), len(unread)) == (0, 0)
    batch, unread = molecules(["", "C1CC"])
    assert (len(batch), unread.tolist()) == (0, [0, 1])


def test_progress_is_reported_and_ends_at_the_total():
    calls = []
    molecules(["C"] * 250, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(0, 250), (100, 250), (200, 250), (250, 250)]


def test_rows_are_canonical():
    batch, _ = molecules(["OC(C)(N)C1CC1", "C1CC2CCC1CC2"])
    for graph in batch:
        rebuilt = Graph(graph.adjacency)
        assert rebuilt.indices.tolist() == graph.indices.tolist()
        assert rebuilt.indptr.tolist() == graph.indptr.tolist()


def test_kernel_is_invariant_to_atom_order():
    batch, _ = molecules(["OC(=O)c1ccccc1", "c1cc(C(O)=O)ccc1"])
    K = gram(batch, GNTK(blocks=3))
    FLOAT64.check(K, np.full((2, 2), K[0, 0]))


def test_missing_rdkit_raises_install_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    for call in (lambda: from_smiles("C"), lambda: molecules(["C"]), lambda: molecule(None)):
        with pytest.raises(InputError, match=r"needs RDKit; install it with `pip install 'fastgntk\[chem\]'`"):
            call()


def test_import_does_not_load_rdkit():
    program = "import sys, fastgntk, fastgntk.datasets; print('rdkit' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
