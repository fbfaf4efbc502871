"""The recursion between two blocks: aggregate, layers, readout, panel by panel.

A level is a matrix of pairs (λ, θ) between the colours of two blocks. It is stored in panels of LANES colours of one
side: ``[panel, v, 0, lane]`` is λ and ``[panel, v, 1, lane]`` is θ between colour panel · LANES + lane of the
panel side and colour v of the other. One level takes, for each panel of LANES colours of the `near` side (which was
the other side before, so the two trade places from level to level):

    gather       sum rows of the near side's neighbours           contiguous, in registers; type by type
    transpose    four rows at a time, while in the first-level cache
    gather       sum rows of the far side's neighbours            contiguous, in registers; over all types at once
    layers       row by row, right after the sum
    readout      sum rows by far graph

Everything is normalised, so nothing is divided or scaled here. Nothing is allocated either.
"""

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines._simd._block import CHUNK, Block
from fastgntk.engines._simd._jit import compiled
from fastgntk.engines._simd._vector import LANES, add_rows, apply_layer, sum_row_pairs, sum_rows_twice, transpose4

__all__ = ["PATCH", "buffer_sizes", "compute_tile"]


_PAIR = 2 * LANES
PATCH = 4 * _PAIR


def buffer_sizes(rows: Block, cols: Block) -> tuple[int, int, int]:
    """Return how many entries `compute_tile` needs: for each of two levels, for the turned panel, for the readout."""
    m, k = int(rows.widest) + LANES, int(cols.widest) + LANES
    graphs = max(len(rows.sum_ptr), len(cols.sum_ptr))
    slots = max(int(rows.slots), int(cols.slots))
    features = max(int(rows.counts[0]), int(cols.counts[0])) * slots
    return 2 * m * k, max(features * LANES, slots * max(m, k) * _PAIR), graphs * max(m, k)


