"""Cross-validation designs: the protocol, and the outer and inner splits of the graphs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Ints
from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.models import Split, stratified_folds

__all__ = ["CrossValidation", "NestedSplits", "Protocol", "inner_splits", "outer_splits", "read_folds"]

Protocol = Literal["nested", "du2019"]


class NestedSplits(NamedTuple):
    """The splits of a cross-validation."""

    outer: list[Split]
    inner: list[list[Split]]
    """Splits of the training graphs of each outer split; empty for ``"du2019"``."""

    def flatten(self) -> list[Split]:
        """Return all splits, the outer ones first."""
        return self.outer + [split for group in self.inner for split in group]

    def outer_index(self) -> Ints:
        """Return the index of the outer split to which each of the flattened splits belongs."""
        groups = [np.full(len(group), k) for k, group in enumerate(self.inner)]
        return np.concatenate([np.arange(len(self.outer)), *groups])


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Options of a cross-validation; those of :func:`evaluate` with the same names."""

    protocol: Protocol = "nested"
    folds: int | Sequence[int] | NDArray[Any] = 10
    inner_folds: int = 5
    n_finalists: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.protocol not in get_args(Protocol):
            raise InputError(f"protocol must be one of {', '.join(get_args(Protocol))}, but is {self.protocol!r}.")
        if self.n_finalists is not None:
            check_integer("n_finalists", self.n_finalists, 1)

    def split(self, y: NDArray[Any]) -> NestedSplits:
        """Return the splits of graphs with classes y (n,)."""
        outer = outer_splits(y, self.folds, self.random_state)
        nested = self.protocol == "nested"
        return NestedSplits(outer, inner_splits(y, outer, self.inner_folds, self.random_state) if nested else [])


def outer_splits(y: NDArray[Any], folds: int | Sequence[int] | NDArray[Any], random_state: int) -> list[Split]:
    """Return the outer splits: stratified for a number of folds, or one for each fold number of the graphs."""
    if isinstance(folds, int | np.integer):
        return stratified_folds(y, int(folds), random_state)
    fold_of_graph = np.asarray(folds)
    if fold_of_graph.shape != y.shape or fold_of_graph.dtype.kind not in "iu":
        given = f"shape {fold_of_graph.shape} and dtype {fold_of_graph.dtype}"
        raise InputError(f"folds must hold one integer for each of the {len(y)} graphs, but has {given}.")
    fold_ids = np.unique(fold_of_graph)
    if len(fold_ids) < 2:
        raise InputError("folds must have at least two distinct values.")
    splits = [(np.flatnonzero(fold_of_graph != k), np.flatnonzero(fold_of_graph == k)) for k in fold_ids]
    for k, (train, _) in zip(fold_ids, splits, strict=True):
        missing = np.setdiff1d(y, y[train])
        if len(missing):
            raise InputError(f"all members of class {missing[0]} are in fold {k}, so nothing is left to learn it from.")
    return splits


def inner_splits(y: NDArray[Any], outer: Sequence[Split], n_folds: int, random_state: int) -> list[list[Split]]:
    """Return inner splits of the training graphs of each outer split."""
    groups = []
    for k, (train, _) in enumerate(outer):
        where = f" in the training part of outer fold {k + 1}"
        within = stratified_folds(y[train], n_folds, random_state, name="inner_folds", where=where)
        groups.append([(train[a], train[b]) for a, b in within])
    return groups


def read_folds(path: str | Path, n_graphs: int) -> Ints:
    """Read a text file with one fold number per line, in the order of the graphs."""
    try:
        lines = Path(path).read_text().rstrip().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the folds file {path} cannot be read: {error}.") from None
    folds = np.zeros(len(lines), dtype=np.int64)
    for i, line in enumerate(lines):
        try:
            folds[i] = int(line)
        except (ValueError, OverflowError):
            raise InputError(f"{path}, line {i + 1}: expected a fold number, found {line[:40]!r}.") from None
    if len(folds) != n_graphs:
        raise InputError(f"{path} has {len(folds)} lines, but there are {n_graphs} graphs; give one line each.")
    return folds
