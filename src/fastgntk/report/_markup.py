"""HTML fragments: escaped text, numbers, tables, bars."""

import html
import math
from collections.abc import Iterable, Sequence

__all__ = ["Parts", "bars", "chart", "details", "escape", "fixed", "number", "prose", "scrollable", "small", "table"]

Parts = tuple[str, str] | None
"""Lead and body of a section as HTML; None if there is nothing to show."""


def escape(text: str) -> str:
    """Escape text for HTML elements and quoted attributes.

    >>> escape('<b> "A & B"')
    '&lt;b&gt; &quot;A &amp; B&quot;'
    """
    # File names can contain lone surrogates, which UTF-8 cannot encode.
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))


def prose(text: str) -> str:
    r"""Escape sentences; a number stays on one line with its per cent sign, and with ± in front of it.

    >>> prose("89.4 % (± 2) of <A>") == "89.4\u00a0% (±\u00a02) of &lt;A&gt;"
    True
    """
    return escape(text).replace(" %", "\u00a0%").replace("± ", "±\u00a0")


def small(text: str) -> str:
    """Return a paragraph in small print, empty without text."""
    return f'<p class="fine">{prose(text)}</p>' if text else ""


def fixed(value: float, decimals: int) -> str:
    """Format a number with fixed decimals.

    >>> fixed(-3.14159, 2)
    '−3.14'
    """
    return f"{value:,.{decimals}f}".replace("-", "−") if math.isfinite(value) else "–"


def number(value: float, digits: int = 3) -> str:
    """Format a number with significant digits and a typographic minus sign.

    >>> number(89.4321), number(-0.012345), number(1234567.0), number(float("nan"))
    ('89.4', '−0.0123', '1,234,567', '–')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -4 or size >= 9:
        return f"{value:.{digits - 1}e}".replace("-", "−")
    return fixed(value, max(0, digits - 1 - size))


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], text_columns: Sequence[int] = (0,)) -> str:
    """Return a table; columns other than ``text_columns`` hold numbers. Cells are HTML, head and caption plain text."""
    kinds = ["" if column in text_columns else ' class="number"' for column in range(len(head))]
    titles = "".join(f'<th scope="col"{kind}>{escape(title)}</th>' for kind, title in zip(kinds, head, strict=True))
    lines = []
    for first, *rest in rows:
        cells = "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds[1:], rest, strict=True))
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    return _table("", caption, f"<thead><tr>{titles}</tr></thead>", lines)


def bars(caption: str, head: tuple[str, str], rows: Sequence[tuple[str, float, str]]) -> str:
    """Return a bar chart as a table of name, value, and text of the value (HTML).

    It can be printed, and read by screen readers and without JavaScript.
    """
    largest = max((value for _, value, _ in rows if math.isfinite(value)), default=0.0)
    lines = []
    for name, value, text in rows:
        length = 100 * value / largest if largest > 0 and math.isfinite(value) else 0.0
        lines.append(
            f'<tr><th scope="row">{escape(name)}</th><td class="bar"><span style="--part:{length:.2f}%"></span></td>'
            f'<td class="number">{text}</td></tr>'
        )
    name_column, value_column = (f'<th scope="col">{escape(title)}</th>' for title in head)
    titles = f'<thead class="unseen"><tr>{name_column}<td></td>{value_column}</tr></thead>'
    return _table(' class="bars"', caption, titles, lines)


def _table(kind: str, caption: str, head: str, lines: list[str]) -> str:
    body = "\n".join(lines)
    return f"<table{kind}><caption>{escape(caption)}</caption>{head}\n<tbody>\n{body}\n</tbody></table>"


def chart(name: str, numbers: str, kind: str = "chart square") -> str:
    """Return the box of a chart that JavaScript draws, with its numbers as a table in collapsed details."""
    box = f'<div class="{kind}" data-chart="{name}"></div>'
    return f"{box}\n{details('Numbers of this chart', numbers)}" if numbers else f"{box}\n"


def details(title: str, inner: str) -> str:
    """Return collapsed HTML under a title."""
    return f"<details><summary>{escape(title)}</summary>{scrollable(title, inner)}</details>"


def scrollable(name: str, inner: str) -> str:
    """Return HTML that may be wider than a phone in a box that scrolls, also by keyboard."""
    return f'<div class="scrolling" role="group" aria-label="{escape(name)}" tabindex="0">{inner}</div>'
