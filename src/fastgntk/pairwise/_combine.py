"""From the values of leaves to the values of a kernel: levels, sums, products, factors, normalisation.

A combination is computed entry by entry. Normalising needs the kernel of each graph with itself too, so values come
with these where they are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.kernels import GNTK, Kernel, Normalized, Product, Scaled, Sum

__all__ = ["Entries", "combine", "combine_diagonals", "combine_levels", "combine_nodes", "needs_diagonals", "normalize"]


@dataclass(frozen=True, eq=False)
class Entries:
    """Kernel values (n, m), and the kernel of row graphs (n,) and of column graphs (m,) with themselves.

    The diagonals may be None where nothing is normalised. A Gram matrix, ``symmetric``, has its own.
    """

    values: Array
    rows: Array | None = None
    cols: Array | None = None
    symmetric: bool = False

    @classmethod
    def of_gram(cls, K: Array) -> Entries:
        """Take the diagonals from a Gram matrix."""
        own = np.diagonal(K).copy()
        return cls(K, own, own, symmetric=True)


def combine_levels(levels: Array, kernel: GNTK) -> Array:
    """Return the value of a tangent kernel from the readouts of all its levels, shape (L + 1, …)."""
    if isinstance(kernel.jump, tuple):
        return np.asarray(np.einsum("l,l...->...", np.array(kernel.jump), levels))
    return np.asarray(levels.sum(axis=0)) if kernel.jump else np.array(levels[-1])


def combine(kernel: Kernel, leaf: Callable[[Kernel], Entries]) -> Entries:
    """Return the values of a kernel from those of its leaves; ``leaf`` is called once for each."""
    if isinstance(kernel, GNTK):
        return leaf(kernel)
    return _combine(kernel, {part: leaf(part) for part in kernel.leaves()})


def _combine(kernel: Kernel, leaves: dict[Kernel, Entries]) -> Entries:
    match kernel:
        case Scaled(factor, inner):
            found = _combine(inner, leaves)
            return Entries(
                factor * found.values, _times(factor, found.rows), _times(factor, found.cols), found.symmetric
            )
        case Sum(first, second) | Product(first, second):
            join = np.add if isinstance(kernel, Sum) else np.multiply
            one, two = _combine(first, leaves), _combine(second, leaves)
            rows = None if one.rows is None or two.rows is None else join(one.rows, two.rows)
            cols = None if one.cols is None or two.cols is None else join(one.cols, two.cols)
            return Entries(join(one.values, two.values), rows, cols, one.symmetric)
        case Normalized(inner):
            found = _combine(inner, leaves)
            assert found.rows is not None
            assert found.cols is not None
            if found.symmetric:
                K, own = normalize(found.values), (found.rows > 0).astype(np.float64)
                return Entries(K, own, own, symmetric=True)
            K = normalize(found.values, found.rows, found.cols)
            return Entries(K, (found.rows > 0).astype(np.float64), (found.cols > 0).astype(np.float64))
        case _:
            return leaves[kernel]


def combine_diagonals(kernel: Kernel, leaves: dict[Kernel, Array]) -> Array:
    """Return the kernel of graphs with themselves (n,) from that of its leaves."""
    match kernel:
        case Scaled(factor, inner):
            return factor * combine_diagonals(inner, leaves)
        case Sum(first, second):
            return combine_diagonals(first, leaves) + combine_diagonals(second, leaves)
        case Product(first, second):
            return combine_diagonals(first, leaves) * combine_diagonals(second, leaves)
        case Normalized(inner):
            return (combine_diagonals(inner, leaves) > 0).astype(np.float64)
        case _:
            return leaves[kernel]


def combine_nodes(
    kernel: Kernel, contributions: dict[Kernel, Array], row: dict[Kernel, Array], col: dict[Kernel, Array]
) -> Array:
    """Return the contribution of each node of one graph to its row, (N, m), from those to the rows of leaves.

    ``row`` and ``col`` are the leaves of the graph with itself (1,) and of the column graphs with themselves (m,). A
    sum adds contributions. In a product k1 · k2 the nodes are those of k1, and k2 weights the column graphs: the sum
    over nodes is k1(G, G_i) k2(G, G_i), the value of the product.
    """
    match kernel:
        case Scaled(factor, inner):
            return factor * combine_nodes(inner, contributions, row, col)
        case Sum(first, second):
            return combine_nodes(first, contributions, row, col) + combine_nodes(second, contributions, row, col)
        case Product(first, second):
            weights = combine_nodes(second, contributions, row, col).sum(axis=0)
            return np.asarray(combine_nodes(first, contributions, row, col) * weights)
        case Normalized(inner):
            values = combine_nodes(inner, contributions, row, col)
            own = combine_diagonals(inner, row)
            return normalize(values, np.repeat(own, len(values)), combine_diagonals(inner, col))
        case _:
            return contributions[kernel]


def needs_diagonals(kernel: Kernel) -> bool:
    """Return whether any part of a kernel is normalised."""
    match kernel:
        case Scaled(_, inner):
            return needs_diagonals(inner)
        case Sum(first, second) | Product(first, second):
            return needs_diagonals(first) or needs_diagonals(second)
        case _:
            return isinstance(kernel, Normalized)


def _times(factor: float, values: Array | None) -> Array | None:
    return None if values is None else factor * values


def normalize(kernel: ArrayLike, row_diagonal: ArrayLike | None = None, col_diagonal: ArrayLike | None = None) -> Array:
    """Divide each entry by the roots of the diagonals: K_ij / sqrt(K_ii K_jj).

    For a Gram matrix the diagonals are its own. For a cross matrix pass :func:`fastgntk.diagonal` of the row graphs
    and of the column graphs. The entries of a graph whose diagonal is 0 (no nodes, or zero features) are 0.

    Examples
    --------
    >>> normalize([[4.0, 2.0], [2.0, 9.0]]).round(3).tolist()
    [[1.0, 0.333], [0.333, 1.0]]
    """
    K = np.array(kernel, dtype=np.float64)
    if K.ndim != 2:
        raise InputError(f"kernel must be a matrix, but has shape {K.shape}.")
    if (row_diagonal is None) != (col_diagonal is None) or (row_diagonal is None and K.shape[0] != K.shape[1]):
        raise InputError(
            f"a cross matrix of shape {K.shape} needs the self-similarities of its rows and of its columns; pass "
            "row_diagonal and col_diagonal."
        )
    rows = np.diagonal(K).copy() if row_diagonal is None else np.atleast_1d(np.asarray(row_diagonal, dtype=np.float64))
    cols = np.diagonal(K).copy() if col_diagonal is None else np.atleast_1d(np.asarray(col_diagonal, dtype=np.float64))
    if (len(rows), len(cols)) != K.shape:
        raise InputError(f"the diagonals have lengths {len(rows)} and {len(cols)}, but kernel has shape {K.shape}.")
    if not all(np.isfinite(values).all() for values in (K, rows, cols)):
        raise InputError("kernel and self-similarities must be finite; this is not a kernel matrix.")
    if len(rows) and len(cols) and min(rows.min(), cols.min()) < 0:
        raise InputError("self-similarities must not be negative; this is not a kernel matrix.")
    K *= _inverse_root(rows)[:, None]  # one side at a time: the product of both factors could overflow
    K *= _inverse_root(cols)
    if row_diagonal is None:
        np.fill_diagonal(K, (rows > 0).astype(np.float64))  # 1 exactly, not up to rounding
    return K


def _inverse_root(values: Array) -> Array:
    return np.divide(1.0, np.sqrt(values), out=np.zeros(len(values)), where=values > 0)
