"""Graphs as tables: a CSV file of edges, and where there is more to say one of nodes and one of targets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastgntk.datasets._dataset import NamedDataset
from fastgntk.datasets._text_table import TextTable, read_text_table
from fastgntk.errors import InputError
from fastgntk.graphs.convert import AttributeNames, Columns, Names, ParsedGraphs, assemble

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
        The columns of labels and weights of edges, as in :func:`fastgntk.as_graphs`: by default ``label`` and
        ``weight``, where there are such columns.
    nodes : str or Path, optional
        A second table with a row for each node: the columns ``graph`` and ``node``, and whatever is known. Nodes
        without edges come from here. Without it, the nodes are those that edges name.
    node : str
        The column of nodes there.
    node_labels, node_features : str or sequence of str, optional
        Columns there, as in :func:`fastgntk.as_graphs`.
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
    choice = AttributeNames.checked(
        node_labels=node_labels, node_features=node_features, edge_labels=edge_labels, edge_weights=edge_weights
    )
    edges = read_text_table(Path(path), "edge")
    of_graph = edges.column(graph, "graph")
    ends_at = edges.column(source, "source", "--ends"), edges.column(target, "target", "--ends")
    if len({of_graph, *ends_at}) < 3:
        raise InputError(
            f"graph, source and target must be three columns of {path}, but are {graph!r}, {source!r} and {target!r}."
        )
    listed = None if targets is None else _Listed(read_text_table(Path(targets), "graph"), graph, y)
    known = None if nodes is None else _Nodes(read_text_table(Path(nodes), "node"), graph, node)

    # Whoever is numbered first stands first: graphs as the targets list them, nodes as the table of nodes does.
    graphs, names = _Numbers(() if listed is None else listed.names), _Numbers()
    in_graph = [] if known is None else [graphs.of(known.table, known.graph_at, "graph")]
    of_node = [] if known is None else [names.of(known.table, known.node_at, "node")]
    in_graph.append(np.repeat(graphs.of(edges, of_graph, "graph"), 2))
    of_node.append(np.stack([names.of(edges, at, "node") for at in ends_at], axis=1).ravel())  # the ends of each edge
    if listed is not None:
        _check_graphs(edges, in_graph[-1][::2], graphs, listed)
        if known is not None:
            _check_graphs(known.table, in_graph[0], graphs, listed)
    placed = _place(np.concatenate(in_graph), np.concatenate(of_node), len(graphs))
    if known is not None:
        _check_nodes(edges, known, placed, graphs, names)
    if listed is not None and not placed.sizes.all():
        empty = listed.names[int(np.argmin(placed.sizes))]
        raise InputError(
            f"graph {empty!r} of {listed.path} has no edge and no node; give it nodes in a table with nodes= (--nodes)."
        )
    of_edge = in_graph[-1][::2]
    cells = _Cells(edges, (of_graph, *ends_at), of_edge)
    ends = placed.numbers[-2 * len(of_edge) :].reshape(-1, 2)[cells.order]
    node_names = names.texts_of(placed.nodes)
    found = ParsedGraphs(
        sizes=placed.sizes,
        counts=np.bincount(of_edge, minlength=len(graphs)),
        tails=ends[:, 0],
        heads=ends[:, 1],
        directed=np.full(len(graphs), directed),
        nodes=Columns({}) if known is None else _Cells(known.table, (known.graph_at, known.node_at), in_graph[0]),
        edges=cells,
        parallel=False,
        node_names=node_names,
        graph_names=graphs.texts,
    )
    try:
        batch = assemble(found, choice, None)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return NamedDataset(
        graphs=batch,
        y=None if listed is None else listed.y,
        name=edges.name,
        names=tuple(graphs.texts),
        targets=() if listed is None else listed.targets,
        node_names=tuple(node_names),
    )


class _Listed:
    """The table of targets."""

    def __init__(self, table: TextTable, graph: str, y: str | Sequence[str] | None) -> None:
        self.path = table.path
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
        self.graph_at, self.node_at = table.column(graph, "graph"), table.column(node, "node", "or call it node")
        both = zip(table.texts(self.graph_at, "graph"), table.texts(self.node_at, "node"), strict=True)
        _once(table, list(both), "node")


class _Numbers:
    """Numbers for distinct texts, in the order in which they come."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._number: dict[str, int] = defaultdict(count(len(texts)).__next__, zip(texts, count(), strict=False))

    def __len__(self) -> int:
        return len(self._number)

    @property
    def texts(self) -> list[str]:
        return list(self._number)

    def of(self, table: TextTable, at: int, what: str) -> NDArray[np.int64]:
        """Give the texts of a column numbers, without spaces around them; an empty cell is an error."""
        texts = table.texts(at, what)
        return np.fromiter(map(self._number.__getitem__, texts), dtype=np.int64, count=len(texts))

    def texts_of(self, numbers: NDArray[np.int64]) -> list[str]:
        return list(map(self.texts.__getitem__, numbers.tolist()))


