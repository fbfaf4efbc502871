"""Classes of nodes in a block model: time, peak memory and accuracy, beside label propagation.

Run: python benchmarks/nodes.py [--nodes 20000] [--labelled 200] [--memory 3.9GB] [BLOCKS ...]

Four communities; a node has twelve neighbours on average, four fifths of them drawn from its own community. Nodes carry
their number. Peak memory is that of the whole process so far, so list fewer blocks first.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import fastgntk as fg

COMMUNITIES, EDGES_PER_NODE, OWN = 4, 6, 0.8


def network(n: int, seed: int = 0) -> tuple[fg.Graph, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    each = n // COMMUNITIES
    community = np.minimum(np.arange(n) // each, COMMUNITIES - 1)
    u = rng.integers(0, n, EDGES_PER_NODE * n)
    inside = community[u] * each + rng.integers(0, each, len(u))
    v = np.where(rng.random(len(u)) < OWN, inside, rng.integers(0, n, len(u)))
    edges = np.column_stack([u, v])[u != v]
    return fg.Graph.from_edges(edges, n, sparse.eye_array(n, format="csr")), community


def propagated(graph: fg.Graph, community: NDArray[np.int64], labelled: NDArray[np.int64], alpha: float) -> float:
    """Return the accuracy of label propagation (Zhou et al. 2004), F ← α S F + (1 − α) Y until it converges."""
    A = sparse.csr_array(fg.as_graphs([graph]).adjacency())
    root = np.sqrt(np.maximum(A.sum(axis=1), 1.0))
    S = sparse.diags_array(1 / root) @ A @ sparse.diags_array(1 / root)
    Y = np.zeros((len(community), COMMUNITIES))
    Y[labelled, community[labelled]] = 1.0
    F = Y.copy()
    for _ in range(2_000):
        F, last = alpha * (S @ F) + (1 - alpha) * Y, F
        if np.abs(F - last).max() < 1e-12:
            break
    rest = np.setdiff1d(np.arange(len(community)), labelled)
    return float(np.mean(F[rest].argmax(axis=1) == community[rest]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("blocks", nargs="*", type=int, default=[1, 2, 3])
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--labelled", type=int, default=200)
    parser.add_argument("--memory", default="3.9GB")
    args = parser.parse_args()
    graph, community = network(args.nodes)
    labelled = np.random.default_rng(1).choice(args.nodes, args.labelled, replace=False)
    rest = np.setdiff1d(np.arange(args.nodes), labelled)
    for alpha in (0.5, 0.9, 0.99):
        accuracy = propagated(graph, community, labelled, alpha)
        print(f"label propagation, α = {alpha:4}   accuracy {100 * accuracy:5.1f} %", flush=True)
    for blocks in args.blocks:
        start = time.perf_counter()
        model = fg.NodeClassifier(fg.GNTK(blocks, 1, "unit"), compute=fg.Compute(max_memory=args.memory))
        model.fit(graph, community, labelled)
        took = time.perf_counter() - start
        accuracy = float(np.mean(model.predict(rest) == community[rest]))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"GNTK, {blocks} block(s)   accuracy {100 * accuracy:5.1f} %   fit {took:6.1f} s   peak {peak:.2f} GB",
            flush=True,
        )


if __name__ == "__main__":
    main()
