"""Graphs in CSV files: a table of edges, and optional tables of nodes and of targets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastgntk._util.arrays import Ints
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
        ``.csv``, or ``.tsv`` with tabs, UTF-8, with a header; a file that also ends in ``.gz`` is
        decompressed. An undirected edge may be given once or in both directions.
    graph, source, target : str
        The columns of the graph of an edge and of the nodes that it joins; any text names a node.
    edge_labels, edge_weights : str or sequence of str, optional
        The columns of labels and weights of edges, as in :func:`fastgntk.as_graphs`: by default ``label`` and
        ``weight``, if there are such columns.
    nodes : str or Path, optional
        A second table with a row for each node: the columns ``graph`` and ``node``, and attributes. It is needed for
        nodes without edges. Without it, the nodes are those of the edges.
    node : str
        The column of nodes there.
    node_labels, node_features : str or sequence of str, optional
        Columns there, as in :func:`fastgntk.as_graphs`.
    targets : str or Path, optional
        A third table with a row for each graph: the column ``graph``, and targets. It determines the order of the
        graphs; without it, they are in the order of their first appearance.
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
    attribute_names = AttributeNames.checked(
        node_labels=node_labels, node_features=node_features, edge_labels=edge_labels, edge_weights=edge_weights
    )
    edges = read_text_table(Path(path), "edge")
    graph_at = edges.column(graph, "graph")
    ends_at = edges.column(source, "source", "--ends"), edges.column(target, "target", "--ends")
    if len({graph_at, *ends_at}) < 3:
        raise InputError(
            f"graph, source and target must be three columns of {path}, but are {graph!r}, {source!r} and {target!r}."
        )
    target_table = None if targets is None else _TargetTable(read_text_table(Path(targets), "graph"), graph, y)
    node_table = None if nodes is None else _NodeTable(read_text_table(Path(nodes), "node"), graph, node)

    # Numbers follow first appearance: graphs in the order of the targets, nodes in that of the table of nodes.
    graphs, names = _Numbering(() if target_table is None else target_table.names), _Numbering()
    graph_of, name_of = [], []
    if node_table is not None:
        graph_of.append(graphs.column(node_table.table, node_table.graph_at, "graph"))
        name_of.append(names.column(node_table.table, node_table.node_at, "node"))
    graph_of_edge = graphs.column(edges, graph_at, "graph")
    graph_of.append(np.repeat(graph_of_edge, 2))
    name_of.append(np.stack([names.column(edges, at, "node") for at in ends_at], axis=1).ravel())
    if target_table is not None:
        _check_graphs(edges, graph_of_edge, graphs, target_table)
        if node_table is not None:
            _check_graphs(node_table.table, graph_of[0], graphs, target_table)
    placed = _place(np.concatenate(graph_of), np.concatenate(name_of), len(graphs))
    if node_table is not None:
        _check_nodes(edges, node_table.table, placed, graphs, names)
    if target_table is not None and not placed.sizes.all():
        empty = graphs.texts[int(np.argmin(placed.sizes))]
        raise InputError(
            f"graph {empty!r} of {targets} has no edge and no node; give it nodes in a table with nodes= (--nodes)."
        )
    edge_cells = _Cells(edges, (graph_at, *ends_at), graph_of_edge)
    tails, heads = placed.numbers[-2 * len(graph_of_edge) :].reshape(-1, 2)[edge_cells.order].T
    node_names = list(map(names.texts.__getitem__, placed.names.tolist()))
    parsed = ParsedGraphs(
        sizes=placed.sizes,
        counts=np.bincount(graph_of_edge, minlength=len(graphs)),
        tails=tails,
        heads=heads,
        directed=np.full(len(graphs), directed),
        nodes=Columns({}) if node_table is None else node_table.cells(graph_of[0]),
        edges=edge_cells,
        parallel=False,
        node_names=node_names,
        graph_names=graphs.texts,
    )
    try:
        batch = assemble(parsed, attribute_names, None)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return NamedDataset(
        graphs=batch,
        y=None if target_table is None else target_table.y,
        name=edges.name,
        names=tuple(graphs.texts),
        targets=() if target_table is None else target_table.targets,
        node_names=tuple(node_names),
    )


class _TargetTable:
    """The table of targets: graph names, and y."""

    def __init__(self, table: TextTable, graph: str, y: str | Sequence[str] | None) -> None:
        at = table.column(graph, "graph")
        self.path, self.names = table.path, table.texts(at, "graph")
        _check_unique(table, self.names, "graph")
        if y is None:
            others = [column for i, column in enumerate(table.columns) if i != at]
            if len(others) != 1:
                raise InputError(
                    f"{table.path} has {len(others)} columns besides {graph!r}; name the target with y= (--target) "
                    f"among {table.listed()}."
                )
            y = others[0]
        self.targets = (y,) if isinstance(y, str) else tuple(y)
        self.y = table.targets(y, np.arange(len(self.names)), "y", "--target")


class _NodeTable:
    """The table of nodes."""

    def __init__(self, table: TextTable, graph: str, node: str) -> None:
        self.table = table
        self.graph_at, self.node_at = table.column(graph, "graph"), table.column(node, "node", "or call it node")
        both = zip(table.texts(self.graph_at, "graph"), table.texts(self.node_at, "node"), strict=True)
        _check_unique(table, list(both), "node")

    def cells(self, graph_of_node: Ints) -> _Cells:
        return _Cells(self.table, (self.graph_at, self.node_at), graph_of_node)


class _Numbering:
    """Numbers of distinct texts, in the order of their first appearance."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._number: dict[str, int] = defaultdict(count(len(texts)).__next__, zip(texts, count(), strict=False))

    def __len__(self) -> int:
        return len(self._number)

    @property
    def texts(self) -> list[str]:
        return list(self._number)

    def column(self, table: TextTable, at: int, what: str) -> Ints:
        """Return the numbers of the stripped texts of a column; an empty cell is an error."""
        texts = table.texts(at, what)
        return np.fromiter(map(self._number.__getitem__, texts), dtype=np.int64, count=len(texts))


