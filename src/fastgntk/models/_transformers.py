"""Transformers for pipelines: rows of kernel values with training graphs, and Nyström features made from them."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.graphs import as_graphs
from fastgntk.kernels import GNTK, Kernel
from fastgntk.models._base import GraphEstimator, check_features
from fastgntk.models._kernel_values import KernelRows, TrainingKernel
from fastgntk.pairwise import Compute, check_compute, check_fits_memory
from fastgntk.sketch import generator
from fastgntk.solvers import KernelSource

__all__ = ["SELECTIONS", "KernelTransformer", "Nystroem"]

# Eigenvalues below this fraction of the largest are noise: kernel values have errors of up to 1e-8 where κ0 is steep.
_NOISE = 1e-10
_BLOCK = 512  # rows whitened at a time: all of them would be another matrix
_DRAWS = 16  # landmarks of kmeans++ drawn before distances are updated: columns are cheaper in company


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

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  # every step of a pipeline takes y
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
        training = TrainingKernel.from_graphs(X, self.kernel, self.compute, in_units=False)
        self.rows_ = training.rows_to(np.arange(training.n))
        return training


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
        How landmarks are drawn: uniformly; by kmeans++, far from earlier landmarks; or by ridge leverage scores,
        found with as many uniform landmarks, which takes twice as long. Where graphs are much alike, all do equally
        well (docs/scaling.md has figures).
    random_state : int, optional
        Seed of the draw; None means 0.
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

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  # every step of a pipeline takes y
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
        check_fits_memory(8 * len(batch) * len(self.landmarks_), compute.memory_budget)
        return self._whitened(self.rows_.values(batch, compute.progress))

    def _whitened(self, rows: Array) -> Array:
        """Turn kernel values with landmarks into vectors, in the same place."""
        for start in range(0, len(rows), _BLOCK):
            rows[start : start + _BLOCK] = rows[start : start + _BLOCK] @ self.whitening_
        return rows

    def _fit(self, X: Any, *, whole: bool) -> Array | None:
        """Fit; returns the kernel values of all graphs with landmarks if ``whole``, or if they were computed anyway."""
        max_landmarks = check_integer("n_components", self.n_components, 1)
        if not isinstance(self.selection, str) or self.selection not in SELECTIONS:
            raise InputError(f"selection must be one of {', '.join(SELECTIONS)}, but is {self.selection!r}.")
        training = TrainingKernel.from_graphs(X, self.kernel, self.compute, in_units=False)
        count = min(max_landmarks, training.n)
        if self.selection != "uniform":
            check_fits_memory(8 * training.n * count, training.prepared.compute.memory_budget)
        landmarks, columns = SELECTIONS[self.selection](training, count, generator(self._seed()))
        if columns is None and whole:
            columns = training.columns(landmarks)
        self.landmarks_, self.rows_ = landmarks, training.rows_to(landmarks)
        among = self.rows_.values(training.prepared.batch[landmarks]) if columns is None else columns[landmarks]
        self.whitening_ = _inverse_root(among)
        self._n_features_out = len(landmarks)
        return columns


def _inverse_root(K: Array) -> Array:
    """Return K^(−1/2) on the directions in which K is more than what engines may be off by."""
    values, vectors = linalg.eigh((K + K.T) / 2)
    kept = values > _NOISE * max(float(values[-1]), 0.0)
    half = vectors[:, kept] * values[kept] ** -0.25
    root: Array = half @ half.T
    return root


_Landmarks = tuple[Ints, Array | None]
"""Indices of landmarks, and their kernel columns if these were computed on the way."""


def _draw_uniformly(source: KernelSource, count: int, rng: np.random.Generator) -> _Landmarks:
    return np.sort(rng.choice(source.n, count, replace=False)).astype(np.int64), None


def _draw_kmeans_plus_plus(source: KernelSource, count: int, rng: np.random.Generator) -> _Landmarks:
    """Draw with a chance in proportion to the squared distance from the landmarks before, some at a time (kmeans++)."""
    diagonal = source.diagonal()
    distance = np.full(source.n, np.inf)
    landmarks = np.array([rng.integers(source.n)], dtype=np.int64)
    columns = np.empty((source.n, count))
    done = 0
    while True:
        new = source.columns(landmarks[done:])
        columns[:, done : len(landmarks)] = new
        squared = diagonal[:, None] - 2.0 * new + diagonal[landmarks[done:]]
        distance = np.minimum(distance, np.maximum(squared.min(axis=1), 0.0))
        done = len(landmarks)
        if done == count:
            return landmarks, columns
        landmarks = np.append(landmarks, _draw_by_weights(distance, landmarks, min(_DRAWS, done, count - done), rng))


def _draw_by_leverage(source: KernelSource, count: int, rng: np.random.Generator) -> _Landmarks:
    """Draw with a chance in proportion to the ridge leverage, as estimated with as many uniform landmarks.

    The ridge is such that leverages sum to about half the count: then no graph that matters has a small one.
    """
    first, _ = _draw_uniformly(source, count, rng)
    C, diagonal = source.columns(first), source.diagonal()
    if not diagonal.any():  # graphs without nodes: any is as good as another
        return first, C
    values, vectors = linalg.eigh((C[first] + C[first].T) / 2)
    ridge = _ridge_for_dimension(np.maximum(values, 0.0) * source.n / count, count / 2)
    # l_i = (K_ii − c_i (K_mm + ridge m/n)⁻¹ c_iᵀ) / ridge, as K with these landmarks has it (Musco and Musco 2017).
    explained = (C @ vectors) ** 2 @ (1.0 / (np.maximum(values, 0.0) + ridge * count / source.n))
    leverage = np.maximum(diagonal - explained, np.finfo(np.float64).eps * diagonal)
    return np.sort(_draw_by_weights(leverage, np.zeros(0, dtype=np.int64), count, rng)), None


SELECTIONS: dict[str, Callable[[KernelSource, int, np.random.Generator], _Landmarks]] = {
    "uniform": _draw_uniformly,
    "kmeans++": _draw_kmeans_plus_plus,
    "leverage": _draw_by_leverage,
}
"""Functions that draw landmarks, by name."""


def _draw_by_weights(weights: Array, taken: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Draw without replacement by weights; where too few are above 0, the rest uniformly among the others."""
    weights = weights.copy()
    weights[taken] = -1.0
    # The largest of log(u) / w are such a draw (Efraimidis and Spirakis 2006), and all at once.
    with np.errstate(divide="ignore", invalid="ignore"):
        keys = np.where(weights > 0, np.log(rng.random(len(weights))) / weights, -np.inf)
    ranked = np.lexsort((rng.random(len(weights)), weights < 0, -keys))
    return ranked[:count].astype(np.int64)


def _ridge_for_dimension(values: Array, dimension: float) -> float:
    """Return the ridge at which eigenvalues have this number of effective dimensions, Σ v / (v + ridge)."""
    high = float(values.sum())
    low = 1e-16 * high
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        if float((values / (values + middle)).sum()) > dimension:
            low = middle
        else:
            high = middle
    return high
