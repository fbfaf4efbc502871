from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from tests.batches import batches, same

from fastgntk import GraphBatch, InputError, UnusedAttributesWarning
from fastgntk.datasets import EdgeListColumns, read_edge_list

EDGES = "graph,source,target,weight,label\nA,x,y,0.5,single\nB,1,2,3,double\nA,y,z,2,single\n"
NODES = "graph,node,label,size\nB,2,O,1\nA,z,C,2\nA,y,N,3.5\nA,x,C,4\nB,1,C,5\nB,alone,C,6\n"
TARGETS = "graph,y\nB,1.5\nA,2\n"


def write(folder: Path, text: str, name: str = "edges.csv") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def tables(folder: Path, edges: str = EDGES, nodes: str | None = NODES, targets: str | None = TARGETS) -> tuple:
    more = {}
    if nodes is not None:
        more["nodes"] = write(folder, nodes, "nodes.csv")
    if targets is not None:
        more["targets"] = write(folder, targets, "targets.csv")
    return write(folder, edges), more


def refused(path: Path, **options) -> str:
    with pytest.raises(InputError) as caught:
        read_edge_list(path, **options)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message.replace(str(path.parent) + "/", "")


def test_edge_table_alone(tmp_path):
    data = read_edge_list(write(tmp_path, EDGES))
    assert data.names == ("A", "B")
    assert (data.name, data.y, data.targets) == ("edges", None, ())
    a, b = data.graphs
    assert a.adjacency.toarray().tolist() == [[0, 0.5, 0], [0.5, 0, 2], [0, 2, 0]]
    assert a.edge_labels.tolist() == ["single"] * 4
    assert b.adjacency.toarray().tolist() == [[0, 3], [3, 0]]
    assert b.edge_labels.tolist() == ["double"] * 2


def test_interleaved_graphs(tmp_path):
    rows = [f"{graph},{u},{u + 1},{100 * u + graph + 2}\n" for u in range(30) for graph in range(100)]
    path = write(tmp_path, "graph,source,target,weight\n" + "".join(rows))
    for number, graph in enumerate(read_edge_list(path, directed=True).graphs):
        expected = np.diag([100 * u + number + 2 for u in range(30)], k=1)
        assert graph.adjacency.toarray().tolist() == expected.tolist()


def test_integers_beyond_64_bits_are_names(tmp_path):
    header = "graph,source,target,label\nA,x,y,"
    assert read_edge_list(write(tmp_path, header + "9" * 19)).graphs.edge_labels.tolist() == ["9" * 19] * 2
    assert "edge ('x', 'y') has 'label' = inf; a label must be" in refused(write(tmp_path, header + "9" * 5000))


def test_a_number_with_an_underscore_is_a_name(tmp_path):
    assert "edge ('x', 'y') has 'weight' = '1_0'; it must be a real number" in refused(
        write(tmp_path, EDGES.replace("0.5", "1_0"))
    )


def test_nodes_and_targets(tmp_path):
    path, more = tables(tmp_path)
    data = read_edge_list(path, **more, node_labels="label", node_features="size")
    assert data.names == ("B", "A")
    assert data.y.tolist() == [1.5, 2]
    assert data.targets == ("y",)
    b, a = data.graphs
    assert b.labels.tolist() == ["O", "C", "C"]
    assert b.features.tolist() == [[1], [5], [6]]
    assert b.adjacency.toarray().tolist() == [[0, 3, 0], [3, 0, 0], [0, 0, 0]]
    assert a.labels.tolist() == ["C", "N", "C"]
    assert a.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 0.5], [0, 0.5, 0]]


def test_renamed_columns_tabs_and_gzip(tmp_path):
    text = EDGES.replace("graph,source,target,weight,label", "g,from,to,w,kind").replace(",", "\t")
    data = read_edge_list(
        write(tmp_path, text, "e.tsv.gz"),
        columns=EdgeListColumns("g", "from", "to"),
        edge_weights="w",
        edge_labels="kind",
    )
    assert data.graphs.weights.tolist() == [0.5, 0.5, 2, 2, 3, 3]
    assert data.graphs.edge_labels[0] == "single"
    assert data.name == "e"


def test_an_edge_may_be_given_in_both_directions(tmp_path):
    path = write(tmp_path, "graph,source,target,weight\nA,x,y,2\nA,y,x,2\n")
    assert read_edge_list(path).graphs.weights.tolist() == [2, 2]
    path = write(tmp_path, "graph,source,target,weight\nA,x,y,2\nA,y,x,3\n")
    assert refused(path) == (
        "edges.csv: graph 'A', edge ('x', 'y') is given with different weights 2.0 and 3.0; give it once, or pass "
        "directed=True if the directions differ."
    )
    assert read_edge_list(path, directed=True).graphs[0].adjacency.toarray().tolist() == [[0, 2], [3, 0]]


