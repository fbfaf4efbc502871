"""Model selection: which kernel, and how well it predicts.

====================  ==========================================================================
``_search``           :class:`GraphRegressorCV`, :class:`GraphClassifierCV`, :class:`Search`
``_scoring``          kernels compared by closed-form leave-one-out, all depths in one pass
``_level_weights``    weights of the levels, by marginal likelihood
``_evaluate``         :func:`evaluate`: cross-validated accuracy, nested or as in Du et al.
``_out_of_fold``      out-of-fold predictions, for reports
``_grid``             :class:`Grid`, :class:`Candidates`: the kernels that are tried, and which come from one pass
``_folds``            splits, made or given
====================  ==========================================================================
"""

from fastgntk.selection._evaluate import Choice, Evaluation, Protocol, Record, StageProgress, evaluate
from fastgntk.selection._folds import inner_splits, outer_splits, read_folds
from fastgntk.selection._grid import Candidates, Grid, passes_of
from fastgntk.selection._out_of_fold import (
    OutOfFold,
    evaluation_out_of_fold,
    ridge_out_of_fold,
    ridge_probabilities,
    svm_out_of_fold,
)
from fastgntk.selection._search import GraphClassifierCV, GraphRegressorCV, Search

__all__ = [
    "GraphClassifierCV",
    "GraphRegressorCV",
    "Search",
    "Grid",
    "Candidates",
    "evaluate",
    "Evaluation",
    "Choice",
    "Record",
    "Protocol",
    "StageProgress",
    "read_folds",
    "inner_splits",
    "outer_splits",
    "passes_of",
    "OutOfFold",
    "evaluation_out_of_fold",
    "ridge_out_of_fold",
    "ridge_probabilities",
    "svm_out_of_fold",
]
