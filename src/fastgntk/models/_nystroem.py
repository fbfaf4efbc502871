"""Nyström features: kernel values with some graphs, the landmarks, turned into vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.checks import check_integer
from fastgntk._util.memory import memory_budget
from fastgntk.errors import InputError
from fastgntk.graphs import as_graphs
from fastgntk.models._base import GraphEstimator
from fastgntk.models._kernel_rows import KernelRows, TrainingKernel
from fastgntk.models._landmarks import SELECTIONS, uniform
from fastgntk.pairwise import check_result
from fastgntk.sketch import generator

__all__ = ["GNTKNystroem"]

Array = NDArray[np.float64]

_NOISE = (
    1e-10  # of the largest eigenvalue: values are right to 1e-8 where κ0 is steep, and less so of no two graphs alike
)
_AT_A_TIME = 512  # rows: all of them would be another matrix


class GNTKNystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Turn graphs into vectors whose inner products approximate the kernel, by their kernel values with landmarks.

    With m landmarks and n graphs that takes n m kernel values instead of n² / 2. Between landmarks, and between a
    landmark and any graph, inner products are exact; so they are for all graphs if every graph is a landmark.

    Parameters
    ----------
    n_landmarks : int
        How many training graphs are landmarks, and the number of columns; all graphs if there are fewer.
    selection : {"uniform", "kmeans++", "leverage"}
        How landmarks are drawn: all alike; one after the other far from those before; or by ridge leverage scores,
        found with as many uniform landmarks, which takes twice as long. Where graphs are much alike, all do equally
        well (docs/scaling.md has figures).
    blocks, layers, scale, jump, c_phi, edges, normalize
        The kernel, as in :class:`GNTKKernel`.
    random_state : int, optional
        Seed of the draw; None is 0.
    features, engine, sketching, memory, workers, progress
        As in :class:`GNTKRegressor`.

    Examples
    --------
    >>> import fastgntk as fg
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> data = fg.datasets.load("MUTAG")
    >>> model = make_pipeline(fg.GNTKNystroem(50, blocks=2, normalize=True), LinearSVC(C=100, max_iter=10_000))
    >>> model.fit(data.graphs[:150], data.y[:150]).predict(data.graphs[150:]).shape
    (38,)
    """

    def __init__(
        self,
        n_landmarks: int = 400,
        selection: str = "uniform",
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
        random_state: int | None = None,
        memory: Any = None,
        workers: int | None = None,
        progress: Any = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.selection = selection
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
        self.random_state = random_state
        self.memory = memory
        self.workers = workers
        self.progress = progress

    landmarks_: NDArray[np.int64]
    """Which training graphs are landmarks."""
    rows_: KernelRows
    whitening_: Array
    """The inverse root of the kernel among landmarks, of shape (m, m)."""

    def fit(self, X: Any, y: Any = None) -> GNTKNystroem:  # noqa: ARG002  # every step of a pipeline takes y
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
        self.rows_.check(batch)
        check_result(8 * len(batch) * len(self.landmarks_), memory_budget(self.memory))
        return self._whitened(self.rows_.values(batch, self._progress()))

    def _whitened(self, rows: Array) -> Array:
        """Turn kernel values with landmarks into vectors, in the same place."""
        for start in range(0, len(rows), _AT_A_TIME):
            rows[start : start + _AT_A_TIME] = rows[start : start + _AT_A_TIME] @ self.whitening_
        return rows

    def _fit(self, X: Any, *, whole: bool) -> Array | None:
        """Fit; returns the kernel values of all graphs with landmarks if they are wanted, or were needed to choose."""
        wanted = check_integer("n_landmarks", self.n_landmarks, 1)
        if not isinstance(self.selection, str) or self.selection not in SELECTIONS:
            raise InputError(f"selection must be one of {', '.join(SELECTIONS)}, but is {self.selection!r}.")
        batch = as_graphs(X)
        if not len(batch):
            raise InputError("there are no graphs to learn from.")
        kernel = TrainingKernel(batch, self._options(), self._progress(), in_units=False)
        count = min(wanted, kernel.n)
        if SELECTIONS[self.selection] is not uniform:
            check_result(8 * kernel.n * count, memory_budget(self.memory))
        rng = generator(self._seed())
        self.landmarks_, columns = SELECTIONS[self.selection](kernel, count, rng)
        if columns is None and whole:
            columns = kernel.columns(self.landmarks_)
        self.rows_ = kernel.rows_to(self.landmarks_)
        among = self.rows_(batch[self.landmarks_])[0] if columns is None else columns[self.landmarks_]
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
