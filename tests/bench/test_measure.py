from __future__ import annotations

import numpy as np
import pytest
from tests.tables import FLOAT64

from fastgntk import GNTK, NodeFeatures, datasets, gram
from fastgntk.bench import CASES, Case
from fastgntk.bench._baseline import Baseline
from fastgntk.bench._measure import _draw_graphs, _draw_pairs, _run


@pytest.mark.parametrize("spec", [GNTK(3, 2), GNTK(2, 1, jump=False), GNTK(2, 2, c_phi=1.4)])
def test_the_baseline_computes_the_kernel(spec):
    batch = NodeFeatures().fit_transform(datasets.load("MUTAG").graphs[:6])
    pairs = np.array([[0, 0], [1, 4], [3, 2]])
    runner = Baseline(batch, spec)
    values, took = runner.time_pairs(pairs)
    FLOAT64.check(values, gram(batch, spec)[pairs[:, 0], pairs[:, 1]])
    assert took > 0
    assert runner.graphs == 5
    prepared = runner.prepare_seconds
    runner.time_pairs(pairs[:1])
    assert runner.graphs == 5
    assert runner.prepare_seconds < 2 * prepared


def test_pairs_are_all_of_them_or_many_distinct_ones():
    rng = np.random.default_rng(0)
    few = _draw_pairs(20, rng)
    assert {tuple(p) for p in few.tolist()} == {(i, j) for i in range(20) for j in range(i, 20)}
    assert few.tolist() != sorted(few.tolist())
    many = _draw_pairs(3000, rng)
    assert len({tuple(p) for p in many.tolist()}) == len(many) == 60_000
    assert (many[:, 0] <= many[:, 1]).all()
    assert abs(many.mean() - 1500) < 30


def test_as_many_graphs_as_there_is_time_for():
    batch = datasets.load("MUTAG").graphs
    rng = np.random.default_rng(0)
    assert len(_draw_graphs(batch, Case("MUTAG", 3, 2), 100.0, 2, rng)) == 188
    assert 2 <= len(_draw_graphs(batch, Case("MUTAG", 3, 2), 0.05, 2, rng)) < 100


def test_a_process_that_fails_says_so(tmp_path):
    with pytest.raises(RuntimeError, match=r"process for lossless failed:(.|\n)*unknown"):
        _run("lossless", {"data": "unknown-set", "blocks": 1, "layers": 1}, tmp_path / "x.json")


def test_the_table_has_the_sets_of_the_papers():
    assert {case.name for case in CASES} <= set(datasets.REGISTRY)
