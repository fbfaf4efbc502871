"""Which solver ridge regression takes: the exact one while it is quick, then what time and memory allow."""

from dataclasses import dataclass
from typing import Any

from fastgntk._util.checks import check_integer
from fastgntk._util.text import format_bytes, memory_budget
from fastgntk.errors import InputError
from fastgntk.solvers._problem import default_rank
from fastgntk.solvers._solve import SOLVERS

__all__ = ["SOLVER_NAMES", "SolverChoice", "check_solver_name", "choose_solver"]

SOLVER_NAMES = ("auto", *SOLVERS, "features")
"""What estimators take as ``solver``."""

_EXACT = 10_000  # graphs; at 20,000 a Cholesky factor takes three times as long as cg, which gives the same predictions
_LANDMARKS = 100_000  # graphs; with 10 sqrt(n) landmarks each, as many kernel values as 25,000 graphs have pairs


@dataclass(frozen=True)
class SolverChoice:
    """A solver and the reason for it."""

    solver: str
    reason: str


def check_solver_name(solver: Any, rank: Any) -> None:
    """Refuse a solver that does not exist, or a rank that is none, before anything is computed for it."""
    if not isinstance(solver, str) or solver not in SOLVER_NAMES:
        raise InputError(f"solver must be one of {', '.join(SOLVER_NAMES)}, but is {solver!r}.")
    if rank is not None:
        check_integer("rank", rank, 1)


def choose_solver(
    asked: str, n: int, *, rank: int | None = None, memory: Any = None, stored: bool = False
) -> SolverChoice:
    """Return the solver for n graphs and why; ``stored`` if kernel values are on disk and need only be read.

    >>> choose_solver("auto", 5_000, memory="4GB")
    SolverChoice(solver='cholesky', reason='exact, and quick up to 10,000 graphs')
    >>> [choose_solver("auto", n, memory="4GB").solver for n in (15_000, 50_000, 200_000)]
    ['cg', 'nystrom', 'features']
    """
    if asked != "auto":
        return SolverChoice(asked, "chosen by name")
    room = memory_budget(memory)
    landmarks = min(n, default_rank(n) if rank is None else rank)
    matrix, columns = 8 * n * n, 8 * n * landmarks
    if n <= _EXACT and matrix <= room:  # the same limits as without auto
        return SolverChoice("cholesky", f"exact, and quick up to {_EXACT:,} graphs")
    # Beside the matrix cg holds columns, features and an orthogonal factor; nystrom these alone.
    if matrix + 4 * columns <= room:
        return SolverChoice("cg", f"as close as exact; a matrix of {format_bytes(matrix)} fits into memory")
    tight = f"a matrix of {format_bytes(matrix)} is too much for max_memory={format_bytes(room)}"
    if stored or (n <= _LANDMARKS and 4 * columns <= room):
        return SolverChoice("nystrom", f"{tight}, {landmarks:,} of its columns are not")
    why = f"more than {_LANDMARKS:,} graphs" if n > _LANDMARKS else f"{tight}, and so are {landmarks:,} of its columns"
    return SolverChoice("features", f"{why}: work and memory grow with graphs, not with pairs")
