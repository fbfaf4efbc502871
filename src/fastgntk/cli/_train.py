"""``fastgntk train``: a model in a file."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fastgntk import __version__
from fastgntk._util.files import check_place
from fastgntk._util.text import format_bytes, format_duration
from fastgntk.cli._console import progress_bar, show_log
from fastgntk.cli._data import graph_name, load_data, skipped_rows
from fastgntk.cli._groups import OptionGroup, option, with_groups
from fastgntk.cli._inputs import Inputs
from fastgntk.cli._lists import parse_floats
from fastgntk.cli._options import CandidateOptions, ComputeOptions, ReportOutput, SketchOptions, random_state_option
from fastgntk.cli._report import write_report
from fastgntk.cli._task import Task, check_targets, find_task
from fastgntk.datasets import MoleculeTable
from fastgntk.errors import InputError, some
from fastgntk.kernels import GNTK, Kernel

__all__ = ["ModelOptions", "train"]


@dataclass(frozen=True)
class ModelOptions(OptionGroup):
    """The model to fit, besides its kernel."""

    panel = "Model"

    task: str = option(
        "auto", help="regression, classification, or auto: text and whole numbers of few values are classes."
    )
    method: str | None = option(None, help="Classification by svm or ridge.", show_default="svm")
    depth: str = option("best", help="best: one depth; mix: a weighted sum of all depths.")
    alphas: str | None = option(
        None, help="Values of alpha, in units of the kernel's mean self-similarity.", show_default="1e-8 to 10"
    )
    solver: str = option(
        "auto", help="Solver of ridge regression: cholesky, eigen, nystrom, sketched, cg, features or auto."
    )
    n_components: int | None = option(None, help="Landmarks, rows or features of the approximate solvers.")
    random_state: int = random_state_option(0, "folds, samples, landmarks and the sketch")

    def check(self, task: Task, c: str | None) -> None:
        """Refuse options that do not fit the task, and unknown names."""
        from fastgntk.solvers import SOLVER_NAMES

        given = [name for name, value in (("--method (svm or ridge)", self.method), ("--c", c)) if value is not None]
        if task.kind == "regression" and given:
            learned = ", ".join(task.names)
            raise InputError(
                f"{given[0]} is for classification, but {learned!r} is learned by regression; leave it out."
            )
        if self.method not in (None, "svm", "ridge"):
            raise InputError(f"--method must be svm or ridge, but is {self.method!r}.")
        if not 0 <= self.random_state < 2**32:
            raise InputError(f"--random-state must lie in 0..{2**32 - 1}, but is {self.random_state}.")
        if self.solver not in SOLVER_NAMES:
            raise InputError(f"--solver must be one of {', '.join(SOLVER_NAMES)}, but is {self.solver!r}.")

    def estimator(self, task: Task, candidates: Any) -> Any:
        """Return the estimator that chooses among candidates, before it is fitted."""
        from fastgntk import selection

        options: dict[str, Any] = {
            "search": selection.Search(depth=self.depth),
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
    file: Annotated[Path, typer.Option("--output", "-o", metavar="NAME.fgntk", help="Where to write the model.")],
    options: ModelOptions,
    kernels: CandidateOptions,
    sketch: SketchOptions,
    compute: ComputeOptions,
    output: ReportOutput,
) -> None:
    """Fit a model to DATA, with the kernel chosen from candidates, and write it to a file."""
    check_place(file, "--output", ".fgntk")
    output.check()
    from fastgntk import selection  # scikit-learn takes a second to load, which --help does not need

    show_log(output.verbose)
    dataset = load_data(inputs, quiet=output.json)
    check_targets(dataset, inputs)
    task = find_task(dataset, options.task)
    options.check(task, kernels.c)
    model = options.estimator(task, kernels.build(selection.Grid.full(), sketch, options.random_state))
    start = time.perf_counter()
    with progress_bar("training", quiet=output.json) as bar:
        model.set_params(compute=compute.build(bar)).fit(dataset.graphs, task.y)
    took = time.perf_counter() - start
    model.annotate(
        [graph_name(dataset, i) for i in range(len(dataset))] if model.expansion_.rows.keeps_graphs else None,
        data=dataset.name,
        targets=task.names,
        molecules=isinstance(dataset, MoleculeTable),
        smiles=inputs.smiles,
        inputs=inputs.to_model(),
        version=__version__,
    )
    model.save(file)
    record = {"model": str(file), "bytes": file.stat().st_size, "dataset": dataset.name, "version": __version__}
    record |= {"skipped_rows": skipped_rows(dataset), "seconds": took, **_outcome(model, task)}
    rows = _rows(record, model.best_params_["kernel"])
    output.show(record | output.report_record(), f"fastgntk train {dataset.name}", rows)
    if output.report is not None:
        from fastgntk.report import report_training

        facts = {"y": task.y, "target": task.names[0], "seconds": took}
        write_report(output, compute, report_training, dataset, model, **facts)


def _outcome(model: Any, task: Task) -> dict[str, Any]:
    """Return what was chosen, and how good the model is as far as the training graphs show."""
    found: dict[str, Any] = {
        "task": task.kind,
        "targets": task.names,
        "graphs": model.n_graphs_,
        "equal_graphs": model.n_equal_graphs_,
        "params": model.best_params_ | {"kernel": repr(model.best_params_["kernel"])},
        "solver": model.solver_,
    }
    if task.kind == "classification":
        return found | {"classes": model.classes_.tolist(), "accuracy": float(model.best_score_)}
    residuals = model.solution_.leave_one_out * model.target_scale_
    likelihood = np.atleast_1d(model.log_marginal_likelihood_)
    return found | {
        "leave_one_out_rmse": np.sqrt(np.mean(residuals**2, axis=0)).tolist(),
        "standard_deviation": np.atleast_1d(np.std(task.y, axis=0)).tolist(),
        "calibration": model.intervals_.factor.tolist(),
        "log_marginal_likelihood": [float(v) if np.isfinite(v) else None for v in likelihood],
    }


def _rows(record: dict[str, Any], kernel: Kernel) -> list[tuple[str, str]]:
    rows = [("written", f"{record['model']}, {format_bytes(record['bytes'])}")]
    rows += _class_rows(record) if record["task"] == "classification" else _error_rows(record)
    rows.append(("data", f"{record['dataset']}, {record['graphs']:,} graphs"))
    if record["equal_graphs"]:
        rows.append(("equal graphs", f"the kernel cannot distinguish {record['equal_graphs']:,} from an earlier one"))
    if record["skipped_rows"]:
        rows.append(("skipped", f"{some('row', record['skipped_rows'], 10)}, whose SMILES cannot be read"))
    rows += _kernel_rows(kernel)
    rows += [(name, f"{value:g}") for name, value in record["params"].items() if name in ("alpha", "C")]
    return [*rows, ("solver", record["solver"]), ("time", format_duration(record["seconds"]))]


def _class_rows(record: dict[str, Any]) -> list[tuple[str, str]]:
    classes = record["classes"]
    quantities = isinstance(classes[0], int) and len(classes) > 2
    hint = "  (--task regression if these are quantities)" if quantities else ""
    how = "over five folds of" if record["params"]["method"] == "svm" else "leave-one-out on"
    caution = f"{how} the training graphs; slightly optimistic, since it was also used to choose"
    return [
        ("task", f"classification, {len(classes)} classes: {', '.join(map(str, classes[:8]))}{hint}"),
        ("accuracy", f"{100 * record['accuracy']:.1f} %  ({caution})"),
    ]


def _error_rows(record: dict[str, Any]) -> list[tuple[str, str]]:
    names, errors, spreads = record["targets"], record["leave_one_out_rmse"], record["standard_deviation"]
    rows = [("task", f"regression of {', '.join(names)}")]
    for name, error, spread in zip(names, errors, spreads, strict=True):
        label = "error" if len(names) == 1 else f"error of {name}"
        compared = f"leave-one-out RMSE; the standard deviation of the targets is {spread:.3g}"
        rows.append((label, f"{error:.3g}  ({compared})"))
    return rows


def _kernel_rows(kernel: Kernel) -> list[tuple[str, str]]:
    """Return the kernel, and the weights of a mix of depths as percentages in a row of their own."""
    rows = [("kernel", repr(kernel))]
    for leaf in (leaf for leaf in kernel.leaves() if isinstance(leaf, GNTK) and isinstance(leaf.jump, tuple)):
        weights = " ".join(f"{weight / sum(leaf.level_weights):.0%}" for weight in leaf.level_weights)
        rows.append(("mix of levels", f"0 to {leaf.blocks}: {weights}"))
    return rows
