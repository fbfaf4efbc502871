"""Random features of graphs: linear models on millions of graphs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.checks import check_flag, check_integer
from fastgntk._util.memory import memory_budget, worker_count
from fastgntk._util.threads import run as run_on_threads
from fastgntk._util.threads import single_threaded_blas
from fastgntk.engines import RandomFeatures, check_edges
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures, as_graphs
from fastgntk.models._base import GraphEstimator, spec_of, tell_unseen
from fastgntk.models._kernel_rows import check_kind
from fastgntk.pairwise import check_result, fitted

__all__ = ["GNTKRandomFeatures", "drawn_width"]

_CHUNK = 25_000  # nodes computed at a time; more would merge few more of them
_SPARE = 16  # columns for labels that nobody knew: two of them share one of these in one of 16 cases


class GNTKRandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Turn graphs into vectors whose inner products approximate the kernel, in time linear in the number of graphs.

    No pair of graphs is formed, ``fit`` only looks at which labels there are, and ``transform`` needs nothing of other
    graphs: any number of them can go through it, some at a time. For up to some ten thousand graphs
    :class:`GNTKNystroem` is closer to the kernel with as many columns (docs/scaling.md has figures).

    Node labels that ``fit`` did not see are told apart by hashing, which a warning counts; types of edges that it did
    not see are one type.

    Parameters
    ----------
    n_features : int
        Columns. The error falls as one over the square root, and time grows in proportion.
    blocks, layers, scale, jump, c_phi, edges
        The kernel, as in :class:`GNTK`.
    normalize : bool
        Divide each vector by its norm, so that inner products approximate the normalised kernel.
    exact_norms : bool
        Scale what each layer makes of a node to the norm that it has in the kernel: several times less error. Without,
        the features of one block of one layer are unbiased, and those of deeper kernels less biased.
    dtype : {"float32", "float64"}
        Precision of vectors, in the work and as returned. Norms are double, and rounding is far below the error.
    random_state : int, optional
        Seed of the draws; None is 0.
    features, memory, workers, progress
        As in :class:`GNTKRegressor`.

    Examples
    --------
    >>> import fastgntk as fg
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> data = fg.datasets.load("MUTAG")
    >>> model = make_pipeline(fg.GNTKRandomFeatures(512, blocks=2, normalize=True), RidgeClassifier(alpha=1e-3))
    >>> model.fit(data.graphs[:150], data.y[:150]).predict(data.graphs[150:]).shape
    (38,)
    """

    def __init__(
        self,
        n_features: int = 2048,
        blocks: int = 3,
        layers: int = 2,
        scale: str = "uniform",
        jump: Any = True,
        c_phi: float = 2.0,
        edges: str = "plain",
        normalize: bool = False,
        *,
        exact_norms: bool = True,
        dtype: str = "float32",
        features: Any = "auto",
        random_state: int | None = None,
        memory: Any = None,
        workers: int | None = None,
        progress: Any = None,
    ) -> None:
        self.n_features = n_features
        self.blocks = blocks
        self.layers = layers
        self.scale = scale
        self.jump = jump
        self.c_phi = c_phi
        self.edges = edges
        self.normalize = normalize
        self.exact_norms = exact_norms
        self.dtype = dtype
        self.features = features
        self.random_state = random_state
        self.memory = memory
        self.workers = workers
        self.progress = progress

    node_features_: NodeFeatures
    random_features_: RandomFeatures

    def fit(self, X: Any, y: Any = None) -> GNTKRandomFeatures:  # noqa: ARG002  # every step of a pipeline takes y
        """See which labels there are, and draw. Some of the graphs are enough, if they have all labels."""
        batch = as_graphs(X)
        if not len(batch):
            raise InputError("there are no graphs to learn from.")
        size = check_integer("n_features", self.n_features, 2)
        self._check()
        spec = spec_of(self)
        step = fitted(self.features, batch)
        ready = step.transform(batch)
        check_edges(ready, spec)
        # One more type than there are, for all that are not known yet, and columns for labels that are not.
        types = int(ready.edge_labels.max(initial=-1)) + 2 if spec.typed and ready.edge_labels is not None else 1
        self.random_features_ = RandomFeatures(
            spec, size, drawn_width(step), types, self._seed(), exact_norms=self.exact_norms
        )
        self.node_features_ = step
        self._n_features_out = self.random_features_.n_columns
        return self

    def _check(self) -> None:
        for name in ("normalize", "exact_norms"):
            check_flag(name, getattr(self, name))
        worker_count(self.workers)
        memory_budget(self.memory)
        if self.dtype not in ("float32", "float64"):
            raise InputError(f"dtype must be 'float32' or 'float64', but is {self.dtype!r}.")

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Return the vectors of graphs, shape (t, n_features)."""
        check_is_fitted(self)
        batch = as_graphs(X)
        check_kind(self.node_features_, batch)
        tell_unseen(self.node_features_, batch, typed=self.random_features_.spec.typed)
        return self.vectors(batch)

    def vectors(self, batch: GraphBatch) -> NDArray[np.floating]:
        """Return what ``transform`` does, of graphs that are known to be of the right kind."""
        self._check()
        ready = self.ready(batch)
        workers = worker_count(self.workers)
        check_result(len(batch) * self._n_features_out * np.dtype(self.dtype).itemsize, memory_budget(self.memory))
        out = np.empty((len(batch), self._n_features_out), dtype=self.dtype)

        def compute(part: slice) -> None:
            values = self.random_features_(ready[part], out.dtype)
            if self.normalize:
                norms = np.linalg.norm(values, axis=1, keepdims=True)
                np.divide(values, norms, out=values, where=norms > 0)
            with np.errstate(over="ignore"):  # refused below
                out[part] = values

        with single_threaded_blas():
            run_on_threads(
                compute,
                self._parts(ready, workers),
                workers=workers,
                cost=lambda part: int(ready.offsets[part.stop] - ready.offsets[part.start]) + 1,
                progress=self._progress(),
            )
        _check_range(out)
        return out

    def ready(self, batch: GraphBatch) -> GraphBatch:
        """Return graphs with the features that draws are for: labels nobody knew have one of the spare columns."""
        step = self.node_features_
        extended = step.extend(batch)
        ready = extended.transform(batch)
        check_edges(ready, self.random_features_.spec)
        if extended.width_ == step.width_:
            return ready
        place = np.arange(extended.width_)
        for number, (labels, columns) in enumerate(zip(extended.categories_, extended.columns_, strict=True)):
            for label, column in zip(labels.tolist(), columns.tolist(), strict=True):
                if column >= step.width_:
                    place[column] = step.width_ + crc32(f"{number} {label}".encode()) % _SPARE
        features, width = ready.features, drawn_width(step)
        return ready.with_features(
            sparse.csr_array((features.data, place[features.indices], features.indptr), shape=(ready.n_nodes, width))
        )

    def _parts(self, batch: GraphBatch, workers: int) -> list[slice]:
        """Cut graphs into runs such that memory holds what is computed from them at a time, beside the result."""
        precision = np.dtype(self.dtype).itemsize // 4
        result = 4 * precision * len(batch) * self._n_features_out
        node = precision * self.random_features_.node_bytes
        # Beside those of its nodes, a graph has two vectors in double precision: by level, and all together.
        cost = np.cumsum(np.diff(batch.offsets) * node + 2 * 8 * self._n_features_out)
        affordable = max((memory_budget(self.memory) - result) // workers, 1)
        most = min(affordable, _CHUNK * node)
        ends = np.searchsorted(cost, np.arange(most, (cost[-1] if len(cost) else 0) + most, most)) + 1
        cuts = np.unique(np.append(0, np.minimum(ends, len(batch))))
        return [slice(a, b) for a, b in pairwise(cuts.tolist())]


def drawn_width(step: NodeFeatures) -> int:
    """Return how many columns draws are for: those of the features, and spare ones if there are labels."""
    return step.width_ + (0 if step.kind_ == "attributes" else _SPARE)


def _check_range(vectors: NDArray[np.floating]) -> None:
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(wrong):
        raise InputError(
            f"the features of graph {wrong[0]} leave the range of {vectors.dtype}; use normalize=True, "
            "dtype='float64', scale='degree' or smaller features."
        )
