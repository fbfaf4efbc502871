"""The support vector machine: accuracies of one kernel on given splits."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.learn._folds import Split
from fastgntk.matrix import single_threaded_blas

__all__ = ["score_splits"]

# At large C libsvm takes ten times the steps for its default tolerance of 0.001, for the same predictions.
_TOLERANCE = 0.01
# A fit that needs more steps than this is used as it is, and counted.
_MAX_STEPS = 200_000


def score_splits(
    kernel: NDArray[np.float64], y: NDArray[Any], splits: Sequence[Split], Cs: Sequence[float]
) -> tuple[NDArray[np.float64], int]:
    """Return the accuracy for every split and C, and how many fits were stopped early."""
    import sklearn
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    out = np.empty((len(splits), len(Cs)))
    stopped = 0
    # Inputs were made here and are finite: checking them again would take most of the time of a small fit.
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True), single_threaded_blas():
        for i, (train, test) in enumerate(splits):
            among, across = kernel[np.ix_(train, train)], kernel[np.ix_(test, train)]
            # C means the same for every kernel when the training graphs have variance 1 in feature space.
            unit = _variance(among)
            among, across = among / unit, across / unit
            for k, C in enumerate(Cs):
                machine = SVC(kernel="precomputed", C=C, tol=_TOLERANCE, max_iter=_MAX_STEPS)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", ConvergenceWarning)
                    machine.fit(among, y[train])
                stopped += any(issubclass(w.category, ConvergenceWarning) for w in caught)
                out[i, k] = np.mean(machine.predict(across) == y[test])
    return out, stopped


def _variance(kernel: NDArray[np.float64]) -> float:
    """Return the mean squared distance of graphs from their centre in feature space; 1 if they are all the same."""
    size = float(kernel.diagonal().mean())
    variance = size - float(kernel.mean())
    return variance if variance > 1e-12 * size else 1.0
