"""Ridge regression by a named solver, and the choice of a solver by the number of graphs and the memory."""

from collections.abc import Callable
from typing import Any, NamedTuple

from fastgntk._util.text import format_bytes, memory_budget
from fastgntk._util.threads import Progress
from fastgntk.errors import InputError
from fastgntk.solvers._cholesky import cholesky
from fastgntk.solvers._conjugate_gradients import conjugate_gradients
from fastgntk.solvers._eigen import eigen
from fastgntk.solvers._low_rank import nystrom, sketched
from fastgntk.solvers._options import SolverOptions, check_options, default_rank
from fastgntk.solvers._problem import KernelSource, Problem, as_ridge, as_targets, as_weights
from fastgntk.solvers._solution import Solution

__all__ = ["SOLVERS", "SOLVER_NAMES", "SolverChoice", "choose_solver", "solve"]

SOLVERS: dict[str, Callable[[Problem], Solution]] = {
    "cholesky": cholesky,
    "eigen": eigen,
    "nystrom": nystrom,
    "sketched": sketched,
    "cg": conjugate_gradients,
}
"""Solvers by name."""

SOLVER_NAMES = ("auto", *SOLVERS, "features")
"""Values of the option ``solver`` of estimators."""

_MAX_CHOLESKY_GRAPHS = 10_000  # at 20,000 Cholesky takes three times as long as cg, with the same predictions
_MAX_NYSTROM_GRAPHS = 100_000  # 10 sqrt(n) landmarks then need as many kernel values as 25,000 graphs have pairs


def solve(
    source: KernelSource,
    Y: Any,
    ridge: float,
    *,
    solver: str = "cholesky",
    weights: Any = None,
    options: SolverOptions | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Solve (K + ridge · W⁻¹) α = Y, exactly or by an approximation.

    Parameters
    ----------
    source : KernelSource
        The kernel matrix of n graphs; :class:`MatrixSource` if it is in memory.
    Y : array of shape (n, k) or (n,)
        Targets, centred and scaled.
    ridge : float
        0 or more, in the units of K.
    solver : {"cholesky", "eigen", "nystrom", "sketched", "cg"}
        The first two are exact, the others approximate; :func:`choose_solver` chooses by number of graphs and memory.
    weights : array of shape (n,), optional
        Weight of each graph, above 0. A weight of 2 is equivalent to passing the graph twice.
    options : SolverOptions, optional
        Rank, seed and accuracy of the last three solvers.
    progress : callable, optional
        Called as ``progress(done, total)``; only the ratio is meaningful.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np
    >>> from fastgntk.solvers import MatrixSource
    >>> solution = solve(MatrixSource(np.array([[2.0, 1.0], [1.0, 2.0]])), [1.0, -1.0], 1.0)
    >>> solution.coefficients.round(3).tolist(), solution.predict([[1.0, 0.0]]).round(3).tolist()
    ([[0.5], [-0.5]], [[0.5]])
    """
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise InputError(f"solver must be one of {', '.join(SOLVERS)}, but is {solver!r}.")
    n = source.n
    if n == 0:
        raise InputError("there are no graphs to learn from; give at least one.")
    problem = Problem(
        source, as_targets(Y, n), as_ridge(ridge), as_weights(weights, n), check_options(options), progress
    )
    return SOLVERS[solver](problem)


class SolverChoice(NamedTuple):
    """A solver and the reason for the choice."""

    solver: str
    reason: str


def choose_solver(
    solver: str, n: int, *, rank: int | None = None, memory: Any = None, stored: bool = False
) -> SolverChoice:
    """Return the solver for n graphs and the reason; ``stored`` means that kernel values are read from disk.

    ``"features"`` is not a solver of :func:`solve`: estimators then use random features in place of the kernel.

    >>> choose_solver("auto", 5_000, memory="4GB")
    SolverChoice(solver='cholesky', reason='exact, and quick up to 10,000 graphs')
    >>> [choose_solver("auto", n, memory="4GB").solver for n in (15_000, 50_000, 200_000)]
    ['cg', 'nystrom', 'features']
    """
    if solver != "auto":
        return SolverChoice(solver, "chosen by name")
    landmarks = min(n, default_rank(n) if rank is None else rank)
    matrix, columns = 8 * n * n, 8 * n * landmarks
    available = memory_budget(memory)
    if n <= _MAX_CHOLESKY_GRAPHS and matrix <= available:
        return SolverChoice("cholesky", f"exact, and quick up to {_MAX_CHOLESKY_GRAPHS:,} graphs")
    # Besides the matrix, cg needs columns, features and an orthogonal factor; nystrom only needs these.
    if matrix + 4 * columns <= available:
        reason = f"as accurate as an exact solver; a matrix of {format_bytes(matrix)} fits into memory"
        return SolverChoice("cg", reason)
    tight = f"a matrix of {format_bytes(matrix)} is too much for max_memory={format_bytes(available)}"
    if n <= _MAX_NYSTROM_GRAPHS and 4 * columns <= available:
        return SolverChoice("nystrom", f"{tight}, but {landmarks:,} columns fit")
    if stored:
        return SolverChoice("nystrom", f"{tight}; columns are read from disk")
    why = f"{tight}, and so are {landmarks:,} of its columns"
    if n > _MAX_NYSTROM_GRAPHS:
        why = f"more than {_MAX_NYSTROM_GRAPHS:,} graphs"
    return SolverChoice("features", f"{why}: time and memory grow with the number of graphs, not of pairs")
