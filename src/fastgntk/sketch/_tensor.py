"""TensorSketch: what the Kronecker product of two vectors would sketch to, without forming it (Pham and Pagh 2013)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from fastgntk.sketch._matrices import CountSketch

__all__ = ["TensorSketch"]


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

    def __call__(self, left: NDArray[np.floating], right: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the sketches of m pairs, columns of two matrices with m columns each, in their precision."""
        spectrum = fft.rfft(self._left.left(left), axis=0)
        spectrum *= fft.rfft(self._right.left(right), axis=0)
        product: NDArray[np.floating] = fft.irfft(spectrum, n=self.size, axis=0, overwrite_x=True)
        return product
