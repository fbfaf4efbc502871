"""From the norm of the labels and the trace of K to a bound on the error for new graphs."""

import math

from fastgntk.errors import InputError

__all__ = ["generalization_bound", "trace_bound"]


def trace_bound(n: int, N: int) -> float:
    """Return 2 n N², which bounds tr K for n graphs of at most N nodes.

    λ κ0(λ) + κ1(λ) ≤ 2 with equality at λ = 1, so tr K ≤ 2 Σ_i N_i² ≤ 2 n N², with equality where all graphs have
    N nodes and every node of a graph the same h̄. With 1/(2π) for 1/π it would be n N². Du et al. 2019, Theorem 4.3.

    Examples
    --------
    >>> trace_bound(n=188, N=28)
    294784.0
    """
    if n < 1 or N < 0:
        raise InputError(f"n must be 1 or more and N 0 or more, but they are {n} and {N}.")
    return 2.0 * n * float(N) ** 2


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

    for a loss in [0, 1] that is 1-Lipschitz with ℓ(y, y) = 0. A bound of 1 or more says nothing. The first term is
    twice the Rademacher complexity of the functions of norm at most ‖y‖_{K⁻¹} (Bartlett and Mendelson 2002), so that
    norm must not depend on the drawn graphs. That is true of :meth:`LabelClass.norm_bound`; for a measured norm a union
    bound over its size is needed (Arora et al. 2019), which is left out here. Du et al. 2019, Theorem 4.2, states the
    order of both terms; the constants here are those of Bartlett and Mendelson and can be given.

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
        For a sketched kernel K̃ with (1−ε) K ⪯ K̃: the labels' norm grows by (1−ε)^(−1/2) at most. Jiang et al. 2022, the
        generalisation theorem.
    complexity, deviation : float
        The constants 2 and 3.

    Examples
    --------
    >>> round(generalization_bound(label_norm=1.0, trace=trace_bound(10_000, 10), n=10_000), 4)
    0.3236
    """
    if not (label_norm >= 0 and trace >= 0 and n >= 1):
        raise InputError(
            f"label_norm and trace must be 0 or more and n 1 or more, but they are {label_norm}, {trace} and {n}."
        )
    if not (0 < delta < 1 and 0 <= epsilon < 1):
        raise InputError(
            f"delta must lie between 0 and 1 and epsilon be 0 or more and below 1, but they are {delta} and {epsilon}."
        )
    norm = label_norm / math.sqrt(1.0 - epsilon)
    return complexity * norm * math.sqrt(trace) / n + deviation * math.sqrt(math.log(2.0 / delta) / (2.0 * n))
