"""Converting graphs of every kind: time beside the source library's own loop over nodes and edges with what they carry.

Loops look at everything and keep nothing, except where a library has a reader of its own: GraKeL's ``Graph`` for its
tuples, ``node_link_graph`` for dictionaries, ``json`` for files of these.

Run: python benchmarks/converting.py [TABLE.csv ...]       (tables of molecules with a column of SMILES)
"""

from __future__ import annotations

import csv
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import grakel
import igraph
import networkx as nx
import numpy as np
from rdkit import Chem

import fastgntk as fg

MANY, NODES, EDGES = 10_000, 30, 60
REPEAT = 7
KINDS = (nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
PIECES = ("C", "N", "O", "c1ccccc1", "C(=O)", "C=C", "C(F)", "S")


class Case(NamedTuple):
    """One kind of graphs: the library's own loop, and what is measured beside it."""

    name: str
    own: Callable[[], object]
    converted: Callable[[], object]


def beside(name: str, loop: Callable[[Any], object], graphs: Any) -> Case:
    return Case(name, lambda: loop(graphs), lambda: fg.as_graphs(graphs))


def plain() -> list[nx.Graph]:
    return [nx.gnm_random_graph(NODES, EDGES, seed=seed) for seed in range(MANY)]


def attributed(graphs: list[nx.Graph]) -> list[nx.Graph]:
    rng = np.random.default_rng(0)
    for G in graphs:
        for data in dict(G.nodes(data=True)).values():
            data |= {"label": "CNO"[rng.integers(3)], "features": [0.5, 1.0, 1.5]}
        for _, _, data in G.edges(data=True):
            data |= {"weight": float(rng.random()), "label": int(rng.integers(3))}
    return graphs


def through_networkx(graphs: Iterable[Any]) -> None:
    for G in graphs:
        for _, data in G.nodes(data=True):
            for name in data:
                data[name]
        for _, _, data in G.edges(data=True):
            for name in data:
                data[name]


def of_networkx(graphs: list[nx.Graph]) -> Iterator[Case]:
    bare = plain()
    named = [nx.relabel_nodes(G, {u: f"node {u}" for u in G}) for G in graphs]
    yield beside("NetworkX", through_networkx, bare)
    yield beside("NetworkX, four attributes", through_networkx, graphs)
    yield beside("NetworkX, four attributes, nodes with names", through_networkx, named)
    for kind in KINDS:
        yield beside(f"NetworkX, four attributes, {kind.__name__}", through_networkx, [kind(G) for G in graphs])


def through_igraph(graphs: Iterable[Any]) -> None:
    for G in graphs:
        for vertex in G.vs:
            vertex.attributes()
        for edge in G.es:
            _ = edge.tuple, edge.attributes()


def of_igraph(graphs: list[nx.Graph]) -> Iterator[Case]:
    yield beside("igraph, four attributes", through_igraph, [igraph.Graph.from_networkx(G) for G in graphs])


def through_geometric(graphs: Iterable[Any]) -> None:
    for data in graphs:
        _ = data.num_nodes, data.edge_index.t().tolist(), data.x.tolist(), data.edge_weight.tolist()


def of_geometric(graphs: list[nx.Graph]) -> Iterator[Case]:
    try:
        made = fg.to_geometric(fg.as_graphs(graphs))
    except fg.InputError as error:
        print(f"PyTorch Geometric: {error}")
        return
    from torch_geometric.data import Batch

    yield beside("PyTorch Geometric", through_geometric, made)
    yield beside("PyTorch Geometric, beside its Batch", Batch.from_data_list, made)


def grakel_form(G: nx.Graph) -> tuple[Any, Any, Any]:
    both = nx.DiGraph(G).edges(data=True)
    weights = {(u, v): data["weight"] for u, v, data in both}
    types = {(u, v): data["label"] for u, v, data in both}
    return weights, dict(G.nodes(data="label")), types


def grakel_objects(tuples: Iterable[Any]) -> list[Any]:
    return [grakel.Graph(*item) for item in tuples]


def through_grakel(graphs: Iterable[Any]) -> None:
    for G in graphs:
        labels = G.get_labels(purpose="dictionary")
        types = G.get_labels(purpose="dictionary", label_type="edge")
        for u in labels:
            labels[u]
        for (u, v), _ in G.get_edges(purpose="dictionary"):
            types[u, v]


def of_grakel(graphs: list[nx.Graph]) -> Iterator[Case]:
    tuples = [grakel_form(G) for G in graphs]
    yield beside("GraKeL, objects", through_grakel, grakel_objects(tuples))
    yield beside("GraKeL, tuples beside its Graph", grakel_objects, tuples)


def of_dictionaries(graphs: list[nx.Graph], folder: Path) -> Iterator[Case]:
    items = [nx.node_link_data(G, edges="edges") for G in graphs]
    yield beside(
        "node-link, beside node_link_graph", lambda items: [nx.node_link_graph(i, edges="edges") for i in items], items
    )
    path = folder / "graphs.jsonl"
    path.write_text("\n".join(map(json.dumps, items)))
    yield Case(
        "node-link file, beside json",
        lambda: [json.loads(line) for line in path.read_text().split("\n")],
        lambda: fg.datasets.read_node_link(path),
    )


def through_table(path: Path) -> None:
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            for name in row:
                row[name]


def of_tables(graphs: list[nx.Graph], folder: Path) -> Iterator[Case]:
    path = folder / "edges.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["graph", "source", "target", "weight", "label"])
        for i, G in enumerate(graphs):
            writer.writerows([i, u, v, data["weight"], data["label"]] for u, v, data in G.edges(data=True))
    yield Case("table of edges", lambda: through_table(path), lambda: fg.datasets.read_edge_list(path))


def through_sparse(matrices: Iterable[Any]) -> None:
    for A in matrices:
        coo = A.tocoo()
        for _ in zip(coo.row.tolist(), coo.col.tolist(), coo.data.tolist(), strict=True):
            pass


def through_dense(matrices: Iterable[Any]) -> None:
    for A in matrices:
        rows, cols = np.nonzero(A)
        for _ in zip(rows.tolist(), cols.tolist(), A[rows, cols].tolist(), strict=True):
            pass


def of_matrices(graphs: list[nx.Graph]) -> Iterator[Case]:
    matrices = [nx.to_scipy_sparse_array(G) for G in graphs]
    dense = [A.toarray() for A in matrices]
    yield beside("SciPy matrices", through_sparse, matrices)
    yield beside("arrays", through_dense, dense)
    yield beside("arrays in a stack", through_dense, np.array(dense))


def through_rdkit(molecules: Iterable[Any]) -> None:
    for molecule in molecules:
        for atom in molecule.GetAtoms():
            _ = atom.GetSymbol(), atom.GetTotalNumHs(), atom.GetFormalCharge(), atom.GetIsAromatic(), atom.IsInRing()
        for bond in molecule.GetBonds():
            _ = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), bond.GetBondType()


