"""The kernel for L = R = 1 and ``scale="unit"``: in closed form, and as a power series.

Of a graph this kernel depends only on the aggregated nodes as unit vectors,

    h̄_u = (Â X)_u / ‖(Â X)_u‖            sketched:  h̃_u = (Â SᵀS X)_u / ‖(Â SᵀS X)_u‖

and the exact and the sketched kernel differ in nothing else. So everything here is written for rows of unit vectors,
wherever they come from. The kernel K = K₁ + K₂ is a power series in their moments:

    M_t[i, j] = Σ_{u∈G_i} Σ_{v∈G_j} ⟨h̄_u, h̄_v⟩^t = Φ_tᵀ Φ_t,     column i of Φ_t: Σ_{u∈G_i} h̄_u^{⊗t}
    κ0(λ) = 1/2 + arcsin(λ)/π,   arcsin λ = Σ_{l≥1} c_l λ^(2l−1),   c_l = (2l−3)!! / ((2l−2)!! (2l−1))

    K₁ = M_1/2 + (1/π) Σ_l c_l M_2l               from λ κ0(λ)
    K₂ = M_0/π + M_1/2 + (1/π) Σ_l c_l/(2l) M_2l   from κ1 = κ1(0) + ∫ κ0

All weights are positive, so each M_t times its weight is below K in the order of positive semi-definite matrices; the
bounds on labels rest on that. No odd power but the first occurs.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines import Aggregation, is_zero_norm, kappa0, kappa1, unit_rows
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind, GraphBatch, NodeFeatures, as_graphs

__all__ = [
    "ClosedForm",
    "UnitNodes",
    "aggregate_features",
    "aggregated",
    "check_power",
    "closed_form",
    "moment",
    "moment_weight",
    "unit_nodes",
]

Part = Literal["K", "K1", "K2"]

# Noise of a sum is as large as this distance from ±1, where κ0 turns ε into 1e-8 (docs/math.md, Precision).
_NEAR_ONE = 1.0 - 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class UnitNodes:
    """The unit vectors h̄_u of n graphs; a node of norm zero is a zero row.

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
        return _sum_segments(values, self.offsets)

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
            out[i, i:] = _sum_segments(function(lam).sum(axis=0), offsets[i:] - start)
            out[i:, i] = out[i, i:]
        return out


