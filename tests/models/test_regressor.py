from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel
from tests.tables import Tolerance

from fastgntk import GNTK, Compute, Graph, GraphRegressor, InputError, cross_gram, datasets, gram
from fastgntk.solvers import SOLVERS

# Kernel values in another order of graphs differ by 1e-8 (tests/tables.py); over a ridge of 1e-2 that makes 1e-6.
SOLVED = Tolerance(relative=1e-6, absolute=1e-6)

GRAPHS = datasets.load("MUTAG").graphs
TRAIN, TEST = GRAPHS[:60], GRAPHS[60:80]
KERNEL = GNTK(blocks=2, layers=1)


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


def with_intercept(K, n):
    """The kernel in units of its mean over n training graphs, plus the constant."""
    return 1.0 + K / K.diagonal()[:n].mean()


@pytest.mark.parametrize(
    "kernel",
    [KERNEL, KERNEL.normalized(), KERNEL * GNTK(1, 1, features="degree")],
    ids=["raw", "normalised", "product"],
)
def test_mean_deviation_and_likelihood_equal_those_of_a_gaussian_process(kernel):
    y, alpha, n = edges(TRAIN), 1e-2, len(TRAIN)
    K = with_intercept(gram(GRAPHS[:80], kernel), n)
    scaled = (y - y.mean()) / y.std()
    A = K[:n, :n] + alpha * np.eye(n)
    s2 = scaled @ np.linalg.solve(A, scaled) / n
    rows = np.arange(80.0)[:, None]
    process = GaussianProcessRegressor(Precomputed(s2 * K), alpha=s2 * alpha, optimizer=None).fit(rows[:n], scaled)
    mean, std = process.predict(rows[n:], return_std=True)

    model = GraphRegressor(kernel, alpha, calibrate=False).fit(TRAIN, y)
    found, spread = model.predict(TEST, return_std=True)
    SOLVED.check(found, y.mean() + y.std() * mean)
    SOLVED.check(spread, y.std() * np.sqrt(std**2 + s2 * alpha))
    expected = process.log_marginal_likelihood_value_ - n * np.log(y.std())
    assert model.log_marginal_likelihood_ == pytest.approx(expected, rel=1e-6)


def test_target_linear_in_size_is_learned_with_its_intercept():
    sizes = TRAIN.sizes.astype(float)
    model = GraphRegressor(GNTK(1), 1e-6).fit(TRAIN, 100.0 - sizes)
    error = model.predict(TEST) - (100.0 - TEST.sizes)
    assert np.sqrt(np.mean(error**2)) < 0.05 * sizes.std()


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "kernel", [KERNEL, 0.5 * KERNEL + GNTK(1, 1, features="degree").normalized()], ids=["tangent", "sum"]
)
def test_every_solver_predicts_the_same_at_full_rank(solver, kernel):
    y = edges(TRAIN)
    exact = GraphRegressor(kernel, 1e-2).fit(TRAIN, y).predict(TEST, return_std=True)
    other = GraphRegressor(kernel, 1e-2, solver=solver, n_components=60).fit(TRAIN, y).predict(TEST, return_std=True)
    np.testing.assert_allclose(other[0], exact[0], rtol=1e-4)  # cg stops at a residual of 1e-6
    if solver in ("cholesky", "eigen"):
        SOLVED.check(other[1], exact[1])


def test_only_landmarks_have_coefficients():
    model = GraphRegressor(KERNEL, 1e-2, solver="nystrom", n_components=10).fit(TRAIN, edges(TRAIN))
    assert len(model.expansion_.basis) == 10
    assert set(model.nearest(TEST)[0].tolist()) <= set(model.solution_.basis_indices.tolist())


def test_calibrated_deviations_have_the_size_of_leave_one_out_residuals():
    y = edges(TRAIN)
    model = GraphRegressor(KERNEL, 1e-2).fit(TRAIN, y)
    raw = GraphRegressor(KERNEL, 1e-2, calibrate=False).fit(TRAIN, y)
    K = with_intercept(gram(TRAIN, KERNEL), len(TRAIN))
    ratios = []
    for i in range(len(TRAIN)):
        others = np.delete(np.arange(len(TRAIN)), i)
        # Units and centre of all graphs, so that nothing but the graph itself is left out.
        mean, std = _out_of_fold(K, y, others, i)
        ratios.append((y[i] - mean) / std)
    factor = np.sqrt(np.mean(np.square(ratios)))
    SOLVED.check(model.predict(TEST, return_std=True)[1], factor * raw.predict(TEST, return_std=True)[1])
    low, high = model.predict_interval(TEST, 0.5)
    width = np.sort(np.abs(ratios))[int(np.ceil(0.5 * 61)) - 1]
    SOLVED.check(high - low, 2 * width * raw.predict(TEST, return_std=True)[1])


