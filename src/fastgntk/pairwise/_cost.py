"""Estimate the cost of a Gram matrix before it is computed: engine, merging, time and memory, also on clusters."""

import heapq
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk._util.checks import check_positive
from fastgntk._util.threads import Progress, single_threaded_blas
from fastgntk.engines import Extent, estimate_seconds
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import GNTK, Kernel, Network
from fastgntk.pairwise._compute import Compute, check_compute, check_fits_memory, check_kernel
from fastgntk.pairwise._plan import largest_extent, plan_gram
from fastgntk.pairwise._prepared import prepare_batch
from fastgntk.pairwise._prepared_leaf import PreparedLeaf
from fastgntk.pairwise.store import StoreBuilder

__all__ = ["ClusterCost", "CostEstimate", "LeafCost", "estimate_cost", "makespan"]


@dataclass(frozen=True)
class LeafCost:
    """The expected cost of one leaf of a combination.

    Attributes
    ----------
    kernel, engine, reason : str
        The kernel, its engine, and the reason for this choice.
    groups, tiles : int
        Numbers of groups of graphs and of tiles; a tile holds the values of a pair of groups.
    widest : int
        The largest number of distinct nodes in a group.
    pairs : list of int
        Number of pairs of distinct nodes that are computed at each level; empty if pairs of graphs are compared.
    compression : list of float
        ``pairs`` divided by the number of all pairs of nodes.
    seconds : float
    """

    kernel: str
    engine: str
    reason: str
    groups: int
    tiles: int
    widest: int
    pairs: list[int]
    compression: list[float]
    seconds: float


@dataclass(frozen=True)
class ClusterCost:
    """The expected cost of a stored matrix on clusters of several sizes, from a sample of its tiles.

    Attributes
    ----------
    tiles, tile_size : int
        Number of tiles, each of them one task, and number of graphs on each side of a tile.
    sampled : int
        Number of tiles that were computed to measure their time.
    preparing : float
        Measured seconds before the first tile; they do not depend on the number of workers.
    longest : float
        Seconds of the longest tile, a lower bound for any number of workers.
    workers : list of int
    seconds : list of float
        The time with each number of single-threaded workers, including preparation but not worker start-up.
    worker_bytes : int
        Maximum memory of a worker, on top of Python itself.
    disk_bytes : int
    """

    tiles: int
    tile_size: int
    sampled: int
    preparing: float
    longest: float
    workers: list[int]
    seconds: list[float]
    worker_bytes: int
    disk_bytes: int


@dataclass(frozen=True)
class CostEstimate:
    """The expected cost of :func:`fastgntk.gram`.

    Attributes
    ----------
    graphs, nodes, threads : int
    node_pairs : int
        Number of pairs of nodes in the diagonal and one triangle.
    seconds : float
        Expected time, from a cost model; for ``lossless`` scaled to this machine by a short measurement.
    bytes : int
        Expected peak memory of result, tiles in progress and prepared graphs, on top of Python itself.
    leaves : list of LeafCost
        One for each leaf of the kernel.
    cluster : ClusterCost, optional
    """

    graphs: int
    nodes: int
    threads: int
    node_pairs: int
    seconds: float
    bytes: int
    leaves: list[LeafCost]
    cluster: ClusterCost | None = None

    @property
    def engine(self) -> str:
        """The engine, or engines, of the kernel."""
        return " and ".join(dict.fromkeys(leaf.engine for leaf in self.leaves))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)


def estimate_cost(
    graphs: Any,
    kernel: Kernel = GNTK(),
    *,
    compute: Compute | None = None,
    cluster: Sequence[int] | None = None,
    sample_seconds: float = 4.0,
) -> CostEstimate:
    """Estimate the cost of :func:`gram` with the same arguments, without computing the matrix.

    This prepares the graphs and cuts them into groups, which takes seconds where the matrix takes minutes. If
    ``max_memory`` is too small, it raises an error like :func:`gram`.

    Parameters
    ----------
    graphs, kernel, compute
        As in :func:`gram`.
    cluster : sequence of int, optional
        Numbers of workers, such as ``(1, 10, 100)``: estimate ``gram(..., store=path)`` on clusters of these sizes too.
        Tiles drawn at random are computed for about ``sample_seconds``, one after the other, into a temporary folder;
        the times of all other tiles follow from their mean time per pair of distinct nodes. Workers are assumed to be
        as fast as this machine. ``compute.progress`` reports the progress of the sample. Needs the extra ``store``.
    sample_seconds : float
        Time budget of the sample.

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs
    >>> cost = fg.estimate_cost(graphs, fg.GNTK(blocks=3), compute=fg.Compute(engine="lossless"))
    >>> cost.engine, cost.graphs, [round(ratio, 3) for ratio in cost.leaves[0].compression]
    ('lossless', 188, [0.0, 0.004, 0.039])
    """
    kernel, compute = check_kernel(kernel), check_compute(compute)
    counts = None if cluster is None else _check_cluster(cluster)
    time_budget = check_positive("sample_seconds", sample_seconds)
    start = time.perf_counter()
    batch = as_graphs(graphs)
    result_bytes = 8 * len(batch) ** 2
    check_fits_memory(result_bytes, compute.memory_budget)
    prepared = prepare_batch(batch, kernel, compute, reused=False)
    costs = [_leaf_cost(graphs, compute, result_bytes) for graphs in prepared.graphs_by_leaf.values()]
    return CostEstimate(
        graphs=len(batch),
        nodes=batch.n_nodes,
        threads=min(threads for _, threads, _ in costs),
        node_pairs=batch.n_nodes * (batch.n_nodes + 1) // 2,
        seconds=sum(cost.seconds for cost, _, _ in costs),
        bytes=max(peak for _, _, peak in costs) + (0 if len(costs) == 1 else len(costs) * result_bytes),
        leaves=[cost for cost, _, _ in costs],
        cluster=None if counts is None else _cluster_cost(batch, kernel, compute, counts, time_budget, start),
    )


