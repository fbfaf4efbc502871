"""The choice of a sketch (kind, size, seed) as a frozen value that determines the sketch of each graph."""

import math
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from fastgntk._util.checks import check_flag, check_integer
from fastgntk._util.values import Value
from fastgntk.errors import InputError
from fastgntk.sketch._matrices import SKETCHES, SketchMatrix, generator

__all__ = ["Sketch"]


@dataclass(frozen=True, repr=False)
class Sketch(Value):
    """How graphs are sketched: ``GNTK(sketch=Sketch("srht", 0.3))`` is an approximation of the kernel.

    Parameters
    ----------
    kind : {"ams", "gaussian", "srht", "countsketch", "sparse"}
        The random matrix S.
    size : int, or float in (0, 1]
        Rows b of the sketch; a float is a rate, b = ceil(rate · N). A graph with N ≤ b is computed exactly.
    seed : int, 0 or more
        Determines the sketch of a graph together with the graph's content.
    fresh_each_block : bool
        Draw a new sketch for every block of the kernel instead of one for all.
    merge_nodes : bool
        Merge equal nodes of a graph before sketching, with weights for their number: less error at the same b, and
        less work. False is the paper's choice.
    sketch_features : bool
        Sketch the first aggregation too, the one of the features. True is the paper's choice; it saves no time, since
        features are aggregated once per graph and not once per pair.

    Examples
    --------
    >>> Sketch("srht", 0.25).rows(30), Sketch(size=64).rows(30)
    (8, None)
    >>> Sketch("srht", seed=3)
    Sketch(kind='srht', seed=3)
    """

    kind: str = "ams"
    size: int | float = 0.3
    seed: int = 0
    fresh_each_block: bool = False
    merge_nodes: bool = True
    sketch_features: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in SKETCHES:
            raise InputError(f"the kind of a sketch must be one of {', '.join(SKETCHES)}, but is {self.kind!r}.")
        object.__setattr__(self, "size", _check_size(self.size))
        object.__setattr__(self, "seed", check_integer("seed", self.seed, 0))
        for name in ("fresh_each_block", "merge_nodes", "sketch_features"):
            object.__setattr__(self, name, check_flag(name, getattr(self, name)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sketch):
            return NotImplemented
        # 1 is one row and 1.0 is the rate of all rows; Python calls these numbers equal.
        return type(self.size) is type(other.size) and astuple(self) == astuple(other)

    def rows(self, n_nodes: int) -> int | None:
        """Return b for a graph of that many nodes, or None where it is computed exactly."""
        # 0.55 · 100 is slightly above 55 in floating point and must not be rounded up to 56.
        b = self.size if isinstance(self.size, int) else max(1, math.ceil((self.size - 1e-12) * n_nodes))
        return b if b < n_nodes else None

    def draw(self, columns: int, size: int, content: bytes, block: int) -> SketchMatrix:
        """Draw the sketch of a graph for a block (1..L); the same arguments always give the same sketch."""
        words = np.frombuffer(content, dtype="<u4").tolist()
        number = block if self.fresh_each_block else 0
        rng = generator([self.seed, number, *words])
        return SKETCHES[self.kind](columns, size, rng)


def _check_size(size: Any) -> int | float:
    if isinstance(size, int | np.integer) and not isinstance(size, bool | np.bool_):
        if size >= 1:
            return int(size)
    elif isinstance(size, float | np.floating) and 0.0 < size <= 1.0:
        return float(size)
    raise InputError(
        f"the size of a sketch must be a number of rows, 1 or more, or a rate in (0, 1] such as 0.3, but is {size!r}."
    )
