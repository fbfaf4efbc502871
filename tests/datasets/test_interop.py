from __future__ import annotations

import gzip
import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from tests.batches import same

from fastgntk import InputError, as_graphs, to_networkx
from fastgntk.datasets import from_networkx, load, read_node_link


def two(*y) -> list[nx.Graph]:
    out = [nx.path_graph(2), nx.path_graph(3)]
    for G, target in zip(out, y, strict=True):
        if target is not ...:
            G.graph["y"] = target
    return out


def test_data_set_round_trip():
    data = load("MUTAG")
    back = from_networkx(to_networkx(data.graphs, data.y), name="again")
    same(back.graphs, data.graphs)
    assert back.y.tolist() == data.y.tolist()
    assert back.y.dtype == np.int64
    assert back.name == "again"


@pytest.mark.parametrize(
    ("y", "kind"),
    [([1, 0], "i"), ([0.5, 1], "f"), (["a", "bcd"], "U"), ([[1, 2.5], [3, 4]], "f"), ([np.float32(1), 2], "f")],
)
def test_targets_keep_their_kind(y, kind):
    found = from_networkx(two(*y)).y
    assert found.tolist() == y
    assert found.dtype.kind == kind
    assert from_networkx(two(True, False)).y.tolist() == [1, 0]


def test_targets_by_other_names_and_none():
    graphs = two(1, 2)
    for i, G in enumerate(graphs):
        G.graph["z"] = i / 2
    assert from_networkx(graphs, "z").y.tolist() == [0, 0.5]
    assert from_networkx(graphs, ["z", "y"]).y.tolist() == [[0, 1], [0.5, 2]]
    assert from_networkx(graphs, None).y is None


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ((1, ...), "graph 1 has no attribute 'y' to learn; its attributes are none at all"),
        ((1, None), "graph 1 has no attribute 'y' to learn"),
        ((1, "a"), "graph 1 has 'y' = 'a'; targets must be all numbers, all strings"),
        (("a", 1), "graph 0 has 'y' = 'a'; targets must be"),
        ((1, 1j), "graph 1 has 'y' = 1j; targets must be"),
        (([1, 2], [1]), "the attribute 'y' must be one number, or equally many, for each graph"),
        (([1, 2], 1), "the attribute 'y' must be one number, or equally many"),
        ((1, {}), "graph 1 has 'y' = {}; targets must be"),
    ],
)
def test_invalid_targets(y, words):
    with pytest.raises(InputError) as caught:
        from_networkx(two(*y))
    assert words in str(caught.value)


def test_several_targets_are_numbers():
    with pytest.raises(InputError, match="each of several targets must be one number for each graph"):
        from_networkx(two("a", "b"), ["y"])


def test_other_graphs_are_rejected():
    with pytest.raises(InputError, match="graph 0 must be a NetworkX graph, but has type ndarray"):
        from_networkx([np.eye(2)])


def test_targets_beyond_int64_are_floats():
    assert from_networkx(two(2**63, 1)).y.tolist() == [2.0**63, 1.0]
    with pytest.raises(InputError, match=r"graph 0 has 'y' = \[1, \[2\]\]; targets must be all numbers"):
        from_networkx(two([1, [2]], [1, 2]))


def test_generators_of_graphs_are_accepted():
    assert from_networkx(G for G in two(1, 2)).y.tolist() == [1, 2]
    assert from_networkx(two(1, 2)[1]).y.tolist() == [2]


def made(n: int = 4) -> list[nx.Graph]:
    data = load("MUTAG")
    out = to_networkx(data.graphs[:n], data.y[:n])
    for i, G in enumerate(out):
        G.graph |= {"name": f"m{i}", "energy": i / 2, "both": [i, 0.5]}
    return out


def write(folder: Path, content: object, name: str = "some.json") -> Path:
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def refused(path: Path, **options) -> str:
    with pytest.raises(InputError) as caught:
        read_node_link(path, **options)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert message.endswith(".")
    return message.removeprefix(str(path))


@pytest.mark.parametrize("name", ["some.json", "some.jsonl", "some.json.gz", "some.jsonl.gz", "some.JSONL"])
def test_json_list_and_json_lines(tmp_path, name):
    items = [nx.node_link_data(G, edges="edges") for G in made()]
    lines = "\n".join(map(json.dumps, items)) + "\n\n"
    data = read_node_link(write(tmp_path, lines if "jsonl" in name.lower() else items, name), target="y")
    same(data.graphs, load("MUTAG").graphs[:4])
    assert data.y.tolist() == load("MUTAG").y[:4].tolist()
    assert data.name == "some"
    assert data.names == ("m0", "m1", "m2", "m3")
    assert data.targets == ("y",)


