"""The contract of every engine, what the plan of a matrix uses of prepared graphs, and the table of engines.

To add an engine: derive a class from `Engine` in a file ``_NAME.py``, add a row to ``_ENGINES``, and its name to
``EXACT_ENGINES`` (and to ``_COMPILED`` if it needs Numba); every property test then runs on it.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._recursion import count_parts
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.sketch import Sketch

__all__ = ["COMPILING", "EXACT_ENGINES", "CancelFlag", "Engine", "Extent", "Outline", "UnpreparedGraphs"]
__all__ += ["announce_compilation", "check_engine", "compiled_code_runs", "get_engine"]

_log = logging.getLogger("fastgntk")

CancelFlag = NDArray[np.uint8]
"""One entry, set to 1 from another thread when work is cancelled."""


class Extent(NamedTuple):
    """The size of a block, as far as memory depends on it."""

    width: int  # nodes, distinct ones where equal nodes are merged; the maximum over levels
    graphs: int = 1
    levels: int = 1
    features: int = 0
    building: int = 0  # bytes needed to build the part of the block that belongs to its most expensive graph
    parts: int = 1  # of the aggregation


@dataclass(frozen=True, eq=False)
class Outline:
    """Describe n graphs to the plan.

    Attributes
    ----------
    offsets : int64, (n + 1,)
        Nodes of graph i are offsets[i]..offsets[i + 1] − 1.
    colours : int32, (levels, N), or None
        Nodes of one block that share a number are computed once at that level; None means that none do.
    keys : uint64, (k, n), or None
        Graphs whose keys agree are likely to share colours, so it pays to put them into one block.
    features : int
        Width of the features, where an engine needs memory in proportion to it.
    building : int64, (n,), or None
        Bytes that each graph takes while its part of a block is built, where that is more than a tile takes.
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
    """A batch for an engine that does all of its work block by block, where memory is bounded."""

    batch: GraphBatch
    kernel: GNTK

    def select(self, graphs: Ints) -> GraphBatch:
        """Return the graphs of a block; consecutive ones share memory with the batch."""
        if len(graphs) and np.array_equal(graphs, np.arange(graphs[0], graphs[0] + len(graphs))):
            return self.batch[int(graphs[0]) : int(graphs[0]) + len(graphs)]
        return self.batch[graphs]


class Engine(ABC):
    """Compute kernel values between blocks of graphs: the formula, without tiles and threads.

    ``prepare`` → ``work`` on each of ``tasks`` → ``finish`` → ``block`` for each block → ``tile`` for each pair of
    blocks. By default nothing is prepared before ``block``.
    """

    name: str
    width: int
    """Number of nodes (distinct ones, where equal nodes are merged) of small graphs to put into one block."""

    def prepare(self, batch: GraphBatch, kernel: GNTK) -> Any:
        """Do what is quick and needs one graph only, for all graphs; the result is a picklable value."""
        return UnpreparedGraphs(batch, kernel)

    def outline(self, prepared: Any) -> Outline:
        """Describe the graphs to the plan."""
        batch = prepared.batch
        return Outline(batch.offsets - batch.offsets[0], parts=count_parts(batch, prepared.kernel))

    def colours(self, prepared: Any) -> Int32s | None:  # noqa: ARG002
        """Return the colours of all nodes at all levels, (L + 1, N), if the engine has refined them."""
        return None

    def tasks(self, prepared: Any) -> Sequence[Any]:  # noqa: ARG002
        """Return the pieces of what else needs one graph only, and may take time and the memory of a tile."""
        return ()

    def work(self, prepared: Any, task: Any, cancelled: CancelFlag) -> None:  # noqa: B027
        """Do one task; tasks are independent. Once ``cancelled[0]`` is not 0 it returns as soon as it can."""

    def finish(self, prepared: Any) -> Any:
        """Return the argument of ``block``, when all tasks are done."""
        return prepared

    @abstractmethod
    def block(self, prepared: Any, graphs: Ints) -> Any:
        """Return what tiles need of some graphs; the result is a picklable value."""

    @abstractmethod
    def node_block(self, prepared: Any, batch: GraphBatch) -> Any:
        """Return the one graph of a batch as rows of a tile, one for each node: their sum is the graph's row."""

    @abstractmethod
    def tile(self, rows: Any, cols: Any, cancelled: CancelFlag | None = None) -> Array:
        """Return the readout of every level between two blocks, shape (blocks + 1, len(rows), len(cols)).

        Entry [l, i, j] is Σ_uv K(l)_uv between row graph i and column graph j; entry 0 is level 0. Features of the
        rows may have more columns than those of the cols, for labels that the cols do not have. Once
        ``cancelled[0]`` is not 0 a long tile returns as soon as it can, with meaningless values.
        """

    @abstractmethod
    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Bound the memory that ``tile``, or preparing the larger block, allocates.

        Counted are matrices over pairs; what is kept for each node comes on top.
        """

    def kept_bytes(self, prepared: Any) -> int:
        """Estimate the memory of prepared graphs and their blocks, by default two matrices of neighbours."""
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


def get_engine(name: str, sketch: Sketch | None = None) -> Engine:
    """Return the engine of that name; ``sketch`` is for the sketched one."""
    if name not in _ENGINES:
        raise InputError(f"engine must be one of {', '.join(_ENGINES)}, but is {name!r}.")
    if name in _COMPILED and not compiled_code_runs():
        raise InputError(
            f"engine={name!r} needs numba, which cannot be imported here; install numba, or use engine='decoupled'."
        )
    # Imported when used: compiled engines load numba, which takes longer than the rest of the package.
    make = getattr(import_module(f"fastgntk.engines._{name}"), _ENGINES[name])
    engine: Engine = make(sketch or Sketch()) if name == "sketched" else make()
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
