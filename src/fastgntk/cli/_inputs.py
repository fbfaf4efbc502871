"""The group of input options: where graphs come from, and how a table or a JSON file is read."""

from __future__ import annotations

# ruff: noqa: RUF009  # option() makes a dataclass field
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastgntk.cli._groups import OptionGroup, argument, option
from fastgntk.cli._lists import parse_words
from fastgntk.errors import InputError

__all__ = ["EDGE_LIST", "NAMES", "InfoInputs", "Inputs", "NewGraphInputs", "OneGraphInputs"]

DATA_HELP = (
    "A table of molecules, or of edges with --graph (.csv, .tsv), or JSON in node-link form (.json, .jsonl), also "
    "compressed (.gz); a known name (see `fastgntk datasets`); or a folder or zip file in TU format."
)
NAMES = ("node_labels", "node_features", "edge_labels", "edge_weights")
"""Options that name attributes of nodes and edges."""
EDGE_LIST = ("graph", "ends", "nodes", "targets", "directed")
"""Options of edge lists alone."""

_TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_JSON = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
_IN_MODELS = ("graph", "ends", *NAMES)  # with --directed and the presence of --nodes


@dataclass(frozen=True)
class Inputs(OptionGroup):
    """Graphs, and targets to learn."""

    panel = "Input"

    data: str = argument(metavar="DATA", help=DATA_HELP)
    target: list[str] | None = option(
        None, metavar="COLUMN", help="Target: a column of a table, or a graph attribute in JSON; may be repeated."
    )
    smiles: str | None = option(None, metavar="COLUMN", help="Column of SMILES in a table.", show_default="smiles")
    skip_invalid: bool = option(False, "--skip-invalid", help="Skip rows whose SMILES cannot be read, and list them.")
    graph: str | None = option(None, metavar="COLUMN", help="Read an edge list; this column names the graph.")
    ends: str | None = option(None, metavar="A,B", help="Columns of the two nodes.", show_default="source,target")
    nodes: Path | None = option(
        None, metavar="FILE", help="Table of nodes, for edge lists: the graph, a column `node`, and node attributes."
    )
    targets: Path | None = option(
        None, metavar="FILE", help="Table of graphs, for edge lists: the graph, and its target (--target if several)."
    )
    node_labels: str | None = option(None, metavar="NAMES", help="Attributes that label nodes.", show_default="label")
    node_features: str | None = option(
        None, metavar="NAMES", help="Numeric node attributes.", show_default="features or x"
    )
    edge_labels: str | None = option(None, metavar="NAMES", help="Attributes that label edges.", show_default="label")
    edge_weights: str | None = option(None, metavar="NAME", help="Attribute that weights edges.", show_default="weight")
    directed: bool = option(False, "--directed", help="Listed edges go from the first node to the second only.")

    @property
    def is_table(self) -> bool:
        """Whether DATA is a table, of molecules or of edges."""
        return self.data.lower().endswith(_TABLES)

    @property
    def is_json(self) -> bool:
        """Whether DATA is a JSON file in node-link form."""
        return self.data.lower().endswith(_JSON)

    @property
    def is_edge_list(self) -> bool:
        """Whether DATA is a table of edges."""
        return self.is_table and self.graph is not None

    def attributes(self) -> dict[str, Any]:
        """Return the attributes to use as labels, features and weights; an empty text means none."""
        chosen = {name: getattr(self, name) for name in NAMES}
        return {
            name: text if text is None else () if not text else parse_words(text, f"--{name.replace('_', '-')}")
            for name, text in chosen.items()
        }

    def both_ends(self) -> tuple[str, str]:
        """Return the columns of the two nodes of an edge."""
        if self.ends is None:
            return "source", "target"
        words = parse_words(self.ends, "--ends")
        if len(words) != 2:
            raise InputError(f"--ends takes two columns such as source,target, but is {self.ends!r}.")
        return words[0], words[1]

    def to_model(self) -> dict[str, Any]:
        """Return what a model file keeps, so that new graphs are read in the same way."""
        kept: dict[str, Any] = {name: getattr(self, name) for name in _IN_MODELS if getattr(self, name) is not None}
        flags = {"directed": self.directed, "nodes": self.nodes is not None}
        return kept | {name: True for name, given in flags.items() if given}

    def from_model(self, kept: Any) -> Inputs:
        """Return the same options with those that were not given from a model file, if DATA is of a kind to use them.

        >>> Inputs("new.csv", ends="a,b").from_model({"graph": "net", "ends": "u,v"}).given()
        ['--graph', '--ends']
        """
        if not isinstance(kept, Mapping) or not (self.is_json or self.is_table):
            return self
        names = NAMES if self.is_json else _IN_MODELS
        missing = {n: kept[n] for n in names if getattr(self, n) is None and isinstance(kept.get(n), str)}
        directed = self.directed or (self.is_table and kept.get("directed") is True)
        filled = replace(self, **missing, directed=directed)
        if filled.is_edge_list and kept.get("nodes") is True and filled.nodes is None:
            raise InputError("the model was trained with a table of nodes; give that of the new graphs with --nodes.")
        return filled


@dataclass(frozen=True)
class NewGraphInputs(Inputs):
    """Graphs to predict: no targets."""

    omitted = ("target", "targets")


@dataclass(frozen=True)
class OneGraphInputs(Inputs):
    """Graphs of which one is used: others that cannot be read do not matter."""

    omitted = ("target", "targets", "skip_invalid")

    skip_invalid: bool = True


@dataclass(frozen=True)
class InfoInputs(Inputs):
    """Graphs to describe, if any."""

    data: str = argument("", metavar="[DATA]", help=f"Graphs to describe. {DATA_HELP}", show_default=False)
