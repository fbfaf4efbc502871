"""The aggregation Â = A + I of a block of graphs, the scale c_u, and when a norm counts as zero."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Array, Bools
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK

__all__ = [
    "SPARSE_OVER_DENSE",
    "Aggregation",
    "by_type",
    "check_edges",
    "degree_sums",
    "direction_products",
    "inverse",
    "n_parts",
    "n_types",
    "seen_directions",
    "shared_columns",
    "total",
    "unit_rows",
    "zero_norm",
]

_EPS = float(np.finfo(np.float64).eps)

# A multiply-add in a dense product costs about a twentieth of one in a sparse product (benchmarks/operators.py).
SPARSE_OVER_DENSE = 20.0


class Aggregation:
    """The aggregation Â of a block of graphs, in one part; or with typed edges one for the node and for each type."""

    def __init__(self, batch: GraphBatch, *, typed: bool = False) -> None:
        matrix = sparse.csr_array(batch.adjacency() + sparse.eye_array(batch.n_nodes, format="csr"))
        matrix.sort_indices()
        self.magnitude = abs(matrix)  # |Â|, for the bound of `zero_norm`
        self.terms = np.diff(matrix.indptr)  # |N(u)| + 1
        self.sums = degree_sums(batch)
        self.matrix = matrix
        self.parts = [_Part(batch, part) for part in (by_type(batch, n_types(batch)) if typed else [matrix])]


def n_types(batch: GraphBatch) -> int:
    """Return how many types of edges there are; they are the edge labels, numbered from 0."""
    return 0 if batch.edge_labels is None else int(batch.edge_labels.max(initial=-1)) + 1


def n_parts(batch: GraphBatch, kernel: GNTK) -> int:
    """Return in how many parts Â comes: one, or with typed edges one for the node and for each type."""
    return 1 + n_types(batch) if kernel.typed else 1


def by_type(batch: GraphBatch, types: int) -> list[sparse.csr_array]:
    """Return Â as a sum: the nodes themselves, then the edges of each type."""
    adjacency = batch.adjacency().tocoo()
    out = [sparse.csr_array(sparse.eye_array(batch.n_nodes, format="csr"))]
    labels = np.zeros(0, dtype=np.int64) if batch.edge_labels is None else batch.edge_labels
    for number in range(types):
        own = labels == number
        rows, cols = adjacency.coords[0][own], adjacency.coords[1][own]
        out.append(sparse.csr_array((adjacency.data[own], (rows, cols)), shape=adjacency.shape))
    return out


class _Part:
    """Apply a block-diagonal matrix from the left, sparse or dense by density."""

    def __init__(self, batch: GraphBatch, matrix: sparse.csr_array) -> None:
        n = batch.n_nodes
        dense_cost = float(np.sum(batch.sizes.astype(np.float64) ** 2))
        self._sparse: Any = None
        self._dense: list[tuple[slice, Array]] = []
        if n == 0 or matrix.nnz * SPARSE_OVER_DENSE < dense_cost:
            self._sparse = matrix
        else:
            for start, stop in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
                nodes = slice(int(start), int(stop))
                self._dense.append((nodes, matrix[nodes, nodes].toarray()))
        self.matrix = matrix

    def left(self, block: Array) -> Array:
        """Return the matrix times M as a new C-ordered array, for M of shape (N, m)."""
        if self._sparse is not None:
            return np.ascontiguousarray(self._sparse @ block)
        out = np.empty(block.shape)
        for nodes, dense in self._dense:
            np.matmul(dense, block[nodes], out=out[nodes])
        return out


def seen_directions(parts: Sequence[Any], features: Any) -> tuple[list[Any], Array]:
    """Return the vectors that nodes get from features X (N, d), as unit vectors, and their norms.

    A vector is the products of all ``parts`` of Â with X side by side; here they come part by part, each (N, d).
    """
    seen = [part @ features for part in parts]
    if len(seen) == 1:
        together = seen[0]
    else:
        together = sparse.csr_array(sparse.hstack(seen)) if sparse.issparse(features) else np.hstack(seen)
    unit, norms = unit_rows(compact(together))
    width = features.shape[1]
    return [unit[:, r * width : (r + 1) * width] if len(seen) > 1 else unit for r in range(len(seen))], norms


def direction_products(rows: Sequence[Any], cols: Sequence[Any]) -> Array:
    """Return the inner products of such vectors, from the parts that both sides have."""
    products = (shared_columns(a, b) @ b.T for a, b in zip(rows, cols, strict=False))
    return total(np.asarray(p.toarray() if sparse.issparse(p) else p) for p in products)


def total(arrays: Iterable[Array]) -> Array:
    """Return the sum of one array or more, in the place of the first."""
    each = iter(arrays)
    out = np.ascontiguousarray(next(each))
    for array in each:
        out += array
    return out


def zero_norm(norm: Array, bound: Array, terms: NDArray[np.integer] | Array, *, squared: bool) -> Bools:
    """Tell which aggregated nodes have norm zero up to rounding.

    ``bound`` is |Â| times the norms before aggregation, which bounds the norm after it; ``terms`` are |N(u)| + 1. A
    sum that cancels exactly in real numbers leaves a remainder of a few ε of that bound; its direction is noise, which
    ``scale="unit"`` would blow up to a full vector. ``squared`` if ``norm`` came from a quadratic
    form, whose remainder is ε of the squared bound.
    """
    if squared:
        return np.asarray(norm**2 <= (2.0 * terms + 8.0) * _EPS * bound**2)
    return np.asarray(norm <= (terms + 8.0) * _EPS * bound)


def unit_rows(matrix: Any) -> tuple[Any, Array]:
    """Return the rows as unit vectors (a zero row stays zero) and their norms, safe from overflow and underflow."""
    if 0 in matrix.shape:
        return matrix, np.zeros(matrix.shape[0])
    largest = abs(matrix).max(axis=1)
    largest = np.asarray(largest.toarray() if sparse.issparse(largest) else largest, dtype=np.float64).ravel()
    scaled = _scale_rows(matrix, inverse(largest))
    squares = scaled.multiply(scaled) if sparse.issparse(scaled) else scaled * scaled
    root: Array = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())
    return _scale_rows(scaled, inverse(root)), largest * root


def compact(matrix: Any) -> Any:
    """Return a sparse matrix as an array where more than a tenth of it is set: products are then faster dense."""
    if not sparse.issparse(matrix) or matrix.nnz <= 0.1 * matrix.shape[0] * matrix.shape[1]:
        return matrix
    return np.asarray(matrix.toarray())


def inverse(values: Array) -> Array:
    """Return 1/x, and 0 where x is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def _scale_rows(matrix: Any, factor: Array) -> Any:
    if sparse.issparse(matrix):
        return sparse.csr_array(sparse.diags_array(factor) @ matrix)
    return matrix * factor[:, None]


