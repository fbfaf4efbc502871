"""One ReLU layer, λ ← κ1(λ) and θ ← θ κ0(λ) + κ1(λ), in a single pass with one square root.

On [0, 1], arccos(a) = π sqrt(1 − a²) P(a) with P smooth, so that one root s = sqrt(1 − λ²) serves both:

    κ0(λ) = 1 − s P(λ) for λ ≥ 0,   s P(−λ) for λ < 0          κ1(λ) = λ κ0(λ) + s/π

P interpolates arccos(a) / (π sqrt(1 − a²)) at the 19 Chebyshev points of [0, 1]; the error of κ0 and κ1 is below
1e-15. It is summed as even part + a · odd part, two chains that the machine runs side by side.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fastgntk.kernel._simd._jit import compiled, inlined
from fastgntk.kernel._simd._vector import LANES

__all__ = ["apply_layer", "kappa1_of"]

_INVERSE_PI = 1.0 / math.pi

# A sum of neighbours that is 1 in real numbers comes out as 1 ± a few ε, and κ0 has an infinite slope there: the
# noise would show as 1e-8 and depend on the order of the sum. So λ within 8 ε of ±1 counts as ±1.
_NEAR_ONE = 8 * float(np.finfo(np.float64).eps)


@inlined
def _arccos_over_root(a: float) -> float:
    """Return arccos(a) / (π sqrt(1 − a²)) for 0 ≤ a ≤ 1."""
    z = a * a
    even = 8.618691594324804e-05 * z + 0.004526949541947604
    odd = -0.0009083894963170486 * z - 0.014279892534414746
    even = even * z + 0.03231780010360398
    odd = odd * z - 0.05667930482074756
    even = even * z + 0.0817795574962366
    odd = odd * z - 0.10243716308579279
    even = even * z + 0.11710739823961334
    odd = odd * z - 0.1275063583100797
    even = even * z + 0.13627740668007857
    odd = odd * z - 0.14543273593816305
    even = even * z + 0.15623921912092
    odd = odd * z - 0.16976424807873847
    even = even * z + 0.187499934829877
    odd = odd * z - 0.21220658824400163
    even = even * z + 0.24999999994717967
    odd = odd * z - 0.31830988618335343
    even = even * z + 0.4999999999999994
    return even + a * odd


@inlined
def _root(a: float) -> float:
    """Return sqrt(1 − a²) for 0 ≤ a, and 0 where a is 1 up to rounding."""
    gap = 1.0 - a
    gap = gap if gap > _NEAR_ONE else 0.0
    return math.sqrt(gap * (1.0 + a))


@inlined
def kappa1_of(lam: float) -> float:
    """Return κ1(λ), with exactly the operations of `apply_layer`."""
    a = abs(lam)
    a = a if a < 1.0 - _NEAR_ONE else 1.0
    lam = a if lam >= 0.0 else -a
    root = _root(a)
    bent = root * _arccos_over_root(a)
    kappa0 = 1.0 - bent if lam >= 0.0 else bent
    return lam * kappa0 + root * _INVERSE_PI


@compiled
def apply_layer(panel: NDArray[np.float64], start: int, stop: int) -> None:
    """Apply one layer to rows start..stop − 1 of a panel of shape (rows, 2, LANES): λ in [:, 0], θ in [:, 1]."""
    for v in range(start, stop):
        lam, theta = panel[v, 0], panel[v, 1]
        for i in range(LANES):
            x = lam[i]
            a = abs(x)
            root = _root(a)
            bent = root * _arccos_over_root(a)
            kappa0 = 1.0 - bent if x >= 0.0 else bent
            kappa1 = x * kappa0 + root * _INVERSE_PI
            theta[i] = theta[i] * kappa0 + kappa1
            lam[i] = kappa1
