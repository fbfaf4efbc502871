from __future__ import annotations

import numpy as np
import pytest

from fastgntk import (
    GNTK,
    WL,
    WLOA,
    Compute,
    Graph,
    GraphClassifier,
    GraphClassifierCV,
    GraphRegressor,
    GraphRegressorCV,
    InputError,
    Sketch,
    as_graphs,
    datasets,
    gram,
    prepare,
)
from fastgntk.kernels import Normalized
from fastgntk.models import lenient_stratified_folds
from fastgntk.selection import Candidates, CrossValidation, Grid, Search, evaluate
from fastgntk.selection._comparison import Comparison, _objective, level_weights
from fastgntk.solvers import EigenPath, choose_ridge_by_error_rate, choose_ridge_by_squared_error

DATA = datasets.load("MUTAG")
SOME = DATA.graphs[:50]
Y = SOME.sizes + 3.0 * DATA.y[:50]
GRID = Grid(blocks=(1, 3), layers=(1, 2), scale=("uniform", "degree"), C=(1.0, 100.0))
ALPHAS = (1e-3, 1e-1)
# Leave-one-out by refitting, of kernels in another order of graphs (tests/tables.py: 1e-8), over an alpha of 1e-3.
CLOSE = 1e-4


def matrix_of(kernel, graphs=SOME) -> np.ndarray:
    """The matrix of ridge regression: in units of its mean diagonal, plus the constant."""
    K = gram(graphs, kernel)
    return 1.0 + K / K.diagonal().mean()


def brute_force_loss(K, ridge: float, targets) -> float:
    """Mean squared leave-one-out error by refitting, in units of the variance."""
    y = (targets - targets.mean()) / targets.std()
    left = []
    for i in range(len(y)):
        others = np.delete(np.arange(len(y)), i)
        alpha = np.linalg.solve(K[np.ix_(others, others)] + ridge * np.eye(len(others)), y[others])
        left.append(y[i] - K[i, others] @ alpha)
    return float(np.mean(np.square(left)))


def brute_force_negative_log_likelihood(K, ridge: float, targets) -> float:
    """Minus the log likelihood of the targets, at the best variance."""
    y, n = (targets - targets.mean()) / targets.std(), len(targets)
    A = K + ridge * np.eye(n)
    s2 = y @ np.linalg.solve(A, y) / n
    return float(0.5 * (n * np.log(2 * np.pi * s2) + np.linalg.slogdet(A)[1] + n))


@pytest.mark.slow
def test_losses_equal_those_of_refitting():
    model = GraphRegressorCV(GRID, alphas=ALPHAS).fit(SOME, Y)
    assert len(model.cv_results_["loss"]) == len(GRID) == 32
    for params, loss in zip(model.cv_results_["params"], model.cv_results_["loss"], strict=True):
        K = matrix_of(params["kernel"])
        errors = [brute_force_loss(K, alpha, Y) for alpha in ALPHAS]
        near = [alpha for alpha, error in zip(ALPHAS, errors, strict=True) if error <= 1.05 * min(errors)]
        assert params["alpha"] == min(near, key=lambda alpha: brute_force_negative_log_likelihood(K, alpha, Y))
        assert loss == pytest.approx(errors[ALPHAS.index(params["alpha"])], rel=CLOSE)
    assert model.best_loss_ == min(model.cv_results_["loss"])


def test_likelihood_decides_between_ridges_of_similar_error():
    K = np.eye(30) + 0.01
    noise = np.random.default_rng(0).standard_normal((30, 1))  # independent of the kernel
    path, ridges = EigenPath(K), (1e-8, 1e-4, 1.0)
    errors = path.losses(noise, ridges)
    assert errors.max() < 1.05 * errors.min()
    most_likely = ridges[int(path.losses(noise, ridges, "likelihood").argmin())]
    assert choose_ridge_by_squared_error(path, noise, ridges)[0] == most_likely != ridges[0]
    # A ridge with a larger error is not taken, however likely.
    smooth = EigenPath(np.exp(-(np.subtract.outer(np.arange(30.0), np.arange(30.0)) ** 2) / 50) + 1e-6 * np.eye(30))
    waves = np.sin(np.arange(30.0) / 3)[:, None]
    errors = smooth.losses(waves, (1e-6, 10.0))
    assert errors[1] > 10 * errors[0]
    assert choose_ridge_by_squared_error(smooth, waves, (10.0, 1e-6)) == (1e-6, errors[0])


