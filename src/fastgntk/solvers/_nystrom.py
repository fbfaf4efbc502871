"""The Nyström approximation: m columns of K, those of landmarks, and nothing else of it (Williams and Seeger 2001)."""

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.sketch import generator
from fastgntk.solvers._low_rank import LowRank, low_rank
from fastgntk.solvers._problem import Problem, floor_jitter
from fastgntk.solvers._solution import Solution, likelihood

__all__ = ["draw_landmarks", "landmark_model", "low_rank_solution", "nystrom"]


def nystrom(problem: Problem) -> Solution:
    """Solve on the span of the landmarks' columns: n m kernel values, O(n m²) operations, coefficients for m graphs."""
    model, landmarks, jitter = landmark_model(problem)
    return low_rank_solution(problem, model, jitter, "nystrom", landmarks, model.whiten, model.noise_factor())


def draw_landmarks(n: int, rank: int, seed: int) -> Ints:
    """Draw landmarks uniformly without replacement, in ascending order.

    Uniformly: on 2,000 random graphs at ranks 50 to 800, draws by what earlier landmarks leave unexpressed (randomly
    pivoted Cholesky) or by ridge leverage were not clearly better, and the greedy choice was so at a rank of 50 only.
    """
    rng = generator(seed)
    return np.sort(rng.choice(n, rank, replace=False)).astype(np.int64)


def landmark_model(problem: Problem, *, fitc: bool = False) -> tuple[LowRank, Ints, float]:
    """Return the model of low rank on landmarks, the landmarks, and the jitter."""
    source = problem.source
    diagonal = source.diagonal()
    jitter = floor_jitter(problem.ridge, diagonal)
    landmarks = draw_landmarks(source.n, problem.rank, problem.seed)
    problem.report(0, 2)
    C = source.columns(landmarks)
    problem.report(1, 2)
    model = low_rank(C, C[landmarks], diagonal, problem.noise(jitter), fitc=fitc)
    problem.report(2, 2)
    return model, landmarks, jitter


def low_rank_solution(
    problem: Problem, model: LowRank, jitter: float, solver: str, basis: Ints, factor: Array, noise_factor: Array
) -> Solution:
    """Fit the targets; the factors, of shape (m, r), lead from kernel values with the basis to features."""
    Y = problem.Y
    b = model.coefficients(Y)
    residual = Y - model.features @ b
    # yᵀ (Φ Φᵀ + D)⁻¹ y is what the minimum comes to: a sum of squares, where nothing cancels.
    quadratic = ((residual / np.sqrt(model.noise)[:, None]) ** 2).sum(axis=0) + (b**2).sum(axis=0)
    scale2, log_likelihood = likelihood(quadratic, model.log_determinant(), problem.source.n)
    return Solution(
        solver=solver,
        basis=basis,
        alpha=factor @ b,
        ridge=problem.ridge,
        jitter=jitter,
        scale2=scale2,
        log_marginal_likelihood=log_likelihood,
        leave_one_out=residual / model.free()[:, None],
        leave_one_out_variance=1.0 / model.inverse_diagonal() + model.unexpressed,
        factor=factor,
        noise_factor=noise_factor,
        landmarks=np.arange(len(basis)),
        triangular=False,
        rank=model.rank,
        iterations=0,
    )
