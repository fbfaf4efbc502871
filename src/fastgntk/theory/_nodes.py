"""Aggregated nodes: all that the kernel for L = R = 1 depends on (Jiang et al. 2022, Definition 5.4).

With features H = Xᵀ, Â = A + I, sketch S and C = diag(c_u), a graph has two sets of node vectors,

    h̄_u = [H Â C]_{*,u}          exact aggregation
    h̃_u = [H SᵀS Â C]_{*,u}      sketched aggregation          c_u = 1/‖[H SᵀS Â]_{*,u}‖

so h̃_u is a unit vector, and h̄_u is not: both carry the same c_u, which depends on the drawn S. Here these vectors are
rows, C Â X and C Â SᵀS X; for directed graphs, where row u of Â lists the nodes that u sums over, too. Without a sketch
SᵀS = I, and h̄ = h̃ is a unit vector.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines import Aggregation, is_zero_norm, safe_reciprocal, unit_rows
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind, GraphBatch, NodeFeatures, as_graphs
from fastgntk.sketch import SketchMatrix
from fastgntk.theory._checks import check_numbers

__all__ = ["AggregatedNodes", "Nodes", "NormSource", "aggregate_nodes", "as_nodes", "dense_features"]

NormSource = Literal["sketched", "exact", "each"]

# Noise of a sum is as large as this distance from ±1, where κ0 turns ε into 1e-8 (docs/math.md, Precision).
_NEAR_ONE = 1.0 - 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Nodes:
    """The node vectors h_u of n graphs; a node of norm zero is a zero row.

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

    def __getitem__(self, graphs: slice) -> "Nodes":
        """Return consecutive graphs."""
        start, stop, step = graphs.indices(len(self))
        if step != 1:
            raise InputError("nodes can be sliced by consecutive graphs only.")
        rows = slice(int(self.offsets[start]), int(self.offsets[max(start, stop)]))
        return Nodes(self.h[rows], self.offsets[start : max(start, stop) + 1] - self.offsets[start])

    @property
    def sizes(self) -> Ints:
        """Number of nodes of each graph, (n,)."""
        return np.diff(self.offsets)

    @property
    def pooled(self) -> Array:
        """Σ_u h_u of each graph, (n, d); its transpose is H̄⁽¹⁾, or H̃⁽¹⁾."""
        return self.graph_sums(self.h)

    def graph_sums(self, values: Array) -> Array:
        """Sum the rows of ``values`` (N, ...) graph by graph; a graph without nodes gives zero."""
        return _sum_segments(values, self.offsets)

    def pair_sums(self, function: Callable[[Array], Array]) -> Array:
        """Return Σ_{u∈G_i} Σ_{v∈G_j} f(⟨h_u, h_v⟩) for all i, j, exactly symmetric, (n, n).

        Nodes of norm zero are left out, also where f(0) is not 0. Costs N² evaluations of f / 2.
        """
        nonzero = self.h.any(axis=1)
        h = self.h[nonzero]
        offsets = np.concatenate([[0], np.cumsum(nonzero)])[self.offsets]
        out = np.zeros((len(self), len(self)))
        for i, (start, stop) in enumerate(pairwise(offsets)):
            products = h[start:stop] @ h[start:].T
            out[i, i:] = _sum_segments(function(products).sum(axis=0), offsets[i:] - start)
            out[i:, i] = out[i, i:]
        return out

    def cosine_sums(self, function: Callable[[Array], Array]) -> Array:
        """Return the same for unit vectors, whose products are cosines: values within rounding of ±1 become ±1."""

        def snapped(products: Array) -> Array:
            return function(np.where(np.abs(products) >= _NEAR_ONE, np.sign(products), products))

        return self.pair_sums(snapped)