def test_best_kernel_is_used_for_predictions():
    model = GraphRegressorCV(GRID, alphas=ALPHAS).fit(SOME, Y)
    plain = GraphRegressor(**model.best_params_).fit(SOME, Y)
    np.testing.assert_allclose(model.predict(DATA.graphs[50:60]), plain.predict(DATA.graphs[50:60]), rtol=1e-6)
    assert model.n_equal_graphs_ == plain.n_equal_graphs_


def test_many_graphs_are_screened_and_finalists_compared_on_more():
    model = GraphRegressorCV(GRID, alphas=ALPHAS, search=Search(n_screening_graphs=20, n_finalists=2)).fit(SOME, Y)
    whole = GraphRegressorCV(GRID, alphas=ALPHAS).fit(SOME, Y)
    first = model.cv_results_
    finalists = [first["params"][i] for i in np.argsort(first["loss"], kind="stable")[:2]]
    losses = {p["kernel"]: loss for p, loss in zip(whole.cv_results_["params"], whole.cv_results_["loss"], strict=True)}
    expected = min(losses[p["kernel"]] for p in finalists)
    assert model.best_loss_ == pytest.approx(expected, rel=CLOSE)
    assert first["loss"] != whole.cv_results_["loss"]


def test_sample_without_the_first_of_equal_graphs_is_in_order():
    batch = SOME[[5, *range(20), 5]]  # graph 1 + 5 and the last one equal graph 0
    groups = np.array([0, *range(1, 6), 0, *range(7, 21), 0])
    targets = np.arange(22.0)[:, None]
    lacking = np.arange(1, 21)  # the graph of group 0 is the sixth of these
    comparison = Comparison(batch, targets, None, ALPHAS, choose_ridge_by_error_rate, 10, 0, Compute())
    sample = comparison._sample(groups, lacking)
    assert sample.distinct_index.tolist() == list(range(20))
    K = gram(sample.distinct[sample.distinct_index], GNTK(1))
    np.testing.assert_allclose(K, gram(batch[lacking], GNTK(1)), rtol=1e-7)
    whole = comparison._sample(groups, np.arange(22))
    np.testing.assert_allclose(gram(whole.distinct[whole.distinct_index], GNTK(1)), gram(batch, GNTK(1)), rtol=1e-7)


def test_graphs_that_one_kernel_of_a_search_distinguishes_are_different():
    # Closed neighbourhoods hold the same labels in both rings; only the weight of a node itself distinguishes them.
    ring = [(0, 2), (0, 3), (1, 2), (1, 3)]
    rings = as_graphs([Graph.from_edges(ring, 4, labels=labels) for labels in ([0, 0, 1, 1], [0, 1, 0, 1])])
    comparison = Comparison(rings, np.arange(2.0)[:, None], None, ALPHAS, choose_ridge_by_error_rate, 10, 0, Compute())
    assert comparison._group_equal_graphs([GNTK(1), GNTK(1, scale="symmetric")]).tolist() == [0, 0]
    assert comparison._group_equal_graphs([GNTK(1), GNTK(1, self_weight=0.5)]).tolist() == [0, 1]
    assert comparison._group_equal_graphs([GNTK(1), GNTK(1, scale="symmetric", self_weight=0.5)]).tolist() == [0, 1]


def test_graphs_that_differ_in_scale_only_are_different_in_a_search():
    batch = SOME[[0] * 8].with_node_scale(np.repeat(np.arange(1.0, 9.0), SOME.sizes[0]))
    targets = np.arange(1.0, 9.0) ** 2
    kernel = GNTK(1, 1, "given", jump=False)
    model = GraphRegressorCV([kernel], alphas=ALPHAS).fit(batch, targets)
    expected = min(brute_force_loss(matrix_of(kernel, batch), alpha, targets) for alpha in ALPHAS)
    assert model.best_loss_ == pytest.approx(expected, rel=CLOSE)
    assert GraphRegressorCV([GNTK(1, 1)], alphas=ALPHAS).fit(batch, targets).best_loss_ > 1.0


