"""Reports of combined kernels: sums and products of GNTKs, evaluated and fitted."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from sklearn.svm import SVC
from tests.report.mutag import (
    CONTRIBUTIONS,
    COSINE,
    DECISION,
    ONE_JOB,
    OPPOSITE,
    PERCENT,
    PRINTED,
    SHADE,
    svm_predictions,
)
from tests.report.mutag import DATA as MUTAG
from tests.report.test_page import Reader, embedded_data

from fastgntk import GNTK, GraphClassifier, GraphRegressor, gram, parse_kernel
from fastgntk.datasets import Dataset
from fastgntk.models import _svm, lenient_stratified_folds
from fastgntk.report import report_evaluation, report_training
from fastgntk.report.data._graphs import graph_contributions
from fastgntk.selection import CrossValidation, GraphClassifierCV, evaluate, evaluation_out_of_fold

pytestmark = pytest.mark.slow

SHALLOW, DEEP = GNTK(1, 1, "degree"), GNTK(2, 1)
KERNELS = {
    "sum": SHALLOW + 0.1 * DEEP,
    "product": SHALLOW * DEEP,
    "square": DEEP * DEEP,
    "normalised mixture": (SHALLOW + DEEP.normalized() * GNTK(1, 2)).normalized(),
}
CASES = list(KERNELS)
# A third of the graphs: a report explains every graph, and a product of kernels takes ten times as long as a leaf.
DATA = Dataset(MUTAG.graphs[::3], MUTAG.y[::3], "a third of MUTAG")
NUMBERS = np.unique(DATA.y, return_inverse=True)[1]


def check_sum(drawing, expected):
    """Compare the sum of contributions, each rounded to three digits of the largest, with a value."""
    shown = np.array(drawing["contributions"])
    rounding = 0.005 * np.abs(shown).max() * len(shown)
    assert rounding < np.abs(shown).sum()  # a sum of other numbers would not pass
    assert shown.sum() == pytest.approx(expected, abs=rounding + DECISION)


def read_page(path):
    page = path.read_text(encoding="utf-8")
    return embedded_data(page), [each.get("id") for each in Reader(page).all("section") if each.get("id")]


@pytest.fixture(scope="module", params=CASES)
def evaluated(request, tmp_path_factory):
    kernel = KERNELS[request.param]
    result = evaluate(
        DATA, kernels=[kernel], cv=CrossValidation(folds=5, random_state=3, inner_folds=2), compute=ONE_JOB
    )
    path = tmp_path_factory.mktemp("evaluated") / "page.html"
    return kernel, result, report_evaluation(path, DATA, result, compute=ONE_JOB), path


def test_evaluation_predictions_match_scikit_learn_svms(evaluated):
    _, result, report, _ = evaluated
    assert [g["predicted"] for g in report["graphs"]] == svm_predictions(result, NUMBERS, DATA.graphs).tolist()
    assert report["score"]["folds"] == pytest.approx([100 * a for a in result.accuracies], abs=PERCENT)


def test_evaluation_contributions_add_up_to_the_decision_value(evaluated):
    kernel, result, report, _ = evaluated
    out_of_fold = evaluation_out_of_fold(DATA.graphs, NUMBERS, result, compute=ONE_JOB)
    some = np.concatenate([test[:4] for _, test in result.record.folds])
    contributions = graph_contributions(DATA.graphs, out_of_fold, some, compute=ONE_JOB)
    K = gram(DATA.graphs, kernel)
    for (train, test), choice in zip(result.record.folds, result.choices, strict=True):
        unit = np.diagonal(K)[train].mean() - K[np.ix_(train, train)].mean()
        svm = SVC(kernel="precomputed", C=choice.C, tol=0.01).fit(K[np.ix_(train, train)] / unit, NUMBERS[train])
        chosen = test[:4]
        intercepts = out_of_fold.function(chosen).intercepts
        decisions = svm.decision_function(K[np.ix_(chosen, train)] / unit)
        for i, offset, decision in zip(chosen.tolist(), intercepts, decisions, strict=True):
            total = contributions[i].nodes.sum() + offset
            assert total == pytest.approx(abs(out_of_fold.values[i, 0]), abs=DECISION)
            assert total == pytest.approx(abs(decision), abs=OPPOSITE)
            drawing = report["graphs"][i]["drawing"]
            CONTRIBUTIONS.check(drawing["contributions"], contributions[i].nodes)
            check_sum(drawing, abs(out_of_fold.values[i, 0]) - offset)


def test_evaluation_neighbours_are_the_most_similar_training_graphs(evaluated):
    kernel, result, report, _ = evaluated
    K = gram(DATA.graphs, kernel.normalized())
    for train, test in result.record.folds:
        for i in test[:5]:
            near = report["graphs"][i]["neighbours"]
            best = np.sort(K[i, train])[::-1][:3]
            assert {j for j, _ in near} <= set(train.tolist())
            np.testing.assert_allclose([c for _, c in near], np.minimum(best, 1.0), atol=COSINE)


def test_evaluation_page_shows_the_kernel_and_no_table_of_options(evaluated):
    kernel, _, report, path = evaluated
    data, sections = read_page(path)
    rows = dict(data["run"])
    assert parse_kernel(rows["kernels tried"]) == kernel
    assert rows["chosen most often"].startswith(f"kernel {kernel!r}, C ")
    assert not {"surface", "speed"} & set(data)
    assert "options" not in sections
    assert {"score", "predictions", "calibration", "kernel", "map"} <= set(sections)
    assert len(data["compression"]["distinct"]) == 3  # levels 0 to 2, of the deepest GNTK
    json.dumps(report, allow_nan=False)


def test_evaluation_shows_the_kernel_that_most_folds_chose(tmp_path):
    poor, good = GNTK(1, 1, jump=(1.0, 0.0)).normalized(), KERNELS["sum"]  # proportions of elements, and more
    result = evaluate(DATA, kernels=[poor, good], cv=CrossValidation(folds=5, inner_folds=2), compute=ONE_JOB)
    choices = [choice.kernel for choice in result.choices]
    assert choices.count(good) > choices.count(poor)
    report = report_evaluation(tmp_path / "page.html", DATA, result, compute=ONE_JOB)
    assert dict(report["run"])["chosen most often"].startswith(f"kernel {good!r}, C ")
    mean = np.mean(gram(DATA.graphs, good.normalized()))
    heat = report["heat_map"]
    shades = np.frombuffer(base64.b64decode(heat["values"]), dtype=np.uint8)
    assert np.mean(heat["low"] + (heat["high"] - heat["low"]) * shades / 255) == pytest.approx(mean, abs=SHADE)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::fastgntk.UnseenLabelWarning")  # the training part may lack a rare element
def test_classifier_contributions_add_up_to_the_out_of_fold_decision_value(name, tmp_path, monkeypatch):
    kernel = KERNELS[name]
    monkeypatch.setattr(_svm, "_TOLERANCE", 1e-8)  # so that the same SVM stops at the same place in two fits
    model = GraphClassifier(kernel, compute=ONE_JOB).fit(DATA.graphs, DATA.y)
    report = report_training(tmp_path / "page.html", DATA, model, compute=ONE_JOB)
    decisions = model.out_of_fold_[:, 0]
    assert [g["predicted"] for g in report["graphs"]] == (decisions > 0).astype(int).tolist()
    for train, test in lenient_stratified_folds(NUMBERS, 0)[:2]:
        one = GraphClassifier(kernel, compute=ONE_JOB, probability=False).fit(DATA.graphs[train], DATA.y[train])
        for i in test[:6]:
            explained = one.explain(DATA.graphs[int(i)])
            assert explained.prediction == pytest.approx(abs(decisions[i]), abs=DECISION)
            drawing = report["graphs"][i]["drawing"]
            CONTRIBUTIONS.check(drawing["contributions"], explained.node_contributions)
            check_sum(drawing, abs(decisions[i]) - explained.intercept)
    data, sections = read_page(tmp_path / "page.html")
    assert dict(data["run"])["options"].startswith(f"kernel {kernel!r}, method svm, C 10")
    assert "options" not in sections
    assert "speed" not in data


@pytest.mark.parametrize("name", CASES)
def test_regressor_contributions_add_up_to_the_leave_one_out_prediction(name, tmp_path):
    kernel, graphs = KERNELS[name], DATA.graphs[:60]
    y = graphs.sizes + 2.0 * np.random.default_rng(0).normal(size=60)
    model = GraphRegressor(kernel, alpha=1e-2, compute=ONE_JOB).fit(graphs, y)
    report = report_training(tmp_path / "page.html", graphs, model, y=y, compute=ONE_JOB)
    K = gram(graphs, kernel)
    K = K / np.diagonal(K).mean()
    for i in range(60):
        rest = np.delete(np.arange(60), i)
        alpha = np.linalg.solve(1.0 + K[np.ix_(rest, rest)] + 1e-2 * np.eye(59), y[rest] - y.mean())
        graph = report["graphs"][i]
        check_sum(graph["drawing"], K[i, rest] @ alpha)
        assert graph["predicted"]["mean"] == pytest.approx(y.mean() + (1.0 + K[i, rest]) @ alpha, rel=PRINTED.relative)


def test_search_over_combinations_is_reported(tmp_path):
    kernels = [DEEP.normalized(), *KERNELS.values()]
    model = GraphClassifierCV(kernels, compute=ONE_JOB).fit(DATA.graphs, DATA.y)
    report = report_training(tmp_path / "page.html", DATA, model, compute=ONE_JOB)
    rows = dict(report["run"])
    tried = {repr(params["kernel"]) for params in model.cv_results_["params"]}
    assert tried == {repr(kernel) for kernel in kernels}
    assert all(text in rows["kernels tried"] for text in tried)
    assert repr(model.best_params_["kernel"]) in rows["options chosen"]
    found = report["surface"]
    assert (found["blocks"], found["layers"], found["scale"]) == ([2], [1], ["uniform"])
    single = model.best_params_["kernel"] == DEEP.normalized()
    assert found["chosen"] == ([(2, 1, "uniform", 1)] if single else [])
    assert ("is not a single GNTK" in found["note"]) != single
