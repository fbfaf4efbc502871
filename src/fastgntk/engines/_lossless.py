"""The lossless engine: the same numbers as `decoupled`, computed on distinct colours only, in compiled loops.

Nodes that colour refinement cannot distinguish (`_refinement`) have identical rows in Σ(l) and K(l), so each level is
computed once for each pair of colours. With Q_l the operator between colours of two levels, p_l their norms, and
P_l = diag(p_l) times sqrt((c_φ/2)^R), everything is kept normalised:

    Λ = P⁻¹ Σ P'⁻¹,  Θ = P⁻¹ K P'⁻¹      aggregate   Λ ← D Λ D'ᵀ,  Θ ← D Θ D'ᵀ      with D_l = q_l⁻¹ Q_l P_(l−1)
                                         layers      Θ ← κ0(Λ) Θ + κ1(Λ),  Λ ← κ1(Λ)
                                         readout     Σ_uv n_u p_u Θ_uv p'_v n'_v

so the loops hold no division and no scale, and depth does not overflow before the result itself does. The first Λ
comes from unit vectors D_1 = unit(Q_1 X). With typed edges D Λ D'ᵀ is a sum of such products over the node itself and
each type, which are called parts here, and D_1 has the Q_1 X of all parts side by side.
"""

import threading
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._activation import layer_gain
from fastgntk.engines._aggregation import sum_features
from fastgntk.engines._base import CancelFlag, Engine, Extent, GraphRange, Outline, announce_compilation
from fastgntk.engines._norms import is_zero_norm, safe_reciprocal, scale_norms, unit_rows
from fastgntk.engines._refinement import Operator, refine_colours
from fastgntk.engines._simd._group import ColourRows, Group, build_group
from fastgntk.engines._simd._norms import SCALES, measure_norms
from fastgntk.engines._simd._tile import Buffers, buffer_sizes, compute_tile
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK

__all__ = ["Lossless", "PreparedColours"]


_THREAD_BYTES = 4 * 2**20  # memory of an idle thread: stack and the allocator's arena
_NEVER = np.zeros(1, dtype=np.uint8)
_buffers = threading.local()  # one set for each thread, kept between tiles


@dataclass(frozen=True)
class PreparedColours:
    """All graphs of a batch: colours, their norms, and the operators of all levels in one CSR matrix.

    ``prepare`` fills in level 1 of q and p, ``run_task`` the others; ``finish_preparation`` normalises ``rows.value``.
    """

    kernel: GNTK
    hashes: tuple[NDArray[np.uint64], ...]
    rows: ColourRows


