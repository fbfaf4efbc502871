from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel
from tests.tables import Tolerance

from fastgntk import GNTK, GNTKRegressor, Graph, InputError, cross_gram, datasets, diagonal, gram, normalize
from fastgntk.solvers import SOLVERS

# Kernel values in another order of graphs differ by 1e-8 (tests/tables.py); over a ridge of 1e-2 that makes 1e-6.
SOLVED = Tolerance(relative=1e-6, absolute=1e-6)

GRAPHS = datasets.load("MUTAG").graphs
TRAIN, TEST = GRAPHS[:60], GRAPHS[60:80]
SPEC = GNTK(blocks=2, layers=1)


def edges(batch) -> np.ndarray:
    return np.array([graph.n_edges for graph in batch], dtype=float)


class Precomputed(Kernel):
    """A kernel matrix for scikit-learn's Gaussian process: X holds row numbers of it."""

    def __init__(self, matrix):
        self.matrix = matrix

    def __call__(self, X, Y=None, eval_gradient=False):
        rows = X[:, 0].astype(int)
        cols = rows if Y is None else Y[:, 0].astype(int)
        return self.matrix[np.ix_(rows, cols)]

    def diag(self, X):
        return self.matrix.diagonal()[X[:, 0].astype(int)]

    def is_stationary(self):
        return False


def units(K, n, normalized):
    return 1.0 + (normalize(K) if normalized else K / K.diagonal()[:n].mean())


@pytest.mark.parametrize("normalized", [False, True])
def test_mean_deviation_and_likelihood_are_those_of_a_gaussian_process(normalized):
    y, ridge, n = edges(TRAIN), 1e-2, len(TRAIN)
    K = units(gram(GRAPHS[:80], SPEC), n, normalized)
    scaled = (y - y.mean()) / y.std()
    A = K[:n, :n] + ridge * np.eye(n)
    s2 = scaled @ np.linalg.solve(A, scaled) / n
    rows = np.arange(80.0)[:, None]
    process = GaussianProcessRegressor(Precomputed(s2 * K), alpha=s2 * ridge, optimizer=None).fit(rows[:n], scaled)
    mean, std = process.predict(rows[n:], return_std=True)

    model = GNTKRegressor(2, 1, normalize=normalized, ridge=ridge, calibrate=False).fit(TRAIN, y)
    found, spread = model.predict(TEST, return_std=True)
    SOLVED.check(found, y.mean() + y.std() * mean)
    SOLVED.check(spread, y.std() * np.sqrt(std**2 + s2 * ridge))
    expected = process.log_marginal_likelihood_value_ - n * np.log(y.std())
    assert model.log_marginal_likelihood_ == pytest.approx(expected, rel=1e-6)


def test_a_target_that_grows_with_size_is_learned_with_its_intercept():
    sizes = TRAIN.sizes.astype(float)
    model = GNTKRegressor(blocks=1, ridge=1e-6).fit(TRAIN, 100.0 - sizes)
    error = model.predict(TEST) - (100.0 - TEST.sizes)
    assert np.sqrt(np.mean(error**2)) < 0.05 * sizes.std()


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_predicts_the_same_at_full_rank(solver):
    y = edges(TRAIN)
    exact = GNTKRegressor(2, 1, ridge=1e-2).fit(TRAIN, y).predict(TEST, return_std=True)
    other = GNTKRegressor(2, 1, ridge=1e-2, solver=solver, rank=60).fit(TRAIN, y).predict(TEST, return_std=True)
    np.testing.assert_allclose(other[0], exact[0], rtol=1e-4)  # cg stops at a residual of 1e-6
    if solver in ("cholesky", "eigen"):
        SOLVED.check(other[1], exact[1])


def test_landmarks_alone_carry_coefficients():
    model = GNTKRegressor(2, 1, ridge=1e-2, solver="nystrom", rank=10).fit(TRAIN, edges(TRAIN))
    assert len(model.expansion_.rows) == 10
    assert set(model.nearest(TEST)[0].tolist()) <= set(model.solution_.basis.tolist())


def test_calibrated_deviations_have_the_size_of_left_out_residuals():
    y = edges(TRAIN)
    model = GNTKRegressor(2, 1, ridge=1e-2).fit(TRAIN, y)
    raw = GNTKRegressor(2, 1, ridge=1e-2, calibrate=False).fit(TRAIN, y)
    ratios = []
    for i in range(len(TRAIN)):
        others = np.delete(np.arange(len(TRAIN)), i)
        # Units and centre of all graphs, so that nothing but the graph itself is left out.
        ratios.append((y[i] - _left_out(y, others, i)[0]) / _left_out(y, others, i)[1])
    factor = np.sqrt(np.mean(np.square(ratios)))
    SOLVED.check(model.predict(TEST, return_std=True)[1], factor * raw.predict(TEST, return_std=True)[1])
    low, high = model.predict_interval(TEST, 0.5)
    width = np.sort(np.abs(ratios))[int(np.ceil(0.5 * 61)) - 1]
    SOLVED.check(high - low, 2 * width * raw.predict(TEST, return_std=True)[1])


