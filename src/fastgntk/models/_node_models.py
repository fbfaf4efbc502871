"""Semi-supervised learning on the nodes of one graph: some are labelled, the others are predicted."""

from collections.abc import Sequence
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_positive
from fastgntk.errors import InputError
from fastgntk.kernels import GNTK
from fastgntk.models._base import GraphEstimator
from fastgntk.models._calibration import Intervals, Sigmoids
from fastgntk.models._graph_model import check_alphas
from fastgntk.models._svm import predicted_class
from fastgntk.models._targets import Targets, check_classes, check_targets, class_signs
from fastgntk.models._training_kernel import KERNEL_CONSTANT
from fastgntk.pairwise import Compute, as_single_graph, check_nodes, node_diagonal, node_gram
from fastgntk.solvers import (
    ChooseRidge,
    EigenPath,
    Solution,
    choose_ridge_by_error_rate,
    choose_ridge_by_squared_error,
)

__all__ = ["NodeClassifier", "NodeRegressor"]


class _NodeModel(GraphEstimator):
    """Base of both models: ridge regression on the kernel of all nodes with the labelled nodes."""

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
    """The given or chosen regularisation."""
    solution_: Solution

    def _keep_graph(self, graph: Any, y: Any, nodes: Any) -> Any:
        """Store the graph and its labelled nodes, and return their y."""
        batch = as_single_graph(graph)
        labelled = check_nodes(nodes, batch.n_nodes)
        if not len(labelled):
            raise InputError("no node is labelled; nodes must have at least one entry.")
        if len(np.unique(labelled)) < len(labelled):
            raise InputError("nodes has an entry twice; give each node once.")
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

    def _solve(self, targets: Targets, choose_ridge: ChooseRidge) -> None:
        """Fit coefficients (n, k) and intercepts (k,), with the given alpha or the best by ``choose_ridge``."""
        alphas = (check_positive("alpha", self.alpha),) if self.alpha is not None else check_alphas(self.alphas)
        columns = node_gram(self.graph_, self.kernel, nodes=self.nodes_, compute=self.compute)
        K_labelled = columns[self.nodes_]
        self.kernel_scale_ = float(K_labelled.diagonal().mean()) or 1.0
        self.columns_ = columns / self.kernel_scale_
        # Both triangles were computed and differ by rounding.
        path = EigenPath(KERNEL_CONSTANT + (K_labelled + K_labelled.T) / (2.0 * self.kernel_scale_))
        Y = targets.values
        self.alpha_ = alphas[0] if len(alphas) == 1 or not Y.any() else choose_ridge(path, Y, alphas)[0]
        self.solution_ = path.solution(Y, self.alpha_)
        self.coefficients_ = np.zeros_like(Y)
        self.coefficients_[self.solution_.basis_indices] = self.solution_.coefficients * targets.scale
        self.intercepts_ = targets.mean + KERNEL_CONSTANT * self.coefficients_.sum(axis=0)

    def _values(self, nodes: Any) -> tuple[Ints, Array]:
        """Return checked nodes and their values (t, k)."""
        check_is_fitted(self)
        chosen = check_nodes(nodes, self.graph_.n_nodes)
        return chosen, self.columns_[chosen] @ self.coefficients_ + self.intercepts_


class NodeRegressor(_NodeModel):
    """Predict numbers for the nodes of a graph from its labelled nodes, with standard deviations.

    Kernel ridge regression on :func:`fastgntk.node_gram`, the posterior mean of a Gaussian process, as in
    :class:`GraphRegressor`; only the columns of labelled nodes are kept.

    Parameters
    ----------
    kernel : GNTK
        A single tangent kernel without a sketch.
    alpha : float, optional
        Regularisation, in units of the mean diagonal of the kernel on the labelled nodes; by default chosen by
        closed-form leave-one-out.
    alphas : sequence of float, optional
        Candidates for alpha; by default powers of ten from 1e-8 to 10.
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
        """Fit to the labelled ``nodes`` (indices or mask; all by default) of one graph.

        ``y`` has one row for each labelled node, or for each node of the graph; rows of other nodes are ignored.
        """
        values = check_targets(self._keep_graph(graph, y, nodes), len(self.nodes_))
        targets = Targets.from_y(values, None)
        self._solve(targets, choose_ridge_by_squared_error)
        self.target_scale_, self.single_target_ = targets.scale, targets.single
        self.intervals_ = Intervals.from_solution(self.solution_)
        return self

    @overload
    def predict(self, nodes: Any = None, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict(self, nodes: Any = None, *, return_std: Literal[True]) -> tuple[Array, Array]: ...
    def predict(self, nodes: Any = None, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return values of nodes (all by default), shape (t,) or (t, k), and with ``return_std`` standard deviations.

        Standard deviations are calibrated by leave-one-out. They need the kernel of each node with itself, which takes
        as long to compute as the whole matrix.
        """
        chosen, values = self._values(nodes)
        shaped = values[:, 0] if self.single_target_ else values
        if not return_std:
            return shaped
        diagonal = node_diagonal(self.graph_, self.kernel, nodes=chosen, compute=self.compute) / self.kernel_scale_
        rows = self.columns_[chosen][:, self.solution_.basis_indices]
        arguments = rows + KERNEL_CONSTANT, diagonal + KERNEL_CONSTANT, self.alpha_
        std = self.solution_.predictive_deviation(*arguments) * self.target_scale_ * self.intervals_.factor
        return shaped, std[:, 0] if self.single_target_ else std


class NodeClassifier(_NodeModel):
    """Predict classes of the nodes of a graph from its labelled nodes, with calibrated probabilities.

    Ridge regression on :func:`fastgntk.node_gram`, with one function for each class against all others. The parameters
    are those of :class:`NodeRegressor`; alpha is chosen by leave-one-out accuracy on the labelled nodes.

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
        """Fit to the classes of the labelled ``nodes`` (indices or mask; all by default) of one graph.

        ``y`` has one entry for each labelled node, or for each node of the graph; entries of other nodes are ignored.
        """
        labels = check_classes(self._keep_graph(graph, y, nodes), len(self.nodes_), "nodes")
        self.classes_, class_ids = np.unique(labels, return_inverse=True)
        signs = class_signs(class_ids, len(self.classes_))
        self._solve(Targets.from_signs(signs, None), choose_ridge_by_error_rate)
        self.sigmoids_ = Sigmoids.fit(signs - self.solution_.leave_one_out, class_ids, len(self.classes_))
        return self

    def predict(self, nodes: Any = None) -> NDArray[Any]:
        """Return the classes of nodes (all by default)."""
        values = self._values(nodes)[1]
        return np.asarray(self.classes_[predicted_class(values)])

    def predict_proba(self, nodes: Any = None) -> Array:
        """Return the probability of each class for each node, shape (t, c)."""
        values = self._values(nodes)[1]
        return self.sigmoids_.probabilities(values)

    def decision_function(self, nodes: Any = None) -> Array:
        """Return decision values, of shape (t, c), or (t,) for two classes: that of the second."""
        values = self._values(nodes)[1]
        return values[:, 0] if len(self.classes_) == 2 else values
