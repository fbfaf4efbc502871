"""The share of each node in what was said of its graph, for as many graphs as there is time for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.graphs import FeatureKind, GraphBatch, NodeFeatures
from fastgntk.pairwise import diagonal, fitted, node_shares_in_chunks, prepare
from fastgntk.selection import LeftOut

__all__ = ["node_parts"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def node_parts(
    batch: GraphBatch,
    left_out: LeftOut,
    chosen: Ints,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    seconds: float = 20.0,
    memory: Any = None,
    workers: Any = None,
    sketching: dict[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[int, Array]:
    """Return of chosen graphs, first ones first, the shares (N,) of their nodes: they and the offset are the value.

    Graphs that are not reached within so many seconds are missing.
    """
    out: dict[int, Array] = {}
    if not left_out.can_be_explained or not len(chosen):
        return out
    start = time.perf_counter()
    step = fitted(features, batch)
    for number, (kernel, engine) in enumerate(zip(left_out.kernels, left_out.engines, strict=True)):
        mine = chosen[left_out.kernel_of[chosen] == number]
        if not len(mine):
            continue
        # Each kernel has its part of the time, by how many graphs are its own.
        until = start + seconds * (len(out) + len(mine)) / len(chosen)
        how = {"engine": engine, "memory": memory, "workers": workers, **(sketching or {})}
        cols = prepare(batch, kernel.spec, features=step, **how)
        own = diagonal(batch, kernel.spec, features=step, **how) if kernel.normalize else None
        # At least one chunk of each kernel, which is about a thousand nodes.
        for part, shares in node_shares_in_chunks(batch[mine], cols, memory=memory, workers=workers):
            here = mine[part]
            weights = _raw_weights(left_out.function(here).weights / left_out.unit, own, here)
            sizes = batch.sizes[here]
            owner = np.repeat(np.arange(len(here)), sizes)
            values = np.einsum("uj,uj->u", shares, weights[owner])
            out |= dict(zip(here.tolist(), np.split(values, np.cumsum(sizes)[:-1]), strict=True))
            if progress is not None:
                progress(len(out), len(chosen))
            if time.perf_counter() > until:
                break
    return out


def _raw_weights(weights: Array, own: Array | None, graphs: Ints) -> Array:
    """Return weights (t, n) of the kernel as it is, from those of the cosines if self-similarities are given."""
    if own is None:
        return weights
    inverse = np.divide(1.0, np.sqrt(own), out=np.zeros(len(own)), where=own > 0)
    return np.asarray(weights * inverse * inverse[graphs][:, None])
