"""The page as text: escaping, no external resources, optional content."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zlib
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from tests.report.sample import minimal_report, sample_classification, sample_regression

from fastgntk.report import _page
from fastgntk.report._page import render_page

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u2028<!--"
VOID = {"meta", "link", "img", "br", "input", "hr", "circle", "path"}


class Reader(HTMLParser):
    """Elements with their attributes, and the text of each kind of element."""

    def __init__(self, page: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
            self.text.setdefault(tag, []).append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1] == tag, f"</{tag}> is inside <{self._open[-1]}>"
        self._open.pop()

    def handle_data(self, data):
        for tag in set(self._open):
            self.text[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def embedded_data(page: str):
    packed = re.search(r'id="report-data">([^<]*)<', page).group(1)
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def script_in(page: str) -> str:
    return re.search(r"<script>(.*)</script>", page, re.DOTALL).group(1)


def malicious(value, key=""):
    """Replace every text of a report by an attack."""
    if key in ("kind", "values"):
        return value
    if isinstance(value, str):
        return EVIL
    if isinstance(value, dict):
        return {name: malicious(each, name) for name, each in value.items()}
    return [malicious(each) for each in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("sample", [sample_classification(12, 2), sample_regression(10)], ids=["classes", "regression"])
def test_text_is_escaped(sample):
    page = render_page(malicious(sample))
    found = Reader(page)
    assert "<script>alert" not in page
    assert "<img" not in page
    assert len(found.all("script")) == 2
    assert not [name for _, attributes in found.elements for name in attributes if name.startswith("on")]
    assert found.text["title"] == found.text["h1"] == [EVIL]


def test_page_embeds_the_report_data():
    report = sample_classification(5, 3)
    report["graphs"][0]["name"] = EVIL
    found = embedded_data(render_page(report))
    assert found["classes"] == report["classes"]
    assert found["graphs"][0]["name"] == EVIL
    assert found["graphs"][4]["drawing"]["edges"] == report["graphs"][4]["drawing"]["edges"]
    assert found["score"]["mean"] == pytest.approx(report["score"]["mean"], rel=1e-5)


def test_page_loads_no_external_resource():
    page = render_page(sample_classification(20))
    found = Reader(page)
    assert "://" not in page
    assert not [
        attributes for _, attributes in found.elements if attributes.keys() & {"src", "srcset", "action", "data"}
    ]
    assert all((each["href"] or "").startswith(("#", "data:,")) for tag in ("a", "link") for each in found.all(tag))
    assert "url(" not in page
    assert "@import" not in page
    script = script_in(page)
    for word in (
        "fetch(",
        "XMLHttpRequest",
        "import(",
        "eval(",
        "Function(",
        "innerHTML",
        "insertAdjacent",
        "localStorage",
    ):
        assert word not in script


def test_content_security_policy_allows_only_the_own_script():
    page = render_page(sample_classification(5))
    policy = next(each["content"] for each in Reader(page).all("meta") if each.get("http-equiv"))
    digest = base64.b64encode(hashlib.sha256(script_in(page).encode()).digest()).decode()
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}';" in policy
    assert "eval" not in policy


def test_page_contains_every_script():
    there = {each.name for each in (files("fastgntk.report") / "assets").iterdir() if each.name.endswith(".js")}
    assert there == {f"{name}.js" for name in _page._SCRIPTS}


@pytest.mark.slow
def test_page_of_5000_graphs_is_smaller_than_3_mb():
    report = sample_classification(5000, 2, nodes=30)
    assert sum(graph["nodes"] for graph in report["graphs"]) > 5000 * 29
    assert len(render_page(report).encode()) < 3_000_000


def test_page_is_deterministic():
    assert render_page(sample_classification(30)) == render_page(sample_classification(30))


def test_table_of_contents_links_to_sections_in_order():
    found = Reader(render_page(sample_classification(30)))
    keys = [each["id"] for each in found.all("section") if each.get("id")]
    assert keys == ["score", "predictions", "calibration", "options", "kernel", "map", "saved", "time", "run"]
    assert [each["href"] for each in found.all("a")][1:] == [f"#{key}" for key in keys]
    ids = [attributes["id"] for _, attributes in found.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    for _, attributes in found.elements:
        assert attributes.get("aria-labelledby", ids[0]) in ids


def test_text_and_numbers_need_no_javascript():
    report = sample_classification(188)
    found = Reader(render_page(report))
    text = " ".join(found.text["main"])
    assert f"{report['score']['mean']:.1f} %" in text
    assert f"± {report['score']['std']:.1f}" in text
    assert "Without them the score is 88.9\u00a0%." in text
    assert report["command"] in text
    assert all(name in text and value in text for name, value in report["run"])
    assert "GIN, Xu et al. 2019" in text
    assert "the best epoch over all folds" in text
    assert "Fold 10" in text
    assert "about 1 min 36 s" in text
    assert "690 times longer" in text
    assert found.text["h1"] == [report["title"]]


def test_confusion_matrix_shows_counts_recall_and_precision():
    report = sample_classification(30)
    report["confusion"] = [[9, 3], [1, 17]]
    page = render_page(report)
    assert "26 of 30 graphs" in page
    assert 'style="--part:75.0%" title="not mutagenic predicted as not mutagenic: 9 of 12">9</td>' in page
    assert 'style="--part:25.0%" title="not mutagenic predicted as mutagenic: 3 of 12">3</td>' in page
    # Recall 17 of 18, precision 17 of 20.
    assert "94.4 %" in page
    assert "85.0 %" in page


def test_surface_outlines_chosen_options_and_shades_from_worst_to_best():
    report = sample_classification(5)
    report["surface"] = {
        "blocks": [1, 2], "layers": [3], "scale": ["uniform", "degree"], "score": [[[80.0, 90.0]], [[85.0, None]]],
        "chosen": [(2, 3, "uniform", 10)], "note": "",
    }  # fmt: skip
    page = render_page(report)
    assert '<td class="chosen" title="Chosen in 10 folds" style="--part:100.0%">90.0</td>' in page
    assert '<td style="--part:0.0%">80.0</td>' in page
    assert '<td style="--part:50.0%">85.0</td><td class="none">–</td>' in page
    report["score"]["lower_is_better"] = True
    assert '<td style="--part:100.0%">80.0</td>' in render_page(report)


def test_heat_map_table_holds_group_means():
    report = sample_classification(5)
    values = bytes([255, 255, 0, 255, 255, 0, 0, 0, 255])
    report["heat_map"] = {
        "size": 3, "values": base64.b64encode(values).decode(), "low": 0.25, "high": 1.0, "order": "",
        "groups": [{"name": "A", "start": 0, "stop": 2}, {"name": "B", "start": 2, "stop": 3}],
    }  # fmt: skip
    page = render_page(report)
    assert '<th scope="row">A</th><td class="number">1.00</td><td class="number">0.250</td>' in page
    assert '<th scope="row">B</th><td class="number">0.250</td><td class="number">1.00</td>' in page


OPTIONAL = {
    "classes": "predictions", "confusion": "predictions", "calibration": "calibration", "calibration_note": "",
    "surface": "options", "heat_map": "kernel", "compression": "", "speed": "",
}  # fmt: skip


@pytest.mark.parametrize("key", OPTIONAL)
def test_absent_data_has_no_section(key):
    report = sample_classification(10)
    del report[key]
    found = Reader(render_page(report))
    assert OPTIONAL[key] not in [each.get("id") for each in found.all("section")]
    assert len(found.all("section")) == (9 if OPTIONAL[key] else 10)


@pytest.mark.parametrize("key", ["predicted", "probability", "neighbours", "drawing"])
def test_optional_graph_data_may_be_absent(key):
    report = sample_classification(10)
    for graph in report["graphs"]:
        del graph[key]
    assert all(key not in graph for graph in embedded_data(render_page(report))["graphs"])


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("graphs", [0, 1])
def test_minimal_report_is_rendered(kind, graphs):
    found = Reader(render_page(minimal_report(graphs, kind)))
    keys = [each.get("id") for each in found.all("section")]
    assert keys == (["score", "map"] if graphs else ["score"])
    assert "50.0 %" in found.text["main"][0]


def test_confusion_matrix_is_shown_for_up_to_20_classes():
    assert len(re.findall('class="cells confusion many"', render_page(sample_classification(400, 20)))) == 1
    page = render_page(sample_classification(400, 21))
    assert "cells confusion" not in page
    assert "family 21 of proteins" in page


def test_long_class_names_are_not_truncated_in_the_table():
    report = sample_classification(10)
    report["classes"] = ["x" * 3000, "y" * 3000]
    found = Reader(render_page(report))
    assert "y" * 3000 in " ".join(found.text["details"])
    assert "y" * 3000 in [each.get("title") for each in found.all("th")]


def test_non_finite_numbers_are_shown_as_dashes():
    report = sample_classification(6)
    report["score"]["std"] = math.nan
    report["surface"]["score"][0][0][0] = math.inf
    report["graphs"][0]["drawing"]["contributions"][0] = math.nan
    report["stages"][0] = ("Reading", math.nan)
    page = render_page(report)
    assert embedded_data(page)["graphs"][0]["drawing"]["contributions"][0] is None
    assert "nan" not in " ".join(Reader(page).text["main"])


def test_lone_surrogates_are_replaced():
    report = sample_classification(3)
    report["title"] = report["graphs"][0]["name"] = "half a sign: \ud83d"
    assert "half a sign: ?" in render_page(report).encode("utf-8").decode("utf-8")


def test_regression_page_shows_predicted_against_measured():
    report = sample_regression(50)
    found = Reader(render_page(report))
    text = " ".join(found.text["main"])
    assert "Lower is better." in text
    assert f"{report['score']['mean']:.3f} log mol/L ± {report['score']['std']:.3f}" in " ".join(text.split())
    inside = sum(g["predicted"]["low"] <= g["truth"] <= g["predicted"]["high"] for g in report["graphs"])
    assert f"{inside} of 50 measured values lie inside" in text
    assert "scatter" in [each.get("data-chart") for each in found.all("div")]
