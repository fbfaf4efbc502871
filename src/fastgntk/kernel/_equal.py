"""Graphs that the kernel cannot tell apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastgntk.graph import GraphBatch
from fastgntk.kernel._colours import colour
from fastgntk.kernel._engine import compiled_code_runs

__all__ = ["equal_graphs"]


def equal_graphs(batch: GraphBatch, blocks: int) -> NDArray[np.int64]:
    """Return for each graph the number of the first graph that is known to have the same values in such kernels.

    These are the graphs whose nodes have the same colours equally often after each of ``blocks`` rounds of refinement
    (1-WL, on nodes with features); fewer blocks tell fewer apart. A graph that no earlier one equals gets its own
    number; so do all where numba, which refines colours, is missing. A kernel may confuse a few more: ReLU layers scale
    with their input, so that two nodes may count as much as one of twice the length.
    """
    if not compiled_code_runs():
        return np.arange(len(batch))
    # All levels: colours of closed neighbourhoods do not say how often the colours before them were there.
    colours = colour(batch, blocks, operators=False).colours
    first: dict[bytes, int] = {}
    out = np.empty(len(batch), dtype=np.int64)
    for i in range(len(batch)):
        own = np.sort(colours[:, batch.offsets[i] : batch.offsets[i + 1]], axis=1)
        out[i] = first.setdefault(own.tobytes(), i)
    return out
