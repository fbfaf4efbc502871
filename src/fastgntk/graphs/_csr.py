"""Canonical form of an adjacency.

Compressed sparse rows in which row u lists the neighbours that u sums over: columns are sorted, and there are no self
loops (the kernel adds them as Â = A + I), no duplicate edges and no edges of weight zero. ``weights`` is None exactly
if every weight is 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Array, Bools, Int32s, Ints
from fastgntk.errors import InputError

__all__ = ["ROUNDING", "Adjacency", "check_symmetric", "entries", "from_edges", "reverse_edges", "row_offsets"]

EdgeName = Callable[[int, int], str]
"""The name of an edge in error messages."""

ROUNDING = 1e-12  # relative; above the asymmetry that rounding leaves in computed matrices


@dataclass(frozen=True)
class Adjacency:
    """The canonical compressed rows of one graph, or of several graphs side by side."""

    indptr: Ints
    indices: Int32s
    weights: Array | None
    edge_labels: NDArray[Any] | None
    """int64 or strings."""
    loops: Int32s
    """The node of each self loop that was dropped."""


def row_offsets(lengths: Any) -> Ints:
    """Return where rows of these lengths start, and where the last one ends: int64, (n + 1,)."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def first_true(mask: Bools) -> int | None:
    """Return the index of the first True entry, None if there is none."""
    return int(mask.argmax()) if mask.any() else None


def entries(matrix: Any) -> tuple[int, Ints, Ints, Array]:
    """Return the size, rows, columns and values of a square dense or SciPy sparse matrix of real numbers.

    Duplicate entries of a sparse matrix are summed, as everywhere in SciPy; explicit zeros may remain.
    """
    if not sparse.issparse(matrix):
        try:
            matrix = np.asarray(matrix)
        except ValueError:
            raise InputError("adjacency must be a square matrix, but its rows have different lengths.") from None
        if matrix.shape == (0,):
            matrix = matrix.reshape(0, 0)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"adjacency must be square, but has shape {matrix.shape}; for a list of edges use "
            "Graph.from_edges(edges, n_nodes)."
        )
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"adjacency must be numeric and real, but has dtype {matrix.dtype}.")
    n_nodes = int(matrix.shape[0])
    if not sparse.issparse(matrix):
        rows, cols = np.nonzero(matrix)
        return n_nodes, rows, cols, matrix[rows, cols].astype(np.float64)
    # The common case; SciPy's own conversion takes ten times as long.
    if matrix.format == "csr" and matrix.has_canonical_format:
        rows = np.repeat(np.arange(n_nodes), np.diff(matrix.indptr))
        _check_range(rows, matrix.indices, n_nodes)  # SciPy does not check it
        return n_nodes, rows, matrix.indices, matrix.data.astype(np.float64)
    try:
        coo = sparse.coo_array(matrix, copy=True)
    except ValueError as error:
        raise InputError(f"adjacency cannot be read ({error}).") from None
    coo.sum_duplicates()
    return n_nodes, coo.coords[0], coo.coords[1], np.asarray(coo.data, dtype=np.float64)


