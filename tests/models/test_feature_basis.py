"""Regression and classification on random features, against the same computed from the whole matrix of features."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from tests.tables import FLOAT64

import fastgntk as fg
from fastgntk import GNTK, Compute, Graph, InputError, Sketch, datasets
from fastgntk.kernels import Normalized
from fastgntk.models import _random_features
from fastgntk.solvers import regress_on_features

MUTAG = datasets.load("MUTAG")
GRAPHS = MUTAG.graphs[:70]
TRAIN, NEW = GRAPHS[:50], GRAPHS[50:]
SIZES = np.asarray(GRAPHS.sizes, dtype=float) + 3.0 * np.sin(np.arange(70))
CLASSES = MUTAG.y[:70]
KERNEL = GNTK(2, 1)
ALPHA = 0.05

either = pytest.mark.parametrize("kernel", [KERNEL, KERNEL.normalized()], ids=["raw", "normalised"])
weighted = pytest.mark.parametrize("weights", [None, 0.5 + np.arange(50) % 4], ids=["equal", "weights"])


def regressor(kernel=KERNEL, **options) -> fg.GraphRegressor:
    return fg.GraphRegressor(kernel, **{"alpha": ALPHA, "solver": "features", "n_components": 40, **options})


def vectors(kernel, weights=None) -> tuple[np.ndarray, np.ndarray]:
    """Features of training graphs and of new ones, in the units of the kernel and with the constant one."""
    step = fg.RandomFeatures(kernel, 40, dtype="float64").fit(TRAIN)
    train, new = step.transform(TRAIN), step.transform(NEW)
    unit = 1.0 if isinstance(kernel, Normalized) else np.average((train**2).sum(axis=1), weights=weights)
    return tuple(np.column_stack([x / np.sqrt(unit), np.ones(len(x))]) for x in (train, new))


def moments(y, weights):
    mean = np.average(y, weights=weights)
    return mean, np.sqrt(np.average((y - mean) ** 2, weights=weights))


@either
@weighted
def test_model_is_ridge_regression_on_the_vectors(kernel, weights):
    train, new = vectors(kernel, weights)
    mean, scale = moments(SIZES[:50], weights)
    linear = Ridge(alpha=ALPHA, fit_intercept=False).fit(train, (SIZES[:50] - mean) / scale, sample_weight=weights)
    model = regressor(kernel).fit(TRAIN, SIZES[:50], sample_weight=weights)
    FLOAT64.check(model.predict(NEW), mean + scale * linear.predict(new))


@either
@weighted
def test_deviations_and_likelihood_equal_those_of_the_gaussian_process(kernel, weights):
    train, new = vectors(kernel, weights)
    mean, scale = moments(SIZES[:50], weights)
    y, w = (SIZES[:50] - mean) / scale, np.ones(50) if weights is None else weights
    covariance = train @ train.T + ALPHA * np.diag(1 / w)
    s2 = y @ np.linalg.solve(covariance, y) / 50
    near = new @ train.T
    left = (new**2).sum(axis=1) - np.einsum("ij,ji->i", near, np.linalg.solve(covariance, near.T))
    model = regressor(kernel, calibrate=False).fit(TRAIN, SIZES[:50], sample_weight=weights)
    found = model.predict(NEW, return_std=True)[1]
    FLOAT64.check(found, scale * np.sqrt(s2 * (left + ALPHA * np.mean(1 / w))))
    likelihood = -0.5 * (50 * np.log(2 * np.pi * s2) + np.linalg.slogdet(covariance)[1] + 50) - 50 * np.log(scale)
    FLOAT64.check(model.log_marginal_likelihood_, likelihood)


@pytest.mark.parametrize("ridge", [ALPHA, 1e-7])
def test_leave_one_out_equals_refitting(ridge):
    """Also with more features than graphs and a ridge close to 0."""
    rng = np.random.default_rng(0)
    features, Y, weights = rng.standard_normal((12, 15)), rng.standard_normal((12, 2)), rng.uniform(0.5, 2.0, 12)
    found, unit = regress_on_features(Blocks(features, 5), Y, ridge, weights=weights)
    assert unit == 1.0
    full = np.column_stack([features, np.ones(12)])
    for i in range(12):
        rest = np.arange(12) != i
        covariance = full[rest] @ full[rest].T + ridge * np.diag(1 / weights[rest])
        near = full[i] @ full[rest].T
        np.testing.assert_allclose(
            found.leave_one_out[i], Y[i] - near @ np.linalg.solve(covariance, Y[rest]), rtol=1e-5, atol=1e-7
        )
        variance = full[i] @ full[i] - near @ np.linalg.solve(covariance, near) + ridge / weights[i]
        np.testing.assert_allclose(found.leave_one_out_variance[i], variance, rtol=1e-5)


class Blocks:
    """A matrix of features in blocks of ``step`` rows; the last block is smaller."""

    def __init__(self, features: np.ndarray, step: int) -> None:
        self.features, self.step = features, step
        self.n, self.columns = features.shape
        self.passes = 0

    def blocks(self):
        self.passes += 1
        for start in range(0, self.n, self.step):
            part = slice(start, min(start + self.step, self.n))
            yield part, self.features[part].copy()


@pytest.mark.parametrize("step", [1, 7, 30])
def test_result_does_not_depend_on_the_blocks(step):
    rng = np.random.default_rng(1)
    features, Y, weights = rng.standard_normal((31, 6)), rng.standard_normal((31, 3)), rng.uniform(0.5, 2.0, 31)
    source = Blocks(features, step)
    found, unit = regress_on_features(source, Y, 0.1, weights=weights, scaled=True)
    expected, whole = regress_on_features(Blocks(features, 31), Y, 0.1, weights=weights, scaled=True)
    assert source.passes == 2
    FLOAT64.check(unit, whole)
    FLOAT64.check(unit, np.average((features**2).sum(axis=1), weights=weights))
    for name in ("coefficients", "scale2", "leave_one_out", "leave_one_out_variance", "log_marginal_likelihood"):
        FLOAT64.check(getattr(found, name), getattr(expected, name))
    FLOAT64.check(found.noise_factor @ found.noise_factor.T, expected.noise_factor @ expected.noise_factor.T)


def test_features_beyond_memory_are_computed_twice(monkeypatch):
    expected = regressor().fit(TRAIN, SIZES[:50])
    held = []
    whole = fg.RandomFeatures.vectors

    def vectors(self, batch, progress=None):
        held.append(len(batch))
        return whole(self, batch, progress)

    monkeypatch.setattr(fg.RandomFeatures, "vectors", vectors)
    shares = []
    compute = Compute(max_memory="20 kB", progress=lambda done, total: shares.append(done / total))
    small = regressor(compute=compute).fit(TRAIN, SIZES[:50])
    assert sum(held) == 100
    assert max(held) == 20_000 // (6 * 8 * 40)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    FLOAT64.check(small.predict(NEW), expected.predict(NEW))
    held.clear()
    regressor().fit(TRAIN, SIZES[:50])
    assert sum(held) == 50


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("jump", [True, False, (0.5, 0.0, 2.0), (1.0, 0.0, 0.0)])
def test_contributions_of_nodes_add_up(normalized, jump):
    kernel = GNTK(2, 1, jump=jump)
    model = regressor(kernel.normalized() if normalized else kernel).fit(TRAIN, SIZES[:50])
    for graph, value in zip(NEW[:5], model.predict(NEW[:5]), strict=True):
        explanation = model.explain(graph)
        assert explanation.node_contributions.shape == (graph.n_nodes,)
        FLOAT64.check(explanation.prediction, value)
        FLOAT64.check(explanation.intercept + explanation.node_contributions.sum(), value)


def test_contribution_of_a_node_depends_on_its_colour():
    """A path of three nodes: its ends are equal, and contribute differently from its middle."""
    model = regressor().fit(TRAIN, SIZES[:50])
    path = Graph.from_edges([(0, 1), (1, 2)], 3, labels=[0, 0, 0])
    nodes = model.explain(path).node_contributions
    FLOAT64.check(nodes[0], nodes[2])
    assert abs(nodes[0] - nodes[1]) > 1e-3


@cache
def many_features(kernel) -> fg.GraphRegressor:
    """A model on 4,096 features; tests do not change it."""
    return regressor(kernel, n_components=4096).fit(TRAIN, SIZES[:50])


@pytest.mark.slow
def test_contributions_are_close_to_those_of_the_kernel():
    plain = regressor(solver="cholesky", n_components=None).fit(TRAIN, SIZES[:50]).explain(NEW[3])
    model = many_features(KERNEL)
    assert (
        np.abs(model.explain(NEW[3]).node_contributions - plain.node_contributions).max()
        < 0.1 * np.abs(plain.node_contributions).max()
    )


@pytest.mark.slow
@either
def test_many_features_are_close_to_exact(kernel):
    exact = regressor(kernel, solver="cholesky", n_components=None).fit(TRAIN, SIZES[:50])
    model = many_features(kernel)
    (value, std), (known, known_std) = (m.predict(NEW, return_std=True) for m in (model, exact))
    assert np.abs(value - known).max() < 0.3 * known.std()
    assert np.abs(value - known).mean() < 0.05 * known.std()
    assert np.abs(std / known_std - 1).max() < 0.1
    assert (model.solver_, exact.solver_) == ("features", "cholesky")
    assert model.solution_.rank == 4097


@pytest.mark.slow
def test_classes_and_probabilities_are_close_to_exact():
    exact = fg.GraphClassifier(KERNEL, "ridge", alpha=ALPHA).fit(TRAIN, CLASSES[:50])
    model = fg.GraphClassifier(KERNEL, "ridge", alpha=ALPHA, solver="features", n_components=4096)
    model.fit(TRAIN, CLASSES[:50])
    assert model.solver_ == "features"
    assert np.abs(model.decision_function(NEW) - exact.decision_function(NEW)).max() < 0.1
    assert np.abs(model.predict_proba(NEW) - exact.predict_proba(NEW)).max() < 0.1
    explanation = model.explain(NEW[0], of_class=CLASSES[0])
    assert abs(explanation.prediction) == pytest.approx(abs(model.decision_function(NEW[:1])[0]))


def test_no_training_graphs_are_kept():
    model = regressor().fit(TRAIN, SIZES[:50])
    few = len(pickle.dumps(model))
    assert len(pickle.dumps(regressor().fit(TRAIN + TRAIN + TRAIN, np.tile(SIZES[:50], 3)))) < few + 100 * 50
    words = "solver='features' keeps no training graphs to compare with; fit with another solver"
    for call in (model.similarities, model.nearest, lambda X: model.explain(X[0]).training_contributions):
        with pytest.raises(InputError, match=words):
            call(NEW)
    with pytest.raises(InputError, match=words):
        model.explain(NEW[0]).most_influential()
    found = model.predict_details(NEW)
    assert (found.nearest == -1).all()
    assert np.isnan(found.similarity).all()
    FLOAT64.check(found.value, model.predict(NEW))
    FLOAT64.check(found.std, model.predict(NEW, return_std=True)[1])
    classes = fg.GraphClassifier(GNTK(1), "ridge", solver="features", n_components=30)
    classes = classes.fit(TRAIN, CLASSES[:50]).predict_details(NEW)
    assert (classes.nearest == -1).all()
    assert classes.label.shape == (20,)


@pytest.mark.slow
def test_default_number_of_features():
    model = fg.GraphRegressor(GNTK(1, 1), solver="features").fit(TRAIN[:5], SIZES[:5])
    assert len(model.expansion_.basis) == _random_features.DEFAULT_FEATURES == 2048


def test_features_depend_on_the_seed_alone():
    one, other, again = (regressor(random_state=s).fit(TRAIN, SIZES[:50]).predict(NEW) for s in (1, 2, 1))
    assert np.array_equal(one, again)
    assert not np.allclose(one, other)


def test_jitter_at_alpha_0_is_logged(caplog):
    with caplog.at_level("INFO", "fastgntk"):
        model = regressor(GNTK(1), alpha=0.0, n_components=20).fit(TRAIN, SIZES[:50])
    assert model.solution_.jitter > 0
    assert "to the ridge of 0.0e+00" in caplog.text
    assert np.isfinite(model.predict(NEW, return_std=True)).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 3}, "n_components must be 5 or more for 2 blocks, but is 3"),
        (
            {"kernel__sketch": Sketch(size=4)},
            r"random features need a single GNTK or NNGP without a sketch, normalised or not, but the kernel is "
            r"GNTK\(.*Sketch\(size=4\)\); use Nystroem, or solver='nystrom', for other kernels\.$",
        ),
        (
            {"kernel": GNTK(1) + GNTK(2)},
            r"a single GNTK or NNGP without a sketch, .* is GNTK\(blocks=1\) \+ GNTK\(blocks=2\); use",
        ),
        (
            {"kernel": 2.0 * GNTK(1)},
            r"random features need a single GNTK or NNGP without a sketch, .* but the kernel is 2\.0 \* GN",
        ),
        ({"kernel__edges": "typed", "kernel__features": "degree"}, "edges='typed' needs edge labels"),
    ],
)
@pytest.mark.filterwarnings("ignore::fastgntk.NotSketchedWarning")
def test_invalid_options_for_random_features_are_refused(options, words):
    plain = [Graph.from_edges([(0, 1)], 2), Graph.from_edges([(0, 1), (1, 2)], 3)]
    with pytest.raises(InputError, match=words):
        regressor().set_params(**options).fit(plain, [1.0, 2.0])


def test_search_can_solve_its_final_model_on_features():
    grid = fg.selection.Grid(blocks=(1, 2), layers=(1,), scale=("uniform",))
    chosen = fg.GraphRegressorCV(grid, alphas=(0.1,), solver="features", n_components=40).fit(TRAIN, SIZES[:50])
    alone = fg.GraphRegressor(**chosen.best_params_, solver="features", n_components=40).fit(TRAIN, SIZES[:50])
    FLOAT64.check(chosen.predict(NEW), alone.predict(NEW))
    assert chosen.solver_ == "features"
