"""Labels of the class have the norm that the theory allows; the trace and the generalisation bound hold."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import EXACT, FAMILIES, FLOAT64

from fastgntk import Graph, InputError
from fastgntk.theory import (
    LabelClass,
    aggregate_nodes,
    closed_form,
    generalization_bound,
    label_norm,
    moment,
    moment_weight,
    spectral_interval,
    trace_bound,
)


@pytest.mark.parametrize("family", FAMILIES)
def test_trace_is_below_its_bounds(family):
    nodes = aggregate_nodes(FAMILIES[family]).exact
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
    K, sketched = closed_form(graphs).K, closed_form(aggregate_nodes(graphs, sketches, norms="each").sketched).K
    low = spectral_interval(K, sketched).low
    assert 0.1 < low < 1
    ratios = [label_norm(y, sketched) / label_norm(y, K) for y in rng.standard_normal((50, 8))]
    assert max(ratios) <= (1 - (1 - low)) ** -0.5 * (1 + FLOAT64.relative)
    assert max(ratios) > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0.0}, "delta must lie between 0 and 1"),
        ({"epsilon": 1.0}, r"epsilon must be a number, 0 or more and below 1, but is 1\.0"),
        ({"n": 0}, "n must be a number, 1 or more, but is 0"),
        ({"trace": -1.0}, r"trace must be a number, 0 or more, but is -1\.0"),
        ({"label_norm": "a"}, "label_norm must be a number, 0 or more, but is 'a'"),
        ({"complexity": None}, "complexity must be a number, 0 or more, but is None"),
    ],
)
def test_arguments_out_of_range_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        generalization_bound(**({"label_norm": 1.0, "trace": 2.0, "n": 3} | options))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 3), "n must be a number, 1 or more, but is 0"),
        (("a", 5), "n must be a number, 1 or more, but is 'a'"),
        ((3, -1), "N must be a number, 0 or more, but is -1"),
    ],
)
def test_trace_bound_without_sizes_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        trace_bound(*arguments)


def random_graphs(n: int, d: int, seed: int) -> list[Graph]:
    rng = np.random.default_rng(seed)
    out = []
    for size in rng.integers(1, 5, n):
        adjacency = np.triu(rng.random((size, size)) < 0.4, 1).astype(float)
        out.append(Graph(adjacency, rng.standard_normal((size, d)), directed=True))
    return out


def test_labels_are_sums_of_powers_over_nodes():
    graphs = FAMILIES["continuous features"]
    rule = LabelClass.random(3, (1, 2, 6), random_state=1)
    nodes = aggregate_nodes(graphs).exact
    expected = []
    for start, stop in zip(nodes.offsets[:-1], nodes.offsets[1:], strict=True):
        terms = [
            a * (h @ b) ** t
            for h in nodes.h[start:stop]
            for a, b, t in zip(rule.alpha, rule.beta, rule.powers, strict=True)
        ]
        expected.append(sum(terms))
    EXACT.check(rule.labels(graphs), expected)
    EXACT.check(rule.labels(nodes), expected)


def test_seed_determines_the_rule_with_unit_vectors():
    one, two, other = (LabelClass.random(4, random_state=s) for s in (1, 1, 2))
    assert one.alpha.tolist() == two.alpha.tolist()
    assert one.beta.tolist() == two.beta.tolist()
    assert one.beta.tolist() != other.beta.tolist()
    EXACT.check(np.linalg.norm(one.beta, axis=1), np.ones(3))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("d", [2, 5])
def test_norm_is_below_each_bound_and_bounds_increase(d, seed):
    graphs = random_graphs(25, d, seed)
    rule = LabelClass.random(d, (1, 2, 4, 6), random_state=seed)
    measured = label_norm(rule.labels(graphs), closed_form(graphs).K)
    bounds = [rule.norm_bound(form) for form in ("tight", "sum", "layer", "du2019")]
    assert measured <= bounds[0] * (1 + FLOAT64.relative)
    assert bounds == sorted(bounds)
    assert measured > 0.1 * bounds[0]


def test_linear_labels_attain_the_bound():
    """λ is the only odd power in K, so on enough graphs no other function of that norm fits: w_1 must be 1."""
    graphs = random_graphs(60, 3, 7)
    rule = LabelClass((1,), [1.5], [[1.0, -2.0, 0.5]])
    ratio = label_norm(rule.labels(graphs), closed_form(graphs).K) / rule.norm_bound()
    assert 0.98 < ratio <= 1 + FLOAT64.relative


@pytest.mark.parametrize("t", [2, 4])
def test_even_labels_approach_the_bound_of_the_kernel_of_one_power(t):
    # Within w_t M_t alone the bound is reached; more powers in K can only lower the norm.
    graphs = random_graphs(60, 2, 8)
    rule = LabelClass((t,), [1.0], [[0.6, 0.8]])
    y = rule.labels(graphs)
    FLOAT64.check(label_norm(y, moment_weight(t) * moment(t, graphs)), rule.norm_bound())
    assert 0.3 * rule.norm_bound() < label_norm(y, closed_form(graphs).K) <= rule.norm_bound()


def test_bounds_have_their_documented_constants():
    rule = LabelClass((1, 2, 4), [2.0, -1.0, 0.5], [[3.0, 0.0], [0.0, 2.0], [0.6, 0.8]])
    sizes = np.array([6.0, 4.0, 0.5])  # |α| ‖β‖^t
    EXACT.check(rule.norm_bound("du2019"), sizes @ [2.0, np.sqrt(2 * np.pi), 3 * np.sqrt(2 * np.pi)])
    lengths = np.array([6.0, 2.0, 0.5])  # |α| ‖β‖, without the power, as printed
    EXACT.check(rule.norm_bound("jiang2022"), lengths @ [4.0, 4 * np.sqrt(np.pi), 12 * np.sqrt(np.pi)])
    EXACT.check(rule.norm_bound("layer"), sizes @ [np.sqrt(2), np.sqrt(np.pi), 3 * np.sqrt(np.pi)])
    weights = np.array([1.0, 1.5 / np.pi, 1.25 / (6 * np.pi)])
    EXACT.check(rule.norm_bound("sum"), (sizes / np.sqrt(weights)).sum())
    EXACT.check(rule.norm_bound(), np.sqrt((sizes**2 / weights).sum()))


def test_norm_uses_the_inverse_or_the_pseudo_inverse():
    rng = np.random.default_rng(9)
    B = rng.standard_normal((6, 6))
    y = rng.standard_normal(6)
    FLOAT64.check(label_norm(y, B @ B.T), np.linalg.norm(np.linalg.solve(B, y)))
    thin = B[:, :3]
    FLOAT64.check(label_norm(thin @ [1.0, 2.0, 2.0], thin @ thin.T), 3.0)
    assert label_norm(np.zeros(6), thin @ thin.T) == 0


def test_labels_outside_the_range_are_refused_with_numbers():
    twice = FAMILIES["path"][:1] * 2
    with pytest.raises(InputError, match=r"but 1 of its length is outside: K has rank 1 of 2, its smallest eigenvalue"):
        label_norm([1.0, -1.0], closed_form(twice).K)
    assert label_norm([1.0, 1.0], closed_form(twice).K) > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: LabelClass((1, 3), [1, 1], np.ones((2, 2))),
            r"1 and even numbers, each at most once, but are \(1, 3\)",
        ),
        (lambda: LabelClass((2, 2), [1, 1], np.ones((2, 2))), "each at most once"),
        (lambda: LabelClass((1, 2), [1], np.ones((2, 2))), r"alpha must have shape \(2,\)"),
        (lambda: LabelClass((1,), [1], np.ones(2)), r"beta \(1, d\).*but have \(1,\) and \(2,\)"),
        (lambda: LabelClass((0,), [1], np.ones((1, 2))), "t must be an integer, 1 or more, but is 0"),
        (lambda: LabelClass.random(0), "d must be an integer, 1 or more, but is 0"),
        (lambda: LabelClass.random(2).norm_bound("loose"), "form must be one of tight, sum, layer, du2019, jiang2022"),
        (lambda: LabelClass.random(2).labels(FAMILIES["path"]), "beta has width 2, but the nodes .* 3 features"),
        (lambda: label_norm([1.0], np.eye(2)), r"y must hold 2 numbers, .*, but has shape \(1,\)"),
        (lambda: LabelClass((1,), ["x"], np.ones((1, 2))), r"alpha must hold numbers in rows .*, but is \['x'\]"),
        (lambda: LabelClass((1,), [np.nan], np.ones((1, 2))), "alpha must hold finite numbers, but entry 0 is nan"),
        (lambda: LabelClass((1,), [1], [[1, np.inf]]), r"beta must hold finite numbers, but entry \(0, 1\) is inf"),
    ],
)
def test_invalid_rules_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
