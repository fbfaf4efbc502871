"""Functions of graphs: fitted by ridge regression, evaluated, explained, and saved.

f(G) is a sum over the nodes of G and over training graphs, so contributions are exact:

    f(G) = b + Σ_i α_i k(G, G_i) = b + Σ_u Σ_i α_i Σ_v K(u, v)
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_integer
from fastgntk._util.threads import Progress
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Kernel
from fastgntk.models._base import GraphEstimator, check_new_graphs
from fastgntk.models._random_features import FeatureBasis, solve_on_features
from fastgntk.models._targets import Targets
from fastgntk.models._training_kernel import KERNEL_CONSTANT, KernelBasis, TrainingKernel
from fastgntk.pairwise import as_single_graph, check_compute
from fastgntk.solvers import SOLVER_NAMES, Solution, SolverOptions, choose_solver, solve

__all__ = ["Basis", "Expansion", "Explanation", "GraphModel", "check_alphas", "check_solver_options"]

_log = logging.getLogger("fastgntk")
_ALPHAS = tuple(float(alpha) for alpha in 10.0 ** np.arange(-8.0, 2.0))  # the default candidates

_NO_TRAINING_GRAPHS = (
    "a model of solver='features' keeps no training graphs to compare with; fit with another solver, such as 'nystrom'."
)

Basis = KernelBasis | FeatureBasis
"""Basis functions of an expansion: kernel values with m training graphs, or m random features."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The contributions of nodes, of descriptors and of training graphs to one prediction.

    Attributes
    ----------
    node_by_training : array of shape (N, m)
        Contribution of each node through each training graph; the properties below are sums of it, and of
        ``descriptor_by_training``. A single column for ``solver="features"``, which keeps no training graphs.
    intercept : float
        The prediction for a graph that is similar to no training graph.
    training_indices : int64, (m,)
        Indices of these training graphs among the graphs that the model was fitted on.
    output : str
        Name of the target, or of the class whose decision value is explained.
    descriptor_by_training : dict of str to array of shape (m,)
        Contribution of each block of descriptors through each training graph, by kernels on it such as ``RBF``. In a
        product only the chosen factor has contributions: for ``GNTK() * RBF("x")`` and the first factor, the nodes, and
        that of ``x`` is 0.
    """

    node_by_training: Array
    intercept: float
    training_indices: Ints
    output: str
    descriptor_by_training: dict[str, Array] = field(default_factory=dict)

    @property
    def node_contributions(self) -> Array:
        """Contribution of each node, shape (N,)."""
        return np.asarray(self.node_by_training.sum(axis=1))

    @property
    def descriptor_contributions(self) -> dict[str, float]:
        """Contribution of each block of descriptors."""
        return {name: float(values.sum()) for name, values in self.descriptor_by_training.items()}

    @property
    def training_contributions(self) -> Array:
        """Contribution of each training graph, shape (m,)."""
        if not len(self.training_indices):
            raise InputError(_NO_TRAINING_GRAPHS)
        return np.asarray(self.node_by_training.sum(axis=0) + sum(self.descriptor_by_training.values()))

    @property
    def prediction(self) -> float:
        """The prediction or decision value: the intercept plus all contributions of nodes and descriptors."""
        return float(self.intercept + self.node_by_training.sum() + sum(self.descriptor_contributions.values()))

    def negated(self, output: str) -> Self:
        """Return the explanation of the opposite value, for another output."""
        descriptors = {name: -values for name, values in self.descriptor_by_training.items()}
        return type(self)(-self.node_by_training, -self.intercept, self.training_indices, output, descriptors)

    def most_influential(self, count: int = 5) -> list[tuple[int, float]]:
        """Return index and contribution of the training graphs with the largest absolute contributions."""
        contributions = self.training_contributions
        order = np.argsort(-np.abs(contributions), kind="stable")[:count]
        return [(int(self.training_indices[i]), float(contributions[i])) for i in order]


@dataclass(frozen=True, eq=False)
class Expansion:
    """A function of graphs with k outputs: intercepts + Σ_i coefficients_i b_i(G), over m basis functions b_i."""

    basis: Basis
    coefficients: Array  # (m, k)
    intercepts: Array  # (k,)
    training_indices: Ints  # (m,), indices of the training graphs of the basis; (0,) for random features
    output_names: tuple[str, ...]  # (k,)

    def evaluate(self, batch: GraphBatch, progress: Progress | None) -> Array:
        """Return the values (t, k) of the function for graphs."""
        out = np.zeros((len(batch), len(self.intercepts)))
        for chunk, rows, _ in self.basis.chunks(batch, progress, diagonal=False):
            out[chunk] = self.values(rows)
        return out

    def values(self, rows: Array) -> Array:
        """Return the values (t, k) of the function from those of the basis (t, m)."""
        return np.asarray(self.intercepts + rows @ self.coefficients)

    def explain(self, batch: GraphBatch, output: int, factor: int | Kernel | None = None) -> Explanation:
        """Decompose one output for a batch of one graph; ``factor`` as in :func:`fastgntk.node_contributions`."""
        parts, weights = self.basis.contributions(batch, factor), self.coefficients[:, output]
        nodes, descriptors = parts.nodes * weights, {name: v * weights for name, v in parts.descriptors.items()}
        if not self.basis.keeps_graphs:
            nodes = nodes.sum(axis=1, keepdims=True)
        intercept, indices = float(self.intercepts[output]), self.training_indices
        return Explanation(nodes, intercept, indices, self.output_names[output], descriptors)


class GraphModel(GraphEstimator):
    """A fitted function of graphs that can be explained and saved."""

    solver: str
    n_components: int | None

    expansion_: Expansion
    solver_: str  # the solver of ridge regression that was given or chosen, or "svm"
    n_graphs_: int  # number of training graphs
    n_equal_graphs_: int  # number of training graphs that the kernel cannot distinguish from an earlier one
    training_names_: list[str]  # names of the training graphs, if passed to `annotate`; kept in model files
    metadata_: dict[str, Any]  # origin of the model, if passed to `annotate`; kept in model files

    def _training_kernel(self, X: Any, kernel: Kernel, stored: Any) -> TrainingKernel:
        """Prepare training graphs and return their kernel, with values read from disk if ``stored`` is not None."""
        training = TrainingKernel.from_graphs(X, kernel, self.compute, stored=stored)
        self._clear_annotations()
        self._count_equal_graphs(training)
        return training

    def _clear_annotations(self) -> None:
        """Delete the annotations of an earlier fit."""
        for attribute in ("training_names_", "metadata_"):
            if hasattr(self, attribute):
                delattr(self, attribute)

    def _count_equal_graphs(self, training: TrainingKernel) -> None:
        """Count the training graphs, and those that equal an earlier one."""
        first_equal = training.prepared.first_equal_graph()
        self.n_graphs_ = training.n
        self.n_equal_graphs_ = int(np.sum(first_equal != np.arange(training.n)))
        if self.n_equal_graphs_:
            text = "%d of %d training graphs equal an earlier one: the colour refinement of %s cannot distinguish them"
            _log.info(text, self.n_equal_graphs_, training.n, training.prepared.kernel)

    def _fit_ridge(self, training: TrainingKernel, targets: Targets, alpha: float) -> Solution:
        """Fit ridge regression by the given solver, or by one chosen for this number of graphs."""
        training = training.with_constant(targets.weights)
        rank, seed, weights = self.n_components, self._seed(), targets.weights
        memory, stored = training.prepared.compute.max_memory, training.stored is not None
        solver, reason = choose_solver(self.solver, training.n, rank=rank, memory=memory, stored=stored)
        if self.solver == "auto":
            _log.info("solver %s for %d graphs: %s", solver, training.n, reason)
        basis: Basis
        # f = Σ_i α_i (k_i + c) has the intercept c Σ_i α_i; a constant feature sqrt(c) of weight β adds sqrt(c) β.
        if solver == "features":
            solution, basis = solve_on_features(training, targets, alpha, rank, seed)
            training_indices, coefficients = np.zeros(0, dtype=np.int64), solution.coefficients[:-1]
            intercepts = np.sqrt(KERNEL_CONSTANT) * solution.coefficients[-1]
        else:
            options = SolverOptions(rank, seed)
            solution = solve(training, targets.values, alpha, solver=solver, weights=weights, options=options)
            training_indices, coefficients = solution.basis_indices, solution.coefficients
            basis = training.basis(training_indices)
            intercepts = KERNEL_CONSTANT * coefficients.sum(axis=0)
        intercepts = targets.mean + intercepts * targets.scale
        self.expansion_ = Expansion(basis, coefficients * targets.scale, intercepts, training_indices, targets.names)
        self.solver_ = solver
        return solution

    def _check_new(self, X: Any) -> GraphBatch:
        check_is_fitted(self)
        basis = self.expansion_.basis
        return check_new_graphs(X, basis.kernel, basis.features, basis.scalings)

    def _check_new_graph(self, graph: Any) -> GraphBatch:
        return self._check_new(as_single_graph(graph))

    def _progress(self) -> Progress | None:
        return check_compute(self.compute).progress

    def similarities(self, X: Any) -> Array:
        """Return the cosines of graphs with the m training graphs that have coefficients, shape (t, m)."""
        batch = self._check_new(X)
        basis = self.expansion_.basis
        if not isinstance(basis, KernelBasis):
            raise InputError(_NO_TRAINING_GRAPHS)
        out = np.zeros((len(batch), len(basis)))
        for chunk, rows, diagonal in basis.chunks(batch, self._progress()):
            out[chunk] = basis.cosine(rows, diagonal)
        return out

    def nearest(self, X: Any) -> tuple[Ints, Array]:
        """Return the index of the most similar training graph and its cosine, at most 1, for each graph.

        With an approximate solver, only its landmarks are compared; ``solver="features"`` has none.
        """
        return self._most_similar(self.similarities(X))

    def _nearest_in_chunk(self, rows: Array, diagonal: Array) -> tuple[Ints, Array]:
        """Like ``nearest``, for one chunk of rows; −1 and NaN if the model keeps no training graphs."""
        basis = self.expansion_.basis
        if not isinstance(basis, KernelBasis):
            return np.full(len(rows), -1), np.full(len(rows), np.nan)
        return self._most_similar(basis.cosine(rows, diagonal))

    def _most_similar(self, cosine: Array) -> tuple[Ints, Array]:
        best = cosine.argmax(axis=1)
        return self.expansion_.training_indices[best], cosine[np.arange(len(cosine)), best]

    def annotate(self, names: Sequence[str] | None = None, **metadata: Any) -> Self:
        """Set names of the training graphs, and plain values that describe the origin of the model in its file."""
        check_is_fitted(self)
        if names is not None:
            if len(names) != self.n_graphs_:
                raise InputError(f"names must be {self.n_graphs_}, one for each training graph, but are {len(names)}.")
            self.training_names_ = [str(name) for name in names]
        if metadata:
            self.metadata_ = metadata
        return self

    def save(self, path: str | Path) -> None:
        """Write the model to a file (``.fgntk``), atomically; :func:`fastgntk.load_model` reads it."""
        from fastgntk.persistence import save_model

        check_is_fitted(self)
        save_model(self, Path(path))


def check_alphas(alphas: Sequence[float] | None) -> tuple[float, ...]:
    """Return the candidates for alpha, which must be above 0; None selects the default."""
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
    """Raise an error for an unknown solver, or a number of components below 1."""
    if not isinstance(solver, str) or solver not in SOLVER_NAMES:
        raise InputError(f"solver must be one of {', '.join(SOLVER_NAMES)}, but is {solver!r}.")
    if n_components is not None:
        check_integer("n_components", n_components, 1)
