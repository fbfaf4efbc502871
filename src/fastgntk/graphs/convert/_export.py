"""Export graphs to other libraries.

Attributes are written under the names that :func:`as_graphs` reads by default, so that a round trip returns equal
graphs. Self loops were dropped on conversion and are not restored; scales of nodes and descriptors are not exported.
"""

from importlib import import_module
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fastgntk.errors import InputError
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._csr import reverse_edges
from fastgntk.graphs._graph import Graph

__all__ = ["to_geometric", "to_networkx"]


@overload
def to_networkx(graphs: Graph, y: Any = None) -> Any: ...
@overload
def to_networkx(graphs: GraphBatch, y: ArrayLike | None = None) -> list[Any]: ...


def to_networkx(graphs: Graph | GraphBatch, y: Any = None) -> Any:
    """Return a NetworkX graph, or a list of them for a batch.

    Nodes are numbers from 0 on. Node attributes are ``label`` (a tuple where there are several) and ``features`` (a
    list of floats), edge attributes ``weight`` and ``label``, each if the graph has it. A graph with an edge, weight
    or edge label in one direction only becomes a ``DiGraph``. ``y``, one target or row of targets for each graph, goes
    to ``G.graph["y"]``.

    Examples
    --------
    >>> G = to_networkx(Graph.from_edges([(0, 1)], 3, labels=["C", "O", "N"], weights=[2]))
    >>> G.nodes(data=True), G.edges(data=True)
    (NodeDataView({0: {'label': 'C'}, 1: {'label': 'O'}, 2: {'label': 'N'}}), EdgeDataView([(0, 1, {'weight': 2.0})]))
    """
    networkx = _import("networkx", "to_networkx", "NetworkX", "networkx")
    exported = []
    for graph, target in _with_targets(graphs, y):
        rows, symmetric = np.repeat(np.arange(graph.n_nodes), graph.degrees), _is_symmetric(graph)
        kept = rows < graph.indices if symmetric else np.ones(len(rows), dtype=bool)
        node_data = {} if graph.labels is None else {"label": _to_list(graph.labels)}
        node_data |= {} if graph.features is None else {"features": _dense(graph.features).tolist()}
        edge_data = {name: values[kept].tolist() for name, values in _edge_attributes(graph).items()}
        ends = rows[kept].tolist(), graph.indices[kept].tolist()
        G = networkx.Graph() if symmetric else networkx.DiGraph()
        G.add_nodes_from(zip(range(graph.n_nodes), _records(graph.n_nodes, node_data), strict=True))
        G.add_edges_from(zip(*ends, _records(len(ends[0]), edge_data), strict=True))
        if target is not None:
            G.graph["y"] = target.tolist()
        exported.append(G)
    return exported[0] if isinstance(graphs, Graph) else exported


@overload
def to_geometric(graphs: Graph, y: Any = None) -> Any: ...
@overload
def to_geometric(graphs: GraphBatch, y: ArrayLike | None = None) -> list[Any]: ...


def to_geometric(graphs: Graph | GraphBatch, y: Any = None) -> Any:
    """Return a ``Data`` of PyTorch Geometric, or a list of them for a batch.

    Each has ``edge_index`` with both directions of every undirected edge, ``num_nodes``, and if the graph has them
    ``x``, ``label``, ``edge_weight`` and ``edge_label``; ``y`` has shape (1,), or (1, k) for k targets. Numbers stay
    float64 (most networks need ``data.x.float()``). Strings are lists, because there are no tensors of strings.
    """
    needed = "to_geometric", "PyTorch Geometric", "interop"
    torch, geometric = _import("torch", *needed), _import("torch_geometric.data", *needed)
    exported = []
    for graph, target in _with_targets(graphs, y):
        if target is not None and target.dtype.kind not in "biuf":
            raise InputError("targets must be numbers for PyTorch Geometric; number the classes first.")
        rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
        arrays: dict[str, Any] = {"edge_index": np.stack([rows, graph.indices.astype(np.int64)])}
        arrays |= {"x": _dense(graph.features), "label": graph.labels}
        arrays |= {f"edge_{name}": values for name, values in _edge_attributes(graph).items()}
        arrays["y"] = None if target is None else target[None]
        tensors = {
            name: _to_list(value) if value.dtype.kind == "U" else torch.from_numpy(value.copy())
            for name, value in arrays.items()
            if value is not None
        }
        exported.append(geometric.Data(num_nodes=graph.n_nodes, **tensors))
    return exported[0] if isinstance(graphs, Graph) else exported


def _with_targets(graphs: Graph | GraphBatch, y: Any) -> list[tuple[Graph, NDArray[Any] | None]]:
    if isinstance(graphs, Graph):
        return [(graphs, None if y is None else np.asarray(y))]
    if not isinstance(graphs, GraphBatch):
        raise InputError(
            f"graphs must be a Graph or a GraphBatch, but has type {type(graphs).__name__}; convert it with "
            "fastgntk.as_graphs."
        )
    if y is None:
        return [(graph, None) for graph in graphs]
    targets = np.asarray(y)
    if targets.ndim == 0 or len(targets) != len(graphs):
        raise InputError(f"y must have an entry for each of the {len(graphs)} graphs, but has shape {targets.shape}.")
    return [(graph, np.asarray(target)) for graph, target in zip(graphs, targets, strict=True)]


def _edge_attributes(graph: Graph) -> dict[str, NDArray[Any]]:
    attributes = {"weight": graph.weights, "label": graph.edge_labels}
    return {name: values for name, values in attributes.items() if values is not None}


def _to_list(labels: NDArray[Any]) -> list[Any]:
    """Return a list of labels; of tuples if nodes have several."""
    return labels.tolist() if labels.ndim == 1 else [tuple(row) for row in labels.tolist()]


def _records(count: int, columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return a dictionary for each row."""
    if not columns:
        return [{} for _ in range(count)]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _dense(features: Any) -> Any:
    return features.toarray() if sparse.issparse(features) else features


def _is_symmetric(graph: Graph) -> bool:
    """Return whether every edge exists in both directions, with the same weight and label."""
    _, back, has_reverse = reverse_edges(graph.indptr, graph.indices)
    equal = (np.array_equal(values, values[back]) for values in _edge_attributes(graph).values())
    return bool(has_reverse.all()) and all(equal)


def _import(module: str, function: str, library: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InputError(f"{function} needs {library}; install it with `pip install 'fastgntk[{extra}]'`.") from None
