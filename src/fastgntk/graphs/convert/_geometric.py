"""PyTorch Geometric: ``Data``, ``Batch`` and data sets.

An edge (u, v) of ``edge_index`` becomes the entry A[u, v], as in PyTorch Geometric's own conversions to SciPy and
NetworkX: u sums over v. Its layers send messages the other way, which differs for directed graphs only.
"""

import sys
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError
from fastgntk.graphs._csr import first_true
from fastgntk.graphs.convert._assemble import ParsedGraphs
from fastgntk.graphs.convert._attributes import AttributeNames
from fastgntk.graphs.convert._tables import Columns

__all__ = ["data_list", "parse_geometric", "to_numpy"]

_NO_ATTRIBUTES = ("edge_index", "num_nodes", "y", "batch", "ptr")
_EDGE_WEIGHTS = ("edge_weight", "weight")


def data_list(items: Iterable[Any]) -> list[Any]:
    """Return one ``Data`` for each graph; a ``Batch`` is split into its graphs."""
    graphs: list[Any] = []
    for i, item in enumerate(items):
        kind = type(item)  # hasattr on an object would search its stores first
        if hasattr(kind, "node_types"):
            raise InputError(f"graph {i} has several types of nodes or edges; call data.to_homogeneous() first.")
        if hasattr(kind, "to_data_list"):
            try:
                graphs += item.to_data_list()
            except (RuntimeError, AttributeError):  # it lacks the boundaries between graphs
                raise InputError(
                    f"item {i} is a Batch that was not made by Batch.from_data_list; pass its graphs one by one."
                ) from None
        else:
            graphs.append(item)
    return graphs


def parse_geometric(items: Sequence[Any]) -> ParsedGraphs:
    """Parse graphs; a ``Data`` without ``edge_index`` has no edges."""
    graphs = data_list(items)
    stored = [graph.to_dict() for graph in graphs]
    sizes = [graph.num_nodes for graph in graphs]
    if None in sizes:
        raise InputError(f"graph {sizes.index(None)} has an unknown number of nodes; set num_nodes.")
    sizes = list(map(int, sizes))
    counts, (tails, heads) = _parse_edges(stored, sizes)
    nodes: dict[str, Any] = {}
    edges: dict[str, Any] = {}
    missing: dict[str, int] = {}
    for name in dict.fromkeys(name for data in stored for name in data if name not in _NO_ATTRIBUTES):
        parts = [data.get(name) for data in stored]
        lengths = list(map(_length, parts))
        fits_nodes = all(length in (None, size) for length, size in zip(lengths, sizes, strict=True))
        fits_edges = all(length in (None, count) for length, count in zip(lengths, counts, strict=True))
        if all(length is None for length in lengths):
            continue
        if fits_edges and ("edge" in name or name in _EDGE_WEIGHTS or not fits_nodes):
            _add_column(edges, missing, name, parts, counts)
        elif fits_nodes:
            _add_column(nodes, missing, name, parts, sizes)
    types = _edge_types(edges.get("edge_attr"))
    edge_table = Columns(edges, missing=missing, as_labels={} if types is None else {"edge_attr": types})
    node_labels = ("label", "x") if "label" not in nodes and _is_whole(nodes.get("x")) else ("label",)
    edge_labels = ("edge_label",) if types is None else ("edge_label", "edge_attr")
    usual = AttributeNames(node_labels, ("x", "features"), edge_labels, _EDGE_WEIGHTS)
    return ParsedGraphs(sizes, counts, tails, heads, Columns(nodes, missing=missing), edge_table, usual=usual)


def to_numpy(value: Any) -> Any:
    """Return a tensor as a NumPy array, anything else unchanged."""
    if not hasattr(value, "detach"):
        return value
    value = value.detach().cpu()
    if str(value.layout) != "torch.strided":  # sparse
        value = value.to_dense()
    return (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()


def _parse_edges(stored: list[dict[str, Any]], sizes: list[int]) -> tuple[list[int], NDArray[Any]]:
    """Return the number of edges of each graph, and the ends of all edges, (2, m)."""
    indices = [data.get("edge_index") for data in stored]
    for i, (data, index) in enumerate(zip(stored, indices, strict=True)):
        if index is None and (data.get("adj_t") is not None or data.get("adj") is not None):
            raise InputError(f"graph {i} has a matrix adj_t or adj in place of edge_index; give edge_index.")
        if index is not None and (len(index.shape) != 2 or index.shape[0] != 2):
            raise InputError(f"graph {i}: edge_index must have shape (2, m), but has shape {tuple(index.shape)}.")
    counts = [0 if index is None else int(index.shape[1]) for index in indices]
    parts = [index for index in indices if index is not None]
    ends = _concatenate(parts, axis=1) if parts else np.zeros((2, 0), dtype=np.int64)
    if ends.dtype.kind not in "iu" and ends.size:
        raise InputError(f"edge_index must hold integers, but has dtype {ends.dtype}.")
    node_counts = np.repeat(np.array(sizes, dtype=np.int64), np.array(counts, dtype=np.int64))
    outside = (ends < 0) | (ends >= node_counts)
    wrong = first_true(outside[0] | outside[1])
    if wrong is not None:
        i = int(np.searchsorted(np.cumsum(counts), wrong, side="right"))
        raise InputError(
            f"graph {i}: edge {wrong - sum(counts[:i])} is ({ends[0, wrong]}, {ends[1, wrong]}), but the graph has "
            f"{sizes[i]} nodes; set num_nodes if there are more."
        )
    return counts, ends


def _concatenate(parts: list[Any], axis: int = 0) -> NDArray[Any]:
    """Concatenate tensors or arrays to one array; one conversion is faster than many."""
    torch = sys.modules.get("torch")
    if torch is not None and all(isinstance(part, torch.Tensor) for part in parts):
        return np.asarray(to_numpy(torch.cat(parts, dim=axis)))
    return np.concatenate([to_numpy(part) for part in parts], axis=axis)


def _length(value: Any) -> int | None:
    if isinstance(value, list | tuple):
        return len(value)
    shape = getattr(value, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) > 0 else None


def _add_column(
    columns: dict[str, Any], missing: dict[str, int], name: str, parts: list[Any], lengths: list[int]
) -> None:
    """Add the concatenated values of all graphs, and the first row without one if a graph with rows has none."""
    starts = accumulate(lengths, initial=0)
    filled = [(part, start) for part, start, length in zip(parts, starts, lengths, strict=False) if length]
    present = [part for part, _ in filled if part is not None]
    if not present:
        return
    if any(isinstance(part, list | tuple) for part in present):
        columns[name] = [entry for part in present for entry in part]
    else:
        widths = {tuple(part.shape[1:]) for part in present}
        if len(widths) > 1:
            shapes = " and ".join(map(str, sorted(widths)[:2]))
            raise InputError(f"{name!r} must have the same width in all graphs, but has rows of shape {shapes}.")
        columns[name] = _concatenate(present)
    if len(present) < len(filled):
        missing[name] = next(start for part, start in filled if part is None)


def _is_whole(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind in "iub"


def _edge_types(column: Any) -> NDArray[Any] | None:
    """Return integers unchanged, and the columns of one-hot rows, the form in which it reads TU files."""
    if _is_whole(column):
        return np.asarray(column)
    if not isinstance(column, np.ndarray) or column.ndim != 2 or column.shape[1] < 2 or not len(column):
        return None
    one_hot = np.isin(column, (0.0, 1.0)).all() and (column.sum(axis=1) == 1.0).all()
    return np.asarray(column.argmax(axis=1)) if one_hot else None
