"""The kernel matrix of training graphs, and kernel values of new graphs with the training graphs of the basis.

Values are divided by the mean of the diagonal over the training graphs, the ``kernel_scale``, so that a regularisation
has the same meaning for every kernel; the diagonal of a normalised kernel is 1 already.

Ridge regression adds a constant, ``KERNEL_CONSTANT``, to every kernel value, which gives its functions an intercept:
without it the prediction for the empty graph is 0, and targets that grow with size from another value cannot be fitted
(on ESOL the squared error is half as large again). In the Gaussian process it is the prior variance of the intercept;
values from a tenth to a hundred times as large give the same predictions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np

from fastgntk import pairwise
from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import Progress
from fastgntk.graphs import DescriptorScaling, GraphBatch, NodeFeatures
from fastgntk.kernels import Kernel, Leaf, Normalized
from fastgntk.models._base import as_training_graphs
from fastgntk.pairwise import (
    Compute,
    Contributions,
    PreparedGraphs,
    check_compute,
    check_fits_memory,
    check_kernel,
    normalize,
)
from fastgntk.pairwise.store import StoredGram, use_stored

__all__ = ["KERNEL_CONSTANT", "Chunk", "KernelBasis", "TrainingKernel", "split_into_chunks"]

KERNEL_CONSTANT = 1.0
"""Constant that ridge regression adds to every kernel value, in units of the mean of the diagonal."""

Chunk = tuple[slice, Array, Array]
"""Slice of the new graphs, their rows (t, m), and their diagonal (t,), or (0,) if it was not requested."""

_CHUNK = 2048  # largest number of new graphs in a chunk


@dataclass(frozen=True, eq=False)
class KernelBasis:
    """Basis functions k(·, G_i) / ``kernel_scale`` for m prepared graphs G_i."""

    prepared: PreparedGraphs
    kernel_scale: float
    keeps_graphs: ClassVar[bool] = True

    @property
    def kernel(self) -> Kernel:
        return self.prepared.kernel

    @property
    def compute(self) -> Compute:
        return self.prepared.compute

    @property
    def features(self) -> dict[str, NodeFeatures]:
        """Fitted node features by kind."""
        return self.prepared.features

    @property
    def scalings(self) -> dict[Leaf, DescriptorScaling]:
        """Fitted scaling of descriptors by leaf of the kernel."""
        return self.prepared.scalings

    def __len__(self) -> int:
        return len(self.prepared)

    def chunks(self, batch: GraphBatch, progress: Progress | None = None, *, diagonal: bool = True) -> Iterator[Chunk]:
        """Yield the rows of new graphs chunk by chunk, with their k(G, G) if ``diagonal``."""
        silent = self.compute.with_progress(None)
        for chunk, report_progress in split_into_chunks(len(batch), len(self), self.compute, progress):
            new = self.prepared.prepare_rows(batch[chunk])
            rows = self._rows(new, report_progress)
            yield chunk, rows, new.diagonal(silent) / self.kernel_scale if diagonal else np.zeros(0)

    def values(self, batch: GraphBatch, progress: Progress | None = None) -> Array:
        """Return the basis functions at all graphs, shape (t, m)."""
        return self._rows(self.prepared.prepare_rows(batch), progress)

    def _rows(self, new: PreparedGraphs, progress: Progress | None) -> Array:
        rows = pairwise.cross_gram(new, self.prepared, compute=self.compute.with_progress(progress))
        rows /= self.kernel_scale
        return rows

    def cosine(self, rows: Array, diagonal: Array) -> Array:
        """Return cosines (t, m) from the rows and the diagonal of a chunk."""
        if not isinstance(self.kernel, Normalized):
            basis_diagonal = self.prepared.diagonal(self.compute.with_progress(None)) / self.kernel_scale
            rows = normalize(rows, diagonal, basis_diagonal)
        return np.minimum(rows, 1.0)  # rounding

    def variance_arguments(self, rows: Array, diagonal: Array) -> tuple[Array, Array]:
        """Return the arguments of ``Solution.variance`` from the rows and the diagonal of a chunk."""
        return rows + KERNEL_CONSTANT, diagonal + KERNEL_CONSTANT

    def contributions(self, batch: GraphBatch, factor: int | Kernel | None = None) -> Contributions:
        """Return the contributions of nodes (N, m) and descriptors (m,) of one graph to its row."""
        kernel, compute = pairwise.put_factor_first(self.kernel, factor), self.compute.with_progress(None)
        parts = pairwise.contributions(batch, self.prepared, compute, kernel)
        descriptors = {name: values / self.kernel_scale for name, values in parts.descriptors.items()}
        return Contributions(parts.nodes / self.kernel_scale, descriptors)


@dataclass(eq=False)
class TrainingKernel:
    """The kernel matrix of n training graphs, computed on first use: a ``KernelSource`` of the solvers.

    If ``scaled``, values are divided by the ``kernel_scale``, a mean with the given ``weights``. Then ``constant`` is
    added. Values of a ``stored`` matrix are read from disk as they are needed.
    """

    prepared: PreparedGraphs
    progress: Progress | None = None
    scaled: bool = True
    stored: StoredGram | None = None
    constant: float = 0.0
    weights: Array | None = None
    _matrix: Array | None = field(default=None, init=False, repr=False)
    _last_subset: tuple[Ints, PreparedGraphs] | None = field(default=None, init=False, repr=False)

    @classmethod
    def from_graphs(cls, X: Any, kernel: Any, compute: Any, *, scaled: bool = True, stored: Any = None) -> Self:
        """Check the arguments of an estimator and prepare its training graphs; ``stored`` may be a path."""
        batch = as_training_graphs(X)
        kernel, compute = check_kernel(kernel), check_compute(compute)
        if stored is None:
            prepared = pairwise.prepare_batch(batch, kernel, compute)
        else:
            stored, prepared = use_stored(stored, batch, kernel, compute)
        return cls(prepared, compute.progress, scaled, stored)

    def with_constant(self, weights: Array | None) -> Self:
        """Return the kernel of ridge regression with these sample weights: scaled, plus ``KERNEL_CONSTANT``."""
        return replace(self, constant=KERNEL_CONSTANT, weights=weights)

    @cached_property
    def n(self) -> int:
        return len(self.prepared)

    @cached_property
    def normalized(self) -> bool:
        return isinstance(self.prepared.kernel, Normalized)

    @property
    def compute(self) -> Compute:
        return self.prepared.compute.with_progress(self.progress)

    @property
    def order(self) -> Ints:
        """All graphs, ordered so that adjacent columns are cheap to fetch together."""
        return np.arange(self.n) if self.stored is None else self.stored.order

    @cached_property
    def kernel_scale(self) -> float:
        """Divisor of all values: the mean of the diagonal, or 1 if the kernel is normalised or the diagonal is 0."""
        if self.normalized or not self.scaled:
            return 1.0
        return float(np.average(self._raw_diagonal, weights=self.weights)) or 1.0

    def full(self) -> Array:
        if self._matrix is None:
            K = pairwise.gram(self.prepared, compute=self.compute) if self.stored is None else self._read(self.stored)
            self._matrix = self._scale(K)
        return self._matrix

    def columns(self, indices: Ints) -> Array:
        if self._matrix is not None:
            return np.array(self._matrix[:, indices])
        if self.stored is None:
            values = pairwise.gram_columns(self.prepared, indices, self._subset(indices), compute=self.compute)
        else:
            values = self.stored[:, indices]
            if self.normalized:
                values = normalize(values, self._stored_diagonal, self._stored_diagonal[indices])
        return self._scale(values)

    def diagonal(self) -> Array:
        return self._raw_diagonal / self.kernel_scale + self.constant

    def basis(self, indices: Ints) -> KernelBasis:
        """Return the basis functions of some training graphs, without the constant."""
        if self.stored is not None:  # the stored diagonal is that of a leaf if the kernel is a leaf, normalised or not
            leaf = Kernel.from_dict(self.stored.manifest.kernel)
            if isinstance(leaf, Leaf) and leaf in self.prepared.graphs_by_leaf:
                self.prepared.set_leaf_diagonal(leaf, self._stored_diagonal)
        subset = self._subset(indices)
        subset.take_diagonals(self.prepared, indices)  # some were computed after the subset
        return KernelBasis(subset.without_reference(), self.kernel_scale)

    def _subset(self, indices: Ints) -> PreparedGraphs:
        """Return some graphs, prepared once as landmarks of a solver and basis of its solution."""
        if self._last_subset is None or not np.array_equal(self._last_subset[0], indices):
            self._last_subset = indices, self.prepared.subset(indices)
        return self._last_subset[1]

    def _scale(self, values: Array) -> Array:
        """Divide by ``kernel_scale`` and add ``constant`` in place."""
        values /= self.kernel_scale
        if self.constant:
            values += self.constant
        return values

    @cached_property
    def _raw_diagonal(self) -> Array:
        """The diagonal before scaling."""
        if self.stored is None:
            return self.prepared.diagonal(self.prepared.compute.with_progress(None))
        return (self._stored_diagonal > 0).astype(np.float64) if self.normalized else self._stored_diagonal

    @cached_property
    def _stored_diagonal(self) -> Array:
        assert self.stored is not None
        return self.stored.diagonal()

    def _read(self, stored: StoredGram) -> Array:
        check_fits_memory(8 * self.n**2, self.prepared.compute.memory_budget)
        K: Array = np.asarray(stored, dtype=np.float64)
        self._stored_diagonal = np.diagonal(K).copy()  # so that it is not read from disk again
        return normalize(K) if self.normalized else K


def split_into_chunks(
    n: int, columns: int, compute: Compute, progress: Progress | None, max_rows: int = _CHUNK
) -> Iterator[tuple[slice, Progress | None]]:
    """Split n graphs into chunks whose rows fit into memory, each with a callback for its part of the progress."""
    # Rows, rows plus the constant, cosines and the arrays of the variance exist at the same time.
    affordable = compute.memory_budget // (6 * 8 * max(columns, 1))
    step = int(np.clip(affordable, 1, max_rows))
    for start in range(0, n, step):
        chunk = slice(start, min(start + step, n))
        yield chunk, None if progress is None else partial(_report_chunk, progress, chunk, n)


def _report_chunk(progress: Progress, chunk: slice, n: int, done: int, total: int) -> None:
    finished = chunk.start + (chunk.stop - chunk.start) * done / max(total, 1)
    progress(round(1e6 * finished / n), 10**6)
