"""Cross-validation designs: the protocol, and the outer and inner splits of the graphs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Ints
from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.models import Split, stratified_folds

__all__ = ["CrossValidation", "OuterFold", "Protocol", "check_cv", "inner_splits", "outer_splits", "read_folds"]

Protocol = Literal["nested", "du2019"]

_LEAST_FRACTION = 0.3  # of the kernels; ridge regression does not rank them as support vector machines do
_SEED_STEP = 1_000  # between draws of inner folds; seeds that differ by less share no draw


class _Defaults(NamedTuple):
    """Default options up to a number of graphs."""

    max_graphs: float
    inner_repeats: int
    min_finalists: int


_DEFAULTS = (_Defaults(500, 4, 12), _Defaults(2_000, 2, 20), _Defaults(math.inf, 1, 8))


class OuterFold(NamedTuple):
    """The split of an outer fold, and the splits of its training graphs."""

    split: Split
    inner: list[Split]
    """Those of all draws, one draw after the other; empty with ``"du2019"``."""


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """How graphs are split, and how the kernel and C are chosen.

    Parameters
    ----------
    folds : int or sequence of int
        Number of outer folds, or the fold number of each graph.
    protocol : {"nested", "du2019"}
        ``"nested"`` chooses every option by cross-validation within the training graphs of each outer fold; its test
        graphs never influence the choice. ``"du2019"`` chooses the options that maximise the mean over the reported
        folds, as for the published GNTK results: optimistic by construction.
    inner_folds : int
        Number of inner folds within the training graphs of each outer fold, 2 or more (nested only).
    inner_repeats : int, optional
        Number of times that inner folds are drawn; their accuracies are averaged. On few graphs a single draw makes
        the choice noisy. By default 4 up to 500 graphs, 2 up to 2,000, and 1 for more.
    n_finalists : int, optional
        Number of kernels for which support vector machines are fitted, in each outer fold. They are those with the
        smallest leave-one-out error of ridge regression on the training graphs of the fold, or with ``"du2019"`` on all
        graphs; beyond 1,500 graphs on a random sample of them. By default 12 up to 500 graphs, 20 up to 2,000, and 8
        for more, but at least three tenths of the kernels; with ``"du2019"`` all kernels.
    random_state : int
        Seed of the folds.
    """

    folds: int | Sequence[int] | NDArray[Any] = 10
    protocol: Protocol = "nested"
    inner_folds: int = 5
    inner_repeats: int | None = None
    n_finalists: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.protocol not in get_args(Protocol):
            raise InputError(f"protocol must be one of {', '.join(get_args(Protocol))}, but is {self.protocol!r}.")
        check_integer("inner_folds", self.inner_folds, 2 if self.protocol == "nested" else 1)
        for name in ("inner_repeats", "n_finalists"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1)

    def resolve(self, n_graphs: int, n_kernels: int) -> Self:
        """Return the options with the defaults for a number of graphs and of kernels."""
        n_finalists = self.n_finalists
        if n_finalists is None and self.protocol == "nested":
            n_finalists = max(_defaults(n_graphs).min_finalists, math.ceil(_LEAST_FRACTION * n_kernels))
        if n_finalists is not None and n_finalists >= n_kernels:
            n_finalists = None
        return replace(self, inner_repeats=self._repeats(n_graphs), n_finalists=n_finalists)

    def split(self, y: NDArray[Any]) -> list[OuterFold]:
        """Return the splits of graphs with classes y (n,)."""
        outer = outer_splits(y, self.folds, self.random_state)
        if self.protocol != "nested":
            return [OuterFold(split, []) for split in outer]
        seeds = [(self.random_state + _SEED_STEP * i) % 2**32 for i in range(self._repeats(len(y)))]
        draws = [inner_splits(y, outer, self.inner_folds, seed) for seed in seeds]
        inner = [[split for draw in draws for split in draw[k]] for k in range(len(outer))]
        return [OuterFold(*fold) for fold in zip(outer, inner, strict=True)]

    def _repeats(self, n_graphs: int) -> int:
        """Return the number of times that inner folds are drawn for a number of graphs."""
        return _defaults(n_graphs).inner_repeats if self.inner_repeats is None else self.inner_repeats


def _defaults(n_graphs: int) -> _Defaults:
    return next(row for row in _DEFAULTS if n_graphs <= row.max_graphs)


def check_cv(cv: Any) -> CrossValidation:
    """Return a cross-validation unchanged; an integer is a number of outer folds."""
    if isinstance(cv, CrossValidation):
        return cv
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        return CrossValidation(folds=int(cv))
    expected = "a number of folds or a CrossValidation, such as CrossValidation(folds=5)"
    raise InputError(f"cv must be {expected}, but has type {type(cv).__name__}.")


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
