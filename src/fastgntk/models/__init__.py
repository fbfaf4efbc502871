"""Models: estimators with the interface of scikit-learn.

====================  =====================================================================
``_base``             base of all estimators, checks of graphs
``_graph_model``      a function of graphs: fitted by ridge regression, explained, saved
``_regressor``        ridge regression, the mean of a Gaussian process
``_classifier``       support vector machines or ridge regression
``_node_models``      regression and classification of the nodes of one graph
``_transformers``     transformers for pipelines: kernel rows, Nyström features and their landmarks
``_random_features``  random features, as a transformer or as the basis of a model
``_training_kernel``  the kernel matrix of training graphs, and kernel values of new with training graphs
``_svm``              support vector machines on a kernel matrix
``_calibration``      intervals and probabilities from out-of-fold predictions
``_folds``            stratified folds, for cross-validation and calibration
``_targets``          checks of targets, classes and sample weights
====================  =====================================================================
"""

from fastgntk.models._base import FrozenParameters, check_features
from fastgntk.models._calibration import Intervals, Sigmoids
from fastgntk.models._classifier import ClassificationModel, GraphClassifier
from fastgntk.models._folds import Split, lenient_stratified_folds, stratified_folds
from fastgntk.models._graph_model import Basis, Expansion, Explanation, GraphModel, check_alphas, check_solver_options
from fastgntk.models._node_models import NodeClassifier, NodeRegressor
from fastgntk.models._random_features import FeatureBasis, RandomFeatures, n_drawn_columns
from fastgntk.models._regressor import GraphRegressor, RegressionModel
from fastgntk.models._svm import (
    FittedSVMs,
    fit_svms,
    kernel_variance,
    predict_split,
    predicted_class,
    score_splits,
    score_svms,
)
from fastgntk.models._targets import Targets, check_classes, check_sample_weight, check_targets, class_signs
from fastgntk.models._training_kernel import KERNEL_CONSTANT, KernelBasis, TrainingKernel
from fastgntk.models._transformers import KernelTransformer, Nystroem

__all__ = ["FrozenParameters", "check_features"]
__all__ += ["Intervals", "Sigmoids", "Split", "lenient_stratified_folds", "stratified_folds"]
__all__ += ["ClassificationModel", "GraphClassifier"]
__all__ += ["Basis", "Expansion", "Explanation", "GraphModel", "check_alphas", "check_solver_options"]
__all__ += ["KERNEL_CONSTANT", "KernelBasis", "TrainingKernel", "NodeClassifier", "NodeRegressor"]
__all__ += ["FeatureBasis", "RandomFeatures", "n_drawn_columns", "GraphRegressor", "RegressionModel"]
__all__ += ["FittedSVMs", "fit_svms", "kernel_variance"]
__all__ += ["predict_split", "predicted_class", "score_splits", "score_svms"]
__all__ += ["Targets", "check_classes", "check_sample_weight", "check_targets", "class_signs"]
__all__ += ["KernelTransformer", "Nystroem"]
