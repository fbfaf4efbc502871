"""Regression on m features instead of the whole of K: Nyström, sketched, or features that are given.

Take m functions Σ_i S_ji k(·, x_i) for S (m, n): rows of the unit matrix (Nyström) or a random matrix (sketch). With
C = K Sᵀ (n, m) and G = S K Sᵀ (m, m), an orthonormal basis of what these functions span has at the n graphs the values
Φ = C G^(−½), and Φ Φᵀ = C G⁻¹ Cᵀ approximates K from below. What is solved is, with D = ρ W⁻¹,

    min over b of ‖D^(−½) (y − Φ b)‖² + ‖b‖²,

the model of covariance Φ Φᵀ + D. By the orthogonal factor of the two stacked, [D^(−½) Φ; I] = [Q₁; Q₂] R, and not by
normal equations, which would square a condition number that is large for small ridges.

What the features cannot express, k(x_i, x_i) − ‖φ_i‖², is left out of this model (deterministic training conditional,
DTC). It may be added to D as if it were noise (fully independent training conditional, FITC): a covariance with the
right diagonal, of no use for f, as it would weigh graphs by how near they are to landmarks, but closer to A.

``nystrom`` takes m columns of K, those of landmarks, and nothing else of it (Williams and Seeger 2001). ``sketched``
has α = Sᵀ β with a random S (Yang, Pilanci and Wainwright 2017; Jiang et al. 2022).

``regress_on_features`` takes given features Φ, the last one constant, in blocks: O(n m²) operations, no memory that
grows with n m. The minimum of ‖W^(½) (y − Φ b)‖² + ρ ‖b‖² is the same as above. The triangle of the
orthogonal factorization of [W^(½) Φ, W^(½) Y] is brought up to date block by block, and sqrt(ρ) I is stacked below at
the end. A second pass gives residuals and leverages h_i = w_i φ_iᵀ (Φᵀ W Φ + ρ I)⁻¹ φ_i, and with them leave-one-out.
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
    """Solve on the span of the landmarks' columns: n m kernel values, O(n m²) operations, coefficients for m graphs."""
    model, landmarks, jitter = landmark_model(problem)
    return low_rank_solution(problem, model, jitter, "nystrom", landmarks, model.whiten, model.noise_factor())


def sketched(problem: Problem) -> Solution:
    """Solve on the span of m random combinations of columns; every graph keeps a coefficient.

    All n² kernel values are computed, a block of columns at a time, but only n m numbers kept. A rank of n takes the
    unit matrix for S, and is exact.
    """
    source, n = problem.source, problem.source.n
    diagonal = source.diagonal()
    jitter = Jitter(problem.ridge, float(diagonal.mean())).lift()
    rng = generator(problem.random_state)
    S = SKETCHES[problem.sketch](n, problem.rank, rng) if problem.rank < n else None
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
    """The model of low rank, before it has seen targets."""

    features: Array  # Φ (n, r)
    whiten: Array  # G^(−½) (m, r), directions that are 0 to working precision left out
    Q1: Array  # (n, r)
    R: Array  # (r, r), upper triangle
    noise: Array  # D (n,), with FITC more than ρ / w
    unexpressed: Array  # k(x_i, x_i) − ‖φ_i‖², (n,): what the features cannot express

    def free(self) -> Array:
        """Return 1 − h_i, of shape (n,): how much of a target the fit does not follow; h is the diagonal of Q₁ Q₁ᵀ.

        Divided by the noise it is the diagonal of (Φ Φᵀ + D)⁻¹.
        """
        # At a leverage of 1 the difference is rounding; nothing smaller than that can be distinguished from it.
        return np.asarray(np.maximum(1.0 - np.einsum("ij,ij->i", self.Q1, self.Q1), np.finfo(float).eps))

    def noise_factor(self) -> Array:
        """Return G^(−½) R⁻¹, of shape (m, r): the uncertainty of b, seen from kernel values."""
        return np.asarray(solve_triangular(self.R, self.whiten.T, trans="T").T)

    def precondition(self, residual: Array) -> Array:
        """Return (Φ Φᵀ + D)⁻¹ times (n, k), in O(n r k)."""
        root = np.sqrt(self.noise)[:, None]
        scaled = residual / root
        return np.asarray((scaled - self.Q1 @ (self.Q1.T @ scaled)) / root)


