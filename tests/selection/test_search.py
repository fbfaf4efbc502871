from __future__ import annotations

import numpy as np
import pytest

from fastgntk import GNTK, GNTKClassifierCV, GNTKRegressor, GNTKRegressorCV, InputError, datasets, gram, normalize
from fastgntk.models._folds import spread_folds
from fastgntk.selection import Grid
from fastgntk.selection._level_weights import _objective, mix_levels
from fastgntk.selection._scoring import _Sample
from fastgntk.solvers import EigenPath
from fastgntk.solvers._regularization import misplaced, steady_ridge

DATA = datasets.load("MUTAG")
SOME = DATA.graphs[:50]
Y = SOME.sizes + 3.0 * DATA.y[:50]
GRID = Grid(blocks=(1, 3), layers=(1, 2), scale=("uniform", "degree"), C=(1.0, 100.0))
RIDGES = (1e-3, 1e-1)
# Leave-one-out by refitting, of kernels in another order of graphs (tests/tables.py: 1e-8), over a ridge of 1e-3.
CLOSE = 1e-4


def kernel_of(params) -> np.ndarray:
    K = gram(SOME, GNTK(*(params[name] for name in ("blocks", "layers", "scale", "jump"))))
    return 1.0 + (normalize(K) if params["normalize"] else K / K.diagonal().mean())


def brute_force_score(K, ridge: float, targets) -> float:
    """The mean square of what is left over for graphs that were left out one by one, in units of the variance."""
    y = (targets - targets.mean()) / targets.std()
    left = []
    for i in range(len(y)):
        others = np.delete(np.arange(len(y)), i)
        alpha = np.linalg.solve(K[np.ix_(others, others)] + ridge * np.eye(len(others)), y[others])
        left.append(y[i] - K[i, others] @ alpha)
    return float(np.mean(np.square(left)))


def brute_force_unlikelihood(K, ridge: float, targets) -> float:
    """Minus the logarithm of the density of the targets, at the variance that makes it largest."""
    y, n = (targets - targets.mean()) / targets.std(), len(targets)
    A = K + ridge * np.eye(n)
    s2 = y @ np.linalg.solve(A, y) / n
    return float(0.5 * (n * np.log(2 * np.pi * s2) + np.linalg.slogdet(A)[1] + n))


def test_every_kernel_gets_the_score_that_refitting_gives():
    model = GNTKRegressorCV(GRID, ridges=RIDGES).fit(SOME, Y)
    assert len(model.cv_results_["score"]) == len(GRID) == 32
    for params, score in zip(model.cv_results_["params"], model.cv_results_["score"], strict=True):
        K = kernel_of(params)
        errors = [brute_force_score(K, ridge, Y) for ridge in RIDGES]
        near = [ridge for ridge, error in zip(RIDGES, errors, strict=True) if error <= 1.05 * min(errors)]
        assert params["ridge"] == min(near, key=lambda ridge: brute_force_unlikelihood(K, ridge, Y))
        assert score == pytest.approx(errors[RIDGES.index(params["ridge"])], rel=CLOSE)
    assert model.best_score_ == min(model.cv_results_["score"])


def test_where_leaving_out_cannot_tell_the_likelihood_chooses_the_ridge():
    K = np.eye(30) + 0.01
    noise = np.random.default_rng(0).standard_normal((30, 1))  # the kernel knows nothing about it, whatever the ridge
    path, ridges = EigenPath(K), (1e-8, 1e-4, 1.0)
    errors = path.scores(noise, ridges)
    assert errors.max() < 1.05 * errors.min()
    assert steady_ridge(path, noise, ridges)[0] == path.best_ridge(noise, ridges, by="likelihood") != ridges[0]
    # But a ridge that predicts worse is not taken, however likely.
    smooth = EigenPath(np.exp(-(np.subtract.outer(np.arange(30.0), np.arange(30.0)) ** 2) / 50) + 1e-6 * np.eye(30))
    waves = np.sin(np.arange(30.0) / 3)[:, None]
    errors = smooth.scores(waves, (1e-6, 10.0))
    assert errors[1] > 10 * errors[0]
    assert steady_ridge(smooth, waves, (10.0, 1e-6)) == (1e-6, errors[0])


