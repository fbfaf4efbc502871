"""How the work is cut into blocks and tiles: pure functions of sizes and colours."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fastgntk._util.arrays import Int32s, Ints
from fastgntk.engines import Extent, Outline

__all__ = ["MAX_GRAPHS", "Block", "Plan", "cut_blocks", "largest_extent", "plan_cross", "plan_diagonal", "plan_gram"]

MAX_GRAPHS = 256  # in a block: values of a tile take memory and time too, however few its distinct nodes are


@dataclass(frozen=True, eq=False)
class Block:
    """Graphs, by number, and how many distinct nodes they have together at each level."""

    graphs: Ints
    counts: Ints

    features: int = 0
    building: int = 0
    parts: int = 1

    @property
    def width(self) -> int:
        """The most distinct nodes of any level."""
        return int(self.counts.max(initial=0))

    @property
    def extent(self) -> Extent:
        """What memory depends on."""
        return Extent(self.width, len(self.graphs), len(self.counts) + 1, self.features, self.building, self.parts)

    def __str__(self) -> str:
        first, last = int(self.graphs[0]), int(self.graphs[-1])
        if np.array_equal(self.graphs, np.arange(first, last + 1)):
            return f"{first}..{last}"
        shown = ", ".join(map(str, self.graphs[:8].tolist()))
        return f"[{shown}{', …' if len(self.graphs) > 8 else ''}]"


@dataclass(frozen=True, eq=False)
class Plan:
    """Blocks of row graphs and of column graphs, and the tiles (row block, column block) to compute."""

    rows: tuple[Block, ...]
    cols: tuple[Block, ...]
    tiles: tuple[tuple[int, int], ...]

    def cost(self, tile: tuple[int, int]) -> int:
        """Estimate the work of a tile: its pairs of distinct nodes, plus one so that nothing is free."""
        return int(self.rows[tile[0]].counts @ self.cols[tile[1]].counts) + 1

    def pairs(self) -> Ints:
        """Count the pairs of distinct nodes that the tiles compute, level by level; symmetric tiles count half."""
        if not self.tiles:
            return np.zeros(1, dtype=np.int64)
        rows, cols = _counts(self.rows), _counts(self.cols)
        first, second = np.array(self.tiles).T
        pairs = rows[first] * cols[second]
        if self.rows is self.cols:
            pairs[first == second] //= 2
        return np.asarray(pairs.sum(axis=0))


def largest_extent(blocks: Iterable[Block]) -> Extent:
    """Return the largest extent of any block, in each dimension."""
    return Extent(*(max(values) for values in zip(*(b.extent for b in blocks), strict=True)))


def cut_blocks(outline: Outline, width: int, side: int | None = None, order: Ints | None = None) -> tuple[Block, ...]:
    """Cut graphs into blocks of at most ``width`` distinct nodes and 256 graphs; a larger graph is its own block.

    Graphs that are likely to share nodes come next to each other. The cut depends on the graphs only, never on workers
    or memory, so neither can change a result. With ``side`` a block also ends after every ``side`` graphs, so that
    whole blocks make up the tiles of a store; ``order`` fixes the order of the graphs.

    >>> blocks = cut_blocks(Outline(np.array([0, 2, 4, 13, 14])), 4)
    >>> [(str(b), b.width) for b in blocks]
    [('0..1', 4), ('2..2', 9), ('3..3', 1)]
    """
    if order is None:
        order = np.arange(len(outline.offsets) - 1) if outline.keys is None else np.lexsort([*outline.keys[::-1]])
    if outline.colours is None:  # every node counts for itself
        level = np.arange(outline.offsets[-1])
    else:  # distinct colours of the level that has most; the others are narrower or about as wide
        level = outline.colours[int(np.argmax(_count_distinct(outline.colours)))]
    last_seen = np.full(int(level.max(initial=-1)) + 1, -1)  # the latest block that has the colour
    groups: list[list[int]] = []
    count = 0
    for place, i in enumerate(order.tolist()):
        nodes = level[outline.offsets[i] : outline.offsets[i + 1]]
        distinct = nodes if outline.colours is None else np.unique(nodes)
        fresh = distinct[last_seen[distinct] != len(groups) - 1]
        full = not groups or count + len(fresh) > width or len(groups[-1]) == MAX_GRAPHS
        if full or (side and place % side == 0):
            groups.append([])
            count, fresh = 0, distinct
        last_seen[fresh] = len(groups) - 1
        groups[-1].append(i)
        count += len(fresh)
    return _make_blocks(outline, [np.array(group) for group in groups])


def plan_gram(blocks: tuple[Block, ...]) -> Plan:
    """Plan the upper triangle of a symmetric matrix, largest tiles first so that workers end together."""
    return _largest_first(blocks, blocks, [(i, j) for i in range(len(blocks)) for j in range(i, len(blocks))])


def plan_cross(rows: tuple[Block, ...], cols: tuple[Block, ...]) -> Plan:
    """Plan a rectangular matrix, largest tiles first so that workers end together."""
    return _largest_first(rows, cols, [(i, j) for i in range(len(rows)) for j in range(len(cols))])


def plan_diagonal(outline: Outline) -> Plan:
    """Plan each graph against itself, one graph a block, largest first."""
    blocks = _make_blocks(outline, [np.array([i]) for i in range(len(outline.offsets) - 1)])
    return _largest_first(blocks, blocks, [(i, i) for i in range(len(blocks))])


def _make_blocks(outline: Outline, groups: list[Ints]) -> tuple[Block, ...]:
    """Make blocks of groups of graphs that cover all graphs, counting the distinct colours of each level."""
    sizes = np.diff(outline.offsets)
    block_of_graph = np.empty(len(sizes), dtype=np.int64)
    for number, group in enumerate(groups):
        block_of_graph[group] = number
    levels = 1 if outline.colours is None else len(outline.colours)
    counts = np.zeros((len(groups), levels), dtype=np.int64)
    if outline.colours is None:
        np.add.at(counts[:, 0], block_of_graph, sizes)
    else:
        block_of_node = np.repeat(block_of_graph, sizes)
        for i, (level, distinct) in enumerate(zip(outline.colours, _count_distinct(outline.colours), strict=True)):
            pairs = np.unique(block_of_node * distinct + level)
            counts[:, i] = np.bincount(pairs // max(distinct, 1), minlength=len(groups))
    building = np.zeros(len(sizes), dtype=np.int64) if outline.building is None else outline.building
    return tuple(
        Block(graphs, count, outline.features, int(building[graphs].max(initial=0)), outline.parts)
        for graphs, count in zip(groups, counts, strict=True)
    )


def _count_distinct(colours: Int32s) -> Ints:
    return np.array([int(level.max(initial=-1)) + 1 for level in colours])


def _counts(blocks: tuple[Block, ...]) -> Ints:
    return np.stack([b.counts for b in blocks])


def _largest_first(rows: tuple[Block, ...], cols: tuple[Block, ...], tiles: list[tuple[int, int]]) -> Plan:
    if not tiles:
        return Plan(rows, cols, ())
    first, second = np.array(tiles).T
    costs = np.einsum("ij,ij->i", _counts(rows)[first], _counts(cols)[second])
    return Plan(rows, cols, tuple(tiles[i] for i in np.argsort(-costs, kind="stable").tolist()))