def degree_sums(batch: GraphBatch) -> Array:
    """Return the row sums of Â: |N(u)| + 1, or with weights their sum plus one."""
    if batch.weights is None:
        return np.asarray(batch.degrees + 1.0, dtype=np.float64)
    owner = np.repeat(np.arange(batch.n_nodes), batch.degrees)
    sums = np.bincount(owner, weights=batch.weights, minlength=batch.n_nodes)
    return np.asarray(sums + 1.0, dtype=np.float64)


def check_edges(batch: GraphBatch, kernel: GNTK) -> None:
    """Refuse ``"typed"`` edges without labels, and weights for which ``scale="degree"`` has no meaning."""
    if kernel.typed and batch.edge_labels is None and len(batch.indices):
        raise InputError("edges='typed' needs edge labels, but the graphs carry none; use edges='plain'.")
    if kernel.scale != "degree":
        return
    sums = degree_sums(batch)
    bad = np.flatnonzero(~(sums > 0))
    if len(bad):
        node = int(bad[0])
        graph = int(batch.graph_of_node[node])
        raise InputError(
            f"scale='degree' divides by the sum of a node's weights plus one, which is {sums[node]:g} for node "
            f"{node - int(batch.offsets[graph])} of graph {graph}; use scale='uniform' or positive weights."
        )


def shared_columns(rows: Any, cols: Any) -> Any:
    """Return rows with as many columns as cols have; the others meet nothing."""
    return rows if rows.shape[1] == cols.shape[1] else rows[:, : cols.shape[1]]
