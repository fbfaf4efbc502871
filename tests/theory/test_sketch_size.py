"""The sketch size solves its inequality, its inequality is the lemma summed up, and sketches of that size do it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import EXACT, FAMILIES, FLOAT64, one_hot

from fastgntk import Graph, InputError
from fastgntk.theory import aggregated, beta, gamma, moment, sketch_size, sketching_bound, spectral_interval
from fastgntk.theory._sketching import entry_errors


def literal_errors(graphs, x: float) -> np.ndarray:
    """Σ_uv of the error of λ_uv, one pair of nodes after another, for β/√b = x."""
    X = [np.array(rows).reshape(g.n_nodes, -1) for g, rows in zip(graphs, one_hot(graphs), strict=True)]
    A_hat = [np.asarray(g.adjacency.todense() if hasattr(g.adjacency, "todense") else g.adjacency) for g in graphs]
    A_hat = [A + np.eye(len(A)) for A in A_hat]

    def relative(i: int, u: int, j: int, v: int) -> float:
        bound = sketching_bound(A_hat[i][u], X[i] @ X[j].T, A_hat[j][v], 1, 1, beta1=x)
        both = bound.both.item()
        if i == j:  # one sketch on both sides
            both *= np.linalg.norm(X[i]) ** 2 / np.linalg.norm(X[i] @ X[i].T)
        norms = np.linalg.norm(A_hat[i][u] @ X[i]) * np.linalg.norm(A_hat[j][v] @ X[j])
        return (bound.left.item() + bound.right.item() + both) / norms

    def cosine(i: int, u: int, j: int, v: int) -> float:
        a, b = A_hat[i][u] @ X[i], A_hat[j][v] @ X[j]
        return abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)

    n = len(graphs)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            for u in range(len(X[i])):
                for v in range(len(X[j])):
                    shift = (relative(i, u, i, u) + relative(j, v, j, v)) / 2
                    out[i, j] += relative(i, u, j, v) + cosine(i, u, j, v) * shift
    return out


@pytest.mark.parametrize("family", ["path", "star", "weighted", "continuous features", "directed", "opposite nodes"])
def test_entry_errors_equal_the_lemma_summed_over_pairs_of_nodes(family):
    _, first, second = entry_errors(FAMILIES[family])
    for x in (0.1, 3.0):
        EXACT.check(x * first + x**2 * second, literal_errors(FAMILIES[family], x))


def test_size_solves_the_inequality_with_equality():
    graphs, epsilon, T = FAMILIES["continuous features"], 0.3, 4
    found = sketch_size(graphs, epsilon, T, constant=2.0)
    assert found.powers == (1, 2, 4)
    assert found.largest == 6
    nodes, first, second = entry_errors(graphs)
    x = beta("ams", 6, constant=2.0) / np.sqrt(found.lemma)
    error = x * np.linalg.norm(first, 2) + x**2 * np.linalg.norm(second, 2)
    room = min(np.linalg.eigvalsh(moment(t, nodes))[0] / t for t in found.powers)
    FLOAT64.check(error, epsilon * room)


def test_formula_is_the_fourth_power_of_the_largest_gamma():
    graphs = FAMILIES["continuous features"]
    found = sketch_size(graphs, 0.3, 4, constant=2.0)
    FLOAT64.check(found.gamma, [gamma(t, graphs) for t in (1, 2, 4)])
    FLOAT64.check(found.formula, 4 * max(found.gamma) ** 4 * np.log(6) ** 3 / 0.3**2)


@pytest.mark.parametrize("family", ["path", "clique", "star"])
def test_sketches_of_that_size_approximate_every_moment(family):
    graphs, rng = FAMILIES[family], np.random.default_rng(5)
    found = sketch_size(graphs, 0.5)
    b = int(found.lemma)
    assert 100 < b < 200_000
    sketches = [rng.choice([-1.0, 1.0], (b, g.n_nodes)) / np.sqrt(b) for g in graphs]
    exact, sketched = aggregated(graphs), aggregated(graphs, sketches=sketches)
    for t in found.powers:
        interval = spectral_interval(moment(t, exact), moment(t, sketched))
        assert 0 < interval.epsilon < 0.5
    assert not found.pays


def test_singular_moment_has_no_sufficient_size():
    graphs = FAMILIES["weighted"] + FAMILIES["continuous features"]  # six graphs, three features
    found = sketch_size(graphs, 0.5, 1)
    assert found.lemma == found.formula == np.inf
    on_range = sketch_size(graphs, 0.5, 1, on_range=True)
    assert np.isfinite(on_range.lemma)
    assert np.isfinite(on_range.formula)


def test_nodes_of_norm_zero_do_not_change_the_size():
    _, first, second = entry_errors(FAMILIES["zero features"])
    assert np.isfinite(first).all()
    assert np.isfinite(second).all()
    assert first[1, 1] == second[1, 1] == 0
    # 0.1 + 0.2 − 0.3 leaves 6e-17: a direction that is noise, by whose norm nothing may be divided
    cancelling = Graph.from_edges([(0, 1), (1, 2)], 3, np.array([[0.1], [-0.3], [0.2]]))
    assert entry_errors([cancelling])[1].max() < 1e3


def test_arguments_out_of_range_are_refused():
    with pytest.raises(InputError, match="epsilon must lie between 0 and 1, but is 1"):
        sketch_size(FAMILIES["path"], 1)
    with pytest.raises(InputError, match="t must be a whole number, 1 or more, but is 0"):
        sketch_size(FAMILIES["path"], 0.5, 0)
    with pytest.raises(InputError, match="source must hold at least one graph, but holds none"):
        sketch_size([], 0.5)
