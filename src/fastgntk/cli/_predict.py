"""``fastgntk predict``: what a model says about new graphs."""

from __future__ import annotations

import csv
import io
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fastgntk._util.files import atomic_write
from fastgntk.cli import _options as options
from fastgntk.cli._console import key_values, print_json, progress_bar, seconds, verbose
from fastgntk.cli._data import (
    SkipInvalidOption,
    SmilesOption,
    TableArgument,
    is_json,
    is_table,
    labels_as_trained,
    load_data,
    output_file,
    tell_skipped,
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
)
from fastgntk.datasets import Dataset, MoleculeTable, NamedDataset, read_columns
from fastgntk.errors import InputError

__all__ = ["ModelArgument", "predict", "remembered", "smiles_column"]

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file that `fastgntk train` wrote.")]


def predict(
    model: ModelArgument,
    data: TableArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write: NAME.csv.", show_default="standard output"),
    ] = None,
    smiles: SmilesOption = None,
    graph: GraphOption = None,
    ends: EndsOption = None,
    nodes: NodesOption = None,
    node_labels: NodeLabelsOption = None,
    node_features: NodeFeaturesOption = None,
    edge_labels: EdgeLabelsOption = None,
    edge_weights: EdgeWeightsOption = None,
    directed: DirectedOption = False,
    coverage: Annotated[
        float | None,
        typer.Option(help="Share of measurements that intervals are to hold; for regression.", show_default="0.9"),
    ] = None,
    skip_invalid: SkipInvalidOption = False,
    memory: options.MemoryOption = None,
    workers: options.WorkersOption = None,
    json: options.JsonOption = False,
    chatty: options.VerboseOption = False,
) -> None:
    """Predict for every graph of DATA: value, standard deviation and interval, or class and probabilities.

    Each row also names the training graph that is most similar, and how similar it is (at most 1), if the model keeps
    training graphs.
    """
    if output is not None:
        output_file(output, ".csv")
    from fastgntk.persistence import load_model

    verbose(chatty)
    loaded = load_model(model, memory=memory, workers=workers)
    if coverage is not None and hasattr(loaded, "classes_"):
        raise InputError("--coverage is for regression; this model classifies: leave it out.")
    coverage = 0.9 if coverage is None else coverage
    inputs = Inputs(graph, ends, nodes, None, node_labels, node_features, edge_labels, edge_weights, directed)
    inputs = remembered(loaded, data, inputs)
    column = smiles if inputs.graph is not None else smiles_column(loaded, data, smiles)
    dataset = load_data(data, smiles=column, skip_invalid=skip_invalid, inputs=inputs, quiet=json)
    dataset = labels_as_trained(dataset, loaded) if inputs.graph is not None else dataset
    start = time.perf_counter()
    with progress_bar("predicting", quiet=json) as bar:
        loaded.set_params(progress=bar)
        found = (
            loaded.review(dataset.graphs) if hasattr(loaded, "classes_") else loaded.review(dataset.graphs, coverage)
        )
    took = time.perf_counter() - start
    heading, rows = _table(loaded, dataset, found, coverage)
    if not json:
        tell_skipped(dataset)
    if json:
        print_json(
            {
                "model": str(model),
                "dataset": dataset.name,
                "output": None if output is None else str(output),
                "skipped_rows": list(dataset.skipped) if isinstance(dataset, MoleculeTable) else [],
                "seconds": took,
                "predictions": [dict(zip(heading, row, strict=True)) for row in rows],
            }
        )
    if output is None:
        if not json:
            sys.stdout.write(_csv(heading, rows))
        return
    atomic_write(output, _csv(heading, rows).encode())
    if not json:
        shown = [
            ("written", f"{output}, {len(rows):,} row{'s' * (len(rows) != 1)}: {', '.join(heading)}"),
            ("time", seconds(took)),
        ]
        key_values(f"fastgntk predict {dataset.name}", shown)


def remembered(model: Any, data: str, inputs: Inputs) -> Inputs:
    """Return how to read DATA: as asked, and else as the model was trained, as far as that can be done with it."""
    about = getattr(model, "about_", {})
    if is_json(data):
        memory = about.get("inputs")
        names = ("node_labels", "node_features", "edge_labels", "edge_weights")
        kept = {name: memory[name] for name in names if name in memory} if isinstance(memory, dict) else {}
        return inputs.with_memory({"inputs": kept})
    return inputs.with_memory(about) if is_table(data) else inputs


def smiles_column(model: Any, data: str, asked: str | None) -> str | None:
    """Return the column of SMILES: the one asked for, or the one that the model was trained on if that was named."""
    if asked is not None or not is_table(data):
        return asked
    named = getattr(model, "about_", {}).get("smiles")
    if not isinstance(named, str):
        return None
    return named if named in read_columns(data) else None


def _table(model: Any, dataset: Dataset, found: Any, coverage: float) -> tuple[list[str], list[list[Any]]]:
    """Return headings and rows, one for each graph."""
    n = len(dataset)
    columns: dict[str, Any] = {"row": np.arange(1, n + 1)}
    if isinstance(dataset, MoleculeTable):
        columns = {"row": dataset.rows, "smiles": dataset.smiles}
    if isinstance(dataset, NamedDataset):
        columns["graph"] = dataset.names
    if hasattr(model, "classes_"):
        columns["class"] = found.label
        if found.probabilities is not None:
            columns |= {f"probability of {c}": found.probabilities[:, i] for i, c in enumerate(model.classes_)}
    else:
        names = _targets(model)
        percent = f"{100 * coverage:g}%"
        for i, name in enumerate(names):
            one = (part if part.ndim == 1 else part[:, i] for part in found[:4])
            headings = ("value", "std", f"low {percent}", f"high {percent}")
            of = [heading if len(names) == 1 else f"{name}: {heading}" for heading in headings]
            columns |= dict(zip(of, one, strict=True))
    if model.expansion_.rows.keeps_graphs:
        known = getattr(model, "names_", None)
        columns["nearest"] = [known[i] if known else i + 1 for i in found.nearest.tolist()]
        columns["similarity"] = found.similarity
    plain = [values.tolist() if isinstance(values, np.ndarray) else list(values) for values in columns.values()]
    return list(columns), [list(row) for row in zip(*plain, strict=True)]


def _targets(model: Any) -> list[str]:
    k = len(model.expansion_.offsets)
    names = getattr(model, "about_", {}).get("targets")
    return [str(n) for n in names] if isinstance(names, list) and len(names) == k else [f"y{i}" for i in range(k)]


def _csv(heading: list[str], rows: list[list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heading)
    for row in rows:
        writer.writerow([f"{value:.10g}" if isinstance(value, float) else value for value in row])
    return text.getvalue()
