"""Compact drawings of graphs; large graphs are drawn in part."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from fastgntk._util.arrays import Ints
from fastgntk.errors import InputError
from fastgntk.graphs import Graph, GraphBatch
from fastgntk.report._schema import Drawing

__all__ = ["LabelIndex", "Subgraph", "edge_counts", "molecule_drawing", "plain_drawing"]


_NODES = 150
_EDGES = 400
_LABEL_LENGTH = 60


class LabelIndex:
    """Node labels as indices into one list of names."""

    def __init__(self, batch: GraphBatch) -> None:
        self.names: list[str] = []
        self._indices: Ints | None = None
        if batch.labels is None or not batch.n_nodes:
            return
        if batch.labels.ndim == 1:
            distinct, indices = np.unique(batch.labels, return_inverse=True)
            names = [str(value) for value in distinct.tolist()]
        else:
            distinct, indices = np.unique(batch.labels, axis=0, return_inverse=True)
            names = [", ".join(map(str, row)) for row in distinct.tolist()]
        self.names = [name if len(name) <= _LABEL_LENGTH else name[: _LABEL_LENGTH - 1] + "…" for name in names]
        self._indices = np.asarray(indices, dtype=np.int64).ravel()

    def of(self, start: int, chosen: Ints) -> list[int] | None:
        """Return the label indices of chosen nodes of the graph that begins at node ``start`` of the batch."""
        return None if self._indices is None else self._indices[start + chosen].tolist()


class Subgraph(NamedTuple):
    """The nodes of a graph that are drawn, in order, and the edges (m, 2) between them as indices into ``nodes``."""

    nodes: Ints
    edges: Ints

    @classmethod
    def of(cls, graph: Graph) -> Subgraph:
        """Return the part of a graph that is drawn: all of it, or 150 nodes and 400 edges.

        Nodes are collected by best-first search from the node of largest degree, so the subgraph is connected if the
        graph is. The edges of a spanning tree are kept first, then others, evenly spread.
        """
        n = graph.n_nodes
        rows = np.repeat(np.arange(n), graph.degrees)
        columns = graph.indices.astype(np.int64)
        pairs = np.unique(np.sort(np.column_stack([rows, columns]), axis=1), axis=0)
        nodes = np.arange(n)
        if n > _NODES:
            nodes = _most_connected(n, pairs)
            place = np.full(n, -1)
            place[nodes] = np.arange(len(nodes))
            pairs = place[pairs]
            pairs = pairs[(pairs >= 0).all(axis=1)]
        if len(pairs) > _EDGES:
            matrix = sparse.csr_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(len(nodes), len(nodes)))
            tree = minimum_spanning_tree(matrix).tocoo()
            kept = np.column_stack(tree.coords)
            in_tree = np.isin(pairs @ [len(nodes), 1], kept @ np.array([len(nodes), 1]))
            rest = np.flatnonzero(~in_tree)
            spread = rest[np.linspace(0, len(rest) - 1, _EDGES - int(in_tree.sum())).astype(np.int64)]
            pairs = pairs[np.sort(np.concatenate([np.flatnonzero(in_tree), spread]))]
        return cls(nodes, pairs)


def _most_connected(n: int, pairs: Ints) -> Ints:
    """Return 150 nodes, sorted: best-first search by degree, one component after the other."""
    adjacency = sparse.csr_array((np.ones(len(pairs), dtype=np.int8), tuple(pairs.T)), shape=(n, n))
    adjacency = (adjacency + adjacency.T).tocsr()
    degree = np.diff(adjacency.indptr).tolist()
    chosen: set[int] = set()
    for start in sorted(range(n), key=lambda u: -degree[u]):
        queue = [(-degree[start], start)]
        while queue and len(chosen) < _NODES:
            _, u = heapq.heappop(queue)
            if u in chosen:
                continue
            chosen.add(u)
            for v in adjacency.indices[adjacency.indptr[u] : adjacency.indptr[u + 1]].tolist():
                heapq.heappush(queue, (-degree[v], v))
    return np.array(sorted(chosen))


def edge_counts(batch: GraphBatch) -> list[int]:
    """Return the number of edges of each graph, ignoring directions."""
    owner = np.repeat(batch.graph_of_node, batch.degrees)
    rows, columns = np.repeat(np.arange(batch.n_nodes), batch.degrees), batch.indices + batch.offsets[:-1][owner]
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    pairs = np.unique(low * max(batch.n_nodes, 1) + high)
    counts = np.bincount(batch.graph_of_node[pairs // max(batch.n_nodes, 1)], minlength=len(batch))
    return [int(count) for count in counts]


def plain_drawing(part: Subgraph, labels: list[int] | None) -> Drawing:
    """Return a drawing without positions; the page computes a layout."""
    drawing = Drawing(nodes=len(part.nodes), edges=part.edges.ravel().tolist())
    if labels is not None:
        drawing["labels"] = labels
    return drawing


def molecule_drawing(smiles: str, graph: Graph, labels: list[int] | None) -> tuple[Drawing, Subgraph] | None:
    """Return a drawing with RDKit's positions and bond orders; None without RDKit, or if SMILES and graph differ."""
    try:
        from rdkit import Chem
        from rdkit.Chem import rdDepictor

        from fastgntk.plotting import read_molecule

        molecule = Chem.Mol(read_molecule(smiles, graph))
    except (ImportError, InputError):
        return None
    if molecule.GetNumAtoms() > _NODES or not molecule.GetNumAtoms():
        return None
    rdDepictor.Compute2DCoords(molecule)
    places = molecule.GetConformer().GetPositions()[:, :2]
    if not np.isfinite(places).all():
        return None
    bonds = list(molecule.GetBonds())
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds]
    part = Subgraph(np.arange(molecule.GetNumAtoms()), np.array(ends, dtype=np.int64).reshape(-1, 2))
    drawing = plain_drawing(part, labels)
    drawing["places"] = np.round(places, 2).ravel().tolist()
    orders = [float(bond.GetBondTypeAsDouble()) for bond in bonds]
    if any(order != 1.0 for order in orders):
        drawing["orders"] = [order if order in (1.0, 1.5, 2.0, 3.0) else 1.0 for order in orders]
    return drawing, part
