"""The colours of a group of graphs, laid out for the tile loop."""

import numpy as np

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._simd._colour_rows import CHUNK, ColourRows, GroupColours, Readouts, SparseRows
from fastgntk.engines._simd._intrinsics import LANES
from fastgntk.engines._simd._jit import compiled

__all__ = ["build_group"]


@compiled
def build_group(graph_indices: Ints, colouring: ColourRows, position: Int32s) -> GroupColours:
    """Copy the rows of the colours of some graphs.

    Colours are in the order in which they first occur, so that neighbours lie close together in memory. ``position``
    has one entry for each row of the colouring, −1 before and after.
    """
    counts, chosen, read_level, read_of, weight_of = _choose_colours(graph_indices, colouring, position)
    level_start, operators, cuts = _pick_rows(counts, chosen, colouring, position)
    for i in range(len(chosen)):
        position[chosen[i]] = -1
    return GroupColours(
        counts[1:].max(),
        counts,
        level_start,
        colouring.n_relations,
        colouring.has_residual,
        colouring.non_negative,
        operators,
        cuts,
        _sort_readouts(counts, read_level, read_of, weight_of),
        _pick_feature_sums(graph_indices, colouring.sums),
    )


@compiled
def _choose_colours(
    graph_indices: Ints, colouring: ColourRows, position: Int32s
) -> tuple[Ints, Ints, Ints, Int32s, Array]:
    """List the colours of the graphs level by level, write their positions there to ``position``, and list readouts.

    Returns the number of features and of colours of each level, the rows of the colouring that were chosen, where the
    readouts of each level start, the colour and graph of each readout, graph by graph, and its weight count · p_out.
    """
    offsets, colours = colouring.offsets, colouring.colours
    level_start, p_out = colouring.level_start, colouring.norms.p_out
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
def _pick_rows(counts: Ints, chosen: Ints, colouring: ColourRows, position: Int32s) -> tuple[Ints, SparseRows, Ints]:
    """Copy the chosen rows, with positions as columns; returns where levels start, the rows, and their ``cuts``."""
    indptr, indices, relation, data, _ = colouring.operators
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
    return group_start, SparseRows(group_indptr, group_indices, group_data), cuts


@compiled
def _sort_readouts(counts: Ints, read_level: Ints, read_of: Int32s, weight_of: Array) -> Readouts:
    """Sort the readouts of each level by chunk, keeping the order of graphs."""
    deepest = len(counts) - 1
    start = np.zeros(deepest + 1, np.int64)
    chunks = 0
    for level in range(1, deepest + 1):
        start[level] = chunks
        chunks += -(-counts[level] // CHUNK) + 1
    reads = read_level[deepest + 1]
    pointers, following = np.zeros(chunks, np.int64), np.zeros(chunks, np.int64)
    graph, colour, weight = np.empty(reads, np.int32), np.empty(reads, np.int32), np.empty(reads)
    for level in range(1, deepest + 1):
        first, last, base = read_level[level], read_level[level + 1], start[level]
        for k in range(first, last):
            pointers[base + read_of[k, 0] // CHUNK + 1] += 1
        pointers[base] = first
        for chunk in range(-(-counts[level] // CHUNK)):
            pointers[base + chunk + 1] += pointers[base + chunk]
            following[base + chunk] = pointers[base + chunk]
        for k in range(first, last):
            to = following[base + read_of[k, 0] // CHUNK]
            following[base + read_of[k, 0] // CHUNK] += 1
            colour[to], graph[to], weight[to] = read_of[k, 0], read_of[k, 1], weight_of[k]
    return Readouts(start, pointers, graph, colour, weight)


@compiled
def _pick_feature_sums(graph_indices: Ints, sums: SparseRows) -> SparseRows:
    """Copy the rows of some graphs."""
    indptr, indices, data = sums
    n = len(graph_indices)
    group_indptr = np.zeros(n + 1, np.int64)
    for i in range(n):
        group_indptr[i + 1] = group_indptr[i] + indptr[graph_indices[i] + 1] - indptr[graph_indices[i]]
    group_indices, group_data = np.empty(group_indptr[n], np.int32), np.empty(group_indptr[n])
    for i in range(n):
        for k in range(indptr[graph_indices[i] + 1] - indptr[graph_indices[i]]):
            group_indices[group_indptr[i] + k] = indices[indptr[graph_indices[i]] + k]
            group_data[group_indptr[i] + k] = data[indptr[graph_indices[i]] + k]
    return SparseRows(group_indptr, group_indices, group_data)
