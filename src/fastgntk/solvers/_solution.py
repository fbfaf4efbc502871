"""What a solver returns: arrays and numbers only, so that it can be saved as .npy and JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError

__all__ = ["Solution", "likelihood"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The outcome of :func:`solve` for n graphs and k targets.

    What is exact and what is not: ``cholesky`` and ``eigen`` are exact throughout. ``nystrom`` and ``sketched`` are
    exact for the model of low rank that they stand for (Quiñonero-Candela and Rasmussen 2005, "deterministic training
    conditional"), whose features stay as they are when a graph is left out. ``cg`` has exact coefficients and
    ``scale2``, estimates leave-one-out, takes variances from a model of low rank, and has no likelihood.
    """

    solver: str
    basis: Ints
    """The graphs that carry coefficients, m of n: all of them, landmarks, or one of each kind of equal ones."""
    coefficients: Array
    """α, of shape (m, k): f(x) = Σ_j α_j k(x, basis_j)."""
    ridge: float
    """The ridge that was given."""
    jitter: float
    """What was added to the ridge so that A is positive definite; usually 0."""
    scale2: Array
    """s² for each target (k,), that of the largest likelihood: yᵀ A⁻¹ y / n."""
    log_marginal_likelihood: Array
    """At that s² (k,); infinite for a target that is 0 throughout, NaN for ``cg``. That of a model of low rank is no
    bound for the exact one, to either side."""
    leave_one_out: Array
    """y_i − f₋ᵢ(x_i), of shape (n, k), where f₋ᵢ never saw graph i."""
    leave_one_out_variance: Array
    """Variance of that residual with noise, of shape (n,), in units of s²."""
    factor: Array
    """F of shape (p, r), or if ``triangular`` L of shape (p, p): what ``variance`` takes off."""
    noise_factor: Array
    """H of shape (p, q): what ``variance`` adds, as weights of m features are not known for certain; q = 0 if exact."""
    landmarks: Ints
    """Which columns of a cross matrix the factors act on, p of m."""
    triangular: bool = False
    rank: int
    """How many features the solver worked with; n if exact."""
    iterations: int = 0
    """Steps of conjugate gradients; 0 for the others."""

    def predict(self, cross: Any) -> Array:
        """Return f, of shape (t, k), from the kernel between t graphs and the basis, of shape (t, m)."""
        predicted: Array = self._checked(cross) @ self.coefficients
        return predicted

    def variance(self, cross: Any, diagonal: Any) -> Array:
        """Return the posterior variance of f for t graphs, without noise, in units of s²; never negative.

        ``cross`` (t, m) is the kernel between these graphs and the basis, ``diagonal`` (t,) that of each with itself.

            exact           k(x, x) − k_xᵀ A⁻¹ k_x
            of low rank     k(x, x) − ‖Fᵀ k_x‖² + ‖Hᵀ k_x‖²

        The second is larger than the first for most graphs and smaller for some. The part of f that the features cannot
        express counts as wholly unknown: larger. That training graphs have such a part too is not counted by
        ``nystrom`` and ``sketched``, and as noise by ``cg``: smaller where the features express x well, which is near
        landmarks. Figures: ``benchmarks/solvers.py``.
        """
        k_x = self._checked(cross)
        k_xx = np.asarray(diagonal, dtype=np.float64)
        if k_xx.shape != (len(k_x),):
            raise InputError(f"diagonal must have one value for each of {len(k_x)} graphs, but has shape {k_xx.shape}.")
        if len(self.landmarks) < k_x.shape[1]:
            k_x = k_x[:, self.landmarks]
        if self.triangular:
            explained, _ = lapack.dtrtrs(self.factor, k_x.T, lower=1)
        else:
            explained = self.factor.T @ k_x.T
        uncertain = k_x @ self.noise_factor
        # The difference of two equal numbers may come out below 0.
        rest = np.maximum(k_xx - np.einsum("ij,ij->j", explained, explained), 0.0)
        return np.asarray(rest + np.einsum("ij,ij->i", uncertain, uncertain))

    def predictive_deviation(self, cross: Any, diagonal: Any, noise: float) -> Array:
        """Return standard deviations (t, k) of new measurements with this variance of the noise in units of s²."""
        return np.sqrt(np.multiply.outer(self.variance(cross, diagonal) + noise, self.scale2))

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, str | float | bool]]:
        """Return arrays for .npy and plain values for JSON."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        return arrays, {name: value for name, value in values.items() if name not in arrays}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, Any]) -> Self:
        """Restore a solution from the output of :meth:`to_arrays`."""
        values = {**arrays, **numbers}
        names = {f.name for f in fields(cls)}
        if set(values) != names:
            wrong = sorted(set(values) ^ names)
            raise InputError(f"a solution has the fields {', '.join(sorted(names))}; {wrong[0]} is missing or unknown.")
        return cls(**values)

    def _checked(self, cross: Any) -> Array:
        rows = np.asarray(cross, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.basis):
            raise InputError(
                f"cross must have a column for each of the {len(self.basis)} graphs of the basis, but has shape "
                f"{rows.shape}."
            )
        return rows


def likelihood(quadratic: Array, log_determinant: Array | float, n: int) -> tuple[Array, Array]:
    """Return s² and the logarithm of the marginal likelihood there, from yᵀ A⁻¹ y and log |A|.

    log N(y; 0, s² A) at s² = yᵀ A⁻¹ y / n is −½ (n log(2π s²) + log |A| + n).
    """
    scale2 = np.maximum(quadratic, 0.0) / n
    with np.errstate(divide="ignore"):  # a target that is 0 throughout: any s² above 0 is too large
        return scale2, -0.5 * (n * np.log(2.0 * np.pi * scale2) + log_determinant + n)
