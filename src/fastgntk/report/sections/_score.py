"""Sections with the score: folds and baselines, and the score by kernel options."""

import math

from fastgntk.report._schema import Baseline, ReportData, Score, Surface
from fastgntk.report.sections._markup import Part, chart, details, escape, fixed, number, scrollable, small, table

__all__ = ["score", "score_by_options"]


def score(report: ReportData) -> Part:
    """Return the score in large type, and a chart of folds and baselines."""
    found = report["score"]
    unit, mean, spread = found["unit"], _score_text(found["mean"], found["unit"]), _spread_text(found, found["unit"])
    size = "unit long" if len(unit) > 3 else "unit"
    shown_unit = f'<span class="{size}"> {escape(unit)}</span>' if unit else ""
    shown_spread = f'<span class="spread"> ± {spread}</span>' if spread else ""
    folds = f", mean of {len(found['folds'])} folds" if len(found["folds"]) > 1 else ""
    better = "Lower is better." if found["lower_is_better"] else "Higher is better."
    lead = (
        f'<p class="score"><strong>{mean}{shown_unit}</strong>{shown_spread}</p>\n'
        f"<p>{escape(found['name'].capitalize())}{folds}. {better}</p>\n{small(found['protocol'])}"
    )
    rows = [("This run", mean, spread, "")]
    rows += [(f"Fold {i}", _score_text(value, unit), "", "") for i, value in enumerate(found["folds"], start=1)]
    for other in found["baselines"]:
        note = escape(other.get("note", ""))
        rows.append((escape(other["name"]), _score_text(other["mean"], unit), _spread_text(other, unit), note))
    title = f"{found['name']}, {unit}" if unit else found["name"]
    numbers = table(title, ("Result", "Mean", "Standard deviation", "Note"), rows, text_columns=(0, 3))
    return lead, chart("score", numbers, kind="chart")


def score_by_options(report: ReportData) -> Part:
    """Return one table of scores by blocks and layers for each scale, with the chosen options outlined."""
    if "surface" not in report:
        return None
    surface, score = report["surface"], report["score"]
    unit = f" in {escape(score['unit'])}" if score["unit"] else ""
    name = escape(score["name"].capitalize())
    lead = f"<p>{name}{unit} by number of blocks, layers per block, and scale. Chosen options are outlined.</p>"
    lead += small(surface["note"])
    tables = _tables(surface, score["unit"], lower_is_better=score["lower_is_better"])
    body = f'<div class="multiples">{scrollable("Score by options", tables)}</div>\n'
    if surface["chosen"]:
        often_first = sorted(surface["chosen"], key=lambda each: -each[3])
        rows = [(escape(scale), f"{blocks}", f"{layers}", f"{folds}") for blocks, layers, scale, folds in often_first]
        chosen = table("Chosen options by number of folds", ("Scale", "Blocks", "Layers", "Folds"), rows)
        body += details("Chosen options", chosen)
    return lead, body


def _tables(surface: Surface, unit: str, *, lower_is_better: bool) -> str:
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
        return f'<td{outline} style="--part:{100 * shade:.1f}%">{_score_text(value, unit)}</td>'

    head = "".join(f'<th scope="col">{blocks}</th>' for blocks in surface["blocks"])
    tables = []
    for scale, plane in zip(surface["scale"], surface["score"], strict=True):
        lines = []
        for layers, row in zip(surface["layers"], plane, strict=True):
            columns = zip(surface["blocks"], row, strict=True)
            cells = "".join(cell(value, chosen.get((blocks, layers, scale), 0)) for blocks, value in columns)
            lines.append(f'<tr><th scope="row">{layers}</th>{cells}</tr>')
        tables.append(
            f'<table class="cells surface"><caption>Scale: {escape(scale)}</caption>'
            f'<thead><tr><td></td><th scope="colgroup" colspan="{len(surface["blocks"])}">Blocks</th></tr>'
            f'<tr><th scope="col">Layers</th>{head}</tr></thead>\n'
            f"<tbody>\n{''.join(lines)}</tbody></table>"
        )
    return "".join(tables)


def _score_text(value: float, unit: str) -> str:
    """Format a score: one decimal in per cent, otherwise three digits."""
    return fixed(value, 1) if unit == "%" else number(value)


def _spread_text(result: Score | Baseline, unit: str) -> str:
    """Format the standard deviation with as many decimals as the mean; empty if there is none."""
    if "std" not in result:
        return ""
    _, _, decimals = _score_text(result["mean"], unit).partition(".")
    return number(result["std"], 2) if "e" in decimals else fixed(result["std"], len(decimals))
