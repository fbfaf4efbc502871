"""The Weisfeiler–Lehman subtree kernel (Shervashidze et al. 2011) by GraKeL, cross-validated the way ours is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk.graphs import GraphBatch
from fastgntk.models import score_splits

# The same folds, machines and units of C as `evaluate`: what differs is the kernel alone.
from fastgntk.selection import inner_splits, outer_splits

__all__ = ["Selection", "grakel_installed", "nested_selection", "subtree_kernels"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Selection:
    """What :func:`nested_selection` found, with one entry for each outer fold."""

    accuracies: tuple[float, ...]
    kernels: tuple[int, ...]
    """The kernel chosen, by its place in the sequence."""
    Cs: tuple[float, ...]
    fits: int
    fits_stopped: int


def grakel_installed() -> bool:
    """Tell whether GraKeL can be imported."""
    try:
        import grakel  # noqa: F401
    except ImportError:
        return False
    return True


def subtree_kernels(batch: GraphBatch, iterations: int) -> list[Array]:
    """Return the kernels of 1..iterations rounds of relabelling, (n, n) each, from one run of GraKeL.

    The kernel of h rounds counts pairs of equal labels, those at the start and those of each round. Nodes start with
    their labels, or with their degrees where the graphs have none. A graph without nodes is similar to nothing.
    """
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    filled = np.flatnonzero(batch.sizes)  # GraKeL takes no graph without nodes
    inner = np.zeros((len(filled), len(filled)))
    kernels = []
    refinement = WeisfeilerLehman(n_iter=iterations, base_graph_kernel=VertexHistogram)
    # `fit` alone: GraKeL's own products are of all rounds together, and the histograms hold every number of rounds.
    refinement.fit(_grakel_graphs(batch[filled]))
    for level in range(iterations + 1):
        histograms = refinement.X[level].X  # graphs × labels
        product = histograms @ histograms.T
        inner += product.toarray() if sparse.issparse(product) else product
        if level:
            K = np.zeros((len(batch), len(batch)))
            K[np.ix_(filled, filled)] = inner
            kernels.append(K)
    return kernels


def _grakel_graphs(batch: GraphBatch) -> Iterator[tuple[dict[int, dict[int, int]], dict[int, int]]]:
    """Yield each graph as neighbours and labels by node; other formats GraKeL would first make into this one."""
    labels = _node_labels(batch).tolist()
    for i, graph in enumerate(batch):
        first, last = int(batch.offsets[i]), int(batch.offsets[i + 1])
        ends, starts = graph.indices.tolist(), graph.indptr.tolist()
        neighbours = {u: dict.fromkeys(ends[starts[u] : starts[u + 1]], 1) for u in range(last - first)}
        yield neighbours, dict(enumerate(labels[first:last]))


def _node_labels(batch: GraphBatch) -> NDArray[np.int64]:
    """Return one whole number for each node."""
    if batch.labels is None:
        return batch.degrees
    # NumPy 2.0 gave these numbers another shape.
    numbers: NDArray[np.int64] = np.unique(batch.labels, axis=0, return_inverse=True)[1].reshape(-1)
    return numbers


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
    """Choose a kernel and C within the training part of each fold, as ``evaluate`` does with its protocol "nested"."""
    from joblib import Parallel, delayed

    outer = outer_splits(y, folds, seed)
    inner = inner_splits(y, outer, inner_folds, seed)
    splits = outer + [split for group in inner for split in group]
    scored = Parallel(n_jobs=workers)(delayed(score_splits)(K, y, splits, Cs) for K in kernels)
    scores = np.stack([accuracies for accuracies, _ in scored])  # kernel × split × C
    tested = scores[:, :folds].transpose(1, 0, 2).reshape(folds, -1)  # fold × (kernel, C)
    within = scores[:, folds:].reshape(len(kernels), folds, inner_folds, len(Cs)).mean(axis=2)
    picked = within.transpose(1, 0, 2).reshape(folds, -1).argmax(axis=1)
    return Selection(
        accuracies=tuple(float(tested[k, best]) for k, best in enumerate(picked)),
        kernels=tuple(int(best) // len(Cs) for best in picked),
        Cs=tuple(float(Cs[best % len(Cs)]) for best in picked),
        fits=scores.size,
        fits_stopped=sum(stopped for _, stopped in scored),
    )
