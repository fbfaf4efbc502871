"""The contract of every engine, and the table of those that exist.

To add an engine: write the functions below in a file ``_NAME.py``, add a row to ``_ENGINES``, and its name to
``EXACT_ENGINES`` (and to ``_COMPILED`` if it needs Numba); every property test then runs on it.
"""

import logging
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._outline import Extent, Outline
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.sketch import Sketch

__all__ = [
    "COMPILING",
    "EXACT_ENGINES",
    "Engine",
    "announce_compilation",
    "check_engine",
    "compiled_code_runs",
    "get_engine",
]


class Engine(Protocol):
    """Compute kernel values between blocks of graphs: the formula, without tiles and threads."""

    name: str
    width: int
    """How many nodes (distinct ones, where equal nodes are merged) of small graphs to put into one block."""

    def prepare(self, batch: GraphBatch, kernel: GNTK) -> Any:
        """Do what is quick and needs one graph only, for all graphs; the result is a picklable value."""
        ...

    def outline(self, prepared: Any) -> Outline:
        """Tell the plan what it may know."""
        ...

    def colours(self, prepared: Any) -> Int32s | None:
        """Return the colours of all nodes at all levels, (L + 1, N), if the engine has refined them."""
        ...

    def tasks(self, prepared: Any) -> Sequence[Any]:
        """Return the pieces of what else needs one graph only, and may take time and the memory of a tile."""
        ...

    def work(self, prepared: Any, task: Any, cancelled: NDArray[np.uint8]) -> None:
        """Do one of these; they are independent. Once ``cancelled[0]`` is not 0 it returns as soon as it can."""
        ...

    def finish(self, prepared: Any) -> Any:
        """Return what ``block`` takes, when all tasks are done."""
        ...

    def block(self, prepared: Any, graphs: Ints) -> Any:
        """Return what tiles need of some graphs; the result is a picklable value."""
        ...

    def node_block(self, prepared: Any, batch: GraphBatch) -> Any:
        """Return the one graph of a batch as rows of a tile, one for each node: their sum is the graph's row."""
        ...

    def tile(self, rows: Any, cols: Any, cancelled: NDArray[np.uint8] | None = None) -> Array:
        """Return the readout of every level between two blocks, shape (blocks + 1, len(rows), len(cols)).

        Entry [l, i, j] is Σ_uv K(l)_uv between row graph i and column graph j; entry 0 is level 0. Features of the
        rows may have more columns than those of the cols: what labels became that the cols do not have. Once
        ``cancelled[0]`` is not 0 a long tile returns as soon as it can, with values of no meaning.
        """
        ...

    def tile_bytes(self, rows: Extent, cols: Extent) -> int:
        """Return how much memory ``tile``, or preparing the larger block, allocates at the most.

        Counted are matrices over pairs; what is kept for each node comes on top.
        """
        ...

    def kept_bytes(self, prepared: Any) -> int:
        """Return about how much memory prepared graphs and their blocks take."""
        ...


_ENGINES = {"lossless": "Lossless", "decoupled": "Decoupled", "kronecker": "Kronecker", "sketched": "Sketched"}
_COMPILED = ("lossless", "sketched")


EXACT_ENGINES = ("lossless", "decoupled", "kronecker")
"""Those that give the same numbers; the sketched engine belongs to kernels with a sketch."""


def check_engine(engine: Any) -> None:
    """Refuse what is the name of no exact engine."""
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
    """Tell whether numba can be imported; it is not available for every new Python at once."""
    try:
        import_module("numba")
    except ImportError:
        return False
    return True


_log = logging.getLogger("fastgntk")

COMPILING = "compiling the fast loops, once for this installation; this takes about 20 seconds"


def announce_compilation() -> None:
    """Log a line if numba has no machine code of the tile loop on disk; log nothing where that cannot be seen."""
    from fastgntk.engines._simd._tile import compute_tile

    folder = getattr(getattr(compute_tile, "_cache", None), "cache_path", None)
    if folder is None or getattr(compute_tile, "signatures", None):
        return
    if not any(Path(folder).glob("_tile.compute_tile-*.nbi")):
        _log.info(COMPILING)
