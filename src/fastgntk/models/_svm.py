"""Support vector machines on a kernel matrix: fitted, or scored on given splits."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import single_threaded_blas
from fastgntk.models._folds import Split, spread_folds

__all__ = [
    "FittedSVMs",
    "fit_svms",
    "out_of_fold_decisions",
    "predicted_class",
    "predict_split",
    "score_svms",
    "score_splits",
]


# At large C libsvm takes ten times the steps for its default tolerance of 0.001, for the same predictions.
_TOLERANCE = 0.01
# A fit that needs more steps than this is used without convergence; `evaluate` counts them.
_MAX_STEPS = 200_000


def score_splits(kernel: Array, y: NDArray[Any], splits: Sequence[Split], Cs: Sequence[float]) -> tuple[Array, int]:
    """Return the accuracy for every split and C, and how many fits were stopped early."""
    out = np.empty((len(splits), len(Cs)))
    stopped = 0
    with single_threaded_blas():  # once for all: setting it takes as long as a small fit
        for i, (train, test) in enumerate(splits):
            for k, (predicted, early) in enumerate(predict_split(kernel, y, (train, test), Cs)):
                stopped += early
                out[i, k] = np.mean(predicted == y[test])
    return out, stopped


def predict_split(
    kernel: Array, y: NDArray[Any], split: Split, Cs: Sequence[float]
) -> Iterator[tuple[NDArray[Any], bool]]:
    """Yield for every C the classes of the test graphs, and whether the fit was stopped early."""
    import sklearn
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    train, test = split
    # Inputs were made here and are finite: checking them again would take most of the time of a small fit.
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True), single_threaded_blas():
        among, across = kernel[np.ix_(train, train)], kernel[np.ix_(test, train)]
        # C means the same for every kernel when the training graphs have variance 1 in feature space.
        unit = _variance(among)
        among, across = among / unit, across / unit
        for C in Cs:
            machine = SVC(kernel="precomputed", C=C, tol=_TOLERANCE, max_iter=_MAX_STEPS)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                machine.fit(among, y[train])
            yield machine.predict(across), any(issubclass(w.category, ConvergenceWarning) for w in caught)


def _variance(kernel: Array) -> float:
    """Return the mean squared distance of graphs from their centre in feature space; 1 if they are all the same."""
    size = float(kernel.diagonal().mean())
    variance = size - float(kernel.mean())
    return variance if variance > 1e-12 * size else 1.0


@dataclass(frozen=True, eq=False)
class FittedSVMs:
    """k functions of graphs, f(G) = offset + Σ_i coefficient_i k(G, G_i)."""

    coefficients: Array  # (n, k)
    offsets: Array  # (k,)


def fit_svms(kernel: Array, signs: Array, C: float, *, balanced: bool = False) -> FittedSVMs:
    """Fit an SVM for each column of signs (n, k): 1 for graphs of the class, −1 for the others."""
    return _fit_parts([(kernel, signs)], C, balanced)[0]


def _fit_parts(parts: Iterable[tuple[Array, Array]], C: float, balanced: bool) -> list[FittedSVMs]:
    """Fit the SVMs of several kernels and signs; the settings around them take as long as a small fit, so once."""
    import sklearn

    with (
        sklearn.config_context(assume_finite=True, skip_parameter_validation=True),
        single_threaded_blas(),
        _step_limit_accepted(),
    ):
        return [_fit(kernel, signs, C, balanced) for kernel, signs in parts]


def _fit(kernel: Array, signs: Array, C: float, balanced: bool) -> FittedSVMs:
    from sklearn.svm import SVC

    n, k = signs.shape
    coefficients, offsets = np.zeros((n, k)), np.zeros(k)
    unit = _variance(kernel)
    scaled = kernel / unit
    weight = "balanced" if balanced else None
    for i in range(k):
        if np.all(signs[:, i] == signs[0, i]):  # a fold without the class, or of nothing else
            offsets[i] = signs[0, i]
            continue
        machine = SVC(kernel="precomputed", C=C, tol=_TOLERANCE, max_iter=_MAX_STEPS, class_weight=weight)
        machine.fit(scaled, signs[:, i])
        coefficients[machine.support_, i] = machine.dual_coef_[0] / unit
        offsets[i] = machine.intercept_[0]
    return FittedSVMs(coefficients, offsets)


def out_of_fold_decisions(
    kernel: Array, signs: Array, classes: Ints, C: float, seed: int, *, balanced: bool = False
) -> Array:
    """Return the out-of-fold decision values (n, k) of graphs, by five folds."""
    out = np.zeros_like(signs)
    folds = spread_folds(classes, seed)
    fitted = _fit_parts(((kernel[np.ix_(train, train)], signs[train]) for train, _ in folds), C, balanced)
    for (train, test), found in zip(folds, fitted, strict=True):
        out[test] = kernel[np.ix_(test, train)] @ found.coefficients + found.offsets
    return out


def score_svms(
    kernel: Array, signs: Array, classes: Ints, splits: Sequence[Split], Cs: Sequence[float], *, balanced: bool = False
) -> Array:
    """Return for each C the share of graphs that machines which never saw them place right."""
    right = np.zeros(len(Cs))
    for train, test in splits:
        among, across = kernel[np.ix_(train, train)], kernel[np.ix_(test, train)]
        for i, C in enumerate(Cs):
            found = fit_svms(among, signs[train], C, balanced=balanced)
            right[i] += np.sum(predicted_class(across @ found.coefficients + found.offsets) == classes[test])
    return right / len(classes)


def predicted_class(decisions: Array) -> Ints:
    """Return the number of the class with the largest value; of one value, whether it is above 0."""
    return (decisions[:, 0] > 0).astype(np.int64) if decisions.shape[1] == 1 else decisions.argmax(axis=1)


@contextmanager
def _step_limit_accepted() -> Iterator[None]:
    """Use machines that reached their step limit as they are."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
