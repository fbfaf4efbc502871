"""The kernel as a step of a pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Array
from fastgntk.graphs import as_graphs
from fastgntk.kernels import GNTK, Kernel
from fastgntk.models._base import GraphEstimator, nonempty
from fastgntk.models._kernel_rows import KernelRows, check_features
from fastgntk.models._training_kernel import TrainingKernel
from fastgntk.pairwise import Compute, check_compute, check_kernel, prepare_batch

__all__ = ["KernelTransformer"]


class KernelTransformer(TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Map graphs to rows of the kernel with the training graphs, for any method with ``kernel="precomputed"``.

    ``fit(train)`` keeps the training graphs; ``transform(new)`` gives the matrix (new, train), ``fit_transform(train)``
    the Gram matrix. Values for two graphs depend on these two alone.

    Parameters
    ----------
    kernel : Kernel
    compute : Compute

    Examples
    --------
    >>> import fastgntk as fg
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> data = fg.datasets.load("MUTAG")
    >>> model = make_pipeline(fg.KernelTransformer(fg.GNTK(2).normalized()), SVC(kernel="precomputed", C=100))
    >>> model.fit(data.graphs[:150], data.y[:150]).predict(data.graphs[150:]).shape
    (38,)
    """

    def __init__(self, kernel: Kernel = GNTK(), *, compute: Compute = Compute()) -> None:
        self.kernel = kernel
        self.compute = compute

    rows_: KernelRows

    def fit(self, X: Any, y: Any = None) -> KernelTransformer:  # noqa: ARG002  # every step of a pipeline takes y
        """Keep the training graphs."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:  # noqa: ARG002
        """Keep the training graphs and return their Gram matrix."""
        return self._fit(X).full()

    def transform(self, X: Any) -> Array:
        """Return the kernel between graphs and the training graphs, shape (t, n)."""
        check_is_fitted(self)
        batch = as_graphs(X)
        check_features(self.rows_.features, batch)
        return self.rows_.values(batch, check_compute(self.compute).progress)

    def _fit(self, X: Any) -> TrainingKernel:
        batch = nonempty(as_graphs(X))
        compute = check_compute(self.compute)
        prepared = prepare_batch(batch, check_kernel(self.kernel), compute)
        training = TrainingKernel(prepared, compute.progress, in_units=False)
        self.rows_ = training.rows_to(np.arange(training.n))
        return training
