"""Functions of graphs: fitted by ridge regression, evaluated, explained, and saved.

f(G) is a sum over nodes of G and over training graphs, so contributions are exact:

    f(G) = b + Σ_i α_i k(G, G_i) = b + Σ_u Σ_i α_i Σ_v K(u, v)
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_integer
from fastgntk._util.threads import Progress
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.models._base import GraphEstimator, check_features, warn_unseen_labels
from fastgntk.models._kernel_values import INTERCEPT, KernelRows, TrainingKernel
from fastgntk.models._random_features import FeatureRows, solve_on_features
from fastgntk.models._targets import Targets
from fastgntk.pairwise import check_compute, tangent_leaves
from fastgntk.solvers import SOLVER_NAMES, Solution, choose_solver, solve

__all__ = ["Expansion", "Explanation", "GraphModel", "Rows", "check_alpha", "check_alphas", "check_solver_options"]

_log = logging.getLogger("fastgntk")
_ALPHAS = tuple(float(alpha) for alpha in 10.0 ** np.arange(-8.0, 2.0))  # tried by default

_NO_TRAINING_GRAPHS = (
    "a model of solver='features' keeps no training graphs to compare with; fit with another solver, such as 'nystrom'."
)

Rows = KernelRows | FeatureRows
"""What a function of graphs is linear in: kernel values with m training graphs, or m features."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The contributions of nodes and of training graphs to one prediction.

    Attributes
    ----------
    contributions : array of shape (N, m)
        Contribution of each node through each training graph; the properties below are sums of these. One column with
        ``solver="features"``, which keeps no training graphs.
    intercept : float
        The prediction for a graph that is similar to no training graph.
    training : int64, (m,)
        The index of each training graph in what the model was fitted on.
    output : str
        What is explained: the name of a target, or the class whose decision value it is.
    """

    contributions: Array
    intercept: float
    training: Ints
    output: str

    @property
    def nodes(self) -> Array:
        """Contribution of each node, shape (N,)."""
        return np.asarray(self.contributions.sum(axis=1))

    @property
    def training_graphs(self) -> Array:
        """Contribution of each training graph, shape (m,)."""
        if not len(self.training):
            raise InputError(_NO_TRAINING_GRAPHS)
        return np.asarray(self.contributions.sum(axis=0))

    @property
    def prediction(self) -> float:
        """The intercept and all contributions: the prediction, or the decision value."""
        return float(self.intercept + self.contributions.sum())

    def most_influential(self, count: int = 5) -> list[tuple[int, float]]:
        """Return the training graphs with the largest contributions of either sign: index and contribution."""
        order = np.argsort(-np.abs(self.training_graphs), kind="stable")[:count]
        return [(int(self.training[i]), float(self.training_graphs[i])) for i in order]


@dataclass(frozen=True, eq=False)
class Expansion:
    """A function of graphs with k values: offsets + Σ_i coefficients_i k(G, G_i) over m training graphs or features."""

    rows: Rows
    coefficients: Array  # (m, k)
    offsets: Array  # (k,)
    basis: Ints  # (m,), numbers of these graphs among the training graphs; (0,) of features
    names: tuple[str, ...]  # (k,)

    def evaluate(self, batch: GraphBatch, progress: Progress | None) -> Array:
        """Return the function (t, k) of graphs."""
        out = np.zeros((len(batch), len(self.offsets)))
        for part, rows, _ in self.rows.chunks(batch, progress, diagonal=False):
            out[part] = self.values(rows)
        return out

    def values(self, rows: Array) -> Array:
        """Return the function (t, k) from kernel rows (t, m)."""
        return np.asarray(self.offsets + rows @ self.coefficients)

    def explain(self, batch: GraphBatch, output: int) -> Explanation:
        """Decompose one value of the function for the one graph of a batch."""
        parts = self.rows.nodes(batch) * self.coefficients[:, output]
        if not self.rows.keeps_graphs:
            parts = parts.sum(axis=1, keepdims=True)
        return Explanation(parts, float(self.offsets[output]), self.basis, self.names[output])


class GraphModel(GraphEstimator):
    """A fitted function of graphs that can be explained and saved."""

    expansion_: Expansion
    solver_: str  # the solver of ridge regression that was given or chosen, or "svm"
    n_graphs_: int  # number of training graphs
    n_equal_graphs_: int  # training graphs that equal an earlier one: the kernel cannot distinguish them
    names_: list[str]  # names of the training graphs, if they were given to `annotate`; kept in model files
    about_: dict[str, Any]  # origin of the model, if that was given to `annotate`; kept in model files

    def _prepare(self, X: Any, stored: Any) -> TrainingKernel:
        """Prepare training graphs and return their kernel, of values on disk if ``stored`` is not None."""
        training = TrainingKernel.from_graphs(X, self.kernel, self.compute, stored=stored)
        self._start(training)
        return training

    def _start(self, training: TrainingKernel) -> None:
        """Drop what belongs to graphs fitted before, and count training graphs that equal an earlier one."""
        for attribute in ("names_", "about_"):
            self.__dict__.pop(attribute, None)
        groups = training.prepared.equal_graphs()
        self.n_graphs_ = training.n
        self.n_equal_graphs_ = int(np.sum(groups != np.arange(training.n)))
        if self.n_equal_graphs_:
            text = "%d of %d training graphs equal an earlier one: the colour refinement of %s cannot distinguish them"
            _log.info(text, self.n_equal_graphs_, training.n, training.prepared.kernel)

    def _fit_ridge(self, training: TrainingKernel, targets: Targets, alpha: float) -> Solution:
        """Fit ridge regression by the given solver, or by the one chosen for this number of graphs."""
        training = training.with_intercept(targets.weights)
        rank, seed, weights = self.n_components, self._seed(), targets.weights
        memory, stored = training.prepared.compute.max_memory, training.stored is not None
        solver, reason = choose_solver(self.solver, training.n, rank=rank, memory=memory, stored=stored)
        if self.solver == "auto":
            _log.info("solver %s for %d graphs: %s", solver, training.n, reason)
        rows: Rows
        if solver == "features":
            solution, rows = solve_on_features(training, targets, alpha, rank, seed)
            basis, coefficients = np.zeros(0, dtype=np.int64), solution.alpha[:-1]
            intercepts = np.sqrt(INTERCEPT) * solution.alpha[-1]
        else:
            solution = solve(
                training, targets.values, alpha, solver=solver, weights=weights, rank=rank, random_state=seed
            )
            basis, coefficients, rows = solution.basis, solution.alpha, training.rows_to(solution.basis)
            intercepts = INTERCEPT * coefficients.sum(axis=0)
        offsets = targets.mean + intercepts * targets.scale
        self.expansion_ = Expansion(rows, coefficients * targets.scale, offsets, basis, targets.names)
        self.solver_ = solver
        return solution

    def _check_new(self, X: Any) -> GraphBatch:
        check_is_fitted(self)
        batch = X if isinstance(X, GraphBatch) else as_graphs(X)
        rows = self.expansion_.rows
        check_features(rows.features, batch)
        warn_unseen_labels(rows.features, batch, typed=any(leaf.typed for leaf in tangent_leaves(rows.kernel)))
        return batch

    def _check_new_graph(self, graph: Any) -> GraphBatch:
        batch = graph if isinstance(graph, GraphBatch) else as_graphs([graph])
        if len(batch) != 1:
            raise InputError(f"explain takes one graph, but {len(batch)} graphs were given.")
        return self._check_new(batch)

    def _progress(self) -> Progress | None:
        return check_compute(self.compute).progress

    def similarities(self, X: Any) -> Array:
        """Return the cosine of each graph with each of the m graphs that carry coefficients, shape (t, m)."""
        batch = self._check_new(X)
        rows = self.expansion_.rows
        if not isinstance(rows, KernelRows):
            raise InputError(_NO_TRAINING_GRAPHS)
        out = np.zeros((len(batch), len(rows)))
        for part, values, diagonal in rows.chunks(batch, self._progress()):
            out[part] = rows.cosine(values, diagonal)
        return out

    def nearest(self, X: Any) -> tuple[Ints, Array]:
        """Return for each graph the index of the most similar training graph, and the cosine, at most 1.

        With an approximate solver only its landmarks are compared; ``solver="features"`` has none.
        """
        return self._most_similar(self.similarities(X))

    def _nearest_in_chunk(self, values: Array, diagonal: Array) -> tuple[Ints, Array]:
        """Return the same for a chunk of rows; −1 and NaN if there are no training graphs to compare with."""
        rows = self.expansion_.rows
        if not isinstance(rows, KernelRows):
            return np.full(len(values), -1), np.full(len(values), np.nan)
        return self._most_similar(rows.cosine(values, diagonal))

    def _most_similar(self, cosine: Array) -> tuple[Ints, Array]:
        best = cosine.argmax(axis=1)
        return self.expansion_.basis[best], cosine[np.arange(len(cosine)), best]

    def annotate(self, names: Sequence[str] | None = None, **about: Any) -> Self:
        """Give the training graphs names, and the model file anything else (plain values) about its origin."""
        check_is_fitted(self)
        if names is not None:
            if len(names) != self.n_graphs_:
                raise InputError(f"names must be {self.n_graphs_}, one for each training graph, but are {len(names)}.")
            self.names_ = [str(name) for name in names]
        if about:
            self.about_ = about
        return self

    def save(self, path: str | Path) -> None:
        """Write the model to a file (``.fgntk``), atomically; :func:`fastgntk.load_model` reads it."""
        from fastgntk.persistence import save_model

        check_is_fitted(self)
        save_model(self, Path(path))


def check_alpha(alpha: Any) -> float:
    """Return the regularisation, a finite number of 0 or more."""
    number = isinstance(alpha, int | float | np.integer | np.floating) and not isinstance(alpha, bool)
    if not number or not 0 <= alpha < float("inf"):
        raise InputError(f"alpha must be a number, 0 or more, but is {alpha!r}.")
    return float(alpha)


def check_alphas(alphas: Sequence[float] | None) -> tuple[float, ...]:
    """Return the regularisations to try, which are numbers above 0; None means the default."""
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
