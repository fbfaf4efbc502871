"""What a stored matrix will take on more workers than this machine has, from a sample of its tiles."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import Memory, Workers
from fastgntk._util.threads import Progress, single_threaded_blas
from fastgntk.engines import check_edges
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind, NodeFeatures, as_graphs
from fastgntk.kernels import GNTK
from fastgntk.pairwise._options import Options, fitted
from fastgntk.pairwise._plan import largest_extent
from fastgntk.pairwise.store import Build
from fastgntk.sketch import SketchOptions

__all__ = ["Estimate", "estimate", "makespan"]


@dataclass(frozen=True)
class Estimate:
    """Say what :func:`fastgntk.gram` with a store would take.

    Attributes
    ----------
    engine : str
    graphs, tiles, side : int
        Tiles are tasks, of that many graphs on each side.
    sampled : int
        How many tiles were computed to find out.
    preparing : float
        Seconds before the first tile, which more workers do not change: measured.
    longest : float
        Seconds of the longest tile: no number of workers takes less.
    workers : list of int
    seconds : list of float
        The time with each of these numbers of workers of one thread, preparing included. Starting the workers is not.
    worker_bytes : int
        Memory that a worker takes at the most, beside Python itself.
    disk_bytes : int
    """

    engine: str
    graphs: int
    tiles: int
    side: int
    sampled: int
    preparing: float
    longest: float
    workers: list[int]
    seconds: list[float]
    worker_bytes: int
    disk_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)


def estimate(
    graphs: Any,
    spec: GNTK | None = None,
    *,
    cluster: Sequence[int] = (1, 10, 100),
    sample_seconds: float = 4.0,
    features: FeatureKind | NodeFeatures = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    progress: Progress | None = None,
    **sketching: Unpack[SketchOptions],
) -> Estimate:
    """Predict time, memory and disk of ``gram(..., store=path)`` with the same arguments, on clusters of other sizes.

    Graphs are prepared as for the matrix, on ``workers`` threads; then tiles drawn at random are computed for about
    ``sample_seconds``, one after the other, into a temporary folder. What a pair of distinct nodes took on average
    gives the time of all other tiles. Workers are expected to be as fast as this machine; needs the extra ``store``.
    ``progress`` is told how much of the sample is done.

    Examples
    --------
    >>> import fastgntk as fg
    >>> plan = fg.estimate(fg.datasets.load("MUTAG").graphs, fg.GNTK(blocks=2), sample_seconds=0.1)
    >>> plan.graphs, plan.workers, plan.seconds[0] >= plan.seconds[2]
    (188, [1, 10, 100], True)
    """
    start = time.perf_counter()
    counts = _check_cluster(cluster)
    _check_seconds(sample_seconds)
    options = Options.check(spec, engine, memory, workers, progress, sketching)
    batch = as_graphs(graphs)
    step = fitted(features, batch)
    batch = step.transform(batch)
    check_edges(batch, options.spec)
    with TemporaryDirectory() as folder:
        # Begun as the real one is, so that tiles, and what it takes to write them, are the same.
        build = Build.start(batch, step.kind_, options, Path(folder) / "gram.zarr")
        build.run.build(build.cut, build.affordable_workers(options.workers))
        preparing = time.perf_counter() - start
        tiles = build.by_cost(build.stored.all_tiles())
        sampled, rate = _timed_sample(build, tiles, sample_seconds, progress)
        on_disk = build.stored.progress()
    seconds = rate * np.array([build.cost(tile) for tile in tiles])
    return Estimate(
        engine=build.run.engine.name,
        graphs=len(batch),
        tiles=len(tiles),
        side=build.stored.side,
        sampled=sampled,
        preparing=preparing,
        longest=float(seconds.max(initial=0.0)),
        workers=counts,
        seconds=[preparing + makespan(seconds, count) for count in counts],
        worker_bytes=_worker_bytes(build),
        disk_bytes=on_disk["bytes"] * len(tiles) // max(on_disk["finished"], 1),
    )


def _check_cluster(cluster: Any) -> list[int]:
    counts = list(cluster) if isinstance(cluster, Sequence | np.ndarray) else []
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1 for n in counts)
    if not counts or not whole:
        raise InputError(f"cluster must be numbers of workers such as (1, 10, 100), but is {cluster!r}.")
    return [int(count) for count in counts]


def _check_seconds(seconds: Any) -> None:
    number = isinstance(seconds, int | float | np.integer | np.floating) and not isinstance(seconds, bool)
    if not number or not 0 < seconds < math.inf:
        raise InputError(f"sample_seconds must be a number above 0, but is {seconds!r}.")


def makespan(seconds: NDArray[np.float64], count: int) -> float:
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


def _worker_bytes(build: Build) -> int:
    """Count what a worker holds: all blocks in the end, the values of a tile twice, and what computing it takes."""
    if not build.cut.blocks:
        return 0
    largest = largest_extent(build.cut.blocks)
    tile = build.run.engine.tile_bytes(largest, largest) + 2 * 8 * build.stored.side**2
    return build.run.engine.kept_bytes(build.cut.prepared) + tile
