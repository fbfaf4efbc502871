"""Kernels of infinitely wide graph neural networks: the network, its tangent kernel, and its Gaussian process."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from fastgntk._util.checks import check_integer, check_not_negative, check_positive
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind
from fastgntk.kernels._base import Leaf
from fastgntk.sketch import Sketch

__all__ = ["GNTK", "NNGP", "Activation", "Edges", "Network", "Pool", "Scale"]

Scale = Literal["uniform", "degree", "unit", "given", "symmetric"]
Edges = Literal["plain", "typed"]
Pool = Literal["sum", "mean"]
Activation = Literal["relu", "leaky", "abs", "linear"]

_MAX_SIZE = 1000  # blocks and layers; more are a mistake, or a corrupt file
_SLOPES = {"relu": 0.0, "leaky": 0.2, "abs": -1.0, "linear": 1.0}


@dataclass(frozen=True, repr=False)
class Network(Leaf):
    """All options of an infinitely wide graph neural network, as described for :class:`GNTK`."""

    blocks: int = 3
    layers: int = 2
    scale: Scale = "uniform"
    jump: bool | tuple[float, ...] = True
    c_phi: float = 2.0
    edges: Edges = "plain"
    features: FeatureKind = "auto"
    sketch: Sketch | None = None
    self_weight: float = 1.0
    pool: Pool = "sum"
    activation: Activation = "relu"
    residual: float = 0.0
    tangent: ClassVar[bool] = True
    """Whether levels are read out from the tangent kernel K, and not from the covariance Σ."""

    def __post_init__(self) -> None:
        if type(self) is Network:
            raise InputError("Network is a base class without values; use a kernel such as GNTK(blocks=3).")
        for name in ("blocks", "layers"):
            object.__setattr__(self, name, check_integer(name, getattr(self, name), 1, _MAX_SIZE))
        choices = (
            ("scale", Scale),
            ("edges", Edges),
            ("features", FeatureKind),
            ("activation", Activation),
            ("pool", Pool),
        )
        for name, allowed in choices:
            value = getattr(self, name)
            if not isinstance(value, str) or value not in get_args(allowed):
                raise InputError(f"{name} must be one of {', '.join(get_args(allowed))}, but is {value!r}.")
        object.__setattr__(self, "jump", _check_jump(self.jump, self.blocks))
        object.__setattr__(self, "c_phi", check_positive("c_phi", self.c_phi))
        object.__setattr__(self, "self_weight", check_not_negative("self_weight", self.self_weight))
        object.__setattr__(self, "residual", _check_residual(self.residual))
        if self.sketch is not None and not isinstance(self.sketch, Sketch):
            raise InputError(f"sketch must be a fastgntk.Sketch or None, but is {self.sketch!r}.")

    @cached_property
    def depth(self) -> int:
        """Index of the last level, ``blocks``."""
        return self.blocks

    @cached_property
    def level_weights(self) -> tuple[float, ...]:
        """The weight of each level 0..L in the readout.

        >>> GNTK(blocks=2, jump=False).level_weights, GNTK(blocks=1, jump=(0, 0.5)).level_weights
        ((0.0, 0.0, 1.0), (0.0, 0.5))
        """
        if isinstance(self.jump, tuple):
            return self.jump
        return (float(self.jump),) * self.blocks + (1.0,)

    def with_all_levels(self, depth: int) -> Self:
        """Return this kernel with the given number of blocks and weight 1 for every level."""
        return replace(self, blocks=depth, jump=True)

    @cached_property
    def slope(self) -> float:
        """The slope s of the activation φ at negative arguments: φ(z) = z for z > 0, s z otherwise."""
        return _SLOPES[self.activation]

    @cached_property
    def uses_edge_labels(self) -> bool:
        """Whether edge labels matter."""
        return self.edges == "typed"

    @cached_property
    def has_residual(self) -> bool:
        """Whether every level depends on the initial features of a node itself."""
        return self.residual > 0.0

    @cached_property
    def uses_node_scale(self) -> bool:
        """Whether the ``node_scale`` of graphs matters."""
        return self.scale == "given"

    @cached_property
    def symmetric(self) -> bool:
        """Whether rows and columns of the operator are divided by the roots of the degrees, as in a GCN."""
        return self.scale == "symmetric"


@dataclass(frozen=True, repr=False)
class GNTK(Network):
    """The Graph Neural Tangent Kernel, defined in :mod:`fastgntk.kernels`.

    Parameters
    ----------
    blocks : int, 1 to 1,000
        Number L of Aggregate + Combine blocks; information travels this many edges.
    layers : int, 1 to 1,000
        Number R of fully connected layers in each Combine.
    scale : {"uniform", "degree", "unit", "given", "symmetric"}
        The factor c_u of an aggregated node: 1, 1 / (|N(u)| + 1) (in general the reciprocal of the sum of edge weights
        plus ``self_weight``), the factor that makes the node a unit vector, or the ``node_scale`` that the
        graphs carry. ``"symmetric"`` is D^(−½) Â D^(−½), as in a GCN (Kipf and Welling 2017), where D_u is the sum of
        row u of Â over all types of edges; in a directed graph, of the edges that u sums over.
    jump : bool, or L + 1 numbers
        Jumping knowledge: read out every level 0..L, not only the last. Numbers are the weights of the levels, 0 or
        more and not all 0: True means all ones, False means ``(0, …, 0, 1)``.
    c_phi : float, above 0
        Variance factor of the layers; with 2 a layer preserves the norms of nodes.
    edges : {"plain", "typed"}
        ``"typed"`` gives every edge label, and the node itself, a weight matrix of its own in the first layer of a
        block: Σ ← Σ_r B_r Σ B'_rᵀ. ``"plain"`` ignores edge labels.
    features : {"auto", "attributes", "labels", "all", "degree", "discrete"}
        Initial node features, as in :class:`fastgntk.NodeFeatures`: continuous attributes, one-hot labels, both, or
        one-hot degrees. ``"auto"`` takes attributes if the graphs have them, else labels, else degrees;
        ``"discrete"`` takes labels, else degrees.
    sketch : Sketch, optional
        Approximate the aggregation by random matrices; for large dense graphs.
    self_weight : float, 0 or more
        The weight of a node itself in the sum over its closed neighbourhood, Â = A + self_weight · I: the 1 + ε of a
        GIN (Xu et al. 2019). With 0 a node without neighbours contributes to level 0 only.
    pool : {"sum", "mean"}
        The readout of a level, the sum over the nodes of a graph or their mean: ``"mean"`` divides K(G, G') by the
        numbers of nodes N N'. The kernel of a graph without nodes is 0.
    activation : {"relu", "leaky", "abs", "linear"}
        The activation φ of a layer: z for z > 0 and s z otherwise, with the slope s = 0, 0.2 (as in graph attention
        networks, Veličković et al. 2018), −1 or 1. κ0 becomes (1 − t) κ0 + t and κ1 becomes (1 − t) κ1 + t λ, with
        t = 2s / (1 + s²).
    residual : float, 0 or more and below 1
        Initial residual connection α (after Chen et al. 2020, GCNII): every block adds the features through a weight
        matrix of its own; Σ ← (1 − α) B Σ B'ᵀ + α Σ(0), and K likewise.

    Examples
    --------
    >>> kernel = GNTK(blocks=2, jump=False)
    >>> kernel, GNTK.from_json(kernel.to_json()) == kernel
    (GNTK(blocks=2, jump=False), True)
    >>> 0.5 * kernel + GNTK(features="degree").normalized()
    0.5 * GNTK(blocks=2, jump=False) + GNTK(features='degree').normalized()
    """


@dataclass(frozen=True, repr=False)
class NNGP(Network):
    """The Gaussian process of the same infinitely wide graph neural network, defined in :mod:`fastgntk.kernels`.

    The readout is of Σ in place of K: k(G, G') = Σ_l w_l Σ_uv Σ(l)_uv, the covariance of the outputs of networks with
    random weights, Σ_u wᵀ h_u, as their width grows (Lee et al. 2018, Matthews et al. 2018). It is the kernel of
    training the last layer only, and the tangent kernel minus it is positive semi-definite. K is not computed, which
    saves a tenth to a sixth of the time. The parameters are those of :class:`GNTK`.

    References
    ----------
    Lee, Bahri, Novak, Schoenholz, Pennington, Sohl-Dickstein: Deep Neural Networks as Gaussian Processes. ICLR 2018.
    Matthews, Hron, Rowland, Turner, Ghahramani: Gaussian Process Behaviour in Wide Deep Neural Networks. ICLR 2018.

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs[:5]
    >>> covariance, tangent = fg.diagonal(graphs, NNGP(blocks=2)), fg.diagonal(graphs, GNTK(blocks=2))
    >>> bool((covariance < tangent).all())
    True
    """

    tangent = False


def _check_residual(value: Any) -> float:
    if isinstance(value, int | float | np.number) and not isinstance(value, bool) and 0 <= value < 1:
        return float(value)
    raise InputError(f"residual must be a number that is 0 or more and below 1, but is {value!r}.")


def _check_jump(value: Any, blocks: int) -> bool | tuple[float, ...]:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    try:
        weights = () if isinstance(value, str) else tuple(float(w) for w in value)
    except (TypeError, ValueError, OverflowError):
        weights = ()
    if not weights:
        raise InputError(f"jump must be True, False or a weight for each level 0..{blocks}, but is {value!r}.")
    if len(weights) != blocks + 1:
        raise InputError(
            f"jump has {len(weights)} weights, but blocks={blocks} makes {blocks + 1} levels: features and each block."
        )
    if not all(math.isfinite(w) and w >= 0 for w in weights) or not any(weights):
        raise InputError(f"the weights of jump must be 0 or more and not all 0, but are {weights}.")
    return weights
