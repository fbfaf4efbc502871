"""The closed form for L = R = 1 and its series equal the recursion, exact and sketched; the printed form does not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.plain import reference_gram
from tests.tables import EXACT, FAMILIES, FLOAT64, NEGATIVE_WEIGHTS, one_hot

from fastgntk import GNTK, Compute, Graph, InputError, Sketch, as_graphs, gram
from fastgntk.engines import kappa0, kappa1
from fastgntk.graphs import content_keys
from fastgntk.theory import Nodes, aggregate_nodes, closed_form, moment, moment_weight

KERNEL = GNTK(blocks=1, layers=1, scale="unit", jump=False)
HEXAGON = [
    Graph.from_edges([], 1, np.array([[np.cos(angle), np.sin(angle)]])) for angle in np.arange(6) * np.pi / 3
]  # six graphs of one node


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("engine", ["decoupled", "kronecker"])
def test_closed_form_equals_the_engines(family, engine):
    FLOAT64.check(closed_form(FAMILIES[family]).K, gram(FAMILIES[family], KERNEL, compute=Compute(engine)))


@pytest.mark.parametrize("family", FAMILIES)
def test_closed_form_equals_the_reference(family):
    graphs = FAMILIES[family]
    FLOAT64.check(closed_form(graphs).K, reference_gram(graphs, one_hot(graphs), KERNEL))


def test_closed_form_equals_the_reference_with_negative_weights():
    FLOAT64.check(closed_form(NEGATIVE_WEIGHTS).K, gram(NEGATIVE_WEIGHTS, KERNEL, compute=Compute("decoupled")))


def literal(h: np.ndarray, offsets: np.ndarray, entry) -> np.ndarray:
    """Sum entry(λ) pair by pair, over nodes that are not zero."""
    n = len(offsets) - 1
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            for u in h[offsets[i] : offsets[i + 1]]:
                for v in h[offsets[j] : offsets[j + 1]]:
                    if u.any() and v.any():
                        out[i, j] += entry(max(-1.0, min(1.0, math.fsum(u * v))))
    return out


@pytest.mark.parametrize("family", FAMILIES)
def test_parts_are_those_of_the_layer_and_the_readout(family):
    nodes, parts = aggregate_nodes(FAMILIES[family]).exact, closed_form(FAMILIES[family])
    angle = lambda lam: math.pi - math.acos(lam)  # noqa: E731
    FLOAT64.check(parts.K1, literal(nodes.h, nodes.offsets, lambda lam: lam * angle(lam) / math.pi))
    readout = lambda lam: (lam * angle(lam) + math.sqrt((1 - lam) * (1 + lam))) / math.pi  # noqa: E731
    FLOAT64.check(parts.K2, literal(nodes.h, nodes.offsets, readout))


def test_node_of_norm_zero_contributes_nothing():
    X = np.array([[1.0, 0.5], [0.3, -1.0]])
    without = [Graph.from_edges([(0, 1)], 2, X)]
    with_zero = [Graph.from_edges([(0, 1)], 3, np.vstack([X, np.zeros(2)]))]
    EXACT.check(closed_form(with_zero).K1, closed_form(without).K1)
    EXACT.check(closed_form(with_zero).K2, closed_form(without).K2)


def test_printed_closed_form_is_indefinite_and_the_corrected_one_is_not():
    lam = aggregate_nodes(HEXAGON).exact.h @ aggregate_nodes(HEXAGON).exact.h.T
    angle = np.pi - np.arccos(np.clip(lam, -1, 1))
    sine = np.sqrt(np.clip(1 - lam**2, 0, None))
    printed = lam * angle / (2 * np.pi) + lam * (angle + sine) / (2 * np.pi)
    assert np.linalg.eigvalsh(printed)[0] == pytest.approx(-0.2757, abs=1e-4)
    right = closed_form(HEXAGON).K
    assert np.linalg.eigvalsh(right)[0] > -EXACT.absolute * right.max()
    EXACT.check(np.diag(right), np.full(6, 2.0))
    FLOAT64.check(np.diag(printed), np.full(6, 1.0))


def test_printed_second_part_is_indefinite_for_non_negative_features():
    """Lemma 5.7: K̃₂ is positive semi-definite. As printed it is not, for graphs of one node, whose sketch is exact."""
    angles = np.linspace(0, np.pi / 2, 5)
    h = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    lam = np.clip(h @ h.T, -1, 1)
    printed = lam * (np.pi - np.arccos(lam) + np.sqrt(1 - lam**2)) / (2 * np.pi)
    assert np.linalg.eigvalsh(printed)[0] == pytest.approx(-0.0051, abs=1e-4)
    right = closed_form([Graph.from_edges([], 1, np.maximum(row, 0)[None]) for row in h]).K2
    assert np.linalg.eigvalsh(right)[0] > 0


def test_equal_graphs_have_identical_rows():
    # κ0 turns the noise of λ near 1 into 1e-8; without the snap copies of a graph would look different.
    g = FAMILIES["continuous features"]
    K = closed_form([*g, *g]).K
    EXACT.check(K[:3], K[3:])


def test_nodes_at_a_small_angle_are_distinguished():
    angle = 1e-4  # λ = 1 − 5e-9
    features = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    parts = closed_form([Graph.from_edges([], 1, x[None]) for x in features])
    FLOAT64.check(parts.K1[0, 1], np.cos(angle) * (1 - angle / np.pi))


def each(graphs, sketches) -> Nodes:
    """Sketched nodes, each a unit vector by its own norm, for features of any sign."""
    return aggregate_nodes(graphs, sketches, norms="each").sketched


@pytest.mark.parametrize("family", ["path", "weighted", "directed", "cancellation", "empty graph"])
def test_sketched_nodes_equal_the_sketched_operator(family):
    graphs, rng = FAMILIES[family], np.random.default_rng(1)
    sketches = [rng.choice([-1.0, 1.0], (2, g.n_nodes)) / np.sqrt(2) for g in graphs]
    nodes = each(graphs, sketches)
    assert isinstance(nodes, Nodes)
    rows = []
    for g, S, X in zip(graphs, sketches, one_hot(graphs), strict=True):
        A_hat = g.adjacency.toarray() if hasattr(g.adjacency, "toarray") else np.asarray(g.adjacency)
        for row in (A_hat + np.eye(g.n_nodes)) @ S.T @ S @ np.array(X).reshape(g.n_nodes, nodes.h.shape[1]):
            norm = np.linalg.norm(row)
            rows.append(row / norm if norm > 1e-12 else 0 * row)
    EXACT.check(nodes.h, np.array(rows))


@pytest.mark.parametrize("family", FAMILIES)
def test_orthogonal_sketch_is_exact(family):
    rng = np.random.default_rng(2)
    sketches = [np.linalg.qr(rng.standard_normal((g.n_nodes, g.n_nodes)))[0] for g in FAMILIES[family]]
    FLOAT64.check(closed_form(each(FAMILIES[family], sketches)).K, closed_form(FAMILIES[family]).K)


def test_sketches_of_wrong_shape_are_refused():
    graphs = FAMILIES["path"]
    with pytest.raises(InputError, match="one matrix for each of 2 graphs, but holds 1"):
        aggregate_nodes(graphs, [np.eye(4)])
    with pytest.raises(InputError, match=r"sketch of graph 1 must have shape \(b, 3\).*\(4, 4\)"):
        aggregate_nodes(graphs, [np.eye(4), np.eye(4)])


def test_sketched_engine_equals_the_closed_form_of_its_sketches():
    graphs = as_graphs(FAMILIES["continuous features"])
    sketch = Sketch("ams", size=2, merge_nodes=False, sketch_features=True)
    keys = content_keys(graphs)
    sketches = [sketch.draw(g.n_nodes, 2, key.tobytes(), 1).dense() for g, key in zip(graphs, keys, strict=True)]
    K = gram(graphs, replace(KERNEL, sketch=sketch))
    FLOAT64.check(closed_form(each(graphs, sketches)).K, K)


LAMBDA = np.linspace(-0.9, 0.9, 37)


def tensors(graphs, t: int) -> np.ndarray:
    """Φ_t written out: one column Σ_u h̄_u ⊗ … ⊗ h̄_u for each graph."""
    nodes = aggregate_nodes(graphs).exact
    columns = []
    for start, stop in zip(nodes.offsets[:-1], nodes.offsets[1:], strict=True):
        column = np.zeros(nodes.h.shape[1] ** t)
        for h in nodes.h[start:stop]:
            power = np.ones(1)
            for _ in range(t):
                power = np.kron(power, h)
            column += power
        columns.append(column)
    return np.array(columns).T


@pytest.mark.parametrize(
    ("part", "function"),
    [
        ("K1", lambda lam: lam * kappa0(lam)),
        ("K2", kappa1),
        ("K", lambda lam: lam * kappa0(lam) + kappa1(lam)),
    ],
)
def test_series_equals_the_closed_form(part, function):
    EXACT.check(sum(moment_weight(t, part) * LAMBDA**t for t in range(300)), function(LAMBDA))


@pytest.mark.slow
def test_series_of_moments_equals_the_kernel_of_two_graphs():
    # Between these graphs |λ| stays below 0.999; within a graph λ = 1 occurs, where the series converges too slowly.
    graphs = FAMILIES["continuous features"][:2]
    first, second = (aggregate_nodes(graphs).exact.h[:4], aggregate_nodes(graphs).exact.h[4:])
    assert np.abs(first @ second.T).max() < 0.999
    total = sum(moment_weight(t) * moment(t, graphs)[0, 1] for t in [0, 1, *range(2, 4000, 2)])
    FLOAT64.check(total, closed_form(graphs).K[0, 1])


@pytest.mark.parametrize("family", FAMILIES)
def test_each_part_of_the_series_is_below_the_kernel(family):
    K = closed_form(FAMILIES[family]).K
    rest = K - sum(moment_weight(t) * moment(t, FAMILIES[family]) for t in (0, 1, 2, 4, 6))
    assert np.linalg.eigvalsh(rest)[0] >= -FLOAT64.absolute * max(1.0, np.abs(K).max())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("t", [1, 2, 3, 4])
def test_moments_are_products_of_tensors(family, t):
    Phi = tensors(FAMILIES[family], t)
    EXACT.check(moment(t, FAMILIES[family]), Phi.T @ Phi)


def test_moment_zero_counts_nonzero_nodes():
    # In the first graph one node of three has no feature in its neighbourhood, in the second both have none.
    assert moment(0, FAMILIES["zero features"]).tolist() == [[4.0, 0.0], [0.0, 0.0]]


def test_inequality_for_the_printed_constants_holds():
    l = np.arange(1, 200)  # noqa: E741  # the paper's letter
    weights = np.array([moment_weight(int(t)) for t in 2 * l])
    assert (weights >= 1 / (np.pi * (2 * l - 1) ** 2)).all()
    assert np.array([moment_weight(int(t)) for t in 2 * l[1:] - 1]).tolist() == [0.0] * 198


def test_invalid_powers_and_parts_are_refused():
    with pytest.raises(InputError, match="t must be an integer, 0 or more, but is -1"):
        moment_weight(-1)
    with pytest.raises(InputError, match=r"t must be an integer, 0 or more, but is 1\.5"):
        moment(1.5, FAMILIES["path"])
    with pytest.raises(InputError, match="part must be one of K, K1, K2, but is 'K3'"):
        moment_weight(1, "K3")


def test_closed_form_refuses_nodes_that_are_not_unit_vectors():
    sketches = [np.ones((1, g.n_nodes)) for g in FAMILIES["path"]]
    drawn = aggregate_nodes(FAMILIES["path"], sketches)
    with pytest.raises(InputError, match="the closed form needs unit vectors"):
        closed_form(drawn.exact)
    with pytest.raises(InputError, match=r"pass one of them, its \.exact or its \.sketched"):
        closed_form(drawn)
