"""Colour refinement: nodes whose closed neighbourhoods contain the same multiset of colours get the same colour.

A node's multiset of tokens (colours of its closed neighbourhood, combined with weights and types if there are any) is
hashed by a sum, which does not depend on order. Nodes with equal hashes are compared, and get the same colour only if
their multisets are equal. Hashes depend on content alone, not on which integer a colour is, so they also determine the
order in which neighbours are summed.
"""

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._simd._jit import compiled

__all__ = ["ALL_BITS", "merge_rows", "hash_pairs", "merge_neighbourhoods", "operator_rows"]

Hashes = NDArray[np.uint64]

ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A, _MIX_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


@compiled
def _mix(x: np.uint64) -> np.uint64:
    """Scatter 64 bits (the finaliser of splitmix64)."""
    x = (x ^ (x >> _S30)) * _MIX_A
    x = (x ^ (x >> _S27)) * _MIX_B
    return x ^ (x >> _S31)


@compiled
def hash_pairs(first: Hashes, second: Hashes) -> Hashes:
    """Hash pairs of 64-bit values; the order within a pair counts."""
    out = np.empty(len(first), np.uint64)
    for i in range(len(first)):
        out[i] = _mix(_mix(first[i] + _GOLDEN) + second[i])
    return out


@compiled
def _empty_table(entries: int) -> Int32s:
    size = 4
    while size < 2 * entries:
        size *= 2
    return np.full(size, -1, np.int32)


@compiled
def merge_rows(indptr: Ints, indices: Int32s, bits: Hashes, used_bits: np.uint64) -> tuple[Int32s, Hashes, Ints]:
    """Assign colours to the distinct rows of a canonical CSR matrix whose values are given as 64-bit patterns.

    Returns the colour of each row, the hash of each colour, and its first row. ``used_bits`` masks the hashes, so that
    tests can make them collide.
    """
    n = len(indptr) - 1
    table = _empty_table(n)
    mask = np.int64(len(table) - 1)
    colours, hashes, first = np.empty(n, np.int32), np.empty(n, np.uint64), np.empty(n, np.int64)
    count = 0
    for u in range(n):
        start, stop = indptr[u], indptr[u + 1]
        h = _GOLDEN
        for k in range(start, stop):
            h += _mix(_mix(np.uint64(indices[k]) + _GOLDEN) + bits[k])
        h = _mix(h) & used_bits
        slot = np.int64(h & np.uint64(mask))
        colour = -1
        while table[slot] >= 0:
            c = table[slot]
            if hashes[c] == h:
                r = indptr[first[c]]
                same = indptr[first[c] + 1] - r == stop - start
                k = start
                while same and k < stop:
                    same = indices[k] == indices[r + k - start] and bits[k] == bits[r + k - start]
                    k += 1
                if same:
                    colour = c
                    break
            slot = (slot + 1) & mask
        if colour < 0:
            colour = count
            table[slot], hashes[colour], first[colour] = colour, h, u
            count += 1
        colours[u] = colour
    return colours, hashes[:count].copy(), first[:count].copy()


@compiled
def merge_neighbourhoods(
    indptr: Ints, tokens: Int32s, node_tokens: Int32s, token_hashes: Hashes, used_bits: np.uint64
) -> tuple[Int32s, Hashes, Ints]:
    """Assign colours to the distinct multisets {node_tokens[u]} ∪ {tokens[indptr[u]:indptr[u + 1]]}.

    Returns the colour of each node, the hash of each colour, and its first node.
    """
    n = len(node_tokens)
    table = _empty_table(n)
    mask = np.int64(len(table) - 1)
    colours, hashes, first = np.empty(n, np.int32), np.empty(n, np.uint64), np.empty(n, np.int64)
    tally = np.zeros(len(token_hashes), np.int32)  # all zero between comparisons
    count = 0
    for u in range(n):
        h = token_hashes[node_tokens[u]]
        for k in range(indptr[u], indptr[u + 1]):
            h += token_hashes[tokens[k]]
        h = _mix(h + _GOLDEN) & used_bits
        slot = np.int64(h & np.uint64(mask))
        colour = -1
        while table[slot] >= 0:
            c = table[slot]
            if hashes[c] == h and _same_multiset(indptr, tokens, node_tokens, u, first[c], tally):
                colour = c
                break
            slot = (slot + 1) & mask
        if colour < 0:
            colour = count
            table[slot], hashes[colour], first[colour] = colour, h, u
            count += 1
        colours[u] = colour
    return colours, hashes[:count].copy(), first[:count].copy()


