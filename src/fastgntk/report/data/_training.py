"""Collect the report data of a fitted model, from out-of-fold predictions of its training graphs."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError
from fastgntk.kernels import Kernel, Normalized
from fastgntk.models import (
    KernelBasis,
    TrainingKernel,
    check_classes,
    check_targets,
    class_signs,
    lenient_stratified_folds,
)
from fastgntk.pairwise import Compute, check_compute, normalize, prepare_batch
from fastgntk.report._schema import Interval, Kind, ReportData, Score
from fastgntk.report.data import _scores
from fastgntk.report.data._collector import Collector, StageTimer, format_candidates, format_options
from fastgntk.report.data._graphs import Source
from fastgntk.report.data._kernel_matrix import order_by_cluster
from fastgntk.report.data._scores import five_digits, percent
from fastgntk.selection import KernelMatrix, OutOfFold, ridge_out_of_fold, ridge_probabilities, svm_out_of_fold

__all__ = ["training_data"]

_MAX_GRAPHS = 8_000  # up to which the whole kernel matrix is computed
_EXACT_GRAPHS = 5_000  # up to which leave-one-out coefficients are computed
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
    source = Source.from_data(data)
    n = len(source.batch)
    if not hasattr(model, "expansion_"):
        raise InputError("the model is not fitted; call fit first.")
    if n != model.n_graphs_:
        raise InputError(
            f"the model was fitted on {model.n_graphs_} graphs, but data has {n}; pass the graphs that it was fitted "
            "on."
        )
    y = getattr(data, "y", None) if y is None else y
    fitted = _FittedModel(source, model, compute)
    kind: Kind = "classification" if hasattr(model, "classes_") else "regression"
    if kind == "classification":
        _add_classifier(fitted, check_classes(y, n))
    else:
        _add_regressor(fitted, check_targets(y, n), target)
    if fitted.matrix.K is None:
        fitted.collector.warnings.append(
            f"No heat map, maps or similar graphs: too many graphs ({n:,}), or the solver has no kernel matrix."
        )
    times = {"training": seconds} if seconds is not None else {}
    return fitted.collector.finish(kind, command, fitted.options(), times)


class _FittedModel:
    """A fitted model; its matrix has no values if they are too large or not used by the solver."""

    def __init__(self, source: Source, model: Any, compute: Compute | None) -> None:
        timer = StageTimer(None if compute is None else check_compute(compute).progress)
        self.model = model
        basis = model.expansion_.basis
        kernel = basis.kernel
        silent = (basis.compute if compute is None else compute).with_progress(None)
        # A basis without graphs, or of landmarks only, has no engines for the kernel matrix of all training graphs.
        engines = basis.prepared.engines if isinstance(basis, KernelBasis) else None
        prepared = prepare_batch(source.batch, kernel, silent, dict(basis.features), engines=engines)
        self.collector = Collector(source, timer, prepared)
        engine = " and ".join(dict.fromkeys(prepared.engines))
        self.seed = int(model._seed())
        self.searched = hasattr(model, "best_params_")
        self.optimism = "; slightly optimistic, since options were chosen on the same graphs" if self.searched else ""
        self.matrix = KernelMatrix(kernel, engine, K=None, cosine=None)
        self.kernel_seconds = 0.0
        n = len(source.batch)
        with timer.time("kernel") as progress:
            if basis.keeps_graphs and n <= _MAX_GRAPHS and 4 * 8 * n**2 <= silent.memory_budget:
                start = time.perf_counter()
                training = TrainingKernel(prepared, progress)
                K = training.full()
                self.kernel_seconds = time.perf_counter() - start
                is_cosine = isinstance(kernel, Normalized)
                scale = 1.0 if is_cosine else float(basis.kernel_scale)
                if scale != training.kernel_scale:  # the model was fitted with sample weights
                    K = K * (training.kernel_scale / scale)
                self.matrix = KernelMatrix(kernel, engine, K, K if is_cosine else normalize(K), scale)

    def chosen(self, name: str) -> float:
        """Return C or alpha, as chosen by the search or as passed by the user."""
        params = getattr(self.model, "best_params_", {})
        return float(params[name] if name in params else getattr(self.model, name))

    def leave_one_out(self, solver: str, Y: Array, mean: Array, values: Array, ridge: Any, **options: Any) -> OutOfFold:
        """Return out-of-fold predictions of ridge regression; arguments as in :func:`ridge_out_of_fold`."""
        # Without the kernel matrix there are no leave-one-out coefficients, and so no node contributions.
        is_exact = solver in ("cholesky", "eigen") and len(Y) <= _EXACT_GRAPHS
        matrix = self.matrix if is_exact else replace(self.matrix, K=None)
        return ridge_out_of_fold(matrix, Y, mean, values, ridge, **options)

    def options(self) -> list[tuple[str, str]]:
        """Return names and values of the options."""
        params = getattr(self.model, "best_params_", None)
        if params is None:
            all_params = self.model.get_params(deep=False)
            params = {name: all_params[name] for name in ("kernel", "method", "C", "alpha") if name in all_params}
        return [
            ("options chosen" if self.searched else "options", format_options(params)),
            *([("kernels tried", format_candidates(self._kernels_tried()))] if self.searched else []),
            ("solver", str(self.model.solver_)),
            ("random state", str(self.seed)),
        ]

    def _kernels_tried(self) -> list[Kernel]:
        return [params["kernel"] for params in self.model.cv_results_["params"]]

    def add_surface(self, to_score: Callable[[float], float], name: str, best: Callable[[float, float], float]) -> None:
        """Add the scores of the search, if there was one, over kernels of a single depth."""
        results = getattr(self.model, "cv_results_", None)
        if results is None:
            return
        scored = zip(self._kernels_tried(), map(to_score, results["loss"]), strict=True)
        note = f"{name}, the best over jump, normalisation and alpha, on the graphs of the first comparison."
        if surface := _scores.score_surface(scored, [self.matrix.kernel], note, best):
            self.collector.report["surface"] = surface


def _add_classifier(fitted: _FittedModel, labels: NDArray[Any]) -> None:
    model, collector = fitted.model, fitted.collector
    class_ids = np.searchsorted(model.classes_, labels).astype(np.int64)
    if np.any(class_ids >= len(model.classes_)) or np.any(model.classes_[class_ids] != labels):
        raise InputError("y holds classes that the model was not fitted on; pass the classes that it was fitted on.")
    classes = [str(value) for value in model.classes_.tolist()]
    splits = lenient_stratified_folds(class_ids, fitted.seed)
    is_svm = model.solver_ == "svm"
    with collector.timer.time("out-of-fold predictions"):
        out_of_fold = _svm_out_of_fold(fitted, class_ids) if is_svm else _classes_out_of_fold(fitted, class_ids)
    correct = out_of_fold.predicted == class_ids
    accuracy = float(np.mean(correct)), [float(np.mean(correct[test])) for _, test in splits] if is_svm else []
    protocol = (f"{len(splits)} folds of the training graphs" if is_svm else _LEAVE_ONE_OUT) + fitted.optimism
    kernel = fitted.matrix.cosine, fitted.kernel_seconds
    collector.add_classification(kernel, class_ids, classes, splits, out_of_fold, accuracy, protocol)
    name = "Accuracy in per cent (leave-one-out of ridge regression on the classes, up to one graph)"
    fitted.add_surface(lambda score: percent(max(0.0, 1.0 - score)), name, max)


def _svm_out_of_fold(fitted: _FittedModel, class_ids: Ints) -> OutOfFold:
    if fitted.matrix.K is None:
        raise InputError(
            f"a report on support vector machines needs the kernel matrix of {len(class_ids):,} graphs four times in "
            f"memory, and takes at most {_MAX_GRAPHS:,} graphs; train with method='ridge', or without a report."
        )
    C, balanced = fitted.chosen("C"), fitted.model.class_weight == "balanced"
    compute = fitted.collector.prepared.compute
    return svm_out_of_fold(fitted.matrix, class_ids, C, fitted.seed, balanced=balanced, compute=compute)


def _classes_out_of_fold(fitted: _FittedModel, class_ids: Ints) -> OutOfFold:
    model = fitted.model
    signs = class_signs(class_ids, len(model.classes_))
    weights = model._ridge_weights(class_ids, None)
    mean = np.average(signs, axis=0, weights=weights)
    values = model.out_of_fold_
    probabilities = ridge_probabilities(values, class_ids, fitted.seed) if model.probability else None
    alpha = fitted.chosen("alpha") / (np.ones(len(class_ids)) if weights is None else weights)
    return fitted.leave_one_out(model.solver_, signs, mean, values, alpha, classes=True, probabilities=probabilities)


def _add_regressor(fitted: _FittedModel, values: Array, target: str | None) -> None:
    model, collector, solution = fitted.model, fitted.collector, fitted.model.solution_
    y = values if values.ndim == 1 else values[:, 0]
    name = collector.report["target"] = (collector.source.targets or (target or "target",))[0]
    if values.ndim > 1:
        collector.warnings.append(f"There are {values.shape[1]} targets; the report covers {name}.")
    scale = float(model.target_scale_[0])
    residuals = solution.leave_one_out[:, 0] * scale
    if len(residuals) != len(y):
        raise InputError("y is not what the model was fitted on; pass the targets of the training graphs.")
    with collector.timer.time("out-of-fold predictions"):
        predicted = y - residuals
        ridge, mean = solution.ridge + solution.jitter, np.array([y.mean()])
        out_of_fold = fitted.leave_one_out(solution.solver, y[:, None], mean, predicted[:, None], ridge, classes=False)
    collector.add_kernel(
        fitted.matrix.cosine, fitted.kernel_seconds, lambda cosine, axis: order_by_cluster(cosine, axis, y)
    )
    with collector.timer.time("baselines"):
        baselines = _scores.regression_baselines(collector.source.batch, y)
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
    collector.report["summary"] = (
        f"Predictions of {name} for unseen graphs have a root mean squared error of {error:.3g}; targets range from "
        f"{y.min():.3g} to {y.max():.3g}.{_scores.baseline_text(score)}"
    )
    deviations = np.sqrt(solution.leave_one_out_variance * solution.scale2[0]) * scale
    factor = float(model.intervals_.factor[0]) if model.calibrate else 1.0
    collector.add_calibration(*_scores.coverage(residuals, factor * deviations))
    if fitted.searched and model.search.criterion == "leave_one_out":
        spread = float(np.std(y))
        error_name = "Root mean squared error of leave-one-out"
        fitted.add_surface(lambda value: five_digits(float(np.sqrt(max(value, 0.0))) * spread), error_name, min)
    half_widths = float(model.intervals_.width(_INTERVAL)[0]) * deviations
    intervals = [
        Interval(mean=five_digits(value), low=five_digits(value - half), high=five_digits(value + half))
        for value, half in zip(predicted.tolist(), half_widths.tolist(), strict=True)
    ]
    truth = [five_digits(value) for value in y.tolist()]
    collector.add_graphs(out_of_fold, truth, intervals, np.abs(residuals) > half_widths)
