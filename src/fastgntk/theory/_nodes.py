"""Aggregated nodes as unit vectors: all that the kernel with L = R = 1 and ``scale="unit"`` sees of a graph.

    h̄_u = (Â X)_u / ‖(Â X)_u‖            sketched:  h̃_u = (Â SᵀS X)_u / ‖(Â SᵀS X)_u‖

The exact and the sketched kernel differ in these rows and in nothing else, so everything else in this folder is
written for rows of unit vectors, wherever they come from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines import Aggregation, unit_rows, zero_norm
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind, GraphBatch, NodeFeatures, as_graphs

__all__ = ["UnitNodes", "aggregate_features", "aggregated", "unit_nodes"]


# Noise of a sum is as large as this distance from ±1, where κ0 turns ε into 1e-8 (docs/math.md, Precision).
_NEAR_ONE = 1.0 - 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class UnitNodes:
    """Hold the unit vectors h̄_u of n graphs; a node of norm zero is a zero row.

    Attributes
    ----------
    h : float64, (N, d)
        One row for each node of all graphs together.
    offsets : int64, (n + 1,)
        Nodes of graph i are rows ``offsets[i]:offsets[i + 1]``.
    """

    h: Array
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Ints:
        """Number of nodes of each graph, (n,)."""
        return np.diff(self.offsets)

    @property
    def pooled(self) -> Array:
        """Σ_u h̄_u of each graph, (n, d); its transpose is H̄."""
        return self.graph_sums(self.h)

    def graph_sums(self, values: Array) -> Array:
        """Sum the rows of ``values`` (N, ...) graph by graph; a graph without nodes gives zero."""
        return _segment_sums(values, self.offsets)

    def pair_sums(self, function: Callable[[Array], Array]) -> Array:
        """Return Σ_{u∈G_i} Σ_{v∈G_j} f(⟨h̄_u, h̄_v⟩) for all i, j, exactly symmetric, (n, n).

        Nodes of norm zero are left out, also where f(0) is not 0. Costs N² evaluations of f / 2.
        """
        alive = self.h.any(axis=1)
        h = self.h[alive]
        offsets = np.concatenate([[0], np.cumsum(alive)])[self.offsets]
        out = np.zeros((len(self), len(self)))
        for i, (start, stop) in enumerate(pairwise(offsets)):
            lam = h[start:stop] @ h[start:].T
            lam = np.where(np.abs(lam) >= _NEAR_ONE, np.sign(lam), lam)
            out[i, i:] = _segment_sums(function(lam).sum(axis=0), offsets[i:] - start)
            out[i:, i] = out[i, i:]
        return out


def aggregated(source: Any, features: FeatureKind = "auto", sketches: Sequence[Array] | None = None) -> UnitNodes:
    """Aggregate node features over closed neighbourhoods and make the rows unit vectors.

    Rows of Â X over their norm, or with sketches rows of Â SᵀS X over their norm. A row whose norm is zero up to
    rounding is zero (:func:`fastgntk.engines.zero_norm`). Jiang et al. 2022, the setting of the
    generalisation theorem: c_u = 1/‖(ÂX)_u‖.

    Parameters
    ----------
    source : anything that :func:`fastgntk.as_graphs` accepts, n graphs
    sketches : n arrays of shape (b, N_i), or None
        The matrix S of each graph, with E[SᵀS] = I.

    Examples
    --------
    >>> from fastgntk import Graph
    >>> path = Graph.from_edges([(0, 1), (1, 2)], 3, labels=["C", "C", "O"])
    >>> aggregated([path]).h.round(3).tolist()
    [[1.0, 0.0], [0.894, 0.447], [0.707, 0.707]]
    """
    batch, X, aggregation = aggregate_features(source, features)
    norms = unit_rows(X)[1]
    if sketches is None:
        h, q = unit_rows(np.asarray(aggregation.matrix @ X))
        bound, terms = aggregation.magnitude @ norms, aggregation.terms
    else:
        product, bound = _sketched(batch, X, norms, aggregation, sketches)
        h, q = unit_rows(product)
        # Â Sᵀ sums over a neighbourhood, times S over b rows, times X over N nodes.
        rows = np.array([S.shape[0] for S in sketches], dtype=np.int64)
        terms = aggregation.terms + np.repeat(rows + batch.sizes, batch.sizes)
    zero = zero_norm(q, bound, terms, squared=False)
    return UnitNodes(np.where(zero[:, None], 0.0, h), batch.offsets)


def unit_nodes(source: Any) -> UnitNodes:
    """Return ``source`` if it is :class:`UnitNodes`, and what :func:`aggregated` makes of it otherwise."""
    return source if isinstance(source, UnitNodes) else aggregated(source)


def aggregate_features(source: Any, features: FeatureKind) -> tuple[GraphBatch, Array, Aggregation]:
    """Return the graphs as one batch, their features X (N, d) as a dense array, and Â."""
    batch = NodeFeatures(features).fit_transform(as_graphs(source))
    X = batch.features.toarray() if sparse.issparse(batch.features) else np.asarray(batch.features)
    return batch, X, Aggregation(batch)


def _sketched(
    batch: GraphBatch, X: Array, norms: Array, aggregation: Aggregation, sketches: Sequence[Array]
) -> tuple[Array, Array]:
    """Return Â SᵀS X (N, d) and the bound |Â| |Sᵀ| |S| ‖x‖ on the norms of its rows, (N,)."""
    if len(sketches) != len(batch):
        raise InputError(f"sketches must hold one matrix for each of {len(batch)} graphs, but holds {len(sketches)}.")
    product, bound = np.zeros(X.shape), np.zeros(len(X))
    for i, S in enumerate(sketches):
        if np.ndim(S) != 2 or S.shape[1] != batch.sizes[i]:
            raise InputError(
                f"the sketch of graph {i} must have shape (b, {batch.sizes[i]}), one column for each node, but has "
                f"shape {np.shape(S)}."
            )
        nodes = slice(int(batch.offsets[i]), int(batch.offsets[i + 1]))
        A_hat = aggregation.matrix[nodes, nodes].toarray()
        product[nodes] = (A_hat @ S.T) @ (S @ X[nodes])
        bound[nodes] = np.abs(A_hat) @ (np.abs(S).T @ (np.abs(S) @ norms[nodes]))
    return product, bound


def _segment_sums(values: Array, offsets: Ints) -> Array:
    out = np.zeros((len(offsets) - 1, *values.shape[1:]))
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        out[filled] = np.add.reduceat(values, offsets[filled], axis=0)
    return out
