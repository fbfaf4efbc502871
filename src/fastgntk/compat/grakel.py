"""The kernel with the methods of GraKeL, for scripts that are there already."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.models import GNTKKernel
from fastgntk.pairwise import diagonal

__all__ = ["GrakelGNTK"]

Array = NDArray[np.float64]


class GrakelGNTK(GNTKKernel):
    """Compute the GNTK as GraKeL's kernels compute theirs: one line of a script changes, the one that makes the kernel.

    ``fit``, ``transform`` (rows are new graphs, columns fitted ones), ``fit_transform`` and ``diagonal`` take and
    return what they do there. The parameters are those of :class:`GNTKKernel`. It differs in two cases: a graph that is
    0 in the kernel has rows of 0 after normalising, not NaN, and ``fit`` forgets graphs that were transformed before,
    which some of GraKeL's kernels do and others do not.

    Examples
    --------
    >>> import fastgntk as fg
    >>> data = fg.datasets.load("MUTAG").graphs
    >>> kernel = fg.compat.grakel.GrakelGNTK(blocks=2, normalize=True)
    >>> kernel.fit_transform(data[:20]).shape, kernel.transform(data[20:25]).shape
    ((20, 20), (5, 20))
    >>> fitted, transformed = kernel.diagonal()
    >>> fitted.shape, transformed.shape
    ((20,), (5,))
    """

    _transformed: GraphBatch | None = None

    def fit(self, X: Any, y: Any = None) -> GrakelGNTK:
        """Keep the graphs."""
        self._transformed = None
        super().fit(_given(X), y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Keep the graphs and return their kernel matrix (n, n)."""
        self._transformed = None
        return super().fit_transform(_given(X), y)

    def transform(self, X: Any) -> Array:
        """Return the kernel between graphs and the fitted ones, shape (t, n)."""
        check_is_fitted(self)
        batch = as_graphs(_given(X))
        values = super().transform(batch)
        self._transformed = batch
        return values

    def diagonal(self) -> Array | tuple[Array, Array]:
        """Return the kernel of each fitted graph with itself, and of each transformed one if there are any.

        These are what normalising divides by, so they are the same with and without ``normalize``.
        """
        check_is_fitted(self)
        rows = self.rows_
        if self._transformed is None:
            return rows.own.copy()
        own = diagonal(self._transformed, rows.options.spec, features=rows.prepared.features, **rows.options.how)
        return rows.own.copy(), own


def _given(X: Any) -> Any:
    if X is None:
        raise InputError("X must be graphs, but is None.")
    return X
