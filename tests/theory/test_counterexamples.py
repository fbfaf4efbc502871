"""Where the proofs of Jiang et al. 2022 fail, one counterexample each, and what holds instead (docs/theory.md)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import EXACT, FLOAT64
from tests.theory.graphs import non_negative

from fastgntk import Graph
from fastgntk.datasets import load
from fastgntk.sketch import AMS
from fastgntk.theory import (
    LabelClass,
    Nodes,
    aggregate_nodes,
    closed_form,
    gamma,
    generalization_bound,
    generalization_rate,
    label_norm,
    moment,
    sketching_rms,
    spectral_interval,
    trace_bound,
)


def test_small_error_in_norm_does_not_give_a_spectral_approximation():
    """Proof of Lemma C.2: ‖M̃ − M̄‖₂ ≤ ‖M̄‖₂/10 is taken to give (1 ± 1/10) M̄; for that λ_min(M̄) is needed."""
    exact, sketched = np.array([[1.0, 0.999], [0.999, 1.0]]), np.ones((2, 2))
    assert np.linalg.norm(sketched - exact, 2) < np.linalg.norm(exact, 2) / 1000
    assert spectral_interval(exact, sketched).low == 0.0
    # What holds: an error of ε λ_min(M̄) gives (1 ± ε) M̄.
    shift = np.array([[1.0, -1.0], [-1.0, 1.0]])
    scale = 0.5 * np.linalg.eigvalsh(exact)[0] / np.linalg.norm(shift, 2)
    assert spectral_interval(exact, exact + scale * shift).epsilon <= 0.5 + FLOAT64.relative


@pytest.mark.slow
def test_accurate_entries_on_mutag_do_not_give_a_spectral_approximation():
    graphs, rng = load("MUTAG").graphs[::4], np.random.default_rng(0)
    nodes = aggregate_nodes(graphs, [AMS.draw(g.n_nodes, 50_000, rng).dense() for g in graphs])
    exact, sketched = moment(1, nodes.exact), moment(1, nodes.sketched)
    assert np.abs(sketched / exact - 1).max() < 0.1
    assert np.linalg.norm(sketched - exact) <= np.linalg.norm(exact) / 10
    interval = spectral_interval(exact, sketched)
    assert interval.low < 1e-6
    assert interval.high == np.inf


THREE = Graph.from_edges([], 3, labels=["O", "C", "C"])
SKETCH = np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, 1.0]]) / np.sqrt(2)


def test_accurate_first_moment_does_not_give_an_accurate_second_one():
    """Proof of Lemma C.2, the step to even powers: errors of Σ(x − y) say nothing about errors of Σ(x² − y²)."""
    nodes = aggregate_nodes([THREE], [SKETCH])
    EXACT.check(moment(1, nodes.sketched), moment(1, nodes.exact))
    ratio = (moment(2, nodes.sketched) / moment(2, nodes.exact)).item()
    assert abs(ratio - 1) > 40  # claimed: at most 1/2
    # Both of its inequalities fail: |Σ w (x − y)| ≤ max w |Σ (x − y)|, and (Σ x)² ≤ Σ x² for x ≥ 0.
    x, y, w = np.array([2.0, 1.0]), np.array([1.0, 2.0]), np.array([1.0, 0.0])
    assert abs(w @ (x - y)) > w.max() * abs((x - y).sum())
    assert x.sum() ** 2 > (x**2).sum()


def test_sketched_nodes_of_non_negative_features_can_be_negative():
    """The same step bounds each |⟨h̃_u, h̃_v⟩| by their sum; but SᵀS has negative entries, and so have the h̃_u."""
    h = aggregate_nodes([THREE], [SKETCH]).sketched.h
    products = h @ h.T
    assert np.abs(products).max() > 0.99
    assert products.min() < -0.9


def test_printed_label_norm_lacks_a_power():
    """One node, one feature: ‖y‖ = β²/√2, which grows faster than the printed bound 4√π β."""
    node = Graph.from_edges([], 1, np.ones((1, 1)))
    rule = LabelClass((2,), [1.0], [[10.5]])
    measured = label_norm(rule.labels([node]), closed_form([node]).K)
    assert measured == pytest.approx(78.0, abs=0.05)
    assert rule.norm_bound("jiang2022") == pytest.approx(74.4, abs=0.05)
    assert measured <= rule.norm_bound()


def test_conditions_of_the_main_theorem_do_not_make_its_bound_small():
    n = np.array([1e4, 1e6, 1e8])
    N = norm = n**0.4
    rate = generalization_rate(n, N, norm)
    assert rate.conditions_hold
    bounds = [
        generalization_bound(y, trace_bound(int(m), int(size)), int(m)) for m, size, y in zip(n, N, norm, strict=True)
    ]
    assert bounds == sorted(bounds)
    assert min(bounds) > 1
    # What holds: ‖y‖ N = O(n^(1/2 − c)) gives O(n^(−c)).
    enough = generalization_rate(n, n**0.2, n**0.2)
    EXACT.check(enough.bound_exponent, -0.1)


@pytest.mark.parametrize("n", [100, 400, 1600])
def test_main_theorem_is_false_for_features_that_are_never_seen(n):
    """One-node graphs with features e_k, k uniform among d = 2n, labels n^0.9 β_k: no loss O(n^(−c)) for any c > 0."""
    rng = np.random.default_rng(n)
    seen, new = rng.integers(2 * n, size=n), rng.integers(2 * n, size=1000)
    beta = rng.choice([-1.0, 1.0], 2 * n) / np.sqrt(2 * n)  # ‖β‖ = 1, so the condition is 4 n^0.9 = o(n)
    y = n**0.9 * beta
    kernel = lambda a, b: np.where(a[:, None] == b, 2.0, 1 / np.pi)  # noqa: E731  # of unit vectors: λ is 1 or 0
    nodes = Nodes(np.eye(3), np.arange(4))
    EXACT.check(closed_form(nodes).K, kernel(np.arange(3), np.arange(3)))
    values, first = np.unique(seen, return_index=True)  # equal graphs have equal labels: once each
    prediction = kernel(new, values) @ np.linalg.solve(kernel(values, values), y[seen[first]])
    assert np.minimum(np.abs(prediction - y[new]), 1.0).mean() > 0.5


def test_union_over_pairs_of_graphs_needs_more_than_the_number_of_nodes():
    """n² pairs, each failing with probability 1/N⁴, where N = o(√n): the union bound exceeds 1 and grows."""
    n = 10.0 ** np.arange(2, 8)
    failure = n**2 / (n**0.4) ** 4
    assert (failure > 1).all()
    assert (np.diff(failure) > 0).all()


def test_labels_depend_on_the_drawn_sketches():
    """c_u comes from the sketched aggregation, and h̄_u has it: another draw, other labels of the same graphs."""
    graphs, rng = non_negative("star"), np.random.default_rng(0)
    rule = LabelClass((1,), [1.0], np.ones((1, aggregate_nodes(graphs).features.shape[1])))
    one, two = (
        rule.labels(aggregate_nodes(graphs, [AMS.draw(g.n_nodes, 3, rng).dense() for g in graphs]).exact)
        for _ in range(2)
    )
    assert np.abs(one - two).max() > 0.01 * np.abs(one).max()


@pytest.mark.slow
def test_scales_from_the_sketched_norms_bias_the_first_moment():
    """N isolated nodes with one feature: M̄_1/M̃_1 is about (1 + N/b)² with the paper's C, and 1 with a fixed one."""
    N, b, rng = 400, 8000, np.random.default_rng(0)
    graph, ratios = Graph.from_edges([], N, np.ones((N, 1))), {}
    for norms in ("sketched", "exact"):
        draws = [aggregate_nodes([graph], [AMS.draw(N, b, rng).dense()], norms=norms) for _ in range(8)]
        ratios[norms] = np.mean([(moment(1, d.exact) / moment(1, d.sketched)).item() for d in draws])
    assert ratios["sketched"] == pytest.approx((1 + N / b) ** 2, rel=0.04)
    assert ratios["exact"] == pytest.approx(1.0, abs=0.04)