def test_the_best_kernel_is_the_one_that_predicts():
    model = GNTKRegressorCV(GRID, ridges=RIDGES).fit(SOME, Y)
    plain = GNTKRegressor(**model.best_params_).fit(SOME, Y)
    np.testing.assert_allclose(model.predict(DATA.graphs[50:60]), plain.predict(DATA.graphs[50:60]), rtol=1e-6)
    assert model.n_equal_graphs_ == plain.n_equal_graphs_


def test_many_graphs_are_screened_and_finalists_compared_on_more():
    model = GNTKRegressorCV(GRID, ridges=RIDGES, screen=20, finalists=2).fit(SOME, Y)
    whole = GNTKRegressorCV(GRID, ridges=RIDGES).fit(SOME, Y)
    first = model.cv_results_
    finalists = [first["params"][i] for i in np.argsort(first["score"], kind="stable")[:2]]
    scores = {
        str({k: v for k, v in p.items() if k != "ridge"}): s
        for p, s in zip(whole.cv_results_["params"], whole.cv_results_["score"], strict=True)
    }
    expected = min(scores[str({k: v for k, v in p.items() if k != "ridge"})] for p in finalists)
    assert model.best_score_ == pytest.approx(expected, rel=CLOSE)
    assert first["score"] != whole.cv_results_["score"]


def test_a_sample_that_lacks_the_first_of_equal_graphs_is_in_order():
    batch = SOME[[5, *range(20), 5]]  # graph 1 + 5 and the last one equal graph 0
    groups = np.array([0, *range(1, 6), 0, *range(7, 21), 0])
    targets = np.arange(22.0)[:, None]
    lacking = np.arange(1, 21)  # the graph of group 0 stands sixth here
    sample = _Sample.of(batch, groups, targets, None, lacking)
    assert sample.kinds.tolist() == list(range(20))
    K = gram(sample.distinct[sample.kinds], GNTK(1))
    np.testing.assert_allclose(K, gram(batch[lacking], GNTK(1)), rtol=1e-7)
    whole = _Sample.of(batch, groups, targets, None, np.arange(22))
    np.testing.assert_allclose(gram(whole.distinct[whole.kinds], GNTK(1)), gram(batch, GNTK(1)), rtol=1e-7)


def test_likelihood_can_choose_as_well():
    model = GNTKRegressorCV(GRID, ridges=RIDGES, criterion="likelihood").fit(SOME, Y)
    expected = brute_force_unlikelihood(kernel_of(model.best_params_), model.best_params_["ridge"], Y)
    assert model.best_score_ == pytest.approx(expected, rel=CLOSE)


def test_classes_are_scored_by_what_leaving_out_gets_wrong():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((30, 6))
    K = 1.0 + F @ F.T
    for n_classes in (2, 3):
        classes = rng.integers(0, n_classes, 30)
        columns = [1] if n_classes == 2 else range(3)
        signs = np.column_stack([np.where(classes == c, 1.0, -1.0) for c in columns])
        centred = signs - signs.mean(axis=0)
        wrong = 0
        for i in range(30):
            others = np.delete(np.arange(30), i)
            alpha = np.linalg.solve(K[np.ix_(others, others)] + 0.1 * np.eye(29), centred[others])
            value = K[i, others] @ alpha + signs.mean(axis=0)
            wrong += (value[0] > 0) != (classes[i] == 1) if n_classes == 2 else value.argmax() != classes[i]
        score = misplaced(EigenPath(K), centred, [0.1])[1]
        assert np.floor(score * 30 + 1e-9) == wrong


def test_of_ridges_that_misplace_as_many_the_closer_one_is_taken():
    points = np.repeat([-1.0, 1.0], 10)[:, None]
    path = EigenPath(points @ points.T)
    for ridges in ([1e-3, 10.0], [10.0, 1e-3]):  # both place all graphs rightly, but 10 leaves a third of the distance
        assert misplaced(path, points, ridges)[0] == 1e-3


