"""Sections of the page as static HTML; each function returns the lead and body of one section.

Charts that are coloured tables (confusion matrix, score by options, bars) are HTML tables. The others are empty boxes
with ``data-chart``, filled by JavaScript, each with a table of its numbers.
"""

import base64
import math
from collections.abc import Callable, Iterator

import numpy as np

from fastgntk._util.text import format_duration
from fastgntk.report._markup import Parts, bars, chart, details, escape, fixed, number, scrollable, small, table
from fastgntk.report._schema import Baseline, Compression, HeatMap, Interval, ReportData, Score, Speed, Surface

__all__ = ["SECTIONS"]

_MATRIX_CLASSES = 20  # with more classes a confusion matrix is unreadable
_LARGE_CELLS = 5  # classes up to which cells are large
_MAX_ROWS = 400  # rows of the table behind a scatter plot


def score(report: ReportData) -> Parts:
    """Return the score in large type, and a chart of folds and baselines."""
    result = report["score"]
    unit, name, folds = result["unit"], result["name"], result["folds"]
    mean, spread = _format_score(result["mean"], unit), _format_spread(result, unit)
    size = "unit long" if len(unit) > 3 else "unit"
    shown_unit = f'<span class="{size}"> {escape(unit)}</span>' if unit else ""
    shown_spread = f'<span class="spread"> ± {spread}</span>' if spread else ""
    averaged = f", mean of {len(folds)} folds" if len(folds) > 1 else ""
    better = "Lower is better." if result["lower_is_better"] else "Higher is better."
    lead = (
        f'<p class="score"><strong>{mean}{shown_unit}</strong>{shown_spread}</p>\n'
        f"<p>{escape(name.capitalize())}{averaged}. {better}</p>\n{small(result['protocol'])}"
    )
    rows = [("This run", mean, spread, "")]
    rows += [(f"Fold {i}", _format_score(value, unit), "", "") for i, value in enumerate(folds, start=1)]
    for baseline in result["baselines"]:
        figures = _format_score(baseline["mean"], unit), _format_spread(baseline, unit)
        rows.append((escape(baseline["name"]), *figures, escape(baseline.get("note", ""))))
    head = ("Result", "Mean", "Standard deviation", "Note")
    scores = table(f"{name}, {unit}" if unit else name, head, rows, text_columns=(0, 3))
    return lead, chart("score", scores, kind="chart")


def _format_score(value: float, unit: str) -> str:
    """Format a score: one decimal in per cent, otherwise three digits."""
    return fixed(value, 1) if unit == "%" else number(value)


def _format_spread(result: Score | Baseline, unit: str) -> str:
    """Format the standard deviation with as many decimals as the mean; empty if there is none."""
    if "std" not in result:
        return ""
    _, _, decimals = _format_score(result["mean"], unit).partition(".")
    return number(result["std"], 2) if "e" in decimals else fixed(result["std"], len(decimals))


def predictions(report: ReportData) -> Parts:
    """Return the confusion matrix, or predicted against measured values."""
    return _confusion(report) if report["kind"] == "classification" else _scatter(report)


def _confusion(report: ReportData) -> Parts:
    classes, matrix = report.get("classes"), report.get("confusion")
    if not classes or not matrix:
        return None
    rows = []
    for i, (name, row, column) in enumerate(zip(classes, matrix, zip(*matrix, strict=True), strict=True)):
        correct, true, predicted = row[i], sum(row), sum(column)
        recall, precision = (correct / total if total else math.nan for total in (true, predicted))
        counts = (f"{value:,}" for value in (true, predicted, correct))
        rows.append((escape(name), *counts, _percent(recall), _percent(precision)))
    by_class = table("By class", ("Class", "Graphs", "Predicted", "Correct", "Recall", "Precision"), rows)
    correct, total = sum(row[i] for i, row in enumerate(matrix)), sum(map(sum, matrix))
    lead = f"<p>{correct:,} of {total:,} graphs were classified correctly, each by a model fitted without it.</p>"
    if len(classes) > _MATRIX_CLASSES:
        return lead, scrollable("Numbers by class", by_class)
    lead += small("The colour of a cell is its fraction of the row.")
    return lead, _confusion_matrix(classes, matrix) + details("Numbers by class", by_class)


