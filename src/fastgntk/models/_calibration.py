"""Probabilities and intervals calibrated on out-of-fold predictions."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtri

from fastgntk._util.arrays import Array, Bools, Ints
from fastgntk.errors import InputError
from fastgntk.solvers import Solution

__all__ = ["Intervals", "Sigmoids"]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Prediction intervals calibrated on leave-one-out residuals.

    The standard deviations of a Gaussian process may be too small or too large, depending on the kernel. ``ratios``
    (n, k) are the sorted absolute residuals, each divided by its standard deviation. The half width of an interval of
    coverage p is the p-quantile of the ratios in standard deviations, so that no distribution of the errors is assumed;
    standard deviations are multiplied by the root mean square of the ratios.
    """

    ratios: Array

    @classmethod
    def from_residuals(cls, residuals: Array, variances: Array) -> Self:
        """Calibrate on residuals (n, k) with variances (n, k); a residual of variance 0 counts as 0."""
        deviations = np.sqrt(variances)
        ratios = np.divide(np.abs(residuals), deviations, out=np.zeros_like(residuals), where=deviations > 0)
        return cls(np.ascontiguousarray(np.sort(ratios, axis=0)))  # so that sums are the same after saving and loading

    @classmethod
    def from_solution(cls, solution: Solution) -> Self:
        """Calibrate on the leave-one-out residuals of ridge regression."""
        variances = np.multiply.outer(solution.leave_one_out_variance, solution.scale2)
        return cls.from_residuals(solution.leave_one_out, variances)

    @property
    def factor(self) -> Array:
        """Factor of the standard deviations of each target (k,)."""
        mean_square = np.mean(self.ratios**2, axis=0)
        return np.asarray(np.where(mean_square > 0, np.sqrt(mean_square), 1.0))

    def width(self, coverage: float) -> Array:
        """Return the half width (k,) of an interval, in standard deviations of the model before ``factor``.

        As in conformal prediction, it is the ⌈p (n + 1)⌉-th ratio; beyond the largest ratio, a Gaussian tail is used.

        >>> Intervals(np.array([[0.1], [0.5], [1.0], [2.0]])).width(0.5).tolist()
        [1.0]
        """
        if not (isinstance(coverage, int | float | np.number) and 0 < coverage < 1):
            raise InputError(f"coverage must lie between 0 and 1, but is {coverage!r}.")
        n = len(self.ratios)
        rank = math.ceil(float(coverage) * (n + 1))
        if rank <= n:
            return np.asarray(self.ratios[rank - 1])
        return np.asarray(np.maximum(self.ratios[-1], self.factor * ndtri(0.5 + float(coverage) / 2)))


@dataclass(frozen=True, eq=False)
class Sigmoids:
    """Probabilities from decision values: 1 / (1 + exp(−(a f + b))) for each class, normalised to sum to 1."""

    slope: Array  # (k,)
    shift: Array  # (k,)

    @classmethod
    def fit(cls, decisions: Array, classes: Ints, n_classes: int) -> Self:
        """Fit one sigmoid for each column of out-of-fold decision values (n, k).

        With two classes there is one column, for the second class. Platt's targets keep slopes finite where classes do
        not overlap: (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2) instead of 1 and 0, for n₊ positive and n₋ negative graphs.
        """
        columns = [1] if n_classes == 2 else range(n_classes)
        fitted = [_platt(decisions[:, k], classes == c) for k, c in enumerate(columns)]
        return cls(np.array([slope for slope, _ in fitted]), np.array([shift for _, shift in fitted]))

    def probabilities(self, decisions: Array) -> Array:
        """Return (t, classes) from decision values (t, k)."""
        scores = 1.0 / (1.0 + np.exp(-np.clip(self.slope * decisions + self.shift, -500.0, 500.0)))
        if scores.shape[1] == 1:
            return np.column_stack([1.0 - scores[:, 0], scores[:, 0]])
        total = scores.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(scores, total, out=np.full_like(scores, 1 / scores.shape[1]), where=total > 0))


def _platt(decisions: Array, positive: Bools) -> tuple[float, float]:
    from sklearn.linear_model import LogisticRegression

    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    target = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    spread = float(np.std(decisions)) or 1.0  # the solver converges best on inputs of order 1
    # Targets between 0 and 1: every graph is given once in each class, with weights that sum to 1.
    model = LogisticRegression(C=1e6, max_iter=1000)
    scaled = np.concatenate([decisions, decisions])[:, None] / spread
    model.fit(scaled, np.repeat([1, 0], len(decisions)), sample_weight=np.concatenate([target, 1.0 - target]))
    # A negative slope would reverse the ranking, so it is set to 0: the value carries no information.
    slope = max(float(model.coef_[0, 0]) / spread, 0.0)
    return slope, float(model.intercept_[0]) if slope > 0 else float(np.log((n_positive + 1.0) / (n_negative + 1.0)))
