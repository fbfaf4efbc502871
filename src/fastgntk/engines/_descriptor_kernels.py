"""Kernels on descriptors: one vector for each graph, and a matrix product for each tile.

The columns arrive scaled: divided by the length of an RBF kernel, and by the square root of their number for a linear
one, so that only ⟨z, z'⟩ and exp(−‖z − z'‖²/2) are left to compute.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Ints, Matrix
from fastgntk.engines._base import CancelFlag, Engine, Extent, GraphSizes
from fastgntk.errors import InputError
from fastgntk.graphs import DescriptorScaling, GraphBatch
from fastgntk.kernels import RBF, DescriptorKernel, Linear, Tanimoto

__all__ = ["Vectors", "equal_descriptors", "fit_scaling", "scale_descriptors"]

_MEDIAN_GRAPHS = 1000
_MAX_UNARY = 255  # largest count that is written as a row of ones


def fit_scaling(kernel: DescriptorKernel, batch: GraphBatch) -> DescriptorScaling:
    """Fit the scale of each column, and the length, that a kernel needs to training graphs."""
    match kernel:
        case RBF(on, length, kind):
            scaling = DescriptorScaling.fit(batch, on, kind, centre=True)  # less cancellation; distances do not change
            return scaling.divided_by(_median_length(kernel, scaling, batch) if length == "median" else length)
        case Linear(on, kind):
            scaling = DescriptorScaling.fit(batch, on, kind)
            return scaling.divided_by(float(np.sqrt(max(scaling.n_columns, 1))))
    return DescriptorScaling.identity(batch, kernel.on)


def _median_length(kernel: RBF, scaling: DescriptorScaling, batch: GraphBatch) -> float:
    """Return ℓ with 2 ℓ² the median of ‖z − z'‖² over pairs of different vectors, of at most 1,000 graphs."""
    from scipy.spatial.distance import pdist  # takes a tenth of a second to load

    n = len(batch)
    if n == 0:
        return 1.0
    chosen = batch if n <= _MEDIAN_GRAPHS else batch[np.linspace(0, n - 1, _MEDIAN_GRAPHS).round().astype(np.int64)]
    squares = pdist(_to_dense(scaling.transform(chosen)), "sqeuclidean")
    squares = squares[squares > 0]
    if not len(squares):
        raise InputError(
            f"descriptors {kernel.on!r} are the same for all training graphs, which gives no median length; leave out "
            "the kernel on them, or pass a number as length_scale."
        )
    return float(np.sqrt(np.median(squares) / 2))


def scale_descriptors(batch: GraphBatch, kernel: DescriptorKernel, scaling: DescriptorScaling) -> GraphBatch:
    """Return the graphs with the block of a kernel scaled."""
    block = scaling.transform(batch)
    if isinstance(kernel, Tanimoto):
        _check_not_negative(kernel, block)
    return batch.with_descriptors({kernel.on: block})


def _check_not_negative(kernel: Tanimoto, block: Matrix) -> None:
    values = block.data if sparse.issparse(block) else block
    if (values < 0).any():
        graph, column = np.argwhere(_to_dense(block) < 0)[0].tolist()
        raise InputError(
            f"graph {graph} has {block[graph, column]} in column {column} of the descriptors {kernel.on!r}; "
            f"{kernel!r} needs numbers that are 0 or more: use RBF or Linear."
        )


@dataclass(frozen=True, eq=False)
class _State:
    kernel: DescriptorKernel
    vectors: Matrix  # (n, d), scaled; CSR for Tanimoto


@dataclass(frozen=True, eq=False)
class _Group:
    """The vectors of some graphs; for Tanimoto counts, with the same counts in unary form if they are small integers.

    A count c of column j is written as ones in the columns j, d + j, …, (c − 1) d + j, so that Σ_j min(x_j, x'_j) is
    an inner product.
    """

    kernel: DescriptorKernel
    vectors: Matrix
    unary: Any = None