def _confusion_matrix(classes: list[str], matrix: list[list[int]]) -> str:
    names = [
        f' title="{name}"><span class="mark" data-class="{i}"></span><span class="cut">{name}</span></th>'
        for i, name in enumerate(map(escape, classes))
    ]
    lines = []
    for i, (name, row) in enumerate(zip(names, matrix, strict=True)):
        cells = "".join(_confusion_cell(i, j, value, sum(row), classes) for j, value in enumerate(row))
        lines.append(f'<tr><th scope="row"{name}{cells}</tr>')
    size = " many" if len(classes) > _LARGE_CELLS else " few" if len(classes) <= 3 else ""
    head = "".join(f'<th scope="col"{name}' for name in names)
    caption = "Rows: true class. Columns: predicted class."
    grid = _cell_table(f"confusion{size}", caption, f"<tr><td></td>{head}</tr>", lines)
    return scrollable("Confusion matrix", grid)


def _confusion_cell(i: int, j: int, value: int, total: int, classes: list[str]) -> str:
    fraction = value / total if total else 0.0
    kind = ' class="right"' if i == j else ' class="none"' if not value else ""
    # Zeros of a large matrix stay blank, so that errors stand out.
    text = f"{value:,}" if value or len(classes) <= _LARGE_CELLS else ""
    title = f"{classes[i]} predicted as {classes[j]}: {value} of {total}"
    return f'<td{kind} style="--part:{100 * fraction:.1f}%" title="{escape(title)}">{text}</td>'


def _cell_table(kind: str, caption: str, head: str, lines: list[str]) -> str:
    return (
        f'<table class="cells {kind}"><caption>{escape(caption)}</caption><thead>{head}</thead>\n'
        f"<tbody>\n{''.join(lines)}</tbody></table>"
    )


def _scatter(report: ReportData) -> Parts:
    points: list[tuple[int, str, float, Interval]] = []
    for i, graph in enumerate(report["graphs"]):
        predicted = graph.get("predicted")
        if isinstance(predicted, dict):
            points.append((i, graph["name"], float(graph["truth"]), predicted))
    if not points:
        return None
    target, unit = escape(report.get("target", "target")), escape(report["score"]["unit"])
    inside = sum(predicted["low"] <= truth <= predicted["high"] for _, _, truth, predicted in points)
    lead = (
        f"<p>Each point is a graph: measured {target}{f' ({unit})' if unit else ''} against the prediction of a model "
        "fitted without it, with the predicted interval.</p>"
        f"<p>{inside:,} of {len(points):,} measured values lie inside their interval.</p>"
    )
    rows = []
    for i, name, truth, predicted in sorted(points, key=lambda point: -abs(point[3]["mean"] - point[2]))[:_MAX_ROWS]:
        mean, low, high = (number(predicted[key], 4) for key in ("mean", "low", "high"))
        rows.append((f"{i}", escape(name), number(truth, 4), mean, f"{low} to {high}"))
    caption = "All graphs" if len(points) <= _MAX_ROWS else f"The {_MAX_ROWS} graphs with the largest errors"
    head = ("Graph", "Name", "Measured", "Predicted", "Interval")
    return lead, chart("scatter", table(f"{caption}, largest error first", head, rows, text_columns=(0, 1)))


def calibration(report: ReportData) -> Parts:
    """Return observed against predicted frequencies."""
    bins = report.get("calibration")
    if not bins:
        return None
    if report["kind"] == "classification":
        text = "Observed frequency against predicted probability."
        columns = ("Predicted probability", "Observed frequency")
    else:
        text = "Observed coverage against nominal coverage: the fraction of measured values inside their interval."
        columns = ("Nominal coverage", "Observed coverage")
    lead = f"<p>{text} A perfectly calibrated model lies on the diagonal.</p>"
    lead += small(report.get("calibration_note", ""))
    rows = []
    for point in bins:
        predicted, observed, low, high = (_percent(point[key]) for key in ("predicted", "observed", "low", "high"))
        rows.append((predicted, observed, f"{low} to {high}", f"{point['count']:,}"))
    return lead, chart("calibration", table("Calibration", (*columns, "95 % interval", "Graphs"), rows))


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %" if math.isfinite(fraction) else "–"


