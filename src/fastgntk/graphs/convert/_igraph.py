"""igraph graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs.convert._assemble import Found, assemble
from fastgntk.graphs.convert._attributes import Choice, Columns

__all__ = ["from_igraph"]

_IDENTITIES = ("name", "_nx_name")  # what igraph and its converters call a vertex


def from_igraph(graphs: Sequence[Any], choice: Choice, directed: bool | None) -> GraphBatch:
    """Convert; None, which igraph puts where an attribute was not given, is a missing attribute."""
    sizes = np.array([graph.vcount() for graph in graphs], dtype=np.int64)
    counts = np.array([graph.ecount() for graph in graphs], dtype=np.int64)
    pairs: list[tuple[int, int]] = []
    for graph in graphs:
        pairs += graph.get_edgelist()
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    nodes = _columns([graph.vs for graph in graphs])
    edges = _columns([graph.es for graph in graphs])
    return assemble(
        Found(
            sizes=sizes,
            counts=counts,
            tails=ends[:, 0],
            heads=ends[:, 1],
            one_way=np.array([graph.is_directed() for graph in graphs], dtype=bool),
            nodes=Columns(nodes, silent=_IDENTITIES),
            edges=Columns(edges),
            node_names=_called(nodes.get("name"), sizes),
        ),
        choice,
        directed,
    )


def _called(names: list[Any] | None, sizes: NDArray[np.int64]) -> list[Any] | None:
    """Return the names of all vertices; the number for those of graphs that have none."""
    if names is None:
        return None
    numbers = [number for size in sizes.tolist() for number in range(size)]
    return [number if name is None else name for name, number in zip(names, numbers, strict=True)]


def _columns(sequences: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the attributes of all vertices, or all edges, one list for each name."""
    names = dict.fromkeys(name for sequence in sequences for name in sequence.attributes())
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for sequence in sequences:
        there = set(sequence.attributes())
        for name, column in columns.items():
            column += sequence[name] if name in there else [None] * len(sequence)
    return {name: column for name, column in columns.items() if any(entry is not None for entry in column)}
