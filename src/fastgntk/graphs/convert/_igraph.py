"""igraph graphs."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from fastgntk.graphs.convert._assemble import ParsedGraphs
from fastgntk.graphs.convert._attributes import Columns

__all__ = ["parse_igraph"]

_IDENTITIES = ("name", "_nx_name")  # vertex names given by igraph and its converters


def parse_igraph(graphs: Sequence[Any]) -> ParsedGraphs:
    """Parse graphs; an attribute that is None, igraph's default, is missing."""
    sizes = [graph.vcount() for graph in graphs]
    ends = np.array(list(chain.from_iterable(graph.get_edgelist() for graph in graphs)), dtype=np.int64).reshape(-1, 2)
    nodes = _columns([graph.vs for graph in graphs])
    names = nodes.get("name")
    if names is not None:  # vertices without a name are called by their number
        numbers = chain.from_iterable(map(range, sizes))
        names = [number if name is None else name for name, number in zip(names, numbers, strict=True)]
    return ParsedGraphs(
        sizes=np.array(sizes, dtype=np.int64),
        counts=np.array([graph.ecount() for graph in graphs], dtype=np.int64),
        tails=ends[:, 0],
        heads=ends[:, 1],
        directed=np.array([graph.is_directed() for graph in graphs], dtype=bool),
        nodes=Columns(nodes, silent=_IDENTITIES),
        edges=Columns(_columns([graph.es for graph in graphs])),
        node_names=names,
    )


def _columns(sequences: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the attributes of all vertices, or of all edges, as one list for each name."""
    names = dict.fromkeys(name for sequence in sequences for name in sequence.attributes())
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for sequence in sequences:
        own = set(sequence.attributes())
        for name, column in columns.items():
            column += sequence[name] if name in own else [None] * len(sequence)
    return {name: column for name, column in columns.items() if any(entry is not None for entry in column)}
