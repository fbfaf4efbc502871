"""The result of a solver, which consists of arrays and numbers so that it can be saved as .npy and JSON."""

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
    """Result of :func:`solve` for n graphs and k targets.

    ``cholesky`` and ``eigen`` are exact. ``nystrom`` and ``sketched`` are exact for a low-rank model
    (Quiñonero-Candela and Rasmussen 2005, "deterministic training conditional"), whose features do not change when a
    graph is left out. ``cg`` has exact coefficients and ``scale2``, estimated leave-one-out, variances of a low-rank
    model, and no likelihood.
    """

    solver: str
    basis_indices: Ints
    """Indices of the m graphs with coefficients: all n graphs, landmarks, or the first of equal graphs."""
    coefficients: Array
    """α, of shape (m, k): f(x) = Σ_j α_j k(x, x_j) over the graphs of ``basis_indices``."""
    ridge: float
    """The given ridge."""
    jitter: float
    """Addition to the ridge that makes A positive definite; usually 0."""
    scale2: Array
    """s² of each target (k,), which maximises the likelihood: yᵀ A⁻¹ y / n."""
    log_marginal_likelihood: Array
    """Log marginal likelihood at that s² (k,); infinite for a target that is all 0, NaN for ``cg``. That of a low-rank
    model is neither a lower nor an upper bound of the exact value."""
    leave_one_out: Array
    """y_i − f₋ᵢ(x_i), of shape (n, k), where f₋ᵢ is fitted without graph i."""
    leave_one_out_variance: Array
    """Variance of these residuals including noise, of shape (n,), in units of s²."""
    factor: Array
    """F of shape (p, r), or if ``triangular`` L of shape (p, p): the reduction of ``variance`` by the data."""
    noise_factor: Array
    """H of shape (p, q): the part of ``variance`` due to uncertain weights of features; q = 0 if exact."""
    factor_columns: Ints
    """Indices of the p of m columns of a cross matrix to which the factors apply."""
    triangular: bool = False
    rank: int
    """Number of features of the solver; n if exact."""
    iterations: int = 0
    """Number of conjugate gradient steps; 0 for other solvers."""

    def predict(self, cross: Any) -> Array:
        """Return f, of shape (t, k), from the kernel between t graphs and the basis, of shape (t, m)."""
        predicted: Array = self._checked(cross) @ self.coefficients
        return predicted

    def variance(self, cross: Any, diagonal: Any) -> Array:
        """Return the posterior variance of f for t graphs, without noise, in units of s²; never negative.

        ``cross`` (t, m) is the kernel between these graphs and the basis, ``diagonal`` (t,) that of each with itself.

            exact           k(x, x) − k_xᵀ A⁻¹ k_x
            low rank        k(x, x) − ‖Fᵀ k_x‖² + ‖Hᵀ k_x‖²

        The low-rank variance is larger than the exact variance for most graphs and smaller for some. It is larger
        because the part of f that the features cannot express counts as unknown. It is smaller near landmarks, where
        the features express x well, because ``nystrom`` and ``sketched`` ignore that part of the training graphs, and
        ``cg`` treats it as noise. Figures: ``benchmarks/solvers.py``.
        """
        k_x = self._checked(cross)
        k_xx = np.asarray(diagonal, dtype=np.float64)
        if k_xx.shape != (len(k_x),):
            raise InputError(f"diagonal must have one value for each of {len(k_x)} graphs, but has shape {k_xx.shape}.")
        if len(self.factor_columns) < k_x.shape[1]:
            k_x = k_x[:, self.factor_columns]
        if self.triangular:
            explained, _ = lapack.dtrtrs(self.factor, k_x.T, lower=1)
        else:
            explained = self.factor.T @ k_x.T
        uncertain = k_x @ self.noise_factor
        # By rounding, the difference may be negative.
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
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], scalars: Mapping[str, Any]) -> Self:
        """Restore a solution from the output of :meth:`to_arrays`."""
        values = {**arrays, **scalars}
        names = {f.name for f in fields(cls)}
        if set(values) != names:
            wrong = sorted(set(values) ^ names)
            raise InputError(f"a solution has the fields {', '.join(sorted(names))}; {wrong[0]} is missing or unknown.")
        return cls(**values)

    def _checked(self, cross: Any) -> Array:
        rows = np.asarray(cross, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.basis_indices):
            raise InputError(
                f"cross must have a column for each of the {len(self.basis_indices)} graphs of the basis, but has "
                f"shape {rows.shape}."
            )
        return rows


def likelihood(quadratic: Array, log_determinant: Array | float, n: int) -> tuple[Array, Array]:
    """Return s² and the logarithm of the marginal likelihood there, from yᵀ A⁻¹ y and log |A|.

    log N(y; 0, s² A) at s² = yᵀ A⁻¹ y / n is −½ (n log(2π s²) + log |A| + n).
    """
    scale2 = np.maximum(quadratic, 0.0) / n
    with np.errstate(divide="ignore"):  # a target that is all 0: any s² above 0 is too large
        return scale2, -0.5 * (n * np.log(2.0 * np.pi * scale2) + log_determinant + n)
