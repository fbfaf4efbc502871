"""The rows b that the sketch of each graph needs: the paper's assumption, and what a proof by eigenvalues would need.

Jiang et al. 2022, Assumption 5.5, part 3, requires for all pairs of graphs, with a constant κ,

    ‖Â_i C_i 1‖ ‖Â_j C_j 1‖ ‖H_iᵀ H_j‖_F ≤ κ min(√b_i, √b_j)/(γ T log³ N) · M̄_1[i, j]

so that the sketching lemma, applied to M̃_1[i, j] with g = Â_i C_i 1, A = H_iᵀ H_j and h = Â_j C_j 1, bounds the error
of each entry by M̄_1[i, j]/(10 γ T), for i ≠ j and a C that does not depend on S. The proof goes on with errors of
quadratic forms, which does not follow from errors of entries (docs/theory.md).

What follows from errors of entries is (1±ε) M_t where they are small against λ_min(M_t); that size is ours. There
λ_uv = â_uᵀ A â'_v / (q_u q'_v) with â_u row u of Â, A = X X'ᵀ and q_u = ‖Xᵀ â_u‖ the norm in h̄_u, each node with its
own norm. With x = β/√b the lemma bounds the error of the numerator, relative to q_u q'_v, by

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
from numpy.typing import ArrayLike

from fastgntk._util.arrays import Array, Bools
from fastgntk._util.checks import check_positive
from fastgntk.engines import Aggregation, safe_reciprocal, unit_rows
from fastgntk.errors import InputError
from fastgntk.theory._checks import check_fraction, check_numbers
from fastgntk.theory._nodes import AggregatedNodes, Nodes, aggregate_nodes, dense_features
from fastgntk.theory._sketching import beta
from fastgntk.theory._spectrum import CUT, largest_gamma, moment_spectrum, powers_up_to

__all__ = ["RequiredSizes", "SpectralSketchSize", "entry_errors", "required_sketch_sizes", "spectral_sketch_size"]


@dataclass(frozen=True, eq=False)
class RequiredSizes:
    """The rows that Assumption 5.5 of Jiang et al. requires, for a constant κ.

    Attributes
    ----------
    pairs : float64, (n, n)
        What the pair i, j requires of b_i and of b_j; infinite where M̄_1[i, j] is not positive.
    gamma : float
        γ, the largest γ_t.
    T : int
    largest : int
        N, the nodes of the largest graph: a sketch of N rows or more saves nothing.
    """

    pairs: Array
    gamma: float
    T: int
    largest: int

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def rows(self) -> Array:
        """The rows b_i that all pairs of graph i require, (n,)."""
        return np.asarray(self.pairs.max(axis=1))

    @property
    def pays(self) -> bool:
        """Whether sketches of these sizes are smaller than the largest graph."""
        return bool(self.rows.max() < self.largest)

    def satisfied(self, rows: ArrayLike) -> Bools:
        """Return for each pair, (n, n), whether the assumption holds for sketches of these numbers of rows (n,)."""
        b = check_numbers("rows", rows)
        if b.shape != (len(self),):
            raise InputError(f"rows must hold one number for each of {len(self)} graphs, but has shape {b.shape}.")
        if not (b > 0).all():
            raise InputError(f"a sketch must have 1 row or more, but that of graph {np.argmin(b)} has {b.min():g}.")
        return np.asarray(np.minimum.outer(b, b) >= self.pairs)


def required_sketch_sizes(source: Any, T: int = 1, *, constant: float = 1.0) -> RequiredSizes:
    """Return the rows b_i that Assumption 5.5, part 3, of Jiang et al. 2022 requires.

        min(√b_i, √b_j) ≥ γ T log³N / κ · ‖Â_i C_i 1‖ ‖Â_j C_j 1‖ ‖H_iᵀ H_j‖_F / M̄_1[i, j]

    The paper leaves κ open. For graphs, C comes from exact aggregation, so that sizes can be found before any sketch is
    drawn. To check drawn sketches, pass their nodes, whose C depends on them:

        drawn = aggregate_nodes(graphs, sketches)
        required_sketch_sizes(drawn).satisfied(drawn.rows)

    Costs N² powers for N nodes in all, for each of T powers, and n² products of (d, d) matrices.

    Parameters
    ----------
    source : :class:`AggregatedNodes`, or anything that :func:`fastgntk.as_graphs` accepts, n graphs with nodes
        Not nodes made with ``norms="each"``, since the assumption has one C for both sides.
    T : int, 1 or more
        Labels have the powers 1, 2, 4, …, 2T.
    constant : float, above 0
        κ.

    Examples
    --------
    >>> from fastgntk import Graph
    >>> path = Graph.from_edges([(0, 1), (1, 2)], 3, labels=["C", "C", "O"])
    >>> required_sketch_sizes([path]).rows.round(2).tolist()
    [3.3]
    """
    powers_up_to(T)
    check_positive("constant", constant)
    nodes = source if isinstance(source, AggregatedNodes) else aggregate_nodes(source)
    exact, n = nodes.exact, len(nodes.exact)
    if not len(nodes.features):
        raise InputError("source must hold at least one graph with nodes, but holds none.")
    if nodes.norms == "each":
        raise InputError(
            "source must have one C for exact and sketched nodes, but was made with norms='each'; make it with "
            "norms='sketched' or norms='exact'."
        )
    nodes.check_non_negative()
    slices = [slice(int(a), int(b)) for a, b in pairwise(exact.offsets)]
    pooling = np.array([np.linalg.norm(nodes.pooling[part]) for part in slices])
    products = np.stack([nodes.features[part].T @ nodes.features[part] for part in slices]).reshape(n, -1)
    left = np.outer(pooling, pooling) * np.sqrt(np.maximum(products @ products.T, 0.0))  # ‖H_iᵀH_j‖_F² = ⟨XᵀX, X'ᵀX'⟩
    right = exact.pooled @ exact.pooled.T
    ratio = np.divide(left, right, out=np.where(left > 0, np.inf, 0.0), where=right > 0)
    largest = int(exact.sizes.max())
    gamma = largest_gamma(T, exact)
    return RequiredSizes((gamma * T * np.log(largest) ** 3 / constant * ratio) ** 2, gamma, T, largest)


@dataclass(frozen=True)
class SpectralSketchSize:
    """The number of rows that a proof by eigenvalues needs of every sketch. Ours, not in the papers.

    Attributes
    ----------
    rows : float
        The smallest b for which the sketching lemma gives (1±ε) M_t for all powers; infinite if an M_t is singular.
    condition : tuple of float
        sqrt(tr M_t / λ_min(M_t)) for t in ``powers`` (:func:`moment_condition`).
    powers : tuple of int
        1, 2, 4, …, 2T.
    largest : int
        N, the nodes of the largest graph: a sketch of N rows or more saves nothing.
    """

    rows: float
    condition: tuple[float, ...]
    powers: tuple[int, ...]
    largest: int

    @property
    def pays(self) -> bool:
        """Whether a sketch of that size is smaller than the largest graph."""
        return self.rows < self.largest


def spectral_sketch_size(
    source: Any, epsilon: float, T: int = 1, *, constant: float = 1.0, on_range: bool = False, cut: float = CUT
) -> SpectralSketchSize:
    """Compute the rows b of every sketch for (1±ε) M_t, t = 1, 2, 4, …, 2T, by the lemma and λ_min(M_t).

    With r = ε min_t λ_min(M_t)/t it is the largest x with ‖a‖ x + ‖c‖ x² ≤ r, and b = (β/x)² for
    β = constant · (log N)^1.5. The derivation is at the top of this file and treats norms to first order.

    ``on_range=True`` takes the smallest eigenvalue above the cut for λ_min, where M_t is singular; that number is
    a lower bound on what would be needed, not enough for the theorem (:func:`spectral_interval`).

    Costs N² powers for N nodes in all, for each t, and memory for n (d, d) matrices.

    Examples
    --------
    >>> from fastgntk import Graph
    >>> edge = Graph.from_edges([(0, 1)], 2, labels=["C", "O"])
    >>> node = Graph.from_edges([], 1, labels=["C"])
    >>> result = spectral_sketch_size([edge, node], epsilon=0.5)
    >>> result.powers, result.pays
    ((1, 2), False)
    """
    check_fraction("epsilon", epsilon)
    check_positive("constant", constant)
    powers = powers_up_to(T)
    nodes, first, second = entry_errors(source)
    largest = int(nodes.sizes.max())
    spectra = [moment_spectrum(t, nodes, on_range, cut) for t in powers]
    embedding = beta("ams", largest, constant=constant)
    r = epsilon * min(smallest / t for t, (smallest, _) in zip(powers, spectra, strict=True))
    a, c = float(np.linalg.norm(first, 2)), float(np.linalg.norm(second, 2))
    x = 2.0 * r / (a + np.sqrt(a * a + 4.0 * c * r)) if r > 0 else 0.0  # the positive root, without cancellation
    rows = float((embedding / x) ** 2) if x > 0 else float(np.inf)
    return SpectralSketchSize(rows, tuple(condition for _, condition in spectra), powers, largest)


def entry_errors(source: Any) -> tuple[Nodes, Array, Array]:
    """Return the nodes, and a and c of |M̃_t − M_t| ≤ t (x a + x² c), each (n, n).

    e_uv is a sum of products of one factor of u and one of v, so sums over pairs of nodes are products of sums.
    """
    batch, X = dense_features(source)
    if not batch.n_nodes:
        raise InputError("source must hold at least one graph with nodes, but holds none.")
    aggregation, nodes = Aggregation(batch), aggregate_nodes(source).exact
    q = np.where(nodes.h.any(axis=1), unit_rows(np.asarray(aggregation.matrix @ X))[1], 0.0)
    r = unit_rows(aggregation.matrix)[1] * safe_reciprocal(q)  # (N,), ‖â_u‖ / q_u
    n = len(nodes)
    graph = [slice(int(s), int(e)) for s, e in pairwise(batch.offsets)]
    grams = np.stack([X[part].T @ X[part] for part in graph])  # (n, d, d), Xᵀ X of each graph
    flat = grams.reshape(n, -1)
    frobenius = np.sqrt(np.maximum(flat @ flat.T, 0.0))  # ‖X_i X_jᵀ‖_F
    np.fill_diagonal(frobenius, np.trace(grams, axis1=1, axis2=2))  # ‖X_i‖_F², one sketch on both sides
    norm_sums = np.zeros((n, n))  # Σ_{v∈G_j} ‖X_i h̄_v‖
    node_norms = np.zeros(len(X))  # ‖X_i h̄_u‖ for the graph i of u
    cosines = np.zeros((n, len(X)))  # Σ_{v∈G_i} |λ_uv| for each node u
    for i, part in enumerate(graph):
        norms = np.sqrt(np.maximum(np.sum((nodes.h @ grams[i]) * nodes.h, axis=1), 0.0))
        norm_sums[i] = nodes.graph_sums(norms)
        node_norms[part] = norms[part]
        cosines[i] = np.abs(nodes.h[part] @ nodes.h.T).sum(axis=0)
    r_sums = nodes.graph_sums(r)
    left = r_sums[:, None] * norm_sums
    # e_uu/2 = x r_u ‖X h̄_u‖ + x² r_u² ‖X‖_F²/2, times |λ_uv| summed over v
    shift_first = nodes.graph_sums((r * node_norms * cosines).T)
    shift_second = nodes.graph_sums((r**2 / 2 * np.diag(frobenius)[batch.graph_of_node] * cosines).T)
    first = left + left.T + shift_first + shift_first.T
    second = np.outer(r_sums, r_sums) * frobenius + shift_second + shift_second.T
    return nodes, first, second
