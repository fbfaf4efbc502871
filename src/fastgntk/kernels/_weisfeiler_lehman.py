"""Kernels on Weisfeiler–Lehman colours: the subtree kernel and the optimal assignment kernel."""

from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.kernels._base import Leaf
from fastgntk.kernels._network import Edges

__all__ = ["WL", "WLOA", "DiscreteFeatures", "WeisfeilerLehman"]

DiscreteFeatures = Literal["discrete", "labels", "degree"]

_MAX_ITERATIONS = 1000  # more are a mistake, or a corrupt file


@dataclass(frozen=True, repr=False)
class WeisfeilerLehman(Leaf):
    """The options of kernels that compare the colours of nodes, as described for :class:`WL`."""

    iterations: int = 5
    edges: Edges = "plain"
    features: DiscreteFeatures = "discrete"

    def __post_init__(self) -> None:
        if type(self) is WeisfeilerLehman:
            raise InputError("WeisfeilerLehman is a base class without values; use WL or WLOA.")
        object.__setattr__(self, "iterations", check_integer("iterations", self.iterations, 0, _MAX_ITERATIONS))
        if self.features in ("auto", "attributes", "all"):
            raise InputError(
                f"features={self.features!r} may be continuous, but {type(self).__name__} compares discrete colours; "
                "use features='discrete', 'labels' or 'degree', or a GNTK."
            )
        for name, allowed in (("edges", Edges), ("features", DiscreteFeatures)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in get_args(allowed):
                raise InputError(f"{name} must be one of {', '.join(get_args(allowed))}, but is {value!r}.")

    @property
    def depth(self) -> int:
        """Index of the last level, ``iterations``."""
        return self.iterations

    @property
    def uses_edge_labels(self) -> bool:
        """Whether edge labels matter."""
        return self.edges == "typed"

    def with_all_levels(self, depth: int) -> Self:
        """Return this kernel with the given number of iterations."""
        return replace(self, iterations=depth)


@dataclass(frozen=True, repr=False)
class WL(WeisfeilerLehman):
    """The Weisfeiler–Lehman subtree kernel of Shervashidze et al. (2011): common colours of all iterations.

    k(G, G') = Σ_{l=0..h} Σ_c n_c n'_c, where n_c is the number of nodes of G that have colour c after l iterations.
    Colours are defined in :mod:`fastgntk.kernels`. Values are integers, and exact.

    Parameters
    ----------
    iterations : int, 0 to 1,000
        Number h of iterations; information travels this many edges.
    edges : {"plain", "typed"}
        Whether a colour depends on the labels of edges to neighbours. Edges of different weights differ in any case.
    features : {"discrete", "labels", "degree"}
        The colours of iteration 0: node labels or degrees. ``"discrete"`` takes labels if the graphs have them, else
        degrees; it refuses graphs with continuous features only.

    Examples
    --------
    >>> import fastgntk as fg
    >>> path, triangle = fg.Graph.from_edges([(0, 1), (1, 2)], 3), fg.Graph.from_edges([(0, 1), (1, 2), (2, 0)], 3)
    >>> fg.gram([path, triangle], fg.WL(iterations=1)).tolist()
    [[10.0, 3.0], [3.0, 18.0]]
    >>> fg.WL(2).normalized() * fg.GNTK(2).normalized()
    WL(iterations=2).normalized() * GNTK(blocks=2).normalized()
    """


@dataclass(frozen=True, repr=False)
class WLOA(WeisfeilerLehman):
    """The Weisfeiler–Lehman optimal assignment kernel of Kriege et al. (2016).

    k(G, G') = Σ_{l=0..h} Σ_c min(n_c, n'_c), with the colours of :class:`WL`: the intersection of histograms. It is the
    largest value of any assignment of nodes to nodes, where a pair counts the iterations after which both have the same
    colour. Values are integers, and exact. The parameters are those of :class:`WL`.

    Examples
    --------
    >>> import fastgntk as fg
    >>> path, triangle = fg.Graph.from_edges([(0, 1), (1, 2)], 3), fg.Graph.from_edges([(0, 1), (1, 2), (2, 0)], 3)
    >>> fg.gram([path, triangle], fg.WLOA(iterations=1)).tolist()
    [[6.0, 1.0], [1.0, 6.0]]
    """
