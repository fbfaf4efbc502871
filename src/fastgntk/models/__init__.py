"""Models: estimators with the interface of scikit-learn.

========================  =====================================================================
``_base``                 what estimators share: kernel, checks of graphs, saving
``_regressor``            ridge regression, the mean of a Gaussian process
``_classifier``           support vector machines or ridge regression
``_nodes``                regression and classification of the nodes of one graph
``_kernel_transformer``   kernel rows as a step of a pipeline
``_nystroem``             features from kernel values with landmarks
``_landmarks``            which graphs become landmarks
``_random_features``      features without any pair of graphs
``_training_kernel``      kernel values among training graphs, as solvers need them
``_kernel_rows``          kernel values from new graphs to training graphs
``_feature_rows``         random features in place of kernel values
``_ridge``                ridge regression by any solver, as a function of graphs
``_svm``                  support vector machines on a kernel matrix
``_targets``              targets and classes, checked
``_folds``                stratified folds
``_calibration``          intervals and probabilities from out-of-fold predictions
``_explanation``          exact contributions of nodes and training graphs
========================  =====================================================================
"""

from fastgntk.models._base import FrozenParameters, GraphEstimator, GraphModel
from fastgntk.models._calibration import Intervals, Sigmoids
from fastgntk.models._classifier import ClassificationModel, GraphClassifier, class_signs
from fastgntk.models._explanation import Expansion, Explanation, Rows
from fastgntk.models._feature_rows import FeatureRows
from fastgntk.models._folds import Split, spread_folds, stratified_folds
from fastgntk.models._kernel_rows import KernelRows, check_features
from fastgntk.models._kernel_transformer import KernelTransformer
from fastgntk.models._nodes import NodeClassifier, NodeRegressor
from fastgntk.models._nystroem import Nystroem
from fastgntk.models._random_features import RandomFeatures, drawn_width
from fastgntk.models._regressor import GraphRegressor, RegressionModel
from fastgntk.models._ridge import check_alphas, check_solver_options
from fastgntk.models._svm import (
    FittedSVMs,
    fit_svms,
    out_of_fold_decisions,
    predict_split,
    predicted_class,
    score_splits,
    score_svms,
)
from fastgntk.models._targets import Targets, check_classes, check_sample_weight, check_targets
from fastgntk.models._training_kernel import INTERCEPT, TrainingKernel

__all__ = [
    "FrozenParameters",
    "GraphEstimator",
    "GraphModel",
    "Intervals",
    "Sigmoids",
    "ClassificationModel",
    "GraphClassifier",
    "class_signs",
    "Expansion",
    "Explanation",
    "Rows",
    "FeatureRows",
    "Split",
    "spread_folds",
    "stratified_folds",
    "KernelRows",
    "check_features",
    "KernelTransformer",
    "NodeClassifier",
    "NodeRegressor",
    "Nystroem",
    "RandomFeatures",
    "drawn_width",
    "GraphRegressor",
    "RegressionModel",
    "FittedSVMs",
    "fit_svms",
    "out_of_fold_decisions",
    "predicted_class",
    "predict_split",
    "score_svms",
    "score_splits",
    "Targets",
    "check_alphas",
    "check_classes",
    "check_solver_options",
    "check_sample_weight",
    "check_targets",
    "INTERCEPT",
    "TrainingKernel",
]
