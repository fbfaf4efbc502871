"""Edge lists and JSON in node-link form as input of all commands."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from tests.cli.command import TWO, record, run, sentence
from tests.cli.test_learning import close, column, read_csv

from fastgntk import load_model, to_networkx
from fastgntk.datasets import EdgeListColumns, read_edge_list, read_node_link, synthetic
from fastgntk.graphs import UnseenLabelWarning


def tables(folder: Path, name: str, seed: int, n: int = 24) -> dict[str, Path]:
    """Write rings with labels as three tables and as JSON; a ring has a node without edges beside it."""
    data = synthetic.cycles_with_motifs(n, 8, motif=(3, 4), random_state=seed)
    edges, nodes, targets, items = ["net,a,b,length"], ["net,node,kind"], ["net,class,size"], []
    for g, (G, y) in enumerate(zip(to_networkx(data.graphs), data.y, strict=True)):
        G.add_node("alone")
        edges += [f"g{g},{u},{v},1.5" for u, v in G.edges]
        kinds = {u: "hub" if G.degree[u] > 2 else "plain" for u in G}
        nodes += [f"g{g},{u},{kind}" for u, kind in kinds.items()]
        targets.append(f"g{g},{'square' if y else 'triangle'},{len(G) + 0.5 * int(y)}")
        nx.set_node_attributes(G, kinds, "kind")
        nx.set_edge_attributes(G, 1.5, "length")
        G.graph |= {"name": f"g{g}", "class": "square" if y else "triangle", "size": len(G) + 0.5 * int(y)}
        items.append(nx.node_link_data(G, edges="edges"))
    paths = {part: folder / f"{name}-{part}.csv" for part in ("edges", "nodes", "targets")}
    for part, rows in (("edges", edges), ("nodes", nodes), ("targets", targets)):
        paths[part].write_text("\n".join(rows) + "\n")
    paths["json"] = folder / f"{name}.json"
    paths["json"].write_text(json.dumps(items))
    return paths


LISTED = ["--graph", "net", "--ends", "a,b"]
NAMES = ["--node-labels", "kind", "--edge-weights", "length"]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("made")
    old = tables(folder, "old", 0)
    new = tables(folder, "new", 1, 5)
    out = {f"new {part}": path for part, path in new.items()} | {f"old {part}": path for part, path in old.items()}
    for name, *arguments in [
        ("listed", old["edges"], *LISTED, "--nodes", old["nodes"], "--targets", old["targets"], "--target", "class"),
        ("json", old["json"], "--target", "class"),
        ("size", old["json"], "--target", "size"),
    ]:
        out[name] = folder / f"{name}.fgntk"
        found = record(run("train", *arguments, *NAMES, *TWO, "-o", out[name], "--json"))
        assert found["graphs"] == 24
        assert found["targets"] == ["size" if name == "size" else "class"]
    return out


def test_new_graphs_are_read_like_the_training_graphs(made):
    listed = run("predict", made["listed"], made["new edges"], "--nodes", made["new nodes"])
    assert (listed.code, listed.err) == (0, "")
    rows = read_csv(listed.out)
    assert [row["graph"] for row in rows] == [f"g{i}" for i in range(5)]
    assert [row["row"] for row in rows] == list("12345")
    assert {row["class"] for row in rows} <= {"square", "triangle"}
    from_json = run("predict", made["json"], made["new json"])
    assert (from_json.code, from_json.err) == (0, "")
    others = read_csv(from_json.out)
    assert [row["class"] for row in others] == [row["class"] for row in rows]
    close(column(others, "similarity"), column(rows, "similarity"))


def test_info_describes_edge_lists_json_and_molecules(made, tmp_path):
    tables_of = ["--nodes", made["new nodes"], "--targets", made["new targets"], "--target", "class"]
    listed = record(run("info", made["new edges"], *LISTED, *tables_of, *NAMES, "--json"))
    assert (listed["graphs"], listed["isolated_nodes"], listed["targets"], listed["node_labels"]) == (
        5,
        5,
        "classes",
        2,
    )
    from_json = record(run("info", made["new json"], "--target", "class", *NAMES, "--json"))
    assert from_json | {"name": ""} == listed | {"name": ""}
    molecules = tmp_path / "molecules.csv"
    molecules.write_text("smiles,y\nCCO,1.5\nOCC,2.5\nC1CC,0\nC/C=C/C,7.5\n")
    assert "in data row 3 (line 4 of the file)" in sentence(run("info", molecules))
    found = record(run("info", molecules, "--target", "y", "--skip-invalid", "--json"))
    assert (found["graphs"], found["targets"], found["equal"]["duplicates"]) == (3, "real numbers", 1)
    assert "--smiles is for tables" in sentence(run("info", "MUTAG", "--smiles", "s"))


def test_predictions_equal_those_of_python(made):
    data = read_edge_list(
        made["new edges"],
        columns=EdgeListColumns("net", "a", "b"),
        edge_weights="length",
        nodes=made["new nodes"],
        node_labels="kind",
    )
    assert data.graphs.labels.tolist().count("hub") > 0
    assert set(data.graphs.weights.tolist()) == {1.5}
    assert (data.graphs.degrees == 0).sum() == 5
    model = load_model(made["listed"])
    rows = record(run("predict", made["listed"], made["new edges"], "--nodes", made["new nodes"], "--json"))[
        "predictions"
    ]
    assert [row["class"] for row in rows] == model.predict(data.graphs).tolist()
    assert model.training_names_ == [f"g{i}" for i in range(24)]


def test_model_trained_on_json_predicts_an_edge_list(made):
    rows = record(run("predict", made["size"], made["new json"], "--json"))["predictions"]
    again = run("predict", made["size"], made["new edges"], *LISTED, "--nodes", made["new nodes"], "--json")
    close([row["value"] for row in record(again)["predictions"]], [row["value"] for row in rows])
    data = read_node_link(made["new json"], target="size", node_labels="kind", edge_weights="length")
    assert np.abs(np.array([row["value"] for row in rows]) - data.y).max() < 2


def test_explain_names_graphs_and_nodes(made):
    found = record(run("explain", made["size"], made["new json"], "--row", 2, "--json"))
    assert found["output"] == "size"
    done = run("explain", made["listed"], made["new edges"], "--nodes", made["new nodes"], "--row", 2)
    assert (done.code, done.err) == (0, "")
    assert "g1" in done.out


def test_unused_attributes_are_listed(made, tmp_path):
    done = run("train", made["old json"], "--target", "class", *TWO, "-o", tmp_path / "m.fgntk", "--json")
    assert done.code == 0
    assert done.err == (
        "fastgntk: not used: node attribute 'kind' and edge attribute 'length'; name what you need in --node-labels, "
        "--node-features, --edge-labels, --edge-weights or pass '' to them to ignore it.\n"
    )
    silent = ["--node-labels", "", "--edge-weights", ""]
    record(run("train", made["old json"], "--target", "class", *silent, *TWO, "-o", tmp_path / "m.fgntk", "--json"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["train", "old edges", *LISTED, "--edge-weights", "length", "-o", "m.fgntk"],
            "has no targets to learn; give a table with the target of each",
        ),
        (
            ["train", "old json", *NAMES, "-o", "m.fgntk"],
            "has no targets to learn; name an attribute of its graphs with",
        ),
        (["train", "old edges", *LISTED, "--target", "class", "-o", "m.fgntk"], "give that table of "),
        (
            ["train", "old edges", "--nodes", "old nodes", "-o", "m.fgntk"],
            "--nodes does not apply to tables of molecules",
        ),
        (
            ["train", "old edges", "--graph", "net", "-o", "m.fgntk"],
            "no column 'source'; choose source= (--ends) among",
        ),
        (["train", "old edges", *LISTED[:3], "a", "-o", "m.fgntk"], "--ends takes two columns such as source,target"),
        (["train", "old edges", *LISTED, "--smiles", "a", "-o", "m.fgntk"], "--smiles is for tables of molecules"),
        (
            ["train", "old edges", *LISTED, "--skip-invalid", "-o", "m.fgntk"],
            "--skip-invalid is for tables of molecules",
        ),
        (
            ["train", "old json", "--graph", "net", "-o", "m.fgntk"],
            "--graph is for edge lists (.csv, .tsv), but DATA",
        ),
        (["train", "old json", "--targets", "old nodes", "-o", "m.fgntk"], "--targets is for edge lists"),
        (["train", "old json", "--directed", "-o", "m.fgntk"], "--directed is for edge lists"),
        (["train", "MUTAG", "--node-labels", "x", "-o", "m.fgntk"], "--node-labels is for tables and JSON files"),
        (["train", "old json", "--node-labels", "a,,b", "-o", "m.fgntk"], "--node-labels takes values separated by"),
        (["train", "old json", "--target", "z", *NAMES, "-o", "m.fgntk"], "graph 0 has no attribute 'z' to learn"),
        (
            ["train", "old json", "--target", "class", "--edge-weights", "kind", "-o", "m.fgntk"],
            "no edge has an attribute 'kind'; there are 'length'.",
        ),
        (
            ["train", "old json", "--target", "class", "--node-features", "kind", "-o", "m.fgntk"],
            "it must be a real number or a vector of them: pass discrete values as --node-labels.",
        ),
        (["predict", "listed", "new edges"], "trained with a table of nodes; give that of the new graphs with --nodes"),
        (["predict", "listed", "new edges", "--nodes", "none.csv"], "none.csv does not exist"),
        (["explain", "size", "new json", "--row", "9"], "--row must lie in 1..5, but is 9"),
    ],
)
def test_bad_input_is_one_sentence(made, arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in sentence(run(*[made.get(a, a) for a in arguments]))
    assert not (tmp_path / "m.fgntk").exists()


def test_labels_are_read_as_in_training(tmp_path):
    """All cells of a column determine whether labels are numbers or text; in a new file the result may differ."""

    def write(name, kinds, bonds):
        edges = [f"{g},p{u},p{u + 1},{bonds[(g + u) % len(bonds)]}" for g in range(6) for u in range(2 + g % 3)]
        nodes = [f"{g},p{u},{kinds[(g + u) % len(kinds)]}" for g in range(6) for u in range(3 + g % 3)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["graph,source,target,bond", *edges]) + "\n")
        (tmp_path / f"{name}-nodes.csv").write_text("\n".join(["graph,node,kind", *nodes]) + "\n")
        return tmp_path / f"{name}.csv", "--nodes", tmp_path / f"{name}-nodes.csv"

    targets = tmp_path / "targets.csv"
    targets.write_text("graph,y\n" + "".join(f"{g},{g / 2}\n" for g in range(6)))
    names = ["--graph", "graph", "--node-labels", "kind", "--edge-labels", "bond", "--edges", "typed"]
    model = tmp_path / "m.fgntk"
    old = write("old", ["1", "2", "x"], ["1", "s"])
    record(run("train", *old, *names, "--targets", targets, *TWO, "-o", model, "--json"))
    done = run("predict", model, *write("new", ["1", "2"], ["1"]))
    assert (done.code, done.err) == (0, "")
    found = run("explain", model, *write("new", ["1", "2"], ["1"]), "--row", "1", "--json")
    assert json.loads(found.out)["node_names"] == ["p0", "p1", "p2"]
    with warnings.catch_warnings():
        warnings.simplefilter("always", UnseenLabelWarning)
        shown = run("explain", model, *write("odd", ["1", "z"], ["1"]), "--row", "1")
    assert shown.err.count("no training graph has") == 1
    assert "│   p1 │ z" in shown.out


@pytest.mark.slow
def test_gram_and_evaluate_read_edge_lists_and_json(made, tmp_path):
    tables_of = ["--nodes", made["old nodes"], "--targets", made["old targets"], "--target", "class"]
    few = ["--blocks", "1", "--layers", "1", "--folds", "3", "--inner-folds", "2", "--json"]
    listed = record(run("evaluate", made["old edges"], *LISTED, *tables_of, *NAMES, *few))
    from_json = record(run("evaluate", made["old json"], "--target", "class", *NAMES, *few))
    assert listed["n_graphs"] == 24
    assert listed["accuracies"] == from_json["accuracies"]
    for name, *arguments in [
        ("listed", made["old edges"], *LISTED, *tables_of),
        ("json", made["old json"], "--target", "class"),
    ]:
        assert run("gram", *arguments, *NAMES, "-o", tmp_path / f"{name}.npz").code == 0
    one, other = (np.load(tmp_path / f"{name}.npz") for name in ("listed", "json"))
    np.testing.assert_allclose(one["K"], other["K"], rtol=1e-9)
    assert set(one["y"]) == {"square", "triangle"}
    assert "has no targets to learn; name an attribute of its graphs" in sentence(
        run("evaluate", made["old json"], *NAMES)
    )


def test_skipped_molecules_are_listed(tmp_path):
    table = tmp_path / "molecules.csv"
    table.write_text("smiles,y\nCCO,1\nC1CC,0\nCCC,0\n")
    done = run("gram", table, "-o", tmp_path / "K.npy", "--skip-invalid")
    assert (done.code, done.err) == (0, "fastgntk: skipped row 2, whose SMILES cannot be read.\n")
    assert np.load(tmp_path / "K.npy").shape == (2, 2)
