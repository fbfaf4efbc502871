"""Ridge regression on graphs by any solver, and checks of its options."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.models._graph_model import Expansion, Rows
from fastgntk.models._kernel_values import INTERCEPT, TrainingKernel
from fastgntk.models._random_features import DEFAULT_FEATURES, FeatureRows, TrainingFeatures
from fastgntk.models._targets import Targets
from fastgntk.solvers import SOLVER_NAMES, Solution, choose_solver, regress_on_features, solve

__all__ = ["check_alpha", "check_alphas", "check_solver_options", "fit_ridge"]

_ALPHAS = tuple(float(alpha) for alpha in 10.0 ** np.arange(-8.0, 2.0))  # tried by default

_log = logging.getLogger("fastgntk")


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
    kernel: TrainingKernel, targets: Targets, alpha: float, *, solver: str, rank: int | None, seed: int
) -> tuple[Solution, Expansion]:
    """Solve by the given solver, or by the one chosen for this number of graphs."""
    kernel.prepare_ridge(targets.weights)
    memory, stored = kernel.prepared.compute.max_memory, kernel.stored is not None
    choice = choose_solver(solver, kernel.n, rank=rank, memory=memory, stored=stored)
    if solver == "auto":
        _log.info("solver %s for %d graphs: %s", choice.solver, kernel.n, choice.reason)
    solver, weights = choice.solver, targets.weights
    rows: Rows
    if solver == "features":
        found, rows = _fit_on_features(kernel, targets, alpha, DEFAULT_FEATURES if rank is None else rank, seed)
        basis, coefficients = np.zeros(0, dtype=np.int64), found.alpha[:-1]
        intercepts = np.sqrt(INTERCEPT) * found.alpha[-1]
    else:
        found = solve(kernel, targets.values, alpha, solver=solver, weights=weights, rank=rank, seed=seed)
        basis, coefficients, rows = found.basis, found.alpha, kernel.rows_to(found.basis)
        intercepts = INTERCEPT * coefficients.sum(axis=0)
    offsets = targets.mean + intercepts * targets.scale
    return found, Expansion(rows, coefficients * targets.scale, offsets, basis, targets.names)


def _fit_on_features(
    kernel: TrainingKernel, targets: Targets, alpha: float, size: int, seed: int
) -> tuple[Solution, FeatureRows]:
    if kernel.stored is not None:
        raise InputError("solver='features' needs no kernel values; leave gram out, or take solver='nystrom'.")
    rows = FeatureRows.draw(kernel.prepared.batch, kernel.prepared.kernel, kernel.compute, size, seed)
    source, in_units = TrainingFeatures(kernel, rows), kernel.in_units
    found, unit = regress_on_features(
        source, targets.values, alpha, weights=targets.weights, intercept=INTERCEPT, in_units=in_units
    )
    return found, replace(rows, unit=unit)
