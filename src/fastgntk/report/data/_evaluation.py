"""Collect the report data of an evaluation."""

import time
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from fastgntk.engines import EXACT_ENGINES
from fastgntk.errors import InputError
from fastgntk.kernels import Normalized
from fastgntk.models import check_classes
from fastgntk.pairwise import Compute, check_compute, gram, normalize, prepare
from fastgntk.report._schema import ReportData
from fastgntk.report.data._collector import Collector, StageTimer, format_candidates, format_options
from fastgntk.report.data._graphs import Source
from fastgntk.report.data._scores import percent, score_surface
from fastgntk.selection import Evaluation, describe_choices, evaluation_out_of_fold

__all__ = ["evaluation_data"]


def evaluation_data(
    data: Any, result: Evaluation, *, y: Any = None, command: str = "", compute: Compute | None = None
) -> ReportData:
    """Collect the report data of an evaluation; see :func:`fastgntk.report.report_evaluation`."""
    source = Source.from_data(data)
    record, compute = result.record, check_compute(compute)
    if len(source.batch) != result.n_graphs:
        raise InputError(
            f"the evaluation is of {result.n_graphs} graphs, but data has {len(source.batch)}; pass the data that was "
            "evaluated."
        )
    labels = check_classes(getattr(data, "y", None) if y is None else y, len(source.batch))
    values, class_ids = np.unique(labels, return_inverse=True)
    classes = [str(value) for value in values.tolist()]
    timer = StageTimer(compute.progress)
    with timer.time("out-of-fold predictions") as stage_progress:
        finished = {"kernel": 0.0, "learning": 0.0}

        def add_progress(part: str, done: int, total: int) -> None:
            finished[part] = done / total
            stage_progress(round(500 * sum(finished.values())), 1000)

        out_of_fold = evaluation_out_of_fold(source.batch, class_ids, result, compute=compute, progress=add_progress)
    # The kernel shown is the one chosen by most folds.
    most_chosen = Counter(result.choices).most_common(1)[0][0]
    index = out_of_fold.kernel_index[record.folds[result.choices.index(most_chosen)][1][0]]
    kernel, engine = out_of_fold.kernels[index], out_of_fold.engines[index]
    silent = replace(compute, engine=engine if engine in EXACT_ENGINES else "auto", progress=None)
    prepared = prepare(source.batch, kernel, compute=silent)
    collector = Collector(source, timer, prepared)
    with timer.time("kernel"):
        start = time.perf_counter()
        K = gram(prepared)
        cosine_and_time = K if isinstance(kernel, Normalized) else normalize(K), time.perf_counter() - start
    accuracy, n_finalists = (result.mean, result.accuracies), record.cv.n_finalists
    protocol = f"{len(record.folds)} folds"
    if result.optimistic:
        protocol += "; options chosen to maximise the mean over these same folds (du2019: optimistic)"
        selection_folds = "the folds reported"
        collector.warnings.append(
            "The protocol du2019 chooses options on the same folds that are reported, so the score is optimistic. For "
            "an unbiased estimate use the protocol nested."
        )
    else:
        protocol += ", each tested once; options chosen on the training part of each fold only (nested)"
        repeats = record.cv.inner_repeats or 1
        draws = f", drawn {repeats} times" if repeats > 1 else ""
        selection_folds = f"{record.cv.inner_folds} folds within each training part{draws}"
        if n_finalists is not None:
            selection_folds += ", of those outer folds in which the kernel was a finalist"
    if result.n_unconverged:
        collector.warnings.append(
            f"{result.n_unconverged:,} of {result.n_fits:,} fits stopped at their iteration limit before convergence."
        )
    collector.add_classification(cosine_and_time, class_ids, classes, record.folds, out_of_fold, accuracy, protocol)
    if len(classes) > 2:
        collector.report["calibration_note"] += (
            " The evaluation predicts by one-vs-one voting; probabilities and node contributions come from one-vs-rest "
            "SVMs, as in a trained model."
        )
    scores = [(k, percent(row.max())) for k, row in zip(record.kernels, record.scores, strict=True) if row.max() >= 0]
    families = describe_choices(choice.kernel for choice in result.choices)
    note = (
        f"Accuracy in per cent, the best over jump, normalisation, edge types and C; mean over {selection_folds}. "
        f"Chosen: {families}."
    )
    if surface := score_surface(scores, [choice.kernel for choice in result.choices], note, max):
        collector.report["surface"] = surface
    options = [
        ("protocol", protocol),
        ("kernels tried", format_candidates(record.kernels)),
        ("C tried", format_options({"": list(record.C)}).strip()),
        ("families chosen", families),
        ("chosen most often", format_options(dict(most_chosen.__dict__))),
        ("random state", str(record.cv.random_state)),
        *([] if n_finalists is None else [("finalists", f"{n_finalists} in each fold, by leave-one-out")]),
    ]
    times = {"kernels of the grid": result.kernel_seconds, "SVMs of the grid": result.learning_seconds}
    return collector.finish("classification", command, options, times)
