"""Regression: kernel ridge regression, which is the mean of a Gaussian process."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import MultiOutputMixin, RegressorMixin

from fastgntk.errors import InputError
from fastgntk.models._base import GraphModel
from fastgntk.models._calibration import Intervals
from fastgntk.models._explanation import Expansion, Explanation, one_graph
from fastgntk.models._kernel_rows import TrainingKernel
from fastgntk.models._ridge import fit_ridge
from fastgntk.models._targets import Targets, check_sample_weight, check_targets
from fastgntk.solvers import Solution, check_solver_name

__all__ = ["GNTKRegressor", "RegressionModel", "Review"]

Array = NDArray[np.float64]


class Review(NamedTuple):
    """All that a regression says about t graphs; with several targets the first four have a column for each."""

    value: Array
    std: Array
    low: Array
    high: Array
    nearest: NDArray[np.int64]
    """The number of the training graph that is most similar; −1 if the model keeps none."""
    similarity: Array
    """Its cosine, at most 1; NaN if the model keeps no training graphs."""


class RegressionModel(MultiOutputMixin, RegressorMixin, GraphModel):  # type: ignore[misc]
    """A fitted regression: what :class:`GNTKRegressor` and :class:`GNTKRegressorCV` do once they have a solution."""

    solution_: Solution
    intervals_: Intervals
    target_scale_: Array
    noise_: float
    """Variance of the noise of a new measurement, in the units of the kernel."""
    single_target_: bool
    log_marginal_likelihood_: Any

    def _solve(self, kernel: TrainingKernel, y: Array, weights: Array | None, ridge: float) -> None:
        """Find coefficients, from a kernel and checked targets."""
        targets = Targets.from_y(y, weights)
        found = fit_ridge(
            kernel, targets.values, ridge, solver=self.solver, weights=weights, rank=self.rank, seed=self._seed()
        )
        k = len(targets.mean)
        names = ("y",) if k == 1 else tuple(f"y{i}" for i in range(k))
        self.solution_ = solution = found.solution
        self.solver_ = solution.solver
        offsets = targets.mean + found.intercepts * targets.scale
        self.expansion_ = Expansion(found.rows, found.coefficients * targets.scale, offsets, found.basis, names)
        self.target_scale_ = targets.scale
        self.single_target_ = targets.single
        # A graph of weight w has noise ridge / w; a new one is taken to be like the training graphs.
        share = 1.0 if weights is None else float(np.mean(1.0 / weights))
        self.noise_ = (solution.ridge + solution.jitter) * share
        variances = np.multiply.outer(solution.leave_one_out_variance, solution.scale2)
        self.intervals_ = Intervals.from_residuals(solution.leave_one_out, variances)
        likelihood = solution.log_marginal_likelihood - kernel.n * np.log(targets.scale)
        self.log_marginal_likelihood_ = float(likelihood[0]) if targets.single else likelihood

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the prediction for each graph and, if asked for, the standard deviation of a new measurement of it.

        The standard deviation holds what the model does not know and the noise of the targets, and is calibrated
        unless ``calibrate=False``.
        """
        batch = self._new(X)
        shape = (len(batch), len(self.expansion_.offsets))
        mean, std = np.zeros(shape), np.zeros(shape)
        for part, rows, own in self.expansion_.rows.chunks(batch, self._progress()):
            mean[part] = self.expansion_.values(rows)
            if return_std:
                std[part] = self._factor() * self._deviation(rows, own)
        return (self._shaped(mean), self._shaped(std)) if return_std else self._shaped(mean)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return the lower and upper end of an interval that holds a new measurement with probability ``coverage``.

        Its width comes from the leave-one-out residuals, in standard deviations of each graph's own prediction; with
        ``calibrate=False`` from the Gaussian distribution.
        """
        found = self.review(X, coverage)
        return found.low, found.high

    def review(self, X: Any, coverage: float = 0.9) -> Review:
        """Return everything about each graph in one pass, the most similar training graph included."""
        batch = self._new(X)
        shape = (len(batch), len(self.expansion_.offsets))
        mean, std, half = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        nearest, similarity = np.zeros(len(batch), dtype=np.int64), np.zeros(len(batch))
        width = self.intervals_.width(coverage)  # checks coverage
        if not self.calibrate:
            width = np.full(len(width), ndtri(0.5 + coverage / 2))
        for part, rows, own in self.expansion_.rows.chunks(batch, self._progress()):
            mean[part] = self.expansion_.values(rows)
            deviation = self._deviation(rows, own)
            std[part], half[part] = self._factor() * deviation, width * deviation
            nearest[part], similarity[part] = self._nearest_in(rows, own)
        value, low, high = self._shaped(mean), self._shaped(mean - half), self._shaped(mean + half)
        return Review(value, self._shaped(std), low, high, nearest, similarity)

    def _factor(self) -> Any:
        return self.intervals_.factor if self.calibrate else 1.0

    def _shaped(self, values: Array) -> Array:
        return values[:, 0] if self.single_target_ else values

    def explain(self, graph: Any, target: int | None = None) -> Explanation:
        """Take the prediction for one graph apart: exact shares of its nodes and of the training graphs.

        ``target`` is the number of the target, where there are several.
        """
        self._new(one_graph(graph))
        k = len(self.expansion_.offsets)
        if target is None and k > 1:
            raise InputError(f"there are {k} targets; say which one to explain, 0..{k - 1}.")
        output = 0 if target is None else target
        if isinstance(output, bool) or not isinstance(output, int | np.integer) or not 0 <= output < k:
            raise InputError(f"target must lie in 0..{k - 1}, but is {target!r}.")
        return self.expansion_.explain(graph, int(output))

    def _deviation(self, rows: Array, own: Array) -> Array:
        """Return standard deviations (t, k) of new measurements, before calibration."""
        solution = self.solution_
        variance = solution.variance(*self.expansion_.rows.with_intercept(rows, own)) + self.noise_
        return np.sqrt(np.multiply.outer(variance, solution.scale2)) * self.target_scale_


class GNTKRegressor(RegressionModel):
    """Predict numbers for graphs, with a standard deviation for each.

    Kernel ridge regression: f minimises Σ_i w_i (y_i − f(G_i))² + ridge · ‖f‖², with targets centred and scaled and
    the kernel divided by its mean self-similarity, so that the same ridge means the same everywhere; plus 1, so that
    f has an intercept. It is the mean of the Gaussian process with that kernel and noise of variance ridge, which
    gives the standard deviations.

    Parameters
    ----------
    blocks, layers, scale, jump, c_phi, edges
        Which kernel, as in :class:`fastgntk.GNTK`.
    normalize : bool
        Whether to divide kernel values by self-similarities, so that size does not count.
    ridge : float, 0 or more
        How much to smooth. :class:`GNTKRegressorCV` chooses it, and the kernel.
    features : str or NodeFeatures
        What nodes start with, as in :func:`fastgntk.gram`; fitted on the training graphs.
    solver : {"auto", "cholesky", "eigen", "nystrom", "sketched", "cg", "features"}
        ``cholesky`` and ``eigen`` are exact; ``cg``, ``nystrom`` and ``sketched`` are for tens of thousands of graphs,
        ``features`` for any number (docs/estimators.md). By default the number of graphs and the memory decide:
        ``cholesky`` up to 10,000.
    rank : int, optional
        Landmarks, rows or features of the approximate solvers.
    calibrate : bool
        Whether standard deviations are set right by leave-one-out residuals.
    engine, sketching, memory, workers
        How to compute the kernel; ``sketching`` is a mapping of the options of a sketch.
    random_state : int
        Seed of the approximate solvers.
    progress : callable, optional
        Called as ``progress(done, total)`` while kernels are computed.

    Attributes
    ----------
    log_marginal_likelihood_ : float, or array for several targets
        Of the targets as they came, at the best scale of the process.
    solution_ : fastgntk.solvers.Solution
        Coefficients, jitter, leave-one-out residuals.
    solver_ : str
        Which solver that was.
    n_equal_graphs_ : int
        Training graphs that equal an earlier one, as far as the kernel sees.

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs
    >>> edges = [graph.n_edges for graph in graphs]
    >>> model = fg.GNTKRegressor(blocks=1, ridge=1e-6).fit(graphs[:100], edges[:100])
    >>> mean, std = model.predict(graphs[100:102], return_std=True)
    >>> mean.round().tolist(), edges[100:102]
    ([27.0, 28.0], [27, 28])
    """

    def __init__(
        self,
        blocks: int = 3,
        layers: int = 2,
        scale: str = "uniform",
        jump: Any = True,
        c_phi: float = 2.0,
        edges: str = "plain",
        normalize: bool = False,
        *,
        ridge: float = 1e-3,
        features: Any = "auto",
        solver: str = "auto",
        rank: int | None = None,
        calibrate: bool = True,
        engine: str = "auto",
        sketching: Any = None,
        memory: Any = None,
        workers: int | None = None,
        random_state: int = 0,
        progress: Any = None,
    ) -> None:
        self.blocks = blocks
        self.layers = layers
        self.scale = scale
        self.jump = jump
        self.c_phi = c_phi
        self.edges = edges
        self.normalize = normalize
        self.ridge = ridge
        self.features = features
        self.solver = solver
        self.rank = rank
        self.calibrate = calibrate
        self.engine = engine
        self.sketching = sketching
        self.memory = memory
        self.workers = workers
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, gram: Any = None) -> GNTKRegressor:
        """Learn from graphs X (n) and targets y, shape (n,) or (n, k).

        ``gram`` is a :class:`fastgntk.StoredGram` of X, or its path: kernel values are then read from there and not
        computed. One of another kernel or of other graphs is refused.
        """
        check_solver_name(self.solver, self.rank)
        kernel = self._training(X, self._options(), gram)
        values = check_targets(y, kernel.n)
        self._solve(kernel, values, check_sample_weight(sample_weight, kernel.n), self.ridge)
        return self
