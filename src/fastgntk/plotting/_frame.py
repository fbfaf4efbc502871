"""Title, colour bar and caption around a drawing."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fastgntk.errors import InputError
from fastgntk.plotting._scale import Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PIXELS_PER_POINT", "Frame", "clean", "own_style", "render"]

PIXELS_PER_POINT = 3  # of PNG files: 216 pixels for each inch. A whole number, so that drawings are never resampled
_MARGIN, _GAP = 12, 6
_TITLE, _CAPTION, _BAR_LABEL, _TICK = 11, 9, 8.5, 8  # sizes of text in points
_LINE = 1.35  # height of a line of text, in its size
_BAR_WIDTH, _BAR_HEIGHT, _TICK_HEIGHT = 216, 9, 15


@contextmanager
def own_style() -> Iterator[None]:
    """Use the style of this package, regardless of the user's, and restore that afterwards."""
    try:
        import matplotlib
    except ImportError:
        raise InputError("drawing needs matplotlib; install it with: pip install 'fastgntk[report]'.") from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        # Text stays text in SVG files, and ids are deterministic.
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "fastgntk", "axes.linewidth": 0.6})
        yield


@dataclass(frozen=True)
class Frame:
    """Title, colour bar and caption around a drawing; lengths are in points (1/72 inch)."""

    width: int
    scale: Scale
    title: str
    bar_label: str
    caption: str

    @property
    def inner_width(self) -> int:
        """Width of the drawing."""
        return self.width - 2 * _MARGIN

    def figure(self, height: int) -> tuple[Figure, Axes]:
        """Return a figure with everything but the drawing, and empty axes for it whose unit is one point."""
        from matplotlib.figure import Figure

        title, caption, label = (
            _wrap(text, size, self.inner_width, bold=bold)
            for text, size, bold in (
                (self.title, _TITLE, True), (self.caption, _CAPTION, False), (self.bar_label, _BAR_LABEL, False)
            )
        )  # fmt: skip
        heights = [
            _MARGIN,
            _text_height(title, _TITLE),
            height + _GAP,
            _BAR_HEIGHT + _TICK_HEIGHT,
            _text_height(label, _BAR_LABEL),
            _text_height(caption, _CAPTION),
            _MARGIN,
        ]
        total = sum(heights)
        figure = Figure(figsize=(self.width / 72, total / 72), dpi=72 * PIXELS_PER_POINT, facecolor="white")
        tops = [total - done for done in np.cumsum([0, *heights])]
        _write(figure, title, _TITLE, self.width / 2, tops[1], bold=True)
        self._draw_bar(figure, tops[3], total)
        _write(figure, label, _BAR_LABEL, self.width / 2, tops[4])
        _write(figure, caption, _CAPTION, self.width / 2, tops[5])
        bottom = (tops[2] - height) / total
        axes = figure.add_axes((_MARGIN / self.width, bottom, self.inner_width / self.width, height / total))
        axes.set(xlim=(0, self.inner_width), ylim=(0, height), gid="drawing")
        axes.set_axis_off()
        return figure, axes

    def _draw_bar(self, figure: Figure, top: int, total: int) -> None:
        from matplotlib.colors import to_rgb

        wide = min(_BAR_WIDTH, round(0.6 * self.width))
        left = (self.width - wide) / 2
        axes = figure.add_axes((left / self.width, (top - _BAR_HEIGHT) / total, wide / self.width, _BAR_HEIGHT / total))
        # An odd number of colours, so that the middle one is white.
        values = np.linspace(-1, 1, 255) * (self.scale.limit or 1.0)
        colours = np.array([[to_rgb(self.scale.colour(float(value))) for value in values]])
        axes.imshow(colours, extent=(-1, 1, 0, 1), aspect="auto", interpolation="nearest")
        ticks = [-1.0, 0.0, 1.0] if wide < 160 else [-1.0, -0.5, 0.0, 0.5, 1.0]
        if not self.scale.limit:
            ticks = [0.0]
        numbers = [self.scale.number(tick * self.scale.limit, digits=3) for tick in ticks]
        axes.set_xticks(ticks, numbers, fontsize=_TICK)
        axes.tick_params(length=2.5, width=0.6, pad=2)
        axes.set_yticks([])


def render(figure: Figure, suffix: str) -> bytes:
    """Return the content of the file; deterministic."""
    stream = io.BytesIO()
    # No date and no version, so that files can be compared.
    metadata = {"Date": None, "Creator": "fastgntk"} if suffix == ".svg" else {"Software": "fastgntk"}
    figure.savefig(stream, format=suffix.removeprefix("."), metadata=metadata)
    return stream.getvalue()


def _text_height(lines: list[str], size: float) -> int:
    return round(len(lines) * size * _LINE) + _GAP if lines else 0


def _write(figure: Figure, lines: list[str], size: float, x: float, top: float, *, bold: bool = False) -> None:
    width, height = figure.get_size_inches() * 72
    for i, line in enumerate(lines):
        middle = top - (i + 0.5) * size * _LINE
        figure.text(
            x / width, middle / height, line, fontsize=size, ha="center", va="center_baseline", parse_math=False,
            fontweight="bold" if bold else "normal",
        )  # fmt: skip


def _wrap(text: str, size: float, width: float, *, bold: bool = False) -> list[str]:
    """Wrap text to a width in points, between words if possible."""
    measure = _ruler(size, bold=bold)
    lines: list[str] = []
    for paragraph in clean(text).splitlines():
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if measure(longer) <= width:
                line = longer
                continue
            if line:
                lines.append(line)
            line = ""
            for letter in word:
                if line and measure(line + letter) > width:
                    lines.append(line)
                    line = ""
                line += letter
        if line:
            lines.append(line)
    return lines


def _ruler(size: float, *, bold: bool) -> Callable[[str], float]:
    """Return a function that measures the width of a text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight="bold" if bold else "normal")
    return lambda text: text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]


def clean(text: str) -> str:
    """Remove characters that are invalid in XML."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)
