"""Weisfeiler–Lehman colours of nodes; graphs that are coloured later reuse the colours of known neighbourhoods.

After l iterations two nodes have the same colour if their own colours were the same before, and the multisets of their
neighbours' colours were, each with the weight of the edge and, if edges are typed, its label. In `_refinement` a node
is one of its own neighbours, as in the aggregation Â of networks; here its own colour is separate.

Equal hashes are verified, so different neighbourhoods never share a colour.
"""

import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Int32s, Ints
from fastgntk.engines._base import compiled_code_runs
from fastgntk.graphs import GraphBatch

__all__ = ["Palette", "colour_nodes"]

_FEW_ROWS = 20_000  # for fewer, dictionaries are faster than loading compiled code


class _Neighbourhoods(NamedTuple):
    """The definition of each colour or node, one row each, by colours of the iteration before."""

    ptr: Ints
    neighbours: Int32s  # colours; at level 0 the columns of features
    tags: Int32s  # of the edges to the neighbours, as in `Palette.tags`
    centres: Int32s  # the colours of the nodes themselves; 0 at level 0

    def select(self, rows: Ints) -> "_Neighbourhoods":
        """Return some of the rows."""
        start, lengths = self.ptr[rows], np.diff(self.ptr)[rows]
        ptr = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.arange(ptr[-1]) + np.repeat(start - ptr[:-1], lengths)
        return _Neighbourhoods(ptr, self.neighbours[entries], self.tags[entries], self.centres[rows])

    def append(self, below: "_Neighbourhoods") -> "_Neighbourhoods":
        """Return these rows, and others below them."""
        ptr = np.concatenate([self.ptr, self.ptr[-1] + below.ptr[1:]])
        return _Neighbourhoods(ptr, *(np.concatenate(pair) for pair in zip(self[1:], below[1:], strict=True)))


@dataclass(frozen=True)
class Palette:
    """All colours of levels 0..h that occur in some graphs, each given by the neighbourhood that defines it."""

    levels: tuple[_Neighbourhoods, ...]
    tags: dict[tuple[float, int], int]
    """An id for each pair of a weight and an edge type, −1 if types do not matter."""

    @classmethod
    def empty(cls, depth: int) -> "Palette":
        """Return the palette of no graphs."""
        none = np.zeros(0, dtype=np.int32)
        return cls((_Neighbourhoods(np.zeros(1, dtype=np.int64), none, none, none),) * (depth + 1), {})

    @property
    def nbytes(self) -> int:
        """The memory of all rows."""
        return sum(array.nbytes for level in self.levels for array in level)


def colour_nodes(
    batch: GraphBatch, depth: int, *, uses_edge_labels: bool, known: Palette | None = None
) -> tuple[Int32s, Palette]:
    """Return the colours (depth + 1, N) of all nodes, and all colours, in which those of ``known`` are unchanged.

    Features must be one-hot. Costs about a tenth of a microsecond per edge and level, and for each known colour.
    """
    known = Palette.empty(depth) if known is None else known
    tags, edge_tags = _assign_tags(batch, uses_edge_labels, known.tags)
    X, neighbours = sparse.csr_array(batch.features), batch.global_indices
    columns = X.indices.astype(np.int32, copy=False)
    plain = np.broadcast_to(np.int32(0), len(columns))
    nodes = _Neighbourhoods(X.indptr.astype(np.int64), columns, plain, np.zeros(batch.n_nodes, dtype=np.int32))
    colours = np.empty((depth + 1, batch.n_nodes), dtype=np.int32)
    levels = []
    for level in range(depth + 1):
        if level:
            below = colours[level - 1]
            nodes = _Neighbourhoods(batch.indptr, below[neighbours], edge_tags, below)
        colours[level], fresh = _colour_table(known.levels[level].append(nodes), len(known.levels[level].centres))
        levels.append(known.levels[level].append(nodes.select(fresh)))
    return colours, Palette(tuple(levels), tags)


def _assign_tags(
    batch: GraphBatch, uses_edge_labels: bool, known: dict[tuple[float, int], int]
) -> tuple[dict[tuple[float, int], int], Int32s]:
    """Assign ids to the pairs of weight and type of edges; return all ids, and that of each edge."""
    types = batch.edge_labels if uses_edge_labels else None
    if batch.weights is None and types is None:
        tags = known if (1.0, -1) in known else {**known, (1.0, -1): len(known)}
        return tags, np.broadcast_to(np.int32(tags[1.0, -1]), len(batch.indices))
    weights = np.ones(len(batch.indices)) if batch.weights is None else batch.weights
    types = np.full(len(weights), -1) if types is None else types
    distinct, weight = np.unique(weights, return_inverse=True)
    span = int(types.max(initial=-1)) + 2
    pairs, pair = np.unique(weight.astype(np.int64) * span + types + 1, return_inverse=True)
    weight_of, type_of = np.divmod(pairs, span)
    tags = dict(known)
    keys = zip(distinct[weight_of].tolist(), (type_of - 1).tolist(), strict=True)
    ids = [tags.setdefault(key, len(tags)) for key in keys]
    return tags, np.array(ids, dtype=np.int32)[pair]


def _colour_table(rows: _Neighbourhoods, n_known: int) -> tuple[Int32s, Ints]:
    """Return the colour of each row but the first ``n_known``, and the new distinct rows, counted from there.

    Rows have one colour if their centres and the multisets of their neighbours and tags are; the first are distinct.
    """
    n_tags = int(rows.tags.max(initial=0)) + 1
    tokens, n_tokens = rows.neighbours, int(rows.neighbours.max(initial=-1)) + 1
    if n_tags > 1:
        distinct, ids = np.unique(tokens.astype(np.int64) * n_tags + rows.tags, return_inverse=True)
        tokens, n_tokens = ids.astype(np.int32), len(distinct)
    use_dictionary = len(rows.centres) <= _FEW_ROWS and "numba" not in sys.modules
    colour = _colour_by_dictionary if use_dictionary or not compiled_code_runs() else _colour_compiled
    colours, first = colour(rows.ptr, tokens, rows.centres, n_tokens)
    return colours[n_known:], first[n_known:] - n_known


def _colour_compiled(ptr: Ints, tokens: Int32s, centres: Int32s, n_tokens: int) -> tuple[Int32s, Ints]:
    from fastgntk.engines._simd._refine import ALL_BITS, hash_pairs, merge_neighbourhoods

    each = np.arange(n_tokens + int(centres.max(initial=-1)) + 1, dtype=np.uint64)
    hashes = hash_pairs(each, each)  # any hashes will do, since equal ones are compared
    colours, _, first = merge_neighbourhoods(ptr, tokens, centres + np.int32(n_tokens), hashes, ALL_BITS)
    return colours, first


def _colour_by_dictionary(ptr: Ints, tokens: Int32s, centres: Int32s, n_tokens: int) -> tuple[Int32s, Ints]:  # noqa: ARG001
    entries, bounds = tokens.tolist(), ptr.tolist()
    known: dict[tuple[int, ...], int] = {}
    first: list[int] = []
    out = np.empty(len(centres), dtype=np.int32)
    for u, centre in enumerate(centres.tolist()):
        key = (centre, *sorted(entries[bounds[u] : bounds[u + 1]]))
        out[u] = colour = known.setdefault(key, len(known))
        if colour == len(first):
            first.append(u)
    return out, np.array(first, dtype=np.int64)
