"""Splits for cross-validation: made here, or given in a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Ints
from fastgntk.errors import InputError
from fastgntk.models import Split, stratified_folds

__all__ = ["given_folds", "inner_splits", "outer_splits", "read_folds"]


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


def read_folds(path: str | Path, n_graphs: int) -> Ints:
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
