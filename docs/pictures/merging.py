"""Merging equal nodes: the colours of 4-nitrotoluene by level, and how many distinct nodes the whole of MUTAG has."""

from __future__ import annotations

import numpy as np
from _style import BLUE, GREY, SEVERAL, blank, draw_edge, draw_node, plt, save

import fastgntk as fg
from fastgntk.engines import refine_colours

LEVELS = 4
turn = np.pi / 3
ring = [(float(np.sin(i * turn)), float(np.cos(i * turn))) for i in range(6)]
places = [*ring, (0.0, 2.0), (0.0, -2.0), (-0.87, -2.5), (0.87, -2.5)]
elements = ["C"] * 6 + ["C", "N", "O", "O"]
edges = [*((i, (i + 1) % 6) for i in range(6)), (0, 6), (3, 7), (7, 8), (7, 9)]
molecule = fg.Graph.from_edges(edges, 10, labels=elements)


def colours_of(graphs: fg.GraphBatch) -> np.ndarray:
    """Return the colour of each node at each level, shape (levels, nodes)."""
    return refine_colours(fg.NodeFeatures("auto").fit(graphs).transform(graphs), LEVELS - 1).colours


mine = colours_of(fg.as_graphs([molecule]))
figure = plt.figure(figsize=(9.6, 3.3), layout="constrained")
panels = figure.subplots(1, LEVELS + 1, width_ratios=[1] * LEVELS + [1.9])
kept: dict[int, int] = {}
for level in range(LEVELS):
    axes = panels[level]
    blank(axes)
    first = {int(c): i for i, c in reversed(list(enumerate(mine[level])))}  # a colour and the first node that has it
    # A colour that splits leaves its hue to the part with the first node, so that what stays the same looks the same.
    hues: dict[int, int] = {}
    for c, node in sorted(first.items(), key=lambda item: item[1]):
        wanted = kept.get(node)
        free = [h for h in range(len(SEVERAL)) if h not in hues.values() and h not in kept.values()]
        hues[c] = wanted if wanted is not None and wanted not in hues.values() else free[0]
    kept = {node: hues[int(c)] for node, c in enumerate(mine[level])}
    for u, v in edges:
        draw_edge(axes, places[u], places[v])
    for node, at in enumerate(places):
        draw_node(axes, at, elements[node], SEVERAL[kept[node]], 0.34, 9)
    axes.set(xlim=(-1.5, 1.5), ylim=(-3.0, 2.5))
    axes.set_title("atoms alone" if level == 0 else f"after {level} block{'s' * (level > 1)}")
    axes.text(0, -3.05, f"{len(first)} distinct nodes\nof {len(places)}", ha="center", va="top", fontsize=9.5)

graphs = fg.datasets.load("MUTAG").graphs
counts = [len(np.unique(row)) for row in colours_of(graphs)]
axes = panels[-1]
rows = np.arange(LEVELS + 1)
bars = axes.barh(rows, [graphs.n_nodes, *counts], color=[GREY] + [BLUE] * LEVELS, height=0.62)
axes.bar_label(bars, [f"{graphs.n_nodes:,}", *(f"{count:,}" for count in counts)], padding=3, fontsize=9.5)
axes.set_yticks(rows, ["nodes", "distinct: atoms alone", "after 1 block", "after 2 blocks", "after 3 blocks"])
axes.invert_yaxis()
axes.set_title(f"all {len(graphs)} molecules of MUTAG")
axes.set_xlim(0, 1.22 * graphs.n_nodes)
axes.set_xticks([])
axes.spines["bottom"].set_visible(False)
axes.tick_params(axis="y", length=0)
save(figure, "merging")