@pytest.mark.parametrize("method", ["svc", "ridge"])
def test_a_classifier_chooses_and_predicts(method):
    model = GNTKClassifierCV(GRID, method=method).fit(DATA.graphs[:150], DATA.y[:150])
    assert model.score(DATA.graphs[150:], DATA.y[150:]) > 0.75
    assert 0.75 < model.best_score_ <= 1.0
    assert ("C" in model.best_params_) == (method == "svc")


def test_progress_grows_to_the_end():
    for model, y in ((GNTKRegressorCV(GRID), Y), (GNTKClassifierCV(GRID), DATA.y[:50]), (_mix(), Y)):
        seen = []
        model.set_params(progress=lambda done, total, seen=seen: seen.append(done / total), screen=30).fit(SOME, y)
        assert seen == sorted(seen)
        assert seen[-1] == 1.0


def _mix() -> GNTKRegressorCV:
    return GNTKRegressorCV(GRID, depth="mix")


def test_a_mix_of_depths_has_weights_for_levels_and_predicts():
    model = _mix().fit(SOME, Y)
    jump = model.best_params_["jump"]
    assert len(jump) == model.best_params_["blocks"] + 1
    assert min(jump) >= 0 < max(jump)
    plain = GNTKRegressor(**model.best_params_).fit(SOME, Y)
    np.testing.assert_allclose(model.predict(DATA.graphs[50:60]), plain.predict(DATA.graphs[50:60]), rtol=1e-6)
    assert model.single_depth_score_ == GNTKRegressorCV(GRID).fit(SOME, Y).best_score_


def test_the_level_that_made_the_targets_gets_the_weight():
    rng = np.random.default_rng(1)
    features = [rng.standard_normal((80, d)) for d in (3, 4, 5)]
    levels = np.array([f @ f.T for f in features])
    for normalized in (False, True):
        unit = np.linalg.norm(features[1], axis=1, keepdims=True) if normalized else 1.0
        y = features[1] / unit @ rng.standard_normal((4, 1)) + 0.01 * rng.standard_normal((80, 1))
        weights = mix_levels(levels, y - y.mean(axis=0), normalized) * np.einsum("lii->l", levels)
        assert weights.argmax() == 1
        assert weights[[0, 2]].max() < 0.05 * weights[1]


@pytest.mark.parametrize("normalized", [False, True])
def test_slopes_of_the_likelihood_are_those_of_small_steps(normalized):
    rng = np.random.default_rng(2)
    levels = np.array([f @ f.T / 5 for f in (rng.standard_normal((12, 5 + i)) for i in range(3))])
    targets, theta = rng.standard_normal((12, 2)), 0.5 * rng.standard_normal(4)
    slope = _objective(theta, levels, targets, normalized)[1]
    for i, step in enumerate(1e-6 * np.eye(4)):
        ahead, behind = (_objective(theta + sign * step, levels, targets, normalized)[0] for sign in (1, -1))
        assert slope[i] == pytest.approx((ahead - behind) / 2e-6, rel=1e-5)


