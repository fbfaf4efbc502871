"""Why a model says what it says: f(G) is a sum over nodes of G and over training graphs, so shares are exact.

f(G) = b + Σ_i α_i k(G, G_i) = b + Σ_u Σ_i α_i Σ_v K(u, v)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.errors import InputError
from fastgntk.graph import GraphBatch, graphs
from fastgntk.learn._rows import KernelRows

__all__ = ["Expansion", "Explanation", "one_graph"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Explanation:
    """The shares of nodes and of training graphs in one prediction.

    Attributes
    ----------
    shares : array of shape (N, m)
        Share of each node through each training graph; everything below are sums of these.
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
    batch = graph if isinstance(graph, GraphBatch) else graphs([graph])
    if len(batch) != 1:
        raise InputError(f"explain takes one graph, but {len(batch)} came.")
    return batch


@dataclass(frozen=True, eq=False)
class Expansion:
    """A function of graphs with k values: offsets + Σ_i coefficients_i k(G, G_i) over m training graphs."""

    rows: KernelRows
    coefficients: Array  # (m, k)
    offsets: Array  # (k,)
    basis: NDArray[np.int64]  # (m,), numbers of these graphs among the training graphs
    names: tuple[str, ...]  # (k,)

    def values(self, rows: Array) -> Array:
        """Return the function (t, k) from kernel rows (t, m)."""
        return np.asarray(self.offsets + rows @ self.coefficients)

    def explain(self, graph: Any, output: int) -> Explanation:
        """Take one value of the function for one graph apart."""
        batch = one_graph(graph)
        shares = self.rows.nodes(batch) * self.coefficients[:, output]
        return Explanation(shares, float(self.offsets[output]), self.basis, self.names[output])
