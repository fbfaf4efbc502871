"""How many rows a sketch needs for the generalisation theorem, by the sketching lemma and by the formula in γ.

λ_uv = â_uᵀ A â'_v / (q_u q'_v) with â_u row u of Â, A = X X'ᵀ and q_u = ‖Xᵀ â_u‖ the norm that makes h̄_u. With
x = β/√b the lemma bounds the error of the numerator, relative to q_u q'_v, by

    e_uv = x (r_u ‖X h̄'_v‖ + r_v ‖X' h̄_u‖) + x² r_u r_v ‖X X'ᵀ‖_F          r_u = ‖â_u‖ / q_u.

Both sides of a pair of nodes of one graph carry the same sketch, which the lemma does not allow; there ‖X‖_F² stands in
for ‖XXᵀ‖_F, from |gᵀ E X Xᵀ E h| ≤ ‖Xᵀ E g‖ ‖Xᵀ E h‖. The sketched norms q̃ shift λ as well: to first order by at most
|λ_uv| (e_uu + e_vv)/2. Then

    |λ̃^t − λ^t| ≤ t |λ̃ − λ|,   |M̃_t − M_t| ≤ t (x a + x² c) entrywise,   ‖M̃_t − M_t‖ ≤ t (x ‖a‖ + x² ‖c‖)

and the last being at most ε λ_min(M_t) for all t suffices for (1−ε) M_t ⪯ M̃_t ⪯ (1+ε) M_t.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.engines import inverse, unit_rows
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind
from fastgntk.theory._moments import check_power, moment
from fastgntk.theory._nodes import UnitNodes, aggregate_features, aggregated
from fastgntk.theory._sketching import beta
from fastgntk.theory._spectrum import CUT, eigen

__all__ = ["SketchSize", "entry_errors", "sketch_size"]


@dataclass(frozen=True)
class SketchSize:
    """Say how many rows a sketch needs.

    Attributes
    ----------
    lemma : float
        The smallest b for which the sketching lemma gives (1±ε) M_t for all powers; infinite if an M_t is singular.
    formula : float
        constant² γ⁴ (log N)³ / ε², γ the largest γ_t.
    gamma : tuple of float
        γ_t for t in ``powers``.
    powers : tuple of int
        1 and the even numbers up to T.
    largest : int
        N, the nodes of the largest graph: a sketch of N rows or more saves nothing.
    """

    lemma: float
    formula: float
    gamma: tuple[float, ...]
    powers: tuple[int, ...]
    largest: int

    @property
    def pays(self) -> bool:
        """Whether a sketch of that size is smaller than the largest graph."""
        return self.lemma < self.largest


def sketch_size(
    source: Any,
    epsilon: float,
    T: int = 2,
    *,
    features: FeatureKind = "auto",
    constant: float = 1.0,
    on_range: bool = False,
    cut: float = CUT,
) -> SketchSize:
    """Compute the rows b that a sketch of every graph needs for (1±ε) M_t, t = 1 and even t up to T.

    By the lemma: with r = ε min_t λ_min(M_t)/t, the largest x with ‖a‖ x + ‖c‖ x² ≤ r, and b = (β/x)² for
    β = constant · (log N)^1.5. By the formula: b = β² γ⁴/ε². Jiang et al. 2022, the assumption on the sketch size, of
    which only the order is printed; the derivation stands at the top of this file and treats norms to first order.

    ``on_range=True`` takes the smallest eigenvalue above the cut for λ_min, where M_t is singular; that number is
    a lower bound on what would be needed, not enough for the theorem (:func:`spectral_interval`).

    Costs N² powers for N nodes in all, for each t, and memory for n (d, d) matrices.

    Examples
    --------
    >>> from fastgntk import Graph
    >>> edge = Graph.from_edges([(0, 1)], 2, labels=["C", "O"])
    >>> node = Graph.from_edges([], 1, labels=["C"])
    >>> found = sketch_size([edge, node], epsilon=0.5)
    >>> found.powers, found.pays
    ((1, 2), False)
    """
    if not 0 < epsilon < 1:
        raise InputError(f"epsilon must lie between 0 and 1, but is {epsilon!r}.")
    powers = (1, *range(2, check_power(T, 1) + 1, 2))
    nodes, first, second = entry_errors(source, features)
    largest = int(nodes.sizes.max())
    smallest, gammas = [], []
    for t in powers:
        values, _, rank = eigen(moment(t, nodes), "M_t", cut)
        regular = rank > 0 and (on_range or rank == len(values))
        least = float(values[-rank]) if regular else 0.0
        smallest.append(least / t)
        gammas.append(float(np.sqrt(values.sum() / least)) if regular else float(np.inf))
    embedding = beta("ams", largest, constant=constant)
    a, c, r = float(np.linalg.norm(first, 2)), float(np.linalg.norm(second, 2)), epsilon * min(smallest)
    x = 2.0 * r / (a + np.sqrt(a * a + 4.0 * c * r)) if r > 0 else 0.0  # the positive root, without cancellation
    return SketchSize(
        lemma=float((embedding / x) ** 2) if x > 0 else float(np.inf),
        formula=float((embedding * max(gammas) ** 2 / epsilon) ** 2),
        gamma=tuple(gammas),
        powers=powers,
        largest=largest,
    )


def entry_errors(source: Any, features: FeatureKind = "auto") -> tuple[UnitNodes, Array, Array]:
    """Return the nodes, and a and c of |M̃_t − M_t| ≤ t (x a + x² c), each (n, n).

    e_uv is a sum of products of one factor of u and one of v, so sums over pairs of nodes are products of sums.
    """
    batch, X, aggregation = aggregate_features(source, features)
    if len(batch) == 0:
        raise InputError("source must hold at least one graph, but holds none.")
    nodes = aggregated(source, features)
    q = np.where(nodes.h.any(axis=1), unit_rows(np.asarray(aggregation.matrix @ X))[1], 0.0)
    r = unit_rows(aggregation.matrix)[1] * inverse(q)  # (N,), ‖â_u‖ / q_u
    n = len(nodes)
    graph = [slice(int(s), int(e)) for s, e in pairwise(batch.offsets)]
    grams = np.stack([X[part].T @ X[part] for part in graph])  # (n, d, d), Xᵀ X of each graph
    flat = grams.reshape(n, -1)
    frobenius = np.sqrt(np.maximum(flat @ flat.T, 0.0))  # ‖X_i X_jᵀ‖_F
    np.fill_diagonal(frobenius, np.trace(grams, axis1=1, axis2=2))  # ‖X_i‖_F², one sketch on both sides
    seen = np.zeros((n, n))  # Σ_{v∈G_j} ‖X_i h̄_v‖
    own = np.zeros(len(X))  # ‖X h̄_u‖ for the graph of u itself
    cosines = np.zeros((n, len(X)))  # Σ_{v∈G_i} |λ_uv| for each node u
    for i, part in enumerate(graph):
        norms = np.sqrt(np.maximum(np.sum((nodes.h @ grams[i]) * nodes.h, axis=1), 0.0))
        seen[i] = nodes.graph_sums(norms)
        own[part] = norms[part]
        cosines[i] = np.abs(nodes.h[part] @ nodes.h.T).sum(axis=0)
    r_sums = nodes.graph_sums(r)
    left = r_sums[:, None] * seen
    # e_uu/2 = x r_u ‖X h̄_u‖ + x² r_u² ‖X‖_F²/2, times |λ_uv| summed over v
    shift_first = nodes.graph_sums((r * own * cosines).T)
    shift_second = nodes.graph_sums((r**2 / 2 * np.diag(frobenius)[batch.graph_of_node] * cosines).T)
    first = left + left.T + shift_first + shift_first.T
    second = np.outer(r_sums, r_sums) * frobenius + shift_second + shift_second.T
    return nodes, first, second
