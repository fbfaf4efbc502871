"""Weisfeiler–Lehman kernels with dictionaries and nested tuples: a colour is what defines it, and has no number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from fastgntk import WLOA, Graph
from fastgntk.kernels import WeisfeilerLehman


def reference_gram(graphs: list[Graph], kernel: WeisfeilerLehman) -> list[list[int]]:
    """Return the Gram matrix."""
    counts = [_histograms(graph, kernel) for graph in graphs]
    return [[_compare(a, b, kernel) for b in counts] for a in counts]


def node_contributions(graph: Graph, other: Graph, kernel: WeisfeilerLehman) -> list[float]:
    """Return for each node what it adds to the kernel: nodes of a colour share equally what the colour adds."""
    out = [0.0] * graph.n_nodes
    for own, theirs in zip(_colours(graph, kernel), _colours(other, kernel), strict=True):
        for u, colour in enumerate(own):
            n, m = own.count(colour), theirs.count(colour)
            out[u] += min(n, m) / n if isinstance(kernel, WLOA) else m
    return out


def _compare(a: list[Counter], b: list[Counter], kernel: WeisfeilerLehman) -> int:
    if isinstance(kernel, WLOA):
        return sum(min(n, theirs[colour]) for own, theirs in zip(a, b, strict=True) for colour, n in own.items())
    return sum(n * theirs[colour] for own, theirs in zip(a, b, strict=True) for colour, n in own.items())


def _histograms(graph: Graph, kernel: WeisfeilerLehman) -> list[Counter]:
    return [Counter(level) for level in _colours(graph, kernel)]


def _colours(graph: Graph, kernel: WeisfeilerLehman) -> list[list[Hashable]]:
    """Return the colours of all nodes after 0..h iterations."""
    by_degree = kernel.features == "degree" or graph.labels is None
    level: list[Hashable] = [str(value) for value in (graph.degrees if by_degree else graph.labels).tolist()]
    out = [level]
    for _ in range(kernel.iterations):
        level = [(level[u], _around(graph, u, level, kernel)) for u in range(graph.n_nodes)]
        out.append(level)
    return out


def _around(graph: Graph, u: int, level: list[Hashable], kernel: WeisfeilerLehman) -> tuple[Hashable, ...]:
    """Return the neighbours of a node as a sorted multiset of colour, weight and type."""
    found = []
    for k in range(int(graph.indptr[u]), int(graph.indptr[u + 1])):
        weight = 1.0 if graph.weights is None else float(graph.weights[k])
        kind = str(graph.edge_labels[k]) if kernel.edges == "typed" else ""
        found.append((repr(level[int(graph.indices[k])]), weight, kind))
    return tuple(sorted(found))
