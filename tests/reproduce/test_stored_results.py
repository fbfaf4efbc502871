"""The results in docs/reproduction belong together: verdicts and pictures follow from the rows in the CSV files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from fastgntk.reproduce import STUDIES, get_study
from fastgntk.reproduce._study import _parse_field

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[2] / "docs" / "reproduction"


def stored_rows(name):
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return [{key: _parse_field(field) for key, field in row.items()} for row in csv.DictReader(file)]


def draw(name):
    figure, study = Figure(figsize=get_study(name).size, layout="constrained"), get_study(name)
    study.draw(stored_rows(name), figure)
    return figure


def legend_labels(figure):
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    return [[text.get_text() for text in legend.get_texts()] for legend in legends if legend]


@pytest.mark.parametrize("name", STUDIES)
def test_stored_verdict_follows_from_the_stored_rows(name):
    assert json.loads((FOLDER / f"{name}.json").read_text())["verdict"] == get_study(name).verdict(stored_rows(name))


@pytest.mark.parametrize("name", STUDIES)
def test_no_two_entries_of_a_legend_look_alike(name):
    figure = draw(name)
    for legend in (*figure.legends, *(axes.get_legend() for axes in figure.axes)):
        if legend:
            looks = [
                (line.get_color(), line.get_linestyle(), line.get_marker())
                for line in legend.get_lines()
                if line.get_label()
            ]
            assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("name", ["figure-sketch", "generalization", "complexity", "table-time"])
def test_every_panel_has_a_label_at_its_y_axis(name):
    figure = draw(name)
    for axes in figure.axes:
        shared = axes.get_shared_y_axes().get_siblings(axes)
        assert any(other.get_ylabel() for other in shared), axes.get_title()


def test_figure_of_a_product_shows_time_with_and_without_sketching():
    time = draw("figure-sketch").axes[-1]
    assert time.get_ylabel() == "milliseconds"
    row = next(row for row in stored_rows("figure-sketch") if row["sketch"] == "ams")
    first = [line.get_ydata()[0] for line in time.get_lines()]
    assert 1e3 * row["sketched_seconds"] in first
    assert 1e3 * row["exact_seconds"] in first


def test_picture_of_times_marks_the_lower_bound_and_what_was_printed():
    (labels,) = legend_labels(draw("table-time"))
    assert {"printed as more than 24 hours", "Jiang et al. (decoupled), as printed"} <= set(labels)


def test_exponents_in_the_picture_are_those_of_the_verdict():
    (labels, *_) = legend_labels(draw("complexity"))
    verdict = get_study("complexity").verdict(stored_rows("complexity"))[0]
    for label in labels:
        engine, exponent = label.split("  ")[0].split(": ")
        assert f"{engine} {exponent}" in verdict
