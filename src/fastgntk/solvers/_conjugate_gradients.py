"""Conjugate gradients with the Nyström approximation as preconditioner (Cutajar et al. 2016; Frangella et al. 2023).

With A ≈ Φ Φᵀ + D the large eigenvalues of the preconditioned matrix are near 1, and the number of steps depends only on
the error of the approximation. All right-hand sides are iterated together, so that K is read once for each step.

The diagonal of A⁻¹, for leave-one-out, is estimated from right-hand sides z of random signs, as E[z ∘ A⁻¹ z] (Bekas et
al. 2007). Only its difference to the diagonal of the preconditioner's inverse, which is known, is estimated.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.sketch import generator
from fastgntk.solvers._low_rank import LowRank, landmark_model
from fastgntk.solvers._problem import Problem
from fastgntk.solvers._solution import Solution

__all__ = ["conjugate_gradients"]


# Number of random right-hand sides: the root mean square of leave-one-out residuals is accurate to 3 % (measured on
# random graphs, ranks of 100 to 800 of 2,000, ridges of 1e-3 and 0.1).
_PROBES = 32
# The estimate of a probe is accurate to about a tenth, so more digits of its solution are of no use.
_PROBE_TOLERANCE = 1e-3


def conjugate_gradients(problem: Problem) -> Solution:
    """Solve A α = Y until ‖Y − A α‖ ≤ tolerance · ‖Y‖ for every target: O(n² + n m) for each step and right-hand side.

    Leave-one-out is an estimate (see above), reproducible by the random state. Variances are those of the low-rank
    model on the landmarks, in which the variance that the landmarks do not express counts as noise: mostly too large,
    and so conservative. There is no likelihood.
    """
    model, landmarks, jitter = landmark_model(replace(problem, progress=None), fitc=True)
    n, k = problem.Y.shape
    noise = problem.noise(jitter)
    rng = generator([problem.options.random_state, 1])  # independent of the draw of the landmarks
    probes = np.where(rng.integers(0, 2, (n, _PROBES), dtype=np.int8), 1.0, -1.0)
    tolerances = np.repeat([problem.options.tolerance, max(problem.options.tolerance, _PROBE_TOLERANCE)], [k, _PROBES])
    solved, iterations = _solve(problem, model, noise, np.hstack([problem.Y, probes]), tolerances)
    alpha = np.ascontiguousarray(solved[:, :k])
    correction = probes * (solved[:, k:] - model.precondition(probes))
    # For a positive definite A with this noise, (A⁻¹)_ii lies between 1 / A_ii and 1 / D_ii.
    lower, upper = 1.0 / (problem.source.diagonal() + noise), 1.0 / noise
    precision = np.clip(model.free() / model.noise + correction.mean(axis=1), lower, upper)
    return Solution(
        solver="cg",
        basis_indices=np.arange(n),
        coefficients=alpha,
        ridge=problem.ridge,
        jitter=jitter,
        scale2=np.maximum(np.einsum("ij,ij->j", problem.Y, alpha), 0.0) / n,
        log_marginal_likelihood=np.full(k, np.nan),
        leave_one_out=alpha / precision[:, None],
        leave_one_out_variance=1.0 / precision,
        factor=model.whiten,
        noise_factor=model.noise_factor(),
        factor_columns=landmarks,
        rank=len(model.R),
        iterations=iterations,
    )


def _solve(problem: Problem, model: LowRank, noise: Array, Y: Array, tolerances: Array) -> tuple[Array, int]:
    """Return A⁻¹ Y and the number of steps."""
    K = problem.source.full()
    sizes = np.linalg.norm(Y, axis=0)
    goals = tolerances * sizes
    x = np.zeros_like(Y)
    used = 0
    report = _reporter(problem, 1.0 / float(tolerances.min()))
    # The residual updated by the steps drifts from the true residual, from which each round restarts.
    while True:
        residual = Y - K @ x - noise[:, None] * x
        errors = np.linalg.norm(residual, axis=0)
        active = np.flatnonzero(errors > goals)
        if not len(active):
            report(0.0)
            return x, used
        if used >= problem.options.max_iterations:
            worst = active[(errors[active] / goals[active]).argmax()]
            raise InputError(
                f"conjugate gradients reached a relative residual of {errors[worst] / sizes[worst]:.1e} in {used} "
                f"iterations, not to the tolerance of {tolerances[worst]:.1e}; raise rank (now {problem.rank}) or "
                f"ridge (now {problem.ridge:.1e}), or use solver='cholesky'."
            )
        max_steps = problem.options.max_iterations - used
        update, steps = _round(model, K, noise, residual[:, active], goals[active], max_steps, report)
        x[:, active] += update
        used += steps


def _round(
    model: LowRank,
    K: Array,
    noise: Array,
    residual: Array,
    goals: Array,
    max_steps: int,
    report: Callable[[float], None],
) -> tuple[Array, int]:
    """Return the approximate solution of A x = residual after one round of steps, and the number of steps."""
    x = np.zeros_like(residual)
    active = np.arange(len(goals))  # right-hand sides that have not converged; the others do not change
    z = model.precondition(residual)
    direction, size = z, np.einsum("ij,ij->j", residual, z)
    step = 0
    while True:
        step += 1
        image = K @ direction + noise[:, None] * direction
        curvature = np.einsum("ij,ij->j", direction, image)
        if (curvature <= 0.0).any():
            worst = float((curvature / np.einsum("ij,ij->j", direction, direction)).min())
            raise InputError(
                f"K + ridge is not positive definite: it has a direction p with pᵀ (K + ridge) p / pᵀ p = {worst:.1e}; "
                f"raise the ridge by more than that, or use a positive semi-definite kernel."
            )
        length = size / curvature
        x[:, active] += length * direction
        residual = residual - length * image
        excess = np.linalg.norm(residual, axis=0) / goals[active]
        report(float(excess.max()))
        kept = excess > 1.0
        if step == max_steps or not kept.any():
            return x, step
        active, residual, direction, size = active[kept], residual[:, kept], direction[:, kept], size[kept]
        z = model.precondition(residual)
        before, size = size, np.einsum("ij,ij->j", residual, z)
        direction = z + (size / before) * direction


def _reporter(problem: Problem, farthest: float) -> Callable[[float], None]:
    """Return a callback that converts the largest residual, as a multiple of its goal, to progress.

    Progress is logarithmic, and a residual of 0 ends it. Residuals may rise at times, but progress never falls.
    """
    best = 0

    def report(excess: float) -> None:
        nonlocal best
        fraction = 1.0 - math.log(max(excess, 1.0)) / math.log(farthest)
        best = max(best, 1000 if excess == 0.0 else min(999, round(1000 * fraction)))
        problem.report(best, 1000)

    return report
