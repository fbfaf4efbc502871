"""Stratified folds, for cross-validation and calibration."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Ints
from fastgntk._util.checks import check_random_state
from fastgntk.errors import InputError

__all__ = ["Split", "lenient_stratified_folds", "stratified_folds"]

Split = tuple[Ints, Ints]
"""Indices of the training graphs and of the test graphs."""


def stratified_folds(
    y: NDArray[Any], n_folds: int, random_state: int, *, name: str = "folds", where: str = ""
) -> list[Split]:
    """Return shuffled stratified folds; ``name`` and ``where`` appear in error messages."""
    from sklearn.model_selection import StratifiedKFold

    if n_folds < 2:
        raise InputError(f"{name} must be 2 or more, but is {n_folds}.")
    check_random_state(random_state)
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < n_folds:
        rare, few = classes[counts.argmin()], int(counts.min())
        remedy = f"use at most {name}={few}" if few >= 2 else "add graphs of this class"
        members = "member" if few == 1 else "members"
        raise InputError(
            f"class {rare} has {few} {members}{where}, fewer than {name}={n_folds}; {remedy}, or leave this class out."
        )
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    return [(train, test) for train, test in folds.split(np.zeros(len(y)), y)]


def lenient_stratified_folds(classes: Ints, random_state: int, n_folds: int = 5) -> list[Split]:
    """Split into stratified folds; a class with fewer members than folds is missing from some of them.

    ``classes`` are integers, numbered from 0.
    """
    if np.bincount(classes).min() >= n_folds:
        return stratified_folds(classes, n_folds, random_state)
    rng = np.random.default_rng(random_state)
    shuffled = rng.permutation(len(classes))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    fold = np.empty(len(classes), dtype=np.int64)
    fold[by_class] = np.arange(len(classes)) % min(n_folds, len(classes))
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(int(fold.max()) + 1)]
