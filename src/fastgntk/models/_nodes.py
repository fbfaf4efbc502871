"""Learning about the nodes of one graph: some are labelled, the others are predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import GNTK
from fastgntk.models._calibration import Intervals, Sigmoids
from fastgntk.models._classifier import class_signs
from fastgntk.models._kernel_rows import INTERCEPT
from fastgntk.models._svm import place
from fastgntk.models._targets import Targets, check_classes, check_targets
from fastgntk.pairwise import check_nodes, fitted, node_diagonal, node_gram
from fastgntk.solvers import EigenPath, Score, Solution, check_ridges, misplaced, steady_ridge

__all__ = ["GNTKNodeClassifier", "GNTKNodeRegressor"]

Array = NDArray[np.float64]


class _NodeModel(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """What both share: the kernel of all nodes with the labelled ones, and ridge regression on it."""

    def __init__(
        self,
        blocks: int = 2,
        layers: int = 1,
        scale: str = "unit",
        jump: Any = True,
        c_phi: float = 2.0,
        edges: str = "plain",
        *,
        ridge: float | None = None,
        ridges: Sequence[float] | None = None,
        features: Any = "auto",
        memory: Any = None,
        workers: int | None = None,
        progress: Any = None,
    ) -> None:
        self.blocks = blocks
        self.layers = layers
        self.scale = scale
        self.jump = jump
        self.c_phi = c_phi
        self.edges = edges
        self.ridge = ridge
        self.ridges = ridges
        self.features = features
        self.memory = memory
        self.workers = workers
        self.progress = progress

    nodes_: NDArray[np.int64]
    """The labelled nodes."""
    ridge_: float
    """The ridge that was given or chosen."""
    solution_: Solution

    def _spec(self) -> GNTK:
        return GNTK(self.blocks, self.layers, self.scale, self.jump, self.c_phi, self.edges)  # type: ignore[arg-type]

    def _take(self, graph: Any, y: Any, nodes: Any) -> Any:
        """Keep the graph and its labelled nodes; returns y of these."""
        batch = as_graphs(graph) if isinstance(graph, GraphBatch | list) else as_graphs([graph])
        if len(batch) != 1:
            raise InputError(f"graph must be one graph, but {len(batch)} came.")
        labelled = check_nodes(nodes, batch.n_nodes)
        if not len(labelled):
            raise InputError("no node is labelled; name some in nodes.")
        if len(np.unique(labelled)) < len(labelled):
            raise InputError("a node is named twice in nodes; name each once.")
        if y is None or np.ndim(y) == 0:
            raise InputError("y must have one entry for each labelled node, or for each node of the graph.")
        values = np.asarray(y)
        if len(values) not in (len(labelled), batch.n_nodes):
            raise InputError(
                f"y must have one entry for each of the {len(labelled)} labelled nodes, or for each of the "
                f"{batch.n_nodes} nodes of the graph, but has {len(values)}."
            )
        self.graph_, self.nodes_ = batch, labelled
        return values if len(values) == len(labelled) else values[labelled]

    def _solve(self, Y: Array, score: Score) -> Array:
        """Find coefficients (n, k) for centred targets; the ridge is the one given, or the one that ``score`` takes."""
        given = (self.ridge,) if self.ridge is not None else self.ridges
        ridges = check_ridges(given)
        self.features_ = fitted(self.features, self.graph_)
        how = {"features": self.features_, "memory": self.memory, "workers": self.workers}
        columns = node_gram(self.graph_, self._spec(), nodes=self.nodes_, progress=self.progress, **how)
        among = columns[self.nodes_]
        self.unit_ = float(among.diagonal().mean()) or 1.0
        self.columns_ = columns / self.unit_
        # Both triangles were computed, and differ by rounding.
        path = EigenPath(INTERCEPT + (among + among.T) / (2.0 * self.unit_))
        self.ridge_ = ridges[0] if len(ridges) == 1 else score(path, Y, ridges)[0]
        self.solution_ = path.solution(Y, self.ridge_)
        coefficients = np.zeros((len(self.nodes_), Y.shape[1]))
        coefficients[self.solution_.basis] = self.solution_.alpha
        return coefficients

    def _values(self, nodes: Any) -> tuple[NDArray[np.int64], Array]:
        """Return checked nodes and what the functions say about them, (t, k)."""
        check_is_fitted(self)
        chosen = check_nodes(nodes, self.graph_.n_nodes)
        return chosen, self.columns_[chosen] @ self.coefficients_ + self.offsets_


class GNTKNodeRegressor(_NodeModel):
    """Predict numbers for the nodes of a graph from some whose numbers are known, with standard deviations.

    Kernel ridge regression on :func:`fastgntk.node_gram`, the mean of a Gaussian process, as in
    :class:`GNTKRegressor`; only columns of labelled nodes are kept.

    Parameters
    ----------
    blocks, layers, scale, jump, c_phi, edges
        The kernel, as in :class:`fastgntk.GNTK`.
    ridge : float, optional
        In units of the labelled nodes' mean self-similarity; by default chosen by closed-form leave-one-out.
    ridges : sequence of float, optional
        Those to choose from; by default powers of ten from 1e-8 to 10.
    features, memory, workers, progress
        As in :func:`fastgntk.gram`.

    Examples
    --------
    >>> import numpy as np, fastgntk as fg
    >>> ring = fg.Graph.from_edges([(i, (i + 1) % 60) for i in range(60)], 60, np.eye(60))
    >>> y = np.sin(2 * np.pi * np.arange(60) / 60)
    >>> model = fg.GNTKNodeRegressor(blocks=4).fit(ring, y, nodes=range(0, 60, 3))
    >>> bool(np.abs(model.predict() - y).max() < 0.2)
    True
    """

    def fit(self, graph: Any, y: Any, nodes: Any = None) -> GNTKNodeRegressor:
        """Learn from the ``nodes`` (numbers or mask; all by default) of one graph.

        ``y`` has one row for each of these, or for each node of the graph, of which others are not looked at.
        """
        values = check_targets(self._take(graph, y, nodes), len(self.nodes_))
        targets = Targets.from_y(values, None)
        coefficients = self._solve(targets.values, _steady)
        self.coefficients_ = coefficients * targets.scale
        self.offsets_ = targets.mean + INTERCEPT * self.coefficients_.sum(axis=0)
        self.target_scale_, self.single_target_ = targets.scale, targets.single
        solution = self.solution_
        variances = np.multiply.outer(solution.leave_one_out_variance, solution.scale2)
        self.intervals_ = Intervals.from_residuals(solution.leave_one_out, variances)
        return self

    def predict(self, nodes: Any = None, return_std: bool = False) -> Any:
        """Return values of nodes (all by default), shape (t,) or (t, k); with ``return_std`` also their deviations.

        Deviations are calibrated by leave-one-out. They need the kernel of each node with itself, which takes as
        long as the whole matrix.
        """
        chosen, values = self._values(nodes)
        shaped = values[:, 0] if self.single_target_ else values
        if not return_std:
            return shaped
        how = {"features": self.features_, "memory": self.memory, "workers": self.workers}
        own = node_diagonal(self.graph_, self._spec(), nodes=chosen, progress=self.progress, **how) / self.unit_
        rows = self.columns_[chosen][:, self.solution_.basis]
        variance = self.solution_.variance(rows + INTERCEPT, own + INTERCEPT) + self.ridge_
        std = np.sqrt(np.multiply.outer(variance, self.solution_.scale2)) * self.target_scale_ * self.intervals_.factor
        return shaped, std[:, 0] if self.single_target_ else std


class GNTKNodeClassifier(_NodeModel):
    """Predict classes of the nodes of a graph from some whose classes are known, with calibrated probabilities.

    Ridge regression on :func:`fastgntk.node_gram`, one function for each class against all others. The parameters are
    those of :class:`GNTKNodeRegressor`; a ridge is chosen by how many labelled nodes leave-one-out gets right.

    Examples
    --------
    >>> import numpy as np, fastgntk as fg
    >>> cliques = np.kron(np.eye(3), np.ones((10, 10)))
    >>> cliques[0, 10] = cliques[10, 20] = 1
    >>> graph = fg.Graph(np.maximum(cliques, cliques.T), np.eye(30))
    >>> classes = np.repeat(["red", "green", "blue"], 10)
    >>> model = fg.GNTKNodeClassifier().fit(graph, classes, nodes=[1, 2, 11, 12, 21, 22])
    >>> bool((model.predict() == classes).all())
    True
    """

    def fit(self, graph: Any, y: Any, nodes: Any = None) -> GNTKNodeClassifier:
        """Learn from the classes of ``nodes`` (numbers or mask; all by default) of one graph.

        ``y`` has one entry for each of these, or for each node of the graph, of which others are not looked at.
        """
        labels = check_classes(self._take(graph, y, nodes), len(self.nodes_), "nodes")
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        signs = class_signs(numbers, len(self.classes_))
        mean = signs.mean(axis=0)
        self.coefficients_ = self._solve(signs - mean, misplaced)
        self.offsets_ = mean + INTERCEPT * self.coefficients_.sum(axis=0)
        self.sigmoids_ = Sigmoids.fit(signs - self.solution_.leave_one_out, numbers, len(self.classes_))
        return self

    def predict(self, nodes: Any = None) -> NDArray[Any]:
        """Return the class of each node, of all by default."""
        values = self._values(nodes)[1]
        return np.asarray(self.classes_[place(values)])

    def predict_proba(self, nodes: Any = None) -> Array:
        """Return the probability of each class, shape (t, classes)."""
        values = self._values(nodes)[1]
        return self.sigmoids_.probabilities(values)

    def decision_function(self, nodes: Any = None) -> Array:
        """Return how much each node speaks for each class: (t, classes), or for two classes (t,), for the second."""
        values = self._values(nodes)[1]
        return values[:, 0] if len(self.classes_) == 2 else values


def _steady(path: EigenPath, Y: Array, ridges: Sequence[float]) -> tuple[float, float]:
    return steady_ridge(path, Y, ridges) if Y.any() else (ridges[0], 0.0)
