"""New graphs for a model: read as its training graphs were."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fastgntk.cli._data import load_data
from fastgntk.cli._inputs import Inputs
from fastgntk.datasets import Dataset, read_columns

__all__ = ["ModelArgument", "is_classifier", "load_new_graphs", "target_names"]

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file written by `fastgntk train`.")]


def load_new_graphs(inputs: Inputs, model: Any, *, quiet: bool) -> Dataset:
    """Read graphs with the given options, and else with those of the training of the model."""
    about = getattr(model, "about_", {})
    inputs = inputs.from_model(about.get("inputs"))
    if inputs.is_edge_list:
        return _labels_as_trained(load_data(inputs, quiet=quiet), model)
    column = about.get("smiles")
    if inputs.smiles is None and inputs.is_table and isinstance(column, str) and column in read_columns(inputs.data):
        inputs = replace(inputs, smiles=column)
    return load_data(inputs, quiet=quiet)


def is_classifier(model: Any) -> bool:
    """Whether a model predicts classes."""
    return hasattr(model, "classes_")


def target_names(model: Any) -> list[str]:
    """Return the names of the targets of a regression."""
    outputs = list(model.expansion_.names)
    names = getattr(model, "about_", {}).get("targets")
    return [str(name) for name in names] if isinstance(names, list) and len(names) == len(outputs) else outputs


def _labels_as_trained(dataset: Dataset, model: Any) -> Dataset:
    """Return labels of an edge list as text if the model has them as text.

    In a table, 1 may be a number or a name: all cells of a column determine which, and those of another file may give
    another result.
    """
    steps, batch = model.expansion_.rows.features.values(), dataset.graphs
    labels, edge_labels = batch.labels, batch.edge_labels
    if labels is not None and any(known.dtype.kind == "U" for step in steps for known in step.categories_):
        labels = labels.astype(np.str_)
    if edge_labels is not None and any(step.edge_types_.has_text for step in steps):
        edge_labels = edge_labels.astype(np.str_)
    return replace(dataset, graphs=replace(batch, labels=labels, edge_labels=edge_labels))
