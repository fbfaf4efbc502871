"""Random features of graphs: linear models on millions of graphs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastgntk.errors import InputError
from fastgntk.graph import GraphBatch, NodeFeatures, graphs
from fastgntk.kernel import RandomFeatures, check_edges
from fastgntk.learn._checks import flag, whole_number
from fastgntk.learn._estimator import GraphEstimator
from fastgntk.learn._rows import check_kind
from fastgntk.matrix import fitted, memory_budget, run_on_threads, single_threaded_blas, worker_count

__all__ = ["GNTKRandomFeatures"]

_CHUNK = 25_000  # nodes computed at a time; more would merge few more of them


class GNTKRandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Turn graphs into vectors whose inner products approximate the kernel, in time linear in the number of graphs.

    No pair of graphs is formed, ``fit`` only looks at which labels there are, and ``transform`` needs nothing of other
    graphs: any number of them can go through it, some at a time. For up to some ten thousand graphs
    :class:`GNTKNystroem` is closer to the kernel with as many columns (docs/scaling.md has figures).

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
        Precision of the work and of what is returned; rounding is far below the error of either.
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
        batch = graphs(X)
        if not len(batch):
            raise InputError("there are no graphs to learn from.")
        size = whole_number("n_features", self.n_features, 2)
        for name in ("normalize", "exact_norms"):
            flag(name, getattr(self, name))
        worker_count(self.workers)
        memory_budget(self.memory)
        if self.dtype not in ("float32", "float64"):
            raise InputError(f"dtype must be 'float32' or 'float64', but is {self.dtype!r}.")
        spec = self._spec()
        step = fitted(self.features, batch)
        ready = step.transform(batch)
        check_edges(ready, spec)
        types = int(ready.edge_labels.max(initial=-1)) + 1 if spec.typed and ready.edge_labels is not None else 0
        # One more column and one more type than there are, for all labels that are not known yet.
        self.random_features_ = RandomFeatures(
            spec, size, ready.features.shape[1] + 1, types + 1, self._seed(), exact_norms=self.exact_norms
        )
        self.node_features_ = step
        self._n_features_out = self.random_features_.n_columns
        return self

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Return the vectors of graphs, shape (t, n_features)."""
        check_is_fitted(self)
        batch = graphs(X)
        check_kind(self.node_features_, batch)
        ready = self.node_features_.extend(batch).transform(batch)
        check_edges(ready, self.random_features_.spec)
        out = np.empty((len(batch), self._n_features_out), dtype=self.dtype)
        workers = worker_count(self.workers)

        def compute(part: slice) -> None:
            out[part] = self.random_features_(ready[part], out.dtype)

        with single_threaded_blas():
            run_on_threads(
                compute,
                self._parts(ready, workers),
                workers=workers,
                cost=lambda part: int(ready.offsets[part.stop] - ready.offsets[part.start]) + 1,
                progress=self._progress(),
            )
        if self.normalize:
            norms = np.sqrt(np.einsum("ij,ij->i", out, out, dtype=np.float64))[:, None]
            np.divide(out, norms, out=out, where=norms > 0, casting="same_kind")
        return out

    def _parts(self, batch: GraphBatch, workers: int) -> list[slice]:
        """Cut graphs into runs of so many nodes that memory holds what is computed from them at a time."""
        precision = np.dtype(self.dtype).itemsize // 4
        room = memory_budget(self.memory) - precision * 4 * len(batch) * self._n_features_out
        affordable = room // (workers * precision * self.random_features_.node_bytes)
        nodes = int(np.clip(affordable, 1, _CHUNK))
        cuts = np.searchsorted(batch.offsets, np.arange(0, batch.offsets[-1] + nodes, nodes), side="right") - 1
        cuts = np.unique(np.append(0, cuts))
        return [slice(a, b) for a, b in pairwise(cuts.tolist())]
