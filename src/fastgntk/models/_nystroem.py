"""Nyström features: kernel values with some graphs, the landmarks, turned into vectors."""

from __future__ import annotations

from typing import Any

from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.graphs import as_graphs
from fastgntk.kernels import GNTK, Kernel
from fastgntk.models._base import GraphEstimator, nonempty
from fastgntk.models._kernel_rows import KernelRows, check_features
from fastgntk.models._landmarks import SELECTIONS, uniform
from fastgntk.models._training_kernel import TrainingKernel
from fastgntk.pairwise import Compute, check_compute, check_kernel, check_result, prepare_batch
from fastgntk.sketch import generator

__all__ = ["Nystroem"]


_NOISE = (
    1e-10  # of the largest eigenvalue: values are right to 1e-8 where κ0 is steep, and less so of no two graphs alike
)
_AT_A_TIME = 512  # rows: all of them would be another matrix


class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Map graphs to vectors whose inner products approximate the kernel, by their kernel values with landmarks.

    With m landmarks and n graphs that takes n m kernel values instead of n² / 2. Between landmarks, and between a
    landmark and any graph, inner products are exact; so they are for all graphs if every graph is a landmark.

    Parameters
    ----------
    kernel : Kernel
    n_components : int
        How many training graphs are landmarks, and the number of columns; all graphs if there are fewer.
    selection : {"uniform", "kmeans++", "leverage"}
        How landmarks are drawn: all alike; one after the other far from those before; or by ridge leverage scores,
        found with as many uniform landmarks, which takes twice as long. Where graphs are much alike, all do equally
        well (docs/scaling.md has figures).
    random_state : int, optional
        Seed of the draw; None is 0.
    compute : Compute

    Examples
    --------
    >>> import fastgntk as fg
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> data = fg.datasets.load("MUTAG")
    >>> model = make_pipeline(fg.Nystroem(fg.GNTK(2).normalized(), 50), LinearSVC(C=100, max_iter=10_000))
    >>> model.fit(data.graphs[:150], data.y[:150]).predict(data.graphs[150:]).shape
    (38,)
    """

    def __init__(
        self,
        kernel: Kernel = GNTK(),
        n_components: int = 400,
        selection: str = "uniform",
        *,
        random_state: int | None = None,
        compute: Compute = Compute(),
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.selection = selection
        self.random_state = random_state
        self.compute = compute

    landmarks_: Ints
    """Which training graphs are landmarks."""
    rows_: KernelRows
    whitening_: Array
    """The inverse root of the kernel among landmarks, of shape (m, m)."""

    def fit(self, X: Any, y: Any = None) -> Nystroem:  # noqa: ARG002  # every step of a pipeline takes y
        """Choose landmarks."""
        self._fit(X, whole=False)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:  # noqa: ARG002
        """Choose landmarks and return the vectors of the training graphs, shape (n, m)."""
        columns = self._fit(X, whole=True)
        assert columns is not None
        return self._whitened(columns)

    def transform(self, X: Any) -> Array:
        """Return the vectors of graphs, shape (t, m)."""
        check_is_fitted(self)
        batch = as_graphs(X)
        check_features(self.rows_.features, batch)
        compute = check_compute(self.compute)
        check_result(8 * len(batch) * len(self.landmarks_), compute.budget)
        return self._whitened(self.rows_.values(batch, compute.progress))

    def _whitened(self, rows: Array) -> Array:
        """Turn kernel values with landmarks into vectors, in the same place."""
        for start in range(0, len(rows), _AT_A_TIME):
            rows[start : start + _AT_A_TIME] = rows[start : start + _AT_A_TIME] @ self.whitening_
        return rows

    def _fit(self, X: Any, *, whole: bool) -> Array | None:
        """Fit; returns the kernel values of all graphs with landmarks if they are wanted, or were needed to choose."""
        wanted = check_integer("n_components", self.n_components, 1)
        if not isinstance(self.selection, str) or self.selection not in SELECTIONS:
            raise InputError(f"selection must be one of {', '.join(SELECTIONS)}, but is {self.selection!r}.")
        batch, compute = nonempty(as_graphs(X)), check_compute(self.compute)
        prepared = prepare_batch(batch, check_kernel(self.kernel), compute)
        kernel = TrainingKernel(prepared, compute.progress, in_units=False)
        count = min(wanted, kernel.n)
        if SELECTIONS[self.selection] is not uniform:
            check_result(8 * kernel.n * count, compute.budget)
        rng = generator(self._seed())
        self.landmarks_, columns = SELECTIONS[self.selection](kernel, count, rng)
        if columns is None and whole:
            columns = kernel.columns(self.landmarks_)
        self.rows_ = kernel.rows_to(self.landmarks_)
        among = self.rows_.values(batch[self.landmarks_]) if columns is None else columns[self.landmarks_]
        self.whitening_ = _inverse_root(among)
        self._n_features_out = len(self.landmarks_)
        return columns


def _inverse_root(K: Array) -> Array:
    """Return K^(−1/2) on the directions in which K is more than what engines may be off by."""
    values, vectors = linalg.eigh((K + K.T) / 2)
    kept = values > _NOISE * max(float(values[-1]), 0.0)
    half = vectors[:, kept] * values[kept] ** -0.25
    root: Array = half @ half.T
    return root
