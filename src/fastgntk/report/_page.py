"""Render a report as one HTML file without external resources.

Text and numbers are static HTML, readable without JavaScript and by screen readers; JavaScript draws charts and graphs
from the same data. Files in ``assets/``:

==================  ==================================================================================
``page.html``       frame
``page.css``        style sheet: light, dark, print
``elements.js``     create elements, format numbers
``colours.js``      colours and markers of classes, colour maps
``layout.js``       graph layout
``drawing.js``      draw a graph
``charts.js``       score, calibration, predicted against measured
``heat.js``         heat map of the kernel matrix
``map.js``          map of all graphs, by mouse, touch and keyboard
``map_parts.js``    markers, tooltip, tabs and legend of the map
``panel.js``        details of one graph
``graph_table.js``  table of all graphs
``main.js``         entry point
==================  ==================================================================================
"""

import base64
import hashlib
import json
import math
import zlib
from importlib.resources import files
from string import Template
from typing import Any

from fastgntk.report._markup import escape, prose
from fastgntk.report._schema import ReportData
from fastgntk.report._sections import SECTIONS

__all__ = ["render_page"]

_SCRIPTS = (
    "elements",
    "colours",
    "layout",
    "drawing",
    "charts",
    "heat",
    "panel",
    "graph_table",
    "map_parts",
    "map",
    "main",
)

_DIGITS = 6  # of numbers in the embedded JSON: more than are shown
_DRAWING_DIGITS = 3  # of positions and colours, which are most of the page's size


def render_page(report: ReportData) -> str:
    """Return the report as the text of an HTML file, to be written as UTF-8.

    The output is deterministic. 5,000 graphs of 30 nodes with contributions take about 1.4 MB.
    """
    links, sections = [], []
    for anchor, (title, make_parts) in SECTIONS.items():
        if parts := make_parts(report):
            links.append(f'<li><a href="#{anchor}">{title}</a></li>')
            sections.append(_section(anchor, title, *parts))
    script = "(() => {\n" + "\n".join(_read(f"{name}.js") for name in _SCRIPTS) + "})();\n"
    return Template(_read("page.html")).substitute(
        policy=_policy(script),
        title=escape(report["title"]),
        style=_read("page.css"),
        summary=prose(report["summary"]),
        contents="\n".join(links),
        warnings=_warnings(report["warnings"]),
        sections="\n".join(sections),
        report_data=_pack(report),
        script=script,
    )


def _section(anchor: str, title: str, lead: str, body: str) -> str:
    wide = ' class="wide"' if anchor == "map" else ""  # body below the lead, not next to it
    return (
        f'<section id="{anchor}" aria-labelledby="{anchor}-title"{wide}>\n'
        f'<div class="lead"><h2 id="{anchor}-title">{title}</h2>\n{lead}</div>\n'
        f'<div class="body">\n{body}\n</div>\n</section>\n'
    )


def _warnings(warnings: list[str]) -> str:
    if not warnings:
        return ""
    items = "".join(f"<li>{prose(warning)}</li>" for warning in warnings)
    title = '<h2 id="warnings-title">Warnings</h2>'
    return f'<section class="warnings" aria-labelledby="warnings-title">{title}<ul>{items}</ul></section>'


def _read(name: str) -> str:
    return (files("fastgntk.report") / "assets" / name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Return a content security policy: load nothing, run only the script with this hash."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _pack(report: ReportData) -> str:
    """Return the data as base64 of compressed JSON: a third of the size, and it cannot close the script element."""
    text = json.dumps(_round_numbers(report, _DIGITS), separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")


def _round_numbers(value: Any, digits: int) -> Any:
    """Round all numbers to significant digits; NaN and infinity become null, as JSON has neither."""
    if isinstance(value, dict):
        drawing = ("contributions", "positions")
        return {key: _round_numbers(each, _DRAWING_DIGITS if key in drawing else digits) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_round_numbers(each, digits) for each in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        rounded = float(f"{value:.{digits}g}")
        return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded
    return value
