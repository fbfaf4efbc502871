"""Model selection: the choice of a kernel, and its cross-validated accuracy.

======================  ======================================================================================
``_search``             :class:`GraphRegressorCV`, :class:`GraphClassifierCV`, :class:`Search`
``_comparison``         comparison of kernels by closed-form leave-one-out; weights of the levels
``_evaluate``           :func:`evaluate`: cross-validated accuracy, nested or as in Du et al.
``_evaluation``         :class:`Evaluation`: its result, with all intermediate scores
``_cross_validation``   :class:`CrossValidation`: folds, protocol and seed, and the splits
``_screening``          the most promising kernels, by closed-form leave-one-out on the training graphs
``_out_of_fold``        :class:`OutOfFold`: out-of-fold predictions with decision functions, for reports
``_svm_out_of_fold``    those of support vector machines, refitted on folds
``_ridge_out_of_fold``  those of ridge regression, by leave-one-out in closed form
``_fold_grams``         matrices of kernels on descriptors, whose scales are fitted to training graphs
``_score_kernels``      scores of kernels from their matrices
``_grid``               :class:`Grid`, :class:`Candidates`: the candidate kernels, all depths in one pass
``_families``           the kinds of kernels in a combination, to describe what was tried and chosen
======================  ======================================================================================
"""

from fastgntk.selection._cross_validation import CrossValidation, inner_splits, outer_splits, read_folds
from fastgntk.selection._evaluate import evaluate, evaluate_each
from fastgntk.selection._evaluation import Evaluation, FoldChoice, SelectionRecord
from fastgntk.selection._families import count_families, describe_choices, kernel_family
from fastgntk.selection._grid import Candidates, Grid, StageProgress
from fastgntk.selection._out_of_fold import DecisionFunctions, KernelMatrix, OutOfFold
from fastgntk.selection._ridge_out_of_fold import ridge_out_of_fold, ridge_probabilities
from fastgntk.selection._search import GraphClassifierCV, GraphRegressorCV, Search
from fastgntk.selection._svm_out_of_fold import evaluation_out_of_fold, svm_out_of_fold

__all__ = ["GraphClassifierCV", "GraphRegressorCV", "Search"]
__all__ += ["Grid", "Candidates", "StageProgress"]
__all__ += ["count_families", "describe_choices", "kernel_family"]
__all__ += ["evaluate", "evaluate_each", "Evaluation", "FoldChoice", "SelectionRecord"]
__all__ += ["CrossValidation", "inner_splits", "outer_splits", "read_folds"]
__all__ += ["DecisionFunctions", "KernelMatrix", "OutOfFold"]
__all__ += ["evaluation_out_of_fold", "ridge_out_of_fold", "ridge_probabilities", "svm_out_of_fold"]
