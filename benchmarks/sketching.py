"""When does sketching pay? Dense graphs, all engines in one run; then SRHT at full size, and eigenvalues at every rate.

python benchmarks/sketching.py [NODES]
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

import fastgntk as fg
from fastgntk.sketch import SKETCHES
from fastgntk.sketch._matrices import padded_size

KERNEL = fg.GNTK(blocks=2)


def seconds(graphs: fg.GraphBatch, kernel: fg.GNTK, engine: str = "auto") -> tuple[float, np.ndarray]:
    compute = fg.Compute(engine)
    fg.gram(graphs[:1], kernel, compute=compute)  # compiled code is loaded before the clock runs
    start = time.perf_counter()
    K = fg.gram(graphs, kernel, compute=compute)
    return time.perf_counter() - start, K


def sketched(kind: str, **options: Any) -> fg.GNTK:
    return replace(KERNEL, sketch=fg.Sketch(kind, **options))


def compare(nodes: int) -> None:
    graphs = fg.datasets.synthetic.erdos_renyi(8, nodes, 0.5).graphs
    print(f"8 graphs of {nodes} nodes, density 0.5, 2 blocks of 2 layers, sketches of rate 0.05")
    exact = {name: seconds(graphs, KERNEL, name) for name in ("decoupled", "lossless")}
    for name, (took, _) in exact.items():
        print(f"  {name:12} {took:7.2f} s")
    fastest, K = min(exact.values(), key=lambda pair: pair[0])
    for merge_nodes in (True, False):
        for kind in SKETCHES:
            took, approximate = seconds(graphs, sketched(kind, size=0.05, merge_nodes=merge_nodes))
            error = np.linalg.norm(approximate - K) / np.linalg.norm(K)
            which = "distinct" if merge_nodes else "all"
            print(f"  {kind:12} {took:7.2f} s {fastest / took:6.1f} times faster, error {error:.2f} ({which} nodes)")


def full_size(nodes: int = 300) -> None:
    graphs = fg.datasets.synthetic.erdos_renyi(3, nodes, 0.5).graphs
    K = fg.gram(graphs, KERNEL, compute=fg.Compute("decoupled"))
    original = fg.Sketch.rows
    try:
        fg.Sketch.rows = lambda _, n: padded_size(n)  # without the fall-back to exact
        S = fg.gram(graphs, sketched("srht", merge_nodes=False))
    finally:
        fg.Sketch.rows = original
    print(
        f"SRHT at full padded size, {nodes} nodes: largest relative difference to exact {np.abs(S / K - 1).max():.1e}"
    )


def eigenvalues() -> None:
    graphs = fg.datasets.load("MUTAG").graphs
    worst = 0.0
    for kind in SKETCHES:
        for rate in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
            for merge_nodes in (True, False):
                K = fg.gram(graphs, sketched(kind, size=rate, merge_nodes=merge_nodes))
                values = np.linalg.eigvalsh(K)
                worst = min(worst, values[0] / values[-1])
    print(f"MUTAG, every sketch and rate: smallest eigenvalue over largest {worst:.1e} at the worst")


if __name__ == "__main__":
    compare(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    full_size()
    eigenvalues()