@dataclass(frozen=True, eq=False)
class AggregatedNodes:
    """The nodes of n graphs, aggregated exactly and through sketches.

    Attributes
    ----------
    exact : Nodes
        h̄_u, with the scales ``c`` unless they were made with ``norms="each"``.
    sketched : Nodes
        h̃_u; the same as ``exact`` without sketches.
    c : float64, (N,)
        The diagonals of C; 0 for a node of norm zero.
    pooling : float64, (N,)
        Âᵀ C 1 of each graph: how often each node's features enter the sum Σ_u h̄_u.
    features : float64, (N, d)
        X = Hᵀ.
    rows : int64, (n,)
        Rows b of each sketch; the number of nodes without sketches.
    norms : {"sketched", "exact", "each"}
        Where the scales come from. With ``"each"`` C belongs to the sketched nodes only.
    """

    exact: Nodes
    sketched: Nodes
    c: Array
    pooling: Array
    features: Array
    rows: Ints
    norms: NormSource

    def check_non_negative(self) -> None:
        """Raise an error if some feature is negative, which the assumptions of Jiang et al. 2022 exclude."""
        _check_non_negative(self.features, self.exact.offsets, "shift the features")


def aggregate_nodes(
    source: Any,
    sketches: Sequence[Array | SketchMatrix] | None = None,
    *,
    norms: NormSource = "sketched",
    features: FeatureKind = "auto",
) -> AggregatedNodes:
    """Aggregate node features over closed neighbourhoods, exactly and through sketches.

    A row whose norm is zero up to rounding is zero (:func:`fastgntk.engines.is_zero_norm`).

    Parameters
    ----------
    source : anything that :func:`fastgntk.as_graphs` accepts, n graphs
    sketches : n arrays of shape (b_i, N_i) or :class:`fastgntk.sketch.SketchMatrix`, or None
        The matrix S of each graph, with E[SᵀS] = I; None means SᵀS = I.
    norms : {"sketched", "exact", "each"}
        Where the scales c_u come from. ``"sketched"`` is the definition of the paper: 1/‖[H SᵀS Â]_{*,u}‖ for both,
        for non-negative features, which is checked. ``"exact"`` takes 1/‖[H Â]_{*,u}‖ for both. ``"each"`` makes both
        unit vectors, each by its own norm: what ``GNTK(scale="unit")`` does with and without a sketch.

    Examples
    --------
    >>> from fastgntk import Graph
    >>> path = Graph.from_edges([(0, 1), (1, 2)], 3, labels=["C", "C", "O"])
    >>> aggregate_nodes([path]).exact.h.round(3).tolist()
    [[1.0, 0.0], [0.894, 0.447], [0.707, 0.707]]
    """
    if norms not in get_args(NormSource):
        raise InputError(f"norms must be one of {', '.join(get_args(NormSource))}, but is {norms!r}.")
    batch, X = dense_features(source, features)
    if sketches is not None and norms == "sketched":
        _check_non_negative(X, batch.offsets, "shift the features, or pass norms='each' for the vectors alone")
    aggregation = Aggregation(batch)
    exact = np.asarray(aggregation.matrix @ X)
    lengths = unit_rows(X)[1]
    exact_norm = _norms(exact, aggregation.magnitude @ lengths, aggregation.terms)
    if sketches is None:
        sketched, sketched_norm, rows = exact, exact_norm, batch.sizes
    else:
        matrices = _check_sketches(sketches, batch.sizes)
        sketched, bound = _aggregate_sketched(batch, X, lengths, aggregation, matrices)
        rows = np.array([len(S) for S in matrices], dtype=np.int64)
        # Â Sᵀ sums over a neighbourhood, times S over b rows, times X over N nodes.
        sketched_norm = _norms(sketched, bound, aggregation.terms + np.repeat(rows + batch.sizes, batch.sizes))
    c_exact, c_sketched = safe_reciprocal(exact_norm), safe_reciprocal(sketched_norm)
    if norms != "each":
        c_exact = c_sketched = c_exact if norms == "exact" else c_sketched
    return AggregatedNodes(
        exact=Nodes(_scaled(exact, c_exact, exact_norm), batch.offsets),
        sketched=Nodes(_scaled(sketched, c_sketched, sketched_norm), batch.offsets),
        c=c_sketched,
        pooling=np.asarray(aggregation.matrix.T @ c_sketched),
        features=X,
        rows=rows,
        norms=norms,
    )


