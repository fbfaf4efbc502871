"""Generalisation: labels that the kernel provably learns, their norm, and the bound on the error for new graphs.

    y_i = Σ_t α_t Σ_{u∈G_i} ⟨h̄_u, β_t⟩^t,     t = 1 and even t        (Du et al. 2019, Theorem 4.3)

is y = Σ_t α_t Φ_tᵀ β_t^{⊗t} with Φ_tᵀ Φ_t = M_t, and K = Σ_t w_t M_t. So y = Ψᵀ b with Ψ the stack of sqrt(w_t) Φ_t,
b the stack of α_t β_t^{⊗t} / sqrt(w_t), and ΨᵀΨ ⪯ K, which gives ‖y‖_{K⁻¹} ≤ ‖b‖. That norm and the trace of K bound
the error for new graphs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from fastgntk._util.arrays import Array
from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.theory._checks import check_fraction, check_number, check_numbers
from fastgntk.theory._closed_form import check_power, moment_weight
from fastgntk.theory._nodes import as_nodes
from fastgntk.theory._spectrum import CUT, eigen

__all__ = ["GeneralizationRate", "LabelClass", "generalization_bound", "generalization_rate", "label_norm"]
__all__ += ["trace_bound"]

NormBound = Literal["tight", "sum", "layer", "du2019", "jiang2022"]


@dataclass(frozen=True, eq=False)
class LabelClass:
    """Generate labels y_i = Σ_t α_t Σ_u ⟨h̄_u, β_t⟩^t and bound their norm.

    Du et al. 2019, Theorem 4.3; Jiang et al. 2022, Assumption 5.5, part 1, where h̄_u is the exactly aggregated node
    with the scale c_u of the sketched one, so that the labels depend on the drawn sketches.

    Attributes
    ----------
    powers : tuple of int, (k,)
        The powers t, each once: 1 and even numbers.
    alpha : float64, (k,)
    beta : float64, (k, d)

    Examples
    --------
    >>> from fastgntk import Graph
    >>> from fastgntk.theory import closed_form
    >>> pair = [Graph.from_edges([(0, 1)], 2, labels=["C", "O"]), Graph.from_edges([], 1, labels=["C"])]
    >>> rule = LabelClass(powers=(1, 2), alpha=[1.0, 0.5], beta=[[1.0, 0.0], [0.0, 1.0]])
    >>> y = rule.labels(pair)
    >>> y.round(6).tolist()
    [1.914214, 1.0]
    >>> label_norm(y, closed_form(pair).K) <= rule.norm_bound() <= rule.norm_bound("du2019")
    True
    """

    powers: tuple[int, ...]
    alpha: Array
    beta: Array

    def __post_init__(self) -> None:
        powers = tuple(check_power(t, 1) for t in self.powers)
        if len(set(powers)) < len(powers) or any(t > 1 and t % 2 for t in powers):
            raise InputError(f"powers must be 1 and even numbers, each at most once, but are {powers}.")
        alpha, beta = check_numbers("alpha", self.alpha), check_numbers("beta", self.beta)
        if alpha.shape != (len(powers),) or beta.ndim != 2 or len(beta) != len(powers):
            raise InputError(
                f"alpha must have shape ({len(powers)},) and beta ({len(powers)}, d), one row for each power, but have "
                f"{alpha.shape} and {beta.shape}."
            )
        for name, value in (("powers", powers), ("alpha", alpha), ("beta", beta)):
            object.__setattr__(self, name, value)

    @classmethod
    def random(cls, d: int, powers: Sequence[int] = (1, 2, 4), *, random_state: int = 0) -> Self:
        """Draw a member of the class: α standard normal, β_t uniform on the unit sphere in d dimensions."""
        check_integer("d", d, 1)
        rng = np.random.default_rng(check_integer("random_state", random_state, 0))
        beta = rng.standard_normal((len(powers), d))
        return cls(tuple(powers), rng.standard_normal(len(powers)), beta / np.linalg.norm(beta, axis=1, keepdims=True))

    def labels(self, source: Any) -> Array:
        """Return y, (n,), for :class:`Nodes` or anything that :func:`fastgntk.as_graphs` accepts."""
        nodes = as_nodes(source)
        if nodes.h.shape[1] != self.beta.shape[1]:
            raise InputError(
                f"beta has width {self.beta.shape[1]}, but the nodes of these graphs have {nodes.h.shape[1]} features."
            )
        products = nodes.h @ self.beta.T  # (N, k), ⟨h̄_u, β_t⟩
        return nodes.graph_sums(products ** np.array(self.powers, dtype=np.int64) @ self.alpha)

    def norm_bound(self, form: NormBound = "tight") -> float:
        """Bound ‖y‖_{K⁻¹}, whatever the graphs, by the sizes |α_t| ‖β_t‖^t of the terms.

        ============ ============================================ =============================================
        form         bound                                        from
        ============ ============================================ =============================================
        "tight"      sqrt(Σ_t α_t² ‖β_t‖^(2t) / w_t)               K ⪰ Σ_t w_t M_t, all powers at once; ours
        "sum"        Σ_t |α_t| ‖β_t‖^t / sqrt(w_t)                 the triangle inequality, K ⪰ w_t M_t for each t
        "layer"      √2, √π (2l−1) in place of 1/sqrt(w_t)         K₁ alone, and c_l ≥ 1/(2l−1)²
        "du2019"     2, √(2π) (2l−1) in place of 1/sqrt(w_t)       the same with 1/(2π) for 1/π
        "jiang2022"  4 |α_1| ‖β_1‖ + Σ_l 4√π (2l−1) |α_2l| ‖β_2l‖  a sketched kernel, as printed
        ============ ============================================ =============================================

        Of the first four each is at most the next. "du2019" is Du et al. 2019, Theorem 4.3; with 1/π, which is what
        c_φ = 2 gives, the same argument leads to "layer". "jiang2022" is Jiang et al. 2022, Lemma 5.8, which has
        ‖β_2l‖ without the power 2l: it is no bound where ‖β_2l‖ > 1, and its proof fails elsewhere too
        (docs/theory.md).
        """
        if form not in get_args(NormBound):
            raise InputError(f"form must be one of {', '.join(get_args(NormBound))}, but is {form!r}.")
        lengths, powers = np.linalg.norm(self.beta, axis=1), np.array(self.powers, dtype=np.int64)
        if form == "jiang2022":
            constants = np.where(powers == 1, 4.0, 4.0 * np.sqrt(np.pi) * (powers - 1))
            return float(np.abs(self.alpha) * lengths @ constants)
        sizes = np.abs(self.alpha) * lengths**powers
        if form in ("tight", "sum"):
            terms = sizes / np.sqrt([moment_weight(t) for t in self.powers])
            return float(np.linalg.norm(terms) if form == "tight" else terms.sum())
        constants = np.where(powers == 1, np.sqrt(2.0), np.sqrt(np.pi) * (powers - 1))
        return float(sizes @ constants * (np.sqrt(2.0) if form == "du2019" else 1.0))


def label_norm(y: ArrayLike, K: Array, *, cut: float = CUT) -> float:
    """Return ‖y‖_{K⁻¹} = sqrt(yᵀ K⁻¹ y), the norm of the function that kernel regression finds.

    K is decomposed into eigenvectors; eigenvalues below ``cut`` times the largest count as zero. Where there are such,
    y must lie in the range of K (up to sqrt(cut) of its length), and K⁻¹ is the pseudo-inverse; a y outside cannot be
    fitted by any function of the kernel, its norm is infinite, and that is an error here. Costs n³.
    Du et al. 2019, Theorem 4.2.

    Examples
    --------
    >>> round(label_norm([1.0, 1.0], np.diag([4.0, 1.0])), 6)
    1.118034
    >>> label_norm([1.0, 1.0], np.diag([4.0, 0.0]))
    Traceback (most recent call last):
    fastgntk.errors.InputError: y must lie in the range of K, but 0.707 of its length is outside: K has rank 1 of 2, \
