"""Conversions from and to PyTorch Geometric; they need torch, which is large, and are skipped without it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from tests.batches import batches, same

from fastgntk import InputError, UnusedAttributesWarning, as_graphs, datasets, to_geometric

WHY = "PyTorch Geometric is not installed; run these tests where `pip install 'fastgntk[interop]'` was done"


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # warnings of their own imports
    torch = pytest.importorskip("torch", reason=WHY)
    pytest.importorskip("torch_geometric", reason=WHY)
    from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
    from torch_geometric.loader import DataLoader
    from torch_geometric.utils import to_scipy_sparse_matrix

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def refused(source, **options) -> str:
    with pytest.raises(InputError) as caught:
        as_graphs(source, **options)
    assert str(caught.value).endswith(".")
    return str(caught.value)


@settings(max_examples=50)
@given(batches())
def test_round_trip(batch):
    made = to_geometric(batch)
    same(as_graphs(made), batch)
    if len(batch):
        same(as_graphs(Batch.from_data_list(made)), batch)


@settings(max_examples=50)
@given(batches(columns=0))
def test_adjacency_equals_pytorch_geometric(batch):
    for data, graph in zip(to_geometric(batch), batch, strict=True):
        matrix = to_scipy_sparse_matrix(data.edge_index, data.get("edge_weight"), data.num_nodes)
        assert np.array_equal(matrix.toarray(), graph.adjacency.toarray())


def test_isolated_nodes_are_kept():
    assert as_graphs(Data(edge_index=PATH, num_nodes=6)).n_nodes == 6
    assert as_graphs(Data(edge_index=PATH, x=torch.ones(5, 2))).n_nodes == 5
    assert as_graphs(Data(x=torch.ones(4, 2)))[0].n_edges == 0
    batch = as_graphs([Data(edge_index=PATH, num_nodes=4), Data(num_nodes=0), Data(num_nodes=1)])
    assert batch.sizes.tolist() == [4, 0, 1]
    with pytest.warns(UserWarning, match="Unable to accurately infer 'num_nodes'"):  # of PyTorch Geometric itself
        as_graphs(Data(edge_index=PATH))


def test_numbers_are_features_and_whole_numbers_are_labels():
    real = as_graphs([Data(edge_index=PATH, x=torch.tensor([[0.5, 1], [2, 3], [4, 5]]))])
    assert real.features.tolist() == [[0.5, 1], [2, 3], [4, 5]]
    assert real.labels is None
    whole = as_graphs([Data(edge_index=PATH, x=torch.tensor([[6], [7], [6]]))])
    assert whole.labels.tolist() == [6, 7, 6]
    assert whole.features is None
    assert as_graphs([Data(edge_index=PATH, x=torch.tensor([[6, 1], [7, 2], [6, 3]]))]).labels.shape == (3, 2)
    asked = as_graphs([Data(edge_index=PATH, x=torch.tensor([[6], [7], [6]]))], node_features="x")
    assert asked.features.tolist() == [[6], [7], [6]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_kind_of_number(dtype):
    data = Data(edge_index=PATH, x=torch.tensor([[0.5], [1], [2]], dtype=dtype, requires_grad=True))
    assert as_graphs(data).features.tolist() == [[0.5], [1], [2]]


def test_sparse_features():
    assert as_graphs(Data(edge_index=PATH, x=torch.eye(3).to_sparse())).features.tolist() == np.eye(3).tolist()


def test_weights_and_labels_of_edges():
    weighted = as_graphs(Data(edge_index=PATH, num_nodes=3, edge_weight=torch.tensor([0.5, 0.5, 2, 2])))
    assert weighted.weights.tolist() == [0.5, 0.5, 2, 2]
    kinds = as_graphs(Data(edge_index=PATH, num_nodes=3, edge_attr=torch.tensor([[3], [3], [1], [1]])))
    assert kinds.edge_labels.tolist() == [3, 3, 1, 1]
    one_hot = as_graphs(Data(edge_index=PATH, num_nodes=3, edge_attr=torch.eye(4)[[3, 3, 1, 1]]))
    assert one_hot.edge_labels.tolist() == [3, 3, 1, 1]


def test_ambiguous_edge_attributes_raise_a_warning_and_can_be_named():
    data = Data(edge_index=PATH, num_nodes=3, edge_attr=torch.tensor([[0.5], [0.5], [2], [2]]), pos=torch.ones(3, 2))
    with pytest.warns(UnusedAttributesWarning, match="not used: node attribute 'pos' and edge attribute 'edge_attr'"):
        assert as_graphs(data).weights is None
    assert as_graphs(data, node_features="pos", edge_weights="edge_attr").weights.tolist() == [0.5, 0.5, 2, 2]


def test_weights_of_parallel_edges_add_up():
    index = torch.tensor([[0, 0, 1], [1, 1, 0]])
    assert as_graphs(Data(edge_index=index, num_nodes=2)).weights is None
    weighted = as_graphs(Data(edge_index=index, num_nodes=2, edge_weight=torch.tensor([1.0, 1.0, 2.0])))
    assert weighted.weights.tolist() == [2, 2]
    assert "graph 0, edge (0, 1) is given twice with different labels" in refused(
        Data(edge_index=index, num_nodes=2, edge_attr=torch.tensor([1, 2, 3]))
    )


def test_directions_are_those_of_edge_index():
    one_way = Data(edge_index=PATH[:, :1], num_nodes=2)
    assert as_graphs(one_way)[0].adjacency.toarray().tolist() == [[0, 1], [0, 0]]
    assert "graph 0, edge (0, 1) has no edge back" in refused(one_way, directed=False)
    assert as_graphs(Data(edge_index=PATH, num_nodes=3), directed=False)[0].n_edges == 2


def test_attribute_missing_in_some_graphs():
    one, two = Data(edge_index=PATH, x=torch.ones(3, 1)), Data(edge_index=PATH, num_nodes=3)
    with pytest.warns(UnusedAttributesWarning, match=r"'x' \(not on every node\)"):
        assert as_graphs([one, two]).features is None
    assert refused([one, two], node_features="x").startswith("graph 1, node 0 has no attribute 'x'")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([Data(edge_index=PATH, num_nodes=2)], "graph 0: edge 2 is (1, 2), but the graph has 2 nodes; set num_nodes"),
        ([Data(edge_index=PATH.T, num_nodes=5)], "graph 0: edge_index must have shape (2, m), but has shape (4, 2)"),
        ([Data(edge_index=PATH * 1.0, num_nodes=5)], "edge_index must hold integers, but has dtype float32"),
        (
            [Data(edge_index=PATH, num_nodes=3), Data(num_nodes=1), Data(edge_index=PATH, num_nodes=2)],
            "graph 2: edge 2 is (1, 2), but the graph has 2 nodes",
        ),
        ([HeteroData()], "graph 0 has several types of nodes or edges; call data.to_homogeneous() first"),
        ([Data(adj_t=torch.eye(3))], "graph 0 has a matrix adj_t or adj in place of edge_index"),
        ([Data(edge_index=PATH, x=torch.full((3, 1), np.nan))], "graph 0, node 0 has 'x' = [nan]"),
        (
            [Data(edge_index=PATH, x=torch.ones(3, 1)), Data(edge_index=PATH, x=torch.ones(3, 2))],
            "'x' must have the same width in all graphs, but has rows of shape (1,) and (2,)",
        ),
        (
            [Data(edge_index=PATH, num_nodes=3, edge_weight=torch.ones(4) * 1j)],
            "graph 0, edge (0, 1) has 'edge_weight' = ",
        ),
        ([Batch(edge_index=PATH, num_nodes=3)], "item 0 is a Batch that was not made by Batch.from_data_list"),
        ([Data(edge_index=PATH, num_nodes=3), "C"], "graph 1 is a str, but graph 0 is a torch_geometric.Data"),
    ],
)
def test_invalid_input(source, words):
    assert words in refused(source)


class Two(InMemoryDataset):
    def __init__(self, listed) -> None:
        super().__init__(None)
        self.data, self.slices = self.collate(listed)


def listed(*y) -> list:
    return [
        Data(edge_index=PATH, x=torch.full((3 + i, 1), float(i)), **({} if t is None else {"y": torch.tensor(t)}))
        for i, t in enumerate(y)
    ]


def test_data_sets_loaders_and_sequences():
    made = listed([1], [0], [1])
    for source in (made, tuple(made), Two(made), DataLoader(made, batch_size=2), Two(made)[torch.tensor([0, 1, 2])]):
        assert as_graphs(source).sizes.tolist() == [3, 4, 5]
        data = datasets.from_geometric(source, name="two")
        assert data.y.tolist() == [1, 0, 1]
        assert data.name == "two"
        assert data.graphs.features.ravel().tolist() == [0] * 3 + [1] * 4 + [2] * 5


@pytest.mark.parametrize(
    ("y", "expected", "kind"),
    [
        (([1], [0]), [1, 0], "i"),
        ((1, 0), [1, 0], "i"),
        ((True, False), [1, 0], "i"),
        (([0.5], [1.5]), [0.5, 1.5], "f"),
        (([[0.5, 1.0]], [[1.5, 2.0]]), [[0.5, 1.0], [1.5, 2.0]], "f"),
        (([0.5, 1.0], [1.5, 2.0]), [[0.5, 1.0], [1.5, 2.0]], "f"),
        (([[1.0]], [[2.0]]), [[1.0], [2.0]], "f"),
        ((None, None), None, ""),
    ],
)
def test_targets(y, expected, kind):
    data = datasets.from_geometric(listed(*y))
    if expected is None:
        assert data.y is None
    else:
        assert data.y.tolist() == expected
        assert data.y.dtype.kind == kind


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (([1], None), "graph 1 has no y, but graph 0 has one"),
        (([1, 2, 3], [1, 2, 3, 4]), "graph 1 has y of shape (4,), but graph 0 has shape (3,)"),
        (([[[1]]], [[[1]]]), "graph 0 has y of shape (1, 1, 1)"),
    ],
)
def test_targets_of_nodes_are_rejected(y, words):
    with pytest.raises(InputError) as caught:
        datasets.from_geometric(listed(*y))
    assert words in str(caught.value)


def test_targets_round_trip():
    batch = as_graphs([Data(edge_index=PATH, num_nodes=3)] * 2)
    for y in ([1, 2], [0.5, 1.5], [[0.5, 1.0], [2.0, 3.0]]):
        made = to_geometric(batch, y)
        assert made[0].y.shape[0] == 1
        assert Batch.from_data_list(made).y.shape == np.shape(y)
        assert datasets.from_geometric(made).y.tolist() == y
    assert to_geometric(batch[0], 3).y.tolist() == [3]
    with pytest.raises(InputError, match="number the classes first"):
        to_geometric(batch, ["a", "b"])
    assert "y" not in to_geometric(batch[0])


def test_one_hot_rows_are_types_only_as_labels():
    data = Data(edge_index=PATH, num_nodes=3, edge_attr=torch.eye(2)[[0, 0, 1, 1]])
    with pytest.raises(InputError, match="has 2 numbers in 'edge_attr', but a weight is one number"):
        as_graphs(data, edge_weights="edge_attr")
    assert as_graphs(data, edge_labels="edge_attr").edge_labels.tolist() == [0, 0, 1, 1]


def test_two_graphs_in_a_tuple():
    one = Data(edge_index=PATH, num_nodes=3)
    assert as_graphs((one, one)).sizes.tolist() == [3, 3]
