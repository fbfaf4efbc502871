"""Regression on m features instead of the whole of K: Nyström features, sketched features, or given features.

Take m functions Σ_i S_ji k(·, x_i) with S (m, n) rows of the identity matrix (Nyström) or a random matrix (sketch). Let
C = K Sᵀ (n, m) and G = S K Sᵀ (m, m). An orthonormal basis of the span of these functions has the values
Φ = C G^(−½) at the n graphs, and Φ Φᵀ = C G⁻¹ Cᵀ approximates K from below. With D = ρ W⁻¹, the problem is

    min over b of ‖D^(−½) (y − Φ b)‖² + ‖b‖²,

the model with covariance Φ Φᵀ + D. It is solved by the orthogonal factorization [D^(−½) Φ; I] = [Q₁; Q₂] R, because
normal equations would square a condition number that is large for small ridges.

This model omits the variance that the features cannot express, k(x_i, x_i) − ‖φ_i‖² (deterministic training
conditional, DTC). Adding it to D as if it were noise (fully independent training conditional, FITC) corrects the
diagonal of the covariance and brings it closer to A. For f this is of no use, because graphs would be weighted by
their distance from the landmarks.

``nystrom`` computes only m columns of K, those of landmarks (Williams and Seeger 2001). ``sketched`` has α = Sᵀ β with
a random S (Yang, Pilanci and Wainwright 2017).

``regress_on_features`` takes given features Φ, the last one constant, block by block: O(n m²) operations and no memory
for n m numbers. It minimises ‖W^(½) (y − Φ b)‖² + ρ ‖b‖², the same problem as above. The triangle of the orthogonal
factorization of [W^(½) Φ, W^(½) Y] is updated with each block, and sqrt(ρ) I is stacked below it at the end. A second
pass gives residuals and leverages h_i = w_i φ_iᵀ (Φᵀ W Φ + ρ I)⁻¹ φ_i, and from these leave-one-out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import eigh, lapack, qr, solve_triangular

from fastgntk._util.arrays import Array, Ints
from fastgntk.sketch import SKETCHES, generator
from fastgntk.solvers._problem import BLOCK, Jitter, Problem, as_ridge, as_targets, as_weights
from fastgntk.solvers._solution import Solution, likelihood

__all__ = ["FeatureSource", "LowRank", "landmark_model", "nystrom", "regress_on_features", "sketched"]


def nystrom(problem: Problem) -> Solution:
    """Solve on the span of the columns of m landmarks: n m kernel values, O(n m²) operations, m coefficients."""
    model, landmarks, jitter = landmark_model(problem)
    return low_rank_solution(problem, model, jitter, "nystrom", landmarks, model.whiten, model.noise_factor())


def sketched(problem: Problem) -> Solution:
    """Solve on the span of m random combinations of columns; every graph has a coefficient.

    All n² kernel values are computed, a block of columns at a time, but only n m numbers are stored. With a rank of n,
    S is the identity matrix and the solution is exact.
    """
    source, n = problem.source, problem.source.n
    diagonal = source.diagonal()
    jitter = Jitter(problem.ridge, float(diagonal.mean())).lift()
    rng = generator(problem.options.random_state)
    S = SKETCHES[problem.options.sketch](n, problem.rank, rng) if problem.rank < n else None
    C = np.empty((n, problem.rank))
    for start in range(0, n, BLOCK):
        problem.report(start, n)
        block = source.order[start : start + BLOCK]
        columns = source.columns(block)
        # K is symmetric: rows of K Sᵀ are columns of S K.
        C[block] = columns.T if S is None else S.left(columns).T
    model = low_rank(C, C if S is None else S.left(C), diagonal, problem.noise(jitter))
    factor, noise_factor = model.whiten, model.noise_factor()
    if S is not None:
        expand = S.dense().T  # (n, m)
        factor, noise_factor = expand @ factor, expand @ noise_factor
    problem.report(n, n)
    return low_rank_solution(problem, model, jitter, "sketched", np.arange(n), factor, noise_factor)


@dataclass(frozen=True, eq=False)
class LowRank:
    """A low-rank model of the kernel matrix, independent of targets."""

    features: Array  # Φ (n, r)
    whiten: Array  # G^(−½) (m, r), without directions that are 0 to working precision
    Q1: Array  # (n, r)
    R: Array  # (r, r), upper triangle
    noise: Array  # D (n,), with FITC more than ρ / w
    unexpressed: Array  # (n,): k(x_i, x_i) − ‖φ_i‖², the variance that the features cannot express

    def free(self) -> Array:
        """Return 1 − h, of shape (n,), for the leverages h, the diagonal of Q₁ Q₁ᵀ.

        Divided by the noise, it is the diagonal of (Φ Φᵀ + D)⁻¹.
        """
        # At a leverage of 1 the difference is mere rounding, of about this size.
        return np.asarray(np.maximum(1.0 - np.einsum("ij,ij->i", self.Q1, self.Q1), np.finfo(float).eps))

    def noise_factor(self) -> Array:
        """Return G^(−½) R⁻¹, of shape (m, r), which maps kernel values to the uncertainty of b."""
        return np.asarray(solve_triangular(self.R, self.whiten.T, trans="T").T)

    def precondition(self, residual: Array) -> Array:
        """Return (Φ Φᵀ + D)⁻¹ times (n, k), in O(n r k)."""
        root = np.sqrt(self.noise)[:, None]
        scaled = residual / root
        return np.asarray((scaled - self.Q1 @ (self.Q1.T @ scaled)) / root)


def low_rank(C: Array, G: Array, diagonal: Array, noise: Array, *, fitc: bool = False) -> LowRank:
    """Build the model from K Sᵀ and S K Sᵀ: O(n m²)."""
    values, vectors = eigh((G + G.T) / 2.0, overwrite_a=True, check_finite=False)
    # Linearly dependent functions, such as those of equal landmarks, leave eigenvalues that are mere rounding.
    kept = values > len(G) * np.finfo(float).eps * values[-1]
    whiten = vectors[:, kept] / np.sqrt(values[kept])
    features = C @ whiten
    unexpressed = np.maximum(diagonal - np.einsum("ij,ij->i", features, features), 0.0)
    if fitc:
        noise = noise + unexpressed
    n, r = features.shape
    stacked = np.zeros((n + r, r), order="F")
    stacked[:n] = features / np.sqrt(noise)[:, None]
    stacked[n:] = np.eye(r)
    Q, R = qr(stacked, mode="economic", overwrite_a=True, check_finite=False)
    return LowRank(features, whiten, Q[:n], R, noise, unexpressed)


def landmark_model(problem: Problem, *, fitc: bool = False) -> tuple[LowRank, Ints, float]:
    """Return the low-rank model on landmarks, the landmarks, and the jitter."""
    source = problem.source
    diagonal = source.diagonal()
    jitter = Jitter(problem.ridge, float(diagonal.mean())).lift()
    landmarks = draw_landmarks(source.n, problem.rank, problem.options.random_state)
    problem.report(0, 2)
    C = source.columns(landmarks)
    problem.report(1, 2)
    model = low_rank(C, C[landmarks], diagonal, problem.noise(jitter), fitc=fitc)
    problem.report(2, 2)
    return model, landmarks, jitter


def draw_landmarks(n: int, rank: int, random_state: int) -> Ints:
    """Draw landmarks uniformly without replacement, in ascending order.

    On 2,000 random graphs at ranks 50 to 800, draws by residual variance (randomly pivoted Cholesky) or by ridge
    leverage were not clearly better than uniform draws, and the greedy choice was better at a rank of 50 only.
    """
    rng = generator(random_state)
    return np.sort(rng.choice(n, rank, replace=False)).astype(np.int64)


def low_rank_solution(
    problem: Problem,
    model: LowRank,
    jitter: float,
    solver: str,
    basis_indices: Ints,
    factor: Array,
    noise_factor: Array,
) -> Solution:
    """Fit the targets; the factors, of shape (m, r), map kernel values with the basis to features."""
    root = np.sqrt(model.noise)[:, None]
    b = np.asarray(solve_triangular(model.R, model.Q1.T @ (problem.Y / root)))
    residual, free = problem.Y - model.features @ b, model.free()
    # yᵀ (Φ Φᵀ + D)⁻¹ y is the value of the minimum: a sum of squares, without cancellation.
    quadratic = ((residual / root) ** 2).sum(axis=0) + (b**2).sum(axis=0)
    log_determinant = float(np.log(model.noise).sum() + 2.0 * np.log(np.abs(model.R.diagonal())).sum())
    scale2, log_likelihood = likelihood(quadratic, log_determinant, problem.source.n)
    return Solution(
        solver=solver,
        basis_indices=basis_indices,
        coefficients=factor @ b,
        ridge=problem.ridge,
        jitter=jitter,
        scale2=scale2,
        log_marginal_likelihood=log_likelihood,
        leave_one_out=residual / free[:, None],
        leave_one_out_variance=1.0 / (free / model.noise) + model.unexpressed,
        factor=factor,
        noise_factor=noise_factor,
        factor_columns=np.arange(len(basis_indices)),
        rank=len(model.R),
    )


class FeatureSource(Protocol):
    """Features of n graphs, computed or read in blocks."""

    n: int
    columns: int

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield a slice of the graphs and their features (t, columns); every pass must yield the same."""