def test_inverses_in_the_proof_do_not_exist_with_more_graphs_than_features():
    graphs, rng = non_negative("star") * 2, np.random.default_rng(0)
    nodes = aggregate_nodes(graphs, [AMS.draw(g.n_nodes, 3, rng) for g in graphs])
    n, d = nodes.sketched.pooled.shape  # H̃⁽¹⁾ᵀ
    assert np.linalg.matrix_rank(moment(1, nodes.sketched), hermitian=True) <= d < n


def test_node_that_the_sketch_cancels_has_no_scale_as_printed():
    """Both neighbours get opposite signs, so that H SᵀS Â has a zero column, by whose norm the definition divides."""
    pair = Graph.from_edges([(0, 1)], 2, np.ones((2, 1)))
    nodes = aggregate_nodes([pair], [np.array([[1.0, -1.0]])])
    assert not nodes.c.any()
    assert not nodes.sketched.h.any()


def test_linear_labels_of_exact_and_sketched_nodes_differ_by_at_most_the_repaired_bound():
    """|y − ỹ| ≤ |α| Σ_u c_u |â_uᵀ(SᵀS − I)Xβ|, node by node, whatever C is."""
    graphs, rng = non_negative("star"), np.random.default_rng(3)
    sketches = [AMS.draw(g.n_nodes, 4, rng).dense() for g in graphs]
    nodes = aggregate_nodes(graphs, sketches)
    beta = rng.standard_normal(nodes.features.shape[1])
    rule = LabelClass((1,), [1.5], [beta])
    difference = np.abs(rule.labels(nodes.exact) - rule.labels(nodes.sketched))
    for i, (g, S) in enumerate(zip(graphs, sketches, strict=True)):
        part = slice(int(nodes.exact.offsets[i]), int(nodes.exact.offsets[i + 1]))
        A_hat = (g.adjacency.toarray() if hasattr(g.adjacency, "toarray") else g.adjacency) + np.eye(g.n_nodes)
        errors = np.abs(A_hat @ (S.T @ S - np.eye(g.n_nodes)) @ nodes.features[part] @ beta)
        assert difference[i] <= 1.5 * nodes.c[part] @ errors * (1 + FLOAT64.relative)


