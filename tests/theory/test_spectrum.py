"""γ_t and condition numbers equal those from singular values, and the interval is the tightest that holds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from tests.tables import EXACT, FAMILIES, FLOAT64
from tests.theory.test_closed_form import tensors

from fastgntk import Graph, InputError
from fastgntk.datasets import load
from fastgntk.theory import gamma, largest_gamma, moment_condition, spectral_interval


def positive(size: int, rank: int, seed: int) -> np.ndarray:
    B = np.random.default_rng(seed).standard_normal((size, rank))
    return B @ B.T


@pytest.mark.parametrize("t", [1, 2, 3])
def test_gamma_is_frobenius_over_spectral_norm(t):
    graphs = FAMILIES["continuous features"]
    squares = np.linalg.svd(tensors(graphs, t), compute_uv=False) ** 2  # eigenvalues of M_t
    FLOAT64.check(gamma(t, graphs), np.linalg.norm(squares) / squares[0])


def test_gamma_lies_between_one_and_the_root_of_n_and_attains_both():
    orthogonal = [Graph.from_edges([], 1, row[None]) for row in np.eye(5)]
    EXACT.check(gamma(1, orthogonal), np.sqrt(5))
    EXACT.check(gamma(1, [orthogonal[0]] * 5), 1.0)
    assert gamma(1, [FAMILIES["zero features"][1]]) == 1.0


def test_largest_gamma_is_over_one_and_even_powers_up_to_2t():
    graphs = FAMILIES["continuous features"]
    gammas = {t: gamma(t, graphs) for t in range(1, 7)}
    assert largest_gamma(1, graphs) == max(gammas[1], gammas[2])
    assert largest_gamma(3, graphs) == max(gammas[t] for t in (1, 2, 4, 6))
    with pytest.raises(InputError, match="T must be an integer, 1 or more, but is 0"):
        largest_gamma(0, graphs)


def test_gamma_of_mutag():
    graphs = load("MUTAG").graphs
    assert 1.0 < largest_gamma(2, graphs) < 1.001


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "step", "expected"),
    [("PTC", 1, 1.0), ("PROTEINS", 11, 1.003), ("IMDB-BINARY", 10, 1.28), ("COLLAB", 100, 1.03)],
)
def test_gamma_of_data_sets(name, step, expected, shared_data):
    graphs = load(name).graphs[::step]
    assert gamma(1, graphs) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("t", [1, 2, 3])
def test_condition_is_frobenius_norm_over_smallest_singular_value(t):
    graphs = FAMILIES["continuous features"]
    values = np.linalg.svd(tensors(graphs, t), compute_uv=False)
    FLOAT64.check(moment_condition(t, graphs), np.linalg.norm(values) / values[-1])


def test_condition_is_infinite_with_more_graphs_than_features_and_finite_on_the_range():
    graphs = FAMILIES["weighted"] + FAMILIES["continuous features"]  # six graphs, three features
    assert moment_condition(1, graphs) == np.inf
    values = np.linalg.svd(tensors(graphs, 1), compute_uv=False)
    FLOAT64.check(moment_condition(1, graphs, on_range=True), np.linalg.norm(values) / values[2])
    assert np.isfinite(moment_condition(2, graphs))
    assert moment_condition(1, [FAMILIES["zero features"][1]], on_range=True) == np.inf


def test_interval_of_a_regular_matrix_is_that_of_generalised_eigenvalues():
    M, sketched = positive(5, 9, 0), positive(5, 9, 1)
    expected = scipy.linalg.eigh(sketched, M, eigvals_only=True)
    found = spectral_interval(M, sketched)
    FLOAT64.check([found.low, found.high], [expected[0], expected[-1]])
    assert (found.low, found.high) == (found.low_on_range, found.high_on_range)
    assert (found.rank, found.size) == (5, 5)
    FLOAT64.check(found.epsilon, max(1 - expected[0], expected[-1] - 1))


def least(matrix: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(matrix)[0])


def test_lower_end_for_a_singular_matrix_holds_for_all_vectors():
    M, sketched = positive(6, 4, 2), positive(6, 6, 3)
    found = spectral_interval(M, sketched)
    assert least(sketched - 0.999 * found.low * M) > 0
    assert least(sketched - 1.001 * found.low * M) < 0
    assert found.low < found.low_on_range
    assert found.high == np.inf
    assert found.epsilon == np.inf
    assert np.isfinite(found.high_on_range)
    assert found.rank == 4


def test_sketch_with_the_same_null_space_has_a_finite_interval():
    B = np.random.default_rng(4).standard_normal((6, 3))
    C = np.random.default_rng(5).standard_normal((3, 5))
    found = spectral_interval(B @ B.T, B @ C @ C.T @ B.T)
    FLOAT64.check([found.low, found.high], np.linalg.eigvalsh(C @ C.T)[[0, -1]])


def test_different_ranges_of_equal_dimension_have_no_interval():
    # The case of M_1 with more graphs than features: some vector is zero for M̃ and not for M, and the other way round.
    found = spectral_interval(positive(6, 2, 6), positive(6, 2, 7))
    assert found.low == pytest.approx(0.0, abs=FLOAT64.absolute)
    assert found.low >= 0
    assert found.high == np.inf
    assert found.low_on_range > 0


def test_negative_form_on_the_null_space_has_no_lower_end():
    assert spectral_interval(np.diag([1.0, 0.0]), np.diag([1.0, -0.5])).low == -np.inf
    EXACT.check(spectral_interval(np.eye(2), np.diag([1.0, -0.5])).low, -0.5)


@pytest.mark.parametrize(
    ("M", "sketched", "message"),
    [
        (np.ones((2, 3)), np.eye(2), r"M must be a square matrix with at least one row, but has shape \(2, 3\)"),
        (np.eye(2), np.eye(3), "must have the same shape, but have 2 and 3 rows"),
        (np.diag([1.0, -1.0]), np.eye(2), "M must be positive semi-definite, but its smallest eigenvalue is -1"),
        (
            np.array([[1.0, 2.0], [0.0, 1.0]]),
            np.eye(2),
            "M must be symmetric, but differs from its transpose by up to 2",
        ),
        (np.eye(2), np.diag([np.nan, 1.0]), "M_sketched must be finite, but 1 entries are not"),
        (np.zeros((2, 2)), np.eye(2), "M must have a positive eigenvalue, but is zero"),
    ],
)
def test_invalid_matrices_are_refused(M, sketched, message):
    with pytest.raises(InputError, match=message):
        spectral_interval(M, sketched)


def test_no_graphs_are_refused():
    for function in (gamma, moment_condition):
        with pytest.raises(InputError, match="source must hold at least one graph, but holds none"):
            function(1, [])


def test_cut_out_of_range_is_refused():
    with pytest.raises(InputError, match="cut must lie between 0 and 1, but is 0"):
        spectral_interval(np.eye(2), np.eye(2), cut=0)
