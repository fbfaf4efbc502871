"""Recognise graphs of any supported form and convert them to a :class:`GraphBatch`."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk.errors import InputError
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._csr import check_symmetric
from fastgntk.graphs._graph import Graph
from fastgntk.graphs.convert._assemble import MessageNames, ParsedGraphs, assemble
from fastgntk.graphs.convert._attributes import AttributeNames, Names, check_names
from fastgntk.graphs.convert._geometric import parse_geometric
from fastgntk.graphs.convert._grakel import from_grakel, is_grakel
from fastgntk.graphs.convert._graph_descriptors import read_descriptors
from fastgntk.graphs.convert._matrices import from_matrices, from_stack
from fastgntk.graphs.convert._molecule import from_mols, from_smiles_list
from fastgntk.graphs.convert._networkx_igraph import parse_igraph, parse_networkx, parse_node_link

__all__ = ["as_graphs"]


def as_graphs(
    source: Any,
    *,
    node_labels: Names = None,
    node_features: Names = None,
    edge_labels: Names = None,
    edge_weights: Names = None,
    descriptors: Names = None,
    directed: bool | None = None,
) -> GraphBatch:
    """Convert graphs in any supported form to a :class:`GraphBatch`.

    Parameters
    ----------
    source
        One graph or a sequence of graphs of one kind: NetworkX, igraph, PyTorch Geometric (``Data``, ``Batch``, data
        sets), GraKeL, RDKit molecules, or dictionaries in node-link form; SMILES in a sequence; a sequence of
        :class:`Graph`, square arrays, SciPy sparse matrices and pairs (adjacency, features); an array of shape
        (n, N, N), or a pair of it and features (n, N, d); a :class:`GraphBatch` or a data set.
    node_labels, node_features, edge_labels, edge_weights : name or sequence of names, optional
        Attributes of nodes and edges by name, for sources with named attributes. Several node labels are columns,
        several edge labels become one label, several features are put side by side. If nothing is named for nodes,
        their ``label`` and their ``features`` or ``x`` are taken, provided that every node has them; for edges
        ``label`` and ``weight``. Unused attributes raise an :class:`UnusedAttributesWarning`. An empty sequence
        selects nothing.
    descriptors : name or sequence of names, optional
        Attributes of whole graphs by name, such as ``G.graph["dose"]`` in NetworkX and node-link form, ``g["dose"]`` in
        igraph and ``data.dose`` in PyTorch Geometric: numbers or vectors, each a block of ``batch.descriptors``.
    directed : bool, optional
        By default as in the source; arrays are undirected. True keeps directions: row u of an adjacency, or an edge
        (u, v), means that u sums over v. False rejects directed graphs with an edge in one direction only.

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
    blocks = check_names(descriptors, "descriptors") or ()
    names = AttributeNames.checked(
        node_labels=node_labels, node_features=node_features, edge_labels=edge_labels, edge_weights=edge_weights
    )
    if directed is not None and not isinstance(directed, bool):
        raise InputError(f"directed must be True, False or None, but is {directed!r}.")
    inner = source if isinstance(source, GraphBatch) else getattr(source, "graphs", None)
    if isinstance(inner, GraphBatch):
        _check_no_names(names, blocks, "graphs of this package")
        return _checked_direction(inner, directed)
    pair = (source, None) if isinstance(source, np.ndarray) else source
    if isinstance(pair, tuple) and len(pair) == 2 and getattr(pair[0], "ndim", 0) == 3:
        _check_no_names(names, blocks, "arrays")
        return from_stack(np.asarray(pair[0]), pair[1], directed)
    items = _list_graphs(source)
    if not items:
        return GraphBatch.from_graphs([])
    kind = _common_kind(items)
    if kind in _PARSERS:
        batch = assemble(_PARSERS[kind](items), names, directed)
        return batch.with_descriptors(read_descriptors(kind, items, blocks)) if blocks else batch
    what, convert = _CONVERTERS[kind]
    _check_no_names(names, blocks, what)
    return convert(items, directed)


