"""Reproduction of the tables and figures of the literature, and further studies, one command each.

A study is a list of cells, a function that measures one cell, a figure and a verdict. Measured cells are kept in a CSV
file, so that an interrupted study can be resumed. ``_study`` has :class:`Study` and :func:`run_study`: cells, files and
resuming; ``_figures`` the style of figures; every other file is one study of ``STUDIES``, named after it.

To add a study: a file with a ``STUDY``, and a row in ``STUDIES``.
"""

from importlib import import_module

from fastgntk.reproduce._study import Outcome, Study, StudyOptions, run_study

__all__ = ["STUDIES", "Outcome", "Study", "StudyOptions", "get_study", "run_study"]

STUDIES = {
    "table-time": "Running times of all engines on the seven data sets, compared with the paper.",
    "figure-sketch": "Error and time of a sketched product against the paper's lemma, for every sketch.",
    "complexity": "Running time and operation counts by graph size, blocks and layers, and when sketching is faster.",
    "end-to-end": "Construction of the kernel matrix against solving the regression.",
    "kernel-error": "Error of the sketched kernel against rate, depth and sketch, and its effect on accuracy.",
    "table-accuracy": "Accuracy on the seven data sets, compared with published GNTK and GIN, and a WL subtree kernel.",
    "generalization": "Generalization bound for the paper's class of labels: label norm, trace, test error.",
}
"""A one-line description of each study."""


def get_study(name: str) -> Study:
    """Return the study of that name."""
    study: Study = import_module(f"fastgntk.reproduce._{name.replace('-', '_')}").STUDY
    return study
