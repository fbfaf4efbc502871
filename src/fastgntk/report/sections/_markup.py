"""Pieces of HTML: text that cannot become markup, numbers, tables, bars."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

__all__ = ["bar_table", "behind", "count", "fixed", "number", "prose", "say", "scrolling", "table", "time_text"]


def say(text: str) -> str:
    """Return text for HTML, in elements and in quoted attributes.

    >>> say('<b> "A & B"')
    '&lt;b&gt; &quot;A &amp; B&quot;'
    """
    # Lone surrogates, which file names can bring, have no bytes in UTF-8.
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))


def prose(text: str) -> str:
    r"""Return sentences for HTML; a number and its per cent sign stay on one line.

    >>> prose("89.4 % of <A>") == "89.4\u00a0% of &lt;A&gt;"
    True
    """
    return say(text).replace(" %", "\u00a0%")


def fixed(value: float, decimals: int) -> str:
    """Write a number with that many decimals.

    >>> fixed(-3.14159, 2)
    '−3.14'
    """
    return f"{value:,.{decimals}f}".replace("-", "−") if math.isfinite(value) else "–"


def number(value: float, digits: int = 3) -> str:
    """Write a number with that many digits that say something, and a true minus sign.

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
    return f"{value:,.{max(0, digits - 1 - size)}f}".replace("-", "−")


def count(value: int) -> str:
    """Write how many.

    >>> count(12345)
    '12,345'
    """
    return f"{value:,}"


def time_text(seconds: float) -> str:
    """Write a time in the unit that people would take.

    >>> time_text(0.0021), time_text(1.26), time_text(75.0), time_text(7300.0)
    ('2.1 ms', '1.3 s', '1 min 15 s', '2 h 2 min')
    """
    if not math.isfinite(seconds):
        return "–"
    if seconds < 0.9995:
        return f"{number(seconds * 1000, 2)} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    if seconds < 3599.5:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{count(hours)} h {minutes} min"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """Return a table; the columns ``words`` hold words, the rest numbers. Cells are HTML already, titles are not."""
    titles = "".join(
        f'<th scope="col"{_kind(column, words)}>{say(title)}</th>' for column, title in enumerate(head)
    )  # fmt: skip
    lines = []
    for row in rows:
        cells = [f'<th scope="row">{row[0]}</th>']
        cells += [f"<td{_kind(column, words)}>{cell}</td>" for column, cell in enumerate(row[1:], start=1)]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    body = "\n".join(lines)
    return (
        f"<table><caption>{say(caption)}</caption><thead><tr>{titles}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    )


def _kind(column: int, words: Sequence[int]) -> str:
    return "" if column in words else ' class="number"'


def bar_table(caption: str, head: tuple[str, str], rows: Sequence[tuple[str, float, str]]) -> str:
    """Return a table of names and numbers with a bar for each: name, value, text of the value; the last two as HTML.

    It is chart and table in one, so it can be read aloud, printed, and seen without JavaScript.
    """
    largest = max((value for _, value, _ in rows if math.isfinite(value)), default=0.0)
    lines = []
    for name, value, text in rows:
        share = 100 * value / largest if largest > 0 and math.isfinite(value) else 0.0
        lines.append(
            f'<tr><th scope="row">{say(name)}</th><td class="bar"><span style="--part:{share:.2f}%"></span></td>'
            f'<td class="number">{text}</td></tr>'
        )
    body = "\n".join(lines)
    return (
        f'<table class="bars"><caption>{say(caption)}</caption>'
        f'<thead class="unseen"><tr><th scope="col">{say(head[0])}</th><td></td><th scope="col">{say(head[1])}</th>'
        f"</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    )


def behind(title: str, content: str) -> str:
    """Return the numbers behind a chart, folded away."""
    return f"<details><summary>{say(title)}</summary>{scrolling(title, content)}</details>"


def scrolling(name: str, content: str) -> str:
    """Return what may be wider than a phone, in a box that scrolls by itself, by keyboard too."""
    return f'<div class="scrolling" role="group" aria-label="{say(name)}" tabindex="0">{content}</div>'