def from_edges(
    rows: NDArray[np.integer],
    cols: NDArray[np.integer],
    n_nodes: int,
    *,
    weights: Array | None = None,
    edge_labels: NDArray[Any] | None = None,
    directed: bool | Bools,
    parallel: bool | Bools = False,
    one_label: bool = False,
    edge_name: EdgeName = "edge ({}, {})".format,
) -> Adjacency:
    """Bring edges (rows[i], cols[i]) into canonical form.

    An undirected edge may be given once or in both directions, and duplicates count once. Copies that differ in weight
    raise an error, because no choice among them would be right; differences within rounding are averaged. Labels
    belong to a direction: the label given for (u, v) is kept, and that of (v, u) is used where none is given.

    With ``parallel``, several edges between two nodes are parallel edges: their weights are summed, and their labels
    must agree. With ``one_label`` the labels of the two directions of an undirected edge must agree too.
    ``directed`` and ``parallel`` may have an entry for each edge. ``edge_name`` names an edge in error messages.
    """

    def name(i: int) -> str:
        return edge_name(rows[i], cols[i])

    _check_range(rows, cols, n_nodes)
    rows, cols = rows.astype(np.int32, copy=False), cols.astype(np.int32, copy=False)  # half the memory traffic
    one_way, multiple = np.broadcast_to(directed, len(rows)), np.broadcast_to(parallel, len(rows))
    keep = rows != cols
    loop = ~keep
    if weights is not None:
        if (bad := first_true(~np.isfinite(weights))) is not None:
            raise InputError(f"the weight of {name(bad)} is {weights[bad]}; weights must be finite.")
        keep &= weights != 0
        loop &= weights != 0
    loops = np.unique(rows[loop]).astype(np.int32)
    if not keep.all():
        rows, cols, one_way, multiple = rows[keep], cols[keep], one_way[keep], multiple[keep]
        weights, edge_labels = (None if v is None else v[keep] for v in (weights, edge_labels))
    n_edges = len(rows)
    if weights is not None and not multiple.any() and np.all(weights == 1.0):
        weights = None
    if multiple.any():  # one direction for all copies, so that both directions are summed in the same order
        low, high = np.minimum(rows, cols), np.maximum(rows, cols)
        rows, cols = np.where(one_way, rows, low), np.where(one_way, cols, high)
    if not one_way.all():
        back = slice(None) if not one_way.any() else np.flatnonzero(~one_way)
        rows, cols = np.concatenate([rows, cols[back]]), np.concatenate([cols, rows[back]])
        weights, edge_labels = (None if v is None else np.concatenate([v, v[back]]) for v in (weights, edge_labels))
        multiple = np.concatenate([multiple, multiple[back]])

    if weights is None and edge_labels is None:
        # The pattern alone needs no sort of pairs: SciPy's conversion is linear, so that the 24 million lines of COLLAB
        # are read in seconds.
        pattern = sparse.csr_array((np.ones(len(rows), dtype=np.int8), (rows, cols)), shape=(n_nodes, n_nodes))
        pattern.sum_duplicates()
        return Adjacency(pattern.indptr.astype(np.int64), pattern.indices.astype(np.int32), None, None, loops)

    # np.lexsort((cols, rows)) in linear time. The sort is stable: an edge as given comes before its mirror image.
    by_column = _counting_sort(cols, n_nodes)
    order = by_column[_counting_sort(rows[by_column], n_nodes)]
    rows, cols = rows[order], cols[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (cols[1:] != cols[:-1])
    if edge_labels is not None:
        must_agree = np.ones(len(rows), dtype=bool) if one_label else order < n_edges
        edge_labels = _merge_labels(edge_labels[order], first, must_agree, name)
    if weights is not None:
        weights = _merge_weights(weights[order], first, multiple[order], bool(one_way.all()), name)
    rows, cols = rows[first], cols[first]
    if weights is not None and multiple.any():
        keep = weights != 0  # parallel edges may cancel out
        rows, cols, weights = rows[keep], cols[keep], weights[keep]
        edge_labels = None if edge_labels is None else edge_labels[keep]
        weights = None if np.all(weights == 1.0) else weights
    indptr = row_offsets(np.bincount(rows, minlength=n_nodes))
    return Adjacency(indptr, cols.astype(np.int32), weights, edge_labels, loops)


def _counting_sort(keys: NDArray[np.integer], n_keys: int) -> Ints:
    """Return a stable order of keys 0..n_keys − 1, as given by SciPy's transposition of rows of one entry each."""
    one_each = np.arange(len(keys) + 1, dtype=sparse.get_index_dtype(maxval=len(keys)))
    table = sparse.csr_array((np.zeros(len(keys), dtype=np.int8), keys, one_each), shape=(len(keys), n_keys))
    return np.asarray(table.tocsc().indices)


def _check_range(rows: NDArray[np.integer], cols: NDArray[np.integer], n_nodes: int) -> None:
    if len(rows) and (min(rows.min(), cols.min()) < 0 or max(rows.max(), cols.max()) >= n_nodes):
        i = first_true((rows < 0) | (cols < 0) | (rows >= n_nodes) | (cols >= n_nodes))
        raise InputError(f"edge {i} is ({rows[i]}, {cols[i]}), but node indices must lie in 0..{n_nodes - 1}.")


def _merge_weights(weights: Array, first: Bools, parallel: Bools, directed: bool, name: Callable[[int], str]) -> Array:
    """Return one weight for each run of equal pairs, the same for both directions; the sum of parallel edges."""
    if first.all():
        return weights
    starts = np.flatnonzero(first)
    if len(weights) == 2 * len(starts) and first[::2].all():  # pairs, as in symmetric matrices: six times as fast
        low, high = np.minimum(weights[::2], weights[1::2]), np.maximum(weights[::2], weights[1::2])
    else:
        low, high = np.minimum.reduceat(weights, starts), np.maximum.reduceat(weights, starts)
    add_up = parallel[starts]
    differs = first_true(~add_up & (high - low > ROUNDING * np.maximum(np.abs(low), np.abs(high))))
    if differs is not None:
        hint = "give it once" if directed else "give it once, or pass directed=True if the directions differ"
        edge = name(starts[differs])
        raise InputError(f"{edge} is given with different weights {low[differs]} and {high[differs]}; {hint}.")
    merged = np.where(low == high, low, low / 2 + high / 2)
    return np.where(add_up, np.add.reduceat(weights, starts), merged) if add_up.any() else merged


def _merge_labels(labels: NDArray[Any], first: Bools, must_agree: Bools, name: Callable[[int], str]) -> NDArray[Any]:
    """Return the first label of each run of equal pairs, after checking that those that must agree do."""
    if first.all():
        return labels
    merged = labels[first]
    differs = first_true(must_agree & (labels != merged[np.cumsum(first) - 1]))
    if differs is not None:
        raise InputError(f"{name(differs)} is given twice with different labels; give each edge once.")
    return merged


def reverse_edges(indptr: Ints, indices: NDArray[np.integer]) -> tuple[Ints, Ints, Bools]:
    """Return the row of each entry (u, v), the position of (v, u), and whether that exists; all of shape (m,)."""
    n = len(indptr) - 1
    rows, cols = np.repeat(np.arange(n), np.diff(indptr)), indices.astype(np.int64)
    keys, back = rows * n + cols, cols * n + rows  # `keys` is sorted
    position = np.minimum(np.searchsorted(keys, back), max(len(keys) - 1, 0))
    return rows, position, keys[position] == back


def check_symmetric(indptr: Ints, indices: NDArray[np.integer], weights: Array | None, edge_name: EdgeName) -> None:
    """Raise if an edge is missing in the other direction, or has a different weight there."""
    rows, position, has_reverse = reverse_edges(indptr, indices)
    if (single := first_true(~has_reverse)) is not None:
        raise InputError(
            f"{edge_name(rows[single], indices[single])} has no edge back, so the graph cannot be converted with "
            "directed=False; leave that out, or add the other direction first."
        )
    if weights is None:
        return
    back = weights[position]
    differs = first_true(np.abs(weights - back) > ROUNDING * np.maximum(np.abs(weights), np.abs(back)))
    if differs is not None:
        raise InputError(
            f"{edge_name(rows[differs], indices[differs])} has the weight {weights[differs]}, but {back[differs]} "
            "back, so the graph cannot be converted with directed=False; leave that out."
        )
