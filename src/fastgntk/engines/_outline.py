"""What a plan may know of prepared graphs: their sizes, and which nodes count as one."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Int32s, Ints
from fastgntk.engines._operator import n_parts
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK

__all__ = ["BlockByBlock", "Extent", "Outline", "WholeGraphs"]


class Extent(NamedTuple):
    """The size of a block, as far as memory depends on it."""

    width: int  # nodes, distinct ones where equal nodes are merged; the most of any level
    graphs: int = 1
    levels: int = 1
    features: int = 0
    building: int = 0  # bytes that the graph which takes most needs while its part of a block is built
    parts: int = 1  # in which the aggregation comes


@dataclass(frozen=True, eq=False)
class Outline:
    """Describe n graphs to the plan.

    Attributes
    ----------
    offsets : int64, (n + 1,)
        Nodes of graph i are offsets[i]..offsets[i + 1] − 1.
    colours : int32, (levels, N), or None
        Nodes of one block that share a number are computed once at that level; None means that none do.
    keys : uint64, (k, n), or None
        Graphs whose keys agree are likely to share colours, so it pays to put them into one block.
    features : int
        Width of the features, where an engine needs memory in proportion to it.
    building : int64, (n,), or None
        Bytes that each graph takes while its part of a block is built, where that is more than a tile takes.
    parts : int
        In how many parts the aggregation comes: more than one with typed edges.
    """

    offsets: Ints
    colours: Int32s | None = None
    keys: NDArray[np.uint64] | None = None
    features: int = 0
    building: Ints | None = None
    parts: int = 1

    @property
    def sizes(self) -> Ints:
        """Number of nodes of each graph."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class WholeGraphs:
    """A batch that is prepared only when it is cut into blocks."""

    batch: GraphBatch
    kernel: GNTK

    def outline(self) -> Outline:
        """Every node counts for itself."""
        return Outline(self.batch.offsets - self.batch.offsets[0], parts=n_parts(self.batch, self.kernel))

    def part(self, graphs: Ints) -> Any:
        """Return some graphs; a run of neighbours shares memory with the batch."""
        if len(graphs) and np.array_equal(graphs, np.arange(graphs[0], graphs[0] + len(graphs))):
            return self.batch[int(graphs[0]) : int(graphs[0]) + len(graphs)]
        return self.batch[graphs]


class BlockByBlock:
    """The part of an engine that is the same for all whose work is done block by block, where memory is bounded."""

    def prepare(self, batch: GraphBatch, kernel: GNTK) -> WholeGraphs:
        """Keep the graphs."""
        return WholeGraphs(batch, kernel)

    def outline(self, prepared: WholeGraphs) -> Outline:
        """Every node counts for itself."""
        return prepared.outline()

    def colours(self, prepared: WholeGraphs) -> None:
        """Refine nothing for the whole batch."""

    def tasks(self, prepared: WholeGraphs) -> tuple[()]:  # noqa: ARG002
        """Nothing is left to do."""
        return ()

    def work(self, prepared: WholeGraphs, task: Any, cancelled: NDArray[np.uint8]) -> None:
        """Do nothing."""

    def finish(self, prepared: WholeGraphs) -> WholeGraphs:
        """Return the graphs."""
        return prepared

    def kept_bytes(self, prepared: WholeGraphs) -> int:
        """Count two matrices of neighbours."""
        return 2 * 12 * (len(prepared.batch.indices) + prepared.batch.n_nodes)
