"""Kernel values as learning needs them: among the training graphs, and from new graphs to these.

Values are divided by the self-similarities if ``normalize`` is set, otherwise by the mean self-similarity of the
training graphs (``unit``), so that a ridge means the same for every kernel.

Ridge regression gets the kernel plus a constant, ``INTERCEPT``. Its functions then have an intercept of their own:
without it they are 0 for the empty graph, and a target that grows with size from another value is out of reach (on
ESOL the squared error is half as large again). As a Gaussian process the intercept has that variance; anything from a
tenth to a hundred times as much gives the same predictions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import memory_budget
from fastgntk._util.threads import Progress
from fastgntk.engines import choose_engine
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind, GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK
from fastgntk.pairwise import (
    PreparedGraphs,
    check_result,
    cross_gram,
    diagonal,
    fitted,
    gram,
    node_shares,
    normalize,
    prepare,
)
from fastgntk.pairwise.store import StoredGram, stored_gram_of

__all__ = [
    "INTERCEPT",
    "KernelOptions",
    "KernelRows",
    "TrainingKernel",
    "WithIntercept",
    "check_kind",
    "parts",
    "settled",
]

INTERCEPT = 1.0
"""What ridge regression adds to every kernel value, in units of the mean self-similarity."""

Array = NDArray[np.float64]

_CHUNK = 2048  # new graphs whose rows are held at a time, if memory allows
_MANY_PAIRS = 1e12  # of nodes; a model is used again and again, so starting compiled code always pays


@dataclass(frozen=True)
class KernelOptions:
    """Which kernel a model uses, and how to compute it."""

    spec: GNTK
    normalize: bool
    features: FeatureKind | NodeFeatures = "auto"
    engine: str = "auto"
    sketching: dict[str, Any] = field(default_factory=dict)
    memory: Any = None
    workers: Any = None

    @property
    def how(self) -> dict[str, Any]:
        """What functions of `fastgntk.pairwise` take beside graphs and spec."""
        return {"engine": self.engine, "memory": self.memory, "workers": self.workers, **self.sketching}


def settled(options: KernelOptions, batch: GraphBatch) -> KernelOptions:
    """Fit the node features on the training graphs and choose the engine, once for everything that follows.

    Engines agree to 1e-8. Over a ridge of 1e-8 that is not enough: what was fitted with one must be used with the same.
    """
    step = fitted(options.features, batch)
    engine = options.engine
    if engine == "auto":
        ready = step.transform(batch)
        engine = choose_engine("auto", ready, None, options.spec, _MANY_PAIRS, more_to_come=True).engine.name
    return replace(options, features=step, engine=engine)


def _as_stored(given: Any, options: KernelOptions, batch: GraphBatch) -> tuple[StoredGram, KernelOptions]:
    """Return the store, checked, and options with its engine: new graphs must meet the training graphs by the same."""
    step = fitted(options.features, batch)
    ready = step.transform(batch)
    stored = stored_gram_of(given, ready, step.kind_, options.spec, options.engine, **options.sketching)
    return stored, replace(options, features=step, engine=stored.manifest.engine)


class TrainingKernel:
    """The kernel among n training graphs, computed when asked for: a ``KernelSource`` of the solvers.

    ``in_units`` says whether values are divided by their ``unit``; ``weights`` how much each graph counts in that. With
    ``stored``, a matrix on disk or its path, values are read and not computed; no more of them than are asked for.
    """

    weights: Array | None = None

    def __init__(
        self,
        batch: GraphBatch,
        options: KernelOptions,
        progress: Progress | None = None,
        *,
        in_units: bool = True,
        stored: Any = None,
    ) -> None:
        self._stored: StoredGram | None = None
        if stored is not None:
            self._stored, options = _as_stored(stored, options, batch)
        self.options = settled(options, batch)
        self.batch, self.n, self.progress = batch, len(batch), progress
        self.in_units = in_units and not options.normalize
        self._own: Array | None = None
        self._prepared: PreparedGraphs | None = None
        self._matrix: Array | None = None

    @property
    def self_similarity(self) -> Array:
        """The raw kernel of each graph with itself."""
        if self._own is None:
            self._own = self._computed_diagonal() if self._stored is None else self._stored.diagonal()
        return self._own

    @property
    def is_stored(self) -> bool:
        """Whether values are on disk."""
        return self._stored is not None

    @property
    def order(self) -> NDArray[np.int64]:
        """All graphs, such that columns of neighbours are quick to get together."""
        return np.arange(self.n) if self._stored is None else self._stored.order

    @property
    def unit(self) -> float:
        """What values are divided by: the mean self-similarity, but 1 after normalising and if all are 0."""
        return (float(np.average(self.self_similarity, weights=self.weights)) if self.in_units else 1.0) or 1.0

    def full(self) -> Array:
        """Return the matrix (n, n)."""
        if self._matrix is None:
            self._take(self._computed() if self._stored is None else self._read())
        assert self._matrix is not None
        return self._matrix

    def columns(self, indices: NDArray[np.int64]) -> Array:
        """Return some columns (n, m)."""
        if self._matrix is not None:
            return np.array(self._matrix[:, indices])
        values: Array = self._computed_columns(indices) if self._stored is None else self._stored[:, indices]
        if self.options.normalize:
            return normalize(values, self.self_similarity, self.self_similarity[indices])
        values /= self.unit
        return values

    def diagonal(self) -> Array:
        """Return the diagonal (n,)."""
        own = self.self_similarity
        return (own > 0).astype(np.float64) if self.options.normalize else own / self.unit

    def rows_to(self, basis: NDArray[np.int64]) -> KernelRows:
        """Return the kernel from any graphs to some of the training graphs."""
        if self._own is None and not self.in_units:  # those of all others are not needed
            own = diagonal(self.batch[basis], self.options.spec, features=self.options.features, **self.options.how)
        else:
            own = self.self_similarity[basis]
        return KernelRows.prepare(self.batch[basis], self.options, self.unit, own)

    def forget(self) -> None:
        """Give up the matrix; it would be computed again."""
        self._matrix = None

    def _computed(self) -> Array:
        options = self.options
        K: Array = gram(self.batch, options.spec, features=options.features, progress=self.progress, **options.how)
        return K

    def _computed_columns(self, indices: NDArray[np.int64]) -> Array:
        if self._prepared is None:  # a solver may ask for columns many times
            self._prepared = prepare(self.batch, self.options.spec, features=self.options.features, **self.options.how)
        how = {"memory": self.options.memory, "workers": self.options.workers, "progress": self.progress}
        return np.ascontiguousarray(cross_gram(self.batch[indices], self._prepared, **how).T)

    def _computed_diagonal(self) -> Array:
        if self._prepared is not None:
            return diagonal(self._prepared, memory=self.options.memory, workers=self.options.workers)
        return diagonal(self.batch, self.options.spec, features=self.options.features, **self.options.how)

    def _read(self) -> Array:
        check_result(8 * self.n**2, memory_budget(self.options.memory))
        return np.asarray(self._stored, dtype=np.float64)

    def _take(self, K: Array) -> None:
        self._own = np.diagonal(K).copy()
        if self.options.normalize:
            K = normalize(K)
        else:
            K /= self.unit
        self._matrix = K


class WithIntercept:
    """A kernel among training graphs plus the constant, for the solvers; the kernel's own matrix is used up."""

    def __init__(self, kernel: TrainingKernel) -> None:
        self.kernel, self.n = kernel, kernel.n
        self._matrix: Array | None = None

    @property
    def order(self) -> NDArray[np.int64]:
        """The order of the kernel."""
        return self.kernel.order

    def full(self) -> Array:
        """Return the matrix (n, n)."""
        if self._matrix is None:
            self._matrix = self.kernel.full()
            self.kernel.forget()  # two of them would be one too many for large n
            self._matrix += INTERCEPT
        return self._matrix

    def columns(self, indices: NDArray[np.int64]) -> Array:
        """Return some columns (n, m)."""
        values = self.kernel.columns(indices)
        values += INTERCEPT
        return values

    def diagonal(self) -> Array:
        """Return the diagonal (n,)."""
        return self.kernel.diagonal() + INTERCEPT


