from __future__ import annotations

import contextlib
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastgntk import Graph, GraphBatch, InputError
from fastgntk.datasets import Dataset, read_tu, write_tu
from fastgntk.datasets._tu import parse_table

GOOD = {
    # two graphs: a path of three nodes with one self loop, and a single edge
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 1\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "0\n3\n0\n1\n1\n",
    "node_attributes": "0.5, 1\n1e-3, 2\n-3, 3\n4, 4\n5, 5.25\n",
    "edge_labels": "0\n0\n1\n1\n9\n2\n2\n",
    "graph_attributes": "0.25\n-7\n",
}


def write(folder: Path, **changes: str | None) -> Path:
    target = folder / "DS"
    target.mkdir(exist_ok=True)
    for part, text in {**GOOD, **changes}.items():
        if text is not None:
            (target / f"DS_{part}.txt").write_bytes(text.encode())
    return target


def check_good(data: Dataset) -> None:
    assert data.name == "DS"
    assert data.y.tolist() == [1, -1]
    assert data.graph_attributes.tolist() == [[0.25], [-7.0]]
    assert [g.adjacency.toarray().tolist() for g in data.graphs] == [
        [[0, 1, 0], [1, 0, 1], [0, 1, 0]],
        [[0, 1], [1, 0]],
    ]
    assert data.graphs.labels.tolist() == [0, 3, 0, 1, 1]
    assert data.graphs.features.tolist() == [[0.5, 1], [1e-3, 2], [-3, 3], [4, 4], [5, 5.25]]
    assert data.graphs.edge_labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert data.graphs.self_loops.tolist() == [1, 0]


def test_folder(tmp_path):
    check_good(read_tu(write(tmp_path)))


def test_nested_folder(tmp_path):
    (tmp_path / "DS").mkdir()
    write(tmp_path / "DS")
    check_good(read_tu(tmp_path / "DS"))


@pytest.mark.parametrize("prefix", ["DS/", ""])
def test_zip(tmp_path, prefix):
    folder = write(tmp_path)
    with zipfile.ZipFile(tmp_path / "any.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{prefix}README.txt", "words")
        archive.writestr(f"__MACOSX/{prefix}._DS_A.txt", "what macOS adds")
        archive.writestr(f"{prefix}._DS_A.txt", "what macOS adds")
        for file in folder.iterdir():
            archive.write(file, prefix + file.name)
    check_good(read_tu(tmp_path / "any.zip"))


def test_windows_line_ends_and_blank_ends_are_accepted(tmp_path):
    check_good(read_tu(write(tmp_path, **{k: v.replace("\n", "\r\n") + "\r\n\r\n" for k, v in GOOD.items()})))


def test_a_byte_order_mark_is_accepted(tmp_path):
    check_good(read_tu(write(tmp_path, **{k: "\ufeff" + v for k, v in GOOD.items()})))


def test_edge_labels_may_differ_by_direction(tmp_path):
    data = read_tu(write(tmp_path, edge_labels="0\n1\n1\n1\n9\n2\n3\n"))
    assert data.graphs.edge_labels.tolist() == [0, 1, 1, 1, 2, 3]


@pytest.mark.parametrize("place", [".", "..", ""])
def test_folder_without_data_set(tmp_path, monkeypatch, place):
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    with pytest.raises(InputError, match="holds no TU data set"):
        read_tu(place)


def test_no_line_end_at_the_end_is_accepted(tmp_path):
    check_good(read_tu(write(tmp_path, **{k: v.rstrip("\n") for k, v in GOOD.items()})))


def test_edges_in_one_direction_count_in_both_unless_directed(tmp_path):
    folder = write(tmp_path, A="1, 2\n2, 3\n4, 5\n", edge_labels=None)
    assert read_tu(folder).counts.edges == 3
    assert read_tu(folder, directed=True).graphs[0].adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


def test_interleaved_nodes_of_graphs(tmp_path):
    folder = write(
        tmp_path,
        graph_indicator="2\n1\n1\n2\n1\n",
        A="1, 4\n4, 1\n2, 3\n3, 2\n3, 5\n5, 3\n",
        node_labels="1\n0\n3\n1\n0\n",
        node_attributes="4\n1\n2\n5\n3\n",
        edge_labels=None,
    )
    data = read_tu(folder)
    assert data.graphs[0].adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert data.graphs.labels.tolist() == [0, 3, 0, 1, 1]
    assert data.graphs.features.ravel().tolist() == [1, 2, 3, 4, 5]


