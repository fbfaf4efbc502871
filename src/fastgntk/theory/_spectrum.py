"""Eigenvalues: γ_t, condition numbers, and how well a sketched matrix approximates a quadratic form.

A matrix counts as singular in the directions whose eigenvalue is below ``cut`` times the largest.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.theory._checks import check_fraction
from fastgntk.theory._closed_form import check_power, moment

__all__ = ["CUT", "SpectralInterval", "eigen", "gamma", "largest_gamma", "moment_condition", "moment_spectrum"]
__all__ += ["powers_up_to", "spectral_interval"]

CUT = 1e-12


def gamma(t: int, source: Any) -> float:
    """Return γ_t = ‖M̄_t‖_F / ‖M̄_t‖₂, between 1 and √n: how far M̄_t is from having rank one.

    It is sqrt(Σ_i σ_i²)/σ_1 for the eigenvalues σ of M̄_t, so √n only where all of them are equal. Jiang et al. 2022,
    Assumption 5.5, part 2. Graphs without features give 1.

    Parameters
    ----------
    t : int, 1 or more
    source : :class:`Nodes`, or anything that :func:`fastgntk.as_graphs` accepts, n graphs

    Examples
    --------
    >>> from fastgntk import Graph
    >>> edge = Graph.from_edges([(0, 1)], 2, labels=["C", "O"])
    >>> node = Graph.from_edges([], 1, labels=["C"])
    >>> round(gamma(1, [edge, node]), 4)
    1.0046
    """
    values, _, _ = _moment_eigen(check_power(t, 1), source, CUT)
    return float(np.linalg.norm(values) / values[-1]) if values[-1] > 0 else 1.0


def largest_gamma(T: int, source: Any) -> float:
    """Return γ, the largest γ_t over t = 1, 2, 4, …, 2T. Jiang et al. 2022, Assumption 5.5, part 2."""
    return max(gamma(t, source) for t in powers_up_to(T))


def powers_up_to(T: int) -> tuple[int, ...]:
    """Return 1, 2, 4, …, 2T: the powers in the labels of Jiang et al. 2022, Assumption 5.5, part 1.

    >>> powers_up_to(2)
    (1, 2, 4)
    """
    return (1, *range(2, 2 * check_integer("T", T, 1) + 1, 2))


def moment_condition(t: int, source: Any, *, on_range: bool = False, cut: float = CUT) -> float:
    """Return ‖H⁽ᵗ⁾‖_F / σ_min(H⁽ᵗ⁾) = sqrt(tr M_t / λ_min(M_t)), infinite where M_t is singular.

    A condition number of ours, not in the papers: what a proof of (1±ε) M_t by bounds on entries needs
    (:func:`spectral_sketch_size`). H⁽ᵗ⁾ has the columns Σ_{u∈G_i} h_u^{⊗t}. Since these are symmetric tensors the rank
    of M_t is at most (d+t−1 choose t), so for t = 1 it is infinite as soon as there are more graphs than features. Then
    ``on_range=True`` takes the smallest eigenvalue above the cut in place of λ_min, which proves nothing.

    Examples
    --------
    >>> from fastgntk import Graph
    >>> edge = Graph.from_edges([(0, 1)], 2, labels=["C", "O"])
    >>> node = Graph.from_edges([], 1, labels=["C"])
    >>> round(moment_condition(1, [edge, node]), 4)
    3.377
    >>> moment_condition(1, [edge, node, edge])
    inf
    """
    return moment_spectrum(check_power(t, 1), source, on_range, cut)[1]


def moment_spectrum(t: int, source: Any, on_range: bool, cut: float) -> tuple[float, float]:
    """Return λ_min(M_t) and the condition number; 0 and infinity where M_t is singular, unless ``on_range``."""
    values, _, rank = _moment_eigen(t, source, cut)
    if rank == 0 or (rank < len(values) and not on_range):
        return 0.0, math.inf
    return float(values[-rank]), float(np.sqrt(values.sum() / values[-rank]))


def _moment_eigen(t: int, source: Any, cut: float) -> tuple[Array, Array, int]:
    M = moment(t, source)
    if not len(M):
        raise InputError("source must hold at least one graph, but holds none.")
    return eigen(M, "M_t", cut)


@dataclass(frozen=True)
class SpectralInterval:
    """M̃ compared with M as a quadratic form.

    Attributes
    ----------
    low, high : float
        The largest and the smallest number with low · M ⪯ M̃ ⪯ high · M. ``high`` is infinite and ``low`` often 0
        where M is singular and M̃ is not zero on its null space.
    low_on_range, high_on_range : float
        The same for vectors in the range of M only; equal to the former where M is regular.
    rank, size : int
        Rank of M after the cut, and its number of rows.
    """

    low: float
    high: float
    low_on_range: float
    high_on_range: float
    rank: int
    size: int

    @property
    def epsilon(self) -> float:
        """The smallest ε with (1−ε) M ⪯ M̃ ⪯ (1+ε) M."""
        return max(1.0 - self.low, self.high - 1.0)


def spectral_interval(M: Array, M_sketched: Array, *, cut: float = CUT) -> SpectralInterval:
    """Measure low · M ⪯ M̃ ⪯ high · M as generalised eigenvalues of (M̃, M).

    With M = U diag(s) Uᵀ on its range (s above ``cut`` times the largest), W = U diag(s)^(−1/2), and Z a basis of the
    rest,

        on the range:     eigenvalues of P = Wᵀ M̃ W
        on all vectors:   low is the least eigenvalue of P − Wᵀ M̃ Z (Zᵀ M̃ Z)⁺ Zᵀ M̃ W, as a vector may take any part
                          in the null space of M at no cost there; high is that of P if Zᵀ M̃ Z = 0, else infinite.

    Costs one eigendecomposition of (n, n) and one of the rank. The proof of Lemma 5.8 of Jiang et al. 2022
    needs (1−ε) M̄_t ⪯ M̃_t ⪯ (1+ε) M̄_t with ε = 1/10 for t = 1 and 1/2 for even t.

    Examples
    --------
    >>> interval = spectral_interval(np.diag([2.0, 4.0]), np.diag([1.8, 4.2]))
    >>> round(interval.low, 6), round(interval.high, 6), round(interval.epsilon, 6)
    (0.9, 1.05, 0.1)
    """
    values, vectors, rank = eigen(M, "M", cut)
    tilde, _, _ = eigen(M_sketched, "M_sketched", cut, semi_definite=False)
    if len(tilde) != len(values):
        raise InputError(f"M and M_sketched must have the same shape, but have {len(values)} and {len(tilde)} rows.")
    if rank == 0:
        raise InputError("M must have a positive eigenvalue, but is zero.")
    W, Z = vectors[:, -rank:] / np.sqrt(values[-rank:]), vectors[:, :-rank]
    P = W.T @ M_sketched @ W
    on_range = np.linalg.eigvalsh(P)
    low, high = float(on_range[0]), float(on_range[-1])
    threshold = cut * max(values[-1], np.abs(tilde).max())
    if rank < len(values):
        beyond, basis = np.linalg.eigh(Z.T @ M_sketched @ Z)
        if beyond[-1] > threshold:
            high = math.inf
        leaking = beyond > threshold
        C = (Z @ basis[:, leaking]).T @ M_sketched @ W
        low = float(np.linalg.eigvalsh(P - C.T @ (C / beyond[leaking][:, None]))[0])
        if beyond[0] < -threshold:
            low = -math.inf
    if tilde[0] >= -threshold:  # then so is P, and what is below zero is rounding, blown up by 1/s
        low, on_range = max(low, 0.0), np.maximum(on_range, 0.0)
    return SpectralInterval(low, high, float(on_range[0]), float(on_range[-1]), rank, len(values))


def eigen(M: Array, name: str, cut: float, *, semi_definite: bool = True) -> tuple[Array, Array, int]:
    """Return eigenvalues in rising order, eigenvectors as columns, and the number of eigenvalues above the cut."""
    M = np.asarray(M, dtype=np.float64)
    if M.ndim != 2 or M.shape[0] != M.shape[1] or len(M) == 0:
        raise InputError(f"{name} must be a square matrix with at least one row, but has shape {M.shape}.")
    if not np.isfinite(M).all():
        raise InputError(f"{name} must be finite, but {int((~np.isfinite(M)).sum())} entries are not.")
    skew = float(np.abs(M - M.T).max())
    if skew > 1e-8 * float(np.abs(M).max()):
        raise InputError(f"{name} must be symmetric, but differs from its transpose by up to {skew:.3g}.")
    check_fraction("cut", cut)
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    threshold = cut * float(np.abs(values).max())
    if semi_definite and values[0] < -threshold:
        raise InputError(
            f"{name} must be positive semi-definite, but its smallest eigenvalue is {values[0]:.3g} and its largest "
            f"{values[-1]:.3g}."
        )
    return values, vectors, int((values > threshold).sum())
