"""Contributions of nodes to out-of-fold predictions, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.graphs import FeatureKind, GraphBatch, NodeFeatures
from fastgntk.pairwise import diagonal, fitted, node_shares_in_chunks, prepare
from fastgntk.selection import LeftOut

__all__ = ["node_contributions"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def node_contributions(
    batch: GraphBatch,
    out_of_fold: LeftOut,
    chosen: Ints,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    seconds: float = 20.0,
    memory: Any = None,
    workers: Any = None,
    sketching: dict[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[int, Array]:
    """Return the contributions (N,) of the nodes of chosen graphs; with the offset they sum to the decision value.

    Graphs are processed in order; those not reached within ``seconds`` are missing.
    """
    out: dict[int, Array] = {}
    if not out_of_fold.can_be_explained or not len(chosen):
        return out
    start = time.perf_counter()
    step = fitted(features, batch)
    for number, (kernel, engine) in enumerate(zip(out_of_fold.kernels, out_of_fold.engines, strict=True)):
        mine = chosen[out_of_fold.kernel_of[chosen] == number]
        if not len(mine):
            continue
        # The time is divided among the kernels by their number of graphs.
        until = start + seconds * (len(out) + len(mine)) / len(chosen)
        how = {"engine": engine, "memory": memory, "workers": workers, **(sketching or {})}
        cols = prepare(batch, kernel.spec, features=step, **how)
        own = diagonal(batch, kernel.spec, features=step, **how) if kernel.normalize else None
        # At least one chunk per kernel, about a thousand nodes.
        for part, kernel_values in node_shares_in_chunks(batch[mine], cols, memory=memory, workers=workers):
            here = mine[part]
            weights = _raw_weights(out_of_fold.function(here).weights / out_of_fold.unit, own, here)
            sizes = batch.sizes[here]
            owner = np.repeat(np.arange(len(here)), sizes)
            values = np.einsum("uj,uj->u", kernel_values, weights[owner])
            out |= dict(zip(here.tolist(), np.split(values, np.cumsum(sizes)[:-1]), strict=True))
            if progress is not None:
                progress(len(out), len(chosen))
            if time.perf_counter() > until:
                break
    return out


def _raw_weights(weights: Array, own: Array | None, graphs: Ints) -> Array:
    """Convert weights (t, n) of cosines, if self-similarities are given, to weights of the unnormalised kernel."""
    if own is None:
        return weights
    inverse = np.divide(1.0, np.sqrt(own), out=np.zeros(len(own)), where=own > 0)
    return np.asarray(weights * inverse * inverse[graphs][:, None])
