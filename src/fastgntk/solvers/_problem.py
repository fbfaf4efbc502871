"""The regression problem: kernel values, targets, ridge and weights, checked once for all solvers; the jitter."""

import logging
import sys
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import Progress
from fastgntk.errors import InputError, format_numbers
from fastgntk.solvers._options import SolverOptions

__all__ = ["BLOCK", "Jitter", "KernelSource", "MatrixSource", "Problem", "as_ridge", "as_targets", "as_weights"]

_log = logging.getLogger("fastgntk")

BLOCK = 512
"""Rows or columns processed at a time, where all at once would need another matrix of n² entries."""

# The order of summation changes values by far less, and errors in a matrix change them by far more.
_SYMMETRY = 1e-8

# Exponents of ten. A smaller jitter has no effect on sums of a few thousand terms; a larger one is a substantial ridge.
_FIRST_JITTER, _LAST_JITTER = -10, -2


class KernelSource(Protocol):
    """The kernel matrix of n graphs, as solvers access it. Solvers never write to the arrays returned.

    The Nyström and sketched solvers call ``columns`` and ``diagonal`` only, so that the n² values need not exist at
    the same time.
    """

    @property
    def n(self) -> int:
        """Number of graphs."""

    @property
    def order(self) -> Ints:
        """A permutation of 0..n−1, ordered so that adjacent columns are cheap to fetch together."""

    def full(self) -> Array:
        """Return K, of shape (n, n), exactly symmetric up to rounding."""

    def columns(self, indices: Ints) -> Array:
        """Return K[:, indices], of shape (n, m)."""

    def diagonal(self) -> Array:
        """Return the diagonal of K, of shape (n,)."""


class MatrixSource:
    """A kernel matrix in memory, which is not copied.

    >>> MatrixSource(np.array([[2.0, 1.0], [1.0, 3.0]])).columns(np.array([1])).tolist()
    [[1.0], [3.0]]
    """

    def __init__(self, K: Any) -> None:
        matrix = np.asarray(K, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"a kernel matrix must be square, but has shape {matrix.shape}.")
        for start in range(0, len(matrix), BLOCK):  # block by block, to limit memory
            _check_rows(matrix, start)
        self.n = len(matrix)
        self._matrix = matrix
        self.order = np.arange(self.n)

    def full(self) -> Array:
        """Return the matrix itself."""
        return self._matrix

    def columns(self, indices: Ints) -> Array:
        """Return a copy of columns; they are read as rows of the symmetric matrix, which is faster."""
        columns: Array = self._matrix[indices].T
        return columns

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return self._matrix.diagonal()


def _check_rows(matrix: Array, start: int) -> None:
    """Raise an error for a block of rows that is not finite or differs from the columns."""
    rows = matrix[start : start + BLOCK]
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        raise InputError(f"the kernel matrix has {rows[i, j]} in row {start + i}, column {j}; values must be finite.")
    distances = np.abs(rows - matrix[:, start : start + BLOCK].T)
    size = float(np.abs(rows).max(initial=0.0))
    if distances.max(initial=0.0) > _SYMMETRY * size:
        i, j = np.argwhere(distances == distances.max())[0]
        raise InputError(
            f"a kernel matrix must be symmetric, but K[{start + i}, {j}] and K[{j}, {start + i}] are "
            f"{distances[i, j]:.1e} apart; pass the matrix of gram."
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """The arguments of a solver."""

    source: KernelSource
    Y: Array  # (n, k)
    ridge: float
    weights: Array  # (n,)
    options: SolverOptions
    progress: Progress | None = None

    @property
    def rank(self) -> int:
        """Number of landmarks, or of rows of the sketch."""
        return self.options.rank_for(self.source.n)

    def noise(self, jitter: float = 0.0) -> Array:
        """Return the diagonal of A − K: (ρ + jitter) / w, so that a weight of 2 is equivalent to a repeated row."""
        return (self.ridge + jitter) / self.weights

    def report(self, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(done, total)


def as_targets(Y: Any, n: int) -> Array:
    """Return targets as an array of shape (n, k); a single target may have shape (n,)."""
    targets = np.asarray(Y, dtype=np.float64)
    if targets.ndim == 1:
        targets = targets[:, None]
    if targets.ndim != 2 or len(targets) != n or not targets.size:
        raise InputError(
            f"targets must have one row for each of the {n} graphs and at least one column, but have shape "
            f"{np.shape(Y)}."
        )
    wrong = np.flatnonzero(~np.isfinite(targets).all(axis=1))
    if len(wrong):
        raise InputError(
            f"{len(wrong)} of {n} targets are not finite, the first at index {wrong[0]}; leave these graphs out."
        )
    return targets


def as_ridge(ridge: Any, name: str = "ridge") -> float:
    """Return a ridge as a float, 0 or more; ``name`` is the argument in the error message."""
    is_number = isinstance(ridge, int | float | np.integer | np.floating) and not isinstance(ridge, bool)
    if not is_number or not 0.0 <= ridge <= sys.float_info.max:
        raise InputError(f"{name} must be a number, 0 or more, but is {ridge!r}.")
    return float(ridge)


def as_weights(weights: Any, n: int, name: str = "weights") -> Array:
    """Return weights as an array of shape (n,), all 1 for None; ``name`` is the argument in error messages."""
    if weights is None:
        return np.ones(n)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n,):
        raise InputError(f"{name} must have shape ({n},), one weight for each graph, but has shape {values.shape}.")
    wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0.0))).tolist()
    if wrong:
        raise InputError(
            f"{name} must be finite and above 0, but is not for {format_numbers('graph', wrong)}; leave them out."
        )
    return values


@dataclass(frozen=True, eq=False)
class Jitter:
    """Additions to a ridge that make A positive definite: powers of ten, relative to the mean diagonal of K."""

    ridge: float
    mean: float  # mean diagonal of K

    def candidates(self) -> list[float]:
        """Return the additions in the order of trial, starting with 0."""
        return [0.0, *(self.mean * 10.0**power for power in range(_FIRST_JITTER, _LAST_JITTER + 1))]

    def lift(self) -> float:
        """Return the jitter that raises the ridge to at least 1e-10 of the mean diagonal.

        A low-rank model needs noise: without it the covariance of n targets has rank m, and there is no likelihood.
        """
        jitter = max(0.0, self.candidates()[1] - self.ridge)
        if self.ridge + jitter <= 0.0:
            raise InputError("the ridge and all kernel values are 0; give a ridge above 0.")
        self.log(jitter)
        return jitter

    def log(self, jitter: float) -> None:
        """Log the jitter if it is above 0."""
        if jitter > 0.0:
            text = (
                "K + ridge is not positive definite to working precision: added %.1e to the ridge of %.1e, which is "
                "%.0e of the mean %.3g of the diagonal."
            )
            _log.info(text, jitter, self.ridge, jitter / self.mean, self.mean)

    def error(self, smallest: float) -> InputError:
        """Return the error for a matrix whose smallest eigenvalue is too negative for any jitter."""
        return InputError(
            f"K + ridge is not positive definite, not even with {10.0**_LAST_JITTER:g} of the mean diagonal added: the "
            f"smallest eigenvalue of K is {smallest:.3e}, the mean of its diagonal {self.mean:.3e} and ridge "
            f"{self.ridge:.3e}; give a ridge above {max(0.0, -smallest):.1e}, or a kernel that is positive "
            "semi-definite."
        )
