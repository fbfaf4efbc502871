"""Graph layout: each component by stress majorisation or springs, then all components side by side."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.graphs import Graph

__all__ = ["place_nodes"]

_GAP = 1.0  # between components, in lengths of an edge
_ASPECT = 1.8  # how much wider than high the packed components should be
_MIN_DISTANCE = 0.5  # how near most nodes may come to each other, in lengths of an edge
_STRESS_NODES = 500  # up to here springs between all pairs take seconds; beyond, too long
_ROUNDS = 150


def place_nodes(graph: Graph) -> Array:
    """Return positions of nodes (N, 2), with edges of length about 1.

    The result is deterministic. Directions and weights of edges are ignored.
    """
    try:  # for every graph, though stars and trees could be drawn without it
        import networkx  # noqa: F401
    except ImportError:
        raise InputError("drawing graphs needs networkx; install it with: pip install 'fastgntk[report]'.") from None
    pattern = graph.adjacency
    pattern.data[:] = 1.0
    pattern = sparse.csr_array(pattern + pattern.T)
    pattern.data[:] = 1.0
    n_components, component = csgraph.connected_components(pattern, directed=False)
    members = [np.flatnonzero(component == i) for i in range(n_components)]
    parts = [_place_component(pattern[nodes][:, nodes]) for nodes in members]
    points = np.empty((graph.n_nodes, 2))
    for nodes, part, corner in zip(members, parts, _pack(parts), strict=True):
        points[nodes] = part + corner
    return points


def _place_component(pattern: Any) -> Array:
    """Place one component, with its lower left corner at 0 and its principal axis horizontal."""
    if pattern.shape[0] == 1:
        return np.zeros((1, 2))
    points: Array = _spring_layout(pattern) if pattern.shape[0] > _STRESS_NODES else _stress_layout(pattern)
    points = points - points.mean(axis=0)
    points = points @ np.linalg.svd(points, full_matrices=False)[2].T
    row, column = pattern.nonzero()
    length = float(np.median(np.linalg.norm(points[row] - points[column], axis=1)))
    nearest = float(np.quantile(cKDTree(points).query(points, k=2)[0][:, 1], 0.1))
    # Enlarge crowded layouts, but within limits: some nodes may coincide.
    points = points / float(np.clip(nearest / _MIN_DISTANCE, length / 6, length))
    return np.asarray(points - points.min(axis=0))


def _spring_layout(pattern: Any) -> Array:
    """Place nodes by the force-directed layout of Fruchterman and Reingold."""
    import networkx as nx

    positions = nx.spring_layout(nx.from_scipy_sparse_array(pattern), weight=None, seed=0)
    return np.array([positions[node] for node in range(len(positions))], dtype=np.float64)


def _stress_layout(pattern: Any) -> Array:
    """Place nodes by stress majorisation, which avoids the folds of a spring layout."""
    distances = csgraph.shortest_path(pattern, unweighted=True)
    radial = _radial_layout(pattern, int(distances.max(axis=1).argmin()))
    is_tree = pattern.nnz == 2 * (len(radial) - 1)
    if is_tree and distances.max() <= 2:  # a star: one ring is optimal
        return radial
    # The radial layout of a tree has no crossings; other graphs may do better from another start.
    starts = [radial] if is_tree else [_spring_layout(pattern), radial]
    return min((_majorise(start, distances) for start in starts), key=lambda points: _stress(points, distances))


def _radial_layout(pattern: Any, middle: int) -> Array:
    """Return a radial layout around one node; trees have no crossings.

    Each node gets a sector in proportion to the number of leaves beyond it.
    """
    n_nodes = pattern.shape[0]
    order, parent = csgraph.breadth_first_order(pattern, middle, directed=False)
    leaves = np.zeros(n_nodes)
    for node in order[::-1]:
        leaves[node] = max(leaves[node], 1.0)
        if parent[node] >= 0:
            leaves[parent[node]] += leaves[node]
    start, used, depth = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    for node in order[1:]:
        above = parent[node]
        start[node] = start[above] + used[above]
        used[above] += leaves[node]
        depth[node] = depth[above] + 1
    angle = (start + leaves / 2) * (2 * np.pi / leaves[order[0]])
    return np.asarray(depth[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


def _majorise(points: Array, distances: Array) -> Array:
    """Minimise the stress by majorisation (Gansner, Koren and North, Graph Drawing by Stress Majorization, 2004)."""
    weights = _stress_weights(distances)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian, hermitian=True)
    for _ in range(_ROUNDS):
        pulls = -weights * distances / np.maximum(cdist(points, points), 1e-9)
        np.fill_diagonal(pulls, 0.0)
        np.fill_diagonal(pulls, -pulls.sum(axis=1))
        points = inverse @ (pulls @ points)
    return points


def _stress(points: Array, distances: Array) -> float:
    return float((_stress_weights(distances) * (cdist(points, points) - distances) ** 2).sum())


def _stress_weights(distances: Array) -> Array:
    weights = np.zeros_like(distances)
    np.divide(1.0, distances**2, out=weights, where=distances > 0)
    return weights


def _pack(parts: list[Array]) -> list[Array]:
    """Return the lower left corner of each component: rows from the top, tallest first."""
    sizes = np.array([part.max(axis=0) + _GAP for part in parts])
    target = max(float(sizes[:, 0].max()), float(np.sqrt(_ASPECT * sizes.prod(axis=1).sum())))
    rows: list[list[int]] = []
    used = np.inf
    for i in sorted(range(len(parts)), key=lambda i: (-sizes[i, 1], -sizes[i, 0], i)):
        if used + sizes[i, 0] > target * (1 + 1e-9):
            rows.append([])
            used = 0.0
        rows[-1].append(i)
        used += sizes[i, 0]
    corners: list[Array] = [np.zeros(2)] * len(parts)
    top = 0.0
    for row in rows:
        height, left = float(sizes[row, 1].max()), -float(sizes[row, 0].sum()) / 2
        for i in row:
            corners[i] = np.array([left, top - (height + sizes[i, 1]) / 2])
            left += sizes[i, 0]
        top -= height
    return corners
