"""Which sketch: name, size, seed. One frozen value, from which the same graph always gets the same sketch."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, TypedDict, get_type_hints

import numpy as np

from fastgntk.errors import InputError
from fastgntk.sketch._generator import generator
from fastgntk.sketch._matrices import SKETCHES, Sketch

__all__ = ["SketchKind", "SketchOptions", "Sketching"]


class SketchKind(TypedDict, total=False):
    """The options of a sketch as functions take them: ``sketch_size`` is the size of :class:`Sketching`."""

    sketch: str
    sketch_size: int | float
    fresh_each_block: bool
    merge_nodes: bool
    sketch_features: bool


class SketchOptions(SketchKind, total=False):
    """The same with the seed, where functions have no other seed."""

    seed: int


@dataclass(frozen=True)
class Sketching:
    """Say how graphs are sketched.

    Parameters
    ----------
    sketch : {"ams", "gaussian", "srht", "countsketch", "sparse"}
    size : int, or float in (0, 1]
        Rows b of the sketch; a float is a rate, b = ceil(rate · N). A graph with N ≤ b is not sketched: exact.
    seed : int, 0 or more
        Together with a graph's content it decides the graph's sketch.
    fresh_each_block : bool
        Draw a new sketch for every block of the kernel instead of one for all.
    merge_nodes : bool
        Sketch distinct nodes, each weighted by how often it occurs, instead of all nodes: less error at the same b,
        and less work. False is what the paper does.
    sketch_features : bool
        Sketch the first aggregation too, that of the features. True is what the paper does; it saves no time, since
        features are aggregated once for each graph and not for each pair.

    Examples
    --------
    >>> Sketching("srht", 0.25).rows(30), Sketching(size=64).rows(30)
    (8, None)
    """

    sketch: str = "ams"
    size: int | float = 0.3
    seed: int = 0
    fresh_each_block: bool = False
    merge_nodes: bool = True
    sketch_features: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.sketch, str) or self.sketch not in SKETCHES:
            raise InputError(f"sketch must be one of {', '.join(SKETCHES)}, but is {self.sketch!r}.")
        object.__setattr__(self, "size", _check_size(self.size))
        object.__setattr__(self, "seed", _check_seed(self.seed))
        for name in ("fresh_each_block", "merge_nodes", "sketch_features"):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_):
                raise InputError(f"{name} must be True or False, but is {value!r}.")
            object.__setattr__(self, name, bool(value))

    @classmethod
    def from_options(cls, options: SketchOptions) -> Sketching:
        """Make one from the options of a function; a missing one takes its default."""
        unknown = sorted(set(options) - set(get_type_hints(SketchOptions)))
        if unknown:
            raise TypeError(f"there is no argument {unknown[0]!r}")
        return cls(**{"size" if name == "sketch_size" else name: value for name, value in options.items()})  # type: ignore[arg-type]

    def rows(self, n_nodes: int) -> int | None:
        """Return b for a graph of that many nodes, or None where it is not sketched."""
        # 0.55 · 100 is a little more than 55 in floating point, and must not become 56.
        b = self.size if isinstance(self.size, int) else max(1, math.ceil((self.size - 1e-12) * n_nodes))
        return b if b < n_nodes else None

    def draw(self, columns: int, size: int, content: bytes, block: int) -> Sketch:
        """Draw the sketch of a graph for a block (1..L), the same in every call with the same arguments."""
        words = np.frombuffer(content, dtype="<u4").tolist()
        number = block if self.fresh_each_block else 0
        rng = generator([self.seed, number, *words])
        return SKETCHES[self.sketch](columns, size, rng)

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain Python values."""
        return asdict(self)


def _check_size(size: Any) -> int | float:
    wanted = "sketch_size must be a whole number of rows, 1 or more, or a rate in (0, 1] such as 0.3"
    if isinstance(size, int | np.integer) and not isinstance(size, bool | np.bool_):
        if size >= 1:
            return int(size)
    elif isinstance(size, float | np.floating) and 0.0 < size <= 1.0:
        return float(size)
    raise InputError(f"{wanted}, but is {size!r}.")


def _check_seed(seed: Any) -> int:
    if isinstance(seed, bool | np.bool_) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed must be a whole number, 0 or more, but is {seed!r}.")
    return int(seed)
