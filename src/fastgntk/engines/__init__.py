"""Engines: how tangent kernels are computed. :mod:`fastgntk.kernels` defines what they compute.

====================  ==========================================================================
``_base``             the contract that engines share, the outline for the plan, the table of engines
``_kronecker``        the literal formula, slow and right
``_decoupled``        two-sided products in NumPy and SciPy
``_lossless``         the same on distinct nodes only, in compiled loops
``_sketched``         an approximation: aggregation through random matrices
``_sketched_level``   one level of it between two groups, in patches
``_auto``             which engine ``auto`` takes, and why
``_activation``       what a ReLU layer does: κ0 and κ1
``_aggregation``      Â = A + I, in parts where edges have types, and features summed by it
``_norms``            norms of nodes and the scale c_u
``_refinement``       colour refinement: which nodes are the same, and which graphs
``_node_kernel``      the kernel between nodes of one graph
``_random_features``  vectors whose inner products approximate the kernel
``_simd``             the compiled loops; they take plain arrays only
====================  ==========================================================================
"""

from fastgntk.engines._activation import kappa0, kappa1, kappas
from fastgntk.engines._aggregation import Aggregation, check_edges
from fastgntk.engines._auto import Choice, choose_engine, decoupled_seconds, estimate_seconds, layer_nanoseconds
from fastgntk.engines._base import (
    COMPILING,
    EXACT_ENGINES,
    Engine,
    Extent,
    GraphRange,
    Outline,
    available_engines,
    check_engine,
    compiled_code_runs,
    get_engine,
)
from fastgntk.engines._node_kernel import NodePairs
from fastgntk.engines._norms import is_zero_norm, safe_reciprocal, unit_rows
from fastgntk.engines._random_features import TangentFeatures
from fastgntk.engines._refinement import equal_graphs, inseparable_graphs, refine_colours

__all__ = ["COMPILING", "EXACT_ENGINES", "Engine", "Extent", "GraphRange", "Outline"]
__all__ += ["available_engines", "check_engine", "compiled_code_runs", "get_engine"]
__all__ += ["Choice", "choose_engine", "decoupled_seconds", "estimate_seconds", "layer_nanoseconds"]
__all__ += ["Aggregation", "check_edges", "safe_reciprocal", "kappa0", "kappa1", "kappas", "unit_rows", "is_zero_norm"]
__all__ += ["NodePairs", "TangentFeatures", "refine_colours", "equal_graphs", "inseparable_graphs"]
