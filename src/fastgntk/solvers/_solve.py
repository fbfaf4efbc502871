"""One door to all solvers."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgntk._util.checks import check_integer
from fastgntk._util.threads import Progress
from fastgntk.errors import InputError
from fastgntk.sketch import SKETCHES
from fastgntk.solvers._cholesky import cholesky
from fastgntk.solvers._conjugate import conjugate_gradients
from fastgntk.solvers._eigen import eigen
from fastgntk.solvers._nystrom import nystrom
from fastgntk.solvers._problem import Problem, as_ridge, as_targets, as_weights, default_rank
from fastgntk.solvers._sketched import sketched
from fastgntk.solvers._solution import Solution
from fastgntk.solvers._source import KernelSource

__all__ = ["SOLVERS", "check_solver", "solve"]

SOLVERS: dict[str, Callable[[Problem], Solution]] = {
    "cholesky": cholesky,
    "eigen": eigen,
    "nystrom": nystrom,
    "sketched": sketched,
    "cg": conjugate_gradients,
}
"""How to solve, by name."""


def solve(
    source: KernelSource,
    Y: Any,
    ridge: float,
    *,
    solver: str = "cholesky",
    weights: Any = None,
    rank: int | None = None,
    seed: int = 0,
    tolerance: float = 1e-6,
    sketch: str = "sparse",
    max_iterations: int = 1000,
    progress: Progress | None = None,
) -> Solution:
    """Solve (K + ridge · W⁻¹) α = Y, exactly or by an approximation.

    Parameters
    ----------
    source : KernelSource
        The kernel among n graphs; :class:`MatrixSource` for a matrix.
    Y : array of shape (n, k) or (n,)
        Targets, centred and scaled.
    ridge : float
        0 or more, in the units of K.
    solver : {"cholesky", "eigen", "nystrom", "sketched", "cg"}
    weights : array of shape (n,), optional
        How much each graph counts, above 0. A weight of 2 is the same as to give the graph twice.
    rank : int, optional
        Landmarks of ``nystrom`` and ``cg``, rows of the sketch of ``sketched``: at most n, by default
        10 sqrt(n) and at least 100.
    seed : int
        Decides landmarks and sketches.
    tolerance : float in (0, 1)
        Relative residual at which ``cg`` stops.
    sketch : {"ams", "gaussian", "srht", "countsketch", "sparse"}
        The random matrix of ``sketched``. In ``benchmarks/solvers.py`` all came about equally close, except that
        ``countsketch`` wastes rows where rank is a large part of n.
    max_iterations : int
        Of ``cg``; when they are not enough, an error gives the residual that was reached.
    progress : callable, optional
        Called as ``progress(done, total)``; only their ratio has a meaning.

    Returns
    -------
    Solution

    Examples
    --------
    >>> from fastgntk.solvers import MatrixSource
    >>> found = solve(MatrixSource(np.array([[2.0, 1.0], [1.0, 2.0]])), [1.0, -1.0], 1.0)
    >>> found.alpha.round(3).tolist(), found.predict([[1.0, 0.0]]).round(3).tolist()
    ([[0.5], [-0.5]], [[0.5]])
    """
    check_solver(solver, rank)
    if not isinstance(sketch, str) or sketch not in SKETCHES:
        raise InputError(f"sketch must be one of {', '.join(SKETCHES)}, but is {sketch!r}.")
    n = source.n
    if n == 0:
        raise InputError("there are no graphs to learn from; give at least one.")
    if not (isinstance(tolerance, int | float | np.number) and 0.0 < tolerance < 1.0 and math.isfinite(tolerance)):
        raise InputError(f"tolerance must be a number between 0 and 1, but is {tolerance!r}.")
    problem = Problem(
        source,
        as_targets(Y, n),
        as_ridge(ridge),
        as_weights(weights, n),
        min(n, default_rank(n) if rank is None else check_integer("rank", rank, 1)),
        check_integer("seed", seed, 0),
        float(tolerance),
        sketch,
        check_integer("max_iterations", max_iterations, 1),
        progress,
    )
    return SOLVERS[solver](problem)


def check_solver(solver: Any, rank: Any) -> None:
    """Refuse a solver that does not exist, or a rank that is none, before anything is computed for it."""
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise InputError(f"solver must be one of {', '.join(SOLVERS)}, but is {solver!r}.")
    if rank is not None:
        check_integer("rank", rank, 1)
