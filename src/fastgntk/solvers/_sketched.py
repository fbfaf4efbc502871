"""Sketched regression: α = Sᵀ β with a random matrix S (Yang, Pilanci and Wainwright 2017; Jiang et al. 2022).

β is argmin ‖W^½ (y − K Sᵀ β)‖² + ρ βᵀ S K Sᵀ β: m unknowns instead of n, at O(n m²) once K Sᵀ is there.
"""

import numpy as np

from fastgntk.sketch import SKETCHES, generator
from fastgntk.solvers._low_rank import low_rank
from fastgntk.solvers._nystrom import low_rank_solution
from fastgntk.solvers._problem import Problem, floor_jitter
from fastgntk.solvers._solution import Solution
from fastgntk.solvers._source import BLOCK

__all__ = ["sketched"]


def sketched(problem: Problem) -> Solution:
    """Solve on the span of m random combinations of columns; every graph keeps a coefficient.

    All n² kernel values are computed, a block of columns at a time, but only n m numbers kept. A rank of n takes the
    unit matrix for S, and is exact.
    """
    source, n = problem.source, problem.source.n
    diagonal = source.diagonal()
    jitter = floor_jitter(problem.ridge, diagonal)
    rng = generator(problem.seed)
    S = SKETCHES[problem.sketch](n, problem.rank, rng) if problem.rank < n else None
    C = np.empty((n, problem.rank))
    for start in range(0, n, BLOCK):
        problem.report(start, n)
        block = source.order[start : start + BLOCK]
        columns = source.columns(block)
        # K is symmetric: rows of K Sᵀ are columns of S K.
        C[block] = columns.T if S is None else S.left(columns).T
    model = low_rank(C, C if S is None else S.left(C), diagonal, problem.noise(jitter))
    factor, noise_factor = model.whiten, model.noise_factor()
    if S is not None:
        expand = S.dense().T  # (n, m)
        factor, noise_factor = expand @ factor, expand @ noise_factor
    problem.report(n, n)
    return low_rank_solution(problem, model, jitter, "sketched", np.arange(n), factor, noise_factor)
