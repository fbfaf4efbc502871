"""Drawings of attributions: content, determinism, and invalid input."""

from __future__ import annotations

import builtins
import io
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import fastgntk.plotting._attribution as attribution
from fastgntk import Graph
from fastgntk.errors import InputError
from fastgntk.plotting import draw_attribution
from fastgntk.plotting._figure import Scale

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
ASPIRIN_BONDS = [(0, 1), (1, 2), (1, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9), (9, 10), (10, 11), (10, 12), (4, 9)]  # fmt: skip  # noqa: E501
RED, BLUE, WHITE = (Scale(1.0).colour(value) for value in (1.0, -1.0, 0.0))
SVG = "{http://www.w3.org/2000/svg}"


def aspirin() -> Graph:
    return Graph.from_edges(ASPIRIN_BONDS, 13, labels=list("CCOOCCCCCCCOO"))


def triangle(**options) -> Graph:
    return Graph.from_edges([(0, 1), (1, 2), (0, 2)], 3, **options)


def path_graph(n_nodes: int) -> Graph:
    return Graph.from_edges([(i, i + 1) for i in range(n_nodes - 1)], n_nodes)


def random_graph(n_nodes: int) -> Graph:
    edges = np.random.default_rng(0).integers(n_nodes, size=(2 * n_nodes, 2))
    return Graph.from_edges(edges[edges[:, 0] != edges[:, 1]], n_nodes)


def draw_svg(tmp_path, graph, values, **options) -> ET.Element:
    path = tmp_path / "picture.svg"
    draw_attribution(graph, values, path, **options)
    return ET.fromstring(path.read_bytes())


def draw_pixels(tmp_path, graph, values, **options) -> np.ndarray:
    from PIL import Image

    path = tmp_path / "picture.png"
    draw_attribution(graph, values, path, **options)
    return np.array(Image.open(path).convert("RGB"))


def texts(root: ET.Element) -> list[str]:
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def node_colours(root: ET.Element) -> list[str]:
    """The fill of each node, in order."""
    groups = [g for g in root.iter(f"{SVG}g") if re.fullmatch(r"node-\d+", g.get("id", ""))]
    groups.sort(key=lambda g: int(g.get("id").split("-")[1]))
    return [re.search("fill: (#[0-9a-f]{6})", g.find(f"{SVG}path").get("style")).group(1) for g in groups]


def atom_colours(root: ET.Element) -> list[str]:
    """The fill of the circle of each atom, in order."""
    circles = sorted(root.iter(f"{SVG}ellipse"), key=lambda e: int(e.get("class").split("-")[1]))
    return [re.search("fill:(#[0-9A-F]{6})", e.get("style")).group(1).lower() for e in circles]


def hide_package(monkeypatch, package: str) -> None:
    """Make every import of a package fail, as if it were not installed."""
    real = builtins.__import__

    def fake(name, *args, **kwargs):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fake)


# Content


def test_each_node_has_the_colour_of_its_value(tmp_path):
    colours = node_colours(draw_svg(tmp_path, triangle(), [2.0, -2.0, 0.0]))
    assert colours == [RED, BLUE, WHITE]


def test_each_atom_has_the_colour_of_its_value(tmp_path):
    values = np.linspace(-1, 1, 13)
    colours = atom_colours(draw_svg(tmp_path, aspirin(), values, smiles=ASPIRIN))
    assert colours == [Scale(1.0).colour(value) for value in values]


def test_atoms_are_in_the_order_of_the_smiles(tmp_path):
    values = np.zeros(13)
    values[[2, 12]] = 1.0, -1.0
    draw_attribution(aspirin(), values, tmp_path / "a.svg", smiles=ASPIRIN)
    text = (tmp_path / "a.svg").read_text()
    assert [c for c in atom_colours(ET.fromstring(text)) if c != WHITE] == [RED, BLUE]
    # The double-bonded oxygen and the last one, of the hydroxyl group, are atoms 2 and 12: RDKit writes letters there.
    assert "<path class='atom-2'" in text
    assert "<path class='atom-12'" in text
    assert "<path class='atom-5'" not in text


