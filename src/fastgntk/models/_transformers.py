"""Transformers for pipelines: rows of kernel values with training graphs, and Nyström features."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.kernels import GNTK, Kernel
from fastgntk.models._base import GraphEstimator, check_new_graphs
from fastgntk.models._training_kernel import KernelBasis, TrainingKernel
from fastgntk.pairwise import Compute, check_compute, check_fits_memory
from fastgntk.sketch import generator
from fastgntk.solvers import KernelSource

__all__ = ["SELECTIONS", "KernelTransformer", "Nystroem"]

# Eigenvalues below this fraction of the largest are noise: kernel values have errors up to 1e-8 where κ0 is steep.
_NOISE = 1e-10
_BLOCK = 512  # rows whitened at a time, to save the memory of another matrix
_DRAWS = 16  # landmarks of kmeans++ drawn between updates of the distances: columns are cheaper in batches


class KernelTransformer(TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Map graphs to rows of the kernel with the training graphs, for any method with ``kernel="precomputed"``.

    ``fit(train)`` stores the training graphs, ``transform(new)`` returns the matrix (new, train), and
    ``fit_transform(train)`` the Gram matrix. The value for a pair of graphs depends on this pair alone.

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

    basis_: KernelBasis

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  # required by pipelines
        """Store the training graphs."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:  # noqa: ARG002
        """Store the training graphs and return their Gram matrix."""
        return self._fit(X).full()

    def transform(self, X: Any) -> Array:
        """Return the kernel between graphs and the training graphs, shape (t, n)."""
        check_is_fitted(self)
        batch = check_new_graphs(X, self.basis_.kernel, self.basis_.features, self.basis_.scalings)
        return self.basis_.values(batch, check_compute(self.compute).progress)

    def _fit(self, X: Any) -> TrainingKernel:
        training = TrainingKernel.from_graphs(X, self.kernel, self.compute, scaled=False)
        self.basis_ = training.basis(np.arange(training.n))
        return training