def regress_on_features(
    source: FeatureSource, Y: Any, ridge: float, *, weights: Any = None, constant: float = 1.0, scaled: bool = False
) -> tuple[Solution, float]:
    """Solve for the coefficients b (m + 1, k) of the features and, last, of a constant feature.

    ``constant`` is the square of the constant feature. If ``scaled``, all other features are divided by a common number
    so that their squared norms have the (weighted) mean 1. Returns the solution, whose basis consists of features
    instead of graphs, and the square of that number.
    """
    n, targets = source.n, as_targets(Y, source.n)
    rho, w = as_ridge(ridge), as_weights(weights, n)
    R, mean_square = _triangle(source, targets, w)
    m = source.columns + 1
    kernel_scale = (mean_square if scaled else 1.0) or 1.0
    scale = np.append(np.full(m - 1, 1.0 / np.sqrt(kernel_scale)), np.sqrt(constant))
    jitter = Jitter(rho, mean_square / kernel_scale + constant).lift()
    noise = rho + jitter
    R[:, :m] *= scale
    R = _factor(R, np.hstack([np.sqrt(noise) * np.eye(m), np.zeros((m, targets.shape[1]))]))
    b = solve_triangular(R[:m, :m], R[:m, m:], check_finite=False)
    inverse, _ = lapack.dtrtri(np.asfortranarray(R[:m, :m]), lower=0)
    uncertainty = np.ascontiguousarray(np.sqrt(noise) * np.triu(inverse))
    residual, free = _residual(source, targets, w, b, uncertainty / np.sqrt(noise), scale)
    # The rows of the targets below the triangle give the value of the minimum without cancellation.
    quadratic = (R[m:, m:] ** 2).sum(axis=0) / noise
    log_determinant = 2.0 * np.log(np.abs(R.diagonal()[:m])).sum() + (n - m) * np.log(noise) - np.log(w).sum()
    scale2, log_likelihood = likelihood(quadratic, float(log_determinant), n)
    solution = Solution(
        solver="features",
        basis_indices=np.arange(m),
        coefficients=np.ascontiguousarray(b),
        ridge=rho,
        jitter=jitter,
        scale2=scale2,
        log_marginal_likelihood=log_likelihood,
        leave_one_out=residual / free[:, None],
        leave_one_out_variance=noise / (w * free),
        factor=np.zeros((m, 0)),
        noise_factor=uncertainty,
        factor_columns=np.arange(m),
        rank=m,
    )
    return solution, kernel_scale


