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
    """Compute a kernel as GraKeL's kernels do: in a script only the line that makes the kernel changes.

    ``fit``, ``transform`` (rows are new graphs, columns fitted ones), ``fit_transform`` and ``diagonal`` take and
    return what they do there. The parameters are those of :class:`KernelTransformer`. It differs in two cases: a graph
    that is 0 in the kernel has rows of 0 after normalising, not NaN, and ``fit`` drops graphs that were transformed
    before, which some of GraKeL's kernels do and others do not.

    Examples
    --------
    >>> import fastgntk as fg
    >>> data = fg.datasets.load("MUTAG").graphs
    >>> kernel = fg.compat.grakel.GrakelKernel(fg.GNTK(2).normalized())
    >>> kernel.fit_transform(data[:20]).shape, kernel.transform(data[20:25]).shape
    ((20, 20), (5, 20))
    >>> fitted, transformed = kernel.diagonal()
    >>> fitted.shape, transformed.shape
    ((20,), (5,))
    """

    _transformed: GraphBatch | None = None

    def _fit(self, X: Any) -> TrainingKernel:
        self._transformed = None
        return super()._fit(X)

    def transform(self, X: Any) -> Array:
        """Return the kernel between graphs and the fitted ones, shape (t, n)."""
        check_is_fitted(self)
        batch = as_graphs(X)
        values = super().transform(batch)
        self._transformed = batch
        return values

    def diagonal(self) -> Array | tuple[Array, Array]:
        """Return the kernel of each fitted graph with itself, and of each transformed one if there are any.

        Normalising divides by the roots of these, so they are the same for a kernel and its normalised form.
        """
        check_is_fitted(self)
        prepared = self.basis_.prepared
        inner = prepared.kernel.kernel if isinstance(prepared.kernel, Normalized) else prepared.kernel
        fitted = combine_diagonals(inner, prepared.leaf_diagonals()).copy()
        if self._transformed is None:
            return fitted
        return fitted, combine_diagonals(inner, prepared.prepare_rows(self._transformed).leaf_diagonals())