def test_single_graph(tmp_path):
    data = read_node_link(write(tmp_path, {"nodes": [{"id": 1}], "links": []}))
    assert (len(data), data.names, data.y, data.targets) == (1, ("1",), None, ())


def test_targets(tmp_path):
    path = write(tmp_path, [nx.node_link_data(G, edges="links") for G in made()])
    assert read_node_link(path, target="energy").y.tolist() == [0, 0.5, 1, 1.5]
    assert read_node_link(path, target="both").y.tolist() == [[i, 0.5] for i in range(4)]
    assert read_node_link(path, target=["energy", "y"]).y.shape == (4, 2)
    assert read_node_link(path, target="name").y.tolist() == ["m0", "m1", "m2", "m3"]
    assert refused(path, target="z") == (
        ": graph 0 has no attribute 'z' to learn; its attributes are 'y', 'name', 'energy', 'both'."
    )


def test_older_files_hold_graph_attributes_as_pairs(tmp_path):
    path = write(tmp_path, {"graph": [["y", 3]], "nodes": [{"id": 1}], "links": []})
    assert read_node_link(path, target="y").y.tolist() == [3]


def test_attributes_can_be_named(tmp_path):
    G = nx.Graph()
    G.add_node("a", element="C", x=1.5)
    G.add_node("b", element="O", x=2.5)
    G.add_edge("a", "b", length=2)
    path = write(tmp_path, nx.node_link_data(G, edges="edges"))
    options = {"node_labels": "element", "node_features": "x", "edge_weights": "length"}
    same(read_node_link(path, **options).graphs, as_graphs([G], **options))
    assert (
        refused(path, node_labels="e", edge_weights=()) == ": no node has an attribute 'e'; there are 'element', 'x'."
    )


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("{", "a.json", ", line 1: this is not JSON (Expecting property name enclosed in double quotes)."),
        ('{}\n{"a"\n', "a.jsonl", ", line 2: this is not JSON (Expecting ':' delimiter)."),
        ("{}\n{}\n", "a.json", ", line 2: this is not JSON (Extra data); name a file with one graph a line .jsonl."),
        ("[]", "a.json", " holds no graphs."),
        ("", "a.jsonl", " holds no graphs."),
        (
            "[1]",
            "a.json",
            ": graph 0 must be in node-link form, but has type int; see networkx.node_link_data(graph).",
        ),
        ('"x"', "a.json", ": graph 0 must be in node-link form, but has type str; see networkx"),
        ('{"a": 1}', "a.json", ": graph 0 is not in node-link form: it has no 'nodes'; see networkx"),
        ("[" * 100_000, "a.json", " is nested too deeply"),
    ],
)
def test_invalid_json_files(tmp_path, content, name, words):
    assert refused(write(tmp_path, content, name)).startswith(words)


def test_unreadable_files(tmp_path):
    assert refused(tmp_path / "no.json") == " does not exist; check the path."
    (tmp_path / "bad.json").write_bytes(b"\xff\xfe{")
    assert refused(tmp_path / "bad.json") == " is not text in UTF-8; save it as JSON in UTF-8."


def test_invalid_weight(tmp_path):
    text = '{"nodes": [{"id": 1}, {"id": 2}], "edges": [{"source": 1, "target": 2, "weight": NaN}]}'
    assert refused(write(tmp_path, text)).startswith(
        ": graph 0, edge (1, 2) has 'weight' = nan; numbers must be finite"
    )


def test_json_lines_end_at_line_feeds_only(tmp_path):
    item = {"nodes": [{"id": 0, "label": "a\u2028b"}], "edges": []}
    path = write(tmp_path, json.dumps(item, ensure_ascii=False) + "\r\n", "a.jsonl")
    assert read_node_link(path).graphs.labels.tolist() == ["a\u2028b"]


def test_integers_with_too_many_digits(tmp_path):
    text = '{"nodes": [{"id": 0, "label": ' + "1" * 5000 + '}], "edges": []}'
    assert refused(write(tmp_path, text, "a.json")).startswith(" has a number that cannot be read (Exceeds the limit")


def test_nodes_keep_their_names(tmp_path):
    items = [{"nodes": [{"id": "p"}, {"id": [1, 2]}], "edges": []}, {"nodes": [{"id": 7}], "edges": []}]
    assert read_node_link(write(tmp_path, items)).node_names == ("p", (1, 2), 7)
