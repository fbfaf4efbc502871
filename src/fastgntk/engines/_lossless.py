"""The lossless engine: the same values as `decoupled`, computed once for each pair of colours, in compiled loops.

Nodes of equal colour (`_refinement`) have identical rows in Σ(l) and K(l), so merging them loses nothing. With Q_l the
operator between the colours of two levels, q_l the norms after Q_l, p_l = c q_l those after the scale,
p_out = (c_φ/2)^(R/2) p_l those after the layers, and P_l = diag(p_out), everything is kept normalised:

    Λ = P⁻¹ Σ P'⁻¹,  Θ = P⁻¹ K P'⁻¹      aggregate   Λ ← D Λ D'ᵀ,  Θ ← D Θ D'ᵀ      with D_l = q_l⁻¹ Q_l P_(l−1)
                                         layers      Θ ← κ0(Λ) Θ + κ1(Λ),  Λ ← κ1(Λ)
                                         readout     Σ_uv n_u P_u Θ_uv P'_v n'_v,  n_u nodes of colour u

An NNGP needs no Θ, and its readout is of Λ. The loops contain no division and no scale, and deep kernels overflow only
where their values do. The first Λ is computed from unit vectors, the rows of D_1 = unit(Q_1 X). With typed edges
D Λ D'ᵀ is a sum over relations, and D_1 has the Q_1 X of all relations side by side. A residual connection is one more
relation, the first, between colours and features: D_l = f_l Q_l P_(l−1), and g_u g_v ⟨x̂_u, x̂_v⟩ is added, with f and g
of `mixing_factors`.
"""

import threading
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Array, Int32s, Ints, Matrix
from fastgntk.engines._activation import block_gain, linear_share
from fastgntk.engines._aggregation import sum_features
from fastgntk.engines._base import CancelFlag, Engine, Extent, GraphRange, GraphSizes, announce_compilation
from fastgntk.engines._norms import is_zero_norm, mixing_factors, scale_norms, scale_rows, unit_rows
from fastgntk.engines._refinement import Colouring, ColourOperator, refine_colours
from fastgntk.engines._simd._colour_table import ColourNorms, ColourTable, GroupColours, OperatorRows, SparseRows
from fastgntk.engines._simd._group_colours import build_group
from fastgntk.engines._simd._intrinsics import LAM, LAM_THETA, LANES
from fastgntk.engines._simd._norms import SCALES, NormOptions, measure_norms
from fastgntk.engines._simd._polynomials import choose_polynomials
from fastgntk.engines._simd._tile import Buffers, buffer_sizes, compute_tile
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Network

__all__ = ["Lossless", "ColourState"]


_NUMBER = 8  # bytes
_COPIES = 5  # of the values of a tile, in this engine and in what combines its levels
_THREAD_BYTES = 4 * 2**20  # memory of an idle thread: stack and the allocator's arena
_MOST_TASKS = 16
_LEAST_COST = 1e6  # of a task, in pairs of a colour and an entry: a few milliseconds
_LARGEST_COST = 1e8  # a fraction of a second
_NOT_CANCELLED = np.zeros(1, dtype=np.uint8)
_buffers = threading.local()  # one set for each thread, kept between tiles


@dataclass(frozen=True)
class ColourState:
    """All graphs of a batch: colours, their norms, and the operators of all levels in one CSR matrix.

    ``prepare`` fills in the norms of level 1, ``run_task`` fills in those of the other levels in place, and
    ``finish_preparation`` returns a state with the entries of D.
    """

    kernel: Network
    hashes: tuple[NDArray[np.uint64], ...]
    table: ColourTable


