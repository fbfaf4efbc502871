"""What the page needs to draw graphs, in few bytes: of large graphs a part, of many graphs some."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from fastgntk.errors import InputError
from fastgntk.graphs import Graph, GraphBatch
from fastgntk.report._schema import Drawing

__all__ = ["Labels", "Part", "drawn_part", "edge_counts", "molecule_drawing", "plain_drawing", "size_in_bytes", "turn"]

Ints = NDArray[np.int64]

_NODES = 150
_EDGES = 400
_TEXT = 60  # characters of a label


class Labels:
    """Node labels as numbers into a list of names, the same for all graphs."""

    def __init__(self, batch: GraphBatch) -> None:
        self.names: list[str] = []
        self._places: Ints | None = None
        if batch.labels is None or not batch.n_nodes:
            return
        if batch.labels.ndim == 1:
            distinct, places = np.unique(batch.labels, return_inverse=True)
            names = [str(value) for value in distinct.tolist()]
        else:
            distinct, places = np.unique(batch.labels, axis=0, return_inverse=True)
            names = [", ".join(map(str, row)) for row in distinct.tolist()]
        self.names = [name if len(name) <= _TEXT else name[: _TEXT - 1] + "…" for name in names]
        self._places = np.asarray(places, dtype=np.int64).ravel()

    def of(self, start: int, chosen: Ints) -> list[int] | None:
        """Return the numbers of chosen nodes of the graph that begins at node ``start`` of the batch."""
        return None if self._places is None else self._places[start + chosen].tolist()


class Part:
    """Which nodes of a graph are drawn, and which edges among them, both by their places among these nodes."""

    def __init__(self, nodes: Ints, edges: Ints) -> None:
        self.nodes = nodes  # numbers in the graph, in order
        self.edges = edges  # (m, 2)


def edge_counts(batch: GraphBatch) -> list[int]:
    """Return of each graph how many pairs of nodes are joined, in one direction or in both."""
    owner = np.repeat(batch.graph_of_node, batch.degrees)
    rows, columns = np.repeat(np.arange(batch.n_nodes), batch.degrees), batch.indices + batch.offsets[:-1][owner]
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    pairs = np.unique(low * max(batch.n_nodes, 1) + high)
    counts = np.bincount(batch.graph_of_node[pairs // max(batch.n_nodes, 1)], minlength=len(batch))
    return [int(count) for count in counts]


def drawn_part(graph: Graph) -> Part:
    """Return what is drawn of a graph: all, or 150 nodes and 400 edges.

    Nodes are taken from the one with the most neighbours on, each next one a neighbour of those taken where there is
    one, the one with the most neighbours first; so the part hangs together as far as the graph does. Edges of a tree
    that spans it come first, then others, evenly spread.
    """
    n = graph.n_nodes
    rows = np.repeat(np.arange(n), graph.degrees)
    columns = graph.indices.astype(np.int64)
    pairs = np.unique(np.sort(np.column_stack([rows, columns]), axis=1), axis=0)
    nodes = np.arange(n)
    if n > _NODES:
        nodes = _busiest(n, pairs)
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
    return Part(nodes, pairs)


def _busiest(n: int, pairs: Ints) -> Ints:
    """Return 150 nodes, in order of number."""
    import heapq

    joined = sparse.csr_array((np.ones(len(pairs), dtype=np.int8), tuple(pairs.T)), shape=(n, n))
    joined = (joined + joined.T).tocsr()
    degree = np.diff(joined.indptr)
    component = connected_components(joined, directed=False)[1]
    taken, waiting = np.zeros(n, dtype=bool), list[tuple[int, int]]()
    chosen: list[int] = []
    starts = iter(np.lexsort((np.arange(n), -degree)).tolist())
    seen = set[int]()
    while len(chosen) < _NODES:
        if not waiting:
            u = next(starts)
            if taken[u] or component[u] in seen:
                continue
            seen.add(int(component[u]))
            waiting.append((-int(degree[u]), u))
        _, u = heapq.heappop(waiting)
        if taken[u]:
            continue
        taken[u] = True
        chosen.append(u)
        for v in joined.indices[joined.indptr[u] : joined.indptr[u + 1]].tolist():
            if not taken[v]:
                heapq.heappush(waiting, (-int(degree[v]), v))
    return np.sort(np.array(chosen))


def plain_drawing(part: Part, labels: list[int] | None) -> Drawing:
    """Return a drawing of which the page finds the places."""
    drawing = Drawing(nodes=len(part.nodes), edges=part.edges.ravel().tolist())
    if labels is not None:
        drawing["labels"] = labels
    return drawing


def molecule_drawing(smiles: str, graph: Graph, labels: list[int] | None) -> tuple[Drawing, Part] | None:
    """Return a drawing with RDKit's places and orders of bonds; None without RDKit, or if the graph is another one."""
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
    part = Part(np.arange(molecule.GetNumAtoms()), np.array(ends, dtype=np.int64).reshape(-1, 2))
    drawing = plain_drawing(part, labels)
    drawing["places"] = np.round(places, 2).ravel().tolist()
    orders = [float(bond.GetBondTypeAsDouble()) for bond in bonds]
    if any(order != 1.0 for order in orders):
        drawing["orders"] = [order if order in (1.0, 1.5, 2.0, 3.0) else 1.0 for order in orders]
    return drawing, part


def turn(wrong: Sequence[bool] | NDArray[Any], count: int) -> Ints:
    """Return up to ``count`` graphs in the order in which they are drawn: wrong ones first, then the rest evenly.

    Of the rest, any first part is spread over all of them: halves, then quarters, and so on.
    """
    flags = np.asarray(wrong, dtype=bool)
    rest = np.flatnonzero(~flags)
    # The bits of a place, read backwards: 0, 1/2, 1/4, 3/4, ... of the whole.
    bits = max(1, int(len(rest) - 1).bit_length())
    backwards = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(2**bits)]
    order = np.array([i for i in backwards if i < len(rest)], dtype=np.int64)
    return np.concatenate([np.flatnonzero(flags), rest[order]])[:count]


def size_in_bytes(value: Any) -> int:
    """Return how many bytes a value takes as JSON."""
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())
