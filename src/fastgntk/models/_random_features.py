"""Random features of graphs: for linear models on millions of graphs, or instead of kernel values in ridge regression.

A model on random features needs no training graphs once it is fitted. Its row of a graph is the vector φ, and
k(G, G') ≈ ⟨φ, φ'⟩. As for kernels, φ of a normalised kernel is divided by its norm, and otherwise by the square root of
the mean ‖φ‖² of the training graphs (``unit``). The constant that ridge regression adds to the kernel is one more
feature, ``sqrt(INTERCEPT)``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self
from zlib import crc32

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Array, Floats
from fastgntk._util.checks import check_flag, check_integer
from fastgntk._util.threads import Progress, single_threaded_blas
from fastgntk._util.threads import run as run_on_threads
from fastgntk.engines import TangentFeatures, check_edges
from fastgntk.errors import InputError
from fastgntk.graphs import Graph, GraphBatch, NodeFeatures, as_graphs
from fastgntk.kernels import GNTK, Kernel, Normalized
from fastgntk.models._base import GraphEstimator, as_training_graphs, check_features, warn_unseen_labels
from fastgntk.models._kernel_values import INTERCEPT, Chunk, TrainingKernel, split_into_chunks
from fastgntk.models._targets import Targets
from fastgntk.pairwise import Compute, check_compute, check_fits_memory, check_kernel
from fastgntk.solvers import Solution, regress_on_features

__all__ = ["DEFAULT_FEATURES", "FeatureRows", "RandomFeatures", "drawn_width", "solve_on_features"]

DEFAULT_FEATURES = 2048
"""The default number of features."""

_CHUNK = 25_000  # nodes computed at a time; more would merge few more of them
_SPARE = 16  # columns for unseen labels: two of them share one of these in one of 16 cases
_BLOCK = 8192  # graphs whose vectors are factorized at a time: several times the features, so that little is done twice


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
        Seed of the draws; None means 0.
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

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  # every step of a pipeline takes y
        """Collect labels, and draw. Some of the graphs are enough, if they have all labels."""
        batch = as_training_graphs(X)
        size = check_integer("n_components", self.n_components, 2)
        kernel = self._check()
        step = NodeFeatures(kernel.features).fit(batch)
        ready = step.transform(batch)
        check_edges(ready, kernel)
        # One more type than there are, for all unseen ones, and columns for unseen labels.
        types = int(ready.edge_labels.max(initial=-1)) + 2 if kernel.typed and ready.edge_labels is not None else 1
        width = drawn_width(step)
        self.draws_ = TangentFeatures(kernel, size, width, types, self._seed(), exact_norms=self.exact_norms)
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
        """Return the vectors of graphs whose features were checked."""
        self._check()
        ready = self.ready(batch)
        options = check_compute(self.compute)
        normalized, workers = isinstance(self.kernel, Normalized), options.threads
        check_fits_memory(len(batch) * self._n_features_out * np.dtype(self.dtype).itemsize, options.memory_budget)
        out = np.empty((len(batch), self._n_features_out), dtype=self.dtype)

        def write_part(part: slice) -> None:
            values = self.draws_(ready[part], out.dtype)
            if normalized:
                norms = np.linalg.norm(values, axis=1, keepdims=True)
                np.divide(values, norms, out=values, where=norms > 0)
            with np.errstate(over="ignore"):  # refused below
                out[part] = values

        def cost(part: slice) -> int:
            return int(ready.offsets[part.stop] - ready.offsets[part.start]) + 1

        parts = self._split(ready, workers, options.memory_budget)
        with single_threaded_blas():
            run_on_threads(write_part, parts, workers=workers, cost=cost, progress=progress)
        wrong = np.flatnonzero(~np.isfinite(out).all(axis=1))
        if len(wrong):
            raise InputError(
                f"the features of graph {wrong[0]} leave the range of {out.dtype}; use a normalised kernel, "
                "dtype='float64', scale='degree' or smaller features."
            )
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
        entries = features.data, place[features.indices], features.indptr
        return ready.with_features(sparse.csr_array(entries, shape=(ready.n_nodes, width)))

    def _split(self, batch: GraphBatch, workers: int, budget: int) -> list[slice]:
        """Split graphs into consecutive parts such that memory holds what is computed from one beside the result."""
        precision = np.dtype(self.dtype).itemsize // 4
        result = 4 * precision * len(batch) * self._n_features_out
        node = precision * self.draws_.node_bytes
        # Beside those of its nodes, a graph has two vectors in double precision: by level, and all together.
        cost = np.cumsum(np.diff(batch.offsets) * node + 2 * 8 * self._n_features_out)
        affordable = max((budget - result) // workers, 1)
        limit = min(affordable, _CHUNK * node)
        ends = np.searchsorted(cost, np.arange(limit, (cost[-1] if len(cost) else 0) + limit, limit)) + 1
        cuts = np.unique(np.append(0, np.minimum(ends, len(batch))))
        return [slice(a, b) for a, b in pairwise(cuts.tolist())]


def drawn_width(step: NodeFeatures) -> int:
    """Return how many columns draws are for: those of the features, and spare ones if there are labels."""
    return step.width_ + (0 if step.kind_ == "attributes" else _SPARE)


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """The m features of any graphs, with the methods of ``KernelRows`` that need no training graphs."""

    transformer: RandomFeatures
    unit: float = 1.0
    keeps_graphs: ClassVar[bool] = False

    @classmethod
    def restore(cls, draws: TangentFeatures, step: NodeFeatures, kernel: Kernel, compute: Compute, unit: float) -> Self:
        """Take features that were drawn already, and fitted node features."""
        transformer = _transformer(kernel, compute, draws.size, draws.seed)
        transformer.draws_, transformer._n_features_out = draws, draws.n_columns
        transformer.node_features_ = step
        return cls(transformer, unit)

    @property
    def kernel(self) -> Kernel:
        return self.transformer.kernel

    @property
    def compute(self) -> Compute:
        return self.transformer.compute

    @property
    def features(self) -> dict[str, NodeFeatures]:
        """The fitted node features of each kind."""
        return {self.draws.kernel.features: self.transformer.node_features_}

    @property
    def draws(self) -> TangentFeatures:
        return self.transformer.draws_

    def __len__(self) -> int:
        return self.draws.n_columns

    def chunks(self, batch: GraphBatch, progress: Progress | None = None, *, diagonal: bool = True) -> Iterator[Chunk]:
        """Yield the vectors of new graphs in chunks, with their squared norms if ``diagonal``."""
        for part, report_progress in split_into_chunks(len(batch), len(self), self.compute, progress):
            rows = self.values(batch[part], report_progress)
            yield part, rows, np.einsum("ij,ij->i", rows, rows) if diagonal else np.zeros(0)

    def values(self, batch: GraphBatch, progress: Progress | None = None) -> Array:
        """Return vectors (t, m)."""
        rows: Any = self.transformer.vectors(batch, progress)
        rows /= np.sqrt(self.unit)
        return rows  # type: ignore[no-any-return]

    def with_intercept(self, rows: Array, diagonal: Array) -> tuple[Array, Array]:
        """Return vectors with the constant feature, and the variance that is outside of all features: none."""
        return np.column_stack([rows, np.full(len(rows), np.sqrt(INTERCEPT))]), np.zeros_like(diagonal)

    def nodes(self, batch: GraphBatch) -> Array:
        """Return the vector of each node of one graph, shape (N, m); they add up to the row of the graph."""
        vectors: Any = self.draws.nodes(self.transformer.ready(batch), np.float64)
        norm = np.linalg.norm(vectors.sum(axis=0)) if isinstance(self.kernel, Normalized) else np.sqrt(self.unit)
        return np.asarray(vectors / (norm or 1.0))

    def probe(self) -> Array:
        """Return the vector of one fixed graph, to check that the same seed still draws the same."""
        pair = Graph.from_edges([(0, 1)], 2, edge_labels=[0] if self.draws.kernel.typed else None)
        batch = GraphBatch.from_graphs([pair]).with_features(np.ones((2, self.draws.width)))
        return np.asarray(self.draws(batch, np.float64)[0])


class _TrainingFeatures:
    """The vectors of n training graphs in blocks, kept if memory holds all of them and else computed each time."""

    def __init__(self, training: TrainingKernel, rows: FeatureRows) -> None:
        self._training, self._rows = training, rows
        self.n, self.columns = training.n, len(rows)
        fits = 8 * self.n * self.columns <= rows.compute.memory_budget // 2  # the other half is for everything else
        self._kept: list[tuple[slice, Array]] | None = [] if fits else None
        self._passes = 0

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield which graphs, and their vectors (t, m)."""
        if self._passes and self._kept is not None:
            yield from self._kept
            return
        for part, report_progress in split_into_chunks(
            self.n, self.columns, self._rows.compute, self._progress(), _BLOCK
        ):
            block = self._rows.values(self._training.prepared.batch[part], report_progress)
            if self._kept is not None:
                self._kept.append((part, block))
            yield part, block
        self._passes += 1

    def _progress(self) -> Progress | None:
        """Return a callback for this pass: the only one, or one of two."""
        progress, passes = self._training.progress, self._passes
        if progress is None or self._kept is not None:
            return progress
        return lambda done, total: progress(total * min(passes, 1) + done, 2 * total)


def solve_on_features(
    training: TrainingKernel, targets: Targets, alpha: float, size: int | None, seed: int
) -> tuple[Solution, FeatureRows]:
    """Draw features for the training graphs and find their coefficients; the last is that of the constant feature."""
    if training.stored is not None:
        raise InputError("solver='features' needs no kernel values; leave gram out, or take solver='nystrom'.")
    size = DEFAULT_FEATURES if size is None else size
    transformer = _transformer(training.prepared.kernel, replace(training.compute, engine="auto"), size, seed)
    rows = FeatureRows(transformer.fit(training.prepared.batch))
    source, weights = _TrainingFeatures(training, rows), targets.weights
    in_units = training.in_units and not training.normalized
    solution, unit = regress_on_features(
        source, targets.values, alpha, weights=weights, intercept=INTERCEPT, in_units=in_units
    )
    return solution, replace(rows, unit=unit)


def _transformer(kernel: Kernel, compute: Compute, size: int, seed: int) -> RandomFeatures:
    # Double precision: a function fitted with a small ridge would show the rounding of single precision.
    return RandomFeatures(kernel, size, dtype="float64", random_state=seed, compute=compute)