def score_by_options(report: ReportData) -> Parts:
    """Return one table of scores by blocks and layers for each scale, with the chosen options outlined."""
    if "surface" not in report:
        return None
    surface, score = report["surface"], report["score"]
    unit = f" in {escape(score['unit'])}" if score["unit"] else ""
    name = escape(score["name"].capitalize())
    lead = f"<p>{name}{unit} by number of blocks, layers per block, and scale. Chosen options are outlined.</p>"
    lead += small(surface["note"])
    tables = "".join(_surface_tables(surface, score["unit"], lower_is_better=score["lower_is_better"]))
    body = f'<div class="multiples">{scrollable("Score by options", tables)}</div>\n'
    if surface["chosen"]:
        most_folds_first = sorted(surface["chosen"], key=lambda choice: -choice[3])
        rows = [(escape(scale), f"{b}", f"{layers}", f"{folds}") for b, layers, scale, folds in most_folds_first]
        chosen = table("Chosen options by number of folds", ("Scale", "Blocks", "Layers", "Folds"), rows)
        body += details("Chosen options", chosen)
    return lead, body


def _surface_tables(surface: Surface, unit: str, *, lower_is_better: bool) -> Iterator[str]:
    values = [v for plane in surface["score"] for row in plane for v in row if v is not None and math.isfinite(v)]
    worst, best = (min(values), max(values)) if values else (0.0, 0.0)
    if lower_is_better:
        worst, best = best, worst
    chosen = {(blocks, layers, scale): folds for blocks, layers, scale, folds in surface["chosen"]}

    def cell(value: float | None, folds: int) -> str:
        if value is None or not math.isfinite(value):
            return '<td class="none">–</td>'
        shade = (value - worst) / (best - worst) if best != worst else 1.0
        outline = f' class="chosen" title="Chosen in {folds} {"fold" if folds == 1 else "folds"}"' if folds else ""
        return f'<td{outline} style="--part:{100 * shade:.1f}%">{_format_score(value, unit)}</td>'

    blocks_head = "".join(f'<th scope="col">{blocks}</th>' for blocks in surface["blocks"])
    head = (
        f'<tr><td></td><th scope="colgroup" colspan="{len(surface["blocks"])}">Blocks</th></tr>'
        f'<tr><th scope="col">Layers</th>{blocks_head}</tr>'
    )
    for scale, plane in zip(surface["scale"], surface["score"], strict=True):
        lines = []
        for layers, row in zip(surface["layers"], plane, strict=True):
            columns = zip(surface["blocks"], row, strict=True)
            cells = "".join(cell(value, chosen.get((blocks, layers, scale), 0)) for blocks, value in columns)
            lines.append(f'<tr><th scope="row">{layers}</th>{cells}</tr>')
        yield _cell_table("surface", f"Scale: {scale}", head, lines)


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
    rows = [(escape(name), *(number(value, 3) for value in row)) for name, row in means]
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
        fraction = f'<span class="fine"> {number(100 * distinct / nodes, 2)} %</span>' if nodes else ""
        rows.append((f"Level {level}", float(distinct), f"{distinct:,}{fraction}"))
    return lead, bars("Distinct nodes by level", ("Level", "Distinct nodes"), rows)


def _speed(speed: Speed) -> tuple[str, str]:
    lead, seconds, baseline, name = "", speed["seconds"], speed["baseline"], speed["baseline_name"]
    ratio = baseline / seconds if seconds > 0 else 0.0
    if ratio >= 1:
        times = number(float(f"{ratio:.2g}"), 2)  # two digits: measured times are not more precise
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


SECTIONS: dict[str, tuple[str, Callable[[ReportData], Parts]]] = {
    "score": ("Score", score),
    "predictions": ("Predictions", predictions),
    "calibration": ("Calibration", calibration),
    "options": ("Options", score_by_options),
    "kernel": ("Kernel", heat_map),
    "map": ("Map", graph_map),
    "saved": ("Work saved", work_saved),
    "time": ("Time", stage_times),
    "run": ("Run", command_and_options),
}
"""Anchor, title and HTML of each section, in order."""
