"""Many adjacency matrices of one size, as connectomes come: an array of shape (n, N, N)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._csr import ROUNDING
from fastgntk.graphs._graph import check_features

__all__ = ["from_stack"]


def from_stack(stack: NDArray[Any], features: Any, directed: bool | None) -> GraphBatch:
    """Convert; entries are weights, and an undirected edge may stand in one triangle or in both.

    ``features``, where there are any, have shape (n, N, d).
    """
    if stack.ndim != 3 or stack.shape[1] != stack.shape[2]:
        raise InputError(f"a stack of adjacency matrices must have shape (n, N, N), but has shape {stack.shape}.")
    if stack.dtype.kind not in "biuf":
        raise InputError(f"adjacency must be numeric and real, but has dtype {stack.dtype}.")
    n, size = stack.shape[:2]
    weights = stack.astype(np.float64)  # a copy
    bad = np.argwhere(~np.isfinite(weights))
    if len(bad):
        graph, u, v = bad[0].tolist()
        raise InputError(f"graph {graph}, edge ({u}, {v}) has the weight {weights[graph, u, v]}; it must be finite.")
    diagonal = np.arange(size)
    loops = np.count_nonzero(weights[:, diagonal, diagonal], axis=1)
    weights[:, diagonal, diagonal] = 0.0
    if not directed:
        weights = _two_way(weights)
    graph_of_edge, rows, cols = np.nonzero(weights)  # in the order of compressed rows
    values = weights[graph_of_edge, rows, cols]
    degrees = np.bincount(graph_of_edge * size + rows, minlength=n * size)
    return GraphBatch(
        offsets=np.arange(n + 1, dtype=np.int64) * size,
        indptr=np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64),
        indices=cols.astype(np.int32),
        weights=None if np.all(values == 1.0) else values,
        features=None if features is None else _features(features, n, size),
        labels=None,
        edge_labels=None,
        self_loops=loops.astype(np.int64),
    )


def _two_way(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights for both directions, where one may stand for both but two must agree."""
    back = weights.transpose(0, 2, 1)
    if np.array_equal(weights, back):
        return weights
    differs = (weights != 0) & (back != 0)
    differs &= np.abs(weights - back) > ROUNDING * np.maximum(np.abs(weights), np.abs(back))
    wrong = np.argwhere(differs)
    if len(wrong):
        graph, u, v = wrong[0].tolist()
        raise InputError(
            f"graph {graph}, edge ({u}, {v}) is given with different weights {weights[graph, u, v]} and "
            f"{back[graph, u, v]}; pass directed=True if the directions differ."
        )
    return np.where(weights == 0, back, np.where(back == 0, weights, weights / 2 + back / 2))


def _features(features: Any, n: int, size: int) -> NDArray[np.float64]:
    array = np.asarray(features)
    if array.ndim != 3 or array.shape[:2] != (n, size):
        raise InputError(
            f"features of a stack of {n} matrices of {size} nodes must have shape ({n}, {size}, width), but has shape "
            f"{array.shape}."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        graph, node, column = np.argwhere(~np.isfinite(array))[0].tolist()
        raise InputError(
            f"graph {graph}, node {node} has the feature value {array[graph, node, column]} in column {column}; "
            "features must be finite: fill in or drop missing values first."
        )
    checked: NDArray[np.float64] = check_features(array.reshape(n * size, array.shape[2]), n * size)
    return checked
