"""What the compiled loops take: the colours of a batch, and those of a group of graphs, as flat arrays.

A tuple with arrays for each level would be compiled anew for each depth, so levels are concatenated.
"""

from typing import NamedTuple

from fastgntk._util.arrays import Array, Int32s, Ints

__all__ = ["CHUNK", "ColourNorms", "ColourTable", "GroupColours", "Occurrences", "OperatorRows", "SparseRows"]

CHUNK = 16
"""Rows of a panel that are read out together: 16 · 64 · 8 bytes, a sixth of a first-level cache."""


class SparseRows(NamedTuple):
    """A sparse matrix by rows (CSR): row u has the entries ``indptr[u] : indptr[u + 1]``."""

    indptr: Ints
    indices: Int32s
    data: Array


class OperatorRows(NamedTuple):
    """Rows of the operators Q of several levels: a sparse matrix whose entries also have a relation."""

    indptr: Ints
    indices: Int32s  # columns; see `ColourTable`
    relation: Int32s  # 0 throughout level 1
    data: Array
    abs_data: Array  # each entry as it would be with |weights|; not used at level 1


class ColourNorms(NamedTuple):
    """The norms of the m colours of levels 1..L, (m,) each, and what they are computed from."""

    q: Array  # after the aggregation
    p_out: Array  # after the layers of the block
    feature_norm: Array  # with a residual connection the norm of the colour's features
    scale_operand: Array  # from `scale_operand`
    terms: Ints  # |N(u)| + 1
    owner: Ints  # the first graph that has the colour


class ColourTable(NamedTuple):
    """The colours of all N nodes of a batch of n graphs, and one row for each of the m colours of levels 1..L.

    Colour c of level l has row level_start[l] + c. Rows of level 1 are unit vectors over features, those above are rows
    of Q with an entry for each relation and colour of the level below in the neighbourhood. With a residual connection
    a colour's own features come first in its row, as relation 0:

    =======  ============================  =====================================
    level    entry                         column
    =======  ============================  =====================================
    1        feature j of relation r       r · n_features + j
    2..L     colour c of the level below   c
    2..L     feature j of the residual     j
    =======  ============================  =====================================
    """

    offsets: Ints  # (n + 1,), where the nodes of each graph start
    colours: Int32s  # (L + 1, N)
    level_start: Ints  # (L + 2,), 0 twice, since level 0 has no rows
    n_features: int
    n_relations: int
    has_residual: bool
    cosines_bounded: bool  # whether the lower bounds of `choose_polynomials` hold
    operators: OperatorRows
    normalised: Array  # the entries of D in place of those of Q; empty until all norms are known
    norms: ColourNorms
    sums: SparseRows  # feature sums of the graphs, (n, d)


class Occurrences(NamedTuple):
    """Which colours occur in which graphs of a group, level by level, sorted by chunks of CHUNK colours and by graph.

    Those of a chunk of level l are ``pointers[start[l] + chunk] : pointers[start[l] + chunk + 1]``.
    """

    start: Ints  # (L + 1,)
    pointers: Ints
    graph: Int32s
    colour: Int32s
    weight: Array  # the number of nodes · p_out


class GroupColours(NamedTuple):
    """The colours of n graphs, numbered at each level in the order in which they occur, and their rows of D.

    Colour u of level l has row level_start[l] + u. With several relations the entries of a row are sorted by relation,
    and from level 2 on relation r starts at ``cuts[row · n_relations + r]``. Columns are (see `relation_origin`), with
    ``padded`` the number of colours of the level below, rounded up to whole panels:

    =======  ==================================================  ================================
    level    entry                                               column
    =======  ==================================================  ================================
    1        feature j of relation r                             r · n_features + j
    2..L     colour c, relation r                                r · padded + c
    2..L     colour c, relation r, with a residual connection    n_features + (r − 1) · padded + c
    2..L     feature j of the residual, relation 0               j
    =======  ==================================================  ================================
    """

    widest: int  # the maximum number of colours of a level
    counts: Ints  # (L + 1,): the number of features, then of colours of level 1..L
    level_start: Ints  # (L + 2,), 0 twice
    n_relations: int
    has_residual: bool
    cosines_bounded: bool
    operators: SparseRows
    cuts: Ints
    occurrences: Occurrences
    sums: SparseRows  # feature sums, (n, d)
