"""The page of a report as text: nothing gets out of its place, nothing is loaded, what is left out is not missed."""

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
from tests.report.sample import bare_facts, sample_facts, sample_regression

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
        assert self._open[-1] == tag, f"</{tag}> stands inside <{self._open[-1]}>"
        self._open.pop()

    def handle_data(self, data):
        for tag in set(self._open):
            self.text[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def facts_in(page: str):
    packed = re.search(r'id="facts">([^<]*)<', page).group(1)
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def script_in(page: str) -> str:
    return re.search(r"<script>(.*)</script>", page, re.DOTALL).group(1)


def evil_facts():
    """Return facts in which every text is an attack."""
    facts = sample_facts(12, 2)

    def spoil(value, key=""):
        if key in ("kind", "values"):
            return value
        if isinstance(value, str):
            return EVIL
        if isinstance(value, dict):
            return {name: spoil(each, name) for name, each in value.items()}
        return [spoil(each) for each in value] if isinstance(value, list | tuple) else value

    return spoil(facts)


def test_texts_stay_texts():
    page = render_page(evil_facts())
    found = Reader(page)
    assert "<script>alert" not in page
    assert "<img" not in page
    assert len(found.all("script")) == 2
    assert not [name for _, attributes in found.elements for name in attributes if name.startswith("on")]
    assert found.text["title"] == found.text["h1"] == [EVIL]


def test_texts_of_a_regression_stay_texts():
    facts = sample_regression(10)
    facts["target"] = facts["score"]["unit"] = facts["graphs"][0]["name"] = EVIL
    page = render_page(facts)
    assert "<img" not in page
    assert len(Reader(page).all("script")) == 2


def test_facts_arrive_in_the_page():
    facts = sample_facts(5, 3)
    facts["graphs"][0]["name"] = EVIL
    found = facts_in(render_page(facts))
    assert found["classes"] == facts["classes"]
    assert found["graphs"][0]["name"] == EVIL
    assert found["graphs"][4]["drawing"]["edges"] == facts["graphs"][4]["drawing"]["edges"]
    assert found["score"]["mean"] == pytest.approx(facts["score"]["mean"], rel=1e-5)


def test_nothing_is_loaded():
    page = render_page(sample_facts(20))
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


def test_the_policy_allows_this_script_only():
    page = render_page(sample_facts(5))
    policy = next(each["content"] for each in Reader(page).all("meta") if each.get("http-equiv"))
    digest = base64.b64encode(hashlib.sha256(script_in(page).encode()).digest()).decode()
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}';" in policy
    assert "eval" not in policy


def test_every_script_of_the_folder_is_in_the_page():
    there = {each.name for each in (files("fastgntk.report") / "page").iterdir() if each.name.endswith(".js")}
    assert there == {f"{name}.js" for name in _page._SCRIPTS}


def test_5000_graphs_take_less_than_3_mb():
    facts = sample_facts(5000, 2, nodes=30)
    assert sum(graph["nodes"] for graph in facts["graphs"]) > 5000 * 29
    assert len(render_page(facts).encode()) < 3_000_000


def test_the_same_facts_give_the_same_page():
    assert render_page(sample_facts(30)) == render_page(sample_facts(30))


