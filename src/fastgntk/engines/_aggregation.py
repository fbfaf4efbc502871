"""Aggregation by Â = A + self_weight · I, as one relation, or with typed edges as a sum over relations as in an R-GCN.

With ``scale="symmetric"`` Â stands for D^(−½) Â D^(−½) here and in all engines, which see it as any weighted operator.
Relation 0 is the diagonal, relation 1 + t the edges of type t. `NodeFeatures.transform` replaces ``edge_labels`` by
types numbered over all graphs that are computed together; a batch may lack the last ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Matrix
from fastgntk.engines._norms import is_zero_norm, safe_reciprocal, scale_norms, to_dense, unit_rows
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Leaf, Network

__all__ = ["SPARSE_OVER_DENSE", "Aggregation", "add_up", "aggregate_features", "check_graphs", "count_edge_types"]
__all__ += ["count_relations", "given_node_scale", "keep_shared_columns", "multiply_directions", "operator_matrix"]
__all__ += ["operator_weights", "row_sums", "scale_operand", "shared_relations", "split_by_type", "sum_features"]

Item = TypeVar("Item")

# A multiply-add in a dense product costs about a twentieth of one in a sparse product (benchmarks/operators.py).
SPARSE_OVER_DENSE = 20.0


class Aggregation:
    """The aggregation Â of a group of graphs, as a list of relations."""

    def __init__(
        self,
        batch: GraphBatch,
        *,
        uses_edge_labels: bool = False,
        uses_node_scale: bool = False,
        self_weight: float = 1.0,
        symmetric: bool = False,
    ) -> None:
        matrix = operator_matrix(batch, self_weight, symmetric)
        self.magnitude = abs(matrix)  # |Â|, for the bound of `is_zero_norm`
        self.terms = np.diff(matrix.indptr)  # |N(u)|, and 1 unless the node itself has weight 0
        self.scale_operand = scale_operand(batch, uses_node_scale=uses_node_scale, self_weight=self_weight)
        self.matrix = matrix
        relations = split_by_type(batch, self_weight, symmetric) if uses_edge_labels else [matrix]
        self.relations = [_Relation(batch, B) for B in relations]

    def scaled_norms(self, q: Array, previous: Array, kernel: Network, *, squared: bool) -> tuple[Array, Array]:
        """Return q, with values that are 0 up to rounding set to 0, and p = c_u q_u.

        ``previous`` are the norms before the aggregation, those of the level below after its layers.
        """
        q = np.where(is_zero_norm(q, self.magnitude @ previous, self.terms, squared=squared), 0.0, q)
        return q, scale_norms(q, self.scale_operand, kernel)


class _Relation:
    """A block-diagonal matrix to multiply by from the left, sparse or dense depending on its density."""

    def __init__(self, batch: GraphBatch, matrix: sparse.csr_array) -> None:
        dense_cost = float(np.sum(batch.sizes.astype(np.float64) ** 2))
        self.is_sparse = batch.n_nodes == 0 or matrix.nnz * SPARSE_OVER_DENSE < dense_cost
        self.matrix = matrix
        self._dense: list[tuple[slice, Array]] = []
        if not self.is_sparse:
            for start, stop in zip(batch.offsets[:-1].tolist(), batch.offsets[1:].tolist(), strict=True):
                nodes = slice(start, stop)
                self._dense.append((nodes, matrix[nodes, nodes].toarray()))

    def left(self, M: Array) -> Array:
        """Return the matrix times M as a new C-ordered array, for M of shape (N, m)."""
        if self.is_sparse:
            return np.ascontiguousarray(self.matrix @ M)
        out = np.empty(M.shape)
        for nodes, dense in self._dense:
            np.matmul(dense, M[nodes], out=out[nodes])
        return out


def count_edge_types(batch: GraphBatch) -> int:
    """Return the number of edge types, which ``edge_labels`` numbers from 0 after `NodeFeatures.transform`."""
    return 0 if batch.edge_labels is None else int(batch.edge_labels.max(initial=-1)) + 1


def count_relations(batch: GraphBatch, kernel: Network) -> int:
    """Return the number of relations: one, or with typed edges one for the nodes themselves and for each type."""
    return 1 + count_edge_types(batch) if kernel.uses_edge_labels else 1


def operator_weights(
    batch: GraphBatch, self_weight: float = 1.0, symmetric: bool = False
) -> tuple[Array | None, Array | None]:
    """Return the entries of Â of all edges (m,) and on the diagonal (N,), each None if all are 1.

    With ``symmetric`` entry (u, v) is divided by sqrt(D_u D_v), and 0 where D_u or D_v is. Equal entries have equal
    bits, whatever the order of nodes and edges, because refinement compares them.
    """
    weights, self_weights = batch.weights, None if self_weight == 1.0 else np.full(batch.n_nodes, self_weight)
    if not symmetric:
        return weights, self_weights
    D = _degrees(batch, self_weight)
    of_edges = safe_reciprocal(_root_of_product(np.repeat(D, batch.degrees), D[batch.global_indices]))
    return of_edges if weights is None else weights * of_edges, self_weight * safe_reciprocal(D)


def _root_of_product(a: Array, b: Array) -> Array:
    """Return sqrt(a b) without overflow of the product, and for integers a and b with a single rounding."""
    (a, exponent), (b, other) = np.frexp(a), np.frexp(b)
    half, odd = np.divmod(exponent + other, 2)
    return np.ldexp(np.sqrt(np.ldexp(a * b, odd)), half)


def _degrees(batch: GraphBatch, self_weight: float) -> Array:
    """Return the row sums D of Â, added from the smallest weight: nodes with the same weights have equal bits."""
    if batch.weights is None:
        return row_sums(batch, self_weight)
    node = np.repeat(np.arange(batch.n_nodes), batch.degrees)
    return row_sums(replace(batch, weights=batch.weights[np.lexsort((batch.weights, node))]), self_weight)


def operator_matrix(batch: GraphBatch, self_weight: float = 1.0, symmetric: bool = False) -> sparse.csr_array:
    """Return Â with sorted columns."""
    adjacency, diagonal = _operator_parts(batch, self_weight, symmetric)
    matrix = sparse.csr_array(adjacency + diagonal)
    matrix.sort_indices()
    return matrix


def _operator_parts(
    batch: GraphBatch, self_weight: float, symmetric: bool
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return Â off its diagonal, and its diagonal."""
    weights, self_weights = operator_weights(batch, self_weight, symmetric)
    weighted = batch if weights is batch.weights else replace(batch, weights=weights)
    nodes = np.arange(batch.n_nodes + 1, dtype=np.int32)
    entries = np.ones(batch.n_nodes) if self_weights is None else self_weights
    return weighted.adjacency(), sparse.csr_array((entries, nodes[:-1], nodes), shape=(batch.n_nodes, batch.n_nodes))


