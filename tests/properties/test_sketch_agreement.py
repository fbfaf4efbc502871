"""One sketch for each graph, by every route; different sketches for graphs that differ in anything."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.tables import FLOAT64

import fastgntk as fg
from fastgntk import GNTK, Compute, Graph, GraphBatch, Sketch
from fastgntk.engines._sketched import Sketched
from fastgntk.graphs import content_keys
from fastgntk.pairwise.store import _build

PAPER = {"merge_nodes": False, "sketch_features": True}
KERNELS = {
    "features": GNTK(2, features="attributes", sketch=Sketch(size=4, **PAPER)),
    "labels": GNTK(2, features="labels", sketch=Sketch("srht", 0.4)),
    "automatic": GNTK(2, features="all", sketch=Sketch(size="auto", error=0.7, **PAPER)),
    "given, typed": GNTK(2, features="labels", edges="typed", sketch=Sketch("countsketch", "given")),
    "degrees": GNTK(2, features="degree", sketch=Sketch(size=4)),
}


def random_graphs(count=26, shared=3):
    """Graphs of 8 to 14 nodes, ``shared`` with the same edges each time; later ones have labels that others lack."""
    rng, out = np.random.default_rng(0), []
    for i in range(count):
        n = 8 + i // shared
        edges = [(u, (u + 1) % n) for u in range(n)] + [(u, u + 3) for u in range(n - 3)]
        out.append(
            Graph.from_edges(
                edges,
                n,
                rng.uniform(0.5, 1.5, (n, 3)),
                labels=rng.integers(-i, 4, n),
                edge_labels=rng.integers(-i, 2, len(edges)),
                sketch_size=3 + i % 3,
            )
        )
    return GraphBatch.from_graphs(out)


GRAPHS = random_graphs()
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@pytest.mark.slow
@every_kernel
def test_all_routes_give_the_values_of_one_matrix(kernel, monkeypatch, tmp_path):
    K, test, train = fg.gram(GRAPHS, kernel), GRAPHS[17:], GRAPHS[:17]
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-10 * values[-1]
    FLOAT64.check(fg.gram(train, kernel), K[:17, :17])
    FLOAT64.check(fg.cross_gram(test, train, kernel), K[17:, :17])
    FLOAT64.check(fg.cross_gram(train, test, kernel), K[:17, 17:])
    prepared = fg.prepare(train, kernel)
    FLOAT64.check(fg.cross_gram(test, prepared), K[17:, :17])
    FLOAT64.check(fg.cross_gram(test, pickle.loads(pickle.dumps(prepared))), K[17:, :17])
    FLOAT64.check(fg.cross_gram(test, prepared.subset(np.array([5, 2]))), K[17:, [5, 2]])
    FLOAT64.check(fg.diagonal(GRAPHS, kernel), np.diagonal(K))
    FLOAT64.check(fg.node_contributions(GRAPHS[20], prepared).sum(axis=0), K[20, :17])
    FLOAT64.check(fg.gram([GRAPHS[i] for i in range(26)], kernel), K)
    monkeypatch.setattr(Sketched, "max_group_nodes", 37)
    FLOAT64.check(fg.gram(GRAPHS, kernel, compute=Compute(n_jobs=2)), K)
    FLOAT64.check(fg.cross_gram(test, train, kernel), K[17:, :17])
    monkeypatch.setattr(_build, "_TILE_SIZES", (7, 7))
    stored = fg.gram(GRAPHS, kernel, store=tmp_path / "K.zarr")
    assert len(stored.all_tiles()) > 1
    FLOAT64.check(np.asarray(stored), K)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fastgntk.graphs.UnseenLabelWarning")
@every_kernel
def test_a_saved_model_keeps_the_sketches_of_its_graphs(kernel, tmp_path):
    # The file lacks what the kernel does not use, but that is a part of the keys.
    model = fg.GraphRegressor(kernel, alpha=0.1).fit(GRAPHS[:17], np.arange(17.0))
    model.save(tmp_path / "m.fgntk")
    loaded = fg.load_model(tmp_path / "m.fgntk")
    FLOAT64.check(loaded.predict(GRAPHS[17:]), model.predict(GRAPHS[17:]))
    FLOAT64.check(loaded.predict(GRAPHS[:17]), model.predict(GRAPHS[:17]))


@pytest.mark.parametrize(
    "parts",
    [
        {"labels": [[0] * 9, [0] * 8 + [1]]},
        {"features": [np.ones((9, 1)), np.ones((9, 1)) + np.arange(9)[:, None]]},
        {"edge_labels": [[0] * 9, [0] * 8 + [1]]},
        {"weights": [[1.0] * 9, [1.0] * 8 + [2.0]]},
    ],
    ids=lambda parts: next(iter(parts)),
)
def test_graphs_that_differ_have_different_sketches_and_equal_graphs_the_same(parts):
    ring = [(u, (u + 1) % 9) for u in range(9)]
    ((name, (one, other)),) = parts.items()
    graphs = [Graph.from_edges(ring, 9, **{name: values}) for values in (one, other, one)]
    drawn = [Sketch("gaussian", 4).draw(9, 4, k.tobytes(), 1).dense() for k in content_keys(fg.as_graphs(graphs))]
    assert not np.isclose(drawn[0], drawn[1]).any()
    assert np.array_equal(drawn[0], drawn[2])
    # Degrees are equal, so that with plain edges the sketches are all that differs.
    if name != "weights":
        K = fg.gram(graphs, GNTK(1, features="degree", sketch=Sketch(size=4, **PAPER)))
        assert K[0, 0] == K[2, 2] == K[0, 2]
        assert not np.isclose(K[0, 0], K[1, 1], rtol=1e-3)
        shared = fg.as_graphs(graphs).with_sketch_keys(["a", "a", "b"])
        K = fg.gram(shared, GNTK(1, features="degree", sketch=Sketch(size=4, **PAPER)))
        assert K[0, 0] == K[1, 1] == K[0, 1]
        assert not np.isclose(K[0, 0], K[2, 2], rtol=1e-3)


def test_two_stores_of_graphs_that_differ_in_unused_labels_are_told_apart(tmp_path):
    kernel = KERNELS["degrees"]
    fg.gram(GRAPHS, kernel, store=tmp_path / "K.zarr")
    others = replace(GRAPHS, labels=GRAPHS.labels + 1)
    with pytest.raises(fg.InputError, match="holds the matrix of other graphs"):
        fg.gram(others, kernel, store=tmp_path / "K.zarr")
    with pytest.raises(fg.InputError, match="holds the matrix of other graphs"):
        fg.gram(GRAPHS.with_sketch_keys(range(26)), kernel, store=tmp_path / "K.zarr")


def test_first_aggregation_of_a_pair_with_equal_edges_is_unbiased():
    """With a shared sketch the mean over seeds of (XᵀSᵀS g) · (X'ᵀS'ᵀS' g) differs from (Xᵀg) · (X'ᵀg)."""
    pair, n = GRAPHS[:2], int(GRAPHS.sizes[0])
    assert np.array_equal(pair[0].indices, pair[1].indices)
    g = pair[0].adjacency.toarray().sum(axis=0) + 1.0
    exact = (pair[0].features.T @ g) @ (pair[1].features.T @ g)

    def deviation(keys):
        found = []
        for seed in range(3_000):
            parts = []
            for graph, key in zip(pair, keys, strict=True):
                S = Sketch(size=3, seed=seed).draw(n, 3, key.tobytes(), 1).dense()
                parts.append((S @ graph.features).T @ (S @ g))
            found.append(parts[0] @ parts[1])
        return (np.mean(found) - exact) / (np.std(found) / np.sqrt(len(found)))

    keys = content_keys(pair)
    assert abs(deviation(keys)) < 4
    assert deviation(keys[[0, 0]]) > 8