@dataclass(frozen=True, eq=False)
class KernelRows:
    """The kernel from any graphs to the m graphs that carry coefficients."""

    prepared: PreparedGraphs
    batch: GraphBatch
    options: KernelOptions
    unit: float
    own: Array
    """Raw self-similarities of the m graphs."""
    keeps_graphs: ClassVar[bool] = True

    @property
    def features(self) -> NodeFeatures:
        """The fitted node features."""
        return self.prepared.features

    @classmethod
    def prepare(cls, batch: GraphBatch, options: KernelOptions, unit: float, own: Array) -> KernelRows:
        """Make the m graphs ready."""
        options = settled(options, batch)
        prepared = prepare(batch, options.spec, features=options.features, **options.how)
        return cls(prepared, batch, options, unit, own)

    def __getstate__(self) -> dict[str, Any]:
        # Prepared graphs are made again: they are larger than the graphs, and compiled code must own them.
        return {name: value for name, value in self.__dict__.items() if name != "prepared"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        again = prepare(self.batch, self.options.spec, features=self.options.features, **self.options.how)
        object.__setattr__(self, "prepared", again)

    def __len__(self) -> int:
        return len(self.batch)

    def chunks(self, batch: GraphBatch, progress: Progress | None = None) -> Iterator[tuple[slice, Array, Array]]:
        """Yield new graphs in chunks: which, their rows (t, m), and their kernel with themselves (t,)."""
        for part, told in parts(len(batch), len(self), self.options.memory, progress):
            yield part, *self(batch[part], told)

    def __call__(self, batch: GraphBatch, progress: Progress | None = None) -> tuple[Array, Array]:
        """Return rows (t, m) and the kernel of new graphs with themselves (t,)."""
        own, rows = self._diagonal(batch), self._raw(batch, progress)
        if self.options.normalize:
            return normalize(rows, own, self.own), (own > 0).astype(np.float64)
        return rows / self.unit, own / self.unit

    def values(self, batch: GraphBatch, progress: Progress | None = None) -> Array:
        """Return the rows alone, all at once."""
        rows = self._raw(batch, progress)
        if self.options.normalize:
            return normalize(rows, self._diagonal(batch), self.own)
        rows /= self.unit
        return rows

    def _raw(self, batch: GraphBatch, progress: Progress | None) -> Array:
        how = {"memory": self.options.memory, "workers": self.options.workers, "progress": progress}
        return cross_gram(batch, self.prepared, **how)

    def _diagonal(self, batch: GraphBatch) -> Array:
        return diagonal(batch, self.options.spec, features=self.prepared.features, **self.options.how)

    def with_intercept(self, rows: Array, own: Array) -> tuple[Array, Array]:
        """Return what the variance of a ridge regression is computed from, given what a call returned."""
        return rows + INTERCEPT, own + INTERCEPT

    def cosine(self, rows: Array, own: Array) -> Array:
        """Return cosines (t, m) from what a call returned."""
        cosine = rows if self.options.normalize else normalize(rows, own, self.own / self.unit)
        return np.minimum(cosine, 1.0)  # rounding

    def nodes(self, batch: GraphBatch) -> Array:
        """Return the share of each node of one graph in its row, shape (N, m)."""
        shares = node_shares(batch, self.prepared, memory=self.options.memory, workers=self.options.workers)
        if not self.options.normalize:
            return shares / self.unit
        own = self._diagonal(batch)
        return normalize(shares, np.repeat(own, len(shares)), self.own)

    def check(self, batch: GraphBatch) -> None:
        """Refuse graphs that do not carry what the training graphs carried."""
        check_kind(self.prepared.features, batch)


def check_kind(step: NodeFeatures, batch: GraphBatch) -> None:
    """Refuse graphs that do not carry what the graphs carried on which node features were fitted."""
    if not batch.n_nodes or step.kind_ == "degree":
        return
    fits = True
    if step.kind_ in ("attributes", "all"):
        trained = f"node features of width {step.attributes_width_}"
        found = None if batch.features is None else f"width {batch.features.shape[1]}"
        fits = batch.features is not None and batch.features.shape[1] == step.attributes_width_
    if fits and step.kind_ in ("labels", "all"):
        kinds = {"U": "text", "i": "whole numbers"}
        known = step.categories_[0].dtype.kind if step.categories_ else "i"
        trained = f"node labels that are {kinds[known]}"
        found = None if batch.labels is None else f"labels that are {kinds[batch.labels.dtype.kind]}"
        fits = batch.labels is not None and batch.labels.dtype.kind == known
        columns = 1 if batch.labels is None or batch.labels.ndim == 1 else batch.labels.shape[1]
        if fits and columns != max(len(step.categories_), 1):
            trained, found, fits = f"{len(step.categories_)} labels a node", f"{columns} labels a node", False
    if not fits:
        raise InputError(
            f"the model was trained on graphs with {trained}, but these have {found or 'none'}; give it graphs of "
            "the kind that it was trained on."
        )


def parts(
    n: int, columns: int, memory: Any, progress: Progress | None, most: int = _CHUNK
) -> Iterator[tuple[slice, Progress | None]]:
    """Cut n graphs into parts whose rows memory holds, each with a callback for its share of the progress."""
    # Rows, rows plus the constant, cosines and what the variance needs are there at a time.
    affordable = memory_budget(memory) // (6 * 8 * max(columns, 1))
    step = int(np.clip(affordable, 1, most))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        yield part, _share(progress, start, part.stop, max(n, 1))


def _share(progress: Progress | None, start: int, stop: int, total: int) -> Progress | None:
    """Return a progress callback for the share of some graphs in all of them."""
    if progress is None:
        return None
    return lambda done, whole: progress(round(1e6 * (start + (stop - start) * done / max(whole, 1)) / total), 10**6)
