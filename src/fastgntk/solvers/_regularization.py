"""Choose the ridge along a path of them, by closed-form leave-one-out or by the marginal likelihood."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.solvers._eigen import EigenPath

__all__ = ["RIDGES", "Criterion", "Score", "check_ridges", "misclassification", "stable_ridge"]

Criterion = Literal["leave_one_out", "likelihood"]


Score = Callable[[EigenPath, Array, Sequence[float]], tuple[float, float]]
"""score(path, Y, ridges) returns the ridge to take, and how bad the kernel is with it."""


RIDGES = tuple(float(r) for r in 10.0 ** np.arange(-8.0, 2.0))
"""Ridges that are tried, in units of the mean self-similarity."""


_NEAR = 1.05  # times the least error; leave-one-out on some hundred graphs does not distinguish such ridges


def stable_ridge(path: EigenPath, Y: Array, ridges: Sequence[float]) -> tuple[float, float]:
    """Return the most likely ridge among those whose leave-one-out error is near the least, and its error.

    The error hardly depends on small ridges where the kernel distinguishes all graphs, so that the least of it may be
    at any of them. How wide intervals are depends on the ridge very much, and the likelihood judges that too.
    """
    errors = path.scores(Y, ridges)
    near = np.flatnonzero(errors <= _NEAR * errors.min())
    best = near[path.scores(Y, np.asarray(ridges)[near], "likelihood").argmin()]
    return ridges[best], float(errors[best])


def misclassification(path: EigenPath, Y: Array, ridges: Sequence[float]) -> tuple[float, float]:
    """Score by the share of graphs that leave-one-out gets wrong, ties by the squared error."""
    if not Y.any():
        return ridges[0], 0.0
    signs = Y - Y.min(axis=0)  # targets were centred: now 0 for the other classes, and 2 for the class
    offsets = Y.min(axis=0) + 1.0
    residuals = path.leave_one_out(Y, ridges)  # (R, n, k)
    values = Y - residuals - offsets
    wrong = (values > 0) != (signs > 0) if Y.shape[1] == 1 else None
    if wrong is None:
        misses = np.mean(values.argmax(axis=2) != signs.argmax(axis=1), axis=1)
    else:
        misses = wrong[:, :, 0].mean(axis=1)
    squares = np.mean(residuals**2, axis=(1, 2)) / np.mean(Y**2)
    scores = misses + np.minimum(squares, 1.0) * 0.999 / len(Y)
    best = int(scores.argmin())
    return ridges[best], float(scores[best])


def check_ridges(ridges: Any) -> tuple[float, ...]:
    """Return ridges to try as numbers above 0."""
    if ridges is None:
        return RIDGES
    try:
        values = tuple(float(r) for r in ridges)
    except (TypeError, ValueError):
        values = ()
    if not values or not all(np.isfinite(r) and r > 0 for r in values):
        raise InputError(f"ridges must be numbers above 0 to try, but is {ridges!r}.")
    return values
