"""How the kernel works: two graphs, sums over neighbours, a table of all pairs of nodes, one number."""

from __future__ import annotations

import numpy as np
from _style import BLUE, GREY, INK, ORANGE, PALE, blank, draw_edge, draw_node, plt, save
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Circle, FancyArrowPatch

import fastgntk as fg

LEFT = ["C", "C", "O"], [(0, 1), (1, 2)], [(0.0, 2.3), (0.9, 2.9), (1.8, 2.3)]
RIGHT = ["C", "C", "C", "O"], [(0, 1), (1, 2), (0, 2), (2, 3)], [(0.0, 0.1), (0.9, 0.75), (0.9, -0.55), (1.9, -0.55)]
HUE = {"C": INK, "O": ORANGE}
kernel = fg.GNTK(blocks=1, layers=1, scale="degree", jump=False)


def pairs() -> np.ndarray:
    """Return the kernel between the nodes of both graphs, (3, 4), from that of one graph which holds them both."""
    (a, edges, _), (b, more, _) = LEFT, RIGHT
    both = fg.Graph.from_edges([*edges, *((u + len(a), v + len(a)) for u, v in more)], len(a + b), labels=a + b)
    table = fg.node_gram(both, kernel)[: len(a), len(a) :]
    one, two = (fg.Graph.from_edges(e, len(n), labels=n) for n, e, _ in (LEFT, RIGHT))
    assert np.isclose(table.sum(), fg.cross_gram([one], [two], kernel)[0, 0])
    return table


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], shrink: float, bend: float) -> None:
    """Draw an arrow between two nodes."""
    style = {"arrowstyle": "-|>", "mutation_scale": 12, "color": BLUE, "linewidth": 1.8, "zorder": 4}
    axes.add_patch(
        FancyArrowPatch(start, end, shrinkA=shrink, shrinkB=shrink, connectionstyle=f"arc3,rad={bend}", **style)
    )


figure = plt.figure(figsize=(9.6, 3.6))
first, second, third, last = (
    figure.add_axes(box)
    for box in ([0.01, 0.02, 0.2, 0.82], [0.225, 0.02, 0.2, 0.82], [0.535, 0.2, 0.235, 0.58], [0.82, 0.2, 0.17, 0.58])
)
TITLES = {
    0.11: "1  two graphs",
    0.335: "2  every node takes in\nitself and its neighbours",
    0.645: "3  a number for each pair of\nnodes, through ReLU layers",
    0.905: "4  their sum",
}
for x, title in TITLES.items():
    figure.text(x, 0.97, title, ha="center", va="top", fontsize=10.5, linespacing=1.35)

for axes in (first, second):
    blank(axes)
    axes.set(xlim=(-0.95, 2.35), ylim=(-1.1, 3.45))
    for name, (labels, edges, places), letters in (("G", LEFT, "abc"), ("H", RIGHT, "pqrs")):
        for u, v in edges:
            draw_edge(axes, places[u], places[v], PALE if axes is second else GREY, 2.5)
        for i, at in enumerate(places):
            draw_node(axes, at, labels[i], HUE[labels[i]], 0.27)
            if axes is second:
                axes.add_patch(Circle(at, 0.33, fill=False, edgecolor=BLUE, linewidth=1.8, zorder=3))
            if axes is first:
                below = letters[i] == "r"  # an edge comes to it from above
                to = at[1] + (-0.34 if below else 0.34)
                axes.text(at[0], to, letters[i], ha="center", va="top" if below else "bottom", fontsize=9, color=GREY)
        axes.text(-0.85, np.mean([y for _, y in places]), name, fontsize=13, fontweight="bold", va="center")

for _, edges, places in (LEFT, RIGHT):
    for u, v in edges:
        arrow(second, places[u], places[v], 11, 0.2)
        arrow(second, places[v], places[u], 11, 0.2)

table = pairs()
third.imshow(
    table,
    cmap=LinearSegmentedColormap.from_list("pairs", ["white", BLUE]),
    vmin=0.5,
    vmax=1.3 * table.max(),
    aspect="auto",
)
for (u, v), value in np.ndenumerate(table):
    third.text(v, u, f"{value:.2f}", ha="center", va="center", fontsize=10)
third.set_xticks(range(4), [f"{letter}\n{label}" for letter, label in zip("pqrs", RIGHT[0], strict=True)])
third.set_yticks(range(3), [f"{letter}  {label}" for letter, label in zip("abc", LEFT[0], strict=True)])
third.tick_params(length=0)
third.spines[:].set_visible(False)
third.set_xlabel("nodes of H")
third.set_ylabel("nodes of G")

last.set_axis_off()
last.text(
    0.5, 0.56, f"K(G, H)\n= {table.sum():.2f}", ha="center", va="center", fontsize=14, fontweight="bold", color=BLUE
)
last.text(0.5, 0.30, "the kernel of\nthe two graphs", ha="center", va="center", fontsize=9.5, color=GREY)
for x in (0.213, 0.442, 0.79):
    figure.add_artist(FancyArrowPatch((x, 0.49), (x + 0.022, 0.49), arrowstyle="-|>", mutation_scale=16, color=GREY))
last.set(xlim=(0, 1), ylim=(0, 1))
save(figure, "how_it_works")
