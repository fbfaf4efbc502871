"""Data sets and timing for the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable

import fastgntk as fg


def sets() -> dict[str, fg.GraphBatch]:
    """Return MUTAG and two synthetic sets, sparse and dense, which need no download."""
    synthetic = fg.datasets.synthetic
    return {
        "MUTAG": fg.datasets.load("MUTAG").graphs,
        "sparse rings": synthetic.cycles_with_motifs(150, 25, random_state=0).graphs,
        "dense egos": synthetic.clique_egos(120, 40, random_state=0).graphs,
    }


def best_of(function: Callable[[], object], repeat: int = 3) -> float:
    """Return the least time of several runs in seconds, since other processes can only add to it."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)
