"""The interface of every engine, the sizes from which tiles are planned, and the table of engines.

To add an engine: derive a class from `Engine` or `GroupwiseEngine` in a file of this folder, and add a row to
``ENGINES`` and one with its estimated time to ``_SECONDS`` in `_auto`. Every property test then runs on it.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._aggregation import count_relations
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import DescriptorKernel, Leaf, Network, WeisfeilerLehman
from fastgntk.sketch import Sketch

__all__ = ["COMPILING", "ENGINES", "EXACT_ENGINES", "GroupwiseState", "CancelFlag", "Engine", "EngineRow", "Extent"]
__all__ += ["GraphRange", "GroupwiseEngine", "GraphSizes"]
__all__ += ["announce_compilation", "available_engines", "check_engine", "compiled_code_runs", "engines_of"]
__all__ += ["get_engine"]

_log = logging.getLogger("fastgntk")

K = TypeVar("K", bound=Leaf)
"""The family of kernels that an engine computes."""

State = TypeVar("State")
"""What an engine prepares from a batch: the result of `Engine.prepare`, completed by `Engine.finish_preparation`."""

GroupData = TypeVar("GroupData")
"""What an engine builds from the state for one group of graphs; a tile is computed from the data of two groups."""

GraphRange = tuple[int, int]
"""Half-open range of graph indices."""

CancelFlag = NDArray[np.uint8]
"""An array of one entry; another thread sets it to 1 to cancel the work."""


class Extent(NamedTuple):
    """The sizes of a group that determine the memory of a tile."""

    n_nodes: int  # colours where equal nodes are merged; the maximum over levels
    n_graphs: int = 1
    n_levels: int = 1
    n_features: int = 0
    building_bytes: int = 0  # memory to build the share of the group's most expensive graph
    n_relations: int = 1
    sketch_rows: int = 0  # of all graphs together


@dataclass(frozen=True, eq=False)
class GraphSizes:
    """The sizes of n graphs, from which tiles are planned.

    Attributes
    ----------
    offsets : int64, (n + 1,)
        Nodes of graph i are offsets[i]..offsets[i + 1] − 1.
    colours : int32, (n_levels, N), or None
        Nodes of a group with the same colour are computed once at that level; None if no nodes are merged.
    keys : uint64, (k, n), or None
        Graphs with equal keys are likely to share colours and should be in the same group.
    n_features : int
        Number of feature columns, or 0 if the memory of a tile does not depend on it.
    building_bytes : int64, (n,), or None
        Memory to build the share of each graph in its group, if that can exceed the memory of a tile.
    n_relations : int
        Number of relations: more than one with typed edges.
    sketch_rows : int64, (n,), or None
        Rows of the sketch of each graph.
    n_levels : int
        Number of levels, if the memory of a tile depends on it and it does not follow from ``colours``.
    """

    offsets: Ints
    colours: Int32s | None = None
    keys: NDArray[np.uint64] | None = None
    n_features: int = 0
    building_bytes: Ints | None = None
    n_relations: int = 1
    sketch_rows: Ints | None = None
    n_levels: int = 1

    @property
    def n_nodes(self) -> Ints:
        """The number of nodes of each graph."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class GroupwiseState:
    """The state of an engine that does all of its work in ``build_group``, where memory is bounded."""

    batch: GraphBatch
    kernel: Network

    def select(self, indices: Ints) -> GraphBatch:
        """Return the graphs of a group, as a view if they are consecutive."""
        if len(indices) and np.array_equal(indices, np.arange(indices[0], indices[0] + len(indices))):
            return self.batch[int(indices[0]) : int(indices[0]) + len(indices)]
        return self.batch[indices]


