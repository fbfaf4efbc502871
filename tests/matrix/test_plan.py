from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fastgntk.matrix._plan import cut_blocks, plan_cross, plan_diagonal, plan_gram

sizes = st.lists(st.integers(0, 50), max_size=40).map(lambda values: np.array(values, dtype=np.int64))
limits = st.integers(1, 120)


@given(sizes, limits)
def test_blocks_cover_every_graph_once_in_order(sizes, limit):
    blocks = cut_blocks(sizes, limit)
    assert [i for b in blocks for i in range(b.start, b.stop)] == list(range(len(sizes)))
    assert [b.nodes for b in blocks] == [int(sizes[b.start : b.stop].sum()) for b in blocks]
    assert all(b.stop > b.start for b in blocks)


@given(sizes, limits)
def test_only_a_single_graph_exceeds_the_limit(sizes, limit):
    for block in cut_blocks(sizes, limit):
        if block.nodes > limit:  # empty graphs may ride along
            assert np.count_nonzero(sizes[block.start : block.stop]) == 1


@given(sizes, limits)
def test_no_two_neighbouring_blocks_would_fit_into_one(sizes, limit):
    blocks = cut_blocks(sizes, limit)
    for left, right in pairwise(blocks):
        assert left.nodes + sizes[right.start] > limit


@given(sizes, limits)
def test_gram_tiles_are_the_upper_triangle_largest_first(sizes, limit):
    plan = plan_gram(sizes, limit)
    n = len(plan.rows)
    assert sorted(plan.tiles) == [(i, j) for i in range(n) for j in range(i, n)]
    costs = [plan.cost(tile) for tile in plan.tiles]
    assert costs == sorted(costs, reverse=True)


@given(sizes)
def test_the_diagonal_is_one_graph_a_block_largest_first(sizes):
    plan = plan_diagonal(sizes)
    assert [(b.start, b.stop, b.nodes) for b in plan.rows] == [(i, i + 1, n) for i, n in enumerate(sizes.tolist())]
    assert sorted(plan.tiles) == [(i, i) for i in range(len(sizes))]
    nodes = [plan.rows[i].nodes for i, _ in plan.tiles]
    assert nodes == sorted(nodes, reverse=True)


@given(sizes, sizes, limits)
def test_cross_tiles_are_all_pairs(rows, cols, limit):
    plan = plan_cross(rows, cols, limit)
    assert sorted(plan.tiles) == [(i, j) for i in range(len(plan.rows)) for j in range(len(plan.cols))]