def _list_graphs(source: Any) -> Sequence[Any]:
    """Return the graphs as a list; raise for a single matrix, a string, or an object that cannot be iterated."""
    if sparse.issparse(source) or (isinstance(source, np.ndarray) and source.ndim == 2):
        raise InputError("graphs must be a sequence of graphs, but got one matrix; for a single graph pass [matrix].")
    if isinstance(source, tuple) and len(source) == 2 and all(getattr(part, "ndim", 0) == 2 for part in source):
        raise InputError(
            "got one pair (adjacency, features); for a single graph pass [(adjacency, features)], for two graphs "
            "[adjacency, adjacency]."
        )
    if isinstance(source, Graph | Mapping) or _library(type(source)) is not None:
        return [source]
    if isinstance(source, str) or not isinstance(source, Iterable):
        hint = f", and pass a molecule as [{source!r}]" if isinstance(source, str) else ""
        raise InputError(
            f"graphs must be a sequence of graphs, but got {source!r}; load files and named data sets with "
            f"fastgntk.datasets.load{hint}."
        )
    return list(source)


def _common_kind(items: Sequence[Any]) -> str:
    libraries = {kind: _library(kind) for kind in set(map(type, items))}
    kinds = [libraries[type(item)] or _kind(item) for item in items]
    for i, (item, kind) in enumerate(zip(items, kinds, strict=True)):
        if kind is None:
            raise InputError(f"graph {i} is {_type_name(item)}, which cannot be converted; see the docs, inputs.md.")
        if kind != kinds[0]:
            raise InputError(
                f"graph {i} is {_type_name(item)}, but graph 0 is {_type_name(items[0])}; convert graphs of one kind "
                "at a time."
            )
    assert kinds[0] is not None
    return kinds[0]


def _kind(item: Any) -> str | None:
    """Return the kind of a graph that does not belong to another library, None if it is not a graph."""
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


def _library(kind: type) -> str | None:
    """Return the library that this type belongs to, without an import: its objects exist only after an import."""
    for library, module, name in _LIBRARY_CLASSES:
        library_class = getattr(sys.modules.get(module), name, None)
        if library_class is not None and issubclass(kind, library_class):
            return library
    return None


# kind, module, class
_LIBRARY_CLASSES = (
    ("networkx", "networkx", "Graph"),
    ("igraph", "igraph", "Graph"),
    ("geometric", "torch_geometric.data", "Data"),
    ("geometric", "torch_geometric.data", "HeteroData"),
    ("molecules", "rdkit.Chem", "Mol"),
    ("grakel", "grakel", "Graph"),
)


def _from_arrays(items: Sequence[Any], directed: bool | None) -> GraphBatch:
    if not any(isinstance(item, Graph) for item in items):
        return from_matrices(items, bool(directed))
    graphs = list(items)
    for i, item in enumerate(items):
        if not isinstance(item, Graph):
            graphs[i] = from_matrices([item], bool(directed), first=i)[0]
    return _checked_direction(GraphBatch.from_graphs(graphs), directed)


# Sources with named attributes.
_PARSERS: Mapping[str, Callable[[Sequence[Any]], ParsedGraphs]] = {
    "networkx": parse_networkx,
    "igraph": parse_igraph,
    "geometric": parse_geometric,
    "node-link": parse_node_link,
}

# Sources without, and how error messages call them. Bonds of molecules have no direction.
_CONVERTERS: Mapping[str, tuple[str, Callable[[Sequence[Any], bool | None], GraphBatch]]] = {
    "arrays": ("arrays and graphs of this package", _from_arrays),
    "molecules": ("molecules", lambda items, _: from_mols(items)),
    "smiles": ("molecules", lambda items, _: from_smiles_list(items)),
    "grakel": ("graphs in the form of GraKeL", from_grakel),
}


def _check_no_names(names: AttributeNames, descriptors: Sequence[str], what: str) -> None:
    if names != AttributeNames():
        raise InputError(
            f"{what} have no named attributes; leave out node_labels, node_features, edge_labels and edge_weights."
        )
    if descriptors:
        raise InputError(
            f"{what} have no named attributes; leave out descriptors, and add them with batch.with_descriptors(...)."
        )


def _checked_direction(batch: GraphBatch, directed: bool | None) -> GraphBatch:
    """Return the batch; with ``directed=False``, raise unless every edge exists in both directions."""
    if directed is False:
        check_symmetric(batch.indptr, batch.global_indices, batch.weights, MessageNames(batch.offsets).edge)
    return batch


def _type_name(item: Any) -> str:
    """Return the type of an object with its article and library."""
    module, name = type(item).__module__.split(".")[0], type(item).__name__
    full = name if module == "builtins" else f"{module}.{name}"
    return f"{'an' if full[0] in 'aeiouAEIOU' else 'a'} {full}"
