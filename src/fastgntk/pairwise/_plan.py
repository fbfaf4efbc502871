"""How the work is cut: pure functions of sizes and colours, known to nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fastgntk._util.arrays import Int32s, Ints
from fastgntk.engines import Extent, Outline

__all__ = ["MOST_GRAPHS", "Block", "Plan", "cut_blocks", "largest_extent", "plan_cross", "plan_diagonal", "plan_gram"]

MOST_GRAPHS = 256  # in a block: values of a tile take memory and time too, however few its distinct nodes are


@dataclass(frozen=True, eq=False)
class Block:
    """Some graphs, by number, and how many distinct nodes they have together at each level."""

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
    """Return the most of everything."""
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
    if outline.colours is None:
        return _cut_by_size(outline, order, width, side)
    return _cut_by_colours(outline, order, width, side)


def plan_gram(blocks: tuple[Block, ...]) -> Plan:
    """Plan the upper triangle of a symmetric matrix, largest tiles first so that workers end together."""
    return _largest_first(blocks, blocks, [(i, j) for i in range(len(blocks)) for j in range(i, len(blocks))])


def plan_cross(rows: tuple[Block, ...], cols: tuple[Block, ...]) -> Plan:
    """Plan a rectangular matrix, largest tiles first so that workers end together."""
    return _largest_first(rows, cols, [(i, j) for i in range(len(rows)) for j in range(len(cols))])


def plan_diagonal(outline: Outline) -> Plan:
    """Plan each graph against itself, one graph a block, largest first."""
    groups = [np.array([i]) for i in range(len(outline))]
    blocks = _counted(outline, groups)
    return _largest_first(blocks, blocks, [(i, i) for i in range(len(blocks))])


def _cut_by_size(outline: Outline, order: Ints, width: int, side: int | None) -> tuple[Block, ...]:
    sizes = outline.sizes
    groups: list[list[int]] = []
    nodes = 0
    for place, i in enumerate(order.tolist()):
        if not groups or nodes + sizes[i] > width or len(groups[-1]) == MOST_GRAPHS or (side and place % side == 0):
            groups.append([])
            nodes = 0
        groups[-1].append(i)
        nodes += int(sizes[i])
    return _counted(outline, [np.array(g) for g in groups])


def _cut_by_colours(outline: Outline, order: Ints, width: int, side: int | None) -> tuple[Block, ...]:
    """Count the distinct colours of the level that has most; the others are narrower or about as wide."""
    assert outline.colours is not None
    level = outline.colours[int(np.argmax(_distinct_of_each_level(outline.colours)))]
    last_seen = np.full(int(level.max(initial=-1)) + 1, -1)  # the latest block that has the colour
    groups: list[list[int]] = []
    count = 0
    for place, i in enumerate(order.tolist()):
        mine = level[outline.offsets[i] : outline.offsets[i + 1]]
        fresh = np.unique(mine[last_seen[mine] != len(groups) - 1])
        full = not groups or count + len(fresh) > width or len(groups[-1]) == MOST_GRAPHS
        if full or (side and place % side == 0):
            groups.append([])
            count, fresh = 0, np.unique(mine)
        last_seen[fresh] = len(groups) - 1
        groups[-1].append(i)
        count += len(fresh)
    return _counted(outline, [np.array(g) for g in groups])


def _distinct_of_each_level(colours: Int32s) -> Ints:
    return np.array([int(level.max(initial=-1)) + 1 for level in colours])


def _counted(outline: Outline, groups: list[Ints]) -> tuple[Block, ...]:
    """Make blocks of groups of graphs that cover all graphs, counting the distinct colours of each level."""
    if outline.colours is None:
        sizes = outline.sizes
        return tuple(_block(outline, g, np.array([int(sizes[g].sum())])) for g in groups)
    block_of_graph = np.empty(len(outline.offsets) - 1, dtype=np.int64)
    for number, group in enumerate(groups):
        block_of_graph[group] = number
    block_of_node = np.repeat(block_of_graph, outline.sizes)
    counts = np.zeros((len(groups), len(outline.colours)), dtype=np.int64)
    for i, (level, most) in enumerate(zip(outline.colours, _distinct_of_each_level(outline.colours), strict=True)):
        pairs = np.unique(block_of_node * most + level)
        counts[:, i] = np.bincount(pairs // max(most, 1), minlength=len(groups))
    return tuple(_block(outline, g, c) for g, c in zip(groups, counts, strict=True))


def _block(outline: Outline, graphs: Ints, counts: Ints) -> Block:
    building = 0 if outline.building is None else int(outline.building[graphs].max(initial=0))
    return Block(graphs, counts, outline.features, building, outline.parts)


def _counts(blocks: tuple[Block, ...]) -> Ints:
    return np.stack([b.counts for b in blocks])


def _largest_first(rows: tuple[Block, ...], cols: tuple[Block, ...], tiles: list[tuple[int, int]]) -> Plan:
    if not tiles:
        return Plan(rows, cols, ())
    first, second = np.array(tiles).T
    costs = np.einsum("ij,ij->i", _counts(rows)[first], _counts(cols)[second])
    return Plan(rows, cols, tuple(tiles[i] for i in np.argsort(-costs, kind="stable").tolist()))