def of_molecules() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    smiles = ["".join(rng.choice(PIECES, 8)) for _ in range(MANY)]
    yield beside("RDKit molecules", through_rdkit, [Chem.MolFromSmiles(text) for text in smiles])
    yield beside("SMILES", lambda smiles: through_rdkit(map(Chem.MolFromSmiles, smiles)), smiles)


def cases(folder: Path) -> Iterator[Case]:
    graphs = attributed(plain())
    yield from of_networkx(graphs)
    yield from of_igraph(graphs)
    yield from of_geometric(graphs)
    yield from of_grakel(graphs)
    yield from of_dictionaries(graphs, folder)
    yield from of_tables(graphs, folder)
    yield from of_matrices(graphs)
    yield from of_molecules()
    batch = fg.as_graphs(graphs)
    yield Case("back to NetworkX, beside copy()", lambda: [G.copy() for G in graphs], lambda: fg.to_networkx(batch))


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measured(case: Case) -> float:
    """Print the least times; return the median ratio of consecutive runs.

    Other processes then affect both runs of a pair alike.
    """
    times = np.array([(seconds(case.own), seconds(case.converted)) for _ in range(REPEAT)])
    own, converted = times.min(axis=0)
    ratio = float(np.median(times[:, 1] / times[:, 0]))
    print(f"{case.name:46} own {own:6.2f} s   fastgntk {converted:6.2f} s   ratio {ratio:5.2f}", flush=True)
    return ratio


def molecule_table(path: str) -> None:
    calls: list[int] = []
    start = time.perf_counter()
    table = fg.datasets.read_table(path, skip_invalid=True, progress=lambda done, _: calls.append(done))
    took = time.perf_counter() - start
    print(f"{table.name:46} {len(table):,} molecules in {took:.1f} s, {len(calls):,} calls of progress")


def main() -> None:
    print(f"{MANY:,} graphs of {NODES} nodes and {EDGES} edges; molecules of 8 pieces")
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about unused attributes
        ratios = {case.name: measured(case) for case in cases(Path(folder))}
    slowest = max(ratios, key=ratios.__getitem__)
    print(f"The largest ratio is {ratios[slowest]:.2f} ({slowest}); the target is 2.")
    for path in sys.argv[1:]:
        molecule_table(path)


if __name__ == "__main__":
    main()
