"""The aggregation Â = A + I of a block of graphs, the scale c_u, and when a norm counts as zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk.errors import InputError
from fastgntk.graph import GraphBatch
from fastgntk.kernel._spec import GNTK

__all__ = ["Aggregation", "check_weights", "degree_sums"]

_EPS = float(np.finfo(np.float64).eps)

# A multiply-add in a dense product costs about a twentieth of one in a sparse product (benchmarks/operators.py).
_SPARSE_OVER_DENSE = 20.0


class Aggregation:
    """Apply the block-diagonal matrix Â of a block of graphs from the left, sparse or dense by density."""

    def __init__(self, batch: GraphBatch) -> None:
        n = batch.n_nodes
        adjacency = batch.adjacency()
        matrix = sparse.csr_array(adjacency + sparse.eye_array(n, format="csr"))
        matrix.sort_indices()
        self.magnitude = abs(matrix)  # |Â|, for the bound in `zero_norm`
        self.terms = np.diff(matrix.indptr)  # |N(u)| + 1
        self.sums = degree_sums(batch)
        dense_cost = float(np.sum(batch.sizes.astype(np.float64) ** 2))
        self._sparse: Any = None
        self._dense: list[tuple[slice, NDArray[np.float64]]] = []
        if n == 0 or matrix.nnz * _SPARSE_OVER_DENSE < dense_cost:
            self._sparse = matrix
        else:
            for start, stop in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
                nodes = slice(int(start), int(stop))
                self._dense.append((nodes, matrix[nodes, nodes].toarray()))
        self.matrix = matrix

    def left(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Â M as a new C-ordered array, for M of shape (N, m)."""
        if self._sparse is not None:
            return np.ascontiguousarray(self._sparse @ block)
        out = np.empty(block.shape)
        for nodes, dense in self._dense:
            np.matmul(dense, block[nodes], out=out[nodes])
        return out

    def zero_norm(
        self, norm: NDArray[np.float64], previous: NDArray[np.float64], *, squared: bool
    ) -> NDArray[np.bool_]:
        """Tell which aggregated nodes have norm zero up to rounding.

        ``previous`` are the norms before aggregation, so that |Â| previous bounds the norm after it. A sum
        that cancels exactly in real numbers leaves a remainder of a few ε of that bound; its direction is
        noise, which ``scale="unit"`` would blow up to a full vector. ``squared`` says that ``norm`` came from
        a quadratic form, whose remainder is ε of the squared bound.
        """
        bound = self.magnitude @ previous
        if squared:
            return np.asarray(norm**2 <= (2.0 * self.terms + 8.0) * _EPS * bound**2)
        return np.asarray(norm <= (self.terms + 8.0) * _EPS * bound)


def degree_sums(batch: GraphBatch) -> NDArray[np.float64]:
    """Return the row sums of Â: |N(u)| + 1, or with weights their sum plus one."""
    if batch.weights is None:
        return np.asarray(batch.degrees + 1.0, dtype=np.float64)
    owner = np.repeat(np.arange(batch.n_nodes), batch.degrees)
    sums = np.bincount(owner, weights=batch.weights, minlength=batch.n_nodes)
    return np.asarray(sums + 1.0, dtype=np.float64)


def check_weights(batch: GraphBatch, spec: GNTK) -> None:
    """Refuse weights for which ``scale="degree"`` has no meaning, naming graph and node."""
    if spec.scale != "degree":
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
