"""Learning about the nodes of one graph: some are labelled, the others are predicted."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_positive
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import GNTK
from fastgntk.models._base import GraphEstimator
from fastgntk.models._calibration import Intervals, Sigmoids
from fastgntk.models._graph_model import check_alphas
from fastgntk.models._kernel_values import INTERCEPT
from fastgntk.models._svm import predicted_class
from fastgntk.models._targets import Targets, check_classes, check_targets, class_signs
from fastgntk.pairwise import Compute, check_nodes, node_diagonal, node_gram
from fastgntk.solvers import EigenPath, Score, Solution, misclassification, stable_ridge

__all__ = ["NodeClassifier", "NodeRegressor"]


class _NodeModel(GraphEstimator):
    """What both share: the kernel of all nodes with the labelled ones, and ridge regression on it."""

    def __init__(
        self,
        kernel: GNTK = GNTK(blocks=2, layers=1, scale="unit"),
        *,
        alpha: float | None = None,
        alphas: Sequence[float] | None = None,
        compute: Compute = Compute(),
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.alphas = alphas
        self.compute = compute

    nodes_: Ints
    """The labelled nodes."""
    alpha_: float
    """The regularisation that was given or chosen."""
    solution_: Solution

    def _keep_graph(self, graph: Any, y: Any, nodes: Any) -> Any:
        """Keep the graph and its labelled nodes; returns y of these."""
        batch = as_graphs(graph) if isinstance(graph, GraphBatch | list) else as_graphs([graph])
        if len(batch) != 1:
            raise InputError(f"graph must be one graph, but {len(batch)} graphs were given.")
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

    def _solve(self, targets: Targets, score: Score) -> None:
        """Find coefficients (n, k) and offsets (k,); alpha is the given one, or the one that ``score`` takes."""
        alphas = (check_positive("alpha", self.alpha),) if self.alpha is not None else check_alphas(self.alphas)
        columns = node_gram(self.graph_, self.kernel, nodes=self.nodes_, compute=self.compute)
        among = columns[self.nodes_]
        self.unit_ = float(among.diagonal().mean()) or 1.0
        self.columns_ = columns / self.unit_
        # Both triangles were computed, and differ by rounding.
        path = EigenPath(INTERCEPT + (among + among.T) / (2.0 * self.unit_))
        Y = targets.values
        self.alpha_ = alphas[0] if len(alphas) == 1 or not Y.any() else score(path, Y, alphas)[0]
        self.solution_ = path.solution(Y, self.alpha_)
        self.coefficients_ = np.zeros_like(Y)
        self.coefficients_[self.solution_.basis] = self.solution_.alpha * targets.scale
        self.offsets_ = targets.mean + INTERCEPT * self.coefficients_.sum(axis=0)

    def _values(self, nodes: Any) -> tuple[Ints, Array]:
        """Return checked nodes and the values of the functions for them, (t, k)."""
        check_is_fitted(self)
        chosen = check_nodes(nodes, self.graph_.n_nodes)
        return chosen, self.columns_[chosen] @ self.coefficients_ + self.offsets_


class NodeRegressor(_NodeModel):
    """Predict numbers for the nodes of a graph from some whose numbers are known, with standard deviations.

    Kernel ridge regression on :func:`fastgntk.node_gram`, the mean of a Gaussian process, as in
    :class:`GraphRegressor`; only columns of labelled nodes are kept.

    Parameters
    ----------
    kernel : GNTK
        A single tangent kernel without a sketch.
    alpha : float, optional
        The regularisation, in units of the mean of the labelled nodes' diagonal; by default chosen by closed-form
        leave-one-out.
    alphas : sequence of float, optional
        Those to choose from; by default powers of ten from 1e-8 to 10.
    compute : Compute
        Threads, memory and progress.

    Examples
    --------
    >>> import numpy as np, fastgntk as fg
    >>> ring = fg.Graph.from_edges([(i, (i + 1) % 60) for i in range(60)], 60, np.eye(60))
    >>> y = np.sin(2 * np.pi * np.arange(60) / 60)
    >>> model = fg.NodeRegressor(fg.GNTK(4, 1, "unit")).fit(ring, y, nodes=range(0, 60, 3))
    >>> bool(np.abs(model.predict() - y).max() < 0.2)
    True
    """

    def fit(self, graph: Any, y: Any, nodes: Any = None) -> Self:
        """Learn from the ``nodes`` (numbers or mask; all by default) of one graph.

        ``y`` has one row for each of these, or for each node of the graph; others are ignored.
        """
        values = check_targets(self._keep_graph(graph, y, nodes), len(self.nodes_))
        targets = Targets.from_y(values, None)
        self._solve(targets, stable_ridge)
        self.target_scale_, self.single_target_ = targets.scale, targets.single
        variances = np.multiply.outer(self.solution_.leave_one_out_variance, self.solution_.scale2)
        self.intervals_ = Intervals.from_residuals(self.solution_.leave_one_out, variances)
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
        diagonal = node_diagonal(self.graph_, self.kernel, nodes=chosen, compute=self.compute) / self.unit_
        rows = self.columns_[chosen][:, self.solution_.basis]
        variance = self.solution_.variance(rows + INTERCEPT, diagonal + INTERCEPT) + self.alpha_
        std = np.sqrt(np.multiply.outer(variance, self.solution_.scale2)) * self.target_scale_ * self.intervals_.factor
        return shaped, std[:, 0] if self.single_target_ else std


class NodeClassifier(_NodeModel):
    """Predict classes of the nodes of a graph from some whose classes are known, with calibrated probabilities.

    Ridge regression on :func:`fastgntk.node_gram`, one function for each class against all others. The parameters are
    those of :class:`NodeRegressor`; alpha is chosen by how many labelled nodes leave-one-out gets right.

    Examples
    --------
    >>> import numpy as np, fastgntk as fg
    >>> cliques = np.kron(np.eye(3), np.ones((10, 10)))
    >>> cliques[0, 10] = cliques[10, 20] = 1
    >>> graph = fg.Graph(np.maximum(cliques, cliques.T), np.eye(30))
    >>> classes = np.repeat(["red", "green", "blue"], 10)
    >>> model = fg.NodeClassifier().fit(graph, classes, nodes=[1, 2, 11, 12, 21, 22])
    >>> bool((model.predict() == classes).all())
    True
    """

    def fit(self, graph: Any, y: Any, nodes: Any = None) -> Self:
        """Learn from the classes of ``nodes`` (numbers or mask; all by default) of one graph.

        ``y`` has one entry for each of these, or for each node of the graph; others are ignored.
        """
        labels = check_classes(self._keep_graph(graph, y, nodes), len(self.nodes_), "nodes")
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        signs = class_signs(numbers, len(self.classes_))
        self._solve(Targets.from_signs(signs, None), misclassification)
        self.sigmoids_ = Sigmoids.fit(signs - self.solution_.leave_one_out, numbers, len(self.classes_))
        return self

    def predict(self, nodes: Any = None) -> NDArray[Any]:
        """Return the class of each node, of all by default."""
        values = self._values(nodes)[1]
        return np.asarray(self.classes_[predicted_class(values)])

    def predict_proba(self, nodes: Any = None) -> Array:
        """Return the probability of each class, shape (t, classes)."""
        values = self._values(nodes)[1]
        return self.sigmoids_.probabilities(values)

    def decision_function(self, nodes: Any = None) -> Array:
        """Return the decision values of each node: (t, classes), or (t,) for the second of two classes."""
        values = self._values(nodes)[1]
        return values[:, 0] if len(self.classes_) == 2 else values
