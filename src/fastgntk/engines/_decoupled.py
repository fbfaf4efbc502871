"""The decoupled engine: (B ⊗ B') vec(Σ) computed as B Σ B'ᵀ, the paper's first step, in NumPy and SciPy.

A group of several graphs is treated as their disjoint union, on which the same recursion holds entry by entry, so that
small graphs share NumPy calls; only the readout separates them. Since C is diagonal, the product is with Â alone: with
q_u the norm of node u after Â and p_u = c_u q_u after the scale, both before the layers,

    λ = (Â Σ Â'ᵀ)_uv / (q_u q_v),   layers: θ ← (c_φ/2) κ0(λ) θ + (c_φ/2)^r κ1(λ),   λ ← κ1(λ)
    Σ = (c_φ/2)^R p_u p_v λ,         K = p_u p_v θ.

An NNGP needs no θ. With typed edges Â Σ Â'ᵀ is a sum of such products over the relations. With a residual connection
the factors 1/q become f of `mixing_factors`, and g_u g_v ⟨x̂_u, x̂_v⟩ is added to λ and θ.
"""

from dataclasses import dataclass, replace

import numpy as np

from fastgntk._util.arrays import Array, Ints, Matrix
from fastgntk.engines._activation import block_gain, kappa1, kappas, linear_share
from fastgntk.engines._aggregation import (
    Aggregation,
    add_up,
    aggregate_features,
    keep_shared_columns,
    multiply_directions,
    shared_relations,
    sum_features,
)
from fastgntk.engines._base import CancelFlag, Extent, GroupwiseEngine, GroupwiseState
from fastgntk.engines._norms import mixing_factors, scale_rows, to_dense, unit_rows
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Network

__all__ = ["Decoupled"]


@dataclass(frozen=True)
class _DecoupledGroup:
    """The disjoint union of some graphs, with N nodes in total."""

    kernel: Network
    offsets: Ints
    feature_sums: Array  # (n, d), Σ_u x_u of each graph
    aggregation: Aggregation
    directions: list[Matrix]  # rows of Â X as unit vectors, (N, d) for each relation; with a residual, times f q
    neighbour_factor: Array  # (L, N), f of `mixing_factors`; without a residual 1/q, or 0 where q is 0
    unit: Matrix  # features as unit vectors, (N, d)
    initial_factor: Array  # (L, N), g of `mixing_factors`
    p: Array  # (L, N), before the layers

    def __len__(self) -> int:
        return len(self.offsets) - 1


