from __future__ import annotations

import sys
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from rdkit import Chem
from scipy import sparse
from tests.tables import FAMILIES

from fastgntk import Graph, GraphBatch, InputError, as_graphs, datasets, to_geometric
from fastgntk.graphs import from_smiles, molecule

EDGE = np.array([[0, 1], [1, 0]])
ONE_WAY = np.array([[0, 2.0], [0, 0]])
OUTSIDE = sparse.csr_array((np.ones(2), np.array([1, 2]), np.array([0, 1, 2])), shape=(2, 2))  # SciPy does not mind


def refused(source, **options) -> str:
    with pytest.raises(InputError) as caught:
        as_graphs(source, **options)
    assert str(caught.value).endswith(".")
    return str(caught.value)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([nx.path_graph(2), nx.path_graph(2), EDGE], "graph 2 is a numpy.ndarray, but graph 0 is a networkx.Graph"),
        (["CCO", nx.path_graph(2)], "graph 1 is a networkx.Graph, but graph 0 is a str"),
        (["CCO", Chem.MolFromSmiles("C")], "graph 1 is a rdkit.Mol, but graph 0 is a str"),
        ([EDGE, None], "graph 1 is a NoneType, which cannot be converted"),
        ([{1, 2}], "graph 0 is a set, which cannot be converted"),
        ("CCO", r"pass a molecule as ['CCO']"),
    ],
)
def test_mixed_lists_and_invalid_objects(source, words):
    assert words in refused(source)


@pytest.mark.parametrize(
    "source", [[EDGE], Graph(EDGE), GraphBatch.from_graphs([Graph(EDGE)]), ["C"], [Chem.MolFromSmiles("C")], EDGE[None]]
)
@pytest.mark.parametrize("names", [{"node_labels": "label"}, {"edge_weights": ()}])
def test_attribute_names_are_rejected_for_sources_without_attributes(source, names):
    assert "have no named attributes; leave out node_labels" in refused(source, **names)


def test_arrays_are_undirected_by_default():
    for source in ([ONE_WAY], [sparse.csr_array(ONE_WAY)], ONE_WAY[None], [(ONE_WAY, np.eye(2))]):
        for directed in (None, False):
            assert as_graphs(source, directed=directed)[0].adjacency.toarray().tolist() == [[0, 2], [2, 0]]
        assert as_graphs(source, directed=True)[0].adjacency.toarray().tolist() == ONE_WAY.tolist()


def test_directed_option_on_converted_graphs():
    made = as_graphs([EDGE, ONE_WAY], directed=True)
    assert as_graphs(made) is made
    assert as_graphs(made, directed=True) is made
    assert as_graphs(made[:1], directed=False)[0].n_edges == 1
    for source in (made, list(made), datasets.Dataset(made, None, "two")):
        assert "graph 1, edge (0, 1) has no edge back" in refused(source, directed=False)


def test_smiles_are_parsed_by_rdkit():
    batch = as_graphs(["CCO", "c1ccccc1"])
    for graph, text in zip(batch, ["CCO", "c1ccccc1"], strict=True):
        alone = from_smiles(text)
        assert graph.labels.tolist() == alone.labels.tolist()
        assert graph.edge_labels.tolist() == alone.edge_labels.tolist()
        assert np.array_equal(graph.features, alone.features)
    assert len(as_graphs(np.array(["C", "N"]))) == 2
    assert refused(["C", "C1", "N", ""]) == (
        "RDKit cannot read the SMILES of graphs 1 and 3 ('C1'); correct them or leave them out."
    )


def test_rdkit_molecules():
    mols = [Chem.MolFromSmiles("CCO"), Chem.AddHs(Chem.MolFromSmiles("C=O")), Chem.Mol()]
    batch = as_graphs(mols)
    assert batch.sizes.tolist() == [3, 2, 0]
    assert batch[1].edge_labels.tolist() == molecule(mols[1]).edge_labels.tolist() == [2, 2]
    assert batch.labels.tolist() == ["C", "C", "O", "C", "O"]
    assert as_graphs(mols[0]).n_nodes == 3
    bad = Chem.MolFromSmiles("CC1CC1", sanitize=False)
    assert refused([mols[0], bad]).startswith("graph 1: hydrogens and rings are not computed")


