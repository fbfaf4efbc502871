"""The engine of kernels on Weisfeiler–Lehman colours: inner products of sparse vectors φ, exact.

With n_c the number of nodes of a graph that have colour c of level l:

    WL     φ has the column (l, c) with the value n_c                          φ · φ' = Σ n_c n'_c
    WLOA   φ has the columns (l, c, 0), …, (l, c, n_c − 1), each with a 1      φ · φ' = Σ min(n_c, n'_c)

Columns that few graphs have are multiplied as sparse matrices, the others as dense ones. All values are integers.
A node has the share 1 / n_c in the contribution of its colour.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._aggregation import SPARSE_OVER_DENSE, check_graphs
from fastgntk.engines._base import CancelFlag, Engine, Extent, GraphSizes
from fastgntk.engines._subtree_colours import Palette, colour_nodes
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import WLOA, WeisfeilerLehman

__all__ = ["FeatureGroup", "HistogramState", "Histograms"]

_COLOURS = 2**31  # upper bound for a level: colours are int32
_COPIES = 2**31  # upper bound for one colour over all levels: each copy is an entry in memory


class _Entries(NamedTuple):
    """The vectors φ of n graphs: their columns as keys, which are ordered by level, and their values."""

    ptr: Ints
    keys: Ints
    values: Array

    def select(self, indices: Ints) -> "_Entries":
        """Return the vectors of some graphs."""
        start, lengths = self.ptr[indices], np.diff(self.ptr)[indices]
        ptr = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.arange(ptr[-1]) + np.repeat(start - ptr[:-1], lengths)
        return _Entries(ptr, self.keys[entries], self.values[entries])


@dataclass(frozen=True)
class HistogramState:
    """All graphs of a batch: their colours, and their vectors."""

    kernel: WeisfeilerLehman
    palette: Palette
    colours: Int32s  # (h + 1, N)
    offsets: Ints
    entries: _Entries
    common: Ints  # keys of the dense columns, sorted


class FeatureGroup(NamedTuple):
    """The vectors of some graphs: a dense matrix, and a sparse one with its transpose."""

    n_levels: int
    common: Ints  # keys of the dense columns
    dense: Array  # (r, len(common))
    keys: Ints  # of the other columns, sorted
    matrix: sparse.csr_array  # (r, len(keys))
    transposed: sparse.csr_array  # (len(keys), r)
    readout: sparse.csr_array | None = None  # (t, r); rows of the tile are sums of these rows

    def level(self, level: int) -> "FeatureGroup":
        """Return the columns of one level."""
        bounds = np.array([level, level + 1]) * _level_stride(self.n_levels)
        dense, other = (slice(*np.searchsorted(keys, bounds).tolist()) for keys in (self.common, self.keys))
        return self._replace(
            common=self.common[dense],
            dense=self.dense[:, dense],
            keys=self.keys[other],
            matrix=self.matrix[:, other],
            transposed=self.transposed[other],
        )


class Histograms(Engine[WeisfeilerLehman, HistogramState, FeatureGroup]):
    """Count the colours of each graph, and multiply the counts."""

    name = "histograms"
    max_group_nodes = 2**62  # the number of graphs limits groups: nodes take no part in tiles

    def prepare(
        self, batch: GraphBatch, kernel: WeisfeilerLehman, cols: HistogramState | None = None
    ) -> HistogramState:
        """Colour all nodes and count the colours; those of ``cols`` are unchanged."""
        check_graphs(batch, kernel)
        known = None if cols is None else cols.palette
        colours, palette = colour_nodes(batch, kernel.iterations, uses_edge_labels=kernel.uses_edge_labels, known=known)
        entries = _to_entries(batch.offsets, colours, kernel)
        if cols is not None:
            return HistogramState(kernel, palette, colours, batch.offsets, entries, cols.common)
        keys, counts = np.unique(entries.keys, return_counts=True)
        common = keys[counts * SPARSE_OVER_DENSE > len(batch)]
        return HistogramState(kernel, palette, colours, batch.offsets, entries, common)

    def graph_sizes(self, state: HistogramState) -> GraphSizes:
        """Return the sizes of the graphs."""
        return GraphSizes(state.offsets, n_levels=state.kernel.depth + 1)

    def first_equal_graph(self, state: HistogramState) -> Ints:
        """Return for each graph the index of the first one with the same vector."""
        ptr, keys, values = state.entries
        first: dict[tuple[bytes, bytes], int] = {}
        bounds = enumerate(pairwise(ptr.tolist()))
        equal_to = [first.setdefault((keys[a:b].tobytes(), values[a:b].tobytes()), i) for i, (a, b) in bounds]
        return np.array(equal_to, dtype=np.int64)

    def diagonal(self, state: HistogramState) -> Array:
        """Return the squared norm of each vector."""
        ptr, _, values = state.entries
        graph = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        return np.bincount(graph, weights=values**2, minlength=len(ptr) - 1).astype(np.float64)

    def build_group(self, state: HistogramState, indices: Ints) -> FeatureGroup:
        """Arrange the vectors of some graphs as matrices."""
        return _to_group(state, state.entries.select(np.asarray(indices, dtype=np.int64)))

    def build_nodes(self, state: HistogramState, batch: GraphBatch) -> FeatureGroup:
        """Give each colour a vector of its own, and each node its share of the vectors of its colours."""
        n_levels, n_nodes = state.colours.shape
        _, keys, counts = _count(np.array([0, batch.n_nodes]), state.colours)
        vectors = _to_vectors(np.arange(len(keys) + 1), keys, counts, state.kernel)
        row = np.searchsorted(keys, _colour_keys(state.colours).T.ravel())
        shares = (1.0 / counts)[row], row, n_levels * np.arange(n_nodes + 1)
        return _to_group(state, vectors)._replace(readout=sparse.csr_array(shares, shape=(n_nodes, len(keys))))

    def tile_readouts(self, rows: FeatureGroup, cols: FeatureGroup, cancelled: CancelFlag | None = None) -> Array:  # noqa: ARG002
        """Multiply the vectors of two groups level by level."""
        return np.stack([_multiply(rows.level(level), cols.level(level)) for level in range(rows.n_levels)])

    def weighted_readouts(self, rows: FeatureGroup, cols: FeatureGroup) -> Array:
        """Multiply the vectors of two groups; all levels have the weight 1."""
        return _multiply(rows, cols)

    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Count the readouts, and for one level the products, and with nodes as rows those of their colours."""
        return 8 * (2 * rows.n_levels + 4) * rows.n_graphs * cols.n_graphs

    def kept_bytes(self, state: HistogramState) -> int:
        """Count the state, the dense columns, and the sparse ones twice."""
        entries = sum(array.nbytes for array in state.entries)
        dense = 8 * len(state.common) * (len(state.offsets) - 1)
        return int(state.palette.nbytes + state.colours.nbytes + 3 * entries + dense)


