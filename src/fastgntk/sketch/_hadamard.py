"""The Walsh–Hadamard transform H_n x, for n a power of two, in O(n log n) operations or a few matrix products.

H_n has entries ±1 and is a Kronecker product of smaller ones, H_ab = H_a ⊗ H_b. Factors of 64 make every step a matrix
product, which the machine does faster than the six rounds of additions that it stands for.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints

__all__ = ["hadamard_entries", "hadamard_transform", "padded_size", "transform_cost"]

Number = TypeVar("Number", np.float32, np.float64)

_LARGEST_FACTOR = 64


def padded_size(n: int) -> int:
    """Return the smallest power of two that is at least n.

    >>> [padded_size(n) for n in (0, 1, 5, 8)]
    [1, 1, 8, 8]
    """
    return 1 << max(n - 1, 0).bit_length()


def hadamard_entries(rows: Ints, cols: Ints) -> Array:
    """Return H[rows, cols] = (−1)^(number of ones that the two numbers share in binary).

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
        numbers = np.arange(factor)
        # Axis 1 of this view is the part of the row number that the factor acts on.
        entries = hadamard_entries(numbers, numbers).astype(matrix.dtype, copy=False)
        out = entries @ out.reshape(done, factor, n // (done * factor) * m)
        done *= factor
    return out.reshape(n, m)


def transform_cost(n: int) -> int:
    """Return the multiply-adds of :func:`hadamard_transform` for each entry."""
    return sum(_factors(n))


def _factors(n: int) -> list[int]:
    factors = []
    while n > 1:
        factors.append(min(n, _LARGEST_FACTOR))
        n //= factors[-1]
    return factors