@pytest.mark.parametrize("smiles", [None, ASPIRIN])
def test_title_caption_unit_and_values_are_written_as_text(tmp_path, smiles):
    values = np.full(13, 0.25)
    values[3] = -0.5
    found = texts(
        draw_svg(tmp_path, aspirin(), values, smiles=smiles, title="A & <b> $x$", caption="sum −0.5", unit="mol/L")
    )
    assert "A & <b> $x$" in found
    assert "sum −0.5" in found
    assert f"contribution of each {'atom' if smiles else 'node'} (mol/L)" in found
    assert {"−0.500", "−0.250", "0", "0.250", "0.500"} <= set(found)
    assert found.count("+0.25") == 12
    assert found.count("−0.50") == 1


def test_values_are_written_for_up_to_40_nodes(tmp_path):
    assert texts(draw_svg(tmp_path, path_graph(40), np.ones(40))).count("+1.0") == 40
    assert texts(draw_svg(tmp_path, path_graph(41), np.ones(41))).count("+1.0") == 0


def test_node_labels_are_written_if_they_fit(tmp_path):
    found = texts(draw_svg(tmp_path, triangle(labels=["Br", "a long name", "$x$"]), np.ones(3)))
    assert "Br" in found
    assert "$x$" in found
    assert "a long name" not in found
    found = texts(draw_svg(tmp_path, triangle(labels=[[7, 1], [8, 2], [9, 3]]), np.ones(3)))
    assert {"7,1", "8,2", "9,3"} <= set(found)


def test_zero_values_are_white(tmp_path):
    root = draw_svg(tmp_path, triangle(), np.zeros(3))
    assert node_colours(root) == [WHITE] * 3
    assert set(texts(root)) == {"0", "contribution of each node"}
    assert set(atom_colours(draw_svg(tmp_path, aspirin(), np.zeros(13), smiles=ASPIRIN))) == {WHITE}


@pytest.mark.parametrize(
    "graph",
    [
        Graph.from_edges([], 1),
        Graph.from_edges([(0, 1)], 2),
        Graph.from_edges([], 7),
        path_graph(30),
        Graph.from_edges([(0, i) for i in range(1, 31)], 31),
        Graph.from_edges([(0, 1), (1, 2), (3, 4)], 6),
        Graph.from_edges([(0, 1), (1, 2)], 3, directed=True),
        Graph.from_edges([(0, 1), (1, 2)], 3, weights=[-1e-3, 1e6]),
        Graph(np.ones((30, 30))),
        pytest.param(random_graph(300), marks=pytest.mark.slow),
        pytest.param(random_graph(520), marks=pytest.mark.slow),
    ],
    ids=["node", "edge", "isolated", "path", "star", "parts", "directed", "weighted", "clique", "300", "520"],
)
def test_nodes_are_inside_the_figure_and_do_not_overlap(tmp_path, graph):
    root = draw_svg(tmp_path, graph, np.linspace(-1, 1, graph.n_nodes))
    assert len(node_colours(root)) == graph.n_nodes
    width, height = (float(x) for x in root.get("viewBox").split()[2:])
    middles = []
    for group in root.iter(f"{SVG}g"):
        if group.get("id", "").startswith("node-"):
            numbers = np.array(re.findall(r"-?[\d.]+", group.find(f"{SVG}path").get("d")), dtype=float).reshape(-1, 2)
            assert numbers.min() >= 0
            assert (numbers.max(axis=0) <= (width, height)).all()
            middles.append((numbers.min(axis=0) + numbers.max(axis=0)) / 2)
            diameter = np.ptp(numbers[:, 0])
    gaps = np.linalg.norm(np.array(middles)[:, None] - np.array(middles)[None], axis=2)
    gaps[np.diag_indices(len(gaps))] = np.inf
    assert np.mean(gaps.min(axis=1) < diameter) < 0.1


def test_a_ring_is_drawn_as_a_ring(tmp_path):
    from fastgntk.plotting._layout import place_nodes

    points = place_nodes(Graph.from_edges([(i, (i + 1) % 12) for i in range(12)], 12))
    from_middle = np.linalg.norm(points - points.mean(axis=0), axis=1)
    np.testing.assert_allclose(from_middle, from_middle.mean(), rtol=0.02)
    np.testing.assert_allclose(np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1), 1.0, rtol=0.05)


