"""Small numbers beside nodes, each where it hides least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["note_size", "points_along", "write_notes"]

_SIZE = 6.0
"""Of the text, in points."""
_DIRECTIONS = 24

Points = NDArray[np.float64]


def note_size(note: str) -> tuple[float, float]:
    """Return width and height of a note in points, rather too large than too small."""
    return 0.62 * _SIZE * len(note), 1.1 * _SIZE


def points_along(lines: Points) -> Points:
    """Return points on lines (shape (E, 2, 2)), close enough that a note which covers a line covers one of them."""
    steps = np.linspace(0, 1, 24)[None, :, None]
    points: Points = (lines[:, :1] * (1 - steps) + lines[:, 1:] * steps).reshape(-1, 2)
    return points


def write_notes(axes: Axes, notes: list[str], nodes: Points, radius: float, drawn: Points) -> None:
    """Write each note beside the circle of its node, away from the points that are ``drawn``.

    The axes' unit is one point (1/72 inch). One note after the other takes the best of 24 directions.
    """
    page = np.array([axes.get_xlim()[1], axes.get_ylim()[1]])
    taken: list[tuple[Points, Points]] = []
    for i, note in enumerate(notes):
        half = np.array(note_size(note)) / 2
        others = np.delete(nodes, i, axis=0)
        places = [_beside(nodes[i], radius, half, step) for step in range(_DIRECTIONS)]
        costs = [_cost(place, half, others, radius, drawn, taken, page) for place in places]
        x, y = places[int(np.argmin(np.round(costs, 9)))]  # rounded, so that the first of equal places is taken
        taken.append((np.array([x, y]), half))
        axes.text(x, y, note, fontsize=_SIZE, color="#444444", ha="center", va="center_baseline", zorder=4)


def _beside(node: Points, radius: float, half: Points, step: int) -> Points:
    """Return where the middle of a note comes in one of the directions, the first of them up and to the right."""
    angle = np.pi / 4 - step * 2 * np.pi / _DIRECTIONS
    towards = np.array([np.cos(angle), np.sin(angle)])
    # As far out as its corner needs to clear the circle.
    place: Points = node + towards * (radius + 1.2 + float(np.abs(towards) @ half))
    return place


def _cost(
    place: Points, half: Points, others: Points, radius: float, drawn: Points, taken: list[tuple[Points, Points]],
    page: Points,
) -> float:  # fmt: skip
    """Say how much a note would hide: best nothing, worst if it left the page, then notes, nodes and lines."""
    off_page = bool((place - half < 0).any() or (place + half > page).any())
    on_notes = sum(bool((np.abs(other - place) < size + half).all()) for other, size in taken)
    gaps = np.linalg.norm(np.maximum(np.abs(others - place) - half, 0.0), axis=1)
    on_drawn = int((np.abs(drawn - place) < half + 0.8).all(axis=1).sum())
    crowding = float((1.0 / (gaps + 3.0) ** 2).sum())
    return 1000.0 * off_page + 100.0 * on_notes + 50.0 * int((gaps < radius).sum()) + on_drawn + crowding
