"""Divide the work into groups and pairs of groups: pure functions of sizes and colours."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fastgntk._util.arrays import Int32s, Ints
from fastgntk.engines import Extent, GraphSizes

__all__ = [
    "MAX_GRAPHS",
    "GraphGroup",
    "Plan",
    "cut_into_groups",
    "largest_extent",
    "plan_cross",
    "plan_diagonal",
    "plan_gram",
]

MAX_GRAPHS = 256  # in a group: the values of a tile take memory and time even if it has few distinct nodes


@dataclass(frozen=True, eq=False)
class GraphGroup:
    """Indices of graphs, and what the memory of their tiles depends on; the fields of `Extent` have its meaning."""

    indices: Ints
    n_distinct: Ints
    """How many distinct nodes the graphs have together at each level from 1 on."""
    n_features: int = 0
    building_bytes: int = 0
    n_relations: int = 1
    sketch_rows: int = 0
    n_levels: int = 1

    @property
    def max_distinct(self) -> int:
        """The largest number of distinct nodes of any level."""
        return int(self.n_distinct.max(initial=0))

    @property
    def extent(self) -> Extent:
        """The sizes that determine memory."""
        sizes = self.max_distinct, len(self.indices), max(len(self.n_distinct) + 1, self.n_levels)
        return Extent(*sizes, self.n_features, self.building_bytes, self.n_relations, self.sketch_rows)

    def __str__(self) -> str:
        first, last = int(self.indices[0]), int(self.indices[-1])
        if np.array_equal(self.indices, np.arange(first, last + 1)):
            return f"{first}..{last}"
        shown = ", ".join(map(str, self.indices[:8].tolist()))
        return f"[{shown}{', …' if len(self.indices) > 8 else ''}]"


@dataclass(frozen=True, eq=False)
class Plan:
    """Groups of row graphs and of column graphs, and the pairs (row group, column group) to compute."""

    rows: tuple[GraphGroup, ...]
    cols: tuple[GraphGroup, ...]
    group_pairs: tuple[tuple[int, int], ...]

    def cost(self, group_pair: tuple[int, int]) -> int:
        """Estimate the work of a pair of groups: its pairs of distinct nodes, plus one so that nothing is free."""
        row, col = group_pair
        return int(self.rows[row].n_distinct @ self.cols[col].n_distinct) + 1

    def node_pairs(self) -> Ints:
        """Count the computed pairs of distinct nodes, level by level; those of a group with itself count half."""
        if not self.group_pairs:
            return np.zeros(1, dtype=np.int64)
        rows, cols = _stack_distinct(self.rows), _stack_distinct(self.cols)
        first, second = np.array(self.group_pairs).T
        pairs = rows[first] * cols[second]
        if self.rows is self.cols:
            pairs[first == second] //= 2
        return np.asarray(pairs.sum(axis=0))


def largest_extent(groups: Iterable[GraphGroup]) -> Extent:
    """Return the largest extent of any group, in each dimension."""
    return Extent(*(max(values) for values in zip(*(group.extent for group in groups), strict=True)))


def cut_into_groups(
    sizes: GraphSizes, max_group_nodes: int, tile_size: int | None = None, order: Ints | None = None
) -> tuple[GraphGroup, ...]:
    """Cut graphs into groups of at most ``max_group_nodes`` distinct nodes and 256 graphs.

    A larger graph forms its own group. Graphs that are likely to share nodes come next to each other. Groups depend on
    the graphs only, never on threads or memory, so neither can change a result. With ``tile_size`` a group also ends
    after every ``tile_size`` graphs, so that tiles of a store consist of whole groups; ``order`` fixes the order of the
    graphs.

    >>> groups = cut_into_groups(GraphSizes(np.array([0, 2, 4, 13, 14])), 4)
    >>> [(str(group), group.max_distinct) for group in groups]
    [('0..1', 4), ('2..2', 9), ('3..3', 1)]
    """
    if order is None:
        order = np.arange(len(sizes.offsets) - 1) if sizes.keys is None else np.lexsort([*sizes.keys[::-1]])
    if sizes.colours is None:  # all nodes are distinct
        level = np.arange(sizes.offsets[-1])
    else:  # the level with most colours; others have fewer or about as many
        level = sizes.colours[int(np.argmax(_count_distinct(sizes.colours)))]
    last_seen = np.full(int(level.max(initial=-1)) + 1, -1)  # the latest group that has the colour
    members: list[list[int]] = []
    count = 0
    for position, i in enumerate(order.tolist()):
        nodes = level[sizes.offsets[i] : sizes.offsets[i + 1]]
        distinct = nodes if sizes.colours is None else np.unique(nodes)
        fresh = distinct[last_seen[distinct] != len(members) - 1]
        full = not members or count + len(fresh) > max_group_nodes or len(members[-1]) == MAX_GRAPHS
        if full or (tile_size and position % tile_size == 0):
            members.append([])
            count, fresh = 0, distinct
        last_seen[fresh] = len(members) - 1
        members[-1].append(i)
        count += len(fresh)
    return _make_groups(sizes, [np.array(indices) for indices in members])


def plan_gram(groups: tuple[GraphGroup, ...]) -> Plan:
    """Plan the upper triangle of a symmetric matrix, largest pairs first so that threads finish together."""
    return _largest_first(groups, groups, [(i, j) for i in range(len(groups)) for j in range(i, len(groups))])


def plan_cross(rows: tuple[GraphGroup, ...], cols: tuple[GraphGroup, ...]) -> Plan:
    """Plan a rectangular matrix, largest pairs first so that threads finish together."""
    return _largest_first(rows, cols, [(i, j) for i in range(len(rows)) for j in range(len(cols))])


def plan_diagonal(sizes: GraphSizes) -> Plan:
    """Plan each graph with itself, largest first; each graph forms its own group."""
    groups = _make_groups(sizes, [np.array([i]) for i in range(len(sizes.offsets) - 1)])
    return _largest_first(groups, groups, [(i, i) for i in range(len(groups))])


def _make_groups(sizes: GraphSizes, members: list[Ints]) -> tuple[GraphGroup, ...]:
    """Make a group of each list of graphs, and count distinct colours level by level; lists must cover all graphs."""
    n_nodes = np.diff(sizes.offsets)
    group_of_graph = np.empty(len(n_nodes), dtype=np.int64)
    for i, indices in enumerate(members):
        group_of_graph[indices] = i
    n_levels = 1 if sizes.colours is None else len(sizes.colours)
    counts = np.zeros((len(members), n_levels), dtype=np.int64)
    if sizes.colours is None:
        np.add.at(counts[:, 0], group_of_graph, n_nodes)
    else:
        group_of_node = np.repeat(group_of_graph, n_nodes)
        for i, (level, distinct) in enumerate(zip(sizes.colours, _count_distinct(sizes.colours), strict=True)):
            pairs = np.unique(group_of_node * distinct + level)
            counts[:, i] = np.bincount(pairs // max(distinct, 1), minlength=len(members))
    nothing = np.zeros(len(n_nodes), dtype=np.int64)
    building = nothing if sizes.building_bytes is None else sizes.building_bytes
    rows = nothing if sizes.sketch_rows is None else sizes.sketch_rows
    return tuple(
        GraphGroup(
            indices,
            count,
            sizes.n_features,
            int(building[indices].max(initial=0)),
            sizes.n_relations,
            int(rows[indices].sum()),
            sizes.n_levels,
        )
        for indices, count in zip(members, counts, strict=True)
    )


def _count_distinct(colours: Int32s) -> Ints:
    return np.array([int(level.max(initial=-1)) + 1 for level in colours])


def _stack_distinct(groups: tuple[GraphGroup, ...]) -> Ints:
    return np.stack([group.n_distinct for group in groups])


def _largest_first(
    rows: tuple[GraphGroup, ...], cols: tuple[GraphGroup, ...], group_pairs: list[tuple[int, int]]
) -> Plan:
    if not group_pairs:
        return Plan(rows, cols, ())
    first, second = np.array(group_pairs).T
    costs = np.einsum("ij,ij->i", _stack_distinct(rows)[first], _stack_distinct(cols)[second])
    return Plan(rows, cols, tuple(group_pairs[i] for i in np.argsort(-costs, kind="stable").tolist()))