def test_missing_torch_raises_install_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"install it with `pip install 'fastgntk\[interop\]'`"):
        to_geometric(Graph.from_edges([(0, 1)], 2))


def stack(n: int = 3, size: int = 4) -> np.ndarray:
    values = np.random.default_rng(0).normal(size=(n, size, size))
    values[np.abs(values) < 0.5] = 0
    return values + values.transpose(0, 2, 1)


@pytest.mark.parametrize("directed", [None, True])
@pytest.mark.parametrize(
    "values",
    [stack(), stack() != 0, np.ones((2, 3, 3), dtype=np.int8), np.triu(stack()), np.zeros((2, 0, 0)), stack()[:0]],
    ids=["weights", "booleans", "complete", "one triangle", "no nodes", "no graphs"],
)
def test_stack_equals_list_of_matrices(values, directed):
    batch = as_graphs(values, directed=directed)
    singles = [Graph(matrix, directed=bool(directed)) for matrix in values]
    assert len(batch) == len(singles)
    for graph, single in zip(batch, singles, strict=True):
        assert graph.indptr.tolist() == single.indptr.tolist()
        assert graph.indices.tolist() == single.indices.tolist()
        assert graph.adjacency.toarray().tolist() == single.adjacency.toarray().tolist()
        assert graph.n_self_loops == single.n_self_loops
    if values.dtype.kind != "f" or values.size == 0:
        assert batch.weights is None


def there_and_back(matrix: np.ndarray) -> np.ndarray:
    """Return both triangles of a matrix one of whose triangles may be empty, without its diagonal."""
    return np.where(matrix == 0, matrix.T, matrix) * (1 - np.eye(len(matrix)))


