"""Scores of candidate kernels, from their Gram matrices."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from fastgntk._util.arrays import Array
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Kernel
from fastgntk.pairwise import Compute
from fastgntk.selection._fold_grams import FoldGrams, kernel_matrices
from fastgntk.selection._grid import StageProgress, group_into_passes

__all__ = ["KernelScores", "score_kernels"]


class KernelScores(NamedTuple):
    """Results of :func:`score_kernels`, and the engine of each kernel."""

    scores: list[Any]
    engines: list[str]
    kernel_seconds: float
    learning_seconds: float


def score_kernels(
    score: Callable[[Array | FoldGrams, int], Any],
    batch: GraphBatch,
    kernels: Sequence[Kernel],
    compute: Compute,
    *,
    n_jobs: int,
    progress: StageProgress | None,
) -> KernelScores:
    """Apply a function to the Gram matrix and the index of each kernel, pass by pass, to keep few matrices in memory.

    For a kernel that is fitted to training graphs, the function gets the matrices of all folds.
    """
    from joblib import Parallel, delayed

    scores, engines = [None] * len(kernels), [""] * len(kernels)
    kernel_seconds = learning_seconds = 0.0
    n_scored = 0
    passes = group_into_passes(kernels)
    compute_with_progress = compute.with_progress(None if progress is None else partial(progress, "kernel"))
    # Processes instead of threads, because scikit-learn holds the interpreter lock around libsvm.
    with Parallel(n_jobs=n_jobs, return_as="generator") as parallel:
        for index, group in enumerate(passes):
            start = time.perf_counter()
            paths = group.compute(batch, compute_with_progress.for_part(index, len(passes)))
            engine = " and ".join(dict.fromkeys(path.engine for path in paths))
            middle = time.perf_counter()
            single = replace(compute, n_jobs=1) if n_jobs > 1 else compute  # each process computes its own folds
            tasks = (delayed(score)(kernel_matrices(kernels[i], paths, batch, single), i) for i in group.members)
            for i, kernel_scores in zip(group.members, parallel(tasks), strict=True):
                scores[i], engines[i] = kernel_scores, engine
                n_scored += 1
                if progress is not None:
                    progress("learning", n_scored, len(kernels))
            kernel_seconds += middle - start
            learning_seconds += time.perf_counter() - middle
    return KernelScores(scores, engines, kernel_seconds, learning_seconds)
