"""The result of an evaluation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.kernels import Kernel
from fastgntk.models import Split
from fastgntk.selection._cross_validation import CrossValidation, Protocol

__all__ = ["Evaluation", "FoldChoice", "SelectionRecord"]


@dataclass(frozen=True)
class FoldChoice:
    """The kernel and the C chosen for one outer fold."""

    kernel: Kernel
    C: float


@dataclass(frozen=True, eq=False)
class SelectionRecord:
    """Intermediate results of an evaluation, from which reports refit the SVM of each outer fold."""

    folds: tuple[Split, ...]
    """Indices of the training and test graphs of each outer fold."""
    kernels: tuple[Kernel, ...]
    C: tuple[float, ...]
    scores: Array
    """Mean score of each kernel and C, shape (kernels, C): over the inner folds of all outer folds, or with
    ``"du2019"`` over the reported folds; with ``n_finalists`` over those outer folds in which the kernel was one, and
    NaN if it never was."""
    engines: tuple[str, ...]
    """Engine of each kernel, empty if no SVM was fitted in any cross-validation of the call.

    Engines agree to 1e-8, a difference that can change a support vector.
    """
    cv: CrossValidation
    """The options, with defaults resolved."""


@dataclass(frozen=True)
class Evaluation:
    """Result of :func:`evaluate`."""

    protocol: Protocol
    accuracies: tuple[float, ...]
    """Accuracy of each outer fold."""
    choices: tuple[FoldChoice, ...]
    """One for each outer fold; with ``"du2019"`` all are equal."""
    n_graphs: int
    n_classes: int
    engine: str
    kernel_seconds: float
    learning_seconds: float
    n_fits: int
    """Number of support vector machines."""
    n_unconverged: int
    """Number of support vector machines stopped before they converged."""
    record: SelectionRecord
    """The intermediate results; not in :meth:`to_dict`."""

    @property
    def mean(self) -> float:
        """Mean accuracy over the folds."""
        return float(np.mean(self.accuracies))

    @property
    def std(self) -> float:
        """Standard deviation of the accuracy over the folds."""
        return float(np.std(self.accuracies))

    @property
    def optimistic(self) -> bool:
        """Whether the reported folds were also used for selection."""
        return self.protocol == "du2019"

    def to_dict(self) -> dict[str, Any]:
        """Return the result without folds and scores, as plain Python values for JSON."""
        out = {k: v for k, v in self.__dict__.items() if k not in ("choices", "accuracies", "record")}
        return out | {
            "accuracy_mean": self.mean,
            "accuracy_std": self.std,
            "optimistic": self.optimistic,
            "accuracies": list(self.accuracies),
            "choices": [{"kernel": repr(c.kernel), "C": c.C} for c in self.choices],
            "kernels": [repr(kernel) for kernel in self.record.kernels],
            "C": list(self.record.C),
        }
