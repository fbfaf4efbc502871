"""What was found, to look at: pictures of predictions, and pages about an evaluation or a training.

:func:`draw_attribution` colours each node by its share in a prediction; :func:`report_evaluation` and
:func:`report_training` write an HTML page.

A page is one HTML file. What it tells are plain values (``_facts``), collected first, from which it is then made.

=================  ==================================================================================
``_attribution``   :func:`draw_attribution`: checks what came, draws, writes the file
``_scale``         from values to colours and to numbers
``_frame``         title, colour bar and caption around a drawing, as SVG or PNG
``_molecule``      a molecule, drawn by RDKit
``_network``       any other graph: nodes, edges, labels and notes
``_layout``        where the nodes of such a graph are put
``_notes``         small numbers beside nodes
``_write``         :func:`report_evaluation`, :func:`report_training`: collect, render, write the page
``_facts``         what a page tells, as plain values
``_collect``       these of an evaluation
``_training``      these of a fitted model
``_source``        the data, the run and the time of its stages
``_measures``      confusion, calibration, coverage
``_maps``          the kernel as a picture, and graphs as points
``_beside``        what simpler methods reach, and what others printed
``_speed``         time beside that of a baseline; how far nodes were merged
``_graphs``        what is told of each graph, in so many bytes
``_drawings``      nodes and edges that are drawn
``_node_parts``    shares of nodes in what was said
``_cautions``      what a reader should know before believing a score
``_page``          the report as one HTML file, put together from the files in ``page/``
``_sections``      its parts that are there without JavaScript, in order
``_quality``       those about predictions, options and the kernel
``_markup``        text, numbers and tables as HTML
=================  ==================================================================================

RDKit, matplotlib, networkx and scikit-learn are imported inside functions: without the first three everything else
still works, and the last takes a second.
"""

from fastgntk.plotting import draw_attribution
from fastgntk.report._write import report_evaluation, report_training

__all__ = ["draw_attribution", "report_evaluation", "report_training"]
