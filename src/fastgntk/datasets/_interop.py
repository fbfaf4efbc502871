"""Data sets from graphs of other libraries with their targets."""

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from fastgntk.datasets._dataset import Dataset
from fastgntk.errors import InputError
from fastgntk.graphs import as_graphs
from fastgntk.graphs.convert import Names, data_list, to_numpy

__all__ = ["ConversionOptions", "from_geometric", "from_networkx", "target_array"]


class ConversionOptions(TypedDict, total=False):
    """The keyword arguments of :func:`fastgntk.as_graphs`."""

    node_labels: Names
    node_features: Names
    edge_labels: Names
    edge_weights: Names
    directed: bool | None


def from_networkx(
    graphs: Sequence[Any],
    target: str | Sequence[str] | None = "y",
    *,
    name: str = "networkx",
    **options: Unpack[ConversionOptions],
) -> Dataset:
    """Create a data set from NetworkX graphs with targets ``G.graph[target]``.

    A target is a whole number or a string for a class, a float, or a sequence of k numbers. Several names give k
    columns. The options ``node_labels``, ``node_features``, ``edge_labels``, ``edge_weights`` and ``directed`` are
    those of :func:`fastgntk.as_graphs`.

    Examples
    --------
    >>> import networkx as nx
    >>> data = from_networkx([nx.path_graph(3), nx.star_graph(3)], target=None)
    >>> data
    Dataset('networkx', 2 graphs, 7 nodes)
    """
    listed = [graphs] if hasattr(graphs, "adj") else list(graphs)
    batch = as_graphs(listed, **options)
    attributes = [getattr(graph, "graph", None) for graph in listed]
    for i, (graph, own) in enumerate(zip(listed, attributes, strict=True)):
        if not isinstance(own, Mapping):
            raise InputError(f"graph {i} must be a NetworkX graph, but is a {type(graph).__name__}.")
    return Dataset(
        batch, None if target is None else target_array([dict(own or {}) for own in attributes], target), name
    )


def from_geometric(data: Any, *, name: str = "geometric", **options: Unpack[ConversionOptions]) -> Dataset:
    """Create a data set from a data set, a ``Batch`` or a sequence of ``Data`` of PyTorch Geometric, with their ``y``.

    Whole numbers stay classes, floats stay real, and (1, k) for each graph becomes (n, k). The options
    ``node_labels``, ``node_features``, ``edge_labels``, ``edge_weights`` and ``directed`` are those of
    :func:`fastgntk.as_graphs`.
    """
    listed = data_list([data] if hasattr(data, "to_dict") else data)
    batch = as_graphs(listed, **options)
    targets = [to_numpy(graph.to_dict().get("y")) for graph in listed]
    if all(target is None for target in targets):
        return Dataset(batch, None, name)
    rows: list[NDArray[Any]] = []
    for i, target in enumerate(targets):
        if (target is None) != (targets[0] is None):
            has, lacks = (0, i) if target is None else (i, 0)
            raise InputError(f"graph {lacks} has no y, but graph {has} has one; give it to all graphs or to none.")
        row = np.asarray(target)
        if row.ndim > 2 or (row.ndim == 2 and len(row) != 1):
            raise InputError(f"graph {i} has y of shape {row.shape}; the targets of a graph have shape (1,) or (1, k).")
        if rows and row.shape != rows[0].shape:
            raise InputError(
                f"graph {i} has y of shape {row.shape}, but graph 0 has shape {rows[0].shape}; targets of nodes cannot "
                "be learned: give each graph its own."
            )
        rows.append(row)
    y = np.stack(rows).reshape(len(rows), -1)
    y = y[:, 0] if rows[0].ndim < 2 and y.shape[1] == 1 else y
    if y.dtype.kind not in "biuf":
        raise InputError(f"y must hold numbers, but has dtype {y.dtype}; give classes as whole numbers.")
    return Dataset(batch, _as_target(y), name)


def target_array(attributes: Sequence[Mapping[str, Any]], target: str | Sequence[str]) -> NDArray[Any]:
    """Return y from the attributes of each graph: (n,) for a name, (n, k) for several or for vectors."""
    if not isinstance(target, str):
        columns = [target_array(attributes, one) for one in target]
        if not columns or any(column.ndim != 1 or column.dtype.kind == "U" for column in columns):
            raise InputError("each of several targets must be one number for each graph; name them one by one.")
        return np.stack(columns, axis=1)
    for i, own in enumerate(attributes):
        if own.get(target) is None:
            available = ", ".join(map(repr, own)) or "none at all"
            raise InputError(f"graph {i} has no attribute {target!r} to learn; its own are {available}.")
    values = [own[target] for own in attributes]
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
    whole = y.dtype.kind in "biu" and (y.dtype.kind != "u" or y.max(initial=0) < 2**63)
    return y.astype(np.int64 if whole else np.float64)


def _is_target(value: Any) -> bool:
    if isinstance(value, numbers.Real | np.bool_):
        return True
    try:
        array = np.asarray(value)
    except ValueError:  # different lengths
        return False
    return array.ndim <= 1 and array.dtype.kind in "biuf"
