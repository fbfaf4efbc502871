"""The literal engine: the aggregation of a pair written as one Kronecker product.

    vec(Σ) ← (B ⊗ B') vec(Σ)          vec(K) ← (B ⊗ B') vec(K)

as printed in the papers, with vec in the row-major order of NumPy; with typed edges B ⊗ B' is Σ_r B_r ⊗ B'_r. It costs
N⁴ per pair and is a reference for tests. Norms come from the quadratic form Σ_uu as printed, which cannot resolve
values below 1e-7 of the summed terms: where features cancel that closely, the other engines are more accurate, because
they compute the first norm from the vectors.
"""

from dataclasses import dataclass

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines._activation import kappa0, kappa1, linear_share
from fastgntk.engines._aggregation import (
    given_node_scale,
    keep_shared_columns,
    operator_matrix,
    shared_relations,
    split_by_type,
)
from fastgntk.engines._base import CancelFlag, Extent, GroupwiseEngine, GroupwiseState
from fastgntk.engines._norms import safe_reciprocal, to_dense
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Network

__all__ = ["Kronecker"]

_MAX_BYTES = 4 * 2**30  # of one Kronecker product; beyond this the choice of the engine is certainly a mistake


@dataclass(frozen=True)
class _Graph:
    """One graph: features X (N, d), and for each block B = C Â (N, N) by relation and norms p before layers."""

    kernel: Network
    X: Array
    B: list[list[Array]]
    p: list[Array]


class _NodeByNode(list[_Graph]):
    """One graph whose nodes are the rows of a tile."""


class Kronecker(GroupwiseEngine[list[_Graph]]):
    """Compute the kernel by the literal Kronecker formula."""

    name = "kronecker"
    max_group_nodes = 1  # every graph is a group, since the formula is for a pair

    def build_group(self, state: GroupwiseState, indices: Ints) -> list[_Graph]:
        """Compute B and p of every block by running the recursion of each graph against itself."""
        batch = state.select(indices)
        return [self._prepare_graph(batch[i : i + 1], state.kernel) for i in range(len(batch))]

    def _prepare_graph(self, graph: GraphBatch, kernel: Network) -> _Graph:
        X = to_dense(graph.features)
        A_hat = operator_matrix(graph, kernel.self_weight, kernel.symmetric).toarray()
        relations = [A_hat]
        if kernel.uses_edge_labels:
            parts = split_by_type(graph, kernel.self_weight, kernel.symmetric)
            relations = [relation.toarray() for relation in parts]
        self._check_size(len(X), len(X))
        half_c_phi, linear = kernel.c_phi / 2, linear_share(kernel)
        operators, norms = [], []
        sigma_0 = sigma = X @ X.T
        for _ in range(kernel.blocks):
            raw = _kron_apply(relations, relations, sigma)
            bound = np.abs(A_hat) @ np.sqrt(np.diag(sigma))
            square = np.diag(raw).copy()
            square[square <= 1e-14 * bound**2] = 0.0  # exact cancellation, up to rounding
            norm = np.sqrt(square)
            if kernel.scale == "unit":
                c = safe_reciprocal(norm)
            elif kernel.scale == "given":
                c = given_node_scale(graph)
            else:
                c = safe_reciprocal(A_hat.sum(axis=1)) if kernel.scale == "degree" else np.ones(len(X))
            B = [c[:, None] * relation for relation in relations]
            p = np.sqrt((1 - kernel.residual) * (c * norm) ** 2 + kernel.residual * np.diag(sigma_0))
            operators.append(B)
            norms.append(p)
            sigma = (1 - kernel.residual) * _kron_apply(B, B, sigma) + kernel.residual * sigma_0
            for r in range(kernel.layers):
                lam, pp = _cosine(sigma, p * half_c_phi ** (r / 2), p * half_c_phi ** (r / 2))
                sigma = half_c_phi * pp * kappa1(lam, linear)
        return _Graph(kernel, X, operators, norms)

    def build_nodes(self, state: GroupwiseState, batch: GraphBatch) -> list[_Graph]:
        """Return a single graph that is read out node by node."""
        return _NodeByNode(self.build_group(state, np.arange(len(batch))))

    def tile_readouts(self, rows: list[_Graph], cols: list[_Graph], cancelled: CancelFlag | None = None) -> Array:  # noqa: ARG002
        """Return all levels for every pair of graphs; a tile that fits in memory is too short to be cancelled."""
        if isinstance(rows, _NodeByNode):
            return np.stack([self.pair(rows[0], h) for h in cols], axis=2)
        kernel = (rows or cols)[0].kernel
        out = np.empty((kernel.blocks + 1, len(rows), len(cols)))
        for i, g in enumerate(rows):
            for j, h in enumerate(cols):
                out[:, i, j] = self.pair(g, h).sum(axis=1)
        return out

    def pair(self, g: _Graph, h: _Graph) -> Array:
        """Return Σ_v K(l)_uv, or Σ_v Σ(l)_uv for an NNGP, for l = 0..L and every node u, shape (L + 1, N)."""
        self._check_size(len(g.X), len(h.X))
        kernel = g.kernel
        half_c_phi, linear = kernel.c_phi / 2, linear_share(kernel)
        sigma = keep_shared_columns(g.X, h.X) @ h.X.T
        sigma_0, K = sigma, sigma.copy()
        readouts = [K.sum(axis=1)]
        for block in range(kernel.blocks):
            B, B_prime = g.B[block], h.B[block]
            sigma = (1 - kernel.residual) * _kron_apply(B, B_prime, sigma) + kernel.residual * sigma_0
            K = (1 - kernel.residual) * _kron_apply(B, B_prime, K) + kernel.residual * sigma_0
            for r in range(kernel.layers):
                shrink = half_c_phi ** (r / 2)  # the norms after r layers, κ1(1) being 1
                lam, pp = _cosine(sigma, g.p[block] * shrink, h.p[block] * shrink)
                sigma = half_c_phi * pp * kappa1(lam, linear)
                K = K * half_c_phi * kappa0(lam, linear) + sigma
            readouts.append((K if kernel.tangent else sigma).sum(axis=1))
        return np.array(readouts)

    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Count the Kronecker product and a few matrices of the pair."""
        pairs = rows.n_nodes * cols.n_nodes
        return 8 * pairs * (pairs + 8)

    def _check_size(self, n: int, m: int) -> None:
        if self.tile_bytes(Extent(n), Extent(m)) > _MAX_BYTES:
            raise InputError(
                f"engine='kronecker' would form a matrix of {n * m} × {n * m} for two graphs of {n} and {m} nodes; "
                "use engine='decoupled', which gives the same values."
            )


def _kron_apply(B: list[Array], B_prime: list[Array], matrix: Array) -> Array:
    """Apply Σ_r B_r ⊗ B'_r."""
    product = sum(np.kron(B_r, B_prime_r) for B_r, B_prime_r in shared_relations(B, B_prime))
    return np.asarray(product @ matrix.ravel()).reshape(matrix.shape)


def _cosine(sigma: Array, p: Array, p_prime: Array) -> tuple[Array, Array]:
    """Return λ (0 where a norm is 0) and the products of norms."""
    pp = np.outer(p, p_prime)
    return np.divide(sigma, pp, out=np.zeros_like(sigma), where=pp > 0), pp
