from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fastgntk.engines import Outline
from fastgntk.pairwise._plan import cut_into_groups, plan_cross, plan_diagonal, plan_gram

limits = st.integers(1, 120)


@st.composite
def outlines(draw, merged=None):
    """Graphs of any sizes, with or without colours and keys."""
    sizes = draw(st.lists(st.integers(0, 30), max_size=25))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    merged = draw(st.booleans()) if merged is None else merged
    if not merged:
        return Outline(offsets)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    levels = []
    for _ in range(draw(st.integers(1, 3))):
        numbers = rng.integers(0, draw(st.integers(1, 60)), offsets[-1])
        levels.append(np.unique(numbers, return_inverse=True)[1].astype(np.int32).reshape(-1))
    keys = rng.integers(0, 4, (2, len(sizes))).astype(np.uint64) if draw(st.booleans()) else None
    return Outline(offsets, np.array(levels, dtype=np.int32).reshape(len(levels), -1), keys)


def counted(outline, graphs):
    """The distinct nodes of each level, by sets."""
    nodes = [u for g in graphs for u in range(outline.offsets[g], outline.offsets[g + 1])]
    if outline.colours is None:
        return [len(nodes)]
    return [len({int(level[u]) for u in nodes}) for level in outline.colours]


@given(outlines(), limits)
def test_groups_hold_every_graph_once_and_count_its_nodes(outline, width):
    groups = cut_into_groups(outline, width)
    assert sorted(i for group in groups for i in group.graphs.tolist()) == list(range(len(outline)))
    assert all(len(group.graphs) for group in groups)
    for group in groups:
        assert group.counts.tolist() == counted(outline, group.graphs)
        assert group.width == max(counted(outline, group.graphs))


@given(outlines(merged=False), limits)
def test_without_colours_graphs_stay_in_order(outline, width):
    assert [i for group in cut_into_groups(outline, width) for i in group.graphs.tolist()] == list(range(len(outline)))


def decisive(outline):
    """The level whose colours are counted when graphs are cut: the one that has most."""
    if outline.colours is None:
        return 0
    return int(np.argmax([level.max(initial=-1) for level in outline.colours]))


@given(outlines(), limits)
def test_only_a_single_graph_exceeds_the_width(outline, width):
    level = decisive(outline)
    for group in cut_into_groups(outline, width):
        if group.counts[level] > width:  # graphs that add nothing may ride along
            largest = max(counted(outline, [g])[level] for g in group.graphs)
            assert largest == group.counts[level]


@given(outlines(), limits)
def test_no_block_has_room_for_the_next_graph(outline, width):
    level = decisive(outline)
    for left, right in pairwise(cut_into_groups(outline, width)):
        assert counted(outline, [*left.graphs, right.graphs[0]])[level] > width


@given(outlines(), limits)
def test_gram_tiles_are_the_upper_triangle_largest_first(outline, width):
    plan = plan_gram(cut_into_groups(outline, width))
    n = len(plan.rows)
    assert sorted(plan.tiles) == [(i, j) for i in range(n) for j in range(i, n)]
    costs = [plan.cost(tile) for tile in plan.tiles]
    assert costs == sorted(costs, reverse=True)


@given(outlines(), limits)
def test_pairs_are_those_of_the_tiles_and_half_of_the_symmetric_ones(outline, width):
    plan = plan_gram(cut_into_groups(outline, width))
    expected = np.zeros(1 if outline.colours is None else len(outline.colours), dtype=int)
    for i, j in plan.tiles:
        pairs = np.array(counted(outline, plan.rows[i].graphs)) * counted(outline, plan.cols[j].graphs)
        expected += pairs // 2 if i == j else pairs
    assert plan.pairs().sum() == expected.sum()
    if plan.tiles:
        assert plan.pairs().tolist() == expected.tolist()


@given(outlines())
def test_the_diagonal_is_one_graph_a_block_largest_first(outline):
    plan = plan_diagonal(outline)
    assert [group.graphs.tolist() for group in plan.rows] == [[i] for i in range(len(outline))]
    assert [group.counts.tolist() for group in plan.rows] == [counted(outline, [i]) for i in range(len(outline))]
    assert sorted(plan.tiles) == [(i, i) for i in range(len(outline))]
    costs = [plan.cost(tile) for tile in plan.tiles]
    assert costs == sorted(costs, reverse=True)


@given(outlines(), limits)
def test_cross_tiles_are_all_pairs(outline, width):
    rows, cols = cut_into_groups(outline, width), cut_into_groups(outline, 2 * width)
    plan = plan_cross(rows, cols)
    assert sorted(plan.tiles) == [(i, j) for i in range(len(rows)) for j in range(len(cols))]
    costs = [plan.cost(tile) for tile in plan.tiles]
    assert costs == sorted(costs, reverse=True)


def test_graphs_with_equal_keys_come_together():
    keys = np.array([[7, 1, 7, 1]], dtype=np.uint64)
    colours = np.array([[0, 1, 0, 1]], dtype=np.int32)
    groups = cut_into_groups(Outline(np.arange(5), colours, keys), 1)
    assert [group.graphs.tolist() for group in groups] == [[1, 3], [0, 2]]
    assert [str(group) for group in groups] == ["[1, 3]", "[0, 2]"]
