"""Ridge regression on graphs by any solver, as a function of graphs."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.models._explanation import Rows
from fastgntk.models._feature_rows import DEFAULT_FEATURES, FeatureRows, TrainingFeatures
from fastgntk.models._training_kernel import INTERCEPT, TrainingKernel, WithIntercept
from fastgntk.solvers import SOLVER_NAMES, Solution, choose_solver, regress_on_features, solve

__all__ = ["RidgeFit", "check_alpha", "check_alphas", "check_solver_options", "fit_ridge"]

_ALPHAS = tuple(float(alpha) for alpha in 10.0 ** np.arange(-8.0, 2.0))  # tried by default

_log = logging.getLogger("fastgntk")


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """f(G) = intercepts + rows(G) · coefficients, for k targets of mean 0."""

    solution: Solution
    rows: Rows
    coefficients: Array  # (m, k)
    intercepts: Array  # (k,)
    basis: Ints  # training graphs that rows are about; none if they are features


def check_alpha(alpha: Any) -> float:
    """Return the regularisation, a finite number of 0 or more."""
    number = isinstance(alpha, int | float | np.integer | np.floating) and not isinstance(alpha, bool)
    if not number or not 0 <= alpha < float("inf"):
        raise InputError(f"alpha must be a number, 0 or more, but is {alpha!r}.")
    return float(alpha)


def check_alphas(alphas: Sequence[float] | None) -> tuple[float, ...]:
    """Return the regularisations to try, which are numbers above 0; None is the default."""
    if alphas is None:
        return _ALPHAS
    try:
        values = tuple(float(alpha) for alpha in alphas)
    except (TypeError, ValueError):
        values = ()
    if not values or not all(np.isfinite(alpha) and alpha > 0 for alpha in values):
        raise InputError(f"alphas must be numbers above 0 to try, but is {alphas!r}.")
    return values


def check_solver_options(solver: Any, n_components: Any) -> None:
    """Refuse a solver that does not exist, or a number of components below 1, before anything is computed."""
    if not isinstance(solver, str) or solver not in SOLVER_NAMES:
        raise InputError(f"solver must be one of {', '.join(SOLVER_NAMES)}, but is {solver!r}.")
    if n_components is not None:
        check_integer("n_components", n_components, 1)


def fit_ridge(
    kernel: TrainingKernel, Y: Array, ridge: float, *, solver: str, weights: Array | None, rank: int | None, seed: int
) -> RidgeFit:
    """Solve by the given solver, or by the one chosen for this number of graphs."""
    kernel.set_weights(weights)
    choice = choose_solver(
        solver, kernel.n, rank=rank, memory=kernel.compute.max_memory, stored=kernel.stored is not None
    )
    if solver == "auto":
        _log.info("solver %s for %d graphs: %s", choice.solver, kernel.n, choice.reason)
    if choice.solver == "features":
        return _on_features(kernel, Y, ridge, weights, rank, seed)
    found = solve(WithIntercept(kernel), Y, ridge, solver=choice.solver, weights=weights, rank=rank, seed=seed)
    intercepts = INTERCEPT * found.alpha.sum(axis=0)
    return RidgeFit(found, kernel.rows_to(found.basis), found.alpha, intercepts, found.basis)


def _on_features(
    kernel: TrainingKernel, Y: Array, ridge: float, weights: Array | None, rank: int | None, seed: int
) -> RidgeFit:
    if kernel.stored is not None:
        raise InputError("solver='features' needs no kernel values; leave gram out, or take solver='nystrom'.")
    size = DEFAULT_FEATURES if rank is None else rank
    rows = FeatureRows.draw(kernel.prepared.batch, kernel.prepared.kernel, kernel.compute, size, seed)
    found, unit = regress_on_features(
        TrainingFeatures(kernel, rows), Y, ridge, weights=weights, intercept=INTERCEPT, in_units=kernel.in_units
    )
    intercepts = np.sqrt(INTERCEPT) * found.alpha[-1]
    return RidgeFit(found, rows.in_units(unit), found.alpha[:-1], intercepts, np.zeros(0, dtype=np.int64))
