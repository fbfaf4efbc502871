"""Pictures of what a model found: :func:`draw_attribution` colours each node by its share in a prediction.

A report is a page in one HTML file. What it tells are plain values (``_facts``), from which the page is made.

=================  ==================================================================================
``_attribution``   :func:`draw_attribution`: checks what came, draws, writes the file
``_scale``         from values to colours and to numbers
``_frame``         title, colour bar and caption around a drawing, as SVG or PNG
``_molecule``      a molecule, drawn by RDKit
``_network``       any other graph: nodes, edges, labels and notes
``_layout``        where the nodes of such a graph are put
``_notes``         small numbers beside nodes
``_facts``         what a report tells, as plain values
``_page``          the report as one HTML file, put together from the files in ``page/``
``_sections``      its parts that are there without JavaScript, in order
``_quality``       those about predictions, options and the kernel
``_markup``        text, numbers and tables as HTML
=================  ==================================================================================

RDKit, matplotlib and networkx are imported inside functions: without them everything else still works.
"""

from fastgntk.report._attribution import draw_attribution

__all__ = ["draw_attribution"]
