"""How good predictions are, which options did how well, and the kernel: the static part of these sections."""

from __future__ import annotations

import base64
import math

import numpy as np

from fastgntk.report._schema import Facts, HeatMap, Interval
from fastgntk.report.sections._markup import behind, count, fixed, number, prose, say, scrolling, table

__all__ = ["calibration", "heat_map", "predictions", "surface"]

_MOST_CLASSES = 20
"""Beyond, a matrix cannot be read."""
_FEW_CLASSES = 5
"""Up to here cells are large."""
_ROWS = 400
"""Of a table behind a chart."""

Part = tuple[str, str] | None
"""Words and body, as HTML."""


def predictions(facts: Facts) -> Part:
    """Return who was taken for whom, or predicted against measured."""
    return _confusion(facts) if facts["kind"] == "classification" else _scatter(facts)


def _confusion(facts: Facts) -> Part:
    classes, matrix = facts.get("classes"), facts.get("confusion")
    if not classes or not matrix:
        return None
    body = ""
    if len(classes) <= _MOST_CLASSES:
        head = "".join(
            f'<th scope="col" title="{say(name)}"><span class="mark" data-class="{i}"></span>'
            f'<span class="cut">{say(name)}</span></th>'
            for i, name in enumerate(classes)
        )
        lines = []
        for i, (name, row) in enumerate(zip(classes, matrix, strict=True)):
            cells = "".join(_confusion_cell(i, j, value, sum(row), classes) for j, value in enumerate(row))
            lines.append(
                f'<tr><th scope="row" title="{say(name)}"><span class="mark" data-class="{i}"></span>'
                f'<span class="cut">{say(name)}</span></th>{cells}</tr>'
            )
        size = " many" if len(classes) > _FEW_CLASSES else " few" if len(classes) <= 3 else ""
        grid = (
            f'<table class="cells confusion{size}"><caption>Rows: what is true. Columns: what was predicted.</caption>'
            f"<thead><tr><td></td>{head}</tr></thead>\n<tbody>\n{''.join(lines)}</tbody></table>"
        )
        body = scrolling("Table of true and predicted classes", grid)
    said = [sum(row[j] for row in matrix) for j in range(len(classes))]
    rows = []
    for i, name in enumerate(classes):
        right, true = matrix[i][i], sum(matrix[i])
        found = f"{100 * right / true:.1f} %" if true else "–"
        correct = f"{100 * right / said[i]:.1f} %" if said[i] else "–"
        rows.append((say(name), count(true), count(said[i]), count(right), found, correct))
    head_of_classes = ("Class", "Graphs", "Predicted", "Right", "Of its graphs, found", "Of those predicted, right")
    by_class = table("By class", head_of_classes, rows)
    body += behind("Numbers by class", by_class) if body else scrolling("Numbers by class", by_class)
    right, total = sum(matrix[i][i] for i in range(len(classes))), sum(map(sum, matrix))
    lead = (
        f"<p>{count(right)} of {count(total)} graphs were put into their class by a model that had not seen them.</p>"
    )
    lead += (
        '<p class="fine">The stronger the colour of a cell, the larger its share of the row.</p>'
        if len(classes) <= _MOST_CLASSES
        else ""
    )
    return lead, body


def _confusion_cell(i: int, j: int, value: int, total: int, classes: list[str]) -> str:
    share = value / total if total else 0.0
    kind = ' class="right"' if i == j else ' class="none"' if not value else ""
    # In a large matrix most cells are 0: what is not would be hard to find among them.
    text = count(value) if value or len(classes) <= _FEW_CLASSES else ""
    title = f"{classes[i]} taken for {classes[j]}: {value} of {total}"
    return f'<td{kind} style="--part:{100 * share:.1f}%" title="{say(title)}">{text}</td>'


def _scatter(facts: Facts) -> Part:
    pairs: list[tuple[int, str, float, Interval]] = []
    for i, graph in enumerate(facts["graphs"]):
        said = graph.get("said")
        if isinstance(said, dict):
            pairs.append((i, graph["name"], float(graph["truth"]), said))
    if not pairs:
        return None
    target = facts.get("target", "target")
    unit = facts["score"]["unit"]
    inside = sum(said["low"] <= truth <= said["high"] for _, _, truth, said in pairs)
    lead = (
        f"<p>Each point is a graph: its {say(target)}{f' ({say(unit)})' if unit else ''} as measured, and as predicted "
        "by a model that had not seen it, with the predicted interval. On the diagonal both agree.</p>"
        f"<p>{count(inside)} of {count(len(pairs))} measured values lie inside their interval.</p>"
    )
    worst = sorted(pairs, key=lambda pair: -abs(pair[3]["mean"] - pair[2]))[:_ROWS]
    rows = [
        (
            f"{i}",
            say(name),
            number(truth, 4),
            number(said["mean"], 4),
            f"{number(said['low'], 4)} to {number(said['high'], 4)}",
        )
        for i, name, truth, said in worst
    ]
    caption = "All graphs" if len(pairs) <= _ROWS else f"The {_ROWS} graphs with the largest errors"
    numbers = table(
        f"{caption}, the largest error first",
        ("Graph", "Name", "Measured", "Predicted", "Interval"),
        rows,
        words=(0, 1),
    )
    return lead, f'<div class="chart square" data-chart="scatter"></div>\n{behind("Numbers of this chart", numbers)}'


