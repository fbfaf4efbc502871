"""Random maps for random features: a structured Gaussian matrix, and a sketch of Kronecker products.

Fastfood (Le, Sarlós and Smola 2013) multiplies with a Gaussian matrix in O(m log d) operations instead of O(m d).
TensorSketch (Pham and Pagh 2013) sketches the Kronecker product of two vectors without forming it.
"""

import numpy as np
from scipy import fft

from fastgntk._util.arrays import Floats
from fastgntk.sketch._hadamard import hadamard_transform, padded_size
from fastgntk.sketch._matrices import CountSketch

__all__ = ["GaussianProjection", "TensorSketch"]


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

    def __call__(self, matrix: Floats) -> Floats:
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


class TensorSketch:
    """A random map of pairs (a, b) to vectors t of ``size`` entries with E ⟨t, t'⟩ = ⟨a, a'⟩ ⟨b, b'⟩.

    Each of the two is count-sketched, and the sketches are convolved: that is the count sketch of all products a_i b_j
    with the sum of both hashes as hash, in O(size log size) operations.

    >>> T = TensorSketch(4, 2, 3, np.random.default_rng(0))
    >>> T(np.ones((2, 5)), np.ones((3, 5))).shape
    (4, 5)
    """

    def __init__(self, size: int, left: int, right: int, rng: np.random.Generator) -> None:
        self.size = size
        self._left, self._right = CountSketch.draw(left, size, rng), CountSketch.draw(right, size, rng)

    def __call__(self, left: Floats, right: Floats) -> Floats:
        """Return the sketches of m pairs, columns of two matrices with m columns each, in their precision."""
        spectrum = fft.rfft(self._left.left(left), axis=0)
        spectrum *= fft.rfft(self._right.left(right), axis=0)
        product: Floats = fft.irfft(spectrum, n=self.size, axis=0, overwrite_x=True)
        return product
