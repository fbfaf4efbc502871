"""The group of input options, and how graphs are read: from tables, JSON, names of data sets and TU files."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from fastgntk.cli._console import print_warning, progress_bar
from fastgntk.cli._option_groups import OptionGroup, argument, option
from fastgntk.cli._options import parse_words
from fastgntk.datasets import (
    Dataset,
    EdgeListColumns,
    MoleculeTable,
    NamedDataset,
    load,
    read_edge_list,
    read_node_link,
    read_table,
)
from fastgntk.errors import InputError, format_numbers
from fastgntk.graphs import UnusedAttributesWarning
from fastgntk.kernels import DescriptorKernel, Kernel

__all__ = ["DATA_HELP", "Inputs", "check_graphs", "check_targets", "graph_name", "load_data", "needs_given_scale"]
__all__ += ["skipped_rows", "warn_skipped", "warn_unused_descriptors"]

DATA_HELP = (
    "A table of molecules, or of edges with --graph (.csv, .tsv), or JSON in node-link form (.json, .jsonl), also "
    "compressed (.gz); a known name (see `fastgntk datasets`); or a folder or zip file in TU format."
)
_ATTRIBUTES = ("node_labels", "node_features", "edge_labels", "edge_weights")  # options that name attributes
_EDGE_LIST = ("graph", "ends", "nodes", "targets", "directed")  # options of edge lists alone
_BLOCKS = ("descriptors", "with_columns")  # options of descriptors
_IN_MODELS = ("graph", "ends", *_ATTRIBUTES)  # with --directed, the presence of --nodes, and descriptors


@dataclass(frozen=True)
class Inputs(OptionGroup):
    """Graphs, and targets to learn."""

    panel = "Input"

    data: str = argument(DATA_HELP, metavar="DATA")
    target: list[str] | None = option(
        "Target: a column of a table, or a graph attribute in JSON; may be repeated.", metavar="COLUMN"
    )
    smiles: str | None = option("Column of SMILES in a table.", metavar="COLUMN", show_default="smiles")
    skip_invalid: bool = option("Skip rows whose SMILES cannot be read, and list them.", False)
    graph: str | None = option("Read an edge list; this column names the graph.", metavar="COLUMN")
    ends: str | None = option("Columns of the two nodes.", metavar="A,B", show_default="source,target")
    nodes: Path | None = option(
        "Table of nodes, for edge lists: the graph, a column `node`, and node attributes.", metavar="FILE"
    )
    targets: Path | None = option(
        "Table with one row per graph, for edge lists; if it has several targets, name them with --target.",
        metavar="FILE",
    )
    node_labels: str | None = option("Attributes that label nodes.", metavar="NAMES", show_default="label")
    node_features: str | None = option("Numeric node attributes.", metavar="NAMES", show_default="features or x")
    edge_labels: str | None = option("Attributes that label edges.", metavar="NAMES", show_default="label")
    edge_weights: str | None = option("Attribute that weights edges.", metavar="NAME", show_default="weight")
    directed: bool = option("Listed edges go from the first node to the second only.", False)
    descriptors: str | None = option(
        "Descriptors of molecules to compute, for kernels on them: rdkit, morgan or rdkit,morgan.", metavar="NAMES"
    )
    with_columns: list[str] | None = option(
        "Descriptors to take: a column of a table, several as a,b for one block, or a graph attribute in JSON; may be "
        "repeated.",
        None,
        "--with",
        "--with-columns",  # as in Python, where `with` is a keyword
        metavar="COLUMN",
    )

    @property
    def format(self) -> Literal["molecules", "edge list", "json", "data set"]:
        """The format of DATA: one of two kinds of tables, node-link JSON, or a data set by name or in TU format."""
        if self.data.lower().endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")):
            return "molecules" if self.graph is None else "edge list"
        return "json" if self.data.lower().endswith((".json", ".jsonl", ".json.gz", ".jsonl.gz")) else "data set"

    def attributes(self) -> dict[str, Any]:
        """Return the attributes to use as labels, features and weights; an empty text means none."""
        texts = {name: getattr(self, name) for name in _ATTRIBUTES}
        return {
            name: text if text is None else () if not text else parse_words(text, f"--{name.replace('_', '-')}")
            for name, text in texts.items()
        }

    def computed_blocks(self) -> tuple[str, ...]:
        """Return the names of the descriptors to compute."""
        return parse_words(self.descriptors, "--descriptors") if self.descriptors else ()

    def refuse(self, names: tuple[str, ...], purpose: str) -> None:
        """Reject options that do not apply to DATA."""
        if changed := self.changed(*names):
            raise InputError(f"{changed[0]} is for {purpose}; leave it out.")

    def to_model(self, kernel: Kernel) -> dict[str, Any]:
        """Return the options that are saved in a model file, so that new graphs are read in the same way.

        Descriptors that the kernel does not use are left out.
        """
        used = _used_blocks([kernel])
        computed = [name for name in self.computed_blocks() if name in used]
        taken = [name for name in self.with_columns or () if name in used]
        flags = {"directed": self.directed, "nodes": self.nodes is not None}
        saved: dict[str, Any] = {name: getattr(self, name) for name in _IN_MODELS if getattr(self, name) is not None}
        saved |= {name: value for name, value in (("descriptors", ",".join(computed)), ("with", taken)) if value}
        return saved | {name: True for name, value in flags.items() if value}

    def from_model(self, saved: Any) -> Self:
        """Return the same options with defaults from a model file, as far as they apply to the format of DATA.

        >>> Inputs("new.csv", ends="a,b").from_model({"graph": "net", "ends": "u,v"}).changed()
        ['--graph', '--ends']
        """
        if not isinstance(saved, Mapping) or self.format == "data set":
            return self
        names = _ATTRIBUTES if self.format == "json" else _IN_MODELS
        missing = {n: saved[n] for n in names if getattr(self, n) is None and isinstance(saved.get(n), str)}
        directed = self.directed or (self.format != "json" and saved.get("directed") is True)
        filled = replace(self, **missing, directed=directed)._with_blocks(saved)
        if filled.format == "edge list" and saved.get("nodes") is True and filled.nodes is None:
            raise InputError("the model was trained with a table of nodes; give that of the new graphs with --nodes.")
        return filled

    def _with_blocks(self, saved: Mapping[str, Any]) -> Self:
        """Return the same options with the descriptors of a model file, as far as they apply to the format of DATA."""
        computed, taken = saved.get("descriptors"), saved.get("with")
        filled = self
        if self.format == "molecules" and self.descriptors is None and isinstance(computed, str):
            filled = replace(filled, descriptors=computed)
        if self.format in ("molecules", "json") and self.with_columns is None and isinstance(taken, list):
            filled = replace(filled, with_columns=[str(name) for name in taken])
        return filled


def load_data(inputs: Inputs, *, quiet: bool = False) -> Dataset:
    """Read a table or a JSON file, or load a data set in TU format."""
    data: str = inputs.data
    target: Any = inputs.target or None
    if target and len(target) == 1:
        target = target[0]
    if inputs.format in ("json", "edge list"):
        inputs.refuse(("smiles", "skip_invalid"), f"tables of molecules, but {data} holds other graphs")
        inputs.refuse(("descriptors",), f"tables of molecules, but {data} holds other graphs")
        with _messages_with_options():
            if inputs.format == "edge list":
                inputs.refuse(("with_columns",), f"tables of molecules and JSON, but {data} is an edge list")
                return _read_edge_list(inputs, target)
            inputs.refuse(_EDGE_LIST, f"edge lists (.csv, .tsv), but DATA is {data}")
            return read_node_link(data, target=target, descriptors=inputs.with_columns, **inputs.attributes())
    if inputs.format == "molecules":
        if changed := inputs.changed(*_EDGE_LIST, *_ATTRIBUTES):
            raise InputError(
                f"{changed[0]} does not apply to tables of molecules; if {data} lists edges, name the column of the "
                "graph with --graph."
            )
        with progress_bar("reading molecules", quiet=quiet) as bar:
            return read_table(
                data,
                smiles=inputs.smiles,
                target=target,
                skip_invalid=inputs.skip_invalid,
                descriptors=inputs.computed_blocks(),
                with_columns=inputs.with_columns or (),
                progress=bar,
            )
    if (inputs.smiles or target) and Path(data).is_file() and Path(data).suffix.lower() != ".zip":
        raise InputError(f"{data} is not a table that can be read; save it as .csv or .tsv.")
    inputs.refuse(("smiles", "target", "skip_invalid", *_BLOCKS), f"tables (.csv, .tsv), but DATA is {data}")
    inputs.refuse((*_EDGE_LIST, *_ATTRIBUTES), f"tables and JSON files (.csv, .json), but DATA is {data}")
    with progress_bar("downloading", quiet=quiet) as bar:
        return load(data, progress=bar)


def check_graphs(dataset: Dataset, kernels: Iterable[Kernel]) -> None:
    """Reject kernels that need what the graphs of DATA lack, with advice for the command line."""
    kernels, batch = list(kernels), dataset.graphs
    if batch.node_scale is None and needs_given_scale(kernels):
        raise InputError(
            "scale 'given' needs a scale for every node, which no input format holds; use uniform, degree, unit or "
            "symmetric, in --scale or in the text of --kernel."
        )
    if missing := sorted(_used_blocks(kernels) - set(batch.descriptors)):
        available = f"only {', '.join(map(repr, batch.descriptors))}" if batch.descriptors else "none"
        raise InputError(
            f"the kernel needs the descriptors {missing[0]!r}, but the graphs have {available}; add them with "
            "--descriptors or --with."
        )


def needs_given_scale(kernels: Iterable[Kernel]) -> bool:
    """Whether a kernel takes the scale of every node from the graphs."""
    return any(leaf.uses_node_scale for kernel in kernels for leaf in kernel.leaves())


def warn_unused_descriptors(dataset: Dataset, kernels: Iterable[Kernel]) -> None:
    """Print a warning if no kernel uses some of the descriptors that were read or computed."""
    if unused := [name for name in dataset.graphs.descriptors if name not in _used_blocks(kernels)]:
        print_warning(
            f"no kernel uses the descriptors {', '.join(map(repr, unused))}; name them in --kernel, such as "
            f'--kernel "GNTK().normalized() + RBF(on={unused[0]!r})".'
        )


def _used_blocks(kernels: Iterable[Kernel]) -> set[str]:
    return {leaf.on for kernel in kernels for leaf in kernel.leaves() if isinstance(leaf, DescriptorKernel)}


def check_targets(dataset: Dataset, inputs: Inputs) -> None:
    """Reject graphs without targets."""
    if dataset.y is not None:
        return
    advice = "it has neither graph labels nor graph attributes"
    if inputs.format == "edge list":
        advice = "give a table with the target of each graph with --targets"
    elif isinstance(dataset, NamedDataset):
        advice = "name an attribute of its graphs with --target"
    elif isinstance(dataset, MoleculeTable):
        advice = f"name a column with --target; its columns are {', '.join(dataset.columns)}"
    raise InputError(f"{inputs.data} has no targets to learn; {advice}.")


def graph_name(dataset: Dataset, index: int) -> str:
    """Return the name of a graph: its SMILES, its name, or its position counted from 1."""
    if isinstance(dataset, NamedDataset):
        return dataset.names[index]
    return dataset.smiles[index] if isinstance(dataset, MoleculeTable) else str(index + 1)


def skipped_rows(dataset: Dataset) -> list[int]:
    """Return the rows of a table that were skipped."""
    return list(dataset.skipped) if isinstance(dataset, MoleculeTable) else []


def warn_skipped(dataset: Dataset) -> None:
    """Print which rows of a table were skipped."""
    if rows := skipped_rows(dataset):
        print_warning(f"skipped {format_numbers('row', rows)}, whose SMILES cannot be read.")


def _read_edge_list(inputs: Inputs, target: Any) -> NamedDataset:
    if target and inputs.targets is None:
        raise InputError(
            f"--target names a column of the table of graphs; give that table of {inputs.data} with --targets."
        )
    assert inputs.graph is not None
    ends = ("source", "target") if inputs.ends is None else parse_words(inputs.ends, "--ends")
    if len(ends) != 2:
        raise InputError(f"--ends takes two columns such as source,target, but is {inputs.ends!r}.")
    return read_edge_list(
        inputs.data,
        columns=EdgeListColumns(inputs.graph, *ends),
        nodes=inputs.nodes,
        targets=inputs.targets,
        y=target,
        directed=inputs.directed,
        **inputs.attributes(),
    )


@contextmanager
def _messages_with_options() -> Iterator[None]:
    """Print warnings and raise errors with options instead of argument names."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except InputError as error:
        raise InputError(_arguments_to_options(str(error))) from None
    for warning in caught:
        text = str(warning.message)
        if issubclass(warning.category, UnusedAttributesWarning):
            text = _arguments_to_options(text).replace("pass () to", "pass '' to")
        print_warning(text)


def _arguments_to_options(text: str) -> str:
    for name in _ATTRIBUTES:
        text = text.replace(f"{name}=", f"--{name.replace('_', '-')}")
    return text
