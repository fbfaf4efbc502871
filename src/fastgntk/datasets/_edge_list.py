"""Graphs in CSV files: a table of edges, and optional tables of nodes and of targets."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastgntk._util.arrays import Ints
from fastgntk.datasets._dataset import NamedDataset
from fastgntk.datasets._text_table import TextTable, read_text_table, target_names
from fastgntk.errors import InputError
from fastgntk.graphs.convert import AttributeNames, Columns, Names, ParsedGraphs, assemble

__all__ = ["EdgeListColumns", "read_edge_list"]


@dataclass(frozen=True)
class EdgeListColumns:
    """Names of the columns of edges and nodes for :func:`read_edge_list`; any text in them names a graph or a node.

    Parameters
    ----------
    graph : str
        The graph of an edge, of a node, and of a target.
    source, target : str
        The nodes that an edge joins.
    node : str
        The node in the table of nodes.

    Examples
    --------
    >>> EdgeListColumns(source="from", target="to")
    EdgeListColumns(graph='graph', source='from', target='to', node='node')
    """

    graph: str = "graph"
    source: str = "source"
    target: str = "target"
    node: str = "node"


def read_edge_list(
    path: str | Path,
    *,
    columns: EdgeListColumns = EdgeListColumns(),
    edge_labels: Names = None,
    edge_weights: Names = None,
    nodes: str | Path | None = None,
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
    columns : EdgeListColumns
        Names of the columns of graphs and nodes, by default ``graph``, ``source``, ``target`` and ``node``.
    edge_labels, edge_weights : str or sequence of str, optional
        The columns of labels and weights of edges, as in :func:`fastgntk.as_graphs`: by default ``label`` and
        ``weight``, if there are such columns.
    nodes : str or Path, optional
        A second table with a row for each node: the columns ``graph`` and ``node``, and attributes. It is needed for
        nodes without edges. Without it, the nodes are those of the edges.
    node_labels, node_features : str or sequence of str, optional
        Columns of that table, as in :func:`fastgntk.as_graphs`.
    targets : str or Path, optional
        A third table with a row for each graph: the column ``graph``, and targets. It determines the order of the
        graphs; without it, they are in the order of their first appearance.
    y : str or sequence of str, optional
        The column of targets in that table, shape (n,), or several, shape (n, k); by default the only one.
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
    graph, source, target = columns.graph, columns.source, columns.target
    edge_table = read_text_table(Path(path), "edge")
    graph_column = edge_table.find_column(graph, "graph")
    end_columns = edge_table.find_column(source, "source", "--ends"), edge_table.find_column(target, "target", "--ends")
    if len({graph_column, *end_columns}) < 3:
        raise InputError(
            f"graph, source and target must be three columns of {path}, but are {graph!r}, {source!r} and {target!r}."
        )
    target_table = None if targets is None else _TargetTable(read_text_table(Path(targets), "graph"), graph, y)
    node_table = None if nodes is None else read_text_table(Path(nodes), "node")

    # Numbers follow first appearance: graphs in the order of the targets, nodes in that of the table of nodes.
    graphs, names = _Numbering(), _Numbering()
    if target_table is not None:
        graphs.assign(target_table.graphs)
    node_rows = None
    if node_table is not None:
        node_column = node_table.find_column(columns.node, "node", "or call it node")
        node_columns = node_table.find_column(graph, "graph"), node_column
        node_rows = _Rows(node_table, node_columns, graphs, names)
        _check_unique(node_table, list(zip(*map(node_table.stripped, node_columns), strict=True)), "node")
    edge_rows = _Rows(edge_table, (graph_column, *end_columns), graphs, names)
    graph_names, distinct_names = list(graphs), list(names)
    tables = [edge_rows] if node_rows is None else [node_rows, edge_rows]
    if target_table is not None:
        for rows in reversed(tables):
            unknown = np.flatnonzero(rows.graphs >= len(target_table.graphs))
            if len(unknown):
                graph_name = graph_names[rows.graphs[unknown[0]]]
                raise _missing_error(f"the graph {graph_name!r}", rows.table, unknown[0], target_table.path)
    sizes, name_of_node, node_indices = _index_nodes(tables, len(graphs))
    ends = node_indices[-edge_rows.nodes.size :].reshape(-1, 2)
    if node_rows is not None:
        n_listed = np.bincount(node_rows.graphs, minlength=len(graphs))  # these nodes have the first indices
        unknown = np.flatnonzero(ends >= n_listed[edge_rows.graphs][:, None])
        if len(unknown):
            row = unknown[0] // 2
            name, graph_name = distinct_names[edge_rows.nodes.flat[unknown[0]]], graph_names[edge_rows.graphs[row]]
            raise _missing_error(f"the node {name!r} of graph {graph_name!r}", edge_table, row, node_rows.table.path)
    if not sizes.all():
        raise InputError(
            f"graph {graph_names[np.argmin(sizes)]!r} of {targets} has no edge and no node; give it nodes in a table "
            "with nodes= (--nodes)."
        )
    tails, heads = ends[edge_rows.order].T
    node_names = list(map(distinct_names.__getitem__, name_of_node.tolist()))
    parsed = ParsedGraphs(
        sizes=sizes,
        counts=np.bincount(edge_rows.graphs, minlength=len(graphs)),
        tails=tails,
        heads=heads,
        directed=np.full(len(graphs), directed),
        nodes=Columns({}) if node_rows is None else node_rows,
        edges=edge_rows,
        parallel=False,
        node_names=node_names,
        graph_names=graph_names,
    )
    try:
        batch = assemble(parsed, attribute_names, None)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return NamedDataset(
        graphs=batch,
        y=None if target_table is None else target_table.y,
        name=edge_table.name,
        names=tuple(graph_names),
        targets=() if target_table is None else target_table.columns,
        node_names=tuple(node_names),
    )


class _TargetTable:
    """The table of targets: graph names, and y."""

    def __init__(self, table: TextTable, graph: str, y: str | Sequence[str] | None) -> None:
        graph_column = table.find_column(graph, "graph")
        self.path, self.graphs = table.path, table.texts(graph_column, "graph")
        _check_unique(table, self.graphs, "graph")
        if y is None:
            rest = [name for i, name in enumerate(table.columns) if i != graph_column]
            if len(rest) != 1:
                raise InputError(
                    f"{table.path} has {len(rest)} columns besides {graph!r}; name the target with y= (--target) "
                    f"among {table.list_columns()}."
                )
            y = rest[0]
        self.columns = target_names(y)
        self.y = table.targets(y, np.arange(len(self.graphs)), "y", "--target")


class _Numbering(defaultdict[str, int]):
    """Numbers of distinct texts, in the order of their first appearance."""

    def __init__(self) -> None:
        super().__init__(self.__len__)

    def assign(self, texts: Sequence[str]) -> Ints:
        return np.fromiter(map(self.__getitem__, texts), dtype=np.int64, count=len(texts))


class _Rows:
    """Rows of a table of nodes or edges: indices of graphs and nodes, and the other columns as attributes.

    Attributes are in the order of the graphs.
    """

    silent: frozenset[str] = frozenset()

    def __init__(self, table: TextTable, keys: Sequence[int], graphs: _Numbering, names: _Numbering) -> None:
        graph_column, *node_columns = keys
        self.table = table
        self.graphs = graphs.assign(table.texts(graph_column, "graph"))  # (rows,)
        self.nodes = np.stack([names.assign(table.texts(i, "node")) for i in node_columns], axis=1)  # (rows, 1 or 2)
        self.order = np.argsort(self.graphs, kind="stable")
        self._in_order = bool((self.graphs[1:] >= self.graphs[:-1]).all())
        self._columns = {name: i for i, name in enumerate(table.columns) if i not in keys}
        self.names: Sequence[str] = list(self._columns)

    def column(self, name: str, *, numbers: bool) -> tuple[Any, int | None]:
        values = self.table.attribute(self._columns[name], numbers=numbers)
        if isinstance(values, np.ndarray):
            return values[self.order], None
        ordered = values if self._in_order else list(map(values.__getitem__, self.order.tolist()))
        return ordered, ordered.index(None) if None in ordered else None


def _check_unique(table: TextTable, keys: Sequence[Any], what: str) -> None:
    seen: dict[Any, int] = {}
    for row, key in enumerate(keys):
        if seen.setdefault(key, row) != row:
            raise InputError(
                f"{table.path} has the {what} {key!r} in data rows {seen[key] + 1} and {row + 1}; keep one row."
            )


def _missing_error(what: str, table: TextTable, row: int, path: Path) -> InputError:
    return InputError(
        f"{table.path} names {what} in data row {row + 1}, which {path} does not have; add it there, or remove the row."
    )


def _index_nodes(tables: list[_Rows], n_graphs: int) -> tuple[Ints, Ints, Ints]:
    """Assign indices to the nodes of each graph in the order of their first occurrence.

    Returns the number of nodes of each graph, the name of each node, and for each occurrence the index of the node.
    """
    graph_of = np.concatenate([np.repeat(rows.graphs, rows.nodes.shape[1]) for rows in tables])
    name_of = np.concatenate([rows.nodes.ravel() for rows in tables])
    n_names = int(name_of.max()) + 1
    keys, first, key_of = np.unique(graph_of * n_names + name_of, return_index=True, return_inverse=True)
    order = np.lexsort((first, keys // n_names))
    keys = keys[order]
    sizes = np.bincount(keys // n_names, minlength=n_graphs)
    within = np.empty(len(keys), dtype=np.int64)
    within[order] = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return sizes, keys % n_names, within[key_of]
