"""Screening: the kernels that deserve support vector machines, by closed-form leave-one-out of ridge regression.

A support vector machine for every kernel, split and C takes most of the time of an evaluation. The errors of ridge
regression on the classes, each graph left out once, cost one inverse for each kernel and ridge, whatever the number of
outer folds; kernels that are poor there are poor for support vector machines too. Only training graphs count: in each
outer fold the test graphs are held out, so that nested evaluation stays honest.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import single_threaded_blas
from fastgntk.errors import InputError
from fastgntk.models import Split, class_signs, kernel_variance
from fastgntk.selection._fold_grams import FoldGrams, map_folds
from fastgntk.solvers import leave_one_out_without

__all__ = ["screening_sample", "screening_score", "smallest"]

_RIDGES = (1e-3, 1e-2, 1e-1)  # in units of the kernel's variance, like 1/C
_LARGEST_SAMPLE = 1500  # a standard error of about one per cent of accuracy; larger matrices take long


def screening_sample(n_graphs: int) -> Ints:
    """Return the sorted indices of the graphs on which kernels are compared, the same for every seed of the folds."""
    shuffled = np.random.default_rng(0).permutation(n_graphs)
    return np.sort(shuffled[:_LARGEST_SAMPLE])


def screening_score(
    y: NDArray[Any], training: Sequence[Ints], sample: Ints
) -> Callable[[Array | FoldGrams, int], Array]:
    """Return a function from the kernel matrix of the sample to its error for each set of training graphs.

    The error, of shape (sets,), is the leave-one-out error rate among the training graphs in the sample, for the best
    ridge, with ties broken by the squared error.
    """
    classes, index = np.unique(y, return_inverse=True)
    splits = []
    for train in training:
        inside = np.isin(sample, train)
        splits.append((np.flatnonzero(inside), np.flatnonzero(~inside)))
    return partial(_score_kernel, signs=class_signs(index[sample], len(classes)), splits=splits)


def _score_kernel(matrices: Array | FoldGrams, _index: int, *, signs: Array, splits: Sequence[Split]) -> Array:
    return np.concatenate(map_folds(lambda K, some: _errors(K, signs, some), matrices, splits))


def _errors(K: Array, signs: Array, splits: Sequence[Split]) -> Array:
    best = np.full(len(splits), np.inf)
    with single_threaded_blas():  # one process or thread for each kernel
        for (scale, members), ridge in product(_group_by_scale(K, splits).items(), _RIDGES):
            held_out = [splits[i][1] for i in members]
            try:
                results = list(leave_one_out_without(K / scale + 1.0, signs, ridge, held_out))  # with an intercept
            except InputError:  # a nearly constant kernel, whose rounding errors exceed the ridge
                continue
            for i, residuals in zip(members, results, strict=True):
                train = splits[i][0]
                best[i] = min(best[i], _error(signs[train], residuals[train]))
    return best


def _group_by_scale(K: Array, splits: Sequence[Split]) -> dict[float, list[int]]:
    """Return the splits by the variance of their training graphs, rounded to a power of two: most share one inverse.

    Test graphs must not influence the scale. Splits without training graphs in the sample are left out.
    """
    groups: dict[float, list[int]] = {}
    for i, (train, _) in enumerate(splits):
        if len(train):
            variance = kernel_variance(K[np.ix_(train, train)])
            groups.setdefault(2.0 ** round(math.log2(variance)), []).append(i)
    return groups


def _error(signs: Array, residuals: Array) -> float:
    values = signs - residuals
    if signs.shape[1] == 1:
        misses = np.mean((values > 0) != (signs > 0))
    else:
        misses = np.mean(values.argmax(axis=1) != signs.argmax(axis=1))
    return float(misses + min(1.0, float(np.mean(residuals**2))) * 0.999 / len(signs))


def smallest(errors: Array, count: int | None) -> Ints:
    """Return the sorted indices of the ``count`` smallest errors, the first of equals; all without a count.

    >>> smallest(np.array([0.3, 0.1, 0.2, 0.2]), 2).tolist()
    [1, 2]
    """
    return np.sort(errors.argsort(kind="stable")[:count])
