"""The kernel as a power series: moments M_t and their weights.

    M_t[i, j] = Σ_{u∈G_i} Σ_{v∈G_j} ⟨h̄_u, h̄_v⟩^t = Φ_tᵀ Φ_t,     column i of Φ_t: Σ_{u∈G_i} h̄_u^{⊗t}
    κ0(λ) = 1/2 + arcsin(λ)/π,   arcsin λ = Σ_{l≥1} c_l λ^(2l−1),   c_l = (2l−3)!! / ((2l−2)!! (2l−1))

    K₁ = M_1/2 + (1/π) Σ_l c_l M_2l               from λ κ0(λ)
    K₂ = M_0/π + M_1/2 + (1/π) Σ_l c_l/(2l) M_2l   from κ1 = κ1(0) + ∫ κ0

All weights are positive, so each M_t times its weight is below K in the order of positive semi-definite matrices; that
is what the bounds on labels rest on. No odd power but the first occurs.
"""

import operator
from typing import Any, Literal, get_args

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.theory._nodes import unit_nodes

__all__ = ["moment", "moment_weight", "Part", "check_power"]

Part = Literal["K", "K1", "K2"]


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
    none, not even in M_0. Du et al. 2019, Theorem 4.3; Jiang et al. 2022, the generalisation theorem, which asks for
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


def check_power(t: Any, lowest: int) -> int:
    """Return t as an int, or say that it is not a whole number from ``lowest`` on."""
    try:
        power = operator.index(t)
    except TypeError:
        power = lowest - 1
    if power < lowest:
        raise InputError(f"t must be a whole number, {lowest} or more, but is {t!r}.")
    return power
