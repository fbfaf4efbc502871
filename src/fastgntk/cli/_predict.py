"""``fastgntk predict``: predictions of a model for new graphs, which are read as the training graphs were."""

import csv
import io
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fastgntk._util.files import atomic_write, check_output_path
from fastgntk._util.text import format_duration
from fastgntk.cli._console import configure_logging, plural, print_json, print_values, progress_bar
from fastgntk.cli._inputs import Inputs, load_data, needs_given_scale, skipped_rows, warn_skipped
from fastgntk.cli._option_groups import argument, option, with_groups
from fastgntk.cli._options import LocalComputeOptions, OutputOptions
from fastgntk.datasets import Dataset, MoleculeTable, NamedDataset, read_columns
from fastgntk.errors import InputError

__all__ = ["MODEL", "NewGraphInputs", "is_classifier", "load_new_graphs", "predict", "target_names"]

MODEL: Any = argument("A model file written by `fastgntk train`.", metavar="MODEL")
"""The argument of commands that use a model."""

_COVERAGE = 0.9


@dataclass(frozen=True)
class NewGraphInputs(Inputs):
    """Graphs to predict: no targets."""

    omitted = ("target", "targets")


@with_groups
def predict(
    *,
    model: Path = MODEL,
    inputs: NewGraphInputs,
    file: Path | None = option(
        "Where to write predictions.", None, "--output", "-o", metavar="NAME.csv", show_default="standard output"
    ),
    coverage: float | None = option("Coverage of prediction intervals, for regression.", show_default=str(_COVERAGE)),
    compute: LocalComputeOptions,
    output: OutputOptions,
) -> None:
    """Predict every graph of DATA: value, standard deviation and interval, or class and probabilities.

    Each row also has the most similar training graph and its similarity (at most 1), if the model has training graphs.
    """
    if file is not None:
        check_output_path(file, "--output", ".csv")
    from fastgntk.persistence import load_model  # scikit-learn takes a second to load, which --help does not need

    configure_logging(output.verbose)
    loaded: Any = load_model(model, compute=compute.build())
    if is_classifier(loaded) and coverage is not None:
        raise InputError("--coverage is for regression, but this model classifies; leave it out.")
    coverage = _COVERAGE if coverage is None else coverage
    dataset = load_new_graphs(inputs, loaded, quiet=output.json)
    start = time.perf_counter()
    with progress_bar("predicting", quiet=output.json) as bar:
        loaded.set_params(compute=compute.build(bar))
        options = () if is_classifier(loaded) else (coverage,)
        details = loaded.predict_details(dataset.graphs, *options)
    seconds = time.perf_counter() - start
    columns = _make_columns(loaded, dataset, details, coverage)
    if file is not None:
        atomic_write(file, _format_csv(columns).encode())
    if output.json:
        record = {"model": str(model), "dataset": dataset.name, "output": None if file is None else str(file)}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        print_json({**record, "skipped_rows": skipped_rows(dataset), "seconds": seconds, "predictions": rows})
        return
    warn_skipped(dataset)
    if file is None:
        sys.stdout.write(_format_csv(columns))
        return
    written = f"{file}, {plural(len(dataset), 'row')}: {', '.join(columns)}"
    print_values(f"fastgntk predict {dataset.name}", [("written", written), ("time", format_duration(seconds))])


def is_classifier(model: Any) -> bool:
    """Whether a model predicts classes."""
    return hasattr(model, "classes_")


def target_names(model: Any) -> list[str]:
    """Return the names of the targets of a regression."""
    outputs = list(model.expansion_.output_names)
    names = getattr(model, "metadata_", {}).get("targets")
    return [str(name) for name in names] if isinstance(names, list) and len(names) == len(outputs) else outputs


def load_new_graphs(inputs: Inputs, model: Any, *, quiet: bool) -> Dataset:
    """Read graphs for a model; options default to those of its training."""
    kernel, metadata = model.expansion_.basis.kernel, getattr(model, "metadata_", {})
    if needs_given_scale([kernel]):
        raise InputError(
            "the kernel of the model has scale 'given', which needs a scale for every node, and no input format holds "
            "one; load the model in Python."
        )
    takes_columns_of_model = inputs.with_columns is None
    inputs = inputs.from_model(metadata.get("inputs"))
    if takes_columns_of_model:
        _check_trained_columns(inputs)
    if inputs.format == "edge list":
        return _labels_as_trained(load_data(inputs, quiet=quiet), model)
    column = metadata.get("smiles")
    if inputs.format == "molecules" and inputs.smiles is None and isinstance(column, str):
        inputs = replace(inputs, smiles=column if column in read_columns(inputs.data) else None)
    return load_data(inputs, quiet=quiet)


def _check_trained_columns(inputs: Inputs) -> None:
    """Raise an error for a table without a column that the model uses as descriptors."""
    if inputs.format != "molecules" or not inputs.with_columns:
        return
    columns = read_columns(inputs.data)
    for text in inputs.with_columns:
        names = [text] if text in columns else [part.strip() for part in text.split(",")]
        if missing := [name for name in names if name not in columns]:
            raise InputError(
                f"{inputs.data} lacks the column {missing[0]!r}, with which the model was trained; add it to the table."
            )


def _labels_as_trained(dataset: Dataset, model: Any) -> Dataset:
    """Return labels of an edge list as text if the model has them as text.

    In a table, 1 may be a number or a name: all cells of a column determine which, and those of another file may give
    another result.
    """
    steps, batch = model.expansion_.basis.features.values(), dataset.graphs
    labels, edge_labels = batch.labels, batch.edge_labels
    if labels is not None and any(values.dtype.kind == "U" for step in steps for values in step.categories_):
        labels = labels.astype(np.str_)
    if edge_labels is not None and any(step.edge_types_.has_text for step in steps):
        edge_labels = edge_labels.astype(np.str_)
    return replace(dataset, graphs=replace(batch, labels=labels, edge_labels=edge_labels))


def _make_columns(model: Any, dataset: Dataset, details: Any, coverage: float) -> dict[str, list[Any]]:
    """Return columns with their headings, one entry for each graph."""
    columns: dict[str, Any] = {"row": np.arange(1, len(dataset) + 1)}
    if isinstance(dataset, MoleculeTable):
        columns = {"row": dataset.rows, "smiles": dataset.smiles}
    if isinstance(dataset, NamedDataset):
        columns["graph"] = dataset.names
    if is_classifier(model):
        columns["class"] = details.label
        if details.probabilities is not None:
            columns |= {f"probability of {c}": details.probabilities[:, i] for i, c in enumerate(model.classes_)}
    else:
        targets, percent = target_names(model), f"{100 * coverage:g}%"
        headings = ("value", "std", f"low {percent}", f"high {percent}")
        for i, target in enumerate(targets):
            for heading, values in zip(headings, details[:4], strict=True):
                name = heading if len(targets) == 1 else f"{target}: {heading}"
                columns[name] = values if values.ndim == 1 else values[:, i]
    if model.expansion_.basis.keeps_graphs:
        names = getattr(model, "training_names_", None)
        columns["nearest"] = [names[i] if names else i + 1 for i in details.nearest.tolist()]
        columns["similarity"] = details.similarity
    return {name: v.tolist() if isinstance(v, np.ndarray) else list(v) for name, v in columns.items()}


def _format_csv(columns: dict[str, list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([f"{value:.10g}" if isinstance(value, float) else value for value in row])
    return text.getvalue()
