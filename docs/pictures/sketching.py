"""Three ways to aggregate one pair of graphs: the Kronecker product, the decoupled product, and the sketched one."""

from __future__ import annotations

import numpy as np
from _style import BLUE, GREY, INK, ORANGE, PALE, SEVERAL, blank, draw_edge, draw_node, plt, save
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path

from fastgntk.sketch import AMS

G = (
    [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5)],
    [(-1.9, 3.0), (1.9, 3.0), (1.9, 0.0), (-1.9, 0.0), (-1.9, -3.0), (1.9, -3.0)],
)
H = [(0, 1), (1, 2), (2, 0), (2, 3), (2, 4)], [(-1.9, 3.0), (1.9, 3.0), (0.0, 0.0), (-1.9, -3.0), (1.9, -3.0)]
SKETCH_ROWS = 2
BOTH = SEVERAL[3]  # for what belongs to both graphs
SYMBOL, SHAPE, TITLE = 10.0, 9.0, 11.0
AFTER = 1.25  # from a box to the middle of the text above or below it


def aggregation(edges: list[tuple[int, int]], n_nodes: int) -> np.ndarray:
    """Return B = A + I, shape (N, N)."""
    B = np.eye(n_nodes)
    for u, v in edges:
        B[u, v] = B[v, u] = 1.0
    return B


