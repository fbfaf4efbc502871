"""Numbers next to nodes, placed where they overlap least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fastgntk._util.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["label_size", "points_along", "write_labels"]

_SIZE = 6.0  # of the text, in points
_DIRECTIONS = 24

Points = Array


def label_size(label: str) -> tuple[float, float]:
    """Return upper estimates of the width and height of a label in points."""
    return 0.62 * _SIZE * len(label), 1.1 * _SIZE


def points_along(lines: Points) -> Points:
    """Return points on lines (E, 2, 2), so dense that a label on a line covers one of them."""
    steps = np.linspace(0, 1, 24)[None, :, None]
    points: Points = (lines[:, :1] * (1 - steps) + lines[:, 1:] * steps).reshape(-1, 2)
    return points


def write_labels(axes: Axes, labels: list[str], nodes: Points, radius: float, drawn: Points) -> None:
    """Write each label next to the circle of its node, away from the points ``drawn``.

    The unit of the axes is one point (1/72 inch). Labels are placed greedily, each in the best of 24 directions.
    """
    page = np.array([axes.get_xlim()[1], axes.get_ylim()[1]])
    taken: list[tuple[Points, Points]] = []
    for i, label in enumerate(labels):
        half = np.array(label_size(label)) / 2
        others = np.delete(nodes, i, axis=0)
        places = [_position(nodes[i], radius, half, step) for step in range(_DIRECTIONS)]
        costs = [_cost(place, half, others, radius, drawn, taken, page) for place in places]
        x, y = places[int(np.argmin(np.round(costs, 9)))]  # rounded, for a stable choice among equal positions
        taken.append((np.array([x, y]), half))
        axes.text(x, y, label, fontsize=_SIZE, color="#444444", ha="center", va="center_baseline", zorder=4)


def _position(node: Points, radius: float, half: Points, step: int) -> Points:
    """Return the centre of a label in one of the directions; the first is up and to the right."""
    angle = np.pi / 4 - step * 2 * np.pi / _DIRECTIONS
    towards = np.array([np.cos(angle), np.sin(angle)])
    # Far enough for its corner to clear the circle.
    place: Points = node + towards * (radius + 1.2 + float(np.abs(towards) @ half))
    return place


def _cost(
    place: Points, half: Points, others: Points, radius: float, drawn: Points, taken: list[tuple[Points, Points]],
    page: Points
) -> float:  # fmt: skip
    """Return the cost of a position: overlap with the page margin, then with labels, nodes and lines."""
    off_page = bool((place - half < 0).any() or (place + half > page).any())
    on_labels = sum(bool((np.abs(other - place) < size + half).all()) for other, size in taken)
    gaps = np.linalg.norm(np.maximum(np.abs(others - place) - half, 0.0), axis=1)
    on_drawn = int((np.abs(drawn - place) < half + 0.8).all(axis=1).sum())
    crowding = float((1.0 / (gaps + 3.0) ** 2).sum())
    return 1000.0 * off_page + 100.0 * on_labels + 50.0 * int((gaps < radius).sum()) + on_drawn + crowding
