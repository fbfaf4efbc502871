"""``fastgntk train``: a model in a file."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fastgntk import __version__
from fastgntk._util.text import format_bytes
from fastgntk.cli import _options as options
from fastgntk.cli._console import key_values, print_json, progress_bar, seconds, verbose
from fastgntk.cli._data import (
    SkipInvalidOption,
    SmilesOption,
    TableArgument,
    check_targets,
    graph_name,
    load_data,
    output_file,
    task_of,
)
from fastgntk.cli._inputs import (
    DirectedOption,
    EdgeLabelsOption,
    EdgeWeightsOption,
    EndsOption,
    GraphOption,
    Inputs,
    NodeFeaturesOption,
    NodeLabelsOption,
    NodesOption,
    TargetsOption,
)
from fastgntk.cli._report import ReportOption, as_typed, check_report, written
from fastgntk.datasets import Dataset, MoleculeTable, NamedDataset
from fastgntk.errors import InputError, some

__all__ = ["train"]


def train(
    data: TableArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the model: NAME.fgntk.")],
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="What to learn: a column of a table, or a graph attribute in JSON; several times for several targets.",
        ),
    ] = None,
    smiles: SmilesOption = None,
    graph: GraphOption = None,
    ends: EndsOption = None,
    nodes: NodesOption = None,
    targets: TargetsOption = None,
    node_labels: NodeLabelsOption = None,
    node_features: NodeFeaturesOption = None,
    edge_labels: EdgeLabelsOption = None,
    edge_weights: EdgeWeightsOption = None,
    directed: DirectedOption = False,
    task: Annotated[
        str,
        typer.Option(help="regression, classification, or auto: text, and whole numbers of few values, are classes."),
    ] = "auto",
    method: Annotated[str | None, typer.Option(help="Classification by svc or ridge.", show_default="svc")] = None,
    depth: Annotated[str, typer.Option(help="best single depth, or mix of depths.")] = "best",
    blocks: options.BlocksOption = None,
    layers: options.LayersOption = None,
    scale: options.ScaleOption = None,
    jump: options.JumpOption = None,
    normalize: options.NormalizeOption = None,
    edges: options.EdgesOption = None,
    c: options.COption = None,
    ridges: Annotated[
        str | None,
        typer.Option(help="Ridges to try, in units of the kernel's mean self-similarity.", show_default="1e-8 to 10"),
    ] = None,
    solver: Annotated[
        str,
        typer.Option(
            help="How to solve ridge regression: cholesky, eigen, nystrom, sketched, cg, features, or auto: by the "
            "number of graphs and the memory."
        ),
    ] = "auto",
    rank: Annotated[int | None, typer.Option(help="Landmarks, rows or features of the approximate solvers.")] = None,
    skip_invalid: SkipInvalidOption = False,
    features: options.FeaturesOption = "auto",
    memory: options.MemoryOption = None,
    workers: options.WorkersOption = None,
    seed: Annotated[int, typer.Option(help="Seed of folds, samples and landmarks.")] = 0,
    report: ReportOption = None,
    json: options.JsonOption = False,
    chatty: options.VerboseOption = False,
) -> None:
    """Learn from DATA, with the kernel and its options chosen, and write a model file, whole or not at all."""
    output_file(output, ".fgntk")
    check_report(report)
    from fastgntk import selection  # scikit-learn takes a second, which --help need not wait for
    from fastgntk.solvers import SOLVER_NAMES

    verbose(chatty)
    inputs = Inputs(graph, ends, nodes, targets, node_labels, node_features, edge_labels, edge_weights, directed)
    dataset = load_data(data, smiles=smiles, target=target, skip_invalid=skip_invalid, inputs=inputs, quiet=json)
    check_targets(dataset, data, inputs)
    learned = list(dataset.targets) if isinstance(dataset, MoleculeTable | NamedDataset) else ["y"]
    column = ", ".join(learned)
    kind, y = task_of(dataset, task, column)
    if kind == "regression":
        for option, asked in (("--method (svc or ridge)", method), ("--c", c)):
            if asked is not None:
                raise InputError(
                    f"{option} is for classification, but {column!r} is learned by regression; leave it out."
                )
    elif method not in (None, "svc", "ridge"):
        raise InputError(f"--method must be svc or ridge, but is {method!r}.")
    if not 0 <= seed < 2**32:
        raise InputError(f"--seed must lie in 0..{2**32 - 1}, but is {seed}.")
    if solver not in SOLVER_NAMES:
        raise InputError(f"--solver must be one of {', '.join(SOLVER_NAMES)}, but is {solver!r}.")
    grid = replace(selection.Grid.full(), **options.grid_options(blocks, layers, scale, jump, normalize, c, edges))
    how: dict[str, Any] = {
        "depth": depth,
        "ridges": None if ridges is None else options.parse_floats(ridges, "--ridges"),
        "solver": solver,
        "rank": rank,
        "features": features,
        "memory": memory,
        "workers": workers,
        "random_state": seed,
    }
    start = time.perf_counter()
    with progress_bar("training", quiet=json) as bar:
        if kind == "regression":
            model: Any = selection.GNTKRegressorCV(grid, progress=bar, **how).fit(dataset.graphs, y)
        else:
            model = selection.GNTKClassifierCV(grid, method=method or "svc", progress=bar, **how).fit(dataset.graphs, y)
    took = time.perf_counter() - start
    model.name(
        [graph_name(dataset, i) for i in range(len(dataset))] if model.expansion_.rows.keeps_graphs else None,
        data=dataset.name,
        targets=learned,
        molecules=isinstance(dataset, MoleculeTable),
        smiles=smiles,
        inputs=inputs.to_remember(),
        version=__version__,
    )
    model.save(output)
    record = {
        "model": str(output),
        "bytes": output.stat().st_size,
        "dataset": dataset.name,
        "version": __version__,
        "task": kind,
        "targets": learned,
        "graphs": len(dataset),
        "equal_graphs": model.n_equal_graphs_,
        "skipped_rows": list(dataset.skipped) if isinstance(dataset, MoleculeTable) else [],
        "params": model.best_params_,
        "solver": model.solver_,
        "seconds": took,
        **_outcome(model, kind, y),
        **({} if report is None else {"report": str(report)}),
    }
    if json:
        print_json(record)
    else:
        _show(record, dataset)
    if report is not None:  # the model is written before, whatever becomes of the page
        from fastgntk.report import report_training

        with written(report, quiet=json) as bar:
            report_training(
                report, dataset, model, y=y, command=as_typed(), target=learned[0], seconds=took, progress=bar
            )


def _outcome(model: Any, kind: str, y: Any) -> dict[str, Any]:
    """Return how good the model is, as far as the training graphs can tell."""
    if kind == "classification":
        return {"classes": model.classes_.tolist(), "accuracy": float(model.best_score_)}
    residuals = model.solution_.leave_one_out * model.target_scale_
    likelihood = np.atleast_1d(model.log_marginal_likelihood_)
    return {
        "leave_one_out_rmse": np.sqrt(np.mean(residuals**2, axis=0)).tolist(),
        "standard_deviation": np.atleast_1d(np.std(y, axis=0)).tolist(),
        "calibration": model.intervals_.factor.tolist(),
        "log_marginal_likelihood": [float(v) if np.isfinite(v) else None for v in likelihood],
    }


def _show(record: dict[str, Any], dataset: Dataset) -> None:
    params = record["params"]
    rows = [("written", f"{record['model']}, {format_bytes(record['bytes'])}")]
    if record["task"] == "classification":
        classes = record["classes"]
        hint = (
            "  (--task regression if these are quantities)" if isinstance(classes[0], int) and len(classes) > 2 else ""
        )
        rows.append(("task", f"classification, {len(classes)} classes: {', '.join(map(str, classes[:8]))}{hint}"))
        accuracy = record["accuracy"]
        rows.append(("accuracy", f"{100 * accuracy:.1f} %  {_how(params)}"))
    else:
        rows.append(("task", f"regression of {', '.join(record['targets'])}"))
        for name, error, spread in zip(
            record["targets"], record["leave_one_out_rmse"], record["standard_deviation"], strict=True
        ):
            label = "error" if len(record["targets"]) == 1 else f"error of {name}"
            rows.append(
                (label, f"{error:.3g}  (leave-one-out root mean square; the targets' own spread is {spread:.3g})")
            )
    rows.append(("data", f"{dataset.name}, {record['graphs']:,} graphs"))
    if record["equal_graphs"]:
        rows.append(("equal graphs", f"{record['equal_graphs']:,} equal an earlier one, as far as the kernel sees"))
    if record["skipped_rows"]:
        rows.append(("left out", f"{some('row', record['skipped_rows'], 10)}, whose SMILES cannot be read"))
    shown = [(name, value) for name, value in params.items() if name != "c_phi" and (name, value) != ("edges", "plain")]
    rows.append(("kernel", ", ".join(f"{name} {_word(value)}" for name, value in shown)))
    rows.append(("solver", record["solver"]))
    rows.append(("time", seconds(record["seconds"])))
    key_values(f"fastgntk train {dataset.name}", rows)


def _how(params: dict[str, Any]) -> str:
    return (
        "(over five folds of the training graphs; a little optimistic, since it was used to choose)"
        if (params["method"] == "svc")
        else "(leave-one-out on the training graphs; a little optimistic, since it was used to choose)"
    )


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        shares = " ".join(f"{weight / sum(value):.0%}" for weight in value)
        return f"mix of levels 0 to {len(value) - 1}: {shares}"
    return f"{value:g}" if isinstance(value, float) else str(value)
