"""Cholesky and eigen against literal formulas, refits and two independent implementations."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from tests.solvers.cases import CANCELLED, RIDGE, SOLVED, case, literal, refits

from fastgntk import InputError
from fastgntk.solvers import MatrixSource, _cholesky, solve

pytestmark = pytest.mark.usefixtures("one_blas_thread")

EXACT_SOLVERS = ["cholesky", "eigen"]
WEIGHTED = [False, True]


@pytest.mark.parametrize("weighted", WEIGHTED)
@pytest.mark.parametrize("solver", EXACT_SOLVERS)
class TestFormulas:
    def made(self, solver, weighted):
        problem = case()
        weights = problem.weights if weighted else None
        noise = RIDGE / problem.weights if weighted else np.full(len(problem.K), RIDGE)
        return problem, noise, solve(problem.source, problem.Y, RIDGE, solver=solver, weights=weights)

    def test_coefficients_predictions_and_variances(self, solver, weighted):
        problem, noise, found = self.made(solver, weighted)
        alpha, f, variance = literal(problem.K, noise, problem.Y, problem.cross, problem.diagonal)
        SOLVED.check(found.coefficients, alpha)
        SOLVED.check(found.predict(problem.cross), f)
        CANCELLED.check(found.variance(problem.cross, problem.diagonal), variance)
        assert found.jitter == 0.0
        assert found.basis_indices.tolist() == list(range(len(problem.K)))

    def test_leave_one_out_is_that_of_refits(self, solver, weighted):
        problem, noise, found = self.made(solver, weighted)
        residuals, variances = refits(problem.K, noise, problem.Y)
        SOLVED.check(found.leave_one_out, residuals)
        CANCELLED.check(found.leave_one_out_variance, variances)

    def test_likelihood_is_the_normal_density_and_largest_at_its_scale(self, solver, weighted):
        problem, noise, found = self.made(solver, weighted)
        A = problem.K + np.diag(noise)
        for y, s2, value in zip(problem.Y.T, found.scale2, found.log_marginal_likelihood, strict=True):
            SOLVED.check(value, multivariate_normal(cov=s2 * A).logpdf(y))
            for other in (0.99, 1.01):
                assert multivariate_normal(cov=other * s2 * A).logpdf(y) < value


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
def test_agrees_with_kernel_ridge_of_scikit_learn(solver):
    problem = case()
    model = KernelRidge(alpha=RIDGE, kernel="precomputed").fit(problem.K, problem.Y, sample_weight=problem.weights)
    found = solve(problem.source, problem.Y, RIDGE, solver=solver, weights=problem.weights)
    SOLVED.check(found.predict(problem.cross), model.predict(problem.cross))


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
def test_agrees_with_the_gaussian_process_of_scikit_learn(solver):
    rng = np.random.default_rng(3)
    X, new = rng.standard_normal((25, 2)), rng.standard_normal((7, 2))
    y = np.cos(X[:, 0]) - X[:, 1]
    kernel = RBF(1.3)
    model = GaussianProcessRegressor(kernel, alpha=RIDGE, optimizer=None).fit(X, y)
    mean, deviation = model.predict(new, return_std=True)
    found = solve(MatrixSource(kernel(X)), y, RIDGE, solver=solver)
    SOLVED.check(found.predict(kernel(new, X))[:, 0], mean)
    CANCELLED.check(found.variance(kernel(new, X), np.ones(7)), deviation**2)


@pytest.mark.parametrize("panel", [1, 7, 20, 39])
def test_the_factor_does_not_depend_on_panels(monkeypatch, panel):
    monkeypatch.setattr(_cholesky, "_PANEL", panel)
    problem = case()
    found = solve(problem.source, problem.Y, RIDGE)
    A = problem.K + RIDGE * np.eye(len(problem.K))
    SOLVED.check(np.tril(found.factor), np.linalg.cholesky(A))
    # That a later panel is not definite is noticed: the first rows are, all together are not.
    A[-1, -1] = 0.0
    with pytest.raises(InputError, match=r"K \+ ridge is not positive definite"):
        solve(MatrixSource(A), problem.Y, 1e-3)


@pytest.mark.parametrize("block", [1, 7, 40, 512])
def test_the_diagonal_of_the_inverse_does_not_depend_on_blocks(monkeypatch, block):
    monkeypatch.setattr(_cholesky, "BLOCK", block)
    problem = case()
    A = problem.K + RIDGE * np.eye(len(problem.K))
    L = np.asfortranarray(np.linalg.cholesky(A) + np.triu(np.full_like(A, 7.0), 1))  # rubbish in the upper triangle
    SOLVED.check(_cholesky._inverse_diagonal(L), np.diagonal(np.linalg.inv(A)))
    SOLVED.check(L, np.linalg.cholesky(A))


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
def test_equal_rows_without_a_ridge_get_the_first_jitter_and_say_so(solver, caplog):
    problem = case()
    twice = np.repeat(np.arange(10), 2)
    K = problem.K[np.ix_(twice, twice)]
    y = problem.Y[twice, 0] + np.tile([0.1, -0.1], 10)
    with caplog.at_level(logging.INFO, logger="fastgntk"):
        found = solve(MatrixSource(K), y, 0.0, solver=solver)
    assert found.jitter == pytest.approx(1e-10 * np.diagonal(K).mean())
    assert f"{found.jitter:.1e}" in caplog.text
    # Both of a pair are predicted by what lies between them.
    np.testing.assert_allclose(found.predict(K[:, found.basis_indices])[:, 0], problem.Y[twice, 0], atol=1e-4)
    assert np.isfinite(found.leave_one_out).all()
    assert (found.variance(K[:, found.basis_indices], np.diagonal(K)) >= 0.0).all()


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
@pytest.mark.parametrize("scale", [0.0, 3.0], ids=["alike", "of many sizes"])
@pytest.mark.parametrize("n", [2, 6, 40])
def test_a_singular_matrix_gets_a_jitter_whichever_way_rounding_goes(solver, n, scale):
    """The last pivot, or the smallest eigenvalue, is rounding: about half of these come out above 0."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, n - 1)) * 10.0 ** rng.uniform(-scale, scale, (n, 1))
        assert solve(MatrixSource(X @ X.T), np.arange(float(n)), 0.0, solver=solver).jitter > 0.0


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
def test_a_matrix_that_is_only_ill_conditioned_gets_none(solver):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 40)))[0]
    K = Q * np.geomspace(1.0, 1e-11, 40) @ Q.T
    assert solve(MatrixSource((K + K.T) / 2), np.arange(40.0), 0.0, solver=solver).jitter == 0.0


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
def test_a_jitter_acts_as_a_ridge_of_that_size_also_with_weights(solver):
    problem = case()
    twice = np.repeat(np.arange(20), 2)
    source, Y = MatrixSource(problem.K[np.ix_(twice, twice)]), problem.Y[:40]
    found = solve(source, Y, 0.0, solver=solver, weights=problem.weights)
    assert found.jitter > 0.0
    SOLVED.check(
        found.coefficients, solve(source, Y, found.jitter, solver=solver, weights=problem.weights).coefficients
    )


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
def test_more_jitter_where_the_first_does_not_do(solver):
    problem = case()
    values, vectors = np.linalg.eigh(problem.K)
    values[0] = -3e-7 * problem.K.diagonal().mean()
    K = vectors * values @ vectors.T
    found = solve(MatrixSource(K), problem.Y, 0.0, solver=solver)
    assert found.jitter == pytest.approx(1e-6 * K.diagonal().mean())


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
def test_an_indefinite_matrix_is_refused_with_its_smallest_eigenvalue(solver):
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(
        InputError, match=r"smallest eigenvalue of K is -1\.000e\+00.*ridge 1\.000e-01.*above 1\.0e\+00"
    ):
        solve(MatrixSource(K), [1.0, 2.0], 0.1, solver=solver)


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
def test_a_kernel_of_zeros_needs_a_ridge(solver):
    zeros = MatrixSource(np.zeros((3, 3)))
    with pytest.raises(InputError, match="ridge"):
        solve(zeros, [1.0, 0.0, -1.0], 0.0, solver=solver)
    assert solve(zeros, [1.0, 0.0, -1.0], 0.5, solver=solver).coefficients[:, 0].tolist() == pytest.approx(
        [2.0, 0.0, -2.0]
    )


def test_the_matrix_that_was_passed_is_not_written_to():
    problem = case()
    before = problem.K.copy()
    for solver in EXACT_SOLVERS:
        solve(problem.source, problem.Y, RIDGE, solver=solver)
    assert np.array_equal(problem.K, before)