@compiled
def _same_multiset(indptr: Ints, tokens: Int32s, node_tokens: Int32s, u: int, v: int, tally: Int32s) -> bool:
    """Return whether two nodes have equal multisets, by counting one up and the other down."""
    if indptr[u + 1] - indptr[u] != indptr[v + 1] - indptr[v]:
        return False
    tally[node_tokens[u]] += 1
    for k in range(indptr[u], indptr[u + 1]):
        tally[tokens[k]] += 1
    tally[node_tokens[v]] -= 1
    for k in range(indptr[v], indptr[v + 1]):
        tally[tokens[k]] -= 1
    same = bool(tally[node_tokens[u]] == 0)  # equal sizes: if all tokens of u balance, v has no others
    tally[node_tokens[u]] = 0
    for k in range(indptr[u], indptr[u + 1]):
        same = same and bool(tally[tokens[k]] == 0)
        tally[tokens[k]] = 0
    tally[node_tokens[v]] = 0
    for k in range(indptr[v], indptr[v + 1]):
        tally[tokens[k]] = 0
    return same


@compiled
def operator_rows(
    first: Ints,
    indptr: Ints,
    neighbours: Ints,
    weights: Array,
    self_weights: Array,
    relations: Int32s,
    colours: Int32s,
    hashes: Hashes,
) -> tuple[Ints, Int32s, Int32s, Array, Array]:
    """Write the rows of Q, one for each new colour: old colours in the closed neighbourhood with summed weights.

    ``first`` holds a node of each new colour; ``colours`` and ``hashes`` are the old ones; ``weights`` of edges and
    ``self_weights`` of nodes are empty if all are 1, and ``relations`` if edges have no types. Returns Q as CSR
    (indptr, indices, relation, data), with each row sorted by relation and then by hash, and the sums of absolute
    weights, entry by entry.
    """
    count = len(first)
    capacity = count
    for c in range(count):
        capacity += indptr[first[c] + 1] - indptr[first[c]]
    Q_indptr = np.zeros(count + 1, np.int64)
    Q_indices, relation = np.empty(capacity, np.int32), np.zeros(capacity, np.int32)
    Q_data, Q_abs_data = np.empty(capacity), np.empty(capacity)
    n_relations = 1 + relations.max() if len(relations) else 1
    position = np.full(n_relations * len(hashes), -1, np.int64)
    filled = 0
    for c in range(count):
        u, start = first[c], filled
        for k in range(indptr[u] - 1, indptr[u + 1]):  # one step ahead of the neighbours: the node itself
            is_self = k < indptr[u]
            if is_self and len(self_weights) > 0 and self_weights[u] == 0.0:
                continue  # nodes of one colour may then differ in their own old colour
            colour = colours[u] if is_self else colours[neighbours[k]]
            if is_self:
                weight = 1.0 if len(self_weights) == 0 else self_weights[u]
            else:
                weight = 1.0 if len(weights) == 0 else weights[k]
            edge_relation = 0 if is_self or len(relations) == 0 else relations[k]
            key = edge_relation * len(hashes) + colour
            if position[key] < 0:
                position[key] = filled
                Q_indices[filled], relation[filled], Q_data[filled], Q_abs_data[filled] = (
                    colour,
                    edge_relation,
                    0.0,
                    0.0,
                )
                filled += 1
            Q_data[position[key]] += weight
            Q_abs_data[position[key]] += abs(weight)
        for k in range(start, filled):
            position[relation[k] * len(hashes) + Q_indices[k]] = -1
        row = slice(start, filled)
        _sort_row(Q_indices[row], relation[row], Q_data[row], Q_abs_data[row], hashes)
        Q_indptr[c + 1] = filled
    return (
        Q_indptr,
        Q_indices[:filled].copy(),
        relation[:filled].copy(),
        Q_data[:filled].copy(),
        Q_abs_data[:filled].copy(),
    )


@compiled
def _sort_row(indices: Int32s, relation: Int32s, data: Array, abs_data: Array, hashes: Hashes) -> None:
    """Sort the entries of a row by relation, then by the hash of their colour."""
    if len(indices) > 24:  # for shorter rows insertion sort is faster, as it does not allocate
        order = np.argsort(hashes[indices])
        order = order[np.argsort(relation[order], kind="mergesort")]
        indices[:], relation[:], data[:], abs_data[:] = indices[order], relation[order], data[order], abs_data[order]
        return
    for i in range(1, len(indices)):
        c, s, v, m = indices[i], relation[i], data[i], abs_data[i]
        j = i - 1
        while j >= 0 and (relation[j] > s or (relation[j] == s and hashes[indices[j]] > hashes[c])):
            indices[j + 1], relation[j + 1] = indices[j], relation[j]
            data[j + 1], abs_data[j + 1] = data[j], abs_data[j]
            j -= 1
        indices[j + 1], relation[j + 1], data[j + 1], abs_data[j + 1] = c, s, v, m
