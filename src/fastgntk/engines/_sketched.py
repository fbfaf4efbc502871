"""The sketched engine: Σ aggregated as B (SᵀS) Σ (S'ᵀS') B'ᵀ, the paper's second step; the only approximate engine.

Each graph has one random S (b × N) with E[SᵀS] = I, drawn from its key, so that it is the same in every pair. The key
is a digest of the graph as given (`content_keys`); it comes with the batch, because features are encoded by now.
The result is therefore the exact kernel of the operator B SᵀS in place of B, and positive semi-definite; norms come
from the sketched Σ(G, G). The products are taken in the order of the paper's running-time theorem,

    M = B Sᵀ (N × b), once for each graph;   P = S Σ S'ᵀ (b × b');   Σ ← M P M'ᵀ

at T(N, N, b) instead of T(N, N, N). With norms folded in (M̂ = q⁻¹ M, Ŝ = S diag(p_out), as in `_lossless`) a level is

    λ = M̂ P M̂'ᵀ,   θ = M̂ T M̂'ᵀ,   layers on λ and θ,   P ← Ŝ λ Ŝ'ᵀ,   T ← Ŝ θ Ŝ'ᵀ

where T is to K what P is to Σ; an NNGP needs neither θ nor T. Since P and T are small, λ and θ are never stored whole
but computed in patches (`_sketched_level`). In the code ``M_hat`` is M̂, ``S_hat`` is Ŝ, and an array ``core`` holds
P and T stacked.

Unless ``sketch_features`` is set the features are aggregated exactly: this is done once for each graph, so a sketch
would save no time here, and it would cause most of the error.

With ``merge_nodes`` equal nodes of a graph are merged, and the sketch is of its colours. Let D = diag(n) hold the
number of nodes of each colour of the level below, and Q (m × m_below) count the colours in a neighbourhood. Then S is
applied as Q D^(−½) SᵀS D^(½), which is Q in expectation, with a variance no larger than without merging:
Σ_c Q_uc²/n_c ≤ Σ_c Q_uc, since Q_uc ≤ n_c.

With typed edges there is an M̂ for each relation, with one S for all, and λ = Σ_r M̂_r P M̂'_rᵀ. The features that a
residual connection adds are not sketched.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Int32s, Ints, Matrix
from fastgntk.engines._activation import block_gain
from fastgntk.engines._aggregation import (
    SPARSE_OVER_DENSE,
    aggregate_features,
    count_edge_types,
    count_relations,
    keep_shared_columns,
    operator_matrix,
    scale_operand,
    split_by_type,
)
from fastgntk.engines._base import CancelFlag, Extent, GraphSizes, GroupwiseEngine, GroupwiseState, announce_compilation
from fastgntk.engines._norms import is_zero_norm, mixing_factors, scale_norms, scale_rows, to_dense, unit_rows
from fastgntk.engines._refinement import refine_colours
from fastgntk.engines._sketch_rows import sketch_rows
from fastgntk.engines._sketched_level import PATCH_COLS, PATCH_ROWS, GraphLevel, GroupLevel, advance
from fastgntk.graphs import GraphBatch, content_keys
from fastgntk.kernels import Network
from fastgntk.sketch import Sketch

__all__ = ["Sketched"]


@dataclass(frozen=True)
class _SketchedState(GroupwiseState):
    """Graphs with keys, and the rows b of their sketches; N where a graph is computed exactly."""

    sketch_rows: Ints


@dataclass(frozen=True, eq=False)
class _SketchedGroup:
    kernel: Network
    feature_sums: Array  # (n, d)
    sketched_features: Array  # (Σ b_1, d), unit vectors; no rows if features are not sketched
    levels: list[GroupLevel]
    node_rows: list[Ints] | None = None  # to read out node by node: the row of each node, level by level

    def __len__(self) -> int:
        return len(self.feature_sums)


class Sketched(GroupwiseEngine[_SketchedGroup]):
    """Compute the kernel with sketched aggregations."""

    name = "sketched"
    max_group_nodes = 256

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch

    def prepare(self, batch: GraphBatch, kernel: Network, cols: GroupwiseState | None = None) -> GroupwiseState:  # noqa: ARG002
        """Keep the graphs, and determine the size of each sketch."""
        announce_compilation()
        n_rows = sketch_rows(batch, replace(kernel, sketch=self.sketch))
        return _SketchedState(replace(batch, sketch_keys=content_keys(batch)), kernel, n_rows)

    def graph_sizes(self, state: GroupwiseState) -> GraphSizes:
        """Treat every node as distinct: nodes are merged only within a graph, so that groups depend on sizes alone.

        Building a graph takes several copies of Â (about 48 bytes per edge), some of its rows as a dense array, and S
        and M with intermediate results.
        """
        batch, n_rows = state.batch, _sketch_rows_of(state)
        edges = np.diff(batch.indptr[batch.offsets])
        arrays = batch.sizes * (np.minimum(batch.sizes, PATCH_COLS) + 6 * n_rows + batch.features.shape[1])
        return replace(super().graph_sizes(state), building_bytes=48 * edges + 8 * arrays, sketch_rows=n_rows)

    def build_group(self, state: GroupwiseState, indices: Ints) -> _SketchedGroup:
        """Refine colours, draw the sketches, multiply them by B, and compute the norms of every level."""
        batch, kernel, n_rows = state.select(indices), state.kernel, _sketch_rows_of(state)[indices]
        types, colours = count_edge_types(state.batch), self._colours(batch, kernel)
        sketched_graphs = []
        for i, b in enumerate(n_rows.tolist()):
            graph_colours = None if colours is None else colours[:, batch.offsets[i] : batch.offsets[i + 1]]
            sketched_graphs.append(_SketchedGraph.build(batch[i : i + 1], graph_colours, kernel, self.sketch, b, types))
        sums = sketched_features = np.zeros((0, state.batch.features.shape[1]))
        if sketched_graphs:
            sums = np.stack([graph.feature_sum for graph in sketched_graphs])
            sketched_features = np.concatenate([graph.sketched_features for graph in sketched_graphs])
        levels = [GroupLevel([graph.levels[level] for graph in sketched_graphs]) for level in range(kernel.blocks)]
        return _SketchedGroup(kernel, sums, sketched_features, levels)

    def build_nodes(self, state: GroupwiseState, batch: GraphBatch) -> _SketchedGroup:
        """Read out each row of each level separately."""
        kernel, b, types = state.kernel, int(_sketch_rows_of(state)[0]), count_edge_types(batch)
        graph = _SketchedGraph.build(batch, self._colours(batch, kernel), kernel, self.sketch, b, types)
        levels = [GroupLevel([level], node_by_node=True) for level in graph.levels]
        node_rows = [graph.position_of_node(level) for level in range(1, kernel.blocks + 1)]
        return _SketchedGroup(kernel, to_dense(batch.features), graph.sketched_features, levels, node_rows)

    def _colours(self, batch: GraphBatch, kernel: Network) -> Int32s | None:
        if not self.sketch.merge_nodes:
            return None
        return refine_colours(batch, kernel.blocks, **kernel.refinement_options, operators=False).colours

    def tile_readouts(self, rows: _SketchedGroup, cols: _SketchedGroup, cancelled: CancelFlag | None = None) -> Array:
        """Run the recursion on all node pairs of two groups and read out every level."""
        kernel = rows.kernel
        out = np.empty((kernel.blocks + 1, len(rows), len(cols)))
        out[0] = keep_shared_columns(rows.feature_sums, cols.feature_sums) @ cols.feature_sums.T
        sketched_features = keep_shared_columns(rows.sketched_features, cols.sketched_features)
        # (1, b, b'), since K(0) = Σ(0).
        core = (sketched_features @ cols.sketched_features.T)[None]
        for level, (row_level, col_level) in enumerate(zip(rows.levels, cols.levels, strict=True), start=1):
            readout = out[level] if rows.node_rows is None else np.empty((row_level.offsets[-1], len(cols)))
            core = advance(core, row_level, col_level, kernel, readout, cancelled)
            if rows.node_rows is not None:  # equal nodes have equal contributions
                out[level] = (readout / row_level.graphs[0].counts[:, None])[rows.node_rows[level - 1]]
        return out

    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Count a patch of λ and θ, P and T of two levels, and their products with M̂ and Ŝ."""
        b, b_prime = rows.sketch_rows, cols.sketch_rows
        patch = 2 * min(rows.n_nodes, PATCH_ROWS) * (min(cols.n_nodes, PATCH_COLS) + (1 + cols.n_relations) * b_prime)
        return 8 * (patch + 6 * b * b_prime) + max(rows.building_bytes, cols.building_bytes)

    def kept_bytes(self, state: GroupwiseState) -> int:
        """Count M̂ and Ŝ of every level, and the unit vectors of the first."""
        sizes, n_rows = state.batch.sizes, _sketch_rows_of(state)
        n_relations, features = count_relations(state.batch, state.kernel), state.batch.features.shape[1]
        matrices = (1 + n_relations) * state.kernel.blocks * float(sizes @ n_rows)
        return int(8.0 * (matrices + float(features) * (n_relations * sizes + n_rows).sum()))