def test_directed_graphs(tmp_path):
    path = write(tmp_path, "graph,source,target\nA,x,y\n")
    assert read_edge_list(path).graphs[0].adjacency.toarray().tolist() == [[0, 1], [1, 0]]
    assert read_edge_list(path, directed=True).graphs[0].adjacency.toarray().tolist() == [[0, 1], [0, 0]]


def test_column_types(tmp_path):
    text = "graph,node,whole,zeros,real,text\nA,x,1,01,1,a\nA,y,-20,02,2.5,7\n"
    path, more = tables(tmp_path, "graph,source,target\nA,x,y\n", text, None)
    labels = {name: read_edge_list(path, **more, node_labels=name).graphs.labels for name in ("whole", "zeros", "text")}
    assert labels["whole"].tolist() == [1, -20]
    assert labels["zeros"].tolist() == ["01", "02"]
    assert labels["text"].tolist() == ["a", "7"]
    assert read_edge_list(path, **more, node_features=["real", "whole"]).graphs.features.tolist() == [
        [1, 1],
        [2.5, -20],
    ]


def test_unused_columns_raise_a_warning(tmp_path):
    path, more = tables(tmp_path, "graph,source,target,length\nA,x,y,1\n", "graph,node,size\nA,x,1\nA,y,2\n", None)
    with pytest.warns(UnusedAttributesWarning) as caught:
        read_edge_list(path, **more)
    assert str(caught[0].message) == (
        "not used: node attribute 'size' and edge attribute 'length'; name what you need in node_labels=, "
        "node_features=, edge_labels=, edge_weights= or pass () to them to ignore it."
    )


def test_targets_by_name(tmp_path):
    path, more = tables(tmp_path, targets="graph,y,class,z\nB,1.5,no,1\nA,2,yes,2\n")
    more |= {"node_labels": "label"}
    assert read_edge_list(path, **more, y="class").y.tolist() == ["no", "yes"]
    data = read_edge_list(path, **more, y=["z", "y"])
    assert data.y.tolist() == [[1, 1.5], [2, 2]]
    assert data.targets == ("z", "y")
    assert refused(path, **more) == (
        "targets.csv has 3 columns besides 'graph'; name the target with y= (--target) among 'graph', 'y', "
        "'class', 'z'."
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"edges": EDGES.replace("source", "from")}, "edges.csv has no column 'source'; choose source= (--ends) among"),
        ({"edges": EDGES.replace("A,x", ",x")}, "edges.csv has no graph in column 'graph' in data row 1."),
        ({"edges": EDGES.replace("A,y,z", "A,,z")}, "edges.csv has no node in column 'source' in data row 3."),
        ({"edges": EDGES.replace("0.5", "nan")}, "edges.csv: graph 'A', edge ('x', 'y') has 'weight' = nan; numbers"),
        ({"edges": EDGES.replace("0.5", "")}, "edges.csv: graph 'A', edge ('x', 'y') has no attribute 'weight'"),
        (
            {"edges": EDGES.replace("0.5", "1+2j")},
            "graph 'A', edge ('x', 'y') has 'weight' = '1+2j'; it must be a real",
        ),
        ({"edges": EDGES + "C,1,2,1,single\n"}, "edges.csv names the graph 'C' in data row 4, which TARGETS does not"),
        ({"edges": EDGES + "A,x,q,1,single\n"}, "edges.csv names the node 'q' of graph 'A' in data row 4, which NODES"),
        ({"edges": "graph,source,target\n"}, "edges.csv has a header but no rows; a table needs a row for each edge."),
        ({"nodes": NODES + "C,1,C,1\n"}, "nodes.csv names the graph 'C' in data row 7, which TARGETS does not have"),
        ({"nodes": NODES + "A,x,C,1\n"}, "nodes.csv has the node ('A', 'x') in data rows 4 and 7; keep one row."),
        ({"nodes": NODES.replace("3.5", "NA")}, "edges.csv: graph 'A', node 'y' has no attribute 'size'; give it"),
        ({"nodes": NODES.replace("node", "vertex")}, "nodes.csv has no column 'node'; choose node= (or call it node)"),
        ({"targets": TARGETS + "A,3\n"}, "targets.csv has the graph 'A' in data rows 2 and 3; keep one row."),
        ({"targets": TARGETS + "C,3\n"}, "graph 'C' of TARGETS has no edge and no node; give it nodes in a table with"),
        ({"targets": TARGETS.replace("1.5", "")}, "targets.csv has no finite value in column 'y' in data row 1"),
        ({"targets": "graph\nA\nB\n"}, "targets.csv has 0 columns besides 'graph'"),
    ],
)
def test_invalid_input(tmp_path, changes, words):
    path, more = tables(tmp_path, **changes)
    message = refused(path, **more, edge_weights="weight", node_features="size")
    assert words.replace("TARGETS", "targets.csv").replace("NODES", "nodes.csv") in message


