"""Data sets from graphs of other libraries with their targets: objects, and JSON files in NetworkX's node-link form."""

import json
import numbers
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from fastgntk.datasets._dataset import Dataset, NamedDataset
from fastgntk.datasets._text_table import read_text, target_names, without_gz
from fastgntk.errors import InputError
from fastgntk.graphs import as_graphs
from fastgntk.graphs.convert import Names, data_list, graph_attributes, node_names, to_numpy

__all__ = ["from_geometric", "from_networkx", "read_node_link"]


class _ConversionOptions(TypedDict, total=False):
    """The keyword arguments of :func:`fastgntk.as_graphs`."""

    node_labels: Names
    node_features: Names
    edge_labels: Names
    edge_weights: Names
    descriptors: Names
    directed: bool | None


def from_networkx(
    graphs: Sequence[Any],
    target: str | Sequence[str] | None = "y",
    *,
    name: str = "networkx",
    **options: Unpack[_ConversionOptions],
) -> Dataset:
    """Create a data set from NetworkX graphs with targets ``G.graph[target]``.

    A target is an integer or a string for a class, a float, or a sequence of k numbers. Several names give k
    columns. The options ``node_labels``, ``node_features``, ``edge_labels``, ``edge_weights``, ``descriptors`` and
    ``directed`` are those of :func:`fastgntk.as_graphs`.

    Examples
    --------
    >>> import networkx as nx
    >>> data = from_networkx([nx.path_graph(3), nx.star_graph(3)], target=None)
    >>> data
    Dataset('networkx', 2 graphs, 7 nodes)
    """
    graphs = [graphs] if hasattr(graphs, "adj") else list(graphs)
    batch = as_graphs(graphs, **options)
    for i, graph in enumerate(graphs):
        if not isinstance(getattr(graph, "graph", None), Mapping):
            raise InputError(f"graph {i} must be a NetworkX graph, but has type {type(graph).__name__}.")
    return Dataset(batch, _target_array([graph.graph for graph in graphs], target), name)


def from_geometric(data: Any, *, name: str = "geometric", **options: Unpack[_ConversionOptions]) -> Dataset:
    """Create a data set from a data set, a ``Batch`` or a sequence of ``Data`` of PyTorch Geometric, with their ``y``.

    Whole numbers stay classes, floats stay real, and (1, k) for each graph becomes (n, k). The options
    ``node_labels``, ``node_features``, ``edge_labels``, ``edge_weights``, ``descriptors`` and ``directed`` are those
    of :func:`fastgntk.as_graphs`.
    """
    graphs = data_list([data] if hasattr(data, "to_dict") else data)
    batch = as_graphs(graphs, **options)
    targets = [to_numpy(graph.to_dict().get("y")) for graph in graphs]
    if all(target is None for target in targets):
        return Dataset(batch, None, name)
    first = np.asarray(targets[0])
    for i, target in enumerate(targets):
        if (target is None) != (targets[0] is None):
            has, lacks = (0, i) if target is None else (i, 0)
            raise InputError(f"graph {lacks} has no y, but graph {has} has one; give it to all graphs or to none.")
        shape = np.shape(target)
        if len(shape) > 2 or (len(shape) == 2 and shape[0] != 1):
            raise InputError(f"graph {i} has y of shape {shape}; the targets of a graph have shape (1,) or (1, k).")
        if shape != first.shape:
            raise InputError(
                f"graph {i} has y of shape {shape}, but graph 0 has shape {first.shape}; targets of nodes cannot be "
                "learned: give each graph its own."
            )
    y = np.stack([np.asarray(target) for target in targets]).reshape(len(targets), -1)
    y = y[:, 0] if first.ndim < 2 and y.shape[1] == 1 else y
    if y.dtype.kind not in "biuf":
        raise InputError(f"y must hold numbers, but has dtype {y.dtype}; give classes as integers.")
    return Dataset(batch, _as_target(y), name)


