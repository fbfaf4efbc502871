"""Graphs drawn by matplotlib as circles and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from fastgntk._util.arrays import Array, Bools, Ints
from fastgntk.graphs import Graph
from fastgntk.plotting._figure import Frame, points_along, render, strip_invalid, value_label_size, write_value_labels
from fastgntk.plotting._layout import place_nodes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_network"]

_EDGE = 44  # length of an edge in points, where there is room
_RADIUS = (1.2, 9.0)  # of nodes, smallest and largest, in points
_MIN_HEIGHT = 60  # height of a drawing, in points


def draw_network(graph: Graph, colours: list[str], value_labels: list[str], frame: Frame, suffix: str) -> bytes:
    """Return the content of an SVG or PNG file."""
    points, radius, height = _fit(place_nodes(graph), frame.inner_width, value_labels)
    figure, axes = frame.figure(height)
    lines = _draw_edges(axes, graph, points, radius)
    _draw_nodes(axes, graph, colours, points, radius)
    write_value_labels(axes, value_labels, points, radius, points_along(lines))
    return render(figure, suffix)


def _fit(layout: Array, width: int, value_labels: list[str]) -> tuple[Array, float, int]:
    """Scale the layout to the width; return positions in points, the radius of nodes, and the height."""
    span = np.ptp(layout, axis=0)
    radius = _RADIUS[1]
    label_sizes = [(0.0, 0.0), *(value_label_size(label) for label in value_labels)]
    margin_x, margin_y = np.max(label_sizes, axis=0) + radius + 3
    unit = min(_EDGE, (width - 2 * margin_x) / max(span[0], 1e-9), (width - 2 * margin_y) / max(span[1], 1e-9))
    height = max(_MIN_HEIGHT, round(span[1] * unit + 2 * margin_y))
    points = (layout - layout.min(axis=0) - span / 2) * unit + np.array([width / 2, height / 2])
    if len(points) > 1:
        nearest = cKDTree(points).query(points, k=2)[0][:, 1]
        radius = float(np.clip(0.36 * np.quantile(nearest, 0.1), *_RADIUS))
    return points, radius, height


def _draw_edges(axes: Axes, graph: Graph, points: Array, radius: float) -> Array:
    """Draw the edges, and return them as lines (E, 2, 2).

    Widths show weights, dashes negative weights, and arrows edges of one direction only.
    """
    from matplotlib.collections import LineCollection, PolyCollection

    pairs, relative_widths, negative, one_way = _edges(graph)
    lines = points[pairs]
    if not len(pairs):
        return lines
    # Thinner and lighter if there are many edges, so that nodes stay visible.
    sparsity = min(1.0, 150 / len(pairs))
    widths = float(np.clip(0.16 * radius, 0.4, 1.2)) * (0.6 + 0.4 * sparsity) * relative_widths
    alpha, dashes = 0.3 + 0.7 * sparsity, ["--" if below else "-" for below in negative]
    edges = LineCollection(list(lines), colors="#777777", linewidths=widths, linestyles=dashes, alpha=alpha, zorder=1)
    edges.set_gid("edges")
    axes.add_collection(edges, autolim=False)
    if one_way.any():
        triangles = [_arrow_head(start, end, radius) for start, end in lines[one_way]]
        heads = PolyCollection(triangles, facecolors="#777777", edgecolors="none", zorder=1.5, gid="heads")
        axes.add_collection(heads, autolim=False)
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


def _arrow_head(start: Array, end: Array, radius: float) -> Array:
    """Return the triangle that touches the circle around ``end``."""
    along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    across = np.array([-along[1], along[0]])
    tip, length = end - along * (radius + 0.4), max(2.5, 0.7 * radius)
    back = tip - along * length
    return np.array([tip, back + across * length * 0.4, back - across * length * 0.4])


def _draw_nodes(axes: Axes, graph: Graph, colours: list[str], points: Array, radius: float) -> None:
    from matplotlib.patches import Circle

    outline = 0.7 if radius > 4 else 0.4
    labels = [""] * graph.n_nodes
    if graph.labels is not None:
        rows = graph.labels.reshape(graph.n_nodes, -1).tolist()
        labels = [strip_invalid(",".join(map(str, row))).strip() for row in rows]
    for i, ((x, y), colour, label) in enumerate(zip(points.tolist(), colours, labels, strict=True)):
        circle = Circle((x, y), radius, facecolor=colour, edgecolor="#444444", linewidth=outline, zorder=2)
        circle.set_gid(f"node-{i}")
        axes.add_patch(circle)
        # The size that fits into the circle, if it is readable.
        size = min(8.0, 1.1 * radius, 1.7 * radius / (0.65 * max(len(label), 1)))
        if label and size >= 4.5:
            axes.text(x, y, label, fontsize=size, ha="center", va="center_baseline", zorder=3, parse_math=False)
