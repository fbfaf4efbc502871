"""What is told about the data and the run: names, stages with their times, and the lines of a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from fastgntk._util.threads import Progress
from fastgntk._version import __version__
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import GNTK
from fastgntk.pairwise.store import fingerprint

__all__ = ["Source", "Stages", "in_words", "run_rows"]

_TEXT = 120  # characters of a name


@dataclass(frozen=True, eq=False)
class Source:
    """The data that a report is about."""

    batch: GraphBatch
    name: str
    names: list[str]
    """Of the graphs."""
    smiles: tuple[str, ...] | None
    skipped: int
    """How many rows of a table could not be read and were left out."""
    targets: tuple[str, ...]

    @classmethod
    def of(cls, data: Any) -> Source:
        """Take a data set, or anything that is graphs."""
        batch = as_graphs(data)
        smiles = getattr(data, "smiles", None)
        names = getattr(data, "names", None) or smiles or [str(i) for i in range(len(batch))]
        short = [text if len(text) <= _TEXT else text[: _TEXT - 1] + "…" for text in map(str, names)]
        name = str(getattr(data, "name", "") or "graphs")
        skipped = len(getattr(data, "skipped", ()))
        return cls(batch, name, short, smiles, skipped, tuple(getattr(data, "targets", ())))


class Stages:
    """Time what is done, and tell how far it is: each stage is a part of the whole by its weight."""

    def __init__(self, progress: Progress | None, weights: dict[str, float]) -> None:
        self.seconds: list[tuple[str, float]] = []
        self._progress, self._weights = progress, weights
        self._done = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[Callable[[int, int], None]]:
        """Give a progress(done, total) for one stage, and keep its time."""
        weight, whole, start = self._weights[name], sum(self._weights.values()), time.perf_counter()

        def tell(done: int, total: int) -> None:
            if self._progress is not None:
                self._progress(round(1000 * (self._done + weight * done / max(total, 1)) / whole), 1000)

        tell(0, 1)
        yield tell
        tell(1, 1)
        self._done += weight
        self.seconds.append((name, round(time.perf_counter() - start, 3)))


def run_rows(
    source: Source, ready: GraphBatch, spec: GNTK, options: list[tuple[str, str]], engine: str
) -> list[tuple[str, str]]:
    """Return what was run, as names and values."""
    batch = source.batch
    return [
        ("data", f"{source.name}: {len(batch):,} graphs, {batch.n_nodes:,} nodes"),
        ("fingerprint of the data", fingerprint(ready, spec)[:16]),
        *options,
        ("engine", engine),
        ("version", f"fastgntk {__version__}"),
        ("date", datetime.now().astimezone().isoformat(timespec="seconds")),
    ]


def in_words(values: dict[str, Any]) -> str:
    """Return options in words.

    >>> in_words({"blocks": 3, "jump": True, "C": 10.0, "edges": ["plain", "typed"]})
    'blocks 3, jump yes, C 10, edges plain typed'
    """
    return ", ".join(f"{name} {_word(value)}" for name, value in values.items())


def _word(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " ".join(_word(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
