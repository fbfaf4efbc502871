"""A kernel with the methods of GraKeL, for existing scripts."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Array
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import Normalized
from fastgntk.models import KernelTransformer, TrainingKernel
from fastgntk.pairwise import combine_diagonals

__all__ = ["GrakelKernel"]


class GrakelKernel(KernelTransformer):
    """A drop-in replacement for GraKeL's kernels: in a script only the line that creates the kernel changes.

    ``fit``, ``transform`` (rows are new graphs, columns are fitted graphs), ``fit_transform`` and ``diagonal`` have the
    signatures of GraKeL. The parameters are those of :class:`KernelTransformer`. There are two differences: a graph
    whose kernel values are 0 has rows of 0, not NaN, after normalisation, and ``fit`` always discards graphs that were
    transformed before, as only some of GraKeL's kernels do.

    Examples
    --------
    >>> import fastgntk as fg
    >>> data = fg.datasets.load("MUTAG").graphs
    >>> kernel = fg.compat.grakel.GrakelKernel(fg.GNTK(2).normalized())
    >>> kernel.fit_transform(data[:30]).shape, kernel.transform(data[30:35]).shape
    ((30, 30), (5, 30))
    >>> fitted, transformed = kernel.diagonal()
    >>> fitted.shape, transformed.shape
    ((30,), (5,))
    """

    _transformed: GraphBatch | None = None

    def _fit(self, X: Any) -> TrainingKernel:
        self._transformed = None
        return super()._fit(X)

    def transform(self, X: Any) -> Array:
        """Return the kernel between graphs and the fitted graphs, shape (t, n)."""
        check_is_fitted(self)
        batch = as_graphs(X)
        values = super().transform(batch)
        self._transformed = batch
        return values

    def diagonal(self) -> Array | tuple[Array, Array]:
        """Return the kernel of each fitted graph with itself and, after ``transform``, of each transformed graph.

        Values are those before normalisation, which divides by their square roots.
        """
        check_is_fitted(self)
        prepared = self.basis_.prepared
        inner = prepared.kernel.kernel if isinstance(prepared.kernel, Normalized) else prepared.kernel
        fitted = combine_diagonals(inner, prepared.leaf_diagonals()).copy()
        if self._transformed is None:
            return fitted
        return fitted, combine_diagonals(inner, prepared.prepare_rows(self._transformed).leaf_diagonals())
