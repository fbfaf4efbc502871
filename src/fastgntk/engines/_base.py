"""The contract of every engine, what the plan of a matrix uses of prepared graphs, and the table of engines.

To add an engine: derive a class from `Engine` or `GroupwiseEngine` in a file ``_NAME.py``, add a row to ``_ENGINES``,
and its name to ``EXACT_ENGINES`` (and to ``_COMPILED`` if it needs Numba); every property test then runs on it.
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
from fastgntk.engines._aggregation import count_parts
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.sketch import Sketch

__all__ = ["COMPILING", "EXACT_ENGINES", "CancelFlag", "Engine", "Extent", "GraphRange", "GroupwiseEngine", "Outline"]
__all__ += ["UnpreparedGraphs"]
__all__ += ["announce_compilation", "check_engine", "compiled_code_runs", "get_engine"]

_log = logging.getLogger("fastgntk")

Prepared = TypeVar("Prepared")
"""What an engine keeps of all graphs of a batch."""

Built = TypeVar("Built")
"""What an engine makes of a group of graphs for tiles."""

GraphRange = tuple[int, int]
"""Graphs start..stop − 1."""

CancelFlag = NDArray[np.uint8]
"""One entry, set to 1 from another thread when work is cancelled."""


class Extent(NamedTuple):
    """The size of a group, as far as memory depends on it."""

    width: int  # nodes, distinct ones where equal nodes are merged; the maximum over levels
    graphs: int = 1
    levels: int = 1
    features: int = 0
    building: int = 0  # bytes needed to build the part of the group that belongs to its most expensive graph
    parts: int = 1  # number of parts of the aggregation


@dataclass(frozen=True, eq=False)
class Outline:
    """Describe n graphs to the plan.

    Attributes
    ----------
    offsets : int64, (n + 1,)
        Nodes of graph i are offsets[i]..offsets[i + 1] − 1.
    colours : int32, (levels, N), or None
        Nodes of one group that share a number are computed once at that level; None means that none do.
    keys : uint64, (k, n), or None
        Graphs whose keys agree are likely to share colours, so it pays to put them into one group.
    features : int
        Width of the features, where an engine needs memory in proportion to it.
    building : int64, (n,), or None
        Bytes that each graph takes while its part of a group is built, where that is more than a tile takes.
    parts : int
        Number of parts of the aggregation: more than one with typed edges.
    """

    offsets: Ints
    colours: Int32s | None = None
    keys: NDArray[np.uint64] | None = None
    features: int = 0
    building: Ints | None = None
    parts: int = 1

    @property
    def sizes(self) -> Ints:
        """Number of nodes of each graph."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class UnpreparedGraphs:
    """A batch for an engine that does all of its work group by group, where memory is bounded."""

    batch: GraphBatch
    kernel: GNTK

    def select(self, graphs: Ints) -> GraphBatch:
        """Return the graphs of a group; consecutive ones share memory with the batch."""
        if len(graphs) and np.array_equal(graphs, np.arange(graphs[0], graphs[0] + len(graphs))):
            return self.batch[int(graphs[0]) : int(graphs[0]) + len(graphs)]
        return self.batch[graphs]


