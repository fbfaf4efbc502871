"""Collect the report data of a fitted model, from out-of-fold predictions of its training graphs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError
from fastgntk.models import check_classes, check_targets, class_signs, spread_folds
from fastgntk.pairwise import Compute, check_compute
from fastgntk.report._schema import Interval, Kind, ReportData, Score
from fastgntk.report.data._baselines import baseline_text, regression_baselines
from fastgntk.report.data._classification import add_classification
from fastgntk.report.data._collector import BASELINES, PREDICTIONS, Stages
from fastgntk.report.data._fitted_model import MAX_GRAPHS, FittedModel
from fastgntk.report.data._graphs import Source
from fastgntk.report.data._heat_map import order_by_cluster
from fastgntk.report.data._metrics import coverage, five_digits, percent
from fastgntk.selection import OutOfFold, ridge_out_of_fold, ridge_probabilities, svm_out_of_fold

__all__ = ["training_data"]


_INTERVAL = 0.9  # coverage of the intervals shown
_LEAVE_ONE_OUT = "leave-one-out on the training graphs"


def training_data(
    data: Any,
    model: Any,
    *,
    y: Any = None,
    command: str = "",
    target: str | None = None,
    seconds: float | None = None,
    compute: Compute | None = None,
) -> ReportData:
    """Collect the report data of a fitted model; see :func:`fastgntk.report.report_training`."""
    source = Source.of(data)
    n = len(source.batch)
    if not hasattr(model, "expansion_"):
        raise InputError("the model is not fitted; call fit first.")
    if n != model.n_graphs_:
        raise InputError(
            f"the model was fitted on {model.n_graphs_} graphs, but data has {n}; pass the graphs that it was fitted "
            "on."
        )
    y = getattr(data, "y", None) if y is None else y
    progress = None if compute is None else check_compute(compute).progress
    fitted = FittedModel(source, model, Stages(progress), compute)
    kind: Kind = "classification" if hasattr(model, "classes_") else "regression"
    if kind == "classification":
        _add_classifier(fitted, check_classes(y, n))
    else:
        _add_regressor(fitted, check_targets(y, n), target)
    if fitted.K is None:
        fitted.collector.warnings.append(
            f"No heat map, maps or similar graphs: too many graphs ({n:,}), or the solver has no kernel matrix."
        )
    times = {"training": seconds} if seconds is not None else {}
    return fitted.collector.finish(kind, command, fitted.options(), times)


def _add_classifier(fitted: FittedModel, labels: NDArray[Any]) -> None:
    model, collector = fitted.model, fitted.collector
    numbers = np.searchsorted(model.classes_, labels).astype(np.int64)
    if np.any(numbers >= len(model.classes_)) or np.any(model.classes_[numbers] != labels):
        raise InputError("y holds classes that the model was not fitted on; pass the classes that it was fitted on.")
    classes = [str(value) for value in model.classes_.tolist()]
    splits = spread_folds(numbers, fitted.seed)
    svms = model.solver_ == "svm"
    with collector.stages.stage(PREDICTIONS):
        out_of_fold = _svm_out_of_fold(fitted, numbers) if svms else _ridge_out_of_fold(fitted, numbers)
    right = out_of_fold.predicted == numbers
    accuracy = float(np.mean(right)), [float(np.mean(right[test])) for _, test in splits] if svms else []
    protocol = (f"{len(splits)} folds of the training graphs" if svms else _LEAVE_ONE_OUT) + fitted.optimism
    kernel = fitted.cosine, fitted.kernel_seconds
    add_classification(collector, kernel, numbers, classes, splits, out_of_fold, accuracy, protocol)
    name = "Accuracy in per cent (leave-one-out of ridge regression on the classes, up to one graph)"
    fitted.add_surface(lambda score: percent(max(0.0, 1.0 - score)), name, max)


def _svm_out_of_fold(fitted: FittedModel, numbers: Ints) -> OutOfFold:
    if fitted.K is None or fitted.cosine is None:
        raise InputError(
            f"a report on support vector machines needs the kernel matrix of {len(numbers):,} graphs four times in "
            f"memory, and takes at most {MAX_GRAPHS:,} graphs; train with method='ridge', or without a report."
        )
    balanced = fitted.model.class_weight == "balanced"
    how = {"unit": fitted.unit, "balanced": balanced, "compute": fitted.collector.prepared.compute}
    C = float(fitted.chosen("C"))
    return svm_out_of_fold(fitted.K, fitted.cosine, numbers, fitted.kernel, fitted.engine, C, fitted.seed, **how)


def _ridge_out_of_fold(fitted: FittedModel, numbers: Ints) -> OutOfFold:
    model = fitted.model
    signs = class_signs(numbers, len(model.classes_))
    weights = model._ridge_weights(numbers, None)
    mean = np.average(signs, axis=0, weights=weights)
    values = model.out_of_fold_
    exact = fitted.exact_kernel(model.solver_)
    probabilities = ridge_probabilities(values, numbers, fitted.seed) if model.probability else None
    alpha = float(fitted.chosen("alpha")) / (np.ones(len(numbers)) if weights is None else weights)
    how: dict[str, Any] = {"classes": True, "unit": fitted.unit, "probabilities": probabilities}
    return ridge_out_of_fold(exact, fitted.cosine, signs, mean, values, alpha, fitted.kernel, fitted.engine, **how)


def _add_regressor(fitted: FittedModel, values: Array, target: str | None) -> None:
    model, collector, solution = fitted.model, fitted.collector, fitted.model.solution_
    report, source = collector.report, collector.source
    y = values if values.ndim == 1 else values[:, 0]
    name = report["target"] = (source.targets or (target or "target",))[0]
    if values.ndim > 1:
        collector.warnings.append(f"There are {values.shape[1]} targets; the report covers {name}.")
    scale = float(model.target_scale_[0])
    residuals = solution.leave_one_out[:, 0] * scale
    if len(residuals) != len(y):
        raise InputError("y is not what the model was fitted on; pass the targets of the training graphs.")
    with collector.stages.stage(PREDICTIONS):
        predicted = y - residuals
        exact, mean, ridge = (
            fitted.exact_kernel(solution.solver),
            np.array([y.mean()]),
            solution.ridge + solution.jitter,
        )
        how: dict[str, Any] = {"classes": False, "unit": fitted.unit}
        out_of_fold = ridge_out_of_fold(
            exact, fitted.cosine, y[:, None], mean, predicted[:, None], ridge, fitted.kernel, fitted.engine, **how
        )
    collector.add_kernel(fitted.cosine, fitted.kernel_seconds, lambda cosine, axis: order_by_cluster(cosine, axis, y))
    with collector.stages.stage(BASELINES):
        baselines = regression_baselines(source.batch, y)
    error = float(np.sqrt(np.mean(residuals**2)))
    score = Score(
        name="root mean squared error",
        unit="",
        mean=five_digits(error),
        folds=[],
        lower_is_better=True,
        baselines=baselines,
        protocol=_LEAVE_ONE_OUT + fitted.optimism,
    )
    collector.add_score(score, y)
    report["summary"] = (
        f"Predictions of {name} for unseen graphs have a root mean squared error of {error:.3g}; targets range from "
        f"{y.min():.3g} to {y.max():.3g}.{baseline_text(score)}"
    )
    deviations = np.sqrt(solution.leave_one_out_variance * solution.scale2[0]) * scale
    factor = float(model.intervals_.factor[0]) if model.calibrate else 1.0
    collector.add_calibration(*coverage(residuals, factor * deviations))
    if fitted.searched and model.search.criterion == "leave_one_out":
        spread = float(np.std(y))
        error_name = "Root mean squared error of leave-one-out"
        fitted.add_surface(lambda value: five_digits(float(np.sqrt(max(value, 0.0))) * spread), error_name, min)
    half = float(model.intervals_.width(_INTERVAL)[0]) * deviations
    intervals = [
        Interval(mean=five_digits(mean), low=five_digits(mean - width), high=five_digits(mean + width))
        for mean, width in zip(predicted.tolist(), half.tolist(), strict=True)
    ]
    truth = [five_digits(value) for value in y.tolist()]
    collector.add_graphs(out_of_fold, truth, intervals, np.abs(residuals) > half)
