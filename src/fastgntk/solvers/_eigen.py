"""Solutions for all ridges from one eigendecomposition, and the choice of a ridge; K may have equal rows.

With equal rows, as of graphs that colour refinement cannot distinguish, K = E K_d Eᵀ, where E (n, m) indicates
which of m distinct rows a row equals, and K_d (m, m) is the kernel matrix of these. With weights w, ω_g their sum over
the rows equal to distinct row g, and Q = W^½ E Ω^(−½), whose columns are orthonormal,

    W^½ A W^½ = Q M Qᵀ + ρ I,        M = Ω^½ K_d Ω^½ = V Λ Vᵀ,
    (W^½ A W^½)⁻¹ = Q V (Λ + ρ)⁻¹ Vᵀ Qᵀ + (I − Q Qᵀ) / ρ.

So m³ operations suffice instead of n³, without approximation. Without equal rows Q is the identity matrix.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np
from scipy.linalg import eigh

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError
from fastgntk.solvers._problem import BLOCK, Jitter, MatrixSource, Problem, as_ridge, as_targets, as_weights
from fastgntk.solvers._solution import Solution, likelihood

__all__ = ["ChooseRidge", "Criterion", "EigenPath", "eigen"]
__all__ += ["choose_ridge_by_error_rate", "choose_ridge_by_squared_error"]

Criterion = Literal["leave_one_out", "likelihood"]

# Rows of equal graphs differ by the order of sums; near λ = 1, κ0 amplifies one ulp to 1e-8 (tests/tables.py).
_SAME_ROW = 1e-6
_TIE = 1.05  # times the smallest error; leave-one-out on a few hundred graphs does not distinguish such ridges


class EigenPath:
    """Leave-one-out, likelihood and coefficients for any number of ridges from one eigendecomposition.

    Parameters
    ----------
    K : array of shape (n, n); with ``distinct_index`` also (m, m), the matrix of the distinct rows
    distinct_index : int array of shape (n,), optional
        Rows with the same index are equal. For a K of shape (m, m) the indices are its rows, 0..m − 1.
    weights : array of shape (n,), optional

    Needs memory for three more matrices of the decomposed size, and keeps one.

    Examples
    --------
    >>> path = EigenPath(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> path.coefficients([1.0, -1.0], [0.0, 1.0])[:, :, 0].round(3).tolist()  # one row for each ridge
    [[1.0, -1.0], [0.5, -0.5]]
    """

    def __init__(self, K: Any, distinct_index: Any = None, *, weights: Any = None) -> None:
        distinct_index, first_rows, K_distinct = _distinct_rows(MatrixSource(K).full(), distinct_index)
        self.n, self.m = len(distinct_index), len(first_rows)
        if self.n == 0:
            raise InputError("there are no graphs to learn from; K has shape (0, 0).")
        self.first_rows = first_rows  # (m,): the first of equal rows, whose graph has the coefficient
        self._weights = as_weights(weights, self.n)
        self._distinct_index = distinct_index
        total = np.bincount(distinct_index, self._weights, self.m)  # Ω
        self._q2 = (
            self._weights / total[distinct_index]
        )  # squared entries of Q, one in each row; 1 if no other row is equal
        self._root = np.sqrt(total)
        self._mean_diagonal = float(K_distinct.diagonal()[distinct_index].mean())
        M = np.empty((self.m, self.m), order="F")
        M.T[...] = K_distinct
        M *= self._root[:, None]
        M *= self._root
        self._values, self._vectors = eigh(M, overwrite_a=True, check_finite=False, driver="evd")

    def jitter(self, ridges: Any) -> Array:
        """Return the additions to ridges that make A positive definite, of shape (R,); usually 0."""
        return np.array([self._jitter(r) for r in _as_ridges(ridges)])

    def coefficients(self, Y: Any, ridges: Any) -> Array:
        """Return α on the ``first_rows``, of shape (R, m, k), summed over equal rows."""
        ridges = self._shifted(ridges)
        inner = self._solved(self._projected(Y)[1], ridges)
        return np.asarray(np.moveaxis(inner * self._root[:, None, None], 1, 0))

    def leave_one_out(self, Y: Any, ridges: Any) -> Array:
        """Return y_i − f₋ᵢ(x_i) = α_i / (A⁻¹)_ii, of shape (R, n, k)."""
        ridges = self._shifted(ridges)
        scaled, inside = self._projected(Y)
        q = np.sqrt(self._q2)
        alpha = np.moveaxis(self._solved(inside, ridges)[self._distinct_index], 1, 0) * q[:, None]  # (R, n, k)
        if self.m < self.n:
            alpha += (scaled - q[:, None] * inside[self._distinct_index]) / ridges[:, None, None]
        residuals = alpha / self._precision(ridges)[:, :, None]
        return np.asarray(residuals / np.sqrt(self._weights)[:, None])

    def leave_one_out_variance(self, ridges: Any) -> Array:
        """Return the variance of these residuals with noise, 1 / (A⁻¹)_ii, of shape (R, n), in units of s²."""
        return np.asarray(1.0 / (self._weights * self._precision(self._shifted(ridges))))

    def scale2(self, Y: Any, ridges: Any) -> Array:
        """Return s² = yᵀ A⁻¹ y / n, of shape (R, k)."""
        return self._likelihood(Y, ridges)[0]

    def log_marginal_likelihood(self, Y: Any, ridges: Any) -> Array:
        """Return the logarithm of the marginal likelihood at that s², of shape (R, k)."""
        return self._likelihood(Y, ridges)[1]

    def losses(self, Y: Any, ridges: Any, criterion: Criterion = "leave_one_out") -> Array:
        """Return the loss of each ridge, of shape (R,); lower is better.

        ``"leave_one_out"``: the weighted mean square of the residuals divided by that of the target. ``"likelihood"``:
        the negative log marginal likelihood. Both are averaged over targets, without those that are all 0.
        """
        if criterion not in get_args(Criterion):
            raise InputError(f"criterion must be one of {', '.join(get_args(Criterion))}, but is {criterion!r}.")
        targets = as_targets(Y, self.n)
        targets = targets[:, np.any(targets != 0.0, axis=0)]
        if not targets.size:
            raise InputError("all targets are 0, so all ridges have the same loss; give targets that vary.")
        if criterion == "likelihood":
            return np.asarray(-self.log_marginal_likelihood(targets, ridges).mean(axis=1))
        fractions = self._weights / self._weights.sum()
        errors = np.einsum("n,rnk->rk", fractions, self.leave_one_out(targets, ridges) ** 2)
        return np.asarray((errors / (fractions @ targets**2)).mean(axis=1))

    def solution(self, Y: Any, ridge: float) -> Solution:
        """Return the solution for one ridge."""
        targets = as_targets(Y, self.n)
        jitter = self._jitter(as_ridge(ridge))
        Jitter(ridge, self._mean_diagonal).log(jitter)
        scale2, log_likelihood = self._likelihood(targets, [ridge])
        return Solution(
            solver="eigen",
            basis_indices=self.first_rows,
            coefficients=self.coefficients(targets, [ridge])[0],
            ridge=float(ridge),
            jitter=jitter,
            scale2=scale2[0],
            log_marginal_likelihood=log_likelihood[0],
            leave_one_out=self.leave_one_out(targets, [ridge])[0],
            leave_one_out_variance=self.leave_one_out_variance([ridge])[0],
            factor=self._root[:, None] * self._vectors / np.sqrt(self._values + ridge + jitter),
            noise_factor=np.zeros((self.m, 0)),
            factor_columns=np.arange(self.m),
            rank=self.m,
        )

    def _jitter(self, ridge: float) -> float:
        smallest, largest = float(self._values[0]), float(self._values[-1])
        if self.m < self.n:
            smallest = min(smallest, 0.0)
        ladder = Jitter(ridge, self._mean_diagonal)
        for jitter in ladder.candidates():
            if smallest + ridge + jitter > self.n * np.finfo(float).eps * max(largest, ridge):
                return jitter
        raise ladder.error(smallest)

    def _shifted(self, ridges: Any) -> Array:
        values = _as_ridges(ridges)
        return values + self.jitter(values)

    def _projected(self, Y: Any) -> tuple[Array, Array]:
        """Return W^½ Y, of shape (n, k), and Qᵀ W^½ Y, of shape (m, k)."""
        scaled = np.sqrt(self._weights)[:, None] * as_targets(Y, self.n)
        inside = np.zeros((self.m, scaled.shape[1]))
        np.add.at(inside, self._distinct_index, np.sqrt(self._q2)[:, None] * scaled)
        return scaled, inside

    def _solved(self, inside: Array, ridges: Array) -> Array:
        """Return (M + ρ)⁻¹ times (m, k), for all ridges at once: of shape (m, R, k)."""
        turned = self._vectors.T @ inside
        shrunk = turned[:, None, :] / (self._values[:, None] + ridges)[:, :, None]
        return np.asarray((self._vectors @ shrunk.reshape(self.m, -1)).reshape(shrunk.shape))

    def _precision(self, ridges: Array) -> Array:
        """Return the diagonal of (W^½ A W^½)⁻¹, of shape (R, n)."""
        shrink = 1.0 / (self._values[:, None] + ridges)  # (m, R)
        inner = np.empty((self.m, len(ridges)))
        for start in range(0, self.m, BLOCK):
            inner[start : start + BLOCK] = self._vectors[start : start + BLOCK] ** 2 @ shrink
        out: Array = self._q2 * inner[self._distinct_index].T
        if self.m < self.n:
            out += (1.0 - self._q2) / ridges[:, None]
        return out

    def _likelihood(self, Y: Any, ridges: Any) -> tuple[Array, Array]:
        ridges = self._shifted(ridges)
        scaled, inside = self._projected(Y)
        shifted = self._values[:, None] + ridges  # (m, R)
        quadratic = (1.0 / shifted).T @ (self._vectors.T @ inside) ** 2
        log_determinant = np.log(shifted).sum(axis=0) - np.log(self._weights).sum()
        if self.m < self.n:
            outside = scaled - np.sqrt(self._q2)[:, None] * inside[self._distinct_index]
            quadratic += (outside**2).sum(axis=0) / ridges[:, None]
            log_determinant += (self.n - self.m) * np.log(ridges)
        return likelihood(quadratic, log_determinant[:, None], self.n)


def eigen(problem: Problem) -> Solution:
    """Solve for one ridge; for several ridges, use :class:`EigenPath`, which decomposes once."""
    problem.report(0, 2)
    path = EigenPath(problem.source.full(), weights=problem.weights)
    problem.report(1, 2)
    solution = path.solution(problem.Y, problem.ridge)
    problem.report(2, 2)
    return solution


ChooseRidge = Callable[[EigenPath, Array, Sequence[float]], tuple[float, float]]
"""choose_ridge(path, Y, ridges) returns the best ridge and its loss; a lower loss is better."""


def choose_ridge_by_squared_error(path: EigenPath, Y: Array, ridges: Sequence[float]) -> tuple[float, float]:
    """Return the most likely ridge among those with nearly the smallest leave-one-out error, and its error.

    If the kernel distinguishes all graphs, the error hardly depends on small ridges, and any of them may have the
    smallest error. The width of intervals depends strongly on the ridge, which the likelihood takes into account.
    """
    errors = path.losses(Y, ridges)
    finalists = np.flatnonzero(errors <= _TIE * errors.min())
    best = finalists[path.losses(Y, np.asarray(ridges)[finalists], "likelihood").argmin()]
    return ridges[best], float(errors[best])


def choose_ridge_by_error_rate(path: EigenPath, Y: Array, ridges: Sequence[float]) -> tuple[float, float]:
    """Return the ridge with the smallest leave-one-out error rate, and its loss: the rate plus a tie-break.

    The tie-break is the squared error, scaled so that it is less than one graph.
    """
    if not Y.any():
        return ridges[0], 0.0
    signs = Y - Y.min(axis=0)  # targets were centred: now 2 for the class, and 0 for all others
    thresholds = Y.min(axis=0) + 1.0
    residuals = path.leave_one_out(Y, ridges)  # (R, n, k)
    values = Y - residuals - thresholds
    if Y.shape[1] == 1:
        misses = np.mean((values > 0) != (signs > 0), axis=(1, 2))
    else:
        misses = np.mean(values.argmax(axis=2) != signs.argmax(axis=1), axis=1)
    squares = np.mean(residuals**2, axis=(1, 2)) / np.mean(Y**2)
    losses = misses + np.minimum(squares, 1.0) * 0.999 / len(Y)
    best = int(losses.argmin())
    return ridges[best], float(losses[best])


def _as_ridges(ridges: Any) -> Array:
    values = np.array([as_ridge(r) for r in np.atleast_1d(np.asarray(ridges, dtype=np.float64))])
    if not len(values):
        raise InputError("ridges must hold at least one ridge, but is empty.")
    return values


def _distinct_rows(K: Array, distinct_index: Any) -> tuple[Ints, Ints, Array]:
    """Return which distinct row each row equals, the first of each set of equal rows, and the matrix of these."""
    if distinct_index is None:
        rows = np.arange(len(K))
        return rows, rows, K
    labels = np.asarray(distinct_index)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise InputError(
            f"distinct_index must be one integer for each graph, but has shape {labels.shape} and dtype {labels.dtype}."
        )
    values, first_rows, index = np.unique(labels, return_index=True, return_inverse=True)
    if len(K) < len(labels) and np.array_equal(values, np.arange(len(K))):
        return index, first_rows, K
    if len(K) != len(labels):
        raise InputError(
            f"distinct_index has {len(labels)} graphs and {len(values)} distinct values, but K has {len(K)} rows; pass "
            f"K of all graphs, or of the distinct ones 0..{len(values) - 1}."
        )
    K_distinct = K[np.ix_(first_rows, first_rows)]
    for start in range(0, len(K), BLOCK):
        stop = start + BLOCK
        distances = np.abs(K[start:stop][:, first_rows] - K_distinct[index[start:stop]]).max(axis=1)
        if distances.max() > _SAME_ROW * float(K.diagonal().max()):
            i = start + int(distances.argmax())
            raise InputError(
                f"distinct_index is the same for graphs {first_rows[index[i]]} and {i}, but their kernel rows are "
                f"{distances.max():.1e} apart; give the same index to equal rows only."
            )
    return index, first_rows, K_distinct
