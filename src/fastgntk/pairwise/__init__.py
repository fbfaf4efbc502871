"""Kernel matrices: which pairs are computed, in which groups, on how many threads.

========================  ==================================================================
``_gram``                 :func:`gram`, :func:`cross_gram`, :func:`diagonal`, :func:`gram_path`
``_prepared``             :func:`prepare`, :class:`PreparedGraphs`: the input of all computations
``_arguments``            graphs that may be prepared, and the kernel and options of a call
``_compute``              :class:`Compute`: engine, threads, memory, progress
``_encoded``              features and scalings of descriptors: fitted on columns, applied to graphs
``_prepared_leaf``        graphs prepared for one leaf of a kernel: engine, state, groups
``_group_pairs``          values of one leaf, one pair of groups at a time
``_combine``              combine values of leaves to values of a kernel; :func:`normalize`
``_product_factors``      the factor of a product whose nodes carry the contributions
``_contributions``        :func:`node_contributions` of each node to the kernel of its graph
``_node_gram``            :func:`node_gram`, the kernel between nodes of one graph
``_cost``                 :func:`estimate_cost`, time and memory of a matrix, on clusters too
``_describe``             :func:`describe`, sizes and attributes of graphs, and equal graphs
``_plan``                 groups and pairs of groups, pure functions of sizes and colours
``store/``                matrices on disk: :func:`open_gram`, :class:`StoredGram`
========================  ==================================================================

Nothing here contains the formula, and no engine plans the work. Nothing in :class:`Compute` changes values beyond
rounding.
"""

from fastgntk.pairwise._arguments import as_single_graph
from fastgntk.pairwise._combine import combine, combine_diagonals, needs_diagonals, normalize
from fastgntk.pairwise._compute import Compute, check_compute, check_fits_memory, check_kernel
from fastgntk.pairwise._contributions import (
    Contributions,
    contributions,
    contributions_in_chunks,
    node_contributions,
    node_contributions_in_chunks,
)
from fastgntk.pairwise._cost import ClusterCost, CostEstimate, LeafCost, estimate_cost
from fastgntk.pairwise._describe import describe
from fastgntk.pairwise._encoded import NotSketchedWarning, fit_scalings
from fastgntk.pairwise._gram import GramPath, cross_gram, diagonal, gram, gram_columns, gram_path
from fastgntk.pairwise._node_gram import check_nodes, node_diagonal, node_gram
from fastgntk.pairwise._prepared import PreparedGraphs, choose_engine_for_reuse, prepare, prepare_batch
from fastgntk.pairwise._prepared_leaf import PreparedLeaf
from fastgntk.pairwise._product_factors import put_factor_first

__all__ = ["gram", "cross_gram", "diagonal", "gram_columns", "gram_path", "GramPath"]
__all__ += ["prepare", "prepare_batch", "choose_engine_for_reuse", "fit_scalings", "PreparedGraphs"]
__all__ += ["NotSketchedWarning", "PreparedLeaf"]
__all__ += ["Compute", "check_compute", "check_kernel", "check_fits_memory"]
__all__ += ["Contributions", "contributions", "contributions_in_chunks"]
__all__ += ["node_contributions", "node_contributions_in_chunks", "node_gram", "node_diagonal", "check_nodes"]
__all__ += ["as_single_graph", "put_factor_first"]
__all__ += ["normalize", "combine", "combine_diagonals", "needs_diagonals"]
__all__ += ["estimate_cost", "CostEstimate", "LeafCost", "ClusterCost", "describe"]
