"""Error of two sketches in a bilinear form: the sketching lemma and the exact variance.

With P = RᵀR = I + E and Q = SᵀS = I + F for independent sketches R (b1 × n) and S (b2 × m) of mean I,

    gᵀ P A Q h − gᵀ A h = gᵀ E (A h) + (gᵀ A) F h + gᵀ E A F h

and each term is a coordinate of a sketch, which an (α, β, δ)-coordinate-wise embedding keeps small:
|xᵀ E y| ≤ β/√b ‖x‖ ‖y‖ with probability 1 − δ, and E (xᵀ E y)² ≤ α/b ‖x‖² ‖y‖² (Song and Yu 2021).
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk._util.checks import check_integer, check_positive
from fastgntk.errors import InputError
from fastgntk.theory._checks import check_fraction, check_number, check_numbers

__all__ = ["SketchingBound", "beta", "sketching_bound", "sketching_rms"]

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
    check_number("n", n, 1)
    check_positive("constant", constant)
    check_fraction("delta", delta)
    if sketch == "countsketch":
        return float(constant / math.sqrt(delta))
    concentrated = float(constant * math.log(max(n, 2)) ** 1.5)
    if sketch != "sparse":
        return concentrated
    if nonzeros is None or size is None or check_integer("size", size, 1) < check_integer("nonzeros", nonzeros, 1):
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

    for independent R and S. Jiang et al. 2022, Lemma E.3; β from :func:`beta`. Costs two products with A.

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
    G, A, H = _as_columns(g, A, h, b1, b2)
    x = check_positive("beta1", beta1) / math.sqrt(b1)
    y = check_positive("beta2", beta1 if beta2 is None else beta2) / math.sqrt(b2)
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
    G, A, H = _as_columns(g, A, h, b1, b2)
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


def _as_columns(g: Any, A: Any, h: Any, b1: Any, b2: Any) -> tuple[Array, Array, Array]:
    """Return g and h as matrices of columns and A as an array, after checking shapes and sizes."""
    G, H, A = _as_matrix("g", g), _as_matrix("h", h), check_numbers("A", A)
    if A.ndim != 2 or A.shape != (len(G), len(H)):
        raise InputError(f"A must have shape ({len(G)}, {len(H)}), as long as g and h, but has shape {A.shape}.")
    check_positive("b1", b1)
    check_positive("b2", b2)
    return G, A, H


def _as_matrix(name: str, vectors: Any) -> Array:
    array = check_numbers(name, vectors)
    if array.ndim not in (1, 2):
        raise InputError(f"{name} must be a vector or a matrix of columns, but has {array.ndim} dimensions.")
    return array[:, None] if array.ndim == 1 else array