def _level_stride(n_levels: int) -> int:
    """Return the distance between the keys of two levels."""
    return _COLOURS * (_COPIES // n_levels)


def _colour_keys(colours: Int32s) -> Ints:
    """Return the keys of the first copies of colours (h + 1, N)."""
    n_levels = len(colours)
    level = np.arange(n_levels, dtype=np.int64)[:, None]
    return np.asarray(level * _level_stride(n_levels) + colours.astype(np.int64) * (_COPIES // n_levels))


def _count(offsets: Ints, colours: Int32s) -> _Entries:
    """Return the number of nodes of each colour, for each graph."""
    n_levels = len(colours)
    sizes = colours.max(axis=1, initial=-1).astype(np.int64) + 1
    starts = np.cumsum(sizes) - sizes
    columns = (colours + starts[:, None]).T.ravel()
    shape = len(offsets) - 1, int(sizes.sum())
    counts = sparse.csr_array((np.ones(len(columns)), columns, n_levels * offsets), shape=shape)
    counts.sum_duplicates()
    level = np.repeat(np.arange(n_levels), sizes)
    keys = level * _level_stride(n_levels) + (np.arange(shape[1]) - starts[level]) * (_COPIES // n_levels)
    return _Entries(counts.indptr.astype(np.int64), keys[counts.indices], counts.data)


def _to_entries(offsets: Ints, colours: Int32s, kernel: WeisfeilerLehman) -> _Entries:
    """Return the vectors of graphs."""
    return _to_vectors(*_count(offsets, colours), kernel)


def _to_vectors(ptr: Ints, keys: Ints, counts: Array, kernel: WeisfeilerLehman) -> _Entries:
    """Return the vectors whose counts of colours are given."""
    if not isinstance(kernel, WLOA):
        return _Entries(ptr, keys, counts)
    copies = counts.astype(np.int64)
    ends = np.cumsum(copies)
    copy = np.arange(copies.sum()) - np.repeat(ends - copies, copies)
    return _Entries(np.concatenate([[0], ends])[ptr], np.repeat(keys, copies) + copy, np.ones(len(copy)))


def _to_group(state: HistogramState, vectors: _Entries) -> FeatureGroup:
    """Return vectors as matrices."""
    common, n_rows = state.common, len(vectors.ptr) - 1
    position, is_common = _find(common, vectors.keys)
    row = np.repeat(np.arange(n_rows), np.diff(vectors.ptr))
    dense = np.zeros((n_rows, len(common)))
    dense[row[is_common], position[is_common]] = vectors.values[is_common]
    rare = ~is_common
    keys, column = np.unique(vectors.keys[rare], return_inverse=True)
    ptr = np.concatenate([[0], np.cumsum(rare)])[vectors.ptr]
    matrix = sparse.csr_array((vectors.values[rare], column, ptr), shape=(n_rows, len(keys)))
    return FeatureGroup(len(state.colours), common, dense, keys, matrix, sparse.csr_array(matrix.T))


def _multiply(rows: FeatureGroup, cols: FeatureGroup) -> Array:
    """Return the inner products of the vectors of two groups."""
    position, known = _find(cols.keys, rows.keys)  # keys that the columns lack match nothing
    ptr, column, values = rows.matrix.indptr, rows.matrix.indices, rows.matrix.data
    kept = known[column]
    entries = values[kept], position[column[kept]], np.concatenate([[0], np.cumsum(kept)])[ptr]
    shared = sparse.csr_array(entries, shape=(rows.matrix.shape[0], len(cols.keys)))
    products = rows.dense @ cols.dense.T
    products += (shared @ cols.transposed).toarray()
    return products if rows.readout is None else np.asarray(rows.readout @ products)


def _find(keys: Ints, wanted: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the position of each key among sorted keys, and whether it occurs there."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
    position = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return position, keys[position] == wanted
