"""Confusion matrix, calibration, coverage of intervals, score by options, and the rounding of figures."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fastgntk._util.arrays import Array, Ints
from fastgntk.kernels import GNTK, Kernel, Normalized, Scaled
from fastgntk.report._schema import Bin, Surface

__all__ = [
    "calibration_error",
    "class_calibration",
    "confusion",
    "coverage",
    "five_digits",
    "percent",
    "score_surface",
    "single_gntk",
]


_BINS = 10
_NOMINAL = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def percent(fraction: float) -> float:
    """Return a fraction in per cent, with three decimals."""
    return round(100 * float(fraction), 3)


def five_digits(value: float) -> float:
    """Round to five significant digits."""
    return float(f"{value:.5g}")


def confusion(truth: Ints, predicted: Ints, n_classes: int) -> list[list[int]]:
    """Return the confusion matrix: rows are true classes, columns predicted ones."""
    table = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(table, (truth, predicted), 1)
    return table.tolist()


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 per cent Wilson interval of a proportion, accurate for small counts."""
    from scipy.stats import binomtest

    interval = binomtest(hits, count).proportion_ci(confidence_level=0.95, method="wilson")
    return float(interval.low), float(interval.high)


def class_calibration(probabilities: Array, truth: Ints, classes: Sequence[str]) -> tuple[list[Bin], str]:
    """Return the non-empty ones of ten bins of equal width, and a note on their content.

    With two classes the bins hold probabilities of the second class, otherwise those of the most probable class.
    """
    if probabilities.shape[1] == 2:
        predicted, hit = probabilities[:, 1], truth == 1
        note = f"Probability of class {classes[1]}, and its observed frequency"
    else:
        best = probabilities.argmax(axis=1)
        predicted, hit = probabilities[np.arange(len(best)), best], truth == best
        note = "Probability of the most probable class, and how often it was right"
    place = np.minimum((predicted * _BINS).astype(np.int64), _BINS - 1)
    bins = [_bin(float(predicted[place == b].mean()), hit[place == b]) for b in range(_BINS) if np.any(place == b)]
    return bins, f"{note}; bars are 95 % intervals. Probabilities are out-of-fold."


def coverage(residuals: Array, deviations: Array) -> tuple[list[Bin], str]:
    """Return the observed coverage of Gaussian intervals, from residuals and standard deviations (n,)."""
    bins = [_bin(level, np.abs(residuals) <= ndtri(0.5 + level / 2) * deviations) for level in _NOMINAL]
    note = (
        "Intervals are Gaussian, from leave-one-out means and standard deviations. The common factor of the standard "
        "deviations is estimated from the same graphs."
    )
    return bins, note


def calibration_error(bins: list[Bin]) -> float:
    """Return the expected calibration error: the mean distance of predicted and observed frequency over graphs."""
    total = sum(b["count"] for b in bins)
    return sum(b["count"] * abs(b["predicted"] - b["observed"]) for b in bins) / total if total else 0.0


def score_surface(
    scored: Iterable[tuple[Kernel, float]], chosen: Sequence[Kernel], note: str, best: Callable[[float, float], float]
) -> Surface | None:
    """Return the best score by scale, layers and blocks; None for combinations that were not tried.

    ``scored`` are kernels with their scores, ``chosen`` the kernel of each fold; ``best`` is ``max`` or ``min``. Only
    single GNTKs with plain jump have a place; without any there is no surface.
    """
    table: dict[tuple[int, int, str], float] = {}
    for kernel, score in scored:
        if place := _place(kernel):
            table[place] = score if place not in table else best(table[place], score)
    if not table:
        return None
    blocks, layers = sorted({b for b, _, _ in table}), sorted({r for _, r, _ in table})
    scales = list(dict.fromkeys(s for _, _, s in table))
    picked = [place for place in map(_place, chosen) if place is not None]
    if missing := len(chosen) - len(picked):
        where = "" if len(chosen) == 1 else f" in {missing} of {len(chosen)} folds"
        note += f" The kernel chosen{where} is not a single GNTK with plain jump, and so is not in these tables."
    return Surface(
        blocks=blocks,
        layers=layers,
        scale=scales,
        score=[[[table.get((b, r, s)) for b in blocks] for r in layers] for s in scales],
        chosen=[(*place, n) for place, n in Counter(picked).most_common()],
        note=note,
    )


def single_gntk(kernel: Kernel) -> GNTK | None:
    """Return the tangent kernel if this is one, normalised or scaled or neither; None for combinations.

    >>> single_gntk(GNTK(2).normalized()), single_gntk(GNTK(2) * GNTK(2))
    (GNTK(blocks=2), None)
    """
    while isinstance(kernel, Normalized | Scaled):
        kernel = kernel.kernel
    return kernel if isinstance(kernel, GNTK) else None


def _place(kernel: Kernel) -> tuple[int, int, str] | None:
    """Return blocks, layers and scale of a kernel that has a place on the surface."""
    gntk = single_gntk(kernel)
    return (gntk.blocks, gntk.layers, gntk.scale) if gntk is not None and isinstance(gntk.jump, bool) else None


def _bin(predicted: float, hit: NDArray[Any]) -> Bin:
    hits, count = int(hit.sum()), len(hit)
    low, high = (round(end, 4) for end in wilson(hits, count))
    return Bin(predicted=round(predicted, 4), observed=round(hits / count, 4), low=low, high=high, count=count)
