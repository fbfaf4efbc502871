"""Collect the report data of an evaluation."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np

from fastgntk._util.threads import Progress
from fastgntk.errors import InputError
from fastgntk.models import check_classes
from fastgntk.pairwise import fitted, gram, normalize
from fastgntk.report._schema import ReportData
from fastgntk.report.data._classification import add_classification
from fastgntk.report.data._collector import KERNEL, PREDICTIONS, Collector, Stages, format_options
from fastgntk.report.data._graphs import Source
from fastgntk.report.data._metrics import percent, score_surface
from fastgntk.selection import Evaluation, evaluation_left_out

__all__ = ["evaluation_data"]


def evaluation_data(
    data: Any,
    result: Evaluation,
    *,
    y: Any = None,
    command: str = "",
    memory: Any = None,
    workers: Any = None,
    progress: Progress | None = None,
) -> ReportData:
    """Collect the report data of an evaluation; see :func:`fastgntk.report.report_evaluation`."""
    source = Source.of(data)
    record = result.record
    if record is None or len(source.batch) != result.n_graphs:
        raise InputError(
            f"the evaluation is of {result.n_graphs} graphs, but data has {len(source.batch)}; pass the data that was "
            "evaluated."
        )
    labels = check_classes(getattr(data, "y", None) if y is None else y, len(source.batch))
    values, numbers = np.unique(labels, return_inverse=True)
    classes = [str(value) for value in values.tolist()]
    stages = Stages(progress)
    with stages.stage(PREDICTIONS) as stage_progress:
        finished = {"kernel": 0.0, "learning": 0.0}

        def both(stage: str, done: int, total: int) -> None:
            finished[stage] = done / total
            stage_progress(round(500 * sum(finished.values())), 1000)

        out_of_fold = evaluation_left_out(source.batch, numbers, result, memory=memory, workers=workers, progress=both)
    # The kernel shown is the one chosen by most folds.
    often = Counter(result.choices).most_common(1)[0][0]
    place = out_of_fold.kernel_of[record.folds[result.choices.index(often)][1][0]]
    kernel, engine = out_of_fold.kernels[place], out_of_fold.engines[place]
    step = fitted(record.features, source.batch)
    sketching = {"sketch_size" if name == "size" else name: value for name, value in (result.sketching or {}).items()}
    how = {"memory": memory, "workers": workers, "sketching": sketching}
    collector = Collector(source, stages, kernel.spec, engine, step, how)
    collector.warnings += _protocol_warnings(result)
    with stages.stage(KERNEL):
        start = time.perf_counter()
        raw = gram(source.batch, kernel.spec, features=step, engine=engine, memory=memory, workers=workers, **sketching)
        cosine_and_time = normalize(raw), time.perf_counter() - start
    accuracy = result.mean, result.accuracies
    protocol = _protocol(result, len(record.folds))
    add_classification(collector, cosine_and_time, numbers, classes, record.folds, out_of_fold, accuracy, protocol)
    report = collector.report
    if len(classes) > 2:
        report["calibration_note"] += (
            " The evaluation predicts by one-vs-one voting; probabilities and node contributions come from one-vs-rest "
            "SVMs, as in a trained model."
        )
    by_kernel = zip(record.candidates, record.selection.max(axis=1).tolist(), strict=True)
    folds = "the folds reported" if result.optimistic else f"{record.inner_folds} folds within each training part"
    report["surface"] = score_surface(
        [(c.spec.blocks, c.spec.layers, c.spec.scale, percent(score)) for c, score in by_kernel],
        [(c.blocks, c.layers, c.scale) for c in result.choices],
        f"Accuracy in per cent, the best over jump, normalisation, edge types and C; mean over {folds}.",
        best=max,
    )
    options = [
        ("protocol", protocol),
        ("options tried", format_options(result.grid.to_dict())),
        ("chosen most often", format_options(dict(often.__dict__))),
        ("node features", step.kind_),
        ("seed", str(record.seed)),
        *([("sketch", format_options(result.sketching))] if result.sketching else []),
    ]
    times = {"kernels of the grid": result.kernel_seconds, "SVMs of the grid": result.learning_seconds}
    return collector.finish("classification", command, options, times)


def _protocol(result: Evaluation, folds: int) -> str:
    if result.optimistic:
        return f"{folds} folds; options chosen to maximise the mean over these same folds (du2019: optimistic)"
    return f"{folds} folds, each tested once; options chosen on the training part of each fold only (nested)"


def _protocol_warnings(result: Evaluation) -> list[str]:
    out = []
    if result.optimistic:
        out.append(
            "The protocol du2019 chooses options on the same folds that are reported, so the score is optimistic. For "
            "an unbiased estimate use the protocol nested."
        )
    if result.fits_stopped:
        out.append(
            f"{result.fits_stopped:,} of {result.fits:,} fits stopped at their iteration limit before convergence."
        )
    return out
