"""Options of lists of edges and of JSON files, and what a model remembers of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fastgntk.cli._console import warning_line
from fastgntk.cli._options import parse_words
from fastgntk.errors import InputError
from fastgntk.graphs import UnusedAttributesWarning

__all__ = [
    "DirectedOption",
    "EdgeLabelsOption",
    "EdgeWeightsOption",
    "EndsOption",
    "GraphOption",
    "Inputs",
    "NodeFeaturesOption",
    "NodeLabelsOption",
    "NodesOption",
    "TargetsOption",
    "in_words_of_options",
]

GraphOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Says that the table lists edges: the column that names the graph of each."),
]
EndsOption = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="The columns with the two nodes of an edge.", show_default="source,target"),
]
NodesOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A second table, of nodes: the graph, a column `node`, and what is known of it."),
]
TargetsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A third table, of graphs: the graph, and what to learn (--target if several)."),
]
NodeLabelsOption = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Attributes that label nodes, such as a,b.", show_default="label")
]
NodeFeaturesOption = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Attributes of nodes that are numbers.", show_default="features or x"),
]
EdgeLabelsOption = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Attributes that label edges.", show_default="label")
]
EdgeWeightsOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The attribute that weights edges.", show_default="weight")
]
DirectedOption = Annotated[
    bool, typer.Option("--directed", help="Listed edges go from the first node to the second only.")
]

_REMEMBERED = ("graph", "ends", "node_labels", "node_features", "edge_labels", "edge_weights")


@dataclass(frozen=True)
class Inputs:
    """How to read a list of edges or a JSON file in node-link form; None where nothing was said."""

    graph: str | None = None
    ends: str | None = None
    nodes: Path | None = None
    targets: Path | None = None
    node_labels: str | None = None
    node_features: str | None = None
    edge_labels: str | None = None
    edge_weights: str | None = None
    directed: bool = False

    def given(self) -> list[str]:
        """Return the options that were given, as they are typed."""
        names = ("nodes", "targets", *_REMEMBERED, "directed")
        return [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) not in (None, False)]

    def names(self) -> dict[str, Any]:
        """Return the four choices of attributes; an empty text is none of them."""
        chosen = {name: getattr(self, name) for name in _REMEMBERED[2:]}
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

    def to_remember(self) -> dict[str, Any]:
        """Return what a model has to know to read new graphs in the same way."""
        known = {name: getattr(self, name) for name in _REMEMBERED} | {"directed": self.directed}
        return {name: value for name, value in known.items() if value not in (None, False)} | (
            {"nodes": True} if self.nodes is not None else {}
        )

    def with_memory(self, about: Mapping[str, Any]) -> Inputs:
        """Fill in what was not said from what the model was trained with."""
        memory = about.get("inputs")
        if not isinstance(memory, Mapping):
            return self
        told = {n: memory[n] for n in _REMEMBERED if getattr(self, n) is None and isinstance(memory.get(n), str)}
        filled = replace(self, **told, directed=self.directed or memory.get("directed") is True)
        if filled.graph is not None and memory.get("nodes") is True and filled.nodes is None:
            raise InputError("the model was trained with a table of nodes; give that of the new graphs with --nodes.")
        return filled


@contextmanager
def in_words_of_options() -> Iterator[None]:
    """Say what is not used, and what is wrong, in the words of the command line."""
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
    for name in _REMEMBERED[2:]:
        text = text.replace(f"{name}=", f"--{name.replace('_', '-')}")
    return text
