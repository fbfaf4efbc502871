"""Engines: how kernels are computed. :mod:`fastgntk.kernels` defines what they compute.

=======================  ==========================================================================
``_base``                the interface of engines, sizes for the plan, the table of engines
``_kronecker``           the literal formula, a slow reference
``_decoupled``           two-sided products in NumPy and SciPy
``_lossless``            the same on colours only, in compiled loops
``_sketched``            an approximation: aggregation through random matrices
``_sketch_rows``         the size of the sketch of each graph
``_sketched_level``      one level of it between two groups, in patches
``_weisfeiler_lehman``   Weisfeiler–Lehman kernels: products of sparse histograms of colours
``_descriptor_kernels``  kernels on descriptors, as matrix products
``_auto``                the choice of ``auto``, and the reason for it
``_activation``          the effect of a layer with any of the activations: κ0 and κ1
``_aggregation``         Â = A + self_weight · I as a list of relations, and aggregated features
``_norms``               norms of nodes and the scale c_u
``_refinement``          colour refinement: which nodes are equal, and which graphs
``_subtree_colours``     Weisfeiler–Lehman colours, consistent over several batches
``_node_kernel``         the kernel between nodes of one graph
``_random_features``     vectors whose inner products approximate the kernel
``_simd``                the compiled loops; they take plain arrays only
=======================  ==========================================================================

``kronecker``, ``decoupled`` and ``sketched`` are named after the steps of Jiang et al. (2022); ``lossless`` because it
merges equal nodes without any error. Terms that all engines share:

===============  ==========================================================================================
level            the matrices after a block, 0 (the features) to L; its readout is a sum over pairs of nodes
λ, θ             ``lam``, ``theta``: Σ and K divided by the norms of both nodes
q, p, P          norms of nodes: ``q`` after Â, ``p`` = c_u q_u before the layers, ``p_out`` after them; P = diag(p_out)
colour           a class of equal nodes: at level l they have identical rows in Σ(l) and K(l)
Q, D             operators between the colours of two levels: ``ColourOperator``, and D = q⁻¹ Q P normalised
relation         an operator that is applied on its own: Â itself, or with typed edges I and one for each type
state            the result of ``prepare`` for a batch; tasks complete it in place
group, tile      graphs that are computed together, and the values between two groups
data             what an engine builds from the state for one group
sizes, extent    ``GraphSizes`` of a batch and ``Extent`` of a group, from which groups and memory are planned
===============  ==========================================================================================
"""

from fastgntk.engines._activation import kappa0, kappa1, kappas
from fastgntk.engines._aggregation import Aggregation, check_graphs
from fastgntk.engines._auto import EngineChoice, choose_engine, decoupled_seconds, estimate_seconds, layer_nanoseconds
from fastgntk.engines._base import (
    COMPILING,
    EXACT_ENGINES,
    Engine,
    Extent,
    GraphRange,
    GraphSizes,
    available_engines,
    check_engine,
    compiled_code_runs,
    engines_of,
    get_engine,
)
from fastgntk.engines._descriptor_kernels import equal_descriptors, fit_scaling, scale_descriptors
from fastgntk.engines._node_kernel import NodePairs
from fastgntk.engines._norms import is_zero_norm, safe_reciprocal, unit_rows
from fastgntk.engines._random_features import TangentFeatures
from fastgntk.engines._refinement import (
    first_equal_graph,
    first_with_equal_colours,
    indistinguishable_graphs,
    merge_first_equal,
    refine_colours,
)
from fastgntk.engines._sketch_rows import sketch_rows

__all__ = ["COMPILING", "EXACT_ENGINES", "Engine", "Extent", "GraphRange", "GraphSizes"]
__all__ += ["available_engines", "check_engine", "compiled_code_runs", "engines_of", "get_engine"]
__all__ += ["EngineChoice", "choose_engine", "decoupled_seconds", "estimate_seconds", "layer_nanoseconds"]
__all__ += ["Aggregation", "check_graphs", "safe_reciprocal", "kappa0", "kappa1", "kappas", "unit_rows", "is_zero_norm"]
__all__ += [
    "NodePairs",
    "TangentFeatures",
    "refine_colours",
    "first_equal_graph",
    "indistinguishable_graphs",
    "sketch_rows",
]
__all__ += ["merge_first_equal", "first_with_equal_colours"]
__all__ += ["equal_descriptors", "fit_scaling", "scale_descriptors"]
