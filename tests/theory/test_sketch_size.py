"""The rows that the assumption of the paper requires, and those that a proof by eigenvalues needs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import EXACT, FAMILIES, FLOAT64, one_hot
from tests.theory.graphs import non_negative

from fastgntk import Graph, InputError
from fastgntk.datasets import load
from fastgntk.theory import (
    aggregate_nodes,
    beta,
    moment,
    moment_condition,
    required_sketch_sizes,
    sketching_bound,
    spectral_interval,
    spectral_sketch_size,
)
from fastgntk.theory._sketch_size import entry_errors


def dense_a_hat(graph) -> np.ndarray:
    A = graph.adjacency.toarray() if hasattr(graph.adjacency, "toarray") else np.asarray(graph.adjacency)
    return A + np.eye(len(A))


@pytest.mark.parametrize("family", ["path", "clique", "star", "weighted", "disconnected"])
@pytest.mark.parametrize("sketched", [False, True])
def test_required_sizes_are_those_of_the_assumption_as_printed(family, sketched):
    """With the required rows both sides of the assumption are equal for every pair; H is (d, N) as in the paper."""
    graphs, T, constant = non_negative(family), 2, 0.5
    rng = np.random.default_rng(3)
    sketches = [rng.choice([-1.0, 1.0], (3, g.n_nodes)) / np.sqrt(3) for g in graphs]
    found = required_sketch_sizes(aggregate_nodes(graphs, sketches) if sketched else graphs, T, constant=constant)
    H = [np.array(X, dtype=float).reshape(g.n_nodes, -1).T for g, X in zip(graphs, one_hot(graphs), strict=True)]
    A = [dense_a_hat(g) for g in graphs]
    S = [S if sketched else np.eye(g.n_nodes) for S, g in zip(sketches, graphs, strict=True)]
    C = []
    for h, s, a in zip(H, S, A, strict=True):
        norms = np.linalg.norm(h @ s.T @ s @ a, axis=0)
        C.append(np.diag(np.divide(1, norms, out=np.zeros(len(norms)), where=norms > 1e-12)))
    h_bar = [h @ a @ c for h, a, c in zip(H, A, C, strict=True)]
    moments = {t: np.array([[((x.T @ y) ** t).sum() for y in h_bar] for x in h_bar]) for t in (1, 2, 4)}
    gammas = [np.linalg.norm(M) / np.linalg.norm(M, 2) for M in moments.values()]
    FLOAT64.check(found.gamma, max(gammas))
    N = max(g.n_nodes for g in graphs)
    for i in range(len(graphs)):
        for j in range(len(graphs)):
            one_i, one_j = np.ones(len(A[i])), np.ones(len(A[j]))
            left = np.linalg.norm(A[j] @ C[j] @ one_j) * np.linalg.norm(A[i] @ C[i] @ one_i)
            left *= np.linalg.norm(H[j].T @ H[i])
            inner = one_i @ C[i].T @ A[i].T @ H[i].T @ H[j] @ A[j] @ C[j] @ one_j
            right = constant * np.sqrt(found.pairs[i, j]) / (max(gammas) * T * np.log(N) ** 3) * inner
            FLOAT64.check(left, right)


def test_satisfied_compares_the_smaller_sketch_of_a_pair():
    found = required_sketch_sizes(FAMILIES["path"])
    worst = found.pairs.max()
    assert found.satisfied([worst, worst]).all()
    assert (
        found.satisfied([worst, 1.0]).tolist() == (np.minimum.outer([worst, 1.0], [worst, 1.0]) >= found.pairs).tolist()
    )
    assert not found.satisfied([worst, 1.0])[0, 1]
    with pytest.raises(InputError, match=r"one number for each of 2 graphs, but has shape \(3,\)"):
        found.satisfied([1, 2, 3])
    with pytest.raises(InputError, match="a sketch must have 1 row or more, but that of graph 1 has 0"):
        found.satisfied([4, 0])
    with pytest.raises(InputError, match="rows must hold numbers in rows of one length, but is 'ab'"):
        found.satisfied("ab")


def test_graphs_without_a_common_feature_require_nothing_of_each_other_and_negative_ones_are_refused():
    carbon, oxygen = (Graph.from_edges([(0, 1)], 2, labels=[label] * 2) for label in ("C", "O"))
    assert required_sketch_sizes([carbon, oxygen]).pairs[0, 1] == 0
    negative = Graph.from_edges([(0, 1)], 2, np.array([[1.0], [-0.5]]))
    with pytest.raises(InputError, match=r"features, but node 1 of graph 1 has -0\.5; shift the features\.$"):
        required_sketch_sizes([Graph.from_edges([], 1, np.ones((1, 1))), negative])


def test_nodes_with_norms_of_their_own_are_refused():
    """The left side of the assumption would take C from the sketched nodes, and the right side that of the exact."""
    path = Graph.from_edges([(0, 1), (1, 2)], 3, labels=["C", "C", "O"])
    sketches = [np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]) / np.sqrt(2)]
    with pytest.raises(InputError, match="one C for exact and sketched nodes, but was made with norms='each'"):
        required_sketch_sizes(aggregate_nodes([path], sketches, norms="each"))
    assert required_sketch_sizes(aggregate_nodes([path], sketches, norms="exact")).rows > 0


def test_size_is_infinite_where_the_right_side_is_not_positive():
    """Negative weights make Σ_uv ⟨h̄_u, h̄_v⟩ = 0 while the left side is positive."""
    opposite = Graph(np.array([[0.0, -2.0], [-2.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    other = Graph.from_edges([], 1, np.array([[1.0, 0.0]]))
    assert required_sketch_sizes([opposite, other]).pairs[0, 1] == np.inf


def test_mutag_requires_thousands_of_rows():
    found = required_sketch_sizes(load("MUTAG").graphs)
    assert 3_600 < np.median(found.pairs) < 3_800
    assert 5_400 < found.pairs.max() < 5_500
    assert not found.pays


@pytest.mark.slow
def test_collab_requires_millions_of_rows(shared_data):
    pairs = required_sketch_sizes(load("COLLAB").graphs[::100]).pairs
    assert np.median(pairs[pairs > 0]) == pytest.approx(9e6, rel=0.05)
    assert pairs.max() == pytest.approx(1.3e10, rel=0.05)


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
    graphs, epsilon, T = FAMILIES["continuous features"], 0.3, 2
    found = spectral_sketch_size(graphs, epsilon, T, constant=2.0)
    assert found.powers == (1, 2, 4)
    assert found.largest == 6
    nodes, first, second = entry_errors(graphs)
    x = beta("ams", 6, constant=2.0) / np.sqrt(found.rows)
    error = x * np.linalg.norm(first, 2) + x**2 * np.linalg.norm(second, 2)
    room = min(np.linalg.eigvalsh(moment(t, nodes))[0] / t for t in found.powers)
    FLOAT64.check(error, epsilon * room)


@pytest.mark.parametrize("family", ["path", "clique", "star"])
def test_sketches_of_that_size_approximate_every_moment(family):
    graphs, rng = FAMILIES[family], np.random.default_rng(5)
    found = spectral_sketch_size(graphs, 0.5)
    b = int(found.rows)
    assert 100 < b < 200_000
    sketches = [rng.choice([-1.0, 1.0], (b, g.n_nodes)) / np.sqrt(b) for g in graphs]
    exact, sketched = aggregate_nodes(graphs).exact, aggregate_nodes(graphs, sketches, norms="each").sketched
    for t in found.powers:
        interval = spectral_interval(moment(t, exact), moment(t, sketched))
        assert 0 < interval.epsilon < 0.5
    assert not found.pays


def test_singular_moment_has_no_sufficient_size():
    graphs = FAMILIES["weighted"] + FAMILIES["continuous features"]  # six graphs, three features
    found = spectral_sketch_size(graphs, 0.5)
    assert found.rows == found.condition[0] == np.inf
    on_range = spectral_sketch_size(graphs, 0.5, on_range=True)
    assert np.isfinite(on_range.rows)
    assert on_range.condition == tuple(moment_condition(t, graphs, on_range=True) for t in (1, 2))


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
        spectral_sketch_size(FAMILIES["path"], 1)
    with pytest.raises(InputError, match="T must be an integer, 1 or more, but is 0"):
        spectral_sketch_size(FAMILIES["path"], 0.5, 0)
    with pytest.raises(InputError, match="T must be an integer, 1 or more, but is 0"):
        required_sketch_sizes(FAMILIES["path"], 0)
    for constant in (0, "a", np.inf):
        with pytest.raises(InputError, match=f"constant must be a number above 0, but is {constant!r}"):
            required_sketch_sizes(FAMILIES["path"], constant=constant)
        with pytest.raises(InputError, match=f"constant must be a number above 0, but is {constant!r}"):
            spectral_sketch_size(FAMILIES["path"], 0.5, constant=constant)
    for function in (required_sketch_sizes, lambda graphs: spectral_sketch_size(graphs, 0.5)):
        for graphs in ([], [Graph.from_edges([], 0)]):
            with pytest.raises(InputError, match="source must hold at least one graph with nodes, but holds none"):
                function(graphs)
