"""The effect of a layer on cosines and norms: κ0, κ1, and the factor c_φ.

For unit vectors at angle arccos λ, and w standard normal, a ReLU layer has the two arc-cosine functions

    κ0(λ) = 2 E[1(w·x > 0) 1(w·y > 0)]     = (π − arccos λ) / π
    κ1(λ) = 2 E[relu(w·x) relu(w·y)]        = (λ (π − arccos λ) + sqrt(1 − λ²)) / π

(Cho and Saul 2009). κ1' = κ0, κ0(1) = κ1(1) = 1, κ0(−1) = κ1(−1) = 0. Compiled loops have the same functions in
``_simd/_layer.py``, and κ1 of norms as ``_kappa1`` in ``_simd/_norms.py``.

For φ(z) = z if z > 0 and s z otherwise, that is relu(z) − s relu(−z), and divided by E[φ²] in place of 1/2, they become

    (1 − t) κ0(λ) + t          (1 − t) κ1(λ) + t λ          t = 2s / (1 + s²)

since κ0(−λ) = 1 − κ0(λ) and κ1(−λ) = κ1(λ) − λ (Tsuchida et al. 2018). Both are 1 at λ = 1, so that norms change as for
ReLU. t is called ``linear`` below: t = 1 is the identity.
"""

import numpy as np
from numpy.typing import ArrayLike

from fastgntk._util.arrays import Array
from fastgntk.kernels import Network

__all__ = ["kappa0", "kappa1", "kappas", "block_gain", "linear_share"]


def kappa0(cosine: ArrayLike, linear: float = 0.0) -> Array:
    """Return κ0(λ), or (1 − t) κ0(λ) + t with t = ``linear``; values outside [−1, 1] by rounding count as ±1.

    Near λ = 1 the slope is infinite: an error of ε in λ becomes sqrt(2 ε)/π here, about 1e-8 in float64.

    >>> kappa0([1.0, 0.0, -1.0]).tolist()
    [1.0, 0.5, 0.0]
    """
    lam = np.clip(np.asarray(cosine, dtype=np.float64), -1.0, 1.0)
    out = (np.pi - np.arccos(lam)) / np.pi
    return (1.0 - linear) * out + linear if linear else out


def kappa1(cosine: ArrayLike, linear: float = 0.0) -> Array:
    """Return κ1(λ), or (1 − t) κ1(λ) + t λ with t = ``linear``; values outside [−1, 1] by rounding count as ±1.

    >>> kappa1([1.0, 0.0, -1.0]).round(6).tolist()
    [1.0, 0.31831, 0.0]
    """
    lam = np.clip(np.asarray(cosine, dtype=np.float64), -1.0, 1.0)
    # (1−λ)(1+λ), not 1−λ²: near 1 the square rounds away the digits that cancel against λ arccos λ, and κ1
    # would be off by 1e-9 instead of 1e-16.
    out = (lam * (np.pi - np.arccos(lam)) + np.sqrt((1.0 - lam) * (1.0 + lam))) / np.pi
    return (1.0 - linear) * out + linear * lam if linear else out


def kappas(lam: Array, k0: Array, k1: Array, work: Array, linear: float = 0.0) -> None:
    """Write κ0(λ) to ``k0`` and κ1(λ) to ``k1``, with one arccos for both; ``lam`` is clipped in place.

    With t = ``linear`` they are those of another activation. ``k1`` may be the same array as ``lam``: κ0 is computed
    first, at the incoming λ.
    """
    np.clip(lam, -1.0, 1.0, out=lam)
    np.subtract(1.0, lam, out=work)
    np.add(1.0, lam, out=k0)
    work *= k0
    np.sqrt(work, out=work)  # sqrt(1 − λ²)
    np.arccos(lam, out=k0)
    np.subtract(np.pi, k0, out=k0)  # π − arccos λ
    if linear:
        k0 *= (1.0 - linear) / np.pi
        k0 += linear
        np.multiply(lam, k0, out=k1)  # κ1 = λ κ0 + (1 − t) sqrt(1 − λ²)/π
        work *= (1.0 - linear) / np.pi
        k1 += work
        return
    np.multiply(lam, k0, out=k1)
    k1 += work
    k1 *= 1.0 / np.pi
    k0 *= 1.0 / np.pi


def linear_share(kernel: Network) -> float:
    """Return t = 2s / (1 + s²) of the activation: 0 for ReLU, 1 for the identity.

    >>> from fastgntk.kernels import GNTK
    >>> [round(linear_share(GNTK(activation=name)), 3) for name in ("relu", "leaky", "abs", "linear")]
    [0.0, 0.385, -1.0, 1.0]
    """
    return 2.0 * kernel.slope / (1.0 + kernel.slope**2)


def block_gain(kernel: Network) -> float:
    """Return the factor (c_φ/2)^(R/2) by which the layers of a block change norms."""
    return float((kernel.c_phi / 2) ** (kernel.layers / 2))
