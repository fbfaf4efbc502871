"""The sets and depths of the table."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """One row: a data set and a depth."""

    name: str
    blocks: int
    layers: int


CASES = (
    Case("MUTAG", 3, 2),
    Case("PTC", 9, 1),
    Case("IMDB-BINARY", 3, 2),
    Case("IMDB-MULTI", 3, 2),
    Case("PROTEINS", 3, 2),
    Case("NCI1", 9, 1),
    Case("COLLAB", 1, 2),
    Case("COLLAB", 3, 2),
)
