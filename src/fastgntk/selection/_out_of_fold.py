"""Out-of-fold predictions and their decision functions, for reports.

The SVM of each outer fold of an evaluation is refitted with the options chosen there; SVMs of a classifier are fitted
on five folds; ridge regression has leave-one-out in closed form. Probabilities are calibrated as in
:class:`GraphClassifier`, on decision values of training graphs alone.

An evaluation scales descriptors by the training graphs of each fold. The values of a single model, by leave-one-out or
on its five folds, are those of its own kernel, whose scales are fitted to all of its training graphs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fastgntk import models
from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import single_threaded_blas
from fastgntk.engines import EXACT_ENGINES
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Kernel
from fastgntk.models import KERNEL_CONSTANT, FittedSVMs, Sigmoids, Split
from fastgntk.pairwise import Compute, check_compute
from fastgntk.selection._evaluate import Evaluation
from fastgntk.selection._fold_grams import FoldGrams, matrix_source
from fastgntk.selection._grid import StageProgress, group_into_passes, svm_processes

__all__ = ["OutOfFold", "evaluation_out_of_fold", "ridge_out_of_fold", "ridge_probabilities", "svm_out_of_fold"]

_N_NEAREST = 3
_CHUNK = 500  # graphs whose functions are in memory at a time


class DecisionFunctions(NamedTuple):
    """Decision functions of t graphs: intercept + Σ_j weight_j k(G, G_j) over all n graphs of the data."""

    weights: Array  # (t, n), 0 for graphs that the model was not trained on
    intercepts: Array  # (t,)


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Out-of-fold predictions of n graphs."""

    kernels: tuple[Kernel, ...]
    engines: tuple[str, ...]
    """The engine of each kernel."""
    kernel_of: Ints
    """Index in ``kernels`` of the kernel of the model of each graph."""
    fold_of: Ints
    """Number of the model that left each graph out; all 0 with leave-one-out."""
    values: Array
    """Decision values (n, k), one column for each class, or the second of two; or the prediction (n, 1)."""
    predicted: Ints
    """Numbers of classes; all 0 for regression."""
    probabilities: Array | None
    nearest: Ints
    """Indices (n, 3) of the most similar training graphs, −1 if there are fewer."""
    cosines: Array
    """Their cosines (n, 3), 0 if there are fewer."""
    _function: Callable[[Ints], DecisionFunctions] | None
    kernel_scale: float = 1.0
    """Divisor of kernel values in the functions."""
    trained_on: tuple[Ints, ...] | None = None
    """The training graphs of each model, to which descriptors are scaled; None if they are scaled to all graphs."""

    @property
    def can_be_explained(self) -> bool:
        """Whether :meth:`function` can be called."""
        return self._function is not None

    def function(self, chosen: Ints) -> DecisionFunctions:
        """Return the decision functions of the predicted class, or of the target, for chosen graphs."""
        assert self._function is not None  # `can_be_explained` is checked first
        return self._function(chosen)


class _Fold(NamedTuple):
    """The SVMs fitted on the training graphs of a fold, and the fields of :class:`OutOfFold` for its test graphs."""

    train: Ints
    test: Ints
    nearest: Ints
    cosines: Array
    svms: FittedSVMs
    predicted: Ints
    values: Array
    probabilities: Array


