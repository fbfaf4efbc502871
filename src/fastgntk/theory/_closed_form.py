"""The kernel for L = R = 1 and ``scale="unit"``: in closed form, and as a power series.

Of a graph this kernel depends only on its aggregated nodes as unit vectors: h̃_u with a sketch, h̄_u without one
(`_nodes`). With λ = ⟨h_u, h'_v⟩ the kernel K = K₁ + K₂ is a power series in their moments:

    M_t[i, j] = Σ_{u∈G_i} Σ_{v∈G_j} ⟨h_u, h_v⟩^t = H⁽ᵗ⁾ᵀ H⁽ᵗ⁾,     column i of H⁽ᵗ⁾: Σ_{u∈G_i} h_u^{⊗t}
    κ0(λ) = 1/2 + arcsin(λ)/π,   arcsin λ = Σ_{l≥1} c_l λ^(2l−1),   c_l = (2l−3)!! / ((2l−2)!! (2l−1))

    K₁ = M_1/2 + (1/π) Σ_l c_l M_2l               from λ κ0(λ)
    K₂ = M_0/π + M_1/2 + (1/π) Σ_l c_l/(2l) M_2l   from κ1 = κ1(0) + ∫ κ0

All weights are positive, so each M_t times its weight is below K in the order of positive semi-definite matrices; the
bounds on labels rest on that. No odd power but the first occurs.
"""

import operator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.engines import kappa0, kappa1
from fastgntk.errors import InputError
from fastgntk.theory._nodes import as_nodes

__all__ = ["ClosedForm", "check_power", "closed_form", "moment", "moment_weight"]

Part = Literal["K", "K1", "K2"]


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

    With λ = ⟨h_u, h'_v⟩ for unit vectors h = (ÂX)_u / ‖(ÂX)_u‖, or sketched ones h̃,

        K₁ = Σ_uv λ κ0(λ) = Σ_uv λ (π − arccos λ)/π                   from the weights of the layer
        K₂ = Σ_uv κ1(λ)   = Σ_uv (λ (π − arccos λ) + sqrt(1 − λ²))/π    from the readout,       K = K₁ + K₂.

    A node of norm zero adds nothing, though κ1(0) = 1/π. Costs N² evaluations of arccos / 2 for N nodes in all.

    The kernel of Du et al. 2019, Theorem 4.3, and of Jiang et al. 2022, Lemma 5.7, which prints 1/(2π) where c_φ = 2
    gives 1/π, and K₂ with the factor ⟨h, h'⟩: docs/theory.md.

    Parameters
    ----------
    source : :class:`Nodes`, or anything that :func:`fastgntk.as_graphs` accepts, n graphs

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
    nodes = as_nodes(source)
    lengths = np.linalg.norm(nodes.h, axis=1)
    if (np.abs(lengths - 1.0)[lengths > 0] > 1e-9).any():
        raise InputError("the closed form needs unit vectors: pass the sketched nodes, or nodes with norms='each'.")
    return ClosedForm(nodes.cosine_sums(lambda lam: lam * kappa0(lam)), nodes.cosine_sums(kappa1))


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
    """Return M_t, the sum of ⟨h_u, h_v⟩^t over the nodes of each pair of graphs, (n, n).

    M̄_t = H̄⁽ᵗ⁾ᵀ H̄⁽ᵗ⁾ for the exact nodes and M̃_t for the sketched ones. Costs N² powers / 2 for N nodes in all; M_1
    costs one product of (n, d) matrices. Nodes of norm zero count in none, not even in M_0. Du et al. 2019, Theorem
    4.3; Jiang et al. 2022, Definition 5.4.

    Parameters
    ----------
    source : :class:`Nodes`, or anything that :func:`fastgntk.as_graphs` accepts, n graphs

    Examples
    --------
    >>> from fastgntk import Graph
    >>> pair = [Graph.from_edges([(0, 1)], 2, labels=["C", "O"]), Graph.from_edges([], 1, labels=["C"])]
    >>> moment(2, pair).round(6).tolist()
    [[4.0, 1.0], [1.0, 1.0]]
    """
    t, nodes = check_power(t, 0), as_nodes(source)
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
