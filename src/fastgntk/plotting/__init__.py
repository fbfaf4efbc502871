"""Figures: a graph with each node coloured by its contribution to a prediction.

=================  ==================================================================
``_attribution``   :func:`draw_attribution`
``_network``       a graph as circles and lines, drawn by matplotlib
``_molecule``      a molecule, drawn by RDKit
``_layout``        positions of nodes
``_frame``         title, colour bar and caption
``_value_labels``  numbers next to nodes
``_scale``         colours and numbers of values
=================  ==================================================================
"""

from fastgntk.plotting._attribution import draw_attribution
from fastgntk.plotting._molecule import read_molecule

__all__ = ["draw_attribution", "read_molecule"]
