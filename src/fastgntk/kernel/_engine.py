"""The contract of every engine, and the table of those that exist.

To add an engine: write ``prepare`` and ``tile`` in a file of its own, add a row to ``_ENGINES``, and add its
name to ``ENGINES`` in ``tests/tables.py``; every property test then runs on it.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError
from fastgntk.graph import GraphBatch
from fastgntk.kernel._decoupled import Decoupled
from fastgntk.kernel._kronecker import Kronecker
from fastgntk.kernel._spec import GNTK

__all__ = ["Engine", "engine_names", "get_engine"]


class Engine(Protocol):
    """Compute kernel values between blocks of graphs; knows the formula, nothing of tiles or workers."""

    name: str
    block_nodes: int
    """How many nodes of small graphs to put into one block; a larger graph is a block of its own."""

    def prepare(self, batch: GraphBatch, spec: GNTK) -> Any:
        """Do everything that needs one graph only; the result is a picklable value."""
        ...

    def tile(self, rows: Any, cols: Any) -> NDArray[np.float64]:
        """Return the readout of every level, shape (blocks + 1, len(rows), len(cols)).

        Entry [l, i, j] is Σ_uv K(l)_uv between row graph i and column graph j; entry 0 is level 0.
        """
        ...

    def tile_bytes(self, row_nodes: int, col_nodes: int) -> int:
        """Return how much memory ``tile``, or ``prepare`` of the larger block, allocates at the most.

        Counted are matrices over node pairs; what is kept for each node comes on top.
        """
        ...


_ENGINES: dict[str, type[Engine]] = {"decoupled": Decoupled, "kronecker": Kronecker}


def engine_names() -> list[str]:
    """Return the names that ``engine=`` accepts."""
    return ["auto", *_ENGINES]


def get_engine(name: str) -> Engine:
    """Return the engine of that name; ``"auto"`` takes the fastest exact one."""
    chosen = "decoupled" if name == "auto" else name
    if chosen not in _ENGINES:
        raise InputError(f"engine must be one of {', '.join(engine_names())}, but is {name!r}.")
    return _ENGINES[chosen]()
