"""The effect of a ReLU layer on cosines and norms: κ0, κ1, and the factor c_φ.

For unit vectors at angle arccos λ, and w standard normal, a ReLU layer has the two arc-cosine functions

    κ0(λ) = 2 E[1(w·x > 0) 1(w·y > 0)]     = (π − arccos λ) / π
    κ1(λ) = 2 E[relu(w·x) relu(w·y)]        = (λ (π − arccos λ) + sqrt(1 − λ²)) / π

(Cho and Saul 2009). κ1' = κ0, κ0(1) = κ1(1) = 1, κ0(−1) = κ1(−1) = 0. Compiled loops have the same functions in
``_simd/_layer.py``, and κ1 of norms as ``_kappa1`` in ``_simd/_norms.py``.
"""

import numpy as np
from numpy.typing import ArrayLike

from fastgntk._util.arrays import Array
from fastgntk.kernels import Network

__all__ = ["kappa0", "kappa1", "kappas", "layer_gain"]


def kappa0(cosine: ArrayLike) -> Array:
    """Return κ0(λ); values outside [−1, 1] by rounding count as ±1.

    Near λ = 1 the slope is infinite: an error of ε in λ becomes sqrt(2 ε)/π here, about 1e-8 in float64.

    >>> kappa0([1.0, 0.0, -1.0]).tolist()
    [1.0, 0.5, 0.0]
    """
    lam = np.clip(np.asarray(cosine, dtype=np.float64), -1.0, 1.0)
    return (np.pi - np.arccos(lam)) / np.pi


def kappa1(cosine: ArrayLike) -> Array:
    """Return κ1(λ); values outside [−1, 1] by rounding count as ±1.

    >>> kappa1([1.0, 0.0, -1.0]).round(6).tolist()
    [1.0, 0.31831, 0.0]
    """
    lam = np.clip(np.asarray(cosine, dtype=np.float64), -1.0, 1.0)
    # (1−λ)(1+λ), not 1−λ²: near 1 the square rounds away the digits that cancel against λ arccos λ, and κ1
    # would be off by 1e-9 instead of 1e-16.
    return (lam * (np.pi - np.arccos(lam)) + np.sqrt((1.0 - lam) * (1.0 + lam))) / np.pi


def kappas(lam: Array, k0: Array, k1: Array, work: Array) -> None:
    """Write κ0(λ) to ``k0`` and κ1(λ) to ``k1``, with one arccos for both; ``lam`` is clipped in place.

    ``k1`` may be the same array as ``lam``: κ0 is computed first, at the incoming λ.
    """
    np.clip(lam, -1.0, 1.0, out=lam)
    np.subtract(1.0, lam, out=work)
    np.add(1.0, lam, out=k0)
    work *= k0
    np.sqrt(work, out=work)  # sqrt(1 − λ²)
    np.arccos(lam, out=k0)
    np.subtract(np.pi, k0, out=k0)  # π − arccos λ
    np.multiply(lam, k0, out=k1)
    k1 += work
    k1 *= 1.0 / np.pi
    k0 *= 1.0 / np.pi


def layer_gain(kernel: Network) -> float:
    """Return the factor (c_φ/2)^(R/2) by which the layers of a block change norms."""
    return float((kernel.c_phi / 2) ** (kernel.layers / 2))
