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
from numpy.typing import NDArray

from fastgntk._util.threads import Progress, run, single_threaded_blas
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.pairwise._options import Options
from fastgntk.pairwise._plan import Plan, plan_gram
from fastgntk.pairwise._run import Cut, Run
from fastgntk.pairwise.store._cluster import check_executor, compute_on_cluster
from fastgntk.pairwise.store._locks import writing
from fastgntk.pairwise.store._manifest import Manifest, fingerprint
from fastgntk.pairwise.store._stored import StoredGram, Tile
from fastgntk.pairwise.store._tile import Side, tile_values

__all__ = ["Build", "Shard", "build_gram", "check_shard"]

_log = logging.getLogger("fastgntk")

Shard = tuple[int, int]

_PAIRS = 1e8  # of distinct nodes in a tile: under a second of work, which is what an interruption costs
_SIDES = (32, 1024)  # graphs on a side of a tile: neither thousands of small files nor few large ones


def build_gram(
    batch: GraphBatch,
    features: str,
    options: Options,
    path: Path,
    shard: Shard,
    progress: Progress | None,
    executor: Any = None,
) -> StoredGram:
    """Compute the tiles of a share that are not there, on threads or by a Dask client, and return the store."""
    if executor is not None:
        check_executor(executor)
    build = Build.start(batch, features, options, path)
    with writing(path, shard):
        if shard == (1, 1):  # others are locked out
            build.stored.sweep()
        missing = build.missing(shard)
        if executor is None:
            build.compute(missing, options.workers, progress)
        else:
            compute_on_cluster(build, missing, executor, progress)
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

    run: Run
    cut: Cut
    stored: StoredGram

    @classmethod
    def start(cls, batch: GraphBatch, features: str, options: Options, path: Path) -> Build:
        """Open the store, or make it; refuse one of another matrix."""
        known = StoredGram(path) if path.exists() else None
        if known is not None:
            engine = known.manifest.engine if options.engine == "auto" else options.engine
            options = replace(options, engine=engine, spec=known.manifest.kernel(options.spec))
        started = options.start(batch, None, 0)
        prepared = started.prepare(batch)
        manifest = Manifest(
            spec=options.spec.to_dict(),
            features=features,
            engine=started.engine.name,
            sketching=None if options.sketching is None else options.sketching.to_dict(),
            data=fingerprint(batch, options.spec),
            graphs=len(batch),
            side=known.manifest.side if known is not None else _side(plan_gram(started.cut_prepared(prepared).blocks)),
            id=secrets.token_hex(8),
        )
        cut = started.cut_prepared(prepared, manifest.side)
        order = np.concatenate([np.zeros(0, dtype=np.int64), *(block.graphs for block in cut.blocks)])
        if known is None:
            known = StoredGram.create(path, manifest, order)
        known.manifest.check(manifest, path, "give another path, or delete the store first")
        if not np.array_equal(known.order, order):
            raise InputError(
                f"{path} was begun by fastgntk {known.manifest.version}, which cuts graphs otherwise; go on with that "
                "version, or delete the store first."
            )
        return cls(started, cut, known)

    def missing(self, shard: Shard) -> list[Tile]:
        """Return the tiles of a share that have to be computed, and say what was found."""
        k, count = shard
        # Dealt out like cards from the most expensive on, so that shares take about as long.
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
        rows, cols = (self._counts[side] for side in tile)
        return int(np.dot(rows, cols)) // (2 if tile[0] == tile[1] else 1) + 1

    @cached_property
    def members(self) -> list[range]:
        """The blocks that make up each side of tiles."""
        starts = np.cumsum([0, *(len(block.graphs) for block in self.cut.blocks)])
        cuts = np.searchsorted(starts, np.arange(0, len(self.stored) + self.stored.side, self.stored.side))
        cuts = np.minimum(cuts, len(self.cut.blocks)).tolist()
        return [range(first, last) for first, last in pairwise(cuts)]

    @cached_property
    def _counts(self) -> list[NDArray[np.int64]]:
        """How many distinct nodes each side of tiles has at each level, block by block."""
        return [np.sum([self.cut.blocks[b].counts for b in blocks], axis=0) for blocks in self.members]

    def side(self, number: int) -> Side:
        """Return the blocks of a side of tiles, built."""
        built = self.run.build(self.cut, self.run.workers)
        return [(self.cut.blocks[b], built[b]) for b in self.members[number]]

    def affordable_workers(self, workers: int) -> int:
        """Return how many tiles may be in work at once; refuse if not even one."""
        # Values of the tiles in work are held twice, once by Zarr.
        limited = replace(self.run, result=workers * 2 * 8 * self.stored.side**2)
        return limited.affordable_workers(plan_gram(self.cut.blocks), self.cut.prepared)

    def compute(self, tiles: list[Tile], workers: int, progress: Progress | None) -> None:
        """Compute tiles on threads and store each as soon as it is there."""
        if not tiles:
            return
        workers = self.affordable_workers(workers)
        self.run.build(self.cut, workers)
        cancelled = np.zeros(1, dtype=np.uint8)

        def compute(tile: Tile) -> None:
            _log.debug("computing tile %d %d of %s", *tile, self.stored.path)
            rows, cols = map(self.side, tile)
            values = tile_values(self.run, rows, cols, tile[0] == tile[1], cancelled)
            if not cancelled[0]:  # values of no meaning otherwise
                self.stored.write(tile, values)

        def cancel() -> None:
            cancelled[0] = 1

        what = (self.run.engine.name, len(tiles), self.stored.path, workers)
        _log.info("engine %s: %d tiles of %s on %d threads", *what)
        with single_threaded_blas():
            run(compute, tiles, workers=workers, cost=self.cost, progress=progress, cancel=cancel)


def _side(plan: Plan) -> int:
    """Choose how many graphs a tile has on each side: what is lost by an interruption is small, and so are files."""
    graphs = sum(len(block.graphs) for block in plan.rows)
    pairs = float(plan.pairs().sum())
    affordable = graphs * np.sqrt(_PAIRS / (2 * pairs)) if pairs else graphs
    low, high = _SIDES
    # Sides of equal size: on disk the last tile takes as much as the others, however little is in it.
    count = -(-graphs // int(max(low, min(high, affordable))))
    return -(-graphs // max(count, 1)) or 1
