"""Which engine ``engine="auto"`` takes: a cost model of the exact engines, and the reason in words."""

import logging
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from fastgntk.engines._base import Engine, compiled_code_runs, get_engine
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.sketch import Sketch

__all__ = ["Choice", "choose_engine", "decoupled_seconds", "estimate_seconds", "layer_nanoseconds", "lossless_seconds"]

_log = logging.getLogger("fastgntk")

# Nanoseconds on one core of a server of 2021; only their ratios matter here (benchmarks/scaling.py measures them).
_LAYER, _LAYER_NUMPY = 1.3, 14.0  # one ReLU layer on one pair
_PAIR, _PAIR_NUMPY = 1.8, 12.0  # moving one pair of a level
_NEIGHBOUR, _NEIGHBOUR_UNCACHED = 0.15, 0.35  # one neighbour of a pair
_CACHED_SIZE = 400  # the graphs up to this size stay in cache
_NEIGHBOUR_NUMPY, _DENSE = 2.2, 0.09  # one neighbour of a pair in a sparse product, one node in a dense one
_NORM = 1.0  # one neighbour of a pair of nodes of one graph, in the norms
_START = 0.3e9  # loading compiled code, once in a process
_REUSED_PAIRS = 1e12  # taken as computed where graphs are used again and again, so that starting compiled code pays


@dataclass(frozen=True)
class Choice:
    """An engine, the reason for it, and the time it is expected to take on one core, in seconds."""

    engine: Engine[Any, Any]
    reason: str
    seconds: float


def choose_engine(
    name: str,
    rows: GraphBatch,
    cols: GraphBatch | None,
    kernel: GNTK,
    pairs: float | None = None,
    *,
    reused: bool = False,
) -> Choice:
    """Return the engine of that name; for ``"auto"`` the exact one that is expected to take the least time.

    ``cols`` is None for a symmetric matrix; ``pairs`` are the pairs of nodes where not all are computed; ``reused`` if
    the graphs are for many computations, with graphs to come. Equal nodes are not counted as one here, so the lossless
    engine is usually faster than expected. A kernel with a sketch has the sketched engine, unless no graph, nor any to
    come, is larger than its sketch.
    """
    if reused:
        pairs = _REUSED_PAIRS
    elif pairs is None:
        pairs = rows.n_nodes**2 / 2 if cols is None else float(rows.n_nodes) * cols.n_nodes
    total = pairs * kernel.blocks
    if kernel.sketch is not None:
        if name not in ("auto", "sketched"):
            raise InputError(
                f"engine={name!r} computes exact kernels, but {kernel} has a sketch; use engine='auto', or leave out "
                "the sketch."
            )
        sizes = rows.sizes if cols is None else np.concatenate([rows.sizes, cols.sizes])
        if reused or any(kernel.sketch.rows(size) is not None for size in np.unique(sizes).tolist()):
            larger = rows if cols is None else max(rows, cols, key=_mean_size)
            seconds = _sketched_seconds(larger, kernel, total, kernel.sketch)
            return Choice(get_engine("sketched", kernel.sketch), "the kernel has a sketch", seconds)
        exact = choose_engine("auto", rows, cols, replace(kernel, sketch=None), pairs)
        reason = f"no graph has more nodes than its sketch would have rows, so all is exact; {exact.reason}"
        return Choice(exact.engine, reason, exact.seconds)
    decoupled, lossless = decoupled_seconds(rows, cols, kernel, total), lossless_seconds(rows, cols, kernel, total)
    if name != "auto":
        return Choice(get_engine(name), "chosen by name", lossless if name == "lossless" else decoupled)
    if decoupled < _START / 1e9 + lossless:
        reason = "so little work that loading compiled code would take longer"
        if lossless > _START / 1e9:
            reason = f"graphs so dense that NumPy's products are expected to win ({decoupled:.3g} s, {lossless:.3g} s)"
        return Choice(get_engine("decoupled"), reason, decoupled)
    if not compiled_code_runs():
        _warn_about_numba()
        return Choice(get_engine("decoupled"), "numba cannot be imported, so there is no compiled code", decoupled)
    reason = f"about {decoupled / lossless:.0f} times faster than decoupled, before equal nodes are merged"
    return Choice(get_engine("lossless"), reason, lossless)


def lossless_seconds(rows: GraphBatch, cols: GraphBatch | None, kernel: GNTK, pairs: float) -> float:
    """Estimate the time of the lossless engine on one core, from ``pairs`` of distinct nodes over all levels."""
    aggregation, norms = 0.0, 0.0
    for side in (rows, rows if cols is None else cols):
        cached = _mean_size(side) <= _CACHED_SIZE
        aggregation += (_NEIGHBOUR if cached else _NEIGHBOUR_UNCACHED) * _terms(side)
        squares = float(np.sum(side.sizes.astype(np.float64) ** 2))
        norms += 0.5 * squares * (kernel.blocks - 1) * _NORM * _terms(side)
    return (pairs * (_LAYER * kernel.layers + _PAIR + aggregation) + norms) / 1e9


def estimate_seconds(name: str, batch: GraphBatch, kernel: GNTK, pairs: float) -> float:
    """Estimate the time on one core of this machine, from ``pairs`` of distinct nodes over all levels.

    For the lossless engine a short measurement scales the model to this machine.
    """
    if name == "sketched" and kernel.sketch is not None:
        return _sketched_seconds(batch, kernel, pairs, kernel.sketch)
    if name != "lossless":
        return decoupled_seconds(batch, None, kernel, pairs)
    return lossless_seconds(batch, None, kernel, pairs) * layer_nanoseconds() / _LAYER


def layer_nanoseconds() -> float:
    """Measure the time of one ReLU layer on one pair, in compiled code on this machine."""
    from fastgntk.engines._simd import _vector

    return _vector.layer_nanoseconds()


def decoupled_seconds(rows: GraphBatch, cols: GraphBatch | None, kernel: GNTK, pairs: float) -> float:
    """Estimate the time of the decoupled engine on one core, from ``pairs`` of nodes over all levels."""
    aggregation = 0.0
    for side in (rows, rows if cols is None else cols):
        aggregation += min(_DENSE * _mean_size(side), _NEIGHBOUR_NUMPY * _terms(side))
    return pairs * (_LAYER_NUMPY * kernel.layers + _PAIR_NUMPY + aggregation) / 1e9


def _sketched_seconds(batch: GraphBatch, kernel: GNTK, pairs: float, sketch: Sketch) -> float:
    """Estimate the time of the sketched engine on one core, from ``pairs`` of nodes over all levels."""
    size = max(round(_mean_size(batch)), 1)
    b = sketch.rows(size) or size
    # Two dense products of b multiply-adds a side, and the last level needs one of them.
    products = 2 * _DENSE * b * (2 * kernel.blocks - 1) / kernel.blocks
    return pairs * (_LAYER * kernel.layers + _PAIR + products) / 1e9


def _mean_size(batch: GraphBatch) -> float:
    """Return the size of a node's graph, on average over nodes."""
    return float(np.sum(batch.sizes.astype(np.float64) ** 2)) / max(batch.n_nodes, 1)


def _terms(batch: GraphBatch) -> float:
    """Return |N(u)| + 1 on average."""
    return 1.0 + len(batch.indices) / max(batch.n_nodes, 1)


@cache
def _warn_about_numba() -> None:
    """Log a warning, once in a process."""
    _log.warning("numba cannot be imported: engine 'decoupled' is used, which is right but much slower.")
