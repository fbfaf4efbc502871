"""The baseline: the decoupled method on one pair of graphs at a time, B Σ B'ᵀ in dense NumPy, as in the paper.

The engine ``decoupled`` is faster than this on small graphs, since it works on many pairs at once; this is the same
arithmetic without that, and without anything that a single pair does not need.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk.graph import GraphBatch
from fastgntk.kernel import GNTK, get_engine
from fastgntk.kernel._activations import kappas

__all__ = ["pair_times"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Graph:
    A_hat: Array  # (N, N)
    directions: Array  # (N, d), rows of Â X made unit vectors
    feature_sum: Array  # (d,)
    inverse_q: Array  # (L, N)
    p: Array  # (L, N)


def pair_times(batch: GraphBatch, spec: GNTK, pairs: NDArray[np.int64]) -> tuple[Array, float, float]:
    """Return the kernel of each pair, the time of all pairs, and the time of preparing the graphs once.

    ``pairs`` is (k, 2), numbers of graphs.
    """
    start = time.perf_counter()
    graphs = {int(i): _prepare(batch, spec, int(i)) for i in np.unique(pairs)}
    prepared = time.perf_counter()
    values = np.array([_pair(graphs[int(i)], graphs[int(j)], spec) for i, j in pairs])
    return values, time.perf_counter() - prepared, prepared - start


def _prepare(batch: GraphBatch, spec: GNTK, number: int) -> _Graph:
    engine = get_engine("decoupled")
    block = engine.block(engine.prepare(batch, spec), np.array([number]))
    matrix = block.aggregation.matrix.toarray()
    return _Graph(matrix, _dense(block.directions), block.feature_sums[0], block.inverse_q, block.p)


def _pair(g: _Graph, h: _Graph, spec: GNTK) -> float:
    lam = g.directions @ h.directions.T
    theta = lam.copy()
    k0, work = np.empty_like(lam), np.empty_like(lam)
    gain = spec.c_phi / 2
    total = float(g.feature_sum @ h.feature_sum)
    for level in range(spec.blocks):
        if level:
            scale = np.multiply.outer(g.inverse_q[level], h.inverse_q[level])
            lam = (g.A_hat @ lam @ h.A_hat.T) * scale
            theta = (g.A_hat @ theta @ h.A_hat.T) * scale
        for r in range(1, spec.layers + 1):
            kappas(lam, k0, lam, work)
            theta *= k0
            theta *= gain
            theta += gain**r * lam
        outer = np.multiply.outer(g.p[level], h.p[level])
        theta *= outer
        lam *= outer
        lam *= gain**spec.layers
        total = (total if spec.jump else 0.0) + float(theta.sum())
    return total


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)
