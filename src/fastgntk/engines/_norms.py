"""Norms of nodes: the scale c_u, norms that are zero up to rounding, and rows as unit vectors."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Array, Bools, Matrix
from fastgntk.kernels import Network

__all__ = ["mixing_factors", "is_zero_norm", "safe_reciprocal", "scale_norms", "scale_rows", "to_dense", "unit_rows"]

_EPS = float(np.finfo(np.float64).eps)


def scale_norms(q: Array, operand: Array, kernel: Network) -> Array:
    """Return p = c_u q_u; ``operand`` is that of `scale_operand`. NaNs propagate to the result."""
    if kernel.scale == "unit":
        return q * 0.0 + (q > 0)
    if kernel.scale == "given":
        return q * operand
    return q / operand if kernel.scale == "degree" else q


def mixing_factors(q: Array, scaled: Array, feature_norm: Array, kernel: Network) -> tuple[Array, Array, Array]:
    """Return f, g and p with which a node becomes p (f a + g x̂), a unit vector times its norm p.

    a is the aggregated node, of norm ``q`` and after the scale of norm ``scaled``; x̂ is the direction of its features,
    of norm ``feature_norm``. By the residual connection the node is √(1 − α) c a and √α x in orthogonal spaces, α = 0
    without.
    """
    if not kernel.has_residual:
        return safe_reciprocal(q), np.zeros(len(q)), scaled
    aggregated, initial = np.sqrt(1.0 - kernel.residual) * scaled, np.sqrt(kernel.residual) * feature_norm
    p = np.hypot(aggregated, initial)
    inverse = safe_reciprocal(p)
    return aggregated * inverse * safe_reciprocal(q), initial * inverse, p


def is_zero_norm(norm: Array, bound: Array, terms: NDArray[np.integer] | Array, *, squared: bool) -> Bools:
    """Return a mask of the aggregated nodes whose norm is zero up to rounding.

    ``bound`` is |Â| times the norms before aggregation, which bounds the norm after it; ``terms`` are |N(u)| + 1. A
    sum that is exactly zero in real numbers leaves a remainder of a few ε of that bound; its direction is noise, which
    ``scale="unit"`` would scale up to a unit vector. ``squared`` means that ``norm`` comes from a quadratic form, whose
    remainder is a few ε of the squared bound.
    """
    if squared:
        return np.asarray(norm**2 <= (2.0 * terms + 8.0) * _EPS * bound**2)
    return np.asarray(norm <= (terms + 8.0) * _EPS * bound)


def unit_rows(matrix: Matrix) -> tuple[Matrix, Array]:
    """Return the rows as unit vectors (zero rows stay zero) and their norms, without overflow or underflow."""
    if 0 in matrix.shape:
        return matrix, np.zeros(matrix.shape[0])
    largest = np.asarray(to_dense(abs(matrix).max(axis=1)), dtype=np.float64).ravel()
    scaled = scale_rows(matrix, safe_reciprocal(largest))
    squares = scaled.multiply(scaled) if sparse.issparse(scaled) else scaled * scaled
    root: Array = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())
    return scale_rows(scaled, safe_reciprocal(root)), largest * root


def scale_rows(matrix: Matrix, factor: Array) -> Matrix:
    """Return diag(factor) times a dense or sparse matrix."""
    if sparse.issparse(matrix):
        return sparse.csr_array(sparse.diags_array(factor) @ matrix)
    return matrix * factor[:, None]


def safe_reciprocal(values: Array) -> Array:
    """Return 1/x, and 0 where x is not positive."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def to_dense(matrix: Matrix) -> Array:
    """Return a dense or sparse matrix as an array."""
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)
