"""Style of figures: one colour per engine and per sketch, legible in print and for colour-blind readers."""

from typing import Any

__all__ = ["ENGINE_COLOURS", "RC", "SKETCH_COLOURS", "SKETCH_MARKERS"]

# Okabe and Ito's palette.
_BLACK, _ORANGE, _SKY, _GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
_BLUE, _RED, _PURPLE = "#0072B2", "#D55E00", "#CC79A7"

ENGINE_COLOURS = {"kronecker": _BLACK, "decoupled": _SKY, "sketched": _ORANGE, "lossless": _GREEN}
SKETCH_COLOURS = {"ams": _BLUE, "gaussian": _ORANGE, "srht": _GREEN, "countsketch": _RED, "sparse": _PURPLE}
SKETCH_MARKERS = {"ams": "o", "gaussian": "s", "srht": "^", "countsketch": "v", "sparse": "D"}

RC: Any = {
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
