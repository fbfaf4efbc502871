"""Splits for cross-validation: made here, or given in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError

__all__ = [
    "Split",
    "check_classes",
    "given_folds",
    "inner_splits",
    "outer_splits",
    "read_folds",
    "spread_folds",
    "stratified_folds",
]

Split = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Indices of the training graphs and of the test graphs."""


def check_classes(y: Any, count: int, what: str = "graphs") -> NDArray[Any]:
    """Return class labels as an array, or say why they are none."""
    if y is None:
        raise InputError("there are no class labels; pass y.")
    labels = _label_array(y)
    if labels.ndim != 1 or len(labels) != count:
        raise InputError(f"y must have one class for each of the {count} {what}, but has shape {labels.shape}.")
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise InputError("y holds values that are no classes: NaN or infinite.")
        if not np.array_equal(labels, np.rint(labels)):
            raise InputError("y holds real numbers; classes are given as integers or strings.")
        labels = labels.astype(np.int64)
    classes = np.unique(labels)
    if len(classes) < 2:
        found = f"all {count} {what} are of class {classes[0]}" if len(classes) else f"there are no {what}"
        raise InputError(f"a classifier needs at least two classes, but {found}.")
    return labels


def _label_array(y: Any) -> NDArray[Any]:
    """Return an array of integers, floats or strings; pandas gives strings as objects."""
    try:
        labels = np.asarray(y)
        if labels.dtype.kind == "O":
            items = labels.ravel().tolist()
            kinds = {str if isinstance(item, str) else float for item in items}
            labels = np.array(items, dtype=kinds.pop()).reshape(labels.shape) if len(kinds) == 1 else labels
    except (TypeError, ValueError):
        raise InputError("classes must be all integers or all strings, one for each graph.") from None
    if labels.dtype.kind not in "biufU":
        raise InputError("classes must be all integers or all strings, but y holds other things.")
    return labels


def stratified_folds(y: NDArray[Any], n_folds: int, seed: int, *, name: str = "folds", where: str = "") -> list[Split]:
    """Shuffle and split so that every fold has each class in proportion; ``name`` is the option to blame."""
    from sklearn.model_selection import StratifiedKFold

    if n_folds < 2:
        raise InputError(f"{name} must be 2 or more, but is {n_folds}.")
    if not 0 <= seed < 2**32:
        raise InputError(f"seed must lie in 0..{2**32 - 1}, but is {seed}.")
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


def spread_folds(classes: NDArray[np.int64], seed: int, n_folds: int = 5) -> list[Split]:
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


def given_folds(fold_of_graph: Sequence[int] | NDArray[Any], y: NDArray[Any]) -> list[Split]:
    """Turn the fold number of each graph into splits, one for each number in ascending order."""
    folds = np.asarray(fold_of_graph)
    if folds.shape != y.shape or folds.dtype.kind not in "iu":
        raise InputError(
            f"folds must hold one whole number for each of the {len(y)} graphs, but has shape {folds.shape} and dtype "
            f"{folds.dtype}."
        )
    numbers = np.unique(folds)
    if len(numbers) < 2:
        raise InputError("folds must have at least two different numbers.")
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in numbers]
    for k, (train, _) in zip(numbers, splits, strict=True):
        missing = np.setdiff1d(y, y[train])
        if len(missing):
            raise InputError(f"all members of class {missing[0]} are in fold {k}, so nothing is left to learn it from.")
    return splits


def read_folds(path: str | Path, n_graphs: int) -> NDArray[np.int64]:
    """Read a text file with one fold number a line, in the order of the graphs."""
    try:
        lines = Path(path).read_text().rstrip().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the folds file {path} cannot be read: {error}.") from None
    folds = np.zeros(len(lines), dtype=np.int64)
    for number, line in enumerate(lines):
        try:
            folds[number] = int(line)
        except (ValueError, OverflowError):
            raise InputError(f"{path}, line {number + 1}: expected a fold number, found {line[:40]!r}.") from None
    if len(folds) != n_graphs:
        raise InputError(f"{path} has {len(folds)} lines, but there are {n_graphs} graphs; one line each is needed.")
    return folds


def outer_splits(y: NDArray[Any], folds: int | Sequence[int] | NDArray[Any], seed: int) -> list[Split]:
    """Return the outer splits: made for a number of folds, or given by a fold number for each graph."""
    if isinstance(folds, int | np.integer):
        return stratified_folds(y, int(folds), seed)
    return given_folds(folds, y)


def inner_splits(y: NDArray[Any], outer: list[Split], n_folds: int, seed: int) -> list[list[Split]]:
    """Split the training part of each outer split again."""
    groups = []
    for k, (train, _) in enumerate(outer):
        where = f" in the training part of outer fold {k + 1}"
        within = stratified_folds(y[train], n_folds, seed, name="inner_folds", where=where)
        groups.append([(train[a], train[b]) for a, b in within])
    return groups
