"""A leaf that uses no node features, added to the tables as docs/architecture.md describes."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pytest
from tests.tables import FLOAT64

from fastgntk import GNTK, Compute, GraphRegressor, datasets, gram, load_model
from fastgntk.engines._base import ENGINES, Engine, EngineRow, GraphSizes
from fastgntk.kernels import Leaf, _parse
from fastgntk.selection._comparison import Comparison
from fastgntk.solvers import choose_ridge_by_squared_error

GRAPHS = datasets.load("MUTAG").graphs[:20]
Y = GRAPHS.sizes.astype(float)


@dataclass(frozen=True, repr=False)
class Sizes(Leaf):
    """The product of the numbers of nodes."""

    offset: float = 1.0


class SizesEngine(Engine):
    """Multiply numbers of nodes; the state is the numbers with the offset."""

    name = "sizes"
    max_group_nodes = 100

    def prepare(self, batch, kernel, cols=None):
        return batch.offsets, batch.sizes + kernel.offset

    def graph_sizes(self, state):
        return GraphSizes(state[0])

    def first_equal_graph(self, state):
        _, first, number = np.unique(state[1], return_index=True, return_inverse=True)
        return first[number]

    def build_group(self, state, indices):
        return state[1][indices]

    def build_nodes(self, state, batch):
        return np.full(batch.n_nodes, state[1][0] / batch.n_nodes)

    def tile_readouts(self, rows, cols, cancelled=None):
        return np.multiply.outer(rows, cols)[None]

    def tile_bytes(self, rows, cols):
        return 8 * rows.n_graphs * cols.n_graphs

    def kept_bytes(self, state):
        return 16 * len(state[1])


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(ENGINES, "sizes", EngineRow("_sizes", "SizesEngine", exact=True, compiled=False, kernels=Sizes))
    monkeypatch.setitem(sys.modules, "fastgntk.engines._sizes", sys.modules[__name__])
    monkeypatch.setitem(_parse._NAMES, "Sizes", Sizes)


@pytest.mark.parametrize("kernel", [Sizes(), Sizes(2.0) + GNTK(1, 1), Sizes() * GNTK(1, 1)])
def test_model_survives_saving_and_loading(kernel, tmp_path):
    model = GraphRegressor(kernel).fit(GRAPHS[:15], Y[:15])
    model.save(tmp_path / "m.fgntk")
    FLOAT64.check(load_model(tmp_path / "m.fgntk").predict(GRAPHS[15:]), model.predict(GRAPHS[15:]))


def test_values_are_products_of_sizes():
    FLOAT64.check(gram(GRAPHS, Sizes(2.0)), np.multiply.outer(Y + 2, Y + 2))


def test_search_without_node_features_merges_no_graphs():
    compared = Comparison(GRAPHS, Y[:, None], None, (1e-2,), choose_ridge_by_squared_error, 500, 0, Compute())
    best, tried = compared.select([Sizes(), Sizes(2.0)], 1, lambda done: None)
    assert [result.kernel for result in tried] == [Sizes(), Sizes(2.0)]
    assert best[0].loss < 0.01  # of the variance: targets are linear in the sizes
