"""Costs on clusters, estimated from a sample of tiles: right sums, and agreement with the store that is built."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fastgntk as fg
from fastgntk.pairwise import _cost
from fastgntk.pairwise.store import _build

GRAPHS = fg.datasets.load("MUTAG").graphs
KERNEL = fg.GNTK(2, 1)


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(_build, "_MAX_TILE_PAIRS", 1e3)


@pytest.fixture
def clock(monkeypatch):
    """Time that passes by the work of a tile: a second for each unit of its cost; the first one loads code for long."""
    now = [0.0]
    compute_tiles = _build.StoreBuilder.compute_tiles
    computed = []

    def timed(self, tiles, workers, progress):
        compute_tiles(self, tiles, workers, progress)
        now[0] += sum(map(self.cost, tiles)) if computed else 1e9
        computed.extend(tiles)

    monkeypatch.setattr(_build.StoreBuilder, "compute_tiles", timed)
    monkeypatch.setattr(_cost.time, "perf_counter", lambda: now[0])
    return computed


def costs(tmp_path) -> np.ndarray:
    builder = _build.StoreBuilder.start(GRAPHS, KERNEL, fg.Compute(), tmp_path / "K.zarr")
    return np.array([builder.cost(tile) for tile in builder.by_cost(builder.stored.all_tiles())], dtype=float)


@pytest.mark.parametrize("sample", [1.0, 1e12])
def test_a_sample_gives_the_time_of_all(tmp_path, clock, sample):
    every = costs(tmp_path)
    found = fg.estimate_cost(GRAPHS, KERNEL, sample_seconds=sample, cluster=[1, 3, 1000]).cluster
    assert found.sampled == len(clock) - 1 == (1 if sample == 1.0 else 21)
    assert found.preparing == 0.0
    # A second for each unit of cost, as the clock has it; the first tile, which loads code, does not count.
    np.testing.assert_allclose(found.seconds[0], every.sum())
    np.testing.assert_allclose(found.seconds[2], every.max())
    assert every.sum() / 3 <= found.seconds[1] <= every.sum() / 3 + every.max()
    assert found.longest == pytest.approx(every.max())


def test_disk_and_tiles_are_those_of_the_store(tmp_path):
    found = fg.estimate_cost(GRAPHS, KERNEL, cluster=(1,), sample_seconds=1e-9).cluster
    stored = fg.gram(GRAPHS, KERNEL, store=tmp_path / "K.zarr")
    built = stored.status()
    assert (found.tiles, found.tile_size, found.disk_bytes) == (built["tiles"], stored.tile_size, built["bytes"])
    assert found.worker_bytes > 8 * stored.tile_size**2


def test_tasks_go_to_the_worker_that_is_free_first():
    tasks = np.array([5.0, 4.0, 3.0, 3.0, 3.0])
    assert _cost.makespan(tasks, 1) == 18.0
    assert _cost.makespan(tasks, 2) == 10.0  # 5 + 3 and 4 + 3 + 3
    assert _cost.makespan(tasks, 100) == 5.0


def test_without_a_cluster_no_tile_is_sampled(clock):
    assert fg.estimate_cost(GRAPHS, KERNEL).cluster is None
    assert not clock


def test_empty_batch_takes_no_tiles():
    found = fg.estimate_cost([], KERNEL, cluster=(1,)).cluster
    assert (found.tiles, found.sampled, found.disk_bytes, found.worker_bytes) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    "cluster",
    [(0,), (), [], 10, "10", (1, 2.0), (True,), (1, -3), np.array([]), np.array([1.5]), {1, 2}, ("1",)],
)
def test_bad_cluster_is_refused_before_graphs_are_read(cluster):
    words = re.escape(f"cluster must be numbers of workers such as (1, 10, 100), but is {cluster!r}.")
    with pytest.raises(fg.InputError, match=words):
        fg.estimate_cost(None, KERNEL, cluster=cluster)


@pytest.mark.parametrize("seconds", [0, 0.0, -1.0, np.nan, np.inf, "4", None, True, [4.0]])
def test_bad_sample_time_is_refused(seconds):
    words = re.escape(f"sample_seconds must be a number above 0, but is {seconds!r}.")
    with pytest.raises(fg.InputError, match=words):
        fg.estimate_cost(None, KERNEL, cluster=(1,), sample_seconds=seconds)


def test_numpy_numbers_are_accepted():
    found = fg.estimate_cost([], KERNEL, cluster=np.array([2, 3]), sample_seconds=np.float32(1.0)).cluster
    assert found.workers == [2, 3]
    assert all(type(count) is int for count in found.workers)


@pytest.mark.parametrize("sample", [1e5, 1e12])
def test_progress_goes_to_the_end(clock, sample):
    seen = []
    how = fg.Compute(progress=lambda done, total: seen.append(done / total))
    found = fg.estimate_cost(GRAPHS, KERNEL, cluster=(1,), sample_seconds=sample, compute=how).cluster
    assert len(seen) == found.sampled
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) == 1 or seen[0] < 1.0


def test_memory_of_a_worker():
    # Two paths of three and of two nodes, all of them one block: both directions of three edges, five nodes.
    graphs = [fg.Graph.from_edges([(0, 1), (1, 2)], 3, np.eye(3)), fg.Graph.from_edges([(0, 1)], 2, np.eye(2, 3))]
    how = fg.Compute(engine="decoupled")
    found = fg.estimate_cost(graphs, KERNEL, cluster=(1,), compute=how, sample_seconds=1e-9).cluster
    kept = 2 * 12 * (6 + 5)  # two sparse matrices with an entry for each edge and node, 8 bytes and 4
    work = 8 * 8 * 5 * 5  # eight dense matrices among five nodes
    values = 2 * 8 * 2 * 2  # those of the tile, two graphs by two, twice
    assert (found.tile_size, found.worker_bytes) == (2, kept + work + values)
