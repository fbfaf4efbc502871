"""All layers of a block on two whole arrays, λ and θ, in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastgntk.kernel._simd._jit import compiled
from fastgntk.kernel._simd._vector import LANES, apply_layer_apart

__all__ = ["LANES", "apply_layers"]


@compiled
def apply_layers(lam: NDArray[np.float64], theta: NDArray[np.float64], entries: int, layers: int) -> None:
    """Apply ``layers`` ReLU layers in place to the first ``entries`` of two flat arrays.

    The arrays must hold ``entries`` rounded up to a multiple of LANES; what is beyond is changed too.
    """
    for panel in range((entries + LANES - 1) // LANES):
        for _ in range(layers):  # 32 entries stay in the first-level cache from layer to layer
            apply_layer_apart(lam, theta, panel * LANES)
