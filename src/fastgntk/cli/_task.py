"""What is to be learned from a data set: regression or classification, of which targets."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastgntk.cli._inputs import Inputs
from fastgntk.datasets import Dataset, MoleculeTable, NamedDataset
from fastgntk.errors import InputError, some

__all__ = ["Task", "check_targets", "find_task"]

_FEW_CLASSES = 10  # whole numbers with no more distinct values than this are taken for classes


@dataclass(frozen=True, eq=False)
class Task:
    """Targets, and what kind they are."""

    kind: Literal["regression", "classification"]
    y: NDArray[Any]
    names: list[str]


def check_targets(dataset: Dataset, inputs: Inputs) -> None:
    """Refuse graphs without targets."""
    if dataset.y is not None:
        return
    what = "it has neither graph labels nor graph attributes"
    if inputs.is_edge_list:
        what = "give a table with the target of each graph with --targets"
    elif isinstance(dataset, NamedDataset):
        what = "name an attribute of its graphs with --target"
    elif isinstance(dataset, MoleculeTable):
        what = f"name a column with --target; its columns are {', '.join(dataset.columns)}"
    raise InputError(f"{inputs.data} has no targets to learn; {what}.")


def find_task(dataset: Dataset, asked: str) -> Task:
    """Return the task, with targets of its kind; refuse targets from which nothing can be learned.

    Text is classes, and so are whole numbers of few values; other numbers are regression.
    """
    if asked not in ("auto", "regression", "classification"):
        raise InputError(f"--task must be auto, regression or classification, but is {asked!r}.")
    assert dataset.y is not None
    names = list(dataset.targets) if isinstance(dataset, MoleculeTable | NamedDataset) else ["y"]
    column, y = ", ".join(names), dataset.y
    if y.dtype.kind == "U":
        _check_text(dataset, asked, column)
        task = Task("classification", y, names)
    else:
        whole = bool(np.array_equal(y, np.rint(y)))
        classes = y.ndim == 1 and whole and len(np.unique(y)) <= _FEW_CLASSES if asked == "auto" else asked[0] == "c"
        if classes and (y.ndim != 1 or not whole):
            what = "several targets" if y.ndim != 1 else f"numbers that are not whole in column {column!r}"
            raise InputError(f"classification needs one column of classes, but there are {what}.")
        task = Task("classification", y.astype(int), names) if classes else Task("regression", y.astype(float), names)
    distinct = len(np.unique(y, axis=0))
    if task.kind == "regression" and distinct == 1:
        raise InputError(f"all targets in column {column!r} are {y.ravel()[0]:g}; there is nothing to learn.")
    if task.kind == "classification" and distinct == len(y) > 2:
        raise InputError(
            f"column {column!r} has a different class for each of the {len(y)} graphs; name a column with classes, or "
            "pass --task regression if it holds numbers."
        )
    return task


def _check_text(dataset: Dataset, asked: str, column: str) -> None:
    """Refuse text that is meant as numbers: where regression is wanted, or most of it or some decimals are numbers."""
    assert dataset.y is not None
    numbers = np.array([_number(text) for text in dataset.y.ravel().tolist()])
    rows = dataset.rows if isinstance(dataset, MoleculeTable) else np.arange(1, len(numbers) + 1)
    wrong = np.isnan(numbers)
    many = len(np.unique(dataset.y)) > _FEW_CLASSES
    measured = bool(np.any(numbers[~wrong] != np.rint(numbers[~wrong])))
    if asked == "regression" or (asked == "auto" and (measured or (many and wrong.mean() < 0.5))):
        raise InputError(
            f"column {column!r} has text where numbers are needed, in {some('row', rows[wrong].tolist())}; correct it, "
            "or pass --task classification if these are classes."
        )


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return np.nan
    return value if np.isfinite(value) else np.nan