def test_a_star_is_drawn_as_one_ring_around_its_centre():
    from fastgntk.plotting._layout import place_nodes

    points = place_nodes(Graph.from_edges([(5, i) for i in range(31) if i != 5], 31))
    radii = np.linalg.norm(np.delete(points, 5, axis=0) - points[5], axis=1)
    np.testing.assert_allclose(radii, radii[0])


@pytest.mark.parametrize("seed", range(4))
def test_layout_of_a_tree_has_no_crossings(seed):
    from fastgntk.plotting._layout import place_nodes

    rng = np.random.default_rng(seed)
    edges = np.array([(i, int(rng.integers(max(0, i - 8), i))) for i in range(1, 100)])
    ends = place_nodes(Graph.from_edges(edges, 100))[edges]
    a, b = ends[:, None, 0], ends[:, None, 1]
    c, d = ends[None, :, 0], ends[None, :, 1]

    def side(a, b, c):
        return np.sign((b - a)[..., 0] * (c - a)[..., 1] - (b - a)[..., 1] * (c - a)[..., 0])

    crossing = (side(a, b, c) != side(a, b, d)) & (side(c, d, a) != side(c, d, b))
    sharing = (edges[:, None, :, None] == edges[None, :, None, :]).any(axis=(2, 3))
    assert (crossing & ~sharing).sum() == 0


@pytest.mark.parametrize("name", ["ladder", "barbell"])
def test_layout_uses_the_better_of_two_starts(name):
    import networkx as nx
    from scipy.sparse import csgraph

    from fastgntk.plotting import _layout

    # Springs are the better start for the ladder, rings for the barbell.
    graph = nx.circular_ladder_graph(12) if name == "ladder" else nx.barbell_graph(6, 8)
    pattern = nx.to_scipy_sparse_array(graph, dtype=float)
    distances = csgraph.shortest_path(pattern, unweighted=True)
    starts = _layout._spring_layout(pattern), _layout._radial_layout(pattern, int(distances.max(axis=1).argmin()))
    reached = [_layout._stress(_layout._majorise(start, distances), distances) for start in starts]
    assert abs(reached[0] - reached[1]) > 0.05
    assert _layout._stress(_layout._stress_layout(pattern), distances) == pytest.approx(min(reached))


def test_components_do_not_overlap():
    from fastgntk.plotting._layout import place_nodes

    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3), (4, 5), (6, 7), (7, 8), (6, 8)], 11)
    points = place_nodes(graph)
    parts = [points[nodes] for nodes in ([0, 1, 2, 3], [4, 5], [6, 7, 8], [9], [10])]
    for i, part in enumerate(parts):
        for other in parts[:i]:
            apart = np.maximum(part.min(axis=0) - other.max(axis=0), other.min(axis=0) - part.max(axis=0))
            assert apart.max() > 0.99


def test_arrows_mark_edges_of_one_direction(tmp_path):
    def has_arrows(graph):
        return any(g.get("id") == "heads" for g in draw_svg(tmp_path, graph, np.ones(3)).iter(f"{SVG}g"))

    assert has_arrows(Graph.from_edges([(0, 1), (1, 2)], 3, directed=True))
    assert not has_arrows(Graph.from_edges([(0, 1), (1, 0), (1, 2), (2, 1)], 3, directed=True))
    assert not has_arrows(triangle())


def test_arrow_head_points_to_the_second_node():
    from fastgntk.plotting._network import _arrow_head, _edges

    pairs, _, _, one_way = _edges(Graph.from_edges([(2, 0), (0, 1), (1, 0)], 3, directed=True))
    assert [tuple(pair) for pair in pairs[one_way]] == [(2, 0)]
    tip, *back = _arrow_head(np.array([0.0, 0.0]), np.array([10.0, 0.0]), 2.0)
    assert back[0][0] < tip[0] < 8.0  # the edge of the circle
    assert tip[0] > 7.0


