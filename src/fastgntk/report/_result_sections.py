"""Sections with the results: score, predictions, calibration, and score by options, as static HTML.

Charts that are coloured tables (confusion matrix, score by options, bars) are HTML tables. The others are empty boxes
with ``data-chart``, filled by JavaScript, each with a table of its numbers.
"""

import math
from collections.abc import Iterator

from fastgntk.report._markup import Parts, chart, details, escape, format_fixed, format_number, scrollable, small, table
from fastgntk.report._schema import Baseline, Interval, ReportData, Score, Surface

__all__ = ["calibration", "predictions", "score", "score_by_options"]

_MATRIX_CLASSES = 20  # with more classes a confusion matrix is unreadable
_LARGE_CELLS = 5  # classes up to which cells are large
_MAX_ROWS = 400  # of the table behind a scatter plot


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
        note = escape(baseline.get("note", ""))
        rows.append(
            (escape(baseline["name"]), _format_score(baseline["mean"], unit), _format_spread(baseline, unit), note)
        )
    head = ("Result", "Mean", "Standard deviation", "Note")
    numbers = table(f"{name}, {unit}" if unit else name, head, rows, text_columns=(0, 3))
    return lead, chart("score", numbers, kind="chart")


def _format_score(value: float, unit: str) -> str:
    """Format a score: one decimal in per cent, otherwise three digits."""
    return format_fixed(value, 1) if unit == "%" else format_number(value)


def _format_spread(result: Score | Baseline, unit: str) -> str:
    """Format the standard deviation with as many decimals as the mean; empty if there is none."""
    if "std" not in result:
        return ""
    _, _, decimals = _format_score(result["mean"], unit).partition(".")
    return format_number(result["std"], 2) if "e" in decimals else format_fixed(result["std"], len(decimals))


def predictions(report: ReportData) -> Parts:
    """Return the confusion matrix, or predicted against measured values."""
    return _confusion(report) if report["kind"] == "classification" else _scatter(report)


def _confusion(report: ReportData) -> Parts:
    classes, matrix = report.get("classes"), report.get("confusion")
    if not classes or not matrix:
        return None
    rows = []
    columns = zip(*matrix, strict=True)
    for i, (name, row, column) in enumerate(zip(classes, matrix, columns, strict=True)):
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
        mean, low, high = (format_number(predicted[key], 4) for key in ("mean", "low", "high"))
        rows.append((f"{i}", escape(name), format_number(truth, 4), mean, f"{low} to {high}"))
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

    numbers = "".join(f'<th scope="col">{blocks}</th>' for blocks in surface["blocks"])
    head = (
        f'<tr><td></td><th scope="colgroup" colspan="{len(surface["blocks"])}">Blocks</th></tr>'
        f'<tr><th scope="col">Layers</th>{numbers}</tr>'
    )
    for scale, plane in zip(surface["scale"], surface["score"], strict=True):
        lines = []
        for layers, row in zip(surface["layers"], plane, strict=True):
            columns = zip(surface["blocks"], row, strict=True)
            cells = "".join(cell(value, chosen.get((blocks, layers, scale), 0)) for blocks, value in columns)
            lines.append(f'<tr><th scope="row">{layers}</th>{cells}</tr>')
        yield _cell_table("surface", f"Scale: {scale}", head, lines)