def as_nodes(source: Any) -> Nodes:
    """Return ``source`` if it is :class:`Nodes`, else the exactly aggregated nodes of these graphs, as unit vectors."""
    if isinstance(source, AggregatedNodes):
        raise InputError("source has exact and sketched nodes; pass one of them, its .exact or its .sketched.")
    return source if isinstance(source, Nodes) else aggregate_nodes(source).exact


def dense_features(source: Any, features: FeatureKind = "auto") -> tuple[GraphBatch, Array]:
    """Return the graphs as one batch, and their features X (N, d) as an array."""
    batch = NodeFeatures(features).fit_transform(as_graphs(source))
    X = batch.features.toarray() if sparse.issparse(batch.features) else batch.features
    return batch, np.asarray(X, dtype=np.float64)


def _check_non_negative(X: Array, offsets: Ints, advice: str) -> None:
    negative = np.flatnonzero((X < 0).any(axis=1))
    if len(negative):
        node = int(negative[0])
        graph = int(np.searchsorted(offsets, node, side="right")) - 1
        raise InputError(
            f"the theory of sketched kernels is for non-negative features, but node {node - int(offsets[graph])} of "
            f"graph {graph} has {X[node].min():g}; {advice}."
        )


def _norms(rows: Array, bound: Array, terms: Array) -> Array:
    norm = unit_rows(rows)[1]
    return np.where(is_zero_norm(norm, bound, terms, squared=False), 0.0, norm)


def _scaled(rows: Array, c: Array, norm: Array) -> Array:
    """Return c_u times each row; where c_u is one over the row's norm, without overflow."""
    unit = unit_rows(np.where((norm > 0)[:, None], rows, 0.0))[0]
    return np.asarray(unit * (c * norm)[:, None])


def _check_sketches(sketches: Sequence[Any], sizes: Ints) -> list[Array]:
    """Return the sketches as arrays, one for each graph, with one column for each of its nodes."""
    if not hasattr(sketches, "__len__") or len(sketches) != len(sizes):
        held = f"holds {len(sketches)}" if hasattr(sketches, "__len__") else f"is {sketches!r}"
        raise InputError(f"sketches must hold one matrix for each of {len(sizes)} graphs, but {held}.")
    matrices = []
    for i, (given, size) in enumerate(zip(sketches, sizes, strict=True)):
        S = check_numbers(f"the sketch of graph {i}", given.dense() if isinstance(given, SketchMatrix) else given)
        if S.ndim != 2 or S.shape[1] != size or (S.shape[0] == 0 < size):
            raise InputError(
                f"the sketch of graph {i} must have shape (b, {size}) with b of 1 or more, one column for each node, "
                f"but has shape {S.shape}."
            )
        matrices.append(S)
    return matrices


def _aggregate_sketched(
    batch: GraphBatch, X: Array, lengths: Array, aggregation: Aggregation, sketches: list[Array]
) -> tuple[Array, Array]:
    """Return Â SᵀS X (N, d) and the bound |Â| |Sᵀ| |S| ‖x‖ on the norms of its rows, (N,)."""
    product, bound = np.zeros(X.shape), np.zeros(len(X))
    for i, S in enumerate(sketches):
        nodes = slice(int(batch.offsets[i]), int(batch.offsets[i + 1]))
        A_hat = aggregation.matrix[nodes, nodes].toarray()
        product[nodes] = (A_hat @ S.T) @ (S @ X[nodes])
        bound[nodes] = np.abs(A_hat) @ (np.abs(S).T @ (np.abs(S) @ lengths[nodes]))
    return product, bound


def _sum_segments(values: Array, offsets: Ints) -> Array:
    out = np.zeros((len(offsets) - 1, *values.shape[1:]))
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        out[filled] = np.add.reduceat(values, offsets[filled], axis=0)
    return out