its smallest eigenvalue is 0 and its largest 4; drop graphs that K cannot tell apart, or add a multiple of I to K.
    """
    values, vectors, rank = eigen(K, "K", cut)
    labels = check_numbers("y", y)
    if labels.shape != (len(values),):
        raise InputError(f"y must hold {len(values)} numbers, one for each row of K, but has shape {labels.shape}.")
    components = vectors.T @ labels
    outside = float(np.linalg.norm(components[: len(values) - rank]))
    length = float(np.linalg.norm(labels))
    if outside > np.sqrt(cut) * length:
        raise InputError(
            f"y must lie in the range of K, but {outside / length:.3g} of its length is outside: K has rank {rank} of "
            f"{len(values)}, its smallest eigenvalue is {values[0]:.3g} and its largest {values[-1]:.3g}; drop graphs "
            "that K cannot tell apart, or add a multiple of I to K."
        )
    kept = slice(len(values) - rank, None)
    return float(np.sqrt(np.sum(components[kept] ** 2 / values[kept])))


def trace_bound(n: int, N: int) -> float:
    """Return 2 n N², which bounds tr K for n graphs of at most N nodes.

    λ κ0(λ) + κ1(λ) ≤ 2 with equality at λ = 1, so tr K ≤ 2 Σ_i N_i² ≤ 2 n N², with equality where all graphs have
    N nodes and every node of a graph the same h̄. With 1/(2π) for 1/π it would be n N². Du et al. 2019, Theorem 4.3;
    Jiang et al. 2022, Lemma 5.9, for the sketched kernel too, whose nodes are unit vectors as well.

    Examples
    --------
    >>> trace_bound(n=188, N=28)
    294784.0
    """
    return 2.0 * check_number("n", n, 1) * check_number("N", N, 0) ** 2


def generalization_bound(
    label_norm: float,
    trace: float,
    n: int,
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    complexity: float = 2.0,
    deviation: float = 3.0,
) -> float:
    """Bound the expected loss of kernel regression without ridge on a new graph, with probability 1 − δ.

        L_D ≤ 2 ‖y‖_{K⁻¹} sqrt(tr K) / n · (1 − ε)^(−1/2) + 3 sqrt(log(2/δ) / (2n))

    for a loss in [0, 1] that is 1-Lipschitz with ℓ(y, y) = 0. A bound of 1 or more is vacuous. The first term is
    twice the Rademacher complexity of the functions of norm at most ‖y‖_{K⁻¹} (Bartlett and Mendelson 2002), so that
    norm must not depend on the drawn graphs. That is true of :meth:`LabelClass.norm_bound`; for a measured norm a union
    bound over its size is needed (Arora et al. 2019), which is left out here. Du et al. 2019, Theorem 4.2, states the
    order of both terms, as does Jiang et al. 2022, Theorem 5.6, which prints sqrt(log(1/δ)/n); the constants here are
    those of Bartlett and Mendelson and can be given.

    Parameters
    ----------
    label_norm : float
        ‖y‖_{K⁻¹} or a bound on it.
    trace : float
        tr K (of the sketched kernel, if there is a sketch) or a bound on it, such as :func:`trace_bound`.
    n : int
        Number of training graphs.
    delta : float
        Probability that the bound fails.
    epsilon : float
        For a sketched kernel K̃ with (1−ε) K ⪯ K̃: the labels' norm grows by (1−ε)^(−1/2) at most.
    complexity, deviation : float
        The constants 2 and 3.

    Examples
    --------
    >>> round(generalization_bound(label_norm=1.0, trace=trace_bound(10_000, 10), n=10_000), 4)
    0.3236
    """
    for name, value, minimum in (
        ("label_norm", label_norm, 0),
        ("trace", trace, 0),
        ("n", n, 1),
        ("complexity", complexity, 0),
        ("deviation", deviation, 0),
    ):
        check_number(name, value, minimum)
    check_fraction("delta", delta)
    check_number("epsilon", epsilon, 0, below=1)
    norm = label_norm / math.sqrt(1.0 - epsilon)
    return complexity * norm * math.sqrt(trace) / n + deviation * math.sqrt(math.log(2.0 / delta) / (2.0 * n))


@dataclass(frozen=True)
class GeneralizationRate:
    """What the main theorem requires of a sequence of problems, and how its bound behaves along it.

    Each is the exponent e of a fit n^e: negative for o(1).

    Attributes
    ----------
    norm_exponent : of B/n; the theorem requires B = o(n) for its bound B on ‖y‖_{K⁻¹}
    nodes_exponent : of N/√n; the theorem requires N = o(√n)
    bound_exponent : of √2 B N/√n, the first term of the bound; the theorem concludes O(n^(−c))
    """

    norm_exponent: float
    nodes_exponent: float
    bound_exponent: float

    @property
    def conditions_hold(self) -> bool:
        """Whether both conditions of the theorem hold."""
        return self.norm_exponent < 0 and self.nodes_exponent < 0

    @property
    def bound_decreases(self) -> bool:
        """Whether the bound tends to 0, which requires B N = O(n^(1/2 − c)): more than both conditions."""
        return self.bound_exponent < 0


def generalization_rate(n: ArrayLike, N: ArrayLike, label_norm: ArrayLike) -> GeneralizationRate:
    """Fit the exponents in the conditions and in the conclusion of the main theorem.

    Jiang et al. 2022, Theorem 5.10: if B = o(n) for the bound B on ‖y‖_{K⁻¹} of Lemma 5.8, and N = o(√n), the loss is
    O(n^(−c)). Its bound (Theorem 5.6 with Lemma 5.9) is sqrt(B² · 2nN²)/n = √2 B N/√n, and that need not decrease:

    >>> n = 10.0 ** np.arange(2, 7)
    >>> rate = generalization_rate(n, N=n**0.4, label_norm=n**0.4)
    >>> rate.conditions_hold, rate.bound_decreases, round(rate.bound_exponent, 6)
    (True, False, 0.3)
    >>> generalization_rate(n, N=n**0.2, label_norm=n**0.2).bound_decreases
    True

    Parameters
    ----------
    n, N, label_norm : (k,), k ≥ 2, above 0
        Number of graphs, nodes of the largest graph and bound B on the norm of labels, along a sequence of growing n.
    """
    given = {"n": n, "N": N, "label_norm": label_norm}
    sizes, nodes, norms = (check_numbers(name, values) for name, values in given.items())
    if sizes.ndim != 1 or len(sizes) < 2 or not sizes.shape == nodes.shape == norms.shape:
        raise InputError(
            f"n, N and label_norm must be sequences of one length, 2 or more, but have shapes {sizes.shape}, "
            f"{nodes.shape} and {norms.shape}."
        )
    if not all((values > 0).all() for values in (sizes, nodes, norms)):
        raise InputError("n, N and label_norm must be above 0.")
    if (np.diff(sizes) <= 0).any():
        raise InputError("n must grow along the sequence.")

    def exponent(values: Array) -> float:
        return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])

    root = np.sqrt(sizes)
    return GeneralizationRate(exponent(norms / sizes), exponent(nodes / root), exponent(norms * nodes / root))
