"""From what people have to a :class:`GraphBatch`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk.errors import InputError, some
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._csr import Adjacency
from fastgntk.graphs._graph import Graph
from fastgntk.graphs.convert._assemble import check_two_way
from fastgntk.graphs.convert._attributes import Choice, Names
from fastgntk.graphs.convert._geometric import from_geometric
from fastgntk.graphs.convert._grakel import from_grakel, is_grakel
from fastgntk.graphs.convert._igraph import from_igraph
from fastgntk.graphs.convert._matrices import from_matrices
from fastgntk.graphs.convert._molecule import from_mols, molecules
from fastgntk.graphs.convert._networkx import from_networkx
from fastgntk.graphs.convert._node_link import from_node_link
from fastgntk.graphs.convert._stack import from_stack

__all__ = ["as_graphs"]


def as_graphs(
    source: Any,
    *,
    node_labels: Names = None,
    node_features: Names = None,
    edge_labels: Names = None,
    edge_weights: Names = None,
    directed: bool | None = None,
) -> GraphBatch:
    """Turn graphs in any supported form into a :class:`GraphBatch`.

    Parameters
    ----------
    source
        One graph or a sequence of graphs of one kind: NetworkX, igraph, PyTorch Geometric (``Data``, ``Batch``, data
        sets), GraKeL, RDKit molecules, or dictionaries in node-link form; SMILES in a sequence; a sequence of
        :class:`Graph`, square arrays, SciPy sparse matrices and pairs (adjacency, features); an array of shape
        (n, N, N), or a pair of it and features (n, N, d); a :class:`GraphBatch` or a data set.
    node_labels, node_features, edge_labels, edge_weights : name or sequence of names, optional
        Attributes of nodes and edges by name, for sources that have names. Several node labels are columns, several
        edge labels become one label, several features are put side by side. Where nothing is named for nodes, their
        ``label`` and their ``features`` or ``x`` are taken, if every node has them; for edges ``label`` and
        ``weight``. What is left is told by an :class:`UnusedAttributesWarning`. An empty sequence takes nothing.
    directed : bool, optional
        By default as the source says; arrays are undirected. True keeps directions: row u of an adjacency, or an edge
        (u, v), says that u sums over v. False refuses directed graphs that have an edge in one direction only.

    Examples
    --------
    >>> import numpy as np
    >>> edge = np.array([[0, 1], [1, 0]])
    >>> as_graphs([edge, (edge, np.eye(2))])
    Traceback (most recent call last):
    fastgntk.errors.InputError: graph 1 has features but graph 0 has none; give them to all graphs or to none.
    >>> as_graphs([edge, edge])
    GraphBatch(2 graphs, 4 nodes)
    >>> import networkx as nx
    >>> path = nx.path_graph(["a", "b", "c"])
    >>> nx.set_node_attributes(path, {"a": "C", "b": "C", "c": "O"}, "element")
    >>> as_graphs([path], node_labels="element").labels.tolist()
    ['C', 'C', 'O']
    """
    choice = Choice.of(node_labels, node_features, edge_labels, edge_weights)
    if directed is not None and not isinstance(directed, bool):
        raise InputError(f"directed must be True, False or None, but is {directed!r}.")
    inner = source if isinstance(source, GraphBatch) else getattr(source, "graphs", None)
    if isinstance(inner, GraphBatch):
        _no_names(choice, "graphs of this package")
        return _two_way(inner) if directed is False else inner
    stack = _stack(source)
    if stack is not None:
        _no_names(choice, "arrays")
        return from_stack(*stack, directed)
    items = _listed(source)
    if not items:
        return GraphBatch.from_graphs([])
    foreign = {kind: _foreign(kind) for kind in set(map(type, items))}
    kinds = [foreign[type(item)] or _kind(item) for item in items]
    for i, (item, kind) in enumerate(zip(items, kinds, strict=True)):
        if kind is None:
            raise InputError(
                f"graph {i} is {_a(item)}, which is no graph that can be converted; see the docs, inputs.md."
            )
        if kind != kinds[0]:
            raise InputError(
                f"graph {i} is {_a(item)}, but graph 0 is {_a(items[0])}; convert graphs of one kind at a time."
            )
    assert kinds[0] is not None
    return _CONVERTERS[kinds[0]](items, choice, directed)


def _stack(source: Any) -> tuple[np.ndarray[Any, Any], Any] | None:
    """Return adjacency (n, N, N) and features, if that is what came."""
    if isinstance(source, np.ndarray) and source.ndim == 3:
        return source, None
    if isinstance(source, tuple) and len(source) == 2 and getattr(source[0], "ndim", 0) == 3:
        return np.asarray(source[0]), source[1]
    return None


def _listed(source: Any) -> Sequence[Any]:
    """Return the graphs as a list, or say what to pass instead."""
    if sparse.issparse(source) or (isinstance(source, np.ndarray) and source.ndim == 2):
        raise InputError("graphs must be a sequence of graphs, but one matrix came; for a single graph pass [matrix].")
    if isinstance(source, tuple) and len(source) == 2 and all(getattr(part, "ndim", 0) == 2 for part in source):
        raise InputError(
            "one pair (adjacency, features) came; for a single graph pass [(adjacency, features)], for two graphs "
            "[adjacency, adjacency]."
        )
    if isinstance(source, str):
        raise InputError(
            f"graphs must be a sequence of graphs, but {source!r} came; load files and named data sets with "
            f"fastgntk.datasets.load, and pass a molecule as [{source!r}]."
        )
    if isinstance(source, Graph | Mapping) or _foreign(type(source)) is not None:
        return [source]
    if not isinstance(source, Iterable):
        raise InputError(
            f"graphs must be a sequence of graphs, but {source!r} came; load files and named data sets with "
            "fastgntk.datasets.load."
        )
    return list(source)


def _kind(item: Any) -> str | None:
    """Return which converter takes this, which is no object of another library."""
    if isinstance(item, Graph) or sparse.issparse(item) or isinstance(item, np.ndarray):
        return "arrays"
    if isinstance(item, str):
        return "smiles"
    if isinstance(item, tuple) and len(item) == 2:
        array = sparse.issparse(item[0]) or isinstance(item[0], np.ndarray)
        if not is_grakel(item) or (array and item[1] is None):
            return "arrays"
    if isinstance(item, Mapping):
        return "node-link"
    return "grakel" if is_grakel(item) else None


def _foreign(kind: type) -> str | None:
    """Return which library's objects are of this type.

    No library is imported to find out: who has one of its objects has imported it.
    """
    for library, module, names in _FOREIGN:
        loaded = sys.modules.get(module)
        if issubclass(kind, tuple(getattr(loaded, name) for name in names if hasattr(loaded, name))):
            return library
    return None


# converter, module, classes
_FOREIGN = (
    ("networkx", "networkx", ("Graph",)),
    ("igraph", "igraph", ("Graph",)),
    ("geometric", "torch_geometric.data", ("Data", "HeteroData")),
    ("molecules", "rdkit.Chem", ("Mol",)),
    ("grakel", "grakel", ("Graph",)),
)


def _arrays(items: Sequence[Any], choice: Choice, directed: bool | None) -> GraphBatch:
    _no_names(choice, "arrays and graphs of this package")
    if not any(isinstance(item, Graph) for item in items):
        return from_matrices(items, bool(directed))
    graphs = [
        item if isinstance(item, Graph) else from_matrices([item], bool(directed), first=i)[0]
        for i, item in enumerate(items)
    ]
    batch = GraphBatch.from_graphs(graphs)
    return _two_way(batch) if directed is False else batch


def _molecules(items: Sequence[Any], choice: Choice, directed: bool | None) -> GraphBatch:  # noqa: ARG001  # bonds go both ways
    _no_names(choice, "molecules")
    return from_mols(items)


def _smiles(items: Sequence[str], choice: Choice, directed: bool | None) -> GraphBatch:  # noqa: ARG001
    _no_names(choice, "molecules")
    batch, unread = molecules(items)
    if len(unread):
        raise InputError(
            f"RDKit cannot read the SMILES of {some('graph', unread.tolist())} ({items[unread[0]]!r}); correct them or "
            "leave them out."
        )
    return batch


_CONVERTERS: Mapping[str, Callable[[Sequence[Any], Choice, bool | None], GraphBatch]] = {
    "arrays": _arrays,
    "networkx": from_networkx,
    "igraph": from_igraph,
    "geometric": from_geometric,
    "molecules": _molecules,
    "smiles": _smiles,
    "grakel": from_grakel,
    "node-link": from_node_link,
}


def _no_names(choice: Choice, what: str) -> None:
    if not choice.empty:
        raise InputError(
            f"{what} have no attributes with names; leave out node_labels, node_features, edge_labels and edge_weights."
        )


def _two_way(batch: GraphBatch) -> GraphBatch:
    """Return the batch if every edge is there in both directions."""
    shift = np.repeat(np.repeat(batch.offsets[:-1], batch.sizes), batch.degrees)
    of_node = batch.graph_of_node

    def called(u: int, v: int) -> str:
        start = batch.offsets[of_node[u]]
        return f"graph {of_node[u]}, edge ({u - start}, {v - start})"

    rows = Adjacency(batch.indptr, batch.indices + shift, batch.weights, None, np.zeros(0, dtype=np.int32))
    check_two_way(rows, called)
    return batch


def _a(item: Any) -> str:
    """Return the type of an object with its article and library."""
    module, name = type(item).__module__.split(".")[0], type(item).__name__
    full = name if module == "builtins" else f"{module}.{name}"
    return f"{'an' if full[0] in 'aeiouAEIOU' else 'a'} {full}"
