"""Exact solution by a Cholesky factorization, A = L Lᵀ: n³/3 operations, and as many again for leave-one-out."""

import numpy as np
from scipy.linalg import blas, eigvalsh, lapack

from fastgntk._util.arrays import Array
from fastgntk.solvers._problem import BLOCK, Jitter, Problem
from fastgntk.solvers._solution import Solution, likelihood

__all__ = ["cholesky", "lower_factor"]


_PANEL = 4096  # rows and columns factorized by one call of LAPACK


def cholesky(problem: Problem) -> Solution:
    """Solve A α = Y with memory for one matrix besides K.

    A single array has L in its lower triangle and, temporarily, L⁻¹ in its upper triangle, whose columns give the
    diagonal of A⁻¹ = L⁻ᵀ L⁻¹ and so leave-one-out: y_i − f₋ᵢ(x_i) = α_i / (A⁻¹)_ii.
    """
    n, Y = problem.source.n, problem.Y
    problem.report(0, 2)
    L, precision, jitter = _factor(problem)
    alpha, _ = lapack.dpotrs(L, Y, lower=1)
    scale2, log_likelihood = likelihood(np.einsum("ij,ij->j", Y, alpha), 2.0 * float(np.log(L.diagonal()).sum()), n)
    problem.report(2, 2)
    return Solution(
        solver="cholesky",
        basis_indices=np.arange(n),
        coefficients=np.ascontiguousarray(alpha),
        ridge=problem.ridge,
        jitter=jitter,
        scale2=scale2,
        log_marginal_likelihood=log_likelihood,
        leave_one_out=alpha / precision[:, None],
        leave_one_out_variance=1.0 / precision,
        factor=L,
        noise_factor=np.zeros((n, 0)),
        factor_columns=np.arange(n),
        triangular=True,
        rank=n,
    )


def _factor(problem: Problem) -> tuple[Array, Array, float]:
    """Return an array with L in its lower triangle, the diagonal of A⁻¹, and the jitter that was needed.

    By rounding, all pivots of a singular matrix may be positive, and α would be noise. The last pivot does not reveal
    this, because its rounding error grows with the condition of the rest. Σ_i A_ii (A⁻¹)_ii does: it is at least 1 /
    the smallest eigenvalue of A scaled to a unit diagonal. For random singular matrices of 3 to 600 rows with a rank
    deficit of one it was 0.7 / ε or more, and a ridge of 1e-10 · A_ii keeps it below 1e10 n.
    """
    K = problem.source.full()
    diagonal = problem.source.diagonal()
    n = len(K)
    A = np.empty((n, n), order="F")  # the order of LAPACK, to avoid copies
    ladder = Jitter(problem.ridge, float(diagonal.mean()))
    for jitter in ladder.candidates():
        A.T[...] = K  # the transpose of a symmetric matrix, read and written along rows
        shifted = diagonal + problem.noise(jitter)
        np.fill_diagonal(A, shifted)
        definite = lower_factor(A)
        pivots: Array = A.diagonal() ** 2
        if not (definite and (pivots > n * np.finfo(float).eps * shifted).all()):
            continue
        problem.report(1, 2)
        precision = _inverse_diagonal(A)
        if (shifted * precision).sum() < 0.1 / np.finfo(float).eps:
            ladder.log(jitter)
            return A, precision, jitter
    A.T[...] = K
    smallest = eigvalsh(A, subset_by_index=(0, 0), overwrite_a=True, check_finite=False)[0]
    raise ladder.error(float(smallest))


def lower_factor(A: Array) -> bool:
    """Put L into the lower triangle of A, and return whether A is positive definite.

    Panel by panel, because multithreaded OpenBLAS 0.3.30 writes past its buffers in the symmetric products of one
    dpotrf of about 15,000 rows (a crash or wrong numbers; numpy issue 19685). A matrix of one panel takes one dpotrf.
    """
    n = len(A)
    for start in range(0, n, _PANEL):
        stop = min(n, start + _PANEL)
        before = A[start:stop, :start].T
        for first in range(start, n, _PANEL):
            rows = slice(first, first + _PANEL)
            A[rows, start:stop] -= A[rows, :start] @ before
        corner, info = lapack.dpotrf(np.asfortranarray(A[start:stop, start:stop]), lower=1, clean=0, overwrite_a=1)
        if info:
            return False
        A[start:stop, start:stop] = corner
        for first in range(stop, n, _PANEL):
            rows = slice(first, first + _PANEL)
            below = np.asfortranarray(A[rows, start:stop])
            A[rows, start:stop] = blas.dtrsm(1.0, corner, below, side=1, lower=1, trans_a=1, overwrite_b=1)
    return True


def _inverse_diagonal(L: Array) -> Array:
    """Return the diagonal of (L Lᵀ)⁻¹ for L in the lower triangle; the upper triangle is overwritten with zeros."""
    n = len(L)
    diagonal = L.diagonal().copy()
    for start in range(0, n, BLOCK):
        stop = min(n, start + BLOCK)
        L[start:stop, stop:] = L[stop:, start:stop].T
        corner = L[start:stop, start:stop]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
    L, _ = lapack.dtrtri(L, lower=0, overwrite_c=1)  # in the upper triangle only, now L⁻ᵀ
    out = np.empty(n)
    for start in range(0, n, BLOCK):
        stop = min(n, start + BLOCK)
        corner, beyond = L[start:stop, start:stop], L[start:stop, stop:]
        out[start:stop] = (np.triu(corner) ** 2).sum(axis=1) + np.einsum("ij,ij->i", beyond, beyond)
        corner[:] = np.tril(corner)
        beyond[:] = 0.0
    np.fill_diagonal(L, diagonal)
    return out