def as_text(rows: list[list]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


@given(batches(text=False, columns=1, empty=False))
def test_round_trip(batch: GraphBatch):
    edges, nodes = [["graph", "source", "target"]], [["graph", "node"]]
    edges[0] += ["weight"] * (batch.weights is not None) + ["label"] * (batch.edge_labels is not None)
    nodes[0] += ["label"] * (batch.labels is not None) + ["x", "z"] * (batch.features is not None)
    for g, graph in enumerate(batch):
        rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
        for e, (u, v) in enumerate(zip(rows.tolist(), graph.indices.tolist(), strict=True)):
            more = [values[e] for values in (graph.weights, graph.edge_labels) if values is not None]
            edges.append([f"g{g}", f"n{u}", f"n{v}", *more])
        for u in range(graph.n_nodes):
            label = [] if graph.labels is None else [graph.labels[u]]
            nodes.append(
                [f"g{g}", f"n{u}", *label, *([] if graph.features is None else map(repr, graph.features[u].tolist()))]
            )
    if len(edges) == 1:
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        read = read_edge_list(
            write(folder, as_text(edges)),
            nodes=write(folder, as_text(nodes), "nodes.csv"),
            node_labels="label" if batch.labels is not None else (),
            node_features=["x", "z"] if batch.features is not None else (),
            directed=True,
        )
    same(read.graphs, batch)


def test_node_names_and_distinct_columns(tmp_path):
    path = write(tmp_path, "graph,source,target\nA,x,y\nB,q,x\n")
    assert read_edge_list(path).node_names == ("x", "y", "q", "x")
    message = refused(path, columns=EdgeListColumns(target="source"))
    assert message.startswith("graph, source and target must be three columns of ")
    assert message.endswith("but are 'graph', 'source' and 'source'.")


def test_the_two_directions_of_an_edge_have_one_label(tmp_path):
    path = write(tmp_path, "graph,source,target,label\nA,x,y,s\nA,y,x,d\n")
    assert "graph 'A', edge ('x', 'y') is given twice with different labels" in refused(path)


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ("A,x\n", "line 1205: the row has 2 cells, but the header has 4; quote cells that hold the separator."),
        ('A,x,"y"z,1\n', "line 1205: the row cannot be read (',' expected after '\"'); check its quotes."),
        ('A,x,"y,1\n\n', "line 1205: the row cannot be read (unexpected end of data); check its quotes."),
    ],
)
def test_line_numbers_in_long_files(tmp_path, last, words):
    rows = [f"A,{u},{u + 1},1\n" for u in range(900)] + ['A,"two\nlines",x,1\n'] * 100 + ["\n", " \n"] * 51
    text = "\n" + "graph,source,target,weight\n" + "".join(rows)
    assert text.count("\n") == 1204
    assert refused(write(tmp_path, text + last)) == "edges.csv, " + words
    assert read_edge_list(write(tmp_path, text)).graphs.n_nodes == 903


@pytest.mark.parametrize("rows", range(250, 260))
def test_line_numbers_across_chunks(tmp_path, rows):
    path = write(tmp_path, "graph,source,target\n" + "A,x,y\n" * rows + "A,x\n")
    assert f"line {rows + 2}: the row has 2 cells" in refused(path)


def test_first_of_two_errors_is_reported(tmp_path):
    path = write(tmp_path, 'graph,source,target\nA,x,y\nA,x\n"A"A,x,y\n')
    assert "line 3: the row has 2 cells" in refused(path)


def test_node_names_are_stripped(tmp_path):
    path = write(tmp_path, "graph,source,target\nA,z , x\nB,y,x\n A,x,z\nA, y,q\nB,r,y\n")
    data = read_edge_list(path, directed=True)
    assert data.names == ("A", "B")
    assert data.node_names == ("z", "x", "y", "q", "y", "x", "r")
    assert data.graphs[0].adjacency.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert data.graphs[1].adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]


def test_first_unknown_node_is_reported(tmp_path):
    path, more = tables(tmp_path, edges="graph,source,target\nA,x,y\nA,z,new\nB,newer,1\n", targets=None)
    assert "names the node 'new' of graph 'A' in data row 2, which nodes.csv does" in refused(path, **more)
