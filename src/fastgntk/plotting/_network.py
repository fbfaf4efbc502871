"""Graphs drawn by matplotlib as circles and lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fastgntk._util.arrays import Array, Bools, Ints
from fastgntk.graphs import Graph
from fastgntk.plotting._frame import Frame, clean, render
from fastgntk.plotting._layout import place_nodes
from fastgntk.plotting._value_labels import label_size, points_along, write_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_network"]

_EDGE = 44  # length of an edge in points, where there is room
_RADIUS = (1.2, 9.0)  # of nodes, smallest and largest, in points
_LOWEST = 60  # of a drawing, in points

Points = Array


@dataclass(frozen=True)
class _Drawing:
    points: Points  # from the lower left corner
    radius: float
    width: int
    height: int


def draw_network(graph: Graph, values: Array, labels: list[str], frame: Frame, suffix: str) -> bytes:
    """Return the content of an SVG or PNG file."""
    drawing = _fit(place_nodes(graph), frame.inner_width, labels)
    figure, axes = frame.figure(drawing.height)
    lines = _draw_edges(axes, graph, drawing)
    _draw_nodes(axes, graph, [frame.scale.colour(float(value)) for value in values], drawing)
    write_labels(axes, labels, drawing.points, drawing.radius, points_along(lines))
    return render(figure, suffix)


def _fit(points: Points, width: int, labels: list[str]) -> _Drawing:
    """Scale the layout to the width; choose the height and the size of nodes."""
    from scipy.spatial import cKDTree

    span = np.ptp(points, axis=0)
    largest = _RADIUS[1]
    across, above = np.max([(0.0, 0.0), *(label_size(label) for label in labels)], axis=0) + largest + 3
    unit = min(_EDGE, (width - 2 * across) / max(span[0], 1e-9), (width - 2 * above) / max(span[1], 1e-9))
    height = max(_LOWEST, round(span[1] * unit + 2 * above))
    middle = np.array([width / 2, height / 2])
    placed = (points - points.min(axis=0) - span / 2) * unit + middle
    radius = largest
    if len(points) > 1:
        nearest = cKDTree(placed).query(placed, k=2)[0][:, 1]
        radius = float(np.clip(0.36 * np.quantile(nearest, 0.1), *_RADIUS))
    return _Drawing(placed, radius, width, height)


def _draw_edges(axes: Axes, graph: Graph, drawing: _Drawing) -> Points:
    """Draw the edges, and return them as lines (E, 2, 2).

    Widths show weights, dashes negative weights, and arrows edges of one direction only.
    """
    from matplotlib.collections import LineCollection, PolyCollection

    pairs, sizes, negative, one_way = _edges(graph)
    lines = drawing.points[pairs]
    if not len(pairs):
        return lines
    # Thinner and lighter if there are many edges, so that nodes stay visible.
    crowd = min(1.0, 150 / len(pairs))
    widths = float(np.clip(0.16 * drawing.radius, 0.4, 1.2)) * (0.6 + 0.4 * crowd) * sizes
    collection = LineCollection(
        list(lines),
        colors="#777777",
        linewidths=widths,
        linestyles=["--" if below else "-" for below in negative],
        alpha=0.3 + 0.7 * crowd,
        zorder=1,
    )
    collection.set_gid("edges")
    axes.add_collection(collection, autolim=False)
    if one_way.any():
        heads = [_arrow_head(start, end, drawing.radius) for start, end in lines[one_way]]
        tips = PolyCollection(heads, facecolors="#777777", edgecolors="none", zorder=1.5)
        tips.set_gid("heads")
        axes.add_collection(tips, autolim=False)
    return lines


def _edges(graph: Graph) -> tuple[Ints, Array, Bools, Bools]:
    """Return pairs of adjacent nodes, line widths from 0.6 to 2, and flags of negative and of one-way edges."""
    adjacency = graph.adjacency.tocoo()
    weight = {(int(u), int(v)): float(w) for u, v, w in zip(*adjacency.coords, adjacency.data, strict=True)}
    pairs = sorted((u, v) for u, v in weight if u < v or (v, u) not in weight)
    strongest = [max(weight[u, v], weight.get((v, u), 0.0), key=abs) for u, v in pairs]
    largest = max((abs(w) for w in strongest), default=1.0) or 1.0
    return (
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
        np.array([1.0 if graph.weights is None else 0.6 + 1.4 * abs(w) / largest for w in strongest]),
        np.array([w < 0 for w in strongest], dtype=np.bool_),
        np.array([(v, u) not in weight for u, v in pairs], dtype=np.bool_),
    )


def _arrow_head(start: Points, end: Points, radius: float) -> Points:
    """Return the triangle that touches the circle around ``end``."""
    along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    across = np.array([-along[1], along[0]])
    tip, length = end - along * (radius + 0.4), max(2.5, 0.7 * radius)
    back = tip - along * length
    return np.array([tip, back + across * length * 0.4, back - across * length * 0.4])


def _draw_nodes(axes: Axes, graph: Graph, colours: list[str], drawing: _Drawing) -> None:
    from matplotlib.patches import Circle

    outline = 0.7 if drawing.radius > 4 else 0.4
    labels = _labels(graph)
    for i, (point, colour) in enumerate(zip(drawing.points, colours, strict=True)):
        x, y = float(point[0]), float(point[1])
        circle = Circle((x, y), drawing.radius, facecolor=colour, edgecolor="#444444", linewidth=outline, zorder=2)
        circle.set_gid(f"node-{i}")
        axes.add_patch(circle)
        size = _label_size(labels[i], drawing.radius) if labels else 0.0
        if size:
            axes.text(
                x, y, labels[i], fontsize=size, ha="center", va="center_baseline", zorder=3, parse_math=False
            )  # fmt: skip


def _labels(graph: Graph) -> list[str]:
    if graph.labels is None:
        return []
    rows = graph.labels.reshape(graph.n_nodes, -1).tolist()
    return [clean(",".join(str(label) for label in row)).strip() for row in rows]


def _label_size(label: str, radius: float) -> float:
    """Return the font size that fits into the circle, 0 if it would be unreadable."""
    size = min(8.0, 1.1 * radius, 1.7 * radius / (0.65 * max(len(label), 1)))
    return size if label and size >= 4.5 else 0.0
