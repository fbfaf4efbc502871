"""Attributes of whole graphs, such as ``G.graph["dose"]``, that become descriptors when they are named."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.graphs.convert._geometric import data_list, to_numpy
from fastgntk.graphs.convert._networkx_igraph import graph_attributes

__all__ = ["read_descriptors"]


def read_descriptors(kind: str, items: Sequence[Any], names: Sequence[str]) -> dict[str, Array]:
    """Return a block (n, d) for each named attribute of n graphs; a row of NaN for graphs without it."""
    if not names:
        return {}
    graphs = [_ATTRIBUTES[kind](item) for item in (data_list(items) if kind == "geometric" else items)]
    return {name: _read_block(graphs, name) for name in names}


def _read_block(graphs: Sequence[Mapping[str, Any]], name: str) -> Array:
    rows = [None if graph.get(name) is None else _read_row(graph[name], i, name) for i, graph in enumerate(graphs)]
    first = next((i for i, row in enumerate(rows) if row is not None), None)
    if first is None:
        available = ", ".join(repr(key) for key in dict.fromkeys(key for graph in graphs for key in graph))
        raise InputError(f"no graph has an attribute {name!r} to take as descriptors; there are {available or 'none'}.")
    width = len(rows[first])  # type: ignore[arg-type]
    for i, row in enumerate(rows):
        if row is not None and len(row) != width:
            raise InputError(
                f"graph {i} has {len(row)} numbers in {name!r}, but graph {first} has {width}; all must have the same "
                "length."
            )
    return np.array([np.full(width, np.nan) if row is None else row for row in rows])


def _read_row(value: Any, i: int, name: str) -> Array:
    """Return a number, a vector, or a matrix with one row as a vector."""
    try:
        row = np.asarray(to_numpy(value))
    except ValueError:  # different lengths
        row = np.array(None)
    if row.dtype.kind not in "biuf" or row.ndim > 2 or (row.ndim == 2 and len(row) != 1) or not row.size:
        shown = value if np.ndim(row) == 0 else f"an array of shape {row.shape}"
        raise InputError(f"graph {i} has {name!r} = {shown!r}; descriptors must be a number or a vector of numbers.")
    return row.astype(np.float64).ravel()


_ATTRIBUTES: Mapping[str, Callable[[Any], Mapping[str, Any]]] = {
    "networkx": lambda graph: graph.graph,
    "igraph": lambda graph: {name: graph[name] for name in graph.attributes()},
    "geometric": lambda graph: graph.to_dict(),
    "node-link": graph_attributes,
}
