"""The lossless engine: the same numbers as `decoupled`, computed on distinct colours only, in compiled loops.

Nodes that colour refinement cannot tell apart (`_colours`) have identical rows in Σ(l) and K(l), so each level is
computed once for each pair of colours. With Q_l the operator between colours of two levels, p_l their norms, and
P_l = diag(p_l) times sqrt((c_φ/2)^R), everything is kept normalised:

    Λ = P⁻¹ Σ P'⁻¹,  Θ = P⁻¹ K P'⁻¹      aggregate   Λ ← D Λ D'ᵀ,  Θ ← D Θ D'ᵀ      with D_l = q_l⁻¹ Q_l P_(l−1)
                                         layers      Θ ← κ0(Λ) Θ + κ1(Λ),  Λ ← κ1(Λ)
                                         readout     Σ_uv n_u p_u Θ_uv p'_v n'_v

so the loops hold no division and no scale, and depth does not overflow before the result itself does. The first Λ
comes from unit vectors D_1 = unit(Q_1 X).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk.graph import GraphBatch
from fastgntk.kernel._colours import Colouring, colour
from fastgntk.kernel._compilation import announce_compilation
from fastgntk.kernel._operator import inverse, unit_rows, zero_norm
from fastgntk.kernel._outline import Outline
from fastgntk.kernel._spec import GNTK

if TYPE_CHECKING:
    from fastgntk.kernel._simd._block import Block

__all__ = ["Lossless", "PreparedColours"]

Array = NDArray[np.float64]

_NEVER = np.zeros(1, dtype=np.uint8)
_GRAPHS_AT_ONCE = 256  # between these calls Python can see Ctrl-C


@dataclass(frozen=True)
class PreparedColours:
    """All graphs of a batch: colours, their norms, and the normalised operators of all levels in one CSR matrix."""

    spec: GNTK
    offsets: NDArray[np.int64]  # nodes of each graph
    colours: NDArray[np.int32]  # (L + 1, N)
    hashes: tuple[NDArray[np.uint64], ...]
    features: int
    at: NDArray[np.int64]  # row at[l] + c belongs to colour c of level l
    ptr: NDArray[np.int64]
    index: NDArray[np.int32]
    value: Array
    p: Array  # for each row
    feature_sums: sparse.csr_array  # (n, d)


class Lossless:
    """Compute the kernel on distinct colours, in compiled loops."""

    name = "lossless"
    width = 384  # past this tiles leave the second-level cache, below it less is merged (benchmarks/blocks.py)

    def __init__(self) -> None:
        self._local = threading.local()  # buffers, one set for each thread

    def prepare(self, batch: GraphBatch, spec: GNTK) -> PreparedColours:
        """Colour all graphs and find the norm of every colour."""
        announce_compilation()
        colouring = colour(batch, spec.blocks)
        at = np.concatenate([[0, 0], np.cumsum(colouring.counts[1:])]).astype(np.int64)
        ptr, index, value, p = _rows(batch, spec, colouring, at)
        ones = np.ones(batch.n_nodes)
        owner = sparse.csr_array((ones, np.arange(len(ones)), batch.offsets), shape=(len(batch), len(ones)))
        sums = sparse.csr_array(owner @ sparse.csr_array(batch.features))
        sums.sort_indices()
        return PreparedColours(
            spec, batch.offsets, colouring.colours, colouring.hashes, sums.shape[1], at, ptr, index, value, p, sums
        )

    def outline(self, prepared: PreparedColours) -> Outline:
        """Give the colours of every level, and for each graph three keys that graphs with shared colours share.

        A key is the least of the graph's colours in a random order (minhash): two graphs agree in it with the
        probability that a colour of either is a colour of both.
        """
        level = min(2, prepared.spec.blocks)  # deeper colours are rarely shared, shallower ones nearly always
        hashes, colours = prepared.hashes[level], prepared.colours[level]
        filled = np.flatnonzero(np.diff(prepared.offsets))
        keys = np.zeros((3, len(prepared.offsets) - 1), dtype=np.uint64)
        for i, key in enumerate(keys):
            shuffled = hashes * np.uint64(2 * i + 1) ^ (hashes >> np.uint64(29 + i))
            if len(filled):
                key[filled] = np.minimum.reduceat(shuffled[colours], prepared.offsets[filled])
        return Outline(prepared.offsets, prepared.colours[1:], keys)

    def block(self, prepared: PreparedColours, graphs: NDArray[np.int64]) -> tuple[GNTK, Block]:
        """Pick what some graphs need."""
        from fastgntk.kernel._simd._block import Block, build_block

        place = self._buffer("place", len(prepared.p), np.int32, -1)
        sums = prepared.feature_sums
        fields = build_block(
            np.asarray(graphs, dtype=np.int64),
            prepared.offsets,
            prepared.colours,
            prepared.features,
            prepared.at,
            prepared.ptr,
            prepared.index,
            prepared.value,
            prepared.p,
            sums.indptr.astype(np.int64, copy=False),
            sums.indices.astype(np.int32, copy=False),
            sums.data,
            place,
        )
        return prepared.spec, Block(*fields)

    def tile(
        self, rows: tuple[GNTK, Block], cols: tuple[GNTK, Block], cancelled: NDArray[np.uint8] | None = None
    ) -> Array:
        """Run the recursion on all pairs of colours of two blocks and read out every level."""
        from fastgntk.kernel._simd._tile import PATCH, buffer_sizes, compute_tile

        (spec, near), (_, far) = rows, cols
        out = np.empty((spec.blocks + 1, len(near.sum_ptr) - 1, len(far.sum_ptr) - 1))
        matrix, turned, readout = buffer_sizes(near, far)
        compute_tile(
            near,
            far,
            spec.layers,
            near is far,
            self._buffer("front", matrix, np.float64, 0.0),
            self._buffer("back", matrix, np.float64, 0.0),
            self._buffer("patch", PATCH, np.float64, 0.0),
            self._buffer("turned", turned, np.float64, 0.0),
            self._buffer("readout", readout, np.float64, 0.0),
            _NEVER if cancelled is None else cancelled,
            out,
        )
        return out

    def tile_bytes(self, row_width: int, col_width: int) -> int:
        """Count two levels of pairs of λ and θ; panels are padded to whole vectors."""
        return 2 * 16 * (row_width + 32) * (col_width + 32) + 16 * 64 * (row_width + col_width)

    def _buffer(self, name: str, size: int, kind: type, fill: float) -> NDArray[Any]:
        """Return this thread's buffer of that name, at least that long; it keeps its content between calls."""
        buffer = getattr(self._local, name, None)
        if buffer is None or len(buffer) < size:
            buffer = _aligned(size, kind)
            buffer[:] = fill
            setattr(self._local, name, buffer)
        return buffer


