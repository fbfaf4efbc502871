"""The choice of a sketch (kind, size, seed) as a frozen value that determines the sketch of each graph."""

import math
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from fastgntk._util.checks import check_flag, check_integer, check_positive
from fastgntk._util.values import Value
from fastgntk.errors import InputError
from fastgntk.sketch._matrices import SKETCHES, SketchMatrix, generator

__all__ = ["Sketch"]

_SIZES = ("given", "auto")
_DEFAULT_ERROR = 0.1


@dataclass(frozen=True, repr=False)
class Sketch(Value):
    """How graphs are sketched: ``GNTK(sketch=Sketch("srht", 0.3))`` is an approximation of the kernel.

    Parameters
    ----------
    kind : {"ams", "gaussian", "srht", "countsketch", "sparse"}
        The random matrix S.
    size : int, float in (0, 1], "given" or "auto"
        Rows b of the sketch; a float is a rate, b = ceil(rate · N). ``"given"`` takes the rows of each graph from
        ``Graph(…, sketch_size=b)`` or ``batch.with_sketch_sizes(sizes)``; ``"auto"`` the smallest number that meets
        ``error``. A graph with N ≤ b is computed exactly.
    seed : int, 0 or more
        Determines the sketch of a graph together with the graph's key: a digest of its whole content, or the
        ``sketch_key`` of the graph.
    fresh_each_block : bool
        Draw a new sketch for every block of the kernel instead of one for all.
    merge_nodes : bool
        Merge equal nodes of a graph before sketching, with weights for their number: less error at the same b, and
        less work. False is the paper's choice.
    sketch_features : bool
        Sketch the first aggregation too, the one of the features. True is the paper's choice; it saves no time, since
        features are aggregated once per graph and not once per pair.
    error : float above 0, for ``size="auto"`` only
        The relative root-mean-square error of the pooled aggregated features of a graph, 0.1 by default.

    Notes
    -----
    With g = Âᵀ1, the sum of all aggregated features of a graph is Xᵀg. ``size="auto"`` takes the smallest b with

        E ‖Xᵀ(SᵀS − I) g‖² ≤ error² ‖Xᵀg‖²

    from the exact variance of one sketch; with typed edges both sides are summed over relations. b depends on one graph
    only. The criterion is exact for one aggregation of all nodes, and a bound for distinct nodes (``merge_nodes``). It
    is a heuristic for later blocks, where Σ takes the place of X Xᵀ, and for kernel values, in which the errors of two
    graphs multiply. The scale c_u has no influence. Since ‖Xᵀg‖ ≤ ‖X‖_F ‖g‖, b is about 2/error² or more: 200 rows at
    the default, so that most graphs of fewer nodes are computed exactly.

    Examples
    --------
    >>> Sketch("srht", 0.25).rows(30), Sketch(size=64).rows(30)
    (8, None)
    >>> Sketch(size="given").rows(30, 12), Sketch(size="auto", error=0.2).rows(30, 30)
    (12, None)
    >>> Sketch("srht", seed=3)
    Sketch(kind='srht', seed=3)
    """

    kind: str = "ams"
    size: int | float | str = 0.3
    seed: int = 0
    fresh_each_block: bool = False
    merge_nodes: bool = True
    sketch_features: bool = False
    error: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in SKETCHES:
            raise InputError(f"the kind of a sketch must be one of {', '.join(SKETCHES)}, but is {self.kind!r}.")
        object.__setattr__(self, "size", _check_size(self.size))
        object.__setattr__(self, "seed", check_integer("seed", self.seed, 0))
        for name in ("fresh_each_block", "merge_nodes", "sketch_features"):
            object.__setattr__(self, name, check_flag(name, getattr(self, name)))
        object.__setattr__(self, "error", _check_error(self.error, self.size))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sketch):
            return NotImplemented
        # 1 is one row and 1.0 is the rate of all rows; Python calls these numbers equal.
        return type(self.size) is type(other.size) and astuple(self) == astuple(other)

    def rows(self, n_nodes: int, given_rows: int | None = None) -> int | None:
        """Return b for a graph of that many nodes, or None where it is computed exactly.

        ``given_rows`` is the number of rows of this graph, for ``size="given"`` and ``size="auto"``.
        """
        if isinstance(self.size, str):
            if given_rows is None:
                raise InputError(f"size={self.size!r} needs the number of rows of the graph.")
            b = given_rows
        else:
            # 0.55 · 100 is slightly above 55 in floating point and must not be rounded up to 56.
            b = self.size if isinstance(self.size, int) else max(1, math.ceil((self.size - 1e-12) * n_nodes))
        return b if b < n_nodes else None

    def draw(self, n_nodes: int, n_rows: int, key: bytes, block: int) -> SketchMatrix:
        """Draw the sketch of a graph for a block (1..L); the same arguments always give the same sketch."""
        words = np.frombuffer(key, dtype="<u4").tolist()
        stream = block if self.fresh_each_block else 0
        rng = generator([self.seed, stream, *words])
        return SKETCHES[self.kind](n_nodes, n_rows, rng)


def _check_size(size: Any) -> int | float | str:
    if isinstance(size, int | np.integer) and not isinstance(size, bool | np.bool_):
        if size >= 1:
            return int(size)
    elif (isinstance(size, float | np.floating) and 0.0 < size <= 1.0) or (isinstance(size, str) and size in _SIZES):
        return str(size) if isinstance(size, str) else float(size)
    raise InputError(
        "the size of a sketch must be 'given', 'auto', a number of rows, 1 or more, or a rate in (0, 1] such as 0.3, "
        f"but is {size!r}."
    )


def _check_error(error: Any, size: int | float | str) -> float | None:
    if size == "auto":
        return _DEFAULT_ERROR if error is None else check_positive("the error of a sketch", error)
    if error is not None:
        raise InputError(f"the error of a sketch is for size='auto', but the size is {size!r}; leave out the error.")
    return None
