"""Colours of a batch: which nodes share their row of Σ(l) and K(l) with each other, level by level.

Level 0 merges nodes with equal features. Level l merges nodes whose closed neighbourhoods hold the same multiset of
level l − 1 colours (with weights or types of edges, of weight, type and colour together). Such nodes have identical
rows against every node of every graph, so merging is exact; it is colour refinement (1-WL), except that without types
a node's own colour is one among its neighbours'.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._operator import degree_sums
from fastgntk.graphs import GraphBatch

__all__ = ["Colouring", "Operator", "colour", "edge_slots", "edge_tags", "first_colours", "tagged_tokens"]


_NO_SLOTS = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True)
class Operator:
    """Q (m_l, m_(l−1)): for each colour how often, or with what weight, each old colour is in its neighbourhood.

    With typed edges there is a Q for each type, and a row holds those of all types, one after the other.
    """

    ptr: Ints
    index: Int32s
    slot: Int32s  # of each entry its type plus 1, or 0 for the node itself; 0 throughout without types
    value: Array
    magnitude: Array  # the same with |weights|
    terms: Ints  # |N(u)| + 1
    sums: Array  # of the weights, plus one for the node itself
    first: Ints  # the first node that has the colour


@dataclass(frozen=True)
class Colouring:
    """The colours of levels 0..L of all nodes of a batch."""

    colours: Int32s  # (L + 1, N)
    hashes: tuple[NDArray[np.uint64], ...]  # of each level's colours; a function of their content alone
    operators: tuple[Operator, ...]  # of levels 1..L, if wanted
    features: sparse.csr_array  # (m_0, d), one row for each colour of level 0

    @property
    def counts(self) -> list[int]:
        """How many colours each level has."""
        return [len(h) for h in self.hashes]


def colour(
    batch: GraphBatch, depth: int, used_bits: int | None = None, *, typed: bool = False, operators: bool = True
) -> Colouring:
    """Refine the colours of all graphs together down to level ``depth``; ``typed`` looks at edge labels.

    Costs about a tenth of a microsecond for each edge and level, a tenth of that without operators. ``used_bits``
    keeps only some bits of the hashes: results are the same with any, since equal hashes are verified and not trusted.
    """
    from fastgntk.engines._simd._refine import ALL_BITS, merge_neighbourhoods, operator_rows

    mask = ALL_BITS if used_bits is None else np.uint64(used_bits)
    features = _canonical(batch.features)
    number, hashes, first = _equal_rows(features, mask)
    neighbours = batch.indices.astype(np.int64) + np.repeat(np.repeat(batch.offsets[:-1], batch.sizes), batch.degrees)
    weights = np.zeros(0) if batch.weights is None else np.ascontiguousarray(batch.weights)
    slots = edge_slots(batch, typed)
    tags = edge_tags(batch, slots) if batch.weights is not None or typed else None
    colours = np.empty((depth + 1, batch.n_nodes), dtype=np.int32)
    colours[0] = number
    all_hashes, found = [hashes], []
    sums = degree_sums(batch)
    distinct_rows = features[first]
    for level in range(1, depth + 1):
        old, old_hashes = colours[level - 1], all_hashes[-1]
        tokens, own, token_hashes = old[neighbours], old, old_hashes
        if tags is not None:
            tokens, own, token_hashes = tagged_tokens(tokens, own, old_hashes, *tags)
        colours[level], new_hashes, first = merge_neighbourhoods(batch.indptr, tokens, own, token_hashes, mask)
        all_hashes.append(new_hashes)
        if operators:
            rows = operator_rows(first, batch.indptr, neighbours, weights, slots, old, old_hashes)
            found.append(Operator(*rows, terms=batch.degrees[first] + 1, sums=sums[first], first=first))
    return Colouring(colours, tuple(all_hashes), tuple(found), distinct_rows)


def first_colours(batch: GraphBatch) -> Int32s:
    """Return the colours of level 0: equal features, equal number."""
    from fastgntk.engines._simd._refine import ALL_BITS

    return _equal_rows(_canonical(batch.features), ALL_BITS)[0]


def _equal_rows(features: sparse.csr_array, mask: np.uint64) -> tuple[Int32s, NDArray[np.uint64], Ints]:
    """Give numbers to distinct rows; returns those, a hash of each, and the first row that has it."""
    from fastgntk.engines._simd._refine import group_rows

    indptr = np.ascontiguousarray(features.indptr, dtype=np.int64)
    bits = features.data.view(np.uint64)  # equal numbers have equal bits: zeros of either sign are not stored
    return group_rows(indptr, features.indices.astype(np.int32, copy=False), bits, mask)


def _canonical(features: sparse.csr_array | Array) -> sparse.csr_array:
    """Return features as CSR with sorted columns and without explicit zeros, so that equal rows look equal."""
    matrix = sparse.csr_array(features)
    if not matrix.has_canonical_format or not np.all(matrix.data):
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


def edge_slots(batch: GraphBatch, typed: bool) -> Int32s:
    """Return the type of each edge plus 1; nothing without types."""
    return (batch.edge_labels + 1).astype(np.int32) if typed and batch.edge_labels is not None else _NO_SLOTS


def edge_tags(batch: GraphBatch, slots: Int32s) -> tuple[Ints, int, NDArray[np.uint64]]:
    """Give numbers to the pairs of weight and slot; returns those of all edges, that of a node itself, and hashes."""
    from fastgntk.engines._simd._refine import hash_pairs

    weights = np.ones(len(batch.indices)) if batch.weights is None else batch.weights + 0.0
    bits = np.append(weights, 1.0).view(np.uint64)  # a node itself has weight 1
    kinds = np.append(slots if len(slots) else np.zeros(len(batch.indices), dtype=np.int32), 0)
    distinct_bits, bit = np.unique(bits, return_inverse=True)
    distinct, number = np.unique(bit.astype(np.int64) * (int(kinds.max()) + 1) + kinds, return_inverse=True)
    bit_of, kind_of = np.divmod(distinct, int(kinds.max()) + 1)
    return number[:-1], int(number[-1]), hash_pairs(distinct_bits[bit_of], kind_of.astype(np.uint64))


def tagged_tokens(
    tokens: Int32s, own: Int32s, hashes: NDArray[np.uint64], tag: Ints, own_tag: int, tag_hashes: NDArray[np.uint64]
) -> tuple[Int32s, Int32s, NDArray[np.uint64]]:
    """Give numbers to the pairs of colour and tag."""
    from fastgntk.engines._simd._refine import hash_pairs

    keys = np.concatenate([tokens, own]).astype(np.int64) * len(tag_hashes)
    keys[: len(tokens)] += tag
    keys[len(tokens) :] += own_tag
    distinct, number = np.unique(keys, return_inverse=True)
    token_hashes = hash_pairs(hashes[distinct // len(tag_hashes)], tag_hashes[distinct % len(tag_hashes)])
    numbers = np.asarray(number, dtype=np.int32)
    return numbers[: len(tokens)], numbers[len(tokens) :], token_hashes
