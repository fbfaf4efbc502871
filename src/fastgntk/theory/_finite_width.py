"""The network at finite width: forward and backward pass written out.

In block l each node sums its closed neighbourhood, a_u = c_u Σ_v Â_uv h_v, and goes through R layers

    h ← sqrt(c_φ / m) relu(W h),      W of shape (m, m_in), entries standard normal,

(for other activations φ in place of relu, divided by the root of 1 + s², s being the slope of φ at negative arguments)

(with typed edges the first of them has a matrix W_r for the node itself and for each type of edge:
h_u ← sqrt(c_φ / m) relu(c_u Σ_r W_r Σ_v (A_r)_uv h_v))

(with a residual connection α the first of them has a matrix W_0 for the features x too:
h_u ← sqrt(c_φ / m) relu(√(1 − α) W a_u + √α W_0 x_u))

and the readout is f(G) = wᵀ Σ_u h_u(L), or with jump Σ_l w_lᵀ Σ_u h_u(l) with its own w_l for each level; with
``pool="mean"`` the sums over u are divided by the number of nodes. All W and all w are trained. The tangent kernel
⟨∇f(G), ∇f(G')⟩ at random weights tends to the recursion of :mod:`fastgntk.kernels` as the width m grows, with an error
of order 1/sqrt(m). The network as printed by Jiang et al. lacks the w; without it the limit is another one. For a
kernel that is an NNGP the covariance of f(G) and f(G') over w is computed instead, Σ_l ⟨Σ_u h_u(l), Σ_v h_v(l)⟩.

Gradients are never formed. For a layer with input a_u and backward signal δ_u (both per node),
∂f/∂W = Σ_u δ_u a_uᵀ, so its part of the kernel is Σ_uv ⟨δ_u, δ'_v⟩ ⟨a_u, a'_v⟩.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array
from fastgntk.engines import check_graphs
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures, as_graphs
from fastgntk.kernels import Network

__all__ = ["finite_width_gram"]


def finite_width_gram(source: Any, kernel: Network, width: int, *, draws: int = 1, random_state: int = 0) -> Array:
    """Compute the tangent kernel of randomly initialised networks of finite width, averaged over ``draws``.

    If the kernel is an :class:`NNGP`, compute the covariance of the outputs of these networks instead.

    ``scale="unit"`` has no network with fixed weights behind it at finite width: there c_u is taken from each
    drawn network, 1 / ‖a_u‖ in units of its own layer.

    Parameters
    ----------
    source : anything that :func:`fastgntk.as_graphs` accepts, n graphs
    width : int
        Neurons m in every hidden layer.
    draws : int
        Number of networks to average over.

    Returns
    -------
    array of shape (n, n)
    """
    if width < 1 or draws < 1:
        raise InputError(f"width and draws must be 1 or more, but are {width} and {draws}.")
    batch = NodeFeatures(kernel.features).fit_transform(as_graphs(source))
    if kernel.uses_node_scale or kernel.symmetric:
        check_graphs(batch, kernel)
    X = batch.features.toarray() if sparse.issparse(batch.features) else batch.features
    parts = _aggregation_operators(batch, kernel)
    owner = np.eye(len(batch))[:, batch.graph_of_node]  # (n, N), 1 where node u belongs to graph i
    if kernel.pool == "mean":
        owner = owner / np.maximum(batch.sizes, 1)[:, None]
    rng = np.random.default_rng(random_state)
    total = np.zeros((len(batch), len(batch)))
    for _ in range(draws):
        passes = _forward(X, parts, kernel, width, rng, batch.node_scale)
        total += _tangent(passes, parts, kernel, owner) if kernel.tangent else _covariance(passes, kernel, owner)
    return total / draws


def _aggregation_operators(batch: GraphBatch, kernel: Network) -> list[Any]:
    """Return the operators of aggregation: closed neighbourhoods, or the node itself and neighbours by type of edge."""
    adjacency = batch.adjacency()
    itself = kernel.self_weight * sparse.eye_array(batch.n_nodes, format="csr")
    if kernel.symmetric:
        D = np.asarray((adjacency + itself).sum(axis=1)).ravel()
        c = np.divide(1.0, np.sqrt(D), out=np.zeros_like(D), where=D > 0)
        weights = adjacency.data * np.repeat(c, np.diff(adjacency.indptr)) * c[adjacency.indices]
        adjacency = sparse.csr_array((weights, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
        itself = itself * c**2
    if kernel.edges == "plain":
        return [adjacency + itself]
    parts = [itself]
    if batch.edge_labels is not None:
        for kind in np.unique(batch.edge_labels):
            weights = np.where(batch.edge_labels == kind, adjacency.data, 0.0)
            parts.append(sparse.csr_array((weights, adjacency.indices, adjacency.indptr), shape=adjacency.shape))
    return parts


@dataclass
class _Passes:
    """Values of the forward pass that the backward pass needs."""

    weights: list[list[Array]]  # W of block l, layer r
    inputs: list[list[Array]]  # a or h before that layer, (N, m_in)
    active: list[list[Array]]  # the derivative of the activation, (N, m)
    scales: list[Array]  # c_u of block l, (N,)
    levels: list[Array]  # h(l), l = 0..L
    readout: list[Array]  # w_l, l = 0..L; without jump only the last is used


def _forward(
    X: Array,
    parts: list[Any],
    kernel: Network,
    width: int,
    rng: np.random.Generator,
    node_scale: Array | None = None,
) -> _Passes:
    passes = _Passes([], [], [], [], [X], [rng.standard_normal((X.shape[1],))])
    h = X
    for _ in range(kernel.blocks):
        h = np.hstack([part @ h for part in parts])  # one W for all of it has a W_r for each part
        norms = np.linalg.norm(h, axis=1)
        if kernel.scale == "degree":
            sums = np.sum([np.asarray(part.sum(axis=1)).ravel() for part in parts], axis=0)
            c = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
        elif kernel.scale == "unit":
            c = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        else:
            c = node_scale if kernel.uses_node_scale and node_scale is not None else np.ones(len(h))
        h = np.sqrt(1.0 - kernel.residual) * c[:, None] * h
        if kernel.has_residual:  # again one W for all of it
            h = np.hstack([h, np.sqrt(kernel.residual) * X])
        weights, inputs, active = [], [], []
        for _ in range(kernel.layers):
            W = rng.standard_normal((width, h.shape[1]))
            before = h @ W.T
            weights.append(W)
            inputs.append(h)
            active.append(np.where(before > 0, 1.0, kernel.slope))
            h = _layer_factor(kernel, width) * before * active[-1]
        passes.weights.append(weights)
        passes.inputs.append(inputs)
        passes.active.append(active)
        passes.scales.append(c)
        passes.levels.append(h)
        passes.readout.append(rng.standard_normal((width,)))
    return passes


def _layer_factor(kernel: Network, width: int) -> float:
    """Return the factor sqrt(c_φ / m), divided by the root of 1 + s² for an activation with another slope s than 0."""
    return float(np.sqrt(kernel.c_phi / width / (1.0 + kernel.slope**2)))


def _covariance(passes: _Passes, kernel: Network, owner: Array) -> Array:
    """Return the covariance of the outputs over the readout w_l, the part of w_l in the tangent kernel."""
    out = np.zeros((len(owner), len(owner)))
    for level, h in enumerate(passes.levels):
        pooled = owner @ h  # ∂f/∂w_l, but for the root of the level's weight
        out += kernel.level_weights[level] * (pooled @ pooled.T)
    return out


def _tangent(passes: _Passes, parts: list[Any], kernel: Network, owner: Array) -> Array:
    """Sum ⟨∇f(G), ∇f(G')⟩ over all parameters, for all pairs of graphs."""
    K = _covariance(passes, kernel, owner)
    delta = np.zeros_like(passes.levels[-1])  # ∂f/∂h_u, from the top down
    for level in range(kernel.blocks, 0, -1):
        delta = delta + np.sqrt(kernel.level_weights[level]) * passes.readout[level]
        width = passes.levels[level].shape[1]
        for r in range(kernel.layers - 1, -1, -1):
            signal = _layer_factor(kernel, width) * delta * passes.active[level - 1][r]
            inputs = passes.inputs[level - 1][r]
            K += owner @ ((signal @ signal.T) * (inputs @ inputs.T)) @ owner.T
            delta = signal @ passes.weights[level - 1][r]
        if kernel.has_residual:  # the features have no weights below them
            delta = delta[:, : -passes.levels[0].shape[1]]
        delta = np.sqrt(1.0 - kernel.residual) * passes.scales[level - 1][:, None] * delta
        each = np.split(delta, len(parts), axis=1)
        delta = np.sum([part.T @ signal for part, signal in zip(parts, each, strict=True)], axis=0)
    return K
