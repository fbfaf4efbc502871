"""The colours of a batch as flat arrays; and those of a group of graphs, laid out for the tile loop."""

from typing import Any, NamedTuple

import numpy as np

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._simd._intrinsics import LANES
from fastgntk.engines._simd._jit import compiled

__all__ = ["CHUNK", "GroupColours", "ColourRows", "build_group"]


CHUNK = 16
"""Rows of a panel that are read out together: 16 · 64 · 8 bytes, a sixth of a first-level cache."""


class ColourRows(NamedTuple):
    """Colours of all nodes of a batch, with one row for each colour of levels 1..L: its norms and its operator.

    Row ``level_start[l] + c`` belongs to colour c of level l. The CSR matrix (indptr, indices, data) holds unit vectors
    over features at level 1, and rows of Q over the colours of level l − 1 above. With a residual connection relation 0
    is that of a colour with its own features, at every level: its columns are features, and come first in a row.
    """

    offsets: Ints  # nodes of each graph
    colours: Int32s  # (L + 1, N)
    n_features: int
    n_relations: int
    has_residual: bool
    level_start: Ints
    indptr: Ints
    indices: Int32s  # at level 1 relation · n_features + j, above it colours of the level below
    relation: Int32s  # of each entry
    data: Array
    abs_data: Array  # each entry as it would be with |weights|
    terms: Ints  # |N(u)| + 1 for each row
    scale_operand: Array  # for each row, from `scale_operand`
    owner: Ints  # for each row the first graph that has the colour
    feature_norm: Array  # with a residual connection the norm of the features of each row
    q: Array
    p_out: Array
    sum_indptr: Ints  # feature sums of the graphs, a CSR matrix (n, d)
    sum_indices: Int32s
    sum_data: Array


class GroupColours(NamedTuple):
    """n graphs as rows of the normalised operators, level by level, in flat arrays.

    Row u of level l is ``indices[indptr[level_start[l] + u] : indptr[level_start[l] + u + 1]]`` with its ``data``: at
    level 1 a unit vector over features, above it entries of q_l⁻¹ Q_l P_(l−1) over colours of level l − 1. With typed
    edges the entries of a row are sorted by relation, the node itself first: column ``padded · relation + c`` is colour
    c, where ``padded`` is the number of colours rounded up to whole panels (at level 1 it is
    ``n_features · relation + j``; with a residual connection column j of relation 0 is feature j at every level, and
    those of the other relations start after n_features), and ``cuts[(level_start[l] + u) · n_relations + r]`` is where
    relation r of a row starts. Readouts are sorted by chunks of CHUNK colours and within a chunk by graph: entry k of
    ``read_ptr[read_start[l] + chunk] : … + 1`` means that graph ``read_graph[k]`` has colour ``read_index[k]`` with
    count · p_out = ``read_value[k]``. ``sum_*`` is the (n, d) CSR matrix of feature sums.
    """

    widest: int  # the maximum number of colours of a level
    counts: Ints  # (L + 1,): the number of features, then of colours of level 1..L
    level_start: Ints  # (L + 1,)
    indptr: Ints
    indices: Int32s
    data: Array
    n_relations: int
    has_residual: bool
    cuts: Ints
    read_start: Ints  # (L + 1,)
    read_ptr: Ints
    read_graph: Int32s
    read_index: Int32s
    read_value: Array
    sum_indptr: Ints
    sum_indices: Int32s
    sum_data: Array


@compiled
def build_group(graph_indices: Ints, colouring: ColourRows, position: Int32s) -> tuple[tuple[Any, ...], ...]:
    """Return the fields of the `GroupColours` of some graphs in three tuples: rows, readouts, feature sums.

    Colours are in the order in which they first occur, so that neighbours lie close together in memory. ``position``
    has one entry for each row of the colouring, −1 before and after.
    """
    counts, chosen, read_level, read_of, weight_of = _choose_colours(graph_indices, colouring, position)
    rows = _pick_rows(counts, chosen, colouring, position)
    for i in range(len(chosen)):
        position[chosen[i]] = -1
    return rows, _sort_readouts(counts, read_level, read_of, weight_of), _pick_feature_sums(graph_indices, colouring)


@compiled
def _choose_colours(
    graph_indices: Ints, colouring: ColourRows, position: Int32s
) -> tuple[Ints, Ints, Ints, Int32s, Array]:
    """List the colours of the graphs level by level, write their positions there to ``position``, and list readouts.

    Returns the number of features and of colours of each level, the rows of the colouring that were chosen, where the
    readouts of each level start, the colour and graph of each readout, graph by graph, and its weight count · p_out.
    """
    offsets, colours, level_start, p_out = colouring.offsets, colouring.colours, colouring.level_start, colouring.p_out
    deepest, n = colours.shape[0] - 1, len(graph_indices)
    nodes = 0
    for i in range(n):
        nodes += offsets[graph_indices[i] + 1] - offsets[graph_indices[i]]
    counts = np.zeros(deepest + 1, np.int64)
    counts[0] = colouring.n_features
    chosen = np.empty(deepest * nodes, np.int64)
    read_of, weight_of = np.empty((deepest * nodes, 2), np.int32), np.empty(deepest * nodes)
    read_level = np.zeros(deepest + 2, np.int64)
    latest_read = np.empty(nodes, np.int64)  # of each colour of the level
    rows, reads = 0, 0
    for level in range(1, deepest + 1):
        read_level[level] = reads
        first_row = rows
        for i in range(n):
            first_read = reads
            for u in range(offsets[graph_indices[i]], offsets[graph_indices[i] + 1]):
                row = level_start[level] + colours[level, u]
                if position[row] < 0:
                    position[row] = rows - first_row
                    latest_read[rows - first_row] = -1
                    chosen[rows] = row
                    rows += 1
                colour = position[row]
                if latest_read[colour] < first_read:
                    latest_read[colour] = reads
                    read_of[reads, 0], read_of[reads, 1], weight_of[reads] = colour, i, 0.0
                    reads += 1
                weight_of[latest_read[colour]] += p_out[row]
        counts[level] = rows - first_row
    read_level[deepest + 1] = reads
    return counts, chosen[:rows], read_level, read_of, weight_of


