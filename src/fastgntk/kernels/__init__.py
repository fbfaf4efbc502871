r"""Kernels: what is computed. This page is the definition of the tangent kernel and of combinations.

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
papers                code                 meaning
====================  ===================  =======================================================
L                     ``blocks``           Aggregate + Combine blocks
R                     ``layers``           ReLU layers in each Combine
c_u                   ``scale``            1, 1/(\|N(u)\|+1), the inverse norm of the aggregated node, or any
                                           number 0 or more that the graph gives as ``node_scale``
jumping knowledge     ``jump``             read out every level
c_φ                   ``c_phi``            2 preserves norms: p_u does not change within a block
X                     ``features``         attributes, one-hot labels or one-hot degrees
S                     ``sketch``           B SᵀS in place of B: an approximation
(not in the papers)   ``edges``            ``"typed"``: B = Σ_r B_r, one r for the node itself and one per edge label
====================  ===================  =======================================================

A node of norm 0 (zero features, or exact cancellation) contributes 0. Where this departs from the papers, and
why, is in docs/math.md.

Graphs may carry descriptors, named blocks of numbers (docs/inputs.md). With z the row of a graph in the block ``on``,
its columns scaled as fitted on the training graphs, d their number, and x the row unchanged, 0 or more:

    RBF        exp(−‖z − z'‖² / (2 ℓ²)),  2 ℓ² the median of ‖z − z'‖² over pairs of training graphs, or ℓ given
    Linear     ⟨z, z'⟩ / d
    Tanimoto   Σ_j min(x_j, x'_j) / Σ_j max(x_j, x'_j),  0/0 = 1

Kernels combine entry by entry, and stay positive semi-definite:

    (k1 + k2)(G, G') = k1(G, G') + k2(G, G')                 (a k)(G, G') = a k(G, G'),  a > 0
    (k1 * k2)(G, G') = k1(G, G') k2(G, G')                   k.normalized()(G, G') = k(G, G') / sqrt(k(G, G) k(G', G'))

====================  ==========================================================================
``_network``          :class:`GNTK`, with all parameters that change its values
``_descriptors``      :class:`RBF`, :class:`Linear` and :class:`Tanimoto` on descriptors
``_base``             :class:`Kernel` and the algebra: sums, products, factors, normalisation
``_parse``            :func:`parse_kernel`, kernels from strings and JSON
====================  ==========================================================================

The recursion is implemented in :mod:`fastgntk.engines`.
"""

from fastgntk.kernels._base import Kernel, Leaf, Normalized, Product, Scaled, Sum
from fastgntk.kernels._descriptors import RBF, DescriptorKernel, Linear, Tanimoto
from fastgntk.kernels._network import GNTK, Edges, Network, Scale
from fastgntk.kernels._parse import parse_kernel

__all__ = ["Kernel", "Leaf", "Network", "GNTK", "Sum", "Product", "Scaled", "Normalized", "parse_kernel"]
__all__ += ["Scale", "Edges"]
__all__ += ["DescriptorKernel", "RBF", "Linear", "Tanimoto"]
