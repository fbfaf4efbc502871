"""Leave-one-out residuals without some held-out rows, for many choices of these rows, from one inverse.

Let G = A⁻¹ for all n rows of A = K + ρ I, S the held-out rows and T the rest. By block inversion

    (A_TT)⁻¹ = G_TT − G_TS (G_SS)⁻¹ G_ST,

so the coefficients α and the diagonal of the inverse, which give the residuals α_i / (A_TT⁻¹)_ii, cost |S|² n
operations for each S instead of |T|³.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError
from fastgntk.solvers._cholesky import lower_factor
from fastgntk.solvers._problem import as_ridge, as_targets

__all__ = ["leave_one_out_without"]


def leave_one_out_without(K: Array, Y: Array, ridge: float, held_out: Sequence[Ints]) -> Iterator[Array]:
    """Yield y_i − f₋ᵢ(x_i) for regression on all rows but some, one array (n, k) for each choice of held-out rows.

    The held-out rows of a result are 0. K is a matrix (n, n), and the ridge is above 0; memory is needed for one more
    matrix.

    Examples
    --------
    >>> K, y = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 2.0]]), np.array([[1.0], [-1.0], [0.5]])
    >>> (residuals,) = leave_one_out_without(K, y, 1.0, [np.array([2])])
    >>> residuals[0, 0] == 1.0 - K[0, 1] / (K[1, 1] + 1.0) * -1.0, residuals[2, 0]
    (np.True_, np.float64(0.0))
    """
    Y = as_targets(Y, len(K))
    G = _inverse(K, as_ridge(ridge))
    for rows in held_out:
        kept = np.ones(len(K), dtype=bool)
        kept[rows] = False
        targets = np.where(kept[:, None], Y, 0.0)
        diagonal = G.diagonal().copy()
        if len(rows):
            across = np.ascontiguousarray(G[rows])  # (s, n)
            corner = cho_factor(across[:, rows], lower=True, check_finite=False)
            # Targets of the held-out rows with which their coefficients are 0, so that they take no part.
            targets[rows] = -cho_solve(corner, across @ targets, check_finite=False)
            half, _ = lapack.dtrtrs(corner[0], across, lower=1)
            diagonal -= np.einsum("sn,sn->n", half, half)
        residuals = np.zeros_like(Y)
        residuals[kept] = (G @ targets)[kept] / diagonal[kept, None]
        yield residuals


def _inverse(K: Array, ridge: float) -> Array:
    """Return (K + ρ I)⁻¹."""
    n = len(K)
    A = np.array(K.T, order="F", copy=True)
    A.flat[:: n + 1] += ridge
    if not lower_factor(A):
        raise InputError(f"the kernel matrix with ridge {ridge:g} is not positive definite; use a larger ridge.")
    G: Array
    G, _ = lapack.dpotri(A, lower=1, overwrite_c=1)
    for start in range(0, n, 1024):  # mirrored in pieces, without a copy
        stop = start + 1024
        G[start:stop, stop:] = G[stop:, start:stop].T
        corner = np.tril(G[start:stop, start:stop])
        G[start:stop, start:stop] = corner + np.tril(corner, -1).T
    return G
