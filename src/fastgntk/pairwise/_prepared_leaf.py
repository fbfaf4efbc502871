"""Graphs prepared for one leaf of a kernel: engine, its state and groups; `_group_pairs` computes values from them."""

import threading
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.text import format_bytes, round_up_bytes
from fastgntk._util.threads import run_on_threads, single_threaded_blas
from fastgntk.engines import Engine, EngineChoice, GraphRange, first_equal_graph, first_with_equal_colours
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Leaf
from fastgntk.pairwise._compute import Compute
from fastgntk.pairwise._plan import GraphGroup, Plan, cut_into_groups, largest_extent

__all__ = ["BuiltGroup", "PreparedLeaf"]


class BuiltGroup(NamedTuple):
    """A group of graphs, or the nodes of one graph, with the data from which the engine computes tiles."""

    group: GraphGroup
    leaf: Leaf
    engine: Engine[Any, Any, Any]
    data: Any
    divisors: Array | None = None  # of the readouts of its graphs, or of its nodes; None if they are sums


@dataclass(frozen=True, eq=False)
class PreparedLeaf:
    """Graphs prepared for one leaf."""

    leaf: Leaf
    batch: GraphBatch  # with encoded node features
    choice: EngineChoice
    state: Any  # of the engine
    groups: tuple[GraphGroup, ...]
    built_groups: list[BuiltGroup] = field(default_factory=list)  # filled when groups are first needed
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def n(self) -> int:
        """The number of graphs."""
        return len(self.batch.offsets) - 1

    @property
    def engine(self) -> Engine[Any, Any, Any]:
        """The engine that prepared the graphs and computes values."""
        return self.choice.engine

    @classmethod
    def prepare(cls, leaf: Leaf, batch: GraphBatch, choice: EngineChoice, cols: Self | None = None) -> Self:
        """Do the quick work for each graph, and divide the graphs into groups; :meth:`build` does the rest.

        ``cols`` are the column graphs, if these are rows of a matrix with other graphs.
        """
        engine = choice.engine
        with np.errstate(all="ignore"):  # an overflow makes tiles infinite, and those raise an error
            state = engine.prepare(batch, leaf, None if cols is None else cols.state)
        return cls(leaf, batch, choice, state, cut_into_groups(engine.graph_sizes(state), engine.max_group_nodes))

    def cut(self, tile_size: int, order: Ints | None = None) -> Self:
        """Return the same graphs in other groups; ``tile_size`` and ``order`` as in `cut_into_groups`."""
        engine = self.engine
        groups = cut_into_groups(engine.graph_sizes(self.state), engine.max_group_nodes, tile_size, order)
        return replace(self, groups=groups, built_groups=[], lock=threading.Lock())

    def first_equal_graph(self) -> Ints:
        """Return for each graph the index of the first one that the leaf cannot distinguish from it."""
        engine = self.engine
        first_equal = engine.first_equal_graph(self.state)
        if first_equal is not None:
            return first_equal
        colours = engine.colours(self.state)
        if colours is not None:
            return first_with_equal_colours(self.batch.offsets, colours)
        return first_equal_graph(self.batch, self.leaf.depth, **self.leaf.refinement_options)

    def build(self, n_threads: int) -> list[BuiltGroup]:
        """Build every group, once."""
        with self.lock:
            if len(self.built_groups) < len(self.groups):
                state = self.finish_preparation(n_threads)
                built: list[Any] = [None] * len(self.groups)

                def build_group(i: int) -> None:
                    built[i] = self.build_group(state, self.groups[i])

                with single_threaded_blas():
                    run_on_threads(build_group, range(len(built)), n_threads)
                self.built_groups[:] = built
        return self.built_groups

    def finish_preparation(self, n_threads: int) -> Any:
        """Do the slow part of the preparation on threads, and return the complete state."""
        engine, cancelled = self.engine, np.zeros(1, dtype=np.uint8)

        def run_task(task: GraphRange) -> None:
            engine.run_task(self.state, task, cancelled)

        run_on_threads(run_task, engine.preparation_tasks(self.state), n_threads, cancelled=cancelled)
        return engine.finish_preparation(self.state)

    def build_group(self, state: Any, group: GraphGroup) -> BuiltGroup:
        """Build one group from the complete state."""
        # New threads start with NumPy's default error state, so `errstate` belongs here and not around the loop.
        try:
            with np.errstate(all="ignore"):
                data = self.engine.build_group(state, group.indices)
        except Exception as error:
            error.add_note(f"while preparing graphs {group}")
            raise
        return BuiltGroup(group, self.leaf, self.engine, data, self._divisors(group.indices))

    def build_nodes(self, n_threads: int) -> BuiltGroup:
        """Build the nodes of a single graph as rows of tiles."""
        with single_threaded_blas(), np.errstate(all="ignore"):
            data = self.engine.build_nodes(self.finish_preparation(n_threads), self.batch)
        graph_of_node = np.zeros(self.batch.n_nodes, dtype=np.int64)
        return BuiltGroup(self.groups[0], self.leaf, self.engine, data, self._divisors(graph_of_node))

    def _divisors(self, indices: Ints) -> Array | None:
        """Return the number of nodes of each graph if readouts are means; 1 for a graph without nodes."""
        return np.maximum(self.batch.sizes[indices], 1).astype(np.float64) if self.leaf.pool == "mean" else None

    def affordable_threads(
        self, plan: Plan, compute: Compute, result_bytes: int, cols: Self | None = None, readouts: int = 1
    ) -> int:
        """Return how many tiles fit in memory alongside the result and the prepared graphs; raise if not even one fits.

        ``cols`` are the column graphs if they differ from these, and take memory too. ``readouts`` is a lower bound for
        the readouts of a group: one for each of its graphs, or one for each node.
        """
        groups = [*plan.rows, *plan.cols]
        if not groups:
            return 1
        # Building a group takes as much memory as a tile of the group with itself, so the largest group decides.
        largest = largest_extent(groups)
        largest = largest._replace(n_graphs=max(largest.n_graphs, readouts))
        engine, memory_budget = self.engine, compute.memory_budget
        tile_bytes = engine.tile_bytes(largest, largest)
        kept_bytes = result_bytes + engine.kept_bytes(self.state)
        if cols is not None:
            kept_bytes += engine.kept_bytes(cols.state)
        if kept_bytes + tile_bytes > memory_budget:
            raise InputError(
                f"max_memory={format_bytes(memory_budget)} is too small: result and graphs take "
                f"{format_bytes(kept_bytes)} and the largest tile {format_bytes(tile_bytes)}; pass "
                f"max_memory={round_up_bytes(kept_bytes + tile_bytes)!r} or fewer graphs."
            )
        return max(1, min(compute.threads, (memory_budget - kept_bytes) // max(tile_bytes, 1)))
