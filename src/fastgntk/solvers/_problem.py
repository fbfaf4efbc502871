"""What is to be solved: targets, ridge and weights, checked once for all solvers; and the jitter."""

import logging
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk._util.threads import Progress
from fastgntk.errors import InputError
from fastgntk.solvers._source import KernelSource

__all__ = [
    "Problem",
    "as_ridge",
    "as_targets",
    "as_weights",
    "default_rank",
    "floor_jitter",
    "jitter_ladder",
    "log_jitter",
    "not_definite",
]


_log = logging.getLogger("fastgntk")

# Powers of ten of the mean of the diagonal. Below the first nothing changes in sums of a few thousand terms; past
# the last the jitter is a ridge of its own, which was not intended.
_FIRST_JITTER, _LAST_JITTER = -10, -2


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that a solver gets."""

    source: KernelSource
    Y: Array  # (n, k)
    ridge: float
    weights: Array  # (n,)
    rank: int
    seed: int
    tolerance: float
    sketch: str
    max_iterations: int
    progress: Progress | None = None

    def noise(self, jitter: float = 0.0) -> Array:
        """Return the diagonal of A − K: (ρ + jitter) / w, so that a weight of 2 stays the same as a row given twice."""
        return (self.ridge + jitter) / self.weights

    def report(self, done: int, total: int) -> None:
        """Tell the caller how far the work is."""
        if self.progress is not None:
            self.progress(done, total)


def default_rank(n: int) -> int:
    """Return how many columns approximate solvers take: 10 sqrt(n), at least 100 and at most n.

    >>> [default_rank(n) for n in (30, 100, 1000, 20_000)]
    [30, 100, 317, 1415]
    """
    return min(n, max(100, math.ceil(10.0 * math.sqrt(n))))


def as_targets(Y: Any, n: int) -> Array:
    """Return targets as an array of shape (n, k); one target may come as (n,)."""
    targets = np.asarray(Y, dtype=np.float64)
    if targets.ndim == 1:
        targets = targets[:, None]
    if targets.ndim != 2 or len(targets) != n or not targets.size:
        raise InputError(
            f"targets must have one row for each of the {n} graphs and at least one column, but have shape "
            f"{np.shape(Y)}."
        )
    wrong = np.flatnonzero(~np.isfinite(targets).all(axis=1))
    if len(wrong):
        raise InputError(
            f"{len(wrong)} of {n} targets are no finite numbers, the first at index {wrong[0]}; leave these graphs out."
        )
    return targets


def as_ridge(ridge: Any) -> float:
    """Return a ridge as a number, 0 or more."""
    if isinstance(ridge, bool | np.bool_) or not isinstance(ridge, int | float | np.number):
        raise InputError(f"ridge must be a number, 0 or more, but is {ridge!r}.")
    value = float(ridge)
    if not (math.isfinite(value) and value >= 0.0):
        raise InputError(f"ridge must be a number, 0 or more, but is {ridge!r}.")
    return value


def as_weights(weights: Any, n: int) -> Array:
    """Return weights as an array of shape (n,); None is 1 for everyone."""
    if weights is None:
        return np.ones(n)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n,):
        raise InputError(f"weights must be one number for each of the {n} graphs, but have shape {values.shape}.")
    wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0.0)))
    if len(wrong):
        raise InputError(
            f"weights must be above 0, but weight {wrong[0]} is {values[wrong[0]]:g}; leave that graph out instead."
        )
    return values


def jitter_ladder(diagonal: Array) -> list[float]:
    """Return what may be added to the ridge, in the order in which it is tried, starting with nothing."""
    unit = float(diagonal.mean())
    return [0.0, *(unit * 10.0**power for power in range(_FIRST_JITTER, _LAST_JITTER + 1))]


def floor_jitter(ridge: float, diagonal: Array) -> float:
    """Return what lifts the ridge to 1e-10 of the mean of the diagonal: a model of low rank needs some noise.

    Without any, the covariance of n targets would have rank m, and no likelihood.
    """
    jitter = max(0.0, jitter_ladder(diagonal)[1] - ridge)
    if ridge + jitter <= 0.0:
        raise InputError("ridge is 0 and so is every kernel value; give a ridge above 0.")
    log_jitter(jitter, ridge, diagonal)
    return jitter


def log_jitter(jitter: float, ridge: float, diagonal: Array) -> None:
    """Say what was added, if anything was."""
    if jitter > 0.0:
        _log.info(
            "K + ridge is not positive definite to working precision: added %.1e to the ridge of %.1e, which is %.0e "
            "of the mean %.3g of the diagonal.",
            jitter,
            ridge,
            jitter / float(diagonal.mean()),
            float(diagonal.mean()),
        )


def not_definite(smallest: float, diagonal: Array, ridge: float) -> InputError:
    """Return the error for a matrix that no jitter makes positive definite."""
    mean = float(diagonal.mean())
    return InputError(
        f"K + ridge is not positive definite, not even with {10.0**_LAST_JITTER:g} of the mean diagonal added: the "
        f"smallest eigenvalue of K is {smallest:.3e}, the mean of its diagonal {mean:.3e} and ridge {ridge:.3e}; give "
        f"a ridge above {max(0.0, -smallest):.1e}, or a kernel that is positive semi-definite."
    )
