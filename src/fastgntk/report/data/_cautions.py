"""What a reader should know before believing a score: sentences in plain words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fastgntk.graphs import EqualGraphs
from fastgntk.report._schema import Bin, Other
from fastgntk.report.data._maps import Spectrum
from fastgntk.report.data._measures import calibration_error

__all__ = ["about_baselines", "about_calibration", "about_classes", "about_equal_graphs", "about_spectrum"]

_FEW = 10  # members of a class
_SINGULAR = 1e-10  # smallest over largest eigenvalue
_OFF = 0.1  # mean distance of probabilities from frequencies


def about_equal_graphs(equal: EqualGraphs | None, n: int) -> list[str]:
    """Say what follows from graphs that no method of this kind tells apart but that have different targets."""
    if equal is None or not equal.contradictory:
        return []
    which = f"{equal.contradictory:,} of {n:,} graphs look exactly like another one with a different"
    never = "however deep: no method that passes messages along edges tells them apart"
    if equal.best_accuracy is not None:
        return [
            f"{which} class, {never}. At best {100 * equal.best_accuracy:.1f} % of these graphs can be placed right."
        ]
    error = equal.least_error[0] if equal.least_error else 0.0
    return [f"{which} target, {never}. The error cannot fall below {error:.3g} on these graphs."]


def about_classes(numbers: NDArray[np.int64], classes: Sequence[str], folds: int) -> list[str]:
    """Name classes that have too few members to be learned or measured."""
    counts = np.bincount(numbers, minlength=len(classes))
    few = [(name, int(count)) for name, count in zip(classes, counts, strict=True) if count < max(_FEW, folds)]
    if not few:
        return []
    named = ", ".join(f"{name[:40]} ({count})" for name, count in few[:6])
    more = f" and {len(few) - 6} more" if len(few) > 6 else ""
    verb = "class has" if len(few) == 1 else "classes have"
    why = f"fewer than {_FEW} members" if folds <= _FEW else f"fewer members than the {folds} folds"
    return [
        f"{len(few)} {verb} {why}: {named}{more}. What is said of them rests on very little, and some folds may have "
        "none."
    ]


def about_spectrum(found: Spectrum, n: int) -> list[str]:
    """Say if the kernel hardly tells graphs apart."""
    out = []
    if found.total <= 0:
        return ["All graphs are the same to this kernel, so that there is nothing to learn from."]
    condition = found.condition
    if condition is not None and condition < _SINGULAR:
        out.append(
            f"The kernel matrix is nearly singular: its smallest eigenvalue is {_share(condition)} of its largest, and "
            f"{found.effective_rank:.1f} directions hold most of what tells the {n:,} graphs apart. Some graphs are "
            "equal or nearly so to the kernel; fits are held steady by their regularisation, and finer differences "
            "between such graphs are not seen."
        )
    return out


def _share(condition: float) -> str:
    return f"{condition:.0e}" if condition > 1e-15 else "less than 1e-15"


def about_baselines(mean: float, others: Sequence[Other], *, lower_is_better: bool, unit: str) -> list[str]:
    """Say if something much simpler does as well; figures of the literature are no baselines."""
    out = []
    for other in others:
        worse = mean >= other["mean"] if lower_is_better else mean <= other["mean"]
        if worse and not other["name"].startswith("published"):
            out.append(
                f"The score is no better than “{other['name']}” ({other['mean']:.3g}{' ' if unit else ''}{unit}): here "
                "the kernel adds nothing to that."
            )
    return out


def about_calibration(bins: Sequence[Bin]) -> list[str]:
    """Say if probabilities, or intervals, are far from what happened."""
    error = calibration_error(list(bins))
    if error <= _OFF:
        return []
    return [
        f"What was said and what happened differ by {100 * error:.0f} percentage points on average: take probabilities "
        "and intervals as a rough guide only."
    ]