def _once(table: TextTable, keys: Sequence[Any], what: str) -> None:
    seen: dict[Any, int] = {}
    for row, key in enumerate(keys):
        if seen.setdefault(key, row) != row:
            raise InputError(
                f"{table.path} has the {what} {key!r} in data rows {seen[key] + 1} and {row + 1}; keep one row."
            )


def _check_graphs(table: TextTable, in_graph: NDArray[np.int64], graphs: _Numbers, listed: _Listed) -> None:
    unknown = np.flatnonzero(in_graph >= len(listed.names))
    if len(unknown):
        row = int(unknown[0])
        raise InputError(
            f"{table.path} names the graph {graphs.texts[in_graph[row]]!r} in data row {row + 1}, which "
            f"{listed.path} does not have; add it there, or remove the row."
        )


class _Placed(NamedTuple):
    """Nodes of all graphs, those of one graph after those of another."""

    sizes: NDArray[np.int64]
    """Number of nodes of each graph."""
    nodes: NDArray[np.int64]
    """The number of each node's name."""
    first: NDArray[np.int64]
    """Where each node was named first."""
    numbers: NDArray[np.int64]
    """For each place where a node is named, its number within its graph."""


def _place(in_graph: NDArray[np.int64], of_node: NDArray[np.int64], n_graphs: int) -> _Placed:
    """Give the nodes of each graph numbers in the order in which they are named."""
    n_names = int(of_node.max()) + 1
    keys, first, of_key = np.unique(in_graph * n_names + of_node, return_index=True, return_inverse=True)
    order = np.lexsort((first, keys // n_names))
    keys, first = keys[order], first[order]
    sizes = np.bincount(keys // n_names, minlength=n_graphs)
    within = np.empty(len(keys), dtype=np.int64)
    within[order] = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return _Placed(sizes, keys % n_names, first, within[of_key])


def _check_nodes(edges: TextTable, known: _Nodes, placed: _Placed, graphs: _Numbers, names: _Numbers) -> None:
    """Refuse a node that an edge names and the table of nodes does not."""
    n_known = len(known.table.before)
    new = np.flatnonzero(placed.first >= n_known)
    if len(new):
        one = int(new[np.argmin(placed.first[new])])
        of = int(np.searchsorted(np.cumsum(placed.sizes), one, side="right"))
        raise InputError(
            f"{edges.path} names the node {names.texts[placed.nodes[one]]!r} of graph {graphs.texts[of]!r} in data row "
            f"{(placed.first[one] - n_known) // 2 + 1}, which {known.table.path} does not have; add it there, or "
            "remove the row."
        )


class _Cells:
    """The other columns of a table as attributes, rows in the order of the graphs."""

    def __init__(self, table: TextTable, but: Sequence[int], in_graph: NDArray[np.int64]) -> None:
        self._table = table
        self.order = np.argsort(in_graph, kind="stable")
        self._in_order = bool((in_graph[1:] >= in_graph[:-1]).all())
        self._at = {name: at for at, name in enumerate(table.columns) if at not in but}
        self.names: Sequence[str] = list(self._at)
        self.silent: frozenset[str] = frozenset()

    def column(self, name: str, *, numbers: bool) -> tuple[Any, int | None]:
        values = self._table.attribute(self._at[name], numbers=numbers)
        if isinstance(values, np.ndarray):
            return values[self.order], None
        ordered = values if self._in_order else list(map(values.__getitem__, self.order.tolist()))
        return ordered, ordered.index(None) if None in ordered else None
