r"""The kernel: what is computed. This page is its definition; the files below compute it.

Two graphs G and G' with N and N' nodes, features X (N, d) with rows x_u, adjacency A without self loops,
Â = A + I, scale C = diag(c_u), B = C Â. All of Σ and K are (N, N'); p_u is the norm of node u:

    Σ(0) = K(0) = X X'ᵀ
    block l = 1..L:
        aggregate          Σ ← B Σ B'ᵀ            K ← B K B'ᵀ            (typed: Σ_r B_r Σ B'_rᵀ, Σ_r B_r K B'_rᵀ)
        layer r = 1..R     p_u = sqrt(Σ_uu(G, G)),  λ = Σ_uv / (p_u p_v)
                           Σ_uv ← (c_φ/2) p_u p_v κ1(λ)
                           K_uv ← K_uv (c_φ/2) κ0(λ) + Σ_uv         (κ0 at the incoming λ, Σ the new one)
    kernel = Σ_uv K(L)_uv,   with jump: Σ_l Σ_uv K(l)_uv over the levels l = 0..L, each with a weight if wanted

    κ0(λ) = (π − arccos λ)/π        κ1(λ) = (λ (π − arccos λ) + sqrt(1 − λ²))/π

====================  ===================  =======================================================
paper                 code                 meaning
====================  ===================  =======================================================
L                     ``spec.blocks``      Aggregate + Combine blocks
R                     ``spec.layers``      ReLU layers in each Combine
c_u                   ``spec.scale``       1, 1/(\|N(u)\|+1), or what makes the aggregated node a unit vector
jumping knowledge     ``spec.jump``        read out every level
c_φ                   ``spec.c_phi``       2 keeps norms: then p_u does not change inside a block
not there             ``spec.edges``       ``"typed"``: B = Σ_r B_r, the node itself and each edge label being one r
====================  ===================  =======================================================

A node of norm 0 (zero features, or exact cancellation) contributes 0. Where this departs from the papers, and
why, is in docs/math.md.

====================  ==========================================================================
``_spec``             :class:`GNTK`, everything that changes values
``_activations``      κ0 and κ1
``_operator``         Â of a block of graphs; when a norm counts as zero
``_kronecker``        the literal formula, slow and right
``_decoupled``        two-sided products in NumPy and SciPy
``_lossless``         the same on distinct nodes only, in compiled loops
``_sketched``         an approximation: aggregation through random matrices
``_colours``          which nodes are the same; used by ``_lossless`` and ``_sketched``
``_equal``            which graphs no kernel can tell apart
``_node_pairs``       the kernel between nodes of one graph
``_random_features``  vectors whose inner products approximate the kernel
``_simd``             the compiled loops
``_engine``           the contract that engines share, and their table
``_outline``          what the plan of a matrix may know of prepared graphs
``_choice``           which engine ``auto`` takes, and why
``_compilation``      a notice when code is about to be compiled
====================  ==========================================================================
"""

from fastgntk.kernel._activations import kappa0, kappa1
from fastgntk.kernel._choice import Choice, choose_engine, forecast_seconds
from fastgntk.kernel._compilation import COMPILING
from fastgntk.kernel._engine import Engine, compiled_code_runs, engine_names, get_engine
from fastgntk.kernel._equal import equal_graphs, inseparable_graphs
from fastgntk.kernel._node_pairs import NodePairs
from fastgntk.kernel._operator import check_edges
from fastgntk.kernel._outline import Extent, Outline
from fastgntk.kernel._random_features import RandomFeatures
from fastgntk.kernel._spec import GNTK, Edges, Scale

__all__ = [
    "GNTK",
    "Scale",
    "Edges",
    "kappa0",
    "kappa1",
    "Engine",
    "Extent",
    "Outline",
    "Choice",
    "choose_engine",
    "forecast_seconds",
    "engine_names",
    "get_engine",
    "check_edges",
    "compiled_code_runs",
    "equal_graphs",
    "NodePairs",
    "RandomFeatures",
    "inseparable_graphs",
    "COMPILING",
]
