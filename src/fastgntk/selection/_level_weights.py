"""Level weights: non-negative weights on the kernels of all levels, by marginal likelihood.

With K(w) = Σ_l w_l K_l, A = K(w) + ρ I and targets y of a Gaussian process whose scale is the best one, minus the
logarithm of the likelihood is ½ n log(yᵀA⁻¹y) + ½ log |A| up to a constant. With α = A⁻¹y it changes with A by

    ⟨G, dA⟩,    G = ½ (A⁻¹ − n α αᵀ / yᵀα)

and the mean of these over targets for several. With normalisation A holds s_i s_j K_ij, s_i = K_ii^(−½), instead of K,
and ⟨G, d(sKs)⟩ = ⟨sGs, dK⟩ − Σ_i (dK_ii / K_ii) Σ_j G_ij s_i s_j K_ij.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from fastgntk._util.arrays import Array

__all__ = ["level_weights"]


_JITTER = 1e-10  # of the diagonal, added to the ridge
_INTERCEPT = 10.0  # variance of the intercept, about that of all levels together
_BOUND = 14.0  # of the logarithms: weights and ridge stay within a factor of a million
_SHARE = 1e-3  # a level with less than this share of the largest weight is left out


def level_weights(levels: Array, Y: Array, normalized: bool) -> Array:
    """Return weights (L + 1,) for raw level kernels (L + 1, n, n) and centred targets (n, k).

    Levels without any self-similarity get weight 0. Each evaluation costs about n³ + L n².
    """
    sizes = np.einsum("lii->l", levels) / levels.shape[1]
    used = np.flatnonzero(sizes > 0)
    if not len(used) or not Y.any():
        return np.ones(len(levels))
    units = levels[used] / sizes[used, None, None]
    targets = Y[:, np.any(Y != 0, axis=0)]
    targets = targets / np.sqrt(np.mean(targets**2, axis=0))
    start = np.zeros(len(used) + 1)
    start[-1] = np.log(1e-2)
    found = minimize(
        lambda theta: _objective(theta, units, targets, normalized),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-_BOUND, _BOUND)] * len(start),
        options={"maxiter": 60},
    )
    weights = np.exp(found.x[:-1])
    weights[weights < _SHARE * weights.max()] = 0.0
    out = np.zeros(len(levels))
    out[used] = weights / weights.max() / sizes[used]
    return out


def _objective(theta: Array, units: Array, targets: Array, normalized: bool) -> tuple[float, Array]:
    """Return minus the log likelihood per graph and its gradient in the logarithms of weights and ridge."""
    weights, ridge = np.exp(theta[:-1]), float(np.exp(theta[-1]))
    n = len(targets)
    K = np.einsum("l,lij->ij", weights, units)
    s = np.ones(n)
    if normalized:
        own = K.diagonal()
        s = np.divide(1.0, np.sqrt(own), out=np.zeros(n), where=own > 0)
        K = K * s[:, None] * s
    A = K + _INTERCEPT
    A.flat[:: n + 1] += ridge + _JITTER * float(K.diagonal().mean())
    try:
        factor = cho_factor(A, lower=True, check_finite=False)
    except LinAlgError:  # a step too far; the line search comes back
        return 1e10, np.zeros_like(theta)
    inverse = cho_solve(factor, np.eye(n), check_finite=False)
    alpha = inverse @ targets  # (n, k)
    quadratic = np.einsum("nk,nk->k", targets, alpha)
    value = 0.5 * float(np.mean(n * np.log(quadratic))) + float(np.log(factor[0].diagonal()).sum())
    G = 0.5 * (inverse - (n / targets.shape[1]) * (alpha / quadratic) @ alpha.T)
    slope = np.empty(len(theta))
    slope[-1] = ridge * G.trace()
    scaled = G * s[:, None] * s
    slope[:-1] = np.einsum("ij,lij->l", scaled, units)
    if normalized:
        rest = np.einsum("ij,ij->i", G, K) * s**2  # s² is 1 / K_ii before normalising
        slope[:-1] -= np.einsum("lii,i->l", units, rest)
    slope[:-1] *= weights
    return value / n, slope / n
