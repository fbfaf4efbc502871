"""What the compiled loops take: the colours of a batch, and those of a group of graphs, as flat arrays.

Loops over arrays in lists would be compiled anew for each depth, so all levels lie behind one another.
"""

from typing import NamedTuple

from fastgntk._util.arrays import Array, Int32s, Ints

__all__ = ["CHUNK", "ColourNorms", "ColourRows", "GroupColours", "OperatorRows", "Readouts", "SparseRows"]

CHUNK = 16
"""Rows of a panel that are read out together: 16 · 64 · 8 bytes, a sixth of a first-level cache."""


class SparseRows(NamedTuple):
    """A sparse matrix by rows (CSR): row u has the entries ``indptr[u] : indptr[u + 1]``."""

    indptr: Ints
    indices: Int32s
    data: Array


class OperatorRows(NamedTuple):
    """Rows of the operators Q by colour: a sparse matrix whose entries also have a relation."""

    indptr: Ints
    indices: Int32s  # colours of the level below
    relation: Int32s
    data: Array
    abs_data: Array  # each entry as it would be with |weights|


class ColourNorms(NamedTuple):
    """The norms of each colour, and what they are computed from."""

    q: Array
    p_out: Array
    feature_norm: Array  # with a residual connection the norm of the colour's features
    scale_operand: Array  # from `scale_operand`
    terms: Ints  # |N(u)| + 1
    owner: Ints  # the first graph that has the colour


class ColourRows(NamedTuple):
    """The colours of all nodes of a batch, and one row for each colour of levels 1..L: row level_start[l] + c.

    The rows of level 1 hold unit vectors over features, with columns relation · n_features + j; those above hold Q over
    the colours of the level below. With a residual connection relation 0 is that of a colour with its own features, at
    every level: its columns are features, and come first in a row.
    """

    offsets: Ints  # nodes of each graph
    colours: Int32s  # (L + 1, N)
    level_start: Ints
    n_features: int
    n_relations: int
    has_residual: bool
    non_negative: bool  # whether all features and weights are, so that no cosine is below 0
    operators: OperatorRows
    norms: ColourNorms
    sums: SparseRows  # feature sums of the graphs, (n, d)


class Readouts(NamedTuple):
    """Which colours each graph of a group has, for each level, sorted by chunks of CHUNK colours and then by graph.

    Those of a chunk of level l are ``pointers[start[l] + chunk] : pointers[start[l] + chunk + 1]``.
    """

    start: Ints  # (L + 1,)
    pointers: Ints
    graph: Int32s
    colour: Int32s
    weight: Array  # count · p_out


class GroupColours(NamedTuple):
    """n graphs as rows of the normalised operators D, level by level: row level_start[l] + u, u in order of occurrence.

    The rows of level 1 hold unit vectors over features, those above entries of D over colours of the level below. With
    typed edges the entries of a row are sorted by relation, the node itself first: column ``padded · relation + c`` is
    colour c, where ``padded`` is the number of colours rounded up to whole panels (at level 1 it is
    ``n_features · relation + j``; with a residual connection column j of relation 0 is feature j at every level, and
    those of the other relations start after n_features).
    """

    widest: int  # the maximum number of colours of a level
    counts: Ints  # (L + 1,): the number of features, then of colours of level 1..L
    level_start: Ints  # (L + 1,)
    n_relations: int
    has_residual: bool
    non_negative: bool
    operators: SparseRows
    cuts: Ints  # relation r of row u starts at cuts[u · n_relations + r]
    readouts: Readouts
    sums: SparseRows  # feature sums, (n, d)
