"""One level of the sketched engine between two groups of graphs, in patches of λ and θ that stay in the cache.

The formula is in `_sketched`: λ = M̂ P M̂'ᵀ, layers, P ← Ŝ λ Ŝ'ᵀ, and the same for θ and T.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Ints, Matrix
from fastgntk.engines._activation import linear_share
from fastgntk.engines._aggregation import multiply_directions
from fastgntk.engines._base import CancelFlag
from fastgntk.engines._simd._intrinsics import LANES, apply_layers, scatter
from fastgntk.kernels import Network

__all__ = ["PATCH_COLS", "PATCH_ROWS", "GroupLevel", "GraphLevel", "advance"]


# The size of a patch: λ and θ together take 4 MB, which fits in the caches.
PATCH_ROWS, PATCH_COLS = 256, 1024


@dataclass(frozen=True, eq=False)
class GraphLevel:
    """One level of one graph, with m colours (of nodes, if they are not merged) and b rows of its sketch."""

    M_hat: Array  # M̂, (n_relations, m, b); b is 0 if there are directions
    S_hat: Array | None  # Ŝ of the next level, (b_next, m); None on the last level
    buckets: Ints | None  # (m,), the row of the only entry in each column of Ŝ; None if columns have several entries
    p_out: Array  # (m,), norms after the layers
    counts: Array  # (m,), the number of nodes of each colour
    directions: list[Matrix] | None = None  # at level 1 if features are not sketched: (m, d) per relation, dense or CSR
    initial: Matrix | None = None  # with a residual connection: r x̂, (m, d)


class GroupLevel:
    """One level of all graphs of a group, with the colours of each graph as rows.

    Graph g has the rows from offsets[g], the rows of the core P from core_start[g], and those of the next
    core from next_core_start[g]. With ``node_by_node`` each row is read out separately.
    """

    def __init__(self, graphs: list[GraphLevel], *, node_by_node: bool = False) -> None:
        self.graphs, self.node_by_node = graphs, node_by_node
        self.offsets = _offsets([len(graph.p_out) for graph in graphs])
        self.core_start = _offsets([graph.M_hat.shape[2] for graph in graphs])
        self.next_core_start = _offsets([0 if graph.S_hat is None else len(graph.S_hat) for graph in graphs])
        self.weights = np.concatenate([np.zeros(0), *(graph.counts * graph.p_out for graph in graphs)])
        # Instead of M̂ and P at level 1 if features are not sketched: (rows, d) per relation.
        by_graph = [graph.directions for graph in graphs if graph.directions is not None]
        self.directions = [_stack(relation) for relation in zip(*by_graph, strict=True)] if by_graph else None
        initial = [graph.initial for graph in graphs if graph.initial is not None]
        self.initial = _stack(initial) if initial else None

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, slice, slice]]:
        """Yield each graph with rows in start..stop, and those rows counted from its first row, and from start."""
        for g in range(bisect_right(self.offsets, start) - 1, len(self.graphs)):
            low, high = max(self.offsets[g], start), min(self.offsets[g + 1], stop)
            if low >= stop:
                return
            if low < high:
                begin = self.offsets[g]
                yield g, slice(low - begin, high - begin), slice(low - start, high - start)

    def weights_by_readout(self, start: int, stop: int) -> tuple[list[int], Array]:
        """Return the readouts that rows start..stop contribute to, and the weights (rows, readouts)."""
        weights = self.weights[start:stop]
        if self.node_by_node:
            return list(range(start, stop)), np.diag(weights)
        pieces = list(self.pieces(start, stop))
        out = np.zeros((len(weights), len(pieces)))
        for column, (_, _, position) in enumerate(pieces):
            out[position, column] = weights[position]
        return [g for g, _, _ in pieces], out


def _offsets(lengths: list[int]) -> list[int]:
    return [0, *np.cumsum(lengths, dtype=np.int64).tolist()]


def _stack(matrices: Sequence[Matrix]) -> Matrix:
    if any(sparse.issparse(matrix) for matrix in matrices):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(matrix) for matrix in matrices]))
    return np.concatenate(matrices)


def advance(
    core: Array, rows: GroupLevel, cols: GroupLevel, kernel: Network, out: Array | None, cancelled: CancelFlag | None
) -> Array:
    """Compute one level in patches: write its readout to ``out`` (n, n'), and return the core of the next level.

    A core is P and T stacked, (2, b, b'), or P alone, (1, b, b'): in ``core`` if they are equal, and in the result
    without ``out`` and for an NNGP, where only λ is computed.
    A group against itself is symmetric: only patches on and above the diagonal are computed, blocks on it count half,
    and the transposed result is added at the end.
    """
    if out is not None:
        out[:] = 0.0
    patches = _Patches(core, rows, cols, kernel, n_matrices=1 if out is None or not kernel.tangent else 2)
    next_core = np.zeros((patches.n_matrices, rows.next_core_start[-1], cols.next_core_start[-1]))
    for start in range(0, rows.offsets[-1], PATCH_ROWS):
        if cancelled is not None and cancelled[0]:
            break
        stop = min(start + PATCH_ROWS, rows.offsets[-1])
        right = patches.panel(slice(start, stop), out)
        for g, nodes, position in rows.pieces(start, stop):
            S_hat = rows.graphs[g].S_hat
            if S_hat is not None:
                next_core[:, rows.next_core_start[g] : rows.next_core_start[g + 1]] += (
                    S_hat[:, nodes] @ right[:, position]
                )
    if rows is cols:
        next_core = next_core + next_core.swapaxes(1, 2)
        if out is not None:
            out += out.T.copy()
    return next_core


class _Patches:
    """One level between two groups, computed in patches of λ and θ."""

    def __init__(self, core: Array, rows: GroupLevel, cols: GroupLevel, kernel: Network, n_matrices: int) -> None:
        self.core, self.row_level, self.col_level, self.kernel, self.n_matrices = core, rows, cols, kernel, n_matrices
        # Relations that only one side has contribute nothing.
        self.n_relations = min((len(graph.M_hat) for level in (rows, cols) for graph in level.graphs), default=1)
        entries = min(rows.offsets[-1], PATCH_ROWS) * min(cols.offsets[-1], PATCH_COLS)
        self.buffer = np.zeros((2, -(-entries // LANES) * LANES))

    def panel(self, rows: slice, out: Array | None) -> Array:
        """Compute the patches of some rows, read them out, and return λ Ŝ'ᵀ and θ Ŝ'ᵀ."""
        row_level, col_level, height = self.row_level, self.col_level, rows.stop - rows.start
        symmetric, n_cols = row_level is col_level, col_level.offsets[-1]
        left = self._multiply_rows(rows)
        right = np.zeros((self.n_matrices, height, col_level.next_core_start[-1]))
        for start in range(rows.start if symmetric else 0, n_cols, PATCH_COLS):
            cols = slice(start, min(start + PATCH_COLS, n_cols))
            width = cols.stop - start
            patch = self.buffer[:, : height * width].reshape(2, height, width)  # λ and θ
            self._aggregate(left, rows, cols, patch)
            theta = self.buffer[1] if self.kernel.tangent else None
            linear = linear_share(self.kernel) or None
            apply_layers(self.buffer[0], theta, height * width, self.kernel.layers, linear)
            if symmetric and start < rows.stop:
                patch[:, :, : rows.stop - start] *= 0.5
            if out is not None:
                row_readouts, row_weights = row_level.weights_by_readout(rows.start, rows.stop)
                col_readouts, col_weights = col_level.weights_by_readout(cols.start, cols.stop)
                # Σ_uv n_u p_u θ_uv p'_v n'_v of each pair of graphs, with p the norms p_out; for an NNGP with λ.
                read = patch[self.n_matrices - 1]
                out[np.ix_(row_readouts, col_readouts)] += row_weights.T @ (read @ col_weights)
            self._sketch_columns(patch, cols, right)
        return right

    def _multiply_rows(self, rows: slice) -> Array:
        """Return M̂ P and M̂ T for some rows and each relation."""
        level, core = self.row_level, self.core  # P and T, or P alone: (1 or 2, b, b')
        left = np.empty((self.n_relations, len(core), rows.stop - rows.start, core.shape[2]))
        for g, nodes, position in level.pieces(rows.start, rows.stop):
            for r in range(self.n_relations):
                core_rows = core[:, level.core_start[g] : level.core_start[g + 1]]
                np.matmul(level.graphs[g].M_hat[r, nodes], core_rows, out=left[r, :, position])
        return left

    def _aggregate(self, left: Array, rows: slice, cols: slice, patch: Array) -> None:
        """Fill a patch with λ and θ before the layers."""
        level, n_matrices = self.col_level, len(self.core)
        if self.row_level.directions is not None and level.directions is not None:
            row_directions = [relation[rows] for relation in self.row_level.directions]
            patch[0] = multiply_directions(row_directions, [relation[cols] for relation in level.directions])
        else:
            for g, nodes, position in level.pieces(cols.start, cols.stop):
                M_hat, core_cols = level.graphs[g].M_hat, slice(level.core_start[g], level.core_start[g + 1])
                np.matmul(left[0, :, :, core_cols], M_hat[0, nodes].T, out=patch[:n_matrices, :, position])
                for r in range(1, self.n_relations):
                    patch[:n_matrices, :, position] += left[r, :, :, core_cols] @ M_hat[r, nodes].T
        if self.row_level.initial is not None and level.initial is not None:
            patch[:n_matrices] += multiply_directions([self.row_level.initial[rows]], [level.initial[cols]])
        if n_matrices == 1:
            patch[1] = patch[0]

    def _sketch_columns(self, patch: Array, cols: slice, right: Array) -> None:
        """Multiply a patch by Ŝ'ᵀ of its columns and add the product to ``right``."""
        level = self.col_level
        for g, nodes, position in level.pieces(cols.start, cols.stop):
            S_hat, buckets = level.graphs[g].S_hat, level.graphs[g].buckets
            if S_hat is None:  # the last level
                return
            if buckets is None:
                # Ŝ' on the left: the transposed product is a sixth slower.
                product = S_hat[:, nodes] @ patch[: self.n_matrices, :, position].swapaxes(1, 2)
                right[:, :, level.next_core_start[g] : level.next_core_start[g + 1]] += product.swapaxes(1, 2)
            else:
                entries = S_hat[buckets[nodes], np.arange(nodes.start, nodes.stop)]
                for i in range(self.n_matrices):
                    scatter(patch[i], position.start, entries, buckets[nodes] + level.next_core_start[g], right[i])
