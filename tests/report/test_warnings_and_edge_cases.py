"""Warnings of a report, and reports of unusual data."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.report.mutag import DATA, ONE_JOB

from fastgntk import GNTK, Graph, GraphClassifier, GraphRegressor, InputError, as_graphs
from fastgntk.datasets import Dataset, synthetic
from fastgntk.report._schema import Baseline, Bin, Score
from fastgntk.report.data._evaluation import evaluation_data
from fastgntk.report.data._graphs import Source
from fastgntk.report.data._scores import baseline_warnings, calibration_warnings
from fastgntk.report.data._training import training_data
from fastgntk.selection import CrossValidation, Grid, evaluate

pytestmark = pytest.mark.slow


def small(graph_list, y, name="odd"):
    return Dataset(as_graphs(graph_list), np.array(y), name)


def ring(n, labels=None):
    return Graph.from_edges([(i, (i + 1) % n) for i in range(n)], n, labels=labels or [0] * n)


ONE = Grid(blocks=(1,), layers=(1,), scale=("degree",), jump=(True,), normalize=(False,), C=(10.0,))


def report_of(data, kernels=ONE, **options):
    cv = CrossValidation(**({"folds": 2, "inner_folds": 2, "inner_repeats": 1} | options))
    found = evaluate(data, cv=cv, kernels=kernels, compute=ONE_JOB)
    report = evaluation_data(data, found, compute=ONE_JOB)
    json.dumps(report, allow_nan=False)
    return report


def test_equal_graphs_of_different_classes_bound_the_accuracy():
    data = small([ring(4)] * 6 + [ring(5)] * 6, [0, 0, 0, 0, 1, 1] + [1] * 6)
    report = report_of(data)
    assert any("6 of 12 graphs look exactly like another one with a different class" in w for w in report["warnings"])
    assert any("at most 83.3 %" in w for w in report["warnings"])
    assert any("nearly singular" in w for w in report["warnings"])


def test_equality_warning_takes_the_finest_kernel_of_a_sum():
    rings = [ring(4)] * 6 + [ring(5)] * 6
    y = [0, 0, 0, 0, 1, 1] + [1] * 6
    bonds = [[1] * g.n_nodes if label else list(range(g.n_nodes)) for g, label in zip(rings, y, strict=True)]
    typed = [
        Graph.from_edges(
            [(i, (i + 1) % g.n_nodes) for i in range(g.n_nodes)], g.n_nodes, labels=[0] * g.n_nodes, edge_labels=b
        )
        for g, b in zip(rings, bonds, strict=True)
    ]
    plain, finer = GNTK(1, 1), GNTK(1, 1, edges="typed")

    def contradictions(graphs, kernel):
        return [w for w in report_of(small(graphs, y), kernels=[kernel])["warnings"] if "look exactly like" in w]

    assert contradictions(typed, plain)
    assert not contradictions(typed, plain + finer)
    assert not contradictions(typed, finer + plain)
    assert contradictions(rings, plain + GNTK(2, 1, features="labels"))
    scaled = [
        Graph(g.adjacency, labels=g.labels, node_scale=np.full(g.n_nodes, 1.0 + label))
        for g, label in zip(rings, y, strict=True)
    ]
    assert contradictions(scaled, plain)
    assert not contradictions(scaled, plain + GNTK(1, 1, scale="given"))
    # Two kinds of features may distinguish graphs that one of them does not, so no bound is shown.
    assert not contradictions(rings, plain + GNTK(1, 1, features="degree"))


def test_a_score_no_better_than_a_baseline_raises_a_warning():
    baselines = [
        Baseline(name="published GNTK", mean=99.0),
        Baseline(name="most frequent class", mean=50.0),
        Baseline(name="counts only", mean=70.0),
    ]
    accuracy = Score(
        name="accuracy", unit="%", mean=70.0, folds=[], lower_is_better=False, baselines=baselines, protocol=""
    )
    assert baseline_warnings(accuracy) == [
        "The score is no better than “counts only” (70 %): the kernel adds nothing to this baseline."
    ]
    assert baseline_warnings({**accuracy, "mean": 70.1}) == []
    errors = [Baseline(name="mean of the targets", mean=2.0)]
    error = Score(name="error", unit="", mean=2.0, folds=[], lower_is_better=True, baselines=errors, protocol="")
    assert len(baseline_warnings(error)) == 1
    assert baseline_warnings({**error, "mean": 1.9}) == []


def test_poor_calibration_raises_a_warning():
    far = [
        Bin(predicted=0.9, observed=0.5, low=0.4, high=0.6, count=90),
        Bin(predicted=0.1, observed=0.1, low=0.0, high=0.3, count=10),
    ]
    assert "differ by 36 percentage points" in calibration_warnings(far)[0]
    assert calibration_warnings(far[1:]) == []


def test_optimistic_protocol_and_stopped_fits_raise_warnings(monkeypatch):
    from fastgntk.models import _svm

    monkeypatch.setattr(_svm, "_MAX_STEPS", 1)
    data = synthetic.cycles_with_motifs(20, 8, (3, 5), copies=2, random_state=1)
    report = report_of(data, protocol="du2019")
    assert any("du2019" in w and "optimistic" in w for w in report["warnings"])
    assert any("fits stopped at their iteration limit" in w for w in report["warnings"])


def test_rare_classes_raise_a_warning():
    data = small([ring(3 + i % 5) for i in range(24)], ["often"] * 20 + ["<b>rare</b>"] * 4)
    report = report_of(data)
    assert any("<b>rare</b> (4)" in w for w in report["warnings"])
    assert report["classes"] == ["<b>rare</b>", "often"]


def test_twenty_classes_keep_their_long_names():
    names = [f"{'a long name ' * 20}{i:02d}" for i in range(20)]
    data = small([ring(3 + i % 20) for i in range(60)], [names[i % 20] for i in range(60)])
    report = report_of(data, folds=3)
    assert report["classes"] == names
    assert np.sum(report["confusion"]) == 60
    assert len(report["graphs"][0]["probability"]) == 20


def test_empty_graphs_have_an_empty_drawing():
    data = small([Graph.from_edges([], 0, labels=[])] * 4 + [ring(4), ring(5)] * 4, [0] * 4 + [1] * 8)
    report = report_of(data)
    assert report["graphs"][0]["drawing"] == {"nodes": 0, "edges": [], "labels": [], "contributions": []}
    model = GraphClassifier(GNTK(1, 1), C=10.0).fit(data.graphs, data.y)
    json.dumps(training_data(data, model), allow_nan=False)


def test_training_report_with_a_single_member_class():
    y = np.array(["a"] * 10 + ["b"] * 9 + ["c"])
    model = GraphClassifier(GNTK(1, 1), C=100.0).fit(DATA.graphs[:20], y)
    report = training_data(DATA.graphs[:20], model, y=y)
    assert np.sum(report["confusion"]) == 20
    assert any("c (1)" in w for w in report["warnings"])


def test_training_report_of_two_graphs():
    model = GraphClassifier(GNTK(1, 1)).fit(DATA.graphs[:2], ["a", "b"])
    report = training_data(DATA.graphs[:2], model, y=["a", "b"])
    json.dumps(report, allow_nan=False)
    assert report["maps"] == []


def test_training_report_with_constant_targets():
    y = np.full(12, 3.0)
    model = GraphRegressor(GNTK(1, 1)).fit(DATA.graphs[:12], y)
    report = training_data(DATA.graphs[:12], model, y=y)
    json.dumps(report, allow_nan=False)
    assert report["score"]["mean"] == 0.0


def test_one_graph_cannot_be_evaluated():
    with pytest.raises(InputError, match="at least two classes"):
        evaluate(DATA.graphs[:1], [1])


def test_a_graph_of_5000_nodes_is_drawn_partly():
    rng = np.random.default_rng(0)
    large = [Graph.from_edges([(i, int(rng.integers(0, i))) for i in range(1, n)], n) for n in (5000, 300)]
    data = small([*large, *[Graph.from_edges([(0, i) for i in range(1, n)], n) for n in range(3, 9)]], [0, 1] * 4)
    report = report_of(data)
    first = report["graphs"][0]
    assert (first["nodes"], first["edges"]) == (5000, 4999)
    assert first["drawing"]["nodes"] == len(first["drawing"]["contributions"]) == 150
    assert first["drawing"]["edges"]


def test_data_other_than_evaluated_or_fitted_is_rejected(result):
    with pytest.raises(InputError, match="the evaluation is of 188 graphs, but data has 10"):
        evaluation_data(DATA.graphs[:10], result, y=DATA.y[:10])
    model = GraphRegressor(GNTK(1, 1)).fit(DATA.graphs[:12], np.arange(12.0))
    with pytest.raises(InputError, match="fitted on 12 graphs, but data has 188"):
        training_data(DATA, model)
    with pytest.raises(InputError, match="not fitted"):
        training_data(DATA, GraphRegressor())


def test_skipped_rows_raise_a_warning(monkeypatch):
    data = small([ring(4)] * 4 + [ring(5)] * 4, [0, 1] * 4)
    source = replace(Source.from_data(data), skipped=3)
    monkeypatch.setattr(Source, "from_data", lambda _: source)
    assert any("3 rows were skipped" in warning for warning in report_of(data)["warnings"])
