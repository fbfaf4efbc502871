"""Reproduction of the tables and figures of the literature, and further studies, one command each.

A study is a list of cells, a function that measures one cell, a figure and a verdict. Measured cells are kept in a CSV
file, so that an interrupted study can be resumed.

=======================  ==================================================================
``_study``               :class:`Study` and :func:`run_study`: cells, files, resuming
``_figures``             style of figures, and the rows in them
``_table_time``          running times of all engines on the seven data sets
``_figure_sketch``       error and time of GᵀRᵀRASᵀSH against the sketching lemma
``_complexity``          time against size, and where sketching starts to pay
``_kernel_error``        error of the sketched kernel, and its effect on accuracy
``_table_accuracy``      accuracy on the seven data sets beside published figures and a WL subtree kernel
``_generalization``      labels of the paper's class: norms, bounds and test error
=======================  ==================================================================

To add a study: a file with a ``STUDY``, and a row in ``STUDIES``.
"""

from importlib import import_module

from fastgntk.reproduce._study import Outcome, Study, StudyOptions, run_study

__all__ = ["STUDIES", "Outcome", "Study", "StudyOptions", "get_study", "run_study"]

STUDIES = {
    "table-time": "Running times of all engines on the seven data sets, beside the paper's.",
    "figure-sketch": "Error and time of a sketched product against the paper's lemma, for every sketch.",
    "complexity": "Time against graph size with fitted exponents, and the sizes at which sketching pays.",
    "kernel-error": "Error of the sketched kernel against rate, depth and sketch, and its effect on accuracy.",
    "table-accuracy": "Accuracy on the seven data sets beside published GNTK, GIN, and a WL subtree kernel.",
    "generalization": "Labels of the paper's class: label norm, trace, test error, and their bounds.",
}
"""A one-line description of each study."""


def get_study(name: str) -> Study:
    """Return the study of that name."""
    study: Study = import_module(f"fastgntk.reproduce._{name.replace('-', '_')}").STUDY
    return study
