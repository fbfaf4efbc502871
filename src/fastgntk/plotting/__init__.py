"""Pictures: a graph with each node coloured by its contribution to a prediction.

=================  ==================================================================
``_attribution``   :func:`draw_attribution`
``_network``       a graph as circles and lines, drawn by matplotlib
``_molecule``      a molecule, drawn by RDKit
``_layout``        where nodes are put
``_frame``         title, colour bar and caption
``_node_notes``    numbers beside nodes
``_scale``         from values to colours
=================  ==================================================================
"""

from fastgntk.plotting._attribution import draw_attribution
from fastgntk.plotting._molecule import read_molecule

__all__ = [
    "draw_attribution",
    "read_molecule",
]
