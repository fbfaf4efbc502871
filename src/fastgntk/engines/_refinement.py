"""Colour refinement: which nodes have identical rows in Σ(l) and K(l), level by level, and which graphs are equal.

At level 0 nodes with equal features get the same colour. At level l they do if their closed neighbourhoods contain the
same multiset of level l − 1 colours, with weights or edge types the same multiset of (weight, type, colour). Such nodes
have identical rows against every node of every graph, so merging them is exact. This is colour refinement (1-WL),
except that a node's own colour is distinguished from those of its neighbours only by types, or if the weight of the
node itself differs from those of edges; with ``self_weight=0`` it does not count at all. If the scale c_u is given,
nodes of one colour have the same c_u from level 1 on; level 0, the features, does not depend on it. With a
residual connection nodes of one colour have the same features at every level.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.engines._aggregation import given_node_scale, operator_weights, scale_operand
from fastgntk.engines._base import compiled_code_runs
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import RefinementOptions

__all__ = ["Colouring", "ColourOperator", "refine_colours", "first_equal_graph", "merge_first_equal"]
__all__ += ["first_with_equal_colours", "indistinguishable_graphs"]


@dataclass(frozen=True)
class ColourOperator:
    """Q (m_l, m_(l−1)): the count, or total weight, of each old colour in the neighbourhood of each new colour.

    With typed edges a row holds the entries of all relations, one relation after the other.
    """

    indptr: Ints
    indices: Int32s
    relation: Int32s  # of each entry: its type plus 1, or 0 for the node itself; all 0 without types
    data: Array
    abs_data: Array  # the same with |weights|
    terms: Ints  # |N(u)| + 1
    scale_operand: Array  # from `scale_operand`
    first: Ints  # the first node of the colour


@dataclass(frozen=True)
class Colouring:
    """The colours of levels 0..L of all nodes of a batch."""

    colours: Int32s  # (L + 1, N)
    hashes: tuple[NDArray[np.uint64], ...]  # of the colours of each level, a function of the neighbourhoods alone
    operators: tuple[ColourOperator, ...]  # of levels 1..L; empty unless requested
    features: sparse.csr_array  # (m_0, d), one row for each colour of level 0

    @property
    def counts(self) -> list[int]:
        """The number of colours of each level."""
        return [len(hashes) for hashes in self.hashes]


def refine_colours(
    batch: GraphBatch,
    depth: int,
    used_bits: int | None = None,
    *,
    uses_edge_labels: bool = False,
    uses_node_scale: bool = False,
    self_weight: float = 1.0,
    symmetric: bool = False,
    keep_features: bool = False,
    operators: bool = True,
) -> Colouring:
    """Refine the colours of all graphs together down to level ``depth``.

    ``uses_edge_labels`` distinguishes edge labels, ``uses_node_scale`` the ``node_scale`` of nodes; ``self_weight`` and
    ``symmetric`` are those of the kernel, and ``keep_features`` distinguishes features at every level. Costs about a
    tenth of a microsecond per edge and level, a tenth of that without operators. ``used_bits`` masks the hashes;
    results do not depend on it, since nodes with equal hashes are compared before they are merged.
    """
    from fastgntk.engines._simd._refine import ALL_BITS, merge_neighbourhoods, operator_rows

    mask = ALL_BITS if used_bits is None else np.uint64(used_bits)
    features = _canonical(batch.features)
    colours = np.empty((depth + 1, batch.n_nodes), dtype=np.int32)
    colours[0], hashes, first = _merge_equal_rows(features, mask)
    neighbours = batch.global_indices
    weights, self_weights = operator_weights(batch, self_weight, symmetric)
    relations = np.zeros(0, dtype=np.int32)  # the type of each edge plus 1; empty without types
    if uses_edge_labels and batch.edge_labels is not None:
        relations = (batch.edge_labels + 1).astype(np.int32)
    tags = _tag_edges(batch, uses_edge_labels, weights, self_weights)
    weights, self_weights = (
        np.zeros(0) if given is None else np.ascontiguousarray(given) for given in (weights, self_weights)
    )
    all_hashes, all_operators = [hashes], []
    operand = scale_operand(batch, uses_node_scale=uses_node_scale, self_weight=self_weight)
    distinct_rows = features[first]
    kept_apart = [_index_scales(operand)] if uses_node_scale else []
    if keep_features:
        kept_apart.append((colours[0].astype(np.int64), hashes))
    for level in range(1, depth + 1):
        old, old_hashes = colours[level - 1], all_hashes[-1]
        tokens = _tokens(old[neighbours], old, old_hashes, tags)
        colours[level], hashes, first = merge_neighbourhoods(batch.indptr, *tokens, mask)
        for part, part_hashes in kept_apart:
            colours[level], hashes, first = _split(colours[level], hashes, part, part_hashes, mask)
        all_hashes.append(hashes)
        if operators:
            rows = operator_rows(first, batch.indptr, neighbours, weights, self_weights, relations, old, old_hashes)
            terms = batch.degrees[first] + 1
            all_operators.append(ColourOperator(*rows, terms=terms, scale_operand=operand[first], first=first))
    return Colouring(colours, tuple(all_hashes), tuple(all_operators), distinct_rows)


def first_equal_graph(
    batch: GraphBatch,
    blocks: int,
    *,
    uses_edge_labels: bool = False,
    uses_node_scale: bool = False,
    self_weight: float = 1.0,
    symmetric: bool = False,
    keep_features: bool = False,
) -> Ints:
    """Return for each graph the index of the first graph that certainly has the same kernel values.

    Two graphs are equal if they have the same multiset of colours after each of ``blocks`` rounds of refinement (1-WL
    on nodes with features, if ``uses_edge_labels`` on edges with types, if ``uses_node_scale`` on nodes with their
    scale, and with ``keep_features`` on nodes that keep their features); fewer blocks distinguish fewer graphs. A graph
    with no earlier equal one gets its own index. So does every graph if numba, which refines colours, is missing. A
    kernel may fail to distinguish a few more: ReLU layers are homogeneous, so two nodes may contribute as much as one
    with features of twice the length.
    """
    if not compiled_code_runs():
        return np.arange(len(batch))
    # All levels: a colour does not determine the node's own colour at the level below.
    options = RefinementOptions(
        uses_edge_labels=uses_edge_labels,
        uses_node_scale=uses_node_scale,
        self_weight=self_weight,
        symmetric=symmetric,
        keep_features=keep_features,
    )
    return first_with_equal_colours(batch.offsets, refine_colours(batch, blocks, **options, operators=False).colours)


def merge_first_equal(first_equal: Sequence[Ints]) -> Ints:
    """Combine several results of `first_equal_graph`: graphs are equal if they are equal in all of them.

    >>> merge_first_equal([np.array([0, 0, 0]), np.array([0, 1, 1])]).tolist()
    [0, 1, 1]
    """
    if len(first_equal) == 1:
        return first_equal[0]
    _, first, column = np.unique(np.stack(first_equal), axis=1, return_index=True, return_inverse=True)
    return np.asarray(first[column.ravel()], dtype=np.int64)


def indistinguishable_graphs(
    batch: GraphBatch, *, uses_edge_labels: bool = False, uses_node_scale: bool = False
) -> tuple[Ints, int] | None:
    """Return for each graph the index of the first one that refinement cannot distinguish from it, and the rounds.

    This is the full 1-WL test: a node's own colour is distinguished from those of its neighbours (with weights, and if
    ``uses_edge_labels`` with edge types, and if ``uses_node_scale`` with the scale of nodes), and refinement continues
    until it is stable. No message-passing network can distinguish such graphs, nor can any kernel of
    :func:`first_equal_graph`, which may distinguish fewer. The number of rounds is the last one that distinguished more
    graphs. Returns None if numba is missing.
    """
    if not compiled_code_runs():
        return None
    from fastgntk.engines._simd._refine import ALL_BITS

    out, rounds = np.arange(len(batch)), 0
    unresolved = np.arange(len(batch))  # graphs that equal another one so far; only these need to be refined
    colours = _merge_equal_rows(_canonical(batch.features), ALL_BITS)[0]
    if uses_node_scale:  # a node's own colour stays distinguished, so that its scale is needed only once
        scale = _index_scales(given_node_scale(batch))[0]
        colours = _index_values(colours.astype(np.int64) * (int(scale.max(initial=0)) + 1) + scale)[1]
    subset = replace(batch, features=None, labels=None, edge_labels=batch.edge_labels if uses_edge_labels else None)
    level = n_classes = 0  # classes of equal graphs
    while True:
        first_equal = first_with_equal_colours(subset.offsets, colours[None])
        out[unresolved] = unresolved[first_equal]
        refined_classes = len(np.unique(out))
        rounds = level if refined_classes > n_classes else rounds
        n_classes = refined_classes
        shared = np.bincount(first_equal, minlength=len(first_equal))[first_equal] > 1
        if not shared.all():
            colours = colours[np.repeat(shared, subset.sizes)]
            subset, unresolved = subset[shared], unresolved[shared]
        n_colours, colours = _index_values(colours)
        n_refined, refined = _refine(subset, colours, n_colours, uses_edge_labels)
        if n_refined == n_colours:
            return out, rounds
        colours, level = refined, level + 1


def _refine(batch: GraphBatch, colours: Int32s, count: int, uses_edge_labels: bool) -> tuple[int, Int32s]:
    """Return the number of colours after one more round, and the colours."""
    from fastgntk.engines._simd._refine import ALL_BITS, hash_pairs, merge_neighbourhoods

    each = np.arange(count, dtype=np.uint64)
    hashes = hash_pairs(each, each)  # any hashes will do, since equal ones are compared
    tokens = _tokens(
        colours[batch.global_indices], colours, hashes, _tag_edges(batch, uses_edge_labels, batch.weights, None)
    )
    neighbourhood_colours, neighbourhood_hashes, _ = merge_neighbourhoods(batch.indptr, *tokens, ALL_BITS)
    return _index_values(colours.astype(np.int64) * max(len(neighbourhood_hashes), 1) + neighbourhood_colours)


def _split(
    colours: Int32s, hashes: NDArray[np.uint64], part: Ints, part_hashes: NDArray[np.uint64], mask: np.uint64
) -> tuple[Int32s, NDArray[np.uint64], Ints]:
    """Split colours by a partition of the nodes: ``part`` is the part of each node, with a hash for each part.

    Returns the new colour of each node, and the hash and first node of each new colour.
    """
    from fastgntk.engines._simd._refine import hash_pairs

    pairs = colours.astype(np.int64) * max(len(part_hashes), 1) + part
    distinct, first, pair = np.unique(pairs, return_index=True, return_inverse=True)
    colour_of, part_of = np.divmod(distinct, max(len(part_hashes), 1))
    return np.asarray(pair, dtype=np.int32), hash_pairs(hashes[colour_of], part_hashes[part_of]) & mask, first


def _index_scales(scale: Array) -> tuple[Ints, NDArray[np.uint64]]:
    """Return for each node the index of its scale, and the distinct scales as 64-bit patterns."""
    distinct, index = np.unique(scale + 0.0, return_inverse=True)  # zeros of either sign have equal bits then
    return np.asarray(index, dtype=np.int64), distinct.view(np.uint64)


def _index_values(values: NDArray[np.integer]) -> tuple[int, Int32s]:
    """Return the number of distinct values, and the index of each value among them."""
    distinct, index = np.unique(values, return_inverse=True)
    return len(distinct), np.asarray(index, dtype=np.int32)


def first_with_equal_colours(offsets: Ints, colours: Int32s) -> Ints:
    """Return for each graph the index of the first one with equal multisets of colours in each row of (n_levels, N)."""
    first: dict[bytes, int] = {}
    out = np.empty(len(offsets) - 1, dtype=np.int64)
    for i in range(len(out)):
        multiset = np.sort(colours[:, offsets[i] : offsets[i + 1]], axis=1)
        out[i] = first.setdefault(multiset.tobytes(), i)
    return out


def _merge_equal_rows(features: sparse.csr_array, mask: np.uint64) -> tuple[Int32s, NDArray[np.uint64], Ints]:
    """Assign colours to distinct rows; return the colour of each row, and the hash and first row of each colour."""
    from fastgntk.engines._simd._refine import merge_rows

    indptr = np.ascontiguousarray(features.indptr, dtype=np.int64)
    bits = features.data.view(np.uint64)  # equal numbers have equal bits: zeros of either sign are not stored
    return merge_rows(indptr, features.indices.astype(np.int32, copy=False), bits, mask)


def _canonical(features: sparse.csr_array | Array) -> sparse.csr_array:
    """Return features as CSR with sorted columns and without explicit zeros, so that equal rows are stored equally."""
    matrix = sparse.csr_array(features)
    if not matrix.has_canonical_format or not np.all(matrix.data):
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


_Tags = tuple[Ints, Ints, NDArray[np.uint64]]
"""The tag of each edge (m,) and of each node (N,), or (1,) if nodes agree; the hash of each tag.