def test_graphs_that_only_colours_distinguish_are_different_in_a_search():
    # Two closed neighbourhoods {0, 0, 1} and two {0, 1, 1} in both, which is all that a network of one block has.
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    pair = [Graph.from_edges(ring, 4, labels=labels) for labels in ([0, 0, 1, 1], [0, 1, 0, 1])]
    batch, targets = as_graphs(pair * 4), np.array([1.0, 5.0] * 4)
    model = GraphRegressorCV([GNTK(1, 1), WL(1)], alphas=(1e-2,)).fit(batch, targets)
    for params, loss in zip(model.cv_results_["params"], model.cv_results_["loss"], strict=True):
        assert loss == pytest.approx(brute_force_loss(matrix_of(params["kernel"], batch), 1e-2, targets), rel=CLOSE)
    assert model.best_params_["kernel"] == WL(1)


def test_search_among_colours_alone_ignores_the_engine():
    kernels = [WL(depth) for depth in range(3)]
    model = GraphRegressorCV(kernels, alphas=(1e-2,), compute=Compute("decoupled")).fit(SOME, Y)
    for params, loss in zip(model.cv_results_["params"], model.cv_results_["loss"], strict=True):
        assert loss == pytest.approx(brute_force_loss(matrix_of(params["kernel"]), 1e-2, Y), rel=CLOSE)


def test_likelihood_as_criterion():
    model = GraphRegressorCV(GRID, alphas=ALPHAS, search=Search(criterion="likelihood")).fit(SOME, Y)
    expected = brute_force_negative_log_likelihood(
        matrix_of(model.best_params_["kernel"]), model.best_params_["alpha"], Y
    )
    assert model.best_loss_ == pytest.approx(expected, rel=CLOSE)


def test_loss_of_classes_is_the_leave_one_out_error_rate():
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
        loss = choose_ridge_by_error_rate(EigenPath(K), centred, [0.1])[1]
        assert np.floor(loss * 30 + 1e-9) == wrong


def test_smaller_error_decides_between_ridges_with_as_many_mistakes():
    points = np.repeat([-1.0, 1.0], 10)[:, None]
    path = EigenPath(points @ points.T)
    for ridges in ([1e-3, 10.0], [10.0, 1e-3]):  # both place all graphs rightly, but 10 leaves a third of the distance
        assert choose_ridge_by_error_rate(path, points, ridges)[0] == 1e-3


@pytest.mark.parametrize("method", ["svm", "ridge"])
def test_classifier_chooses_and_predicts(method):
    model = GraphClassifierCV(GRID, method=method).fit(DATA.graphs[:150], DATA.y[:150])
    assert model.score(DATA.graphs[150:], DATA.y[150:]) > 0.75
    assert 0.75 < model.best_score_ <= 1.0
    assert ("C" in model.best_params_) == (method == "svm")


@pytest.mark.slow
def test_progress_increases_to_the_end():
    for model, y in ((GraphRegressorCV(GRID), Y), (GraphClassifierCV(GRID), DATA.y[:50]), (_mix(), Y)):
        seen = []
        compute = Compute(progress=lambda done, total, seen=seen: seen.append(done / total))
        model.set_params(compute=compute, search=Search(n_screening_graphs=30)).fit(SOME, y)
        assert seen == sorted(seen)
        assert seen[-1] == 1.0


def _mix() -> GraphRegressorCV:
    return GraphRegressorCV(GRID, search=Search(depth_mode="mix"))


def test_mix_of_depths_has_level_weights_and_predicts():
    model = _mix().fit(SOME, Y)
    best = model.best_params_["kernel"]
    tangent = best.kernel if isinstance(best, Normalized) else best
    jump = tangent.jump
    assert len(jump) == tangent.blocks + 1
    assert min(jump) >= 0 < max(jump)
    plain = GraphRegressor(**model.best_params_).fit(SOME, Y)
    np.testing.assert_allclose(model.predict(DATA.graphs[50:60]), plain.predict(DATA.graphs[50:60]), rtol=1e-6)
    assert model.single_depth_loss_ == GraphRegressorCV(GRID).fit(SOME, Y).best_loss_


