"""Out-of-fold predictions from a kernel matrix: against refits without each graph, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import Tolerance

from fastgntk import GNTK, InputError
from fastgntk.selection import KernelMatrix, ridge_out_of_fold, svm_out_of_fold

# An inverse of 12 × 12 with a condition number below 1e4, against refits.
REFITTED = Tolerance(relative=1e-9, absolute=1e-10)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 3))
K = X @ X.T
COSINE = K / np.sqrt(np.outer(K.diagonal(), K.diagonal()))
Y = RNG.standard_normal((12, 1)) + X[:, :1]
RIDGE = 0.3


def refit(i: int) -> tuple[np.ndarray, float]:
    """Weights of all graphs and intercept of the regression without graph i."""
    rest = np.delete(np.arange(12), i)
    alpha = np.linalg.solve(K[np.ix_(rest, rest)] + 1.0 + RIDGE * np.eye(11), (Y - Y.mean())[rest, 0])
    return np.insert(alpha, i, 0.0), Y.mean() + alpha.sum()


def test_functions_of_ridge_regression_are_those_of_refits():
    refits = [refit(i) for i in range(12)]
    predictions = np.array([[K[i] @ weights + intercept] for i, (weights, intercept) in enumerate(refits)])
    matrix = KernelMatrix(GNTK(), "lossless", K, COSINE)
    out_of_fold = ridge_out_of_fold(matrix, Y, Y.mean(axis=0), predictions, RIDGE, classes=False)
    functions = out_of_fold.function(np.array([7, 2]))
    for row, i in enumerate((7, 2)):
        REFITTED.check(functions.weights[row], refits[i][0])
        REFITTED.check(functions.intercepts[row], refits[i][1])
        nearest = sorted(set(range(12)) - {i}, key=lambda j, i=i: -COSINE[i, j])[:3]
        assert out_of_fold.nearest[i].tolist() == nearest
        REFITTED.check(out_of_fold.cosines[i], COSINE[i, nearest])


def test_functions_that_do_not_reproduce_the_predictions_are_left_out():
    matrix = KernelMatrix(GNTK(), "lossless", K, None)
    out_of_fold = ridge_out_of_fold(matrix, Y, Y.mean(axis=0), Y, RIDGE, classes=False)
    assert not out_of_fold.can_be_explained
    assert (out_of_fold.nearest == -1).all()
    assert not out_of_fold.cosines.any()


def test_support_vector_machines_without_a_matrix_are_refused():
    with pytest.raises(InputError, match="need the kernel matrix; pass K and cosine in KernelMatrix"):
        svm_out_of_fold(KernelMatrix(GNTK(), "lossless", K, None), np.arange(12) % 2, 1.0, 0)