def _aligned(size: int, kind: type) -> NDArray[Any]:
    """Allocate so that the first entry starts a cache line: half of all vector loads would straddle two otherwise."""
    raw = np.empty(size * np.dtype(kind).itemsize + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size * np.dtype(kind).itemsize].view(kind)


def _rows(
    batch: GraphBatch, spec: GNTK, colouring: Colouring, at: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], Array, Array]:
    """Return the normalised operators of all levels as one CSR matrix, and p of each of its rows."""
    from fastgntk.kernel._simd import _norms

    gain = (spec.c_phi / 2) ** (spec.layers / 2)
    first = colouring.operators[0]
    Q = sparse.csr_array((first.value, first.index, first.ptr), shape=(len(first.terms), colouring.features.shape[0]))
    directions, norm = unit_rows(sparse.csr_array(Q @ colouring.features))
    directions.sort_indices()
    size = sparse.csr_array((first.magnitude, first.index, first.ptr), shape=Q.shape)
    bound = size @ unit_rows(colouring.features)[1]
    norm = np.where(zero_norm(norm, bound, first.terms, squared=False), 0.0, norm)
    q, p = np.zeros(at[-1]), np.zeros(at[-1])
    q[: len(norm)] = norm
    if spec.scale == "unit":
        p[: len(norm)] = gain * (norm > 0)
    else:
        p[: len(norm)] = gain * (norm / Q.sum(axis=1) if spec.scale == "degree" else norm)

    deeper = colouring.operators[1:]
    lengths = [np.diff(directions.indptr), *(np.diff(o.ptr) for o in deeper)]
    ptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    index = np.concatenate([directions.indices.astype(np.int32, copy=False), *(o.index for o in deeper)])
    value = np.concatenate([directions.data, *(o.value for o in deeper)])
    if deeper:
        start = ptr[at[2]]
        magnitude = np.concatenate([directions.data, *(o.magnitude for o in deeper)])
        terms = np.concatenate([o.terms for o in colouring.operators])
        known = np.zeros(at[-1], dtype=np.uint8)
        scale = {"uniform": _norms.UNIFORM, "degree": _norms.DEGREE, "unit": _norms.UNIT}[spec.scale]
        for start_graph in range(0, len(batch), _GRAPHS_AT_ONCE):
            _norms.measure_norms(
                start_graph,
                min(start_graph + _GRAPHS_AT_ONCE, len(batch)),
                batch.offsets,
                colouring.colours,
                at,
                ptr,
                index,
                value,
                magnitude,
                terms,
                directions.shape[1],
                spec.layers,
                scale,
                gain,
                q,
                p,
                known,
            )
        below = np.concatenate([np.full(len(o.index), at[i + 1]) for i, o in enumerate(deeper)]) + index[start:]
        value[start:] *= p[below] * np.repeat(inverse(q[at[2] :]), np.diff(ptr[at[2] :]))
    return ptr, index, value, p