def calibration(facts: Facts) -> Part:
    """Return how far what was said came true."""
    bins = facts.get("calibration")
    if not bins:
        return None
    if facts["kind"] == "classification":
        words = (
            "Of graphs of which a probability was said, so many had the predicted class. On the diagonal both agree."
        )
        head = ("Probability said", "Came true", "95 % interval", "Graphs")
    else:
        words = (
            "So many measured values lay inside an interval that should hold a given share of them. On the diagonal "
            "both agree."
        )
        head = ("Share that should lie inside", "Share that did", "95 % interval", "Graphs")
    lead = f"<p>{words}</p>"
    if "calibration_note" in facts:
        lead += f'<p class="fine">{prose(facts["calibration_note"])}</p>'
    rows = [
        (
            _share(each["said"]),
            _share(each["was"]),
            f"{_share(each['low'])} to {_share(each['high'])}",
            count(each["count"]),
        )
        for each in bins
    ]
    numbers = behind("Numbers of this chart", table("What was said and what was", head, rows))
    return lead, f'<div class="chart square" data-chart="calibration"></div>\n{numbers}'


def _share(value: float) -> str:
    return f"{100 * value:.1f} %" if math.isfinite(value) else "–"


def surface(facts: Facts) -> Part:
    """Return the score by depth, layers and scale: one small table for each scale."""
    if "surface" not in facts:
        return None
    given, lower = facts["surface"], facts["score"]["lower_is_better"]
    values = [v for plane in given["score"] for row in plane for v in row if v is not None and math.isfinite(v)]
    worst, best = (min(values), max(values)) if values else (0.0, 0.0)
    if lower:
        worst, best = best, worst
    chosen = {(blocks, layers, scale): folds for blocks, layers, scale, folds in given["chosen"]}
    tables = []
    for scale, plane in zip(given["scale"], given["score"], strict=True):
        head = "".join(f'<th scope="col">{blocks}</th>' for blocks in given["blocks"])
        lines = []
        for layers, row in zip(given["layers"], plane, strict=True):
            cells = ""
            for blocks, value in zip(given["blocks"], row, strict=True):
                if value is None or not math.isfinite(value):
                    cells += '<td class="none">–</td>'
                    continue
                part = (value - worst) / (best - worst) if best != worst else 1.0
                folds = chosen.get((blocks, layers, scale), 0)
                kind, title = "", ""
                if folds:
                    kind, title = ' class="chosen"', f' title="Chosen in {folds} {"fold" if folds == 1 else "folds"}"'
                text = fixed(value, 1) if facts["score"]["unit"] == "%" else number(value)
                cells += f'<td{kind}{title} style="--part:{100 * part:.1f}%">{text}</td>'
            lines.append(f'<tr><th scope="row">{layers}</th>{cells}</tr>')
        tables.append(
            f'<table class="cells surface"><caption>Scale: {say(scale)}</caption>'
            f'<thead><tr><td></td><th scope="colgroup" colspan="{len(given["blocks"])}">Blocks</th></tr>'
            f'<tr><th scope="col">Layers</th>{head}</tr></thead>\n'
            f"<tbody>\n{''.join(lines)}</tbody></table>"
        )
    unit = f" in {say(facts['score']['unit'])}" if facts["score"]["unit"] else ""
    name = say(facts["score"]["name"].capitalize())
    lead = f"<p>{name}{unit} by number of blocks, of layers in each, and scale. Outlined: chosen.</p>"
    lead += f'<p class="fine">{prose(given["note"])}</p>' if given["note"] else ""
    rows = [
        (say(scale), count(blocks), count(layers), count(folds))
        for blocks, layers, scale, folds in sorted(given["chosen"], key=lambda each: -each[3])
    ]
    numbers = (
        behind("What was chosen", table("Chosen, by number of folds", ("Scale", "Blocks", "Layers", "Folds"), rows))
        if rows
        else ""
    )
    return lead, f'<div class="multiples">{scrolling("Score by options", "".join(tables))}</div>\n{numbers}'


def heat_map(facts: Facts) -> Part:
    """Return the likeness of all pairs, and the means of groups as a table."""
    if "heat_map" not in facts or not facts["heat_map"]["size"]:
        return None
    given = facts["heat_map"]
    lead = (
        "<p>Likeness of all pairs of graphs: 1 where two graphs are the same to the kernel. "
        "Blocks along the diagonal mean that graphs of one group are alike.</p>"
        f'<p class="fine">{prose(given["order"])}</p>'
    )
    names = [group["name"] for group in given["groups"]]
    numbers = ""
    if names:
        rows = [
            (say(name), *(number(value, 3) for value in row)) for name, row in zip(names, _means(given), strict=True)
        ]
        numbers = behind("Numbers of this chart", table("Mean likeness of groups", ("Group", *names), rows))
    return lead, f'<div class="chart square" data-chart="heat"></div>\n{numbers}'


def _means(given: HeatMap) -> list[list[float]]:
    """Return the mean likeness of each two groups."""
    size = given["size"]
    values = np.frombuffer(base64.b64decode(given["values"]), dtype=np.uint8).reshape(size, size)
    shown = given["low"] + (given["high"] - given["low"]) * (values / 255.0)
    parts = [slice(group["start"], group["stop"]) for group in given["groups"]]
    return [[float(shown[a, b].mean()) if shown[a, b].size else math.nan for b in parts] for a in parts]