def test_a_graph_without_nodes_is_kept(tmp_path):
    folder = write(tmp_path, graph_indicator="1\n1\n1\n3\n3\n", graph_labels="1\n5\n-1\n", graph_attributes=None)
    data = read_tu(folder)
    assert data.graphs.sizes.tolist() == [3, 0, 2]
    assert data.y.tolist() == [1, 5, -1]


def test_regression_targets_stay_real(tmp_path):
    assert read_tu(write(tmp_path, graph_labels=None)).y.tolist() == [0.25, -7.0]
    many = write(tmp_path, graph_labels=None, graph_attributes="1, 0.5\n2, 0.25\n")
    assert read_tu(many).y.tolist() == [[1, 0.5], [2, 0.25]]


def test_targets_may_be_missing(tmp_path):
    data = read_tu(write(tmp_path, graph_labels=None, graph_attributes=None))
    assert data.y is None
    assert len(data.graphs) == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"A": GOOD["A"] + "5\n"}, r"DS_A.txt, line 8: expected 2 integers separated by commas, found '5'"),
        ({"A": "1, 2\n2 1, 3\n"}, r"DS_A.txt, line 2: expected 2 integers"),
        ({"A": "1\n2, 1, 3\n"}, r"DS_A.txt, line 1: expected 2 integers"),
        ({"A": "1 2, \n2, 1\n"}, r"DS_A.txt, line 1: expected 2 integers"),
        ({"A": "1, 2\n\n2, 1\n"}, r"DS_A.txt, line 2: expected 2 integers"),
        ({"A": "1, 2\n2, x\n"}, r"DS_A.txt, line 2: expected 2 integers separated by commas, found '2, x'"),
        ({"A": "1, 2\n2, 1.5\n"}, r"DS_A.txt, line 2: expected 2 integers"),
        ({"A": "1, 2\n2, 6\n", "edge_labels": None}, r"DS_A.txt, line 2: edge \(2, 6\), but .* nodes are 1..5"),
        ({"A": "0, 2\n", "edge_labels": None}, r"DS_A.txt, line 1: edge \(0, 2\)"),
        ({"A": "1, 2\n3, 4\n", "edge_labels": None}, r"line 2: edge \(3, 4\) joins graphs 1 and 2"),
        ({"node_labels": "0\n3\n0\n1\n"}, "DS_node_labels.txt has 4 lines, but there are 5 nodes"),
        ({"node_labels": "0\n3\n0\n1\n1\n1\n"}, "DS_node_labels.txt has 6 lines, but there are 5 nodes"),
        ({"node_attributes": "1\n2\n3\n4\n"}, "DS_node_attributes.txt has 4 lines"),
        ({"node_attributes": "1, 2\n2\n3, 3\n4, 4\n5, 5\n"}, r"DS_node_attributes.txt, line 2: expected 2 numbers"),
        ({"node_attributes": "1\n2\nnan\n4\n5\n"}, r"line 3 \(graph 1\): attributes must be finite"),
        ({"edge_labels": "1\n"}, "DS_edge_labels.txt has 1 lines, but there are 7 edges"),
        ({"A": "1, 2\n1, 2\n", "edge_labels": "0\n1\n"}, "DS_edge_labels.txt .* given twice with different labels"),
        ({"graph_labels": "1\n"}, "DS_graph_labels.txt has 1 lines, but DS_graph_attributes.txt has 2"),
        ({"graph_labels": "1\n", "graph_attributes": None}, "has 1 lines, but DS_graph_indicator.txt has 2 graphs"),
        (
            {"graph_labels": "1\n1\n1\n", "graph_attributes": None},
            "has 3 lines, but .* has 2 graphs; give one line each",
        ),
        ({"graph_indicator": "1\n1\nx\n2\n2\n"}, "line 3: expected an integer, found 'x'"),
        ({"graph_indicator": "1\n1\n0\n2\n2\n"}, "line 3: graph 0; graphs count from 1"),
        ({"graph_indicator": None}, "has no file DS_graph_indicator.txt"),
        ({"A": None}, "there is no file that ends in _A.txt"),
    ],
)
def test_invalid_files_are_reported_with_their_line(tmp_path, changes, words):
    with pytest.raises(InputError, match=words):
        read_tu(write(tmp_path, **changes))


