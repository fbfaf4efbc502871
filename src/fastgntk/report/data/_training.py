"""What a training found, collected as :class:`Facts`: from predictions that leave each graph out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import memory_budget
from fastgntk._util.threads import Progress
from fastgntk.errors import InputError
from fastgntk.models import TrainingKernel, check_classes, check_targets, class_signs, spread_folds
from fastgntk.pairwise import describe, normalize
from fastgntk.report._schema import Facts, Interval, Other, Score, Surface
from fastgntk.report.data import _cautions as cautions
from fastgntk.report.data._baselines import beside_accuracy, beside_error, published
from fastgntk.report.data._collect import (
    about_reading,
    accuracy_summary,
    add_kernel,
    add_pictures,
    in_percent,
    start_facts,
    surface,
)
from fastgntk.report.data._graphs import graph_facts
from fastgntk.report.data._measures import class_calibration, confusion, coverage
from fastgntk.report.data._source import Source, Stages, in_words, run_rows
from fastgntk.selection import Candidate, LeftOut, machines_left_out, ridge_left_out, ridge_probabilities

__all__ = ["training_facts"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_KERNEL, _FIT, _MAPS, _BESIDE, _SHARES = "kernel", "predictions", "maps", "comparison", "shares of nodes"
_MOST = 8_000  # graphs of which the whole matrix is looked at
_EXACT = 5_000  # graphs up to which coefficients without each of them are found
_INTERVAL = 0.9


def training_facts(
    data: Any,
    model: Any,
    *,
    y: Any = None,
    command: str = "",
    target: str | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Facts:
    """Collect what there is to tell of a fitted model; see :func:`fastgntk.report.report_training`."""
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
    classes = hasattr(model, "classes_")
    stages = Stages(progress, {_KERNEL: 2, _FIT: 3, _MAPS: 3, _BESIDE: 2, _SHARES: 5})
    told = _Training(source, model, stages)
    facts = start_facts(source, command, "classification" if classes else "regression")
    if classes:
        _classification(facts, told, check_classes(y, n))
    else:
        _regression(facts, told, check_targets(y, n), target)
    facts["warnings"] += about_reading(source)
    if told.K is None:
        facts["warnings"].append(
            f"There are too many graphs ({n:,}), or the solver has no kernel matrix, for heat map, maps and neighbours."
        )
    facts["run"] = run_rows(source, told.ready, told.spec, told.options(), told.engine)
    facts["stages"] = [
        *([("training", round(seconds, 3))] if seconds is not None else []),
        *[(f"report: {name}", took) for name, took in stages.seconds],
    ]
    return facts


class _Training:
    """A fitted model with the kernel among its training graphs, where it can be held."""

    def __init__(self, source: Source, model: Any, stages: Stages) -> None:
        self.source, self.model, self.stages = source, model, stages
        rows = model.expansion_.rows
        self.spec, self.engine, self.step = rows.options.spec, str(rows.options.engine), rows.features
        self.normalized, self.unit = bool(rows.options.normalize), 1.0
        self.memory, self.workers = rows.options.memory, rows.options.workers
        self.sketching = dict(rows.options.sketching)
        self.ready = self.step.transform(source.batch)
        self.K: Array | None = None
        self.cosine: Array | None = None
        self.kernel_seconds = 0.0
        n = len(source.batch)
        with stages.stage(_KERNEL) as tell:
            if rows.keeps_graphs and n <= _MOST and 4 * 8 * n**2 <= memory_budget(self.memory):
                start = time.perf_counter()
                kernel = TrainingKernel(source.batch, rows.options, tell)
                self.K = kernel.full()
                self.kernel_seconds = time.perf_counter() - start
                self.unit = 1.0 if self.normalized else float(rows.unit)
                if self.unit != kernel.unit:  # graphs counted by weights when the model was fitted
                    self.K = self.K * (kernel.unit / self.unit)
                self.cosine = self.K if self.normalized else normalize(self.K)

    @property
    def kernel(self) -> Candidate:
        """The kernel of the model."""
        return Candidate(self.spec, self.normalized)

    @property
    def seed(self) -> int:
        """The seed of the model's folds."""
        return int(self.model._seed())

    def chosen(self, name: str) -> Any:
        """Return C or ridge: as it was chosen, or as it was given."""
        params = getattr(self.model, "best_params_", {})
        return params[name] if name in params else getattr(self.model, name)

    def options(self) -> list[tuple[str, str]]:
        """Return lines about the model."""
        model = self.model
        params = getattr(model, "best_params_", None)
        if params is None:
            known = model.get_params()
            names = ("blocks", "layers", "scale", "jump", "edges", "normalize", "method", "C", "ridge")
            params = {name: known[name] for name in names if name in known}
        shown = {name: value for name, value in params.items() if name != "c_phi"}
        tried = getattr(model, "grid", None)
        return [
            ("options" if not hasattr(model, "best_params_") else "options chosen", in_words(shown)),
            *([("options tried", in_words(tried.to_dict()))] if tried is not None else []),
            ("solver", str(model.solver_)),
            ("node features", str(self.step.kind_)),
            ("seed", str(self.seed)),
        ]

    def pictures(self, facts: Facts, numbers: Ints | None, classes: Sequence[str], y: Array | None) -> list[str]:
        """Add heat map and maps, and return what the spectrum tells."""
        with self.stages.stage(_MAPS):
            if self.cosine is None:
                return []
            found = add_pictures(facts, self.cosine, numbers, classes, y)
        return cautions.about_spectrum(found, len(self.source.batch))

    def surface(self, chosen_scores: Any, note: str, best: Any) -> Surface | None:
        """Return what kernels of a single depth scored, where a search kept that."""
        results = getattr(self.model, "cv_results_", None)
        if results is None:
            return None
        scored = [
            (p["blocks"], p["layers"], p["scale"], chosen_scores(score))
            for p, score in zip(results["params"], results["score"], strict=True)
            if isinstance(p["jump"], bool)
        ]
        picked = (self.spec.blocks, self.spec.layers, str(self.spec.scale))
        return surface(scored, [picked], note, best)

    def graphs(self, facts: Facts, left_out: LeftOut, truth: Any, said: Any, wrong: NDArray[np.bool_]) -> list[str]:
        """Add what is told of each graph, and return what was left out."""
        with self.stages.stage(_SHARES) as tell:
            facts["graphs"], facts["node_labels"], missing = graph_facts(
                self.source,
                left_out,
                truth,
                said,
                wrong,
                progress=tell,
                features=self.step,
                memory=self.memory,
                workers=self.workers,
                sketching=self.sketching,
            )
        return missing


