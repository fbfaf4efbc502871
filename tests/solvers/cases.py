"""What the tests of the solvers share: small problems, and the literal formulas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tests.tables import Tolerance

from fastgntk.solvers import MatrixSource

# The same formula by another factorisation: condition numbers here are below 1e6, so ten digits are left.
SOLVED = Tolerance(relative=1e-8, absolute=1e-10)
# One minus a leverage, or k(x, x) minus what is explained, of numbers that agree in up to four digits.
CANCELLED = Tolerance(relative=1e-6, absolute=1e-8)
# Conjugate gradients stop at 1e-10 here; the error of the solution is that times a condition number of about 1e3.
ITERATED = Tolerance(relative=1e-5, absolute=1e-6)
CG_TOLERANCE = 1e-10

N, T, K_TARGETS = 40, 12, 3
RIDGE = 0.05


@dataclass(frozen=True)
class Case:
    K: np.ndarray
    Y: np.ndarray
    cross: np.ndarray
    diagonal: np.ndarray
    weights: np.ndarray

    @property
    def source(self) -> MatrixSource:
        return MatrixSource(self.K)


def case(n: int = N, seed: int = 0) -> Case:
    """A smooth kernel with the diagonal of no two points the same, and targets that it can partly express."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + T, 4))
    far = ((X[:, None] - X) ** 2).sum(axis=2)
    size = rng.uniform(0.5, 2.0, n + T)
    kernel = np.sqrt(size[:, None] * size) * np.exp(-far / 6.0)
    Y = np.stack([np.sin(X[:n, 0]), X[:n, 1] * X[:n, 2], rng.standard_normal(n)], axis=1)
    return Case(kernel[:n, :n], Y - Y.mean(axis=0), kernel[n:, :n], kernel.diagonal()[n:], rng.uniform(0.3, 3.0, n))


def literal(K, noise, Y, cross, diagonal):
    """Coefficients, predictions and variances by an explicit inverse."""
    inverse = np.linalg.inv(K + np.diag(noise))
    alpha = inverse @ Y
    return alpha, cross @ alpha, diagonal - np.einsum("ti,ij,tj->t", cross, inverse, cross)


def refits(K, noise, Y, own=None):
    """Leave-one-out residuals and variances with noise, by n refits; ``own`` is the diagonal if K has not got it."""
    own = np.diagonal(K) if own is None else own
    residuals, variances = np.empty_like(Y), np.empty(len(Y))
    for i in range(len(Y)):
        rest = np.delete(np.arange(len(Y)), i)
        _, f, variance = literal(K[np.ix_(rest, rest)], noise[rest], Y[rest], K[i, rest][None], own[i : i + 1])
        residuals[i], variances[i] = Y[i] - f[0], variance[0] + noise[i]
    return residuals, variances
