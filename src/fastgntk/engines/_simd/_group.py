"""The colours of a batch as flat arrays; the part that some graphs need, renumbered and laid out for the tile loop."""

from typing import Any, NamedTuple

import numpy as np

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._simd._jit import compiled
from fastgntk.engines._simd._vector import LANES

__all__ = ["CHUNK", "Group", "ColourRows", "build_group"]


CHUNK = 16
"""Rows of a panel that are read out together: 16 · 64 · 8 bytes, a sixth of a first-level cache."""


class ColourRows(NamedTuple):
    """Colours of all nodes of a batch, with one row for each colour of levels 1..L: its norms and its operator.

    Row ``at[l] + c`` belongs to colour c of level l. In the CSR matrix (ptr, columns, value) it is at level 1 a unit
    vector over features, above it a row of Q over the colours of level l − 1.
    """

    offsets: Ints  # nodes of each graph
    colours: Int32s  # (L + 1, N)
    features: int
    parts: int
    at: Ints
    ptr: Ints
    columns: Int32s  # at level 1 part · features + j, above it colours of the level below
    part: Int32s  # part of the aggregation that each entry belongs to
    value: Array
    magnitude: Array  # each entry as it would be with |weights|
    terms: Ints  # |N(u)| + 1 for each row
    sums: Array  # for each row the sum of the weights, plus one for the node itself
    owner: Ints  # for each row the first graph that has the colour
    q: Array
    p: Array
    sum_ptr: Ints  # feature sums of the graphs, a CSR matrix (n, d)
    sum_index: Int32s
    sum_value: Array


class Group(NamedTuple):
    """n graphs as rows of the normalised operators, level by level; everything is a flat array.

    Row u of level l is ``columns[ptr[at[l] + u] : ptr[at[l] + u + 1]]`` with its ``value``: at level 1 a unit vector
    over features, above it entries of P_l⁻¹ Q_l P_(l−1) over colours of level l − 1. With typed edges these come part
    after part, the node itself before each type: column ``padded · part + c`` is colour c in a part, where ``padded``
    is the number of colours rounded up to whole panels (at level 1 it is ``features · part + j``), and
    ``cuts[(at[l] + u) · parts + s]`` is where part s of a row starts. Readouts are kept by chunks of
    CHUNK colours, within a chunk by graph: entry k of ``read_ptr[read_at[l] + chunk] : … + 1`` means that graph
    ``read_graph[k]`` has colour ``read_index[k]`` with count · p = ``read_value[k]``. ``sum_*`` is the (n, d)
    CSR matrix of feature sums.
    """

    widest: int  # the maximum number of colours of a level
    counts: Ints  # (L + 1,): the number of features, then of colours of level 1..L
    at: Ints  # (L + 1,)
    ptr: Ints
    columns: Int32s
    value: Array
    parts: int
    cuts: Ints
    read_at: Ints  # (L + 1,)
    read_ptr: Ints
    read_graph: Int32s
    read_index: Int32s
    read_value: Array
    sum_ptr: Ints
    sum_index: Int32s
    sum_value: Array


