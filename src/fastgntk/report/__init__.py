"""Pictures of what a model found: :func:`draw_attribution` colours each node by its share in a prediction.

=================  ==================================================================================
``_attribution``   :func:`draw_attribution`: checks what came, draws, writes the file
``_scale``         from values to colours and to numbers
``_frame``         title, colour bar and caption around a drawing, as SVG or PNG
``_molecule``      a molecule, drawn by RDKit
``_network``       any other graph: nodes, edges, labels and notes
``_layout``        where the nodes of such a graph are put
``_notes``         small numbers beside nodes
=================  ==================================================================================

RDKit, matplotlib and networkx are imported inside functions: without them everything else still works.
"""

from fastgntk.report._attribution import draw_attribution

__all__ = ["draw_attribution"]
