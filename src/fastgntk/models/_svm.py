"""Support vector machines on a kernel matrix, fitted or scored on splits."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import single_threaded_blas
from fastgntk.models._folds import Split

__all__ = [
    "FittedSVMs",
    "fit_svms",
    "kernel_variance",
    "predict_split",
    "predicted_class",
    "score_splits",
    "score_svms",
]

# At large C, libsvm needs ten times as many steps for its default tolerance of 0.001, with the same predictions.
_TOLERANCE = 0.01
# A fit that needs more steps is used without convergence; `evaluate` counts such fits.
_MAX_STEPS = 200_000


def score_splits(K: Array, y: NDArray[Any], splits: Sequence[Split], Cs: Sequence[float]) -> tuple[Array, Ints]:
    """Return the accuracy for every split and C, and the number of fits stopped early in each split."""
    out = np.empty((len(splits), len(Cs)))
    stopped = np.zeros(len(splits), dtype=np.int64)
    with single_threaded_blas():  # once for all fits, because entering takes as long as a small fit
        for i, (train, test) in enumerate(splits):
            for k, (predicted, early) in enumerate(predict_split(K, y, (train, test), Cs)):
                stopped[i] += early
                out[i, k] = np.mean(predicted == y[test])
    return out, stopped


def predict_split(K: Array, y: NDArray[Any], split: Split, Cs: Sequence[float]) -> Iterator[tuple[NDArray[Any], bool]]:
    """Yield the predicted classes of the test graphs for every C, and whether the fit was stopped early."""
    import sklearn
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    train, test = split
    # Inputs are known to be finite, and checking them would take most of the time of a small fit.
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True), single_threaded_blas():
        K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
        # C has the same meaning for every kernel if the training graphs have variance 1 in feature space.
        variance = kernel_variance(K_train)
        K_train, K_test = K_train / variance, K_test / variance
        for C in Cs:
            svm = SVC(kernel="precomputed", C=C, tol=_TOLERANCE, max_iter=_MAX_STEPS)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                svm.fit(K_train, y[train])
            yield svm.predict(K_test), any(issubclass(w.category, ConvergenceWarning) for w in caught)


def kernel_variance(K: Array) -> float:
    """Return the mean squared distance of graphs from their centre in feature space; 1 if all are equal."""
    mean_square = float(K.diagonal().mean())
    variance = mean_square - float(K.mean())
    return variance if variance > 1e-12 * mean_square else 1.0


@dataclass(frozen=True, eq=False)
class FittedSVMs:
    """k decision functions, f(G) = intercept + Σ_i coefficient_i k(G, G_i)."""

    coefficients: Array  # (n, k)
    intercepts: Array  # (k,)
    out_of_fold: Array | None = None  # (n, k), decision values of SVMs not trained on the graph; None without folds

    def decisions(self, rows: Array) -> Array:
        """Return decision values (t, k) from kernel rows (t, n)."""
        return np.asarray(rows @ self.coefficients + self.intercepts)


def fit_svms(K: Array, signs: Array, C: float, *, balanced: bool = False, folds: Sequence[Split] = ()) -> FittedSVMs:
    """Fit an SVM for each column of signs (n, k): 1 for graphs of the class, −1 for all others.

    With ``folds``, SVMs are also fitted to the training graphs of each fold, for out-of-fold decision values.
    """
    import sklearn
    from sklearn.exceptions import ConvergenceWarning

    with (  # once for all fits, because entering takes as long as a small fit
        sklearn.config_context(assume_finite=True, skip_parameter_validation=True),
        single_threaded_blas(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)  # SVMs that reached the step limit are used
        svms = _fit(K, signs, C, balanced)
        fold_svms = [_fit(K[np.ix_(train, train)], signs[train], C, balanced) for train, _ in folds]
    if not folds:
        return svms
    out_of_fold = np.zeros_like(signs)
    for (train, test), fitted in zip(folds, fold_svms, strict=True):
        out_of_fold[test] = fitted.decisions(K[np.ix_(test, train)])
    return replace(svms, out_of_fold=out_of_fold)


def _fit(K: Array, signs: Array, C: float, balanced: bool) -> FittedSVMs:
    from sklearn.svm import SVC

    n, k = signs.shape
    coefficients, intercepts = np.zeros((n, k)), np.zeros(k)
    variance = kernel_variance(K)
    scaled = K / variance
    weight = "balanced" if balanced else None
    for i in range(k):
        if np.all(signs[:, i] == signs[0, i]):  # the class is absent, or the only one, in a fold
            intercepts[i] = signs[0, i]
            continue
        svm = SVC(kernel="precomputed", C=C, tol=_TOLERANCE, max_iter=_MAX_STEPS, class_weight=weight)
        svm.fit(scaled, signs[:, i])
        coefficients[svm.support_, i] = svm.dual_coef_[0] / variance
        intercepts[i] = svm.intercept_[0]
    return FittedSVMs(coefficients, intercepts)


def score_svms(
    K: Array, signs: Array, classes: Ints, splits: Sequence[Split], Cs: Sequence[float], *, balanced: bool = False
) -> Array:
    """Return the out-of-fold accuracy for each C."""
    correct = np.zeros(len(Cs))
    for train, test in splits:
        K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
        for i, C in enumerate(Cs):
            svms = fit_svms(K_train, signs[train], C, balanced=balanced)
            correct[i] += np.sum(predicted_class(svms.decisions(K_test)) == classes[test])
    return correct / len(classes)


def predicted_class(decisions: Array) -> Ints:
    """Return the index of the class with the largest decision value; for a single column, 1 where it is above 0."""
    return (decisions[:, 0] > 0).astype(np.int64) if decisions.shape[1] == 1 else decisions.argmax(axis=1)
