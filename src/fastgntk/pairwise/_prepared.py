"""Graphs prepared once: converted, with features, an engine for each leaf of the kernel, coloured and cut into blocks.

Everything that computes kernel values takes this value; nothing below the public functions converts or refines again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import Progress
from fastgntk.engines import check_edges, choose_engine
from fastgntk.errors import InputError, levels_to_the_caller
from fastgntk.graphs import GraphBatch, NodeFeatures, as_graphs
from fastgntk.kernels import GNTK, Kernel
from fastgntk.pairwise._combine import combine_diagonals
from fastgntk.pairwise._compute import Compute, check_compute, check_kernel
from fastgntk.pairwise._leaf import Leaf
from fastgntk.pairwise._plan import plan_gram
from fastgntk.pairwise._run import Run, check_result

__all__ = [
    "NotSketchedWarning",
    "PreparedGraphs",
    "choose_engine_for_reuse",
    "prepare",
    "prepare_batch",
    "prepare_pair",
    "share_of",
    "tangent_leaves",
]


_MANY_PAIRS = 1e12  # of nodes; prepared graphs are used again and again, so starting compiled code pays


class NotSketchedWarning(UserWarning):
    """Graphs are not larger than their sketch, and so computed exactly."""


class PreparedGraphs:
    """Hold n graphs ready for many computations; made by :func:`prepare`.

    Attributes
    ----------
    kernel : Kernel
    compute : Compute
    batch : GraphBatch
        The graphs as given, before node features are encoded.
    features : dict of str to NodeFeatures
        For each kind of features in the kernel, the node features that were fitted.
    engines : list of str
        The engine of each leaf of the kernel.
    """

    def __init__(
        self,
        kernel: Kernel,
        compute: Compute,
        batch: GraphBatch,
        features: dict[str, NodeFeatures],
        leaves: dict[Kernel, Leaf],
    ) -> None:
        self.kernel, self.compute, self.batch, self.features, self.leaves = kernel, compute, batch, features, leaves
        self._diagonals: dict[Kernel, Array] = {}

    @property
    def engines(self) -> list[str]:
        """The engine of each leaf of the kernel."""
        return [leaf.run.engine.name for leaf in self.leaves.values()]

    def __len__(self) -> int:
        return self.batch.n_graphs

    def __repr__(self) -> str:
        return f"PreparedGraphs({len(self)} graphs, {self.kernel}, engine={' and '.join(dict.fromkeys(self.engines))})"

    def __getstate__(self) -> dict[str, Any]:
        # Prepared again on loading: prepared graphs are larger than the graphs, and compiled code must own its arrays.
        kept = ("kernel", "batch", "features", "_diagonals")
        state = {name: getattr(self, name) for name in kept}
        return state | {"compute": self.compute.watched(None), "engines": self.engines}

    def __setstate__(self, state: dict[str, Any]) -> None:
        engines, diagonals = state.pop("engines"), state.pop("_diagonals")
        again = prepare_batch(**state, engines=engines)
        self.__dict__.update(again.__dict__, _diagonals=diagonals)

    def like(self, graphs: Any) -> PreparedGraphs:
        """Prepare other graphs the same way, as rows against these; labels that these do not have get new columns."""
        batch = as_graphs(graphs) if not isinstance(graphs, GraphBatch) else graphs
        features = {kind: step.extend(batch) for kind, step in self.features.items()}
        ready = _with_features(batch, features)
        leaves: dict[Kernel, Leaf] = {}
        for kernel, mine in self.leaves.items():
            rows = ready[mine.kernel.features]
            _check(mine.kernel, rows)
            leaves[kernel] = Leaf(mine.kernel, rows, mine.run, mine.run.cut(rows))
        return PreparedGraphs(self.kernel, self.compute, batch, features, leaves)

    def subset(self, indices: Ints) -> PreparedGraphs:
        """Return some of the graphs, prepared by themselves; what is known of their diagonals is kept."""
        if np.array_equal(indices, np.arange(len(self))):
            return self
        out = prepare_batch(self.batch[indices], self.kernel, self.compute, self.features, engines=self.engines)
        out._diagonals = {leaf: values[indices] for leaf, values in self._diagonals.items()}
        return out

    def leaf_diagonals(self, compute: Compute | None = None) -> dict[Kernel, Array]:
        """Return k(G, G) of every graph for each leaf of the kernel, computed once."""
        compute = self.compute if compute is None else compute
        missing = [kernel for kernel in self.leaves if kernel not in self._diagonals]
        if not missing:
            return self._diagonals
        check_result(8 * len(self) * max(len(missing), 1), compute.budget)
        for i, kernel in enumerate(missing):
            progress = share_of(compute.progress, i, len(missing))
            self._diagonals[kernel] = self.leaves[kernel].diagonal(compute, progress)
        return self._diagonals

    def set_leaf_diagonal(self, kernel: Kernel, values: Array) -> None:
        """Keep the diagonal of a leaf that was computed with its Gram matrix."""
        self._diagonals[kernel] = values

    def equal_graphs(self) -> Ints:
        """Return for each graph the number of the first one that no leaf of the kernel can distinguish from it."""
        groups = [leaf.equal_graphs() for leaf in self.leaves.values()]
        if len(groups) == 1:
            return groups[0]
        _, first, number = np.unique(np.stack(groups), axis=1, return_index=True, return_inverse=True)
        return np.asarray(first[number.ravel()], dtype=np.int64)

    def diagonal(self, compute: Compute | None = None) -> Array:
        """Return the kernel of each graph with itself (n,)."""
        return combine_diagonals(self.kernel, self.leaf_diagonals(compute))


def prepare(graphs: Any, kernel: Kernel | None = None, *, compute: Compute | None = None) -> PreparedGraphs:
    """Prepare graphs once for many computations, such as the training set of a model.

    ``gram``, ``cross_gram``, ``diagonal`` and ``node_contributions`` take the result in place of graphs, without a
    kernel; the values are the same. ``cross_gram(new, prepare(graphs, kernel))`` pays only for the new graphs.

    Examples
    --------
    >>> import fastgntk as fg
    >>> data = fg.datasets.load("MUTAG").graphs
    >>> train = fg.prepare(data[:100], fg.GNTK(blocks=2))
    >>> fg.cross_gram(data[100:101], train).shape
    (1, 100)
    """
    prepared = prepare_batch(
        as_graphs(graphs), GNTK() if kernel is None else check_kernel(kernel), check_compute(compute)
    )
    for leaf in prepared.leaves.values():
        run = leaf.within(prepared.compute, 0)
        run.build(leaf.cut, run.affordable_workers(plan_gram(leaf.cut.blocks), leaf.cut.prepared))
    return prepared


def prepare_batch(
    batch: GraphBatch,
    kernel: Kernel,
    compute: Compute,
    features: dict[str, NodeFeatures] | None = None,
    *,
    engines: Sequence[str] | None = None,
    once: bool = False,
    pairs: float | None = None,
) -> PreparedGraphs:
    """Prepare converted graphs; features are fitted on them unless they are given.

    ``engines`` fixes the engine of each leaf. ``once`` chooses engines for one Gram matrix, or for that many ``pairs``
    of nodes; otherwise for many computations, with graphs to come.
    """
    tangent = tangent_leaves(kernel)
    kinds = dict.fromkeys(leaf.features for leaf in tangent)
    features = {kind: (features or {}).get(kind) or NodeFeatures(kind).fit(batch) for kind in kinds}
    ready = _with_features(batch, features)
    leaves: dict[Kernel, Leaf] = {}
    for i, leaf in enumerate(tangent):
        engine, graphs = compute.engine if engines is None else engines[i], ready[leaf.features]
        _check(leaf, graphs)
        # A stored matrix of graphs that are all smaller than their sketch has an exact engine, and keeps it.
        exact = engines is not None and engine != "sketched"
        chosen_for = replace(leaf, sketch=None) if exact else leaf
        choice = choose_engine(engine, graphs, None, chosen_for, pairs if once else _MANY_PAIRS, more_to_come=not once)
        run = Run(leaf, choice, compute.budget, compute.threads, 0)
        leaves[leaf] = Leaf(leaf, graphs, run, run.cut(graphs))
    return PreparedGraphs(kernel, compute, batch, features, leaves)


def prepare_pair(
    rows: GraphBatch, cols: GraphBatch, kernel: Kernel, compute: Compute
) -> tuple[PreparedGraphs, PreparedGraphs]:
    """Prepare two sets of graphs for one matrix; features are fitted on the columns, and extended by the rows."""
    kinds = dict.fromkeys(leaf.features for leaf in tangent_leaves(kernel))
    features: dict[str, NodeFeatures] = {kind: NodeFeatures(kind).fit(cols).extend(rows) for kind in kinds}
    ready_rows, ready_cols = _with_features(rows, features), _with_features(cols, features)
    near: dict[Kernel, Leaf] = {}
    far: dict[Kernel, Leaf] = {}
    for leaf in tangent_leaves(kernel):
        row_batch, col_batch = ready_rows[leaf.features], ready_cols[leaf.features]
        _check(leaf, row_batch, col_batch)
        choice = choose_engine(compute.engine, row_batch, col_batch, leaf)
        run = Run(leaf, choice, compute.budget, compute.threads, 0)
        near[leaf] = Leaf(leaf, row_batch, run, run.cut(row_batch))
        far[leaf] = Leaf(leaf, col_batch, run, run.cut(col_batch))
    return (
        PreparedGraphs(kernel, compute, rows, features, near),
        PreparedGraphs(kernel, compute, cols, features, far),
    )


def choose_engine_for_reuse(name: str, batch: GraphBatch, kernel: GNTK) -> str:
    """Return the name of the engine that :func:`prepare` takes for these graphs."""
    return choose_engine(name, batch, None, kernel, _MANY_PAIRS, more_to_come=True).engine.name


def tangent_leaves(kernel: Kernel) -> list[GNTK]:
    """Return the leaves of a kernel, which are tangent kernels."""
    leaves = kernel.leaves()
    for leaf in leaves:
        if not isinstance(leaf, GNTK):
            raise InputError(f"{leaf!r} cannot be computed; a kernel must be made of GNTKs.")
    return leaves  # type: ignore[return-value]


def share_of(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Return the callback for one of several parts of equal length."""
    if progress is None or count == 1:
        return progress
    return lambda done, total: progress(number * total + done, count * total)


def _with_features(batch: GraphBatch, features: dict[str, NodeFeatures]) -> dict[str, GraphBatch]:
    """Return the graphs with each kind of node features."""
    return {kind: step.transform(batch) for kind, step in features.items()}


def _check(kernel: GNTK, *batches: GraphBatch) -> None:
    """Refuse graphs without what the kernel needs; warn if graphs are not sketched because of the sketch's size."""
    for batch in batches:
        check_edges(batch, kernel)
    if kernel.sketch is None:
        return
    sizes = np.concatenate([batch.sizes for batch in batches])
    distinct, counts = np.unique(sizes[sizes > 1], return_counts=True)  # of one node nothing can be left out
    pairs = zip(distinct.tolist(), counts.tolist(), strict=True)
    exact = sum(count for size, count in pairs if kernel.sketch.rows(size) is None)
    if exact:
        warnings.warn(
            f"the sketch size {kernel.sketch.size} is not below the number of nodes of {exact} of {len(sizes)} graphs; "
            "these are computed exactly.",
            NotSketchedWarning,
            stacklevel=levels_to_the_caller(),
        )