def aggregated(source: Any, features: FeatureKind = "auto", sketches: Sequence[Array] | None = None) -> UnitNodes:
    """Aggregate node features over closed neighbourhoods and make the rows unit vectors.

    Rows of Â X over their norm, or with sketches rows of Â SᵀS X over their norm. A row whose norm is zero up to
    rounding is zero (:func:`fastgntk.engines.is_zero_norm`). Jiang et al. 2022, the setting of the
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
        product, bound = _aggregate_sketched(batch, X, norms, aggregation, sketches)
        h, q = unit_rows(product)
        # Â Sᵀ sums over a neighbourhood, times S over b rows, times X over N nodes.
        rows = np.array([S.shape[0] for S in sketches], dtype=np.int64)
        terms = aggregation.terms + np.repeat(rows + batch.sizes, batch.sizes)
    zero = is_zero_norm(q, bound, terms, squared=False)
    return UnitNodes(np.where(zero[:, None], 0.0, h), batch.offsets)


def unit_nodes(source: Any) -> UnitNodes:
    """Return ``source`` if it is :class:`UnitNodes`, else its aggregated nodes."""
    return source if isinstance(source, UnitNodes) else aggregated(source)


def aggregate_features(source: Any, features: FeatureKind) -> tuple[GraphBatch, Array, Aggregation]:
    """Return the graphs as one batch, their features X (N, d) as a dense array, and Â."""
    batch = NodeFeatures(features).fit_transform(as_graphs(source))
    X = batch.features.toarray() if sparse.issparse(batch.features) else np.asarray(batch.features)
    return batch, X, Aggregation(batch)


def _aggregate_sketched(
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


def _sum_segments(values: Array, offsets: Ints) -> Array:
    out = np.zeros((len(offsets) - 1, *values.shape[1:]))
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        out[filled] = np.add.reduceat(values, offsets[filled], axis=0)
    return out


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """The two parts of the kernel, each (n, n) and positive semi-definite."""

    K1: Array
    K2: Array

    @property
    def K(self) -> Array:  # noqa: N802  # the paper's letter
        """The kernel K₁ + K₂."""
        return self.K1 + self.K2


def closed_form(source: Any) -> ClosedForm:
    """Compute the kernel of ``GNTK(blocks=1, layers=1, scale="unit", jump=False)`` in closed form.

    With λ = ⟨h̄_u, h̄'_v⟩ for unit vectors h̄ = (ÂX)_u / ‖(ÂX)_u‖,

        K₁ = Σ_uv λ κ0(λ) = Σ_uv λ (π − arccos λ)/π                   from the weights of the layer
        K₂ = Σ_uv κ1(λ)   = Σ_uv (λ (π − arccos λ) + sqrt(1 − λ²))/π    from the readout,       K = K₁ + K₂.

    A node of norm zero adds nothing, though κ1(0) = 1/π. Costs N² evaluations of arccos / 2 for N nodes in all.

    The kernel of Du et al. 2019, Theorem 4.3, and of Jiang et al. 2022, the generalisation theorem, which prints 1/(2π)
    where c_φ = 2 gives 1/π, and the factor ⟨h, h'⟩ before the square root too: docs/theory.md.

    Parameters
    ----------
    source : :class:`UnitNodes`, or anything that :func:`fastgntk.as_graphs` accepts, n graphs

    Examples
    --------
    >>> from fastgntk import GNTK, Graph, gram
    >>> pair = [Graph.from_edges([(0, 1)], 2, labels=["C", "O"]), Graph.from_edges([], 1, labels=["C"])]
    >>> parts = closed_form(pair)
    >>> parts.K.round(6).tolist()
    [[8.0, 2.571479], [2.571479, 2.0]]
    >>> gram(pair, GNTK(blocks=1, layers=1, scale="unit", jump=False)).round(6).tolist()
    [[8.0, 2.571479], [2.571479, 2.0]]
    """
    nodes = unit_nodes(source)
    return ClosedForm(nodes.pair_sums(lambda lam: lam * kappa0(lam)), nodes.pair_sums(kappa1))


def moment_weight(t: int, part: Part = "K") -> float:
    """Return the weight w_t of M_t in K = Σ_t w_t M_t, or in one of its parts.

    w_0 = 1/π,  w_1 = 1,  w_2l = (c_l/π) (1 + 1/(2l)),  and 0 for odd t from 3 on; K₁ has 0, 1/2, c_l/π and K₂ the rest.
    Since c_l ≥ 1/(2l−1)², w_2l ≥ 1/(π (2l−1)²): the step from here to the constants of Du et al. 2019, Theorem 4.3.

    Examples
    --------
    >>> [round(moment_weight(t), 4) for t in range(5)]
    [0.3183, 1.0, 0.4775, 0.0, 0.0663]
    >>> moment_weight(1, "K1")
    0.5
    """
    t = check_power(t, 0)
    if part not in get_args(Part):
        raise InputError(f"part must be one of {', '.join(get_args(Part))}, but is {part!r}.")
    if t == 0:
        first, second = 0.0, 1.0 / np.pi
    elif t == 1:
        first, second = 0.5, 0.5
    elif t % 2:
        first, second = 0.0, 0.0
    else:
        below = np.arange(1, t // 2, dtype=np.float64)  # j = 1..l−1 of (2l−3)!!/(2l−2)!! = Π (2j−1)/(2j)
        c = float(np.prod((2 * below - 1) / (2 * below))) / (t - 1)
        first, second = c / np.pi, c / (np.pi * t)
    return {"K": first + second, "K1": first, "K2": second}[part]


def moment(t: int, source: Any) -> Array:
    """Return M_t, the sum of ⟨h̄_u, h̄_v⟩^t over the nodes of each pair of graphs, (n, n).

    Costs N² powers / 2 for N nodes in all; M_1 = H̄ᵀH̄ costs one product of (n, d) matrices. Nodes of norm zero count in
    none, not even in M_0. Du et al. 2019, Theorem 4.3; Jiang et al. 2022, the generalisation theorem, which needs
    a spectral approximation of M_1.

    Parameters
    ----------
    source : :class:`UnitNodes`, or anything that :func:`fastgntk.as_graphs` accepts, n graphs

    Examples
    --------
    >>> from fastgntk import Graph
    >>> pair = [Graph.from_edges([(0, 1)], 2, labels=["C", "O"]), Graph.from_edges([], 1, labels=["C"])]
    >>> moment(2, pair).round(6).tolist()
    [[4.0, 1.0], [1.0, 1.0]]
    """
    t, nodes = check_power(t, 0), unit_nodes(source)
    if t == 1:
        return nodes.pooled @ nodes.pooled.T
    return nodes.pair_sums(lambda lam: lam**t)


def check_power(t: Any, minimum: int) -> int:
    """Return t as an int; raise an error unless it is an integer of at least ``minimum``."""
    try:
        power = operator.index(t)
    except TypeError:
        power = minimum - 1
    if power < minimum:
        raise InputError(f"t must be an integer, {minimum} or more, but is {t!r}.")
    return power
