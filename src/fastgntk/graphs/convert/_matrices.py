"""Adjacency matrices: lists of them, dense or SciPy sparse, with or without features, and arrays of shape (n, N, N)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.graphs._batch import GraphBatch, concatenate_parts
from fastgntk.graphs._csr import ROUNDING, entries, row_offsets
from fastgntk.graphs._graph import check_features
from fastgntk.graphs.convert._assemble import MessageNames, ParsedGraphs, assemble
from fastgntk.graphs.convert._attributes import AttributeNames
from fastgntk.graphs.convert._tables import Columns

__all__ = ["from_matrices", "from_stack"]


def from_matrices(items: Sequence[Any], directed: bool, first: int = 0) -> GraphBatch:
    """Convert matrices and pairs (adjacency, features) at once, in a tenth of the time of one :class:`Graph` each.

    ``first`` is the index of the first graph in error messages.
    """
    matrices, features = [], []
    for i, item in enumerate(items, start=first):
        adjacency, X = item if isinstance(item, tuple) else (item, None)
        try:
            matrices.append(entries(adjacency))
            features.append(None if X is None else check_features(X, matrices[-1][0]))
        except InputError as error:
            raise InputError(f"graph {i}: {error}") from None
    sizes, rows, cols, weights = zip(*matrices, strict=True)
    counts, tails, heads = list(map(len, rows)), np.concatenate(rows), np.concatenate(cols)
    edges, names = Columns({"weight": np.concatenate(weights)}), range(first, first + len(items))
    graphs = ParsedGraphs(
        sizes, counts, tails, heads, Columns({}), edges, directed=directed, parallel=False, graph_names=names
    )
    batch = assemble(graphs, AttributeNames(edge_weights=("weight",)), None)
    return replace(batch, features=concatenate_parts(features, sizes, "features"))


def from_stack(stack: NDArray[Any], features: Any, directed: bool | None) -> GraphBatch:
    """Convert an array of shape (n, N, N), such as connectomes, with optional features of shape (n, N, d).

    Entries are weights; an undirected edge may be given in one triangle or in both.
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
        weights = _symmetrized(weights)
    graph_of_edge, rows, cols = np.nonzero(weights)  # in the order of compressed rows
    values = weights[graph_of_edge, rows, cols]
    return GraphBatch(
        offsets=np.arange(n + 1, dtype=np.int64) * size,
        indptr=row_offsets(np.bincount(graph_of_edge * size + rows, minlength=n * size)),
        indices=cols.astype(np.int32),
        weights=None if np.all(values == 1.0) else values,
        features=None if features is None else _stacked_features(features, n, size),
        self_loops=loops.astype(np.int64),
    )


def _symmetrized(weights: Array) -> Array:
    """Return the weights of both directions; a single one counts for both, and two must agree."""
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


def _stacked_features(features: Any, n: int, size: int) -> Array:
    array = np.asarray(features)
    if array.ndim != 3 or array.shape[:2] != (n, size):
        raise InputError(
            f"features of a stack of {n} matrices of {size} nodes must have shape ({n}, {size}, width), but has shape "
            f"{array.shape}."
        )
    names = MessageNames(np.arange(n + 1) * size)
    checked: Array = check_features(array.reshape(n * size, array.shape[2]), n * size, names.node)
    return checked