def test_likelihood_of_a_mix_is_that_of_a_normal_distribution():
    rng = np.random.default_rng(3)
    levels = np.array([f @ f.T / 5 for f in (rng.standard_normal((12, 5)) for _ in range(2))])
    y, theta = rng.standard_normal((12, 1)), np.array([0.3, -0.2, 0.1])
    A = np.exp(0.3) * levels[0] + np.exp(-0.2) * levels[1] + 10.0 + np.exp(0.1) * np.eye(12)
    s2 = float(y[:, 0] @ np.linalg.solve(A, y[:, 0])) / 12
    log_likelihood = -0.5 * (12 * np.log(2 * np.pi * s2) + np.linalg.slogdet(A)[1] + 12)
    constant = 0.5 * (12 * np.log(2 * np.pi / 12) + 12)
    assert 12 * _objective(theta, levels, y, False)[0] + constant == pytest.approx(-log_likelihood, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"grid": (1, 2)}, r"grid must be a fastgntk\.learn\.Grid, but is a tuple"),
        ({"depth": "deep"}, "depth must be best or mix, but is 'deep'"),
        ({"ridges": []}, "ridges must be numbers above 0 to try"),
        ({"ridges": [1.0, 0.0]}, "ridges must be numbers above 0 to try"),
        ({"criterion": "aic"}, "criterion must be one of leave_one_out, likelihood, but is 'aic'"),
        ({"screen": 0}, "screen must be a whole number, 1 or more, but is 0"),
        ({"finalists": 1.5}, r"finalists must be a whole number, 1 or more, but is 1\.5"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        GNTKRegressorCV(**{"grid": GRID, **options}).fit(SOME, Y)


def test_constant_targets_choose_anything_and_are_predicted():
    model = GNTKRegressorCV(Grid(blocks=(1,), layers=(1,))).fit(SOME, np.full(50, 2.0))
    assert np.array_equal(model.predict(SOME[:3]), np.full(3, 2.0))


def test_a_mix_for_constant_targets_is_no_error():
    model = GNTKRegressorCV(Grid(blocks=(2,), layers=(1,)), depth="mix").fit(SOME, np.full(50, 2.0))
    assert np.array_equal(model.predict(SOME[:3]), np.full(3, 2.0))


def test_weights_count_in_the_choice_of_a_ridge():
    plain = GNTKRegressorCV(GRID, ridges=(1e-3, 1e-1)).fit(SOME, Y)
    light = GNTKRegressorCV(GRID, ridges=(1e-5, 1e-3)).fit(SOME, Y, np.full(50, 1e-2))
    assert light.best_params_["ridge"] == pytest.approx(1e-2 * plain.best_params_["ridge"])
    np.testing.assert_allclose(light.predict(SOME[:5]), plain.predict(SOME[:5]), rtol=1e-5)
    assert light.best_score_ == pytest.approx(plain.best_score_, rel=CLOSE)


def test_the_score_of_ridge_classification_is_what_leaving_out_gets_right():
    model = GNTKClassifierCV(GRID, method="ridge", screen=30).fit(SOME, DATA.y[:50])
    params = model.best_params_
    K = gram(SOME, GNTK(*(params[name] for name in ("blocks", "layers", "scale", "jump"))))
    K = 1.0 + (normalize(K) if params["normalize"] else K / K.diagonal().mean())
    signs = np.where(DATA.y[:50] == DATA.y[:50].max(), 1.0, -1.0)
    right = 0
    for i in range(50):
        others = np.delete(np.arange(50), i)
        A = K[np.ix_(others, others)] + params["ridge"] * np.eye(49)
        value = K[i, others] @ np.linalg.solve(A, signs[others] - signs.mean()) + signs.mean()
        right += (value > 0) == (signs[i] > 0)
    assert model.best_score_ == right / 50


def test_past_the_limit_machines_are_compared_on_a_sample(monkeypatch):
    monkeypatch.setattr("fastgntk.selection._search._MOST_MACHINES", 40)
    model = GNTKClassifierCV(GRID, screen=30).fit(SOME, DATA.y[:50])
    assert (model.best_score_ * 30).is_integer()


def test_machines_take_no_solver():
    with pytest.raises(InputError, match="solver and rank are for method='ridge'"):
        GNTKClassifierCV(GRID, solver="nystrom").fit(SOME, DATA.y[:50])
    with pytest.raises(InputError, match="solver must be one of"):
        GNTKClassifierCV(GRID, method="ridge", solver="lu").fit(SOME, DATA.y[:50])


@pytest.mark.parametrize("counts", [[10, 9, 1], [2, 30], [1, 1], [6, 7, 8]])
def test_folds_hold_each_graph_once_and_classes_in_proportion(counts):
    classes = np.repeat(np.arange(len(counts)), counts)
    splits = spread_folds(classes, 0)
    tested = np.concatenate([test for _, test in splits])
    assert sorted(tested.tolist()) == list(range(len(classes)))
    for train, test in splits:
        assert not set(train) & set(test)
        assert len(train) + len(test) == len(classes)
        share = np.bincount(classes[test], minlength=len(counts)) - np.array(counts) / len(splits)
        assert np.abs(share).max() <= 1
