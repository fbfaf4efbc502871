"""The trace and the generalisation bound, against numbers worked out by hand and against sketched kernels."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import EXACT, FAMILIES, FLOAT64
from tests.theory.test_labels import random_graphs

from fastgntk import Graph, InputError
from fastgntk.theory import aggregated, closed_form, generalization_bound, label_norm, spectral_interval, trace_bound


@pytest.mark.parametrize("family", FAMILIES)
def test_trace_is_below_its_bounds(family):
    nodes = aggregated(FAMILIES[family])
    between = 2.0 * float((nodes.sizes**2).sum())
    assert np.trace(closed_form(nodes).K) <= between * (1 + FLOAT64.relative)
    assert between <= trace_bound(len(nodes), int(nodes.sizes.max()))


def test_trace_bound_is_attained_by_graphs_of_equal_nodes():
    ring = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)], 4, labels=[0] * 4)
    FLOAT64.check(np.trace(closed_form([ring, ring]).K), trace_bound(2, 4))


def test_bound_is_the_sum_of_complexity_and_deviation():
    # 2 · 3 · sqrt(400)/50 = 2.4;  3 · sqrt(log(20)/100)
    EXACT.check(generalization_bound(3.0, 400.0, 50, delta=0.1), 2.4 + 0.3 * np.sqrt(np.log(20)))
    EXACT.check(generalization_bound(3.0, 400.0, 50, delta=0.1, epsilon=0.75), 4.8 + 0.3 * np.sqrt(np.log(20)))
    EXACT.check(generalization_bound(3.0, 400.0, 50, complexity=1.0, deviation=0.0), 1.2)


def test_sketched_kernel_increases_the_norm_within_the_bound():
    graphs, rng = random_graphs(8, 6, 3), np.random.default_rng(4)
    sketches = [rng.choice([-1.0, 1.0], (400, g.n_nodes)) / 20 for g in graphs]
    K, sketched = closed_form(graphs).K, closed_form(aggregated(graphs, sketches=sketches)).K
    low = spectral_interval(K, sketched).low
    assert 0.1 < low < 1
    ratios = [label_norm(y, sketched) / label_norm(y, K) for y in rng.standard_normal((50, 8))]
    assert max(ratios) <= (1 - (1 - low)) ** -0.5 * (1 + FLOAT64.relative)
    assert max(ratios) > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0.0}, "delta must lie between 0 and 1"),
        ({"epsilon": 1.0}, "epsilon be 0 or more and below 1"),
        ({"n": 0}, r"n 1 or more, but they are 1\.0, 2\.0 and 0"),
        ({"trace": -1.0}, "label_norm and trace must be 0 or more"),
    ],
)
def test_arguments_out_of_range_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        generalization_bound(**({"label_norm": 1.0, "trace": 2.0, "n": 3} | options))


def test_trace_bound_without_graphs_is_refused():
    with pytest.raises(InputError, match="n must be 1 or more and N 0 or more, but they are 0 and 3"):
        trace_bound(0, 3)
