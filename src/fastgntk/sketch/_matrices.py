"""The sketches themselves. Each is S = scale · Z with Z drawn at random, of shape (b, N), and E[SᵀS] = I.

Z is kept apart from the scale because for all but the Gaussian it holds −1, 0 and 1 only: products with counts of
neighbours are then whole numbers, and what cancels, cancels exactly.

The drawing is ours: SciPy's ``clarkson_woodruff_transform`` draws and applies in one step, so that the same S
could not be used twice, and scikit-learn's random projections are estimators over samples.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError
from fastgntk.sketch._hadamard import hadamard_entries, hadamard_transform, padded_size, transform_cost

__all__ = ["AMS", "SKETCHES", "SRHT", "CountSketch", "Gaussian", "SketchMatrix", "SparseEmbedding", "generator"]


class SketchMatrix(ABC):
    """A random matrix S of shape (size, columns) with E[SᵀS] = I.

    Attributes
    ----------
    size : int
        Number b of rows.
    columns : int
        Number N of columns, the size of what is sketched.
    nonzeros : int
        How many entries of each column are not zero.
    unit_columns : bool
        Whether every column has norm 1, not only on average.
    """

    size: int
    columns: int
    nonzeros: int
    unit_columns = True

    @abstractmethod
    def left(self, matrix: Any) -> Array:
        """Return S M, of shape (b, m), for M of shape (N, m), dense or sparse."""

    @abstractmethod
    def dense(self) -> Array:
        """Return S as an array."""

    @abstractmethod
    def cost(self, m: int) -> int:
        """Return the multiply-adds of ``left`` for a dense M with m columns."""

    def right(self, matrix: Any) -> Array:
        """Return M Sᵀ, of shape (m, b), for M of shape (m, N), dense or sparse."""
        return self.left(matrix.T).T


class _Dense(SketchMatrix):
    """A sketch whose entries are all drawn: one product with a b × N matrix, b N multiply-adds a column."""

    def __init__(self, values: Array, scale: float) -> None:
        self.size, self.columns = values.shape
        self.nonzeros = self.size
        self._values, self._scale = values, scale

    def left(self, matrix: Any) -> Array:
        return np.asarray(self._values @ matrix) * self._scale

    def dense(self) -> Array:
        return self._values * self._scale

    def cost(self, m: int) -> int:
        return self.size * self.columns * m


class AMS(_Dense):
    """Random signs over sqrt(b) (Alon, Matias and Szegedy 1999). Cost b N for each column of M.

    >>> S = AMS.draw(4, 2, np.random.default_rng(0))
    >>> np.abs(S.dense()).round(3).tolist()
    [[0.707, 0.707, 0.707, 0.707], [0.707, 0.707, 0.707, 0.707]]
    """

    @classmethod
    def draw(cls, columns: int, size: int, rng: np.random.Generator) -> AMS:
        """Draw every sign independently."""
        return cls(_signs(rng, (size, columns)), 1.0 / math.sqrt(size))


class Gaussian(_Dense):
    """Independent normal entries of variance 1/b. Cost b N for each column of M.

    The squared norm of a column has mean 1 and variance 2/b.
    """

    unit_columns = False

    @classmethod
    def draw(cls, columns: int, size: int, rng: np.random.Generator) -> Gaussian:
        """Draw every entry independently."""
        return cls(rng.standard_normal((size, columns)), 1.0 / math.sqrt(size))


class SRHT(SketchMatrix):
    """b rows of a Hadamard matrix after random flips of sign: S = R H D / sqrt(b) (Ailon and Chazelle 2006).

    N is padded to a power of two n, and the rows are drawn without replacement, so that at b = n the sketch is
    orthogonal: SᵀS = I. Cost the smaller of b N and (number of factors of 64 in n) · 64 n for each column of M, by
    the fast Walsh–Hadamard transform.
    """

    def __init__(self, rows: Ints, flips: Array) -> None:
        self.size, self.columns = len(rows), len(flips)
        self.nonzeros = self.size
        self._rows, self._flips, self._scale = rows, flips, 1.0 / math.sqrt(self.size)

    @classmethod
    def draw(cls, columns: int, size: int, rng: np.random.Generator) -> SRHT:
        """Draw b different rows and N flips."""
        padded = padded_size(columns)
        if size > padded:
            raise InputError(f"an SRHT of {columns} columns has at most {padded} rows, but size is {size}.")
        flips = _signs(rng, (columns,))
        return cls(np.sort(rng.choice(padded, size, replace=False)), flips)

    def left(self, matrix: Any) -> Array:
        """Return S M by the fast transform, or by the rows themselves where these are few or M is sparse."""
        if sparse.issparse(matrix) or not self._fast():
            return np.asarray(self._flipped() @ matrix) * self._scale
        padded = np.zeros((padded_size(self.columns), matrix.shape[1]))
        np.multiply(matrix, self._flips[:, None], out=padded[: self.columns])
        return hadamard_transform(padded)[self._rows] * self._scale

    def dense(self) -> Array:
        """Return S as an array."""
        return self._flipped() * self._scale

    def cost(self, m: int) -> int:
        """Return the multiply-adds of ``left`` for a dense M with m columns."""
        padded = padded_size(self.columns)
        return m * (padded * transform_cost(padded) if self._fast() else self.size * self.columns)

    def _fast(self) -> bool:
        padded = padded_size(self.columns)
        return padded * transform_cost(padded) < self.size * self.columns

    def _flipped(self) -> Array:
        return hadamard_entries(self._rows, np.arange(self.columns)) * self._flips


class SparseEmbedding(SketchMatrix):
    """s signs over sqrt(s) in each column, one in each of s ranges of rows (Kane and Nelson 2014).

    Cost s N for each column of M. ``nonzeros`` is s: 8, or fewer where b is smaller.
    """

    NONZEROS = 8

    def __init__(self, values: sparse.csr_array, nonzeros: int) -> None:
        self.size, self.columns = values.shape
        self.nonzeros = nonzeros
        self._values, self._scale = values, 1.0 / math.sqrt(nonzeros)

    @classmethod
    def draw(cls, columns: int, size: int, rng: np.random.Generator) -> SparseEmbedding:
        """Draw s rows for each column, one from each range, and their signs."""
        s = min(cls.NONZEROS, size)
        bounds = size * np.arange(s + 1) // s
        rows = rng.integers(bounds[:-1], bounds[1:], (columns, s))
        signs = _signs(rng, (columns, s))
        ptr = s * np.arange(columns + 1)
        by_column = sparse.csc_array((signs.ravel(), rows.ravel(), ptr), shape=(size, columns))
        return cls(sparse.csr_array(by_column), s)

    def left(self, matrix: Any) -> Array:
        """Return S M by adding and subtracting rows of M, in single precision if M is in that."""
        product = (self._values.astype(np.float32) if matrix.dtype == np.float32 else self._values) @ matrix
        return np.asarray(product.toarray() if sparse.issparse(product) else product) * self._scale

    def dense(self) -> Array:
        """Return S as an array."""
        return np.asarray(self._values.toarray()) * self._scale

    def cost(self, m: int) -> int:
        """Return the multiply-adds of ``left`` for a dense M with m columns."""
        return self.nonzeros * self.columns * m


class CountSketch(SparseEmbedding):
    """One sign in each column, in a random row (Charikar, Chen and Farach-Colton 2002). Cost N for each column of M."""

    NONZEROS = 1


def _signs(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Draw −1 and 1 with equal chances."""
    return np.where(rng.integers(0, 2, shape, dtype=np.int8), 1.0, -1.0)


SKETCHES: dict[str, Callable[[int, int, np.random.Generator], SketchMatrix]] = {
    "ams": AMS.draw,
    "gaussian": Gaussian.draw,
    "srht": SRHT.draw,
    "countsketch": CountSketch.draw,
    "sparse": SparseEmbedding.draw,
}
"""How to draw each sketch from (columns, size, rng)."""


def generator(seed: int | Sequence[int]) -> np.random.Generator:
    """Return a generator from a seed, or from several numbers that make up one seed.

    PCG64 by name: the default of NumPy may change, and the same seed must draw the same.

    >>> int(generator(0).integers(100)), int(generator([0, 1]).integers(100))
    (85, 52)
    """
    return np.random.Generator(np.random.PCG64(seed))