class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Map graphs to vectors whose inner products approximate the kernel, using kernel values with landmarks.

    With m landmarks, n graphs take n m kernel values instead of n² / 2. Inner products are exact between a landmark and
    any graph, and so for all graphs if every graph is a landmark.

    Parameters
    ----------
    kernel : Kernel
    n_components : int
        Number of landmarks and of columns; at most the number of training graphs.
    selection : {"uniform", "kmeans++", "leverage"}
        How landmarks are drawn: uniformly; by kmeans++, far from earlier landmarks; or by ridge leverage scores, which
        are estimated with as many uniform landmarks and take twice as long. On sets of similar graphs all do equally
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
    """Indices of the landmarks among the training graphs."""
    basis_: KernelBasis
    whitening_: Array
    """Inverse square root of the kernel matrix of the landmarks, shape (m, m)."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  # required by pipelines
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
        batch = check_new_graphs(X, self.basis_.kernel, self.basis_.features, self.basis_.scalings)
        compute = check_compute(self.compute)
        check_fits_memory(8 * len(batch) * len(self.landmarks_), compute.memory_budget)
        return self._whitened(self.basis_.values(batch, compute.progress))

    def _whitened(self, rows: Array) -> Array:
        """Convert kernel values with landmarks into vectors in place."""
        for start in range(0, len(rows), _BLOCK):
            rows[start : start + _BLOCK] = rows[start : start + _BLOCK] @ self.whitening_
        return rows

    def _fit(self, X: Any, *, whole: bool) -> Array | None:
        """Fit and return the kernel values of all graphs with landmarks; possibly None unless ``whole``."""
        max_landmarks = check_integer("n_components", self.n_components, 1)
        if not isinstance(self.selection, str) or self.selection not in SELECTIONS:
            raise InputError(f"selection must be one of {', '.join(SELECTIONS)}, but is {self.selection!r}.")
        training = TrainingKernel.from_graphs(X, self.kernel, self.compute, scaled=False)
        count = min(max_landmarks, training.n)
        if self.selection != "uniform":
            check_fits_memory(8 * training.n * count, training.prepared.compute.memory_budget)
        landmarks, columns = SELECTIONS[self.selection](training, count, generator(self._seed()))
        if columns is None and whole:
            columns = training.columns(landmarks)
        self.landmarks_, self.basis_ = landmarks, training.basis(landmarks)
        among = self.basis_.values(training.prepared.batch[landmarks]) if columns is None else columns[landmarks]
        self.whitening_ = _inverse_root(among)
        self._n_features_out = len(landmarks)
        return columns


def _inverse_root(K: Array) -> Array:
    """Return K^(−1/2) on the eigenvectors whose eigenvalues exceed the error of the engines."""
    values, vectors = linalg.eigh((K + K.T) / 2)
    kept = values > _NOISE * max(float(values[-1]), 0.0)
    half = vectors[:, kept] * values[kept] ** -0.25
    root: Array = half @ half.T
    return root


_Landmarks = tuple[Ints, Array | None]
"""Indices of landmarks, and their kernel columns if the draw computed them."""


def _draw_uniformly(source: KernelSource, count: int, rng: np.random.Generator) -> _Landmarks:
    return np.sort(rng.choice(source.n, count, replace=False)).astype(np.int64), None


def _draw_kmeans_plus_plus(source: KernelSource, count: int, rng: np.random.Generator) -> _Landmarks:
    """Draw with probability proportional to the squared distance from earlier landmarks, in batches (kmeans++)."""
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
    """Draw with probability proportional to the ridge leverage, estimated with as many uniform landmarks.

    The ridge is chosen so that leverages sum to about half the count: then no influential graph has a small one.
    """
    first, _ = _draw_uniformly(source, count, rng)
    C, diagonal = source.columns(first), source.diagonal()
    if not diagonal.any():  # no graph has nodes: all are equivalent
        return first, C
    values, vectors = linalg.eigh((C[first] + C[first].T) / 2)
    ridge = _ridge_for_dimension(np.maximum(values, 0.0) * source.n / count, count / 2)
    # l_i = (K_ii − c_i (K_mm + ridge m/n)⁻¹ c_iᵀ) / ridge: the estimate by these landmarks (Musco and Musco 2017).
    explained = (C @ vectors) ** 2 @ (1.0 / (np.maximum(values, 0.0) + ridge * count / source.n))
    leverage = np.maximum(diagonal - explained, np.finfo(np.float64).eps * diagonal)
    return np.sort(_draw_by_weights(leverage, np.zeros(0, dtype=np.int64), count, rng)), None


SELECTIONS: dict[str, Callable[[KernelSource, int, np.random.Generator], _Landmarks]] = {
    "uniform": _draw_uniformly,
    "kmeans++": _draw_kmeans_plus_plus,
    "leverage": _draw_by_leverage,
}
"""Functions that draw landmarks by name."""


def _draw_by_weights(weights: Array, taken: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Draw without replacement in proportion to weights; if too few are above 0, the rest uniformly."""
    weights = weights.copy()
    weights[taken] = -1.0
    # The largest values of log(u) / w are such a draw (Efraimidis and Spirakis 2006).
    with np.errstate(divide="ignore", invalid="ignore"):
        keys = np.where(weights > 0, np.log(rng.random(len(weights))) / weights, -np.inf)
    ranked = np.lexsort((rng.random(len(weights)), weights < 0, -keys))
    return ranked[:count].astype(np.int64)


def _ridge_for_dimension(values: Array, dimension: float) -> float:
    """Return the ridge at which the effective dimension Σ v / (v + ridge) of eigenvalues has this value."""
    high = float(values.sum())
    low = 1e-16 * high
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        if float((values / (values + middle)).sum()) > dimension:
            low = middle
        else:
            high = middle
    return high
