"""Kernel ridge regression, whose prediction is the posterior mean of a Gaussian process."""

from typing import Any, Literal, NamedTuple, Self, overload

import numpy as np
from scipy.special import ndtri
from sklearn.base import MultiOutputMixin, RegressorMixin

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError
from fastgntk.kernels import GNTK, Kernel
from fastgntk.models._calibration import Intervals
from fastgntk.models._graph_model import Explanation, GraphModel, check_solver_options
from fastgntk.models._targets import Targets, check_sample_weight, check_targets
from fastgntk.models._training_kernel import TrainingKernel
from fastgntk.pairwise import Compute
from fastgntk.solvers import Solution, as_ridge

__all__ = ["GraphRegressor", "RegressionModel", "RegressionDetails"]


class RegressionDetails(NamedTuple):
    """Predictions for t graphs; with k targets the first four fields have shape (t, k)."""

    value: Array
    std: Array
    low: Array
    high: Array
    nearest: Ints  # index of the most similar training graph; −1 if the model keeps none
    similarity: Array  # its cosine, at most 1; NaN if the model keeps none


class RegressionModel(MultiOutputMixin, RegressorMixin, GraphModel):  # type: ignore[misc]
    """Base of :class:`GraphRegressor` and :class:`GraphRegressorCV`."""

    calibrate: bool

    solution_: Solution
    intervals_: Intervals
    target_scale_: Array
    noise_: float  # variance of the noise of a new measurement, in the units of the kernel
    single_target_: bool
    log_marginal_likelihood_: float | Array

    def _solve(self, training: TrainingKernel, y: Array, weights: Array | None, alpha: float) -> None:
        """Fit coefficients to the kernel and checked targets."""
        targets = Targets.from_y(y, weights)
        self.solution_ = solution = self._fit_ridge(training, targets, alpha)
        self.target_scale_, self.single_target_ = targets.scale, targets.single
        # The noise of a graph of weight w is ridge / w; a new graph is assumed to be like the training graphs.
        mean_inverse = 1.0 if weights is None else float(np.mean(1.0 / weights))
        self.noise_ = (solution.ridge + solution.jitter) * mean_inverse
        self.intervals_ = Intervals.from_solution(solution)
        likelihood = solution.log_marginal_likelihood - training.n * np.log(targets.scale)
        self.log_marginal_likelihood_ = float(likelihood[0]) if targets.single else likelihood

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[Array, Array]: ...
    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the prediction for each graph and, with ``return_std``, the standard deviation of a new measurement.

        The standard deviation includes the uncertainty of the model and the noise of the targets; it is calibrated
        unless ``calibrate=False``.
        """
        batch = self._check_new(X)
        if not return_std:
            return self._drop_target_axis(self.expansion_.evaluate(batch, self._progress()))
        shape = (len(batch), len(self.expansion_.intercepts))
        mean, std = np.zeros(shape), np.zeros(shape)
        for chunk, rows, diagonal in self.expansion_.basis.chunks(batch, self._progress()):
            mean[chunk] = self.expansion_.values(rows)
            std[chunk] = self._calibration_factor() * self._deviation(rows, diagonal)
        return self._drop_target_axis(mean), self._drop_target_axis(std)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return lower and upper ends of intervals that contain a new measurement with probability ``coverage``.

        The width, in standard deviations of each prediction, comes from the leave-one-out residuals, or with
        ``calibrate=False`` from the Gaussian distribution.
        """
        details = self.predict_details(X, coverage)
        return details.low, details.high

    def predict_details(self, X: Any, coverage: float = 0.9) -> RegressionDetails:
        """Return prediction, interval and most similar training graph for each graph in one pass."""
        batch = self._check_new(X)
        shape = (len(batch), len(self.expansion_.intercepts))
        mean, std, half = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        nearest, similarity = np.zeros(len(batch), dtype=np.int64), np.zeros(len(batch))
        width = self.intervals_.width(coverage)  # checks coverage
        if not self.calibrate:
            width = np.full(len(width), ndtri(0.5 + coverage / 2))
        for chunk, rows, diagonal in self.expansion_.basis.chunks(batch, self._progress()):
            mean[chunk] = self.expansion_.values(rows)
            deviation = self._deviation(rows, diagonal)
            std[chunk], half[chunk] = self._calibration_factor() * deviation, width * deviation
            nearest[chunk], similarity[chunk] = self._nearest_in_chunk(rows, diagonal)
        value, low, high = (self._drop_target_axis(part) for part in (mean, mean - half, mean + half))
        return RegressionDetails(value, self._drop_target_axis(std), low, high, nearest, similarity)

    def _calibration_factor(self) -> Array | float:
        return self.intervals_.factor if self.calibrate else 1.0

    def _drop_target_axis(self, values: Array) -> Array:
        """Return values (t, k) of shape (t,) if the targets had no axis of their own."""
        return values[:, 0] if self.single_target_ else values

    def explain(self, graph: Any, target: int | None = None, *, factor: int | Kernel | None = None) -> Explanation:
        """Decompose the prediction for one graph: exact contributions of its nodes and of the training graphs.

        ``target`` is the index of the target; it is required if there are several. For a product of kernels,
        ``factor`` is the one whose nodes are counted, as a kernel or by its index, the first by default; the others
        weight the training graphs.
        """
        batch = self._check_new_graph(graph)
        k = len(self.expansion_.intercepts)
        if target is None and k > 1:
            raise InputError(f"there are {k} targets; choose one to explain, target=0..{k - 1}.")
        output = 0 if target is None else target
        if isinstance(output, bool) or not isinstance(output, int | np.integer) or not 0 <= output < k:
            raise InputError(f"target must lie in 0..{k - 1}, but is {target!r}.")
        return self.expansion_.explain(batch, int(output), factor)

    def _deviation(self, rows: Array, diagonal: Array) -> Array:
        """Return standard deviations (t, k) of new measurements, before calibration."""
        arguments = self.expansion_.basis.variance_arguments(rows, diagonal)
        return self.solution_.predictive_deviation(*arguments, self.noise_) * self.target_scale_


