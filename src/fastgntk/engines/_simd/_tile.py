"""The recursion between two groups: aggregate, layers, readout, panel by panel.

A level is a matrix of pairs (λ, θ) between the colours of two groups, ``rows`` and ``cols``. It is stored in panels of
LANES row colours: ``[panel, v, 0, lane]`` is λ and ``[panel, v, 1, lane]`` is θ between row colour
panel · LANES + lane and column colour v. For a Gaussian process θ is left out everywhere: each function is compiled for
both values of ``parts``, and ``step = len(parts) * LANES`` is the number of entries between two columns v. One level
takes, for each panel of LANES row colours u, with the operators D of ``rows`` and D' of ``cols``:

    patch[u, b] = Σ_a D_ua old[b, a]           contiguous sums in registers; one relation at a time
    transposed[b, u] = patch[u, b]             four rows at a time, while in the first-level cache
    new[u, v] = Σ_b D'_vb transposed[b, u]     contiguous sums in registers, over all relations at once
    layers                                     row by row, right after the sum
    readout                                    sums by column graph

The row colours of the old level are those of ``cols``: the sides are exchanged from level to level.

Everything is normalised, so nothing is divided or scaled here. Nothing is allocated either.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines._simd._colour_table import CHUNK, GroupColours, SparseRows
from fastgntk.engines._simd._intrinsics import (
    LANES,
    Parts,
    add_rows,
    apply_layer,
    n_panels,
    relation_origin,
    sum_rows,
    sum_rows_of_one,
    transpose4,
)
from fastgntk.engines._simd._jit import compiled

__all__ = ["Buffers", "buffer_sizes", "compute_tile"]


_PAIR = 2 * LANES


class _Panel(NamedTuple):
    """Some row colours of a level, at most LANES."""

    level: int
    first: int
    stop: int
    start: int  # of the panel in the level
    width: int  # of a row of the readout: the row colours of all panels


class Buffers(NamedTuple):
    """The memory of `compute_tile`: flat arrays with at least `buffer_sizes` entries, of any value."""

    front: Array  # a level
    back: Array  # the level before
    patch: Array  # four row colours, to be transposed
    transposed: Array  # a panel after the first sum, transposed
    readout: Array  # (column graphs, row colours)


def buffer_sizes(rows: GroupColours, cols: GroupColours) -> dict[str, int]:
    """Return the number of entries of each of `Buffers`."""
    m, k = int(rows.widest) + LANES, int(cols.widest) + LANES
    n_graphs = max(len(rows.sums.indptr), len(cols.sums.indptr))
    n_relations = max(int(rows.n_relations), int(cols.n_relations))
    n_features = max(int(rows.counts[0]), int(cols.counts[0]))
    end = int(relation_origin(n_relations, max(m, k), n_features, rows.has_residual))  # of the columns of all relations
    return {
        "front": 2 * m * k,
        "back": 2 * m * k,
        "patch": 4 * _PAIR,
        "transposed": max(n_features * n_relations * LANES, end * _PAIR),
        "readout": n_graphs * max(m, k),
    }


@compiled
def compute_tile(
    rows: GroupColours,
    cols: GroupColours,
    polynomials: Ints,
    symmetric: bool,
    parts: Parts,
    linear: float | None,
    buffers: Buffers,
    cancelled: NDArray[np.uint8],
    out: Array,
) -> None:
    """Write the readout of every level, of θ or for an NNGP of λ, to ``out`` (L + 1, row graphs, column graphs).

    ``polynomials`` (blocks, layers) is from `choose_polynomials`, ``linear`` is t of the activation, None for ReLU.
    ``symmetric`` means that both groups are the same, which halves the work. The loop ends early once ``cancelled[0]``
    is not 0.
    """
    transposed, readout = buffers.transposed, buffers.readout
    deepest = len(rows.counts) - 1
    _feature_products(rows.sums, cols.sums, max(rows.counts[0], cols.counts[0]), transposed, out[0])
    old, new = buffers.back, buffers.front
    for level in range(1, deepest + 1):
        m, k = rows.counts[level], cols.counts[level]
        stride = _panel_stride(k, parts)
        keep = symmetric or level < deepest  # the last level is read out panel by panel and discarded
        width = LANES * n_panels(m)
        if level == 1:
            transposed[: cols.counts[0] * cols.n_relations * LANES] = 0.0
        elif cols.has_residual:
            transposed[: cols.counts[0] * len(parts) * LANES] = 0.0
        readout[: width * (len(cols.sums.indptr) - 1)] = 0.0
        for p in range(n_panels(m)):
            if cancelled[0]:
                return
            # The start is an offset, because slices would add a tenth to the time.
            panel = _Panel(level, p * LANES, min((p + 1) * LANES, m), p * stride if keep else 0, width)
            if level == 1:
                _spread_features(rows, cols, panel, transposed, False)
            else:
                _sum_and_transpose(rows, cols, parts, panel, old, buffers.patch, transposed)
                if cols.has_residual:
                    _spread_initial(rows, cols, parts, panel, transposed, False)
            n_cols = min((p + 1) * LANES, k) if symmetric else k
            _sum_and_apply_layers(
                cols, parts, panel, n_cols, polynomials[level - 1], linear, transposed, new, readout, not symmetric
            )
            if level == 1:
                _spread_features(rows, cols, panel, transposed, True)
            elif cols.has_residual:
                _spread_initial(rows, cols, parts, panel, transposed, True)
        if symmetric:
            _mirror(parts, m, stride, new)
            for p in range(n_panels(m)):
                panel = _Panel(level, p * LANES, min((p + 1) * LANES, m), p * stride, width)
                for chunk in range(-(-k // CHUNK)):
                    _read_chunk(cols, parts, panel, chunk, new, readout)
        _read_rows(rows, cols, level, width, readout, out[level], level % 2 == 0)
        rows, cols = cols, rows
        old, new = new, old


@compiled
def _panel_stride(n_cols: int, parts: Parts) -> int:
    """Return the number of entries of a panel, with columns in fours for `transpose4`."""
    return -(-n_cols // 4) * 4 * len(parts) * LANES


@compiled
def _feature_products(rows: SparseRows, cols: SparseRows, n_features: int, dense: Array, out: Array) -> None:
    """Write the products of feature sums, level 0."""
    row_indptr, row_indices, row_data = rows
    col_indptr, col_indices, col_data = cols
    dense[:n_features] = 0.0
    for i in range(len(row_indptr) - 1):
        for k in range(row_indptr[i], row_indptr[i + 1]):
            dense[row_indices[k]] = row_data[k]
        for j in range(len(col_indptr) - 1):
            total = 0.0
            for k in range(col_indptr[j], col_indptr[j + 1]):
                total += col_data[k] * dense[col_indices[k]]
            out[i, j] = total
        for k in range(row_indptr[i], row_indptr[i + 1]):
            dense[row_indices[k]] = 0.0


@compiled
def _spread_features(rows: GroupColours, cols: GroupColours, panel: _Panel, transposed: Array, clear: bool) -> None:
    """Write unit vectors of row colours into ``transposed`` as (features of cols, LANES), which is zero elsewhere.

    With ``clear`` write zeros instead. Labels and relations that only one side has contribute nothing.
    """
    row_features, col_features = rows.counts[0], cols.counts[0]
    indptr, indices, data = rows.operators
    for u in range(panel.first, panel.stop):
        for k in range(indptr[u], indptr[u + 1]):
            feature, relation = indices[k], 0
            if rows.n_relations > 1:
                relation, feature = feature // row_features, feature % row_features
            if feature < col_features and relation < cols.n_relations:
                to = (relation * col_features + feature) * LANES + u - panel.first
                transposed[to] = 0.0 if clear else data[k]


@compiled
def _spread_initial(
    rows: GroupColours, cols: GroupColours, parts: Parts, panel: _Panel, transposed: Array, clear: bool
) -> None:
    """Write the features of row colours into ``transposed`` as (features of cols, parts, LANES), for the residual.

    These are the entries of relation 0. With ``clear`` write zeros instead.
    """
    step = len(parts) * LANES
    cuts, (_, indices, data) = rows.cuts[rows.level_start[panel.level] * rows.n_relations :], rows.operators
    for u in range(panel.first, panel.stop):
        for k in range(cuts[u * rows.n_relations], cuts[u * rows.n_relations + 1]):
            if indices[k] < cols.counts[0]:
                for part in range(0, step, LANES):
                    transposed[indices[k] * step + part + u - panel.first] = 0.0 if clear else data[k]


@compiled
def _sum_and_transpose(
    rows: GroupColours,
    cols: GroupColours,
    parts: Parts,
    panel: _Panel,
    old: Array,
    patch: Array,
    transposed: Array,
) -> None:
    """Write Σ_a D_ua old[b, a] to ``transposed`` as (relation, b, part, u), b the colours of ``cols`` a level below.

    Those of a relation are padded to whole panels; relation 0 is left out with a residual connection.
    """
    level, first, stop = panel.level, panel.first, panel.stop
    step, (_, indices, data) = len(parts) * LANES, rows.operators
    padded, old_panels = LANES * n_panels(rows.counts[level - 1]), n_panels(cols.counts[level - 1])
    stride = _panel_stride(rows.counts[level - 1], parts)
    has_residual = cols.has_residual
    for relation in range(1 if has_residual else 0, cols.n_relations):
        to = relation_origin(relation, old_panels * LANES, cols.counts[0], has_residual) * step
        if relation >= rows.n_relations:
            transposed[to : to + old_panels * LANES * step] = 0.0
            continue
        origin = relation_origin(relation, padded, rows.counts[0], has_residual)  # in ``indices``, but not in ``old``
        cuts = rows.cuts[rows.level_start[level] * rows.n_relations + relation :]
        for b_panel in range(old_panels):
            source = b_panel * stride - origin * step
            for four in range(first, stop, 4):
                for u in range(four, min(four + 4, stop)):
                    k, last = cuts[u * rows.n_relations], cuts[u * rows.n_relations + 1]
                    to_row = (u - four) * step
                    sum_rows(parts, patch, to_row, old, source, step, indices, data, k, last)
                for part in range(0, step, LANES):
                    for j in range(0, LANES, 4):
                        transpose4(patch, part + j, step, transposed, to + j * step + part + four - first, step)
            to += LANES * step


@compiled
def _sum_and_apply_layers(
    cols: GroupColours,
    parts: Parts,
    panel: _Panel,
    n_cols: int,
    polynomials: Ints,
    linear: float | None,
    transposed: Array,
    new: Array,
    readout: Array,
    read: bool,
) -> None:
    """Sum over the neighbours of the first column colours, apply the layers and, with ``read``, read them out."""
    base, step, (indptr, indices, data) = cols.level_start[panel.level], len(parts) * LANES, cols.operators
    for first in range(0, n_cols, CHUNK):
        for v in range(first, min(first + CHUNK, n_cols)):
            to = panel.start + v * step
            k, stop = indptr[base + v], indptr[base + v + 1]
            if panel.level == 1:  # K(0) = Σ(0), so one aggregation serves both
                sum_rows_of_one(parts, new, to, transposed, 0, LANES, indices, data, k, stop)
            else:
                sum_rows(parts, new, to, transposed, 0, step, indices, data, k, stop)
            for layer in range(len(polynomials)):  # row by row: the root of one overlaps with the sums of the next
                if len(parts) == 1:
                    apply_layer(new, to, None, 0, linear, polynomials[layer])
                else:
                    apply_layer(new, to, new, to + LANES, linear, polynomials[layer])
        if read:
            _read_chunk(cols, parts, panel, first // CHUNK, new, readout)


@compiled
def _mirror(parts: Parts, m: int, stride: int, new: Array) -> None:
    """Copy the entries below the diagonal, transposed, to above it: the columns of later panels in each panel."""
    step = len(parts) * LANES
    for p in range(n_panels(m)):
        for later in range(p + 1, n_panels(m)):
            height = min(LANES, m - later * LANES)
            for part in range(0, step, LANES):
                for i in range(0, LANES, 4):  # colours of panel p
                    for j in range(0, height, 4):  # colours of the later panel
                        source = later * stride + (p * LANES + i) * step + part + j
                        target = p * stride + (later * LANES + j) * step + part + i
                        transpose4(new, source, step, new, target, step)


@compiled
def _read_chunk(cols: GroupColours, parts: Parts, panel: _Panel, chunk: int, new: Array, readout: Array) -> None:
    """Add the last part of one chunk of column colours to readout[column graph, row colour] of a panel."""
    step = len(parts) * LANES
    start, pointers, graphs, colours, weights = cols.occurrences
    k, stop = pointers[start[panel.level] + chunk], pointers[start[panel.level] + chunk + 1]
    while k < stop:
        graph, begin = graphs[k], k
        while k < stop and graphs[k] == graph:
            k += 1
        to = graph * panel.width + panel.first
        add_rows(readout, to, new, panel.start + step - LANES, step, colours, weights, begin, k)


@compiled
def _read_rows(
    rows: GroupColours, cols: GroupColours, level: int, width: int, readout: Array, out: Array, swap: bool
) -> None:
    """Sum the readout over the colours of each row graph; with ``swap`` row graphs are the columns of ``out``."""
    out[:] = 0.0
    start, pointers, graphs, colours, weights = rows.occurrences
    first, stop = pointers[start[level]], pointers[start[level] + -(-rows.counts[level] // CHUNK)]
    for j in range(len(cols.sums.indptr) - 1):
        for k in range(first, stop):
            value = weights[k] * readout[j * width + colours[k]]
            if swap:
                out[j, graphs[k]] += value
            else:
                out[graphs[k], j] += value
