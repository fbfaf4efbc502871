"""The Weisfeiler–Lehman kernels beside GraKeL's: seconds from graphs to matrix, and the largest difference.

python benchmarks/weisfeiler_lehman.py [NAME ...]      data sets, NCI1 by default; --assignment 1000 graphs for WLOA

Both get graphs in their own form, since conversion is not measured, and two threads or processes, in turns. Medians of
three runs; GraKeL's assignment kernel, which compares pairs in Python, runs once and on fewer graphs. An earlier call
here loads compiled code.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import grakel
import numpy as np

import fastgntk as fg

ITERATIONS, JOBS = 6, 2


def grakel_graphs(graphs: fg.GraphBatch) -> list[grakel.Graph]:
    """Return graphs of GraKeL, labelled by node labels, or degrees where there are none."""
    labels = graphs.degrees if graphs.labels is None else np.unique(graphs.labels, return_inverse=True)[1]
    out = []
    for i, graph in enumerate(graphs):
        own = labels[graphs.offsets[i] : graphs.offsets[i + 1]].tolist()
        neighbours: dict[int, dict[int, float]] = {u: {} for u in range(graph.n_nodes)}
        starts = np.repeat(np.arange(graph.n_nodes), graph.degrees)
        for u, v in zip(starts.tolist(), graph.indices.tolist(), strict=True):
            neighbours[u][v] = 1.0
        out.append(grakel.Graph(neighbours, dict(enumerate(own))))
    return out


def timed(function: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def compare(name: str, graphs: fg.GraphBatch, kernel: fg.Kernel, theirs: grakel.Kernel, repeat: int) -> None:
    compute = fg.Compute(n_jobs=JOBS)
    fg.gram(graphs[:300], kernel, compute=compute)
    converted = grakel_graphs(graphs)
    our_times, their_times = [], []
    for _ in range(repeat):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds, expected = timed(lambda: theirs.fit_transform(converted))
        their_times.append(seconds)
        seconds, K = timed(lambda: fg.gram(graphs, kernel, compute=compute))
        our_times.append(seconds)
    ours, other = float(np.median(our_times)), float(np.median(their_times))
    print(
        f"{name:14} {len(graphs):6} graphs  {kernel!s:20} GraKeL {other:8.2f} s  here {ours:6.3f} s  "
        f"{other / ours:6.0f} times  largest difference {np.abs(K - expected).max():g}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*", default=["NCI1"])
    parser.add_argument("--assignment", metavar="N", type=int, default=1000)
    options = parser.parse_args()
    for data_name in options.names:
        batch = fg.datasets.load(data_name).graphs
        subtree = grakel.WeisfeilerLehman(n_iter=ITERATIONS, base_graph_kernel=grakel.VertexHistogram, n_jobs=JOBS)
        compare(data_name, batch, fg.WL(ITERATIONS), subtree, 3)
        assignment = grakel.WeisfeilerLehmanOptimalAssignment(n_iter=ITERATIONS, n_jobs=JOBS)
        compare(data_name, batch[: options.assignment], fg.WLOA(ITERATIONS), assignment, 1)