def test_loss_of_a_single_depth_is_not_that_of_a_combination():
    kernel = GNTK(1, 1, jump=False)
    y = (gram(SOME, kernel) / gram(SOME, kernel).mean()) ** 2 @ np.random.default_rng(0).normal(size=len(SOME))
    both, alone = (GraphRegressorCV(kernels).fit(SOME, y) for kernels in ([kernel, kernel * kernel], [kernel]))
    assert both.best_loss_ < alone.best_loss_ == both.single_depth_loss_
    assert GraphRegressorCV([kernel * kernel]).fit(SOME, y).single_depth_loss_ == np.inf


@pytest.mark.slow
def test_level_that_generates_the_targets_gets_the_weight():
    rng = np.random.default_rng(1)
    features = [rng.standard_normal((80, d)) for d in (3, 4, 5)]
    levels = np.array([f @ f.T for f in features])
    for normalized in (False, True):
        unit = np.linalg.norm(features[1], axis=1, keepdims=True) if normalized else 1.0
        y = features[1] / unit @ rng.standard_normal((4, 1)) + 0.01 * rng.standard_normal((80, 1))
        weights = level_weights(levels, y - y.mean(axis=0), normalized) * np.einsum("lii->l", levels)
        assert weights.argmax() == 1
        assert weights[[0, 2]].max() < 0.05 * weights[1]


@pytest.mark.parametrize("normalized", [False, True])
def test_gradient_of_the_likelihood_equals_finite_differences(normalized):
    rng = np.random.default_rng(2)
    levels = np.array([f @ f.T / 5 for f in (rng.standard_normal((12, 5 + i)) for i in range(3))])
    targets, theta = rng.standard_normal((12, 2)), 0.5 * rng.standard_normal(4)
    slope = _objective(theta, levels, targets, normalized)[1]
    for i, step in enumerate(1e-6 * np.eye(4)):
        ahead, behind = (_objective(theta + sign * step, levels, targets, normalized)[0] for sign in (1, -1))
        assert slope[i] == pytest.approx((ahead - behind) / 2e-6, rel=1e-5)


def test_likelihood_of_a_mix_equals_that_of_a_normal_distribution():
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
        (
            {"kernels": (1, 2)},
            r"kernels must be a Grid, Candidates or a sequence of kernels .* but item 0 has type int",
        ),
        ({"alphas": []}, "alphas must be numbers above 0 to try"),
        ({"alphas": [1.0, 0.0]}, "alphas must be numbers above 0 to try"),
        ({"search": {"depth": "mix"}}, "search must be a Search, such as .*, but has type dict"),
    ],
)
def test_invalid_option_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        GraphRegressorCV(**{"kernels": GRID, **options}).fit(SOME, Y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"depth_mode": "deep"}, "depth_mode must be best or mix, but is 'deep'"),
        ({"criterion": "aic"}, "criterion must be one of leave_one_out, likelihood, but is 'aic'"),
        ({"n_screening_graphs": 0}, "n_screening_graphs must be an integer, 1 or more, but is 0"),
        ({"n_finalists": 1.5}, r"n_finalists must be an integer, 1 or more, but is 1\.5"),
    ],
)
def test_invalid_search_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        Search(**options)


def test_candidates_have_their_own_c():
    model = GraphClassifierCV(Candidates((GNTK(1, 1), GNTK(2, 1).normalized()), C=(3.0,))).fit(SOME, DATA.y[:50])
    assert model.best_params_["C"] == 3.0
    with pytest.raises(InputError, match="every C must be a number above 0, but is -1"):
        Candidates((GNTK(),), C=(-1,))
    with pytest.raises(InputError, match="item 0 has type str"):
        Candidates(("GNTK()",))


def test_kernel_of_exact_and_sketched_parts_is_searched():
    kernels = [GNTK(2) + GNTK(1, sketch=Sketch(size=4)), GNTK(1)]
    model = GraphRegressorCV(kernels, alphas=(1e-2,)).fit(SOME, Y)
    assert model.best_params_["kernel"] in kernels


def test_constant_targets_are_predicted():
    model = GraphRegressorCV(Grid(blocks=(1,), layers=(1,))).fit(SOME, np.full(50, 2.0))
    assert np.array_equal(model.predict(SOME[:3]), np.full(3, 2.0))


