"""``fastgntk train``: fit a classifier or a regressor, and write it to a file."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastgntk import __version__
from fastgntk._util.files import check_output_path
from fastgntk._util.text import format_bytes, format_duration
from fastgntk.cli._console import configure_logging, plural, progress_bar
from fastgntk.cli._inputs import (
    Inputs,
    check_graphs,
    check_targets,
    graph_name,
    load_data,
    skipped_rows,
    warn_unused_descriptors,
)
from fastgntk.cli._option_groups import REQUIRED, OptionGroup, option, random_state_option, with_groups
from fastgntk.cli._options import (
    CandidateOptions,
    ComputeOptions,
    ReportOutput,
    SketchOptions,
    candidate_kernels,
    parse_floats,
)
from fastgntk.datasets import Dataset, MoleculeTable, NamedDataset
from fastgntk.errors import InputError, format_numbers
from fastgntk.kernels import Kernel, Network
from fastgntk.report import report_training
from fastgntk.solvers import SOLVER_NAMES

__all__ = ["ModelOptions", "train"]

_FEW_CLASSES = 10  # integers with at most this many distinct values are treated as classes


@dataclass(frozen=True, eq=False)
class _Task:
    kind: Literal["regression", "classification"]
    y: NDArray[Any]
    names: list[str]  # names of the targets


@dataclass(frozen=True)
class ModelOptions(OptionGroup):
    """The model to fit, besides its kernel."""

    panel = "Model"

    task: str = option(
        "regression, classification, or auto: text and integers with few distinct values are classes.", "auto"
    )
    method: str | None = option("Classification by svm or ridge.", show_default="svm")
    depth: str = option("best: one depth; mix: a weighted sum of all depths.", "best")
    alphas: str | None = option(
        "Values of alpha, in units of the mean of the kernel's diagonal.", show_default="1e-8 to 10"
    )
    solver: str = option(
        "Solver of ridge regression: cholesky, eigen, nystrom, sketched, cg, features or auto.", "auto"
    )
    n_components: int | None = option("Landmarks, rows or features of the approximate solvers.")
    random_state: int = random_state_option("folds, samples, landmarks and the sketch")

    def check(self, task: _Task, c: str | None) -> None:
        """Reject options that do not fit the task, and unknown names."""
        for name, value in (("--method (svm or ridge)", self.method), ("--c", c)):
            if task.kind == "regression" and value is not None:
                targets = ", ".join(task.names)
                raise InputError(
                    f"{name} is for classification, but {targets!r} is learned by regression; leave it out."
                )
        if self.method not in (None, "svm", "ridge"):
            raise InputError(f"--method must be svm or ridge, but is {self.method!r}.")
        if self.depth not in ("best", "mix"):
            raise InputError(f"--depth must be best or mix, but is {self.depth!r}.")
        if not 0 <= self.random_state < 2**32:
            raise InputError(f"--random-state must lie in 0..{2**32 - 1}, but is {self.random_state}.")
        if self.solver not in SOLVER_NAMES:
            raise InputError(f"--solver must be one of {', '.join(SOLVER_NAMES)}, but is {self.solver!r}.")

    def make_estimator(self, task: _Task, candidates: Any) -> Any:
        """Return the estimator that chooses among candidates, before it is fitted."""
        from fastgntk import selection

        options: dict[str, Any] = {
            "search": selection.Search(depth_mode=self.depth),
            "alphas": None if self.alphas is None else parse_floats(self.alphas, "--alphas"),
            "solver": self.solver,
            "n_components": self.n_components,
            "random_state": self.random_state,
        }
        if task.kind == "regression":
            return selection.GraphRegressorCV(candidates, **options)
        return selection.GraphClassifierCV(candidates, self.method or "svm", **options)


@with_groups
def train(
    *,
    inputs: Inputs,
    file: Path = option("Where to write the model.", REQUIRED, "--output", "-o", metavar="NAME.fgntk"),
    options: ModelOptions,
    kernels: CandidateOptions,
    sketch: SketchOptions,
    compute: ComputeOptions,
    output: ReportOutput,
) -> None:
    """Fit a model to DATA, with the kernel chosen from candidates, and write it to a file."""
    check_output_path(file, "--output", ".fgntk")
    output.check()
    from fastgntk import selection  # scikit-learn takes a second to load, which --help does not need

    configure_logging(output.verbose)
    dataset = load_data(inputs, quiet=output.json)
    check_targets(dataset, inputs)
    task = _find_task(dataset, options.task)
    options.check(task, kernels.c)
    with_descriptors = bool(dataset.graphs.descriptors) and kernels.kernel != ["gntk"]
    grid = selection.Grid.full(descriptors=with_descriptors)
    candidates = kernels.build(grid, sketch, options.random_state, dataset.graphs)
    check_graphs(dataset, candidate_kernels(candidates))
    model = options.make_estimator(task, candidates)
    start = time.perf_counter()
    with progress_bar("training", quiet=output.json) as bar:
        model.set_params(compute=compute.build(bar)).fit(dataset.graphs, task.y)
    seconds = time.perf_counter() - start
    warn_unused_descriptors(dataset, candidate_kernels(candidates))  # now, so that an error is alone
    model.annotate(
        [graph_name(dataset, i) for i in range(len(dataset))] if model.expansion_.basis.keeps_graphs else None,
        data=dataset.name,
        targets=task.names,
        molecules=isinstance(dataset, MoleculeTable),
        smiles=inputs.smiles,
        inputs=inputs.to_model(model.best_params_["kernel"]),
        version=__version__,
    )
    model.save(file)
    record = {"model": str(file), "bytes": file.stat().st_size, "dataset": dataset.name, "version": __version__}
    record |= {"skipped_rows": skipped_rows(dataset), "seconds": seconds, **_collect_results(model, task)}
    rows = _format_rows(record, model.best_params_["kernel"], [each["kernel"] for each in model.cv_results_["params"]])
    output.show(record | output.report_record(), f"fastgntk train {dataset.name}", rows)
    output.write_report(report_training, compute, dataset, model, y=task.y, target=task.names[0], seconds=seconds)


def _find_task(dataset: Dataset, requested: str) -> _Task:
    """Return the task, with targets of its kind; reject targets from which nothing can be learned.

    Text is classes, and so are integers with few distinct values; other numbers are regression.
    """
    if requested not in ("auto", "regression", "classification"):
        raise InputError(f"--task must be auto, regression or classification, but is {requested!r}.")
    assert dataset.y is not None
    names = list(dataset.targets) if isinstance(dataset, MoleculeTable | NamedDataset) else ["y"]
    column, y = ", ".join(names), dataset.y
    distinct = len(np.unique(y, axis=0))
    if y.dtype.kind == "U":
        _check_text(dataset, y, requested, column)
        is_class = True
    else:
        whole = bool(np.array_equal(y, np.rint(y)))
        few_values = y.ndim == 1 and whole and distinct <= _FEW_CLASSES
        is_class = requested == "classification" or (requested == "auto" and few_values)
        if is_class and (y.ndim != 1 or not whole):
            problem = "several targets" if y.ndim != 1 else f"numbers that are not whole in column {column!r}"
            raise InputError(f"classification needs one column of classes, but DATA has {problem}.")
        y = y.astype(int if is_class else float)
    if is_class and distinct == len(y) > 2:
        raise InputError(
            f"column {column!r} has a different class for each of the {len(y)} graphs; name a column with classes, or "
            "pass --task regression if it holds numbers."
        )
    if not is_class and distinct == 1:
        raise InputError(f"all targets in column {column!r} are {y.ravel()[0]:g}; there is nothing to learn.")
    return _Task("classification" if is_class else "regression", y, names)


def _check_text(dataset: Dataset, y: NDArray[np.str_], requested: str, column: str) -> None:
    """Reject text that is probably meant as numbers: for regression, or if it has decimals or is mostly numbers."""
    values = np.array([_parse_number(text) for text in y.ravel().tolist()])
    rows = dataset.rows if isinstance(dataset, MoleculeTable) else np.arange(1, len(values) + 1)
    is_word = np.isnan(values)
    has_decimals = bool(np.any(values[~is_word] != np.rint(values[~is_word])))
    looks_numeric = len(np.unique(y)) > _FEW_CLASSES and is_word.mean() < 0.5
    if requested == "regression" or (requested == "auto" and (has_decimals or looks_numeric)):
        raise InputError(
            f"column {column!r} has text where numbers are needed, in "
            f"{format_numbers('row', rows[is_word].tolist())}; correct it, or pass --task classification if these are "
            "classes."
        )


def _parse_number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return np.nan
    return value if np.isfinite(value) else np.nan


def _collect_results(model: Any, task: _Task) -> dict[str, Any]:
    """Return the chosen parameters, and the accuracy or error as estimated from the training graphs."""
    results: dict[str, Any] = {
        "task": task.kind,
        "targets": task.names,
        "graphs": model.n_graphs_,
        "equal_graphs": model.n_equal_graphs_,
        "params": model.best_params_ | {"kernel": repr(model.best_params_["kernel"])},
        "solver": model.solver_,
    }
    if task.kind == "classification":
        return results | {"classes": model.classes_.tolist(), "accuracy": float(model.best_score_)}
    residuals = model.solution_.leave_one_out * model.target_scale_
    likelihood = np.atleast_1d(model.log_marginal_likelihood_)
    return results | {
        "leave_one_out_rmse": np.sqrt(np.mean(residuals**2, axis=0)).tolist(),
        "standard_deviation": np.atleast_1d(np.std(task.y, axis=0)).tolist(),
        "calibration": model.intervals_.factor.tolist(),
        "log_marginal_likelihood": [float(v) if np.isfinite(v) else None for v in likelihood],
    }


def _format_rows(record: dict[str, Any], kernel: Kernel, tried: Sequence[Kernel]) -> list[tuple[str, str]]:
    """Return the names and values of the printed table."""
    from fastgntk.selection import kernel_family

    rows = [("written", f"{record['model']}, {format_bytes(record['bytes'])}")]
    rows += _format_accuracy(record) if record["task"] == "classification" else _format_errors(record)
    rows.append(("data", f"{record['dataset']}, {record['graphs']:,} graphs"))
    if record["equal_graphs"]:
        rows.append(("equal graphs", f"the kernel cannot distinguish {record['equal_graphs']:,} from an earlier one"))
    if record["skipped_rows"]:
        rows.append(("skipped", f"{format_numbers('row', record['skipped_rows'], 10)}, whose SMILES cannot be read"))
    rows += [("chosen", f"{kernel_family(kernel)}, of {plural(len(tried), 'kernel')} tried"), ("kernel", repr(kernel))]
    for leaf in kernel.leaves():
        if isinstance(leaf, Network) and isinstance(leaf.jump, tuple):  # a mix of depths
            weights = " ".join(f"{weight / sum(leaf.level_weights):.0%}" for weight in leaf.level_weights)
            rows.append(("mix of levels", f"0 to {leaf.blocks}: {weights}"))
    rows += [(name, f"{value:g}") for name, value in record["params"].items() if name in ("alpha", "C")]
    return [*rows, ("solver", record["solver"]), ("time", format_duration(record["seconds"]))]


def _format_accuracy(record: dict[str, Any]) -> list[tuple[str, str]]:
    classes = record["classes"]
    may_be_quantities = isinstance(classes[0], int) and len(classes) > 2
    hint = "  (--task regression if these are quantities)" if may_be_quantities else ""
    estimate = "over five folds of" if record["params"]["method"] == "svm" else "leave-one-out on"
    caution = f"{estimate} the training graphs; slightly optimistic, since it was also used to choose"
    return [
        ("task", f"classification, {len(classes)} classes: {', '.join(map(str, classes[:8]))}{hint}"),
        ("accuracy", f"{100 * record['accuracy']:.1f} %  ({caution})"),
    ]


def _format_errors(record: dict[str, Any]) -> list[tuple[str, str]]:
    names, errors, stds = record["targets"], record["leave_one_out_rmse"], record["standard_deviation"]
    rows = [("task", f"regression of {', '.join(names)}")]
    for name, error, std in zip(names, errors, stds, strict=True):
        label = "error" if len(names) == 1 else f"error of {name}"
        comparison = f"leave-one-out RMSE; the standard deviation of the targets is {std:.3g}"
        rows.append((label, f"{error:.3g}  ({comparison})"))
    return rows
