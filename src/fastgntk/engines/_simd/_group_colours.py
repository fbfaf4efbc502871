"""The colours of a group of graphs, laid out for the tile loop."""

from typing import NamedTuple

import numpy as np

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._simd._colour_table import CHUNK, ColourTable, GroupColours, Occurrences, SparseRows
from fastgntk.engines._simd._intrinsics import LANES, n_panels, relation_origin
from fastgntk.engines._simd._jit import compiled

__all__ = ["build_group"]


class _Selection(NamedTuple):
    """The colours of some graphs, and in which of them they occur, graph by graph."""

    counts: Ints  # the number of features, then of colours of each level
    rows: Ints  # of the table, in the order in which colours first occur
    level_occurrences: Ints  # (L + 2,), where the occurrences of each level start
    colour: Int32s
    graph: Int32s
    weight: Array  # the number of nodes · p_out


@compiled
def build_group(graph_indices: Ints, table: ColourTable, position: Int32s) -> GroupColours:
    """Copy the rows of the colours of some graphs.

    Colours are in the order in which they first occur, so that neighbours lie close together in memory. ``position``
    has one entry for each row of the table, −1 before and after.
    """
    selection = _select_colours(graph_indices, table, position)
    level_start, operators = _pick_rows(selection, table, position)
    for i in range(len(selection.rows)):
        position[selection.rows[i]] = -1
    return GroupColours(
        selection.counts[1:].max(),
        selection.counts,
        level_start,
        table.n_relations,
        table.has_residual,
        table.cosines_bounded,
        operators,
        _cut_by_relation(selection.rows, table, operators.indptr) if table.n_relations > 1 else operators.indptr,
        _sort_occurrences(selection),
        _pick_feature_sums(graph_indices, table.sums),
    )


@compiled
def _select_colours(graph_indices: Ints, table: ColourTable, position: Int32s) -> _Selection:
    """List the colours of the graphs level by level, and in which graphs they occur; fill in ``position``."""
    offsets, colours = table.offsets, table.colours
    level_start, p_out = table.level_start, table.norms.p_out
    deepest, n = colours.shape[0] - 1, len(graph_indices)
    nodes = 0
    for i in range(n):
        nodes += offsets[graph_indices[i] + 1] - offsets[graph_indices[i]]
    counts = np.zeros(deepest + 1, np.int64)
    counts[0] = table.n_features
    chosen = np.empty(deepest * nodes, np.int64)
    colour_of, graph_of = np.empty(deepest * nodes, np.int32), np.empty(deepest * nodes, np.int32)
    weight_of = np.empty(deepest * nodes)
    level_occurrences = np.zeros(deepest + 2, np.int64)
    last_occurrence = np.empty(nodes, np.int64)  # of each colour of the level
    n_chosen, n_occurrences = 0, 0
    for level in range(1, deepest + 1):
        level_occurrences[level] = n_occurrences
        level_first = n_chosen
        for i in range(n):
            graph_first = n_occurrences
            for u in range(offsets[graph_indices[i]], offsets[graph_indices[i] + 1]):
                row = level_start[level] + colours[level, u]
                if position[row] < 0:
                    position[row] = n_chosen - level_first
                    last_occurrence[n_chosen - level_first] = -1
                    chosen[n_chosen] = row
                    n_chosen += 1
                colour = position[row]
                if last_occurrence[colour] < graph_first:  # of an earlier graph
                    last_occurrence[colour] = n_occurrences
                    colour_of[n_occurrences], graph_of[n_occurrences], weight_of[n_occurrences] = colour, i, 0.0
                    n_occurrences += 1
                weight_of[last_occurrence[colour]] += p_out[row]
        counts[level] = n_chosen - level_first
    level_occurrences[deepest + 1] = n_occurrences
    some = slice(n_occurrences)
    return _Selection(counts, chosen[:n_chosen], level_occurrences, colour_of[some], graph_of[some], weight_of[some])


@compiled
def _pick_rows(selection: _Selection, table: ColourTable, position: Int32s) -> tuple[Ints, SparseRows]:
    """Copy the chosen rows, with positions as columns; returns where levels start, and the rows."""
    indptr, indices, relation, _, _ = table.operators
    data, level_start = table.normalised, table.level_start
    counts, chosen = selection.counts, selection.rows
    deepest = len(counts) - 1
    entries = 0
    for i in range(len(chosen)):
        entries += indptr[chosen[i] + 1] - indptr[chosen[i]]
    group_start = np.zeros(deepest + 2, np.int64)
    group_indptr = np.empty(len(chosen) + 1, np.int64)
    group_indices, group_data = np.empty(entries, np.int32), np.empty(entries)
    filled = 0
    for level in range(1, deepest + 1):
        group_start[level + 1] = group_start[level] + counts[level]
        padded = LANES * n_panels(counts[level - 1])
        for i in range(group_start[level], group_start[level + 1]):
            group_indptr[i] = filled
            for k in range(indptr[chosen[i]], indptr[chosen[i] + 1]):
                column = indices[k]
                if level > 1 and not (table.has_residual and relation[k] == 0):
                    origin = relation_origin(relation[k], padded, counts[0], table.has_residual)
                    column = origin + position[level_start[level - 1] + column]
                group_indices[filled] = column
                group_data[filled] = data[k]
                filled += 1
    group_indptr[len(chosen)] = filled
    return group_start, SparseRows(group_indptr, group_indices, group_data)


@compiled
def _cut_by_relation(chosen: Ints, table: ColourTable, group_indptr: Ints) -> Ints:
    """Return where each relation of each chosen row starts among the entries of the group."""
    indptr, relation, n_relations = table.operators.indptr, table.operators.relation, table.n_relations
    cuts = np.empty(len(chosen) * n_relations + 1, np.int64)
    for i in range(len(chosen)):
        started, shift = 0, group_indptr[i] - indptr[chosen[i]]
        for k in range(indptr[chosen[i]], indptr[chosen[i] + 1]):
            while started <= relation[k]:
                cuts[i * n_relations + started] = k + shift
                started += 1
        while started < n_relations:
            cuts[i * n_relations + started] = group_indptr[i + 1]
            started += 1
    cuts[len(chosen) * n_relations] = group_indptr[len(chosen)]
    return cuts


@compiled
def _sort_occurrences(selection: _Selection) -> Occurrences:
    """Sort the occurrences of each level by chunk, keeping the order of graphs: a stable counting sort."""
    counts, _, level_occurrences, colour_of, graph_of, weight_of = selection
    deepest = len(counts) - 1
    start = np.zeros(deepest + 1, np.int64)
    chunks = 0
    for level in range(1, deepest + 1):
        start[level] = chunks
        chunks += -(-counts[level] // CHUNK) + 1
    total = len(colour_of)
    pointers, next_slot = np.zeros(chunks, np.int64), np.zeros(chunks, np.int64)
    graph, colour, weight = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total)
    for level in range(1, deepest + 1):
        first, last, base = level_occurrences[level], level_occurrences[level + 1], start[level]
        for k in range(first, last):
            pointers[base + colour_of[k] // CHUNK + 1] += 1
        pointers[base] = first
        for chunk in range(-(-counts[level] // CHUNK)):
            pointers[base + chunk + 1] += pointers[base + chunk]
            next_slot[base + chunk] = pointers[base + chunk]
        for k in range(first, last):
            chunk = base + colour_of[k] // CHUNK
            slot = next_slot[chunk]
            next_slot[chunk] += 1
            colour[slot], graph[slot], weight[slot] = colour_of[k], graph_of[k], weight_of[k]
    return Occurrences(start, pointers, graph, colour, weight)


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