@compiled
def compute_tile(
    rows: Block,
    cols: Block,
    layers: int,
    symmetric: bool,
    front: Array,
    back: Array,
    patch: Array,
    turned: Array,
    readout: Array,
    cancelled: NDArray[np.uint8],
    out: Array,
) -> None:
    """Write the readout of every level to ``out`` (L + 1, n, m).

    ``symmetric`` if both blocks are the same, which halves the work. The other arguments are buffers with
    `buffer_sizes` entries and PATCH for ``patch``; all flat, of any finite content. The loop ends early
    once ``cancelled[0]`` is not 0.
    """
    deepest = len(rows.counts) - 1
    _feature_products(rows, cols, turned, out[0])
    near, far = rows, cols
    old, new = back, front
    for level in range(1, deepest + 1):
        m, k = near.counts[level], far.counts[level]
        panels = -(-m // LANES)
        stride = -(-k // 4) * 4 * _PAIR  # entries of one panel
        keep = symmetric or level < deepest  # the last level is read out panel by panel and forgotten
        width = panels * LANES
        if level == 1:
            turned[: far.counts[0] * far.slots * LANES] = 0.0
        readout[: width * (len(far.sum_ptr) - 1)] = 0.0
        for panel in range(panels):
            if cancelled[0]:
                return
            first = panel * LANES
            last = min(first + LANES, m)
            start = panel * stride if keep else 0
            stop = min(first + LANES, k) if symmetric else k
            if level == 1:
                _spread_features(near, far, first, last, turned, True)
            else:
                _turn(near, far, level, first, last, old, patch, turned)
            _combine(far, level, stop, layers, turned, new, start, readout, width, -1 if symmetric else first)
            if level == 1:
                _spread_features(near, far, first, last, turned, False)
        if symmetric:
            _mirror(m, panels, stride, new)
            for panel in range(panels):
                for chunk in range(-(-k // CHUNK)):
                    _read_chunk(far, level, chunk, new, panel * stride, panel * LANES, width, readout)
        _read_rows(near, far, level, width, readout, out[level], level % 2 == 0)
        near, far = far, near
        old, new = new, old


@compiled
def _feature_products(rows: Block, cols: Block, dense: Array, out: Array) -> None:
    """Write the products of feature sums, level 0."""
    dense[: rows.counts[0]] = 0.0
    for i in range(len(rows.sum_ptr) - 1):
        for k in range(rows.sum_ptr[i], rows.sum_ptr[i + 1]):
            dense[rows.sum_index[k]] = rows.sum_value[k]
        for j in range(len(cols.sum_ptr) - 1):
            total = 0.0
            for k in range(cols.sum_ptr[j], cols.sum_ptr[j + 1]):
                total += cols.sum_value[k] * dense[cols.sum_index[k]]
            out[i, j] = total
        for k in range(rows.sum_ptr[i], rows.sum_ptr[i + 1]):
            dense[rows.sum_index[k]] = 0.0


@compiled
def _spread_features(near: Block, far: Block, first: int, last: int, turned: Array, full: bool) -> None:
    """Write unit vectors of near colours into ``turned`` as (features of far, LANES), which is zero elsewhere.

    With ``full`` False zeros are written in their place. One side may know more labels and types than the other.
    """
    of_near, of_far = near.counts[0], far.counts[0]
    for u in range(first, last):
        for k in range(near.ptr[near.at[1] + u], near.ptr[near.at[1] + u + 1]):
            feature, slot = near.columns[k], 0
            if near.slots > 1:
                slot, feature = feature // of_near, feature % of_near
            if feature < of_far and slot < far.slots:
                turned[(slot * of_far + feature) * LANES + u - first] = near.value[k] if full else 0.0


@compiled
def _turn(near: Block, far: Block, level: int, first: int, last: int, old: Array, patch: Array, turned: Array) -> None:
    """Aggregate the near side for colours first..last − 1 and write it as (slots, old far colours, 2, LANES)."""
    padded = -(-near.counts[level - 1] // LANES) * LANES  # columns between two slots of near
    panels = -(-far.counts[level - 1] // LANES)
    row = near.at[level] * near.slots
    for slot in range(far.slots):
        to = slot * panels * LANES * _PAIR
        if slot < near.slots:
            rows = near.cuts[row + slot :: near.slots], near.cuts[row + slot + 1 :: near.slots]
            _turn_slot(near, rows, level, first, last, panels, -slot * padded * _PAIR, old, patch, turned, to)
        else:
            turned[to : to + panels * LANES * _PAIR] = 0.0


@compiled
def _turn_slot(
    near: Block,
    rows: tuple[Ints, Ints],
    level: int,
    first: int,
    last: int,
    panels: int,
    shift: int,
    old: Array,
    patch: Array,
    turned: Array,
    to: int,
) -> None:
    """Aggregate one slot: row u has the entries from ``rows[0][u]`` up to ``rows[1][u]``."""
    starts, ends = rows
    old_stride = -(-near.counts[level - 1] // 4) * 4 * _PAIR
    for panel in range(panels):
        for group in range(first, last, 4):
            for u in range(group, min(group + 4, last)):
                at = (u - group) * _PAIR
                source = panel * old_stride + shift
                sum_row_pairs(patch, at, old, source, _PAIR, near.columns, near.value, starts[u], ends[u])
            for half in range(0, _PAIR, LANES):
                for j in range(0, LANES, 4):
                    transpose4(patch, half + j, _PAIR, turned, to + j * _PAIR + half + group - first, _PAIR)
        to += LANES * _PAIR


@compiled
def _combine(
    far: Block,
    level: int,
    stop: int,
    layers: int,
    turned: Array,
    new: Array,
    start: int,
    readout: Array,
    width: int,
    first: int,
) -> None:
    """Aggregate the far side for its colours below ``stop``, apply the layers, and read out unless ``first`` is −1."""
    base = far.at[level]
    for chunk in range(0, stop, CHUNK):
        last = min(chunk + CHUNK, stop)
        for v in range(chunk, last):
            to = start + v * _PAIR
            row, end = far.ptr[base + v], far.ptr[base + v + 1]
            if level == 1:  # K(0) = Σ(0), so one aggregation serves both
                sum_rows_twice(new, to, turned, 0, LANES, far.columns, far.value, row, end)
            else:
                sum_row_pairs(new, to, turned, 0, _PAIR, far.columns, far.value, row, end)
            for _ in range(layers):  # row by row: the root of one row overlaps with the sums of the next
                apply_layer(new, to)
        if first >= 0:
            _read_chunk(far, level, chunk // CHUNK, new, start, first, width, readout)


@compiled
def _mirror(m: int, panels: int, stride: int, new: Array) -> None:
    """Fill panel p, colours of later panels, from those panels."""
    for p in range(panels):
        for later in range(p + 1, panels):
            rows = min(LANES, m - later * LANES)
            for half in range(0, _PAIR, LANES):
                for i in range(0, LANES, 4):  # colours of panel p
                    for j in range(0, rows, 4):  # colours of the later panel
                        transpose4(
                            new,
                            later * stride + (p * LANES + i) * _PAIR + half + j,
                            _PAIR,
                            new,
                            p * stride + (later * LANES + j) * _PAIR + half + i,
                            _PAIR,
                        )


@compiled
def _read_chunk(
    far: Block, level: int, chunk: int, new: Array, start: int, first: int, width: int, readout: Array
) -> None:
    """Add θ of one chunk of far colours to readout[far graph, near colour] of one panel."""
    k, stop = far.read_ptr[far.read_at[level] + chunk], far.read_ptr[far.read_at[level] + chunk + 1]
    while k < stop:
        graph, begin = far.read_graph[k], k
        while k < stop and far.read_graph[k] == graph:
            k += 1
        to = graph * width + first
        add_rows(readout, to, new, start + LANES, _PAIR, far.read_index, far.read_value, begin, k)


@compiled
def _read_rows(near: Block, far: Block, level: int, width: int, readout: Array, out: Array, turn: bool) -> None:
    """Sum the readout over the colours of each near graph; with ``turn`` near are the columns of ``out``."""
    out[:] = 0.0
    first = near.read_ptr[near.read_at[level]]
    stop = near.read_ptr[near.read_at[level] + -(-near.counts[level] // CHUNK)]
    for j in range(len(far.sum_ptr) - 1):
        for k in range(first, stop):
            value = near.read_value[k] * readout[j * width + near.read_index[k]]
            if turn:
                out[j, near.read_graph[k]] += value
            else:
                out[near.read_graph[k], j] += value
