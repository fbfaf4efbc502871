"""What a Gram matrix will cost, before it is computed: engine and why, merging, time, memory; on clusters too."""

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
from fastgntk.kernels import GNTK, Kernel
from fastgntk.pairwise._compute import Compute, check_compute, check_fits_memory, check_kernel
from fastgntk.pairwise._leaf_graphs import LeafGraphs
from fastgntk.pairwise._plan import largest_extent, plan_gram
from fastgntk.pairwise._prepared import prepare_batch
from fastgntk.pairwise.store import Build

__all__ = ["ClusterCost", "CostEstimate", "LeafCost", "estimate_cost", "makespan"]


@dataclass(frozen=True)
class LeafCost:
    """What one tangent kernel of a combination costs.

    Attributes
    ----------
    kernel, engine, reason : str
        The kernel, its engine, and why this one was chosen.
    groups, tiles : int
        Graphs are cut into groups, and a tile is a pair of groups.
    widest : int
        The most distinct nodes of a group.
    pairs : list of int
        Pairs of distinct nodes that are computed, level by level.
    compression : list of float
        The same over all pairs of nodes.
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
    """What a matrix in a store costs on other numbers of workers, from a sample of its tiles.

    Attributes
    ----------
    tiles, tile_size : int
        Tiles are tasks, of that many graphs on each side.
    sampled : int
        How many tiles were computed to measure their time.
    preparing : float
        Seconds before the first tile, which more workers do not change: measured.
    longest : float
        Seconds of the longest tile: no number of workers takes less.
    workers : list of int
    seconds : list of float
        The time with each of these numbers of workers of one thread, preparing included, starting the workers not.
    worker_bytes : int
        Memory that a worker takes at most, beside Python itself.
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
    """What :func:`fastgntk.gram` would cost.

    Attributes
    ----------
    graphs, nodes, threads : int
    node_pairs : int
        Pairs of nodes, the diagonal and one triangle.
    seconds : float
        Expected time, from a cost model; for ``lossless`` scaled to this machine by a short measurement.
    bytes : int
        Expected peak memory of result, tiles in progress and prepared graphs, beside what Python itself takes.
    leaves : list of LeafCost
        One for each tangent kernel that the kernel is made of.
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
    """Estimate what :func:`gram` with the same arguments would cost, without computing the matrix.

    Graphs are prepared and cut for it, which takes seconds where the matrix takes minutes. A limit of memory that is
    too low is refused, as by :func:`gram`.

    Parameters
    ----------
    graphs, kernel, compute
        As in :func:`gram`.
    cluster : sequence of int, optional
        Numbers of workers, such as ``(1, 10, 100)``: estimate ``gram(..., store=path)`` on clusters of these sizes too.
        Tiles drawn at random are computed for about ``sample_seconds``, one after the other, into a temporary folder;
        their mean time for each pair of distinct nodes gives the time of all others. Workers are expected to be as fast
        as this machine. ``compute.progress`` is that of the sample. Needs the extra ``store``.
    sample_seconds : float

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs
    >>> cost = fg.estimate_cost(graphs, fg.GNTK(blocks=3), compute=fg.Compute(engine="lossless"))
    >>> cost.engine, cost.graphs, [round(ratio, 3) for ratio in cost.leaves[0].compression]
    ('lossless', 188, [0.0, 0.004, 0.039])
    """
    kernel, options = check_kernel(kernel), check_compute(compute)
    counts = None if cluster is None else _check_cluster(cluster)
    seconds = check_positive("sample_seconds", sample_seconds)
    start = time.perf_counter()
    batch = as_graphs(graphs)
    result = 8 * len(batch) ** 2
    check_fits_memory(result, options.budget)
    prepared = prepare_batch(batch, kernel, options, once=True)
    costs = [_leaf_cost(graphs, options, result) for graphs in prepared.graphs_by_leaf.values()]
    return CostEstimate(
        graphs=len(batch),
        nodes=batch.n_nodes,
        threads=min(threads for _, threads, _ in costs),
        node_pairs=batch.n_nodes * (batch.n_nodes + 1) // 2,
        seconds=sum(cost.seconds for cost, _, _ in costs),
        bytes=max(peak for _, _, peak in costs) + (0 if len(costs) == 1 else len(costs) * result),
        leaves=[cost for cost, _, _ in costs],
        cluster=None if counts is None else _cluster_cost(batch, kernel, options, counts, seconds, start),
    )


def _leaf_cost(graphs: LeafGraphs, compute: Compute, result: int) -> tuple[LeafCost, int, int]:
    """Return what a tangent kernel costs, on how many threads, and its peak memory."""
    engine, kernel, n = graphs.choice.engine, graphs.kernel, graphs.batch.n_nodes
    plan = plan_gram(graphs.groups)
    threads = graphs.affordable_workers(plan, compute, result)
    largest = largest_extent(graphs.groups) if graphs.groups else Extent(0)
    pairs = plan.pairs().tolist()
    if len(pairs) < kernel.blocks:  # an engine that merges nothing has the same pairs at every level
        pairs = pairs * kernel.blocks
    seconds = estimate_seconds(engine.name, graphs.batch, kernel, sum(pairs))
    cost = LeafCost(
        kernel=repr(kernel),
        engine=engine.name,
        reason=graphs.choice.reason,
        groups=len(graphs.groups),
        tiles=len(plan.tiles),
        widest=largest.nodes,
        pairs=pairs,
        compression=[count / max(n * (n + 1) // 2, 1) for count in pairs],
        seconds=seconds / min(threads, max(len(plan.tiles), 1)),
    )
    peak = result + engine.kept_bytes(graphs.prepared) + threads * engine.tile_bytes(largest, largest)
    return cost, threads, peak


def _cluster_cost(
    batch: GraphBatch, kernel: Kernel, compute: Compute, counts: list[int], budget: float, start: float
) -> ClusterCost:
    with TemporaryDirectory() as folder:
        # Begun as the real one is, so that tiles, and what it takes to write them, are the same.
        build = Build.start(batch, kernel, compute, Path(folder) / "gram.zarr")
        build.build_groups(build.affordable_workers())
        preparing = time.perf_counter() - start
        tiles = build.by_cost(build.stored.all_tiles())
        sampled, rate = _timed_sample(build, tiles, budget, compute.progress)
        on_disk = build.stored.progress()
    seconds = rate * np.array([build.cost(tile) for tile in tiles])
    return ClusterCost(
        tiles=len(tiles),
        tile_size=build.stored.tile_size,
        sampled=sampled,
        preparing=preparing,
        longest=float(seconds.max(initial=0.0)),
        workers=counts,
        seconds=[preparing + makespan(seconds, count) for count in counts],
        worker_bytes=build.worker_bytes(),
        disk_bytes=on_disk["bytes"] * len(tiles) // max(on_disk["finished"], 1),
    )


def _check_cluster(cluster: Any) -> list[int]:
    counts = list(cluster) if isinstance(cluster, Sequence | np.ndarray) else []
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1 for n in counts)
    if not counts or not whole:
        raise InputError(f"cluster must be numbers of workers such as (1, 10, 100), but is {cluster!r}.")
    return [int(count) for count in counts]


def makespan(seconds: Array, count: int) -> float:
    """Return when the last of some workers ends, if each takes the next task as soon as it is free.

    >>> makespan(np.array([3.0, 3.0, 2.0]), 2), makespan(np.array([3.0, 3.0, 2.0]), 9)
    (5.0, 3.0)
    """
    free = [0.0] * count
    for task in seconds.tolist():
        heapq.heapreplace(free, free[0] + task)
    return max(free)


def _timed_sample(
    build: Build, tiles: list[tuple[int, int]], budget: float, progress: Progress | None
) -> tuple[int, float]:
    """Compute tiles until the time is over; return how many, and the seconds for each unit of their cost."""
    if not tiles:
        return 0, 0.0
    spent, cost, count = 0.0, 0, 0
    with single_threaded_blas():
        build.compute(tiles[-1:], 1, None)  # loads compiled code, and what Zarr needs
        for i in np.random.default_rng(0).permutation(len(tiles)).tolist():
            start = time.perf_counter()
            build.compute([tiles[i]], 1, None)
            spent += time.perf_counter() - start
            cost += build.cost(tiles[i])
            count += 1
            if progress:  # over when the time is, or when there are no more tiles
                progress(round(1000 * min(1.0, max(spent / budget, count / len(tiles)))), 1000)
            if spent >= budget:
                break
    return count, spent / cost
