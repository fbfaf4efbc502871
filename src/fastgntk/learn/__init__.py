"""Learning with the kernel: estimators that predict, and :func:`evaluate`, which says how well the kernel classifies.

===================  ==========================================================================================
``_regressor``       :class:`GNTKRegressor`: ridge regression, the mean of a Gaussian process
``_classifier``      :class:`GNTKClassifier`: support vector machines or ridge regression
``_search``          :class:`GNTKRegressorCV`, :class:`GNTKClassifierCV`: the same with options chosen
``_selection``       which kernel and which ridge, by leave-one-out
``_mix``             weights of the levels, by marginal likelihood
``_transformer``     :class:`GNTKKernel`: kernel rows, for a pipeline
``_nystroem``        :class:`GNTKNystroem`: features from kernel values with some graphs
``_random_features`` :class:`GNTKRandomFeatures`: features without any pair of graphs
``_process_kernel``  :class:`GNTKProcessKernel`: the kernel for scikit-learn's Gaussian processes
``_grakel_style``    :class:`GrakelGNTK`: the kernel with the methods of GraKeL
``_nodes``           :class:`GNTKNodeRegressor`, :class:`GNTKNodeClassifier`: about the nodes of one graph
``_estimator``       what these share
``_rows``            kernel values among training graphs, and from new ones to these
``_feature_rows``    random features in their place
``_ridge``           ridge regression by any solver, as a function of graphs
``_solver_choice``   which solver, and why
``solve/``           ridge regression on plain arrays: exact and approximate solvers
``_machine``         support vector machines on a kernel matrix
``_checks``          options, checked
``_targets``         targets of regression, checked and scaled
``_calibration``     intervals and probabilities from what was left out
``_explanation``     :class:`Explanation`: exact shares of nodes and training graphs
``_model_file``      :func:`load_model`, and what ``save`` writes
``_container``       a zip of JSON and .npy that can be read without trust
``_packing``         graphs and node features as plain arrays
``_evaluate``        :func:`evaluate`: cross-validated accuracy, nested or as in Du et al.
``_left_out``        :class:`LeftOut`: what graphs got from models that never saw them, for reports
``_grid``            :class:`Grid`: the options that selection tries
``_folds``           splits, made or given
===================  ==========================================================================================
"""

from fastgntk.learn._classifier import GNTKClassifier
from fastgntk.learn._evaluate import Choice, Evaluation, Protocol, Record, StageProgress, evaluate
from fastgntk.learn._explanation import Explanation
from fastgntk.learn._folds import read_folds
from fastgntk.learn._grakel_style import GrakelGNTK
from fastgntk.learn._grid import Candidate, Grid
from fastgntk.learn._left_out import LeftOut
from fastgntk.learn._model_file import load_model
from fastgntk.learn._nodes import GNTKNodeClassifier, GNTKNodeRegressor
from fastgntk.learn._nystroem import GNTKNystroem
from fastgntk.learn._process_kernel import GNTKProcessKernel
from fastgntk.learn._random_features import GNTKRandomFeatures
from fastgntk.learn._regressor import GNTKRegressor
from fastgntk.learn._search import GNTKClassifierCV, GNTKRegressorCV
from fastgntk.learn._solver_choice import SOLVER_NAMES
from fastgntk.learn._transformer import GNTKKernel

__all__ = [
    "GNTKRegressor",
    "GNTKClassifier",
    "GNTKRegressorCV",
    "GNTKClassifierCV",
    "GNTKKernel",
    "GNTKNystroem",
    "GNTKRandomFeatures",
    "GNTKNodeRegressor",
    "GNTKNodeClassifier",
    "GNTKProcessKernel",
    "GrakelGNTK",
    "Explanation",
    "load_model",
    "evaluate",
    "Evaluation",
    "Choice",
    "Record",
    "LeftOut",
    "Protocol",
    "StageProgress",
    "Grid",
    "Candidate",
    "read_folds",
    "SOLVER_NAMES",
]
