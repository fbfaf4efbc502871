"""The values of one tile of a store, from the blocks on its two sides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.pairwise._path import combine_levels
from fastgntk.pairwise._plan import Block
from fastgntk.pairwise._run import Run

__all__ = ["Side", "tile_values"]

Array = NDArray[np.float64]
Side = list[tuple[Block, Any]]
"""The blocks of a side of tiles: what each is of, and what was built."""


def tile_values(run: Run, rows: Side, cols: Side, symmetric: bool, cancelled: NDArray[np.uint8]) -> Array:
    """Compute a tile (rows, cols); once ``cancelled[0]`` is not 0 it returns as soon as it can, with no meaning."""
    starts = [np.cumsum([0, *(len(block.graphs) for block, _ in side)]) for side in (rows, cols)]
    out = np.empty((int(starts[0][-1]), int(starts[1][-1])))
    for i, (row_block, near) in enumerate(rows):
        for j, (col_block, far) in enumerate(cols):
            if cancelled[0]:
                return out
            if symmetric and j < i:
                continue
            at = slice(*starts[0][i : i + 2]), slice(*starts[1][j : j + 2])
            values = combine_levels(run.tile(near, far, row_block, col_block, cancelled), run.spec)
            if symmetric and i == j:  # both triangles were computed; keep one
                values = np.triu(values) + np.triu(values, 1).T
            out[at] = values
            if symmetric:
                out[at[1], at[0]] = values.T
    return out
