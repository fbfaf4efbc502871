"""Counts that a report shows: confusion, calibration of probabilities, coverage of intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fastgntk.report._schema import Bin

__all__ = ["calibration_error", "class_calibration", "confusion", "coverage", "wilson"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_BINS = 10
_NOMINAL = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_SURE = float(ndtri(0.975))  # standard deviations of a 95 per cent interval


def confusion(truth: Ints, said: Ints, n_classes: int) -> list[list[int]]:
    """Return how many graphs of each class (rows) were said to be of each class (columns)."""
    table = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(table, (truth, said), 1)
    return table.tolist()


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 per cent interval of a share, by Wilson 1927: it stays within 0 and 1 and is right for few graphs.

    >>> [round(end, 3) for end in wilson(8, 10)]
    [0.49, 0.943]
    """
    share, z2 = hits / count, _SURE**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _SURE / (1 + z2 / count) * np.sqrt(share * (1 - share) / count + z2 / (4 * count**2))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def class_calibration(probabilities: Array, truth: Ints) -> tuple[list[Bin], str]:
    """Return ten bins of equal width, the empty ones left out, and what is in them.

    Of two classes it is the probability of the second, of more that of the most probable one. Shares from 0 to 1.
    """
    if probabilities.shape[1] == 2:
        said, came = probabilities[:, 1], truth == 1
        note = "Probability of the second class, and how often graphs were of it"
    else:
        best = probabilities.argmax(axis=1)
        said, came = probabilities[np.arange(len(best)), best], truth == best
        note = "Probability of the most probable class, and how often it was right"
    place = np.minimum((said * _BINS).astype(np.int64), _BINS - 1)
    bins = [_bin(float(said[place == b].mean()), came[place == b]) for b in range(_BINS) if np.any(place == b)]
    return bins, f"{note}; bars are 95 % intervals. Probabilities were learned without the graphs that they are of."


def coverage(residuals: Array, deviations: Array) -> tuple[list[Bin], str]:
    """Return how often Gaussian intervals of nominal coverage hold the target, from residuals and deviations (n,)."""
    bins = []
    for nominal in _NOMINAL:
        inside = np.abs(residuals) <= ndtri(0.5 + nominal / 2) * deviations
        bins.append(_bin(nominal, inside))
    note = (
        "How often the target was within the interval that should hold it so often: mean ± standard deviations of the "
        "prediction that leaves the graph out, as of a Gaussian. Their common factor is learned from the same graphs."
    )
    return bins, note


def calibration_error(bins: list[Bin]) -> float:
    """Return the mean distance of what was said from what was, over graphs."""
    total = sum(b["count"] for b in bins)
    return sum(b["count"] * abs(b["said"] - b["was"]) for b in bins) / total if total else 0.0


def _bin(said: float, came: NDArray[Any]) -> Bin:
    hits, count = int(came.sum()), len(came)
    low, high = wilson(hits, count)
    return Bin(said=round(said, 4), was=round(hits / count, 4), low=round(low, 4), high=round(high, 4), count=count)
