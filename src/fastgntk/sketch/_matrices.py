"""Random matrices and maps: the five sketches, the Walsh–Hadamard transform, and maps for random features.

Each sketch is S = scale · Z with a random Z of shape (b, N), and E[SᵀS] = I. Z is stored apart from the scale, because
its entries are −1, 0 and 1 for all but the Gaussian: products with counts of neighbours are then integers, and
cancellation is exact. SciPy's ``clarkson_woodruff_transform`` draws and applies a sketch in one step, so the same S
cannot be used twice, and scikit-learn's random projections are estimators over samples.

The Walsh–Hadamard transform H_n x, for n a power of two, takes O(n log n) operations or a few matrix products. H_n has
entries ±1 and is a Kronecker product of smaller ones, H_ab = H_a ⊗ H_b. Factors of 64 make every step a matrix
product, which is faster than the six rounds of additions that it replaces.

Fastfood (Le, Sarlós and Smola 2013) multiplies with a Gaussian matrix in O(m log d) operations instead of O(m d).
TensorSketch (Pham and Pagh 2013) sketches the Kronecker product of two vectors without forming it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import fft, sparse

from fastgntk._util.arrays import Array, Floats, Ints
from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError

__all__ = ["AMS", "SKETCHES", "SRHT", "CountSketch", "Gaussian", "SketchMatrix", "SparseEmbedding", "generator"]
__all__ += ["GaussianProjection", "TensorSketch", "hadamard_entries", "hadamard_transform", "padded_size"]

Number = TypeVar("Number", np.float32, np.float64)

_LARGEST_FACTOR = 64


class SketchMatrix(ABC):
    """A random matrix S of shape (size, columns) with E[SᵀS] = I.

    Attributes
    ----------
    size : int
        Number b of rows.
    columns : int
        Number N of columns, the length of the vectors to sketch.
    nonzeros : int
        Number of nonzero entries in each column.
    unit_columns : bool
        Whether every column has norm 1, not only on average.
    """

    size: int
    columns: int
    nonzeros: int
    unit_columns = True

    @classmethod
    def draw(cls, columns: int, size: int, rng: np.random.Generator) -> Self:
        """Draw a sketch with that number of columns and of rows."""
        if not isinstance(rng, np.random.Generator):
            raise InputError(f"rng must be a NumPy generator such as numpy.random.default_rng(0), but is {rng!r}.")
        return cls._draw(check_integer("columns", columns, 0), check_integer("size", size, 1), rng)

    def left(self, matrix: Any) -> Array:
        """Return S M, of shape (b, m), for M of shape (N, m), dense or sparse."""
        return self._left(self._check_shape(matrix, axis=0))

    def right(self, matrix: Any) -> Array:
        """Return M Sᵀ, of shape (m, b), for M of shape (m, N), dense or sparse."""
        return self._left(self._check_shape(matrix, axis=1).T).T

    @classmethod
    @abstractmethod
    def _draw(cls, columns: int, size: int, rng: np.random.Generator) -> Self:
        """Draw a sketch; the arguments have been checked."""

    @abstractmethod
    def _left(self, matrix: Any) -> Array:
        """Return S M for a matrix of the right shape."""

    @abstractmethod
    def dense(self) -> Array:
        """Return S as an array."""

    @abstractmethod
    def cost(self, m: int) -> int:
        """Return the multiply-adds of ``left`` for a dense M with m columns."""

    def _check_shape(self, matrix: Any, axis: int) -> Any:
        """Return M as an array, or sparse, if it is as long along that axis as S has columns."""
        matrix = matrix if sparse.issparse(matrix) else np.asarray(matrix)
        if matrix.ndim != 2 or matrix.shape[axis] != self.columns:
            allowed = (f"({self.columns}, m)", f"(m, {self.columns})")[axis]
            raise InputError(
                f"M must have shape {allowed}, because S has {self.columns} columns, but has shape {matrix.shape}."
            )
        return matrix


class _StoredSketch(SketchMatrix):
    """A sketch whose entries are stored, dense or as CSR; a product takes ``nonzeros`` · N multiply-adds per column."""

    def __init__(self, values: Any, nonzeros: int) -> None:
        self.size, self.columns = values.shape
        self.nonzeros = nonzeros
        self._values, self._scale = values, 1.0 / math.sqrt(nonzeros)

    def _left(self, matrix: Any) -> Array:
        values = self._values
        if sparse.issparse(values) and matrix.dtype == np.float32:  # to compute the product in single precision
            values = values.astype(np.float32)
        product = values @ matrix
        return np.asarray(product.toarray() if sparse.issparse(product) else product) * self._scale

    def dense(self) -> Array:
        values = self._values.toarray() if sparse.issparse(self._values) else self._values
        return np.asarray(values) * self._scale

    def cost(self, m: int) -> int:
        return self.nonzeros * self.columns * m


class AMS(_StoredSketch):
    """Random signs over sqrt(b) (Alon, Matias and Szegedy 1999). Cost b N for each column of M.

    >>> S = AMS.draw(4, 2, np.random.default_rng(0))
    >>> np.abs(S.dense()).round(3).tolist()
    [[0.707, 0.707, 0.707, 0.707], [0.707, 0.707, 0.707, 0.707]]
    """

    @classmethod
    def _draw(cls, columns: int, size: int, rng: np.random.Generator) -> Self:
        """Draw every sign independently."""
        return cls(_signs(rng, (size, columns)), size)


class Gaussian(_StoredSketch):
    """Independent normal entries of variance 1/b. Cost b N for each column of M.

    The squared norm of a column has mean 1 and variance 2/b.
    """

    unit_columns = False

    @classmethod
    def _draw(cls, columns: int, size: int, rng: np.random.Generator) -> Self:
        """Draw every entry independently."""
        return cls(rng.standard_normal((size, columns)), size)


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
        self._padded = padded_size(self.columns)
        self._transform_cost = self._padded * sum(_factors(self._padded))

    @classmethod
    def _draw(cls, columns: int, size: int, rng: np.random.Generator) -> Self:
        """Draw b different rows and N flips."""
        padded = padded_size(columns)
        if size > padded:
            raise InputError(f"an SRHT of {columns} columns has at most {padded} rows, but size is {size}.")
        flips = _signs(rng, (columns,))
        return cls(np.sort(rng.choice(padded, size, replace=False)), flips)

    def _left(self, matrix: Any) -> Array:
        """Return S M by the fast transform, or by a product with the rows if there are few or M is sparse."""
        if sparse.issparse(matrix) or self._transform_cost >= self.size * self.columns:
            return np.asarray(self._flipped() @ matrix) * self._scale
        padded = np.zeros((self._padded, matrix.shape[1]))
        np.multiply(matrix, self._flips[:, None], out=padded[: self.columns])
        return hadamard_transform(padded)[self._rows] * self._scale

    def dense(self) -> Array:
        """Return S as an array."""
        return self._flipped() * self._scale

    def cost(self, m: int) -> int:
        """Return the multiply-adds of ``left`` for a dense M with m columns."""
        return m * min(self._transform_cost, self.size * self.columns)

    def _flipped(self) -> Array:
        return hadamard_entries(self._rows, np.arange(self.columns)) * self._flips


class SparseEmbedding(_StoredSketch):
    """s signs over sqrt(s) in each column, one in each of s ranges of rows (Kane and Nelson 2014).

    Cost s N for each column of M. ``nonzeros`` is s: 8, or fewer where b is smaller.
    """

    NONZEROS = 8

    @classmethod
    def _draw(cls, columns: int, size: int, rng: np.random.Generator) -> Self:
        """Draw s rows for each column, one from each range, and their signs."""
        s = min(cls.NONZEROS, size)
        bounds = size * np.arange(s + 1) // s
        rows = rng.integers(bounds[:-1], bounds[1:], (columns, s))
        signs = _signs(rng, (columns, s))
        ptr = s * np.arange(columns + 1)
        by_column = sparse.csc_array((signs.ravel(), rows.ravel(), ptr), shape=(size, columns))
        return cls(sparse.csr_array(by_column), s)


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
"""The function that draws each kind of sketch from (columns, size, rng)."""


def generator(seed: int | Sequence[int]) -> np.random.Generator:
    """Return a generator seeded by a number or a sequence of numbers.

    PCG64 is named explicitly: NumPy may change its default, but a seed must always give the same draws.

    >>> int(generator(0).integers(100)), int(generator([0, 1]).integers(100))
    (85, 52)
    """
    return np.random.Generator(np.random.PCG64(seed))


class GaussianProjection:
    """A random matrix W of shape (size, columns); each row is standard Gaussian, but the rows are not independent.

    W is made of square pieces H G Π H S / sqrt(D), with D the power of two that columns are padded to: H Hadamard
    matrices, S random signs, Π a random order, G independent Gaussians. A row is linear in G and has the covariance
    SᵀHᵀΠᵀ diag(H_rk²) ΠHS / D = I. A mean of functions of single rows therefore has the same expectation as for a
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

    Both vectors are count-sketched and the sketches convolved, which gives the count sketch of all products a_i b_j
    under the sum of both hashes, in O(size log size) operations.

    >>> T = TensorSketch(4, 2, 3, np.random.default_rng(0))
    >>> T(np.ones((2, 5)), np.ones((3, 5))).shape
    (4, 5)
    """

    def __init__(self, size: int, left: int, right: int, rng: np.random.Generator) -> None:
        self.size = size
        self._left, self._right = CountSketch.draw(left, size, rng), CountSketch.draw(right, size, rng)

    def __call__(self, left: Floats, right: Floats) -> Floats:
        """Return the sketches of m pairs, given as the columns of two matrices, in the precision of these."""
        spectrum = fft.rfft(self._left.left(left), axis=0)
        spectrum *= fft.rfft(self._right.left(right), axis=0)
        product: Floats = fft.irfft(spectrum, n=self.size, axis=0, overwrite_x=True)
        return product


def padded_size(n: int) -> int:
    """Return the smallest power of two that is at least n.

    >>> [padded_size(n) for n in (0, 1, 5, 8)]
    [1, 1, 8, 8]
    """
    return 1 << max(n - 1, 0).bit_length()


def hadamard_entries(rows: Ints, cols: Ints) -> Array:
    """Return H[rows, cols] = (−1)^(number of ones common to the binary forms of the two indices).

    >>> hadamard_entries(np.arange(2), np.arange(2)).tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    shared = np.bitwise_count(rows[:, None] & cols)
    return np.where(shared & 1, -1.0, 1.0)


def hadamard_transform(matrix: NDArray[Number]) -> NDArray[Number]:
    """Return H_n M for M of shape (n, m), n a power of two, in the precision of M.

    >>> hadamard_transform(np.eye(2)).tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    n, m = matrix.shape
    done, out = 1, matrix
    for factor in _factors(n):
        indices = np.arange(factor)
        # Axis 1 of this view is the part of the row index that the factor acts on.
        entries = hadamard_entries(indices, indices).astype(matrix.dtype, copy=False)
        out = entries @ out.reshape(done, factor, n // (done * factor) * m)
        done *= factor
    return out.reshape(n, m)


def _factors(n: int) -> list[int]:
    """Return the factors of the transform; their sum is its number of multiply-adds per entry."""
    factors = []
    while n > 1:
        factors.append(min(n, _LARGEST_FACTOR))
        n //= factors[-1]
    return factors
