"""Graphs prepared once: converted, with features, an engine for each leaf of the kernel, coloured and cut into blocks.

Everything that computes kernel values takes this value; nothing below the public functions converts or refines again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.threads import Progress
from fastgntk.engines import check_edges, choose_engine, equal_graphs
from fastgntk.errors import InputError, levels_to_the_caller
from fastgntk.graphs import GraphBatch, NodeFeatures, as_graphs
from fastgntk.kernels import GNTK, Kernel
from fastgntk.pairwise._combine import combine_diagonals, combine_levels
from fastgntk.pairwise._compute import Compute, check_compute, check_kernel
from fastgntk.pairwise._plan import plan_cross, plan_gram
from fastgntk.pairwise._run import Cut, Run, Write, check_result

__all__ = ["Leaf", "NotSketchedWarning", "PreparedGraphs", "prepare", "prepare_batch", "prepare_pair", "share_of"]

Array = NDArray[np.float64]

_MANY_PAIRS = 1e12  # of nodes; prepared graphs are used again and again, so starting compiled code pays


class NotSketchedWarning(UserWarning):
    """Graphs are not larger than their sketch, and so computed exactly."""


@dataclass(frozen=True, eq=False)
class Leaf:
    """Graphs prepared for one tangent kernel."""

    kernel: GNTK
    batch: GraphBatch  # with its features
    run: Run
    cut: Cut

    @property
    def n(self) -> int:
        """The number of graphs."""
        return self.batch.n_graphs

    def within(self, compute: Compute, result: int) -> Run:
        """Return the run with the limits of one call, whose result takes that many bytes."""
        return replace(self.run, memory=compute.budget, workers=compute.threads, result=result)

    def gram(self, compute: Compute, result: int, progress: Progress | None) -> Array:
        """Return the Gram matrix (n, n)."""
        out = np.zeros((self.n, self.n))
        self._symmetric(out, lambda levels: combine_levels(levels, self.kernel), compute, result, progress)
        return out

    def levels(self, compute: Compute) -> Array:
        """Return the readouts of all levels, shape (L + 1, n, n)."""
        out = np.zeros((self.kernel.blocks + 1, self.n, self.n))
        self._symmetric(out, lambda levels: levels, compute, out.nbytes, compute.progress)
        return out

    def cross(self, cols: Leaf, compute: Compute, result: int, progress: Progress | None) -> Array:
        """Return the kernel (n, m) with other graphs that were prepared alike."""
        out = np.zeros((self.n, cols.n))

        def write(near: NDArray[np.int64], far: NDArray[np.int64], levels: Array) -> None:
            out[near[:, None], far] = combine_levels(levels, self.kernel)

        plan = plan_cross(self.cut.blocks, cols.cut.blocks)
        self.within(compute, result).tiles(self.cut, cols.cut, plan, write, progress)
        return out

    def diagonal(self, compute: Compute, progress: Progress | None) -> Array:
        """Return the kernel of each graph with itself (n,)."""
        out = np.zeros(self.n)

        def write(rows: NDArray[np.int64], _: NDArray[np.int64], levels: Array) -> None:
            out[rows] = np.diagonal(combine_levels(levels, self.kernel))

        self.within(compute, out.nbytes).diagonal(self.cut.prepared, write, progress)
        return out

    def nodes(self, cols: Leaf, compute: Compute) -> Array:
        """Return the contribution of each node of the one graph to its row, shape (N, m)."""
        out = np.zeros((self.batch.n_nodes, cols.n))
        check_result(out.nbytes, compute.budget)

        def write(_: NDArray[np.int64], far: NDArray[np.int64], levels: Array) -> None:
            out[:, far] = combine_levels(levels, self.kernel)

        if len(out):
            self.within(compute, out.nbytes).nodes(self.batch, self.cut, cols.cut, write)
        return out

    def equal_graphs(self) -> NDArray[np.int64]:
        """Return for each graph the number of the first one that the kernel cannot distinguish from it."""
        colours = self.run.engine.colours(self.cut.prepared)
        return equal_graphs(self.batch, self.kernel.blocks, typed=self.kernel.typed, colours=colours)

    def _symmetric(
        self,
        out: Array,
        reduce: Callable[[Array], Array],
        compute: Compute,
        result: int,
        progress: Progress | None,
    ) -> None:
        run = self.within(compute, result)
        run.tiles(self.cut, self.cut, plan_gram(self.cut.blocks), _write_both_triangles(out, reduce), progress)


class PreparedGraphs:
    """Hold n graphs ready for many computations; made by :func:`prepare`.

    Attributes
    ----------
    kernel : Kernel
    compute : Compute
    batch : GraphBatch
        The graphs as they came.
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
        leaves: dict[Kernel, Leaf] = {}
        for kernel, mine in self.leaves.items():
            ready = _ready(batch, features, mine.kernel)
            _warn_not_sketched(mine.kernel, ready)
            leaves[kernel] = Leaf(mine.kernel, ready, mine.run, mine.run.cut(ready))
        return PreparedGraphs(self.kernel, self.compute, batch, features, leaves)

    def subset(self, indices: NDArray[np.int64]) -> PreparedGraphs:
        """Return some of the graphs, prepared by themselves; what is known of their diagonals is kept."""
        if np.array_equal(indices, np.arange(len(self))):
            return self
        out = prepare_batch(self.batch[indices], self.kernel, self.compute, self.features, engines=self.engines)
        out._diagonals = {leaf: values[indices] for leaf, values in self._diagonals.items()}
        return out

    def leaf_diagonals(self, compute: Compute | None = None) -> dict[Kernel, Array]:
        """Return the leaves of the kernel of each graph with itself, computed once."""
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

    def equal_graphs(self) -> NDArray[np.int64]:
        """Return for each graph the number of the first one that no leaf of the kernel can distinguish from it."""
        groups = [leaf.equal_graphs() for leaf in self.leaves.values()]
        if len(groups) == 1:
            return groups[0]
        _, first, number = np.unique(np.stack(groups), axis=1, return_index=True, return_inverse=True)
        return np.asarray(first[number.ravel()], dtype=np.int64)

    def diagonal(self, compute: Compute | None = None) -> Array:
        """Return the kernel of each graph with itself (n,)."""
        return combine_diagonals(self.kernel, self.leaf_diagonals(compute))


