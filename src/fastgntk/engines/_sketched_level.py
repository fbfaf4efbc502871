"""One level of the sketched engine between two blocks of graphs, in patches of λ and θ that stay in the cache.

`_sketched` has the formula: λ = M̂ P M̂'ᵀ, layers, P ← Ŝ λ Ŝ'ᵀ, and the same for θ and T.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines._operator import direction_products

__all__ = ["PATCH_COLS", "PATCH_ROWS", "SketchedGraph", "SketchedSide", "advance"]


# Entries of λ in work at once: these and as many of θ take 4 MB, which the caches of a core and its neighbours hold.
PATCH_ROWS, PATCH_COLS = 256, 1024


@dataclass(frozen=True, eq=False)
class SketchedGraph:
    """One level of one graph, with m distinct nodes and b rows of its sketch."""

    spread: Array  # M̂, (parts, m, b): one part, or one for the node and each type; no columns if there are directions
    gather: Array | None  # Ŝ of the next level, (b_next, m); None on the last level
    buckets: Ints | None  # (m,), the one row of Ŝ that each column has an entry in; None if there are more
    p: Array  # (m,), norms, with the factor of the layers
    counts: Array  # (m,), how many nodes each stands for
    directions: list[Any] | None = None  # (m, d) a part, level 1 where features are not sketched, dense or CSR


@dataclass(frozen=True, eq=False)
class SketchedSide:
    """One level of all graphs of a block; graph g has rows rows[g]..rows[g + 1] and sketch rows inner[g].."""

    rows: Ints
    inner: Ints
    levels: list[SketchedGraph]
    weights: Array  # counts · p of all rows
    directions: list[Any] | None = None  # (rows, d) a part, instead of M̂ and P, on level 1 if features are not sketched
    node_by_node: bool = False  # whether every row is read out for itself

    def readouts(self, start: int, stop: int) -> list[tuple[int, slice]]:
        """Return for each readout that has rows in start..stop: its number, and its rows counted from start."""
        if self.node_by_node:
            return [(start + k, slice(k, k + 1)) for k in range(stop - start)]
        return [(g, place) for g, _, place in self.pieces(start, stop)]

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, slice, slice]]:
        """Yield for each graph in start..stop: its number, its rows counted from its own first, and from start."""
        first = int(np.searchsorted(self.rows, start, side="right")) - 1
        for g in range(first, len(self.levels)):
            low, high = max(int(self.rows[g]), start), min(int(self.rows[g + 1]), stop)
            if low >= stop:
                return
            if low < high:
                own = int(self.rows[g])
                yield g, slice(low - own, high - own), slice(low - start, high - start)

    def steps(self) -> list[int]:
        """Return where the rows of each graph's next sketch start, and their number."""
        return [0, *np.cumsum([0 if level.gather is None else len(level.gather) for level in self.levels]).tolist()]

    def part(self, g: int) -> slice:
        """Return the sketch rows of a graph."""
        return slice(int(self.inner[g]), int(self.inner[g + 1]))


def advance(
    inner: Array,
    near: SketchedSide,
    far: SketchedSide,
    layers: int,
    out: Array | None,
    *,
    last: bool,
    cancelled: NDArray[np.uint8] | None = None,
) -> Array:
    """Go through one level in patches: read it out into ``out`` (n, n'), and return P and T of the next (2, b, b').

    ``inner`` is P and T stacked, or P alone where both are the same. Without ``out`` only λ is wanted: P is returned.
    A block against itself is symmetric: only patches on and above the diagonal are made, what is on it counts half, and
    the mirror image is added at the end.
    """
    if out is not None:
        out[:] = 0.0
    level = _PatchedLevel(inner, near, far, layers, kinds=1 if out is None else 2)
    steps = near.steps()
    following = np.zeros((level.kinds, steps[-1], level.far_steps[-1]))
    for top in range(0, level.n_rows, PATCH_ROWS):
        if cancelled is not None and cancelled[0]:
            break
        rows = slice(top, min(top + PATCH_ROWS, level.n_rows))
        right = level.panel(rows, out, last=last)
        if last:
            continue
        for g, own, place in near.pieces(rows.start, rows.stop):
            gather = near.levels[g].gather
            assert gather is not None
            following[:, steps[g] : steps[g + 1]] += gather[:, own] @ right[:, place]
    if near is far:
        following = following + following.swapaxes(1, 2)
        if out is not None:
            out += out.T.copy()
    return following


