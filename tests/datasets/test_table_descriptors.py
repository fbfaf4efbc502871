"""Descriptors of tables of molecules: computed by RDKit, and taken from columns."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy import sparse
from tests.datasets.test_molecule_table import refused, write

from fastgntk import InputError, as_graphs
from fastgntk.datasets import read_table
from fastgntk.graphs import MOLECULE_DESCRIPTORS, descriptor_names, molecule_descriptors

chem = pytest.importorskip("rdkit.Chem")
TABLE = 'smiles,dose,time,"a,b",y\nCCO,1,2.5,7,0\nC1CC,x,y,z,0\nc1ccccc1O,3,-4e2,8,1\n'


def test_columns_are_blocks(tmp_path):
    names = ["dose", "dose, time", "a,b"]
    table = read_table(write(tmp_path, TABLE), skip_invalid=True, with_columns=names, target="y")
    found = {name: block.tolist() for name, block in table.graphs.descriptors.items()}
    assert found == {"dose": [[1], [3]], "dose, time": [[1, 2.5], [3, -400]], "a,b": [[7], [8]]}
    assert read_table(write(tmp_path, TABLE), skip_invalid=True).graphs.descriptors == {}


def test_descriptors_are_those_of_rdkit(tmp_path):
    from rdkit.Chem import Descriptors, rdFingerprintGenerator

    table = read_table(write(tmp_path, TABLE), skip_invalid=True, descriptors=["rdkit", "morgan"], with_columns="dose")
    assert list(table.graphs.descriptors) == ["dose", "rdkit", "morgan"]
    names, block = descriptor_names("rdkit"), table.graphs.descriptors["rdkit"]
    assert block.shape == (2, len(names))
    assert list(names) == sorted(names)
    for i, smiles in enumerate(table.smiles):
        for name in ("MolWt", "TPSA", "MolLogP", "NumRotatableBonds", "Ipc"):
            assert block[i, names.index(name)] == getattr(Descriptors, name)(chem.MolFromSmiles(smiles))
    counts = table.graphs.descriptors["morgan"]
    assert sparse.issparse(counts)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    for i, smiles in enumerate(table.smiles):
        expected = generator.GetCountFingerprintAsNumPy(chem.MolFromSmiles(smiles))
        assert np.array_equal(counts.toarray()[i], expected)


def test_numbers_that_are_not_finite_become_zero_with_a_message(caplog):
    with caplog.at_level(logging.INFO, logger="fastgntk"):
        block = molecule_descriptors(["CCO", "[Na+].[Cl-]", "[U]"])["rdkit"]
    assert np.isfinite(block).all()
    names = descriptor_names("rdkit")
    assert block[2, names.index("MaxPartialCharge")] == 0.0
    (message,) = [record.getMessage() for record in caplog.records if "not finite" in record.getMessage()]
    assert "not finite for" in message
    assert "of 3 molecules" in message


def test_molecules_and_smiles_have_the_same_descriptors():
    smiles = ["CCO", "CC(=O)O"]
    sources = smiles, [chem.MolFromSmiles(text) for text in smiles]
    both = [molecule_descriptors(source, MOLECULE_DESCRIPTORS) for source in sources]
    for name in MOLECULE_DESCRIPTORS:
        first, second = (block[name].toarray() if name == "morgan" else block[name] for block in both)
        assert np.array_equal(first, second)
    none = molecule_descriptors([], MOLECULE_DESCRIPTORS)
    assert none["rdkit"].shape == (0, len(descriptor_names("rdkit")))
    assert none["morgan"].shape == (0, 2048)
    assert as_graphs(smiles).with_descriptors(both[0]).descriptors.keys() == both[0].keys()


def test_progress_covers_both_parts(tmp_path):
    seen: list[float] = []
    read_table(
        write(tmp_path, TABLE),
        skip_invalid=True,
        descriptors="morgan",
        progress=lambda done, total: seen.append(done / total),
    )
    assert seen == sorted(seen)
    assert seen[0] == 0.0
    assert seen[-1] == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"with_columns": "weight"}, " has no column 'weight'; choose with_columns= (--with) among 'smiles', 'dose'"),
        ({"with_columns": "dose, x"}, " has no column 'x'; choose with_columns= (--with)"),
        (
            {"with_columns": "time"},
            " has something other than a number in column 'time' in data row 2; columns",
        ),
    ],
)
def test_bad_columns_are_refused(tmp_path, options, message):
    text = TABLE.replace("C1CC", "CC")
    assert refused(write(tmp_path, text), **options).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"descriptors": "mordred"}, "descriptors must be among rdkit, morgan, each once, but are mordred"),
        ({"descriptors": ["rdkit", "rdkit"]}, "each once, but are rdkit, rdkit"),
        ({"with_columns": ["dose", "dose"]}, "with_columns must name each block once, but is 'dose', 'dose'"),
    ],
)
def test_bad_names_are_refused(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        read_table(write(tmp_path, TABLE), skip_invalid=True, **options)


def test_missing_values_and_names_of_both_kinds_are_refused(tmp_path):
    empty = refused(write(tmp_path, TABLE.replace("C1CC,x", "CC,")), with_columns="dose")
    assert empty.startswith(" has no finite value in column 'dose' in data row 2; fill them in")
    with pytest.raises(InputError, match=r"'morgan' are computed, but .* has a column of that name"):
        read_table(write(tmp_path, "smiles,morgan\nC,1\n"), descriptors="morgan", with_columns="morgan")
    with pytest.raises(InputError, match="molecule 1 is 'C1CC', which is neither an RDKit molecule nor valid SMILES"):
        molecule_descriptors(["C", "C1CC"], "morgan")
