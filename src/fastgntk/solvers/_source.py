"""Where kernel values come from: a matrix in memory, or anything that can compute columns."""

from typing import Any, Protocol

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError

__all__ = ["BLOCK", "KernelSource", "MatrixSource"]


BLOCK = 512
"""Rows or columns that are worked on at a time where all at once would be another matrix of n²."""

# Sums in another order differ by far less, and a matrix that is wrong differs by far more.
_SYMMETRY = 1e-8


class KernelSource(Protocol):
    """The kernel among n things, for the solvers. They never write to what is returned.

    Nyström and sketched solvers call ``columns`` and ``diagonal`` only, so that n² values need not exist at a time.
    """

    n: int

    @property
    def order(self) -> Ints:
        """All of 0..n−1, such that columns of neighbours are quick to get together."""

    def full(self) -> Array:
        """Return K, of shape (n, n), exactly symmetric up to rounding."""

    def columns(self, indices: Ints) -> Array:
        """Return K[:, indices], of shape (n, m)."""

    def diagonal(self) -> Array:
        """Return the diagonal of K, of shape (n,)."""


class MatrixSource:
    """A kernel matrix in memory; it is not copied.

    >>> MatrixSource(np.array([[2.0, 1.0], [1.0, 3.0]])).columns(np.array([1])).tolist()
    [[1.0], [3.0]]
    """

    def __init__(self, K: Any) -> None:
        matrix = np.asarray(K, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"a kernel matrix must be square, but has shape {matrix.shape}.")
        _check_values(matrix)
        self.n = len(matrix)
        self._matrix = matrix
        self.order = np.arange(self.n)

    def full(self) -> Array:
        """Return the matrix itself."""
        return self._matrix

    def columns(self, indices: Ints) -> Array:
        """Return columns as a copy. K is symmetric, and rows are the faster to read."""
        columns: Array = self._matrix[indices].T
        return columns

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return self._matrix.diagonal()


def _check_values(matrix: Array) -> None:
    """Refuse values that are no numbers, and a matrix that is not symmetric; block by block, to need no memory."""
    for start in range(0, len(matrix), BLOCK):
        rows = matrix[start : start + BLOCK]
        if not np.isfinite(rows).all():
            i, j = np.argwhere(~np.isfinite(rows))[0]
            raise InputError(f"the kernel matrix has {rows[i, j]} in row {start + i}, column {j}; leave it out.")
        apart = np.abs(rows - matrix[:, start : start + BLOCK].T)
        size = float(np.abs(rows).max(initial=0.0))
        if apart.max(initial=0.0) > _SYMMETRY * size:
            i, j = np.argwhere(apart == apart.max())[0]
            raise InputError(
                f"a kernel matrix must be symmetric, but K[{start + i}, {j}] and K[{j}, {start + i}] are "
                f"{apart[i, j]:.1e} apart; pass the matrix of gram."
            )
