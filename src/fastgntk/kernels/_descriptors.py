"""Kernels on descriptors, the named blocks of numbers that graphs carry as a whole."""

from dataclasses import dataclass
from typing import Literal, get_args

from fastgntk._util.checks import check_positive
from fastgntk.errors import InputError
from fastgntk.graphs import ScalingKind
from fastgntk.kernels._base import Leaf

__all__ = ["RBF", "DescriptorKernel", "Linear", "Tanimoto"]


@dataclass(frozen=True, repr=False)
class DescriptorKernel(Leaf):
    """A kernel on one block of descriptors; its value does not depend on nodes and edges."""

    on: str

    def __post_init__(self) -> None:
        if type(self) is DescriptorKernel:
            raise InputError("DescriptorKernel is a base class without values; use RBF, Linear or Tanimoto.")
        if not isinstance(self.on, str) or not self.on:
            raise InputError(f"on must be the name of descriptors, such as 'rdkit', but is {self.on!r}.")


@dataclass(frozen=True, repr=False)
class RBF(DescriptorKernel):
    r"""The Gaussian kernel exp(−‖z − z'‖² / (2 ℓ²)) of scaled descriptors z.

    Parameters
    ----------
    on : str
        The name of a block of ``batch.descriptors``.
    length_scale : float above 0, or "median"
        ℓ, in units of the scaled columns, as in scikit-learn's ``RBF``. ``"median"`` is the ℓ for which 2 ℓ² equals
        the median of ‖z − z'‖² over pairs of training graphs with different descriptors; of more than 1,000 training
        graphs, 1,000 evenly spaced ones are used.
    scaling : {"standard", "log", "none"}
        ``"standard"`` standardises every column to mean 0 and standard deviation 1 over the training graphs, and drops
        columns that are constant there. ``"log"`` applies sign(x) log(1 + \|x\|) first, for columns with heavy tails,
        such as many of RDKit's. ``"none"`` uses the numbers unchanged.

    Notes
    -----
    Means, deviations and ℓ are those of the graphs of :func:`fastgntk.gram`, of the columns of
    :func:`fastgntk.cross_gram`, or of the training graphs of a model, whose file keeps them.

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs[:3].with_descriptors(dose=[0.0, 1.0, 3.0])
    >>> fg.gram(graphs, RBF(on="dose", length_scale=1.0, scaling="none")).round(3).tolist()
    [[1.0, 0.607, 0.011], [0.607, 1.0, 0.135], [0.011, 0.135, 1.0]]
    >>> fg.GNTK(blocks=2).normalized() + RBF(on="dose")
    GNTK(blocks=2).normalized() + RBF(on='dose')

    References
    ----------
    C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press 2006, equation 4.9.
    """

    length_scale: float | Literal["median"] = "median"
    scaling: ScalingKind = "standard"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_scaling(self.scaling)
        if not isinstance(self.length_scale, str):
            object.__setattr__(self, "length_scale", check_positive("length_scale", self.length_scale))
        elif self.length_scale != "median":
            raise InputError(f"length_scale must be a number above 0 or 'median', but is {self.length_scale!r}.")

    @property
    def requires_fit(self) -> bool:
        """Whether kernel values depend on scales that are fitted to training graphs."""
        return self.length_scale == "median" or self.scaling != "none"


@dataclass(frozen=True, repr=False)
class Linear(DescriptorKernel):
    """The inner product ⟨z, z'⟩ / d of scaled descriptors z with d columns.

    The division makes the mean of the diagonal over the training graphs 1 if columns are standardised.

    Parameters
    ----------
    on : str
        The name of a block of ``batch.descriptors``.
    scaling : {"standard", "log", "none"}
        As in :class:`RBF`; d is the number of columns that are not dropped.

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs[:2].with_descriptors(size=[[1.0, 2.0], [3.0, 0.0]])
    >>> fg.gram(graphs, Linear(on="size", scaling="none")).round(9).tolist()
    [[2.5, 1.5], [1.5, 4.5]]
    """

    scaling: ScalingKind = "standard"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_scaling(self.scaling)

    @property
    def requires_fit(self) -> bool:
        """Whether kernel values depend on scales that are fitted to training graphs."""
        return self.scaling != "none"


@dataclass(frozen=True, repr=False)
class Tanimoto(DescriptorKernel):
    """The min–max kernel Σ_j min(x_j, x'_j) / Σ_j max(x_j, x'_j) of counts x, 0 or more.

    For vectors of zeros and ones it is the Jaccard index, the Tanimoto similarity of fingerprints. Of two zero vectors
    it is 1, as of any two equal vectors; of a zero vector and any other vector it is 0. It is positive semi-definite.

    Parameters
    ----------
    on : str
        The name of a block of ``batch.descriptors`` without negative numbers, such as ``"morgan"``. It may be sparse.

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs[:3].with_descriptors(rings=[[2, 1], [1, 1], [0, 0]])
    >>> fg.gram(graphs, Tanimoto(on="rings")).round(3).tolist()
    [[1.0, 0.667, 0.0], [0.667, 1.0, 0.0], [0.0, 0.0, 1.0]]

    References
    ----------
    L. Ralaivola, S. J. Swamidass, H. Saigo, P. Baldi, Graph kernels for chemical informatics, Neural Networks 18,
    2005, section 4.
    """


def _check_scaling(scaling: object) -> None:
    if not isinstance(scaling, str) or scaling not in get_args(ScalingKind):
        raise InputError(f"scaling must be one of {', '.join(get_args(ScalingKind))}, but is {scaling!r}.")
