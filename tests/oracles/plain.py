"""The recursion with Python floats and loops, one node pair after another. Slow, and nothing but the definition."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fastgntk import NNGP, Graph
from fastgntk.kernels import Network

Neighbours = dict[tuple[str, int], float]
"""The weight of each neighbour, by type of edge and number."""


def reference_gram(graphs: list[Graph], features: list[list[list[float]]], kernel: Network) -> list[list[float]]:
    """Return the Gram matrix; features[i][u] is the feature row of node u of graph i."""
    return [
        [reference_kernel(graphs[i], features[i], graphs[j], features[j], kernel) for j in range(len(graphs))]
        for i in range(len(graphs))
    ]


def reference_kernel(g: Graph, x: list[list[float]], h: Graph, y: list[list[float]], kernel: Network) -> float:
    return math.fsum(node_contributions(g, x, h, y, kernel))


def node_contributions(g: Graph, x: list[list[float]], h: Graph, y: list[list[float]], kernel: Network) -> list[float]:
    """Return for each node of g what it adds to the kernel."""
    levels = reference_levels(g, x, h, y, kernel)
    weights = list(kernel.jump) if isinstance(kernel.jump, tuple) else [float(kernel.jump)] * kernel.blocks + [1.0]
    pairs = len(x) * len(y) if kernel.pool == "mean" else 1
    parts = [math.fsum(w * level[u] for w, level in zip(weights, levels, strict=True)) for u in range(len(x))]
    return [part / pairs if pairs else 0.0 for part in parts]


def reference_levels(
    g: Graph, x: list[list[float]], h: Graph, y: list[list[float]], kernel: Network
) -> list[list[float]]:
    """Return for each level and each node u of g the sum Σ_v K(l)_uv, or Σ_v Σ(l)_uv for a Gaussian process."""
    a, b = _closed_neighbourhoods(g, kernel), _closed_neighbourhoods(h, kernel)
    own_g, own_h = _own_norms(a, x, kernel, g.node_scale), _own_norms(b, y, kernel, h.node_scale)
    sigma = [[_dot(u, v) for v in y] for u in x]
    theta, levels_0 = [row[:] for row in sigma], [row[:] for row in sigma]
    levels = [[math.fsum(row) for row in theta]]
    for block in range(kernel.blocks):
        c, norm_g = own_g[block]
        d, norm_h = own_h[block]
        sigma = _mix(_aggregate(a, c, sigma, b, d), levels_0, kernel.residual)
        theta = _mix(_aggregate(a, c, theta, b, d), levels_0, kernel.residual)
        for r in range(kernel.layers):
            shrink = (kernel.c_phi / 2) ** r  # the product of two norms after r layers
            for u in range(len(a)):
                for v in range(len(b)):
                    pp = norm_g[u] * norm_h[v] * shrink
                    lam = max(-1.0, min(1.0, sigma[u][v] / pp)) if pp > 0 else 0.0
                    slope, product = _expectations(lam, kernel)
                    sigma[u][v] = kernel.c_phi / 2 * pp * product
                    theta[u][v] = theta[u][v] * kernel.c_phi / 2 * slope + sigma[u][v] if pp > 0 else 0.0
        levels.append([math.fsum(row) for row in (sigma if isinstance(kernel, NNGP) else theta)])
    return levels


def _own_norms(
    a: list[Neighbours], x: list[list[float]], kernel: Network, given: Sequence[float] | None
) -> list[tuple[list[float], list[float]]]:
    """Return for each block the scale c and the norm p of every node, from the graph against itself.

    ``given`` is the scale of each node for ``scale="given"``.
    """
    sigma = [[_dot(u, v) for v in x] for u in x]
    n, features = len(a), [row[:] for row in sigma]
    out = []
    for _ in range(kernel.blocks):
        raw = _aggregate(a, [1.0] * n, sigma, a, [1.0] * n)
        size = []
        for u in range(n):
            bound = sum(abs(w) * math.sqrt(max(sigma[v][v], 0.0)) for (_, v), w in a[u].items())
            size.append(math.sqrt(raw[u][u]) if raw[u][u] > 1e-14 * bound * bound else 0.0)
        if kernel.scale in ("uniform", "symmetric"):  # the latter is in the weights
            c = [1.0] * n
        elif kernel.scale == "degree":
            c = [1.0 / sum(row.values()) if any(row.values()) else 0.0 for row in a]
        elif kernel.scale == "given":
            c = [float(value) for value in given]
        else:
            c = [1.0 / s if s > 0 else 0.0 for s in size]
        sigma = _mix(_aggregate(a, c, sigma, a, c), features, kernel.residual)
        p = [
            math.sqrt((1 - kernel.residual) * (c[u] * size[u]) ** 2 + kernel.residual * features[u][u])
            for u in range(n)
        ]
        out.append((c, p))
        for r in range(kernel.layers):
            for u in range(n):
                for v in range(n):
                    pp = p[u] * p[v] * (kernel.c_phi / 2) ** r
                    lam = max(-1.0, min(1.0, sigma[u][v] / pp)) if pp > 0 else 0.0
                    sigma[u][v] = kernel.c_phi / 2 * pp * _expectations(lam, kernel)[1]
    return out


def _expectations(lam: float, kernel: Network) -> tuple[float, float]:
    """Return E φ'(z) φ'(z') and E φ(z) φ(z'), divided by E φ(z)², for standard normal z and z' of correlation λ.

    φ(z) = relu(z) − s relu(−z) gives four expectations of the positive parts of z or −z times those of z' or −z'.
    """
    s = {"relu": 0.0, "leaky": 0.2, "abs": -1.0, "linear": 1.0}[kernel.activation]
    same = (math.pi - math.acos(lam)) / (2 * math.pi)  # z and z' are positive
    opposite = math.acos(lam) / (2 * math.pi)  # z and −z' are
    sine = math.sqrt(max(0.0, (1 - lam) * (1 + lam))) / (2 * math.pi)
    derivative = same + 2 * s * opposite + s * s * same
    product = (lam * same + sine) - 2 * s * (sine - lam * opposite) + s * s * (lam * same + sine)
    return derivative * 2 / (1 + s * s), product * 2 / (1 + s * s)


def _closed_neighbourhoods(g: Graph, kernel: Network) -> list[Neighbours]:
    """Return for each node what it sums over, with weights: its neighbours and itself, each with the type of edge."""
    typed = kernel.edges == "typed"
    out = []
    for u in range(g.n_nodes):
        row: Neighbours = {}
        for k in range(int(g.indptr[u]), int(g.indptr[u + 1])):
            kind = str(g.edge_labels[k]) if typed else "any"
            row[kind, int(g.indices[k])] = 1.0 if g.weights is None else float(g.weights[k])
        row["itself" if typed else "any", u] = kernel.self_weight
        out.append(row)
    if kernel.scale == "symmetric":
        degree = [math.fsum(row.values()) for row in out]
        for u, row in enumerate(out):
            for kind, v in row:
                row[kind, v] *= 1.0 / math.sqrt(degree[u] * degree[v]) if degree[u] and degree[v] else 0.0
    return out


def _aggregate(
    a: list[Neighbours], c: list[float], matrix: list[list[float]], b: list[Neighbours], d: list[float]
) -> list[list[float]]:
    return [
        [
            c[u]
            * d[v]
            * math.fsum(w * z * matrix[s][t] for (k, s), w in a[u].items() for (m, t), z in b[v].items() if k == m)
            for v in range(len(b))
        ]
        for u in range(len(a))
    ]


def _mix(matrix: list[list[float]], features: list[list[float]], share: float) -> list[list[float]]:
    return [
        [(1 - share) * value + share * initial for value, initial in zip(row, first, strict=True)]
        for row, first in zip(matrix, features, strict=True)
    ]


def _dot(u: list[float], v: list[float]) -> float:
    return math.fsum(p * q for p, q in zip(u, v, strict=True))
