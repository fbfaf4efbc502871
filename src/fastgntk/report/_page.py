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

from fastgntk.report._schema import ReportData
from fastgntk.report.sections import escape, prose, sections, warnings

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
    parts = sections(report)
    script = "(() => {\n" + "\n".join(_read(f"{name}.js") for name in _SCRIPTS) + "})();\n"
    return Template(_read("page.html")).substitute(
        policy=_policy(script),
        title=escape(report["title"]),
        style=_read("page.css"),
        summary=prose(report["summary"]),
        contents="\n".join(f'<li><a href="#{part.key}">{escape(part.title)}</a></li>' for part in parts),
        warnings=warnings(report),
        sections="\n".join(part.html() for part in parts),
        report_data=_packed(report),
        script=script,
    )


def _read(name: str) -> str:
    return (files("fastgntk.report") / "assets" / name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Return a content security policy: load nothing, run only the script with this hash."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _packed(report: ReportData) -> str:
    """Return the data as base64 of compressed JSON: a third of the size, and it cannot close the script element."""
    text = json.dumps(_rounded(report, _DIGITS), separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")


def _rounded(value: Any, digits: int) -> Any:
    """Round all numbers to significant digits; NaN and infinity become null, as JSON has neither."""
    if isinstance(value, dict):
        drawing = ("contributions", "places")
        return {key: _rounded(each, _DRAWING_DIGITS if key in drawing else digits) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each, digits) for each in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        rounded = float(f"{value:.{digits}g}")
        return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded
    return value