def low_rank(C: Array, G: Array, diagonal: Array, noise: Array, *, fitc: bool = False) -> LowRank:
    """Build the model from K Sᵀ and S K Sᵀ: O(n m²)."""
    values, vectors = eigh((G + G.T) / 2.0, overwrite_a=True, check_finite=False)
    # Functions that depend on the others, as equal landmarks do, leave eigenvalues that are rounding only.
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
    """Return the model of low rank on landmarks, the landmarks, and the jitter."""
    source = problem.source
    diagonal = source.diagonal()
    jitter = Jitter(problem.ridge, float(diagonal.mean())).lift()
    landmarks = draw_landmarks(source.n, problem.rank, problem.random_state)
    problem.report(0, 2)
    C = source.columns(landmarks)
    problem.report(1, 2)
    model = low_rank(C, C[landmarks], diagonal, problem.noise(jitter), fitc=fitc)
    problem.report(2, 2)
    return model, landmarks, jitter


def draw_landmarks(n: int, rank: int, random_state: int) -> Ints:
    """Draw landmarks uniformly without replacement, in ascending order.

    Uniformly: on 2,000 random graphs at ranks 50 to 800, draws by what earlier landmarks leave unexpressed (randomly
    pivoted Cholesky) or by ridge leverage were not clearly better, and the greedy choice was so at a rank of 50 only.
    """
    rng = generator(random_state)
    return np.sort(rng.choice(n, rank, replace=False)).astype(np.int64)


def low_rank_solution(
    problem: Problem, model: LowRank, jitter: float, solver: str, basis: Ints, factor: Array, noise_factor: Array
) -> Solution:
    """Fit the targets; the factors, of shape (m, r), lead from kernel values with the basis to features."""
    root = np.sqrt(model.noise)[:, None]
    b = np.asarray(solve_triangular(model.R, model.Q1.T @ (problem.Y / root)))
    residual, free = problem.Y - model.features @ b, model.free()
    # yᵀ (Φ Φᵀ + D)⁻¹ y is what the minimum comes to: a sum of squares, where nothing cancels.
    quadratic = ((residual / root) ** 2).sum(axis=0) + (b**2).sum(axis=0)
    log_determinant = float(np.log(model.noise).sum() + 2.0 * np.log(np.abs(model.R.diagonal())).sum())
    scale2, log_likelihood = likelihood(quadratic, log_determinant, problem.source.n)
    return Solution(
        solver=solver,
        basis=basis,
        alpha=factor @ b,
        ridge=problem.ridge,
        jitter=jitter,
        scale2=scale2,
        log_marginal_likelihood=log_likelihood,
        leave_one_out=residual / free[:, None],
        leave_one_out_variance=1.0 / (free / model.noise) + model.unexpressed,
        factor=factor,
        noise_factor=noise_factor,
        landmarks=np.arange(len(basis)),
        rank=len(model.R),
    )


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
    residual, free = _residual(source, targets, w, b, uncertainty / np.sqrt(noise), scale)
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


def _residual(source: FeatureSource, Y: Array, w: Array, b: Array, inverse: Array, scale: Array) -> tuple[Array, Array]:
    """Return residuals (n, k), and 1 − h_i (n,): how much of a target the fit does not follow."""
    residual, free = np.empty_like(Y), np.empty(len(Y))
    for part, block in source.blocks():
        features = np.column_stack([block * scale[:-1], np.full(len(block), scale[-1])])
        residual[part] = Y[part] - features @ b
        spread = features @ inverse
        free[part] = 1.0 - w[part] * np.einsum("ij,ij->i", spread, spread)
    # At a leverage of 1 the difference is rounding; nothing smaller than that can be distinguished from it.
    return residual, np.maximum(free, np.finfo(float).eps)
