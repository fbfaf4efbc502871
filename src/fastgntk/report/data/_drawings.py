"""Compact drawings of graphs; large graphs are drawn in part."""

import heapq
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from fastgntk._util.arrays import Ints
from fastgntk.errors import InputError
from fastgntk.graphs import Graph, GraphBatch
from fastgntk.report._schema import Drawing

__all__ = ["draw_graph", "edge_counts", "index_labels", "select_subgraph", "shorten"]

_MAX_NODES = 150
_MAX_EDGES = 400
_LABEL_LENGTH = 60


def draw_graph(graph: Graph, labels: Ints | None, smiles: str | None) -> tuple[Drawing, Ints]:
    """Return a drawing, and the nodes drawn; ``labels`` (N,) are indices.

    Positions and bond orders are those of RDKit if it is installed and the SMILES fits the graph; otherwise the page
    computes a layout.
    """
    molecule = None if smiles is None else _read_molecule(smiles, graph)
    if molecule is None:
        (nodes, edges), bonds = select_subgraph(graph), []
    else:
        nodes, bonds = np.arange(graph.n_nodes), list(molecule.GetBonds())
        edges = np.array([(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds], dtype=np.int64)
    drawing = Drawing(nodes=len(nodes), edges=edges.ravel().tolist())
    if labels is not None:
        drawing["labels"] = labels[nodes].tolist()
    if molecule is not None:
        drawing["positions"] = np.round(_positions(molecule), 2).ravel().tolist()
    orders = [float(bond.GetBondTypeAsDouble()) for bond in bonds]
    if any(order != 1.0 for order in orders):
        drawing["orders"] = [order if order in (1.0, 1.5, 2.0, 3.0) else 1.0 for order in orders]
    return drawing, nodes


def _read_molecule(smiles: str, graph: Graph) -> Any:
    """Return a molecule with positions; None without RDKit, without positions, or if SMILES and graph differ."""
    if not 0 < graph.n_nodes <= _MAX_NODES:
        return None
    try:
        from rdkit.Chem import rdDepictor

        from fastgntk.plotting import read_molecule

        molecule = read_molecule(smiles, graph)
    except (ImportError, InputError):
        return None
    rdDepictor.Compute2DCoords(molecule)
    return molecule if np.isfinite(_positions(molecule)).all() else None


def _positions(molecule: Any) -> Any:
    return molecule.GetConformer().GetPositions()[:, :2]


def select_subgraph(graph: Graph) -> tuple[Ints, Ints]:
    """Return the nodes of a graph that are drawn, in order, and the edges (m, 2) between them as indices into these.

    Up to 150 nodes and 400 edges are drawn. Nodes are collected by best-first search from the node of largest degree,
    so the subgraph is connected if the graph is. The edges of a spanning tree are kept first, then others, evenly
    spread.
    """
    n = graph.n_nodes
    rows = np.repeat(np.arange(n), graph.degrees)
    columns = graph.indices.astype(np.int64)
    pairs = np.unique(np.sort(np.column_stack([rows, columns]), axis=1), axis=0)
    nodes = np.arange(n)
    if n > _MAX_NODES:
        nodes = _most_connected(n, pairs)
        index_of_node = np.full(n, -1)
        index_of_node[nodes] = np.arange(len(nodes))
        pairs = index_of_node[pairs]
        pairs = pairs[(pairs >= 0).all(axis=1)]
    if len(pairs) > _MAX_EDGES:
        matrix = sparse.csr_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(len(nodes), len(nodes)))
        tree = np.column_stack(minimum_spanning_tree(matrix).tocoo().coords)
        in_tree = np.isin(pairs @ [len(nodes), 1], tree @ np.array([len(nodes), 1]))
        rest = np.flatnonzero(~in_tree)
        spread = rest[np.linspace(0, len(rest) - 1, _MAX_EDGES - int(in_tree.sum())).astype(np.int64)]
        pairs = pairs[np.sort(np.concatenate([np.flatnonzero(in_tree), spread]))]
    return nodes, pairs


def _most_connected(n: int, pairs: Ints) -> Ints:
    """Return 150 nodes, sorted: best-first search by degree, one component after the other."""
    adjacency = sparse.csr_array((np.ones(len(pairs), dtype=np.int8), tuple(pairs.T)), shape=(n, n))
    adjacency = (adjacency + adjacency.T).tocsr()
    degree = np.diff(adjacency.indptr).tolist()
    chosen: set[int] = set()
    for start in sorted(range(n), key=lambda u: -degree[u]):
        queue = [(-degree[start], start)]
        while queue and len(chosen) < _MAX_NODES:
            _, u = heapq.heappop(queue)
            if u in chosen:
                continue
            chosen.add(u)
            for v in adjacency.indices[adjacency.indptr[u] : adjacency.indptr[u + 1]].tolist():
                heapq.heappush(queue, (-degree[v], v))
    return np.array(sorted(chosen))


def index_labels(batch: GraphBatch) -> tuple[list[str], Ints | None]:
    """Return the names of the distinct node labels, and the index of the label of each node, if there are labels."""
    if batch.labels is None or not batch.n_nodes:
        return [], None
    axis = None if batch.labels.ndim == 1 else 0
    distinct, indices = np.unique(batch.labels, axis=axis, return_inverse=True)
    names = [", ".join(map(str, row)) for row in distinct.reshape(len(distinct), -1).tolist()]
    return [shorten(name, _LABEL_LENGTH) for name in names], indices.ravel().astype(np.int64)


def edge_counts(batch: GraphBatch) -> Ints:
    """Return the number of edges of each graph, ignoring directions."""
    rows = np.repeat(np.arange(batch.n_nodes), batch.degrees)
    columns = batch.indices + batch.offsets[:-1][batch.graph_of_node[rows]]
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    pairs = np.unique(low * max(batch.n_nodes, 1) + high)
    return np.bincount(batch.graph_of_node[pairs // max(batch.n_nodes, 1)], minlength=len(batch))


def shorten(text: str, length: int) -> str:
    """Cut text to a number of characters, with an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"
