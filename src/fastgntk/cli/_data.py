"""Graphs from DATA: molecules or edges in a table, JSON, a known data set, or TU files."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastgntk.cli._console import progress_bar, warning_line
from fastgntk.cli._inputs import EDGE_LIST, NAMES, Inputs
from fastgntk.datasets import Dataset, MoleculeTable, NamedDataset, load, read_edge_list, read_node_link, read_table
from fastgntk.errors import InputError, some
from fastgntk.graphs import UnusedAttributesWarning

__all__ = ["graph_name", "load_data", "skipped_rows", "warn_skipped"]


def load_data(inputs: Inputs, *, quiet: bool = False) -> Dataset:
    """Read a table or a JSON file, or load a data set in TU format."""
    data, target = inputs.data, _target(inputs)
    if inputs.is_json or inputs.is_edge_list:
        _refuse(inputs, ("smiles", "skip_invalid"), f"tables of molecules, but {data} holds other graphs")
        with _option_names():
            return _read_edge_list(inputs, target) if inputs.is_edge_list else _read_node_link(inputs, target)
    if inputs.is_table:
        given = inputs.given(*EDGE_LIST, *NAMES)
        if given:
            raise InputError(
                f"{given[0]} does not apply to tables of molecules; if {data} lists edges, name the column of the "
                "graph with --graph."
            )
        with progress_bar("reading molecules", quiet=quiet) as bar:
            return read_table(data, smiles=inputs.smiles, target=target, skip_invalid=inputs.skip_invalid, progress=bar)
    if (inputs.smiles or target) and Path(data).is_file() and Path(data).suffix.lower() != ".zip":
        raise InputError(f"{data} is not a table that can be read; save it as .csv or .tsv.")
    _refuse(inputs, ("smiles", "target", "skip_invalid"), f"tables (.csv, .tsv), but DATA is {data}")
    _refuse(inputs, (*EDGE_LIST, *NAMES), f"tables and JSON files (.csv, .json), but DATA is {data}")
    with progress_bar("downloading", quiet=quiet) as bar:
        return load(data, progress=bar)


def graph_name(dataset: Dataset, index: int) -> str:
    """Return the name of a graph: its SMILES, its name, or its number counted from 1."""
    if isinstance(dataset, NamedDataset):
        return dataset.names[index]
    return dataset.smiles[index] if isinstance(dataset, MoleculeTable) else str(index + 1)


def skipped_rows(dataset: Dataset) -> list[int]:
    """Return the rows of a table that were skipped."""
    return list(dataset.skipped) if isinstance(dataset, MoleculeTable) else []


def warn_skipped(dataset: Dataset) -> None:
    """Print which rows of a table were skipped."""
    rows = skipped_rows(dataset)
    if rows:
        warning_line(f"skipped {some('row', rows)}, whose SMILES cannot be read.")


def _target(inputs: Inputs) -> Any:
    if not inputs.target:
        return None
    return inputs.target[0] if len(inputs.target) == 1 else inputs.target


def _refuse(inputs: Inputs, names: tuple[str, ...], why: str) -> None:
    """Refuse options that do not apply to DATA."""
    given = inputs.given(*names)
    if given:
        raise InputError(f"{given[0]} is for {why}; leave it out.")


def _read_edge_list(inputs: Inputs, target: Any) -> NamedDataset:
    if target and inputs.targets is None:
        raise InputError(
            f"--target names a column of the table of graphs; give that table of {inputs.data} with --targets."
        )
    assert inputs.graph is not None
    source, sink = inputs.both_ends()
    return read_edge_list(
        inputs.data,
        graph=inputs.graph,
        source=source,
        target=sink,
        nodes=inputs.nodes,
        targets=inputs.targets,
        y=target,
        directed=inputs.directed,
        **inputs.attributes(),
    )


def _read_node_link(inputs: Inputs, target: Any) -> NamedDataset:
    _refuse(inputs, EDGE_LIST, f"edge lists (.csv, .tsv), but DATA is {inputs.data}")
    return read_node_link(inputs.data, target=target, **inputs.attributes())


@contextmanager
def _option_names() -> Iterator[None]:
    """Print warnings and raise errors with options in the place of argument names."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except InputError as error:
        raise InputError(_as_options(str(error))) from None
    for warning in caught:
        text = str(warning.message)
        if issubclass(warning.category, UnusedAttributesWarning):
            text = _as_options(text).replace("pass () there", "pass '' there")
        warning_line(text)


def _as_options(text: str) -> str:
    for name in NAMES:
        text = text.replace(f"{name}=", f"--{name.replace('_', '-')}")
    return text
