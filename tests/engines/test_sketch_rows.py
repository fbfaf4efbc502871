"""The rows of sketches: given with the graphs, or the smallest number that meets an error."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse
from tests.tables import EXACT

import fastgntk as fg
from fastgntk import GNTK, Compute, Graph, GraphBatch, InputError, Sketch
from fastgntk.engines import sketch_rows
from fastgntk.engines._sketch_rows import _moments
from fastgntk.engines._sketched import Sketched
from fastgntk.sketch import SKETCHES, SRHT, smallest_rows
from fastgntk.theory import sketching_rms

GRAPHS = fg.datasets.load("MUTAG").graphs[:20]
AUTO = Sketch(size="auto", error=0.6)


def random_graph(seed, n=40, typed=False, signs=False):
    rng = np.random.default_rng(seed)
    rows, cols = np.nonzero(np.triu(rng.random((n, n)) < 0.3, 1))
    features = rng.standard_normal((n, 3)) + (0.0 if signs else 2.0)
    kinds = rng.integers(0, 3, len(rows)) if typed else None
    weights = rng.uniform(0.1, 2.0, len(rows))
    return Graph.from_edges(np.stack([rows, cols], axis=1), n, features, weights=weights, edge_labels=kinds)


def encoded(graphs, kind="auto"):
    return fg.NodeFeatures(kind).fit_transform(fg.as_graphs(graphs))


def rows_of(batch, sketch, **options):
    return sketch_rows(batch, GNTK(sketch=sketch, **options))


def column_sums(graph, typed=False, self_weight=1.0, symmetric=False):
    """Âᵀ1 (n, relations), written out."""
    A, itself = graph.adjacency.toarray(), self_weight * np.eye(graph.n_nodes)
    if symmetric:
        D = (A + itself).sum(axis=1)
        A, itself = A / np.sqrt(np.outer(D, D)), itself / np.sqrt(np.outer(D, D))
    parts = [A + itself]
    if typed:
        kinds = sparse.csr_array((graph.edge_labels + 1, graph.indices, graph.indptr), shape=A.shape).toarray()
        parts = [itself, *(np.where(kinds == kind + 1, A, 0.0) for kind in range(3))]
    return np.stack([part.sum(axis=0) for part in parts], axis=1)


def squared_errors(graph, kind, b, seeds, typed=False):
    """‖Xᵀ(SᵀS − I) g‖² / ‖Xᵀ g‖² for many draws of S, with sums over relations."""
    G, n, found = column_sums(graph, typed), graph.n_nodes, []
    for seed in range(seeds):
        S = SKETCHES[kind](n, b, np.random.default_rng(seed)).dense()
        found.append(np.sum(((S @ graph.features).T @ (S @ G) - graph.features.T @ G) ** 2))
    return np.array(found) / np.sum((graph.features.T @ G) ** 2)


def mean_and_error(values):
    return values.mean(), 5.0 * values.std() / np.sqrt(len(values))


@pytest.mark.parametrize("kind", SKETCHES)
@pytest.mark.parametrize("typed", [False, True])
def test_automatic_rows_meet_the_error_and_fewer_do_not(kind, typed):
    graph, error = random_graph(0, typed=typed), 0.4
    b = int(rows_of(encoded([graph]), Sketch(kind, "auto", error=error), edges="typed" if typed else "plain")[0])
    assert 4 < b < 30
    mean, spread = mean_and_error(squared_errors(graph, kind, b, 2_000, typed))
    assert mean - spread < error**2
    fewer, spread = mean_and_error(squared_errors(graph, kind, b - 8 if kind == "sparse" else b - 3, 2_000, typed))
    assert fewer + spread > error**2
    assert fewer > mean


@pytest.mark.parametrize(("self_weight", "symmetric"), [(1.0, False), (0.5, False), (2.5, True)])
@pytest.mark.parametrize("typed", [False, True])
def test_moments_are_as_written_out(typed, self_weight, symmetric):
    graphs = [random_graph(i, 10 + i, typed=True) for i in range(3)]
    scale = "symmetric" if symmetric else "uniform"
    kernel = GNTK(edges="typed" if typed else "plain", scale=scale, self_weight=self_weight)
    found = np.array(_moments(encoded(graphs), kernel))
    for i, graph in enumerate(graphs):
        X, G = graph.features, column_sums(graph, typed, self_weight, symmetric)
        fourth = np.sum(X[:, :, None] ** 2 * G[:, None] ** 2)
        expected = np.array([np.sum(X**2) * np.sum(G**2), np.sum((X.T @ G) ** 2), fourth])
        np.testing.assert_allclose(found[1:, i] / found[0, i], expected[1:] / expected[0], rtol=1e-12)


def test_the_variance_is_that_of_the_theory():
    graph, n = random_graph(1), 40
    X, g = graph.features, column_sums(graph)[:, 0]
    moments = np.sum(X**2) * np.sum(g**2), np.sum((X.T @ g) ** 2), np.sum(X**2 * g[:, None] ** 2)
    for kind in ("ams", "gaussian", "countsketch"):
        for error in (0.3, 0.5, 0.8):
            b = int(smallest_rows(kind, n, *moments, error))
            relative = [np.sum(sketching_rms(X, np.eye(n), g, m, 1e18, kind) ** 2) / moments[1] for m in (b, b - 1)]
            assert relative[0] <= error**2 < relative[1]


def test_the_variance_of_an_srht_is_that_of_all_its_draws():
    x, g, n = np.array([1.0, 2.0, 0.5, 1.5, 3.0, 1.0]), np.array([2.0, 1.0, 1.0, 2.5, 1.0, 0.5]), 8
    moments = x @ x * (g @ g), (x @ g) ** 2, x**2 @ g**2
    exact = []
    for b in range(1, 6):
        draws = product(combinations(range(n), b), product([-1.0, 1.0], repeat=6))
        sketches = (SRHT(np.array(rows), np.array(flips)).dense() for rows, flips in draws)
        exact.append(np.mean([((S @ x) @ (S @ g) - x @ g) ** 2 for S in sketches]) / moments[1])
    for b in range(2, 6):
        error = np.sqrt(0.5 * (exact[b - 1] + exact[b - 2]))  # between the errors of b and b − 1 rows
        assert smallest_rows("srht", 6, *moments, error) == b
        assert smallest_rows("srht", 6, *moments, np.sqrt(exact[b - 1] * 1.000001)) == b


@pytest.mark.parametrize("kind", SKETCHES)
def test_rows_fall_as_the_error_grows(kind):
    batch = encoded([random_graph(i) for i in range(5)])
    errors = (0.01, 0.2, 0.3, 0.4, 0.6, 1.0, 3.0)
    rows = np.stack([rows_of(batch, Sketch(kind, "auto", error=error)) for error in errors])
    assert (np.diff(rows, axis=0) <= 0).all()
    assert (rows[0] == 40).all() or kind == "srht"
    assert (rows[-1] < 5).all()
    if kind == "sparse":  # the variance is exact for ranges of equal length
        assert ((rows % 8 == 0) | (rows < 8)).all()


@pytest.mark.parametrize("features", ["labels", "all", "attributes", "degree"])
@pytest.mark.parametrize("edges", ["plain", "typed"])
def test_rows_of_a_graph_do_not_depend_on_other_graphs(features, edges):
    rng, graphs = np.random.default_rng(0), []
    for i in range(12):
        one = random_graph(i, 15 + i, typed=True)
        batch = replace(fg.as_graphs([one]), labels=rng.integers(-i, 5, 15 + i))
        graphs.append(replace(batch, edge_labels=batch.edge_labels - i)[0])
    sketch = Sketch(size="auto", error=0.9)
    together = rows_of(encoded(graphs, features), sketch, edges=edges)
    assert (together < [g.n_nodes for g in graphs]).any()
    alone = [rows_of(encoded([g], features), sketch, edges=edges)[0] for g in graphs]
    assert together.tolist() == alone
    step = fg.NodeFeatures(features).fit(graphs[:3]).extend(graphs[3:])
    assert rows_of(step.transform(graphs), sketch, edges=edges).tolist() == alone
    kernel = GNTK(edges=edges)  # the same bits, or else ceil(x) could differ
    assert np.array_equal(_moments(step.transform(graphs), kernel), _moments(encoded(graphs, features), kernel))
    dense = step.transform(graphs)
    dense = replace(dense, features=dense.features.toarray() if sparse.issparse(dense.features) else dense.features)
    assert rows_of(dense, sketch, edges=edges).tolist() == alone


def test_the_size_of_features_makes_no_difference():
    batch = encoded([random_graph(i) for i in range(4)])
    rows = rows_of(batch, AUTO)
    for factor in (1e-200, 1e200, -3.0):
        assert rows_of(batch.with_features(factor * batch.features), AUTO).tolist() == rows.tolist()


def test_graphs_without_a_relative_error_are_exact():
    one = Graph(np.zeros((3, 3)), np.zeros((3, 2)))  # no features
    cancelled = Graph(np.zeros((4, 4)), np.array([[1.0], [-1.0], [2.0], [-2.0]]))  # features that sum to 0
    empty, single = Graph(np.zeros((0, 0)), np.zeros((0, 1))), Graph(np.zeros((1, 1)), np.ones((1, 1)))
    assert rows_of(encoded([one]), AUTO).tolist() == [3]
    assert rows_of(encoded([empty, single, cancelled]), AUTO).tolist() == [0, 1, 4]
    assert rows_of(encoded([]), AUTO).tolist() == []


def test_given_sizes_equal_the_same_sizes_from_a_rate():
    rate, own = GNTK(2, sketch=Sketch(size=0.3)), GNTK(2, sketch=Sketch(size="given"))
    sized = GRAPHS.with_sketch_sizes(sketch_rows(encoded(GRAPHS), rate))
    assert np.array_equal(fg.gram(sized, own), fg.gram(GRAPHS, rate))
    costs = [
        fg.estimate_cost(batch, kernel, compute=Compute(n_jobs=1)) for batch, kernel in ((sized, own), (GRAPHS, rate))
    ]
    assert costs[0].bytes == costs[1].bytes
    assert costs[0].seconds == costs[1].seconds
    assert not np.allclose(fg.gram(GRAPHS.with_sketch_sizes(GRAPHS.sizes // 2), own), fg.gram(sized, own))


def test_automatic_sizes_equal_the_same_sizes_given():
    auto = GNTK(2, sketch=AUTO)
    sized = GRAPHS.with_sketch_sizes(sketch_rows(encoded(GRAPHS), auto))
    own = GNTK(2, sketch=Sketch(size="given"))
    assert len(set(sized.sketch_sizes.tolist())) > 2
    assert np.array_equal(fg.gram(sized, own), fg.gram(GRAPHS, auto))
    assert fg.estimate_cost(sized, own).bytes == fg.estimate_cost(GRAPHS, auto).bytes


def test_memory_counts_the_largest_sketch_of_a_group():
    small, large = ([5] * 20, [5] * 19 + [15])
    kernel, engine = GNTK(2), Sketched(Sketch(size="given"))
    bounds = []
    for sizes in (small, large):
        state = engine.prepare(encoded(GRAPHS.with_sketch_sizes(sizes)), kernel)
        assert engine.graph_sizes(state).sketch_rows.tolist() == np.minimum(sizes, GRAPHS.sizes).tolist()
        bounds.append((engine.kept_bytes(state), int(engine.graph_sizes(state).building_bytes[-1])))
    assert bounds[1][0] - bounds[0][0] == 8 * 10 * (2 * 2 * int(GRAPHS.sizes[-1]) + encoded(GRAPHS).features.shape[1])
    assert bounds[1][1] > bounds[0][1]


def test_warnings_count_graphs_that_are_exact():
    sizes = GRAPHS.sizes.copy()
    sizes[3:] -= 1
    with pytest.warns(
        fg.NotSketchedWarning, match=r"sketch size given with the graphs is not below .* of 3 of 20 graphs"
    ):
        fg.gram(GRAPHS.with_sketch_sizes(sizes), GNTK(1, sketch=Sketch(size="given")))
    with pytest.warns(fg.NotSketchedWarning, match=r"the sketch size for error=0.1 is not below .* of 20 of 20 graphs"):
        K = fg.gram(GRAPHS, GNTK(1, sketch=Sketch(size="auto")))
    assert np.array_equal(K, fg.gram(GRAPHS, GNTK(1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fg.gram(GRAPHS, GNTK(1, sketch=Sketch(size="auto", error=2.0)))
        fg.gram([Graph(np.zeros((1, 1)))], GNTK(1, sketch=Sketch(size=1)))  # a single node cannot be sketched


def test_missing_sizes_are_refused_in_one_sentence():
    kernel = GNTK(sketch=Sketch(size="given"))
    sized = GRAPHS.with_sketch_sizes(np.full(20, 5))
    words = r"^Sketch\(size='given'\) needs a number of rows for each graph; pass batch.with_sketch_sizes\(sizes\) or"
    train = fg.prepare(sized, kernel)
    for call in (
        lambda: fg.gram(GRAPHS, kernel),
        lambda: fg.cross_gram(GRAPHS, train),
        lambda: fg.cross_gram(sized, GRAPHS, kernel),
        lambda: fg.estimate_cost(GRAPHS, kernel),
        lambda: fg.gram(GRAPHS, kernel + GNTK(1)),
    ):
        with pytest.raises(InputError, match=words):
            call()
    EXACT.check(fg.gram(GraphBatch.from_graphs(list(sized)), kernel), fg.gram(sized, kernel))
