"""Graphs as tables: a CSV file of edges, and where there is more to say one of nodes and one of targets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.datasets._dataset import NamedDataset
from fastgntk.datasets._text_table import TextTable, read_text_table
from fastgntk.errors import InputError
from fastgntk.graph._assemble import Found, assemble, node_numbers
from fastgntk.graph._attributes import Choice, Columns, Names

__all__ = ["read_edge_list"]


def read_edge_list(
    path: str | Path,
    *,
    graph: str = "graph",
    source: str = "source",
    target: str = "target",
    edge_labels: Names = None,
    edge_weights: Names = None,
    nodes: str | Path | None = None,
    node: str = "node",
    node_labels: Names = None,
    node_features: Names = None,
    targets: str | Path | None = None,
    y: str | Sequence[str] | None = None,
    directed: bool = False,
) -> NamedDataset:
    r"""Read graphs from a table with a row for each edge.

    Parameters
    ----------
    path : str or Path
        ``.csv``, or ``.tsv`` with tabs, UTF-8, with a header; ``.gz`` after either is unpacked on the way. An
        undirected edge may be given once or in both directions.
    graph, source, target : str
        The columns that say to which graph an edge belongs and which nodes it joins; any text names a node.
    edge_labels, edge_weights : str or sequence of str, optional
        The columns of labels and weights of edges, as in :func:`fastgntk.graphs`: by default ``label`` and ``weight``,
        where there are such columns.
    nodes : str or Path, optional
        A second table with a row for each node: the columns ``graph`` and ``node``, and whatever is known. Nodes
        without edges come from here. Without it, the nodes are those that edges name.
    node : str
        The column of nodes there.
    node_labels, node_features : str or sequence of str, optional
        Columns there, as in :func:`fastgntk.graphs`.
    targets : str or Path, optional
        A third table with a row for each graph: the column ``graph``, and what is to be learned. Its order is that of
        the graphs; without it, they come as the tables name them.
    y : str or sequence of str, optional
        The column of targets there, shape (n,), or several, shape (n, k); by default the only one.
    directed : bool
        Whether an edge goes from source to target only; the source then sums over the target.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "edges.csv"
    ...     _ = path.write_text("graph,source,target,weight\nA,x,y,0.5\nA,y,z,2\nB,x,y,1\n")
    ...     data = read_edge_list(path)
    >>> data, data.names, data.graphs.weights.tolist()
    (NamedDataset('edges', 2 graphs, 5 nodes), ('A', 'B'), [0.5, 0.5, 2.0, 2.0, 1.0, 1.0])
    """
    choice = Choice.of(node_labels, node_features, edge_labels, edge_weights)
    edges = read_text_table(Path(path), "edge")
    of_graph = edges.column(graph, "graph")
    ends_at = edges.column(source, "source", "--ends"), edges.column(target, "target", "--ends")
    if len({of_graph, *ends_at}) < 3:
        raise InputError(
            f"graph, source and target must be three columns of {path}, but are {graph!r}, {source!r} and {target!r}."
        )
    in_graph = edges.texts(of_graph, "graph")
    tails, heads = (edges.texts(at, "node") for at in ends_at)

    listed = None if targets is None else _Listed(read_text_table(Path(targets), "graph"), graph, y)
    known = None if nodes is None else _Nodes(read_text_table(Path(nodes), "node"), graph, node)
    named = listed.names if listed else dict.fromkeys([*(known.in_graph if known else ()), *in_graph])
    graphs = {name: i for i, name in enumerate(named)}
    _check_graphs(edges, in_graph, graphs, targets)
    if known is not None:
        _check_graphs(known.table, known.in_graph, graphs, targets)

    in_graph_number = list(map(graphs.__getitem__, in_graph))
    places = _places(graphs, known)
    ends = _ends(edges, in_graph_number, tails, heads, graphs, places, known)
    for name, place in zip(graphs, places, strict=True):
        if not place:
            raise InputError(
                f"graph {name!r} of {targets} has no edge and no node; give it nodes in a table with nodes= (--nodes)."
            )
    order = np.argsort(in_graph_number, kind="stable")
    node_names = [name for place in places for name in place]
    found = Found(
        sizes=np.array([len(place) for place in places], dtype=np.int64),
        counts=np.bincount(in_graph_number, minlength=len(graphs)),
        tails=ends[order, 0],
        heads=ends[order, 1],
        one_way=np.full(len(graphs), directed),
        nodes=Columns({}) if known is None else known.columns(graphs),
        edges=_Cells(edges, (of_graph, *ends_at), order),
        parallel=False,
        node_names=node_names,
        graph_names=list(graphs),
    )
    try:
        batch = assemble(found, choice, None)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return NamedDataset(
        graphs=batch,
        y=None if listed is None else listed.y,
        name=edges.name,
        names=tuple(graphs),
        targets=() if listed is None else listed.targets,
        node_names=tuple(node_names),
    )


class _Listed:
    """The table of targets."""

    def __init__(self, table: TextTable, graph: str, y: str | Sequence[str] | None) -> None:
        at = table.column(graph, "graph")
        self.names = table.texts(at, "graph")
        _once(table, self.names, "graph")
        if y is None:
            others = [column for i, column in enumerate(table.columns) if i != at]
            if len(others) != 1:
                raise InputError(
                    f"{table.path} has {len(others)} columns besides {graph!r}; name what is to be learned with y= "
                    f"(--target) among {table.listed()}."
                )
            y = others[0]
        self.targets = (y,) if isinstance(y, str) else tuple(y)
        rows = np.arange(len(self.names))
        found = [
            table.values(table.column(one, "y", "--target"), rows, classes=isinstance(y, str)) for one in self.targets
        ]
        self.y: NDArray[Any] = found[0] if isinstance(y, str) else np.stack(found, axis=1)


class _Nodes:
    """The table of nodes."""

    def __init__(self, table: TextTable, graph: str, node: str) -> None:
        self.table = table
        self._ends = table.column(graph, "graph"), table.column(node, "node", "or call it node")
        self.in_graph, self.names = table.texts(self._ends[0], "graph"), table.texts(self._ends[1], "node")
        _once(table, list(zip(self.in_graph, self.names, strict=True)), "node")

    def columns(self, graphs: dict[str, int]) -> _Cells:
        order = np.argsort([graphs[name] for name in self.in_graph], kind="stable")
        return _Cells(self.table, self._ends, order)


def _once(table: TextTable, keys: Sequence[Any], what: str) -> None:
    seen: dict[Any, int] = {}
    for row, key in enumerate(keys):
        if seen.setdefault(key, row) != row:
            raise InputError(
                f"{table.path} has the {what} {key!r} in data rows {seen[key] + 1} and {row + 1}; keep one row."
            )


def _check_graphs(table: TextTable, in_graph: list[str], graphs: dict[str, int], targets: Any) -> None:
    unknown = set(in_graph) - graphs.keys()
    if unknown:
        row = next(row for row, name in enumerate(in_graph) if name in unknown)
        raise InputError(
            f"{table.path} names the graph {in_graph[row]!r} in data row {row + 1}, which {targets} does not have; add "
            "it there, or remove the row."
        )


def _places(graphs: dict[str, int], known: _Nodes | None) -> list[dict[str, int]]:
    """Return the number of each node within its graph, for each graph; without a table of nodes, those to come too."""
    if known is None:
        return [defaultdict(count().__next__) for _ in graphs]
    places: list[dict[str, int]] = [{} for _ in graphs]
    for of, name in zip(known.in_graph, known.names, strict=True):
        place = places[graphs[of]]
        place[name] = len(place)
    return places


def _ends(
    edges: TextTable,
    in_graph: list[int],
    tails: list[str],
    heads: list[str],
    graphs: dict[str, int],
    places: list[dict[str, int]],
    known: _Nodes | None,
) -> NDArray[np.int64]:
    """Return the numbers of the two nodes of each edge, (m, 2)."""
    ends: list[int] = []
    try:
        for of, tail, head in zip(in_graph, tails, heads, strict=True):
            place = places[of]
            ends += place[tail], place[head]
    except KeyError as error:
        assert known is not None  # without a table of nodes, whoever comes gets a number
        row = len(ends) // 2
        raise InputError(
            f"{edges.path} names the node {error.args[0]!r} of graph {list(graphs)[in_graph[row]]!r} in data row "
            f"{row + 1}, which {known.table.path} does not have; add it there, or remove the row."
        ) from None
    return node_numbers(ends, [len(place) for place in places]).reshape(-1, 2)


class _Cells:
    """The other columns of a table as attributes, rows in the order of the graphs."""

    def __init__(self, table: TextTable, but: Sequence[int], order: NDArray[np.int64]) -> None:
        self._table, self._order = table, order
        self._at = {name: at for at, name in enumerate(table.columns) if at not in but}
        self.names: Sequence[str] = list(self._at)
        self.silent: frozenset[str] = frozenset()

    def column(self, name: str, *, numbers: bool) -> tuple[list[Any], int | None]:
        values = self._table.attribute(self._at[name], numbers=numbers)
        ordered = list(map(values.__getitem__, self._order.tolist()))
        return ordered, ordered.index(None) if None in ordered else None
