"""The kernel among training graphs, computed when a solver needs it.

Values are divided by the mean of the diagonal over the training graphs, the ``unit``, so that the same regularisation
means the same for every kernel; a normalised kernel has ones there already.

Ridge regression gets the kernel plus a constant, ``INTERCEPT``. Its functions then have an intercept of their own:
without it they are 0 for the empty graph, and a target that grows with size from another value is out of reach (on
ESOL the squared error is half as large again). As a Gaussian process the intercept has that variance; anything from a
tenth to a hundred times as much gives the same predictions.
"""

from functools import cached_property

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import Progress
from fastgntk.kernels import Kernel, Normalized
from fastgntk.models._kernel_rows import KernelRows
from fastgntk.pairwise import PreparedGraphs, check_result, gram, gram_columns, normalize
from fastgntk.pairwise.store import StoredGram

__all__ = ["INTERCEPT", "TrainingKernel", "WithIntercept"]

INTERCEPT = 1.0
"""What ridge regression adds to every kernel value, in units of the mean of the diagonal."""


class TrainingKernel:
    """The kernel among n training graphs: a ``KernelSource`` of the solvers.

    With ``in_units`` values are divided by their ``unit``, in which graphs count by their weights. With
    ``stored``, a matrix on disk, values are read from there as they are needed.
    """

    def __init__(
        self,
        prepared: PreparedGraphs,
        progress: Progress | None = None,
        *,
        in_units: bool = True,
        stored: StoredGram | None = None,
    ) -> None:
        self.prepared, self.n, self.stored = prepared, prepared.batch.n_graphs, stored
        self.normalized = isinstance(prepared.kernel, Normalized)
        self.in_units = in_units and not self.normalized
        self.progress = progress
        self.compute = prepared.compute.watched(progress)
        self._silent = prepared.compute.watched(None)
        self._matrix: Array | None = None
        self._diagonal: Array | None = None
        self._weights: Array | None = None

    @property
    def order(self) -> Ints:
        """All graphs, such that columns of neighbours are quick to get together."""
        return np.arange(self.n) if self.stored is None else self.stored.order

    def set_weights(self, weights: Array | None) -> None:
        """Let graphs count by these weights in the unit."""
        self._weights = weights
        self.__dict__.pop("unit", None)

    @cached_property
    def unit(self) -> float:
        """What values are divided by: the mean of the diagonal, but 1 after normalising and if all are 0."""
        return (float(np.average(self._raw_diagonal(), weights=self._weights)) if self.in_units else 1.0) or 1.0

    def full(self) -> Array:
        """Return the matrix (n, n)."""
        if self._matrix is None:
            self._matrix = gram(self.prepared, compute=self.compute) if self.stored is None else self._read(self.stored)
            self._matrix /= self.unit
        return self._matrix

    def columns(self, indices: Ints) -> Array:
        """Return some columns (n, m)."""
        if self._matrix is not None:
            return np.array(self._matrix[:, indices])
        if self.stored is None:
            values = gram_columns(self.prepared, indices, self.compute)
        else:
            values = self.stored[:, indices]
            if self.normalized:
                own = self._stored_diagonal(self.stored)
                values = normalize(values, own, own[indices])
        values /= self.unit
        return values

    def diagonal(self) -> Array:
        """Return the diagonal (n,)."""
        return self._raw_diagonal() / self.unit

    def rows_to(self, basis: Ints) -> KernelRows:
        """Return the kernel from any graphs to some of the training graphs."""
        if self.stored is not None and self._diagonal is None:
            self._keep_diagonal(self.stored, self.stored.diagonal())
        return KernelRows(self.prepared.subset(basis), self.unit)

    def discard(self) -> None:
        """Free the matrix; it would be computed again."""
        self._matrix = None

    def _raw_diagonal(self) -> Array:
        """Return the diagonal before it is divided by the unit."""
        if self.stored is None:
            return self.prepared.diagonal(self._silent)
        own = self._stored_diagonal(self.stored)
        return (own > 0).astype(np.float64) if self.normalized else own

    def _stored_diagonal(self, stored: StoredGram) -> Array:
        return self._keep_diagonal(stored, stored.diagonal()) if self._diagonal is None else self._diagonal

    def _keep_diagonal(self, stored: StoredGram, values: Array) -> Array:
        """Keep the diagonal of the stored matrix, which is that of the leaf for a single tangent kernel."""
        self._diagonal = values
        kernel = Kernel.from_dict(stored.manifest.kernel)
        if kernel in self.prepared.leaves:
            self.prepared.set_leaf_diagonal(kernel, values)
        return values

    def _read(self, stored: StoredGram) -> Array:
        check_result(8 * self.n**2, self.compute.budget)
        K: Array = np.asarray(stored, dtype=np.float64)
        self._keep_diagonal(stored, np.diagonal(K).copy())
        return normalize(K) if self.normalized else K


class WithIntercept:
    """A kernel among training graphs plus the constant, for the solvers; the kernel's own matrix is used up."""

    def __init__(self, kernel: TrainingKernel) -> None:
        self.kernel, self.n = kernel, kernel.n
        self._matrix: Array | None = None

    @property
    def order(self) -> Ints:
        """The order of the kernel."""
        return self.kernel.order

    def full(self) -> Array:
        """Return the matrix (n, n)."""
        if self._matrix is None:
            self._matrix = self.kernel.full()
            self.kernel.discard()  # two of them would be one too many for large n
            self._matrix += INTERCEPT
        return self._matrix

    def columns(self, indices: Ints) -> Array:
        """Return some columns (n, m)."""
        values = self.kernel.columns(indices)
        values += INTERCEPT
        return values

    def diagonal(self) -> Array:
        """Return the diagonal (n,)."""
        return self.kernel.diagonal() + INTERCEPT