@pytest.mark.parametrize(
    "member", ["../DS_A.txt", "/etc/DS_A.txt", "DS/../../DS_A.txt", "..\\DS_A.txt", "C:\\DS_A.txt"]
)
def test_zip_with_paths_outside_is_rejected(tmp_path, member):
    with zipfile.ZipFile(tmp_path / "DS.zip", "w") as archive:
        archive.writestr(member, GOOD["A"])
    with pytest.raises(InputError, match="points outside its folder; it is not read"):
        read_tu(tmp_path / "DS.zip")
    assert list(tmp_path.iterdir()) == [tmp_path / "DS.zip"]


def test_empty_and_damaged_zips(tmp_path):
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    with pytest.raises(InputError, match=r"empty.zip is an empty zip file"):
        read_tu(tmp_path / "empty.zip")
    (tmp_path / "text.zip").write_text("not a zip")
    with pytest.raises(InputError, match="neither a folder nor a zip file"):
        read_tu(tmp_path / "text.zip")
    folder = write(tmp_path)
    shutil.make_archive(str(tmp_path / "broken"), "zip", folder)
    content = bytearray((tmp_path / "broken.zip").read_bytes())
    content[60:90] = bytes(30)
    (tmp_path / "broken.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.zip cannot be read: .* is damaged or encrypted"):
        read_tu(tmp_path / "broken.zip")


def test_flipped_bits_of_a_zip_are_harmless_or_raise_input_error(tmp_path):
    shutil.make_archive(str(tmp_path / "DS"), "zip", write(tmp_path))
    whole = (tmp_path / "DS.zip").read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for place, bit in zip(rng.integers(len(whole), size=300), rng.integers(8, size=300), strict=True):
        content = bytearray(whole)
        content[place] ^= 1 << bit
        (tmp_path / "flipped.zip").write_bytes(content)
        with contextlib.suppress(InputError):  # any other exception is a failure
            read_tu(tmp_path / "flipped.zip")
            continue
        refused += 1
    assert refused > 50


