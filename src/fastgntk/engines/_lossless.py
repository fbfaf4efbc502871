"""The lossless engine: the same numbers as `decoupled`, computed on distinct colours only, in compiled loops.

Nodes that colour refinement cannot distinguish (`_refinement`) have identical rows in Σ(l) and K(l), so each level is
computed once for each pair of colours. With Q_l the operator between colours of two levels, p_l their norms, and
P_l = diag(p_l) times sqrt((c_φ/2)^R), everything is kept normalised:

    Λ = P⁻¹ Σ P'⁻¹,  Θ = P⁻¹ K P'⁻¹      aggregate   Λ ← D Λ D'ᵀ,  Θ ← D Θ D'ᵀ      with D_l = q_l⁻¹ Q_l P_(l−1)
                                         layers      Θ ← κ0(Λ) Θ + κ1(Λ),  Λ ← κ1(Λ)
                                         readout     Σ_uv n_u p_u Θ_uv p'_v n'_v

so the loops hold no division and no scale, and depth does not overflow before the result itself does. The first Λ
comes from unit vectors D_1 = unit(Q_1 X). With typed edges D Λ D'ᵀ is a sum of such products over the node itself and
each type, which are called slots here, and D_1 has the Q_1 X of all slots side by side.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._base import announce_compilation
from fastgntk.engines._operator import inverse, unit_rows, zero_norm
from fastgntk.engines._outline import Extent, Outline
from fastgntk.engines._refinement import colour
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK

if TYPE_CHECKING:
    from fastgntk.engines._simd._block import Block

__all__ = ["Lossless", "PreparedColours"]


_THREAD = 4 * 2**20  # bytes that a thread takes, whatever it does: stack, arena of the allocator
_NEVER = np.zeros(1, dtype=np.uint8)
_buffers = threading.local()  # one set for each thread, kept between tiles


@dataclass(frozen=True)
class PreparedColours:
    """All graphs of a batch: colours, their norms, and the operators of all levels in one CSR matrix.

    ``prepare`` fills in level 1 of q and p, ``work`` the others; ``finish`` normalises ``value``.
    """

    kernel: GNTK
    offsets: Ints  # nodes of each graph
    colours: Int32s  # (L + 1, N)
    hashes: tuple[NDArray[np.uint64], ...]
    features: int
    slots: int
    at: Ints  # row at[l] + c belongs to colour c of level l
    ptr: Ints
    index: Int32s  # at level 1 slot · features + j, above it colours of the level below
    slot: Int32s  # of each entry
    value: Array
    magnitude: Array
    terms: Ints  # of each row, like those below
    sums: Array
    owner: Ints  # the first graph that has the colour
    q: Array
    p: Array
    feature_sums: sparse.csr_array  # (n, d)


class Lossless:
    """Compute the kernel on distinct colours, in compiled loops."""

    name = "lossless"
    width = 384  # past this tiles leave the second-level cache, below it less is merged (benchmarks/blocks.py)

    def prepare(self, batch: GraphBatch, kernel: GNTK) -> PreparedColours:
        """Colour all graphs, and find the norms and directions of level 1."""
        announce_compilation()
        colouring = colour(batch, kernel.blocks, typed=kernel.typed)
        at = np.concatenate([[0, 0], np.cumsum(colouring.counts[1:])]).astype(np.int64)
        first = colouring.operators[0]
        slots = 1 + int(first.slot.max(initial=0))
        n_old = colouring.counts[0]
        columns = first.slot.astype(np.int64) * n_old + first.index
        Q = sparse.csr_array((first.value, columns, first.ptr), shape=(len(first.terms), slots * n_old))
        size = sparse.csr_array((first.magnitude, first.index, first.ptr), shape=(len(first.terms), n_old))
        seen = Q @ sparse.block_diag([colouring.features] * slots, format="csr")
        directions, norm = unit_rows(sparse.csr_array(seen))
        directions.sort_indices()
        bound = size @ unit_rows(colouring.features)[1]
        norm = np.where(zero_norm(norm, bound, first.terms, squared=False), 0.0, norm)
        q, p = np.zeros(at[-1]), np.zeros(at[-1])
        q[: len(norm)] = norm
        p[: len(norm)] = _gain(kernel) * _scaled(norm, first.sums, kernel)
        deeper = colouring.operators[1:]
        lengths = [np.diff(directions.indptr), *(np.diff(o.ptr) for o in deeper)]
        ones = np.ones(batch.n_nodes)
        owner = sparse.csr_array((ones, np.arange(len(ones)), batch.offsets), shape=(len(batch.offsets) - 1, len(ones)))
        sums = sparse.csr_array(owner @ sparse.csr_array(batch.features))
        sums.sort_indices()
        return PreparedColours(
            kernel=kernel,
            offsets=batch.offsets,
            colours=colouring.colours,
            hashes=colouring.hashes,
            features=sums.shape[1],
            slots=slots,
            at=at,
            ptr=np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64),
            index=np.concatenate([directions.indices.astype(np.int32, copy=False), *(o.index for o in deeper)]),
            slot=np.concatenate([np.zeros(len(directions.data), dtype=np.int32), *(o.slot for o in deeper)]),
            value=np.concatenate([directions.data, *(o.value for o in deeper)]),
            magnitude=np.concatenate([directions.data, *(o.magnitude for o in deeper)]),
            terms=np.concatenate([o.terms for o in colouring.operators]),
            sums=np.concatenate([o.sums for o in colouring.operators]),
            owner=batch.graph_of_node[np.concatenate([o.first for o in colouring.operators])],
            q=q,
            p=p,
            feature_sums=sums,
        )

    def colours(self, prepared: PreparedColours) -> Int32s:
        """Return the colours of all levels."""
        return prepared.colours

    def tasks(self, prepared: PreparedColours) -> list[tuple[int, int]]:
        """Cut the graphs into runs whose norms take a fraction of a second each."""
        if prepared.kernel.blocks == 1:
            return []  # level 1 has its norms already
        sizes = np.diff(prepared.offsets).astype(np.float64)
        cost = np.cumsum(sizes**2 * (len(prepared.index) / max(len(prepared.p), 1)) * prepared.kernel.blocks + 1.0)
        if not len(cost):
            return []
        step = min(max(cost[-1] / 16, 1e6), 1e8)
        stops = np.unique(np.searchsorted(cost, np.arange(step, cost[-1] + step, step)) + 1)
        bounds = [0, *np.minimum(stops, len(sizes)).tolist()]
        return [(a, b) for a, b in pairwise(bounds) if a < b]

    def work(self, prepared: PreparedColours, task: tuple[int, int], cancelled: NDArray[np.uint8]) -> None:
        """Find the norms of all levels, for the colours that these graphs have first."""
        from fastgntk.engines._simd import _norms

        kernel = prepared.kernel
        _norms.measure_norms(
            *task,
            prepared.offsets,
            prepared.colours,
            prepared.at,
            prepared.ptr,
            prepared.index,
            prepared.slot,
            prepared.slots,
            prepared.value,
            prepared.magnitude,
            prepared.terms,
            prepared.sums,
            prepared.owner,
            prepared.slots * prepared.features,
            kernel.layers,
            {"uniform": _norms.UNIFORM, "degree": _norms.DEGREE, "unit": _norms.UNIT}[kernel.scale],
            _gain(kernel),
            prepared.q,
            prepared.p,
            cancelled,
        )

    def finish(self, prepared: PreparedColours) -> PreparedColours:
        """Normalise the operators: D = q⁻¹ Q P of the level below."""
        at, ptr, value = prepared.at, prepared.ptr, prepared.value.copy()
        for level in range(2, prepared.kernel.blocks + 1):
            rows = slice(at[level], at[level + 1])
            entries = slice(ptr[at[level]], ptr[at[level + 1]])
            below = prepared.p[at[level - 1] + prepared.index[entries]]
            value[entries] *= below * np.repeat(inverse(prepared.q[rows]), np.diff(ptr[at[level] : at[level + 1] + 1]))
        return replace(prepared, value=value)

    def outline(self, prepared: PreparedColours) -> Outline:
        """Give the colours of every level, and for each graph three keys that graphs with shared colours share.

        A key is the least of the graph's colours in a random order (minhash): two graphs agree in it with the
        probability that a colour of either is a colour of both.
        """
        level = min(2, prepared.kernel.blocks)  # deeper colours are rarely shared, shallower ones nearly always
        hashes, colours = prepared.hashes[level], prepared.colours[level]
        filled = np.flatnonzero(np.diff(prepared.offsets))
        keys = np.zeros((3, len(prepared.offsets) - 1), dtype=np.uint64)
        for i, key in enumerate(keys):
            shuffled = hashes * np.uint64(2 * i + 1) ^ (hashes >> np.uint64(29 + i))
            if len(filled):
                key[filled] = np.minimum.reduceat(shuffled[colours], prepared.offsets[filled])
        return Outline(prepared.offsets, prepared.colours[1:], keys, prepared.features, parts=prepared.slots)

    def block(self, prepared: PreparedColours, graphs: Ints) -> tuple[GNTK, Block]:
        """Pick what some graphs need."""
        from fastgntk.engines._simd._block import Block, build_block

        sums = prepared.feature_sums
        place = _buffer("place", len(prepared.p), np.int32, -1)
        try:
            fields = build_block(
                np.asarray(graphs, dtype=np.int64),
                prepared.offsets,
                prepared.colours,
                prepared.features,
                prepared.at,
                prepared.ptr,
                prepared.index,
                prepared.slot,
                prepared.slots,
                prepared.value,
                prepared.p,
                sums.indptr.astype(np.int64, copy=False),
                sums.indices.astype(np.int32, copy=False),
                sums.data,
                place,
            )
        except BaseException:  # it may have ended without cleaning up
            del _buffers.place
            raise
        return prepared.kernel, Block(*fields)

    def node_block(self, prepared: PreparedColours, batch: GraphBatch) -> tuple[GNTK, Block]:
        """Read out every node as if it were a graph; colours, norms and operators stay the same."""
        nodes = np.arange(batch.n_nodes + 1)
        features = sparse.csr_array(batch.features)
        features.sort_indices()
        return self.block(replace(prepared, offsets=nodes, feature_sums=features), nodes[:-1])

    def tile(
        self, rows: tuple[GNTK, Block], cols: tuple[GNTK, Block], cancelled: NDArray[np.uint8] | None = None
    ) -> Array:
        """Run the recursion on all pairs of colours of two blocks and read out every level."""
        from fastgntk.engines._simd._tile import PATCH, buffer_sizes, compute_tile

        (kernel, near), (_, far) = rows, cols
        out = np.empty((kernel.blocks + 1, len(near.sum_ptr) - 1, len(far.sum_ptr) - 1))
        matrix, turned, readout = buffer_sizes(near, far)
        compute_tile(
            near,
            far,
            kernel.layers,
            near is far,
            _buffer("front", matrix, np.float64, 0.0),
            _buffer("back", matrix, np.float64, 0.0),
            _buffer("patch", PATCH, np.float64, 0.0),
            _buffer("turned", turned, np.float64, 0.0),
            _buffer("readout", readout, np.float64, 0.0),
            _NEVER if cancelled is None else cancelled,
            out,
        )
        return out

    def kept_bytes(self, prepared: PreparedColours) -> int:
        """Count all arrays twice: blocks hold what the whole holds."""
        arrays = [v for v in vars(prepared).values() if isinstance(v, np.ndarray)]
        return int(2 * sum(array.nbytes for array in arrays) + 24 * prepared.feature_sums.nnz)

    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Count two levels of pairs of λ and θ, a panel of features, readouts, and the values with copies of them."""
        m, k = rows.width + 32, cols.width + 32
        levels = 2 * 16 * m * k
        panel = 8 * 64 * max(rows.parts, cols.parts) * max(m, k, rows.features // 2)
        graphs = max(rows.graphs, cols.graphs)
        values = 5 * 8 * rows.levels * rows.graphs * cols.graphs
        return levels + panel + 8 * graphs * max(m, k) + values + _THREAD


def _aligned(size: int, kind: type) -> NDArray[Any]:
    """Allocate so that the first entry starts a cache line: half of all vector loads would straddle two otherwise."""
    raw = np.empty(size * np.dtype(kind).itemsize + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size * np.dtype(kind).itemsize].view(kind)


def _buffer(name: str, size: int, kind: type, fill: float) -> NDArray[Any]:
    """Return this thread's buffer of that name, at least that long; it keeps its content between calls."""
    buffer: NDArray[Any] | None = getattr(_buffers, name, None)
    if buffer is None or len(buffer) < size:
        buffer = _aligned(size, kind)
        buffer[:] = fill
        setattr(_buffers, name, buffer)
    return buffer


def _gain(kernel: GNTK) -> float:
    """Return the factor by which the layers of a block change norms."""
    return float((kernel.c_phi / 2) ** (kernel.layers / 2))


def _scaled(norm: Array, sums: Array, kernel: GNTK) -> Array:
    """Return c_u times the norm; a norm that is no number stays one and shows in the result."""
    if kernel.scale == "unit":
        return norm * 0.0 + (norm > 0)
    return norm / sums if kernel.scale == "degree" else norm
