"""How the work is cut: pure functions of sizes, known to nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Block", "Plan", "cut_blocks", "plan_cross", "plan_diagonal", "plan_gram"]


@dataclass(frozen=True)
class Block:
    """Graphs start..stop − 1, with this many nodes together."""

    start: int
    stop: int
    nodes: int


@dataclass(frozen=True)
class Plan:
    """Blocks of row graphs and of column graphs, and the tiles (row block, column block) to compute."""

    rows: tuple[Block, ...]
    cols: tuple[Block, ...]
    tiles: tuple[tuple[int, int], ...]

    def cost(self, tile: tuple[int, int]) -> int:
        """Estimate the work of a tile: its node pairs, plus one so that nothing is free."""
        return self.rows[tile[0]].nodes * self.cols[tile[1]].nodes + 1


def cut_blocks(sizes: NDArray[np.integer], block_nodes: int) -> tuple[Block, ...]:
    """Cut graphs into runs of at most ``block_nodes`` nodes; a larger graph is a run of its own.

    The cut depends on the sizes only, never on workers or memory, so neither can change a result.

    >>> cut_blocks(np.array([2, 2, 9, 1]), 4)
    (Block(start=0, stop=2, nodes=4), Block(start=2, stop=3, nodes=9), Block(start=3, stop=4, nodes=1))
    """
    blocks: list[Block] = []
    start = nodes = 0
    for i, size in enumerate(sizes.tolist()):
        if i > start and nodes + size > block_nodes:
            blocks.append(Block(start, i, nodes))
            start, nodes = i, 0
        nodes += size
    if len(sizes):
        blocks.append(Block(start, len(sizes), nodes))
    return tuple(blocks)


def plan_gram(sizes: NDArray[np.integer], block_nodes: int) -> Plan:
    """Plan the upper triangle of a symmetric matrix, largest tiles first so that workers end together."""
    blocks = cut_blocks(sizes, block_nodes)
    tiles = [(i, j) for i in range(len(blocks)) for j in range(i, len(blocks))]
    return _largest_first(blocks, blocks, tiles)


def plan_cross(row_sizes: NDArray[np.integer], col_sizes: NDArray[np.integer], block_nodes: int) -> Plan:
    """Plan a rectangular matrix, largest tiles first so that workers end together."""
    rows, cols = cut_blocks(row_sizes, block_nodes), cut_blocks(col_sizes, block_nodes)
    tiles = [(i, j) for i in range(len(rows)) for j in range(len(cols))]
    return _largest_first(rows, cols, tiles)


def plan_diagonal(sizes: NDArray[np.integer]) -> Plan:
    """Plan each graph against itself, one graph a block, largest first."""
    blocks = tuple(Block(i, i + 1, int(size)) for i, size in enumerate(sizes))
    return _largest_first(blocks, blocks, [(i, i) for i in range(len(blocks))])


def _largest_first(rows: tuple[Block, ...], cols: tuple[Block, ...], tiles: list[tuple[int, int]]) -> Plan:
    tiles.sort(key=lambda tile: -rows[tile[0]].nodes * cols[tile[1]].nodes)
    return Plan(rows, cols, tuple(tiles))