def evaluation_out_of_fold(
    batch: GraphBatch,
    numbers: Ints,
    result: Evaluation,
    *,
    compute: Compute | None = None,
    progress: StageProgress | None = None,
) -> OutOfFold:
    """Refit the SVMs of an evaluation, with the same accuracies and more details.

    With more than two classes the evaluation uses one-against-one voting, which gives ``predicted``; values and
    probabilities are those of one-against-rest SVMs, as in :class:`GraphClassifier`. ``progress``
    is called as ``progress(stage, done, total)``, with stage "kernel" or "learning".
    """
    record, compute = result.record, check_compute(compute)
    chosen = list(dict.fromkeys(choice.kernel for choice in result.choices))
    folds: dict[int, _Fold] = {}
    # The same passes as in the evaluation, with the same depth, so that values are equal.
    passes = [p for p in group_into_passes(record.kernels) if any(record.kernels[i] in chosen for i in p.members)]
    compute_with_progress = compute.with_progress(None if progress is None else partial(progress, "kernel"))
    for number, group in enumerate(passes):
        engines = record.engines[group.members[0]].split(" and ")
        exact = next((name for name in engines if name in EXACT_ENGINES), "auto")
        paths = group.compute(batch, replace(compute_with_progress, engine=exact).for_part(number, len(passes)))
        for kernel in [record.kernels[i] for i in group.members if record.kernels[i] in chosen]:
            choices = {k: choice for k, choice in enumerate(result.choices) if choice.kernel == kernel}
            splits, Cs = [record.folds[k] for k in choices], [choice.C for choice in choices.values()]
            source, cosine = (matrix_source(each, paths, batch, compute) for each in (kernel, kernel.normalized()))
            fitted = _fit_sources(source, cosine, numbers, record.random_state, splits, Cs, compute)
            for k, fold in zip(choices, fitted, strict=True):
                folds[k] = fold
                if progress is not None:
                    progress("learning", len(folds), len(result.choices))
    engines = [record.engines[record.kernels.index(kernel)] for kernel in chosen]
    kernel_of_fold = [chosen.index(choice.kernel) for choice in result.choices]
    joined = _join_folds(chosen, engines, kernel_of_fold, [folds[k] for k in range(len(folds))])
    return replace(joined, trained_on=tuple(train for train, _ in record.folds))


def svm_out_of_fold(
    K: Array,
    cosine: Array,
    numbers: Ints,
    kernel: Kernel,
    engine: str,
    C: float,
    random_state: int,
    *,
    kernel_scale: float = 1.0,
    balanced: bool = False,
    compute: Compute | None = None,
) -> OutOfFold:
    """Fit the SVMs of a classifier on five folds, whose values are those of its calibration.

    K (n, n) is the kernel of the classifier: cosines, or values divided by ``kernel_scale``.
    """
    splits = models.lenient_stratified_folds(numbers, random_state)
    fit = partial(_fit_fold, K, numbers, random_state, vote=False, balanced=balanced)
    folds = _fit_folds(fit, cosine, splits, [C] * len(splits), check_compute(compute))
    return replace(_join_folds([kernel], [engine], [0] * len(folds), folds), kernel_scale=kernel_scale)


