"""PyTorch Geometric: ``Data``, ``Batch`` and data sets.

An edge (u, v) of ``edge_index`` becomes the entry A[u, v], as in PyTorch Geometric's own conversions to SciPy and
NetworkX: u sums over v. Its layers send messages the other way, which differs for directed graphs only.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Ints
from fastgntk.errors import InputError
from fastgntk.graphs._csr import first_true
from fastgntk.graphs.convert._assemble import AttributeNames, ParsedGraphs
from fastgntk.graphs.convert._tables import Columns

__all__ = ["data_list", "parse_geometric", "to_numpy"]

_NO_ATTRIBUTES = ("edge_index", "num_nodes", "y", "batch", "ptr")
_EDGE_WEIGHTS = ("edge_weight", "weight")
_DENSE = "torch.strided"  # the layout of a tensor that is not sparse


def data_list(items: Iterable[Any]) -> list[Any]:
    """Return one ``Data`` for each graph; a ``Batch`` is split into the graphs it was made from."""
    out: list[Any] = []
    for i, item in enumerate(items):
        kind = type(item)  # hasattr on an object would search its stores first
        if hasattr(kind, "node_types"):
            raise InputError(f"graph {i} has several types of nodes or edges; call data.to_homogeneous() first.")
        if hasattr(kind, "to_data_list"):
            try:
                out += item.to_data_list()
            except (RuntimeError, AttributeError):  # it lacks the boundaries between graphs
                raise InputError(
                    f"item {i} is a Batch that was not made by Batch.from_data_list; pass its graphs one by one."
                ) from None
        else:
            out.append(item)
    return out


def parse_geometric(items: Sequence[Any]) -> ParsedGraphs:
    """Parse graphs; a ``Data`` without ``edge_index`` has no edges."""
    graphs = data_list(items)
    stored = [graph.to_dict() for graph in graphs]
    sizes = np.array([_size(graph, i) for i, graph in enumerate(graphs)], dtype=np.int64)
    counts, (tails, heads) = _ends(stored, sizes)
    of_nodes, of_edges = _attributes(stored, sizes, counts)
    nodes, nodes_lacking = _columns(stored, of_nodes, sizes)
    edges, edges_lacking = _columns(stored, of_edges, counts)
    types = _types(edges.get("edge_attr"))
    return ParsedGraphs(
        sizes=sizes,
        counts=counts,
        tails=tails,
        heads=heads,
        nodes=Columns(nodes, missing=nodes_lacking),
        edges=Columns(edges, missing=edges_lacking, as_labels={} if types is None else {"edge_attr": types}),
        usual=AttributeNames(
            node_labels=("label", "x") if "label" not in nodes and _is_whole(nodes.get("x")) else ("label",),
            node_features=("x", "features"),
            edge_labels=("edge_label",) if types is None else ("edge_label", "edge_attr"),
            edge_weights=_EDGE_WEIGHTS,
        ),
    )


def to_numpy(value: Any) -> Any:
    """Return a tensor as a NumPy array, anything else unchanged."""
    if not hasattr(value, "detach"):
        return value
    value = value.detach().cpu()
    if str(value.layout) != _DENSE:
        value = value.to_dense()
    return (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()


def _size(graph: Any, i: int) -> int:
    size = graph.num_nodes
    if size is None:
        raise InputError(f"graph {i} has an unknown number of nodes; set num_nodes.")
    return int(size)


def _ends(stored: list[dict[str, Any]], sizes: Ints) -> tuple[Ints, Ints]:
    """Return the number of edges of each graph, and the ends of all edges, (2, m)."""
    found = [known.get("edge_index") for known in stored]
    for i, (known, index) in enumerate(zip(stored, found, strict=True)):
        if index is None and (_has(known, "adj_t") or _has(known, "adj")):
            raise InputError(f"graph {i} has a matrix adj_t or adj in place of edge_index; give edge_index.")
        if index is not None and (len(index.shape) != 2 or index.shape[0] != 2):
            raise InputError(f"graph {i}: edge_index must have shape (2, m), but has shape {tuple(index.shape)}.")
    counts = np.array([0 if index is None else index.shape[1] for index in found], dtype=np.int64)
    parts = [index for index in found if index is not None]
    ends = _joined(parts, axis=1) if parts else np.zeros((2, 0), dtype=np.int64)
    if ends.dtype.kind not in "iu" and ends.size:
        raise InputError(f"edge_index must hold whole numbers, but has dtype {ends.dtype}.")
    outside = (ends < 0) | (ends >= np.repeat(sizes, counts))
    which = first_true(outside[0] | outside[1])
    if which is not None:
        i = int(np.searchsorted(np.cumsum(counts), which, side="right"))
        raise InputError(
            f"graph {i}: edge {which - int(counts[:i].sum())} is ({ends[0, which]}, {ends[1, which]}), but the graph "
            f"has {sizes[i]} nodes; set num_nodes if there are more."
        )
    return counts, ends.astype(np.int64)


def _joined(parts: list[Any], axis: int = 0) -> NDArray[Any]:
    """Concatenate tensors or arrays to one array; one conversion is faster than many."""
    torch = sys.modules.get("torch")
    if torch is not None and all(isinstance(part, torch.Tensor) for part in parts):
        joined: NDArray[Any] = to_numpy(torch.cat(parts, dim=axis))
        return joined
    return np.concatenate([to_numpy(part) for part in parts], axis=axis)


def _attributes(stored: list[dict[str, Any]], sizes: Ints, counts: Ints) -> tuple[list[str], list[str]]:
    """Return the names that belong to nodes and those that belong to edges, by the lengths of their values."""
    names = dict.fromkeys(name for known in stored for name in known if name not in _NO_ATTRIBUTES)
    of_nodes, of_edges = [], []
    for name in names:
        lengths = [_length(known.get(name)) for known in stored]
        nodes = all(length is None or length == size for length, size in zip(lengths, sizes, strict=True))
        edges = all(length is None or length == count for length, count in zip(lengths, counts, strict=True))
        if all(length is None for length in lengths):
            continue
        if edges and ("edge" in name or name in _EDGE_WEIGHTS or not nodes):
            of_edges.append(name)
        elif nodes:
            of_nodes.append(name)
    return of_nodes, of_edges


def _length(value: Any) -> int | None:
    if isinstance(value, list | tuple):
        return len(value)
    shape = getattr(value, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) > 0 else None


def _columns(stored: list[dict[str, Any]], names: list[str], lengths: Ints) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the concatenated values of each name, and the first row without one for names that some graph lacks."""
    columns: dict[str, Any] = {}
    lacking: dict[str, int] = {}
    starts = (np.cumsum(lengths) - lengths).tolist()
    filled = [(known, start) for known, start, length in zip(stored, starts, lengths, strict=True) if length]
    for name in names:
        parts = [known[name] for known, _ in filled if _has(known, name)]
        if not parts:
            continue
        if any(isinstance(part, list | tuple) for part in parts):
            columns[name] = [entry for part in parts for entry in part]
        else:
            widths = {tuple(part.shape[1:]) for part in parts}
            if len(widths) > 1:
                shapes = " and ".join(map(str, sorted(widths)[:2]))
                raise InputError(f"{name!r} must have the same width in all graphs, but has rows of shape {shapes}.")
            columns[name] = _joined(parts)
        if len(parts) < len(filled):
            lacking[name] = next(start for known, start in filled if not _has(known, name))
    return columns, lacking


def _has(known: dict[str, Any], name: str) -> bool:
    return known.get(name) is not None


def _is_whole(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind in "iub"


def _types(column: Any) -> NDArray[Any] | None:
    """Return whole numbers unchanged, and the columns of one-hot rows, the form in which it reads TU files."""
    if _is_whole(column):
        return np.asarray(column)
    if not isinstance(column, np.ndarray) or column.ndim != 2 or column.shape[1] < 2 or not len(column):
        return None
    one_hot = np.isin(column, (0.0, 1.0)).all() and (column.sum(axis=1) == 1.0).all()
    return np.asarray(column.argmax(axis=1)) if one_hot else None