def _check_unique(table: TextTable, keys: Sequence[Any], what: str) -> None:
    seen: dict[Any, int] = {}
    for row, key in enumerate(keys):
        if seen.setdefault(key, row) != row:
            raise InputError(
                f"{table.path} has the {what} {key!r} in data rows {seen[key] + 1} and {row + 1}; keep one row."
            )


def _check_graphs(table: TextTable, graph_of_row: Ints, graphs: _Numbering, target_table: _TargetTable) -> None:
    unknown = np.flatnonzero(graph_of_row >= len(target_table.names))
    if len(unknown):
        row = int(unknown[0])
        raise _missing(f"the graph {graphs.texts[graph_of_row[row]]!r}", table, row, target_table.path)


def _check_nodes(edges: TextTable, nodes: TextTable, placed: _Placed, graphs: _Numbering, names: _Numbering) -> None:
    """Raise for a node that an edge names and the table of nodes lacks."""
    n_known = len(nodes.before)
    new = np.flatnonzero(placed.first >= n_known)
    if len(new):
        one = int(new[np.argmin(placed.first[new])])
        of = int(np.searchsorted(np.cumsum(placed.sizes), one, side="right"))
        node = f"the node {names.texts[placed.names[one]]!r} of graph {graphs.texts[of]!r}"
        raise _missing(node, edges, int(placed.first[one] - n_known) // 2, nodes.path)


def _missing(what: str, table: TextTable, row: int, path: Path) -> InputError:
    return InputError(
        f"{table.path} names {what} in data row {row + 1}, which {path} does not have; add it there, or remove the row."
    )


class _Placed(NamedTuple):
    """Nodes of all graphs, one graph after the other."""

    sizes: Ints
    """Number of nodes of each graph."""
    names: Ints
    """The number of each node's name."""
    first: Ints
    """The first occurrence of each node."""
    numbers: Ints
    """For each occurrence of a node its number within its graph."""


def _place(graph_of: Ints, name_of: Ints, n_graphs: int) -> _Placed:
    """Assign numbers to the nodes of each graph in the order of their first occurrence."""
    n_names = int(name_of.max()) + 1
    keys, first, of_key = np.unique(graph_of * n_names + name_of, return_index=True, return_inverse=True)
    order = np.lexsort((first, keys // n_names))
    keys, first = keys[order], first[order]
    sizes = np.bincount(keys // n_names, minlength=n_graphs)
    within = np.empty(len(keys), dtype=np.int64)
    within[order] = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return _Placed(sizes, keys % n_names, first, within[of_key])


class _Cells:
    """The other columns of a table as attributes, rows in the order of the graphs."""

    silent: frozenset[str] = frozenset()

    def __init__(self, table: TextTable, exclude: Sequence[int], graph_of_row: Ints) -> None:
        self._table = table
        self.order = np.argsort(graph_of_row, kind="stable")
        self._in_order = bool((graph_of_row[1:] >= graph_of_row[:-1]).all())
        self._at = {name: at for at, name in enumerate(table.columns) if at not in exclude}
        self.names: Sequence[str] = list(self._at)

    def column(self, name: str, *, numbers: bool) -> tuple[Any, int | None]:
        values = self._table.attribute(self._at[name], numbers=numbers)
        if isinstance(values, np.ndarray):
            return values[self.order], None
        ordered = values if self._in_order else list(map(values.__getitem__, self.order.tolist()))
        return ordered, ordered.index(None) if None in ordered else None
