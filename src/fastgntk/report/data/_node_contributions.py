"""Contributions of nodes to out-of-fold predictions, within a time limit."""

import time
from dataclasses import replace

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines import EXACT_ENGINES
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK, Normalized
from fastgntk.pairwise import Compute, check_compute, node_contributions_in_chunks, prepare
from fastgntk.selection import OutOfFold

__all__ = ["node_contributions"]


def node_contributions(
    batch: GraphBatch, out_of_fold: OutOfFold, chosen: Ints, *, seconds: float = 20.0, compute: Compute | None = None
) -> dict[int, Array]:
    """Return the contributions (N,) of the nodes of chosen graphs; with the offset they sum to the decision value.

    Graphs are processed in order; those not reached within ``seconds`` are missing.
    """
    out: dict[int, Array] = {}
    if not out_of_fold.can_be_explained or not len(chosen):
        return out
    start, how = time.perf_counter(), check_compute(compute)
    for number, (kernel, engine) in enumerate(zip(out_of_fold.kernels, out_of_fold.engines, strict=True)):
        mine = chosen[out_of_fold.kernel_of[chosen] == number]
        if not len(mine):
            continue
        # The time is divided among the kernels by their number of graphs.
        until = start + seconds * (len(out) + len(mine)) / len(chosen)
        silent = replace(how, engine=engine if engine in EXACT_ENGINES else "auto", progress=None)
        # The tangent kernel inside a normalised one is computed for many graphs at once, and then normalised.
        inner = kernel.kernel if isinstance(kernel, Normalized) and isinstance(kernel.kernel, GNTK) else kernel
        cols = prepare(batch, inner, compute=silent)
        own = None if inner is kernel else cols.diagonal()
        # At least one chunk per kernel, about a thousand nodes.
        for part, kernel_values in node_contributions_in_chunks(batch[mine], cols):
            here = mine[part]
            weights = _raw_weights(out_of_fold.function(here).weights / out_of_fold.unit, own, here)
            sizes = batch.sizes[here]
            owner = np.repeat(np.arange(len(here)), sizes)
            values = np.einsum("uj,uj->u", kernel_values, weights[owner])
            out |= dict(zip(here.tolist(), np.split(values, np.cumsum(sizes)[:-1]), strict=True))
            if how.progress is not None:
                how.progress(len(out), len(chosen))
            if time.perf_counter() > until:
                break
    return out


def _raw_weights(weights: Array, own: Array | None, graphs: Ints) -> Array:
    """Convert weights (t, n) of cosines to those of the kernel with this diagonal; without one return them."""
    if own is None:
        return weights
    inverse = np.divide(1.0, np.sqrt(own), out=np.zeros(len(own)), where=own > 0)
    return np.asarray(weights * inverse * inverse[graphs][:, None])
