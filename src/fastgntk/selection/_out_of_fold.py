"""Out-of-fold predictions, and the functions behind them: for reports.

SVMs of an evaluation are fitted again, one for each outer fold, with the options that were chosen there; those of
a classifier on five folds; of ridge regression the closed form of leave-one-out is used. Probabilities are made as
:class:`GraphClassifier` makes them, from decision values of training graphs alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import single_threaded_blas
from fastgntk.engines import EXACT_ENGINES
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Kernel
from fastgntk.models import (
    INTERCEPT,
    FittedSVMs,
    Sigmoids,
    Split,
    class_signs,
    fit_svms,
    predict_split,
    predicted_class,
    spread_folds,
)
from fastgntk.pairwise import Compute, check_compute
from fastgntk.selection._evaluate import Evaluation
from fastgntk.selection._grid import passes_of

__all__ = [
    "Function",
    "OutOfFold",
    "evaluation_out_of_fold",
    "svm_out_of_fold",
    "ridge_out_of_fold",
    "ridge_probabilities",
]


_NEAR = 3  # of the most alike graphs
_AT_ONCE = 500  # graphs whose functions are held together
_QUICK = 300  # graphs up to which starting processes takes longer than what they do


class Function(NamedTuple):
    """Decision functions of t graphs: offset + Σ_j weight_j k(G, G_j) over all n graphs of the data."""

    weights: Array  # (t, n), 0 for graphs that the model did not see
    offsets: Array  # (t,)


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Out-of-fold predictions of n graphs."""

    kernels: tuple[Kernel, ...]
    engines: tuple[str, ...]
    """What computed each of the kernels."""
    kernel_of: Ints
    """Of each graph, which of ``kernels`` its model used."""
    fold_of: Ints
    """Of each graph, the number of the model that left it out; all 0 with leave-one-out."""
    values: Array
    """Decision values (n, k), one column for each class, or the second of two; or the prediction (n, 1)."""
    predicted: Ints
    """Numbers of classes; all 0 of a regression."""
    probabilities: Array | None
    near: Ints
    """Numbers (n, up to 3) of the most alike graphs that the model saw, −1 where there are fewer."""
    cosines: Array
    _function: Callable[[Ints], Function] | None
    unit: float = 1.0
    """What values of the kernel are divided by before functions apply."""

    @property
    def can_be_explained(self) -> bool:
        """Whether :meth:`function` is there."""
        return self._function is not None

    def function(self, chosen: Ints) -> Function:
        """Return of chosen graphs the function of the class that was predicted, or of the target."""
        assert self._function is not None  # the caller asked
        return self._function(chosen)


class _Fold(NamedTuple):
    """A model and the graphs that it left out."""

    train: Ints
    test: Ints
    machines: FittedSVMs


class _Outcome(NamedTuple):
    predicted: Ints
    values: Array
    probabilities: Array
    machines: FittedSVMs