def cells(axes: Axes, matrix: np.ndarray, left: float, top: float, colour: str) -> None:
    """Draw a matrix to scale, one unit for each row and column; a darker cell is a larger entry."""
    rows, columns = matrix.shape
    low = min(matrix.min(), 0.0)
    shades = np.round((matrix - low) / (matrix.max() - low), 1)
    if low < 0:  # with signs, the smallest entry is pale; white is for the zeros of the others
        shades = np.round(0.2 + 0.8 * shades, 2)
    for shade in np.unique(shades[shades > 0]):
        corners = []
        for i in range(rows):
            edges = np.flatnonzero(np.diff(shades[i] == shade, prepend=False, append=False))
            for start, end in edges.reshape(-1, 2):  # a run of equal cells is one rectangle
                x, y = (left + start, left + end), (top - i, top - i - 1)
                corners += [(x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1]), (x[0], y[0])]
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * (len(corners) // 5)
        mixed = 1 - (0.12 + 0.6 * shade) * (1 - np.array(to_rgb(colour)))
        axes.add_patch(PathPatch(Path(corners, codes), facecolor=mixed, edgecolor="none"))
    lines = [((left + j, top), (left + j, top - rows)) for j in range(1, columns)]
    lines += [((left, top - i), (left + columns, top - i)) for i in range(1, rows)]
    grid = Path([point for line in lines for point in line], [Path.MOVETO, Path.LINETO] * len(lines))
    axes.add_patch(PathPatch(grid, fill=False, edgecolor="white", linewidth=0.8))
    axes.add_patch(Rectangle((left, top - rows), columns, rows, fill=False, edgecolor=colour, linewidth=1.3))


def label(axes: Axes, x: float, y: float, text: str, colour: str = INK, size: float = SYMBOL, **more: str) -> None:
    """Write a text at a point, centred unless told otherwise."""
    axes.text(x, y, text, color=colour, fontsize=size, **{"ha": "center", "va": "center", **more})


def box(axes: Axes, matrix: np.ndarray, left: float, middle: float, colour: str, symbol: str, shape: str) -> None:
    """Draw a matrix centred at a height, with its symbol above and its shape below."""
    rows, columns = matrix.shape
    x = left + columns / 2
    cells(axes, matrix, left, middle + rows / 2, colour)
    label(axes, x, middle + rows / 2 + AFTER, symbol, colour, SYMBOL, fontweight="bold")
    label(axes, x, middle - rows / 2 - AFTER, shape, GREY, SHAPE)


def times(axes: Axes, x: float, y: float) -> None:
    """Draw the dot of a product."""
    axes.add_patch(Circle((x, y), 0.22, facecolor=INK, edgecolor="none"))


def heading(axes: Axes, left: float, y: float, step: str, cost: str) -> None:
    """Write the name of a step and its cost."""
    axes.text(left, y, step, ha="left", va="center", fontsize=TITLE, fontweight="bold")
    axes.text(left, y - 1.9, cost, ha="left", va="center", fontsize=9.5, color=GREY)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw an arrow."""
    style = {"arrowstyle": "-|>", "mutation_scale": 14, "color": GREY, "linewidth": 1.4}
    axes.add_patch(FancyArrowPatch(start, end, shrinkA=0, shrinkB=0, **style))


N, N2 = len(G[1]), len(H[1])
B, B2 = aggregation(G[0], N), aggregation(H[0], N2)
rng = np.random.default_rng(15)
S, S2 = (AMS.draw(n, SKETCH_ROWS, rng).dense() for n in (N, N2))
# Σ: inner products of the features (1, degree), summed over neighbourhoods.
X, Y = (A @ np.column_stack([np.ones(len(A)), A.sum(axis=1) - 1]) for A in (B, B2))
Sigma = X @ Y.T
assert np.allclose(np.kron(B, B2) @ Sigma.ravel(), (B @ Sigma @ B2.T).ravel())

WIDE, HIGH = 80.0, 49.3
figure = plt.figure(figsize=(9.6, 9.6 * HIGH / WIDE))
axes = figure.add_axes((0, 0, 1, 1))
blank(axes)
axes.set(xlim=(0, WIDE), ylim=(-1.2, HIGH - 1.2))

# The two graphs, each with the names of its matrices.
for (edges, places), name, size, own, colour, middle in (
    (G, "G", f"N = {N} nodes", "B, S", BLUE, 34.6),
    (H, "G′", f"N′ = {N2} nodes", "B′, S′", ORANGE, 17.9),
):
    at = [(5.5 + x, middle + y) for x, y in places]
    for u, v in edges:
        draw_edge(axes, at[u], at[v])
    for place in at:
        draw_node(axes, place, "", colour, 0.95)
    label(axes, 5.5, middle + 5.6, name, colour, 13, fontweight="bold")
    label(axes, 5.5, middle - 5.2, size, GREY, SHAPE)
    label(axes, 5.5, middle - 7.1, own, colour, SYMBOL, fontweight="bold")

top, left = 46.4, 13.0
heading(axes, left, top, "1  Kronecker product", "N⁴ operations")
box(axes, np.kron(B, B2), left, 25.5, BOTH, "B ⊗ B′", "N N′ × N N′")
times(axes, left + 31.5, 25.5)
box(axes, Sigma.reshape(-1, 1), left + 33.0, 25.5, INK, "vec(Σ)", "N N′ × 1")
label(axes, left, 4.0, f"drawn to scale, b = {SKETCH_ROWS}", GREY, SHAPE, ha="left")

left, centre = 55.0, 67.0  # centre: of Σ, and of what takes its place
arrow(axes, (48.4, 37.5), (53.6, 37.5))
label(axes, 51.0, 38.8, "equal", INK, SHAPE)
heading(axes, left, top, "2  decoupled product", "T(N, N, N)")
box(axes, B, left, 37.5, BLUE, "B", "N × N")
box(axes, Sigma, centre - 2.5, 37.5, INK, "Σ", "N × N′")
box(axes, B2.T, centre + 6.0, 37.5, ORANGE, "B′ᵀ", "N′ × N′")
for x in (62.75, 71.25):
    times(axes, x, 37.5)

arrow(axes, (56.0, 31.9), (56.0, 28.4))
label(axes, 57.3, 31.0, "one aggregation, independent S, S′:", INK, SHAPE, ha="left")
label(axes, 57.3, 29.4, "equal in expectation", INK, SHAPE, ha="left")
heading(axes, left, 26.7, "3  sketched product", "T(N, N, b)")
box(axes, B @ S.T, left + 2.0, 17.9, BLUE, "B Sᵀ", "N × b")
box(axes, S @ Sigma @ S2.T, centre - 1.0, 17.9, BOTH, "S Σ S′ᵀ", "b × b")
box(axes, S2 @ B2.T, centre + 6.0, 17.9, ORANGE, "S′ B′ᵀ", "b × N′")
for x in (62.5, 70.5):
    times(axes, x, 17.9)
panel = FancyBboxPatch(
    (54.0, 0.0), 25.0, 11.4, boxstyle="round,pad=0,rounding_size=0.8", facecolor=PALE, edgecolor="none", zorder=0
)
axes.add_patch(panel)
arrow(axes, (centre, 11.5), (centre, 14.6))
box(axes, S, left, 5.7, BLUE, "S", "b × N")
box(axes, Sigma, centre - 2.5, 5.7, INK, "Σ", "N × N′")
box(axes, S2.T, centre + 7.5, 5.7, ORANGE, "S′ᵀ", "N′ × b")
for x in (62.75, 72.0):
    times(axes, x, 5.7)
save(figure, "sketching")
