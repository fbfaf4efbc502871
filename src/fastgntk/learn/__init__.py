"""Learning with the kernel: :func:`evaluate` says how well it classifies, docs/evaluate.md what to do with that.

==============  ====================================================================
``_evaluate``   :func:`evaluate`: cross-validated accuracy, nested or as in Du et al.
``_grid``       :class:`Grid`: the options that selection tries
``_folds``      splits, made or given
``_machine``    the support vector machine: accuracies of one kernel
==============  ====================================================================
"""

from fastgntk.learn._evaluate import Choice, Evaluation, Protocol, StageProgress, evaluate
from fastgntk.learn._folds import read_folds
from fastgntk.learn._grid import Candidate, Grid

__all__ = ["evaluate", "Evaluation", "Choice", "Protocol", "StageProgress", "Grid", "Candidate", "read_folds"]