def prepare(graphs: Any, kernel: Kernel = GNTK(), *, compute: Compute | None = None) -> PreparedGraphs:
    """Prepare graphs once for many computations, such as the training set of a model.

    ``gram``, ``cross_gram``, ``diagonal`` and ``node_contributions`` take the result in place of graphs, without a
    kernel; the values are the same. ``cross_gram(new, prepare(graphs, kernel))`` costs what is new only.

    Examples
    --------
    >>> import fastgntk as fg
    >>> data = fg.datasets.load("MUTAG").graphs
    >>> train = fg.prepare(data[:100], fg.GNTK(blocks=2))
    >>> fg.cross_gram(data[100:101], train).shape
    (1, 100)
    """
    prepared = prepare_batch(as_graphs(graphs), check_kernel(kernel), check_compute(compute))
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
    leaves: dict[Kernel, Leaf] = {}
    for i, leaf in enumerate(tangent):
        engine = compute.engine if engines is None else engines[i]
        ready = _ready(batch, features, leaf)
        choice = choose_engine(engine, ready, None, leaf, pairs if once else _MANY_PAIRS, more_to_come=not once)
        _warn_not_sketched(leaf, ready)
        run = Run(leaf, choice, compute.budget, compute.threads, 0)
        leaves[leaf] = Leaf(leaf, ready, run, run.cut(ready))
    return PreparedGraphs(kernel, compute, batch, features, leaves)


def prepare_pair(
    rows: GraphBatch, cols: GraphBatch, kernel: Kernel, compute: Compute
) -> tuple[PreparedGraphs, PreparedGraphs]:
    """Prepare two sets of graphs for one matrix; features are fitted on the columns, and extended by the rows."""
    kinds = dict.fromkeys(leaf.features for leaf in tangent_leaves(kernel))
    features: dict[str, NodeFeatures] = {kind: NodeFeatures(kind).fit(cols).extend(rows) for kind in kinds}
    near: dict[Kernel, Leaf] = {}
    far: dict[Kernel, Leaf] = {}
    for leaf in tangent_leaves(kernel):
        row_batch, col_batch = _ready(rows, features, leaf), _ready(cols, features, leaf)
        choice = choose_engine(compute.engine, row_batch, col_batch, leaf)
        _warn_not_sketched(leaf, row_batch, col_batch)
        run = Run(leaf, choice, compute.budget, compute.threads, 0)
        near[leaf] = Leaf(leaf, row_batch, run, run.cut(row_batch))
        far[leaf] = Leaf(leaf, col_batch, run, run.cut(col_batch))
    return (
        PreparedGraphs(kernel, compute, rows, features, near),
        PreparedGraphs(kernel, compute, cols, features, far),
    )


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


def _ready(batch: GraphBatch, features: dict[str, NodeFeatures], kernel: GNTK) -> GraphBatch:
    ready = features[kernel.features].transform(batch)
    check_edges(ready, kernel)
    return ready


def _warn_not_sketched(kernel: GNTK, *batches: GraphBatch) -> None:
    """Warn if graphs are not sketched because of the size of the sketch."""
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


def _write_both_triangles(out: Array, reduce: Callable[[Array], Array]) -> Write:
    """Return a function that writes a tile and its mirror image, so that the result is exactly symmetric."""

    def write(rows: NDArray[np.int64], cols: NDArray[np.int64], levels: Array) -> None:
        values = reduce(levels)
        if rows is cols:  # both triangles were computed; keep one
            values = np.triu(values) + np.swapaxes(np.triu(values, 1), -1, -2)
        out[..., rows[:, None], cols] = values
        out[..., cols[:, None], rows] = np.swapaxes(values, -1, -2)

    return write
