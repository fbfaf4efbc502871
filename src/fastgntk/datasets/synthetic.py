"""Random graph families with a random state, for tests and scaling studies.

Each function returns a :class:`fastgntk.datasets.Dataset` of ``n_graphs`` graphs. Where a parameter is a
sequence, graph i takes its entry i modulo the length, and ``y`` is that index, the class to predict. The same
arguments give the same graphs on every machine.
"""

from collections.abc import Callable, Sequence

import numpy as np

from fastgntk._util.arrays import Ints
from fastgntk.datasets._dataset import Dataset
from fastgntk.errors import InputError
from fastgntk.graphs import Graph, GraphBatch

__all__ = ["barabasi_albert", "clique_egos", "cycles_with_motifs", "erdos_renyi", "stochastic_block"]

EdgeRule = Callable[[np.random.Generator, float], tuple[int, Ints]]
"""Draw the edges of one graph for a parameter; return its number of nodes, and pairs of nodes."""


def erdos_renyi(
    n_graphs: int, n_nodes: int, probability: float | Sequence[float] = (0.1, 0.2), *, random_state: int = 0
) -> Dataset:
    """Join every pair of nodes independently with the given probability.

    >>> erdos_renyi(4, 10).y.tolist()
    [0, 1, 0, 1]
    """

    def edges(rng: np.random.Generator, p: float) -> tuple[int, Ints]:
        upper = np.stack(np.triu_indices(n_nodes, 1), axis=1)
        return n_nodes, upper[rng.random(len(upper)) < p]

    return _generate("erdos-renyi", n_graphs, _check_choices(probability, "probability", 0.0, 1.0), edges, random_state)


def barabasi_albert(
    n_graphs: int, n_nodes: int, attach: int | Sequence[int] = (1, 3), *, random_state: int = 0
) -> Dataset:
    """Add nodes one by one, each joined to ``attach`` earlier ones chosen in proportion to their degree."""

    def edges(rng: np.random.Generator, m: float) -> tuple[int, Ints]:
        count = int(m)
        pairs = [(count, v) for v in range(count)]  # the initial star
        ends = [node for pair in pairs for node in pair]
        for node in range(count + 1, n_nodes):
            chosen: set[int] = set()
            while len(chosen) < count:
                chosen.add(ends[int(rng.integers(len(ends)))])
            pairs += [(node, v) for v in sorted(chosen)]
            ends += [end for v in sorted(chosen) for end in (node, v)]
        return n_nodes, np.array(pairs, dtype=np.int64)

    return _generate("barabasi-albert", n_graphs, _check_choices(attach, "attach", 1, n_nodes - 1), edges, random_state)


def stochastic_block(
    n_graphs: int,
    n_nodes: int,
    communities: int | Sequence[int] = (2, 4),
    *,
    inside: float = 0.5,
    between: float = 0.05,
    random_state: int = 0,
) -> Dataset:
    """Split nodes evenly into communities; pairs join with one probability inside and another between them."""
    choices = _check_choices(communities, "communities", 1, n_nodes)
    _check_choices((inside, between), "inside and between", 0.0, 1.0)

    def edges(rng: np.random.Generator, k: float) -> tuple[int, Ints]:
        member = np.arange(n_nodes) % int(k)
        u, v = np.triu_indices(n_nodes, 1)
        joined = rng.random(len(u)) < np.where(member[u] == member[v], inside, between)
        return n_nodes, np.stack([u, v], axis=1)[joined]

    return _generate("stochastic-block", n_graphs, choices, edges, random_state)


def cycles_with_motifs(
    n_graphs: int, n_nodes: int, motif: int | Sequence[int] = (3, 4, 5), *, copies: int = 3, random_state: int = 0
) -> Dataset:
    """Attach ``copies`` small rings of ``motif`` nodes to random nodes of one large ring of ``n_nodes``."""
    choices = _check_choices(motif, "motif", 3, 1_000)
    if n_nodes < 3 or copies < 0:
        raise InputError(f"n_nodes must be 3 or more and copies 0 or more, but are {n_nodes} and {copies}.")

    def edges(rng: np.random.Generator, size: float) -> tuple[int, Ints]:
        k, total = int(size), n_nodes
        ring = np.arange(n_nodes)
        parts = [np.stack([ring, np.roll(ring, -1)], axis=1)]
        for anchor in rng.integers(n_nodes, size=copies):
            small = np.arange(total, total + k)
            parts += [np.stack([small, np.roll(small, -1)], axis=1), np.array([[anchor, total]])]
            total += k
        return total, np.concatenate(parts)

    return _generate("cycles-with-motifs", n_graphs, choices, edges, random_state)


def clique_egos(
    n_graphs: int, n_nodes: int, cliques: int | Sequence[int] = (2, 5), *, overlap: float = 0.2, random_state: int = 0
) -> Dataset:
    """Generate dense ego networks like those of COLLAB: one centre, all other nodes in overlapping cliques.

    Node 0 is the centre and joined to all. The others are split into ``cliques`` groups, and each group also includes
    a fraction ``overlap`` of nodes from outside it.
    """
    choices = _check_choices(cliques, "cliques", 1, max(1, n_nodes - 1))
    _check_choices(overlap, "overlap", 0.0, 1.0)

    def edges(rng: np.random.Generator, k: float) -> tuple[int, Ints]:
        alters = 1 + rng.permutation(max(n_nodes - 1, 0))
        parts = [np.stack([np.zeros(len(alters), dtype=np.int64), alters], axis=1)]
        for group in np.array_split(alters, int(k)):
            outside = np.setdiff1d(alters, group)
            extra = rng.choice(outside, size=min(len(outside), round(overlap * len(group))), replace=False)
            members = np.sort(np.concatenate([group, extra]))
            u, v = np.triu_indices(len(members), 1)
            parts.append(np.stack([members[u], members[v]], axis=1))
        return n_nodes, np.concatenate(parts)

    return _generate("clique-egos", n_graphs, choices, edges, random_state)


def _check_choices(value: float | Sequence[float], name: str, low: float, high: float) -> list[float]:
    values = [float(v) for v in np.atleast_1d(np.asarray(value, dtype=np.float64))]
    for v in values:
        if not low <= v <= high:
            raise InputError(f"{name} must lie in {low:g}..{high:g}, but is {v:g}.")
    return values


def _generate(name: str, n_graphs: int, choices: list[float], edges: EdgeRule, random_state: int) -> Dataset:
    if n_graphs < 0:
        raise InputError(f"n_graphs must be 0 or more, but is {n_graphs}.")
    # One generator for each graph, so that the first ten of a hundred graphs equal the ten of ten.
    seeds = np.random.SeedSequence(random_state).spawn(n_graphs)
    y = np.arange(n_graphs) % len(choices)
    graphs = []
    for graph_seed, choice in zip(seeds, y, strict=True):
        n_nodes, pairs = edges(np.random.default_rng(graph_seed), choices[choice])
        graphs.append(Graph.from_edges(pairs, n_nodes))
    return Dataset(GraphBatch.from_graphs(graphs), y, name)
