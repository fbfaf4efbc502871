"""From the values of leaves to the values of a kernel: levels, sums, products, factors, normalisation.

A combination is computed entry by entry. Normalising also needs the kernel of each graph with itself: the diagonal of
a Gram matrix, or the diagonals of the leaves for other matrices.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.kernels import Kernel, Leaf, Normalized, Product, Scaled, Sum

__all__ = [
    "combine",
    "combine_diagonals",
    "combine_levels",
    "combine_nodes",
    "mirror_upper_triangle",
    "needs_diagonals",
    "normalize",
]

Diagonals = dict[Leaf, Array]
"""For each leaf of a kernel, the diagonal (n,): its value of each graph with itself."""


def combine_levels(readouts: Array, kernel: Leaf) -> Array:
    """Return the value of a leaf from the readouts of all its levels, shape (L + 1, …)."""
    weights = kernel.level_weights
    if weights[-1] == 1.0 and not any(weights[:-1]):
        return np.array(readouts[-1])
    if all(weight == 1.0 for weight in weights):
        return np.asarray(readouts.sum(axis=0))
    return np.asarray(np.einsum("l,l...->...", np.array(weights), readouts))


def mirror_upper_triangle(values: Array) -> Array:
    """Return matrices (…, n, n) with the lower triangle replaced by the upper one, so that they are symmetric."""
    return np.asarray(np.triu(values) + np.swapaxes(np.triu(values, 1), -1, -2))


def combine(
    kernel: Kernel,
    leaf_values: Mapping[Leaf, Array],
    row_diagonals: Diagonals | None = None,
    col_diagonals: Diagonals | None = None,
) -> Array:
    """Return the values (n, m) of a kernel from those of its leaves.

    The diagonals are those of row graphs and of column graphs, for a cross matrix of a kernel that
    :func:`needs_diagonals`; without them, values must be a Gram matrix.
    """

    def normalize_part(part: Kernel, values: Array) -> Array:
        if not row_diagonals or not col_diagonals:
            return normalize(values)
        return normalize(values, combine_diagonals(part, row_diagonals), combine_diagonals(part, col_diagonals))

    return _apply(kernel, leaf_values.__getitem__, normalize_part)


def combine_diagonals(kernel: Kernel, leaf_diagonals: Diagonals) -> Array:
    """Return the diagonal (n,) of a kernel from those of its leaves."""
    return _apply(kernel, leaf_diagonals.__getitem__, lambda _, values: (values > 0).astype(np.float64))


def combine_nodes(kernel: Kernel, contributions: dict[Leaf, Array], row: Diagonals, cols: Diagonals) -> Array:
    """Return the contribution of each node of one graph to its row, (N, m), from its contributions to each leaf.

    ``row`` and ``cols`` are the diagonals of the graph (1,) and of the column graphs (m,), for a kernel that
    :func:`needs_diagonals`. A sum adds contributions. In a product k1 · k2 the nodes are those of k1, and k2 weights
    the column graphs: the sum over nodes is k1(G, G_i) k2(G, G_i), the value of the product.
    """

    def normalize_part(part: Kernel, values: Array) -> Array:
        diagonal = np.repeat(combine_diagonals(part, row), len(values))
        return normalize(values, diagonal, combine_diagonals(part, cols))

    def multiply(first: Array, second: Array) -> Array:
        return np.asarray(first * second.sum(axis=0))

    return _apply(kernel, contributions.__getitem__, normalize_part, multiply)


def _apply(
    kernel: Kernel,
    leaf_value: Callable[[Leaf], Array],
    normalize_part: Callable[[Kernel, Array], Array],
    multiply: Callable[[Array, Array], Array] = np.multiply,
) -> Array:
    """Apply the operations of a kernel to the values of its leaves; ``normalize_part`` takes a part and its values."""
    match kernel:
        case Scaled(factor, inner):
            values = _apply(inner, leaf_value, normalize_part, multiply)
            with np.errstate(over="ignore"):
                values = factor * values
        case Sum(first, second) | Product(first, second):
            join = multiply if isinstance(kernel, Product) else np.add
            parts = [_apply(part, leaf_value, normalize_part, multiply) for part in (first, second)]
            with np.errstate(over="ignore", invalid="ignore"):  # the sum over nodes in `multiply` may be inf − inf
                values = join(*parts)
        case Normalized(inner):
            return normalize_part(inner, _apply(inner, leaf_value, normalize_part, multiply))
        case _:
            assert isinstance(kernel, Leaf)
            return leaf_value(kernel)
    if values.size and not np.isfinite([values.min(), values.max()]).all():  # no array as large as `isfinite(values)`
        raise InputError(
            f"values of {kernel} leave the range of float64; normalise its parts, or use smaller factors, features or "
            "weights."
        )
    return values


def needs_diagonals(kernel: Kernel) -> bool:
    """Return whether any part of a kernel is normalised."""
    match kernel:
        case Scaled(_, inner):
            return needs_diagonals(inner)
        case Sum(first, second) | Product(first, second):
            return needs_diagonals(first) or needs_diagonals(second)
        case _:
            return isinstance(kernel, Normalized)


def normalize(K: ArrayLike, row_diagonal: ArrayLike | None = None, col_diagonal: ArrayLike | None = None) -> Array:
    """Divide each entry of a kernel matrix by the roots of the diagonals: K_ij / sqrt(K_ii K_jj).

    By default, K is a Gram matrix with its own diagonal. For a cross matrix pass :func:`fastgntk.diagonal` of the row
    graphs and of the column graphs. The entries of a graph whose diagonal is 0 (no nodes, or zero features) are 0.

    Examples
    --------
    >>> normalize([[4.0, 2.0], [2.0, 9.0]]).round(3).tolist()
    [[1.0, 0.333], [0.333, 1.0]]
    """
    K = np.array(K, dtype=np.float64)
    if K.ndim != 2:
        raise InputError(f"K must be a matrix, but has shape {K.shape}.")
    if (row_diagonal is None) != (col_diagonal is None) or (row_diagonal is None and K.shape[0] != K.shape[1]):
        raise InputError(
            f"a cross matrix of shape {K.shape} needs the diagonals of its rows and of its columns; pass "
            "row_diagonal and col_diagonal."
        )
    rows = np.diagonal(K).copy() if row_diagonal is None else np.atleast_1d(np.asarray(row_diagonal, dtype=np.float64))
    cols = np.diagonal(K).copy() if col_diagonal is None else np.atleast_1d(np.asarray(col_diagonal, dtype=np.float64))
    if (len(rows), len(cols)) != K.shape:
        raise InputError(f"the diagonals have lengths {len(rows)} and {len(cols)}, but K has shape {K.shape}.")
    if not all(np.isfinite(values).all() for values in (K, rows, cols)):
        raise InputError("K and the diagonals must be finite; this is not a kernel matrix.")
    if len(rows) and len(cols) and min(rows.min(), cols.min()) < 0:
        raise InputError("diagonals must not be negative; this is not a kernel matrix.")
    K *= _inverse_root(rows)[:, None]  # one side at a time: the product of both factors could overflow
    K *= _inverse_root(cols)
    if row_diagonal is None:
        np.fill_diagonal(K, (rows > 0).astype(np.float64))  # 1 exactly, not up to rounding
    return K


def _inverse_root(values: Array) -> Array:
    return np.divide(1.0, np.sqrt(values), out=np.zeros(len(values)), where=values > 0)