class Decoupled(GroupwiseEngine[_DecoupledGroup]):
    """Compute the kernel by two-sided products, sparse or dense by density, without compiled code."""

    name = "decoupled"
    max_group_nodes = 256  # tiles of 256 × 256 stay in the second-level cache (benchmarks/groups.py)

    def build_group(self, state: GroupwiseState, indices: Ints) -> _DecoupledGroup:
        """Aggregate the features and compute the norms of every level."""
        batch, kernel = state.select(indices), state.kernel
        aggregation = Aggregation(batch, **kernel.operator_options)
        directions, q = aggregate_features([relation.matrix for relation in aggregation.relations], batch.features)
        unit, feature_norms = unit_rows(batch.features)
        directions, neighbour_factor, initial_factor, p = _norms(
            aggregation, unit, feature_norms, directions, q, kernel
        )
        sums = to_dense(sum_features(batch))
        return _DecoupledGroup(
            kernel, batch.offsets, sums, aggregation, directions, neighbour_factor, unit, initial_factor, p
        )

    def build_nodes(self, state: GroupwiseState, batch: GraphBatch) -> _DecoupledGroup:
        """Read out every node as if it were a graph."""
        group = self.build_group(state, np.arange(len(batch)))
        return replace(group, offsets=np.arange(batch.n_nodes + 1), feature_sums=to_dense(batch.features))

    def tile_readouts(self, rows: _DecoupledGroup, cols: _DecoupledGroup, cancelled: CancelFlag | None = None) -> Array:  # noqa: ARG002
        """Run the recursion on all node pairs of two groups and read out every level."""
        kernel = rows.kernel
        half_c_phi, linear = kernel.c_phi / 2, linear_share(kernel)
        out = np.empty((kernel.blocks + 1, len(rows), len(cols)))
        out[0] = keep_shared_columns(rows.feature_sums, cols.feature_sums) @ cols.feature_sums.T
        # The first λ comes from unit vectors: as products of features it could leave the range of float64.
        lam = multiply_directions(rows.directions, cols.directions)
        outer, work = np.empty_like(lam), np.empty_like(lam)
        initial = multiply_directions([rows.unit], [cols.unit]) if kernel.has_residual else None
        if initial is not None:
            lam += np.multiply.outer(rows.initial_factor[0], cols.initial_factor[0], out=outer) * initial
        theta = lam.copy() if kernel.tangent else None  # K(0) = Σ(0) needs no aggregation of its own
        for level in range(1, kernel.blocks + 1):
            block = level - 1  # index of the arrays, which have no level 0
            if block:
                # An aggregation leaves the matrices transposed, so that both of its products run along contiguous
                # rows; rows and cols swap from level to level.
                lam = _aggregate(rows.aggregation, cols.aggregation, lam)
                if theta is not None:
                    theta = _aggregate(rows.aggregation, cols.aggregation, theta)
                rows, cols = cols, rows
                outer, work = outer.reshape(lam.shape), work.reshape(lam.shape)
                np.multiply.outer(rows.neighbour_factor[block], cols.neighbour_factor[block], out=outer)
                lam *= outer
                if theta is not None:
                    theta *= outer
                if initial is not None:
                    initial = initial.T  # as rows and cols
                    np.multiply.outer(rows.initial_factor[block], cols.initial_factor[block], out=outer)
                    outer *= initial
                    lam += outer
                    if theta is not None:
                        theta += outer
            k0 = outer  # reuses the buffer: its factors have been applied
            for r in range(1, kernel.layers + 1):
                kappas(lam, k0, lam, work, linear)
                if theta is None:
                    continue
                theta *= k0
                if half_c_phi == 1.0:
                    theta += lam
                else:
                    theta *= half_c_phi
                    theta += half_c_phi**r * lam
            np.multiply.outer(rows.p[block], cols.p[block], out=outer)
            if theta is not None:
                theta *= outer
            if theta is None or level < kernel.blocks:  # from λ back to Σ
                lam *= outer
                if half_c_phi != 1.0:
                    lam *= half_c_phi**kernel.layers
            readout = _segment_sums(_segment_sums(lam if theta is None else theta, rows.offsets).T, cols.offsets)
            out[level] = readout.T if level % 2 else readout  # rows and cols are swapped at even levels
        return out

    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Count Σ, K, two work arrays, and up to four temporaries of a SciPy product."""
        return 8 * 8 * rows.n_nodes * cols.n_nodes


def _aggregate(rows: Aggregation, cols: Aggregation, matrix: Array) -> Array:
    """Return Σ_r Â'_r (Â_r M)ᵀ, the aggregation of both sides without their scales, transposed."""
    return add_up(b.left(a.left(matrix).T) for a, b in shared_relations(rows.relations, cols.relations))


def _norms(
    aggregation: Aggregation,
    unit: Matrix,
    feature_norms: Array,
    directions: list[Matrix],
    q: Array,
    kernel: Network,
) -> tuple[list[Matrix], Array, Array, Array]:
    """Return ``directions``, and ``neighbour_factor``, ``initial_factor`` and p (L, N), from the recursion with itself.

    ``feature_norms`` and ``unit`` are the norms and unit vectors of the features, ``q`` and ``directions`` those of
    the aggregated features. The first norm is computed from the vectors, where cancellation costs ε, and not from the
    quadratic form, where it costs sqrt(ε).
    """
    neighbour_factor, initial_factor, p = np.zeros((3, kernel.blocks, len(q)))
    initial = multiply_directions([unit], [unit]) if kernel.has_residual else None
    sigma, p_out = np.empty((0, 0)), feature_norms
    for block in range(kernel.blocks):
        if block:
            sigma = _aggregate(aggregation, aggregation, sigma)
            q = np.sqrt(np.maximum(np.diag(sigma), 0.0))
        q, scaled = aggregation.scaled_norms(q, p_out, kernel, squared=block > 0)
        neighbour_factor[block], initial_factor[block], p[block] = mixing_factors(q, scaled, feature_norms, kernel)
        if block == 0 and initial is not None:
            directions = [scale_rows(relation, neighbour_factor[0] * q) for relation in directions]
        p_out = p[block] * block_gain(kernel)
        if block + 1 < kernel.blocks:
            if block:
                sigma *= np.multiply.outer(neighbour_factor[block], neighbour_factor[block])
            else:
                sigma = multiply_directions(directions, directions)
            if initial is not None:
                sigma += np.multiply.outer(initial_factor[block], initial_factor[block]) * initial
            for _ in range(kernel.layers):
                sigma = kappa1(sigma, linear_share(kernel))
            sigma *= np.multiply.outer(p_out, p_out)
    return directions, neighbour_factor, initial_factor, p


def _segment_sums(matrix: Array, offsets: Ints) -> Array:
    """Sum the rows offsets[i]:offsets[i + 1] for each i; the sum of an empty graph is zero."""
    out = np.zeros((len(offsets) - 1, matrix.shape[1]))
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        out[filled] = np.add.reduceat(matrix, offsets[filled], axis=0)
    return out
