"""Sections with the kernel and the run: heat map, map of all graphs, distinct nodes, times, options, as static HTML."""

import base64
import math

import numpy as np

from fastgntk._util.text import format_duration
from fastgntk.report._markup import Parts, bars, chart, escape, format_number, small, table
from fastgntk.report._schema import Compression, HeatMap, ReportData, Speed

__all__ = ["command_and_options", "graph_map", "heat_map", "stage_times", "work_saved"]


def heat_map(report: ReportData) -> Parts:
    """Return the similarity of all pairs, and a table of means by group."""
    if "heat_map" not in report or not report["heat_map"]["size"]:
        return None
    matrix = report["heat_map"]
    lead = (
        "<p>Similarity (cosine) of all pairs of graphs; 1 means that the kernel cannot distinguish them. "
        "Blocks along the diagonal are groups of similar graphs.</p>"
    ) + small(matrix["order"])
    names = [group["name"] for group in matrix["groups"]]
    means = zip(names, _group_means(matrix), strict=True)
    rows = [(escape(name), *(format_number(value, 3) for value in row)) for name, row in means]
    return lead, chart("heat", table("Mean similarity of groups", ("Group", *names), rows) if names else "")


def _group_means(matrix: HeatMap) -> list[list[float]]:
    size = matrix["size"]
    values = np.frombuffer(base64.b64decode(matrix["values"]), dtype=np.uint8).reshape(size, size)
    cosines = matrix["low"] + (matrix["high"] - matrix["low"]) * (values / 255.0)
    groups = [slice(group["start"], group["stop"]) for group in matrix["groups"]]
    return [[float(cosines[a, b].mean()) if cosines[a, b].size else math.nan for b in groups] for a in groups]


def graph_map(report: ReportData) -> Parts:
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


def work_saved(report: ReportData) -> Parts:
    """Return the number of distinct nodes, and the time of the kernel matrix and of a baseline."""
    parts = [_distinct_nodes(report["compression"])] if "compression" in report else []
    parts += [_speed(report["speed"])] if "speed" in report else []
    return ("".join(lead for lead, _ in parts), "".join(body for _, body in parts)) if parts else None


def _distinct_nodes(compression: Compression) -> tuple[str, str]:
    nodes = compression["nodes"]
    lead = (
        "<p>Nodes that a network of this depth cannot distinguish are merged, which is exact. Of "
        f"{nodes:,} nodes, this many are distinct at each level.</p>"
    )
    rows = [("All nodes", float(nodes), f"{nodes:,}")]
    for level, distinct in enumerate(compression["distinct"]):
        fraction = f'<span class="fine"> {format_number(100 * distinct / nodes, 2)} %</span>' if nodes else ""
        rows.append((f"Level {level}", float(distinct), f"{distinct:,}{fraction}"))
    return lead, bars("Distinct nodes by level", ("Level", "Distinct nodes"), rows)


def _speed(speed: Speed) -> tuple[str, str]:
    lead, seconds, baseline, name = "", speed["seconds"], speed["baseline"], speed["baseline_name"]
    ratio = baseline / seconds if seconds > 0 else 0.0
    if ratio >= 1:
        times = format_number(float(f"{ratio:.2g}"), 2)  # two digits: measured times are not more precise
        lead = f"<p>By {escape(name)} one kernel matrix takes <strong>{times} times longer</strong>.</p>"
    duration = format_duration(baseline)
    if not speed["measured"]:
        lead += small("That time is extrapolated from some pairs of graphs.")
        duration = f"about {duration}"
    rows = [("fastgntk", seconds, format_duration(seconds)), (name, baseline, duration)]
    return lead, bars("Time of one kernel matrix", ("Method", "Time"), rows)


def stage_times(report: ReportData) -> Parts:
    """Return the time of each stage."""
    if not report["stages"]:
        return None
    total = sum(seconds for _, seconds in report["stages"])
    rows = [(name, seconds, format_duration(seconds)) for name, seconds in report["stages"]]
    return f"<p>{format_duration(total)} in total.</p>", bars("Time by stage", ("Stage", "Time"), rows)


def command_and_options(report: ReportData) -> Parts:
    """Return the command, options, data and version."""
    if not report["run"] and not report["command"]:
        return None
    body = ""
    if report["command"]:
        body = f'<pre tabindex="0" aria-label="Command"><code>{escape(report["command"])}</code></pre>\n'
    rows = [(escape(name), escape(value)) for name, value in report["run"]]
    options = table("Options, data and version", ("Name", "Value"), rows, text_columns=(0, 1)) if rows else ""
    return "<p>Everything needed to repeat this run.</p>", f'{body}<div class="run">{options}</div>'
