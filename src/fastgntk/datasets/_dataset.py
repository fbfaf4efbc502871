"""Graphs with targets."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs

__all__ = ["Counts", "Dataset", "NamedDataset"]


@dataclass(frozen=True)
class Counts:
    """The counts that identify a data set."""

    graphs: int
    nodes: int
    edges: int
    """Undirected edges, without self loops."""
    self_loops: int
    classes: int | None
    """None for regression."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Graphs, a target for each, and a name.

    Attributes
    ----------
    graphs : GraphBatch
    y : array of shape (n,) or (n, k), or None
        Class labels of the source, or real targets if the source has no classes.
    name : str
    graph_attributes : float64 array of shape (n, k), or None
        Real targets, if the source has them; equal to ``y`` if it has no classes.
    """

    graphs: GraphBatch
    y: NDArray[Any] | None
    name: str
    graph_attributes: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "graphs", as_graphs(self.graphs))
        if self.y is None:
            return
        object.__setattr__(self, "y", np.asarray(self.y))
        if len(self.y) != len(self.graphs):
            raise InputError(f"y has {len(self.y)} entries, but {self.name} has {len(self.graphs)} graphs.")

    def __len__(self) -> int:
        return len(self.graphs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.graphs)} graphs, {self.graphs.n_nodes} nodes)"

    @property
    def counts(self) -> Counts:
        """Count graphs, nodes, edges, dropped self loops and classes."""
        edges, self_loops = len(self.graphs.indices) // 2, int(self.graphs.self_loops.sum())
        classes = len(np.unique(self.y)) if self.y is not None and self.y.dtype.kind in "iubU" else None
        return Counts(len(self.graphs), self.graphs.n_nodes, edges, self_loops, classes)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NamedDataset(Dataset):
    """A data set whose source names graphs, nodes and targets.

    Attributes
    ----------
    graphs, y, name
        As in :class:`Dataset`.
    names : tuple of n str
        The name of each graph in the source.
    targets : tuple of str
        The columns or attributes in ``y``; empty if there are none.
    node_names : tuple
        The name of each node in the source, one graph after the other.
    """

    names: tuple[str, ...]
    targets: tuple[str, ...]
    node_names: tuple[Any, ...]
