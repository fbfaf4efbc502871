"""Checks of targets, classes and sample weights; centring and scaling of targets."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError, format_numbers
from fastgntk.solvers import as_weights

__all__ = ["Targets", "check_classes", "check_sample_weight", "check_targets", "class_signs"]


@dataclass(frozen=True, eq=False)
class Targets:
    """k targets of n graphs, each with mean 0, and with standard deviation 1 unless it is constant."""

    values: Array  # (n, k)
    mean: Array  # (k,)
    scale: Array  # (k,)
    weights: Array | None  # (n,)
    names: tuple[str, ...]  # (k,)
    single: bool  # whether y is one-dimensional, as predictions are then

    @classmethod
    def from_y(cls, y: Array, weights: Array | None) -> Self:
        """Centre and scale, by weighted moments if weights are given."""
        single = y.ndim == 1
        table = y[:, None] if single else y
        mean = np.average(table, axis=0, weights=weights)
        centred = table - mean
        scale = np.sqrt(np.average(centred**2, axis=0, weights=weights))
        varies = scale > 1e-12 * np.abs(mean)  # otherwise constant up to the rounding of the mean
        scale = np.where(varies, scale, 1.0)
        names = ("y",) if table.shape[1] == 1 else tuple(f"y{i}" for i in range(table.shape[1]))
        return cls(np.where(varies, centred / scale, 0.0), mean, scale, weights, names, single)

    @classmethod
    def from_signs(cls, signs: Array, weights: Array | None, names: tuple[str, ...] = ()) -> Self:
        """Centre the signs of classes without scaling them."""
        mean = np.average(signs, axis=0, weights=weights)
        return cls(signs - mean, mean, np.ones(len(mean)), weights, names, single=False)


def check_targets(y: Any, n_graphs: int) -> Array:
    """Return real targets of shape (n,) or (n, k)."""
    if y is None:
        raise InputError("regression needs targets: pass y.")
    try:
        table = np.asarray(y)
    except ValueError:
        raise InputError("the rows of y must all have the same number of targets.") from None
    if table.ndim == 2 and table.shape[1] == 1:
        table = table[:, 0]
    if table.ndim not in (1, 2) or len(table) != n_graphs or (table.ndim == 2 and table.shape[1] == 0):
        raise InputError(f"y must have one row for each of the {n_graphs} graphs, but has shape {table.shape}.")
    if n_graphs == 0:
        raise InputError("there are no graphs to learn from.")
    if table.dtype.kind not in "buif":
        wrong = [i for i, row in enumerate(table.tolist()) if not _is_numeric(row)]
        if wrong or np.iscomplexobj(table):
            problem = f"there is text for {format_numbers('graph', wrong)}" if wrong else "complex numbers were given"
            raise InputError(f"regression needs numbers as targets, but {problem}; for classes use a classifier.")
    values = np.array(table, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if len(bad):
        raise InputError(f"targets must be finite, but those of {format_numbers('graph', bad.tolist())} are not.")
    return values


def check_sample_weight(weights: Any, n_graphs: int) -> Array | None:
    """Return positive weights, or None for equal weights."""
    if weights is None:
        return None
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight must be numbers, one for each graph.") from None
    if values.ndim == 0:
        values = np.full(n_graphs, float(values))
    return as_weights(values, n_graphs, "sample_weight")


def _is_numeric(row: Any) -> bool:
    try:
        np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def check_classes(y: Any, count: int, items: str = "graphs") -> NDArray[Any]:
    """Return class labels as an array of integers or strings, with at least two classes."""
    if y is None:
        raise InputError("there are no class labels; pass y.")
    labels = _label_array(y)
    if labels.ndim != 1 or len(labels) != count:
        raise InputError(f"y must have one class for each of the {count} {items}, but has shape {labels.shape}.")
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise InputError("y contains NaN or infinity, which are not valid classes.")
        if not np.array_equal(labels, np.rint(labels)):
            raise InputError("y holds real numbers, but classes are integers or strings; use a regressor for numbers.")
        labels = labels.astype(np.int64)
    classes = np.unique(labels)
    if len(classes) < 2:
        problem = f"all {count} {items} are of class {classes[0]}" if len(classes) else f"there are no {items}"
        raise InputError(f"a classifier needs at least two classes, but {problem}.")
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
        raise InputError("classes must be all integers or all strings, but y holds values of other types.")
    return labels


def class_signs(class_ids: Ints, n_classes: int) -> Array:
    """Return 1 for a class and −1 for all others: one column for each class, or for the second of two classes."""
    columns = np.arange(n_classes) if n_classes > 2 else np.array([1])
    return np.where(class_ids[:, None] == columns, 1.0, -1.0)
