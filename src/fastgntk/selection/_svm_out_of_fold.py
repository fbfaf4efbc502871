"""Out-of-fold predictions of support vector machines, which are refitted on the training graphs of each fold.

The SVM of each outer fold of an evaluation is refitted with the options chosen there; SVMs of a classifier are fitted
on five folds. Probabilities are calibrated as in :class:`GraphClassifier`, on decision values of training graphs alone.

An evaluation scales descriptors by the training graphs of each fold. The values of a single model are those of its own
kernel, whose scales are fitted to all of its training graphs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from fastgntk import models
from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import single_threaded_blas
from fastgntk.engines import EXACT_ENGINES
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Kernel
from fastgntk.models import FittedSVMs, Sigmoids, Split
from fastgntk.pairwise import Compute, check_compute
from fastgntk.selection._evaluation import Evaluation
from fastgntk.selection._fold_grams import FoldGrams, kernel_matrices
from fastgntk.selection._grid import StageProgress, group_into_passes, svm_processes
from fastgntk.selection._out_of_fold import DecisionFunctions, KernelMatrix, OutOfFold, find_similar, select_columns

__all__ = ["evaluation_out_of_fold", "svm_out_of_fold"]


def evaluation_out_of_fold(
    batch: GraphBatch,
    class_ids: Ints,
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
    record, choices, compute = result.record, result.choices, check_compute(compute)
    fitter = _SVMFitter(class_ids, record.cv.random_state, vote=True)
    folds: dict[int, _Fold] = {}
    for kernel, matrices, cosines in _recompute_kernels(batch, result, compute, progress):
        with_kernel = [k for k, choice in enumerate(choices) if choice.kernel == kernel]
        selected = [(record.folds[k], choices[k].C) for k in with_kernel]
        fitted = _fit_kernel(fitter, matrices, cosines, selected, compute)
        for k, fold in zip(with_kernel, fitted, strict=True):
            folds[k] = fold
            if progress is not None:
                progress("learning", len(folds), len(choices))
    kernels = _chosen_kernels(result)
    engines = [record.engines[record.kernels.index(kernel)] for kernel in kernels]
    kernel_of_fold = [kernels.index(choice.kernel) for choice in choices]
    joined = _join_folds(kernels, engines, kernel_of_fold, [folds[k] for k in range(len(folds))])
    return replace(joined, trained_on=tuple(train for train, _ in record.folds))


def svm_out_of_fold(
    matrix: KernelMatrix,
    class_ids: Ints,
    C: float,
    random_state: int,
    *,
    balanced: bool = False,
    compute: Compute | None = None,
) -> OutOfFold:
    """Fit the SVMs of a classifier on five folds, whose values are those of its calibration.

    ``matrix`` holds the kernel values that the classifier was fitted to, and their cosines.
    """
    if matrix.K is None or matrix.cosine is None:
        raise InputError("support vector machines need the kernel matrix; pass K and cosine in KernelMatrix.")
    fitter = _SVMFitter(class_ids, random_state, balanced=balanced)
    splits = models.lenient_stratified_folds(class_ids, random_state)
    folds = _fit_folds(fitter, matrix.K, matrix.cosine, [(split, C) for split in splits], check_compute(compute))
    joined = _join_folds([matrix.kernel], [matrix.engine], [0] * len(folds), folds)
    return replace(joined, kernel_scale=matrix.scale)


class _Predictions(NamedTuple):
    """Fields of :class:`OutOfFold` for the test graphs of a fold."""

    values: Array
    predicted: Ints
    probabilities: Array
    nearest: Ints
    cosines: Array


class _Fold(NamedTuple):
    """The SVMs fitted on the training graphs of a fold, and the predictions of its test graphs."""

    train: Ints
    test: Ints
    svms: FittedSVMs
    predictions: _Predictions


@dataclass(frozen=True, eq=False)
class _SVMFitter:
    """Fits one-against-rest SVMs on the training graphs of a fold, and predicts its test graphs."""

    class_ids: Ints
    random_state: int
    vote: bool = False  # predict by one-against-one voting, as an evaluation does
    balanced: bool = False

    @property
    def n_classes(self) -> int:
        return int(self.class_ids.max()) + 1

    def fit(self, K: Array, split: Split, C: float) -> tuple[FittedSVMs, Array, Ints, Array]:
        """Return the SVMs of a split, and the decision values, classes and probabilities of its test graphs."""
        train, test = split
        with single_threaded_blas():  # once for all SVMs, because entering takes as long as a small fit
            signs = models.class_signs(self.class_ids, self.n_classes)[train]
            folds = models.lenient_stratified_folds(self.class_ids[train], self.random_state) if len(train) > 1 else ()
            svms = models.fit_svms(K[np.ix_(train, train)], signs, C, balanced=self.balanced, folds=folds)
            values = K[np.ix_(test, train)] @ svms.coefficients + svms.intercepts
            return svms, values, self._classes(K, split, C, values), self._probabilities(svms, train, values)

    def _classes(self, K: Array, split: Split, C: float, values: Array) -> Ints:
        if self.vote and self.n_classes > 2:
            return next(models.predict_split(K, self.class_ids, split, [C]))[0].astype(np.int64)
        return models.predicted_class(values)

    def _probabilities(self, svms: FittedSVMs, train: Ints, values: Array) -> Array:
        """Return calibrated probabilities, or the frequencies of the classes if there was nothing to calibrate on."""
        class_ids, n_classes = self.class_ids[train], self.n_classes
        if svms.out_of_fold is not None:
            return Sigmoids.fit(svms.out_of_fold, class_ids, n_classes).probabilities(values)
        frequencies = np.bincount(class_ids, minlength=n_classes) / len(train)
        return np.broadcast_to(frequencies, (len(values), n_classes))


def _recompute_kernels(
    batch: GraphBatch, result: Evaluation, compute: Compute, progress: StageProgress | None
) -> Iterator[tuple[Kernel, Array | FoldGrams, Array | FoldGrams]]:
    """Yield each kernel that a fold chose, with its matrices and those of its cosines.

    They come from the same passes as in the evaluation, with the same depth, so that values are equal.
    """
    record, chosen = result.record, _chosen_kernels(result)
    used = [i for i, engine in enumerate(record.engines) if engine]
    kernels = [record.kernels[i] for i in used]
    passes = [p for p in group_into_passes(kernels) if any(kernels[i] in chosen for i in p.members)]
    compute_with_progress = compute.with_progress(None if progress is None else partial(progress, "kernel"))
    for index, group in enumerate(passes):
        engines = record.engines[used[group.members[0]]].split(" and ")
        exact = next((name for name in engines if name in EXACT_ENGINES), "auto")
        paths = group.compute(batch, replace(compute_with_progress, engine=exact).for_part(index, len(passes)))
        for kernel in [kernels[i] for i in group.members if kernels[i] in chosen]:
            matrices, cosines = (kernel_matrices(k, paths, batch, compute) for k in (kernel, kernel.normalized()))
            yield kernel, matrices, cosines


def _chosen_kernels(result: Evaluation) -> list[Kernel]:
    return list(dict.fromkeys(choice.kernel for choice in result.choices))


def _fit_kernel(
    fitter: _SVMFitter,
    matrices: Array | FoldGrams,
    cosines: Array | FoldGrams,
    folds: Sequence[tuple[Split, float]],
    compute: Compute,
) -> list[_Fold]:
    """Fit the folds (split, C) of a kernel; it and its cosines may be fitted to the training graphs of each fold."""
    if not (isinstance(matrices, FoldGrams) and isinstance(cosines, FoldGrams)):
        return _fit_folds(fitter, matrices, cosines, folds, compute)  # type: ignore[arg-type]  # both are matrices
    fitted = []
    for (train, test), C in folds:
        K, cosine = matrices.matrix(train), cosines.matrix(train)
        fitted += _fit_folds(fitter, K, cosine, [((train, test), C)], compute)
    return fitted


def _fit_folds(
    fitter: _SVMFitter, K: Array, cosine: Array, folds: Sequence[tuple[Split, float]], compute: Compute
) -> list[_Fold]:
    """Fit the folds (split, C) to a matrix, in processes if worthwhile, and find the most similar training graphs."""
    from joblib import Parallel, delayed

    n_jobs = svm_processes(len(cosine), compute) if len(folds) > 1 else 1
    fitted = Parallel(n_jobs=n_jobs)(delayed(fitter.fit)(K, split, C) for split, C in folds)
    similar = (find_similar(cosine[np.ix_(test, train)], train) for (train, test), _ in folds)
    return [
        _Fold(*split, svms, _Predictions(values, predicted, probabilities, *nearest))
        for (split, _), (svms, values, predicted, probabilities), nearest in zip(folds, fitted, similar, strict=True)
    ]


def _join_folds(
    kernels: Sequence[Kernel], engines: Sequence[str], kernel_of_fold: Sequence[int], folds: Sequence[_Fold]
) -> OutOfFold:
    """Return the predictions of all graphs in order; every graph is in one test part."""
    order = np.argsort(np.concatenate([fold.test for fold in folds]))
    fold_index = np.repeat(np.arange(len(folds)), [len(fold.test) for fold in folds])[order]
    columns = zip(*(fold.predictions for fold in folds), strict=True)
    predictions = _Predictions(*(np.concatenate(column)[order] for column in columns))
    column, sign = select_columns(predictions.predicted, predictions.values.shape[1])
    return OutOfFold(
        tuple(kernels),
        tuple(engines),
        kernel_index=np.asarray(kernel_of_fold)[fold_index],
        fold_index=fold_index,
        **predictions._asdict(),
        _function=partial(_decision_functions, folds, fold_index, column, sign),
    )


def _decision_functions(
    folds: Sequence[_Fold], fold_index: Ints, column: Ints, sign: Array, chosen: Ints
) -> DecisionFunctions:
    """Return the functions of the predicted classes of chosen graphs, each by the SVMs of the graph's fold."""
    weights, intercepts = np.zeros((len(chosen), len(fold_index))), np.zeros(len(chosen))
    for index, fold in enumerate(folds):
        rows = np.flatnonzero(fold_index[chosen] == index)
        columns, signs = column[chosen[rows]], sign[chosen[rows]]
        weights[np.ix_(rows, fold.train)] = signs[:, None] * fold.svms.coefficients[:, columns].T
        intercepts[rows] = signs * fold.svms.intercepts[columns]
    return DecisionFunctions(weights, intercepts)
