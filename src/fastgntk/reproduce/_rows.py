"""Rows of a study: types, filters, and lines in a plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # matplotlib is an extra, imported when a figure is drawn
    Axes = Figure = Any

__all__ = ["Axes", "Cell", "Figure", "Row", "column", "distinct", "matching", "plot"]

Cell = dict[str, Any]
"""What to measure, by name: numbers, strings or booleans."""
Row = dict[str, Any]
"""A line of the CSV file: the entries of its cell, and measurements. None is an empty field."""


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