def _triangle(source: FeatureSource, Y: Array, weights: Array) -> tuple[Array, float]:
    """Return the triangle of [W^(½) Φ, W^(½) Y], with a constant last feature, and the mean ‖φ‖² of the others."""
    R = np.zeros((0, source.columns + 1 + Y.shape[1]))
    squares = 0.0
    for rows, block in source.blocks():
        root = np.sqrt(weights[rows])[:, None]
        squares += float(np.einsum("i,ij,ij->", weights[rows], block, block, optimize=True))
        R = _factor(R, np.hstack([root * block, root, root * Y[rows]]))
    return R, squares / float(weights.sum())


def _factor(R: Array, below: Array) -> Array:
    """Return the triangular factor of a triangle stacked on more rows, with at most as many rows as columns."""
    stacked = np.asfortranarray(np.vstack([R, below]))
    (_, _), triangle = qr(stacked, mode="raw", overwrite_a=True, check_finite=False)
    return np.ascontiguousarray(triangle[: stacked.shape[1]])


def _residual(source: FeatureSource, Y: Array, w: Array, b: Array, inverse: Array, scale: Array) -> tuple[Array, Array]:
    """Return residuals (n, k) and 1 − h (n,) for the leverages h."""
    residual, free = np.empty_like(Y), np.empty(len(Y))
    for rows, block in source.blocks():
        features = np.column_stack([block * scale[:-1], np.full(len(block), scale[-1])])
        residual[rows] = Y[rows] - features @ b
        spread = features @ inverse
        free[rows] = 1.0 - w[rows] * np.einsum("ij,ij->i", spread, spread)
    # At a leverage of 1 the difference is mere rounding, of about this size.
    return residual, np.maximum(free, np.finfo(float).eps)
