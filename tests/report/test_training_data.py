"""Report data of a fitted model, compared with models fitted without each graph."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from tests.report.mutag import CONTRIBUTIONS, DATA, DECISION, GRAPH, PERCENT, PRINTED, SIZES

from fastgntk import GNTK, GraphClassifier, GraphRegressor, gram, node_contributions
from fastgntk.models import lenient_stratified_folds
from fastgntk.report.data._training import training_data
from fastgntk.selection import GraphClassifierCV, GraphRegressorCV, Grid

pytestmark = pytest.mark.slow


def test_contributions_match_explain_of_a_model_without_the_graph():
    model = GraphClassifier(GNTK(2, 1, "degree"), C=10.0).fit(DATA.graphs, DATA.y)
    report = training_data(DATA, model)
    decisions = model.out_of_fold_[:, 0]
    numbers = np.unique(DATA.y, return_inverse=True)[1]
    train, test = lenient_stratified_folds(numbers, 0)[0]
    one = GraphClassifier(GNTK(2, 1, "degree"), C=10.0).fit(DATA.graphs[train], DATA.y[train])
    for i in test[:4]:
        explained = one.explain(DATA.graphs[int(i)])
        CONTRIBUTIONS.check(report["graphs"][i]["drawing"]["contributions"], explained.node_contributions)
        assert explained.prediction == pytest.approx(abs(decisions[i]), abs=DECISION)
    assert report["score"]["mean"] == pytest.approx(100 * np.mean((decisions > 0) == (numbers == 1)), abs=PERCENT)


@pytest.fixture(scope="module")
def regression():
    y = DATA.graphs.sizes[:60] + 2.0 * np.random.default_rng(0).normal(size=60)
    model = GraphRegressor(GNTK(1, 1), alpha=1e-2).fit(DATA.graphs[:60], y)
    return model, y, training_data(DATA.graphs[:60], model, y=y)


def test_regression_predictions_are_leave_one_out(regression):
    """Refit without each graph; targets are centred by the mean of all, as in the closed form."""
    _, y, report = regression
    K = gram(DATA.graphs[:60], GNTK(1, 1))
    K = 1.0 + K / np.diagonal(K).mean()
    predicted = []
    for i in range(60):
        rest = np.delete(np.arange(60), i)
        alpha = np.linalg.solve(K[np.ix_(rest, rest)] + 1e-2 * np.eye(59), y[rest] - y.mean())
        predicted.append(y.mean() + K[i, rest] @ alpha)
    PRINTED.check([g["predicted"]["mean"] for g in report["graphs"]], predicted)
    assert report["score"]["mean"] == pytest.approx(np.sqrt(np.mean((y - predicted) ** 2)), rel=1e-4)
    assert report["score"]["lower_is_better"]
    assert report["kind"] == "regression"


def test_regression_contributions_are_leave_one_out(regression):
    _, y, report = regression
    K = gram(DATA.graphs[:60], GNTK(1, 1))
    unit = np.diagonal(K).mean()
    for i in (0, 7, 31):
        rest = np.delete(np.arange(60), i)
        among = 1.0 + K[np.ix_(rest, rest)] / unit
        alpha = np.linalg.solve(among + 1e-2 * np.eye(59), y[rest] - y.mean())
        rows = node_contributions(DATA.graphs[i], DATA.graphs[rest], GNTK(1, 1)) / unit
        CONTRIBUTIONS.check(report["graphs"][i]["drawing"]["contributions"], rows @ alpha)


def test_observed_coverage_matches_counts(regression):
    model, _, report = regression
    residuals = model.solution_.leave_one_out[:, 0] * model.target_scale_[0]
    deviation = np.sqrt(model.solution_.leave_one_out_variance * model.solution_.scale2[0]) * model.target_scale_[0]
    deviation = deviation * model.intervals_.factor[0]
    for found in report["calibration"]:
        inside = 0
        for r, s in zip(residuals, deviation, strict=True):
            inside += abs(norm.cdf(r / s) - 0.5) <= found["predicted"] / 2
        assert found["observed"] == pytest.approx(inside / 60, abs=1e-4)
    assert [b["predicted"] for b in report["calibration"]][-1] == 0.95


def test_intervals_cover_about_90_per_cent(regression):
    _, y, report = regression
    inside = [g["predicted"]["low"] <= t <= g["predicted"]["high"] for g, t in zip(report["graphs"], y, strict=True)]
    assert 0.85 <= np.mean(inside) <= 1.0
    assert np.mean(inside) < 1.0


def test_ridge_classifier_predictions_are_leave_one_out():
    model = GraphClassifier(GNTK(1, 1), "ridge", alpha=1e-2).fit(DATA.graphs, SIZES)
    report = training_data(DATA, model, y=SIZES)
    predicted = model.out_of_fold_.argmax(axis=1)
    assert [g["predicted"] for g in report["graphs"]] == predicted.tolist()
    assert report["score"]["mean"] == pytest.approx(100 * np.mean(predicted == SIZES), abs=PERCENT)
    assert report["score"]["folds"] == []
    assert all("contributions" in g["drawing"] for g in report["graphs"])
    assert np.allclose([sum(g["probability"]) for g in report["graphs"]], 1.0, atol=0.002)


def test_balanced_ridge_classifier_has_contributions():
    rare = (DATA.graphs.sizes > 24).astype(int)
    model = GraphClassifier(GNTK(1, 1), "ridge", alpha=1e-2, class_weight="balanced").fit(DATA.graphs, rare)
    report = training_data(DATA, model, y=rare)
    assert all("contributions" in g["drawing"] for g in report["graphs"])


def test_weighted_regression_has_no_contributions():
    y = DATA.graphs.sizes[:40].astype(float)
    weights = np.linspace(0.1, 3.0, 40)
    model = GraphRegressor(GNTK(1, 1), alpha=1e-1).fit(DATA.graphs[:40], y, sample_weight=weights)
    report = training_data(DATA.graphs[:40], model, y=y)
    assert all("contributions" not in g["drawing"] for g in report["graphs"])
    assert any("Node contributions are not shown" in text for text in report["warnings"])


def test_approximate_solvers_can_be_reported():
    y = DATA.graphs.sizes.astype(float)
    for solver in ("nystrom", "features"):
        model = GraphRegressor(GNTK(1, 1), alpha=1e-2, solver=solver, n_components=30).fit(DATA.graphs, y)
        report = training_data(DATA, model, y=y)
        assert len(report["graphs"]) == 188
        assert ("heat_map" in report) == (solver == "nystrom")


def test_surface_of_a_search_matches_its_results():
    grid = Grid(blocks=(1, 2), layers=(1,), scale=("uniform", "degree"), jump=(True,), normalize=(True,), C=(10.0,))
    y = DATA.graphs.sizes[:80].astype(float) + np.random.default_rng(1).normal(size=80)
    model = GraphRegressorCV(grid).fit(DATA.graphs[:80], y)
    found = training_data(DATA.graphs[:80], model, y=y)["surface"]
    tried = [params["kernel"] for params in model.cv_results_["params"]]
    scores = dict(zip(tried, model.cv_results_["loss"], strict=True))
    for s, scale in enumerate(found["scale"]):
        for b, blocks in enumerate(found["blocks"]):
            expected = np.sqrt(scores[GNTK(blocks, 1, scale).normalized()]) * np.std(y)
            assert found["score"][s][0][b] == pytest.approx(expected, rel=1e-4)
    classifier = GraphClassifierCV(grid).fit(DATA.graphs, DATA.y)
    report = training_data(DATA, classifier)
    assert report["score"]["mean"] == pytest.approx(100 * classifier.best_score_, abs=GRAPH)  # a graph may change sides
    assert report["surface"]["chosen"][0][3] == 1
