from __future__ import annotations

import numpy as np
import pytest
from tests.tables import EXACT, FLOAT64

from fastgntk import GNTK, NodeFeatures, datasets, gram
from fastgntk.bench import CASES, Case, measure
from fastgntk.bench._baseline import Baseline
from fastgntk.bench._measure import _draw_graphs, _draw_pairs, _run
from fastgntk.engines._decoupled import Decoupled


@pytest.mark.parametrize(
    "kernel", [GNTK(3, 2), GNTK(2, 1, jump=False), GNTK(2, 2, c_phi=1.4), GNTK(2, scale="symmetric", pool="mean")]
)
def test_baseline_equals_gram(kernel):
    batch = NodeFeatures().fit_transform(datasets.load("MUTAG").graphs[:6])
    pairs = np.array([[0, 0], [1, 4], [3, 2]])
    runner = Baseline(batch, kernel)
    values, took = runner.time_pairs(pairs)
    FLOAT64.check(values, gram(batch, kernel)[pairs[:, 0], pairs[:, 1]])
    assert took > 0
    assert runner.graphs == 5


def test_baseline_prepares_each_graph_once():
    batch = NodeFeatures().fit_transform(datasets.load("MUTAG").graphs[:6])
    runner = Baseline(batch, GNTK(2, 1))
    runner.time_pairs(np.array([[0, 0], [1, 4], [3, 2]]))
    prepared = runner.prepare_seconds
    runner.time_pairs(np.array([[0, 0]]))
    assert runner.graphs == 5
    assert runner.prepare_seconds < 2 * prepared


def test_baseline_prepares_one_graph_at_a_time(monkeypatch):
    """Time of the whole batch for each graph would make the baseline look slow."""
    sizes = []
    prepare = Decoupled.prepare
    monkeypatch.setattr(
        Decoupled, "prepare", lambda self, batch, kernel: sizes.append(len(batch)) or prepare(self, batch, kernel)
    )
    batch = NodeFeatures().fit_transform(datasets.load("MUTAG").graphs[:6])
    Baseline(batch, GNTK(2, 1)).time_pairs(np.array([[0, 1], [4, 1]]))
    assert sizes == [1, 1, 1]


def test_drawn_pairs_are_all_pairs_or_many_distinct_ones():
    rng = np.random.default_rng(0)
    few = _draw_pairs(20, rng)
    assert {tuple(p) for p in few.tolist()} == {(i, j) for i in range(20) for j in range(i, 20)}
    assert few.tolist() != sorted(few.tolist())
    many = _draw_pairs(3000, rng)
    assert len({tuple(p) for p in many.tolist()}) == len(many) == 60_000
    assert (many[:, 0] <= many[:, 1]).all()
    assert abs(many.mean() - 1500) < 30


def test_number_of_drawn_graphs_follows_the_time_limit():
    batch = datasets.load("MUTAG").graphs
    rng = np.random.default_rng(0)
    assert len(_draw_graphs(batch, Case("MUTAG", 3, 2), 100.0, 2, rng)) == 188
    assert 2 <= len(_draw_graphs(batch, Case("MUTAG", 3, 2), 0.05, 2, rng)) < 100


@pytest.mark.slow
def test_failing_process_raises_its_error(tmp_path):
    options = {"data": "unknown-set", "blocks": 1, "layers": 1, "workers": 1}
    with pytest.raises(RuntimeError, match=r"process for lossless failed:(.|\n)*unknown"):
        _run("lossless", [options], tmp_path)


@pytest.mark.slow
def test_measured_row_has_times_memory_and_agreement():
    row = measure(Case("MUTAG", 2, 1), workers=2, time_limit=0.2)
    assert (row.graphs, row.nodes, row.workers) == (188, 3371, 2)
    assert row.largest_difference < FLOAT64.relative
    assert row.baseline_pairs >= 200
    assert row.baseline_scaled == (row.baseline_pairs < 188 * 189 // 2)
    assert row.peak_bytes > 10**7 or row.peak_bytes == 0
    assert len(row.compression) == 2
    assert 0 < row.compression[0] < row.compression[1] < 0.1
    EXACT.check(row.lossless_seconds, row.prepare_seconds + row.tile_seconds)
    assert 0 < row.efficiency < 1
    assert row.ratio > 1
    assert row.to_dict()["ratio_over_decoupled"] == row.decoupled_seconds / row.lossless_seconds


def test_cases_are_registered_data_sets():
    assert {case.name for case in CASES} <= set(datasets.REGISTRY)
