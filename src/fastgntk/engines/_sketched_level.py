"""One level of the sketched engine between two groups of graphs, in patches of λ and θ that stay in the cache.

`_sketched` has the formula: λ = M̂ P M̂'ᵀ, layers, P ← Ŝ λ Ŝ'ᵀ, and the same for θ and T.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines._aggregation import multiply_directions
from fastgntk.engines._base import CancelFlag
from fastgntk.engines._simd._vector import LANES, apply_layers, scatter

__all__ = ["PATCH_COLS", "PATCH_ROWS", "GroupLevel", "GraphLevel", "advance"]


# Entries of λ at a time: these and as many of θ take 4 MB, which the caches of a core and its neighbours hold.
PATCH_ROWS, PATCH_COLS = 256, 1024


@dataclass(frozen=True, eq=False)
class GraphLevel:
    """One level of one graph, with m distinct nodes and b rows of its sketch."""

    spread: Array  # M̂, (parts, m, b): one part, or one for the node and each type; no columns if there are directions
    gather: Array | None  # Ŝ of the next level, (b_next, m); None on the last level
    buckets: Ints | None  # (m,), the one row of Ŝ that each column has an entry in; None if there are more
    p: Array  # (m,), norms, with the factor of the layers
    counts: Array  # (m,), the number of nodes that each distinct node represents
    directions: list[Any] | None = None  # (m, d) a part, level 1 where features are not sketched, dense or CSR


class GroupLevel:
    """One level of all graphs of a group, with the distinct nodes of the graphs as rows.

    Graph g has rows offsets[g]..offsets[g + 1], rows inner[g].. of the sketches, and rows following[g].. of the
    sketches of the next level. With ``node_by_node`` every row is read out for itself.
    """

    def __init__(self, graphs: list[GraphLevel], *, node_by_node: bool = False) -> None:
        self.graphs, self.node_by_node = graphs, node_by_node
        self.offsets = _offsets([len(graph.p) for graph in graphs])
        self.inner = _offsets([graph.spread.shape[2] for graph in graphs])
        self.following = _offsets([0 if graph.gather is None else len(graph.gather) for graph in graphs])
        self.weights = np.concatenate([np.zeros(0), *(graph.counts * graph.p for graph in graphs)])
        # Instead of M̂ and P, on level 1 if features are not sketched: (rows, d) a part.
        parts = [graph.directions for graph in graphs if graph.directions is not None]
        self.directions = [_stack(part) for part in zip(*parts, strict=True)] if parts else None

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, slice, slice]]:
        """Yield for each graph in start..stop: its number, its rows counted from its first row, and from start."""
        for g in range(bisect_right(self.offsets, start) - 1, len(self.graphs)):
            low, high = max(self.offsets[g], start), min(self.offsets[g + 1], stop)
            if low >= stop:
                return
            if low < high:
                begin = self.offsets[g]
                yield g, slice(low - begin, high - begin), slice(low - start, high - start)

    def weights_by_readout(self, start: int, stop: int) -> tuple[list[int], Array]:
        """Return the readouts with rows in start..stop, and (rows, readouts): each row's weight in its column."""
        weights = self.weights[start:stop]
        if self.node_by_node:
            return list(range(start, stop)), np.diag(weights)
        pieces = list(self.pieces(start, stop))
        out = np.zeros((len(weights), len(pieces)))
        for column, (_, _, place) in enumerate(pieces):
            out[place, column] = weights[place]
        return [g for g, _, _ in pieces], out


def _offsets(lengths: list[int]) -> list[int]:
    return [0, *np.cumsum(lengths, dtype=np.int64).tolist()]


def _stack(parts: Sequence[Any]) -> Any:
    if any(sparse.issparse(part) for part in parts):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts]))
    return np.concatenate(parts)


def advance(
    inner: Array, rows: GroupLevel, cols: GroupLevel, layers: int, out: Array | None, cancelled: CancelFlag | None
) -> Array:
    """Go through one level in patches: read it out into ``out`` (n, n'), and return P and T of the next (2, b, b').

    ``inner`` is P and T stacked, or P alone where both are the same. Without ``out`` only λ is wanted: P is returned.
    A group against itself is symmetric: only patches on and above the diagonal are made, what is on it counts half, and
    the mirror image is added at the end.
    """
    if out is not None:
        out[:] = 0.0
    patches = _Patches(inner, rows, cols, layers, kinds=1 if out is None else 2)
    following = np.zeros((patches.kinds, rows.following[-1], cols.following[-1]))
    for start in range(0, rows.offsets[-1], PATCH_ROWS):
        if cancelled is not None and cancelled[0]:
            break
        stop = min(start + PATCH_ROWS, rows.offsets[-1])
        right = patches.panel(slice(start, stop), out)
        for g, nodes, place in rows.pieces(start, stop):
            gather = rows.graphs[g].gather
            if gather is not None:
                following[:, rows.following[g] : rows.following[g + 1]] += gather[:, nodes] @ right[:, place]
    if rows is cols:
        following = following + following.swapaxes(1, 2)
        if out is not None:
            out += out.T.copy()
    return following


