"""The recursion for given operators, dense and literal: what the sketched engine must compute exactly."""

from __future__ import annotations

import numpy as np

from fastgntk import NNGP


def operator_gram_levels(operators, scales, features, kernel):
    """Return levels (L + 1, n, n) for operators[i][l], of graph i in block l, and its scales[i].

    An operator is a list of (N, N) matrices B_r, and aggregates Σ to Σ_r B_r Σ B'_rᵀ: one matrix, or one for each type.

    A scale c_u is None for ``scale="unit"``, where it is whatever makes the aggregated node a unit vector.
    """
    n = len(operators)
    own = [_own(operators[i], scales[i], features[i], kernel) for i in range(n)]
    out = np.zeros((kernel.blocks + 1, n, n))
    for i in range(n):
        for j in range(n):
            sigma = features[i] @ features[j].T
            theta = sigma.copy()
            out[0, i, j] = theta.sum()
            for block in range(kernel.blocks):
                (B, p), (C, q) = own[i][block], own[j][block]
                sigma, theta = _aggregate(B, sigma, C), _aggregate(B, theta, C)
                initial = kernel.residual * features[i] @ features[j].T
                sigma, theta = ((1 - kernel.residual) * matrix + initial for matrix in (sigma, theta))
                for r in range(kernel.layers):
                    norms = np.outer(p, q) * (kernel.c_phi / 2) ** r
                    with np.errstate(all="ignore"):
                        cosine = np.clip(np.where(norms > 0, sigma / norms, 0.0), -1.0, 1.0)
                    slope, product = _expectations(cosine, kernel)
                    sigma = kernel.c_phi / 2 * norms * product
                    theta = np.where(norms > 0, theta * kernel.c_phi / 2 * slope + sigma, 0.0)
                out[block + 1, i, j] = (sigma if isinstance(kernel, NNGP) else theta).sum()
    return out


def _aggregate(B, matrix, C):
    return sum(part @ matrix @ other.T for part, other in zip(B, C, strict=True))


def _expectations(cosine, kernel):
    """Return 2 E φ'φ' / (1 + s²) and 2 E φφ / (1 + s²), from κ0 and κ1 at λ and −λ."""
    s = {"relu": 0.0, "leaky": 0.2, "abs": -1.0, "linear": 1.0}[kernel.activation]
    angle, sine = np.pi - np.arccos(cosine), np.sqrt((1 - cosine) * (1 + cosine))
    same, opposite = (cosine * angle + sine) / np.pi, (-cosine * (np.pi - angle) + sine) / np.pi
    share = 2 * s / (1 + s * s)
    return angle / np.pi + share * (1 - angle / np.pi), same - share * opposite


def _own(operators, scale, X, kernel):
    """Return (B, p) of each block, from the graph against itself."""
    sigma = X @ X.T
    out = []
    for block in range(kernel.blocks):
        raw = _aggregate(operators[block], sigma, operators[block])
        bound = sum(np.abs(part) for part in operators[block]) @ np.sqrt(np.maximum(np.diag(sigma), 0.0))
        norm = np.sqrt(np.where(np.diag(raw) > 1e-13 * bound**2, np.diag(raw), 0.0))
        c = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0) if scale is None else scale
        B = [c[:, None] * part for part in operators[block]]
        p = np.sqrt((1 - kernel.residual) * (c * norm) ** 2 + kernel.residual * (X * X).sum(axis=1))
        out.append((B, p))
        sigma = (1 - kernel.residual) * _aggregate(B, sigma, B) + kernel.residual * X @ X.T
        for r in range(kernel.layers):
            norms = np.outer(p, p) * (kernel.c_phi / 2) ** r
            with np.errstate(all="ignore"):
                cosine = np.clip(np.where(norms > 0, sigma / norms, 0.0), -1.0, 1.0)
            sigma = kernel.c_phi / 2 * norms * _expectations(cosine, kernel)[1]
    return out
