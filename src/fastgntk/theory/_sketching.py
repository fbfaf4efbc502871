"""Error of two sketches in a bilinear form, and the size of a sketch that the generalisation theorem needs.

With P = RᵀR = I + E and Q = SᵀS = I + F for independent sketches R (b1 × n) and S (b2 × m) of mean I,

    gᵀ P A Q h − gᵀ A h = gᵀ E (A h) + (gᵀ A) F h + gᵀ E A F h

and each term is a coordinate of a sketch, which an (α, β, δ)-coordinate-wise embedding keeps small:
|xᵀ E y| ≤ β/√b ‖x‖ ‖y‖ with probability 1 − δ, and E (xᵀ E y)² ≤ α/b ‖x‖² ‖y‖² (Song and Yu 2021).

For the size of a sketch, λ_uv = â_uᵀ A â'_v / (q_u q'_v) with â_u row u of Â, A = X X'ᵀ and q_u = ‖Xᵀ â_u‖ the norm in
h̄_u. With x = β/√b the lemma bounds the error of the numerator, relative to q_u q'_v, by

    e_uv = x (r_u ‖X h̄'_v‖ + r_v ‖X' h̄_u‖) + x² r_u r_v ‖X X'ᵀ‖_F          r_u = ‖â_u‖ / q_u.

Both sides of a pair of nodes of one graph carry the same sketch, which the lemma does not allow; there ‖X‖_F² stands in
for ‖XXᵀ‖_F, from |gᵀ E X Xᵀ E h| ≤ ‖Xᵀ E g‖ ‖Xᵀ E h‖. The sketched norms q̃ shift λ as well: to first order by at most
|λ_uv| (e_uu + e_vv)/2. Then

    |λ̃^t − λ^t| ≤ t |λ̃ − λ|,   |M̃_t − M_t| ≤ t (x a + x² c) entrywise,   ‖M̃_t − M_t‖ ≤ t (x ‖a‖ + x² ‖c‖)

and the last being at most ε λ_min(M_t) for all t suffices for (1−ε) M_t ⪯ M̃_t ⪯ (1+ε) M_t.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.engines import safe_reciprocal, unit_rows
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind
from fastgntk.theory._closed_form import UnitNodes, aggregate_features, aggregated, check_power
from fastgntk.theory._spectrum import CUT, moment_spectrum

__all__ = [
    "SketchSize",
    "SketchingBound",
    "beta",
    "entry_errors",
    "sketch_size",
    "sketching_bound",
    "sketching_rms",
]

SketchName = Literal["ams", "gaussian", "srht", "countsketch", "sparse"]


def beta(
    sketch: SketchName,
    n: int,
    *,
    delta: float = 0.1,
    nonzeros: int | None = None,
    size: int | None = None,
    constant: float = 1.0,
) -> float:
    """Return β of the coordinate-wise embedding: |xᵀ(SᵀS − I)y| ≤ β/√b ‖x‖ ‖y‖.

    ============================== ============================ ======================================
    sketch                         β over the constant           holds with probability
    ============================== ============================ ======================================
    "ams", "gaussian", "srht"      (log n)^1.5                   1 − 1/poly(n)
    "countsketch"                  1/√δ                          1 − δ; the constant √2 is rigorous
    "sparse", s non-zeros a column √(b/s) (log n)^1.5            1 − 1/poly(n)
    ============================== ============================ ======================================

    The papers give orders, not constants. For "sparse" β/√b = (log n)^1.5/√s does not fall with b: two coordinates
    share a row with probability about s²/b and are then off by 1/s, which no β free of b covers. For n = 1, log 2 is
    taken.
    Song and Yu 2021, coordinate-wise embeddings; on "sparse" see docs/theory.md.

    Examples
    --------
    >>> round(beta("ams", 100), 3), round(beta("countsketch", 100, delta=0.01), 3)
    (9.883, 10.0)
    >>> round(beta("sparse", 100, nonzeros=4, size=64), 3)
    39.53
    """
    if sketch not in get_args(SketchName):
        raise InputError(f"sketch must be one of {', '.join(get_args(SketchName))}, but is {sketch!r}.")
    if not (n >= 1 and constant > 0 and 0 < delta < 1):
        raise InputError(
            f"n must be 1 or more, constant above 0 and delta between 0 and 1, but they are {n}, {constant} and "
            f"{delta}."
        )
    if sketch == "countsketch":
        return float(constant / math.sqrt(delta))
    concentrated = float(constant * math.log(max(n, 2)) ** 1.5)
    if sketch != "sparse":
        return concentrated
    if nonzeros is None or size is None or not 1 <= nonzeros <= size:
        raise InputError(
            "sketch='sparse' needs nonzeros and size with 1 ≤ nonzeros ≤ size, its non-zeros a column and its rows, "
            f"but they are {nonzeros} and {size}."
        )
    return concentrated * math.sqrt(size / nonzeros)


@dataclass(frozen=True, eq=False)
class SketchingBound:
    """The three terms of the bound, each (p, q) for p left and q right vectors.

    Attributes
    ----------
    left : β1/√b1 ‖g‖ ‖A h‖, from R
    right : β2/√b2 ‖gᵀ A‖ ‖h‖, from S
    both : β1 β2/√(b1 b2) ‖g‖ ‖h‖ ‖A‖_F, from both together
    """

    left: Array
    right: Array
    both: Array

    @property
    def total(self) -> Array:
        """The bound on each entry of GᵀPAQH − GᵀAH, (p, q)."""
        return self.left + self.right + self.both

    @property
    def frobenius(self) -> float:
        """The bound on the Frobenius norm of that matrix; for one pair of vectors, on the error itself."""
        return float(np.linalg.norm(self.total))


def sketching_bound(
    g: Array, A: Array, h: Array, b1: float, b2: float, beta1: float, beta2: float | None = None
) -> SketchingBound:
    """Bound |gᵀ RᵀR A SᵀS h − gᵀ A h| by three terms, for all columns of g and h at once.

        β1/√b1 ‖g‖ ‖A h‖ + β2/√b2 ‖gᵀ A‖ ‖h‖ + β1 β2/√(b1 b2) ‖g‖ ‖h‖ ‖A‖_F

    for independent R and S. Jiang et al. 2022, the sketching lemma; β from :func:`beta`. Costs two products with A.

    Parameters
    ----------
    g : (n,) or (n, p);  A : (n, m);  h : (m,) or (m, q)
    b1, b2 : rows of R and S
    beta1, beta2 : β of R and S; the same if one is given

    Examples
    --------
    >>> bound = sketching_bound(np.ones(4), np.eye(4), np.ones(4), 100, 400, beta1=1.0)
    >>> [round(term.item(), 6) for term in (bound.left, bound.right, bound.both, bound.total)]
    [0.4, 0.2, 0.04, 0.64]
    """
    G, H = _as_columns(g, A, h, b1, b2)
    x = beta1 / math.sqrt(b1)
    y = (beta1 if beta2 is None else beta2) / math.sqrt(b2)
    g_norms, h_norms = np.linalg.norm(G, axis=0), np.linalg.norm(H, axis=0)
    return SketchingBound(
        left=x * np.outer(g_norms, np.linalg.norm(A @ H, axis=0)),
        right=y * np.outer(np.linalg.norm(A.T @ G, axis=0), h_norms),
        both=x * y * np.outer(g_norms, h_norms) * float(np.linalg.norm(A)),
    )


def sketching_rms(
    g: Array,
    A: Array,
    h: Array,
    b1: float,
    b2: float,
    sketch: Literal["ams", "gaussian", "countsketch", "sparse"] = "ams",
) -> Array:
    """Return sqrt(E (gᵀ RᵀR A SᵀS h − gᵀ A h)²) exactly, (p, q).

    For one sketch V_b(x, y) = E (xᵀ(SᵀS − I)y)² = (‖x‖² ‖y‖² + (xᵀy)² − 2 Σ_i x_i² y_i²)/b for random signs,
    CountSketch and, where s divides b, sparse embeddings alike (without the last term for Gaussian). The three terms of
    the error are uncorrelated, so

        E error² = V_b1(g, A h) + V_b2(Aᵀg, h) + E_S V_b1(g, A F h),

    where the last needs V_b2(a_i, h) for the rows a_i of A. Derived here; the papers bound it. Costs a few products
    with A and its squares. SRHT samples without replacement and has no such simple form.

    Examples
    --------
    >>> round(sketching_rms(np.ones(4), np.eye(4), np.ones(4), 100, 400).item(), 6)
    0.548817
    """
    G, H = _as_columns(g, A, h, b1, b2)
    if sketch not in ("ams", "gaussian", "countsketch", "sparse"):
        raise InputError(f"sketch must be one of ams, gaussian, countsketch, sparse, but is {sketch!r}.")
    fourth = 0.0 if sketch == "gaussian" else 2.0
    AH, AtG = A @ H, A.T @ G  # (n, q), (m, p)

    def variance(x: Array, y: Array, b: float) -> Array:
        squares = np.outer((x**2).sum(axis=0), (y**2).sum(axis=0))
        return np.asarray((squares + (x.T @ y) ** 2 - fourth * (x**2).T @ y**2) / b)

    rows = variance(A.T, H, b2)  # (n, q), V_b2(a_i, h)
    right = variance(AtG, H, b2)  # (p, q), also E (gᵀ A F h)²
    both = np.outer((G**2).sum(axis=0), rows.sum(axis=0)) + right - fourth * (G**2).T @ rows
    return np.asarray(np.sqrt(variance(G, AH, b1) + right + both / b1))


def _as_columns(g: Array, A: Array, h: Array, b1: float, b2: float) -> tuple[Array, Array]:
    """Return g and h as matrices of columns, after checking shapes and sizes."""
    G, H = _as_matrix(g), _as_matrix(h)
    if A.ndim != 2 or A.shape != (len(G), len(H)):
        raise InputError(f"A must have shape ({len(G)}, {len(H)}), as long as g and h, but has shape {A.shape}.")
    if not (b1 > 0 and b2 > 0):
        raise InputError(f"b1 and b2 must be above 0, but are {b1} and {b2}.")
    return G, H


def _as_matrix(vectors: Array) -> Array:
    array = np.asarray(vectors, dtype=np.float64)
    if array.ndim not in (1, 2):
        raise InputError(f"g and h must be vectors or matrices of columns, but one has {array.ndim} dimensions.")
    return array[:, None] if array.ndim == 1 else array


@dataclass(frozen=True)
class SketchSize:
    """The number of rows that a sketch needs.

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
    β = constant · (log N)^1.5. By the formula: b = β² γ⁴/ε². Jiang et al. 2022, the assumption on the sketch size,
    which prints only the order; the derivation is at the top of this file and treats norms to first order.

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
    spectra = [moment_spectrum(t, nodes, on_range, cut) for t in powers]
    embedding = beta("ams", largest, constant=constant)
    r = epsilon * min(smallest / t for t, (smallest, _) in zip(powers, spectra, strict=True))
    a, c = float(np.linalg.norm(first, 2)), float(np.linalg.norm(second, 2))
    gammas = tuple(gamma_t for _, gamma_t in spectra)
    x = 2.0 * r / (a + np.sqrt(a * a + 4.0 * c * r)) if r > 0 else 0.0  # the positive root, without cancellation
    return SketchSize(
        lemma=float((embedding / x) ** 2) if x > 0 else float(np.inf),
        formula=float((embedding * max(gammas) ** 2 / epsilon) ** 2),
        gamma=gammas,
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