A node without a weight of its own has the tag −1."""


def _tag_edges(
    batch: GraphBatch, uses_edge_labels: bool, weights: Array | None, self_weights: Array | None
) -> _Tags | None:
    """Assign tags and hashes to distinct pairs (weight, relation) of edges and nodes; None if all agree.

    ``weights`` and ``self_weights`` are those of `operator_weights`; a node itself has relation 0.
    """
    from fastgntk.engines._simd._refine import hash_pairs

    if weights is None and self_weights is None and not uses_edge_labels:
        return None
    count = len(batch.indices)
    weights = np.ones(count) if weights is None else weights + 0.0
    bits = np.append(weights, 1.0 if self_weights is None else self_weights).view(np.uint64)
    relations = np.zeros(len(bits), dtype=np.int32)
    if uses_edge_labels and batch.edge_labels is not None:
        relations[:count] = batch.edge_labels + 1
    distinct_bits, bit = np.unique(bits, return_inverse=True)
    n_relations = int(relations.max(initial=0)) + 1
    distinct, tags = np.unique(bit.astype(np.int64) * n_relations + relations, return_inverse=True)
    bit_of, relation_of = np.divmod(distinct, n_relations)
    node_tags = tags[count:] if self_weights is None else np.where(self_weights == 0, -1, tags[count:])
    return tags[:count], node_tags, hash_pairs(distinct_bits[bit_of], relation_of.astype(np.uint64))


def _tokens(
    neighbours: Int32s, nodes: Int32s, hashes: NDArray[np.uint64], tags: _Tags | None
) -> tuple[Int32s, Int32s, NDArray[np.uint64]]:
    """Return the tokens of neighbours and of nodes themselves, ids of distinct (colour, tag), and the hash of each."""
    from fastgntk.engines._simd._refine import hash_pairs

    if tags is None:
        return neighbours, nodes, hashes
    edge_tags, node_tags, tag_hashes = tags
    keys = np.concatenate([neighbours, nodes]).astype(np.int64) * len(tag_hashes)
    keys[: len(neighbours)] += edge_tags
    # A node without a weight of its own has the same token, whatever its colour.
    keys[len(neighbours) :] = np.where(node_tags < 0, -1, keys[len(neighbours) :] + node_tags)
    distinct, inverse = np.unique(keys, return_inverse=True)
    token_hashes = hash_pairs(hashes[distinct // len(tag_hashes)], tag_hashes[distinct % len(tag_hashes)])
    token_hashes[distinct < 0] = 0
    tokens = np.asarray(inverse, dtype=np.int32)
    return tokens[: len(neighbours)], tokens[len(neighbours) :], token_hashes
