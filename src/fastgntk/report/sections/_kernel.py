"""Sections with the kernel: heat map of the kernel matrix, and map of all graphs."""

import base64
import math

import numpy as np

from fastgntk.report._schema import HeatMap, ReportData
from fastgntk.report.sections._markup import Part, chart, escape, number, small, table

__all__ = ["graph_map", "heat_map"]


def heat_map(report: ReportData) -> Part:
    """Return the similarity of all pairs, and a table of means by group."""
    if "heat_map" not in report or not report["heat_map"]["size"]:
        return None
    shown = report["heat_map"]
    lead = (
        "<p>Similarity (cosine) of all pairs of graphs; 1 means that the kernel cannot distinguish them. "
        "Blocks along the diagonal are groups of similar graphs.</p>"
    ) + small(shown["order"])
    names = [group["name"] for group in shown["groups"]]
    means = zip(names, _group_means(shown), strict=True)
    rows = [(escape(name), *(number(value, 3) for value in row)) for name, row in means]
    return lead, chart("heat", table("Mean similarity of groups", ("Group", *names), rows) if names else "")


def _group_means(shown: HeatMap) -> list[list[float]]:
    size = shown["size"]
    values = np.frombuffer(base64.b64decode(shown["values"]), dtype=np.uint8).reshape(size, size)
    cosines = shown["low"] + (shown["high"] - shown["low"]) * (values / 255.0)
    parts = [slice(group["start"], group["stop"]) for group in shown["groups"]]
    return [[float(cosines[a, b].mean()) if cosines[a, b].size else math.nan for b in parts] for a in parts]


def graph_map(report: ReportData) -> Part:
    """Return the box of the map, with a text that JavaScript replaces."""
    if not report["graphs"] or not report["maps"]:
        return None
    if report["kind"] == "classification":
        colour, ring = "class", "a wrong prediction"
    else:
        colour, ring = "measured value", "a value outside the predicted interval"
    lead = (
        f"<p>Each point is a graph, coloured by its {colour}; a ring marks {ring}. "
        '<span class="on-screen">Point at a graph to preview it; click to pin it next to the map. Keyboard: arrows '
        "move, Enter pins, Escape unpins.</span></p>"
    )
    names = "".join(f"<li>{escape(each['name'])}: {escape(each['note'])}</li>" for each in report["maps"])
    return lead, f'<div data-chart="map"><p>The map needs JavaScript. It shows:</p><ul>{names}</ul></div>'
