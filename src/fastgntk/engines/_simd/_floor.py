"""The floor: how long one ReLU layer takes on data in the first-level cache. No tile can be faster."""

import time

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.engines._simd._jit import compiled
from fastgntk.engines._simd._vector import LANES, apply_layer

__all__ = ["layer_nanoseconds"]

_ROWS = 16


@compiled
def _repeat(pairs: Array, rows: int, repeats: int) -> None:
    for _ in range(repeats):
        for v in range(rows):
            apply_layer(pairs, v * 2 * LANES)


def layer_nanoseconds() -> float:
    """Measure the time of one layer on one pair of (λ, θ), on one core; the least of many short runs."""
    pairs = np.random.default_rng(0).random(_ROWS * 2 * LANES)
    repeats = 2000
    _repeat(pairs, _ROWS, 1)
    least = np.inf
    for _ in range(25):
        start = time.perf_counter()
        _repeat(pairs, _ROWS, repeats)
        least = min(least, time.perf_counter() - start)
    return float(least / (repeats * _ROWS * LANES) * 1e9)
