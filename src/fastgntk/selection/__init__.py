"""Model selection: which kernel, and how well it predicts.

====================  ==========================================================================
``_search``           :class:`GNTKRegressorCV`, :class:`GNTKClassifierCV`
``_scoring``          kernels compared by closed-form leave-one-out, all depths in one pass
``_level_weights``    weights of the levels, by marginal likelihood
``_evaluate``         :func:`evaluate`: cross-validated accuracy, nested or as in Du et al.
``_out_of_fold``      predictions of graphs by models that never saw them, for reports
``_grid``             :class:`Grid`: the options that selection tries
``_folds``            splits, made or given
====================  ==========================================================================
"""

from fastgntk.selection._evaluate import Choice, Evaluation, Protocol, Record, StageProgress, evaluate
from fastgntk.selection._folds import inner_splits, outer_splits, read_folds
from fastgntk.selection._grid import Candidate, Grid
from fastgntk.selection._out_of_fold import (
    LeftOut,
    evaluation_left_out,
    machines_left_out,
    ridge_left_out,
    ridge_probabilities,
)
from fastgntk.selection._search import GNTKClassifierCV, GNTKRegressorCV

__all__ = [
    "Choice",
    "Evaluation",
    "Protocol",
    "Record",
    "StageProgress",
    "evaluate",
    "inner_splits",
    "outer_splits",
    "read_folds",
    "Candidate",
    "Grid",
    "LeftOut",
    "evaluation_left_out",
    "machines_left_out",
    "ridge_left_out",
    "ridge_probabilities",
    "GNTKClassifierCV",
    "GNTKRegressorCV",
]
