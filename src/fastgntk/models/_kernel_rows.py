"""The kernel from new graphs to the graphs that carry coefficients."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk._util.threads import Progress
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures
from fastgntk.kernels import Kernel, Normalized
from fastgntk.pairwise import Compute, PreparedGraphs, cross_gram, node_contributions, normalize

__all__ = ["KernelRows", "check_features", "chunks_of"]


_CHUNK = 2048  # new graphs whose rows are held at a time, if memory allows


@dataclass(frozen=True, eq=False)
class KernelRows:
    """The kernel from any graphs to m prepared graphs, divided by ``unit``."""

    prepared: PreparedGraphs
    unit: float
    keeps_graphs: ClassVar[bool] = True

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.prepared.kernel

    @property
    def compute(self) -> Compute:
        """Computation options."""
        return self.prepared.compute

    @property
    def features(self) -> dict[str, NodeFeatures]:
        """The fitted node features of each kind."""
        return self.prepared.features

    def __len__(self) -> int:
        return len(self.prepared)

    def chunks(
        self, batch: GraphBatch, progress: Progress | None = None, *, own: bool = True
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Yield new graphs in chunks: which, their rows (t, m), and with ``own`` the kernel with themselves (t,)."""
        for part, of_part in chunks_of(len(batch), len(self), self.compute, progress):
            near = self.prepared.like(batch[part])
            rows = cross_gram(near, self.prepared, compute=self.compute.watched(of_part))
            rows /= self.unit
            diagonal = near.diagonal(self.compute.watched(None)) / self.unit if own else np.zeros(0)
            yield part, rows, diagonal

    def values(self, batch: GraphBatch, progress: Progress | None = None) -> Array:
        """Return all rows (t, m) at once."""
        near = self.prepared.like(batch)
        rows = cross_gram(near, self.prepared, compute=self.compute.watched(progress))
        rows /= self.unit
        return rows

    def cosine(self, rows: Array, own: Array) -> Array:
        """Return cosines (t, m) from the rows and diagonal of a chunk."""
        if not isinstance(self.kernel, Normalized):
            silent = self.compute.watched(None)
            rows = normalize(rows, own, self.prepared.diagonal(silent) / self.unit)
        return np.minimum(rows, 1.0)  # rounding

    def with_intercept(self, rows: Array, own: Array, intercept: float) -> tuple[Array, Array]:
        """Return what the variance of a ridge regression is computed from, given a chunk."""
        return rows + intercept, own + intercept

    def nodes(self, batch: GraphBatch) -> Array:
        """Return the contribution of each node of one graph to its row, shape (N, m)."""
        return node_contributions(batch, self.prepared, compute=self.compute.watched(None)) / self.unit


def check_features(features: dict[str, NodeFeatures], batch: GraphBatch) -> None:
    """Refuse graphs that do not carry what the graphs carried on which node features were fitted."""
    for step in features.values():
        _check_step(step, batch)


def _check_step(step: NodeFeatures, batch: GraphBatch) -> None:
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


def chunks_of(
    n: int, columns: int, compute: Compute, progress: Progress | None, most: int = _CHUNK
) -> Iterator[tuple[slice, Progress | None]]:
    """Cut n graphs into chunks whose rows memory holds, each with a callback for its part of the progress."""
    # Rows, rows plus the constant, cosines and what the variance needs are there at a time.
    affordable = compute.budget // (6 * 8 * max(columns, 1))
    step = int(np.clip(affordable, 1, most))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        yield part, _part_of(progress, start, part.stop, max(n, 1))


def _part_of(progress: Progress | None, start: int, stop: int, total: int) -> Progress | None:
    """Return a progress callback for the share of some graphs in all of them."""
    if progress is None:
        return None
    return lambda done, whole: progress(round(1e6 * (start + (stop - start) * done / max(whole, 1)) / total), 10**6)