class _Patches:
    """One level between two groups, computed in patches of λ and θ."""

    def __init__(self, inner: Array, rows: GroupLevel, cols: GroupLevel, layers: int, kinds: int) -> None:
        self.inner, self.row_level, self.col_level, self.layers, self.kinds = inner, rows, cols, layers, kinds
        # Parts of the aggregation that both sides have.
        self.parts = min((len(graph.spread) for level in (rows, cols) for graph in level.graphs), default=1)
        entries = min(rows.offsets[-1], PATCH_ROWS) * min(cols.offsets[-1], PATCH_COLS)
        self.room = np.zeros((2, -(-entries // LANES) * LANES))

    def panel(self, rows: slice, out: Array | None) -> Array:
        """Compute the patches of some rows, read them out, and return λ Ŝ'ᵀ and θ Ŝ'ᵀ."""
        row_level, col_level, height = self.row_level, self.col_level, rows.stop - rows.start
        symmetric, n_cols = row_level is col_level, col_level.offsets[-1]
        left = self._spread_rows(rows)
        right = np.zeros((self.kinds, height, col_level.following[-1]))
        for start in range(rows.start if symmetric else 0, n_cols, PATCH_COLS):
            cols = slice(start, min(start + PATCH_COLS, n_cols))
            width = cols.stop - start
            patch = self.room[:, : height * width].reshape(2, height, width)  # λ and θ
            self._aggregate(left, rows, cols, patch)
            apply_layers(self.room[0], self.room[1], height * width, self.layers)
            if symmetric and start < rows.stop:
                patch[:, :, : rows.stop - start] *= 0.5
            if out is not None:
                row_readouts, row_weights = row_level.weights_by_readout(rows.start, rows.stop)
                col_readouts, col_weights = col_level.weights_by_readout(cols.start, cols.stop)
                # Σ_uv n_u p_u θ_uv p'_v n'_v of each pair of graphs.
                out[np.ix_(row_readouts, col_readouts)] += row_weights.T @ (patch[1] @ col_weights)
            self._sketch_columns(patch, cols, right)
        return right

    def _spread_rows(self, rows: slice) -> Array:
        """Return M̂ P and M̂ T for some rows, part by part."""
        level, inner = self.row_level, self.inner
        left = np.empty((self.parts, len(inner), rows.stop - rows.start, inner.shape[2]))
        for g, nodes, place in level.pieces(rows.start, rows.stop):
            for r in range(self.parts):
                graph_inner = inner[:, level.inner[g] : level.inner[g + 1]]
                np.matmul(level.graphs[g].spread[r, nodes], graph_inner, out=left[r, :, place])
        return left

    def _aggregate(self, left: Array, rows: slice, cols: slice, patch: Array) -> None:
        """Fill a patch with λ and θ before the layers."""
        level, kinds = self.col_level, len(self.inner)
        if self.row_level.directions is not None and level.directions is not None:
            row_directions = [part[rows] for part in self.row_level.directions]
            patch[0] = multiply_directions(row_directions, [part[cols] for part in level.directions])
        else:
            for g, nodes, place in level.pieces(cols.start, cols.stop):
                spread, inner = level.graphs[g].spread, slice(level.inner[g], level.inner[g + 1])
                np.matmul(left[0, :, :, inner], spread[0, nodes].T, out=patch[:kinds, :, place])
                for r in range(1, self.parts):
                    patch[:kinds, :, place] += left[r, :, :, inner] @ spread[r, nodes].T
        if kinds == 1:
            patch[1] = patch[0]

    def _sketch_columns(self, patch: Array, cols: slice, right: Array) -> None:
        """Add a patch times Ŝ'ᵀ of its columns."""
        level = self.col_level
        for g, nodes, place in level.pieces(cols.start, cols.stop):
            gather, buckets = level.graphs[g].gather, level.graphs[g].buckets
            if gather is None:  # the last level
                return
            if buckets is None:
                # Sketch first: the same product the other way round is a sixth slower.
                product = gather[:, nodes] @ patch[: self.kinds, :, place].swapaxes(1, 2)
                right[:, :, level.following[g] : level.following[g + 1]] += product.swapaxes(1, 2)
            else:
                entries = gather[buckets[nodes], np.arange(nodes.start, nodes.stop)]
                for kind in range(self.kinds):
                    scatter(patch[kind], place.start, entries, buckets[nodes] + level.following[g], right[kind])
