"""A report as one HTML file that needs nothing else: no network, no other file.

Words and numbers are HTML, so that the page can be read without JavaScript and by screen readers; JavaScript draws
charts and graphs from the same facts. Files in ``page/`` are put together here:

==================  ==================================================================================
``page.html``       the frame
``page.css``        how it looks, light, dark and printed
``elements.js``     making elements and numbers
``colours.js``      colours and marks of classes, scales
``layout.js``       where the nodes of a graph are put
``drawing.js``      a graph as a picture
``charts.js``       score, calibration, predicted against measured
``heat.js``         the kernel as a picture
``map.js``          all graphs as points, by mouse, finger and keyboard
``map_parts.js``    what stands on and around it: marks, tabs, number box, legend
``panel.js``        one graph: prediction, neighbours, contributions
``graph_table.js``  all graphs as a table, some at a time
``main.js``         reads the facts and starts everything
==================  ==================================================================================
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from importlib.resources import files
from string import Template
from typing import Any

from fastgntk.report._schema import Facts
from fastgntk.report.sections import prose, say, sections, warnings

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

_DIGITS = 6
"""Of numbers in the facts: more than are shown."""
_DRAWING_DIGITS = 3
"""Of numbers that become places and colours; they are most of the page's size."""


def render_page(facts: Facts) -> str:
    """Return the report as the text of an HTML file, to be written as UTF-8.

    What is left out of ``facts`` is left out of the page. The same facts give the same page. 5,000 graphs of
    30 nodes with contributions take about 1.4 MB.
    """
    parts = sections(facts)
    script = "(() => {\n" + "\n".join(_read(f"{name}.js") for name in _SCRIPTS) + "})();\n"
    return Template(_read("page.html")).substitute(
        policy=_policy(script),
        title=say(facts["title"]),
        style=_read("page.css"),
        summary=prose(facts["summary"]),
        contents="\n".join(f'<li><a href="#{part.key}">{say(part.title)}</a></li>' for part in parts),
        warnings=warnings(facts),
        sections="\n".join(part.html() for part in parts),
        facts=_packed(facts),
        script=script,
    )


def _read(name: str) -> str:
    return (files("fastgntk.report") / "assets" / name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Return what a browser may load: nothing; and which script it may run: ours, known by its hash."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _packed(facts: Facts) -> str:
    """Return the facts as JSON, compressed, in base64: a third of the size, and nothing in it can end the element."""
    text = json.dumps(_short(facts, _DIGITS), separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")


def _short(value: Any, digits: int) -> Any:
    """Return the value with fewer digits; what is not finite becomes null, for which JSON has a word."""
    if isinstance(value, dict):
        return {
            key: _short(each, _DRAWING_DIGITS if key in ("shares", "places") else digits) for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_short(each, digits) for each in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        short = float(f"{value:.{digits}g}")
        return int(short) if short.is_integer() and abs(short) < 2**53 else short
    return value
