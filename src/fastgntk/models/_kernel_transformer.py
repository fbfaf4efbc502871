"""The kernel as a step of a pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastgntk.errors import InputError
from fastgntk.graphs import as_graphs
from fastgntk.models._base import GraphEstimator
from fastgntk.models._kernel_rows import KernelRows, TrainingKernel

__all__ = ["GNTKKernel"]


class GNTKKernel(TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Turn graphs into rows of the kernel with the training graphs, for any method with ``kernel="precomputed"``.

    ``fit(train)`` keeps the training graphs; ``transform(new)`` gives the matrix (new, train), ``fit_transform(train)``
    the Gram matrix. Values for two graphs depend on these two alone. The parameters are those of
    :class:`GNTKRegressor`; values are not divided by anything but, with ``normalize``, by self-similarities.

    Examples
    --------
    >>> import fastgntk as fg
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> data = fg.datasets.load("MUTAG")
    >>> model = make_pipeline(fg.GNTKKernel(blocks=2, normalize=True), SVC(kernel="precomputed", C=100))
    >>> model.fit(data.graphs[:150], data.y[:150]).predict(data.graphs[150:]).shape
    (38,)
    """

    def __init__(
        self,
        blocks: int = 3,
        layers: int = 2,
        scale: str = "uniform",
        jump: Any = True,
        c_phi: float = 2.0,
        edges: str = "plain",
        normalize: bool = False,
        *,
        features: Any = "auto",
        engine: str = "auto",
        sketching: Any = None,
        memory: Any = None,
        workers: int | None = None,
        progress: Any = None,
    ) -> None:
        self.blocks = blocks
        self.layers = layers
        self.scale = scale
        self.jump = jump
        self.c_phi = c_phi
        self.edges = edges
        self.normalize = normalize
        self.features = features
        self.engine = engine
        self.sketching = sketching
        self.memory = memory
        self.workers = workers
        self.progress = progress

    rows_: KernelRows

    def fit(self, X: Any, y: Any = None) -> GNTKKernel:  # noqa: ARG002  # every step of a pipeline takes y
        """Keep the training graphs."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:  # noqa: ARG002
        """Keep the training graphs and return their Gram matrix."""
        kernel = self._fit(X)
        return kernel.full()

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the kernel between graphs and the training graphs, shape (t, n)."""
        check_is_fitted(self)
        batch = as_graphs(X)
        self.rows_.check(batch)
        return self.rows_(batch, self._progress())[0]

    def _fit(self, X: Any) -> TrainingKernel:
        batch = as_graphs(X)
        if not len(batch):
            raise InputError("there are no graphs to learn from.")
        kernel = TrainingKernel(batch, self._options(), self._progress(), in_units=False)
        self.rows_ = kernel.rows_to(np.arange(kernel.n))
        return kernel
