"""One canonical form for adjacency, whatever it came from.

Canonical means: compressed sparse rows, row u lists the neighbours that u sums over, columns sorted, no self
loops (the kernel adds them as Â = A + I), no edge twice, no edge of weight zero, and ``weights`` is None
exactly if every weight is 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk.errors import InputError

__all__ = ["ROUNDING", "Adjacency", "Entries", "entries", "from_edges", "from_matrix"]

ROUNDING = 1e-12  # relative; what computed matrices that should be symmetric are off by, and more


@dataclass(frozen=True)
class Adjacency:
    """The canonical compressed rows of one graph or of several graphs side by side."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float64] | None
    edge_labels: NDArray[Any] | None
    """int64 or strings."""
    loops: NDArray[np.int32]
    """The node of each self loop that was dropped."""


class Entries(NamedTuple):
    """The entries of an adjacency matrix of N nodes, each place once; those that are zero may be among them."""

    n_nodes: int
    rows: NDArray[np.integer]
    cols: NDArray[np.integer]
    weights: NDArray[np.float64]


def from_matrix(matrix: Any, *, directed: bool) -> tuple[int, Adjacency]:
    """Read a square dense or SciPy sparse adjacency matrix; entries are edge weights."""
    found = entries(matrix)
    return found.n_nodes, from_edges(found.rows, found.cols, found.n_nodes, weights=found.weights, directed=directed)


def entries(matrix: Any) -> Entries:
    """Look through a square dense or SciPy sparse matrix of real numbers.

    Entries of a sparse matrix that stand in the same place are summed, as everywhere in SciPy.
    """
    if sparse.issparse(matrix):
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"adjacency must be square, but has shape {matrix.shape}.")
        _check_real(matrix.dtype)
        n_nodes = int(matrix.shape[0])
        # Most are such, and SciPy's own conversion takes ten times as long.
        if matrix.format == "csr" and matrix.has_canonical_format:
            of_entry = np.repeat(np.arange(n_nodes), np.diff(matrix.indptr))
            _check_range(of_entry, matrix.indices, n_nodes)  # which SciPy does not do
            return Entries(n_nodes, of_entry, matrix.indices, matrix.data.astype(np.float64))
        try:
            coo = sparse.coo_array(matrix, copy=True)
        except ValueError as error:
            raise InputError(f"adjacency cannot be read ({error}).") from None
        coo.sum_duplicates()
        return Entries(n_nodes, coo.coords[0], coo.coords[1], np.asarray(coo.data, dtype=np.float64))
    try:
        dense = np.asarray(matrix)
    except ValueError:
        raise InputError("adjacency must be a square matrix, but its rows have different lengths.") from None
    if dense.size == 0 and dense.ndim <= 2:
        if dense.ndim == 2 and dense.shape[0] != dense.shape[1]:
            raise InputError(f"adjacency must be square, but has shape {dense.shape}.")
        dense = dense.reshape(0, 0)
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
        raise InputError(
            f"adjacency must be square, but has shape {dense.shape}; for a list of edges use "
            "Graph.from_edges(edges, n_nodes)."
        )
    _check_real(dense.dtype)
    rows, cols = np.nonzero(dense)
    return Entries(dense.shape[0], rows, cols, dense[rows, cols].astype(np.float64))


def _check_real(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biuf":
        raise InputError(f"adjacency must be numeric and real, but has dtype {dtype}.")


def from_edges(
    rows: NDArray[np.integer],
    cols: NDArray[np.integer],
    n_nodes: int,
    *,
    weights: NDArray[np.float64] | None = None,
    edge_labels: NDArray[Any] | None = None,
    directed: bool | NDArray[np.bool_],
    parallel: bool | NDArray[np.bool_] = False,
    one_label: bool = False,
    called: Callable[[int, int], str] | None = None,
) -> Adjacency:
    """Bring edges (rows[i], cols[i]) into canonical form.

    An undirected edge may be given once or in both directions, and an edge given more than once counts once. If
    its copies differ in weight, that is an error, because no choice among them would be right; differences of
    rounding are averaged. Labels belong to a direction: the one given for (u, v) stays, the one of (v, u) serves
    where none is given.

    With ``parallel``, edges between the same two nodes are as many edges, each given once: their weights add up, and
    their labels must agree. With ``one_label`` those of the two directions of an undirected edge must agree too.
    ``directed`` and ``parallel`` may be an entry for each edge. ``called`` names an edge in messages.
    """
    called = called or _pair
    _check_range(rows, cols, n_nodes)
    rows, cols = rows.astype(np.int32, copy=False), cols.astype(np.int32, copy=False)  # half the memory to go through
    keep = rows != cols
    loop = ~keep
    if weights is not None:
        _check_finite(rows, cols, weights, called)
        there = weights != 0
        keep &= there
        loop &= there
    loops = np.unique(rows[loop]).astype(np.int32)
    if not keep.all():
        rows, cols = rows[keep], cols[keep]
        weights, edge_labels = (None if v is None else v[keep] for v in (weights, edge_labels))
        directed = directed if isinstance(directed, bool) else directed[keep]
        parallel = parallel if isinstance(parallel, bool) else parallel[keep]
    given = len(rows)
    one_way, many = np.broadcast_to(directed, given), np.broadcast_to(parallel, given)
    if weights is not None and not many.any() and np.all(weights == 1.0):
        weights = None
    if many.any():  # one direction for all copies, so that both directions add them up in the same order
        rows, cols = np.where(one_way, rows, np.minimum(rows, cols)), np.where(one_way, cols, np.maximum(rows, cols))
    if not one_way.all():
        back = slice(None) if not one_way.any() else np.flatnonzero(~one_way)
        rows, cols = np.concatenate([rows, cols[back]]), np.concatenate([cols, rows[back]])
        weights, edge_labels = (None if v is None else np.concatenate([v, v[back]]) for v in (weights, edge_labels))
        many = np.concatenate([many, many[back]])

    if weights is None and edge_labels is None:
        # The pattern alone needs no sort of pairs: SciPy's conversion is linear, which is what lets the
        # 24 million lines of COLLAB be read in seconds.
        pattern = sparse.csr_array(
            (np.ones(len(rows), dtype=np.int8), (rows.astype(np.int32), cols.astype(np.int32))),
            shape=(n_nodes, n_nodes),
        )
        pattern.sum_duplicates()
        return Adjacency(pattern.indptr.astype(np.int64), pattern.indices.astype(np.int32), None, None, loops)

    order = _by_row_and_column(rows, cols, n_nodes)
    rows, cols = rows[order], cols[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (cols[1:] != cols[:-1])
    if edge_labels is not None:
        own = np.ones(len(rows), dtype=bool) if one_label else order < given
        edge_labels = _merge_labels(rows, cols, edge_labels[order], first, own, called)
    if weights is not None:
        weights = _merge_weights(rows, cols, weights[order], first, many[order], bool(one_way.all()), called)
    if not first.all():
        rows, cols = rows[first], cols[first]
    if weights is not None and many.any():
        keep = weights != 0  # those that cancel out
        rows, cols, weights = rows[keep], cols[keep], weights[keep]
        edge_labels = None if edge_labels is None else edge_labels[keep]
        weights = None if np.all(weights == 1.0) else weights
    indptr = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_nodes), out=indptr[1:])
    return Adjacency(indptr, cols.astype(np.int32), weights, edge_labels, loops)


