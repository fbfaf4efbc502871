"""The steps of the recursion that engines share: aggregation by Â = A + I, the scale c_u, norms, and κ0 and κ1.

For unit vectors at angle arccos λ, and w standard normal, a ReLU layer has the two arc-cosine functions

    κ0(λ) = 2 E[1(w·x > 0) 1(w·y > 0)]     = (π − arccos λ) / π
    κ1(λ) = 2 E[relu(w·x) relu(w·y)]        = (λ (π − arccos λ) + sqrt(1 − λ²)) / π

(Cho and Saul 2009). κ1' = κ0, κ0(1) = κ1(1) = 1, κ0(−1) = κ1(−1) = 0.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fastgntk._util.arrays import Array, Bools
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK

__all__ = ["kappa0", "kappa1", "kappas", "layer_gain"]
__all__ += ["SPARSE_OVER_DENSE", "Aggregation", "count_edge_types", "count_parts", "split_by_type", "check_edges"]
__all__ += ["aggregate_features", "multiply_directions", "add_up", "keep_shared_columns", "sum_features", "to_dense"]
__all__ += ["degree_sums", "inverse", "scale_norms", "unit_rows", "zero_norm"]

_EPS = float(np.finfo(np.float64).eps)

# A multiply-add in a dense product costs about a twentieth of one in a sparse product (benchmarks/operators.py).
SPARSE_OVER_DENSE = 20.0


def kappa0(cosine: ArrayLike) -> Array:
    """Return κ0(λ); λ outside [−1, 1] by rounding counts as ±1.

    Near λ = 1 the slope is infinite: an error of ε in λ becomes sqrt(2 ε)/π here, about 1e-8 in float64.

    >>> kappa0([1.0, 0.0, -1.0]).tolist()
    [1.0, 0.5, 0.0]
    """
    lam = np.clip(np.asarray(cosine, dtype=np.float64), -1.0, 1.0)
    return (np.pi - np.arccos(lam)) / np.pi


def kappa1(cosine: ArrayLike) -> Array:
    """Return κ1(λ); λ outside [−1, 1] by rounding counts as ±1.

    >>> kappa1([1.0, 0.0, -1.0]).round(6).tolist()
    [1.0, 0.31831, 0.0]
    """
    lam = np.clip(np.asarray(cosine, dtype=np.float64), -1.0, 1.0)
    # (1−λ)(1+λ), not 1−λ²: near 1 the square rounds away the digits that cancel against λ arccos λ, and κ1
    # would be off by 1e-9 instead of 1e-16.
    return (lam * (np.pi - np.arccos(lam)) + np.sqrt((1.0 - lam) * (1.0 + lam))) / np.pi


def kappas(lam: Array, k0: Array, k1: Array, work: Array) -> None:
    """Write κ0(λ) to ``k0`` and κ1(λ) to ``k1`` with one arccos for both; ``lam`` is clipped in place.

    ``k1`` may be the same array as ``lam``: κ0 is taken first, at the incoming λ.
    """
    np.clip(lam, -1.0, 1.0, out=lam)
    np.subtract(1.0, lam, out=work)
    np.add(1.0, lam, out=k0)
    work *= k0
    np.sqrt(work, out=work)  # sqrt(1 − λ²)
    np.arccos(lam, out=k0)
    np.subtract(np.pi, k0, out=k0)  # π − arccos λ
    np.multiply(lam, k0, out=k1)
    k1 += work
    k1 *= 1.0 / np.pi
    k0 *= 1.0 / np.pi


def layer_gain(kernel: GNTK) -> float:
    """Return the factor (c_φ/2)^(R/2) by which the layers of a block change norms."""
    return float((kernel.c_phi / 2) ** (kernel.layers / 2))


class Aggregation:
    """The aggregation Â of a block of graphs, in one part; or with typed edges one for the node and for each type."""

    def __init__(self, batch: GraphBatch, *, typed: bool = False) -> None:
        matrix = sparse.csr_array(batch.adjacency() + sparse.eye_array(batch.n_nodes, format="csr"))
        matrix.sort_indices()
        self.magnitude = abs(matrix)  # |Â|, for the bound of `zero_norm`
        self.terms = np.diff(matrix.indptr)  # |N(u)| + 1
        self.sums = degree_sums(batch)
        self.matrix = matrix
        self.parts = [_Part(batch, part) for part in (split_by_type(batch) if typed else [matrix])]

    def scaled_norms(self, q: Array, previous: Array, kernel: GNTK, *, squared: bool) -> tuple[Array, Array]:
        """Return q, with 0 where it is 0 up to rounding, and p = c_u q_u; ``previous`` are the norms before Â."""
        q = np.where(zero_norm(q, self.magnitude @ previous, self.terms, squared=squared), 0.0, q)
        return q, scale_norms(q, self.sums, kernel)


class _Part:
    """Apply a block-diagonal matrix from the left, sparse or dense by density."""

    def __init__(self, batch: GraphBatch, matrix: sparse.csr_array) -> None:
        dense_cost = float(np.sum(batch.sizes.astype(np.float64) ** 2))
        self.is_sparse = batch.n_nodes == 0 or matrix.nnz * SPARSE_OVER_DENSE < dense_cost
        self.matrix = matrix
        self._dense: list[tuple[slice, Array]] = []
        if not self.is_sparse:
            for start, stop in zip(batch.offsets[:-1].tolist(), batch.offsets[1:].tolist(), strict=True):
                nodes = slice(start, stop)
                self._dense.append((nodes, matrix[nodes, nodes].toarray()))

    def left(self, block: Array) -> Array:
        """Return the matrix times M as a new C-ordered array, for M of shape (N, m)."""
        if self.is_sparse:
            return np.ascontiguousarray(self.matrix @ block)
        out = np.empty(block.shape)
        for nodes, dense in self._dense:
            np.matmul(dense, block[nodes], out=out[nodes])
        return out


def count_edge_types(batch: GraphBatch) -> int:
    """Return the number of types of edges: the edge labels, numbered from 0."""
    return 0 if batch.edge_labels is None else int(batch.edge_labels.max(initial=-1)) + 1


def count_parts(batch: GraphBatch, kernel: GNTK) -> int:
    """Return the number of parts of Â: one, or with typed edges one for the node and for each type."""
    return 1 + count_edge_types(batch) if kernel.typed else 1


def split_by_type(batch: GraphBatch, types: int | None = None) -> list[sparse.csr_array]:
    """Return Â as a sum: the nodes themselves, then the edges of each type, by default of those that occur."""
    adjacency = batch.adjacency().tocoo()
    parts = [sparse.csr_array(sparse.eye_array(batch.n_nodes, format="csr"))]
    labels = np.zeros(0, dtype=np.int64) if batch.edge_labels is None else batch.edge_labels
    for edge_type in range(count_edge_types(batch) if types is None else types):
        edges = labels == edge_type
        rows, cols = adjacency.coords[0][edges], adjacency.coords[1][edges]
        parts.append(sparse.csr_array((adjacency.data[edges], (rows, cols)), shape=adjacency.shape))
    return parts


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


def aggregate_features(parts: Sequence[Any], features: Any) -> tuple[list[Any], Array]:
    """Return the aggregated features of nodes as unit vectors, and their norms, from features X (N, d).

    A vector is the products of all ``parts`` of Â with X side by side; they are returned part by part, each (N, d).
    """
    products = [part @ features for part in parts]
    joined = products[0]
    if len(products) > 1:
        joined = sparse.csr_array(sparse.hstack(products)) if sparse.issparse(features) else np.hstack(products)
    if sparse.issparse(joined) and joined.nnz > 0.1 * joined.shape[0] * joined.shape[1]:
        joined = joined.toarray()  # products of directions are then faster dense
    unit, norms = unit_rows(joined)
    width = features.shape[1]
    directions = [unit[:, r * width : (r + 1) * width] for r in range(len(parts))] if len(parts) > 1 else [unit]
    return directions, norms


def multiply_directions(rows: Sequence[Any], cols: Sequence[Any]) -> Array:
    """Return the inner products of such vectors, from the parts that both sides have."""
    return add_up(to_dense(keep_shared_columns(a, b) @ b.T) for a, b in zip(rows, cols, strict=False))


def add_up(arrays: Iterable[Array]) -> Array:
    """Return the sum of one array or more, written to the first."""
    each = iter(arrays)
    out = np.ascontiguousarray(next(each))
    for array in each:
        out += array
    return out


def keep_shared_columns(rows: Any, cols: Any) -> Any:
    """Return rows with as many columns as cols have; products with the others are zero."""
    return rows if rows.shape[1] == cols.shape[1] else rows[:, : cols.shape[1]]


def sum_features(batch: GraphBatch) -> Any:
    """Return Σ_u x_u of each graph, shape (n, d), sparse if the features are."""
    shape = len(batch.offsets) - 1, batch.n_nodes
    return sparse.csr_array((np.ones(shape[1]), np.arange(shape[1]), batch.offsets), shape=shape) @ batch.features


def to_dense(matrix: Any) -> Array:
    """Return a matrix as an array."""
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def degree_sums(batch: GraphBatch) -> Array:
    """Return the row sums of Â: |N(u)| + 1, or with weights their sum plus one."""
    if batch.weights is None:
        return np.asarray(batch.degrees + 1.0, dtype=np.float64)
    node = np.repeat(np.arange(batch.n_nodes), batch.degrees)
    sums = np.bincount(node, weights=batch.weights, minlength=batch.n_nodes)
    return np.asarray(sums + 1.0, dtype=np.float64)


def scale_norms(q: Array, sums: Array, kernel: GNTK) -> Array:
    """Return p = c_u q_u from row sums of Â; NaN stays NaN and shows in the result."""
    if kernel.scale == "unit":
        return q * 0.0 + (q > 0)
    return q / sums if kernel.scale == "degree" else q


def zero_norm(norm: Array, bound: Array, terms: NDArray[np.integer] | Array, *, squared: bool) -> Bools:
    """Return which aggregated nodes have norm zero up to rounding.

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
    largest = np.asarray(to_dense(abs(matrix).max(axis=1)), dtype=np.float64).ravel()
    scaled = _scale_rows(matrix, inverse(largest))
    squares = scaled.multiply(scaled) if sparse.issparse(scaled) else scaled * scaled
    root: Array = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())
    return _scale_rows(scaled, inverse(root)), largest * root


def _scale_rows(matrix: Any, factor: Array) -> Any:
    if sparse.issparse(matrix):
        return sparse.csr_array(sparse.diags_array(factor) @ matrix)
    return matrix * factor[:, None]


def inverse(values: Array) -> Array:
    """Return 1/x, and 0 where x is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