class Engine(ABC, Generic[Prepared, Built]):
    """Compute kernel values between groups of graphs: the formula, without tiles and threads.

    ``prepare`` → ``run_task`` for each of ``preparation_tasks`` → ``finish_preparation`` → ``build_group`` for each
    group → ``tile`` for each pair of groups. By default nothing is prepared before ``build_group``.
    """

    name: str
    width: int
    """Number of nodes (distinct ones, where equal nodes are merged) of small graphs to put into one group."""

    @abstractmethod
    def prepare(self, batch: GraphBatch, kernel: GNTK) -> Prepared:
        """Do what is quick and needs one graph only, for all graphs; the result is a picklable value."""

    @abstractmethod
    def outline(self, prepared: Prepared) -> Outline:
        """Describe the graphs to the plan."""

    def colours(self, prepared: Prepared) -> Int32s | None:  # noqa: ARG002
        """Return the colours of all nodes at all levels, (L + 1, N), if the engine has refined them."""
        return None

    def preparation_tasks(self, prepared: Prepared) -> Sequence[GraphRange]:  # noqa: ARG002
        """Return ranges of graphs for what else needs one graph only, and may take time and the memory of a tile."""
        return ()

    def run_task(self, prepared: Prepared, task: GraphRange, cancelled: CancelFlag) -> None:
        """Do one task; tasks are independent. Once ``cancelled[0]`` is not 0 it returns as soon as it can."""

    def finish_preparation(self, prepared: Prepared) -> Prepared:
        """Return the argument of ``build_group``, when all tasks are done."""
        return prepared

    @abstractmethod
    def build_group(self, prepared: Prepared, graphs: Ints) -> Built:
        """Return what tiles need of some graphs; the result is a picklable value."""

    @abstractmethod
    def build_nodes(self, prepared: Prepared, batch: GraphBatch) -> Built:
        """Return the one graph of a batch as rows of a tile, one for each node: their sum is the graph's row."""

    @abstractmethod
    def tile(self, rows: Built, cols: Built, cancelled: CancelFlag | None = None) -> Array:
        """Return the readout of every level between two groups, shape (blocks + 1, len(rows), len(cols)).

        Entry [l, i, j] is Σ_uv K(l)_uv between row graph i and column graph j; entry 0 is level 0. Features of the
        rows may have more columns than those of the cols, for labels that the cols do not have. Once
        ``cancelled[0]`` is not 0 a long tile returns as soon as it can, with meaningless values.
        """

    @abstractmethod
    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Bound the memory that ``tile``, or preparing the larger group, allocates.

        Counted are matrices over pairs; what is kept for each node comes on top.
        """

    @abstractmethod
    def kept_bytes(self, prepared: Prepared) -> int:
        """Estimate the memory of prepared graphs and their groups."""


class GroupwiseEngine(Engine[UnpreparedGraphs, Built]):
    """An engine that does all of its work group by group."""

    def prepare(self, batch: GraphBatch, kernel: GNTK) -> UnpreparedGraphs:
        """Keep the graphs."""
        return UnpreparedGraphs(batch, kernel)

    def outline(self, prepared: UnpreparedGraphs) -> Outline:
        """Count every node for itself."""
        batch = prepared.batch
        return Outline(batch.offsets - batch.offsets[0], parts=count_parts(batch, prepared.kernel))

    def kept_bytes(self, prepared: UnpreparedGraphs) -> int:
        """Count two matrices of neighbours."""
        return 2 * 12 * (len(prepared.batch.indices) + int(prepared.batch.n_nodes))


_ENGINES = {"lossless": "Lossless", "decoupled": "Decoupled", "kronecker": "Kronecker", "sketched": "Sketched"}
_COMPILED = ("lossless", "sketched")


EXACT_ENGINES = ("lossless", "decoupled", "kronecker")
"""Those that give the same numbers; the sketched engine belongs to kernels with a sketch."""


def check_engine(engine: Any) -> None:
    """Raise an error for anything but ``"auto"`` and the names of exact engines."""
    if engine not in ("auto", *EXACT_ENGINES):
        hint = "; give the kernel a sketch instead: GNTK(sketch=Sketch())" if engine == "sketched" else ""
        raise InputError(f"engine must be one of auto, {', '.join(EXACT_ENGINES)}, but is {engine!r}{hint}.")


def get_engine(name: str, sketch: Sketch | None = None) -> Engine[Any, Any]:
    """Return the engine of that name; ``sketch`` is for the sketched one."""
    if name not in _ENGINES:
        raise InputError(f"engine must be one of {', '.join(_ENGINES)}, but is {name!r}.")
    if name in _COMPILED and not compiled_code_runs():
        raise InputError(
            f"engine={name!r} needs numba, which cannot be imported here; install numba, or use engine='decoupled'."
        )
    # Imported when used: compiled engines load numba, which takes longer than the rest of the package.
    make = getattr(import_module(f"fastgntk.engines._{name}"), _ENGINES[name])
    engine: Engine[Any, Any] = make(sketch or Sketch()) if name == "sketched" else make()
    return engine


def compiled_code_runs() -> bool:
    """Return whether numba can be imported; new versions of Python have to wait for it."""
    try:
        import_module("numba")
    except ImportError:
        return False
    return True


COMPILING = "compiling the fast loops, once for this installation; this takes about 20 seconds"


def announce_compilation() -> None:
    """Log a line if numba has no machine code of the tile loop on disk; log nothing where that cannot be seen."""
    from fastgntk.engines._simd._tile import compute_tile

    folder = getattr(getattr(compute_tile, "_cache", None), "cache_path", None)
    if folder is None or getattr(compute_tile, "signatures", None):
        return
    if not any(Path(folder).glob("_tile.compute_tile-*.nbi")):
        _log.info(COMPILING)
