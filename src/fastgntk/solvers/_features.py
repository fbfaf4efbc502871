"""Ridge regression on m features of n graphs, which come in blocks: O(n m²) operations, no memory that grows with n m.

With features Φ (n, m), the last one constant, and D = ρ W⁻¹ the model of covariance Φ Φᵀ + D is

    min over b of ‖W^(½) (y − Φ b)‖² + ρ ‖b‖².

The triangle of the orthogonal factorization of [W^(½) Φ, W^(½) Y] is brought up to date block by block, and sqrt(ρ) I
is stacked below at the end: as for models of low rank, normal equations would square a condition number that is large.
A second pass gives residuals and leverages h_i = w_i φ_iᵀ (Φᵀ W Φ + ρ I)⁻¹ φ_i, and with them leave-one-out.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from scipy.linalg import lapack, qr, solve_triangular

from fastgntk._util.arrays import Array
from fastgntk.solvers._problem import Jitter, as_ridge, as_targets, as_weights
from fastgntk.solvers._solution import Solution, likelihood

__all__ = ["FeatureSource", "regress_on_features"]


class FeatureSource(Protocol):
    """Where features of n graphs come from."""

    n: int
    columns: int

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield which graphs, and their features (t, columns); the same every time."""


def regress_on_features(
    source: FeatureSource, Y: Any, ridge: float, *, weights: Any = None, intercept: float = 1.0, in_units: bool = False
) -> tuple[Solution, float]:
    """Solve for the coefficients b (m + 1, k) of the features and, last, of a constant one.

    ``intercept`` is the square of the constant feature. ``in_units`` divides all others by a common number, so that
    their squared norms have the (weighted) mean 1. Returns the solution and the square of that number; in the solution
    features stand where other solvers have graphs.
    """
    n, targets = source.n, as_targets(Y, source.n)
    rho, w = as_ridge(ridge), as_weights(weights, n)
    R, mean_square = _triangle(source, targets, w)
    m = source.columns + 1
    unit = (mean_square if in_units else 1.0) or 1.0
    scale = np.append(np.full(m - 1, 1.0 / np.sqrt(unit)), np.sqrt(intercept))
    jitter = Jitter(rho, mean_square / unit + intercept).lift()
    noise = rho + jitter
    R[:, :m] *= scale
    R = _factor(R, np.hstack([np.sqrt(noise) * np.eye(m), np.zeros((m, targets.shape[1]))]))
    b = solve_triangular(R[:m, :m], R[:m, m:], check_finite=False)
    inverse, _ = lapack.dtrtri(np.asfortranarray(R[:m, :m]), lower=0)
    uncertainty = np.ascontiguousarray(np.sqrt(noise) * np.triu(inverse))
    residual, free = _left(source, targets, w, b, uncertainty / np.sqrt(noise), scale)
    # What is left of the targets below the triangle is all that the minimum comes to: nothing cancels.
    quadratic = (R[m:, m:] ** 2).sum(axis=0) / noise
    log_determinant = 2.0 * np.log(np.abs(R.diagonal()[:m])).sum() + (n - m) * np.log(noise) - np.log(w).sum()
    scale2, log_likelihood = likelihood(quadratic, float(log_determinant), n)
    solution = Solution(
        solver="features",
        basis=np.arange(m),
        alpha=np.ascontiguousarray(b),
        ridge=rho,
        jitter=jitter,
        scale2=scale2,
        log_marginal_likelihood=log_likelihood,
        leave_one_out=residual / free[:, None],
        leave_one_out_variance=noise / (w * free),
        factor=np.zeros((m, 0)),
        noise_factor=uncertainty,
        landmarks=np.arange(m),
        rank=m,
    )
    return solution, unit


def _triangle(source: FeatureSource, Y: Array, weights: Array) -> tuple[Array, float]:
    """Return the triangle of [W^(½) Φ, W^(½) Y], with ones as last feature, and the mean squared norm of the others."""
    R = np.zeros((0, source.columns + 1 + Y.shape[1]))
    squares = 0.0
    for part, block in source.blocks():
        root = np.sqrt(weights[part])[:, None]
        squares += float(np.einsum("i,ij,ij->", weights[part], block, block, optimize=True))
        R = _factor(R, np.hstack([root * block, root, root * Y[part]]))
    return R, squares / float(weights.sum())


def _factor(R: Array, below: Array) -> Array:
    """Return the triangle of a triangle with more rows below it; as many rows as columns, at most."""
    stacked = np.asfortranarray(np.vstack([R, below]))
    (_, _), triangle = qr(stacked, mode="raw", overwrite_a=True, check_finite=False)
    return np.ascontiguousarray(triangle[: stacked.shape[1]])


def _left(
    source: FeatureSource, Y: Array, weights: Array, b: Array, inverse: Array, scale: Array
) -> tuple[Array, Array]:
    """Return residuals (n, k), and 1 − h_i (n,): how much of a target the fit does not follow."""
    residual, free = np.empty_like(Y), np.empty(len(Y))
    for part, block in source.blocks():
        features = np.column_stack([block * scale[:-1], np.full(len(block), scale[-1])])
        residual[part] = Y[part] - features @ b
        spread = features @ inverse
        free[part] = 1.0 - weights[part] * np.einsum("ij,ij->i", spread, spread)
    # At a leverage of 1 the difference is rounding; nothing smaller than that can be distinguished from it.
    return residual, np.maximum(free, np.finfo(float).eps)
