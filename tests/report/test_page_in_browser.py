"""The page in a browser: charts, mouse, touch, keyboard, colour schemes, narrow screens, print, accessibility.

Needs Playwright and Chromium, on the path or at FASTGNTK_CHROMIUM.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.report.sample import minimal_report, sample_classification, sample_regression

from fastgntk.report._page import render_page

playwright_api = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra 'dev'")
CHROMIUM = os.environ.get("FASTGNTK_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the path, or FASTGNTK_CHROMIUM"),
    pytest.mark.slow,
]

PATIENCE = 30_000
"""Milliseconds; generous, because test machines are slow."""
EVIL = "<img src=x onerror=alert(1)><b>bold</b>"
PHONE = {"width": 360, "height": 740}
CANVAS_COLOURS = """(canvas) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
    const colours = new Set();
    for (let i = 0; i < data.length; i += 4)
        if (data[i + 3]) colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return colours.size;
}"""

Opener = Callable[..., "playwright_api.Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright_api.Browser]:
    # The sandbox of Chromium does not start for root.
    arguments = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    with playwright_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield started
        started.close()


@pytest.fixture
def show(browser, tmp_path: Path) -> Iterator[Opener]:
    """Open a page; after the test, check that there were no errors and no network requests."""
    problems: list[str] = []
    contexts = []

    def open_page(report, *, ready: bool = True, **options):
        path = tmp_path / f"page-{len(contexts)}.html"
        path.write_text(render_page(report), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: None if request.url == path.as_uri() else problems.append(request.url))
        page.goto(path.as_uri())
        if ready:
            page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    # The icon of the page is data in the page.
    assert [each for each in problems if each != "data:,"] == []


TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def place(page, graph: int) -> tuple[float, float]:
    """Return the position of a graph's point in the window, after scrolling the map into view."""
    box = page.locator(".map-box")
    box.scroll_into_view_if_needed()
    page.evaluate(TWO_FRAMES)  # the scroll event, which hides the tip, comes with the next frame
    frame = box.bounding_box()
    x, y = box.evaluate("(box, graph) => box.placeOf(graph)", graph)
    return frame["x"] + x, frame["y"] + y


def isolated_graph(page, report) -> int:
    """Return the most isolated graph, so that pointing at it is unambiguous."""
    points = page.locator(".map-box").evaluate(
        f"(box) => Array.from({{length: {len(report['graphs'])}}}, (_, i) => box.placeOf(i))"
    )

    def room(i: int) -> float:
        return min((p[0] - points[i][0]) ** 2 + (p[1] - points[i][1]) ** 2 for j, p in enumerate(points) if j != i)

    return max(range(len(points)), key=room)


