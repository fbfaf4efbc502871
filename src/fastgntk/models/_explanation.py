"""Why a model says what it says: f(G) is a sum over nodes of G and over training graphs, so shares are exact.

f(G) = b + Σ_i α_i k(G, G_i) = b + Σ_u Σ_i α_i Σ_v K(u, v)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.threads import Progress
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures, as_graphs
from fastgntk.models._kernel_rows import KernelOptions

__all__ = ["NO_TRAINING_GRAPHS", "Expansion", "Explanation", "Rows", "one_graph"]

Array = NDArray[np.float64]

NO_TRAINING_GRAPHS = (
    "a model of solver='features' keeps no training graphs to compare with; fit with another solver, such as 'nystrom'."
)


@dataclass(frozen=True, eq=False)
class Explanation:
    """The shares of nodes and of training graphs in one prediction.

    Attributes
    ----------
    shares : array of shape (N, m)
        Share of each node through each training graph; everything below are sums of these. One column with
        ``solver="features"``, which keeps no training graphs.
    intercept : float
        What the model says of a graph that is like none it knows.
    training : int64, (m,)
        The number of each training graph in what the model was fitted on.
    output : str
        What is explained: the name of a target, or the class whose decision value it is.
    """

    shares: Array
    intercept: float
    training: NDArray[np.int64]
    output: str

    @property
    def nodes(self) -> Array:
        """Share of each node, shape (N,)."""
        return np.asarray(self.shares.sum(axis=1))

    @property
    def training_graphs(self) -> Array:
        """Share of each training graph, shape (m,)."""
        if not len(self.training):
            raise InputError(NO_TRAINING_GRAPHS)
        return np.asarray(self.shares.sum(axis=0))

    @property
    def prediction(self) -> float:
        """The intercept and all shares: what the model predicts, or its decision value."""
        return float(self.intercept + self.shares.sum())

    def most_influential(self, count: int = 5) -> list[tuple[int, float]]:
        """Return the training graphs with the largest shares of either sign: their numbers, and the shares."""
        order = np.argsort(-np.abs(self.training_graphs), kind="stable")[:count]
        return [(int(self.training[i]), float(self.training_graphs[i])) for i in order]


def one_graph(graph: Any) -> GraphBatch:
    """Return one graph in any form, or a batch of one, as a batch."""
    batch = graph if isinstance(graph, GraphBatch) else as_graphs([graph])
    if len(batch) != 1:
        raise InputError(f"explain takes one graph, but {len(batch)} came.")
    return batch


class Rows(Protocol):
    """What a function of graphs is linear in: kernel values with m training graphs, or m features."""

    @property
    def keeps_graphs(self) -> bool:
        """Whether there are training graphs."""

    @property
    def features(self) -> NodeFeatures:
        """The fitted node features."""

    @property
    def options(self) -> KernelOptions:
        """Which kernel."""

    @property
    def unit(self) -> float:
        """What kernel values are divided by."""

    def __len__(self) -> int: ...

    def chunks(self, batch: GraphBatch, progress: Progress | None = None) -> Iterator[tuple[slice, Array, Array]]:
        """Yield new graphs in chunks: which, their rows (t, m), and their kernel with themselves (t,)."""

    def with_intercept(self, rows: Array, own: Array) -> tuple[Array, Array]:
        """Return what the variance of a ridge regression is computed from, given a chunk."""

    def nodes(self, batch: GraphBatch) -> Array:
        """Return the share of each node of one graph in its row, shape (N, m)."""

    def check(self, batch: GraphBatch) -> None:
        """Refuse graphs that do not carry what the training graphs carried."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """A function of graphs with k values: offsets + Σ_i coefficients_i k(G, G_i) over m training graphs or features."""

    rows: Rows
    coefficients: Array  # (m, k)
    offsets: Array  # (k,)
    basis: NDArray[np.int64]  # (m,), numbers of these graphs among the training graphs; (0,) of features
    names: tuple[str, ...]  # (k,)

    def values(self, rows: Array) -> Array:
        """Return the function (t, k) from kernel rows (t, m)."""
        return np.asarray(self.offsets + rows @ self.coefficients)

    def explain(self, graph: Any, output: int) -> Explanation:
        """Take one value of the function for one graph apart."""
        batch = one_graph(graph)
        shares = self.rows.nodes(batch) * self.coefficients[:, output]
        if not self.rows.keeps_graphs:
            shares = shares.sum(axis=1, keepdims=True)
        return Explanation(shares, float(self.offsets[output]), self.basis, self.names[output])