class Lossless(Engine[PreparedColours, tuple[GNTK, Group]]):
    """Compute the kernel on distinct colours, in compiled loops."""

    name = "lossless"
    width = 384  # past this tiles leave the second-level cache, below it less is merged (benchmarks/groups.py)

    def prepare(self, batch: GraphBatch, kernel: GNTK) -> PreparedColours:
        """Colour all graphs, and find the norms and directions of level 1."""
        announce_compilation()
        colouring = refine_colours(batch, kernel.blocks, typed=kernel.typed)
        first, deeper = colouring.operators[0], colouring.operators[1:]
        parts = 1 + int(first.part.max(initial=0))
        directions, norm = _aggregate_features(first, colouring.features, parts)
        at = np.concatenate([[0, 0], np.cumsum(colouring.counts[1:])]).astype(np.int64)
        q, p = np.zeros(at[-1]), np.zeros(at[-1])
        q[: len(norm)] = norm
        p[: len(norm)] = layer_gain(kernel) * scale_norms(norm, first.sums, kernel)
        lengths = [np.diff(directions.indptr), *(np.diff(o.ptr) for o in deeper)]
        sums = sparse.csr_array(sum_features(batch))
        sums.sort_indices()
        rows = ColourRows(
            offsets=batch.offsets,
            colours=colouring.colours,
            features=sums.shape[1],
            parts=parts,
            at=at,
            ptr=np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64),
            columns=np.concatenate([directions.indices.astype(np.int32, copy=False), *(o.index for o in deeper)]),
            part=np.concatenate([np.zeros(len(directions.data), dtype=np.int32), *(o.part for o in deeper)]),
            value=np.concatenate([directions.data, *(o.value for o in deeper)]),
            magnitude=np.concatenate([directions.data, *(o.magnitude for o in deeper)]),
            terms=np.concatenate([o.terms for o in colouring.operators]),
            sums=np.concatenate([o.sums for o in colouring.operators]),
            owner=batch.graph_of_node[np.concatenate([o.first for o in colouring.operators])],
            q=q,
            p=p,
            **_feature_sums(sums),
        )
        return PreparedColours(kernel, colouring.hashes, rows)

    def colours(self, prepared: PreparedColours) -> Int32s:
        """Return the colours of all levels."""
        return prepared.rows.colours

    def preparation_tasks(self, prepared: PreparedColours) -> list[GraphRange]:
        """Cut the graphs into ranges whose norms take a fraction of a second each."""
        rows, blocks = prepared.rows, prepared.kernel.blocks
        if blocks == 1 or len(rows.offsets) == 1:
            return []  # level 1 has its norms already
        sizes = np.diff(rows.offsets).astype(np.float64)
        cost = np.cumsum(sizes**2 * (len(rows.columns) / max(len(rows.p), 1)) * blocks + 1.0)
        step = min(max(cost[-1] / 16, 1e6), 1e8)
        stops = np.unique(np.searchsorted(cost, np.arange(step, cost[-1] + step, step)) + 1)
        bounds = [0, *np.minimum(stops, len(sizes)).tolist()]
        return [(a, b) for a, b in pairwise(bounds) if a < b]

    def run_task(self, prepared: PreparedColours, task: GraphRange, cancelled: CancelFlag) -> None:
        """Find the norms of all levels, for the colours that these graphs have first."""
        kernel = prepared.kernel
        measure_norms(*task, prepared.rows, kernel.layers, SCALES[kernel.scale], layer_gain(kernel), cancelled)

    def finish_preparation(self, prepared: PreparedColours) -> PreparedColours:
        """Normalise the operators: D = q⁻¹ Q P of the level below."""
        at, ptr, columns = prepared.rows.at, prepared.rows.ptr, prepared.rows.columns
        value = prepared.rows.value.copy()
        for level in range(2, prepared.kernel.blocks + 1):
            inverse_q = safe_reciprocal(prepared.rows.q[at[level] : at[level + 1]])
            entries = slice(ptr[at[level]], ptr[at[level + 1]])
            below = prepared.rows.p[at[level - 1] + columns[entries]]
            value[entries] *= below * np.repeat(inverse_q, np.diff(ptr[at[level] : at[level + 1] + 1]))
        return replace(prepared, rows=prepared.rows._replace(value=value))

    def outline(self, prepared: PreparedColours) -> Outline:
        """Give the colours of every level, and for each graph three keys that graphs with shared colours share.

        A key is the minimum of the graph's colours in a random order (minhash): two graphs agree in it with the
        probability that a colour of either is a colour of both.
        """
        rows = prepared.rows
        level = min(2, prepared.kernel.blocks)  # deeper colours are rarely shared, shallower ones nearly always
        hashes, colours = prepared.hashes[level], rows.colours[level]
        filled = np.flatnonzero(np.diff(rows.offsets))
        keys = np.zeros((3, len(rows.offsets) - 1), dtype=np.uint64)
        for i, key in enumerate(keys):
            shuffled = hashes * np.uint64(2 * i + 1) ^ (hashes >> np.uint64(29 + i))
            if len(filled):
                key[filled] = np.minimum.reduceat(shuffled[colours], rows.offsets[filled])
        return Outline(rows.offsets, rows.colours[1:], keys, rows.features, parts=rows.parts)

    def build_group(self, prepared: PreparedColours, graphs: Ints) -> tuple[GNTK, Group]:
        """Pick what some graphs need."""
        place = _buffer("place", len(prepared.rows.p), np.int32, -1)
        try:
            rows, readouts, sums = build_group(np.asarray(graphs, dtype=np.int64), prepared.rows, place)
        except BaseException:  # it may have ended without cleaning up
            del _buffers.place
            raise
        return prepared.kernel, Group(*rows, *readouts, *sums)

    def build_nodes(self, prepared: PreparedColours, batch: GraphBatch) -> tuple[GNTK, Group]:
        """Read out every node as if it were a graph; colours, norms and operators stay the same."""
        nodes = np.arange(batch.n_nodes + 1)
        features = sparse.csr_array(batch.features)
        features.sort_indices()
        rows = prepared.rows._replace(offsets=nodes, **_feature_sums(features))
        return self.build_group(replace(prepared, rows=rows), nodes[:-1])

    def tile(self, rows: tuple[GNTK, Group], cols: tuple[GNTK, Group], cancelled: CancelFlag | None = None) -> Array:
        """Run the recursion on all pairs of colours of two groups and read out every level."""
        (kernel, row_group), (_, col_group) = rows, cols
        sizes = buffer_sizes(row_group, col_group)
        buffers = Buffers(*(_buffer(name, sizes[name], np.float64, 0.0) for name in Buffers._fields))
        out = np.empty((kernel.blocks + 1, len(row_group.sum_ptr) - 1, len(col_group.sum_ptr) - 1))
        cancelled = _NEVER if cancelled is None else cancelled
        compute_tile(row_group, col_group, kernel.layers, row_group is col_group, buffers, cancelled, out)
        return out

    def kept_bytes(self, prepared: PreparedColours) -> int:
        """Count all arrays twice: groups hold what the whole holds."""
        return int(2 * sum(array.nbytes for array in prepared.rows if isinstance(array, np.ndarray)))

    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Count two levels of pairs of λ and θ, a panel of features, readouts, and the values with copies of them."""
        m, k = rows.width + 32, cols.width + 32
        levels = 2 * 16 * m * k
        panel = 8 * 64 * max(rows.parts, cols.parts) * max(m, k, rows.features // 2)
        graphs = max(rows.graphs, cols.graphs)
        values = 5 * 8 * rows.levels * rows.graphs * cols.graphs
        return levels + panel + 8 * graphs * max(m, k) + values + _THREAD_BYTES


def _aggregate_features(Q: Operator, features: Any, parts: int) -> tuple[sparse.csr_array, Array]:
    """Return the aggregated features of the colours of level 1 as unit vectors, with the parts side by side; norms."""
    n_rows, n_old = len(Q.terms), features.shape[0]
    columns = Q.part.astype(np.int64) * n_old + Q.index
    sums = sparse.csr_array((Q.value, columns, Q.ptr), shape=(n_rows, parts * n_old))
    directions, norm = unit_rows(sparse.csr_array(sums @ sparse.block_diag([features] * parts, format="csr")))
    directions.sort_indices()
    magnitude = sparse.csr_array((Q.magnitude, Q.index, Q.ptr), shape=(n_rows, n_old))
    bound = magnitude @ unit_rows(features)[1]
    return directions, np.where(is_zero_norm(norm, bound, Q.terms, squared=False), 0.0, norm)


def _feature_sums(matrix: sparse.csr_array) -> dict[str, Any]:
    """Return the fields of `ColourRows` for feature sums."""
    ptr, index = matrix.indptr.astype(np.int64, copy=False), matrix.indices.astype(np.int32, copy=False)
    return {"sum_ptr": ptr, "sum_index": index, "sum_value": matrix.data}


def _buffer(name: str, size: int, kind: type, fill: float) -> NDArray[Any]:
    """Return this thread's buffer of that name, at least that long; it keeps its content between calls.

    The first entry starts a cache line: half of all vector loads would straddle two otherwise.
    """
    buffer: NDArray[Any] | None = getattr(_buffers, name, None)
    if buffer is None or len(buffer) < size:
        n_bytes = size * np.dtype(kind).itemsize
        raw = np.empty(n_bytes + 64, dtype=np.uint8)
        start = -raw.ctypes.data % 64
        buffer = raw[start : start + n_bytes].view(kind)
        buffer[:] = fill
        setattr(_buffers, name, buffer)
    return buffer