def _classification(facts: Facts, told: _Training, labels: NDArray[Any]) -> None:
    model, source = told.model, told.source
    numbers = np.searchsorted(model.classes_, labels).astype(np.int64)
    if np.any(numbers >= len(model.classes_)) or np.any(model.classes_[numbers] != labels):
        raise InputError("y holds classes that the model does not know; pass the classes that it was fitted on.")
    classes = [str(value) for value in model.classes_.tolist()]
    machines = model.solver_ == "svc"
    splits = spread_folds(numbers, told.seed)
    with told.stages.stage(_FIT):
        left_out = _classes_left_out(told, numbers, machines)
    about_kernel = told.pictures(facts, numbers, classes, None)
    with told.stages.stage(_BESIDE):
        others = [*published(source.name), *beside_accuracy(source.batch, numbers, splits)]
        add_kernel(facts, told.ready, told.spec, told.kernel_seconds, told.workers, sketched=bool(told.sketching))
        equal = describe(source.batch, numbers, features=told.step)
    right = left_out.said == numbers
    by_fold = [in_percent(np.mean(right[test])) for _, test in splits] if machines else []
    searched = hasattr(model, "best_params_")
    optimism = "; a little optimistic, since options were chosen on the same graphs" if searched else ""
    how = f"{len(splits)} folds of the training graphs" if machines else "leave-one-out on the training graphs"
    facts["score"] = Score(
        name="accuracy",
        unit="%",
        mean=in_percent(np.mean(right)),
        folds=by_fold,
        lower_is_better=False,
        beside=others,
        protocol=how + optimism,
    )
    if by_fold:
        facts["score"]["std"] = round(float(np.std(by_fold)), 3)
    facts["classes"], facts["confusion"] = classes, confusion(numbers, left_out.said, len(classes))
    calibration: list[Any] = []
    if left_out.probabilities is not None:
        calibration, facts["calibration_note"] = class_calibration(left_out.probabilities, numbers)
        facts["calibration"] = calibration
    note = (
        "Accuracy in per cent (leave-one-out of ridge regression on the classes, up to one graph), the best over jump, "
        "normalisation and ridge, on the graphs of the first comparison."
    )
    found = told.surface(lambda score: in_percent(max(0.0, 1.0 - score)), note, max)
    if found is not None:
        facts["surface"] = found
    missing = told.graphs(facts, left_out, numbers.tolist(), left_out.said.tolist(), ~right)
    facts["warnings"] = [
        *cautions.about_baselines(facts["score"]["mean"], others, lower_is_better=False, unit="%"),
        *cautions.about_equal_graphs(equal.equal_typed if told.spec.typed else equal.equal, len(numbers)),
        *cautions.about_classes(numbers, classes, len(splits)),
        *cautions.about_calibration(calibration),
        *about_kernel,
        *missing,
    ]
    facts["summary"] = accuracy_summary(facts["score"], others, len(classes))


