"""Models: estimators with the interface of scikit-learn.

====================  =====================================================================
``_base``             base of all estimators, checks of graphs
``_graph_model``      a function of graphs: fitted by ridge regression, explained, saved
``_regressor``        ridge regression, the mean of a Gaussian process
``_classifier``       support vector machines or ridge regression
``_nodes``            regression and classification of the nodes of one graph
``_transformers``     steps of pipelines: kernel rows, Nyström features and their landmarks
``_random_features``  features without any pair of graphs: as a step, or in place of kernel values
``_kernel_values``    kernel values among training graphs, and from new graphs to them
``_svm``              support vector machines on a kernel matrix
``_calibration``      intervals and probabilities from out-of-fold predictions; folds
``_targets``          targets, classes and sample weights, checked
====================  =====================================================================
"""

from fastgntk.models._base import FrozenParameters, check_features
from fastgntk.models._calibration import Intervals, Sigmoids, Split, spread_folds, stratified_folds
from fastgntk.models._classifier import ClassificationModel, GraphClassifier
from fastgntk.models._graph_model import Expansion, Explanation, GraphModel, Rows, check_alphas, check_solver_options
from fastgntk.models._kernel_values import INTERCEPT, KernelRows, TrainingKernel
from fastgntk.models._nodes import NodeClassifier, NodeRegressor
from fastgntk.models._random_features import FeatureRows, RandomFeatures, drawn_width
from fastgntk.models._regressor import GraphRegressor, RegressionModel
from fastgntk.models._svm import FittedSVMs, fit_svms, predict_split, predicted_class, score_splits, score_svms
from fastgntk.models._targets import Targets, check_classes, check_sample_weight, check_targets, class_signs
from fastgntk.models._transformers import KernelTransformer, Nystroem

__all__ = [
    "FrozenParameters",
    "check_features",
    "Intervals",
    "Sigmoids",
    "Split",
    "spread_folds",
    "stratified_folds",
    "ClassificationModel",
    "GraphClassifier",
    "Expansion",
    "Explanation",
    "GraphModel",
    "Rows",
    "check_alphas",
    "check_solver_options",
    "INTERCEPT",
    "KernelRows",
    "TrainingKernel",
    "NodeClassifier",
    "NodeRegressor",
    "FeatureRows",
    "RandomFeatures",
    "drawn_width",
    "GraphRegressor",
    "RegressionModel",
    "FittedSVMs",
    "fit_svms",
    "predict_split",
    "predicted_class",
    "score_splits",
    "score_svms",
    "Targets",
    "check_classes",
    "check_sample_weight",
    "check_targets",
    "class_signs",
    "KernelTransformer",
    "Nystroem",
]