def read_node_link(
    path: str | Path, *, target: str | Sequence[str] | None = None, **options: Unpack[_ConversionOptions]
) -> NamedDataset:
    """Read graphs from a JSON file in the form of ``networkx.node_link_data``.

    Parameters
    ----------
    path : str or Path
        ``.json`` with one graph or a list of graphs, or ``.jsonl`` with one graph a line; UTF-8. A file that
        also ends in ``.gz`` is decompressed.
    target : str or sequence of str, optional
        The graph attribute of y, shape (n,); or several, shape (n, k).
    node_labels, node_features, edge_labels, edge_weights, descriptors, directed : optional
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
    items = _read_items(path)
    attributes = [graph_attributes(item) for item in items]
    try:
        batch = as_graphs(items, **options)
        y = _target_array(attributes, target)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    names = [graph.get("name") for graph in attributes]
    all_named = all(isinstance(name, str) and name for name in names)
    return NamedDataset(
        graphs=batch,
        y=y,
        name=without_gz(path).stem,
        names=tuple(str(name) if all_named else str(i + 1) for i, name in enumerate(names)),
        targets=target_names(target),
        node_names=tuple(name for i, item in enumerate(items) for name in node_names(item["nodes"], i)),
    )


def _read_items(path: Path) -> list[Mapping[str, Any]]:
    text = read_text(path, "save it as JSON in UTF-8")
    if without_gz(path).suffix.lower() == ".jsonl":
        lines = enumerate(text.split("\n"), start=1)
        items = [_parse(path, line, i) for i, line in lines if line.strip()]
    else:
        document = _parse(path, text, 1)
        items = document if isinstance(document, list) else [document]
    for i, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise InputError(
                f"{path}: graph {i} must be in node-link form, but has type {type(item).__name__}; see "
                "networkx.node_link_data(graph)."
            )
    if not items:
        raise InputError(f"{path} holds no graphs.")
    return items


def _parse(path: Path, text: str, first_line: int) -> Any:
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


def _target_array(graphs: Sequence[Mapping[str, Any]], target: str | Sequence[str] | None) -> NDArray[Any] | None:
    """Return y from the attributes of each graph: (n,) for a name, (n, k) for several or for vectors, None for None."""
    if target is None:
        return None
    if isinstance(target, str):
        return _target_column(graphs, target)
    columns = [_target_column(graphs, name) for name in target]
    if not columns or any(column.ndim != 1 or column.dtype.kind == "U" for column in columns):
        raise InputError("each of several targets must be one number for each graph; name them one by one.")
    return np.stack(columns, axis=1)


def _target_column(graphs: Sequence[Mapping[str, Any]], target: str) -> NDArray[Any]:
    for i, attributes in enumerate(graphs):
        if attributes.get(target) is None:
            available = ", ".join(map(repr, attributes)) or "none at all"
            raise InputError(f"graph {i} has no attribute {target!r} to learn; its attributes are {available}.")
    values = [attributes[target] for attributes in graphs]
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=np.str_)
    for i, value in enumerate(values):
        if isinstance(value, str) or not _is_target(value):
            raise InputError(
                f"graph {i} has {target!r} = {value!r}; targets must be all numbers, all strings, or all sequences of "
                "equally many numbers."
            )
    try:
        y = np.array(values)
    except ValueError:
        y = np.zeros(0, dtype=object)
    if y.dtype.kind not in "biuf" or y.ndim not in (1, 2):
        raise InputError(f"the attribute {target!r} must be one number, or equally many, for each graph.")
    return _as_target(y)


def _as_target(y: NDArray[Any]) -> NDArray[Any]:
    is_whole = y.dtype.kind in "biu" and (y.dtype.kind != "u" or y.max(initial=0) < 2**63)
    return y.astype(np.int64 if is_whole else np.float64)


def _is_target(value: Any) -> bool:
    if isinstance(value, numbers.Real | np.bool_):
        return True
    try:
        array = np.asarray(value)
    except ValueError:  # different lengths
        return False
    return array.ndim <= 1 and array.dtype.kind in "biuf"
