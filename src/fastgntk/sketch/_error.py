"""The error of one sketch: the variance of xᵀSᵀS y, and the smallest number of rows for a given relative error."""

from typing import Any

import numpy as np

from fastgntk._util.arrays import Ints
from fastgntk.sketch._matrices import SparseEmbedding, padded_size

__all__ = ["smallest_rows"]


def smallest_rows(kind: str, sizes: Any, crossed: Any, inner: Any, fourth: Any, error: float) -> Ints:
    """Return for each graph the smallest b ≤ N with E ‖Xᵀ(SᵀS − I) g‖² ≤ error² ‖Xᵀg‖², where N rows mean no error.

    For one column x, with random signs,

        E (xᵀ(SᵀS − I) g)² = (‖x‖² ‖g‖² + (xᵀg)² − 2 Σ_i x_i² g_i²)/b = V/b

    and the same for CountSketch and sparse embeddings whose ranges are equally long; the last term is missing for
    Gaussian entries. An SRHT draws b of the n rows of a Hadamard matrix without replacement: V (n − b)/(b (n − 1)).

    Parameters
    ----------
    kind : the kind of sketch
    sizes : N
    crossed, inner, fourth : ‖X‖_F² ‖g‖², ‖Xᵀg‖² and Σ_i ‖X_i‖² g_i², for every graph
    error : the relative error, above 0

    Examples
    --------
    >>> smallest_rows("ams", 1000, 9.0, 4.0, 2.0, 0.5), smallest_rows("srht", 16, 9.0, 4.0, 2.0, 0.5)
    (array(9), array(6))
    """
    sizes, inner = np.asarray(sizes, dtype=np.int64), np.asarray(inner, dtype=np.float64)
    variance = np.maximum(crossed + inner - (0.0 if kind == "gaussian" else 2.0 * np.asarray(fourth)), 0.0)
    with np.errstate(all="ignore"):  # without a finite answer the graph is not sketched
        allowed = error**2 * inner
        rows = variance / allowed
        if kind == "srht":
            padded = np.array([padded_size(n) for n in sizes.ravel().tolist()], dtype=np.float64).reshape(sizes.shape)
            rows = variance * padded / (allowed * (padded - 1.0) + variance)
        rows = np.ceil(rows * (1.0 - 1e-12))  # rounding must not turn 55 into 56
    if kind == "sparse":
        s = SparseEmbedding.NONZEROS
        rows = np.where(rows > s, s * np.ceil(rows / s), rows)  # ranges of equal length
    rows = np.where(rows < sizes, np.maximum(rows, 1), sizes)  # ‖Xᵀg‖ = 0 makes rows infinite or NaN
    return np.asarray(rows, dtype=np.int64)
