"""Loops over whole arrays, for the sketched engine: all layers of a block, and columns added up by bucket."""

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines._simd._jit import compiled
from fastgntk.engines._simd._vector import LANES, apply_layer_apart

__all__ = ["LANES", "apply_layers", "scatter"]


@compiled
def apply_layers(lam: Array, theta: Array, entries: int, layers: int) -> None:
    """Apply ``layers`` ReLU layers in place to the first ``entries`` of two flat arrays.

    The arrays must hold ``entries`` rounded up to a multiple of LANES; what is beyond is changed too.
    """
    for panel in range((entries + LANES - 1) // LANES):
        for _ in range(layers):  # 32 entries stay in the first-level cache from layer to layer
            apply_layer_apart(lam, theta, panel * LANES)


@compiled
def scatter(matrix: Array, first: int, factors: Array, buckets: Ints, out: Array) -> None:
    """Add factors[k] times column first + k of the matrix to column buckets[k] of ``out``, for every k.

    It is the product with a sketch that has one entry in each column, at one multiply-add for each entry.
    """
    for row in range(matrix.shape[0]):
        for k in range(len(factors)):
            out[row, buckets[k]] += factors[k] * matrix[row, first + k]
