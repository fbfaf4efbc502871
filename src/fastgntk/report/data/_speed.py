"""Speed of the kernel: distinct nodes, and the time compared with one pair at a time."""

import time

import numpy as np

from fastgntk.bench import Baseline
from fastgntk.engines import colour, compiled_code_runs
from fastgntk.pairwise import Leaf
from fastgntk.report._schema import Compression, Speed

__all__ = ["compression", "speed"]

_SECONDS = 1.0  # spent on the baseline
_GRAPHS = 60  # from which the baseline's pairs are drawn
_TOO_LARGE = 2e9  # multiplications of one pair: some seconds
_CHUNK = 10


def compression(leaf: Leaf) -> Compression | None:
    """Return the number of distinct nodes at each level; None without numba."""
    ready, kernel = leaf.batch, leaf.kernel
    if not compiled_code_runs() or not ready.n_nodes:
        return None
    found = colour(ready, kernel.blocks, typed=kernel.typed, operators=False)
    return Compression(nodes=ready.n_nodes, distinct=found.counts)


def speed(leaf: Leaf, seconds: float, threads: int, seed: int = 0) -> Speed | None:
    """Return the time of the matrix, and that of one pair at a time in NumPy, extrapolated from some pairs.

    The baseline is assumed to scale perfectly with threads. None if a single pair is too slow, or if the baseline does
    not support the kernel.
    """
    ready, kernel = leaf.batch, leaf.kernel
    n = len(ready)
    if kernel.typed or n < 2 or not ready.n_nodes:
        return None
    rng = np.random.default_rng(seed)
    some = np.sort(rng.choice(n, min(n, _GRAPHS), replace=False))
    sizes = ready.sizes[some].astype(np.float64)
    if 2 * kernel.blocks * 2 * float(sizes.max()) ** 3 > _TOO_LARGE:
        return None
    sample = ready[some]
    pairs = np.column_stack(np.triu_indices(len(some))).astype(np.int64)
    pairs = pairs[rng.permutation(len(pairs))]
    baseline = Baseline(sample, kernel)
    start, pair_seconds, done = time.perf_counter(), 0.0, 0
    with np.errstate(all="ignore"):
        while done < len(pairs) and time.perf_counter() - start < _SECONDS:
            pair_seconds += baseline.time_pairs(pairs[done : done + _CHUNK])[1]
            done += len(pairs[done : done + _CHUNK])
    total = pair_seconds / done * n * (n + 1) / 2
    # Each graph is prepared once, but preparing one graph of the sample goes through the whole sample.
    total += baseline.prepare_seconds / baseline.graphs / len(some) * n
    return Speed(
        seconds=round(seconds, 4),
        baseline=round(total / threads, 3),
        baseline_name="one pair at a time in NumPy",
        measured=False,
    )