def _leaf_cost(graphs: PreparedLeaf, compute: Compute, result_bytes: int) -> tuple[LeafCost, int, int]:
    """Return the cost of a leaf, the number of threads, and the peak memory in bytes."""
    engine, leaf, n = graphs.engine, graphs.leaf, graphs.batch.n_nodes
    plan = plan_gram(graphs.groups)
    threads = graphs.affordable_threads(plan, compute, result_bytes)
    largest = largest_extent(graphs.groups) if graphs.groups else Extent(0)
    pairs = plan.node_pairs().tolist() if isinstance(leaf, Network) else []
    if len(pairs) < leaf.depth:  # an engine that merges nothing has the same pairs at every level
        pairs = pairs * leaf.depth
    seconds = estimate_seconds(engine.name, graphs.batch, leaf, sum(pairs))
    cost = LeafCost(
        kernel=repr(leaf),
        engine=engine.name,
        reason=graphs.choice.reason,
        groups=len(graphs.groups),
        tiles=len(plan.group_pairs),
        widest=largest.n_nodes,
        pairs=pairs,
        compression=[count / max(n * (n + 1) // 2, 1) for count in pairs],
        seconds=seconds / min(threads, max(len(plan.group_pairs), 1)),
    )
    peak_bytes = result_bytes + engine.kept_bytes(graphs.state) + threads * engine.tile_bytes(largest, largest)
    return cost, threads, peak_bytes


def _cluster_cost(
    batch: GraphBatch, kernel: Kernel, compute: Compute, counts: list[int], time_budget: float, start: float
) -> ClusterCost:
    with TemporaryDirectory() as folder:
        # Started like the real computation, so that tiles and the cost of writing them are the same.
        builder = StoreBuilder.start(batch, kernel, compute, Path(folder) / "gram.zarr")
        builder.build_groups(builder.affordable_threads())
        preparing = time.perf_counter() - start
        tiles = builder.by_cost(builder.stored.all_tiles())
        sampled, rate = _timed_sample(builder, tiles, time_budget, compute.progress)
        status = builder.stored.status()
    seconds = rate * np.array([builder.cost(tile) for tile in tiles])
    return ClusterCost(
        tiles=len(tiles),
        tile_size=builder.stored.tile_size,
        sampled=sampled,
        preparing=preparing,
        longest=float(seconds.max(initial=0.0)),
        workers=counts,
        seconds=[preparing + makespan(seconds, count) for count in counts],
        worker_bytes=builder.worker_bytes(),
        disk_bytes=status["bytes"] * len(tiles) // max(status["finished"], 1),
    )


def _check_cluster(cluster: Any) -> list[int]:
    counts = list(cluster) if isinstance(cluster, Sequence | np.ndarray) else []
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1 for n in counts)
    if not counts or not whole:
        raise InputError(f"cluster must be numbers of workers such as (1, 10, 100), but is {cluster!r}.")
    return [int(count) for count in counts]


def makespan(seconds: Array, count: int) -> float:
    """Return the time at which the last of ``count`` workers finishes, if each takes the next task once it is free.

    >>> makespan(np.array([3.0, 3.0, 2.0]), 2), makespan(np.array([3.0, 3.0, 2.0]), 9)
    (5.0, 3.0)
    """
    free = [0.0] * count
    for task in seconds.tolist():
        heapq.heapreplace(free, free[0] + task)
    return max(free)


def _timed_sample(
    builder: StoreBuilder, tiles: list[tuple[int, int]], time_budget: float, progress: Progress | None
) -> tuple[int, float]:
    """Compute tiles until the time budget is used up; return their number, and seconds per unit of their cost."""
    if not tiles:
        return 0, 0.0
    spent, cost, count = 0.0, 0, 0
    with single_threaded_blas():
        builder.compute_tiles(tiles[-1:], 1, None)  # loads compiled code and Zarr
        for i in np.random.default_rng(0).permutation(len(tiles)).tolist():
            start = time.perf_counter()
            builder.compute_tiles([tiles[i]], 1, None)
            spent += time.perf_counter() - start
            cost += builder.cost(tiles[i])
            count += 1
            if progress:  # complete when the time budget or the tiles are used up
                progress(round(1000 * min(1.0, max(spent / time_budget, count / len(tiles)))), 1000)
            if spent >= time_budget:
                break
    return count, spent / cost
