"""The choice of ``engine="auto"``: a cost model of the exact engines, and the reason in words."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from fastgntk.engines._base import Engine, compiled_code_runs, engines_of, get_engine
from fastgntk.engines._sketch_rows import sketch_rows
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import DescriptorKernel, Leaf, Network
from fastgntk.sketch import Sketch

__all__ = ["EngineChoice", "choose_engine", "estimate_seconds", "layer_nanoseconds"]
__all__ += ["decoupled_seconds", "lossless_seconds", "sketched_seconds"]

_log = logging.getLogger("fastgntk")

# Nanoseconds on one core of a server of 2021; only their ratios matter here (benchmarks/scaling.py measures them).
_LAYER, _LAYER_NUMPY = 1.3, 14.0  # one ReLU layer on one pair
_PAIR, _PAIR_NUMPY = 1.8, 12.0  # moving one pair of nodes of a level
_NEIGHBOUR, _NEIGHBOUR_UNCACHED = 0.15, 0.35  # one neighbour of a pair
_ONE_MATRIX = 0.6  # moving and summing λ alone, for an NNGP, relative to λ and θ
_CACHED_SIZE = 400  # graphs of up to this many nodes stay in cache
_NEIGHBOUR_NUMPY, _DENSE = 2.2, 0.09  # one neighbour of a pair in a sparse product, one node in a dense one
_VALUE, _COLUMN = 30.0, 0.4  # one pair of graphs with descriptors, and one column of it
_NORM = 1.0  # one neighbour of a pair of nodes of one graph, in the norms
_START = 0.3e9  # loading compiled code, once in a process
_GRAPH_PAIR, _REFINED = 40.0, 100.0  # a pair of histograms, an edge in a round of refinement
_REUSED_PAIRS = 1e12  # assumed number of pairs for reused graphs, large enough that loading compiled code pays off


@dataclass(frozen=True)
class EngineChoice:
    """An engine, and the reason for choosing it."""

    engine: Engine[Any, Any, Any]
    reason: str


def choose_engine(
    name: str,
    rows: GraphBatch,
    cols: GraphBatch | None,
    kernel: Leaf,
    pairs: float | None = None,
    *,
    reused: bool = False,
) -> EngineChoice:
    """Return the engine of that name; for ``"auto"`` the exact one that is expected to take the least time.

    A kernel that is not a network has one engine only, whatever the name.

    ``cols`` is None for a symmetric matrix. ``pairs`` is the number of pairs of nodes, by default all pairs of ``rows``
    and ``cols``. ``reused`` is for graphs that take part in many computations, with graphs still unknown: ``pairs`` is
    then irrelevant, and new graphs may be of any size. The estimate counts equal nodes separately, so the lossless
    engine is usually faster than expected. A kernel with a sketch takes the sketched engine, unless no graph is, or can
    become, larger than its sketch.
    """
    if not isinstance(kernel, Network):
        return EngineChoice(get_engine(engines_of(kernel)[0]), "the only engine of this kernel")
    if kernel.sketch is not None:
        if name not in ("auto", "sketched"):
            raise InputError(
                f"engine={name!r} computes exact kernels, but {kernel} has a sketch; use engine='auto', or leave out "
                "the sketch."
            )
        batches = [rows] if cols is None else [rows, cols]
        if reused or any((sketch_rows(batch, kernel) < batch.sizes).any() for batch in batches):
            return EngineChoice(get_engine("sketched", kernel.sketch), "the kernel has a sketch")
        exact = choose_engine("auto", rows, cols, replace(kernel, sketch=None), pairs)
        reason = f"no graph has more nodes than its sketch would have rows, so all is exact; {exact.reason}"
        return EngineChoice(exact.engine, reason)
    if name != "auto":
        return EngineChoice(get_engine(name), "chosen by name")
    if reused:
        pairs = _REUSED_PAIRS
    elif pairs is None:
        pairs = rows.n_nodes**2 / 2 if cols is None else float(rows.n_nodes) * cols.n_nodes
    level_pairs = pairs * kernel.blocks
    decoupled = decoupled_seconds(rows, cols, kernel, level_pairs)
    lossless = lossless_seconds(rows, cols, kernel, level_pairs)
    if decoupled < _START / 1e9 + lossless:
        reason = "so little work that loading compiled code would take longer than it saves"
        if decoupled < lossless:
            reason = f"graphs so dense that NumPy's products are expected to win ({decoupled:.3g} s, {lossless:.3g} s)"
        return EngineChoice(get_engine("decoupled"), reason)
    if not compiled_code_runs():
        _warn_about_numba()
        return EngineChoice(get_engine("decoupled"), "numba cannot be imported, so there is no compiled code")
    reason = f"about {decoupled / lossless:.0f} times faster than decoupled, before equal nodes are merged"
    return EngineChoice(get_engine("lossless"), reason)


def lossless_seconds(rows: GraphBatch, cols: GraphBatch | None, kernel: Network, level_pairs: float) -> float:
    """Estimate the time of the lossless engine on one core, from the pairs of colours over all levels."""
    aggregation, norms = 0.0, 0.0
    for side in (rows, rows if cols is None else cols):
        cached = _mean_size(side) <= _CACHED_SIZE
        aggregation += (_NEIGHBOUR if cached else _NEIGHBOUR_UNCACHED) * _terms(side)
        squares = float(np.sum(side.sizes.astype(np.float64) ** 2))
        norms += 0.5 * squares * (kernel.blocks - 1) * _NORM * _terms(side)
    moving = (_PAIR + aggregation) * (1.0 if kernel.tangent else _ONE_MATRIX)
    return (level_pairs * (_LAYER * kernel.layers + moving) + norms) / 1e9


def estimate_seconds(name: str, batch: GraphBatch, kernel: Leaf, level_pairs: float) -> float:
    """Estimate the time of an engine on one core of this machine, from the pairs of nodes that it computes.

    ``level_pairs`` are summed over all levels, and are pairs of colours where equal nodes are merged. For the lossless
    engine a short measurement scales the model to this machine.
    """
    seconds = _SECONDS[name](batch, None, kernel, level_pairs)
    return seconds * layer_nanoseconds() / _LAYER if name == "lossless" else seconds


def layer_nanoseconds(kernel: Network | None = None) -> float:
    """Measure the time of one ReLU layer on one pair, in compiled code on this machine.

    With a kernel it is the mean over its layers on labels or degrees, otherwise that of cosines of either sign.
    """
    from fastgntk.engines._simd import _intrinsics
    from fastgntk.engines._simd._polynomials import choose_polynomials

    if kernel is None:
        return _intrinsics.layer_nanoseconds()
    chosen, times = np.unique(choose_polynomials(kernel.blocks, kernel.layers, 0.0, True), return_counts=True)
    nanoseconds = [_intrinsics.layer_nanoseconds(int(polynomial)) for polynomial in chosen]
    return float(np.average(nanoseconds, weights=times))


def decoupled_seconds(rows: GraphBatch, cols: GraphBatch | None, kernel: Network, level_pairs: float) -> float:
    """Estimate the time of the decoupled engine on one core, from the pairs of nodes over all levels."""
    aggregation = 0.0
    for side in (rows, rows if cols is None else cols):
        aggregation += min(_DENSE * _mean_size(side), _NEIGHBOUR_NUMPY * _terms(side))
    moving = (_PAIR_NUMPY + aggregation) * (1.0 if kernel.tangent else _ONE_MATRIX)
    return level_pairs * (_LAYER_NUMPY * kernel.layers + moving) / 1e9


def sketched_seconds(rows: GraphBatch, cols: GraphBatch | None, kernel: Network, level_pairs: float) -> float:
    """Estimate the time of the sketched engine on one core, from the pairs of nodes over all levels."""
    larger = rows if cols is None else max(rows, cols, key=_mean_size)
    n_rows = sketch_rows(larger, kernel if kernel.sketch else replace(kernel, sketch=Sketch()))
    b = float(n_rows @ larger.sizes) / max(larger.n_nodes, 1)  # the average over nodes
    # Two dense products with b multiply-adds per side; the last level needs one of them.
    products = 2 * _DENSE * b * (2 * kernel.blocks - 1) / kernel.blocks
    moving = (_PAIR + products) * (1.0 if kernel.tangent else _ONE_MATRIX)
    return level_pairs * (_LAYER * kernel.layers + moving) / 1e9


def histogram_seconds(rows: GraphBatch, cols: GraphBatch | None, kernel: Leaf, level_pairs: float) -> float:  # noqa: ARG001
    """Estimate the time of the engine of Weisfeiler–Lehman colours on one core, of all pairs of graphs."""
    pairs = len(rows) ** 2 / 2 if cols is None else len(rows) * len(cols)
    batches = [rows] if cols is None else [rows, cols]
    edges = sum(batch.n_nodes + len(batch.indices) for batch in batches)
    return (_GRAPH_PAIR * pairs + _REFINED * edges * (kernel.depth + 1)) / 1e9


def vectors_seconds(batch: GraphBatch, cols: GraphBatch | None, kernel: DescriptorKernel, pairs: float) -> float:  # noqa: ARG001
    """Estimate the time of kernels on descriptors on one core, from the pairs of graphs."""
    width = int(batch.descriptors[kernel.on].shape[1])
    return pairs * (_VALUE + _COLUMN * width) / 1e9


_SECONDS: dict[str, Callable[[GraphBatch, GraphBatch | None, Any, float], float]] = {
    "lossless": lossless_seconds,
    "decoupled": decoupled_seconds,
    "kronecker": decoupled_seconds,  # far too low, but no plan depends on this estimate
    "sketched": sketched_seconds,
    "histograms": histogram_seconds,
    "vectors": vectors_seconds,
}


def _mean_size(batch: GraphBatch) -> float:
    """Return the average, over nodes, of the size of the node's graph."""
    return float(np.sum(batch.sizes.astype(np.float64) ** 2)) / max(batch.n_nodes, 1)


def _terms(batch: GraphBatch) -> float:
    """Return |N(u)| + 1 on average."""
    return 1.0 + len(batch.indices) / max(batch.n_nodes, 1)


@cache
def _warn_about_numba() -> None:
    """Log a warning, once in a process."""
    _log.warning("numba cannot be imported; using engine 'decoupled', which is correct but much slower.")
