"""The sketched engine: Σ aggregated as B (SᵀS) Σ (S'ᵀS') B'ᵀ, the paper's second step; the only approximate engine.

Each graph has one random S (b × N) with E[SᵀS] = I, drawn from its own content, so that it is the same in every pair.
The result is therefore the exact kernel of the operator B SᵀS in the place of B, and positive semi-definite; norms come
from the sketched Σ(G, G). The products are taken in the order of the paper's running-time theorem,

    M = B Sᵀ (N × b), once for each graph;   P = S Σ S'ᵀ (b × b');   Σ ← M P M'ᵀ

at T(N, N, b) instead of T(N, N, N). With norms folded in (M̂ = q⁻¹ M, Ŝ = S diag(p), as in `_lossless`) a level is

    λ = M̂ P M̂'ᵀ,   θ = M̂ T M̂'ᵀ,   layers on λ and θ,   P ← Ŝ λ Ŝ'ᵀ,   T ← Ŝ θ Ŝ'ᵀ

and since P and T are small, λ and θ need never exist as a whole: they are computed in patches (`_sketched_level`).

The features are aggregated as they are unless ``sketch_features`` is set: that is done once for each graph, so that a
sketch saves nothing there, and does the most harm.

With ``merge_nodes`` the sketch is of distinct nodes. Let D count how often each distinct node of the level before
occurs, and Q (m × m_before) how often each occurs in a neighbourhood. Then S is applied as Q D^(−½) SᵀS D^(½), which is
Q in expectation, and no more spread about it than with all nodes: Σ_c Q_uc²/n_c ≤ Σ_c Q_uc, since Q_uc ≤ n_c.

With typed edges there is an M̂ for the nodes themselves and for each type, with one S, and λ = Σ_r M̂_r P M̂'_rᵀ.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._activation import layer_gain
from fastgntk.engines._aggregation import (
    SPARSE_OVER_DENSE,
    aggregate_features,
    count_edge_types,
    count_parts,
    keep_shared_columns,
    row_sums,
    split_by_type,
)
from fastgntk.engines._base import CancelFlag, Extent, GroupwiseEngine, Outline, UnpreparedGraphs, announce_compilation
from fastgntk.engines._norms import is_zero_norm, safe_reciprocal, scale_norms, to_dense, unit_rows
from fastgntk.engines._refinement import refine_colours
from fastgntk.engines._sketched_level import PATCH_COLS, PATCH_ROWS, GraphLevel, GroupLevel, advance
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.sketch import Sketch

__all__ = ["Sketched"]


@dataclass(frozen=True, eq=False)
class _Group:
    kernel: GNTK
    feature_sums: Array  # (n, d)
    inner_features: Array  # (Σ b_1, d), the sketched features of all graphs, as unit vectors
    levels: list[GroupLevel]
    places: list[Ints] | None = None  # read out node by node: for each level which row each node is

    def __len__(self) -> int:
        return len(self.feature_sums)


class Sketched(GroupwiseEngine[_Group]):
    """Compute the kernel with sketched aggregations."""

    name = "sketched"
    width = 256

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch

    def prepare(self, batch: GraphBatch, kernel: GNTK) -> UnpreparedGraphs:
        """Keep the graphs."""
        announce_compilation()
        return UnpreparedGraphs(batch, kernel)

    def outline(self, prepared: UnpreparedGraphs) -> Outline:
        """Count every node for itself: nodes are merged within a graph only, so that groups depend on sizes alone.

        While a graph is built, memory holds several copies of Â (about 48 bytes an edge), some of its rows as an array,
        and S and M with what they are made from.
        """
        batch = prepared.batch
        sizes = batch.sizes
        edges = np.diff(batch.indptr[batch.offsets - batch.offsets[0]])
        rows = np.array([self.sketch.rows(n) or n for n in sizes.tolist()], dtype=np.int64)
        arrays = sizes * (np.minimum(sizes, PATCH_COLS) + 6 * rows + batch.features.shape[1])
        return replace(super().outline(prepared), building=48 * edges + 8 * arrays)

    def build_group(self, prepared: UnpreparedGraphs, graphs: Ints) -> _Group:
        """Find equal nodes, draw the sketches, multiply them with B, and find the norms of every level."""
        batch, kernel = prepared.select(graphs), prepared.kernel
        types, colours = count_edge_types(prepared.batch), self._colours(batch, kernel)
        built = []
        for i in range(len(batch)):
            graph_colours = None if colours is None else colours[:, batch.offsets[i] : batch.offsets[i + 1]]
            built.append(_SketchedGraph.build(batch[i : i + 1], graph_colours, kernel, self.sketch, types))
        sums = inner = np.zeros((0, prepared.batch.features.shape[1]))
        if built:
            sums = np.stack([graph.feature_sum for graph in built])
            inner = np.concatenate([graph.inner_features for graph in built])
        levels = [GroupLevel([graph.levels[level] for graph in built]) for level in range(kernel.blocks)]
        return _Group(kernel, sums, inner, levels)

    def build_nodes(self, prepared: UnpreparedGraphs, batch: GraphBatch) -> _Group:
        """Read out every row of each level for itself."""
        kernel = prepared.kernel
        graph = _SketchedGraph.build(batch, self._colours(batch, kernel), kernel, self.sketch, count_edge_types(batch))
        levels = [GroupLevel([level], node_by_node=True) for level in graph.levels]
        places = [graph.place_of_node(level) for level in range(1, kernel.blocks + 1)]
        return _Group(kernel, to_dense(batch.features), graph.inner_features, levels, places)

    def _colours(self, batch: GraphBatch, kernel: GNTK) -> Int32s | None:
        if not self.sketch.merge_nodes:
            return None
        return refine_colours(batch, kernel.blocks, typed=kernel.typed, operators=False).colours

    def tile(self, rows: _Group, cols: _Group, cancelled: CancelFlag | None = None) -> Array:
        """Run the recursion on all node pairs of two groups and read out every level."""
        kernel = rows.kernel
        out = np.empty((kernel.blocks + 1, len(rows), len(cols)))
        out[0] = keep_shared_columns(rows.feature_sums, cols.feature_sums) @ cols.feature_sums.T
        inner_features = keep_shared_columns(rows.inner_features, cols.inner_features)
        inner = (inner_features @ cols.inner_features.T)[None]  # K(0) = Σ(0), so one matrix serves both
        for level, (row_level, col_level) in enumerate(zip(rows.levels, cols.levels, strict=True)):
            readout = out[level + 1] if rows.places is None else np.empty((row_level.offsets[-1], len(cols)))
            inner = advance(inner, row_level, col_level, kernel.layers, readout, cancelled)
            if rows.places is not None:  # equal nodes have equal contributions
                out[level + 1] = (readout / row_level.graphs[0].counts[:, None])[rows.places[level]]
        return out

    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Count a patch of λ and θ, and what is between M̂ and Ŝ: P and T, old and new, and their products."""
        b, b_prime = self._sketch_rows(rows), self._sketch_rows(cols)
        patch = 2 * min(rows.width, PATCH_ROWS) * (min(cols.width, PATCH_COLS) + (1 + cols.parts) * b_prime)
        return 8 * (patch + 6 * b * b_prime) + max(rows.building, cols.building)

    def kept_bytes(self, prepared: UnpreparedGraphs) -> int:
        """Count M̂ and Ŝ of every level, and the directions of the first."""
        kept, parts = 0.0, count_parts(prepared.batch, prepared.kernel)
        features = prepared.batch.features.shape[1]
        for size in prepared.batch.sizes.tolist():
            b = self.sketch.rows(size) or size
            kept += 8.0 * (1 + parts) * size * b * prepared.kernel.blocks + 8.0 * (parts * size + b) * features
        return int(kept)

    def _sketch_rows(self, extent: Extent) -> int:
        """Estimate the number of rows of all sketches of a group."""
        size = self.sketch.size
        rows = size * extent.graphs if isinstance(size, int) else int(size * extent.width) + extent.graphs
        return min(rows, extent.width)


