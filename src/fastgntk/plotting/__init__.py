"""Figures: a graph with each node coloured by its contribution to a prediction.

================  ========================================================================
``_attribution``  :func:`draw_attribution`
``_network``      a graph as circles and lines, drawn by matplotlib
``_molecule``     a molecule, drawn by RDKit
``_layout``       positions of nodes
``_figure``       the figure around: colours, title, colour bar, caption, value labels
================  ========================================================================
"""

from fastgntk.plotting._attribution import draw_attribution
from fastgntk.plotting._molecule import read_molecule

__all__ = ["draw_attribution", "read_molecule"]