def test_khintchine_fails_for_coefficients_that_depend_on_the_signs():
    """Σ σ_i z_i with z_i = σ_i is n, far above t ‖z‖ for t = sqrt(log n): the inequality needs z independent of σ."""
    n = 10_000
    signs = np.random.default_rng(0).choice([-1.0, 1.0], n)
    assert signs @ signs > 10 * np.sqrt(np.log(n)) * np.linalg.norm(signs)


def test_lemma_holds_by_the_variance_of_the_chaos():
    """What Hanson–Wright needs: the variance of xᵀ(SᵀS − I)y is at most 2 ‖x‖² ‖y‖²/b, whatever x and y."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        x, y = rng.standard_normal((2, 7))
        rms = sketching_rms(x, np.eye(7), y, 5, 1e18).item()  # the second sketch is exact
        assert rms <= np.sqrt(2 / 5) * np.linalg.norm(x) * np.linalg.norm(y)
    assert sketching_rms(np.ones(400), np.eye(400), np.ones(400), 5, 1e18).item() > 0.99 * np.sqrt(2 / 5) * 400


def test_both_printed_forms_of_the_first_covariance_are_wrong():
    """c_φ E φ(a)φ(b) for unit variances and covariance 1/2, by quadrature, against Lemma 5.7 and its proof."""
    lam = 0.5
    points, weights = np.polynomial.hermite_e.hermegauss(100)
    a, b = points[:, None], lam * points[:, None] + np.sqrt(1 - lam**2) * points
    density = np.outer(weights, weights) / (2 * np.pi)
    expected = 2 * float((np.maximum(a, 0) * np.maximum(b, 0) * density).sum())
    angle, root = np.pi - np.arccos(lam), np.sqrt(1 - lam**2)
    lemma = lam * (angle + root) / (2 * np.pi)
    proof = (angle + root) / (2 * np.pi)
    right = (lam * angle + root) / np.pi
    assert right == pytest.approx(expected, rel=1e-2)
    assert abs(lemma - expected) > 0.1 * expected
    assert abs(proof - expected) > 0.02 * expected
    assert abs(lemma - proof) > 0.1 * expected


@pytest.mark.parametrize("rows", [1, 3, 50])
def test_labels_of_the_sketched_nodes_have_a_small_norm_for_every_sketch(rows):
    """Repaired: with h̃ in the place of h̄ in the labels, Lemma 5.8 needs no assumption on sizes, as K̃ ⪰ Σ_t w_t M̃_t."""
    rng = np.random.default_rng(rows)
    graphs = non_negative("continuous features")
    nodes = aggregate_nodes(graphs, [AMS.draw(g.n_nodes, rows, rng).dense() for g in graphs])
    rule = LabelClass.random(nodes.features.shape[1], (1, 2, 4), random_state=rows)
    norm = label_norm(rule.labels(nodes.sketched), closed_form(nodes.sketched).K)
    assert norm <= rule.norm_bound() * (1 + FLOAT64.relative)


def test_labels_of_the_exact_nodes_have_a_small_norm_with_a_ridge():
    """Repaired: yᵀ(K̃ + ρI)⁻¹y ≤ 2 (tight bound)² + 2 ‖y − ỹ‖²/ρ, by entries alone, without any eigenvalue."""
    rng = np.random.default_rng(5)
    graphs = 3 * non_negative("star")
    nodes = aggregate_nodes(graphs, [AMS.draw(g.n_nodes, 40, rng).dense() for g in graphs])
    rule = LabelClass.random(nodes.features.shape[1], (1, 2), random_state=0)
    y, sketched = rule.labels(nodes.exact), rule.labels(nodes.sketched)
    K = closed_form(nodes.sketched).K
    for ridge in (1e-4, 1.0):
        found = y @ np.linalg.solve(K + ridge * np.eye(len(K)), y)
        first, second = 2 * rule.norm_bound() ** 2, 2 * np.sum((y - sketched) ** 2) / ridge
        assert found <= first + second
        assert (found > first) == (ridge == 1e-4)  # the second term is needed


def test_gamma_does_not_make_up_for_a_small_eigenvalue():
    """γ = 1 is the best case of Assumption 5.5, part 2, and the worst for λ_min: M̄_t then has rank one."""
    nodes = Nodes(np.array([[1.0, 0.0], [1.0, 1e-9]]), np.array([0, 1, 2]))
    assert gamma(1, nodes) == pytest.approx(1.0)
    assert np.linalg.eigvalsh(moment(1, nodes))[0] < 1e-15
