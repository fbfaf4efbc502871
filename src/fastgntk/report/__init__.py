"""HTML reports of an evaluation or a fitted model: one file each, without external resources.

=============  ==============================================================================
``_write``     :func:`report_evaluation` and :func:`report_training`: collect, render, write
``_schema``    schema of the report data
``data/``      collects the report data from results
``_page``      renders the page from the report data
``_sections``  its sections as static HTML
``_markup``    escaped text, numbers, tables
``assets/``    frame, style sheet and JavaScript
=============  ==============================================================================

RDKit and scikit-learn are imported inside functions: the first is optional, the second takes a second to load.
"""

from fastgntk.report._write import report_evaluation, report_training

__all__ = ["report_evaluation", "report_training"]
