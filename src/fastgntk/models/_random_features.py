"""Random features of graphs: for linear models on millions of graphs, or instead of kernel values in ridge regression.

A fitted model on random features needs no training graphs. A graph is represented by a vector φ, with
k(G, G') ≈ ⟨φ, φ'⟩. For a normalised kernel φ is divided by its norm, and otherwise by the square root of the mean ‖φ‖²
of the training graphs (``kernel_scale``). The constant that ridge regression adds to the kernel becomes one more
feature, ``sqrt(KERNEL_CONSTANT)``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Self
from zlib import crc32

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Array, Floats
from fastgntk._util.checks import check_flag, check_integer
from fastgntk._util.threads import Progress, run_on_threads, single_threaded_blas
from fastgntk.engines import TangentFeatures, check_graphs
from fastgntk.errors import InputError
from fastgntk.graphs import DescriptorScaling, Graph, GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK, Kernel, Leaf, Network, Normalized
from fastgntk.models._base import GraphEstimator, as_training_graphs, check_new_graphs
from fastgntk.models._targets import Targets
from fastgntk.models._training_kernel import KERNEL_CONSTANT, Chunk, TrainingKernel, split_into_chunks
from fastgntk.pairwise import Compute, Contributions, check_compute, check_fits_memory, check_kernel, put_factor_first
from fastgntk.solvers import Solution, regress_on_features

__all__ = ["DEFAULT_FEATURES", "FeatureBasis", "RandomFeatures", "n_drawn_columns", "solve_on_features"]

DEFAULT_FEATURES = 2048
"""The default number of features."""

_CHUNK = 25_000  # nodes computed at a time; larger chunks would merge few more nodes
_SPARE = 16  # columns for unseen labels: two such labels share a column with probability 1/16
_BLOCK = 8192  # graphs whose vectors are factorized at a time: several times the features, so that little is repeated


class RandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Map graphs to vectors whose inner products approximate the kernel, in time linear in the number of graphs.

    No pairs of graphs are formed, ``fit`` only collects labels, and ``transform`` treats each graph on its own, so that
    any number of graphs can be transformed in batches. Up to about ten thousand graphs, :class:`Nystroem` approximates
    the kernel better with as many columns (docs/scaling.md has figures).

    Node labels unseen in ``fit`` are distinguished by hashing, with a warning that counts them; all unseen edge types
    are treated as one type.

    Parameters
    ----------
    kernel : Kernel
        A :class:`GNTK` or :class:`NNGP` without a sketch. If it is normalised, each vector is divided by its norm.
    n_components : int
        Number of columns. The error falls as 1 / sqrt(n_components); time is proportional to it.
    exact_norms : bool
        Scale the output of each layer to its norm in the kernel at each node, which reduces the error several times.
        Without scaling, features are unbiased for one block of one layer and less biased for deeper kernels.
    dtype : {"float32", "float64"}
        Precision of computing and returning vectors. Norms have double precision; rounding is far below the error.
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

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  # required by pipelines
        """Collect labels and draw the features. A subset of the graphs suffices if it contains every label."""
        batch = as_training_graphs(X)
        size = check_integer("n_components", self.n_components, 2)
        kernel = self._check()
        encoder = NodeFeatures(kernel.features).fit(batch)
        ready = encoder.transform(batch)
        check_graphs(ready, kernel)
        # One more edge type for all unseen types, and columns for unseen labels.
        types = (
            int(ready.edge_labels.max(initial=-1)) + 2
            if kernel.uses_edge_labels and ready.edge_labels is not None
            else 1
        )
        width = n_drawn_columns(encoder)
        self.draws_ = TangentFeatures(kernel, size, width, types, self._seed(), exact_norms=self.exact_norms)
        self.node_features_ = encoder
        self._n_features_out = self.draws_.n_columns
        return self

    def _check(self) -> Network:
        """Check the parameters and return the kernel without normalisation."""
        check_flag("exact_norms", self.exact_norms)
        check_compute(self.compute)
        if self.dtype not in ("float32", "float64"):
            raise InputError(f"dtype must be 'float32' or 'float64', but is {self.dtype!r}.")
        kernel = check_kernel(self.kernel)
        inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
        if not isinstance(inner, Network) or inner.sketch is not None:
            raise InputError(
                "random features need a single GNTK or NNGP without a sketch, normalised or not, but the kernel is "
                f"{kernel}; use Nystroem, or solver='nystrom', for other kernels."
            )
        return inner

    def transform(self, X: Any) -> Floats:
        """Return the vectors of graphs, shape (t, n_components)."""
        check_is_fitted(self)
        kernel = self.draws_.kernel
        batch = check_new_graphs(X, kernel, {kernel.features: self.node_features_})
        return self.vectors(batch, check_compute(self.compute).progress)

    def vectors(self, batch: GraphBatch, progress: Progress | None = None) -> Floats:
        """Return the vectors of graphs whose node features were checked."""
        self._check()
        ready = self.encode(batch)
        options = check_compute(self.compute)
        normalized, workers = isinstance(self.kernel, Normalized), options.threads
        check_fits_memory(len(batch) * self._n_features_out * np.dtype(self.dtype).itemsize, options.memory_budget)
        out = np.empty((len(batch), self._n_features_out), dtype=self.dtype)

        def write_chunk(chunk: slice) -> None:
            values = self.draws_(ready[chunk], out.dtype)
            if normalized:
                norms = np.linalg.norm(values, axis=1, keepdims=True)
                np.divide(values, norms, out=values, where=norms > 0)
            with np.errstate(over="ignore"):  # checked below
                out[chunk] = values

        def cost(chunk: slice) -> int:
            return int(ready.offsets[chunk.stop] - ready.offsets[chunk.start]) + 1

        chunks = self._split(ready, workers, options.memory_budget)
        with single_threaded_blas():
            run_on_threads(write_chunk, chunks, n_threads=workers, cost=cost, progress=progress)
        wrong = np.flatnonzero(~np.isfinite(out).all(axis=1))
        if len(wrong):
            raise InputError(
                f"the features of graph {wrong[0]} leave the range of {out.dtype}; use a normalised kernel, "
                "dtype='float64', scale='degree' or smaller features."
            )
        return out

    def encode(self, batch: GraphBatch) -> GraphBatch:
        """Return graphs with node features of the width of the draws: unseen labels are in the spare columns."""
        encoder = self.node_features_
        extended = encoder.extend(batch)
        ready = extended.transform(batch)
        check_graphs(ready, self.draws_.kernel)
        if extended.width_ == encoder.width_:
            return ready
        new_column = np.arange(extended.width_)
        for i, (labels, columns) in enumerate(zip(extended.categories_, extended.columns_, strict=True)):
            for label, column in zip(labels.tolist(), columns.tolist(), strict=True):
                if column >= encoder.width_:
                    new_column[column] = encoder.width_ + crc32(f"{i} {label}".encode()) % _SPARE
        features, width = ready.features, n_drawn_columns(encoder)
        entries = features.data, new_column[features.indices], features.indptr
        return ready.with_features(sparse.csr_array(entries, shape=(ready.n_nodes, width)))

    def _split(self, batch: GraphBatch, workers: int, memory_budget: int) -> list[slice]:
        """Split graphs into consecutive chunks whose intermediate arrays fit into memory next to the result."""
        precision = np.dtype(self.dtype).itemsize // 4
        result = 4 * precision * len(batch) * self._n_features_out
        node = precision * self.draws_.node_bytes
        # Besides those of its nodes, a graph has two vectors in double precision: of each level, and the total.
        cost = np.cumsum(np.diff(batch.offsets) * node + 2 * 8 * self._n_features_out)
        affordable = max((memory_budget - result) // workers, 1)
        chunk_bytes = min(affordable, _CHUNK * node)
        ends = (
            np.searchsorted(cost, np.arange(chunk_bytes, (cost[-1] if len(cost) else 0) + chunk_bytes, chunk_bytes)) + 1
        )
        cuts = np.unique(np.append(0, np.minimum(ends, len(batch))))
        return [slice(a, b) for a, b in pairwise(cuts.tolist())]


def n_drawn_columns(encoder: NodeFeatures) -> int:
    """Return the number of columns of the draws: those of the node features, plus spare ones for labels."""
    return encoder.width_ + (0 if encoder.kind_ == "attributes" else _SPARE)


@dataclass(frozen=True, eq=False)
class FeatureBasis:
    """m random features as basis functions, with the methods of ``KernelBasis`` that need no training graphs."""

    transformer: RandomFeatures
    kernel_scale: float = 1.0
    keeps_graphs: ClassVar[bool] = False
    scalings: ClassVar[Mapping[Leaf, DescriptorScaling]] = MappingProxyType({})  # no descriptors

    @classmethod
    def restore(
        cls, draws: TangentFeatures, encoder: NodeFeatures, kernel: Kernel, compute: Compute, kernel_scale: float
    ) -> Self:
        """Restore the basis from its draws and fitted node features."""
        transformer = _transformer(kernel, compute, draws.size, draws.seed)
        transformer.draws_, transformer._n_features_out = draws, draws.n_columns
        transformer.node_features_ = encoder
        return cls(transformer, kernel_scale)

    @property
    def kernel(self) -> Kernel:
        return self.transformer.kernel

    @property
    def compute(self) -> Compute:
        return self.transformer.compute

    @property
    def features(self) -> dict[str, NodeFeatures]:
        """Fitted node features by kind."""
        return {self.draws.kernel.features: self.transformer.node_features_}

    @property
    def draws(self) -> TangentFeatures:
        return self.transformer.draws_

    def __len__(self) -> int:
        return self.draws.n_columns

    def chunks(self, batch: GraphBatch, progress: Progress | None = None, *, diagonal: bool = True) -> Iterator[Chunk]:
        """Yield the vectors of new graphs chunk by chunk, with their squared norms if ``diagonal``."""
        for chunk, report_progress in split_into_chunks(len(batch), len(self), self.compute, progress):
            rows = self.values(batch[chunk], report_progress)
            yield chunk, rows, np.einsum("ij,ij->i", rows, rows) if diagonal else np.zeros(0)

    def values(self, batch: GraphBatch, progress: Progress | None = None) -> Array:
        """Return the vectors of all graphs, shape (t, m)."""
        rows: Any = self.transformer.vectors(batch, progress)
        rows /= np.sqrt(self.kernel_scale)
        return rows  # type: ignore[no-any-return]

    def variance_arguments(self, rows: Array, diagonal: Array) -> tuple[Array, Array]:
        """Return vectors with the constant feature, and the variance not explained by any feature: 0."""
        return np.column_stack([rows, np.full(len(rows), np.sqrt(KERNEL_CONSTANT))]), np.zeros_like(diagonal)

    def contributions(self, batch: GraphBatch, factor: int | Kernel | None = None) -> Contributions:
        """Return the vector of each node of one graph, shape (N, m); they sum to the vector of the graph."""
        put_factor_first(self.kernel, factor)  # raises unless None: the kernel is no product
        vectors: Any = self.draws.nodes(self.transformer.encode(batch), np.float64)
        norm = (
            np.linalg.norm(vectors.sum(axis=0)) if isinstance(self.kernel, Normalized) else np.sqrt(self.kernel_scale)
        )
        return Contributions(np.asarray(vectors / (norm or 1.0)), {})

    def probe(self) -> Array:
        """Return the vector of one fixed graph, to check that the seed still gives the same draws."""
        edge_labels = [0] if self.draws.kernel.uses_edge_labels else None
        pair = Graph.from_edges([(0, 1)], 2, edge_labels=edge_labels, node_scale=np.ones(2))
        batch = GraphBatch.from_graphs([pair]).with_features(np.ones((2, self.draws.width)))
        return np.asarray(self.draws(batch, np.float64)[0])


class _TrainingFeatures:
    """The vectors of n training graphs in blocks, kept if all fit into memory and recomputed otherwise."""

    def __init__(self, training: TrainingKernel, basis: FeatureBasis) -> None:
        self._training, self._basis = training, basis
        self.n, self.columns = training.n, len(basis)
        fits = 8 * self.n * self.columns <= basis.compute.memory_budget // 2  # the other half is for everything else
        self._kept: list[tuple[slice, Array]] | None = [] if fits else None
        self._passes = 0

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield a slice of the graphs and their vectors (t, m)."""
        if self._passes and self._kept is not None:
            yield from self._kept
            return
        compute, progress = self._basis.compute, self._progress()
        for chunk, report_progress in split_into_chunks(self.n, self.columns, compute, progress, _BLOCK):
            block = self._basis.values(self._training.prepared.batch[chunk], report_progress)
            if self._kept is not None:
                self._kept.append((chunk, block))
            yield chunk, block
        self._passes += 1

    def _progress(self) -> Progress | None:
        """Return a callback for this pass, which is the only one or one of two."""
        progress, passes = self._training.progress, self._passes
        if progress is None or self._kept is not None:
            return progress
        return lambda done, total: progress(total * min(passes, 1) + done, 2 * total)


def solve_on_features(
    training: TrainingKernel, targets: Targets, alpha: float, size: int | None, seed: int
) -> tuple[Solution, FeatureBasis]:
    """Draw features for the training graphs and fit their coefficients; the last is that of the constant feature."""
    if training.stored is not None:
        raise InputError("solver='features' needs no kernel values; leave gram out, or use solver='nystrom'.")
    size = DEFAULT_FEATURES if size is None else size
    transformer = _transformer(training.prepared.kernel, replace(training.compute, engine="auto"), size, seed)
    basis = FeatureBasis(transformer.fit(training.prepared.batch))
    source, weights = _TrainingFeatures(training, basis), targets.weights
    scaled = training.scaled and not training.normalized
    solution, kernel_scale = regress_on_features(
        source, targets.values, alpha, weights=weights, constant=KERNEL_CONSTANT, scaled=scaled
    )
    return solution, replace(basis, kernel_scale=kernel_scale)


def _transformer(kernel: Kernel, compute: Compute, size: int, seed: int) -> RandomFeatures:
    # Double precision: with a small ridge, the rounding of single precision would be visible.
    return RandomFeatures(kernel, size, dtype="float64", random_state=seed, compute=compute)
