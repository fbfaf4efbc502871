"""Random features of graphs: linear models on millions of graphs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Floats
from fastgntk._util.checks import check_flag, check_integer
from fastgntk._util.threads import Progress, single_threaded_blas
from fastgntk._util.threads import run as run_on_threads
from fastgntk.engines import TangentFeatures, check_edges
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures, as_graphs
from fastgntk.kernels import GNTK, Kernel, Normalized
from fastgntk.models._base import GraphEstimator, nonempty, warn_unseen_labels
from fastgntk.models._kernel_rows import check_features
from fastgntk.pairwise import Compute, check_compute, check_kernel, check_result

__all__ = ["RandomFeatures", "drawn_width"]

_CHUNK = 25_000  # nodes computed at a time; more would merge few more of them
_SPARE = 16  # columns for unseen labels: two of them share one of these in one of 16 cases


class RandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Map graphs to vectors whose inner products approximate the kernel, in time linear in the number of graphs.

    No pair of graphs is formed, ``fit`` only collects labels, and ``transform`` needs nothing of other graphs: any
    number of them can go through it, some at a time. For up to some ten thousand graphs :class:`Nystroem` is closer to
    the kernel with as many columns (docs/scaling.md has figures).

    Node labels that ``fit`` did not see are distinguished by hashing, with a warning that counts them; types of edges
    that it did not see are one type.

    Parameters
    ----------
    kernel : Kernel
        A :class:`GNTK` without a sketch, or one that is normalised: then each vector is divided by its norm.
    n_components : int
        Columns. The error falls as one over the square root, and time grows in proportion.
    exact_norms : bool
        Scale the output of each layer for a node to the norm that it has in the kernel: several times less error.
        Without, the features of one block of one layer are unbiased, and those of deeper kernels less biased.
    dtype : {"float32", "float64"}
        Precision of vectors, in the work and as returned. Norms are double, and rounding is far below the error.
    random_state : int, optional
        Seed of the draws; None is 0.
    compute : Compute
        Threads, memory and progress; engines do not apply.

    Examples
    --------
    >>> import fastgntk as fg
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> data = fg.datasets.load("MUTAG")
    >>> model = make_pipeline(fg.RandomFeatures(fg.GNTK(2).normalized(), 512), RidgeClassifier(alpha=1e-3))
    >>> model.fit(data.graphs[:150], data.y[:150]).predict(data.graphs[150:]).shape
    (38,)
    """

    def __init__(
        self,
        kernel: Kernel = GNTK(),
        n_components: int = 2048,
        *,
        exact_norms: bool = True,
        dtype: str = "float32",
        random_state: int | None = None,
        compute: Compute = Compute(),
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.exact_norms = exact_norms
        self.dtype = dtype
        self.random_state = random_state
        self.compute = compute

    node_features_: NodeFeatures
    draws_: TangentFeatures

    def fit(self, X: Any, y: Any = None) -> RandomFeatures:  # noqa: ARG002  # every step of a pipeline takes y
        """Collect labels, and draw. Some of the graphs are enough, if they have all labels."""
        batch = nonempty(as_graphs(X))
        size = check_integer("n_components", self.n_components, 2)
        kernel = self._check()
        step = NodeFeatures(kernel.features).fit(batch)
        ready = step.transform(batch)
        check_edges(ready, kernel)
        # One more type than there are, for all unseen ones, and columns for unseen labels.
        types = int(ready.edge_labels.max(initial=-1)) + 2 if kernel.typed and ready.edge_labels is not None else 1
        self.draws_ = TangentFeatures(
            kernel, size, drawn_width(step), types, self._seed(), exact_norms=self.exact_norms
        )
        self.node_features_ = step
        self._n_features_out = self.draws_.n_columns
        return self

    def _check(self) -> GNTK:
        """Check the parameters; returns the tangent kernel, without the normalisation."""
        check_flag("exact_norms", self.exact_norms)
        check_compute(self.compute)
        if self.dtype not in ("float32", "float64"):
            raise InputError(f"dtype must be 'float32' or 'float64', but is {self.dtype!r}.")
        kernel = check_kernel(self.kernel)
        inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
        if not isinstance(inner, GNTK) or inner.sketch is not None:
            raise InputError(
                f"random features are for one GNTK without a sketch, normalised or not, but the kernel is {kernel}; "
                "use Nystroem, or solver='nystrom', for other kernels."
            )
        return inner

    def transform(self, X: Any) -> Floats:
        """Return the vectors of graphs, shape (t, n_components)."""
        check_is_fitted(self)
        batch = as_graphs(X)
        features: dict[str, NodeFeatures] = {self.draws_.kernel.features: self.node_features_}
        check_features(features, batch)
        warn_unseen_labels(features, batch, typed=self.draws_.kernel.typed)
        return self.vectors(batch, check_compute(self.compute).progress)

    def vectors(self, batch: GraphBatch, progress: Progress | None = None) -> Floats:
        """Return what ``transform`` does, of graphs that are known to be of the right kind."""
        self._check()
        ready = self.ready(batch)
        how = check_compute(self.compute)
        normalized, workers = isinstance(self.kernel, Normalized), how.threads
        check_result(len(batch) * self._n_features_out * np.dtype(self.dtype).itemsize, how.budget)
        out = np.empty((len(batch), self._n_features_out), dtype=self.dtype)

        def compute(part: slice) -> None:
            values = self.draws_(ready[part], out.dtype)
            if normalized:
                norms = np.linalg.norm(values, axis=1, keepdims=True)
                np.divide(values, norms, out=values, where=norms > 0)
            with np.errstate(over="ignore"):  # refused below
                out[part] = values

        with single_threaded_blas():
            run_on_threads(
                compute,
                self._parts(ready, workers, how.budget),
                workers=workers,
                cost=lambda part: int(ready.offsets[part.stop] - ready.offsets[part.start]) + 1,
                progress=progress,
            )
        _check_range(out)
        return out

    def ready(self, batch: GraphBatch) -> GraphBatch:
        """Return graphs with the features that draws are for: unseen labels have one of the spare columns."""
        step = self.node_features_
        extended = step.extend(batch)
        ready = extended.transform(batch)
        check_edges(ready, self.draws_.kernel)
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

    def _parts(self, batch: GraphBatch, workers: int, budget: int) -> list[slice]:
        """Cut graphs into runs such that memory holds what is computed from them at a time, beside the result."""
        precision = np.dtype(self.dtype).itemsize // 4
        result = 4 * precision * len(batch) * self._n_features_out
        node = precision * self.draws_.node_bytes
        # Beside those of its nodes, a graph has two vectors in double precision: by level, and all together.
        cost = np.cumsum(np.diff(batch.offsets) * node + 2 * 8 * self._n_features_out)
        affordable = max((budget - result) // workers, 1)
        most = min(affordable, _CHUNK * node)
        ends = np.searchsorted(cost, np.arange(most, (cost[-1] if len(cost) else 0) + most, most)) + 1
        cuts = np.unique(np.append(0, np.minimum(ends, len(batch))))
        return [slice(a, b) for a, b in pairwise(cuts.tolist())]


def drawn_width(step: NodeFeatures) -> int:
    """Return how many columns draws are for: those of the features, and spare ones if there are labels."""
    return step.width_ + (0 if step.kind_ == "attributes" else _SPARE)


def _check_range(vectors: Floats) -> None:
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(wrong):
        raise InputError(
            f"the features of graph {wrong[0]} leave the range of {vectors.dtype}; use a normalised kernel, "
            "dtype='float64', scale='degree' or smaller features."
        )
