"""Folds for calibration and cross-validation: stratified, or as even as the classes allow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Ints
from fastgntk.errors import InputError

__all__ = ["Split", "spread_folds", "stratified_folds"]

Split = tuple[Ints, Ints]
"""Indices of the training graphs and of the test graphs."""


def stratified_folds(y: NDArray[Any], n_folds: int, seed: int, *, name: str = "folds", where: str = "") -> list[Split]:
    """Shuffle and split so that every fold has each class in proportion; ``name`` is the option to blame."""
    from sklearn.model_selection import StratifiedKFold

    if n_folds < 2:
        raise InputError(f"{name} must be 2 or more, but is {n_folds}.")
    if not 0 <= seed < 2**32:
        raise InputError(f"random_state must lie in 0..{2**32 - 1}, but is {seed}.")
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < n_folds:
        rare, few = classes[counts.argmin()], int(counts.min())
        remedy = f"use at most {name}={few}" if few >= 2 else "more graphs of it are needed"
        members = "member" if few == 1 else "members"
        raise InputError(
            f"class {rare} has {few} {members}{where}, fewer than {name}={n_folds}; {remedy}, or leave that class out."
        )
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return [(train, test) for train, test in folds.split(np.zeros(len(y)), y)]


def spread_folds(classes: Ints, seed: int, n_folds: int = 5) -> list[Split]:
    """Split into folds that have each class in proportion; one with fewer members than folds is dealt out to some.

    ``classes`` are numbers from 0 on.
    """
    if np.bincount(classes).min() >= n_folds:
        return stratified_folds(classes, n_folds, seed)
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(classes))
    dealt = shuffled[np.argsort(classes[shuffled], kind="stable")]  # class after class
    fold = np.empty(len(classes), dtype=np.int64)
    fold[dealt] = np.arange(len(classes)) % min(n_folds, len(classes))
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(int(fold.max()) + 1)]
