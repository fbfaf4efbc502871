"""Weisfeiler–Lehman colours of nodes; graphs that are coloured later reuse the numbers of known colours.

After l iterations two nodes have the same colour if their own colours were the same before, and the multisets of their
neighbours' colours were, each with the weight of the edge and, if typed, its label. In `_refinement` a node is one of
its own neighbours, as in the aggregation Â of networks; here its own colour is separate.

Equal hashes are verified, so different colours never share a number.
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
    tags: Int32s  # of the edges to the neighbours, as numbers of `Palette.tags`
    own: Int32s  # the colour of the node itself; 0 at level 0

    def select(self, rows: Ints) -> "_Neighbourhoods":
        """Return some of the rows."""
        start, lengths = self.ptr[rows], np.diff(self.ptr)[rows]
        ptr = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.arange(ptr[-1]) + np.repeat(start - ptr[:-1], lengths)
        return _Neighbourhoods(ptr, self.neighbours[entries], self.tags[entries], self.own[rows])

    def append(self, others: "_Neighbourhoods") -> "_Neighbourhoods":
        """Return these rows, and the others below."""
        ptr = np.concatenate([self.ptr, self.ptr[-1] + others.ptr[1:]])
        return _Neighbourhoods(ptr, *(np.concatenate(pair) for pair in zip(self[1:], others[1:], strict=True)))


@dataclass(frozen=True)
class Palette:
    """All colours of levels 0..h that occur in some graphs, each given by the neighbourhood that defines it."""

    levels: tuple[_Neighbourhoods, ...]
    tags: dict[tuple[float, int], int]
    """A number for each pair of a weight and an edge type, −1 if types do not matter."""

    @classmethod
    def empty(cls, depth: int) -> "Palette":
        """Return the palette of no graphs."""
        none = np.zeros(0, dtype=np.int32)
        return cls((_Neighbourhoods(np.zeros(1, dtype=np.int64), none, none, none),) * (depth + 1), {})

    @property
    def nbytes(self) -> int:
        """The memory of all rows."""
        return sum(array.nbytes for level in self.levels for array in level)


def colour_nodes(batch: GraphBatch, depth: int, *, typed: bool, known: Palette | None = None) -> tuple[Int32s, Palette]:
    """Return the colours (depth + 1, N) of all nodes, and all colours, in which those of ``known`` keep their numbers.

    Features must be one-hot. Costs about a tenth of a microsecond per edge and level, and for each known colour.
    """
    known = Palette.empty(depth) if known is None else known
    tags, edge_tags = _number_tags(batch, typed, known.tags)
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
        colours[level], fresh = _number_rows(known.levels[level].append(nodes), len(known.levels[level].own))
        levels.append(known.levels[level].append(nodes.select(fresh)))
    return colours, Palette(tuple(levels), tags)


def _number_tags(
    batch: GraphBatch, typed: bool, known: dict[tuple[float, int], int]
) -> tuple[dict[tuple[float, int], int], Int32s]:
    """Assign numbers to the pairs of weight and type of edges; return all numbers, and that of each edge."""
    types = batch.edge_labels if typed else None
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
    found = [tags.setdefault(key, len(tags)) for key in keys]
    return tags, np.array(found, dtype=np.int32)[pair]


def _number_rows(rows: _Neighbourhoods, n_known: int) -> tuple[Int32s, Ints]:
    """Return the number of each row but the first ``n_known``, and the new distinct rows, counted from there.

    Rows are equal if their own colours and the multisets of their neighbours and tags are; the first are distinct.
    """
    n_tags = int(rows.tags.max(initial=0)) + 1
    tokens, n_tokens = rows.neighbours, int(rows.neighbours.max(initial=-1)) + 1
    if n_tags > 1:
        distinct, numbers = np.unique(tokens.astype(np.int64) * n_tags + rows.tags, return_inverse=True)
        tokens, n_tokens = numbers.astype(np.int32), len(distinct)
    use_dictionary = len(rows.own) <= _FEW_ROWS and "numba" not in sys.modules
    number = _number_by_dictionary if use_dictionary or not compiled_code_runs() else _number_compiled
    numbers, first = number(rows.ptr, tokens, rows.own, n_tokens)
    return numbers[n_known:], first[n_known:] - n_known


def _number_compiled(ptr: Ints, tokens: Int32s, own: Int32s, n_tokens: int) -> tuple[Int32s, Ints]:
    from fastgntk.engines._simd._refine import ALL_BITS, hash_pairs, merge_neighbourhoods

    each = np.arange(n_tokens + int(own.max(initial=-1)) + 1, dtype=np.uint64)
    hashes = hash_pairs(each, each)  # any hashes will do, since equal ones are compared
    numbers, _, first = merge_neighbourhoods(ptr, tokens, own + np.int32(n_tokens), hashes, ALL_BITS)
    return numbers, first


def _number_by_dictionary(ptr: Ints, tokens: Int32s, own: Int32s, n_tokens: int) -> tuple[Int32s, Ints]:  # noqa: ARG001
    entries, bounds = tokens.tolist(), ptr.tolist()
    numbers: dict[tuple[int, ...], int] = {}
    first: list[int] = []
    out = np.empty(len(own), dtype=np.int32)
    for u, colour in enumerate(own.tolist()):
        key = (colour, *sorted(entries[bounds[u] : bounds[u + 1]]))
        out[u] = number = numbers.setdefault(key, len(numbers))
        if number == len(first):
            first.append(u)
    return out, np.array(first, dtype=np.int64)