def ridge_out_of_fold(
    K: Array | None,
    cosine: Array | None,
    Y: Array,
    mean: Array,
    out_of_fold: Array,
    ridge: Array | float,
    kernel: Kernel,
    engine: str,
    *,
    classes: bool,
    kernel_scale: float = 1.0,
    probabilities: Array | None = None,
) -> OutOfFold:
    """Return leave-one-out predictions (n, k) of ridge regression on targets Y (n, k) with mean (k,).

    With the kernel K (n, n) of the regression, without its constant, the functions follow in closed form: without graph
    i the coefficients are α − A⁻¹ e_i α_i / (A⁻¹)_ii, with A = K + 1 + ridge. They are kept only if they reproduce the
    predictions.
    """
    n, k = out_of_fold.shape
    predicted = models.predicted_class(out_of_fold) if classes else np.zeros(n, dtype=np.int64)
    nearest, cosines = np.full((n, _N_NEAREST), -1), np.zeros((n, _N_NEAREST))
    if cosine is not None:
        to_others = cosine.copy()
        np.fill_diagonal(to_others, -np.inf)  # the model that left a graph out was not trained on it
        nearest, cosines = _find_nearest(to_others, np.arange(n))
    function = None
    if K is not None:
        inverse = np.linalg.inv(K + KERNEL_CONSTANT + np.diag(np.broadcast_to(ridge, n)))
        alpha = inverse @ (Y - mean)  # (n, k)
        diagonal = np.diagonal(inverse)
        column, sign = _predicted_column(predicted, k) if classes else (np.zeros(n, dtype=np.int64), np.ones(n))

        def decompose(chosen: Ints) -> DecisionFunctions:
            all_graphs = alpha[:, column[chosen]].T
            weights = all_graphs - inverse[chosen] * (alpha[chosen, column[chosen]] / diagonal[chosen])[:, None]
            weights[np.arange(len(chosen)), chosen] = 0.0  # up to rounding
            intercepts = mean[column[chosen]] + KERNEL_CONSTANT * weights.sum(axis=1)
            return DecisionFunctions(sign[chosen][:, None] * weights, sign[chosen] * intercepts)

        restored = np.zeros(n)
        for chunk in np.array_split(np.arange(n), -(-n // _CHUNK)):
            weights, intercepts = decompose(chunk)
            restored[chunk] = np.einsum("ij,ij->i", weights, K[chunk]) + intercepts
        expected = sign * out_of_fold[np.arange(n), column]
        spread = float(np.abs(expected - np.mean(expected)).max(initial=0.0)) + 1e-300
        if np.abs(restored - expected).max(initial=0.0) <= 1e-3 * spread:  # not so for weighted graphs
            function = decompose
    zeros = np.zeros(n, dtype=np.int64)
    found = zeros, zeros, out_of_fold, predicted, probabilities, nearest, cosines, function, kernel_scale
    return OutOfFold((kernel,), (engine,), *found)


def ridge_probabilities(out_of_fold: Array, numbers: Ints, random_state: int) -> Array:
    """Return probabilities (n, c) from out-of-fold values, for each fold by sigmoids fitted on the other folds."""
    n_classes = int(numbers.max()) + 1
    out = np.zeros((len(numbers), n_classes))
    for train, test in models.lenient_stratified_folds(numbers, random_state):
        out[test] = Sigmoids.fit(out_of_fold[train], numbers[train], n_classes).probabilities(out_of_fold[test])
    return out


def _fit_sources(
    source: Array | FoldGrams,
    cosine: Array | FoldGrams,
    numbers: Ints,
    random_state: int,
    splits: Sequence[Split],
    Cs: Sequence[float],
    compute: Compute,
) -> list[_Fold]:
    """Fit the SVMs of all splits of an evaluation; kernels and cosines may be fitted to the training graphs of each."""

    def fit(K: Array, cosine: Array, splits: Sequence[Split], Cs: Sequence[float]) -> list[_Fold]:
        fit_fold = partial(_fit_fold, K, numbers, random_state, vote=True, balanced=False)
        return _fit_folds(fit_fold, cosine, splits, Cs, compute)

    if not (isinstance(source, FoldGrams) and isinstance(cosine, FoldGrams)):
        return fit(source, cosine, splits, Cs)  # type: ignore[arg-type]  # both are matrices
    each = zip(splits, Cs, strict=True)
    return [fit(source.matrix(split[0]), cosine.matrix(split[0]), [split], [C])[0] for split, C in each]


def _fit_folds(
    fit: Callable[[Split, float], Any], cosine: Array, splits: Sequence[Split], Cs: Sequence[float], compute: Compute
) -> list[_Fold]:
    """Fit the SVMs of all splits, in processes if worthwhile, and find the nearest training graphs."""
    from joblib import Parallel, delayed

    n_jobs = svm_processes(len(cosine), compute) if len(splits) > 1 else 1
    fitted = Parallel(n_jobs=n_jobs)(delayed(fit)(split, C) for split, C in zip(splits, Cs, strict=True))
    found = (_find_nearest(cosine[np.ix_(test, train)], train) for train, test in splits)
    return [_Fold(*split, *nearest, *outcome) for split, nearest, outcome in zip(splits, found, fitted, strict=True)]


def _fit_fold(
    K: Array, numbers: Ints, random_state: int, split: Split, C: float, *, vote: bool, balanced: bool
) -> tuple[FittedSVMs, Ints, Array, Array]:
    """Return the SVMs of a split, and the classes, decision values and probabilities of its test graphs."""
    train, test = split
    n_classes = int(numbers.max()) + 1
    with single_threaded_blas():  # once for all SVMs, because entering takes as long as a small fit
        signs = models.class_signs(numbers, n_classes)[train]
        among = K[np.ix_(train, train)]
        folds = models.lenient_stratified_folds(numbers[train], random_state) if len(train) > 1 else ()
        svms = models.fit_svms(among, signs, C, balanced=balanced, folds=folds)
        values = K[np.ix_(test, train)] @ svms.coefficients + svms.intercepts
        predicted = models.predicted_class(values)
        if vote and n_classes > 2:
            predicted = next(models.predict_split(K, numbers, split, [C]))[0].astype(np.int64)
        frequencies = np.bincount(numbers[train], minlength=n_classes) / len(train)
        probabilities = np.broadcast_to(frequencies, (len(test), n_classes))
        if svms.out_of_fold is not None:
            probabilities = Sigmoids.fit(svms.out_of_fold, numbers[train], n_classes).probabilities(values)
    return svms, predicted, values, probabilities


def _find_nearest(cosine: Array, train: Ints) -> tuple[Ints, Array]:
    """Return the most similar training graphs (t, 3) and their cosines, −1 and 0 if there are fewer."""
    count = min(_N_NEAREST, cosine.shape[1])
    best = np.argsort(-cosine, axis=1, kind="stable")[:, :count]  # the first of equals
    found = np.take_along_axis(cosine, best, axis=1)
    indices, values = np.full((len(cosine), _N_NEAREST), -1), np.zeros((len(cosine), _N_NEAREST))
    indices[:, :count] = np.where(np.isfinite(found), train[best], -1)
    values[:, :count] = np.where(np.isfinite(found), np.minimum(found, 1.0), 0.0)
    return indices, values


def _predicted_column(predicted: Ints, k: int) -> tuple[Ints, Array]:
    """Return the column and the sign of the predicted class of each graph; two classes share one column."""
    if k > 1:
        return predicted, np.ones(len(predicted))
    return np.zeros(len(predicted), dtype=np.int64), np.where(predicted == 1, 1.0, -1.0)


def _join_folds(
    kernels: Sequence[Kernel], engines: Sequence[str], kernel_of_fold: Sequence[int], folds: Sequence[_Fold]
) -> OutOfFold:
    order = np.argsort(np.concatenate([fold.test for fold in folds]))  # every graph is in one test part
    n = len(order)
    fold_of = np.repeat(np.arange(len(folds)), [len(fold.test) for fold in folds])[order]
    names = ("values", "predicted", "probabilities", "nearest", "cosines")
    joined: dict[str, Any] = {name: np.concatenate([getattr(fold, name) for fold in folds])[order] for name in names}
    column, sign = _predicted_column(joined["predicted"], joined["values"].shape[1])

    def decompose(chosen: Ints) -> DecisionFunctions:
        weights, intercepts = np.zeros((len(chosen), n)), np.zeros(len(chosen))
        for number, fold in enumerate(folds):
            places = np.flatnonzero(fold_of[chosen] == number)
            columns, signs = column[chosen[places]], sign[chosen[places]]
            weights[np.ix_(places, fold.train)] = signs[:, None] * fold.svms.coefficients[:, columns].T
            intercepts[places] = signs * fold.svms.intercepts[columns]
        return DecisionFunctions(weights, intercepts)

    kernel_of = np.asarray(kernel_of_fold)[fold_of]
    return OutOfFold(tuple(kernels), tuple(engines), kernel_of, fold_of, **joined, _function=decompose)
