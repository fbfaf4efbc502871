from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fastgntk.engines import GraphSizes
from fastgntk.pairwise._plan import cut_into_groups, plan_cross, plan_diagonal, plan_gram

limits = st.integers(1, 120)


@st.composite
def graph_sizes(draw, merged=None):
    """Graphs of any sizes, with or without colours and keys."""
    n_nodes = draw(st.lists(st.integers(0, 30), max_size=25))
    offsets = np.concatenate([[0], np.cumsum(n_nodes)]).astype(np.int64)
    merged = draw(st.booleans()) if merged is None else merged
    if not merged:
        return GraphSizes(offsets)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    levels = []
    for _ in range(draw(st.integers(1, 3))):
        numbers = rng.integers(0, draw(st.integers(1, 60)), offsets[-1])
        levels.append(np.unique(numbers, return_inverse=True)[1].astype(np.int32).reshape(-1))
    keys = rng.integers(0, 4, (2, len(n_nodes))).astype(np.uint64) if draw(st.booleans()) else None
    return GraphSizes(offsets, np.array(levels, dtype=np.int32).reshape(len(levels), -1), keys)


def counted(sizes, graphs):
    """The distinct nodes of each level, by sets."""
    nodes = [u for g in graphs for u in range(sizes.offsets[g], sizes.offsets[g + 1])]
    if sizes.colours is None:
        return [len(nodes)]
    return [len({int(level[u]) for u in nodes}) for level in sizes.colours]


@given(graph_sizes(), limits)
def test_groups_hold_every_graph_once_and_count_its_nodes(sizes, width):
    groups = cut_into_groups(sizes, width)
    assert sorted(i for group in groups for i in group.indices.tolist()) == list(range(len(sizes)))
    assert all(len(group.indices) for group in groups)
    for group in groups:
        assert group.n_distinct.tolist() == counted(sizes, group.indices)
        assert group.max_distinct == max(counted(sizes, group.indices))


@given(graph_sizes(merged=False), limits)
def test_without_colours_graphs_stay_in_order(sizes, width):
    assert [i for group in cut_into_groups(sizes, width) for i in group.indices.tolist()] == list(range(len(sizes)))


def decisive(sizes):
    """The level whose colours are counted when graphs are cut: the one that has most."""
    if sizes.colours is None:
        return 0
    return int(np.argmax([level.max(initial=-1) for level in sizes.colours]))


@given(graph_sizes(), limits)
def test_only_a_single_graph_exceeds_the_width(sizes, width):
    level = decisive(sizes)
    for group in cut_into_groups(sizes, width):
        if group.n_distinct[level] > width:  # graphs that add nothing may ride along
            largest = max(counted(sizes, [g])[level] for g in group.indices)
            assert largest == group.n_distinct[level]


@given(graph_sizes(), limits)
def test_no_block_has_room_for_the_next_graph(sizes, width):
    level = decisive(sizes)
    for left, right in pairwise(cut_into_groups(sizes, width)):
        assert counted(sizes, [*left.indices, right.indices[0]])[level] > width


@given(graph_sizes(), limits)
def test_gram_pairs_are_the_upper_triangle_largest_first(sizes, width):
    plan = plan_gram(cut_into_groups(sizes, width))
    n = len(plan.rows)
    assert sorted(plan.group_pairs) == [(i, j) for i in range(n) for j in range(i, n)]
    costs = [plan.cost(pair) for pair in plan.group_pairs]
    assert costs == sorted(costs, reverse=True)


@given(graph_sizes(), limits)
def test_node_pairs_are_those_of_the_group_pairs_and_half_of_the_symmetric_ones(sizes, width):
    plan = plan_gram(cut_into_groups(sizes, width))
    expected = np.zeros(1 if sizes.colours is None else len(sizes.colours), dtype=int)
    for i, j in plan.group_pairs:
        pairs = np.array(counted(sizes, plan.rows[i].indices)) * counted(sizes, plan.cols[j].indices)
        expected += pairs // 2 if i == j else pairs
    assert plan.node_pairs().sum() == expected.sum()
    if plan.group_pairs:
        assert plan.node_pairs().tolist() == expected.tolist()


@given(graph_sizes())
def test_the_diagonal_is_one_graph_a_block_largest_first(sizes):
    plan = plan_diagonal(sizes)
    assert [group.indices.tolist() for group in plan.rows] == [[i] for i in range(len(sizes))]
    assert [group.n_distinct.tolist() for group in plan.rows] == [counted(sizes, [i]) for i in range(len(sizes))]
    assert sorted(plan.group_pairs) == [(i, i) for i in range(len(sizes))]
    costs = [plan.cost(pair) for pair in plan.group_pairs]
    assert costs == sorted(costs, reverse=True)


@given(graph_sizes(), limits)
def test_cross_matrix_has_all_pairs_of_groups(sizes, width):
    rows, cols = cut_into_groups(sizes, width), cut_into_groups(sizes, 2 * width)
    plan = plan_cross(rows, cols)
    assert sorted(plan.group_pairs) == [(i, j) for i in range(len(rows)) for j in range(len(cols))]
    costs = [plan.cost(pair) for pair in plan.group_pairs]
    assert costs == sorted(costs, reverse=True)


def test_graphs_with_equal_keys_come_together():
    keys = np.array([[7, 1, 7, 1]], dtype=np.uint64)
    colours = np.array([[0, 1, 0, 1]], dtype=np.int32)
    groups = cut_into_groups(GraphSizes(np.arange(5), colours, keys), 1)
    assert [group.indices.tolist() for group in groups] == [[1, 3], [0, 2]]
    assert [str(group) for group in groups] == ["[1, 3]", "[0, 2]"]
