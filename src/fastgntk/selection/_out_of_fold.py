"""Out-of-fold predictions of n graphs with their decision functions, for reports.

Shared data classes and helpers of ``_svm_out_of_fold`` and ``_ridge_out_of_fold``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.kernels import Kernel

__all__ = ["DecisionFunctions", "KernelMatrix", "OutOfFold", "SimilarGraphs", "find_similar", "select_columns"]

_N_SIMILAR = 3


@dataclass(frozen=True, eq=False)
class KernelMatrix:
    """The kernel of a model, and its matrix of the n training graphs."""

    kernel: Kernel
    engine: str
    K: Array | None
    """The values (n, n) that the model was fitted to; None if they are not available."""
    cosine: Array | None
    """The cosines (n, n); None if they are not available."""
    scale: float = 1.0
    """The divisor of the kernel that gives K."""


class DecisionFunctions(NamedTuple):
    """Decision functions of t graphs: intercept + Σ_j weight_j k(G, G_j) over all n graphs of the data."""

    weights: Array  # (t, n), 0 for graphs that the model was not trained on
    intercepts: Array  # (t,)


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Out-of-fold predictions of n graphs."""

    kernels: tuple[Kernel, ...]
    engines: tuple[str, ...]
    """The engine of each kernel."""
    kernel_index: Ints
    """Index (n,) in ``kernels`` of the kernel of the model that left each graph out."""
    fold_index: Ints
    """Index (n,) of the fold that left each graph out; all 0 with leave-one-out."""
    values: Array
    """Decision values (n, k), one column for each class, or the second of two; or the prediction (n, 1)."""
    predicted: Ints
    """Indices of the predicted classes; all 0 for regression."""
    probabilities: Array | None
    nearest: Ints
    """Indices (n, 3) of the most similar training graphs, −1 if there are fewer."""
    cosines: Array
    """Their cosines (n, 3), 0 if there are fewer."""
    _function: Callable[[Ints], DecisionFunctions] | None
    kernel_scale: float = 1.0
    """Divisor of kernel values in the functions."""
    trained_on: tuple[Ints, ...] | None = None
    """The training graphs of each model, to which descriptors are scaled; None if they are scaled to all graphs."""

    @property
    def can_be_explained(self) -> bool:
        """Whether :meth:`function` can be called."""
        return self._function is not None

    def function(self, chosen: Ints) -> DecisionFunctions:
        """Return the decision functions of the predicted class, or of the target, for chosen graphs."""
        assert self._function is not None  # `can_be_explained` is checked first
        return self._function(chosen)


class SimilarGraphs(NamedTuple):
    """The most similar training graphs of t graphs."""

    nearest: Ints  # (t, 3), −1 if there are fewer
    cosines: Array  # (t, 3), 0 if there are fewer

    @classmethod
    def none(cls, t: int) -> "SimilarGraphs":
        """Return no similar graphs for any of t graphs."""
        return cls(np.full((t, _N_SIMILAR), -1), np.zeros((t, _N_SIMILAR)))


def find_similar(cosine: Array, train: Ints) -> SimilarGraphs:
    """Return the most similar of m training graphs by their cosines (t, m); −inf excludes a graph."""
    similar = SimilarGraphs.none(len(cosine))
    count = min(_N_SIMILAR, cosine.shape[1])
    best = np.argsort(-cosine, axis=1, kind="stable")[:, :count]  # the first of equals
    largest = np.take_along_axis(cosine, best, axis=1)
    allowed = np.isfinite(largest)
    similar.nearest[:, :count] = np.where(allowed, train[best], -1)
    similar.cosines[:, :count] = np.where(allowed, np.minimum(largest, 1.0), 0.0)
    return similar


def select_columns(predicted: Ints, n_columns: int) -> tuple[Ints, Array]:
    """Return the column and the sign of the decision value of each predicted class; two classes share one column."""
    if n_columns > 1:
        return predicted, np.ones(len(predicted))
    return np.zeros(len(predicted), dtype=np.int64), np.where(predicted == 1, 1.0, -1.0)