def _sketch_rows_of(state: GroupwiseState) -> Ints:
    assert isinstance(state, _SketchedState)
    return state.sketch_rows


_Colours = tuple[Ints, Array]
"""For each colour its first node and its number of nodes."""


class _SketchedGraph:
    """One graph: colours, sketch, M, and the norms from the recursion of the graph with itself."""

    def __init__(
        self, graph: GraphBatch, colours: Int32s | None, kernel: Network, sketch: Sketch, b: int, types: int
    ) -> None:
        self._kernel, self._sketch, self._b = kernel, sketch, b
        self._colours = colours  # (L + 1, N), None if nodes are not merged
        self._size = graph.n_nodes
        self._key = content_keys(graph)[0].astype("<u8").tobytes()
        if kernel.uses_edge_labels:
            self._relations = split_by_type(graph, kernel.self_weight, kernel.symmetric, types)
        else:
            self._relations = [operator_matrix(graph, kernel.self_weight, kernel.symmetric)]
        self._scale_operand = scale_operand(
            graph, uses_node_scale=kernel.uses_node_scale, self_weight=kernel.self_weight
        )
        self._unit, self._feature_norm = unit_rows(graph.features)
        self.feature_sum = np.asarray(graph.features.sum(axis=0), dtype=np.float64).ravel()
        self.sketched_features = np.zeros((0, graph.features.shape[1]))
        self.levels: list[GraphLevel] = []
        self._drawn: dict[int, Array] = {}  # the latest sketch, by block

    @classmethod
    def build(
        cls, graph: GraphBatch, colours: Int32s | None, kernel: Network, sketch: Sketch, b: int, types: int
    ) -> Self:
        """Build all levels of the one graph of a batch, with sketches of b rows."""
        out = cls(graph, colours, kernel, sketch, b, types)
        below = out._colours_of(0)
        core = out._build_first_level(graph.features[below[0]], below)
        for level in range(2, kernel.blocks + 1):
            last = GroupLevel(out.levels[-1:])
            core = advance(core, last, last, kernel, out=None, cancelled=None)
            out._build_level(level, core)
        return out

    def _build_first_level(self, X: Matrix, below: _Colours) -> Array:
        """Build level 1 from the features X of the colours of level 0; return its core P (1, b, b)."""
        norms = unit_rows(X)[1]
        if not self._sketch.sketch_features:
            relations = self._neighbours(1, below)
            directions, q = aggregate_features(relations, X)
            bound, terms = np.zeros(len(q)), np.zeros(len(q))
            for rows in relations:
                # SciPy's abs would first sort and sum duplicate entries, which takes longer than the rest of the loop.
                bound += sparse.csr_array((np.abs(rows.data), rows.indices, rows.indptr), shape=rows.shape) @ norms
                terms += np.diff(rows.indptr)
            q = np.where(is_zero_norm(q, bound, terms, squared=False), 0.0, q)
            self._append_level(1, np.zeros((len(relations), len(q), 0)), q, directions)
            return np.zeros((1, 0, 0))
        S = self._sketch_matrix(1, below)
        self.sketched_features, sketched_norms = unit_rows(to_dense(X if S is None else S @ X))
        M = self._product(1, S, below)
        bound = _norm_bound(M, S, norms)
        M = M * sketched_norms
        q = _norms_of_product(M, self.sketched_features)
        q = np.where(is_zero_norm(q, bound, self._terms(q), squared=False), 0.0, q)
        self._append_level(1, M, q)
        return (self.sketched_features @ self.sketched_features.T)[None]

    def _build_level(self, level: int, core: Array) -> None:
        """Build a level from its core P (1, b, b)."""
        below = self._colours_of(level - 1)
        S = self._sketch_matrix(level, below)
        M = self._product(level, S, below)
        q = np.sqrt(np.maximum(np.einsum("rub,rub->u", M @ core[0], M), 0.0))
        q = np.where(is_zero_norm(q, _norm_bound(M, S, self.levels[-1].p_out), self._terms(q), squared=True), 0.0, q)
        self._append_level(level, M, q)

    def _append_level(self, level: int, M: Array, q: Array, directions: list[Matrix] | None = None) -> None:
        """Append a level to ``levels``, from M and the norms q."""
        kernel = self._kernel
        first, counts = distinct = self._colours_of(level)
        scaled = scale_norms(q, self._scale_operand[first], kernel)
        neighbour_factor, initial_factor, p = mixing_factors(q, scaled, self._feature_norm[first], kernel)
        initial = None
        if kernel.has_residual:
            initial = scale_rows(self._unit[first], initial_factor)
            if directions is not None:
                directions = [scale_rows(relation, neighbour_factor * q) for relation in directions]
        p_out = block_gain(kernel) * p
        S_hat, buckets = None, None
        if level < kernel.blocks:
            S = self._sketch_matrix(level + 1, distinct)
            S_hat = np.diag(p_out) if S is None else S * p_out
            if S is None:
                buckets = np.arange(len(p_out))
            elif self._sketch.kind == "countsketch":
                buckets = np.argmax(S != 0, axis=0)
        M_hat = M * neighbour_factor[:, None]
        self.levels.append(GraphLevel(M_hat, S_hat, buckets, p_out, counts, directions, initial))

    def _terms(self, q: Array) -> Array:
        """Return the ``terms`` of `is_zero_norm`: the rounding error of a sum of N signed terms grows like sqrt(N)."""
        return np.full(len(q), np.sqrt(self._size))

    def _colours_of(self, level: int) -> _Colours:
        """Return the first node and the number of nodes of each colour, in the order of first nodes."""
        if self._colours is None:
            return np.arange(self._size), np.ones(self._size)
        _, first, counts = np.unique(self._colours[level], return_index=True, return_counts=True)
        # The order must not depend on the numbering of colours, which depends on other graphs of the batch.
        order = np.argsort(first)
        return first[order].astype(np.int64), counts[order].astype(np.float64)

    def position_of_node(self, level: int) -> Ints:
        """Return for each node the position of its colour in `_colours_of` of a level."""
        if self._colours is None:
            return np.arange(self._size)
        colours, first = self._colours[level], self._colours_of(level)[0]
        position = np.zeros(int(colours.max(initial=-1)) + 1, dtype=np.int64)
        position[colours[first]] = np.arange(len(first))
        return np.asarray(position[colours])

    def _sketch_matrix(self, level: int, below: _Colours) -> Array | None:
        """Return S D^(½) (b, m) for the aggregation of a level, or None if m ≤ b and it is exact."""
        first, counts = below
        if len(first) <= self._b:
            return None
        block = level if self._sketch.fresh_each_block else 0
        if block not in self._drawn:
            self._drawn = {block: self._sketch.draw(self._size, self._b, self._key, level).dense()}
        S = self._drawn[block]
        if len(first) == self._size:  # all nodes have different colours
            return S
        return S[:, first] * np.sqrt(counts)

    def _neighbours(self, level: int, below: _Colours) -> list[sparse.csr_array]:
        """Return Q (m, m_below) of each relation, with duplicate entries that every product adds up."""
        nodes, first = self._colours_of(level)[0], below[0]
        relations = self._relations if len(nodes) == self._size else [relation[nodes] for relation in self._relations]
        if len(first) == self._size:  # all nodes have different colours
            return relations
        position = self.position_of_node(level - 1)
        shape = (len(nodes), len(first))
        return [sparse.csr_array((Q.data, position[Q.indices], Q.indptr), shape=shape) for Q in relations]

    def _product(self, level: int, S: Array | None, below: _Colours) -> Array:
        """Return M = Q D^(−½) Sᵀ (n_relations, m, b), or Q if S is None; ``S`` is S D^(½)."""
        relations = self._neighbours(level, below)
        if S is None:
            return np.stack([relation.toarray() for relation in relations])
        right = (S / below[1]).T
        return np.stack([_multiply(relation, right) for relation in relations])