@compiled
def build_group(graphs: Ints, colouring: ColourRows, place: Int32s) -> tuple[tuple[Any, ...], ...]:
    """Return the fields of the `Group` of some graphs in three tuples: rows, readouts, feature sums.

    Colours are numbered as they first occur, so that neighbours lie close together in memory. ``place`` has one
    entry for each row of the colouring, −1 before and after.
    """
    offsets, colours, parts = colouring.offsets, colouring.colours, colouring.parts
    at, ptr, columns, part, value = colouring.at, colouring.ptr, colouring.columns, colouring.part, colouring.value
    sum_ptr, sum_index, sum_value, p = colouring.sum_ptr, colouring.sum_index, colouring.sum_value, colouring.p
    deepest, n = colours.shape[0] - 1, len(graphs)
    nodes = 0
    for i in range(n):
        nodes += offsets[graphs[i] + 1] - offsets[graphs[i]]
    counts, group_at = np.zeros(deepest + 1, np.int64), np.zeros(deepest + 1, np.int64)
    counts[0] = colouring.features
    chosen = np.empty(deepest * nodes, np.int64)  # rows of the colouring, level by level
    reads_of = np.empty((deepest * nodes, 2), np.int32)  # colour and graph, graph by graph
    weight_of = np.empty(deepest * nodes)
    reads_at = np.zeros(deepest + 2, np.int64)
    seen_at = np.empty(nodes, np.int64)  # for each colour of the level its latest entry in `reads_of`
    rows, entries, reads = 0, 0, 0
    for level in range(1, deepest + 1):
        group_at[level] = rows + level - 1  # each level has one pointer more than rows
        reads_at[level] = reads
        first_row = rows
        for i in range(n):
            first_read = reads
            for u in range(offsets[graphs[i]], offsets[graphs[i] + 1]):
                row = at[level] + colours[level, u]
                if place[row] < 0:
                    place[row] = rows - first_row
                    seen_at[rows - first_row] = -1
                    chosen[rows] = row
                    entries += ptr[row + 1] - ptr[row]
                    rows += 1
                colour = place[row]
                if seen_at[colour] < first_read:
                    seen_at[colour] = reads
                    reads_of[reads, 0], reads_of[reads, 1], weight_of[reads] = colour, i, 0.0
                    reads += 1
                weight_of[seen_at[colour]] += p[row]
        counts[level] = rows - first_row
    reads_at[deepest + 1] = reads
    group_ptr = np.empty(rows + deepest, np.int64)
    group_columns, group_value = np.empty(entries, np.int32), np.empty(entries)
    cuts = np.empty(len(group_ptr) * parts, np.int64) if parts > 1 else group_ptr
    filled, row_number = 0, 0
    for level in range(1, deepest + 1):
        padded = -(-counts[level - 1] // LANES) * LANES
        for u in range(counts[level]):
            group_ptr[group_at[level] + u] = filled
            row = chosen[row_number]
            row_number += 1
            started = 0  # parts of this row whose start is written
            for k in range(ptr[row], ptr[row + 1]):
                while parts > 1 and started <= part[k]:
                    cuts[(group_at[level] + u) * parts + started] = filled
                    started += 1
                column = columns[k]
                if level > 1:
                    column = part[k] * padded + place[at[level - 1] + column]
                group_columns[filled] = column
                group_value[filled] = value[k]
                filled += 1
            while parts > 1 and started < parts:
                cuts[(group_at[level] + u) * parts + started] = filled
                started += 1
        group_ptr[group_at[level] + counts[level]] = filled
        if parts > 1:
            cuts[(group_at[level] + counts[level]) * parts] = filled
    for i in range(rows):
        place[chosen[i]] = -1
    read_at = np.zeros(deepest + 1, np.int64)
    chunks = 0
    for level in range(1, deepest + 1):
        read_at[level] = chunks
        chunks += -(-counts[level] // CHUNK) + 1
    read_ptr, filled_to = np.zeros(chunks, np.int64), np.zeros(chunks, np.int64)
    read_graph, read_index, read_value = np.empty(reads, np.int32), np.empty(reads, np.int32), np.empty(reads)
    for level in range(1, deepest + 1):
        first, last, base = reads_at[level], reads_at[level + 1], read_at[level]
        for k in range(first, last):
            read_ptr[base + reads_of[k, 0] // CHUNK + 1] += 1
        read_ptr[base] = first
        for chunk in range(-(-counts[level] // CHUNK)):
            read_ptr[base + chunk + 1] += read_ptr[base + chunk]
            filled_to[base + chunk] = read_ptr[base + chunk]
        for k in range(first, last):
            to = filled_to[base + reads_of[k, 0] // CHUNK]
            filled_to[base + reads_of[k, 0] // CHUNK] += 1
            read_index[to], read_graph[to], read_value[to] = reads_of[k, 0], reads_of[k, 1], weight_of[k]
    group_sum_ptr = np.zeros(n + 1, np.int64)
    for i in range(n):
        group_sum_ptr[i + 1] = group_sum_ptr[i] + sum_ptr[graphs[i] + 1] - sum_ptr[graphs[i]]
    group_sum_index, group_sum_value = np.empty(group_sum_ptr[n], np.int32), np.empty(group_sum_ptr[n])
    for i in range(n):
        for k in range(sum_ptr[graphs[i] + 1] - sum_ptr[graphs[i]]):
            group_sum_index[group_sum_ptr[i] + k] = sum_index[sum_ptr[graphs[i]] + k]
            group_sum_value[group_sum_ptr[i] + k] = sum_value[sum_ptr[graphs[i]] + k]
    rows_fields = counts[1:].max(), counts, group_at, group_ptr, group_columns, group_value, parts, cuts
    read_fields = read_at, read_ptr, read_graph, read_index, read_value
    return rows_fields, read_fields, (group_sum_ptr, group_sum_index, group_sum_value)
