"""What a report warns of, and what becomes of odd data."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.report.evaluated import (
    DATA,
)

from fastgntk import Graph, InputError, as_graphs
from fastgntk.datasets import Dataset, synthetic
from fastgntk.models import GNTKClassifier, GNTKRegressor
from fastgntk.report._schema import Bin, Other
from fastgntk.report.data._cautions import about_baselines, about_calibration
from fastgntk.report.data._collect import evaluation_facts
from fastgntk.report.data._source import Source
from fastgntk.report.data._training import training_facts
from fastgntk.selection import Grid, evaluate


def small(graph_list, y, name="odd"):
    return Dataset(as_graphs(graph_list), np.array(y), name)


def ring(n, labels=None):
    return Graph.from_edges([(i, (i + 1) % n) for i in range(n)], n, labels=labels or [0] * n)


ONE = Grid(blocks=(1,), layers=(1,), scale=("degree",), jump=(True,), normalize=(False,), C=(10.0,))


def report_of(data, **options):
    found = evaluate(data, grid=ONE, workers=1, **({"folds": 2, "inner_folds": 2} | options))
    told = evaluation_facts(data, found, workers=1)
    json.dumps(told, allow_nan=False)
    return told


def test_equal_graphs_of_different_classes_bound_the_accuracy():
    data = small([ring(4)] * 6 + [ring(5)] * 6, [0, 0, 0, 0, 1, 1] + [1] * 6)
    told = report_of(data)
    assert any("6 of 12 graphs look exactly like another one with a different class" in w for w in told["warnings"])
    assert any("At best 83.3 %" in w for w in told["warnings"])
    assert any("nearly singular" in w for w in told["warnings"])


def test_a_score_that_something_simpler_reaches_is_called_that():
    others = [
        Other(name="published GNTK", mean=99.0),
        Other(name="most frequent class", mean=50.0),
        Other(name="counts only", mean=70.0),
    ]
    told = about_baselines(70.0, others, lower_is_better=False, unit="%")
    assert told == ["The score is no better than “counts only” (70 %): here the kernel adds nothing to that."]
    assert about_baselines(70.1, others, lower_is_better=False, unit="%") == []
    errors = [Other(name="mean of the targets", mean=2.0)]
    assert len(about_baselines(2.0, errors, lower_is_better=True, unit="")) == 1
    assert about_baselines(1.9, errors, lower_is_better=True, unit="") == []


def test_probabilities_far_from_what_happened_are_called_that():
    far = [Bin(said=0.9, was=0.5, low=0.4, high=0.6, count=90), Bin(said=0.1, was=0.1, low=0.0, high=0.3, count=10)]
    assert "differ by 36 percentage points" in about_calibration(far)[0]
    assert about_calibration(far[1:]) == []


def test_the_optimistic_protocol_and_stopped_fits_are_told(monkeypatch):
    from fastgntk.models import _svm as _machine

    monkeypatch.setattr(_machine, "_MAX_STEPS", 1)
    data = synthetic.cycles_with_motifs(20, 8, (3, 5), copies=2, seed=1)
    told = report_of(data, protocol="du2019")
    assert any("du2019" in w and "optimistic" in w for w in told["warnings"])
    assert any("fits stopped at their step limit" in w for w in told["warnings"])


def test_rare_classes_are_named():
    data = small([ring(3 + i % 5) for i in range(24)], ["often"] * 20 + ["<b>rare</b>"] * 4)
    told = report_of(data)
    assert any("<b>rare</b> (4)" in w for w in told["warnings"])
    assert told["classes"] == ["<b>rare</b>", "often"]


def test_twenty_classes_with_long_names():
    names = [f"{'a long name ' * 20}{i:02d}" for i in range(20)]
    data = small([ring(3 + i % 20) for i in range(60)], [names[i % 20] for i in range(60)])
    told = report_of(data, folds=3)
    assert told["classes"] == names
    assert np.sum(told["confusion"]) == 60
    assert len(told["graphs"][0]["probability"]) == 20


def test_empty_graphs_have_a_place():
    data = small([Graph.from_edges([], 0, labels=[])] * 4 + [ring(4), ring(5)] * 4, [0] * 4 + [1] * 8)
    told = report_of(data)
    assert told["graphs"][0]["drawing"] == {"nodes": 0, "edges": [], "labels": [], "shares": []}
    model = GNTKClassifier(1, 1, C=10.0).fit(data.graphs, data.y)
    json.dumps(training_facts(data, model), allow_nan=False)


def test_a_class_with_one_member_can_be_reported_after_training():
    y = np.array(["a"] * 10 + ["b"] * 9 + ["c"])
    model = GNTKClassifier(1, 1, C=100.0).fit(DATA.graphs[:20], y)
    told = training_facts(DATA.graphs[:20], model, y=y)
    assert np.sum(told["confusion"]) == 20
    assert any("c (1)" in w for w in told["warnings"])


def test_two_graphs_are_enough_for_a_page():
    model = GNTKClassifier(1, 1).fit(DATA.graphs[:2], ["a", "b"])
    told = training_facts(DATA.graphs[:2], model, y=["a", "b"])
    json.dumps(told, allow_nan=False)
    assert told["maps"] == []


def test_equal_targets_make_a_sensible_page():
    y = np.full(12, 3.0)
    model = GNTKRegressor(1, 1).fit(DATA.graphs[:12], y)
    told = training_facts(DATA.graphs[:12], model, y=y)
    json.dumps(told, allow_nan=False)
    assert told["score"]["mean"] == 0.0


def test_one_graph_cannot_be_evaluated():
    with pytest.raises(InputError, match="at least two classes"):
        evaluate(DATA.graphs[:1], [1])


def test_a_graph_of_five_thousand_nodes_is_drawn_in_part():
    rng = np.random.default_rng(0)
    large = [Graph.from_edges([(i, int(rng.integers(0, i))) for i in range(1, n)], n) for n in (5000, 300)]
    data = small([*large, *[Graph.from_edges([(0, i) for i in range(1, n)], n) for n in range(3, 9)]], [0, 1] * 4)
    told = report_of(data)
    first = told["graphs"][0]
    assert (first["nodes"], first["edges"]) == (5000, 4999)
    assert first["drawing"]["nodes"] == len(first["drawing"]["shares"]) == 150
    assert first["drawing"]["edges"]


def test_other_data_than_was_evaluated_are_refused(result):
    with pytest.raises(InputError, match="the evaluation is of 188 graphs, but data has 10"):
        evaluation_facts(DATA.graphs[:10], result, y=DATA.y[:10])
    model = GNTKRegressor(1, 1).fit(DATA.graphs[:12], np.arange(12.0))
    with pytest.raises(InputError, match="fitted on 12 graphs, but data has 188"):
        training_facts(DATA, model)
    with pytest.raises(InputError, match="not fitted"):
        training_facts(DATA, GNTKRegressor())


def test_rows_left_out_when_reading_are_told(result):
    source = replace(Source.of(DATA), skipped=3)
    from fastgntk.report.data._collect import about_reading

    assert "3 rows were left out" in about_reading(source)[0]
