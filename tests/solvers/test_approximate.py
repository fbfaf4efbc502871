"""Nyström, sketches and conjugate gradients."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.solvers.cases import CANCELLED, CG_TOLERANCE, ITERATED, RIDGE, SOLVED, case, literal, refits

from fastgntk import InputError
from fastgntk.sketch import SKETCHES
from fastgntk.solvers import MatrixSource, SolverOptions, _low_rank, solve
from fastgntk.solvers._low_rank import draw_landmarks

pytestmark = pytest.mark.usefixtures("one_blas_thread")

RANK = 9
LOW_RANK = ["nystrom", "sketched"]
# The mean square of 200 errors, each over its expected square, is about 1; some of them go together.
PROBED = (0.5, 2.0)


class ColumnsOnly:
    """A source without the whole matrix."""

    def __init__(self, K):
        self.n, self._K = len(K), K
        self.requested = []
        self.order = np.arange(self.n)[::-1]  # any order will do

    def full(self):
        raise AssertionError("the whole matrix was requested")

    def columns(self, indices):
        self.requested.append(np.asarray(indices))
        return self._K[:, indices]

    def diagonal(self):
        return np.diagonal(self._K)


def drawn(solver, n, seed=0):
    """S as the solver draws it, as a dense matrix."""
    if solver == "nystrom":
        return np.eye(n)[draw_landmarks(n, RANK, seed)]
    return SKETCHES["sparse"](n, RANK, np.random.Generator(np.random.PCG64(seed))).dense()


def fitc(problem, rank):
    """What landmarks express of K, and the rest of its diagonal added to the noise."""
    landmarks = draw_landmarks(len(problem.K), rank, 0)
    Q = problem.K[:, landmarks] @ np.linalg.inv(problem.K[np.ix_(landmarks, landmarks)]) @ problem.K[landmarks]
    return Q, RIDGE + np.diagonal(problem.K - Q)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", [*LOW_RANK, "cg"])
def test_at_full_rank_all_are_exact(solver, weighted):
    problem = case()
    weights = problem.weights if weighted else None
    exact = solve(problem.source, problem.Y, RIDGE, weights=weights)
    # The poorest of sketches: drawn with n rows, it would not be invertible.
    options = SolverOptions(rank=1000, sketch="countsketch", tolerance=CG_TOLERANCE)
    found = solve(problem.source, problem.Y, RIDGE, solver=solver, weights=weights, options=options)
    assert found.rank == len(problem.K)
    tight = ITERATED if solver == "cg" else SOLVED
    tight.check(found.predict(problem.cross), exact.predict(problem.cross))
    tight.check(found.scale2, exact.scale2)
    CANCELLED.check(found.leave_one_out, exact.leave_one_out)
    CANCELLED.check(found.leave_one_out_variance, exact.leave_one_out_variance)
    CANCELLED.check(found.variance(problem.cross, problem.diagonal), exact.variance(problem.cross, problem.diagonal))
    if solver == "cg":
        assert np.isnan(found.log_marginal_likelihood).all()
    else:
        SOLVED.check(found.log_marginal_likelihood, exact.log_marginal_likelihood)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", LOW_RANK)
class TestLowRank:
    """The model with covariance K Sᵀ (S K Sᵀ)⁻¹ S K + D, written out."""

    def made(self, solver, weighted):
        problem = case()
        n = len(problem.K)
        noise = RIDGE / problem.weights if weighted else np.full(n, RIDGE)
        weights = problem.weights if weighted else None
        found = solve(
            problem.source, problem.Y, RIDGE, solver=solver, options=SolverOptions(rank=RANK), weights=weights
        )
        S = drawn(solver, n)
        project = S.T @ np.linalg.inv(S @ problem.K @ S.T) @ S
        return problem, noise, found, S, project

    def test_solves_the_regression_it_stands_for(self, solver, weighted):
        problem, noise, found, S, _ = self.made(solver, weighted)
        C, G = problem.K @ S.T, S @ problem.K @ S.T
        beta = np.linalg.solve(C.T / noise @ C + G, C.T / noise @ problem.Y)
        SOLVED.check(found.predict(problem.cross[:, found.basis_indices]), problem.cross @ S.T @ beta)
        assert found.coefficients.shape == ((RANK if solver == "nystrom" else len(problem.K)), 3)

    def test_likelihood_is_that_of_the_model(self, solver, weighted):
        problem, noise, found, _, project = self.made(solver, weighted)
        A = problem.K @ project @ problem.K + np.diag(noise)
        for y, s2, value in zip(problem.Y.T, found.scale2, found.log_marginal_likelihood, strict=True):
            SOLVED.check(s2, y @ np.linalg.solve(A, y) / len(y))
            SOLVED.check(value, multivariate_normal(cov=s2 * (A + A.T) / 2).logpdf(y))

    def test_leave_one_out_is_that_of_refits_with_the_same_features(self, solver, weighted):
        problem, noise, found, _, project = self.made(solver, weighted)
        residuals, variances = refits(problem.K @ project @ problem.K, noise, problem.Y, np.diagonal(problem.K))
        CANCELLED.check(found.leave_one_out, residuals)
        CANCELLED.check(found.leave_one_out_variance, variances)

    def test_variance_is_that_of_the_model(self, solver, weighted):
        problem, noise, found, _, project = self.made(solver, weighted)
        cross = problem.cross @ project @ problem.K
        _, _, variance = literal(problem.K @ project @ problem.K, noise, problem.Y, cross, problem.diagonal)
        CANCELLED.check(found.variance(problem.cross[:, found.basis_indices], problem.diagonal), variance)


@pytest.mark.parametrize("solver", LOW_RANK)
def test_the_whole_matrix_is_never_requested(solver, monkeypatch):
    monkeypatch.setattr(_low_rank, "BLOCK", 7)
    problem = case()
    source = ColumnsOnly(problem.K)
    found = solve(source, problem.Y, RIDGE, solver=solver, options=SolverOptions(rank=RANK))
    if solver == "nystrom":
        assert np.concatenate(source.requested).tolist() == found.basis_indices.tolist()
    else:
        assert max(len(block) for block in source.requested) == 7
        assert np.concatenate(source.requested).tolist() == source.order.tolist()
    expected = solve(problem.source, problem.Y, RIDGE, solver=solver, options=SolverOptions(rank=RANK))
    SOLVED.check(found.coefficients, expected.coefficients)


@pytest.mark.parametrize("solver", LOW_RANK)
def test_a_graph_that_the_fit_must_meet_has_a_residual_all_the_same(solver):
    """Its leverage is 1 to the last digit, or a little more by rounding."""
    problem = case()
    weights = np.where(np.arange(len(problem.K)) < 5, 1e20, 1.0)
    found = solve(problem.source, problem.Y, RIDGE, solver=solver, options=SolverOptions(rank=RANK), weights=weights)
    assert np.isfinite(found.leave_one_out).all()
    assert (found.leave_one_out_variance > 0.0).all()


@pytest.mark.parametrize("sketch", SKETCHES)
def test_every_kind_of_sketch_solves_in_its_row_space(sketch):
    problem = case()
    found = solve(problem.source, problem.Y, RIDGE, solver="sketched", options=SolverOptions(rank=30, sketch=sketch))
    S = SKETCHES[sketch](len(problem.K), 30, np.random.Generator(np.random.PCG64(0))).dense()
    SOLVED.check(S.T @ np.linalg.lstsq(S.T, found.coefficients)[0], found.coefficients)  # α = Sᵀ β for some β


def test_landmarks_are_different_graphs_and_come_from_the_seed():
    assert len(set(draw_landmarks(50, 50, 0).tolist())) == 50
    assert draw_landmarks(50, 20, 3).tolist() == draw_landmarks(50, 20, 3).tolist()
    assert draw_landmarks(50, 20, 3).tolist() != draw_landmarks(50, 20, 4).tolist()


@pytest.mark.parametrize("solver", [*LOW_RANK, "cg"])
def test_equal_rows_among_landmarks_do_no_harm(solver):
    problem = case()
    twice = np.repeat(np.arange(20), 2)
    K, Y = problem.K[np.ix_(twice, twice)], problem.Y[:40]
    found = solve(MatrixSource(K), Y, RIDGE, solver=solver, options=SolverOptions(rank=40, tolerance=CG_TOLERANCE))
    exact = solve(MatrixSource(K), Y, RIDGE)
    assert found.rank == 20
    CANCELLED.check(found.predict(K[:, found.basis_indices]), exact.predict(K))
    CANCELLED.check(
        found.variance(problem.cross[:, twice], problem.diagonal),
        exact.variance(problem.cross[:, twice], problem.diagonal),
    )


@pytest.mark.parametrize("solver", [*LOW_RANK, "cg"])
def test_a_ridge_of_zero_is_lifted_and_logged(solver, caplog):
    problem = case()
    with caplog.at_level(logging.INFO, logger="fastgntk"):
        found = solve(problem.source, problem.Y, 0.0, solver=solver, options=SolverOptions(rank=40))
    assert found.jitter == pytest.approx(1e-10 * problem.K.diagonal().mean())
    assert f"{found.jitter:.1e}" in caplog.text
    assert np.isfinite(found.leave_one_out).all()
    # The targets themselves come back as far as so small a ridge lets them.
    np.testing.assert_allclose(found.predict(problem.K[:, found.basis_indices]), problem.Y, atol=1e-4)
    with pytest.raises(InputError, match="the ridge and all kernel values are 0"):
        solve(MatrixSource(np.zeros((3, 3))), [1.0, 0.0, -1.0], 0.0, solver=solver)


@pytest.mark.parametrize("weighted", [False, True])
def test_conjugate_gradients_solve_at_any_rank(weighted):
    problem = case(200)
    weights = problem.weights if weighted else None
    exact = solve(problem.source, problem.Y, RIDGE, weights=weights)
    few, many = (
        solve(
            problem.source,
            problem.Y,
            RIDGE,
            solver="cg",
            weights=weights,
            options=SolverOptions(rank=rank, tolerance=CG_TOLERANCE),
        )
        for rank in (1, 100)
    )
    for found in (few, many):
        ITERATED.check(found.coefficients, exact.coefficients)
        ITERATED.check(found.scale2, exact.scale2)
    assert many.iterations < few.iterations / 2  # what the preconditioner is for
    A = problem.K + np.diag(RIDGE / (problem.weights if weighted else np.ones(200)))
    residual = np.linalg.norm(problem.Y - A @ many.coefficients, axis=0) / np.linalg.norm(problem.Y, axis=0)
    assert (residual <= CG_TOLERANCE).all()


def test_conjugate_gradients_estimate_leave_one_out():
    problem = case(200)
    exact = solve(problem.source, problem.Y, RIDGE)
    found = solve(problem.source, problem.Y, RIDGE, solver="cg", options=SolverOptions(rank=40))
    precision = np.linalg.inv(problem.K + RIDGE * np.eye(200))
    Q, noise = fitc(problem, 40)
    rest = precision - np.linalg.inv(Q + np.diag(noise))
    np.fill_diagonal(rest, 0.0)  # signs have squares of 1: only what is off the diagonal makes an error
    errors = 1.0 / found.leave_one_out_variance - np.diagonal(precision)
    assert PROBED[0] < np.mean(errors**2 / ((rest**2).sum(axis=1) / 32)) < PROBED[1]
    SOLVED.check(1.0 / np.diagonal(precision), exact.leave_one_out_variance)
    SOLVED.check(found.leave_one_out, found.coefficients * found.leave_one_out_variance[:, None])
    again = solve(problem.source, problem.Y, RIDGE, solver="cg", options=SolverOptions(rank=40))
    assert np.array_equal(found.leave_one_out, again.leave_one_out)


def test_the_variance_of_conjugate_gradients_counts_what_landmarks_miss_as_noise():
    problem = case()
    found = solve(problem.source, problem.Y, RIDGE, solver="cg", options=SolverOptions(rank=RANK))
    Q, noise = fitc(problem, RANK)
    landmarks = draw_landmarks(len(problem.K), RANK, 0)
    among = problem.K[np.ix_(landmarks, landmarks)]
    cross = problem.cross[:, landmarks] @ np.linalg.inv(among) @ problem.K[landmarks]
    _, _, variance = literal(Q, noise, problem.Y, cross, problem.diagonal)
    CANCELLED.check(found.variance(problem.cross, problem.diagonal), variance)


def test_conjugate_gradients_that_do_not_converge_report_the_residual():
    problem = case(200)
    options = SolverOptions(rank=2, tolerance=CG_TOLERANCE, max_iterations=3)
    with pytest.raises(
        InputError,
        match=r"residual of \d\.\de[+-]\d\d in 3 iterations, not to the tolerance of 1\.0e-10; raise rank \(now 2\)",
    ):
        solve(problem.source, problem.Y, RIDGE, solver="cg", options=options)


def test_conjugate_gradients_meet_an_indefinite_matrix():
    rng = np.random.default_rng(0)
    V, _ = np.linalg.qr(rng.standard_normal((30, 30)))
    K = V * np.linspace(-1.0, 2.0, 30) @ V.T
    with pytest.raises(
        InputError, match=r"not positive definite: it has a direction p .* = -\d\.\de-\d\d; raise the ridge"
    ):
        solve(MatrixSource(K + K.T), rng.standard_normal(30), 1e-3, solver="cg", options=SolverOptions(rank=3))


def test_conjugate_gradients_leave_a_target_of_zeros_alone():
    problem = case()
    Y = np.stack([problem.Y[:, 0], np.zeros(len(problem.K))], axis=1)
    found = solve(problem.source, Y, RIDGE, solver="cg", options=SolverOptions(rank=RANK))
    assert not found.coefficients[:, 1].any()
    assert found.coefficients[:, 0].any()