def _left_out(y, others, i):
    K = units(gram(TRAIN, SPEC), len(TRAIN), False)
    scaled = (y - y.mean()) / y.std()
    s2 = scaled @ np.linalg.solve(K + 1e-2 * np.eye(len(y)), scaled) / len(y)
    A = K[np.ix_(others, others)] + 1e-2 * np.eye(len(others))
    k = K[others, i]
    variance = K[i, i] - k @ np.linalg.solve(A, k) + 1e-2
    return y.mean() + y.std() * (k @ np.linalg.solve(A, scaled[others])), y.std() * np.sqrt(s2 * variance)


def test_review_agrees_with_what_it_sums_up():
    model = GNTKRegressor(2, 1, normalize=True, ridge=1e-2).fit(TRAIN, edges(TRAIN))
    found = model.review(TEST, 0.8)
    mean, std = model.predict(TEST, return_std=True)
    low, high = model.predict_interval(TEST, 0.8)
    nearest, similarity = model.nearest(TEST)
    for one, other in zip(found, (mean, std, low, high, nearest, similarity), strict=True):
        assert np.array_equal(one, other)
    cosine = normalize(cross_gram(TEST, TRAIN, SPEC), diagonal(TEST, SPEC), diagonal(TRAIN, SPEC))
    np.testing.assert_allclose(similarity, cosine.max(axis=1), rtol=1e-7)
    raw = GNTKRegressor(2, 1, ridge=1e-2).fit(TRAIN, edges(TRAIN))
    np.testing.assert_allclose(raw.similarities(TEST), cosine, rtol=1e-7)


def test_long_batches_are_predicted_in_chunks(monkeypatch):
    model = GNTKRegressor(1, 1).fit(TRAIN, edges(TRAIN))
    whole = model.predict(TEST)
    monkeypatch.setattr("fastgntk.models._kernel_rows._CHUNK", 7)
    seen = []
    model.set_params(progress=lambda done, total: seen.append(done / total))
    np.testing.assert_allclose(model.predict(TEST), whole, rtol=1e-7)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_equal_graphs_are_counted_and_need_jitter_without_a_ridge():
    ring = Graph.from_edges([(i, (i + 1) % 6) for i in range(6)], 6)
    triangles = Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], 6)  # 1-WL sees a ring of six
    path = Graph.from_edges([(0, 1), (1, 2)], 3)
    model = GNTKRegressor(2, 1, ridge=0.0).fit([ring, triangles, path], [1.0, 3.0, 5.0])
    assert (model.n_graphs_, model.n_equal_graphs_) == (3, 1)
    assert model.solution_.jitter > 0
    np.testing.assert_allclose(model.predict([ring, triangles]), [2.0, 2.0], atol=1e-3)


def test_constant_targets_are_predicted_as_they_are():
    mean, std = GNTKRegressor(1, 1).fit(TRAIN, np.full(len(TRAIN), 7.0)).predict(TEST, return_std=True)
    assert np.array_equal(mean, np.full(len(TEST), 7.0))
    assert np.array_equal(std, np.zeros(len(TEST)))


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([1.0, np.nan, 3.0, np.inf], "targets must be finite, but those of graphs 1 and 3 are not"),
        (
            ["1", "two", "3", "4"],
            "needs numbers as targets, but there is text for graph 1; for classes use a classifier",
        ),
        ([1.0, 2.0], r"one row for each of the 4 graphs, but has shape \(2,\)"),
        (None, "regression needs targets: pass y"),
        (np.zeros((4, 0)), "one row for each of the 4 graphs"),
    ],
)
def test_bad_targets_are_named(y, words):
    with pytest.raises(InputError, match=words):
        GNTKRegressor().fit(TRAIN[:4], y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"normalize": 1}, "normalize must be True or False, but is 1"),
        ({"ridge": -1.0}, "ridge must be"),
        ({"solver": "qr"}, "solver must be one of auto, cholesky, eigen, nystrom, sketched, cg, features, but is 'qr'"),
        ({"random_state": 1.5}, "random_state must be a whole number"),
        ({"blocks": 0}, "blocks must be a whole number"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        GNTKRegressor(**options).fit(TRAIN[:4], [1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("coverage", [0, 1, 1.5, "90%"])
def test_bad_coverage_is_named(coverage):
    model = GNTKRegressor(1, 1).fit(TRAIN, edges(TRAIN))
    with pytest.raises(InputError, match="coverage must lie between 0 and 1"):
        model.predict_interval(TEST, coverage)


def test_fitting_and_predicting_use_the_same_numbers():
    y = edges(TRAIN)
    model = GNTKRegressor(3, 1, ridge=1e-8).fit(TRAIN, y)
    solution = model.solution_
    left = (solution.ridge + solution.jitter) * solution.alpha[:, 0] * model.target_scale_[0]
    np.testing.assert_allclose(model.predict(TRAIN), y - left, atol=1e-4 * y.std())


@pytest.mark.parametrize("weight", [1e-3, 1.0, 50.0])
def test_intervals_do_not_depend_on_the_unit_of_weights(weight):
    y = edges(TRAIN) + np.random.default_rng(0).normal(0, 2, len(TRAIN))
    plain = GNTKRegressor(2, 1, ridge=1e-2).fit(TRAIN, y)
    scaled = GNTKRegressor(2, 1, ridge=1e-2 * weight).fit(TRAIN, y, np.full(len(TRAIN), weight))
    for one, other in zip(scaled.review(TEST)[:4], plain.review(TEST)[:4], strict=True):
        SOLVED.check(one, other)