def test_contents_lead_to_sections_in_order():
    found = Reader(render_page(sample_facts(30)))
    keys = [each["id"] for each in found.all("section") if each.get("id")]
    assert keys == ["score", "predictions", "calibration", "options", "kernel", "map", "saved", "time", "run"]
    assert [each["href"] for each in found.all("a")][1:] == [f"#{key}" for key in keys]
    ids = [attributes["id"] for _, attributes in found.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    for _, attributes in found.elements:
        assert attributes.get("aria-labelledby", ids[0]) in ids


def test_words_and_numbers_are_there_without_javascript():
    facts = sample_facts(188)
    found = Reader(render_page(facts))
    text = " ".join(found.text["main"])
    assert f"{facts['score']['mean']:.1f} %" in text
    assert f"± {facts['score']['std']:.1f}" in text
    assert "Without them the score is 88.9\u00a0%." in text
    assert facts["command"] in text
    assert all(name in text and value in text for name, value in facts["run"])
    assert "GIN, Xu et al. 2019" in text
    assert "the best epoch over all folds" in text
    assert "Fold 10" in text
    assert "about 1 min 36 s" in text
    assert "690 times longer" in text
    assert found.text["h1"] == [facts["title"]]


def test_the_confusion_matrix_shows_counts_and_shares():
    facts = sample_facts(30)
    facts["confusion"] = [[9, 3], [1, 17]]
    page = render_page(facts)
    assert "26 of 30 graphs" in page
    assert 'style="--part:75.0%" title="not mutagenic taken for not mutagenic: 9 of 12">9</td>' in page
    assert 'style="--part:25.0%" title="not mutagenic taken for mutagenic: 3 of 12">3</td>' in page
    # Of mutagenic graphs 17 of 18 were found; of 20 that were called so 17 were.
    assert "94.4 %" in page
    assert "85.0 %" in page


def test_the_surface_outlines_what_was_chosen_and_shades_from_worst_to_best():
    facts = sample_facts(5)
    facts["surface"] = {
        "blocks": [1, 2], "layers": [3], "scale": ["uniform", "degree"], "score": [[[80.0, 90.0]], [[85.0, None]]],
        "chosen": [(2, 3, "uniform", 10)], "note": "",
    }  # fmt: skip
    page = render_page(facts)
    assert '<td class="chosen" title="Chosen in 10 folds" style="--part:100.0%">90.0</td>' in page
    assert '<td style="--part:0.0%">80.0</td>' in page
    assert '<td style="--part:50.0%">85.0</td><td class="none">–</td>' in page
    facts["score"]["lower_is_better"] = True
    assert '<td style="--part:100.0%">80.0</td>' in render_page(facts)


def test_the_table_behind_the_kernel_has_means_of_groups():
    facts = sample_facts(5)
    values = bytes([255, 255, 0, 255, 255, 0, 0, 0, 255])
    facts["heat_map"] = {
        "size": 3, "values": base64.b64encode(values).decode(), "low": 0.25, "high": 1.0, "order": "",
        "groups": [{"name": "A", "start": 0, "stop": 2}, {"name": "B", "start": 2, "stop": 3}],
    }  # fmt: skip
    page = render_page(facts)
    assert '<th scope="row">A</th><td class="number">1.00</td><td class="number">0.250</td>' in page
    assert '<th scope="row">B</th><td class="number">0.250</td><td class="number">1.00</td>' in page


OPTIONAL = {
    "classes": "predictions", "confusion": "predictions", "calibration": "calibration", "calibration_note": "",
    "surface": "options", "heat_map": "kernel", "compression": "", "speed": "",
}  # fmt: skip


@pytest.mark.parametrize("key", OPTIONAL)
def test_what_is_left_out_is_left_out(key):
    facts = sample_facts(10)
    del facts[key]
    found = Reader(render_page(facts))
    assert OPTIONAL[key] not in [each.get("id") for each in found.all("section")]
    assert len(found.all("section")) == (9 if OPTIONAL[key] else 10)


@pytest.mark.parametrize("key", ["said", "probability", "near", "drawing"])
def test_graphs_may_tell_less(key):
    facts = sample_facts(10)
    for graph in facts["graphs"]:
        del graph[key]
    assert all(key not in graph for graph in facts_in(render_page(facts))["graphs"])


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("graphs", [0, 1])
def test_the_least_that_can_be_told(kind, graphs):
    found = Reader(render_page(bare_facts(graphs, kind)))
    keys = [each.get("id") for each in found.all("section")]
    assert keys == (["score", "map"] if graphs else ["score"])
    assert "50.0 %" in found.text["main"][0]


def test_20_classes_are_a_matrix_and_21_a_list():
    assert len(re.findall('class="cells confusion many"', render_page(sample_facts(400, 20)))) == 1
    page = render_page(sample_facts(400, 21))
    assert "cells confusion" not in page
    assert "family 21 of proteins" in page


def test_long_names_are_whole_in_the_table():
    facts = sample_facts(10)
    facts["classes"] = ["x" * 3000, "y" * 3000]
    found = Reader(render_page(facts))
    assert "y" * 3000 in " ".join(found.text["details"])
    assert "y" * 3000 in [each.get("title") for each in found.all("th")]


def test_numbers_that_are_none_become_nothing():
    facts = sample_facts(6)
    facts["score"]["std"] = math.nan
    facts["surface"]["score"][0][0][0] = math.inf
    facts["graphs"][0]["drawing"]["shares"][0] = math.nan
    facts["stages"][0] = ("Reading", math.nan)
    page = render_page(facts)
    assert facts_in(page)["graphs"][0]["drawing"]["shares"][0] is None
    assert "nan" not in " ".join(Reader(page).text["main"])


def test_signs_that_utf8_lacks_do_not_stop_the_page():
    facts = sample_facts(3)
    facts["title"] = facts["graphs"][0]["name"] = "half a sign: \ud83d"
    assert "half a sign: ?" in render_page(facts).encode("utf-8").decode("utf-8")


def test_a_regression_shows_predicted_and_measured():
    facts = sample_regression(50)
    found = Reader(render_page(facts))
    text = " ".join(found.text["main"])
    assert "Lower is better." in text
    assert f"{facts['score']['mean']:.3f} log mol/L ± {facts['score']['std']:.3f}" in " ".join(text.split())
    inside = sum(g["said"]["low"] <= g["truth"] <= g["said"]["high"] for g in facts["graphs"])
    assert f"{inside} of 50 measured values lie inside" in text
    assert "scatter" in [each.get("data-chart") for each in found.all("div")]
