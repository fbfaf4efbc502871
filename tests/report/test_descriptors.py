"""Reports of kernels on descriptors: their contributions are numbers of their own, with the scales of each fold."""

from __future__ import annotations

import numpy as np
import pytest
from tests.report.mutag import DATA, DECISION, ONE_JOB
from tests.report.test_composite_kernels import read_page

from fastgntk import GNTK, RBF, GraphRegressor, Linear
from fastgntk.datasets import Dataset
from fastgntk.report import report_evaluation, report_training
from fastgntk.report.data._graphs import graph_contributions
from fastgntk.selection import CrossValidation, evaluate, evaluation_out_of_fold

pytestmark = pytest.mark.slow

GRAPHS, Y = DATA.graphs[:60], DATA.y[:60]
NUMBERS = np.unique(Y, return_inverse=True)[1]
VALUES = np.random.default_rng(0).standard_normal((60, 3)) + NUMBERS[:, None]
DESCRIBED = Dataset(GRAPHS.with_descriptors(x=VALUES), Y, "described")
KERNELS = {
    "product": GNTK(1, 1).normalized() * RBF("x") + Linear("x"),
    "descriptors alone": RBF("x"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_evaluation_contributions_add_up_to_the_decision_value(name, tmp_path):
    result = evaluate(DESCRIBED, kernels=[KERNELS[name]], cv=CrossValidation(folds=3, inner_folds=2), compute=ONE_JOB)
    out_of_fold = evaluation_out_of_fold(DESCRIBED.graphs, NUMBERS, result, compute=ONE_JOB)
    chosen = np.concatenate([test[:3] for _, test in result.record.folds])
    found = graph_contributions(DESCRIBED.graphs, out_of_fold, chosen, compute=ONE_JOB)
    intercepts = dict(zip(chosen.tolist(), out_of_fold.function(chosen).intercepts, strict=True))
    for i in chosen.tolist():
        assert set(found[i].descriptors) == {"x"}
        total = found[i].nodes.sum() + found[i].descriptors["x"] + intercepts[i]
        assert total == pytest.approx(abs(out_of_fold.values[i, 0]), abs=DECISION)
    report = report_evaluation(tmp_path / "page.html", DESCRIBED, result, compute=ONE_JOB)
    data, _ = read_page(tmp_path / "page.html")
    for i in chosen.tolist():
        shown = report["graphs"][i]["descriptors"]
        assert shown["x"] == pytest.approx(found[i].descriptors["x"], rel=0.01)
        assert data["graphs"][i]["descriptors"] == pytest.approx(shown)


def test_training_report_shows_descriptors(tmp_path):
    graphs = DESCRIBED.graphs[:40]
    y = graphs.sizes + VALUES[:40, 0]
    model = GraphRegressor(KERNELS["product"], alpha=1e-2, compute=ONE_JOB).fit(graphs, y)
    report = report_training(tmp_path / "page.html", graphs, model, y=y, compute=ONE_JOB)
    assert all(set(graph["descriptors"]) == {"x"} for graph in report["graphs"])
