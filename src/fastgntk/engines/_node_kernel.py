"""The kernel between nodes of one graph, some columns at a time.

K(l) of a column v needs Σ(l − 1) and K(l − 1) of the columns in its closed neighbourhood, and so on down to the
features: columns C_L = S, C_(l−1) = N[C_l]. Columns can therefore be computed independently once the norms are known.
The norms of level l need the diagonal of Â Σ(l − 1) Âᵀ, for which one matrix N × N is updated in place. As in
`_lossless` everything is normalised by p_out, the norms after the layers.
"""

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines._activation import block_gain, kappa1, kappas, linear_share
from fastgntk.engines._aggregation import Aggregation, add_up, aggregate_features, multiply_directions
from fastgntk.engines._base import compiled_code_runs
from fastgntk.engines._norms import mixing_factors, scale_rows, to_dense, unit_rows
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Network

__all__ = ["NodePairs"]

_PANEL = 512  # rows of N × N that are in progress at a time


class NodePairs:
    """One graph with N nodes, ready for :meth:`columns`; most of the time goes into the norms."""

    def __init__(self, batch: GraphBatch, kernel: Network) -> None:
        self.kernel, self.size = kernel, batch.n_nodes
        self._X = batch.features
        aggregation = Aggregation(batch, **kernel.operator_options)
        self._relations = [relation.matrix for relation in aggregation.relations]
        self._pattern = aggregation.magnitude
        self._directions, q = aggregate_features(self._relations, self._X)
        self._unit, self._feature_norms = unit_rows(self._X)
        self._neighbour_factor, self._initial_factor, self._p_out = np.zeros((3, kernel.blocks, self.size))
        self._measure(aggregation, q)

    def columns(self, chosen: Ints) -> Array:
        """Return the kernel of every node with the chosen ones, shape (len(chosen), N)."""
        kernel = self.kernel
        needed = self.needed(chosen)
        out = np.zeros((len(chosen), self.size))
        if kernel.level_weights[0]:
            out += kernel.level_weights[0] * to_dense(self._X[chosen] @ self._X.T)
        lam = multiply_directions([relation[needed[0]] for relation in self._directions], self._directions)
        if kernel.has_residual:
            lam += self._initial(0, needed[0])
        theta = lam.copy() if kernel.tangent else None
        for level, nodes in enumerate(needed):
            if level:
                outer = np.multiply.outer(self._neighbour_factor[level, nodes], self._neighbour_factor[level])
                lam = self._aggregate(lam, needed[level - 1], nodes)
                lam *= outer
                if theta is not None:
                    theta = self._aggregate(theta, needed[level - 1], nodes)
                    theta *= outer
                if kernel.has_residual:
                    initial = self._initial(level, nodes)
                    lam += initial
                    if theta is not None:
                        theta += initial
            lam, theta = _apply_layers(lam, theta, kernel)
            norms = np.multiply.outer(self._p_out[level, nodes], self._p_out[level])
            if theta is not None:
                theta *= norms
            if theta is None or level + 1 < kernel.blocks:
                lam *= norms
            if kernel.level_weights[level + 1]:
                read = lam if theta is None else theta
                out += kernel.level_weights[level + 1] * read[np.searchsorted(nodes, chosen)]
        if kernel.pool == "mean":
            out /= float(self.size) ** 2
        return out

    def needed(self, chosen: Ints) -> list[Ints]:
        """Return the columns that are needed at each level 1..L, sorted."""
        sets = [np.unique(chosen)]
        for _ in range(self.kernel.blocks - 1):
            neighbours = self._pattern[sets[-1]].indices
            # The nodes themselves too, which are read out: with self_weight=0 the pattern lacks them.
            sets.append(np.union1d(sets[-1], neighbours).astype(np.int64))
        return sets[::-1]

    def _aggregate(self, matrix: Array, old: Ints, new: Ints) -> Array:
        """Return Σ_r B_r M B_rᵀ on rows ``new``, from rows ``old`` of M."""
        return add_up((relation @ (relation[new][:, old] @ matrix).T).T for relation in self._relations)

    def _initial(self, level: int, rows: Ints | slice) -> Array:
        """Return g_u g_v ⟨x̂_u, x̂_v⟩ of some rows, the term of the residual connection."""
        outer = np.multiply.outer(self._initial_factor[level, rows], self._initial_factor[level])
        return np.asarray(outer * multiply_directions([self._unit[rows]], [self._unit]))

    def _measure(self, aggregation: Aggregation, q: Array) -> None:
        """Compute the norms of every level, from Σ of all pairs."""
        kernel = self.kernel
        previous = self._feature_norms
        sigma = np.empty((0, 0))
        for level in range(kernel.blocks):
            if level == 1:
                sigma = np.empty((self.size, self.size))
                for rows in self._panels():
                    sigma[rows] = multiply_directions(
                        [relation[rows] for relation in self._directions], self._directions
                    )
            if level and kernel.has_residual:
                for rows in self._panels():
                    sigma[rows] += self._initial(level - 1, rows)
            if level:
                for rows in self._panels():  # from λ before the layers of the level below to Σ after them
                    lam = sigma[rows]
                    for _ in range(kernel.layers):
                        lam = kappa1(lam, linear_share(kernel))
                    sigma[rows] = lam * np.multiply.outer(previous[rows], previous)
                q = np.sqrt(np.maximum(self._aggregated_diagonal(sigma), 0.0))
            q, scaled = aggregation.scaled_norms(q, previous, kernel, squared=level > 0)
            self._neighbour_factor[level], self._initial_factor[level], p = mixing_factors(
                q, scaled, self._feature_norms, kernel
            )
            if level == 0 and kernel.has_residual:
                self._directions = [
                    scale_rows(relation, self._neighbour_factor[0] * q) for relation in self._directions
                ]
            self._p_out[level] = previous = block_gain(kernel) * p
            if 0 < level < kernel.blocks - 1:
                sigma = self._next(sigma, self._neighbour_factor[level])

    def _aggregated_diagonal(self, sigma: Array) -> Array:
        """Return the diagonal of Σ_r B_r Σ B_rᵀ."""
        out = np.zeros(self.size)
        for relation in self._relations:
            for rows in self._panels():
                out[rows] += np.asarray(relation[rows].multiply(relation[rows] @ sigma).sum(axis=1)).ravel()
        return out

    def _next(self, sigma: Array, neighbour_factor: Array) -> Array:
        """Return λ of the next level; overwrites Σ if there is one relation."""
        if len(self._relations) == 1:
            B = self._relations[0]
            for rows in self._panels():  # Σ is symmetric: its rows are its columns
                sigma[:, rows] = B @ np.ascontiguousarray(sigma[:, rows])
            for rows in self._panels():
                sigma[rows] = (B @ np.ascontiguousarray(sigma[rows].T)).T
            out = sigma
        else:
            out = np.empty_like(sigma)
            for rows in self._panels():
                out[rows] = add_up((relation @ (relation[rows] @ sigma).T).T for relation in self._relations)
        out *= neighbour_factor[:, None]
        out *= neighbour_factor
        return out

    def _panels(self) -> list[slice]:
        return [slice(start, min(start + _PANEL, self.size)) for start in range(0, self.size, _PANEL)]


def _apply_layers(lam: Array, theta: Array | None, kernel: Network) -> tuple[Array, Array | None]:
    """Return λ, and θ if it is given, after the layers of a block."""
    layers, linear = kernel.layers, linear_share(kernel)
    if not compiled_code_runs():
        k0, work = np.empty_like(lam), np.empty_like(lam)
        for _ in range(layers):
            kappas(lam, k0, lam, work, linear)
            if theta is not None:
                theta *= k0
                theta += lam
        return lam, theta
    from fastgntk.engines._simd._intrinsics import LANES, apply_layers

    entries = lam.size
    # The loops process whole panels; the padding is computed too, and ignored.
    flat = np.zeros((2, -(-entries // LANES) * LANES))
    flat[0, :entries] = lam.ravel()
    if theta is None:
        apply_layers(flat[0], None, entries, layers, linear or None)
        return flat[0, :entries].reshape(lam.shape), None
    flat[1, :entries] = theta.ravel()
    apply_layers(flat[0], flat[1], entries, layers, linear or None)
    return flat[0, :entries].reshape(lam.shape), flat[1, :entries].reshape(lam.shape)