_Distinct = tuple[Ints, Array]
"""The first node with each colour, and the number of nodes that have the colour."""


class _SketchedGraph:
    """One graph: distinct nodes, sketch, M, and the norms from the recursion of the graph with itself."""

    def __init__(self, graph: GraphBatch, colours: Int32s | None, kernel: GNTK, sketch: Sketch, types: int) -> None:
        self._kernel, self._sketch = kernel, sketch
        self._colours = colours  # (L + 1, N), None if nodes are not merged
        self._size = graph.n_nodes
        self._content = _content(graph)
        if kernel.typed:
            self._parts = split_by_type(graph, types)
        else:
            self._parts = [sparse.csr_array(graph.adjacency() + sparse.eye_array(self._size, format="csr"))]
        self._sums = row_sums(graph)
        self.feature_sum = np.asarray(graph.features.sum(axis=0), dtype=np.float64).ravel()
        self.inner_features = np.zeros((0, graph.features.shape[1]))
        self.levels: list[GraphLevel] = []
        self._drawn: dict[int, Array] = {}  # the latest sketch, by block

    @classmethod
    def build(cls, graph: GraphBatch, colours: Int32s | None, kernel: GNTK, sketch: Sketch, types: int) -> Self:
        """Build all levels of the one graph of a batch."""
        out = cls(graph, colours, kernel, sketch, types)
        below = out._distinct(0)
        inner = out._first_level(graph.features[below[0]], below)
        for level in range(2, kernel.blocks + 1):
            inner = out._next_level(level, inner)
        return out

    def _first_level(self, X: Any, below: _Distinct) -> Array:
        """Build level 1 from the features X of distinct nodes; returns P of the next level."""
        norms = unit_rows(X)[1]
        if not self._sketch.sketch_features:
            parts = self._neighbours(1, below)
            directions, q = aggregate_features(parts, X)
            bound, terms = np.zeros(len(q)), np.zeros(len(q))
            for rows in parts:
                # SciPy's own abs would sort and add up neighbours first, which takes longer than all the rest.
                bound += sparse.csr_array((np.abs(rows.data), rows.indices, rows.indptr), shape=rows.shape) @ norms
                terms += np.diff(rows.indptr)
            q = np.where(is_zero_norm(q, bound, terms, squared=False), 0.0, q)
            return self._add(1, np.zeros((len(parts), len(q), 0)), q, np.zeros((1, 0, 0)), directions)
        S = self._sketch_matrix(1, below)
        self.inner_features, inner_norms = unit_rows(to_dense(X if S is None else S @ X))
        M = self._product(1, S, below)
        bound = _norm_bound(M, S, norms)
        M = M * inner_norms
        q = _norms_of_product(M, self.inner_features)
        q = np.where(is_zero_norm(q, bound, self._terms(q), squared=False), 0.0, q)
        return self._add(1, M, q, (self.inner_features @ self.inner_features.T)[None])

    def _next_level(self, level: int, inner: Array) -> Array:
        """Build a level from P of it (1, b, b); returns P of the next one."""
        below = self._distinct(level - 1)
        S = self._sketch_matrix(level, below)
        M = self._product(level, S, below)
        q = np.sqrt(np.maximum(np.einsum("rub,rub->u", M @ inner[0], M), 0.0))
        q = np.where(is_zero_norm(q, _norm_bound(M, S, self.levels[-1].p), self._terms(q), squared=True), 0.0, q)
        return self._add(level, M, q, inner)

    def _add(self, level: int, M: Array, q: Array, inner: Array, directions: list[Any] | None = None) -> Array:
        """Keep a level with M and norms q; returns P of the next one from P of this one."""
        kernel = self._kernel
        first, counts = distinct = self._distinct(level)
        p = layer_gain(kernel) * scale_norms(q, self._sums[first], kernel)
        gather, buckets = None, None
        if level < kernel.blocks:
            S = self._sketch_matrix(level + 1, distinct)
            gather = np.diag(p) if S is None else S * p
            if S is None:
                buckets = np.arange(len(p))
            elif self._sketch.kind == "countsketch":
                buckets = np.argmax(S != 0, axis=0)
        self.levels.append(GraphLevel(M * safe_reciprocal(q)[:, None], gather, buckets, p, counts, directions))
        if level == kernel.blocks:
            return inner
        alone = GroupLevel(self.levels[-1:])
        return advance(inner, alone, alone, kernel.layers, out=None, cancelled=None)

    def _terms(self, q: Array) -> Array:
        """Return for `is_zero_norm` how rounding grows: in a sum of N terms of either sign, like sqrt(N)."""
        return np.full(len(q), np.sqrt(self._size))

    def _distinct(self, level: int) -> _Distinct:
        """Return the first node of each colour, in the order of nodes, and the number of nodes that have it."""
        if self._colours is None:
            return np.arange(self._size), np.ones(self._size)
        _, first, counts = np.unique(self._colours[level], return_index=True, return_counts=True)
        # The order must not depend on the numbers of colours, which depend on other graphs of the batch.
        order = np.argsort(first)
        return first[order].astype(np.int64), counts[order].astype(np.float64)

    def place_of_node(self, level: int) -> Ints:
        """Return for each node its number among the distinct nodes of a level."""
        if self._colours is None:
            return np.arange(self._size)
        colours, first = self._colours[level], self._distinct(level)[0]
        number = np.zeros(int(colours.max(initial=-1)) + 1, dtype=np.int64)
        number[colours[first]] = np.arange(len(first))
        return np.asarray(number[colours])

    def _sketch_matrix(self, level: int, below: _Distinct) -> Array | None:
        """Return S D^(½) (b, m) for the aggregation of a level, or None where m ≤ b and it is exact."""
        first, counts = below
        b = self._sketch.rows(self._size)
        if b is None or len(first) <= b:
            return None
        block = level if self._sketch.fresh_each_block else 0
        if block not in self._drawn:
            self._drawn = {block: self._sketch.draw(self._size, b, self._content, level).dense()}
        S = self._drawn[block]
        if len(first) == self._size:  # no two nodes are the same
            return S
        return S[:, first] * np.sqrt(counts)

    def _neighbours(self, level: int, below: _Distinct) -> list[sparse.csr_array]:
        """Return the parts of Q (m, m_below); neighbours of one colour stay apart, since every product adds them up."""
        nodes, first = self._distinct(level)[0], below[0]
        parts = self._parts if len(nodes) == self._size else [part[nodes] for part in self._parts]
        if len(first) == self._size:  # no two nodes are the same
            return parts
        place = self.place_of_node(level - 1)
        shape = (len(nodes), len(first))
        return [sparse.csr_array((part.data, place[part.indices], part.indptr), shape=shape) for part in parts]

    def _product(self, level: int, S: Array | None, below: _Distinct) -> Array:
        """Return M = Q D^(−½) Sᵀ (parts, m, b), or Q where S is None; ``S`` is S D^(½)."""
        parts = self._neighbours(level, below)
        if S is None:
            return np.stack([part.toarray() for part in parts])
        right = (S / below[1]).T
        return np.stack([_multiply(part, right) for part in parts])


