"""The options of the approximate solvers, checked when they are made."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastgntk._util.checks import check_integer
from fastgntk._util.values import Value
from fastgntk.errors import InputError
from fastgntk.sketch import SKETCHES

__all__ = ["SolverOptions", "check_options", "default_rank"]


@dataclass(frozen=True, repr=False)
class SolverOptions(Value):
    """Options of the solvers ``nystrom``, ``sketched`` and ``cg``; the others ignore them.

    Parameters
    ----------
    rank : int, optional
        Landmarks of ``nystrom`` and ``cg``, rows of the sketch of ``sketched``: at most n, by default
        10 sqrt(n) and at least 100.
    random_state : int
        Seed for drawing landmarks and sketches.
    tolerance : float in (0, 1)
        Relative residual at which ``cg`` stops.
    max_iterations : int
        Limit of ``cg``; if it is reached, an error gives the residual.
    sketch : {"ams", "gaussian", "srht", "countsketch", "sparse"}
        The random matrix of ``sketched``. In ``benchmarks/solvers.py`` all came about equally close, except that
        ``countsketch`` wastes rows where rank is a large part of n.

    Examples
    --------
    >>> SolverOptions(rank=200)
    SolverOptions(rank=200)
    """

    rank: int | None = None
    random_state: int = 0
    tolerance: float = 1e-6
    max_iterations: int = 1000
    sketch: str = "sparse"

    def __post_init__(self) -> None:
        if self.rank is not None:
            check_integer("rank", self.rank, 1)
        check_integer("random_state", self.random_state, 0)
        check_integer("max_iterations", self.max_iterations, 1)
        is_number = isinstance(self.tolerance, int | float | np.number)
        if not (is_number and 0.0 < self.tolerance < 1.0 and math.isfinite(self.tolerance)):
            raise InputError(f"tolerance must be a number between 0 and 1, but is {self.tolerance!r}.")
        if not isinstance(self.sketch, str) or self.sketch not in SKETCHES:
            raise InputError(f"sketch must be one of {', '.join(SKETCHES)}, but is {self.sketch!r}.")

    def rank_for(self, n: int) -> int:
        """Return the rank for n graphs, at most n."""
        return min(n, default_rank(n) if self.rank is None else int(self.rank))


def check_options(options: Any) -> SolverOptions:
    """Return the options, or the default for None; raise an error for any other type."""
    if options is None:
        return SolverOptions()
    if not isinstance(options, SolverOptions):
        kind = type(options).__name__
        raise InputError(f"options must be SolverOptions, such as SolverOptions(rank=200), but has type {kind}.")
    return options


def default_rank(n: int) -> int:
    """Return the default number of columns of approximate solvers: 10 sqrt(n), at least 100 and at most n.

    >>> [default_rank(n) for n in (30, 100, 1000, 20_000)]
    [30, 100, 317, 1415]
    """
    return min(n, max(100, math.ceil(10.0 * math.sqrt(n))))