def test_zip_with_two_data_sets_is_rejected(tmp_path):
    folder = write(tmp_path)
    with zipfile.ZipFile(tmp_path / "DS.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"one/{file.name}")
            archive.write(file, f"two/{file.name}")
    with pytest.raises(InputError, match=r"data sets in several folders \(one, two\)"):
        read_tu(tmp_path / "DS.zip")


def test_files_in_other_folders_of_a_zip_are_not_mixed_in(tmp_path):
    folder = write(tmp_path)
    with zipfile.ZipFile(tmp_path / "DS.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"DS/{file.name}")
        archive.writestr("old/DS_graph_labels.txt", "7\n8\n")
    check_good(read_tu(tmp_path / "DS.zip"))


def test_several_sets_in_one_folder_need_a_name(tmp_path):
    folder = write(tmp_path)
    for file in list(folder.iterdir()):
        shutil.copy(file, folder / file.name.replace("DS_", "OTHER_"))
    check_good(read_tu(folder))
    with pytest.raises(InputError, match=r"several data sets \(DS, OTHER\)"):
        read_tu(folder.rename(tmp_path / "mixed"))


def test_written_sets_read_back_the_same(tmp_path):
    data = read_tu(write(tmp_path))
    check_again = read_tu(write_tu(data, tmp_path / "out"))
    assert np.array_equal(check_again.graphs.features, data.graphs.features)
    assert check_again.graphs.edge_labels.tolist() == data.graphs.edge_labels.tolist()
    assert check_again.y.tolist() == data.y.tolist()
    assert check_again.graph_attributes.tolist() == data.graph_attributes.tolist()
    assert check_again.graphs[0].adjacency.toarray().tolist() == data.graphs[0].adjacency.toarray().tolist()


@given(
    st.lists(st.tuples(st.integers(0, 5), st.floats(allow_nan=False, allow_infinity=False)), max_size=6),
    st.randoms(use_true_random=False),
)
def test_any_graphs_survive_the_round_trip(tmp_path_factory, sizes, random):
    made = []
    for n, value in [*sizes, (1, 0.5)]:  # the format the last graph in the TU format must have nodes
        edges = [(u, v) for u in range(n) for v in range(u) if random.random() < 0.5]
        made.append(
            Graph.from_edges(edges, n, np.full((n, 2), value), labels=[random.randint(-2, 9) for _ in range(n)])
        )
    data = Dataset(GraphBatch.from_graphs(made), np.array([value for _, value in sizes] + [0.5]), "ANY")
    back = read_tu(write_tu(data, tmp_path_factory.mktemp("tu")))
    assert back.y.tolist() == data.y.tolist()
    for a, b in zip(data.graphs, back.graphs, strict=True):
        assert a.adjacency.toarray().tolist() == b.adjacency.toarray().tolist()
        assert a.labels.tolist() == b.labels.tolist()
        if a.n_nodes:
            assert a.features.tolist() == b.features.tolist()


def test_writing_removes_files_of_an_older_set(tmp_path):
    write_tu(read_tu(write(tmp_path)), tmp_path / "out")
    bare = Dataset(GraphBatch.from_graphs([Graph.from_edges([(0, 1)], 2)]), np.array([3]), "DS")
    back = read_tu(write_tu(bare, tmp_path / "out"))
    assert (back.graphs.labels, back.graphs.features, back.graph_attributes) == (None, None, None)
    assert back.y.tolist() == [3]


@pytest.mark.parametrize("name", ["", "a/b", ".."])
def test_invalid_file_names_are_rejected(tmp_path, name):
    with pytest.raises(InputError, match="is not a valid file name"):
        write_tu(Dataset(GraphBatch.from_graphs([Graph.from_edges([], 1)]), None, name), tmp_path)


def test_two_different_real_targets_are_rejected(tmp_path):
    data = Dataset(GraphBatch.from_graphs([Graph.from_edges([], 1)]), np.array([0.5]), "DS", np.array([[0.7]]))
    with pytest.raises(InputError, match="both real and differ"):
        write_tu(data, tmp_path)


@pytest.mark.parametrize(
    ("graph", "y", "words"),
    [
        (Graph.from_edges([(0, 1)], 2, directed=True), [1], "directed graphs would be read back as undirected"),
        (Graph.from_edges([(0, 1)], 2), [[1, 2]], "targets must be one integer or real numbers"),
        (Graph.from_edges([(0, 1)], 2, node_scale=[2.0, 1.0]), [1], "no place for the scale of nodes"),
        (Graph.from_edges([(0, 1)], 2, weights=[2.0]), [1], "no place for edge weights"),
        (Graph.from_edges([(0, 1)], 2, labels=["C", "O"]), [1], "node labels must be integers"),
        (Graph.from_edges([(0, 1)], 2, edge_labels=["single"]), [1], "edge labels must be integers"),
        (Graph.from_edges([(0, 1)], 2), ["yes"], "targets must be one integer or real numbers"),
        (Graph.from_edges([], 0), [1], "the last graph in the TU format must have nodes"),
    ],
)
def test_unsupported_data_sets_are_rejected(tmp_path, graph, y, words):
    data = Dataset(GraphBatch.from_graphs([graph]), np.array(y), "DS")
    with pytest.raises(InputError, match=words):
        write_tu(data, tmp_path)
    assert not list(tmp_path.iterdir())


@given(
    st.lists(st.lists(st.integers(-99, 99), min_size=3, max_size=3), min_size=1, max_size=9),
    st.sampled_from([",", ", ", " ,\t"]),
)
def test_parse_table_reads_what_was_written(rows, comma):
    text = "\n".join(comma.join(map(str, row)) for row in rows)
    assert parse_table(text.encode(), np.int64, "f").tolist() == rows


@given(st.lists(st.sampled_from(["1", " ", ",", "\n", "2"]), max_size=14).map("".join))
def test_parse_table_agrees_with_reading_line_by_line(text):
    lines = text.rstrip().split("\n") if text.strip() else []
    fields = [[f.strip() for f in line.split(",")] for line in lines]
    good = all(len(row) == 2 and all(f.isdigit() for f in row) for row in fields)
    if good:
        assert parse_table(text.encode(), np.int64, "f", 2).tolist() == [[int(f) for f in row] for row in fields]
    else:
        with pytest.raises(InputError, match="f, line"):
            parse_table(text.encode(), np.int64, "f", 2)