def split_by_type(
    batch: GraphBatch, self_weight: float = 1.0, symmetric: bool = False, types: int | None = None
) -> list[sparse.csr_array]:
    """Return the relations, which sum to Â; ``types`` is the number of types, by default of those that occur."""
    weighted, diagonal = _operator_parts(batch, self_weight, symmetric)
    adjacency, relations = weighted.tocoo(), [diagonal]
    labels = np.zeros(0, dtype=np.int64) if batch.edge_labels is None else batch.edge_labels
    for edge_type in range(count_edge_types(batch) if types is None else types):
        edges = labels == edge_type
        rows, cols = adjacency.coords[0][edges], adjacency.coords[1][edges]
        relations.append(sparse.csr_array((adjacency.data[edges], (rows, cols)), shape=adjacency.shape))
    return relations


def check_graphs(batch: GraphBatch, kernel: Leaf) -> None:
    """Raise an error for ``"typed"`` edges without labels, and graphs on which the scale is not defined."""
    if kernel.uses_edge_labels and batch.edge_labels is None and len(batch.indices):
        raise InputError("edges='typed' needs edge labels, but the graphs carry none; use edges='plain'.")
    if kernel.uses_node_scale:
        batch.with_node_scale(given_node_scale(batch))  # values that were never checked raise an error
    if not isinstance(kernel, Network) or kernel.scale not in ("degree", "symmetric"):
        return
    sums = _degrees(batch, kernel.self_weight) if kernel.symmetric else row_sums(batch, kernel.self_weight)
    bad = np.flatnonzero(~(sums > 0) & ((sums != 0) | (batch.degrees > 0)))  # an empty row needs no divisor
    if len(bad):
        node = int(bad[0])
        graph = int(batch.graph_of_node[node])
        divisor = "the root of the sum" if kernel.symmetric else "the sum"
        raise InputError(
            f"scale={kernel.scale!r} divides by {divisor} of a node's weights plus self_weight, which is "
            f"{sums[node]:g} for node {node - int(batch.offsets[graph])} of graph {graph}; use scale='uniform' or "
            "positive weights."
        )


