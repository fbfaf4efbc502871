"""Converting graphs: time beside the source library's own loop over nodes and edges with their data.

For NetworkX the loop is timed twice: one that only looks, and one that keeps what it sees in lists, as anyone who wants
arrays of it has to.

Run: python benchmarks/converting.py [TABLE.csv ...]       (tables of molecules with a column of SMILES)
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import igraph
import networkx as nx
import numpy as np
from _common import best_of

import fastgntk as fg

MANY, NODES, EDGES = 10_000, 30, 60


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


def kept_of_networkx(graphs: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    nodes, edges = [], []
    for G in graphs:
        for u, data in G.nodes(data=True):
            nodes.append((u, *data.values()))
        for u, v, data in G.edges(data=True):
            edges.append((u, v, *data.values()))
    return nodes, edges


def through_igraph(graphs: Iterable[Any]) -> None:
    for G in graphs:
        for vertex in G.vs:
            vertex.attributes()
        for edge in G.es:
            _ = edge.tuple, edge.attributes()


def through_geometric(graphs: Iterable[Any]) -> None:
    for data in graphs:
        _ = data.num_nodes, data.edge_index.t().tolist(), data.x.tolist(), data.edge_weight.tolist()


def batch_of_geometric(graphs: list[Any]) -> object:
    from torch_geometric.data import Batch

    return Batch.from_data_list(graphs)


def row(name: str, graphs: Any, loop: Callable[[Any], object], repeat: int = 9) -> None:
    """Print the least times, and the median of the ratios of runs that follow each other: what else runs on the machine
    falls on both of a pair."""
    own, converted = [], []
    for _ in range(repeat):
        own.append(best_of(lambda: loop(graphs), 1))
        converted.append(best_of(lambda: fg.graphs(graphs), 1))
    ratio = np.median(np.divide(converted, own))
    print(f"{name:44} own loop {min(own):6.2f} s   fg.graphs {min(converted):6.2f} s   ratio {ratio:5.2f}")


def molecules(path: str) -> None:
    calls: list[int] = []
    start = time.perf_counter()
    table = fg.datasets.read_table(path, skip_invalid=True, progress=lambda done, _: calls.append(done))
    took = time.perf_counter() - start
    print(f"{table.name:44} {len(table):,} molecules in {took:.1f} s, progress told {len(calls):,} times")


def main() -> None:
    graphs = plain()
    row(f"NetworkX, {MANY:,} of {NODES} nodes", graphs, through_networkx)
    row("NetworkX, beside a loop that keeps", graphs, kept_of_networkx)
    row("NetworkX, four attributes", attributed(graphs), through_networkx)
    row("NetworkX, four attributes, a loop that keeps", graphs, kept_of_networkx)
    row("igraph, four attributes", [igraph.Graph.from_networkx(G) for G in graphs], through_igraph)
    batch = fg.graphs(graphs)
    stack = np.random.default_rng(0).random((1_000, 100, 100))
    stack = stack + stack.transpose(0, 2, 1)
    print(f"{'stack (1000, 100, 100), dense weights':44} fg.graphs {best_of(lambda: fg.graphs(stack)):6.2f} s")
    items = [nx.node_link_data(G, edges="edges") for G in graphs]
    print(f"{'node-link dictionaries':44} fg.graphs {best_of(lambda: fg.graphs(items)):6.2f} s")
    print(f"{'to_networkx':44}           {best_of(lambda: fg.to_networkx(batch), 1):6.2f} s")
    try:
        made = fg.to_geometric(batch)
    except fg.InputError as error:
        print(f"PyTorch Geometric: {error}")
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row("PyTorch Geometric, list of Data", made, through_geometric)
            row("PyTorch Geometric, beside its own Batch", made, batch_of_geometric)
    for path in sys.argv[1:]:
        molecules(path)


if __name__ == "__main__":
    main()
