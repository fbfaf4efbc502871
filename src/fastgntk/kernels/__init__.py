r"""Kernels: what is computed. This page is the definition of the leaves and of their combinations.

**Kernels of networks** :class:`GNTK` and :class:`NNGP`.

Two graphs G and G' with N and N' nodes, features X (N, d) with rows x_u, adjacency A without self loops,
Â = A + ω I with ω = 1, scale C = diag(c_u), B = C Â. All of Σ and K are (N, N'); p_u is the norm of node u:

    Σ(0) = K(0) = X X'ᵀ
    block l = 1..L:
        aggregate          Σ ← B Σ B'ᵀ            K ← B K B'ᵀ            (typed: Σ_r B_r Σ B'_rᵀ, Σ_r B_r K B'_rᵀ)
        residual           Σ ← (1 − α) Σ + α Σ(0)   K ← (1 − α) K + α K(0)
        layer r = 1..R     p_u = sqrt(Σ_uu(G, G)),  λ = Σ_uv / (p_u p_v)
                           Σ_uv ← (c_φ/2) p_u p_v κ1(λ)
                           K_uv ← K_uv (c_φ/2) κ0(λ) + Σ_uv         (κ0 at the incoming λ, Σ the new one)
    GNTK = 1ᵀ K(L) 1, the sum of all entries;   with jump: that of K(l) for all levels l = 0..L, each with a weight
           if wanted;   with pool="mean" divided by N N'
    NNGP = the same with the matrices Σ(l) in place of K(l), which are then not needed

    κ0(λ) = (π − arccos λ)/π        κ1(λ) = (λ (π − arccos λ) + sqrt(1 − λ²))/π

These are for ReLU. Other activations replace them by (1 − t) κ0(λ) + t and (1 − t) κ1(λ) + t λ with t = 2s / (1 + s²).

====================  ===================  =======================================================
papers                code                 meaning
====================  ===================  =======================================================
L                     ``blocks``           Aggregate + Combine blocks
R                     ``layers``           layers in each Combine
c_u                   ``scale``            1, 1/(\|N(u)\| + ω), the inverse norm of the aggregated node, or the
                                           ``node_scale`` of the graph, any number 0 or more; with
                                           ``"symmetric"`` B = D^(−½) Â D^(−½) with the row sums D of Â
jumping knowledge     ``jump``             read out every level
c_φ                   ``c_phi``            2 preserves norms: p_u does not change within a block
s                     ``activation``       φ(z) = z for z > 0, else s z: the slope s is 0, 0.2, −1 or 1
α                     ``residual``         fraction of the features in every block; 0 in the papers
X                     ``features``         attributes, one-hot labels or one-hot degrees
S                     ``sketch``           B SᵀS in place of B: an approximation
(not in the papers)   ``edges``            ``"typed"``: B = Σ_r B_r, one r for the node itself and one per edge label
ω                     ``self_weight``      the weight of a node among its neighbours, the 1 + ε of a GIN
(not in the papers)   ``pool``             ``"sum"`` or ``"mean"`` over the nodes
====================  ===================  =======================================================

A node of norm 0 (zero features, or exact cancellation) contributes 0. Where this departs from the papers, and
why, is in docs/math.md.

**Weisfeiler–Lehman kernels** :class:`WL` and :class:`WLOA`, for discrete features. Nodes have colours:

    c_0(u) = the label of u, or its degree          c_l(u) = (c_(l−1)(u), {{c_(l−1)(v), w_uv, r_uv : v ∈ N(u)}})

with a multiset in double braces, the weight w_uv of the edge (u, v) and, if ``edges="typed"``, its label r_uv. Row u of
A lists the nodes v of N(u), in directed graphs too. With n_c(l) the number of nodes of G with colour c after l
iterations,

    WL(G, G')   = Σ_{l=0..h} Σ_c n_c(l) n'_c(l)               Shervashidze et al., JMLR 12, 2011
    WLOA(G, G') = Σ_{l=0..h} Σ_c min(n_c(l), n'_c(l))         Kriege et al., NeurIPS 2016

====================  ===================  =======================================================
papers                code                 meaning
====================  ===================  =======================================================
h                     ``iterations``       0 compares labels only
ℓ                     ``features``         one label or several, or degrees; one-hot in :class:`fastgntk.NodeFeatures`
====================  ===================  =======================================================

A node's own colour is distinguished from those of its neighbours, unlike in Â.

**Kernels on descriptors** :class:`RBF`, :class:`Linear` and :class:`Tanimoto`, for named blocks of numbers that graphs
carry (docs/inputs.md). With z the row of a graph in the block ``on``, its columns scaled as fitted on the training
graphs, d their number, and x the unscaled row, which is non-negative:

    RBF        exp(−‖z − z'‖² / (2 ℓ²)),  2 ℓ² the median of ‖z − z'‖² over pairs of training graphs, or ℓ given
    Linear     ⟨z, z'⟩ / d
    Tanimoto   Σ_j min(x_j, x'_j) / Σ_j max(x_j, x'_j),  0/0 = 1

**Combinations.** Kernels combine entry by entry, and stay positive semi-definite:

    (k1 + k2)(G, G') = k1(G, G') + k2(G, G')                 (a k)(G, G') = a k(G, G'),  a > 0
    (k1 * k2)(G, G') = k1(G, G') k2(G, G')                   k.normalized()(G, G') = k(G, G') / sqrt(k(G, G) k(G', G'))

======================  =================================================================
``_network``            :class:`GNTK` and :class:`NNGP`, with all parameters
``_weisfeiler_lehman``  :class:`WL` and :class:`WLOA`
``_descriptors``        :class:`RBF`, :class:`Linear` and :class:`Tanimoto` on descriptors
``_base``               :class:`Kernel` and the algebra: sums, products, factors, normalisation
``_parse``              :func:`parse_kernel`, kernels from strings and JSON
======================  =================================================================

They are implemented in :mod:`fastgntk.engines`.
"""

from fastgntk.kernels._base import Kernel, Leaf, Normalized, OperatorOptions, Product, RefinementOptions, Scaled, Sum
from fastgntk.kernels._descriptors import RBF, DescriptorKernel, Linear, Tanimoto
from fastgntk.kernels._network import GNTK, NNGP, Activation, Edges, Network, Pool, Scale
from fastgntk.kernels._parse import parse_kernel
from fastgntk.kernels._weisfeiler_lehman import WL, WLOA, WeisfeilerLehman

__all__ = ["Kernel", "Leaf", "Network", "GNTK", "NNGP", "WL", "WLOA", "WeisfeilerLehman"]
__all__ += ["Sum", "Product", "Scaled", "Normalized", "parse_kernel"]
__all__ += ["Scale", "Edges", "Pool", "Activation", "OperatorOptions", "RefinementOptions"]
__all__ += ["DescriptorKernel", "RBF", "Linear", "Tanimoto"]