def evaluation_out_of_fold(
    batch: GraphBatch,
    numbers: Ints,
    result: Evaluation,
    *,
    compute: Compute | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> OutOfFold:
    """Fit the SVMs of an evaluation again: the same accuracies, and more details.

    With more than two classes the evaluation lets pairs of classes vote, and ``predicted`` is their result; values and
    probabilities are those of an SVM for each class against the others, as in :class:`GraphClassifier`. ``progress``
    is called as ``progress(stage, done, total)``, with stage "kernel" or "learning".
    """
    record, how = result.record, check_compute(compute)
    chosen = [choice.kernel for choice in result.choices]
    kernels = list(dict.fromkeys(chosen))
    engines = [record.engines[record.kernels.index(kernel)] for kernel in kernels]
    outcomes: list[_Outcome | None] = [None] * len(chosen)
    n = len(batch)
    near, cosines = np.full((n, _NEAR), -1), np.zeros((n, _NEAR))
    n_classes = int(numbers.max()) + 1
    # The passes of the evaluation, as deep as they were there, so that values are the same.
    needed = [one for one in passes_of(record.kernels) if any(record.kernels[i] in kernels for i in one.places)]
    for step, one in enumerate(needed):
        engine = record.engines[one.places[0]]
        callback = None if progress is None else _part(progress, "kernel", step, len(needed))
        exact = engine if engine in EXACT_ENGINES else "auto"
        levels = one.compute(batch, replace(how, engine=exact, progress=callback))
        for kernel in [record.kernels[i] for i in one.places if record.kernels[i] in kernels]:
            K = levels.gram(kernel)
            cosine = levels.gram(kernel.normalized())
            mine = [k for k, other in enumerate(chosen) if other == kernel]
            splits, Cs = [record.folds[k] for k in mine], [result.choices[k].C for k in mine]
            fitted = _all(K, numbers, splits, Cs, n_classes, record.seed, True, how)
            for k, found in zip(mine, fitted, strict=True):
                outcomes[k] = found
                train, test = record.folds[k]
                near[test], cosines[test] = _nearest(cosine[np.ix_(test, train)], train)
                if progress is not None:
                    progress("learning", sum(o is not None for o in outcomes), len(outcomes))
    done = [outcome for outcome in outcomes if outcome is not None]
    folds = [_Fold(*split, outcome.machines) for split, outcome in zip(record.folds, done, strict=True)]
    kernel_of = np.zeros(n, dtype=np.int64)
    for k, fold in enumerate(folds):
        kernel_of[fold.test] = kernels.index(chosen[k])
    return _assembled(kernels, engines, kernel_of, folds, done, numbers, near, cosines)


def svm_out_of_fold(
    K: Array,
    cosine: Array,
    numbers: Ints,
    kernel: Kernel,
    engine: str,
    C: float,
    seed: int,
    *,
    unit: float = 1.0,
    balanced: bool = False,
    compute: Compute | None = None,
) -> OutOfFold:
    """Fit the machines of a classifier on five folds: the values are those that its calibration is learned from.

    K (n, n) is the kernel as the classifier has it: cosines, or values over their ``unit``.
    """
    splits, n_classes = spread_folds(numbers, seed), int(numbers.max()) + 1
    done = _all(
        K, numbers, splits, [C] * len(splits), n_classes, seed, False, check_compute(compute), balanced=balanced
    )
    folds = [_Fold(*split, outcome.machines) for split, outcome in zip(splits, done, strict=True)]
    near, cosines = np.full((len(K), _NEAR), -1), np.zeros((len(K), _NEAR))
    for train, test in splits:
        near[test], cosines[test] = _nearest(cosine[np.ix_(test, train)], train)
    nothing = np.zeros(len(K), dtype=np.int64)
    return replace(_assembled([kernel], [engine], nothing, folds, done, numbers, near, cosines), unit=unit)


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
    unit: float = 1.0,
    probabilities: Array | None = None,
) -> OutOfFold:
    """Take leave-one-out values (n, k) of ridge regression on targets Y (n, k) and their mean (k,).

    With the kernel K (n, n) of the regression, without its constant, functions are known: without graph i the
    coefficients are α − A⁻¹ e_i α_i / (A⁻¹)_ii, with A = K + 1 + ridge. They are kept only if they give the values.
    """
    n, k = out_of_fold.shape
    predicted = predicted_class(out_of_fold) if classes else np.zeros(n, dtype=np.int64)
    near, cosines = np.full((n, _NEAR), -1), np.zeros((n, _NEAR))
    if cosine is not None:
        others = cosine.copy()
        np.fill_diagonal(others, -np.inf)  # a graph was not seen by the model that left it out
        near, cosines = _nearest(others, np.arange(n))
    function = None
    if K is not None:
        inverse = np.linalg.inv(K + INTERCEPT + np.diag(np.broadcast_to(ridge, n)))
        alpha = inverse @ (Y - mean)  # (n, k)
        own = np.diagonal(inverse)
        column, sign = _column(predicted, k) if classes else (np.zeros(n, dtype=np.int64), np.ones(n))

        def decompose(chosen: Ints) -> Function:
            at = alpha[:, column[chosen]].T
            weights = at - inverse[chosen] * (alpha[chosen, column[chosen]] / own[chosen])[:, None]
            weights[np.arange(len(chosen)), chosen] = 0.0  # up to rounding
            offsets = mean[column[chosen]] + INTERCEPT * weights.sum(axis=1)
            return Function(sign[chosen][:, None] * weights, sign[chosen] * offsets)

        again = np.zeros(n)
        for part in np.array_split(np.arange(n), -(-n // _AT_ONCE)):
            found = decompose(part)
            again[part] = np.einsum("ij,ij->i", found.weights, K[part]) + found.offsets
        expected = sign * out_of_fold[np.arange(n), column]
        spread = float(np.abs(expected - np.mean(expected)).max(initial=0.0)) + 1e-300
        if np.abs(again - expected).max(initial=0.0) <= 1e-3 * spread:  # not so of weighted graphs
            function = decompose
    nothing = np.zeros(n, dtype=np.int64)
    return OutOfFold(
        (kernel,), (engine,), nothing, nothing, out_of_fold, predicted, probabilities, near, cosines, function, unit
    )


def ridge_probabilities(out_of_fold: Array, numbers: Ints, seed: int) -> Array:
    """Return probabilities (n, c) from left-out values, each fold's from sigmoids that were fitted on the others."""
    n_classes = int(numbers.max()) + 1
    out = np.zeros((len(numbers), n_classes))
    for train, test in spread_folds(numbers, seed):
        out[test] = Sigmoids.fit(out_of_fold[train], numbers[train], n_classes).probabilities(out_of_fold[test])
    return out


def _part(progress: Callable[[str, int, int], None], stage: str, step: int, steps: int) -> Callable[[int, int], None]:
    return lambda done, total: progress(stage, step * total + done, steps * total)


def _all(
    K: Array,
    numbers: Ints,
    splits: Sequence[Split],
    Cs: Sequence[float],
    n_classes: int,
    seed: int,
    vote: bool,
    compute: Compute,
    balanced: bool = False,
) -> list[_Outcome]:
    """Fit the machines of all splits, in processes where these pay."""
    from joblib import Parallel, delayed

    jobs = compute.threads if len(K) > _QUICK and len(splits) > 1 else 1
    tasks = (
        delayed(_one)(K, numbers, split, C, n_classes, seed, vote, balanced)
        for split, C in zip(splits, Cs, strict=True)
    )
    return list(Parallel(n_jobs=jobs)(tasks))


def _one(
    K: Array, numbers: Ints, split: Split, C: float, n_classes: int, seed: int, vote: bool, balanced: bool
) -> _Outcome:
    train, test = split
    with single_threaded_blas():  # once for all machines: setting it takes as long as a small fit
        signs = class_signs(numbers, n_classes)[train]
        among = K[np.ix_(train, train)]
        folds = spread_folds(numbers[train], seed) if len(train) > 1 else ()
        machines = fit_svms(among, signs, C, balanced=balanced, folds=folds)
        values = K[np.ix_(test, train)] @ machines.coefficients + machines.offsets
        predicted = predicted_class(values)
        if vote and n_classes > 2:
            predicted = next(predict_split(K, numbers, split, [C]))[0].astype(np.int64)
        shares = np.bincount(numbers[train], minlength=n_classes) / len(train)
        probabilities = np.broadcast_to(shares, (len(test), n_classes))
        if machines.out_of_fold is not None:
            probabilities = Sigmoids.fit(machines.out_of_fold, numbers[train], n_classes).probabilities(values)
    return _Outcome(predicted, values, probabilities, machines)


def _nearest(cosine: Array, train: Ints) -> tuple[Ints, Array]:
    """Return the most alike training graphs (t, 3) and their cosines, −1 and 0 where there are fewer."""
    count = min(_NEAR, cosine.shape[1])
    # Sorting all of each row would cost more; of equal ones the first is taken.
    best = np.argsort(-cosine, axis=1, kind="stable")[:, :count]
    found = np.take_along_axis(cosine, best, axis=1)
    numbers, values = np.full((len(cosine), _NEAR), -1), np.zeros((len(cosine), _NEAR))
    numbers[:, :count] = np.where(np.isfinite(found), train[best], -1)
    values[:, :count] = np.where(np.isfinite(found), np.minimum(found, 1.0), 0.0)
    return numbers, values


def _column(predicted: Ints, k: int) -> tuple[Ints, Array]:
    """Return for each graph the column of the predicted class, and the sign: two classes share one column."""
    if k > 1:
        return predicted, np.ones(len(predicted))
    return np.zeros(len(predicted), dtype=np.int64), np.where(predicted == 1, 1.0, -1.0)


def _assembled(
    kernels: Sequence[Kernel],
    engines: Sequence[str],
    kernel_of: Ints,
    folds: Sequence[_Fold],
    outcomes: Sequence[_Outcome],
    numbers: Ints,
    near: Ints,
    cosines: Array,
) -> OutOfFold:
    n, k = len(numbers), outcomes[0].values.shape[1]
    values, probabilities = np.zeros((n, k)), np.zeros((n, outcomes[0].probabilities.shape[1]))
    predicted, fold_of = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for number, (fold, outcome) in enumerate(zip(folds, outcomes, strict=True)):
        values[fold.test], probabilities[fold.test] = outcome.values, outcome.probabilities
        predicted[fold.test], fold_of[fold.test] = outcome.predicted, number
    column, sign = _column(predicted, k)

    def decompose(chosen: Ints) -> Function:
        weights, offsets = np.zeros((len(chosen), n)), np.zeros(len(chosen))
        for number, fold in enumerate(folds):
            mine = np.flatnonzero(fold_of[chosen] == number)
            which, turn = column[chosen[mine]], sign[chosen[mine]]
            weights[np.ix_(mine, fold.train)] = turn[:, None] * fold.machines.coefficients[:, which].T
            offsets[mine] = turn * fold.machines.offsets[which]
        return Function(weights, offsets)

    return OutOfFold(
        tuple(kernels), tuple(engines), kernel_of, fold_of, values, predicted, probabilities, near, cosines, decompose
    )
