"""Cosine normalisation of kernel matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastgntk.errors import InputError

__all__ = ["normalize"]


def normalize(
    kernel: ArrayLike, row_diagonal: ArrayLike | None = None, col_diagonal: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Divide each entry by the self-similarities: K_ij / sqrt(K_ii K_jj).

    For a Gram matrix the diagonals are its own. For a cross matrix pass :func:`fastgntk.diagonal` of the row graphs
    and of the column graphs, all with the same fitted ``features=`` (docs/data.md). A graph of self-similarity 0 (no
    nodes, or zero features) is similar to nothing: its entries are 0.

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


def _inverse_root(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(1.0, np.sqrt(values), out=np.zeros(len(values)), where=values > 0)
