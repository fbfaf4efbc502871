"""Leave-one-out predictions of ridge regression, which exist in closed form, as out-of-fold predictions."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from fastgntk import models
from fastgntk._util.arrays import Array, Ints
from fastgntk.models import KERNEL_CONSTANT, Sigmoids
from fastgntk.selection._out_of_fold import (
    DecisionFunctions,
    KernelMatrix,
    OutOfFold,
    SimilarGraphs,
    find_similar,
    select_columns,
)

__all__ = ["ridge_out_of_fold", "ridge_probabilities"]

_CHUNK = 500  # graphs whose functions are in memory at a time
_TOLERANCE = 1e-3  # of reproduced predictions, relative to their spread


def ridge_out_of_fold(
    matrix: KernelMatrix,
    Y: Array,
    mean: Array,
    predictions: Array,
    ridge: Array | float,
    *,
    classes: bool,
    probabilities: Array | None = None,
) -> OutOfFold:
    """Return leave-one-out predictions (n, k) of ridge regression on targets Y (n, k) with mean (k,).

    Without ``matrix.K`` there are no decision functions, without ``matrix.cosine`` no similar graphs. The kernel does
    not include the constant of the regression. The functions are kept only if they reproduce the predictions.
    """
    n, k = predictions.shape
    zeros = np.zeros(n, dtype=np.int64)
    predicted = models.predicted_class(predictions) if classes else zeros
    function = None
    if matrix.K is not None:
        column, sign = select_columns(predicted, k) if classes else (zeros, np.ones(n))
        left_out = _LeaveOneOut.fit(matrix.K, Y, mean, ridge, column, sign)
        expected = sign * predictions[np.arange(n), column]
        if left_out.reproduces(expected, matrix.K):  # not so for weighted graphs
            function = left_out.functions
    return OutOfFold(
        (matrix.kernel,),
        (matrix.engine,),
        kernel_index=zeros,
        fold_index=zeros,
        values=predictions,
        predicted=predicted,
        probabilities=probabilities,
        **_similar_to_others(matrix.cosine, n)._asdict(),
        _function=function,
        kernel_scale=matrix.scale,
    )


def ridge_probabilities(out_of_fold: Array, class_ids: Ints, random_state: int) -> Array:
    """Return probabilities (n, c) from out-of-fold values, for each fold by sigmoids fitted on the other folds."""
    n_classes = int(class_ids.max()) + 1
    out = np.zeros((len(class_ids), n_classes))
    for train, test in models.lenient_stratified_folds(class_ids, random_state):
        out[test] = Sigmoids.fit(out_of_fold[train], class_ids[train], n_classes).probabilities(out_of_fold[test])
    return out


@dataclass(frozen=True, eq=False)
class _LeaveOneOut:
    """The n regressions that each leave out one graph.

    With A = K + 1 + ridge and α = A⁻¹ (Y − mean), the coefficients without graph i are α − A⁻¹ e_i α_i / (A⁻¹)_ii.
    """

    inverse: Array  # A⁻¹, (n, n)
    alpha: Array  # (n, k)
    mean: Array  # (k,)
    column: Ints  # (n,), the target or class of the function of each graph
    sign: Array  # (n,)

    @classmethod
    def fit(cls, K: Array, Y: Array, mean: Array, ridge: Array | float, column: Ints, sign: Array) -> Self:
        A = K + KERNEL_CONSTANT + np.diag(np.broadcast_to(np.asarray(ridge, dtype=np.float64), len(K)))
        inverse = np.asarray(np.linalg.inv(A))
        return cls(inverse, inverse @ (Y - mean), mean, column, sign)

    def functions(self, chosen: Ints) -> DecisionFunctions:
        """Return the decision functions of chosen graphs, each fitted without its graph."""
        column, sign = self.column[chosen], self.sign[chosen]
        step = self.alpha[chosen, column] / np.diagonal(self.inverse)[chosen]
        weights = self.alpha[:, column].T - self.inverse[chosen] * step[:, None]
        weights[np.arange(len(chosen)), chosen] = 0.0  # up to rounding
        intercepts = self.mean[column] + KERNEL_CONSTANT * weights.sum(axis=1)
        return DecisionFunctions(sign[:, None] * weights, sign * intercepts)

    def reproduces(self, expected: Array, K: Array) -> bool:
        """Whether the functions give the expected values (n,) of the graphs that they leave out."""
        n = len(expected)
        values = np.zeros(n)
        for chunk in np.array_split(np.arange(n), -(-n // _CHUNK)):
            weights, intercepts = self.functions(chunk)
            values[chunk] = np.einsum("ij,ij->i", weights, K[chunk]) + intercepts
        spread = float(np.abs(expected - np.mean(expected)).max(initial=0.0)) + 1e-300
        return bool(np.abs(values - expected).max(initial=0.0) <= _TOLERANCE * spread)


def _similar_to_others(cosine: Array | None, n: int) -> SimilarGraphs:
    """Return the graphs most similar to each graph, except itself: its model was not trained on it."""
    if cosine is None:
        return SimilarGraphs.none(n)
    without_diagonal = cosine.copy()
    np.fill_diagonal(without_diagonal, -np.inf)
    return find_similar(without_diagonal, np.arange(n))