class GraphRegressor(RegressionModel):
    """Predict numbers for graphs, with a standard deviation for each.

    Kernel ridge regression: f minimises Σ_i w_i (y_i − f(G_i))² + alpha · ‖f‖². Targets are centred and scaled. The
    kernel is divided by the mean of its diagonal, so that alpha has the same meaning for every kernel, and 1 is added,
    so that f has an intercept. f is the posterior mean of the Gaussian process with this kernel and noise of variance
    alpha, which gives the standard deviations.

    Parameters
    ----------
    kernel : Kernel
        ``kernel.normalized()`` makes predictions independent of the size of graphs.
    alpha : float, 0 or more
        Regularisation; larger is stronger. :class:`GraphRegressorCV` chooses alpha and the kernel.
    solver : {"auto", "cholesky", "eigen", "nystrom", "sketched", "cg", "features"}
        ``cholesky`` and ``eigen`` are exact; ``cg``, ``nystrom`` and ``sketched`` are for tens of thousands of graphs,
        ``features`` for any number (docs/estimators.md). ``auto`` chooses by the number of graphs and the memory limit:
        ``cholesky`` up to 10,000 graphs.
    n_components : int, optional
        Number of landmarks, sketch rows or features of the approximate solvers.
    calibrate : bool
        Whether standard deviations are calibrated by leave-one-out residuals.
    random_state : int
        Seed of the approximate solvers.
    compute : Compute
        Engine, threads, memory and progress of kernel values.

    Attributes
    ----------
    log_marginal_likelihood_ : float, or array for several targets
        Log marginal likelihood of the targets in their own units, at the best scale of the process.
    solution_ : fastgntk.solvers.Solution
        Coefficients, jitter and leave-one-out residuals.
    solver_ : str
        The solver that was given or chosen.
    n_equal_graphs_ : int
        Training graphs that the kernel cannot distinguish from an earlier one.

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs
    >>> edges = [graph.n_edges for graph in graphs]
    >>> model = fg.GraphRegressor(fg.GNTK(blocks=1), alpha=1e-6).fit(graphs[:100], edges[:100])
    >>> mean, std = model.predict(graphs[100:102], return_std=True)
    >>> mean.round().tolist(), edges[100:102]
    ([27.0, 28.0], [27, 28])
    """

    def __init__(
        self,
        kernel: Kernel = GNTK(),
        alpha: float = 1e-3,
        *,
        solver: str = "auto",
        n_components: int | None = None,
        calibrate: bool = True,
        random_state: int = 0,
        compute: Compute = Compute(),
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.solver = solver
        self.n_components = n_components
        self.calibrate = calibrate
        self.random_state = random_state
        self.compute = compute

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, gram: Any = None) -> Self:
        """Fit the model to graphs X (n) and targets y, shape (n,) or (n, k).

        ``gram`` is a stored matrix of X (:func:`fastgntk.open_gram`) or its path, from which kernel values are read
        instead of being computed. A matrix of another kernel or of other graphs raises an error.
        """
        check_solver_options(self.solver, self.n_components)
        alpha = as_ridge(self.alpha, "alpha")
        training = self._training_kernel(X, self.kernel, gram)
        values = check_targets(y, training.n)
        self._solve(training, values, check_sample_weight(sample_weight, training.n), alpha)
        return self