def _classes_left_out(told: _Training, numbers: Ints, machines: bool) -> LeftOut:
    model = told.model
    balanced = model.class_weight == "balanced"
    if machines:
        if told.K is None or told.cosine is None:
            raise InputError(
                f"a report on support vector machines needs the kernel matrix of {len(numbers):,} graphs four times in "
                f"memory, and takes at most {_MOST:,} graphs; train with method='ridge', or without a report."
            )
        how = {"unit": told.unit, "balanced": balanced, "workers": told.workers}
        C = float(told.chosen("C"))
        return machines_left_out(told.K, told.cosine, numbers, told.kernel, told.engine, C, told.seed, **how)
    signs = class_signs(numbers, len(model.classes_))
    weights = model._ridge_weights(numbers, None)
    mean = np.average(signs, axis=0, weights=weights)
    left_out = model.left_out_
    exact = told.K if model.solver_ in ("cholesky", "eigen") and len(numbers) <= _EXACT else None
    probabilities = ridge_probabilities(left_out, numbers, told.seed) if model.probability else None
    ridge = float(told.chosen("ridge")) / (np.ones(len(numbers)) if weights is None else weights)
    return ridge_left_out(
        exact,
        told.cosine,
        signs,
        mean,
        left_out,
        ridge,
        told.kernel,
        told.engine,
        classes=True,
        unit=told.unit,
        probabilities=probabilities,
    )


def _regression(facts: Facts, told: _Training, values: Array, target: str | None) -> None:
    model, source, solution = told.model, told.source, told.model.solution_
    y = values if values.ndim == 1 else values[:, 0]
    names = source.targets or ((target,) if target else ("target",))
    scale = float(model.target_scale_[0])
    residuals = solution.leave_one_out[:, 0] * scale
    if len(residuals) != len(y):
        raise InputError("y is not what the model was fitted on; pass the targets of the training graphs.")
    with told.stages.stage(_FIT):
        predicted = y - residuals
        exact = told.K if solution.solver in ("cholesky", "eigen") and len(y) <= _EXACT else None
        left_out = ridge_left_out(
            exact,
            told.cosine,
            y[:, None],
            np.array([y.mean()]),
            predicted[:, None],
            solution.ridge + solution.jitter,
            told.kernel,
            told.engine,
            classes=False,
            unit=told.unit,
        )
    deviations = np.sqrt(solution.leave_one_out_variance * solution.scale2[0]) * scale
    factor = float(model.intervals_.factor[0]) if model.calibrate else 1.0
    half = float(model.intervals_.width(_INTERVAL)[0]) * deviations
    about_kernel = told.pictures(facts, None, [], y)
    with told.stages.stage(_BESIDE):
        others = beside_error(source.batch, y)
        add_kernel(facts, told.ready, told.spec, told.kernel_seconds, told.workers, sketched=bool(told.sketching))
        equal = describe(source.batch, y, features=told.step)
    error = float(np.sqrt(np.mean(residuals**2)))
    searched = hasattr(model, "best_params_")
    facts["score"] = Score(
        name="root mean squared error",
        unit="",
        mean=_digits(error),
        folds=[],
        lower_is_better=True,
        beside=others,
        protocol="leave-one-out on the training graphs"
        + ("; a little optimistic, since options were chosen on the same graphs" if searched else ""),
    )
    facts["target"] = names[0]
    facts["calibration"], facts["calibration_note"] = coverage(residuals, factor * deviations)
    note = (
        "Root mean squared error of leave-one-out, the best over jump, normalisation and ridge, on the graphs of the "
        "first comparison."
    )
    if getattr(model, "criterion", "") == "leave_one_out":
        spread = float(np.std(y))
        found = told.surface(lambda score: _digits(float(np.sqrt(max(score, 0.0))) * spread), note, min)
        if found is not None:
            facts["surface"] = found
    said = [
        Interval(mean=_digits(m), low=_digits(m - h), high=_digits(m + h))
        for m, h in zip(predicted.tolist(), half.tolist(), strict=True)
    ]
    outside = np.abs(residuals) > half
    missing = told.graphs(facts, left_out, [_digits(v) for v in y.tolist()], said, outside)
    several = [] if values.ndim == 1 else [f"There are {values.shape[1]} targets; the report is about {names[0]}."]
    facts["warnings"] = [
        *several,
        *cautions.about_baselines(facts["score"]["mean"], others, lower_is_better=True, unit=""),
        *cautions.about_equal_graphs(equal.equal_typed if told.spec.typed else equal.equal, len(y)),
        *cautions.about_calibration(facts["calibration"]),
        *about_kernel,
        *missing,
    ]
    facts["summary"] = _error_summary(names[0], error, others, y)


def _error_summary(target: str, error: float, others: Sequence[Other], y: Array) -> str:
    text = f"Predictions of {target} for graphs that the model had not seen are off by {error:.3g} (root mean square)"
    text += f", where targets lie between {y.min():.3g} and {y.max():.3g}."
    if others:
        told = ", ".join(f"{other['name']} {other['mean']:.3g}" for other in others)
        text += f" For comparison: {told}."
    return text


def _digits(value: float) -> float:
    """Round to five digits."""
    return float(f"{value:.5g}")