class Lossless(Engine[Network, ColourState, tuple[Network, GroupColours]]):
    """Compute the kernel on colours, in compiled loops."""

    name = "lossless"
    max_group_nodes = 384  # larger tiles leave the second-level cache, smaller groups merge less (benchmarks/groups.py)

    def prepare(self, batch: GraphBatch, kernel: Network, cols: ColourState | None = None) -> ColourState:  # noqa: ARG002
        """Refine the colours of all graphs, and compute the norms and unit vectors of level 1."""
        announce_compilation()
        colouring = refine_colours(batch, kernel.blocks, **kernel.refinement_options)
        levels = _make_levels(colouring, kernel)
        if kernel.has_residual:
            levels = _add_initial_features(levels, colouring, kernel)
        return ColourState(kernel, colouring.hashes, _join_levels(levels, colouring, batch, kernel))

    def colours(self, state: ColourState) -> Int32s:
        """Return the colours of all levels."""
        return state.table.colours

    def preparation_tasks(self, state: ColourState) -> list[GraphRange]:
        """Divide the graphs into contiguous ranges of about equal cost, a fraction of a second each."""
        table, blocks = state.table, state.kernel.blocks
        if blocks == 1 or len(table.offsets) == 1:
            return []  # the norms of level 1 are known
        sizes = np.diff(table.offsets).astype(np.float64)
        cost = np.cumsum(sizes**2 * (len(table.operators.data) / max(len(table.norms.q), 1)) * blocks + 1.0)
        step = min(max(cost[-1] / _MOST_TASKS, _LEAST_COST), _LARGEST_COST)
        stops = np.unique(np.searchsorted(cost, np.arange(step, cost[-1] + step, step)) + 1)
        bounds = [0, *np.minimum(stops, len(sizes)).tolist()]
        return [(a, b) for a, b in pairwise(bounds) if a < b]

    def run_task(self, state: ColourState, task: GraphRange, cancelled: CancelFlag) -> None:
        """Fill in q and p_out of all colours that occur in these graphs and in no earlier one."""
        kernel = state.kernel
        gain, scale = block_gain(kernel), SCALES[kernel.scale]
        options = NormOptions(kernel.layers, linear_share(kernel), gain, scale, float(kernel.residual))
        measure_norms(*task, state.table, options, cancelled)

    def finish_preparation(self, state: ColourState) -> ColourState:
        """Normalise the operators: D_l = q_l⁻¹ Q_l P_(l−1), with a residual f_l Q_l P_(l−1) and g_l x̂."""
        kernel, norms, operators = state.kernel, state.table.norms, state.table.operators
        level_start, data = state.table.level_start, operators.data.copy()
        for level in range(2, kernel.blocks + 1):
            first, last = level_start[level], level_start[level + 1]
            q, feature_norm = norms.q[first:last], norms.feature_norm[first:last]
            scaled = scale_norms(q, norms.scale_operand[first:last], kernel)
            f, g, _ = mixing_factors(q, scaled, feature_norm, kernel)
            row = np.repeat(np.arange(last - first), np.diff(operators.indptr[first : last + 1]))
            entries = slice(operators.indptr[first], operators.indptr[last])
            columns = operators.indices[entries]
            of_features = kernel.has_residual & (operators.relation[entries] == 0)
            p_below = norms.p_out[level_start[level - 1] + np.where(of_features, 0, columns)]
            data[entries] *= np.where(of_features, g[row], p_below * f[row])
        return replace(state, table=state.table._replace(normalised=data))

    def graph_sizes(self, state: ColourState) -> GraphSizes:
        """Return the colours of every level, and three keys for each graph that similar graphs are likely to share.

        A key is a minhash, the minimum of the graph's colours in a random order: the probability that two graphs agree
        is the fraction of their colours that both have.
        """
        table = state.table
        level = min(2, state.kernel.blocks)  # deeper colours are rarely shared, shallower ones nearly always
        hashes, colours = state.hashes[level], table.colours[level]
        filled = np.flatnonzero(np.diff(table.offsets))
        keys = np.zeros((3, len(table.offsets) - 1), dtype=np.uint64)
        for i, key in enumerate(keys):
            shuffled = hashes * np.uint64(2 * i + 1) ^ (hashes >> np.uint64(29 + i))
            if len(filled):
                key[filled] = np.minimum.reduceat(shuffled[colours], table.offsets[filled])
        # With a residual connection relation 0 has features as columns, up to twice as many as `tile_bytes` allows for
        # a relation, so it is counted twice.
        n_relations = table.n_relations + int(table.has_residual)
        return GraphSizes(table.offsets, table.colours[1:], keys, table.n_features, n_relations=n_relations)

    def build_group(self, state: ColourState, indices: Ints) -> tuple[Network, GroupColours]:
        """Copy the rows of the colours of some graphs."""
        position = _buffer("position", len(state.table.norms.q), np.int32, -1)
        try:
            return state.kernel, build_group(np.asarray(indices, dtype=np.int64), state.table, position)
        except BaseException:  # the buffer may not be −1 everywhere
            del _buffers.position
            raise

    def build_nodes(self, state: ColourState, batch: GraphBatch) -> tuple[Network, GroupColours]:
        """Read out every node as if it were a graph, with the same colours, norms and operators."""
        nodes = np.arange(batch.n_nodes + 1)
        table = state.table._replace(offsets=nodes, sums=_sparse_rows(batch.features))
        return self.build_group(replace(state, table=table), nodes[:-1])

    def tile_readouts(
        self,
        rows: tuple[Network, GroupColours],
        cols: tuple[Network, GroupColours],
        cancelled: CancelFlag | None = None,
    ) -> Array:
        """Run the recursion on all pairs of colours of two groups and read out every level."""
        (kernel, row_group), (_, col_group) = rows, cols
        sizes = buffer_sizes(row_group, col_group)
        buffers = Buffers(*(_buffer(name, sizes[name], np.float64, 0.0) for name in Buffers._fields))
        out = np.empty((kernel.blocks + 1, len(row_group.sums.indptr) - 1, len(col_group.sums.indptr) - 1))
        cancelled = _NOT_CANCELLED if cancelled is None else cancelled
        parts = LAM_THETA if kernel.tangent else LAM
        linear, symmetric = linear_share(kernel), row_group is col_group
        linear_or_none = linear or None  # None compiles the loop for ReLU alone
        cosines_bounded = bool(row_group.cosines_bounded and col_group.cosines_bounded)
        polynomials = choose_polynomials(kernel.blocks, kernel.layers, linear, cosines_bounded)
        compute_tile(row_group, col_group, polynomials, symmetric, parts, linear_or_none, buffers, cancelled, out)
        return out

    def kept_bytes(self, state: ColourState) -> int:
        """Count the hashes, and all arrays of the table twice: as a rule the groups take as much again."""
        table = state.table
        arrays: list[NDArray[Any]] = [table.offsets, table.colours, table.level_start]
        arrays.append(table.operators.data)  # `normalised`, which may still be missing, has as many entries
        arrays += [*table.operators, *table.norms, *table.sums]
        return 2 * sum(array.nbytes for array in arrays) + sum(hashes.nbytes for hashes in state.hashes)

    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Count λ and θ of two levels, a panel of the sums or features, the readouts, and the values with copies."""
        m, k = rows.n_nodes + LANES, cols.n_nodes + LANES  # in whole panels
        row_bytes = 2 * LANES * _NUMBER  # λ and θ of a panel's row colours with one column colour
        level_bytes = 2 * _NUMBER * m * k
        panel_bytes = row_bytes * max(rows.n_relations, cols.n_relations) * max(m, k, rows.n_features // 2)
        n_graphs = max(rows.n_graphs, cols.n_graphs)
        readout_bytes = _NUMBER * n_graphs * max(m, k)
        value_bytes = _COPIES * _NUMBER * rows.n_levels * rows.n_graphs * cols.n_graphs
        return 2 * level_bytes + panel_bytes + readout_bytes + value_bytes + _THREAD_BYTES


class _Levels(NamedTuple):
    """The levels of `ColourTable` before they are joined."""

    directions: sparse.csr_array  # rows of level 1: unit vectors over features, (m_1, n_relations · d)
    operators: list[ColourOperator]  # of levels 2..L
    n_relations: int
    q: Array  # of level 1, (m_1,)
    scaled: Array  # c q of level 1, (m_1,); with a residual connection the norm p after it
    feature_norm: Array  # of all levels; zeros without a residual connection


def _make_levels(colouring: Colouring, kernel: Network) -> _Levels:
    """Aggregate the features of level 1; the operators above it are those of the colouring."""
    first, *further = colouring.operators
    n_relations = 1 + int(first.relation.max(initial=0))
    directions, q = _aggregate_features(first, colouring.features, n_relations)
    scaled = scale_norms(q, first.scale_operand, kernel)
    return _Levels(directions, further, n_relations, q, scaled, np.zeros(sum(colouring.counts[1:])))


def _add_initial_features(levels: _Levels, colouring: Colouring, kernel: Network) -> _Levels:
    """Add the initial features of a residual connection at every level, as relation 0 in front of the others."""
    unit, norms = unit_rows(colouring.features)
    initial_colours = [colouring.colours[0][operator.first] for operator in colouring.operators]
    feature_norm = norms[np.concatenate(initial_colours)]
    f, g, p = mixing_factors(levels.q, levels.scaled, feature_norm[: len(levels.q)], kernel)
    initial = scale_rows(unit[initial_colours[0]], g)
    aggregated = scale_rows(levels.directions, f * levels.q)
    operators = [_prepend(unit[i], Q) for i, Q in zip(initial_colours[1:], levels.operators, strict=True)]
    directions = sparse.csr_array(sparse.hstack([initial, aggregated]))
    return _Levels(directions, operators, levels.n_relations + 1, levels.q, p, feature_norm)


def _join_levels(levels: _Levels, colouring: Colouring, batch: GraphBatch, kernel: Network) -> ColourTable:
    """Return the concatenated rows of all levels, with the norms of level 1."""
    unknown = np.zeros(sum(colouring.counts[2:]))  # the norms above level 1
    directions, operators = _sparse_rows(levels.directions), levels.operators
    no_relation = np.zeros(len(directions.data), dtype=np.int32)  # at level 1 it is part of the column
    lengths = [np.diff(directions.indptr), *(np.diff(Q.indptr) for Q in operators)]
    return ColourTable(
        offsets=batch.offsets,
        colours=colouring.colours,
        level_start=np.cumsum([0, 0, *colouring.counts[1:]], dtype=np.int64),
        n_features=batch.features.shape[1],
        n_relations=levels.n_relations,
        has_residual=kernel.has_residual,
        cosines_bounded=_has_bounded_cosines(levels, colouring, kernel),
        operators=OperatorRows(
            indptr=np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64),
            indices=np.concatenate([directions.indices, *(Q.indices for Q in operators)]),
            relation=np.concatenate([no_relation, *(Q.relation for Q in operators)]),
            data=np.concatenate([directions.data, *(Q.data for Q in operators)]),
            abs_data=np.concatenate([directions.data, *(Q.abs_data for Q in operators)]),
        ),
        normalised=np.zeros(0),
        norms=ColourNorms(
            q=np.append(levels.q, unknown),
            p_out=np.append(block_gain(kernel) * levels.scaled, unknown),
            feature_norm=levels.feature_norm,
            scale_operand=np.concatenate([Q.scale_operand for Q in colouring.operators]),
            terms=np.concatenate([Q.terms for Q in colouring.operators]),
            owner=batch.graph_of_node[np.concatenate([Q.first for Q in colouring.operators])],
        ),
        sums=_sparse_rows(sum_features(batch)),
    )


def _has_bounded_cosines(levels: _Levels, colouring: Colouring, kernel: Network) -> bool:
    """Return whether the bound of `choose_polynomials` holds: for one relation and no residual connection."""
    one_sum = levels.n_relations == 1 and not kernel.has_residual  # nodes without a common relation have cosine 0
    no_sign = all(np.array_equal(Q.data, Q.abs_data) for Q in colouring.operators)
    return bool(one_sum and no_sign and colouring.features.data.min(initial=0.0) >= 0.0)


def _aggregate_features(Q: ColourOperator, features: Any, n_relations: int) -> tuple[sparse.csr_array, Array]:
    """Return the aggregated features of colours as unit vectors, with the relations side by side, and their norms."""
    n_rows, n_old = len(Q.terms), features.shape[0]
    columns = Q.relation.astype(np.int64) * n_old + Q.indices
    sums = sparse.csr_array((Q.data, columns, Q.indptr), shape=(n_rows, n_relations * n_old))
    directions, norm = unit_rows(sparse.csr_array(sums @ sparse.block_diag([features] * n_relations, format="csr")))
    absolute = sparse.csr_array((Q.abs_data, Q.indices, Q.indptr), shape=(n_rows, n_old))
    bound = absolute @ unit_rows(features)[1]
    return directions, np.where(is_zero_norm(norm, bound, Q.terms, squared=False), 0.0, norm)


def _prepend(unit: sparse.csr_array, Q: ColourOperator) -> ColourOperator:
    """Return Q with unit vectors over features in front of each row, as relation 0; other relations move up by one."""
    n_initial, n_others = np.diff(unit.indptr), np.diff(Q.indptr)
    indptr = np.concatenate([[0], np.cumsum(n_initial + n_others)])
    initial = np.repeat(np.tile([True, False], len(n_initial)), np.column_stack([n_initial, n_others]).ravel())

    def fill(of_features: Any, of_neighbours: Any) -> Any:
        out = np.empty(len(initial), dtype=of_neighbours.dtype)
        out[initial], out[~initial] = of_features, of_neighbours
        return out

    return replace(
        Q,
        indptr=indptr,
        indices=fill(unit.indices, Q.indices),
        relation=fill(0, Q.relation + np.int32(1)),
        data=fill(unit.data, Q.data),
        abs_data=fill(0.0, Q.abs_data),
    )


def _sparse_rows(matrix: Matrix) -> SparseRows:
    """Return a dense or sparse matrix with the types that the loops take."""
    rows = sparse.csr_array(matrix)
    rows = rows if rows.has_sorted_indices else rows.sorted_indices()  # not in place: the caller's arrays may be shared
    return SparseRows(rows.indptr.astype(np.int64, copy=False), rows.indices.astype(np.int32, copy=False), rows.data)


def _buffer(name: str, size: int, kind: type, fill: float) -> NDArray[Any]:
    """Return a buffer of this thread by name, with at least ``size`` entries; it keeps its entries between calls.

    The buffer is aligned to cache lines; otherwise half of all vector loads would straddle two lines.
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