def test_larger_weights_are_wider_and_negative_ones_dashed(tmp_path):
    graph = Graph.from_edges([(0, 1), (1, 2)], 3, weights=[4.0, -1.0])
    edges = next(g for g in draw_svg(tmp_path, graph, np.ones(3)).iter(f"{SVG}g") if g.get("id") == "edges")
    styles = [path.get("style") for path in edges.iter(f"{SVG}path")]
    strong, weak = (float(re.search(r"stroke-width: ([\d.]+)", style).group(1)) for style in styles)
    assert 1 < strong / weak < 4
    assert ["dasharray" in style for style in styles] == [False, True]


# Text


def test_long_text_is_wrapped(tmp_path):
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    title, caption = "Words and words " * 12, "x" * 300
    root = draw_svg(tmp_path, triangle(), np.ones(3), title=title, caption=caption, width=3)
    width, height = (float(x) for x in root.get("viewBox").split()[2:])
    titles = [text for text in texts(root) if text.startswith(("Words", "words", "and"))]
    assert " ".join(titles) == title.strip()
    assert "".join(text for text in texts(root) if set(text) == {"x"}) == caption
    for text in titles:
        assert (
            text_to_path.get_text_width_height_descent(text, FontProperties(size=11, weight="bold"), False)[0] < width
        )
    # Higher by the lines that were added.
    small = draw_svg(tmp_path, triangle(), np.ones(3), width=3)
    assert height > float(small.get("viewBox").split()[3]) + 14 * len(titles)


@pytest.mark.slow
def test_margins_stay_white(tmp_path):
    for options in ({"smiles": ASPIRIN}, {"width": 2}, {"width": 2, "smiles": ASPIRIN}):
        text = "A title that is rather long gjpq " * 3
        pixels = draw_pixels(tmp_path, aspirin(), np.linspace(-1e-9, 9e-8, 13), title=text, caption=text, **options)
        inside = pixels.copy()
        inside[12:-12, 12:-12] = 255
        assert (inside == 255).all()
        assert (pixels < 255).any()


def test_characters_invalid_in_xml_are_removed(tmp_path):
    found = texts(draw_svg(tmp_path, triangle(labels=["\x00a", "b", "c"]), np.ones(3), title="a\x00b\x1b"))
    assert "ab" in found
    assert "a" in found


@pytest.mark.parametrize(
    ("limit", "value", "text"),
    [
        (0.5, -0.1234, "−0.12"),
        (0.5, -0.001, "0"),
        (13.0, 13.0, "13"),
        (1e4, 2.6, "3"),
        (3.07e-7, 1.5e-7, "1.5"),
        (5e-324, -5e-324, "−4.9"),
        (1e308, 1e308, "1.0"),
        (0.0, 0.0, "0"),
    ],
)
def test_number_format_depends_on_the_limit(limit, value, text):
    assert Scale(limit).format(value) == text


def test_power_of_ten_is_part_of_the_unit(tmp_path):
    assert Scale(3e-7).power == "×10⁻⁷"
    assert Scale(2.5e12).power == "×10¹²"
    assert Scale(0.01).power == Scale(99999.0).power == Scale(0.0).power == ""
    found = texts(draw_svg(tmp_path, triangle(), [0.0, 1.5e-7, -3e-7], unit="kJ"))
    assert "contribution of each node (×10⁻⁷ kJ)" in found
    assert {"+1.5", "−3.0", "3.00"} <= set(found)


def test_colours_are_linear_between_white_and_the_ends():
    scale = Scale(4.0)
    assert scale.colour(0.0) == scale.colour(-0.0) == "#ffffff"
    for sign in (-1, 1):
        parts = np.array([list(bytes.fromhex(scale.colour(sign * share)[1:])) for share in (0.0, 1.0, 2.0, 3.0, 4.0)])
        assert (np.abs(np.diff(parts, n=2, axis=0)) <= 2).all()
        assert (np.diff(parts, axis=0) < 0).all()


# Pixels


