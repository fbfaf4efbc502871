"""Gram matrices of kernels that are fitted to training graphs: one for each training part of a split.

The scales of kernels on descriptors are fitted to training graphs, so one matrix of all graphs would let the test
graphs influence the values of the training graphs. All other parts of a kernel are computed once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Kernel, Leaf
from fastgntk.models import Split
from fastgntk.pairwise import Compute, GramPath, combine, fit_scalings, gram, prepare_batch
from fastgntk.selection._grid import at_leaf, gram_from_paths

__all__ = ["FoldGrams", "kernel_matrices", "map_folds", "requires_fit"]

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class FoldGrams:
    """The matrices of one kernel."""

    kernel: Kernel
    shared: Mapping[Leaf, Array]
    """The matrices (n, n) of the leaves that need no training graphs."""
    batch: GraphBatch
    """The graphs without nodes: all that the other leaves need."""
    compute: Compute

    @classmethod
    def from_paths(cls, kernel: Kernel, paths: Sequence[GramPath], batch: GraphBatch, compute: Compute) -> "FoldGrams":
        """Take the leaves that need no training graphs from the readouts of a pass."""
        shared = {leaf: at_leaf(leaf, paths) for leaf in kernel.leaves() if not leaf.requires_fit}
        n = len(batch)
        nodeless = GraphBatch(
            offsets=np.zeros(n + 1, dtype=np.int64),
            indptr=np.zeros(1, dtype=np.int64),
            indices=np.zeros(0, dtype=np.int32),
            self_loops=np.zeros(n, dtype=np.int64),
            descriptors=batch.descriptors,
        )
        return cls(kernel, shared, nodeless, compute.with_progress(None))

    def matrix(self, train: Ints) -> Array:
        """Return the matrix (n, n) of all graphs, with leaves fitted to the training graphs."""
        leaf_values = dict(self.shared)
        for leaf in self.kernel.leaves():
            if leaf not in leaf_values:
                scalings = fit_scalings(leaf, self.batch[train])
                leaf_values[leaf] = gram(prepare_batch(self.batch, leaf, self.compute, scalings=scalings))
        return combine(self.kernel, leaf_values)


def requires_fit(kernel: Kernel) -> bool:
    """Return whether the matrix of a kernel depends on the training graphs."""
    return any(leaf.requires_fit for leaf in kernel.leaves())


def kernel_matrices(
    kernel: Kernel, paths: Sequence[GramPath], batch: GraphBatch, compute: Compute
) -> Array | FoldGrams:
    """Return the matrix of a kernel from the readouts of its pass, or those of all folds if it requires fitting."""
    if requires_fit(kernel):
        return FoldGrams.from_paths(kernel, paths, batch, compute)
    return gram_from_paths(kernel, paths)


def map_folds(
    score: Callable[[Array, Sequence[Split]], _Result], matrices: Array | FoldGrams, splits: Sequence[Split]
) -> list[_Result]:
    """Apply a function to a matrix and all splits, or to the matrix of each split and that split alone."""
    if isinstance(matrices, FoldGrams):
        return [score(matrices.matrix(split[0]), [split]) for split in splits]
    return [score(matrices, splits)]