class Vectors(Engine[DescriptorKernel, _State, _Group]):
    """The engine of :class:`fastgntk.kernels.DescriptorKernel`; a graph counts as one node."""

    name = "vectors"
    max_group_nodes = 256

    def prepare(self, batch: GraphBatch, kernel: DescriptorKernel, cols: _State | None = None) -> _State:  # noqa: ARG002
        """Take the scaled vectors of all graphs."""
        block = batch.descriptors[kernel.on]
        return _State(kernel, sparse.csr_array(block) if isinstance(kernel, Tanimoto) else _to_dense(block))

    def graph_sizes(self, state: _State) -> GraphSizes:
        """Treat every graph as a single node."""
        return GraphSizes(np.arange(state.vectors.shape[0] + 1))

    def first_equal_graph(self, state: _State) -> Ints:
        """Return for each graph the index of the first one with the same vector."""
        return _equal_rows(state.vectors)

    def build_group(self, state: _State, indices: Ints) -> _Group:
        """Take the vectors of some graphs."""
        vectors = state.vectors[indices]
        return _Group(state.kernel, vectors, _to_unary(vectors) if isinstance(state.kernel, Tanimoto) else None)

    def build_nodes(self, state: _State, batch: GraphBatch) -> _Group:  # noqa: ARG002
        """Raise an error: these values belong to no node."""
        raise InputError(f"{state.kernel!r} has no contributions of nodes, because descriptors belong to whole graphs.")

    def tile_readouts(self, rows: _Group, cols: _Group, cancelled: CancelFlag | None = None) -> Array:  # noqa: ARG002
        """Return the values of the only level, shape (1, len(rows), len(cols))."""
        match rows.kernel:
            case RBF():
                values = _gaussian(rows.vectors, cols.vectors)
            case Tanimoto():
                values = _min_max(rows, cols)
            case _:
                return np.asarray(rows.vectors @ cols.vectors.T)[None]
        if rows is cols:
            np.fill_diagonal(values, 1.0)  # exactly, without rounding errors
        return values[None]

    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Count the values, inner products and norms of all pairs."""
        return 4 * 8 * rows.n_graphs * cols.n_graphs

    def kept_bytes(self, state: _State) -> int:
        """Count the vectors of all graphs and of all groups, and counts in unary form."""
        vectors = state.vectors
        if sparse.issparse(vectors):
            return 3 * int(vectors.data.nbytes + vectors.indices.nbytes + vectors.indptr.nbytes)
        return 2 * int(vectors.nbytes)


def _gaussian(X: Array, Y: Array) -> Array:
    """Return exp(−‖x − y‖²/2) for all pairs of rows."""
    squares = np.add.outer(np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", Y, Y)) - 2.0 * (X @ Y.T)
    return np.asarray(np.exp(-0.5 * np.maximum(squares, 0.0)))


def _min_max(rows: _Group, cols: _Group) -> Array:
    """Return Σ min / Σ max of all pairs; Σ max = Σ x + Σ x' − Σ min."""
    if rows.unary is None or cols.unary is None:
        smaller = _sums_of_minima(rows.vectors, cols.vectors)
    else:
        smaller = _unary_products(rows.unary, cols.unary)
    sums = [np.asarray(group.vectors.sum(axis=1)).ravel() for group in (rows, cols)]
    larger = np.add.outer(*sums) - smaller
    return np.asarray(np.divide(smaller, larger, out=np.ones_like(smaller), where=larger > 0))


def _to_unary(counts: Any) -> Any:
    """Return counts (n, d) in unary form (n, d · largest count), or None if they are not small integers."""
    largest = counts.data.max(initial=0.0)
    if largest > _MAX_UNARY or (counts.data != np.rint(counts.data)).any():
        return None
    times, width = counts.data.astype(np.int64), counts.shape[1]
    ends = np.cumsum(times)
    steps = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - times, times)
    columns = np.repeat(counts.indices.astype(np.int64), times) + width * steps
    indptr = np.concatenate([[0], ends])[counts.indptr]
    shape = (counts.shape[0], width * max(int(largest), 1))
    return sparse.csr_array((np.ones(len(columns)), columns, indptr), shape=shape)


def _unary_products(rows: Any, cols: Any) -> Array:
    """Return inner products of rows, whose columns beyond the narrower matrix are 0."""
    width = min(rows.shape[1], cols.shape[1])
    narrow = [part if part.shape[1] == width else part[:, :width] for part in (rows, cols)]
    return np.asarray((narrow[0] @ narrow[1].T).toarray())


def _sums_of_minima(rows: Any, cols: Any) -> Array:
    """Return Σ_j min(x_j, y_j) of all pairs of rows, column by column: only pairs that both have entries count."""
    out = np.zeros((rows.shape[0], cols.shape[0]))
    X, Y = sparse.csc_array(rows), sparse.csc_array(cols)
    for j in np.flatnonzero((np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0)).tolist():
        a, b = (slice(*part.indptr[j : j + 2].tolist()) for part in (X, Y))
        pairs = np.ix_(X.indices[a], Y.indices[b])
        out[pairs] += np.minimum.outer(X.data[a], Y.data[b])
    return out


def _to_dense(block: Matrix) -> Array:
    return np.asarray(block.toarray() if sparse.issparse(block) else block)


def equal_descriptors(batch: GraphBatch, on: str) -> Ints:
    """Return for each graph the index of the first one with the same values in a block."""
    return _equal_rows(DescriptorScaling.identity(batch, on).transform(batch))


def _equal_rows(vectors: Matrix) -> Ints:
    first: dict[bytes, int] = {}
    rows = (_row_bytes(vectors, i) for i in range(vectors.shape[0]))
    return np.array([first.setdefault(row, i) for i, row in enumerate(rows)], dtype=np.int64)


def _row_bytes(vectors: Matrix, i: int) -> bytes:
    """Return a key of a row: equal for equal rows."""
    if not sparse.issparse(vectors):
        return bytes((vectors[i] + 0.0).tobytes())  # a zero of either sign
    stored = slice(*vectors.indptr[i : i + 2].tolist())
    values = vectors.data[stored]
    used = values != 0
    return bytes(vectors.indices[stored][used].astype(np.int64).tobytes() + values[used].tobytes())
