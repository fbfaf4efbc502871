"""Sections with the quality of predictions: confusion matrix, predicted against measured, calibration."""

import math

from fastgntk.report._schema import Interval, ReportData
from fastgntk.report.sections._markup import Part, chart, details, escape, number, scrollable, small, table

__all__ = ["calibration", "predictions"]

_MATRIX_CLASSES = 20  # with more classes a confusion matrix is unreadable
_LARGE_CELLS = 5  # classes up to which cells are large
_ROWS = 400  # of the table behind a scatter plot


def predictions(report: ReportData) -> Part:
    """Return the confusion matrix, or predicted against measured values."""
    return _confusion(report) if report["kind"] == "classification" else _scatter(report)


def _confusion(report: ReportData) -> Part:
    classes, matrix = report.get("classes"), report.get("confusion")
    if not classes or not matrix:
        return None
    rows = []
    predicted = [sum(row[j] for row in matrix) for j in range(len(classes))]
    for i, name in enumerate(classes):
        right, true = matrix[i][i], sum(matrix[i])
        recall, precision = (right / total if total else math.nan for total in (true, predicted[i]))
        counts = (f"{value:,}" for value in (true, predicted[i], right))
        rows.append((escape(name), *counts, _percent(recall), _percent(precision)))
    by_class = table("By class", ("Class", "Graphs", "Predicted", "Correct", "Recall", "Precision"), rows)
    right, total = sum(matrix[i][i] for i in range(len(classes))), sum(map(sum, matrix))
    lead = f"<p>{right:,} of {total:,} graphs were classified correctly, each by a model fitted without it.</p>"
    if len(classes) > _MATRIX_CLASSES:
        return lead, scrollable("Numbers by class", by_class)
    lead += small("The colour of a cell is its fraction of the row.")
    return lead, _confusion_matrix(classes, matrix) + details("Numbers by class", by_class)


def _confusion_matrix(classes: list[str], matrix: list[list[int]]) -> str:
    names = [
        f' title="{name}"><span class="mark" data-class="{i}"></span><span class="cut">{name}</span></th>'
        for i, name in enumerate(map(escape, classes))
    ]
    head = "".join(f'<th scope="col"{name}' for name in names)
    lines = []
    for i, (name, row) in enumerate(zip(names, matrix, strict=True)):
        cells = "".join(_confusion_cell(i, j, value, sum(row), classes) for j, value in enumerate(row))
        lines.append(f'<tr><th scope="row"{name}{cells}</tr>')
    size = " many" if len(classes) > _LARGE_CELLS else " few" if len(classes) <= 3 else ""
    grid = (
        f'<table class="cells confusion{size}"><caption>Rows: true class. Columns: predicted class.</caption>'
        f"<thead><tr><td></td>{head}</tr></thead>\n<tbody>\n{''.join(lines)}</tbody></table>"
    )
    return scrollable("Confusion matrix", grid)


def _confusion_cell(i: int, j: int, value: int, total: int, classes: list[str]) -> str:
    fraction = value / total if total else 0.0
    kind = ' class="right"' if i == j else ' class="none"' if not value else ""
    # Zeros of a large matrix stay blank, so that errors stand out.
    text = f"{value:,}" if value or len(classes) <= _LARGE_CELLS else ""
    title = f"{classes[i]} predicted as {classes[j]}: {value} of {total}"
    return f'<td{kind} style="--part:{100 * fraction:.1f}%" title="{escape(title)}">{text}</td>'


def _scatter(report: ReportData) -> Part:
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
    for i, name, truth, predicted in sorted(points, key=lambda point: -abs(point[3]["mean"] - point[2]))[:_ROWS]:
        mean, low, high = (number(predicted[key], 4) for key in ("mean", "low", "high"))
        rows.append((f"{i}", escape(name), number(truth, 4), mean, f"{low} to {high}"))
    caption = "All graphs" if len(points) <= _ROWS else f"The {_ROWS} graphs with the largest errors"
    head = ("Graph", "Name", "Measured", "Predicted", "Interval")
    return lead, chart("scatter", table(f"{caption}, largest error first", head, rows, text_columns=(0, 1)))


def calibration(report: ReportData) -> Part:
    """Return observed against predicted frequencies."""
    bins = report.get("calibration")
    if not bins:
        return None
    if report["kind"] == "classification":
        text = "Observed frequency against predicted probability."
        head = ("Predicted probability", "Observed frequency", "95 % interval", "Graphs")
    else:
        text = "Observed coverage against nominal coverage: the fraction of measured values inside their interval."
        head = ("Nominal coverage", "Observed coverage", "95 % interval", "Graphs")
    lead = f"<p>{text} A perfectly calibrated model lies on the diagonal.</p>"
    lead += small(report.get("calibration_note", ""))
    rows = []
    for found in bins:
        interval = f"{_percent(found['low'])} to {_percent(found['high'])}"
        rows.append((_percent(found["predicted"]), _percent(found["observed"]), interval, f"{found['count']:,}"))
    return lead, chart("calibration", table("Calibration", head, rows))


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %" if math.isfinite(fraction) else "–"