def _by_row_and_column(rows: NDArray[np.integer], cols: NDArray[np.integer], n_nodes: int) -> NDArray[np.integer]:
    """Return what np.lexsort((cols, rows)) does, in linear time.

    Stable: what was given stands before its mirror image.
    """
    by_column = _counted(cols, n_nodes)
    order: NDArray[np.integer] = by_column[_counted(rows[by_column], n_nodes)]
    return order


def _counted(keys: NDArray[np.integer], n_keys: int) -> NDArray[np.integer]:
    """Return a stable order by keys 0..n_keys − 1, as SciPy finds it when it transposes rows of one entry each."""
    one_each = np.arange(len(keys) + 1, dtype=sparse.get_index_dtype(maxval=len(keys)))
    table = sparse.csr_array((np.zeros(len(keys), dtype=np.int8), keys, one_each), shape=(len(keys), n_keys))
    return np.asarray(table.tocsc().indices)


def _pair(u: int, v: int) -> str:
    return f"edge ({u}, {v})"


def _check_range(rows: NDArray[np.integer], cols: NDArray[np.integer], n_nodes: int) -> None:
    if len(rows) and (min(rows.min(), cols.min()) < 0 or max(rows.max(), cols.max()) >= n_nodes):
        which = int(np.flatnonzero((rows < 0) | (cols < 0) | (rows >= n_nodes) | (cols >= n_nodes))[0])
        raise InputError(
            f"edge {which} is ({rows[which]}, {cols[which]}), but node numbers must lie in 0..{n_nodes - 1}."
        )


def _check_finite(
    rows: NDArray[np.integer],
    cols: NDArray[np.integer],
    weights: NDArray[np.float64],
    called: Callable[[int, int], str],
) -> None:
    bad = np.flatnonzero(~np.isfinite(weights))
    if len(bad):
        which = int(bad[0])
        raise InputError(
            f"the weight of {called(rows[which], cols[which])} is {weights[which]}; weights must be finite."
        )


def _merge_weights(
    rows: NDArray[np.integer],
    cols: NDArray[np.integer],
    weights: NDArray[np.float64],
    first: NDArray[np.bool_],
    many: NDArray[np.bool_],
    directed: bool,
    called: Callable[[int, int], str],
) -> NDArray[np.float64]:
    """Return one weight for each run of equal pairs, the same for both directions; the sum where they are many."""
    if first.all():
        return weights
    starts = np.flatnonzero(first)
    if len(weights) == 2 * len(starts) and first[::2].all():  # each twice, as in symmetric matrices: six times as quick
        low, high = np.minimum(weights[::2], weights[1::2]), np.maximum(weights[::2], weights[1::2])
    else:
        low, high = np.minimum.reduceat(weights, starts), np.maximum.reduceat(weights, starts)
    add_up = many[starts]
    differs = np.flatnonzero(~add_up & (high - low > ROUNDING * np.maximum(np.abs(low), np.abs(high))))
    if len(differs):
        which = int(differs[0])
        hint = "give it once" if directed else "give it once, or pass directed=True if the directions differ"
        raise InputError(
            f"{called(rows[starts[which]], cols[starts[which]])} is given with different weights {low[which]} and "
            f"{high[which]}; {hint}."
        )
    one = np.where(low == high, low, low / 2 + high / 2)
    return np.where(add_up, np.add.reduceat(weights, starts), one) if add_up.any() else one


def _merge_labels(
    rows: NDArray[np.integer],
    cols: NDArray[np.integer],
    labels: NDArray[Any],
    first: NDArray[np.bool_],
    given: NDArray[np.bool_],
    called: Callable[[int, int], str],
) -> NDArray[Any]:
    """Return the first label of each run of equal pairs; labels given for the same pair must agree."""
    if first.all():
        return labels
    unique = labels[first]
    differs = np.flatnonzero(given & (labels != unique[np.cumsum(first) - 1]))
    if len(differs):
        which = int(differs[0])
        raise InputError(
            f"{called(rows[which], cols[which])} is given twice with different labels; give each edge once."
        )
    return unique
