"""Graphs for learning from whatever is named: molecules or edges in a table, JSON, a known data set, or TU files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from fastgntk._util.files import check_place
from fastgntk.cli._console import progress_bar, warning_line
from fastgntk.cli._inputs import Inputs, in_words_of_options
from fastgntk.datasets import Dataset, MoleculeTable, NamedDataset, load, read_edge_list, read_node_link, read_table
from fastgntk.errors import InputError, some

__all__ = [
    "DATA_HELP",
    "SkipInvalidOption",
    "SmilesOption",
    "TableArgument",
    "Task",
    "check_targets",
    "graph_name",
    "is_json",
    "is_table",
    "labels_as_trained",
    "load_data",
    "output_file",
    "tell_skipped",
    "task_of",
]

Task = Literal["regression", "classification"]

DATA_HELP = (
    "A table of molecules, or of edges with --graph (.csv, .tsv), JSON in node-link form (.json, .jsonl), all also "
    ".gz; a known name (see `fastgntk datasets`), or a folder or zip file in TU format."
)
TableArgument = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)]
SmilesOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column of SMILES of a table.", show_default="smiles")
]
SkipInvalidOption = Annotated[
    bool, typer.Option("--skip-invalid", help="Leave out rows whose SMILES cannot be read, and say which.")
]

_TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_JSON = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
_FEW_CLASSES = 10  # whole numbers with no more distinct values than this are taken for classes


def is_table(data: str) -> bool:
    """Tell whether a table is meant, of molecules or of edges."""
    return data.lower().endswith(_TABLES)


def is_json(data: str) -> bool:
    """Tell whether a JSON file in node-link form is meant."""
    return data.lower().endswith(_JSON)


def load_data(
    data: str,
    *,
    smiles: str | None = None,
    target: list[str] | None = None,
    skip_invalid: bool = False,
    inputs: Inputs | None = None,
    quiet: bool = False,
) -> Dataset:
    """Read a table or a JSON file, or load a data set in TU format."""
    inputs = inputs or Inputs()
    wanted: Any = None if not target else target[0] if len(target) == 1 else target
    if is_json(data) or (is_table(data) and inputs.graph is not None):
        for option, asked in (("--smiles", smiles), ("--skip-invalid", skip_invalid)):
            if asked:
                raise InputError(f"{option} is for tables of molecules, but {data} holds other graphs; leave it out.")
        with in_words_of_options():
            return _edges(data, wanted, inputs) if is_table(data) else _node_link(data, wanted, inputs)
    if is_table(data):
        if inputs.given():
            raise InputError(
                f"{inputs.given()[0]} is for other graphs than molecules; if {data} lists edges, say with --graph "
                "which column names the graph."
            )
        with progress_bar("reading molecules", quiet=quiet) as bar:
            return read_table(data, smiles=smiles, target=wanted, skip_invalid=skip_invalid, progress=bar)
    suffix = Path(data).suffix.lower()
    if (smiles or target) and Path(data).is_file() and suffix != ".zip":
        raise InputError(f"{data} is not a table that can be read; save it as .csv or .tsv.")
    for option, given in (("--smiles", smiles), ("--target", target), ("--skip-invalid", skip_invalid)):
        if given:
            raise InputError(f"{option} is for tables (.csv, .tsv), but DATA is {data}; leave it out.")
    if inputs.given():
        raise InputError(
            f"{inputs.given()[0]} is for tables and JSON files (.csv, .json), but DATA is {data}; leave it out."
        )
    with progress_bar("downloading", quiet=quiet) as bar:
        return load(data, progress=bar)


def check_targets(dataset: Dataset, data: str, inputs: Inputs) -> None:
    """Refuse graphs of which nothing is to be learned."""
    if dataset.y is not None:
        return
    what = "it has neither graph labels nor graph attributes"
    if inputs.graph is not None:
        what = "give a table with the target of each graph with --targets"
    elif isinstance(dataset, NamedDataset):
        what = "name an attribute of its graphs with --target"
    elif isinstance(dataset, MoleculeTable):
        what = f"name a column with --target; its columns are {', '.join(dataset.columns)}"
    raise InputError(f"{data} has nothing to learn; {what}.")


def tell_skipped(dataset: Dataset) -> None:
    """Say which rows of a table were left out."""
    if isinstance(dataset, MoleculeTable) and dataset.skipped:
        warning_line(f"left out {some('row', dataset.skipped)}, whose SMILES cannot be read.")


def labels_as_trained(dataset: Dataset, model: Any) -> Dataset:
    """Return labels of a list of edges as text if the model knows them as text.

    A table does not say whether 1 is a number or a name: all cells of a column decide, and those of another file may
    decide otherwise.
    """
    step, batch = model.expansion_.rows.features, dataset.graphs
    labels, edge_labels = batch.labels, batch.edge_labels
    if labels is not None and any(known.dtype.kind == "U" for known in step.categories_):
        labels = labels.astype(np.str_)
    if edge_labels is not None and step.edge_types_.has_text:
        edge_labels = edge_labels.astype(np.str_)
    return replace(dataset, graphs=replace(batch, labels=labels, edge_labels=edge_labels))


def _edges(data: str, target: Any, inputs: Inputs) -> NamedDataset:
    if target and inputs.targets is None:
        raise InputError(f"--target names a column of the table of graphs of {data}; give that table with --targets.")
    assert inputs.graph is not None  # the caller asked
    source, sink = inputs.both_ends()
    names = inputs.names()
    return read_edge_list(
        data,
        graph=inputs.graph,
        source=source,
        target=sink,
        edge_weights=names["edge_weights"],
        edge_labels=names["edge_labels"],
        nodes=inputs.nodes,
        node_labels=names["node_labels"],
        node_features=names["node_features"],
        targets=inputs.targets,
        y=target,
        directed=inputs.directed,
    )


def _node_link(data: str, target: Any, inputs: Inputs) -> NamedDataset:
    for option, given in (
        ("--graph", inputs.graph),
        ("--ends", inputs.ends),
        ("--nodes", inputs.nodes),
        ("--targets", inputs.targets),
        ("--directed", inputs.directed),
    ):
        if given:
            raise InputError(f"{option} is for lists of edges (.csv, .tsv), but DATA is {data}; leave it out.")
    return read_node_link(data, target=target, **inputs.names())


def graph_name(dataset: Dataset, index: int) -> str:
    """Return what a graph is called: its SMILES, its name, or its number counted from 1."""
    if isinstance(dataset, NamedDataset):
        return dataset.names[index]
    return dataset.smiles[index] if isinstance(dataset, MoleculeTable) else str(index + 1)


def task_of(dataset: Dataset, asked: str, column: str) -> tuple[Task, NDArray[Any]]:
    """Return what is to be learned, and targets of that kind; refuse what has nothing to learn.

    Text is classes, and so are whole numbers of few values; other numbers are regression.
    """
    if asked not in ("auto", "regression", "classification"):
        raise InputError(f"--task must be auto, regression or classification, but is {asked!r}.")
    kind, y = _task(dataset, asked, column)
    values = np.unique(y, axis=0)
    if kind == "regression" and len(values) == 1:
        raise InputError(f"all targets in column {column!r} are {y.ravel()[0]:g}; there is nothing to learn from them.")
    if kind == "classification" and len(values) == len(y) > 2:
        raise InputError(
            f"column {column!r} has a class of its own for each of the {len(y)} graphs; name a column with classes, or "
            "pass --task regression if it holds numbers."
        )
    return kind, y


def _task(dataset: Dataset, asked: str, column: str) -> tuple[Task, NDArray[Any]]:
    y = dataset.y
    assert y is not None  # the caller checked
    if y.dtype.kind == "U":
        numbers = [_number(text) for text in y.ravel().tolist()]
        rows = dataset.rows.tolist() if isinstance(dataset, MoleculeTable) else range(1, len(y) + 1)
        wrong = [row for row, number in zip(rows, numbers, strict=True) if number is None]
        few = len(np.unique(y)) <= _FEW_CLASSES
        measured = any(number is not None and number != round(number) for number in numbers)
        if asked == "regression" or (asked == "auto" and (measured or (not few and len(wrong) < len(y) / 2))):
            raise InputError(
                f"column {column!r} has text where numbers are needed, in {some('row', wrong)}; mend that, or pass "
                "--task classification if they are classes."
            )
        return "classification", y
    whole = bool(np.array_equal(y, np.rint(y)))
    if asked == "auto":
        asked = "classification" if y.ndim == 1 and whole and len(np.unique(y)) <= _FEW_CLASSES else "regression"
    if asked == "regression":
        return "regression", y.astype(np.float64)
    if y.ndim != 1 or not whole:
        what = "several targets" if y.ndim != 1 else f"numbers that are not whole in column {column!r}"
        raise InputError(f"classification needs one column of classes, but there are {what}.")
    return "classification", y.astype(np.int64)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def output_file(path: Path, *suffixes: str) -> None:
    """Refuse at once a place where no file can be written."""
    check_place(path, "--output", *suffixes)