def test_mix_of_depths_predicts_constant_targets():
    model = GraphRegressorCV(Grid(blocks=(2,), layers=(1,)), search=Search(depth_mode="mix")).fit(
        SOME, np.full(50, 2.0)
    )
    assert np.array_equal(model.predict(SOME[:3]), np.full(3, 2.0))


def test_sample_weights_scale_the_chosen_alpha():
    plain = GraphRegressorCV(GRID, alphas=(1e-3, 1e-1)).fit(SOME, Y)
    light = GraphRegressorCV(GRID, alphas=(1e-5, 1e-3)).fit(SOME, Y, np.full(50, 1e-2))
    assert light.best_params_["alpha"] == pytest.approx(1e-2 * plain.best_params_["alpha"])
    np.testing.assert_allclose(light.predict(SOME[:5]), plain.predict(SOME[:5]), rtol=1e-5)
    assert light.best_loss_ == pytest.approx(plain.best_loss_, rel=CLOSE)


def test_score_of_ridge_classification_is_the_leave_one_out_accuracy():
    model = GraphClassifierCV(GRID, method="ridge", search=Search(n_screening_graphs=30)).fit(SOME, DATA.y[:50])
    params = model.best_params_
    K = matrix_of(params["kernel"])
    signs = np.where(DATA.y[:50] == DATA.y[:50].max(), 1.0, -1.0)
    right = 0
    for i in range(50):
        others = np.delete(np.arange(50), i)
        A = K[np.ix_(others, others)] + params["alpha"] * np.eye(49)
        value = K[i, others] @ np.linalg.solve(A, signs[others] - signs.mean()) + signs.mean()
        right += (value > 0) == (signs[i] > 0)
    assert model.best_score_ == right / 50


@pytest.mark.slow
def test_svms_are_compared_on_a_sample_past_the_limit(monkeypatch):
    monkeypatch.setattr("fastgntk.selection._search._MAX_SVM_GRAPHS", 40)
    model = GraphClassifierCV(GRID, search=Search(n_screening_graphs=30)).fit(SOME, DATA.y[:50])
    assert (model.best_score_ * 30).is_integer()


def test_svms_take_no_solver():
    with pytest.raises(InputError, match="solver and n_components apply to method='ridge' only"):
        GraphClassifierCV(GRID, solver="nystrom").fit(SOME, DATA.y[:50])
    with pytest.raises(InputError, match="solver must be one of"):
        GraphClassifierCV(GRID, method="ridge", solver="lu").fit(SOME, DATA.y[:50])


@pytest.mark.parametrize("counts", [[10, 9, 1], [2, 30], [1, 1], [6, 7, 8]])
def test_folds_hold_each_graph_once_and_classes_in_proportion(counts):
    classes = np.repeat(np.arange(len(counts)), counts)
    splits = lenient_stratified_folds(classes, 0)
    tested = np.concatenate([test for _, test in splits])
    assert sorted(tested.tolist()) == list(range(len(classes)))
    for train, test in splits:
        assert not set(train) & set(test)
        assert len(train) + len(test) == len(classes)
        share = np.bincount(classes[test], minlength=len(counts)) - np.array(counts) / len(splits)
        assert np.abs(share).max() <= 1


COMPOSITES = [
    GNTK(2, 1),
    GNTK(2, 1) + GNTK(1, features="degree").normalized(),
    (GNTK(2, 1) * GNTK(1, 1, "degree")).normalized(),
    0.5 * GNTK(1, 1) * GNTK(1, 2).normalized(),
    WL(1),
    WLOA(2).normalized() * GNTK(1, 1),
]


def test_composite_kernels_have_the_losses_of_refitting():
    model = GraphRegressorCV(COMPOSITES, alphas=(1e-2,)).fit(SOME, Y)
    assert [params["kernel"] for params in model.cv_results_["params"]] == COMPOSITES
    for params, loss in zip(model.cv_results_["params"], model.cv_results_["loss"], strict=True):
        assert loss == pytest.approx(brute_force_loss(matrix_of(params["kernel"]), 1e-2, Y), rel=CLOSE)
    assert model.best_params_["kernel"] == COMPOSITES[int(np.argmin(model.cv_results_["loss"]))]
    plain = GraphRegressor(**model.best_params_).fit(SOME, Y)
    np.testing.assert_allclose(model.predict(SOME[:9]), plain.predict(SOME[:9]), rtol=1e-6)


