"""The path over ridges, and equal rows merged."""

from __future__ import annotations

import numpy as np
import pytest
from tests.solvers.cases import CANCELLED, RIDGE, SOLVED, case

from fastgntk import InputError
from fastgntk.solvers import EigenPath, MatrixSource, _eigen, solve

pytestmark = pytest.mark.usefixtures("one_blas_thread")

RIDGES = [3.0, 0.05, 0.4]
DISTINCT_INDEX = np.array([4, 0, 2, 2, 1, 4, 4, 3, 0, 5, 2, 4])  # one to four equal rows


def merged_case():
    """Targets of equal rows differ, as measurements of equal molecules do."""
    problem = case()
    K = problem.K[:6, :6]
    return (
        K,
        K[np.ix_(DISTINCT_INDEX, DISTINCT_INDEX)],
        problem.Y[: len(DISTINCT_INDEX)],
        problem.weights[: len(DISTINCT_INDEX)],
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_every_ridge_is_a_solution_of_its_own(weighted):
    problem = case()
    weights = problem.weights if weighted else None
    path = EigenPath(problem.K, weights=weights)
    for i, ridge in enumerate(RIDGES):
        alone = solve(problem.source, problem.Y, ridge, weights=weights)
        SOLVED.check(path.coefficients(problem.Y, RIDGES)[i], alone.coefficients)
        SOLVED.check(path.leave_one_out(problem.Y, RIDGES)[i], alone.leave_one_out)
        SOLVED.check(path.leave_one_out_variance(RIDGES)[i], alone.leave_one_out_variance)
        SOLVED.check(path.log_marginal_likelihood(problem.Y, RIDGES)[i], alone.log_marginal_likelihood)
        SOLVED.check(path.scale2(problem.Y, RIDGES)[i], alone.scale2)


@pytest.mark.parametrize("distinct_only", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_merged_equals_unmerged(weighted, distinct_only):
    K_distinct, K, Y, w = merged_case()
    weights = w if weighted else None
    merged = EigenPath(K_distinct if distinct_only else K, DISTINCT_INDEX, weights=weights)
    assert merged._vectors.shape == (6, 6)
    whole = EigenPath(K, weights=weights)
    SOLVED.check(merged.leave_one_out(Y, RIDGES), whole.leave_one_out(Y, RIDGES))
    SOLVED.check(merged.leave_one_out_variance(RIDGES), whole.leave_one_out_variance(RIDGES))
    SOLVED.check(merged.log_marginal_likelihood(Y, RIDGES), whole.log_marginal_likelihood(Y, RIDGES))
    SOLVED.check(merged.scale2(Y, RIDGES), whole.scale2(Y, RIDGES))
    # A coefficient is the sum over equal rows.
    sums = np.stack([whole.coefficients(Y, RIDGES)[:, g == DISTINCT_INDEX].sum(axis=1) for g in range(6)], axis=1)
    SOLVED.check(merged.coefficients(Y, RIDGES), sums)
    assert merged.first_rows.tolist() == [1, 4, 2, 7, 0, 9]
    few, many = merged.solution(Y, RIDGE), whole.solution(Y, RIDGE)
    cross = K[:5] * np.linspace(0.2, 1.0, 5)[:, None]
    SOLVED.check(few.predict(cross[:, few.basis_indices]), many.predict(cross))
    CANCELLED.check(
        few.variance(cross[:, few.basis_indices], np.diagonal(K)[:5]), many.variance(cross, np.diagonal(K)[:5])
    )


def test_merged_rows_without_a_ridge_get_a_jitter():
    _, K, Y, _ = merged_case()
    assert EigenPath(K).jitter([0.0, 1.0]).tolist() == pytest.approx([1e-10 * K.diagonal().mean(), 0.0])
    assert EigenPath(K, DISTINCT_INDEX).jitter([0.0, 1.0]).tolist() == EigenPath(K).jitter([0.0, 1.0]).tolist()
    assert np.isfinite(EigenPath(K, DISTINCT_INDEX).leave_one_out(Y, [0.0])).all()


def test_distinct_index_in_any_order_of_numbers():
    _, K, Y, _ = merged_case()
    SOLVED.check(
        EigenPath(K, 100 - 7 * DISTINCT_INDEX).leave_one_out(Y, RIDGES),
        EigenPath(K, DISTINCT_INDEX).leave_one_out(Y, RIDGES),
    )
    distinct = case().K[:6, :6]
    y = np.arange(6.0)
    SOLVED.check(
        EigenPath(distinct, [3, 1, 0, 2, 5, 4]).leave_one_out(y, RIDGES), EigenPath(distinct).leave_one_out(y, RIDGES)
    )


@pytest.mark.parametrize("block", [2, 5])
def test_blocks_of_rows_change_nothing(monkeypatch, block):
    _, K, _, _ = merged_case()
    whole = EigenPath(K, DISTINCT_INDEX).leave_one_out_variance(RIDGES)
    monkeypatch.setattr(_eigen, "BLOCK", block)
    SOLVED.check(EigenPath(K, DISTINCT_INDEX).leave_one_out_variance(RIDGES), whole)


def test_different_rows_with_the_same_index_are_refused(monkeypatch):
    monkeypatch.setattr(_eigen, "BLOCK", 5)
    _, K, _, _ = merged_case()
    wrong = DISTINCT_INDEX.copy()
    wrong[9] = 3
    with pytest.raises(InputError, match=r"graphs 7 and 9, but their kernel rows are \d\.\de[+-]\d+ apart"):
        EigenPath(K, wrong)
    with pytest.raises(InputError, match="12 graphs and 6 distinct values, but K has 7 rows"):
        EigenPath(case().K[:7, :7], DISTINCT_INDEX)
    with pytest.raises(InputError, match="one integer for each graph"):
        EigenPath(K, DISTINCT_INDEX + 0.5)


def test_losses_of_ridges_are_those_of_refits():
    problem = case()
    ridges = 10.0 ** np.arange(-6.0, 3.0)
    path = EigenPath(problem.K, weights=problem.weights)
    errors, likelihoods = [], []
    for ridge in ridges:
        found = solve(problem.source, problem.Y, ridge, weights=problem.weights)
        share = problem.weights / problem.weights.sum()
        errors.append(np.mean(share @ found.leave_one_out**2 / (share @ problem.Y**2)))
        likelihoods.append(-found.log_marginal_likelihood.mean())
    SOLVED.check(path.losses(problem.Y, ridges), errors)
    SOLVED.check(path.losses(problem.Y, ridges, "likelihood"), likelihoods)
    assert np.argmin(errors) != np.argmin(likelihoods)
    assert 0 < np.argmin(errors) < len(ridges) - 1


def test_no_target_outweighs_another_by_its_units():
    problem = case()
    path = EigenPath(problem.K)
    SOLVED.check(path.losses(problem.Y * [1.0, 1e6, 1e-6], RIDGES), path.losses(problem.Y, RIDGES))


def test_a_target_of_zeros_has_no_say():
    problem = case()
    path = EigenPath(problem.K)
    for by in ("leave_one_out", "likelihood"):
        with_zeros = path.losses(np.hstack([problem.Y, np.zeros((len(problem.Y), 1))]), RIDGES, by)
        SOLVED.check(with_zeros, path.losses(problem.Y, RIDGES, by))
    with pytest.raises(InputError, match="all targets are 0"):
        path.losses(np.zeros(len(problem.K)), RIDGES)


def test_what_cannot_be_used_is_refused():
    problem = case()
    path = EigenPath(problem.K)
    with pytest.raises(InputError, match="criterion must be one of leave_one_out, likelihood, but is 'r2'"):
        path.losses(problem.Y, RIDGES, "r2")
    with pytest.raises(InputError, match="at least one ridge"):
        path.losses(problem.Y, [])
    with pytest.raises(InputError, match="ridge must be a number, 0 or more"):
        path.jitter([0.1, -0.1])
    with pytest.raises(InputError, match="no graphs"):
        EigenPath(np.zeros((0, 0)))
    assert MatrixSource(problem.K).n == path.n
