"""Figures of a study: style, colours and markers, and the rows that make a line."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # matplotlib is an extra, imported when a figure is drawn
    Axes = Figure = Any

__all__ = ["ENGINE_COLOURS", "RC", "SKETCH_STYLES", "Axes", "Figure", "Row", "column", "distinct", "matching", "plot"]

Row = dict[str, Any]
"""A line of the CSV file: the entries of its cell, and measurements. None means an empty field."""

# Okabe and Ito's palette, for colour-blind readers: one colour per engine and per sketch.
ENGINE_COLOURS = {"kronecker": "#000000", "decoupled": "#56B4E9", "sketched": "#E69F00", "lossless": "#009E73"}
SKETCH_STYLES: dict[str, Any] = {
    "ams": {"color": "#0072B2", "marker": "o"},
    "gaussian": {"color": "#E69F00", "marker": "s"},
    "srht": {"color": "#009E73", "marker": "^"},
    "countsketch": {"color": "#D55E00", "marker": "v"},
    "sparse": {"color": "#CC79A7", "marker": "D"},
}

RC: Any = {  # parameters of matplotlib
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.markersize": 4,
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "fastgntk",
}


def matching(rows: list[Row], **values: Any) -> list[Row]:
    """Return the rows that have these values.

    >>> matching([{"n": 1, "t": 2.0}, {"n": 2, "t": 4.0}], n=2)
    [{'n': 2, 't': 4.0}]
    """
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def column(rows: list[Row], name: str) -> list[Any]:
    """Return one value of every row."""
    return [row[name] for row in rows]


def distinct(rows: list[Row], name: str) -> list[Any]:
    """Return the different values in a column, in order of their first row."""
    return list(dict.fromkeys(column(rows, name)))


def plot(axes: Axes, rows: list[Row], x: str, y: str, *style: str, **options: Any) -> None:
    """Plot one column against another."""
    axes.plot(column(rows, x), column(rows, y), *style, **options)
