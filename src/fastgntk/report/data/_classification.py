"""Score, confusion matrix, calibration and graphs of a classification, evaluated or trained."""

from collections.abc import Sequence

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.report._schema import Score
from fastgntk.report.data._baselines import Split, baseline_text, classification_baselines, published
from fastgntk.report.data._collector import BASELINES, Collector
from fastgntk.report.data._heat_map import order_by_class
from fastgntk.report.data._metrics import class_calibration, confusion, percent
from fastgntk.report.data._warnings import class_warnings
from fastgntk.selection import OutOfFold

__all__ = ["add_classification"]


def add_classification(
    collector: Collector,
    kernel: tuple[Array | None, float],
    numbers: Ints,
    classes: list[str],
    splits: Sequence[Split],
    out_of_fold: OutOfFold,
    accuracy: tuple[float, Sequence[float]],
    protocol: str,
) -> None:
    """Add everything that follows from the out-of-fold predictions of n graphs.

    ``kernel`` are the cosines and the time they took, ``numbers`` (n,) the true classes, ``splits`` the folds on which
    baselines are measured. ``accuracy`` is the mean and that of each fold, without folds for leave-one-out.
    """
    report, source, predicted = collector.report, collector.source, out_of_fold.predicted
    collector.add_kernel(*kernel, lambda cosine, axis: order_by_class(cosine, axis, numbers, classes))
    with collector.stages.stage(BASELINES):
        baselines = [*published(source.name), *classification_baselines(source.batch, numbers, splits)]
    mean, folds = accuracy
    score = Score(
        name="accuracy",
        unit="%",
        mean=percent(mean),
        folds=[percent(each) for each in folds],
        lower_is_better=False,
        baselines=baselines,
        protocol=protocol,
    )
    text = f"{score['mean']:.1f} % of unseen graphs were assigned to the right one of {len(classes)} classes"
    if len(folds):
        score["std"] = percent(float(np.std(folds)))
        text += f" (± {score['std']:.1f} between folds)"
    report["summary"] = f"{text}.{baseline_text(score)}"
    collector.add_score(score, numbers)
    collector.warnings += class_warnings(numbers, classes, len(splits))
    report["classes"], report["confusion"] = classes, confusion(numbers, predicted, len(classes))
    if out_of_fold.probabilities is not None:
        collector.add_calibration(*class_calibration(out_of_fold.probabilities, numbers, classes))
    collector.add_graphs(out_of_fold, numbers.tolist(), predicted.tolist(), predicted != numbers)
