"""Graphs that the kernel cannot distinguish."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Int32s, Ints
from fastgntk.engines._base import compiled_code_runs
from fastgntk.engines._refinement import colour, edge_slots, edge_tags, first_colours, tagged_tokens
from fastgntk.graphs import GraphBatch

__all__ = ["equal_graphs", "inseparable_graphs"]


def equal_graphs(batch: GraphBatch, blocks: int, *, typed: bool = False, colours: Int32s | None = None) -> Ints:
    """Return for each graph the number of the first graph that is known to have the same values in such kernels.

    These are the graphs whose nodes have the same colours equally often after each of ``blocks`` rounds of refinement
    (1-WL, on nodes with features, and with ``typed`` on edges with types); fewer blocks distinguish fewer. A graph that
    no earlier one equals gets its own number; so do all where numba, which refines colours, is missing. A kernel may
    confuse a few more: ReLU layers scale with their input, so that two nodes may count as much as one of twice the
    length. ``colours`` of shape (blocks + 1, N) are those of an engine that has refined the graphs already.
    """
    if colours is None:
        if not compiled_code_runs():
            return np.arange(len(batch))
        # All levels: colours of closed neighbourhoods do not count the colours of the level below.
        colours = colour(batch, blocks, typed=typed, operators=False).colours
    return _first_alike(batch.offsets, colours)


def inseparable_graphs(batch: GraphBatch, *, typed: bool = False) -> tuple[Ints, int] | None:
    """Return for each graph the number of the first one that refinement cannot distinguish from it, and the rounds.

    This is 1-WL in full: a node keeps its own colour besides those of its neighbours (with weights, and with ``typed``
    with types of edges), and rounds follow until none distinguishes more nodes. Such graphs are equal to every
    message-passing network and to every kernel of :func:`equal_graphs`, which may confuse more. The number of rounds is
    that after which no more graphs were distinguished. Returns None where numba is missing.
    """
    if not compiled_code_runs():
        return None
    out, rounds = np.arange(len(batch)), 0
    alive = np.arange(len(batch))  # graphs that equal another one so far; no others need to be refined
    colours = first_colours(batch)
    part = replace(batch, features=None, labels=None, edge_labels=batch.edge_labels if typed else None)
    level = groups = 0
    while True:
        alike = _first_alike(part.offsets, colours[None])
        out[alive] = alive[alike]
        found = len(np.unique(out))
        rounds = level if found > groups else rounds
        groups = found
        shared = np.bincount(alike, minlength=len(alike))[alike] > 1
        if not shared.all():
            colours = colours[np.repeat(shared, part.sizes)]
            part, alive = part[shared], alive[shared]
        distinct, colours = _numbered(colours)
        refined, new = _refine(part, colours, distinct, typed)
        if refined == distinct:
            return out, rounds
        colours, level = new, level + 1


def _refine(batch: GraphBatch, colours: Int32s, count: int, typed: bool) -> tuple[int, Int32s]:
    """Return how many colours there are after one more round, and the colours."""
    from fastgntk.engines._simd._refine import ALL_BITS, hash_pairs, merge_neighbourhoods

    shift = np.repeat(np.repeat(batch.offsets[:-1], batch.sizes), batch.degrees)
    tokens, own = colours[shift + batch.indices], colours
    numbers = np.arange(count, dtype=np.uint64)
    hashes = hash_pairs(numbers, numbers)  # any will do: they propose what is then compared
    if batch.weights is not None or typed:
        tokens, own, hashes = tagged_tokens(tokens, own, hashes, *edge_tags(batch, edge_slots(batch, typed)))
    around, found, _ = merge_neighbourhoods(batch.indptr, tokens, own, hashes, ALL_BITS)
    return _numbered(colours.astype(np.int64) * max(len(found), 1) + around)


def _numbered(values: NDArray[np.integer]) -> tuple[int, Int32s]:
    """Return how many distinct values there are, and the number of each."""
    distinct, number = np.unique(values, return_inverse=True)
    return len(distinct), np.asarray(number, dtype=np.int32)


def _first_alike(offsets: Ints, colours: Int32s) -> Ints:
    """Return for each graph the first whose nodes have the same colours equally often, in each row of (levels, N)."""
    first: dict[bytes, int] = {}
    out = np.empty(len(offsets) - 1, dtype=np.int64)
    for i in range(len(out)):
        own = np.sort(colours[:, offsets[i] : offsets[i + 1]], axis=1)
        out[i] = first.setdefault(own.tobytes(), i)
    return out