def _multiply(matrix: sparse.csr_array, right: Array) -> Array:
    """Return a product, dense or sparse by density."""
    if matrix.nnz * SPARSE_OVER_DENSE < matrix.shape[0] * matrix.shape[1]:
        return np.asarray(matrix @ right)
    out = np.empty((matrix.shape[0], right.shape[1]))
    for start in range(0, len(out), PATCH_COLS):  # Â as an array of N × N might not fit
        rows = slice(start, start + PATCH_COLS)
        np.matmul(matrix[rows].toarray(), right, out=out[rows])
    return out


def _content(batch: GraphBatch) -> bytes:
    """Return a digest of a graph's edges and weights; features may depend on what they were fitted on."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (batch.degrees, batch.indices):
        digest.update(np.ascontiguousarray(array, dtype="<i4").tobytes())
    if batch.weights is not None:
        digest.update(np.ascontiguousarray(batch.weights, dtype="<f8").tobytes())
    return digest.digest()


def _norm_bound(M: Array, S: Array | None, norms: Array) -> Array:
    """Return |M| |S| times the norms before aggregation, for `is_zero_norm`."""
    return np.asarray(np.abs(M).sum(axis=0) @ (norms if S is None else np.abs(S) @ norms))


def _norms_of_product(M: Array, unit: Array) -> Array:
    """Return the norms of the rows of M U, all parts together, some rows at a time."""
    q = np.zeros(M.shape[1])
    for start in range(0, len(q), PATCH_COLS):
        rows = slice(start, start + PATCH_COLS)
        for part in M:
            q[rows] = np.hypot(q[rows], unit_rows(part[rows] @ unit)[1])
    return q
