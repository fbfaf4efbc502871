"""A page with the facts as text, until there is one to look at."""

from __future__ import annotations

import json
from html import escape

from fastgntk.report._facts import Facts

__all__ = ["render_page"]


def render_page(facts: Facts) -> str:
    """Return an HTML page that holds the facts as JSON."""
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'<!doctype html><meta charset="utf-8"><title>{escape(facts["title"])}</title>'
        f'<p>{escape(facts["summary"])}</p><script type="application/json" id="facts">{text}</script>\n'
    )
