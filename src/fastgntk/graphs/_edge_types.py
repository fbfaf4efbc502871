"""Edge labels as numbers, for kernels that tell types of edges apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["EdgeTypes"]


class EdgeTypes:
    """Numbers 0, 1, … for edge labels; whole numbers and text are labels of two kinds, of which none are equal."""

    def __init__(self, known: dict[bool, tuple[NDArray[Any], NDArray[np.int64]]] | None = None) -> None:
        self.known = known or {}  # by whether they are text: labels, sorted, and their numbers

    def of_kind(self, labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the known labels of the kind that these are of, and their numbers."""
        nothing = np.zeros(0, dtype=labels.dtype), np.zeros(0, dtype=np.int64)
        return self.known.get(labels.dtype.kind == "U", nothing)

    def extend(self, labels: NDArray[Any] | None) -> EdgeTypes:
        """Return types that know these labels too; numbers stay, and new ones come last."""
        if labels is None:
            return self
        known, numbers = self.of_kind(labels)
        both = np.concatenate([known, np.setdiff1d(labels, known)])
        new = len(self) + np.arange(len(both) - len(known))
        order = np.argsort(both, kind="stable")
        return EdgeTypes({**self.known, labels.dtype.kind == "U": (both[order], np.append(numbers, new)[order])})

    def numbers(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of each label; those that have none yet come last."""
        known, numbers = self.extend(labels).of_kind(labels)
        return np.asarray(numbers[np.searchsorted(known, labels)], dtype=np.int64)

    @property
    def has_text(self) -> bool:
        """Whether some of the labels are text."""
        return True in self.known

    def __len__(self) -> int:
        return sum(len(known) for known, _ in self.known.values())
