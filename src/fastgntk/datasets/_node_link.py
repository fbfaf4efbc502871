"""JSON files with graphs in NetworkX's node-link form; NetworkX is not needed."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from fastgntk.datasets._dataset import NamedDataset
from fastgntk.datasets._interop import ConversionOptions, target_array
from fastgntk.datasets._text_table import read_text, unpacked
from fastgntk.errors import InputError
from fastgntk.graphs import as_graphs
from fastgntk.graphs.convert import graph_attributes, node_names

__all__ = ["read_node_link"]


def read_node_link(
    path: str | Path, *, target: str | Sequence[str] | None = None, **options: Unpack[ConversionOptions]
) -> NamedDataset:
    """Read graphs from a JSON file in the form of ``networkx.node_link_data``.

    Parameters
    ----------
    path : str or Path
        ``.json`` with one graph or a list of graphs, or ``.jsonl`` with one graph a line; UTF-8. A file that
        also ends in ``.gz`` is decompressed.
    target : str or sequence of str, optional
        The graph attribute of y, shape (n,); or several, shape (n, k).
    node_labels, node_features, edge_labels, edge_weights, directed : optional
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
    named = unpacked(path)
    items = _items(path, by_line=named.suffix.lower() == ".jsonl")
    attributes = [graph_attributes(item) for item in items]
    try:
        batch = as_graphs(items, **options)
        y = None if target is None else target_array(attributes, target)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    names = [own.get("name") for own in attributes]
    all_named = all(isinstance(name, str) and name for name in names)
    return NamedDataset(
        graphs=batch,
        y=y,
        name=named.stem,
        names=tuple(str(name) if all_named else str(i + 1) for i, name in enumerate(names)),
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
                f"{path}: graph {i} is not in node-link form but a {type(item).__name__}; see "
                "networkx.node_link_data(graph)."
            )
    if not items:
        raise InputError(f"{path} holds no graphs.")
    return items


def _parsed(path: Path, text: str, first_line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        hint = "; name a file with one graph a line .jsonl" if error.msg == "Extra data" else ""
        raise InputError(f"{path}, line {line}: this is not JSON ({error.msg}){hint}.") from None
    except ValueError as error:  # Python rejects integers of several thousand digits
        raise InputError(f"{path} has a number that cannot be read ({error}).") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply for graphs in node-link form.") from None
