"""The values of one tile of a store, from the blocks on its two sides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array
from fastgntk.kernels import Kernel
from fastgntk.pairwise._combine import Entries, combine, combine_levels
from fastgntk.pairwise._plan import Block
from fastgntk.pairwise._run import Run

__all__ = ["Side", "tile_values"]


@dataclass(frozen=True, eq=False)
class Side:
    """The graphs on one side of tiles, for each leaf of the kernel: blocks with what was built of them."""

    blocks: Sequence[Sequence[tuple[Block, Any]]]
    diagonals: Sequence[Array] | None = None
    """For each leaf the kernel of the graphs with themselves, where the kernel is normalised."""


def tile_values(
    kernel: Kernel, runs: Sequence[Run], rows: Side, cols: Side, symmetric: bool, cancelled: NDArray[np.uint8]
) -> Array:
    """Compute a tile (rows, cols); once ``cancelled[0]`` is not 0 it returns as soon as it can, with no meaning."""
    leaves = kernel.leaves()

    def entries(leaf: Kernel) -> Entries:
        i = leaves.index(leaf)
        values = _leaf_values(runs[i], rows.blocks[i], cols.blocks[i], symmetric, cancelled)
        if symmetric:
            return Entries.of_gram(values)
        if rows.diagonals is None or cols.diagonals is None:
            return Entries(values)
        return Entries(values, rows.diagonals[i], cols.diagonals[i])

    return combine(kernel, entries).values


def _leaf_values(
    run: Run,
    rows: Sequence[tuple[Block, Any]],
    cols: Sequence[tuple[Block, Any]],
    symmetric: bool,
    cancelled: NDArray[np.uint8],
) -> Array:
    starts = [np.cumsum([0, *(len(block.graphs) for block, _ in side)]) for side in (rows, cols)]
    out = np.zeros((int(starts[0][-1]), int(starts[1][-1])))
    for i, (row_block, near) in enumerate(rows):
        for j, (col_block, far) in enumerate(cols):
            if cancelled[0]:
                return out
            if symmetric and j < i:
                continue
            at = slice(*starts[0][i : i + 2]), slice(*starts[1][j : j + 2])
            values = combine_levels(run.tile(near, far, row_block, col_block, cancelled), run.kernel)
            if symmetric and i == j:  # both triangles were computed; keep one
                values = np.triu(values) + np.triu(values, 1).T
            out[at] = values
            if symmetric:
                out[at[1], at[0]] = values.T
    return out