class _PatchedLevel:
    """One level between two sides, computed in patches of λ and θ that stay in the cache."""

    def __init__(self, inner: Array, near: SketchedSide, far: SketchedSide, layers: int, kinds: int) -> None:
        from fastgntk.engines._simd._entrywise import LANES

        self.inner, self.near, self.far, self.layers, self.kinds = inner, near, far, layers, kinds
        self.n_rows, self.n_cols = int(near.rows[-1]), int(far.rows[-1])
        self.far_steps = far.steps()
        # Parts of the aggregation that both sides have.
        self.parts = min((len(level.spread) for side in (near, far) for level in side.levels), default=1)
        patch = min(self.n_rows, PATCH_ROWS) * min(self.n_cols, PATCH_COLS)
        self.room = np.zeros((2, -(-patch // LANES) * LANES))

    def panel(self, rows: slice, out: Array | None, *, last: bool) -> Array:
        """Compute the patches of some rows, read them out, and return λ Ŝ'ᵀ and θ Ŝ'ᵀ."""
        from fastgntk.engines._simd._entrywise import apply_layers

        near, far, height = self.near, self.far, rows.stop - rows.start
        left = self._spread_rows(rows)
        right = np.zeros((self.kinds, height, self.far_steps[-1]))
        for start in range(rows.start if near is far else 0, self.n_cols, PATCH_COLS):
            cols = slice(start, min(start + PATCH_COLS, self.n_cols))
            width = cols.stop - start
            both = self.room[:, : height * width].reshape(2, height, width)
            self._aggregate(left, rows, cols, both)
            apply_layers(self.room[0], self.room[1], height * width, self.layers)
            if near is far and start < rows.stop:
                both[:, :, : rows.stop - start] *= 0.5
            if out is not None:
                _read_out(both[1], near, far, rows.start, start, out)
            if not last:
                self._sketch_columns(both, cols, right)
        return right

    def _spread_rows(self, rows: slice) -> Array:
        """Return M̂ P and M̂ T for some rows, part by part."""
        near, inner = self.near, self.inner
        left = np.empty((self.parts, len(inner), rows.stop - rows.start, inner.shape[2]))
        for g, own, place in near.pieces(rows.start, rows.stop):
            for r in range(self.parts):
                np.matmul(near.levels[g].spread[r, own], inner[:, near.part(g)], out=left[r, :, place])
        return left

    def _aggregate(self, left: Array, rows: slice, cols: slice, both: Array) -> None:
        """Fill a patch with λ and θ before the layers."""
        near, far, inner = self.near, self.far, self.inner
        if near.directions is not None and far.directions is not None:
            both[0] = direction_products(
                [part[rows] for part in near.directions], [part[cols] for part in far.directions]
            )
        for g, own, place in far.pieces(cols.start, cols.stop):
            if far.directions is None:
                spread, to = far.levels[g].spread, both[: len(inner), :, place]
                np.matmul(left[0, :, :, far.part(g)], spread[0, own].T, out=to)
                for r in range(1, self.parts):
                    to += left[r, :, :, far.part(g)] @ spread[r, own].T
        if len(inner) == 1:
            both[1] = both[0]

    def _sketch_columns(self, both: Array, cols: slice, right: Array) -> None:
        """Add a patch times Ŝ'ᵀ of its columns."""
        from fastgntk.engines._simd._entrywise import scatter

        far = self.far
        for g, own, place in far.pieces(cols.start, cols.stop):
            gather = far.levels[g].gather
            assert gather is not None
            columns, buckets = slice(self.far_steps[g], self.far_steps[g + 1]), far.levels[g].buckets
            if buckets is None:
                # Sketch first: the same product the other way round is a sixth slower.
                product = gather[:, own] @ both[: self.kinds, :, place].swapaxes(1, 2)
                right[:, :, columns] += product.swapaxes(1, 2)
            else:
                entries = gather[buckets[own], np.arange(own.start, own.stop)]
                for kind in range(self.kinds):
                    scatter(both[kind], place.start, entries, buckets[own] + columns.start, right[kind])


def _read_out(theta: Array, near: SketchedSide, far: SketchedSide, top: int, start: int, out: Array) -> None:
    """Add Σ_uv n_u p_u θ_uv p'_v n'_v of each pair of graphs in a patch to ``out``."""
    rows = near.readouts(top, top + theta.shape[0])
    cols = far.readouts(start, start + theta.shape[1])
    weighted = theta @ _by_graph(far.weights[start : start + theta.shape[1]], cols)
    sums = _by_graph(near.weights[top : top + theta.shape[0]], rows).T @ weighted
    out[np.ix_([g for g, _ in rows], [g for g, _ in cols])] += sums


def _by_graph(weights: Array, pieces: list[tuple[int, slice]]) -> Array:
    """Return (rows, graphs): the weight of each row in the column of its graph."""
    out = np.zeros((len(weights), len(pieces)))
    for column, (_, place) in enumerate(pieces):
        out[place, column] = weights[place]
    return out
