"""Random features in the place of kernel rows: a model with them needs no training graphs once it is fitted.

A row holds the vector φ of a graph, and k(G, G') ≈ ⟨φ, φ'⟩. As for kernels, φ is divided by its norm if ``normalize``
is set, otherwise by the square root of the mean ‖φ‖² of the training graphs (``unit``). The constant that ridge
regression adds to the kernel is one more feature, ``sqrt(INTERCEPT)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import memory_budget
from fastgntk._util.threads import Progress
from fastgntk.engines import RandomFeatures
from fastgntk.errors import InputError
from fastgntk.graphs import Graph, GraphBatch, NodeFeatures
from fastgntk.models._kernel_rows import INTERCEPT, KernelOptions, TrainingKernel, check_kind, parts
from fastgntk.models._random_features import GNTKRandomFeatures

__all__ = ["DEFAULT_FEATURES", "FeatureRows", "TrainingFeatures"]

DEFAULT_FEATURES = 2048
"""How many features there are if nobody says."""

Array = NDArray[np.float64]

_BLOCK = 8192  # graphs whose vectors are factorized at a time: several times the features, so that little is done twice


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """The m features of any graphs, with the methods of ``KernelRows`` as far as they make sense without graphs."""

    transformer: GNTKRandomFeatures
    options: KernelOptions
    unit: float = 1.0
    keeps_graphs: ClassVar[bool] = False

    @classmethod
    def draw(cls, batch: GraphBatch, options: KernelOptions, size: int, seed: int) -> FeatureRows:
        """Draw features for graphs like these."""
        if options.engine == "sketched":
            raise InputError("engine='sketched' is for kernel values, of which solver='features' needs none; drop one.")
        transformer = _transformer(options, size, seed)
        try:
            transformer.fit(batch)
        except InputError as error:
            raise InputError(str(error).replace("n_features", "rank")) from None  # by the name that it has here
        return cls(transformer, replace(options, features=transformer.node_features_))

    @classmethod
    def restore(cls, draws: RandomFeatures, options: KernelOptions, unit: float) -> FeatureRows:
        """Take features that were drawn already; the options hold the fitted node features."""
        transformer = _transformer(options, draws.size, draws.seed)
        transformer.random_features_, transformer._n_features_out = draws, draws.n_columns
        assert isinstance(options.features, NodeFeatures)
        transformer.node_features_ = options.features
        return cls(transformer, options, unit)

    def in_units(self, unit: float) -> FeatureRows:
        """Return the same with vectors divided by the root of a number."""
        return replace(self, unit=unit)

    @property
    def features(self) -> NodeFeatures:
        """The fitted node features."""
        return self.transformer.node_features_

    @property
    def draws(self) -> RandomFeatures:
        """The random numbers."""
        return self.transformer.random_features_

    def __len__(self) -> int:
        return self.draws.n_columns

    def chunks(self, batch: GraphBatch, progress: Progress | None = None) -> Iterator[tuple[slice, Array, Array]]:
        """Yield new graphs in chunks: which, their vectors (t, m), and their squared norms (t,)."""
        for part, told in parts(len(batch), len(self), self.options.memory, progress):
            yield part, *self(batch[part], told)

    def __call__(self, batch: GraphBatch, progress: Progress | None = None) -> tuple[Array, Array]:
        """Return vectors (t, m) and their squared norms (t,)."""
        step = copy(self.transformer)  # its progress is of this call alone; others may be under way
        step.progress = progress
        rows: Any = step.vectors(batch)
        rows /= np.sqrt(self.unit)
        return rows, np.einsum("ij,ij->i", rows, rows)

    def with_intercept(self, rows: Array, own: Array) -> tuple[Array, Array]:
        """Return vectors with the constant feature, and the variance that is outside of all features: none."""
        return np.column_stack([rows, np.full(len(rows), np.sqrt(INTERCEPT))]), np.zeros_like(own)

    def nodes(self, batch: GraphBatch) -> Array:
        """Return the vector of each node of one graph, shape (N, m); they add up to the row of the graph."""
        vectors: Any = self.draws.nodes(self.transformer.ready(batch), np.float64)
        norm = np.linalg.norm(vectors.sum(axis=0)) if self.options.normalize else np.sqrt(self.unit)
        return np.asarray(vectors / (norm or 1.0))

    def check(self, batch: GraphBatch) -> None:
        """Refuse graphs that do not carry what the training graphs carried."""
        check_kind(self.features, batch)

    def probe(self) -> Array:
        """Return the vector of one graph that is always the same, to see that the same seed still draws the same."""
        pair = Graph.from_edges([(0, 1)], 2, edge_labels=[0] if self.draws.spec.typed else None)
        batch = GraphBatch.from_graphs([pair]).with_features(np.ones((2, self.draws.width)))
        return np.asarray(self.draws(batch, np.float64)[0])


class TrainingFeatures:
    """The vectors of n training graphs in blocks, kept if memory holds all of them and else computed each time."""

    def __init__(self, kernel: TrainingKernel, rows: FeatureRows) -> None:
        self._kernel, self._rows = kernel, rows
        self.n, self.columns = kernel.n, len(rows)
        self._kept: list[tuple[slice, Array]] | None = [] if self._fits() else None
        self._passes = 0

    def _fits(self) -> bool:
        # A half is for everything else.
        return 8 * self.n * self.columns <= memory_budget(self._rows.options.memory) // 2

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield which graphs, and their vectors (t, m)."""
        if self._passes and self._kept is not None:
            yield from self._kept
            return
        for part, told in parts(self.n, self.columns, self._rows.options.memory, self._progress(), _BLOCK):
            block = self._rows(self._kernel.batch[part], told)[0]
            if self._kept is not None:
                self._kept.append((part, block))
            yield part, block
        self._passes += 1

    def _progress(self) -> Progress | None:
        """Return a callback for this pass: the only one, or one of two."""
        progress, done = self._kernel.progress, self._passes
        if progress is None or self._kept is not None:
            return progress
        return lambda part, whole: progress(whole * min(done, 1) + part, 2 * whole)


def _transformer(options: KernelOptions, size: int, seed: int) -> GNTKRandomFeatures:
    # Double precision: a function fitted with a small ridge would show the rounding of single precision.
    return GNTKRandomFeatures(
        size,
        **options.spec.to_dict(),
        normalize=options.normalize,
        dtype="float64",
        features=options.features,
        random_state=seed,
        memory=options.memory,
        workers=options.workers,
    )
