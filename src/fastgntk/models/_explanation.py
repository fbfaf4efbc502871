"""Explanations: f(G) is a sum over nodes of G and over training graphs, so contributions are exact.

f(G) = b + Σ_i α_i k(G, G_i) = b + Σ_u Σ_i α_i Σ_v K(u, v)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import Progress
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures, as_graphs
from fastgntk.kernels import Kernel

__all__ = ["NO_TRAINING_GRAPHS", "Expansion", "Explanation", "Rows", "one_graph"]


NO_TRAINING_GRAPHS = (
    "a model of solver='features' keeps no training graphs to compare with; fit with another solver, such as 'nystrom'."
)


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
            raise InputError(NO_TRAINING_GRAPHS)
        return np.asarray(self.contributions.sum(axis=0))

    @property
    def prediction(self) -> float:
        """The intercept and all contributions: the prediction, or the decision value."""
        return float(self.intercept + self.contributions.sum())

    def most_influential(self, count: int = 5) -> list[tuple[int, float]]:
        """Return the training graphs with the largest contributions of either sign: index and contribution."""
        order = np.argsort(-np.abs(self.training_graphs), kind="stable")[:count]
        return [(int(self.training[i]), float(self.training_graphs[i])) for i in order]


def one_graph(graph: Any) -> GraphBatch:
    """Return one graph in any form, or a batch of one, as a batch."""
    batch = graph if isinstance(graph, GraphBatch) else as_graphs([graph])
    if len(batch) != 1:
        raise InputError(f"explain takes one graph, but {len(batch)} graphs were given.")
    return batch


class Rows(Protocol):
    """What a function of graphs is linear in: kernel values with m training graphs, or m features."""

    @property
    def keeps_graphs(self) -> bool:
        """Whether there are training graphs."""

    @property
    def features(self) -> dict[str, NodeFeatures]:
        """The fitted node features of each kind."""

    @property
    def kernel(self) -> Kernel:
        """Which kernel."""

    @property
    def unit(self) -> float:
        """What kernel values are divided by."""

    def __len__(self) -> int: ...

    def chunks(
        self, batch: GraphBatch, progress: Progress | None = None, *, own: bool = True
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Yield new graphs in chunks: which, their rows (t, m), and with ``own`` their kernel with themselves (t,)."""

    def with_intercept(self, rows: Array, own: Array, intercept: float) -> tuple[Array, Array]:
        """Return what the variance of a ridge regression is computed from, given a chunk."""

    def nodes(self, batch: GraphBatch) -> Array:
        """Return the contribution of each node of one graph to its row, shape (N, m)."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """A function of graphs with k values: offsets + Σ_i coefficients_i k(G, G_i) over m training graphs or features."""

    rows: Rows
    coefficients: Array  # (m, k)
    offsets: Array  # (k,)
    basis: Ints  # (m,), numbers of these graphs among the training graphs; (0,) of features
    names: tuple[str, ...]  # (k,)

    def values(self, rows: Array) -> Array:
        """Return the function (t, k) from kernel rows (t, m)."""
        return np.asarray(self.offsets + rows @ self.coefficients)

    def explain(self, batch: GraphBatch, output: int) -> Explanation:
        """Decompose one value of the function for the one graph of a batch."""
        parts = self.rows.nodes(batch) * self.coefficients[:, output]
        if not self.rows.keeps_graphs:
            parts = parts.sum(axis=1, keepdims=True)
        return Explanation(parts, float(self.offsets[output]), self.basis, self.names[output])
