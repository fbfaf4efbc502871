"""The part of a colouring that some graphs need, renumbered and laid out for the tile loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastgntk.kernel._simd._jit import compiled

__all__ = ["Block", "build_block"]

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Array = NDArray[np.float64]


class Block(NamedTuple):
    """n graphs as rows of the normalised operators, level by level; everything is a flat array.

    Row u of level l is ``index[ptr[at[l] + u] : ptr[at[l] + u + 1]]`` with its ``value``: at level 1 a unit vector over
    features, above it entries of P_l⁻¹ Q_l P_(l−1) over colours of level l − 1. Readouts are
    kept by graph: at level l, graph g has ``read_index`` and ``read_value`` (count · p) in
    ``read_ptr[(l − 1)(n + 1) + g : … + 2]``. ``sum_*`` is the (n, d) CSR matrix of feature sums.
    """

    counts: Ints  # (L + 1,): the number of features, then of colours of level 1..L
    at: Ints  # (L + 1,)
    ptr: Ints
    index: Shorts
    value: Array
    read_ptr: Ints
    read_index: Shorts
    read_value: Array
    sum_ptr: Ints
    sum_index: Shorts
    sum_value: Array


@compiled
def build_block(
    graphs: Ints,
    offsets: Ints,
    colours: Shorts,
    features: int,
    at: Ints,
    ptr: Ints,
    index: Shorts,
    value: Array,
    p: Array,
    sum_ptr: Ints,
    sum_index: Shorts,
    sum_value: Array,
    place: Shorts,
) -> tuple[Ints, Ints, Ints, Shorts, Array, Ints, Shorts, Array, Ints, Shorts, Array]:
    """Return the fields of a `Block` for some graphs of a colouring.

    Colours are numbered as they first occur, so that neighbours lie close together in memory. ``place`` has one
    entry for each row of the colouring, −1 before and after.
    """
    deepest, n = colours.shape[0] - 1, len(graphs)
    nodes = 0
    for i in range(n):
        nodes += offsets[graphs[i] + 1] - offsets[graphs[i]]
    counts, my_at = np.zeros(deepest + 1, np.int64), np.zeros(deepest + 1, np.int64)
    counts[0] = features
    chosen = np.empty(deepest * nodes, np.int64)  # rows of the colouring, level by level
    read_ptr = np.zeros(deepest * (n + 1), np.int64)
    read_index, read_value = np.empty(deepest * nodes, np.int32), np.empty(deepest * nodes)
    seen_at = np.empty(nodes, np.int64)  # for each colour of the level its entry in the current graph
    rows, entries, reads = 0, 0, 0
    for level in range(1, deepest + 1):
        my_at[level] = rows + level - 1  # each level has one pointer more than rows
        first_row = rows
        for i in range(n):
            read_ptr[(level - 1) * (n + 1) + i] = reads
            first_read = reads
            for u in range(offsets[graphs[i]], offsets[graphs[i] + 1]):
                row = at[level] + colours[level, u]
                if place[row] < 0:
                    place[row] = rows - first_row
                    seen_at[rows - first_row] = -1
                    chosen[rows] = row
                    entries += ptr[row + 1] - ptr[row]
                    rows += 1
                mine = place[row]
                if seen_at[mine] < first_read:
                    seen_at[mine] = reads
                    read_index[reads], read_value[reads] = mine, 0.0
                    reads += 1
                read_value[seen_at[mine]] += p[row]
        read_ptr[(level - 1) * (n + 1) + n] = reads
        counts[level] = rows - first_row
    my_ptr = np.empty(rows + deepest, np.int64)
    my_index, my_value = np.empty(entries, np.int32), np.empty(entries)
    filled, row_number = 0, 0
    for level in range(1, deepest + 1):
        for u in range(counts[level]):
            my_ptr[my_at[level] + u] = filled
            row = chosen[row_number]
            row_number += 1
            for k in range(ptr[row], ptr[row + 1]):
                my_index[filled] = index[k] if level == 1 else place[at[level - 1] + index[k]]
                my_value[filled] = value[k]
                filled += 1
        my_ptr[my_at[level] + counts[level]] = filled
    for i in range(rows):
        place[chosen[i]] = -1
    my_sum_ptr = np.zeros(n + 1, np.int64)
    for i in range(n):
        my_sum_ptr[i + 1] = my_sum_ptr[i] + sum_ptr[graphs[i] + 1] - sum_ptr[graphs[i]]
    my_sum_index, my_sum_value = np.empty(my_sum_ptr[n], np.int32), np.empty(my_sum_ptr[n])
    for i in range(n):
        for k in range(sum_ptr[graphs[i] + 1] - sum_ptr[graphs[i]]):
            my_sum_index[my_sum_ptr[i] + k] = sum_index[sum_ptr[graphs[i]] + k]
            my_sum_value[my_sum_ptr[i] + k] = sum_value[sum_ptr[graphs[i]] + k]
    return (
        counts,
        my_at,
        my_ptr,
        my_index,
        my_value,
        read_ptr,
        read_index[:reads].copy(),
        read_value[:reads].copy(),
        my_sum_ptr,
        my_sum_index,
        my_sum_value,
    )