def _multiply(matrix: sparse.csr_array, right: Array) -> Array:
    """Return a product, dense or sparse by density."""
    if matrix.nnz * SPARSE_OVER_DENSE < matrix.shape[0] * matrix.shape[1]:
        return np.asarray(matrix @ right)
    out = np.empty((matrix.shape[0], right.shape[1]))
    for start in range(0, len(out), PATCH_COLS):  # a dense Â of N × N might not fit in memory
        rows = slice(start, start + PATCH_COLS)
        np.matmul(matrix[rows].toarray(), right, out=out[rows])
    return out


def _norm_bound(M: Array, S: Array | None, norms: Array) -> Array:
    """Return |M| |S| times the norms before aggregation, for `is_zero_norm`."""
    return np.asarray(np.abs(M).sum(axis=0) @ (norms if S is None else np.abs(S) @ norms))


def _norms_of_product(M: Array, unit: Array) -> Array:
    """Return the norms of the rows of [M_1 U, M_2 U, …] over all relations, some rows at a time."""
    q = np.zeros(M.shape[1])
    for start in range(0, len(q), PATCH_COLS):
        rows = slice(start, start + PATCH_COLS)
        for relation in M:
            q[rows] = np.hypot(q[rows], unit_rows(relation[rows] @ unit)[1])
    return q