def overflow(page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def background(page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def pin(page, graph: int) -> None:
    page.locator("#go-to").fill(str(graph))
    page.locator("#go-to").press("Enter")
    page.wait_for_selector(f".panel[data-graph='{graph}']")


@pytest.mark.parametrize(
    "report",
    [sample_classification(80), sample_classification(120, 20), sample_regression(60)],
    ids=["2", "20", "regression"],
)
def test_charts_are_drawn(show, report):
    page = show(report)
    for host in page.locator(".chart[data-chart]").all():
        assert host.locator("svg *").count() > 10
    assert page.locator("[data-chart=score] .fold").count() == 10
    assert page.locator("[data-chart=calibration] .point").count() == len(report["calibration"])
    assert page.locator("[data-chart=heat] .heat canvas").evaluate(CANVAS_COLOURS) > 20
    assert page.locator("canvas.points").evaluate(CANVAS_COLOURS) > 2
    if report["kind"] == "regression":
        paths = page.locator("[data-chart=scatter] svg")
        dots = sum((paths.locator(kind).get_attribute("d") or "").count("M") for kind in (".inside", ".outside"))
        assert dots == 60


def test_charts_have_a_label_and_a_table(show):
    page = show(sample_classification(40))
    for svg in page.locator(".chart svg").all():
        assert len(svg.get_attribute("aria-label")) > 20
    for host in page.locator(".chart").all():
        assert host.locator("xpath=following-sibling::details//table").count() == 1


def test_hovering_shows_a_tooltip(show):
    report = sample_classification(60)
    page = show(report)
    graph = isolated_graph(page, report)
    assert page.locator("#tip").is_hidden()
    page.mouse.move(*place(page, graph))
    page.wait_for_selector("#tip:not([hidden])")
    assert page.locator("#tip circle").count() == report["graphs"][graph]["drawing"]["nodes"]
    assert f"Graph {graph}" in page.locator("#tip").inner_text()
    assert report["classes"][report["graphs"][graph]["truth"]] in page.locator("#tip").inner_text()
    page.mouse.move(5, 5)
    page.wait_for_selector("#tip", state="hidden")


def test_click_pins_the_graph(show):
    report = sample_classification(60, 3)
    page = show(report)
    chosen = isolated_graph(page, report)
    page.mouse.click(*place(page, chosen))
    page.wait_for_selector(f".panel[data-graph='{chosen}']")
    graph, panel = report["graphs"][chosen], page.locator(".panel")
    assert panel.locator("[data-role=truth]").inner_text() == report["classes"][graph["truth"]]
    sure = graph["probability"][graph["predicted"]]
    assert (
        panel.locator("[data-role=predicted]").inner_text()
        == f"{report['classes'][graph['predicted']]}, {100 * sure:.0f} %"
    )
    assert panel.locator(".badge").inner_text() == ("right" if graph["truth"] == graph["predicted"] else "wrong")
    assert panel.locator(".probabilities tbody tr").count() == 3
    assert panel.locator(".drawing circle").count() == graph["drawing"]["nodes"]
    neighbours = panel.locator(".small")
    assert neighbours.count() == len(graph["neighbours"])
    neighbours.nth(1).click()
    page.wait_for_selector(f".panel[data-graph='{graph['neighbours'][1][0]}']")
    panel.get_by_role("button", name="Unpin this graph").click()
    page.wait_for_selector(".panel:not([data-graph])")


def test_clicks_cycle_through_graphs_at_the_same_position(show):
    report = sample_classification(4)
    report["maps"] = [{"name": "Line", "note": "", "x": [0.0, 1.0, 0.0, 0.5], "y": [0.0, 0.0, 0.0, 0.0]}]
    page = show(report)
    where = place(page, 0)
    for graph in (0, 2, 0):
        page.mouse.click(*where)
        assert page.locator(".panel").get_attribute("data-graph") == str(graph)
        assert f"Graph {graph}" in page.locator("#tip").inner_text()
    assert "1 more here" in page.locator("#tip").inner_text()


def test_tap_pins_without_tooltip(show):
    report = sample_classification(60)
    low = {"width": 360, "height": 420}  # so that map and panel are not in view together
    page = show(report, viewport=low, has_touch=True, is_mobile=True)
    graph = isolated_graph(page, report)
    page.touchscreen.tap(*place(page, graph))
    page.wait_for_selector(f".panel[data-graph='{graph}']")
    assert page.locator("#tip").is_hidden()
    top = page.locator(".panel").evaluate("(panel) => panel.getBoundingClientRect().top")
    assert 0 <= top < 100


def test_regression_panel_shows_interval_and_verdict(show):
    report = sample_regression(40)
    page = show(report)
    outside = next(
        i for i, g in enumerate(report["graphs"]) if not g["predicted"]["low"] <= g["truth"] <= g["predicted"]["high"]
    )
    pin(page, outside)
    assert page.locator(".panel .badge").inner_text() == "outside the interval"
    predicted = report["graphs"][outside]["predicted"]["mean"]
    shown = page.locator("[data-role=predicted]").inner_text().split(" (")[0]
    assert float(shown.replace("−", "-")) == pytest.approx(predicted, rel=1e-3)


def test_nodes_are_coloured_by_contribution(show):
    report = sample_classification(10)
    contributions = report["graphs"][3]["drawing"]["contributions"]
    contributions[:] = [0.0] * len(contributions)
    contributions[:3] = [0.5, -0.5, 0.25]
    page = show(report)
    pin(page, 3)
    nodes = page.locator(".drawing circle")
    found = [nodes.nth(i).get_attribute("fill") for i in range(4)]
    # The same colours as in fastgntk.plotting.
    assert found == ["rgb(226 93 67)", "rgb(62 134 202)", "rgb(241 174 161)", "rgb(255 255 255)"]
    assert "+0.500" in page.locator(".contribution-key").inner_text()
    page.get_by_role("button", name="Labels").click()
    assert nodes.nth(0).get_attribute("fill") != "rgb(226 93 67)"
    assert page.locator(".labels li").count() == len(set(report["graphs"][3]["drawing"]["labels"]))


def test_map_can_be_used_by_keyboard(show):
    report = sample_classification(4)
    report["maps"] = [{"name": "Cross", "note": "", "x": [0.0, 1.0, 0.05, -1.0], "y": [0.0, 0.1, 1.0, 0.0]}]
    page = show(report)
    page.locator(".map-box").focus()
    spoken = page.locator("[aria-live=polite]")
    for key, graph in [
        ("ArrowUp", 0),
        ("ArrowRight", 1),
        ("ArrowLeft", 0),
        ("ArrowUp", 2),
        ("ArrowDown", 0),
        ("ArrowLeft", 3),
    ]:
        page.keyboard.press(key)
        assert spoken.inner_text().startswith(f"Graph {graph}: true class "), key
        assert f"Graph {graph}" in page.locator("#tip").inner_text()
    page.keyboard.press("ArrowLeft")
    assert "Graph 3" in page.locator("#tip").inner_text()
    page.keyboard.press("Enter")
    assert page.locator(".panel").get_attribute("data-graph") == "3"
    page.keyboard.press("Escape")
    assert page.locator(".panel").get_attribute("data-graph") is None
    assert page.locator("#tip").is_hidden()


def test_go_to_form_accepts_existing_graphs_only(show):
    page = show(sample_classification(30))
    pin(page, 29)
    assert page.evaluate("document.activeElement.textContent").startswith("Graph 29")
    page.locator("#go-to").fill("30")
    page.locator("#go-to").press("Enter")
    assert page.locator(".panel").get_attribute("data-graph") == "29"


def test_tabs_switch_the_map(show):
    report = sample_classification(30)
    page = show(report)
    before = page.locator(".map-box").evaluate("(box) => box.placeOf(7)")
    page.get_by_role("tab", name="Principal axes").press("ArrowRight")
    assert page.get_by_role("tab", name="Neighbours").get_attribute("aria-selected") == "true"
    assert page.locator(".map-box").evaluate("(box) => box.placeOf(7)") != before
    assert report["maps"][1]["note"] in page.locator(".map-main").inner_text()


def test_legend_filters_by_class_and_wrong_predictions(show):
    report = sample_classification(60)
    page = show(report)
    graph = isolated_graph(page, report)
    mine = report["classes"][report["graphs"][graph]["truth"]]
    where = place(page, graph)
    page.locator(f".map-legend button[title='{mine}']").click()
    page.mouse.move(where[0] - 3, where[1])
    page.mouse.move(*where)
    assert page.locator("#tip").is_hidden()
    page.locator(f".map-legend button[title='{mine}']").click()
    page.mouse.move(*where)
    page.wait_for_selector("#tip:not([hidden])")
    right = report["graphs"][graph]["predicted"] == report["graphs"][graph]["truth"]
    page.get_by_role("button", name="Only wrong predictions").click()
    page.mouse.move(where[0] - 3, where[1])
    page.mouse.move(*where)
    assert page.locator("#tip").is_hidden() == right


def test_zoom_is_centred_and_can_be_reset(show):
    page = show(sample_classification(40))
    where = "(box) => [0, 1].map((i) => box.placeOf(i)).flat()"
    box = page.locator(".map-box")
    before = box.evaluate(where)
    page.get_by_role("button", name="Zoom in").click()
    closer = box.evaluate(where)
    assert closer[0] - closer[2] == pytest.approx(1.5 * (before[0] - before[2]), abs=0.01)
    page.get_by_role("button", name="Show all points").click()
    assert box.evaluate(where) == pytest.approx(before)


def test_heat_map_shows_the_value_under_the_pointer(show):
    page = show(sample_classification(50))
    heat = page.locator("[data-chart=heat] .heat canvas")
    heat.scroll_into_view_if_needed()
    frame = heat.bounding_box()
    page.mouse.move(frame["x"] + 2, frame["y"] + 2)
    assert page.locator(".reading").inner_text() == "not mutagenic and not mutagenic: 1.00 (row 0, column 0)"


def test_graph_table_grows_on_demand(show):
    page = show(sample_classification(130))
    page.get_by_text("All graphs as a table").click()
    rows = page.locator(".body > div > details tbody tr")
    rows.first.wait_for()
    assert rows.count() == 100
    page.get_by_role("button", name="Show 30 more of 130").click()
    assert rows.count() == 130
    page.get_by_role("button", name="Show graph 129").click()
    page.wait_for_selector(".panel[data-graph='129']")


def test_colour_scheme_follows_system_and_button(show):
    page = show(sample_classification(30), color_scheme="light")
    light = background(page)
    before = page.locator("canvas.points").evaluate("(canvas) => canvas.toDataURL()")
    page.emulate_media(color_scheme="dark")
    dark = background(page)
    assert light != dark
    page.wait_for_function("(before) => document.querySelector('canvas.points').toDataURL() !== before", arg=before)
    page.get_by_role("button", name="Show the page light").click()
    assert background(page) == light
    page.get_by_role("button", name="Show the page dark").click()
    assert background(page) == dark
    page.emulate_media(color_scheme="light")  # the manual choice persists
    assert background(page) == dark


@pytest.mark.parametrize(
    "report",
    [sample_classification(60), sample_classification(60, 20), sample_regression(40)],
    ids=["2", "20", "regression"],
)
def test_no_horizontal_scrolling_on_phones(show, report):
    report["classes"] = [
        f"{name} with a very long name that_cannot_be_broken_{'x' * 80}" for name in report.get("classes", [])
    ]
    report["graphs"][5]["name"] = "C" * 200
    report["command"] = "fastgntk " + "x" * 300
    report["title"] = "title" * 40
    page = show(report, viewport=PHONE)
    assert overflow(page) == 0
    pin(page, 5)
    assert overflow(page) == 0
    for details in page.locator("details").all():
        details.evaluate("(each) => (each.open = true)")
    assert overflow(page) == 0
    assert page.locator(".map-box").bounding_box()["width"] <= PHONE["width"]


@pytest.mark.parametrize("width", [1280, 1020, 820, 360])
def test_small_drawings_keep_their_text_inside_and_numbers_on_one_line(show, width):
    report = sample_classification(60)
    for graph in report["graphs"]:
        graph["predicted"] = 1 - graph["truth"]
        graph["probability"] = [float(graph["predicted"] == 0), float(graph["predicted"] == 1)]
    page = show(report, viewport={"width": width, "height": 900})
    inside = "(all) => all.every((each) => each.scrollWidth <= each.clientWidth)"
    # The last text of a prediction is its probability, "100 %": the boxes of its lines have one height.
    lines = """(all) => all.map((each) => {
        const text = document.createRange();
        text.selectNodeContents(each.lastChild);
        return [text.toString(), text.getClientRects().length];
    })"""
    assert page.locator(".small").count() == 6
    assert page.locator(".small").evaluate_all(inside)
    assert page.locator(".small .fine").evaluate_all(lines) == [["100 %", 1]] * 6
    pin(page, 5)
    assert page.locator(".small").count() > 0
    assert page.locator(".small").evaluate_all(inside)


def test_print_is_white_without_controls(show):
    page = show(sample_classification(30), color_scheme="dark")
    pin(page, 3)
    page.emulate_media(media="print")
    assert background(page) == "rgb(255, 255, 255)"
    for control in ("nav", "#tip", "#theme", ".tools", ".segments", "details", ".pointed"):
        assert page.locator(control).first.is_hidden()
    assert page.locator(".panel").is_visible()
    assert page.locator(".score").is_visible()
    assert page.locator("section#score").evaluate("(each) => getComputedStyle(each).breakInside") == "avoid"
    page.emulate_media(media="screen")
    page.locator(".panel").get_by_role("button", name="Unpin this graph").click()
    page.emulate_media(media="print")
    assert page.locator(".panel").is_hidden()


def test_text_and_tables_need_no_javascript(show):
    report = sample_classification(30)
    page = show(report, ready=False, java_script_enabled=False)
    assert page.locator(".score strong").inner_text() == f"{report['score']['mean']:.1f} %"
    assert page.locator("#theme").is_hidden()
    assert page.get_by_text("The map needs JavaScript.").is_visible()
    assert page.locator(".confusion tbody td").count() == 4
    page.get_by_text("Numbers by class").click()
    assert page.get_by_text("Recall").is_visible()


def test_last_of_5000_graphs_can_be_pinned(show):
    page = show(sample_classification(5000, 2, nodes=30))
    pin(page, 4999)
    assert page.locator(".panel[data-graph='4999']").is_visible()


@pytest.mark.parametrize("nodes", [1, 2, 40, 100, 400])
def test_layout_gives_distinct_positions(show, nodes):
    report = minimal_report(1)
    # Two paths and one or two isolated nodes: components must not overlap.
    half = nodes // 2
    edges = [(i, i + 1) for i in range(half - 1)] + [(half + i, half + i + 1) for i in range(half - 2)]
    drawing = {"nodes": nodes, "edges": [node for edge in edges for node in edge]}
    report["graphs"][0] |= {"nodes": nodes, "edges": len(edges), "drawing": drawing}
    page = show(report)
    pin(page, 0)
    places = page.locator(".drawing circle").evaluate_all(
        "(all) => all.map((each) => [Number(each.getAttribute('cx')), Number(each.getAttribute('cy'))])"
    )
    assert len({tuple(each) for each in places}) == nodes
    assert all(0 < x < 360 and 0 < y < 270 for x, y in places)


def test_given_positions_keep_their_orientation(show):
    report = minimal_report(1)
    report["graphs"][0] |= {
        "nodes": 2,
        "edges": 1,
        "drawing": {"nodes": 2, "edges": [0, 1], "positions": [0.0, 0.0, 0.0, 1.0]},
    }
    page = show(report)
    pin(page, 0)
    first, second = page.locator(".drawing circle").all()
    assert float(first.get_attribute("cy")) > float(second.get_attribute("cy"))  # y grows upwards, as in mathematics


def test_names_are_not_interpreted_as_markup(show):
    report = sample_classification(12)
    report["classes"] = [EVIL, EVIL + "2"]
    report["title"] = report["warnings"][0] = report["maps"][0]["name"] = report["maps"][0]["note"] = EVIL
    report["node_labels"] = [EVIL] * len(report["node_labels"])
    report["score"]["baselines"][0]["name"] = report["heat_map"]["groups"][0]["name"] = EVIL
    for graph in report["graphs"]:
        graph["name"] = EVIL
    page = show(report)
    pin(page, 3)
    page.mouse.move(*place(page, 3))
    page.wait_for_selector("#tip:not([hidden])")
    page.get_by_text("All graphs as a table").click()
    page.get_by_role("button", name="Labels").click()
    assert page.locator("h1").inner_text() == EVIL
    assert page.locator(".panel h3").inner_text().startswith(EVIL)
    assert EVIL in page.locator("#tip").inner_text()
    assert page.locator("img").count() == 0
    assert page.locator("b").count() == 0


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_minimal_report_can_be_opened(show, kind):
    page = show(minimal_report(1, kind))
    pin(page, 0)
    assert "This graph is not drawn." in page.locator(".panel").inner_text()
    show(minimal_report(0, kind))


def test_graphs_without_predictions_can_be_pinned(show):
    report = sample_classification(30)
    for key in ("predicted", "probability", "neighbours"):
        for graph in report["graphs"]:
            del graph[key]
    page = show(report)
    pin(page, 2)
    assert page.locator("[data-role=predicted]").inner_text() == "not predicted"
    assert page.locator(".panel .badge").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "report", [sample_classification(40, 3), sample_regression(40)], ids=["classification", "regression"]
)
def test_axe_finds_no_accessibility_violation(show, report, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    page = show(report, color_scheme=scheme)
    pin(page, 5)
    for details in page.locator("details").all():
        details.evaluate("(each) => (each.open = true)")
    page.locator(".map-main").scroll_into_view_if_needed()
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
