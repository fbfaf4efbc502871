"""Products with a Gaussian matrix in O(m log d) operations instead of O(m d) (Fastfood: Le, Sarlós and Smola 2013)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastgntk.sketch._hadamard import hadamard_transform, padded_size

__all__ = ["GaussianProjection"]


class GaussianProjection:
    """A random matrix W of shape (size, columns); each row by itself is standard Gaussian, rows are not independent.

    W is made of square pieces H G Π H S / sqrt(D), with D the power of two that columns are padded to: H Hadamard
    matrices, S random signs, Π a random order, G independent Gaussians. A row is linear in G and has the covariance
    SᵀHᵀΠᵀ diag(H_rk²) ΠHS / D = I. So any mean of functions of one row each has the expectation that it has for a
    matrix of independent Gaussians.

    >>> W = GaussianProjection(3, 2, np.random.default_rng(0))
    >>> W(np.zeros((2, 5))).shape
    (3, 5)
    """

    def __init__(self, size: int, columns: int, rng: np.random.Generator) -> None:
        self.size, self.columns = size, columns
        width = padded_size(columns)
        pieces = -(-size // width)
        self._signs = np.where(rng.random((pieces, width)) < 0.5, -1.0, 1.0)
        self._orders = np.stack([rng.permutation(width) for _ in range(pieces)])
        self._gaussians = rng.standard_normal((pieces, width)) / np.sqrt(width)

    def __call__(self, matrix: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return W M of shape (size, m) for M of shape (columns, m), in the precision of M."""
        width = self._signs.shape[1]
        out = np.empty((self.size, matrix.shape[1]), dtype=matrix.dtype)
        padded = np.zeros((width, matrix.shape[1]), dtype=matrix.dtype)
        for piece, (signs, order, gaussians) in enumerate(zip(self._signs, self._orders, self._gaussians, strict=True)):
            rows = out[piece * width : (piece + 1) * width]
            np.multiply(matrix, signs[: self.columns, None], out=padded[: self.columns], casting="same_kind")
            mixed = hadamard_transform(padded)[order]
            mixed *= gaussians[:, None].astype(matrix.dtype)
            rows[:] = hadamard_transform(mixed)[: len(rows)]
        return out
