"""Graphs prepared for one tangent kernel, a leaf of the kernel: engine, colours, blocks; and its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import Progress
from fastgntk.engines import equal_graphs
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.pairwise._combine import combine_levels
from fastgntk.pairwise._compute import Compute
from fastgntk.pairwise._plan import plan_cross, plan_gram
from fastgntk.pairwise._run import Cut, Run, Write, check_result

__all__ = ["Leaf"]


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

        def write(near: Ints, far: Ints, levels: Array) -> None:
            out[near[:, None], far] = combine_levels(levels, self.kernel)

        plan = plan_cross(self.cut.blocks, cols.cut.blocks)
        self.within(compute, result).tiles(self.cut, cols.cut, plan, write, progress)
        return out

    def diagonal(self, compute: Compute, progress: Progress | None) -> Array:
        """Return the kernel of each graph with itself (n,)."""
        out = np.zeros(self.n)

        def write(rows: Ints, _: Ints, levels: Array) -> None:
            out[rows] = np.diagonal(combine_levels(levels, self.kernel))

        self.within(compute, out.nbytes).diagonal(self.cut.prepared, write, progress)
        return out

    def nodes(self, cols: Leaf, compute: Compute) -> Array:
        """Return the contribution of each node of the one graph to its row, shape (N, m)."""
        out = np.zeros((self.batch.n_nodes, cols.n))
        check_result(out.nbytes, compute.budget)

        def write(_: Ints, far: Ints, levels: Array) -> None:
            out[:, far] = combine_levels(levels, self.kernel)

        if len(out):
            self.within(compute, out.nbytes).nodes(self.batch, self.cut, cols.cut, write)
        return out

    def equal_graphs(self) -> Ints:
        """Return for each graph the number of the first one that the kernel cannot distinguish from it."""
        colours = self.run.engine.colours(self.cut.prepared)
        return equal_graphs(self.batch, self.kernel.blocks, typed=self.kernel.typed, colours=colours)

    def _symmetric(
        self, out: Array, reduce: Callable[[Array], Array], compute: Compute, result: int, progress: Progress | None
    ) -> None:
        run = self.within(compute, result)
        run.tiles(self.cut, self.cut, plan_gram(self.cut.blocks), _write_both_triangles(out, reduce), progress)


def _write_both_triangles(out: Array, reduce: Callable[[Array], Array]) -> Write:
    """Return a function that writes a tile and its mirror image, so that the result is exactly symmetric."""

    def write(rows: Ints, cols: Ints, levels: Array) -> None:
        values = reduce(levels)
        if rows is cols:  # both triangles were computed; keep one
            values = np.triu(values) + np.swapaxes(np.triu(values, 1), -1, -2)
        out[..., rows[:, None], cols] = values
        out[..., cols[:, None], rows] = np.swapaxes(values, -1, -2)

    return write
