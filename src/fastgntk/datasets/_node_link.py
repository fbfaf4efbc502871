"""JSON files with graphs in NetworkX's node-link form; NetworkX is not needed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastgntk.datasets._dataset import NamedDataset
from fastgntk.datasets._objects import target_array
from fastgntk.datasets._text_table import read_text
from fastgntk.errors import InputError
from fastgntk.graphs.convert import AttributeNames, Names, assemble, graph_attributes, node_names, parse_node_link

__all__ = ["read_node_link"]


def read_node_link(
    path: str | Path,
    *,
    target: str | Sequence[str] | None = None,
    node_labels: Names = None,
    node_features: Names = None,
    edge_labels: Names = None,
    edge_weights: Names = None,
    directed: bool | None = None,
) -> NamedDataset:
    """Read graphs from a JSON file in the form that ``networkx.node_link_data`` gives.

    Parameters
    ----------
    path : str or Path
        ``.json`` with one graph or a list of graphs, or ``.jsonl`` with one graph a line; UTF-8, and ``.gz`` after
        either is unpacked on the way.
    target : str or sequence of str, optional
        The graph attribute that is y, shape (n,); or several, shape (n, k).
    node_labels, node_features, edge_labels, edge_weights, directed
        As in :func:`fastgntk.as_graphs`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "one.json"
    ...     _ = path.write_text('{"graph": {"y": 3}, "nodes": [{"id": "a"}, {"id": "b"}], "edges": []}')
    ...     data = read_node_link(path, target="y")
    >>> data, data.y.tolist()
    (NamedDataset('one', 1 graphs, 2 nodes), [3])
    """
    path = Path(path)
    choice = AttributeNames.checked(
        node_labels=node_labels, node_features=node_features, edge_labels=edge_labels, edge_weights=edge_weights
    )
    named = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    items = _items(path, by_line=named.suffix.lower() == ".jsonl")
    known = [graph_attributes(item) for item in items]
    try:
        batch = assemble(parse_node_link(items), choice, directed)
        y = None if target is None else target_array(known, target)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    given = [attributes.get("name") for attributes in known]
    called = all(isinstance(name, str) and name for name in given)
    return NamedDataset(
        graphs=batch,
        y=y,
        name=named.stem,
        names=tuple(str(name) if called else str(i + 1) for i, name in enumerate(given)),
        targets=() if target is None else (target,) if isinstance(target, str) else tuple(target),
        node_names=tuple(name for i, item in enumerate(items) for name in node_names(item["nodes"], i)),
    )


def _items(path: Path, *, by_line: bool) -> list[Mapping[str, Any]]:
    text = read_text(path, "save it as JSON in UTF-8")
    if by_line:
        numbered = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        items = [_parsed(path, line, number) for number, line in numbered]
    else:
        whole = _parsed(path, text, 1)
        items = whole if isinstance(whole, list) else [whole]
    for i, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise InputError(
                f"{path}: graph {i} is not in node-link form but a {type(item).__name__}; "
                "networkx.node_link_data(graph) gives that form."
            )
    if not items:
        raise InputError(f"{path} holds no graphs.")
    return items


def _parsed(path: Path, text: str, first_line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        hint = "; call a file with one graph a line .jsonl" if error.msg == "Extra data" else ""
        raise InputError(f"{path}, line {line}: this is not JSON ({error.msg}){hint}.") from None
    except ValueError as error:  # Python refuses whole numbers of more than some thousand digits
        raise InputError(f"{path} has a number that cannot be read ({error}).") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply for graphs in node-link form.") from None