def _out_of_fold(K, y, others, i):
    scaled = (y - y.mean()) / y.std()
    s2 = scaled @ np.linalg.solve(K + 1e-2 * np.eye(len(y)), scaled) / len(y)
    A = K[np.ix_(others, others)] + 1e-2 * np.eye(len(others))
    k = K[others, i]
    variance = K[i, i] - k @ np.linalg.solve(A, k) + 1e-2
    return y.mean() + y.std() * (k @ np.linalg.solve(A, scaled[others])), y.std() * np.sqrt(s2 * variance)


def test_review_equals_the_single_predictions():
    model = GraphRegressor(KERNEL.normalized(), 1e-2).fit(TRAIN, edges(TRAIN))
    found = model.predict_details(TEST, 0.8)
    mean, std = model.predict(TEST, return_std=True)
    low, high = model.predict_interval(TEST, 0.8)
    nearest, similarity = model.nearest(TEST)
    for one, other in zip(found, (mean, std, low, high, nearest, similarity), strict=True):
        assert np.array_equal(one, other)
    cosine = cross_gram(TEST, TRAIN, KERNEL.normalized())
    np.testing.assert_allclose(similarity, cosine.max(axis=1), rtol=1e-7)
    raw = GraphRegressor(KERNEL, 1e-2).fit(TRAIN, edges(TRAIN))
    np.testing.assert_allclose(raw.similarities(TEST), cosine, rtol=1e-7)


def test_long_batches_are_predicted_in_chunks(monkeypatch):
    model = GraphRegressor(GNTK(1, 1)).fit(TRAIN, edges(TRAIN))
    whole = model.predict(TEST)
    monkeypatch.setattr("fastgntk.models._training_kernel._CHUNK", 7)
    seen = []
    model.set_params(compute=Compute(progress=lambda done, total: seen.append(done / total)))
    np.testing.assert_allclose(model.predict(TEST), whole, rtol=1e-7)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_equal_graphs_are_counted_and_need_jitter_at_alpha_0():
    ring = Graph.from_edges([(i, (i + 1) % 6) for i in range(6)], 6)
    triangles = Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], 6)  # 1-WL sees a ring of six
    path = Graph.from_edges([(0, 1), (1, 2)], 3)
    model = GraphRegressor(KERNEL, 0.0).fit([ring, triangles, path], [1.0, 3.0, 5.0])
    assert (model.n_graphs_, model.n_equal_graphs_) == (3, 1)
    assert model.solution_.jitter > 0
    np.testing.assert_allclose(model.predict([ring, triangles]), [2.0, 2.0], atol=1e-3)


def test_constant_targets_are_predicted_exactly():
    mean, std = GraphRegressor(GNTK(1, 1)).fit(TRAIN, np.full(len(TRAIN), 7.0)).predict(TEST, return_std=True)
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
def test_invalid_targets_are_refused(y, words):
    with pytest.raises(InputError, match=words):
        GraphRegressor().fit(TRAIN[:4], y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": 1}, r"kernel must be a kernel such as fastgntk\.GNTK\(\), but has type int"),
        ({"alpha": -1.0}, "alpha must be a number, 0 or more, but is -1.0"),
        ({"solver": "qr"}, "solver must be one of auto, cholesky, eigen, nystrom, sketched, cg, features, but is 'qr'"),
        ({"random_state": 1.5}, "random_state must be an integer"),
        ({"n_components": 0}, "n_components must be an integer, 1 or more, but is 0"),
    ],
)
def test_invalid_option_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        GraphRegressor(**options).fit(TRAIN[:4], [1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("coverage", [0, 1, 1.5, "90%"])
def test_invalid_coverage_is_refused(coverage):
    model = GraphRegressor(GNTK(1, 1)).fit(TRAIN, edges(TRAIN))
    with pytest.raises(InputError, match="coverage must lie between 0 and 1"):
        model.predict_interval(TEST, coverage)


def test_training_predictions_are_targets_minus_regularisation():
    y = edges(TRAIN)
    model = GraphRegressor(GNTK(3, 1), 1e-8).fit(TRAIN, y)
    solution = model.solution_
    left = (solution.ridge + solution.jitter) * solution.coefficients[:, 0] * model.target_scale_[0]
    np.testing.assert_allclose(model.predict(TRAIN), y - left, atol=1e-4 * y.std())


@pytest.mark.parametrize("weight", [1e-3, 50.0])
def test_intervals_do_not_depend_on_the_scale_of_weights(weight):
    y = edges(TRAIN) + np.random.default_rng(0).normal(0, 2, len(TRAIN))
    plain = GraphRegressor(KERNEL, 1e-2).fit(TRAIN, y)
    scaled = GraphRegressor(KERNEL, 1e-2 * weight).fit(TRAIN, y, np.full(len(TRAIN), weight))
    for one, other in zip(scaled.predict_details(TEST)[:4], plain.predict_details(TEST)[:4], strict=True):
        SOLVED.check(one, other)
