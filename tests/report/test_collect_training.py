"""What a report tells of a fitted model, against models fitted without each graph."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from tests.report.evaluated import (
    DATA,
    DECISION,
    GRAPH,
    LABELS,
    PERCENT,
    PRINTED,
    SHARES,
    SIZES,
)

from fastgntk import GNTK, gram, node_shares
from fastgntk.models import GNTKClassifier, GNTKRegressor
from fastgntk.report.data._training import training_facts
from fastgntk.selection import GNTKClassifierCV, GNTKRegressorCV, Grid


def test_shares_in_drawings_add_up_to_what_explain_says():
    model = GNTKClassifier(2, 1, "degree", C=10.0).fit(DATA.graphs, DATA.y)
    told = training_facts(DATA, model)
    left = model.left_out_[:, 0]
    from fastgntk.models._folds import spread_folds

    numbers = np.unique(DATA.y, return_inverse=True)[1]
    train, test = spread_folds(numbers, 0)[0]
    one = GNTKClassifier(2, 1, "degree", C=10.0, features=LABELS).fit(DATA.graphs[train], DATA.y[train])
    for i in test[:4]:
        explained = one.explain(DATA.graphs[int(i)])
        SHARES.check(told["graphs"][i]["drawing"]["shares"], explained.nodes)
        assert explained.prediction == pytest.approx(abs(left[i]), abs=DECISION)
    assert told["score"]["mean"] == pytest.approx(100 * np.mean((left > 0) == (numbers == 1)), abs=PERCENT)


@pytest.fixture(scope="module")
def regression():
    y = DATA.graphs.sizes[:60] + 2.0 * np.random.default_rng(0).normal(size=60)
    model = GNTKRegressor(1, 1, ridge=1e-2).fit(DATA.graphs[:60], y)
    return model, y, training_facts(DATA.graphs[:60], model, y=y)


def test_predictions_of_a_regression_leave_the_graph_out(regression):
    """Each graph by a model of all others, its targets moved to the mean of all as the closed form has it."""
    _, y, facts = regression
    K = gram(DATA.graphs[:60], GNTK(1, 1))
    K = 1.0 + K / np.diagonal(K).mean()
    predicted = []
    for i in range(60):
        rest = np.delete(np.arange(60), i)
        alpha = np.linalg.solve(K[np.ix_(rest, rest)] + 1e-2 * np.eye(59), y[rest] - y.mean())
        predicted.append(y.mean() + K[i, rest] @ alpha)
    PRINTED.check([g["said"]["mean"] for g in facts["graphs"]], predicted)
    assert facts["score"]["mean"] == pytest.approx(np.sqrt(np.mean((y - predicted) ** 2)), rel=1e-4)
    assert facts["score"]["lower_is_better"]
    assert facts["kind"] == "regression"


def test_shares_of_a_regression_add_up_to_the_prediction_that_leaves_the_graph_out(regression):
    _, y, facts = regression
    K = gram(DATA.graphs[:60], GNTK(1, 1))
    unit = np.diagonal(K).mean()
    for i in (0, 7, 31):
        rest = np.delete(np.arange(60), i)
        among = 1.0 + K[np.ix_(rest, rest)] / unit
        alpha = np.linalg.solve(among + 1e-2 * np.eye(59), y[rest] - y.mean())
        rows = node_shares(DATA.graphs[i], DATA.graphs[rest], GNTK(1, 1), features=LABELS) / unit
        SHARES.check(facts["graphs"][i]["drawing"]["shares"], rows @ alpha)


def test_coverage_is_counted(regression):
    model, _, facts = regression
    residuals = model.solution_.leave_one_out[:, 0] * model.target_scale_[0]
    deviation = np.sqrt(model.solution_.leave_one_out_variance * model.solution_.scale2[0]) * model.target_scale_[0]
    deviation = deviation * model.intervals_.factor[0]
    for found in facts["calibration"]:
        inside = 0
        for r, s in zip(residuals, deviation, strict=True):
            inside += abs(norm.cdf(r / s) - 0.5) <= found["said"] / 2
        assert found["was"] == pytest.approx(inside / 60, abs=1e-4)
    assert [b["said"] for b in facts["calibration"]][-1] == 0.95


def test_intervals_are_those_of_ninety_per_cent(regression):
    _, y, facts = regression
    inside = [g["said"]["low"] <= t <= g["said"]["high"] for g, t in zip(facts["graphs"], y, strict=True)]
    assert 0.85 <= np.mean(inside) <= 1.0
    assert np.mean(inside) < 1.0


def test_ridge_on_classes_leaves_each_graph_out():
    model = GNTKClassifier(1, 1, method="ridge", ridge=1e-2).fit(DATA.graphs, SIZES)
    facts = training_facts(DATA, model, y=SIZES)
    said = model.left_out_.argmax(axis=1)
    assert [g["said"] for g in facts["graphs"]] == said.tolist()
    assert facts["score"]["mean"] == pytest.approx(100 * np.mean(said == SIZES), abs=PERCENT)
    assert facts["score"]["folds"] == []
    assert all("shares" in g["drawing"] for g in facts["graphs"])
    assert np.allclose([sum(g["probability"]) for g in facts["graphs"]], 1.0, atol=0.002)


def test_a_balanced_ridge_is_explained_too():
    rare = (DATA.graphs.sizes > 24).astype(int)
    model = GNTKClassifier(1, 1, method="ridge", ridge=1e-2, class_weight="balanced").fit(DATA.graphs, rare)
    facts = training_facts(DATA, model, y=rare)
    assert all("shares" in g["drawing"] for g in facts["graphs"])


def test_shares_that_would_not_add_up_are_left_out():
    y = DATA.graphs.sizes[:40].astype(float)
    weights = np.linspace(0.1, 3.0, 40)
    model = GNTKRegressor(1, 1, ridge=1e-1).fit(DATA.graphs[:40], y, sample_weight=weights)
    facts = training_facts(DATA.graphs[:40], model, y=y)
    assert all("shares" not in g["drawing"] for g in facts["graphs"])
    assert any("Shares of nodes are not shown" in text for text in facts["warnings"])


def test_an_approximate_solver_has_a_report_without_shares():
    y = DATA.graphs.sizes.astype(float)
    for solver in ("nystrom", "features"):
        model = GNTKRegressor(1, 1, ridge=1e-2, solver=solver, rank=30).fit(DATA.graphs, y)
        facts = training_facts(DATA, model, y=y)
        assert len(facts["graphs"]) == 188
        assert ("heat_map" in facts) == (solver == "nystrom")


def test_searches_tell_what_they_tried():
    grid = Grid(blocks=(1, 2), layers=(1,), scale=("uniform", "degree"), jump=(True,), normalize=(True,), C=(10.0,))
    y = DATA.graphs.sizes[:80].astype(float) + np.random.default_rng(1).normal(size=80)
    model = GNTKRegressorCV(grid).fit(DATA.graphs[:80], y)
    found = training_facts(DATA.graphs[:80], model, y=y)["surface"]
    scores = dict(
        zip([(p["blocks"], p["scale"]) for p in model.cv_results_["params"]], model.cv_results_["score"], strict=True)
    )
    for s, scale in enumerate(found["scale"]):
        for b, blocks in enumerate(found["blocks"]):
            assert found["score"][s][0][b] == pytest.approx(np.sqrt(scores[blocks, scale]) * np.std(y), rel=1e-4)
    classifier = GNTKClassifierCV(grid).fit(DATA.graphs, DATA.y)
    told = training_facts(DATA, classifier)
    assert told["score"]["mean"] == pytest.approx(100 * classifier.best_score_, abs=GRAPH)  # a graph may change sides
    assert told["surface"]["chosen"][0][3] == 1