@pytest.mark.parametrize("method", ["svm", "ridge"])
def test_classifier_chooses_among_composite_kernels(method):
    model = GraphClassifierCV(COMPOSITES, method, search=Search(n_screening_graphs=30, n_finalists=2)).fit(
        SOME, DATA.y[:50]
    )
    assert model.best_params_["kernel"] in COMPOSITES
    plain = GraphClassifier(**model.best_params_).fit(SOME, DATA.y[:50])
    np.testing.assert_allclose(
        model.decision_function(SOME[:9]), plain.decision_function(SOME[:9]), rtol=1e-6, atol=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, -1], ids=["exact first", "sketched first"])
def test_exact_and_sketched_kernels_are_compared_together(order):
    kernels = [GNTK(2, 1), GNTK(2, 1, sketch=Sketch(size=4)), GNTK(1, 1) + GNTK(1, 1, sketch=Sketch(size=4))][::order]
    # Equal graphs are merged, and these could have different sketches.
    distinct = np.unique(prepare(SOME, GNTK(2, 1)).first_equal_graph())
    graphs, y = SOME[distinct], Y[distinct]
    model = GraphRegressorCV(kernels, alphas=(1e-2,)).fit(graphs, y)
    for params, loss in zip(model.cv_results_["params"], model.cv_results_["loss"], strict=True):
        assert loss == pytest.approx(brute_force_loss(matrix_of(params["kernel"], graphs), 1e-2, y), rel=CLOSE)


def test_mix_of_depths_takes_its_options_from_the_tangent_kernels():
    model = GraphRegressorCV(
        [GNTK(2, 1, "degree"), COMPOSITES[1]], search=Search(depth_mode="mix"), alphas=(1e-2,)
    ).fit(SOME, Y)
    best = model.best_params_["kernel"]
    assert isinstance(best, GNTK)
    assert (best.layers, best.scale, type(best.jump)) == (1, "degree", tuple)


def test_exact_engine_is_refused_for_sketched_kernels():
    kernels = [GNTK(1), GNTK(1) + GNTK(2, sketch=Sketch())]
    words = (
        r"engine='lossless' computes exact kernels, but GNTK\(blocks=2, sketch=Sketch\(\)\) has a sketch; use engine="
    )
    with pytest.raises(InputError, match=words):
        GraphRegressorCV(kernels, compute=Compute("lossless")).fit(SOME, Y)
    with pytest.raises(InputError, match=words):
        evaluate(
            SOME, DATA.y[:50], kernels=kernels, cv=CrossValidation(folds=2, inner_folds=2), compute=Compute("lossless")
        )


def test_mix_of_depths_keeps_to_the_depths_of_its_kernel():
    shallow, deep = GNTK(1, 1, "degree", features="degree"), GNTK(4, 1)
    model = GraphRegressorCV([shallow, deep * deep], alphas=(1e-2,), search=Search(depth_mode="mix")).fit(SOME, Y)
    mixed = model.cv_results_["params"][-1]["kernel"]
    assert (mixed.blocks, mixed.features) == (1, "degree")


def test_combination_wins_over_a_worse_mix_of_depths():
    shallow = GNTK(1, 1, "degree", features="degree")
    kernels = [shallow, GNTK(2, 1) + shallow]
    y = [float(np.sum(graph.labels == 1)) for graph in SOME]  # degrees do not show it
    plain = GraphRegressorCV(kernels, alphas=(1e-2,)).fit(SOME, y)
    model = GraphRegressorCV(kernels, alphas=(1e-2,), search=Search(depth_mode="mix")).fit(SOME, y)
    assert plain.best_params_["kernel"] == kernels[1]
    assert model.best_params_ == plain.best_params_


def test_product_of_a_kernel_with_itself_wins_over_a_worse_mix_of_depths():
    linear = GNTK(1, 1, jump=False)
    K = gram(SOME, linear)
    y = (K / K.mean()) ** 2 @ np.random.default_rng(0).normal(size=len(SOME))  # a function of the product
    model = GraphRegressorCV([linear, linear * linear], search=Search(depth_mode="mix")).fit(SOME, y)
    assert model.best_params_["kernel"] == linear * linear
    assert model.best_loss_ == min(model.cv_results_["loss"])
