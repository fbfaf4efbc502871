"""``fastgntk predict``: predictions of a model for new graphs."""

import csv
import io
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fastgntk._util.files import atomic_write, check_place
from fastgntk._util.text import format_duration
from fastgntk.cli._console import print_json, print_values, progress_bar, show_log
from fastgntk.cli._data import skipped_rows, warn_skipped
from fastgntk.cli._groups import with_groups
from fastgntk.cli._inputs import NewGraphInputs
from fastgntk.cli._new_graphs import ModelArgument, is_classifier, load_new_graphs, target_names
from fastgntk.cli._options import LocalComputeOptions, OutputOptions
from fastgntk.datasets import Dataset, MoleculeTable, NamedDataset
from fastgntk.errors import InputError

__all__ = ["predict"]

_COVERAGE = 0.9


@with_groups
def predict(
    *,
    model: ModelArgument,
    inputs: NewGraphInputs,
    file: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="NAME.csv", help="Where to write predictions.", show_default="standard output"
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(help="Coverage of prediction intervals, for regression.", show_default=str(_COVERAGE)),
    ] = None,
    compute: LocalComputeOptions,
    output: OutputOptions,
) -> None:
    """Predict every graph of DATA: value, standard deviation and interval, or class and probabilities.

    Each row also has the most similar training graph and its similarity (at most 1), if the model has training graphs.
    """
    if file is not None:
        check_place(file, "--output", ".csv")
    from fastgntk.persistence import load_model  # scikit-learn takes a second to load, which --help does not need

    show_log(output.verbose)
    loaded: Any = load_model(model, compute=compute.build())
    if coverage is not None and is_classifier(loaded):
        raise InputError("--coverage is for regression, but this model classifies; leave it out.")
    share = _COVERAGE if coverage is None else coverage
    dataset = load_new_graphs(inputs, loaded, quiet=output.json)
    start = time.perf_counter()
    with progress_bar("predicting", quiet=output.json) as bar:
        loaded.set_params(compute=compute.build(bar))
        found = loaded.review(dataset.graphs) if is_classifier(loaded) else loaded.review(dataset.graphs, share)
    took = time.perf_counter() - start
    columns = _columns(loaded, dataset, found, share)
    if file is not None:
        atomic_write(file, _csv(columns).encode())
    if output.json:
        about = {"model": str(model), "dataset": dataset.name, "output": None if file is None else str(file)}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        print_json({**about, "skipped_rows": skipped_rows(dataset), "seconds": took, "predictions": rows})
        return
    warn_skipped(dataset)
    if file is None:
        sys.stdout.write(_csv(columns))
        return
    what = f"{file}, {len(dataset):,} row{'s' * (len(dataset) != 1)}: {', '.join(columns)}"
    print_values(f"fastgntk predict {dataset.name}", [("written", what), ("time", format_duration(took))])


def _columns(model: Any, dataset: Dataset, found: Any, coverage: float) -> dict[str, list[Any]]:
    """Return columns with their headings, one entry for each graph."""
    columns: dict[str, Any] = {"row": np.arange(1, len(dataset) + 1)}
    if isinstance(dataset, MoleculeTable):
        columns = {"row": dataset.rows, "smiles": dataset.smiles}
    if isinstance(dataset, NamedDataset):
        columns["graph"] = dataset.names
    if is_classifier(model):
        columns["class"] = found.label
        if found.probabilities is not None:
            columns |= {f"probability of {c}": found.probabilities[:, i] for i, c in enumerate(model.classes_)}
    else:
        names, percent = target_names(model), f"{100 * coverage:g}%"
        for i, name in enumerate(names):
            headings = ("value", "std", f"low {percent}", f"high {percent}")
            for heading, part in zip(headings, found[:4], strict=True):
                columns[heading if len(names) == 1 else f"{name}: {heading}"] = part if part.ndim == 1 else part[:, i]
    if model.expansion_.rows.keeps_graphs:
        known = getattr(model, "names_", None)
        columns["nearest"] = [known[i] if known else i + 1 for i in found.nearest.tolist()]
        columns["similarity"] = found.similarity
    return {name: v.tolist() if isinstance(v, np.ndarray) else list(v) for name, v in columns.items()}


def _csv(columns: dict[str, list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([f"{value:.10g}" if isinstance(value, float) else value for value in row])
    return text.getvalue()
