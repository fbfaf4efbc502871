"""Compute a matrix into a store: what is there already is kept, what is missing or damaged is computed."""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import Progress, run, single_threaded_blas
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Kernel
from fastgntk.pairwise._combine import needs_diagonals
from fastgntk.pairwise._compute import Compute
from fastgntk.pairwise._plan import Plan, largest_extent, plan_gram
from fastgntk.pairwise._prepared import PreparedGraphs, prepare_batch
from fastgntk.pairwise._run import Cut, Run
from fastgntk.pairwise.store._cluster import check_client, compute_on_cluster
from fastgntk.pairwise.store._locks import writing
from fastgntk.pairwise.store._manifest import Manifest
from fastgntk.pairwise.store._stored_gram import StoredGram, Tile
from fastgntk.pairwise.store._tile_values import Side, tile_values

__all__ = ["Build", "Shard", "build_gram", "check_shard"]

_log = logging.getLogger("fastgntk")

Shard = tuple[int, int]

_PAIRS = 1e8  # of distinct nodes in a tile: under a second of work, which is what an interruption costs
_SIDES = (32, 1024)  # graphs on a side of a tile: neither thousands of small files nor few large ones


def build_gram(
    batch: GraphBatch, kernel: Kernel, compute: Compute, path: Path, shard: Shard, client: Any = None
) -> StoredGram:
    """Compute the missing tiles of a shard, on threads or by a Dask client, and return the store."""
    if client is not None:
        check_client(client)
    build = Build.start(batch, kernel, compute, path)
    with writing(path, shard):
        if shard == (1, 1):  # others are locked out
            build.stored.sweep()
        missing = build.missing(shard)
        if client is None:
            build.compute(missing, compute.threads, compute.progress)
        else:
            compute_on_cluster(build, missing, client, compute.progress)
    return build.stored


def check_shard(shard: Any) -> Shard:
    """Return (k, K) with 1 ≤ k ≤ K; None is everything."""
    if shard is None:
        return 1, 1
    pair = tuple(shard) if isinstance(shard, tuple | list) else ()
    whole = len(pair) == 2 and all(isinstance(part, int) and not isinstance(part, bool) for part in pair)
    if not whole or not 1 <= pair[0] <= pair[1]:
        raise InputError(f"shard must be (k, K) with 1 ≤ k ≤ K, such as (2, 10), but is {shard!r}.")
    return pair[0], pair[1]


