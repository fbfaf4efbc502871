"""The number of rows of the sketch of each graph: fixed, a rate, given with the graphs, or from an error."""

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines._aggregation import count_relations, operator_weights
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Network
from fastgntk.sketch import smallest_rows

__all__ = ["sketch_rows"]


def sketch_rows(batch: GraphBatch, kernel: Network) -> Ints:
    """Return b for each graph (n,), for a kernel with a sketch; N where the graph is computed exactly.

    ``batch`` has encoded features. b of a graph does not depend on the other graphs, nor on the order of feature
    columns and of edge types, both of which depend on the graphs that the encoder was fitted on.
    """
    sketch, sizes = kernel.sketch, batch.sizes
    assert sketch is not None
    if sketch.size == "given":
        if batch.sketch_sizes is None:
            raise InputError(
                "Sketch(size='given') needs a number of rows for each graph; pass batch.with_sketch_sizes(sizes) or "
                "Graph(..., sketch_size=b), or use another size."
            )
        return np.asarray(np.minimum(batch.sketch_sizes, sizes))
    if sketch.size == "auto":
        assert sketch.error is not None
        return smallest_rows(sketch.kind, sizes, *_moments(batch, kernel), sketch.error)
    distinct, index = np.unique(sizes, return_inverse=True)
    rows = np.array([sketch.rows(size) or size for size in distinct.tolist()], dtype=np.int64)
    return rows[index.ravel()]


def _moments(batch: GraphBatch, kernel: Network) -> tuple[Array, Array, Array]:
    """Return ‖X‖_F² ‖g_r‖², ‖Xᵀg_r‖² and Σ_i ‖X_i‖² g_ri² with g_r = Â_rᵀ1, summed over relations r, for each graph."""
    n, graph = len(batch), batch.graph_of_node
    X = sparse.csr_array(batch.features, copy=True)
    X.sum_duplicates()  # sorts columns too
    X.eliminate_zeros()
    node = np.repeat(np.arange(batch.n_nodes), np.diff(X.indptr))
    largest = np.zeros(n)
    np.maximum.at(largest, graph[node], np.abs(X.data))
    # Divided by a power of 2, so that squares neither overflow nor vanish.
    values = np.ldexp(X.data, -np.frexp(largest)[1][graph[node]])
    squares = _add_up(node, values**2, batch.n_nodes)  # ‖X_i‖²
    columns, position = np.unique(graph[node] * X.shape[1] + X.indices, return_inverse=True)
    graph_of_column = columns // max(X.shape[1], 1)
    norms = _sums(graph, squares, n)
    terms = [(_sums(graph, g**2, n), g) for g in _column_sums(batch, kernel)]
    products = [_add_up(position.ravel(), values * g[node], len(columns)) for _, g in terms]
    crossed = norms * _sums(np.tile(np.arange(n), len(terms)), np.concatenate([square for square, _ in terms]), n)
    inner = _sums(np.tile(graph_of_column, len(terms)), np.concatenate(products) ** 2, n)
    fourth = _sums(np.tile(graph, len(terms)), np.concatenate([squares * g**2 for _, g in terms]), n)
    return crossed, inner, fourth


def _column_sums(batch: GraphBatch, kernel: Network) -> list[Array]:
    """Return Âᵀ1 (N,), or with typed edges one for the nodes themselves and for each type."""
    weights, self_weights = operator_weights(batch, kernel.self_weight, kernel.symmetric)
    weights = np.ones(len(batch.indices)) if weights is None else weights
    self_weights = np.ones(batch.n_nodes) if self_weights is None else self_weights
    to = batch.global_indices
    if not kernel.uses_edge_labels:
        return [self_weights + _add_up(to, weights, batch.n_nodes)]
    labels = np.zeros(0, dtype=np.int64) if batch.edge_labels is None else batch.edge_labels
    types = [labels == edge_type for edge_type in range(count_relations(batch, kernel) - 1)]
    return [self_weights, *(_add_up(to[edges], weights[edges], batch.n_nodes) for edges in types)]


def _sums(graph: Ints, values: Array, n: int) -> Array:
    """Return the sum of the values of each graph, added from the smallest, so that their order makes no difference."""
    order = np.lexsort((values, graph))
    return _add_up(graph[order], values[order], n)


def _add_up(positions: Ints, values: Array, n: int) -> Array:
    """Return the sum of the values at each position, added in order."""
    return np.asarray(np.bincount(positions, values, minlength=n), dtype=np.float64)
