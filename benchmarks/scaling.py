"""How time grows: with graphs, nodes, depth, density and distinct colours; and what a tile spends its time on.

Run: python benchmarks/scaling.py [graphs] [nodes] [depth] [density] [colours] [refinement] [floor]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from _common import best_of

import fastgntk as fg
from fastgntk.engines import layer_nanoseconds, refine_colours

KERNEL = fg.GNTK(blocks=3, layers=1)


def random_graphs(count: int, nodes: int, degree: float = 4.0, kinds: int = 5, seed: int = 0) -> fg.GraphBatch:
    """Random graphs; ``kinds`` = 0 gives every node features of its own, so that nothing is merged."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        edges = rng.integers(0, nodes, (int(nodes * degree / 2), 2))
        edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
        if kinds:
            out.append(fg.Graph.from_edges(edges, nodes, labels=rng.integers(0, kinds, nodes)))
        else:
            out.append(fg.Graph.from_edges(edges, nodes, rng.standard_normal((nodes, 3))))
    return fg.as_graphs(out)


def row(what: str, batch: fg.GraphBatch, kernel: fg.GNTK = KERNEL) -> None:
    """Print the time of both engines and the lossless time per pair of nodes and of distinct nodes."""
    cost = fg.estimate_cost(batch, kernel, compute=fg.Compute("lossless", n_jobs=1))
    fast = best_of(lambda: fg.gram(batch, kernel, compute=fg.Compute("lossless", n_jobs=1)))
    slow = best_of(lambda: fg.gram(batch, kernel, compute=fg.Compute("decoupled", n_jobs=1)), repeat=1)
    distinct = sum(cost.leaves[0].pairs)
    print(
        f"{what:28}{fast:9.3f} s{slow:10.3f} s{slow / fast:8.1f}×{fast / (cost.node_pairs * kernel.blocks) * 1e9:10.2f}"
        f"{fast / max(distinct, 1) * 1e9:12.2f}{cost.seconds / fast:10.2f}"
    )


def header(title: str) -> None:
    print(f"\n{title}")
    print(f"{'':28}{'lossless':>11}{'decoupled':>12}{'ratio':>9}{'ns/pair':>10}{'ns/distinct':>12}{'estimate':>10}")


def graphs() -> None:
    header("number of graphs n, 30 nodes each (quadratic)")
    for n in (50, 100, 200, 400):
        row(f"n = {n}", random_graphs(n, 30))


def nodes() -> None:
    header("nodes N of each of 10 graphs, none equal (quadratic)")
    for size in (50, 100, 200, 400, 800):
        row(f"N = {size}", random_graphs(10, size, kinds=0))


def depth() -> None:
    header("blocks L, 100 graphs of 30 nodes (linear once colours are stable)")
    for blocks in (1, 2, 4, 8, 16):
        row(f"L = {blocks}", random_graphs(100, 30), fg.GNTK(blocks, 1))


def density() -> None:
    header("neighbours of a node, 10 graphs of 200 nodes, none equal")
    for degree in (2, 4, 8, 16, 32, 64, 128):
        row(f"degree {degree}", random_graphs(10, 200, degree, kinds=0))


def colours() -> None:
    header("distinct features, 100 graphs of 30 nodes (0: every node its own)")
    for kinds in (1, 2, 5, 20, 100, 0):
        row(f"{kinds} kinds", random_graphs(100, 30, 2.0, kinds))


def refinement() -> None:
    print("\ncolour refinement, microseconds for each edge and level")
    for title, batch in (("labels", random_graphs(2000, 30)), ("features", random_graphs(2000, 30, kinds=0))):
        ready = fg.NodeFeatures().fit_transform(batch)
        took = best_of(lambda ready=ready: refine_colours(ready, 3))
        print(f"{title:28}{took / (3 * len(batch.indices)) * 1e6:8.3f}")


def floor() -> None:
    print(f"\none ReLU layer on one pair, data in cache: {layer_nanoseconds():.2f} ns")


STUDIES: dict[str, Callable[[], None]] = {
    "graphs": graphs,
    "nodes": nodes,
    "depth": depth,
    "density": density,
    "colours": colours,
    "refinement": refinement,
    "floor": floor,
}


def main() -> None:
    fg.gram(random_graphs(3, 5), KERNEL, compute=fg.Compute("lossless"))
    for name in sys.argv[1:] or STUDIES:
        STUDIES[name]()


if __name__ == "__main__":
    main()