@pytest.mark.slow
@pytest.mark.parametrize("smiles", [None, ASPIRIN])
def test_png_has_the_requested_width_and_colours(tmp_path, smiles):
    values = np.zeros(13)
    values[[0, 7]] = 1.0, -1.0
    pixels = draw_pixels(tmp_path, aspirin(), values, smiles=smiles, width=5)
    head = (tmp_path / "picture.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:]) == (5 * 216, pixels.shape[0])
    above_bar = pixels[: -60 * 3]
    for colour in (RED, BLUE):
        wanted = np.array(list(bytes.fromhex(colour[1:])))
        assert (np.abs(above_bar.astype(int) - wanted).max(axis=2) <= 1).sum() > 500  # a disc, not a stray pixel


@pytest.mark.parametrize("smiles", [None, ASPIRIN])
def test_png_and_svg_have_nodes_at_the_same_position(tmp_path, smiles):
    values = np.zeros(13)
    values[7] = -1.0
    pixels = draw_pixels(tmp_path, aspirin(), values, smiles=smiles, title="Aspirin", caption="one\ntwo")
    root = draw_svg(tmp_path, aspirin(), values, smiles=smiles, title="Aspirin", caption="one\ntwo")
    if smiles:
        nested = root.find(f".//{SVG}svg")
        circle = next(e for e in root.iter(f"{SVG}ellipse") if e.get("class") == "atom-7")
        x = float(nested.get("x")) * 3 + float(circle.get("cx"))
        y = float(nested.get("y")) * 3 + float(circle.get("cy"))
    else:
        group = next(g for g in root.iter(f"{SVG}g") if g.get("id") == "node-7")
        outline = np.array(re.findall(r"-?[\d.]+", group.find(f"{SVG}path").get("d")), dtype=float).reshape(-1, 2)
        x, y = (outline.min(axis=0) + outline.max(axis=0)) / 2 * 3
    wanted = np.array(list(bytes.fromhex(BLUE[1:])))
    rows, columns = np.nonzero(np.abs(pixels[: -80 * 3].astype(int) - wanted).max(axis=2) <= 1)
    assert np.hypot(rows.mean() - y, columns.mean() - x) < 6  # two points: letters and bonds hide some of the disc


def test_colour_bar_is_white_in_the_middle_and_saturated_at_the_ends(tmp_path):
    pixels = draw_pixels(tmp_path, Graph.from_edges([], 1), [1.0])
    row = next(r for r in pixels if (np.abs(r.astype(int) - list(bytes.fromhex(BLUE[1:]))).max(axis=1) <= 1).sum() > 1)
    row = pixels[int(np.flatnonzero((pixels == row).all(axis=(1, 2)))[0]) + 6]
    inked = np.flatnonzero((row < 255).any(axis=1))
    assert tuple(row[len(row) // 2]) == (255, 255, 255)
    assert np.abs(row[inked[0] + 4].astype(int) - list(bytes.fromhex(BLUE[1:]))).max() < 8
    assert np.abs(row[inked[-1] - 4].astype(int) - list(bytes.fromhex(RED[1:]))).max() < 8


# Files


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".svg", ".png", ".SVG"])
@pytest.mark.parametrize("smiles", [None, ASPIRIN])
def test_output_is_deterministic(tmp_path, suffix, smiles):
    for name in "ab":
        draw_attribution(aspirin(), np.arange(13.0), tmp_path / f"{name}{suffix}", smiles=smiles, title="t", unit="u")
    first, second = ((tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
    assert first == second
    assert b"dc:date" not in first


@pytest.mark.slow
def test_output_is_the_same_in_another_process(tmp_path):
    program = (
        "import sys; from fastgntk import Graph; from fastgntk.plotting import draw_attribution\n"
        f"graph = Graph.from_edges({ASPIRIN_BONDS}, 13)\n"
        "for name in ('net.svg', 'net.png'): draw_attribution(graph, range(13), sys.argv[1] + '/' + name)\n"
        f"draw_attribution(graph, range(13), sys.argv[1] + '/mol.svg', smiles={ASPIRIN!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    for name in "ab":
        (tmp_path / name).mkdir()
        subprocess.run([sys.executable, "-c", program, str(tmp_path / name)], check=True)
    for file in ("net.svg", "net.png", "mol.svg"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_user_style_is_ignored_and_restored(tmp_path):
    import matplotlib

    draw_attribution(triangle(), [1, 2, 3], tmp_path / "a.svg", title="t")
    with matplotlib.rc_context({"font.size": 30, "figure.facecolor": "black", "savefig.dpi": 20, "text.color": "red"}):
        before = dict(matplotlib.rcParams)
        draw_attribution(triangle(), [1, 2, 3], tmp_path / "b.svg", title="t")
        assert dict(matplotlib.rcParams) == before
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_input_is_not_modified(tmp_path):
    graph = Graph.from_edges([(0, 1), (1, 2)], 3, weights=[2.0, -3.0])
    values = np.array([1.0, 2.0, 3.0])
    before = graph.adjacency.toarray()
    draw_attribution(graph, values, tmp_path / "a.svg")
    assert (graph.adjacency.toarray() == before).all()
    assert values.tolist() == [1.0, 2.0, 3.0]


def test_failures_keep_the_existing_file(tmp_path, monkeypatch):
    path = tmp_path / "a.svg"
    path.write_text("earlier")

    def fail(*args):
        raise RuntimeError("drawing failed")

    monkeypatch.setattr(attribution, "draw_network", fail)
    with pytest.raises(RuntimeError, match="drawing failed"):
        draw_attribution(triangle(), [1, 2, 3], path)
    assert path.read_text() == "earlier"
    monkeypatch.undo()

    def full_disk(*args):
        raise OSError("no space left")

    monkeypatch.setattr("fastgntk._util.files.os.fsync", full_disk)
    with pytest.raises(OSError, match="no space left"):
        draw_attribution(triangle(), [1, 2, 3], path)
    assert path.read_text() == "earlier"
    assert [file.name for file in tmp_path.iterdir()] == ["a.svg"]


# Invalid input


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], r"values must have one entry for each of the 3 nodes, but has shape \(2,\)\."),
        (np.ones((3, 1)), r"values must have one entry for each of the 3 nodes, but has shape \(3, 1\)\."),
        ([1.0, np.nan, 2.0], r"values must be finite, but node 1 has nan\."),
        ([1.0, 2.0, -np.inf], r"values must be finite, but node 2 has -inf\."),
        (["a", "b", "c"], r"values must be numbers, one for each node\."),
        ([[1.0], [2.0, 3.0], [4.0]], r"values must be numbers, one for each node\."),
    ],
)
def test_invalid_values_are_rejected(tmp_path, values, message):
    with pytest.raises(InputError, match=message):
        draw_attribution(triangle(), values, tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.pdf", "a", "svg", "a.svg.gz"])
def test_unknown_suffix_is_rejected(tmp_path, name):
    with pytest.raises(InputError, match=r"path must end in \.svg or \.png, but is "):
        draw_attribution(triangle(), [1, 2, 3], tmp_path / name)


@pytest.mark.parametrize("width", [0, -1, 1.9, 41, float("nan"), float("inf")])
def test_width_out_of_range_is_rejected(tmp_path, width):
    with pytest.raises(InputError, match=r"width must lie in 2\.\.40 inches, but is "):
        draw_attribution(triangle(), [1, 2, 3], tmp_path / "a.svg", width=width)


def test_empty_graph_is_rejected(tmp_path):
    with pytest.raises(InputError, match=r"the graph has no nodes to draw\."):
        draw_attribution(Graph.from_edges([], 0), [], tmp_path / "a.svg")


@pytest.mark.parametrize(
    ("graph", "smiles", "message"),
    [
        (aspirin(), "C1CC", "smiles is 'C1CC', which RDKit cannot read as a molecule"),
        (aspirin(), "not a molecule", "which RDKit cannot read as a molecule"),
        (
            aspirin(),
            "CCO",
            "smiles has 3 atoms, but the graph has 13 nodes; give the SMILES that the graph was made from",
        ),
        (aspirin(), "", "smiles has 0 atoms, but the graph has 13 nodes"),
        # Aspirin written from the other end.
        (
            aspirin(),
            "OC(=O)c1ccccc1OC(C)=O",
            "smiles has a bond between atoms 3 and 8, but the graph has no edge between these",
        ),
        (triangle(), "CCO", "smiles has no bond between atoms 0 and 2, but the graph has an edge between"),
    ],
)
def test_mismatching_smiles_is_rejected(tmp_path, capfd, graph, smiles, message):
    with pytest.raises(InputError, match=message):
        draw_attribution(graph, np.ones(graph.n_nodes), tmp_path / "a.svg", smiles=smiles)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("package", "smiles", "extra"),
    [
        ("rdkit", ASPIRIN, "chem"),
        ("matplotlib", ASPIRIN, "report"),
        ("matplotlib", None, "report"),
        ("networkx", None, "report"),
    ],
)
def test_missing_package_names_the_extra(tmp_path, monkeypatch, package, smiles, extra):
    hide_package(monkeypatch, package)
    with pytest.raises(InputError, match=rf"install it with: pip install 'fastgntk\[{extra}\]'\."):
        draw_attribution(aspirin(), np.ones(13), tmp_path / "a.svg", smiles=smiles)


@pytest.mark.parametrize("smiles", [None, ASPIRIN])
def test_unused_packages_are_optional(tmp_path, monkeypatch, smiles):
    hide_package(monkeypatch, "networkx" if smiles else "rdkit")
    draw_attribution(aspirin(), np.ones(13), tmp_path / "a.svg", smiles=smiles)
    assert ET.parse(io.BytesIO((tmp_path / "a.svg").read_bytes()))


@pytest.mark.slow
@pytest.mark.parametrize("smiles", ["C", "[Na+]", "[H][H]", "CO", "[Na+].[Cl-]", "C[C@H](N)C(=O)O", "C" * 70])
def test_molecules_are_drawn_inside_their_area(tmp_path, smiles):
    from rdkit import Chem

    molecule = Chem.MolFromSmiles(smiles)
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    graph = Graph.from_edges(bonds, molecule.GetNumAtoms())
    for width in (2, 6):
        root = draw_svg(tmp_path, graph, np.linspace(1, 2, graph.n_nodes), smiles=smiles, width=width)
        assert len(atom_colours(root)) == graph.n_nodes
        nested = root.find(f".//{SVG}svg")
        right, bottom = (float(x) for x in nested.get("viewBox").split()[2:])
        assert right <= width * 216
        for circle in root.iter(f"{SVG}ellipse"):
            x, y, radius = (float(circle.get(name)) for name in ("cx", "cy", "rx"))
            assert radius <= x <= right - radius
            assert radius <= y <= bottom - radius


def test_value_labels_of_a_molecule_are_close_to_but_off_the_circles(tmp_path):
    root = draw_svg(tmp_path, aspirin(), np.full(13, 0.5), smiles=ASPIRIN)
    nested = root.find(f".//{SVG}svg")
    circles = np.array([[float(e.get(name)) for name in ("cx", "cy", "rx")] for e in root.iter(f"{SVG}ellipse")]) / 3
    circles[:, :2] += float(nested.get("x")), float(nested.get("y"))
    labels = [e for e in root.iter(f"{SVG}text") if "".join(e.itertext()) == "+0.50"]
    assert len(labels) == 13
    for label in labels:
        x, y = float(label.get("x")), float(label.get("y"))
        gap = np.hypot(circles[:, 0] - x, circles[:, 1] - y) - circles[:, 2]
        assert gap.min() > 2
        assert gap.min() < 16


def test_value_labels_do_not_overlap():
    from matplotlib.figure import Figure

    from fastgntk.plotting._figure import write_value_labels

    axes = Figure().add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 200), ylim=(0, 200))
    # Three nodes at one position compete for the same label position.
    write_value_labels(axes, ["+0.50"] * 3, np.full((3, 2), 100.0), 5.0, np.empty((0, 2)))
    places = np.array([text.get_position() for text in axes.texts])
    for i in range(3):
        for j in range(i):
            gap = np.abs(places[i] - places[j])
            assert gap[0] > 18 or gap[1] > 6  # a label is about 18 wide and 6 high