@dataclass(frozen=True, eq=False)
class Build:
    """A matrix on its way into a store."""

    prepared: PreparedGraphs
    runs: tuple[Run, ...]
    """Of each leaf of the kernel."""
    cuts: tuple[Cut, ...]
    """Of each leaf: blocks that fit into the sides of tiles."""
    stored: StoredGram

    @classmethod
    def start(cls, batch: GraphBatch, kernel: Kernel, compute: Compute, path: Path) -> Build:
        """Open the store, or make it; refuse one of another matrix."""
        known = StoredGram(path) if path.exists() else None
        engines = None
        if known is not None:
            kernel = known.manifest.same_kernel(kernel)
            if compute.engine == "auto" and len(known.manifest.engines) == len(kernel.leaves()):
                engines = known.manifest.engines
        prepared = prepare_batch(batch, kernel, compute, engines=engines, once=True)
        leaves = list(prepared.leaves.values())
        side = _side([plan_gram(leaf.cut.blocks) for leaf in leaves]) if known is None else known.manifest.side
        manifest = Manifest.of(prepared, side, secrets.token_hex(8))
        runs = tuple(leaf.within(compute, 0) for leaf in leaves)
        cuts = [runs[0].cut_prepared(leaves[0].cut.prepared, side)]
        order = np.concatenate([np.zeros(0, dtype=np.int64), *(block.graphs for block in cuts[0].blocks)])
        for run_of, leaf in zip(runs[1:], leaves[1:], strict=True):
            cuts.append(run_of.cut_prepared(leaf.cut.prepared, side, order))
        if known is None:
            known = StoredGram.create(path, manifest, order)
        known.manifest.check(manifest, path, "give another path, or delete the store first")
        if not np.array_equal(known.order, order):
            raise InputError(
                f"{path} was begun by fastgntk {known.manifest.version}, which cuts graphs differently; go on with "
                "that version, or delete the store first."
            )
        return cls(prepared, runs, tuple(cuts), known)

    def missing(self, shard: Shard) -> list[Tile]:
        """Return the tiles of a shard that have to be computed, and log what was found."""
        k, count = shard
        # Dealt out like cards from the most expensive on, so that shards take about as long.
        own = self.by_cost(self.stored.all_tiles())[k - 1 :: count]
        there = self.stored.finished() & set(own)
        damaged = set(self.stored.damaged(there))
        if damaged:
            _log.warning("%d tiles of %s are damaged and computed again", len(damaged), self.stored.path)
        _log.info("%s: %d of %d tiles are there", self.stored.path, len(there) - len(damaged), len(own))
        return [tile for tile in own if tile not in there or tile in damaged]

    def by_cost(self, tiles: list[Tile]) -> list[Tile]:
        """Return tiles with the most expensive first."""
        return sorted(tiles, key=lambda tile: (-self.cost(tile), tile))

    def cost(self, tile: Tile) -> int:
        """Estimate the work of a tile: its pairs of distinct nodes, plus one so that nothing is free."""
        pairs = sum(int(np.dot(counts[tile[0]], counts[tile[1]])) for counts in self._counts)
        return pairs // (2 if tile[0] == tile[1] else 1) + 1

    @cached_property
    def members(self) -> list[list[range]]:
        """For each leaf the blocks that make up each side of tiles."""
        out = []
        for cut in self.cuts:
            starts = np.cumsum([0, *(len(block.graphs) for block in cut.blocks)])
            ends = np.searchsorted(starts, np.arange(0, len(self.stored) + self.stored.side, self.stored.side))
            ends = np.minimum(ends, len(cut.blocks)).tolist()
            out.append([range(first, last) for first, last in pairwise(ends)])
        return out

    @cached_property
    def _counts(self) -> list[list[Ints]]:
        """For each leaf, how many distinct nodes each side of tiles has at each level, block by block."""
        return [
            [np.sum([cut.blocks[b].counts for b in blocks], axis=0) for blocks in members]
            for cut, members in zip(self.cuts, self.members, strict=True)
        ]

    def side(self, number: int) -> Side:
        """Return the blocks of a side of tiles, built."""
        blocks = []
        for run_of, cut, members in zip(self.runs, self.cuts, self.members, strict=True):
            built = run_of.build(cut, run_of.workers)
            blocks.append([(cut.blocks[b], built[b]) for b in members[number]])
        if not needs_diagonals(self.prepared.kernel):
            return Side(blocks)
        mine = self.stored.graphs(number)
        return Side(blocks, [values[mine] for values in self._diagonals])

    @cached_property
    def _diagonals(self) -> list[Array]:
        found = self.prepared.leaf_diagonals(self.prepared.compute.watched(None))
        return [found[leaf] for leaf in self.prepared.leaves]

    def affordable_workers(self, workers: int | None = None) -> int:
        """Return how many tiles may be in work at once; refuse if not even one."""
        workers = self.runs[0].workers if workers is None else workers
        kept = [run_of.engine.kept_bytes(cut.prepared) for run_of, cut in zip(self.runs, self.cuts, strict=True)]
        # Values of the tiles in work are held twice, once by Zarr.
        tiles = workers * 2 * 8 * self.stored.side**2
        limited = [replace(run_of, result=tiles + sum(kept) - own) for run_of, own in zip(self.runs, kept, strict=True)]
        return min(
            run_of.affordable_workers(plan_gram(cut.blocks), cut.prepared)
            for run_of, cut in zip(limited, self.cuts, strict=True)
        )

    def worker_bytes(self) -> int:
        """Count what a worker holds: all blocks in the end, the values of a tile twice, and what computing it takes."""
        total = 0
        for run_of, cut in zip(self.runs, self.cuts, strict=True):
            if cut.blocks:
                largest = largest_extent(cut.blocks)
                total += run_of.engine.kept_bytes(cut.prepared) + run_of.engine.tile_bytes(largest, largest)
        return total + 2 * 8 * self.stored.side**2 if total else 0

    def prepare(self, workers: int) -> None:
        """Build the blocks of all leaves."""
        for run_of, cut in zip(self.runs, self.cuts, strict=True):
            run_of.build(cut, workers)
        if needs_diagonals(self.prepared.kernel):
            _ = self._diagonals

    def compute(self, tiles: list[Tile], workers: int, progress: Progress | None) -> None:
        """Compute tiles on threads and store each when it is computed."""
        if not tiles:
            return
        workers = self.affordable_workers(workers)
        self.prepare(workers)
        cancelled = np.zeros(1, dtype=np.uint8)

        def compute(tile: Tile) -> None:
            _log.debug("computing tile %d %d of %s", *tile, self.stored.path)
            rows, cols = map(self.side, tile)
            values = tile_values(self.prepared.kernel, self.runs, rows, cols, tile[0] == tile[1], cancelled)
            if not cancelled[0]:  # values of no meaning otherwise
                self.stored.write(tile, values)

        def cancel() -> None:
            cancelled[0] = 1

        what = (" and ".join(self.prepared.engines), len(tiles), self.stored.path, workers)
        _log.info("engine %s: %d tiles of %s on %d threads", *what)
        with single_threaded_blas():
            run(compute, tiles, workers=workers, cost=self.cost, progress=progress, cancel=cancel)


def _side(plans: list[Plan]) -> int:
    """Choose how many graphs a tile has on each side: what is lost by an interruption is small, and so are files."""
    graphs = sum(len(block.graphs) for block in plans[0].rows)
    pairs = float(sum(plan.pairs().sum() for plan in plans))
    affordable = graphs * np.sqrt(_PAIRS / (2 * pairs)) if pairs else graphs
    low, high = _SIDES
    # Sides of equal size: on disk the last tile takes as much as the others, however little is in it.
    count = -(-graphs // int(max(low, min(high, affordable))))
    return -(-graphs // max(count, 1)) or 1
