"""Data, options and tolerances that the report tests share."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from tests.tables import Tolerance

from fastgntk import Compute, datasets, gram
from fastgntk.selection import Grid

DATA = datasets.load("MUTAG")
GRID = Grid(blocks=(1, 2), layers=(1, 2), scale=("degree",), jump=(True,), normalize=(True, False), C=(1.0, 100.0))
ONE_JOB = Compute(n_jobs=1)
SIZES = np.digitize(DATA.graphs.sizes, [15, 20])  # three classes

# Contributions have three digits of the largest, other numbers five; probabilities and cosines are rounded too.
CONTRIBUTIONS = Tolerance(relative=0.0, absolute=6e-3)
PRINTED = Tolerance(relative=1e-4, absolute=1e-4)
PROBABILITY = 1e-3
COSINE = 1e-5
PERCENT = 1e-3
SHADE = 0.01  # a mean of cosines in 255 shades that start at a quantile
# Eigenvectors of a kernel that is good to the last digits.
AXES = Tolerance(relative=1e-6, absolute=1e-9)
# Decisions are kernel values, good to 1e-8, times coefficients of up to C.
DECISION = 1e-5
# libsvm stops within 0.01, and with opposite signs it stops elsewhere.
OPPOSITE = 0.05
GRAPH = 0.6  # per cent of accuracy: one of 188 graphs


def svm_predictions(result, y, graphs=DATA.graphs):
    """Out-of-fold predictions by scikit-learn's SVM."""
    predicted = np.zeros(len(y), dtype=y.dtype)
    grams = {choice.kernel: gram(graphs, choice.kernel) for choice in result.choices}
    folds = StratifiedKFold(5, shuffle=True, random_state=3).split(y, y)
    for (train, test), choice in zip(folds, result.choices, strict=True):
        K = grams[choice.kernel]
        unit = np.diagonal(K)[train].mean() - K[np.ix_(train, train)].mean()
        svm = SVC(kernel="precomputed", C=choice.C, tol=0.01).fit(K[np.ix_(train, train)] / unit, y[train])
        predicted[test] = svm.predict(K[np.ix_(test, train)] / unit)
    return predicted
