"""What the pictures of these pages have in common: size of text, colours, and files that are the same every time.

Each script here writes the picture of its own name, beside itself or into the folder that it is given:

    python docs/pictures/kappas.py [FOLDER]

A picture is a white card, so that it can be read on dark pages too. Text is drawn as outlines of a font that comes with
matplotlib, so that it looks the same everywhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

INK, GREY, PALE = "#22303c", "#8a949e", "#e8ecf0"
BLUE, ORANGE = "#3b6fb6", "#d9722e"
# Colours that can be told apart in grey and by most people who do not see all colours.
SEVERAL = ["#3b6fb6", "#d9722e", "#7fb069", "#b07aa1", "#c79a1e", "#5fb3b3", "#9c6b4e", "#c94f6d"]

plt.rcParams.update(
    {
        "font.family": "DejaVu Sans",  # comes with matplotlib
        "font.size": 10,
        "figure.constrained_layout.h_pad": 0.12,
        "figure.constrained_layout.w_pad": 0.12,
        "axes.edgecolor": GREY,
        "axes.labelcolor": INK,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": 10.5,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "svg.fonttype": "path",
        "svg.hashsalt": "fastgntk",  # names of elements are drawn from it; without it they differ from run to run
    }
)


def folder() -> Path:
    """Return where to write: the folder that was given, or that of the scripts."""
    return Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent


def save(figure: Figure, name: str) -> None:
    """Write a figure as SVG, without date and version."""
    figure.savefig(folder() / f"{name}.svg", facecolor="white", metadata={"Date": None, "Creator": None})
    plt.close(figure)


def blank(axes: Axes) -> None:
    """Take away everything of axes but what is drawn; one unit is as long up as across."""
    axes.set_axis_off()
    axes.set_aspect("equal")


def draw_edge(
    axes: Axes, a: tuple[float, float], b: tuple[float, float], colour: str = GREY, wide: float = 2.0
) -> None:
    """Draw a line behind the nodes."""
    axes.plot([a[0], b[0]], [a[1], b[1]], color=colour, linewidth=wide, solid_capstyle="round", zorder=1)


def draw_node(
    axes: Axes, at: tuple[float, float], text: str, colour: str, radius: float = 0.3, size: float = 10.0
) -> None:
    """Draw a node as a disc with a text in it."""
    axes.add_patch(Circle(at, radius, facecolor=colour, edgecolor="white", linewidth=1.5, zorder=2))
    axes.text(*at, text, ha="center", va="center_baseline", color="white", fontweight="bold", fontsize=size, zorder=3)
