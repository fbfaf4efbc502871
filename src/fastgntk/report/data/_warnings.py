"""What limits the trust in a score, as sentences."""

from collections.abc import Sequence

import numpy as np

from fastgntk._util.arrays import Ints
from fastgntk.graphs import EqualGraphs
from fastgntk.report._schema import Bin, Score
from fastgntk.report.data._maps import Spectrum
from fastgntk.report.data._metrics import calibration_error

__all__ = ["baseline_warnings", "calibration_warnings", "class_warnings", "equality_warnings", "rank_warnings"]

_FEW = 10  # members of a class
_SINGULAR = 1e-10  # smallest over largest eigenvalue
_MISCALIBRATED = 0.1  # calibration error


def equality_warnings(equal: EqualGraphs | None, n: int) -> list[str]:
    """Warn of graphs that message passing cannot distinguish but whose targets differ."""
    if equal is None or not equal.contradictory:
        return []
    which = f"{equal.contradictory:,} of {n:,} graphs look exactly like another one with a different"
    why = "no message-passing method of any depth can distinguish them"
    if equal.best_accuracy is not None:
        return [f"{which} class; {why}. The accuracy on these graphs is at most {100 * equal.best_accuracy:.1f} %."]
    error = equal.least_error[0] if equal.least_error else 0.0
    return [f"{which} target; {why}. The error on these graphs is at least {error:.3g}."]


def class_warnings(numbers: Ints, classes: Sequence[str], folds: int) -> list[str]:
    """Warn of classes with too few members."""
    counts = np.bincount(numbers, minlength=len(classes))
    few = [(name, int(count)) for name, count in zip(classes, counts, strict=True) if count < max(_FEW, folds)]
    if not few:
        return []
    named = ", ".join(f"{name[:40]} ({count})" for name, count in few[:6])
    more = f" and {len(few) - 6} more" if len(few) > 6 else ""
    verb = "class has" if len(few) == 1 else "classes have"
    limit = f"fewer than {_FEW} members" if folds <= _FEW else f"fewer members than the {folds} folds"
    return [
        f"{len(few)} {verb} {limit}: {named}{more}. Results for so few graphs are uncertain, and some folds may have "
        "none of them."
    ]


def rank_warnings(spectrum: Spectrum, n: int) -> list[str]:
    """Warn of a kernel that hardly distinguishes the graphs."""
    if spectrum.total <= 0:
        return ["All graphs are equal under this kernel, so there is nothing to learn."]
    condition = spectrum.condition
    if condition is None or condition >= _SINGULAR:
        return []
    ratio = f"{condition:.0e}" if condition > 1e-15 else "less than 1e-15"
    return [
        f"The kernel matrix is nearly singular: its smallest eigenvalue is {ratio} of its largest, and the effective "
        f"rank for {n:,} graphs is {spectrum.effective_rank:.1f}. Some graphs are equal or nearly equal under the "
        "kernel; regularisation keeps the fits stable, but finer differences between such graphs are lost."
    ]


def baseline_warnings(score: Score) -> list[str]:
    """Warn if a simple baseline is as good; published figures do not count."""
    mean, unit = score["mean"], f" {score['unit']}" if score["unit"] else ""
    out = []
    for other in score["baselines"]:
        worse = mean >= other["mean"] if score["lower_is_better"] else mean <= other["mean"]
        if worse and not other["name"].startswith("published"):
            figure = f"“{other['name']}” ({other['mean']:.3g}{unit})"
            out.append(f"The score is no better than {figure}: the kernel adds nothing to this baseline.")
    return out


def calibration_warnings(bins: Sequence[Bin]) -> list[str]:
    """Warn of probabilities or intervals that are far from the observed frequencies."""
    error = calibration_error(list(bins))
    if error <= _MISCALIBRATED:
        return []
    return [
        f"Predicted and observed frequencies differ by {100 * error:.0f} percentage points on average: probabilities "
        "and intervals are only a rough guide."
    ]
