"""Data, options and tolerances that the report tests share."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from tests.tables import Tolerance

from fastgntk import GNTK, NodeFeatures, datasets, gram, normalize
from fastgntk.selection import Grid

DATA = datasets.load("MUTAG")
LABELS = NodeFeatures("labels").fit(DATA.graphs)  # a subset of the graphs may lack some labels
GRID = Grid(blocks=(1, 2), layers=(1, 2), scale=("degree",), jump=(True,), normalize=(True, False), C=(1.0, 100.0))
SIZES = np.digitize(DATA.graphs.sizes, [15, 20])  # three classes

# Contributions have three digits of the largest, other numbers five; probabilities and cosines are rounded too.
CONTRIBUTIONS = Tolerance(relative=0.0, absolute=6e-3)
PRINTED = Tolerance(relative=1e-4, absolute=1e-4)
PROBABILITY = 1e-3
COSINE = 1e-5
PERCENT = 1e-3
# Eigenvectors of a kernel that is good to the last digits.
AXES = Tolerance(relative=1e-6, absolute=1e-9)
# Decisions are kernel values, good to 1e-8, times coefficients of up to C.
DECISION = 1e-5
# libsvm stops within 0.01, and with opposite signs it stops elsewhere.
OPPOSITE = 0.05
GRAPH = 0.6  # per cent of accuracy: one of 188 graphs


def choice_kernel(choice):
    K = gram(DATA.graphs, GNTK(choice.blocks, choice.layers, choice.scale, choice.jump))
    return normalize(K) if choice.normalize else K


def svm_predictions(result, y):
    """Out-of-fold predictions by scikit-learn's SVM."""
    predicted = np.zeros(len(y), dtype=y.dtype)
    folds = StratifiedKFold(5, shuffle=True, random_state=3).split(y, y)
    for (train, test), choice in zip(folds, result.choices, strict=True):
        K = choice_kernel(choice)
        unit = np.diagonal(K)[train].mean() - K[np.ix_(train, train)].mean()
        svm = SVC(kernel="precomputed", C=choice.C, tol=0.01).fit(K[np.ix_(train, train)] / unit, y[train])
        predicted[test] = svm.predict(K[np.ix_(test, train)] / unit)
    return predicted
