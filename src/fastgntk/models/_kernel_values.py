"""Kernel values among training graphs, and between new graphs and those that carry coefficients.

Values are divided by the mean of the diagonal over the training graphs, the ``unit``, so that the same regularisation
means the same for every kernel; a normalised kernel has ones there already.

Ridge regression gets the kernel plus a constant, ``INTERCEPT``. Its functions then have an intercept of their own:
without it they are 0 for the empty graph, and a target that grows with size from another value is out of reach (on
ESOL the squared error is half as large again). As a Gaussian process the intercept has that variance; anything from a
tenth to a hundred times as much gives the same predictions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import Progress
from fastgntk.graphs import GraphBatch, NodeFeatures
from fastgntk.kernels import Kernel, Normalized
from fastgntk.models._base import as_training_graphs
from fastgntk.pairwise import (
    Compute,
    PreparedGraphs,
    check_compute,
    check_fits_memory,
    check_kernel,
    cross_gram,
    gram,
    gram_columns,
    node_contributions,
    normalize,
    prepare_batch,
)
from fastgntk.pairwise.store import StoredGram, use_stored

__all__ = ["INTERCEPT", "Chunk", "KernelRows", "TrainingKernel", "split_into_chunks"]

INTERCEPT = 1.0
"""What ridge regression adds to every kernel value, in units of the mean of the diagonal."""

Chunk = tuple[slice, Array, Array]
"""Which new graphs, their rows (t, m), and their diagonal (t,), or (0,) if it was not wanted."""

_CHUNK = 2048  # new graphs whose rows are held at a time, if memory allows


@dataclass(frozen=True, eq=False)
class KernelRows:
    """The kernel from any graphs to m prepared graphs, divided by ``unit``."""

    prepared: PreparedGraphs
    unit: float
    keeps_graphs: ClassVar[bool] = True

    @property
    def kernel(self) -> Kernel:
        return self.prepared.kernel

    @property
    def compute(self) -> Compute:
        return self.prepared.compute

    @property
    def features(self) -> dict[str, NodeFeatures]:
        """The fitted node features of each kind."""
        return self.prepared.features

    def __len__(self) -> int:
        return len(self.prepared)

    def chunks(self, batch: GraphBatch, progress: Progress | None = None, *, diagonal: bool = True) -> Iterator[Chunk]:
        """Yield the rows of new graphs in chunks, with their k(G, G) if ``diagonal``."""
        for part, report_progress in split_into_chunks(len(batch), len(self), self.compute, progress):
            new = self.prepared.prepare_others(batch[part])
            rows = self._rows(new, report_progress)
            yield part, rows, new.diagonal(self.compute.with_progress(None)) / self.unit if diagonal else np.zeros(0)

    def values(self, batch: GraphBatch, progress: Progress | None = None) -> Array:
        """Return all rows (t, m) at once."""
        return self._rows(self.prepared.prepare_others(batch), progress)

    def _rows(self, new: PreparedGraphs, progress: Progress | None) -> Array:
        rows = cross_gram(new, self.prepared, compute=self.compute.with_progress(progress))
        rows /= self.unit
        return rows

    def cosine(self, rows: Array, diagonal: Array) -> Array:
        """Return cosines (t, m) from the rows and the diagonal of a chunk."""
        if not isinstance(self.kernel, Normalized):
            rows = normalize(rows, diagonal, self.prepared.diagonal(self.compute.with_progress(None)) / self.unit)
        return np.minimum(rows, 1.0)  # rounding

    def with_intercept(self, rows: Array, diagonal: Array) -> tuple[Array, Array]:
        """Return the arguments of ``Solution.variance`` from the rows and the diagonal of a chunk."""
        return rows + INTERCEPT, diagonal + INTERCEPT

    def nodes(self, batch: GraphBatch) -> Array:
        """Return the contribution of each node of one graph to its row, shape (N, m)."""
        return node_contributions(batch, self.prepared, compute=self.compute.with_progress(None)) / self.unit


@dataclass(frozen=True, eq=False)
class TrainingKernel:
    """The kernel among n training graphs, computed when a solver needs it: a ``KernelSource`` of the solvers.

    With ``in_units`` values are divided by their ``unit``, in which graphs count by ``weights``; then ``intercept`` is
    added. With ``stored``, a matrix on disk, values are read from there as they are needed.
    """

    prepared: PreparedGraphs
    progress: Progress | None = None
    in_units: bool = True
    stored: StoredGram | None = None
    intercept: float = 0.0
    weights: Array | None = None

    @classmethod
    def from_graphs(cls, X: Any, kernel: Any, compute: Any, *, in_units: bool = True, stored: Any = None) -> Self:
        """Check the arguments of an estimator and prepare its training graphs; ``stored`` may be a path."""
        batch = as_training_graphs(X)
        kernel, compute = check_kernel(kernel), check_compute(compute)
        if stored is None:
            prepared = prepare_batch(batch, kernel, compute)
        else:
            stored, prepared = use_stored(stored, batch, kernel, compute)
        return cls(prepared, compute.progress, in_units, stored)

    def with_intercept(self, weights: Array | None) -> Self:
        """Return the kernel that ridge regression takes, with the constant, where graphs count by these weights."""
        return replace(self, intercept=INTERCEPT, weights=weights)

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
        """All graphs, such that columns of neighbours are quick to get together."""
        return np.arange(self.n) if self.stored is None else self.stored.order

    @cached_property
    def unit(self) -> float:
        """What values are divided by: the mean of the diagonal, but 1 after normalising and if all are 0."""
        if self.normalized or not self.in_units:
            return 1.0
        return float(np.average(self._raw_diagonal, weights=self.weights)) or 1.0

    @cached_property
    def _matrix(self) -> Array:
        K = gram(self.prepared, compute=self.compute) if self.stored is None else self._read(self.stored)
        return self._scaled(K)

    def full(self) -> Array:
        return self._matrix

    def columns(self, indices: Ints) -> Array:
        if "_matrix" in self.__dict__:  # computed already
            return np.array(self._matrix[:, indices])
        if self.stored is None:
            values = gram_columns(self.prepared, indices, self.compute)
        else:
            values = self.stored[:, indices]
            if self.normalized:
                values = normalize(values, self._stored_diagonal, self._stored_diagonal[indices])
        return self._scaled(values)

    def diagonal(self) -> Array:
        return self._raw_diagonal / self.unit + self.intercept

    def rows_to(self, basis: Ints) -> KernelRows:
        """Return the kernel from any graphs to some of the training graphs, without the constant."""
        if self.stored is not None:  # its diagonal is that of a leaf if the kernel is that leaf, normalised or not
            kernel = Kernel.from_dict(self.stored.manifest.kernel)
            if kernel in self.prepared.graphs_by_leaf:
                self.prepared.set_leaf_diagonal(kernel, self._stored_diagonal)
        return KernelRows(self.prepared.subset(basis), self.unit)

    def _scaled(self, values: Array) -> Array:
        """Divide by the unit and add the constant, in the same place."""
        values /= self.unit
        if self.intercept:
            values += self.intercept
        return values

    @cached_property
    def _raw_diagonal(self) -> Array:
        """The diagonal before it is divided by the unit."""
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
        self.__dict__["_stored_diagonal"] = np.diagonal(K).copy()  # so that it is not read again
        return normalize(K) if self.normalized else K


def split_into_chunks(
    n: int, columns: int, compute: Compute, progress: Progress | None, max_rows: int = _CHUNK
) -> Iterator[tuple[slice, Progress | None]]:
    """Cut n graphs into chunks whose rows memory holds, each with a callback for its part of the progress."""
    # Rows, rows plus the constant, cosines and what the variance needs are there at a time.
    affordable = compute.memory_budget // (6 * 8 * max(columns, 1))
    step = int(np.clip(affordable, 1, max_rows))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        yield part, None if progress is None else partial(_report_part, progress, part, n)


def _report_part(progress: Progress, part: slice, n: int, done: int, total: int) -> None:
    finished = part.start + (part.stop - part.start) * done / max(total, 1)
    progress(round(1e6 * finished / n), 10**6)