@compiled
def _pick_rows(counts: Ints, chosen: Ints, colouring: ColourRows, position: Int32s) -> tuple[Any, ...]:
    """Copy the chosen rows, with positions as columns; returns the fields ``widest`` to ``cuts`` of the group."""
    indptr, indices, relation, data = colouring.indptr, colouring.indices, colouring.relation, colouring.data
    level_start, n_relations = colouring.level_start, colouring.n_relations
    deepest = len(counts) - 1
    entries = 0
    for i in range(len(chosen)):
        entries += indptr[chosen[i] + 1] - indptr[chosen[i]]
    group_start = np.zeros(deepest + 1, np.int64)
    group_indptr = np.empty(len(chosen) + deepest, np.int64)
    group_indices, group_data = np.empty(entries, np.int32), np.empty(entries)
    cuts = np.empty(len(group_indptr) * n_relations, np.int64) if n_relations > 1 else group_indptr
    filled, copied = 0, 0
    for level in range(1, deepest + 1):
        group_start[level] = copied + level - 1  # each level has one pointer more than rows
        padded = -(-counts[level - 1] // LANES) * LANES
        shift = counts[0] - padded if colouring.has_residual else 0  # relation 0 has other columns
        for u in range(counts[level]):
            group_indptr[group_start[level] + u] = filled
            row = chosen[copied]
            copied += 1
            started = 0  # relations of this row whose start is written
            for k in range(indptr[row], indptr[row + 1]):
                while n_relations > 1 and started <= relation[k]:
                    cuts[(group_start[level] + u) * n_relations + started] = filled
                    started += 1
                column = indices[k]
                if level > 1 and not (colouring.has_residual and relation[k] == 0):
                    column = shift + relation[k] * padded + position[level_start[level - 1] + column]
                group_indices[filled] = column
                group_data[filled] = data[k]
                filled += 1
            while n_relations > 1 and started < n_relations:
                cuts[(group_start[level] + u) * n_relations + started] = filled
                started += 1
        group_indptr[group_start[level] + counts[level]] = filled
        if n_relations > 1:
            cuts[(group_start[level] + counts[level]) * n_relations] = filled
    sizes = counts[1:].max(), counts
    return *sizes, group_start, group_indptr, group_indices, group_data, n_relations, colouring.has_residual, cuts


@compiled
def _sort_readouts(counts: Ints, read_level: Ints, read_of: Int32s, weight_of: Array) -> tuple[Any, ...]:
    """Sort the readouts of each level by chunk, keeping the order of graphs; returns the fields ``read_*``."""
    deepest = len(counts) - 1
    read_start = np.zeros(deepest + 1, np.int64)
    chunks = 0
    for level in range(1, deepest + 1):
        read_start[level] = chunks
        chunks += -(-counts[level] // CHUNK) + 1
    reads = read_level[deepest + 1]
    read_ptr, next_read = np.zeros(chunks, np.int64), np.zeros(chunks, np.int64)
    read_graph, read_index, read_value = np.empty(reads, np.int32), np.empty(reads, np.int32), np.empty(reads)
    for level in range(1, deepest + 1):
        first, last, base = read_level[level], read_level[level + 1], read_start[level]
        for k in range(first, last):
            read_ptr[base + read_of[k, 0] // CHUNK + 1] += 1
        read_ptr[base] = first
        for chunk in range(-(-counts[level] // CHUNK)):
            read_ptr[base + chunk + 1] += read_ptr[base + chunk]
            next_read[base + chunk] = read_ptr[base + chunk]
        for k in range(first, last):
            to = next_read[base + read_of[k, 0] // CHUNK]
            next_read[base + read_of[k, 0] // CHUNK] += 1
            read_index[to], read_graph[to], read_value[to] = read_of[k, 0], read_of[k, 1], weight_of[k]
    return read_start, read_ptr, read_graph, read_index, read_value


@compiled
def _pick_feature_sums(graph_indices: Ints, colouring: ColourRows) -> tuple[Ints, Int32s, Array]:
    """Copy the rows of the CSR matrix of feature sums; returns the fields ``sum_*``."""
    indptr, indices, data = colouring.sum_indptr, colouring.sum_indices, colouring.sum_data
    n = len(graph_indices)
    group_indptr = np.zeros(n + 1, np.int64)
    for i in range(n):
        group_indptr[i + 1] = group_indptr[i] + indptr[graph_indices[i] + 1] - indptr[graph_indices[i]]
    group_indices, group_data = np.empty(group_indptr[n], np.int32), np.empty(group_indptr[n])
    for i in range(n):
        for k in range(indptr[graph_indices[i] + 1] - indptr[graph_indices[i]]):
            group_indices[group_indptr[i] + k] = indices[indptr[graph_indices[i]] + k]
            group_data[group_indptr[i] + k] = data[indptr[graph_indices[i]] + k]
    return group_indptr, group_indices, group_data