FORMS = {
    "dense": lambda A: A,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "lil": sparse.lil_array,
    "matrix": sparse.csr_matrix,
    "with zeros": lambda A: sparse.csr_array((A.ravel(), np.indices(A.shape).reshape(2, -1)), shape=A.shape),
    "not in order": lambda A: sparse.csr_array(
        (A[:, ::-1].ravel(), np.tile(np.arange(len(A))[::-1], len(A)), np.arange(len(A) + 1) * len(A)), shape=A.shape
    ),
    "in halves": lambda A: sparse.csr_array(
        (np.repeat(A / 2, 2), np.repeat(np.tile(np.arange(len(A)), len(A)), 2), np.arange(len(A) + 1) * 2 * len(A)),
        shape=A.shape,
    ),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("values", [stack(), np.triu(stack()), np.sign(np.abs(stack()))], ids=["both", "one", "ones"])
def test_lists_of_matrices_of_any_size_and_form(form, values):
    dense = [values[0], values[1][:2, :2], np.zeros((3, 3)), np.zeros((0, 0)), values[2]]
    batch = as_graphs([form(A) for A in dense])
    assert batch.sizes.tolist() == [4, 2, 3, 0, 4]
    assert (batch.weights is None) == (values.max() == 1)
    for graph, A in zip(batch, dense, strict=True):
        assert graph.adjacency.toarray().tolist() == there_and_back(A).tolist()
        assert graph.n_self_loops == np.count_nonzero(np.diag(A))
        assert all(np.diff(graph.indices[a:b]).min(initial=1) > 0 for a, b in pairwise(graph.indptr))
    for graph, A in zip(as_graphs([form(A) for A in dense], directed=True), dense, strict=True):
        assert graph.adjacency.toarray().tolist() == (A - np.diag(np.diag(A))).tolist()


def test_matrices_mixed_with_graphs_and_features():
    X = np.arange(4.0).reshape(2, 2)
    batch = as_graphs([Graph(EDGE, X), (sparse.csr_array(ONE_WAY), 2 * X), (ONE_WAY[:0, :0], X[:0])])
    assert batch.features.tolist() == np.concatenate([X, 2 * X]).tolist()
    assert batch[1].adjacency.toarray().tolist() == [[0, 2], [2, 0]]
    assert as_graphs([(EDGE, X), (EDGE, 2 * X)]).features.tolist() == batch.features.tolist()
    assert as_graphs([(EDGE, sparse.csr_array(X)), (EDGE, X)]).features.toarray().tolist() == [*X.tolist(), *X.tolist()]


@pytest.mark.parametrize("before", [[], [Graph(EDGE)], [EDGE]], ids=["alone", "behind a graph", "behind a matrix"])
@pytest.mark.parametrize(
    ("item", "words"),
    [
        (np.ones((2, 3)), ": adjacency must be square, but has shape (2, 3)"),
        (sparse.csr_array(np.ones((2, 3))), ": adjacency must be square, but has shape (2, 3)"),
        (EDGE * 1j, ": adjacency must be numeric and real, but has dtype complex128"),
        (sparse.csr_array(EDGE * 1j), ": adjacency must be numeric and real, but has dtype complex128"),
        (OUTSIDE, ": edge 1 is (1, 2), but node indices must lie in 0..1"),
        (OUTSIDE.T, ": adjacency cannot be read (axis"),
        (EDGE * np.nan, ", edge (0, 0) has 'weight' = nan; numbers must be finite"),
        (
            np.array([[0, 1], [2, 0]]),
            ", edge (0, 1) is given with different weights 1.0 and 2.0; give it once, or pass",
        ),
        ((EDGE, np.ones((3, 1))), ": features has 3 rows, but the graph has 2 nodes"),
        ((EDGE, [[10**400], [1]]), ": features must be numbers"),
    ],
)
def test_invalid_matrices(before, item, words):
    assert f"graph {len(before)}{words}" in refused([*before, item])


def test_stack_with_features():
    X = np.arange(24.0).reshape(3, 4, 2)
    batch = as_graphs((stack(), X))
    assert [g.features.tolist() for g in batch] == X.tolist()
    assert "must have shape (3, 4, width), but has shape (3, 4)" in refused((stack(), X[..., 0]))
    assert "must have shape (3, 4, width), but has shape (2, 4, 2)" in refused((stack(), X[:2]))
    X[1, 2, 0] = np.nan
    assert "graph 1, node 2 has the feature value nan in column 0" in refused((stack(), X))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.ones((2, 3, 4)), "must have shape (n, N, N), but has shape (2, 3, 4)"),
        (np.ones((2, 3, 3)) * 1j, "adjacency must be numeric and real, but has dtype complex128"),
        (np.where(np.eye(3), np.nan, 1)[None], "graph 0, edge (0, 0) has the weight nan"),
        (
            np.array([np.zeros((2, 2)), [[0, 1.0], [2.0, 0]]]),
            "graph 1, edge (0, 1) is given with different weights 1.0 and 2.0; pass directed=True",
        ),
    ],
)
def test_invalid_stacks(values, words):
    assert words in refused(values)


@pytest.mark.parametrize("form", [lambda A: A[None], lambda A: [A], lambda A: [sparse.csr_array(A)]])
def test_rounding_of_a_computed_matrix_is_averaged(form):
    for a, b in ((0.3, 0.3 + 1e-14), (0.3 + 1e-14, 0.3)):
        (there, back) = as_graphs(form(np.array([[0, a], [b, 0]])))[0].weights.tolist()
        assert there == back == pytest.approx(0.3)


def test_round_trip_of_every_graph_family():
    for family in FAMILIES.values():
        assert as_graphs(list(family)).n_nodes == sum(g.n_nodes for g in family)


def test_directed_must_be_boolean():
    with pytest.raises(InputError, match="directed must be True, False or None, but is 'no'"):
        as_graphs([nx.path_graph(2)], directed="no")
