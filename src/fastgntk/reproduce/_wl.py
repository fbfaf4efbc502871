"""The Weisfeiler–Lehman subtree kernel (Shervashidze et al. 2011) by GraKeL, with nested cross-validation."""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Array
from fastgntk.graphs import GraphBatch
from fastgntk.models import score_splits
from fastgntk.selection import inner_splits, outer_splits

__all__ = ["Selection", "grakel_installed", "nested_selection", "subtree_kernels"]


class Selection(NamedTuple):
    """Results of :func:`nested_selection`; the first three have one entry for each outer fold."""

    accuracies: tuple[float, ...]
    kernels: tuple[int, ...]  # index of the chosen kernel
    Cs: tuple[float, ...]
    fits: int
    fits_stopped: int
    engine: str = "grakel"


def grakel_installed() -> bool:
    """Return whether GraKeL can be imported."""
    return find_spec("grakel") is not None


def subtree_kernels(batch: GraphBatch, iterations: int) -> list[Array]:
    """Return the kernels of 1..iterations rounds of relabelling, (n, n) each, from one run of GraKeL.

    The kernel of h rounds counts pairs of equal labels, initial ones and those of each round. Initial labels are node
    labels, or degrees if the graphs have none. The kernel with a graph without nodes is 0.
    """
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    filled = np.flatnonzero(batch.sizes)  # GraKeL refuses graphs without nodes
    refinement = WeisfeilerLehman(n_iter=iterations, base_graph_kernel=VertexHistogram)
    # Only `fit`: it has the histograms of every round, while GraKeL's own products sum over all rounds.
    refinement.fit(_grakel_graphs(batch[filled]))
    kernels = np.zeros((iterations + 1, len(batch), len(batch)))
    for level, K in enumerate(kernels):
        histograms = refinement.X[level].X  # graphs × labels
        product = histograms @ histograms.T
        K[np.ix_(filled, filled)] = product.toarray() if sparse.issparse(product) else product
    return list(kernels.cumsum(axis=0)[1:])


def _grakel_graphs(batch: GraphBatch) -> Iterator[tuple[dict[int, dict[int, int]], dict[int, int]]]:
    """Yield neighbours and labels by node for each graph, the format to which GraKeL converts all others."""
    # Reshaped, because NumPy 2.0 returned another shape.
    unique = None if batch.labels is None else np.unique(batch.labels, axis=0, return_inverse=True)[1].reshape(-1)
    labels = (batch.degrees if unique is None else unique).tolist()
    for i, graph in enumerate(batch):
        first, last = int(batch.offsets[i]), int(batch.offsets[i + 1])
        ends, starts = graph.indices.tolist(), graph.indptr.tolist()
        neighbours = {u: dict.fromkeys(ends[starts[u] : starts[u + 1]], 1) for u in range(last - first)}
        yield neighbours, dict(enumerate(labels[first:last]))


def nested_selection(
    kernels: Sequence[Array],
    y: NDArray[Any],
    Cs: Sequence[float],
    *,
    folds: int,
    inner_folds: int,
    seed: int,
    workers: int,
) -> Selection:
    """Choose a kernel and C within the training part of each fold, with the folds, SVMs and units of ``evaluate``."""
    from joblib import Parallel, delayed

    outer = outer_splits(y, folds, seed)
    splits = outer + [split for group in inner_splits(y, outer, inner_folds, seed) for split in group]
    scored = Parallel(n_jobs=workers)(delayed(score_splits)(K, y, splits, Cs) for K in kernels)
    scores = np.stack([accuracies for accuracies, _ in scored])  # kernel × split × C
    within = scores[:, folds:].reshape(len(kernels), folds, inner_folds, len(Cs)).mean(axis=2)
    best = within.transpose(1, 0, 2).reshape(folds, -1).argmax(axis=1)
    kernel, C = best // len(Cs), best % len(Cs)
    return Selection(
        accuracies=tuple(scores[kernel, np.arange(folds), C].tolist()),
        kernels=tuple(kernel.tolist()),
        Cs=tuple(float(Cs[i]) for i in C),
        fits=scores.size,
        fits_stopped=sum(stopped for _, stopped in scored),
    )
