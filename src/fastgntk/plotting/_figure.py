"""The figure around a drawing: colours of values, title, colour bar, caption, and value labels next to nodes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "PIXELS_PER_POINT",
    "Frame",
    "Scale",
    "package_style",
    "points_along",
    "strip_invalid",
    "render",
    "value_label_size",
    "write_value_labels",
]

PIXELS_PER_POINT = 3  # of PNG files: 216 pixels for each inch. An integer, so that drawings are never resampled
# Light enough for black text, and distinguishable without red-green colour vision.
_BELOW, _ABOVE = (62, 134, 202), (226, 93, 67)
_MARGIN, _GAP = 12, 6
_TITLE, _CAPTION, _BAR_LABEL, _TICK, _VALUE = 11, 9, 8.5, 8, 6.0  # sizes of text in points
_LINE = 1.35  # height of a line of text, in its size
_BAR_WIDTH, _BAR_HEIGHT, _TICK_HEIGHT = 216, 9, 15
_DIRECTIONS = 24  # in which a value label may lie from its node


@contextmanager
def package_style() -> Iterator[None]:
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
class Scale:
    """Colours and texts of values: blue below 0, white at 0, red above.

    ``limit`` is the largest absolute value. If it is 0, everything is white.

    Examples
    --------
    >>> scale = Scale(0.5)
    >>> scale.colour(0.0), scale.colour(0.5), scale.colour(-0.5)
    ('#ffffff', '#e25d43', '#3e86ca')
    >>> scale.format(-0.1234), scale.format(0.5, signed=True), scale.format(-0.0001)
    ('−0.12', '+0.50', '0')
    """

    limit: float

    def colour(self, value: float) -> str:
        """Return the colour of a value as #rrggbb, linear between white and the end of its side."""
        fraction = value / self.limit if self.limit else 0.0
        end, strength = (_BELOW if fraction < 0 else _ABOVE), min(abs(fraction), 1.0)
        return "#" + "".join(f"{round(255 + strength * (channel - 255)):02x}" for channel in end)

    @property
    def _first_digit(self) -> int:
        """Exponent of the first digit of the limit."""
        return int(f"{self.limit:e}".split("e")[1]) if self.limit else 0

    @property
    def exponent(self) -> int:
        """Exponent of the power of ten that numbers are divided by; 0 unless they would be long without it."""
        return 0 if -2 <= self._first_digit < 5 else self._first_digit

    @property
    def power(self) -> str:
        """Text of that power, such as ×10⁻⁷; empty if it is 1."""
        raised = str(self.exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"×10{raised}" if self.exponent else ""

    def format(self, value: float, *, digits: int = 2, signed: bool = False) -> str:
        """Format a value with as many decimals as the limit needs for that number of digits."""
        if not self.limit:
            return "0"
        decimals = max(0, digits - 1 - (self._first_digit - self.exponent))
        # By the text of the limit, because 10**exponent underflows for the smallest floats.
        shown = value / self.limit * float(f"{self.limit:.17e}".split("e")[0]) if self.exponent else value
        text = f"{shown:+.{decimals}f}"
        if not float(text):
            return "0"
        return text.replace("-", "−") if signed else text.lstrip("+").replace("-", "−")


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

        title = _Text(self.title, _TITLE, self.inner_width, "bold")
        label = _Text(self.bar_label, _BAR_LABEL, self.inner_width)
        caption = _Text(self.caption, _CAPTION, self.inner_width)
        bar_height = _BAR_HEIGHT + _TICK_HEIGHT
        heights = [_MARGIN, title.height, height + _GAP, bar_height, label.height, caption.height, _MARGIN]
        total = sum(heights)
        figure = Figure(figsize=(self.width / 72, total / 72), dpi=72 * PIXELS_PER_POINT, facecolor="white")
        tops = [total - above for above in np.cumsum([0, *heights])]
        title.draw(figure, tops[1])
        self._draw_bar(figure, tops[3], total)
        label.draw(figure, tops[4])
        caption.draw(figure, tops[5])
        bottom = (tops[2] - height) / total
        axes = figure.add_axes((_MARGIN / self.width, bottom, self.inner_width / self.width, height / total))
        axes.set(xlim=(0, self.inner_width), ylim=(0, height), gid="drawing")
        axes.set_axis_off()
        return figure, axes

    def _draw_bar(self, figure: Figure, top: int, total: int) -> None:
        from matplotlib.colors import to_rgb

        width = min(_BAR_WIDTH, round(0.6 * self.width))
        left, bottom = (self.width - width) / 2, top - _BAR_HEIGHT
        axes = figure.add_axes((left / self.width, bottom / total, width / self.width, _BAR_HEIGHT / total))
        # An odd number of colours, so that the middle one is white.
        values = np.linspace(-1, 1, 255) * (self.scale.limit or 1.0)
        colours = np.array([[to_rgb(self.scale.colour(float(value))) for value in values]])
        axes.imshow(colours, extent=(-1, 1, 0, 1), aspect="auto", interpolation="nearest")
        ticks = [-1.0, 0.0, 1.0] if width < 160 else [-1.0, -0.5, 0.0, 0.5, 1.0]
        if not self.scale.limit:
            ticks = [0.0]
        labels = [self.scale.format(tick * self.scale.limit, digits=3) for tick in ticks]
        axes.set_xticks(ticks, labels, fontsize=_TICK)
        axes.tick_params(length=2.5, width=0.6, pad=2)
        axes.set_yticks([])


class _Text:
    """Centred text of a size in points, wrapped to a width in points, between words if possible."""

    def __init__(self, text: str, size: float, width: float, weight: str = "normal") -> None:
        from matplotlib.font_manager import FontProperties

        self._font, self._width = FontProperties(size=size, weight=weight), width
        self._line_height = size * _LINE
        paragraphs = strip_invalid(text).splitlines()
        self._lines = [line for paragraph in paragraphs for line in self._wrap(paragraph)]
        self.height = round(len(self._lines) * self._line_height) + _GAP if self._lines else 0

    def _wrap(self, paragraph: str) -> Iterator[str]:
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if self._fits(longer):
                line = longer
                continue
            if line:
                yield line
            line = ""
            for letter in word:
                if line and not self._fits(line + letter):
                    yield line
                    line = ""
                line += letter
        if line:
            yield line

    def _fits(self, line: str) -> bool:
        from matplotlib.textpath import text_to_path

        return text_to_path.get_text_width_height_descent(line, self._font, ismath=False)[0] <= self._width

    def draw(self, figure: Figure, top: float) -> None:
        """Write the lines below a height in points."""
        for i, line in enumerate(self._lines):
            y = (top - (i + 0.5) * self._line_height) / (figure.get_figheight() * 72)
            figure.text(0.5, y, line, fontproperties=self._font, ha="center", va="center_baseline", parse_math=False)


def strip_invalid(text: str) -> str:
    """Remove characters that are invalid in XML."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)


def value_label_size(label: str) -> tuple[float, float]:
    """Return upper estimates of the width and height of a value label in points."""
    return 0.62 * _VALUE * len(label), 1.1 * _VALUE


def points_along(lines: Array) -> Array:
    """Return points on lines (E, 2, 2), so dense that a label on a line covers one of them."""
    steps = np.linspace(0, 1, 24)[None, :, None]
    return np.asarray((lines[:, :1] * (1 - steps) + lines[:, 1:] * steps).reshape(-1, 2))


def write_value_labels(axes: Axes, labels: list[str], nodes: Array, radius: float, drawn: Array) -> None:
    """Write each label next to the circle of its node, away from the points ``drawn``.

    The unit of the axes is one point (1/72 inch). Labels are placed greedily, each in the best of 24 directions.
    """
    page = np.array([axes.get_xlim()[1], axes.get_ylim()[1]])
    angles = np.pi / 4 - np.arange(_DIRECTIONS) * 2 * np.pi / _DIRECTIONS  # the first is up and to the right
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    boxes: list[tuple[Array, Array]] = []  # centre and half size of the labels placed
    for i, label in enumerate(labels):
        half = np.array(value_label_size(label)) / 2
        # Far enough for the corner of the label to clear the circle.
        centres = [nodes[i] + towards * (radius + 1.2 + float(np.abs(towards) @ half)) for towards in directions]
        other_nodes = np.delete(nodes, i, axis=0)
        costs = [_cost(centre, half, other_nodes, radius, drawn, boxes, page) for centre in centres]
        x, y = centres[int(np.argmin(np.round(costs, 9)))]  # rounded, for a stable choice among equal positions
        boxes.append((np.array([x, y]), half))
        axes.text(x, y, label, fontsize=_VALUE, color="#444444", ha="center", va="center_baseline", zorder=4)


def _cost(
    centre: Array, half: Array, nodes: Array, radius: float, drawn: Array, boxes: list[tuple[Array, Array]], page: Array
) -> float:
    """Return the cost of a label position: overlap with the page margin, then with labels, nodes and lines."""
    off_page = bool((centre - half < 0).any() or (centre + half > page).any())
    on_labels = sum(bool((np.abs(other - centre) < size + half).all()) for other, size in boxes)
    gaps = np.linalg.norm(np.maximum(np.abs(nodes - centre) - half, 0.0), axis=1)
    on_drawn = int((np.abs(drawn - centre) < half + 0.8).all(axis=1).sum())
    crowding = float((1.0 / (gaps + 3.0) ** 2).sum())
    return 1000.0 * off_page + 100.0 * on_labels + 50.0 * int((gaps < radius).sum()) + on_drawn + crowding


def render(figure: Figure, suffix: str) -> bytes:
    """Return the content of the file; deterministic."""
    stream = io.BytesIO()
    # No date and no version, so that files can be compared.
    metadata = {"Date": None, "Creator": "fastgntk"} if suffix == ".svg" else {"Software": "fastgntk"}
    figure.savefig(stream, format=suffix.removeprefix("."), metadata=metadata)
    return stream.getvalue()
