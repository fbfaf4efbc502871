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
``_kernel_rows``          kernel values among training graphs, and from new graphs to these
``_feature_rows``         random features in place of kernel values
``_ridge``                ridge regression by any solver, as a function of graphs
``_svm``                  support vector machines on a kernel matrix
``_targets``              targets and classes, checked
``_folds``                stratified folds
``_calibration``          intervals and probabilities from out-of-fold predictions
``_explanation``          exact contributions of nodes and training graphs
========================  =====================================================================
"""

from fastgntk.models._base import GraphEstimator, GraphModel
from fastgntk.models._calibration import Intervals, Sigmoids
from fastgntk.models._classifier import ClassificationModel, GNTKClassifier, class_signs
from fastgntk.models._explanation import Expansion, Explanation, Rows
from fastgntk.models._feature_rows import FeatureRows
from fastgntk.models._folds import Split, spread_folds, stratified_folds
from fastgntk.models._kernel_rows import INTERCEPT, KernelOptions, KernelRows, TrainingKernel, settled
from fastgntk.models._kernel_transformer import GNTKKernel
from fastgntk.models._nodes import GNTKNodeClassifier, GNTKNodeRegressor
from fastgntk.models._nystroem import GNTKNystroem
from fastgntk.models._random_features import GNTKRandomFeatures, drawn_width
from fastgntk.models._regressor import GNTKRegressor, RegressionModel
from fastgntk.models._svm import (
    Machines,
    decide,
    left_out_decisions,
    place,
    predict_split,
    score_machines,
    score_splits,
)
from fastgntk.models._targets import Targets, check_classes, check_sample_weight, check_targets

__all__ = [
    "GraphEstimator",
    "GraphModel",
    "Intervals",
    "Sigmoids",
    "ClassificationModel",
    "GNTKClassifier",
    "class_signs",
    "Expansion",
    "Explanation",
    "Rows",
    "FeatureRows",
    "Split",
    "spread_folds",
    "stratified_folds",
    "INTERCEPT",
    "KernelOptions",
    "KernelRows",
    "TrainingKernel",
    "settled",
    "GNTKKernel",
    "GNTKNodeClassifier",
    "GNTKNodeRegressor",
    "GNTKNystroem",
    "GNTKRandomFeatures",
    "drawn_width",
    "GNTKRegressor",
    "RegressionModel",
    "Machines",
    "decide",
    "left_out_decisions",
    "place",
    "predict_split",
    "score_machines",
    "score_splits",
    "Targets",
    "check_classes",
    "check_sample_weight",
    "check_targets",
]