class Engine(ABC, Generic[K, State, GroupData]):
    """Compute kernel values between groups of graphs; the caller plans tiles and manages threads.

    The stages are ``prepare``, which returns the state of a batch → ``run_task`` for each of ``preparation_tasks`` →
    ``finish_preparation``, which returns the complete state → ``build_group``, which returns the data of a group →
    ``tile_readouts`` for each pair of groups. ``prepare`` allocates the arrays of the state; each task fills entries of
    its own in place, so that tasks can run on threads. An engine without tasks inherits empty stages.
    """

    name: str
    max_group_nodes: int
    """Limit on the nodes of a group (its colours where equal nodes are merged); a larger graph forms its own group."""

    @abstractmethod
    def prepare(self, batch: GraphBatch, kernel: K, cols: State | None = None) -> State:
        """Do the cheap per-graph work for the whole batch and return the state, a picklable value.

        ``cols`` is the state of the column graphs, if the graphs are rows of a matrix with other graphs.
        """

    @abstractmethod
    def graph_sizes(self, state: State) -> GraphSizes:
        """Return the sizes of the graphs, from which tiles are planned."""

    def colours(self, state: State) -> Int32s | None:  # noqa: ARG002
        """Return the colours of all nodes at all levels, (L + 1, N), or None if the engine does not refine colours."""
        return None

    def first_equal_graph(self, state: State) -> Ints | None:  # noqa: ARG002
        """Return for each graph the index of the first one with equal kernel values, or None to refine colours."""
        return None

    def preparation_tasks(self, state: State) -> Sequence[GraphRange]:  # noqa: ARG002
        """Return ranges of graphs for the remaining per-graph work.

        Each task may be slow and use as much memory as a tile.
        """
        return ()

    def run_task(self, state: State, task: GraphRange, cancelled: CancelFlag) -> None:
        """Run one task, which fills arrays of the state in place; tasks write to disjoint entries.

        Once ``cancelled[0]`` is not 0 the task returns early, with its entries incomplete.
        """

    def finish_preparation(self, state: State) -> State:
        """Return the complete state, which ``build_group`` takes, once all tasks are done."""
        return state

    def diagonal(self, state: State) -> Array | None:  # noqa: ARG002
        """Return the kernel of each graph with itself if that is faster than computing tiles, else None."""
        return None

    @abstractmethod
    def build_group(self, state: State, indices: Ints) -> GroupData:
        """Return the data of a group of graphs that ``tile_readouts`` takes, a picklable value."""

    @abstractmethod
    def build_nodes(self, state: State, batch: GraphBatch) -> GroupData:
        """Return the data of a single graph with a row of the tile for each node; they add up to the graph's row."""

    @abstractmethod
    def tile_readouts(self, rows: GroupData, cols: GroupData, cancelled: CancelFlag | None = None) -> Array:
        """Return the readout of every level between two groups, shape (depth + 1, len(rows), len(cols)).

        Entry [l, i, j] is the readout of level l between row graph i and column graph j, for a GNTK Σ_uv K(l)_uv; l = 0
        is level 0. The row graphs may have more feature columns than the column graphs, for labels that the latter
        lack. Once ``cancelled[0]`` is not 0 a long tile returns early, with meaningless values.
        """

    def weighted_readouts(self, rows: GroupData, cols: GroupData) -> Array | None:  # noqa: ARG002
        """Return the weighted sum of all levels (len(rows), len(cols)) if that is faster than the levels, else None."""
        return None

    @abstractmethod
    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Return an upper bound on the memory that ``tile_readouts``, or building the larger group, allocates.

        Counts pairwise matrices only; per-node storage is additional.
        """

    @abstractmethod
    def kept_bytes(self, state: State) -> int:
        """Estimate the memory of the state and of the data of all groups."""


class GroupwiseEngine(Engine[Network, GroupwiseState, GroupData]):
    """An engine that does all of its work in ``build_group`` and ``tile_readouts``."""

    def prepare(self, batch: GraphBatch, kernel: Network, cols: GroupwiseState | None = None) -> GroupwiseState:  # noqa: ARG002
        """Keep the graphs."""
        return GroupwiseState(batch, kernel)

    def graph_sizes(self, state: GroupwiseState) -> GraphSizes:
        """Treat every node as distinct."""
        batch = state.batch
        return GraphSizes(batch.offsets, n_relations=count_relations(batch, state.kernel))

    def kept_bytes(self, state: GroupwiseState) -> int:
        """Count two sparse matrices with the structure of Â."""
        return 2 * 12 * (len(state.batch.indices) + int(state.batch.n_nodes))


class EngineRow(NamedTuple):
    """The properties of an engine that must be readable without importing its module, which may load numba."""

    module: str  # in this folder
    class_name: str
    exact: bool  # exact engines agree up to rounding; the others are for kernels with a sketch
    compiled: bool  # needs numba
    kernels: type[Leaf] = Network


ENGINES = {
    "lossless": EngineRow("_lossless", "Lossless", exact=True, compiled=True),
    "decoupled": EngineRow("_decoupled", "Decoupled", exact=True, compiled=False),
    "kronecker": EngineRow("_kronecker", "Kronecker", exact=True, compiled=False),
    "sketched": EngineRow("_sketched", "Sketched", exact=False, compiled=True),
    "histograms": EngineRow("_weisfeiler_lehman", "Histograms", exact=True, compiled=False, kernels=WeisfeilerLehman),
    "vectors": EngineRow("_descriptor_kernels", "Vectors", exact=True, compiled=False, kernels=DescriptorKernel),
}
EXACT_ENGINES = tuple(name for name, row in ENGINES.items() if row.exact and row.kernels is Network)
"""The values of ``engine=`` besides ``"auto"``; other engines are chosen by the kernel."""


def check_engine(engine: Any) -> None:
    """Raise an error for anything other than ``"auto"`` and the names of exact engines."""
    if engine not in ("auto", *EXACT_ENGINES):
        hint = "; give the kernel a sketch instead: GNTK(sketch=Sketch())" if engine == "sketched" else ""
        raise InputError(f"engine must be one of auto, {', '.join(EXACT_ENGINES)}, but is {engine!r}{hint}.")


def get_engine(name: str, sketch: Sketch | None = None) -> Engine[Any, Any, Any]:
    """Return the engine of that name; ``sketch`` is for the sketched one."""
    if name not in ENGINES:
        raise InputError(f"engine must be one of {', '.join(ENGINES)}, but is {name!r}.")
    row = ENGINES[name]
    if row.compiled and not compiled_code_runs():
        raise InputError(
            f"engine={name!r} needs numba, which cannot be imported here; install numba, or use engine='decoupled'."
        )
    # Imported when used: compiled engines load numba, which takes longer than the rest of the package.
    make = getattr(import_module(f"fastgntk.engines.{row.module}"), row.class_name)
    engine: Engine[Any, Any, Any] = make(sketch or Sketch()) if name == "sketched" else make()
    return engine


def engines_of(kernel: Leaf) -> list[str]:
    """Return the names of the engines that compute a kernel: at least one; raise if there is none."""
    names = [name for name, row in ENGINES.items() if isinstance(kernel, row.kernels)]
    if not names:
        raise InputError(f"{kernel!r} cannot be computed; use the kernels of fastgntk.kernels.")
    return names


def available_engines() -> list[str]:
    """Return the names of the engines that run on this machine."""
    return [name for name, row in ENGINES.items() if not row.compiled or compiled_code_runs()]


def compiled_code_runs() -> bool:
    """Return whether numba can be imported; it supports new versions of Python with a delay."""
    try:
        import_module("numba")
    except ImportError:
        return False
    return True


COMPILING = "compiling the fast loops, once for this installation; this takes about 20 seconds"


def announce_compilation() -> None:
    """Log a message if the compiled tile loop is not cached on disk, or nothing if that cannot be determined."""
    from fastgntk.engines._simd._tile import compute_tile

    folder = getattr(getattr(compute_tile, "_cache", None), "cache_path", None)
    if folder is None or getattr(compute_tile, "signatures", None):
        return
    if not any(Path(folder).glob("_tile.compute_tile-*.nbi")):
        _log.info(COMPILING)