def scale_operand(batch: GraphBatch, *, uses_node_scale: bool, self_weight: float = 1.0) -> Array:
    """Return the operand of `scale_norms` for each node: the factor c_u if it is given, else the divisor, a row sum.

    Where a row of Â is empty, the divisor is 1: the norm is 0 there, whatever it is divided by.
    """
    if uses_node_scale:
        return given_node_scale(batch)
    sums = row_sums(batch, self_weight)
    return sums if self_weight else np.where(sums == 0, 1.0, sums)


def given_node_scale(batch: GraphBatch) -> Array:
    """Return c_u of each node, which the graphs must carry."""
    if batch.node_scale is not None:
        return batch.node_scale
    if batch.n_nodes:
        raise InputError(
            "scale='given' needs the scale of every node, but the graphs carry none; pass node_scale= to Graph, "
            "call batch.with_node_scale(values), or use another scale."
        )
    return np.zeros(0)


def row_sums(batch: GraphBatch, self_weight: float = 1.0) -> Array:
    """Return the row sums of Â: the number of neighbours, or the sum of their weights, plus ``self_weight``."""
    if batch.weights is None:
        return np.asarray(batch.degrees + self_weight, dtype=np.float64)
    node = np.repeat(np.arange(batch.n_nodes), batch.degrees)
    sums = np.bincount(node, weights=batch.weights, minlength=batch.n_nodes)
    return np.asarray(sums + self_weight, dtype=np.float64)


def aggregate_features(relations: Sequence[Matrix], features: Matrix) -> tuple[list[Matrix], Array]:
    """Return the directions of the aggregated features X (N, d), and their norms.

    A node's vector holds its rows of B X for all relations B side by side; its direction is that vector divided by its
    norm. Directions are returned as one matrix (N, d) for each relation.
    """
    products = [B @ features for B in relations]
    joined = products[0]
    if len(products) > 1:
        joined = sparse.csr_array(sparse.hstack(products)) if sparse.issparse(features) else np.hstack(products)
    if sparse.issparse(joined) and joined.nnz > 0.1 * joined.shape[0] * joined.shape[1]:
        joined = joined.toarray()  # products of directions are then faster dense
    unit, norms = unit_rows(joined)
    width = features.shape[1]
    if len(relations) == 1:
        return [unit], norms
    return [unit[:, r * width : (r + 1) * width] for r in range(len(relations))], norms


def multiply_directions(rows: Sequence[Matrix], cols: Sequence[Matrix]) -> Array:
    """Return the inner products of the directions of two sets of nodes, each given by relation."""
    return add_up(to_dense(keep_shared_columns(a, b) @ b.T) for a, b in shared_relations(rows, cols))


def shared_relations(rows: Sequence[Item], cols: Sequence[Item]) -> Iterator[tuple[Item, Item]]:
    """Pair the relations of two sides; those that only one side has contribute nothing and are left out."""
    return zip(rows, cols, strict=False)


def add_up(arrays: Iterable[Array]) -> Array:
    """Return the sum of at least one array, accumulated in the first."""
    each = iter(arrays)
    out = np.ascontiguousarray(next(each))
    for array in each:
        out += array
    return out


def keep_shared_columns(rows: Matrix, cols: Matrix) -> Matrix:
    """Return the columns of ``rows`` that ``cols`` has too; the others do not contribute to inner products."""
    return rows if rows.shape[1] == cols.shape[1] else rows[:, : cols.shape[1]]


def sum_features(batch: GraphBatch) -> Matrix:
    """Return Σ_u x_u of each graph, shape (n, d), sparse if the features are."""
    shape = len(batch.offsets) - 1, batch.n_nodes
    return sparse.csr_array((np.ones(shape[1]), np.arange(shape[1]), batch.offsets), shape=shape) @ batch.features
