"""The kernel for L = R = 1 and unit vectors, in closed form."""

from dataclasses import dataclass
from typing import Any

from fastgntk._util.arrays import Array
from fastgntk.engines import kappa0, kappa1
from fastgntk.theory._nodes import unit_nodes

__all__ = ["ClosedForm", "closed_form"]


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """Hold the two parts of the kernel, each (n, n) and positive semi-definite."""

    K1: Array
    K2: Array

    @property
    def K(self) -> Array:  # noqa: N802  # the paper's letter
        """The kernel K₁ + K₂."""
        return self.K1 + self.K2


def closed_form(source: Any) -> ClosedForm:
    """Compute the kernel of ``GNTK(blocks=1, layers=1, scale="unit", jump=False)`` in closed form.

    With λ = ⟨h̄_u, h̄'_v⟩ for unit vectors h̄ = (ÂX)_u / ‖(ÂX)_u‖,

        K₁ = Σ_uv λ κ0(λ) = Σ_uv λ (π − arccos λ)/π                   from the weights of the layer
        K₂ = Σ_uv κ1(λ)   = Σ_uv (λ (π − arccos λ) + sqrt(1 − λ²))/π    from the readout,       K = K₁ + K₂.

    A node of norm zero adds nothing, though κ1(0) = 1/π. Costs N² evaluations of arccos / 2 for N nodes in all.

    The kernel of Du et al. 2019, Theorem 4.3, and of Jiang et al. 2022, the generalisation theorem, which prints 1/(2π)
    where c_φ = 2 gives 1/π, and the factor ⟨h, h'⟩ before the square root too: docs/theory.md.

    Parameters
    ----------
    source : :class:`UnitNodes`, or anything that :func:`fastgntk.as_graphs` accepts, n graphs

    Examples
    --------
    >>> from fastgntk import GNTK, Graph, gram
    >>> pair = [Graph.from_edges([(0, 1)], 2, labels=["C", "O"]), Graph.from_edges([], 1, labels=["C"])]
    >>> parts = closed_form(pair)
    >>> parts.K.round(6).tolist()
    [[8.0, 2.571479], [2.571479, 2.0]]
    >>> gram(pair, GNTK(blocks=1, layers=1, scale="unit", jump=False)).round(6).tolist()
    [[8.0, 2.571479], [2.571479, 2.0]]
    """
    nodes = unit_nodes(source)
    return ClosedForm(nodes.pair_sums(lambda lam: lam * kappa0(lam)), nodes.pair_sums(kappa1))
