"""Which of n graphs stand for all of them."""

from collections.abc import Callable

import numpy as np
from scipy import linalg

from fastgntk._util.arrays import Array, Ints
from fastgntk.solvers import KernelSource

__all__ = ["SELECTIONS", "uniform"]

Chosen = tuple[Ints, Array | None]
"""Landmarks, and the columns of the kernel that belong to them if they were computed on the way."""

_AT_A_TIME = 16  # landmarks of kmeans++ drawn before distances are looked at again: columns are cheaper in company


def uniform(source: KernelSource, count: int, rng: np.random.Generator) -> Chosen:
    """Draw without looking."""
    return np.sort(rng.choice(source.n, count, replace=False)).astype(np.int64), None


def far_apart(source: KernelSource, count: int, rng: np.random.Generator) -> Chosen:
    """Draw with a chance in proportion to the squared distance from the landmarks before, some at a time (kmeans++)."""
    own = source.diagonal()
    distance = np.full(source.n, np.inf)
    landmarks = np.array([rng.integers(source.n)], dtype=np.int64)
    columns = np.empty((source.n, count))
    done = 0
    while True:
        new = source.columns(landmarks[done:])
        columns[:, done : len(landmarks)] = new
        squared = own[:, None] - 2.0 * new + own[landmarks[done:]]
        distance = np.minimum(distance, np.maximum(squared.min(axis=1), 0.0))
        done = len(landmarks)
        if done == count:
            return landmarks, columns
        landmarks = np.append(landmarks, _draw(distance, landmarks, min(_AT_A_TIME, done, count - done), rng))


def by_leverage(source: KernelSource, count: int, rng: np.random.Generator) -> Chosen:
    """Draw with a chance in proportion to the ridge leverage, as estimated with as many uniform landmarks.

    The ridge is such that leverages sum to about half the count: then no graph that matters has a small one.
    """
    first, _ = uniform(source, count, rng)
    C, own = source.columns(first), source.diagonal()
    if not own.any():  # graphs without nodes: any is as good as another
        return first, C
    values, vectors = linalg.eigh((C[first] + C[first].T) / 2)
    ridge = _ridge_for(np.maximum(values, 0.0) * source.n / count, count / 2)
    # l_i = (K_ii − c_i (K_mm + ridge m/n)⁻¹ c_iᵀ) / ridge, as K with these landmarks has it (Musco and Musco 2017).
    seen = (C @ vectors) ** 2 @ (1.0 / (np.maximum(values, 0.0) + ridge * count / source.n))
    leverage = np.maximum(own - seen, np.finfo(np.float64).eps * own)
    return np.sort(_draw(leverage, np.zeros(0, dtype=np.int64), count, rng)), None


SELECTIONS: dict[str, Callable[[KernelSource, int, np.random.Generator], Chosen]] = {
    "uniform": uniform,
    "kmeans++": far_apart,
    "leverage": by_leverage,
}
"""How landmarks are drawn, by name."""


def _draw(weights: Array, taken: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Draw without replacement by weights; where too few are above 0, the rest uniformly among the others."""
    left = weights.copy()
    left[taken] = -1.0
    # The largest of log(u) / w are such a draw (Efraimidis and Spirakis 2006), and all at once.
    with np.errstate(divide="ignore", invalid="ignore"):
        keys = np.where(left > 0, np.log(rng.random(len(left))) / left, -np.inf)
    ranked = np.lexsort((rng.random(len(left)), left < 0, -keys))
    return ranked[:count].astype(np.int64)


def _ridge_for(values: Array, dimension: float) -> float:
    """Return the ridge at which eigenvalues have this number of effective dimensions, Σ v / (v + ridge)."""
    high = float(values.sum())
    low = 1e-16 * high
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        if float((values / (values + middle)).sum()) > dimension:
            low = middle
        else:
            high = middle
    return high
