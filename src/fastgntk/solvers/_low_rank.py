"""Regression on m features, shared by the solvers that do not work with the whole of K.

Take m functions Σ_i S_ji k(·, x_i) for S (m, n): rows of the unit matrix (Nyström) or a random matrix (sketch). With
C = K Sᵀ (n, m) and G = S K Sᵀ (m, m), an orthonormal basis of what these functions span has at the n graphs the values
Φ = C G^(−½), and Φ Φᵀ = C G⁻¹ Cᵀ approximates K from below. What is solved is, with D = ρ W⁻¹,

    min over b of ‖D^(−½) (y − Φ b)‖² + ‖b‖²,

the model of covariance Φ Φᵀ + D. By the orthogonal factor of the two stacked, [D^(−½) Φ; I] = [Q₁; Q₂] R, and not by
normal equations, which would square a condition number that is large for small ridges.

What the features cannot express, k(x_i, x_i) − ‖φ_i‖², is left out of this model (deterministic training conditional,
DTC). It may be added to D as if it were noise (fully independent training conditional, FITC): a covariance with the
right diagonal, of no use for f, as it would weigh graphs by how near they are to landmarks, but closer to A.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, qr, solve_triangular

from fastgntk._util.arrays import Array

__all__ = ["LowRank", "low_rank"]


@dataclass(frozen=True, eq=False)
class LowRank:
    """The model of low rank, before it has seen targets."""

    features: Array  # Φ (n, r)
    whiten: Array  # G^(−½) (m, r), directions that are 0 to working precision left out
    Q1: Array  # (n, r)
    R: Array  # (r, r), upper triangle
    noise: Array  # D (n,), with FITC more than ρ / w
    unexpressed: Array  # k(x_i, x_i) − ‖φ_i‖², (n,): what the features cannot express

    @property
    def rank(self) -> int:
        """How many features are left."""
        return int(self.features.shape[1])

    def coefficients(self, Y: Array) -> Array:
        """Return b, of shape (r, k)."""
        return np.asarray(solve_triangular(self.R, self.Q1.T @ (Y / np.sqrt(self.noise)[:, None])))

    def free(self) -> Array:
        """Return 1 − h_i, of shape (n,): how much of a target the fit does not follow; h is the diagonal of Q₁ Q₁ᵀ."""
        # At a leverage of 1 the difference is rounding; nothing smaller than that can be distinguished from it.
        return np.asarray(np.maximum(1.0 - np.einsum("ij,ij->i", self.Q1, self.Q1), np.finfo(float).eps))

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of (Φ Φᵀ + D)⁻¹, of shape (n,)."""
        return self.free() / self.noise

    def log_determinant(self) -> float:
        """Return log |Φ Φᵀ + D|."""
        return float(np.log(self.noise).sum() + 2.0 * np.log(np.abs(self.R.diagonal())).sum())

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
