"""Random features in place of kernel rows: a model with them needs no training graphs once it is fitted.

A row holds the vector φ of a graph, and k(G, G') ≈ ⟨φ, φ'⟩. As for kernels, φ of a normalised kernel is divided by its
norm, and otherwise by the square root of the mean ‖φ‖² of the training graphs (``unit``). The constant that ridge
regression adds to the kernel is one more feature, ``sqrt(INTERCEPT)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk._util.threads import Progress
from fastgntk.engines import TangentFeatures
from fastgntk.graphs import Graph, GraphBatch, NodeFeatures
from fastgntk.kernels import Kernel, Normalized
from fastgntk.models._kernel_rows import chunks_of
from fastgntk.models._random_features import RandomFeatures
from fastgntk.models._training_kernel import TrainingKernel
from fastgntk.pairwise import Compute

__all__ = ["DEFAULT_FEATURES", "FeatureRows", "TrainingFeatures"]

DEFAULT_FEATURES = 2048
"""The default number of features."""


_BLOCK = 8192  # graphs whose vectors are factorized at a time: several times the features, so that little is done twice


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """The m features of any graphs, with the methods of ``KernelRows`` as far as they make sense without graphs."""

    transformer: RandomFeatures
    unit: float = 1.0
    keeps_graphs: ClassVar[bool] = False

    @classmethod
    def draw(cls, batch: GraphBatch, kernel: Kernel, compute: Compute, size: int, seed: int) -> FeatureRows:
        """Draw features for graphs like these."""
        transformer = _transformer(kernel, replace(compute, engine="auto"), size, seed)
        return cls(transformer.fit(batch))

    @classmethod
    def restore(
        cls, draws: TangentFeatures, step: NodeFeatures, kernel: Kernel, compute: Compute, unit: float
    ) -> FeatureRows:
        """Take features that were drawn already, and fitted node features."""
        transformer = _transformer(kernel, compute, draws.size, draws.seed)
        transformer.draws_, transformer._n_features_out = draws, draws.n_columns
        transformer.node_features_ = step
        return cls(transformer, unit)

    def in_units(self, unit: float) -> FeatureRows:
        """Return the same with vectors divided by the root of a number."""
        return replace(self, unit=unit)

    @property
    def kernel(self) -> Kernel:
        """Which kernel."""
        return self.transformer.kernel

    @property
    def compute(self) -> Compute:
        """How features are computed."""
        return self.transformer.compute

    @property
    def features(self) -> dict[str, NodeFeatures]:
        """The fitted node features of each kind."""
        return {self.draws.kernel.features: self.transformer.node_features_}

    @property
    def draws(self) -> TangentFeatures:
        """The random numbers."""
        return self.transformer.draws_

    def __len__(self) -> int:
        return self.draws.n_columns

    def chunks(
        self, batch: GraphBatch, progress: Progress | None = None, *, own: bool = True
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Yield new graphs in chunks: which, their vectors (t, m), and with ``own`` their squared norms (t,)."""
        for part, of_part in chunks_of(len(batch), len(self), self.compute, progress):
            rows = self.values(batch[part], of_part)
            yield part, rows, np.einsum("ij,ij->i", rows, rows) if own else np.zeros(0)

    def values(self, batch: GraphBatch, progress: Progress | None = None) -> Array:
        """Return vectors (t, m)."""
        rows: Any = self.transformer.vectors(batch, progress)
        rows /= np.sqrt(self.unit)
        return rows  # type: ignore[no-any-return]

    def with_intercept(self, rows: Array, own: Array, intercept: float) -> tuple[Array, Array]:
        """Return vectors with the constant feature, and the variance that is outside of all features: none."""
        return np.column_stack([rows, np.full(len(rows), np.sqrt(intercept))]), np.zeros_like(own)

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


class TrainingFeatures:
    """The vectors of n training graphs in blocks, kept if memory holds all of them and else computed each time."""

    def __init__(self, kernel: TrainingKernel, rows: FeatureRows) -> None:
        self._kernel, self._rows = kernel, rows
        self.n, self.columns = kernel.n, len(rows)
        self._kept: list[tuple[slice, Array]] | None = [] if self._fits() else None
        self._passes = 0

    def _fits(self) -> bool:
        # A half is for everything else.
        return 8 * self.n * self.columns <= self._rows.compute.budget // 2

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield which graphs, and their vectors (t, m)."""
        if self._passes and self._kept is not None:
            yield from self._kept
            return
        for part, of_part in chunks_of(self.n, self.columns, self._rows.compute, self._progress(), _BLOCK):
            block = self._rows.values(self._kernel.prepared.batch[part], of_part)
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


def _transformer(kernel: Kernel, compute: Compute, size: int, seed: int) -> RandomFeatures:
    # Double precision: a function fitted with a small ridge would show the rounding of single precision.
    return RandomFeatures(kernel, size, dtype="float64", random_state=seed, compute=compute)
