"""Compute a matrix into a store, or use a stored one: finished tiles are kept, missing and damaged ones computed."""

import logging
import secrets
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import Progress, run, single_threaded_blas
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Kernel, Normalized
from fastgntk.pairwise._combine import combine, combine_levels
from fastgntk.pairwise._compute import Compute
from fastgntk.pairwise._leaf import BuiltBlock, compute_levels
from fastgntk.pairwise._plan import Plan, largest_extent, plan_gram
from fastgntk.pairwise._prepared import PreparedGraphs, prepare_batch
from fastgntk.pairwise.store._manifest import Manifest
from fastgntk.pairwise.store._stored_gram import StoredGram, Tile, writing

__all__ = ["Build", "Shard", "Side", "build_gram", "check_shard", "compute_tile_values", "use_stored"]

_log = logging.getLogger("fastgntk")

Shard = tuple[int, int]

_MAX_TILE_PAIRS = 1e8  # pairs of distinct nodes in a tile: at most a second of work is lost by an interruption
_TILE_SIZES = (32, 1024)  # graphs on a side of a tile: neither thousands of small files nor few large ones
_ADVICE = "give the graphs and the kernel that it was built with, or leave it out"


def build_gram(
    batch: GraphBatch, kernel: Kernel, compute: Compute, path: Path, shard: Shard, client: Any = None
) -> StoredGram:
    """Compute the missing tiles of a shard, on threads or by a Dask client, and return the store."""
    from fastgntk.pairwise.store import _cluster  # which imports this module

    if client is not None:
        _cluster.check_client(client)
    build = Build.start(batch, kernel, compute, path)
    with writing(path, shard):
        if shard == (1, 1):  # others are locked out
            build.stored.sweep()
        missing = build.missing(shard)
        if client is None:
            build.compute(missing, compute.threads, compute.progress)
        else:
            _cluster.compute_on_cluster(build, missing, client, compute.progress)
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


def use_stored(gram: Any, batch: GraphBatch, kernel: Kernel, compute: Compute) -> tuple[StoredGram, PreparedGraphs]:
    """Return a stored matrix, passed itself or by its path, and its graphs prepared as it was computed.

    It must be complete, and that of the kernel, or for a normalised kernel of what is normalised; any other is refused.
    """
    if not isinstance(gram, StoredGram | str | Path):
        raise InputError(
            f"gram must be a matrix that fastgntk stored, or its path, but is a {type(gram).__name__}; store one with "
            "gram(..., store=path)."
        )
    # Opened again even if it is open: the folder may have been made anew, and what is in memory is of the old one.
    stored = StoredGram(gram.path if isinstance(gram, StoredGram) else Path(gram))
    manifest = stored.manifest
    if manifest.graphs != len(batch):
        raise InputError(
            f"{stored.path} holds the matrix of {manifest.graphs} graphs, but there are {len(batch)} to learn from; "
            f"{_ADVICE}."
        )
    raw = isinstance(kernel, Normalized) and manifest.same_kernel(kernel.kernel) == Kernel.from_dict(manifest.kernel)
    stored_kernel = manifest.same_kernel(kernel.kernel if raw and isinstance(kernel, Normalized) else kernel)
    prepared = prepare_batch(batch, stored_kernel, compute, engines=manifest.engines_for(stored_kernel, compute.engine))
    manifest.check(Manifest.of(prepared, manifest.side, manifest.id), stored.path, _ADVICE)
    tiles, finished = len(stored.all_tiles()), len(stored.finished())
    if finished < tiles:
        raise InputError(
            f"{stored.path} has {finished} of its {tiles} tiles; compute the others first, by the same call of gram "
            "(fastgntk gram --store) that began it."
        )
    if raw:
        prepared = PreparedGraphs(kernel, compute, batch, prepared.features, prepared.leaves)
    return stored, prepared


@dataclass(frozen=True, eq=False)
class Side:
    """The graphs on one side of tiles: for each leaf their blocks, and their diagonals where the kernel needs them."""

    blocks: dict[Kernel, list[BuiltBlock]]
    diagonals: dict[Kernel, Array]


@dataclass(frozen=True, eq=False)
class Build:
    """A stored matrix under construction."""

    prepared: PreparedGraphs
    """Graphs in blocks that fit into the sides of tiles."""
    stored: StoredGram

    @classmethod
    def start(cls, batch: GraphBatch, kernel: Kernel, compute: Compute, path: Path) -> Self:
        """Open the store, or make it; refuse one of another matrix."""
        stored = StoredGram(path) if path.exists() else None
        engines = None
        if stored is not None:
            kernel = stored.manifest.same_kernel(kernel)
            engines = stored.manifest.engines_for(kernel, compute.engine)
        prepared = prepare_batch(batch, kernel, compute, engines=engines, once=True)
        leaves = prepared.leaves
        plans = [plan_gram(leaf.blocks) for leaf in leaves.values()]
        side = _choose_side(plans) if stored is None else stored.manifest.side
        manifest = Manifest.of(prepared, side, secrets.token_hex(8))
        first, *rest = leaves
        leaves[first] = leaves[first].cut(side)
        order = np.concatenate([np.zeros(0, dtype=np.int64), *(block.graphs for block in leaves[first].blocks)])
        for leaf in rest:
            leaves[leaf] = leaves[leaf].cut(side, order)
        if stored is None:
            stored = StoredGram.create(path, manifest, order)
        stored.manifest.check(manifest, path, "give another path, or delete the store first")
        if not np.array_equal(stored.order, order):
            raise InputError(
                f"{path} was begun by fastgntk {stored.manifest.version}, which cuts graphs differently; go on with "
                "that version, or delete the store first."
            )
        return cls(prepared, stored)

    def missing(self, shard: Shard) -> list[Tile]:
        """Return the tiles of a shard that have to be computed, and log what was found."""
        k, count = shard
        # Dealt out like cards from the most expensive on, so that shards take about as long.
        tiles = self.by_cost(self.stored.all_tiles())[k - 1 :: count]
        finished = self.stored.finished() & set(tiles)
        damaged = set(self.stored.damaged(finished))
        if damaged:
            _log.warning("%d tiles of %s are damaged and computed again", len(damaged), self.stored.path)
        _log.info("%s: %d of %d tiles are there", self.stored.path, len(finished) - len(damaged), len(tiles))
        return [tile for tile in tiles if tile not in finished or tile in damaged]

    def by_cost(self, tiles: list[Tile]) -> list[Tile]:
        """Return tiles with the most expensive first."""
        return sorted(tiles, key=lambda tile: (-self.cost(tile), tile))

    def cost(self, tile: Tile) -> int:
        """Estimate the work of a tile: its pairs of distinct nodes, plus one so that nothing is free."""
        pairs = sum(int(np.dot(counts[tile[0]], counts[tile[1]])) for counts in self._counts)
        return pairs // (2 if tile[0] == tile[1] else 1) + 1

    @cached_property
    def _members(self) -> dict[Kernel, list[range]]:
        """For each leaf the blocks that make up each side of tiles."""
        out = {}
        sides = np.arange(0, len(self.stored) + self.stored.side, self.stored.side)
        for kernel, leaf in self.prepared.leaves.items():
            starts = np.cumsum([0, *(len(block.graphs) for block in leaf.blocks)])
            ends = np.minimum(np.searchsorted(starts, sides), len(leaf.blocks)).tolist()
            out[kernel] = [range(first, last) for first, last in pairwise(ends)]
        return out

    @cached_property
    def _counts(self) -> list[list[Ints]]:
        """For each leaf, how many distinct nodes each side of tiles has at each level, block by block."""
        return [
            [np.sum([leaf.blocks[b].counts for b in blocks], axis=0) for blocks in self._members[kernel]]
            for kernel, leaf in self.prepared.leaves.items()
        ]

    def side(self, number: int) -> Side:
        """Return the blocks of a side of tiles, built."""
        blocks = {}
        for kernel, leaf in self.prepared.leaves.items():
            built = leaf.build(self.prepared.compute.threads)
            blocks[kernel] = [built[b] for b in self._members[kernel][number]]
        graphs, diagonals = self.stored.graphs(number), self.prepared.needed_diagonals(self.prepared.compute)
        return Side(blocks, {leaf: values[graphs] for leaf, values in diagonals.items()})

    def affordable_workers(self, workers: int | None = None) -> int:
        """Return how many tiles may be in work at once; refuse if not even one."""
        compute, leaves = self.prepared.compute, self.prepared.leaves.values()
        kept = [leaf.choice.engine.kept_bytes(leaf.prepared) for leaf in leaves]
        # Values of the tiles in work are held twice, once by Zarr.
        tiles = (compute.threads if workers is None else workers) * 2 * 8 * self.stored.side**2
        return min(
            leaf.affordable_workers(plan_gram(leaf.blocks), compute, tiles + sum(kept) - kept_by_leaf)
            for leaf, kept_by_leaf in zip(leaves, kept, strict=True)
        )

    def worker_bytes(self) -> int:
        """Count what a worker holds: all blocks in the end, the values of a tile twice, and what computing it takes."""
        total = 0
        for leaf in self.prepared.leaves.values():
            if leaf.blocks:
                largest = largest_extent(leaf.blocks)
                total += leaf.choice.engine.kept_bytes(leaf.prepared) + leaf.choice.engine.tile_bytes(largest, largest)
        return total + 2 * 8 * self.stored.side**2 if total else 0

    def prepare_blocks(self, workers: int) -> None:
        """Build the blocks of all leaves, and compute the diagonals if the kernel needs them."""
        for leaf in self.prepared.leaves.values():
            leaf.build(workers)
        self.prepared.needed_diagonals(self.prepared.compute)

    def compute(self, tiles: list[Tile], workers: int, progress: Progress | None) -> None:
        """Compute tiles on threads and store each when it is computed."""
        if not tiles:
            return
        workers = self.affordable_workers(workers)
        self.prepare_blocks(workers)
        cancelled = np.zeros(1, dtype=np.uint8)

        def compute_tile(tile: Tile) -> None:
            _log.debug("computing tile %d %d of %s", *tile, self.stored.path)
            rows = self.side(tile[0])
            cols = rows if tile[0] == tile[1] else self.side(tile[1])
            values = compute_tile_values(self.prepared.kernel, rows, cols, cancelled)
            if not cancelled[0]:  # values of no meaning otherwise
                self.stored.write(tile, values)

        shown = (" and ".join(self.prepared.engines), len(tiles), self.stored.path, workers)
        _log.info("engine %s: %d tiles of %s on %d threads", *shown)
        with single_threaded_blas():
            run(compute_tile, tiles, workers, self.cost, progress, cancelled)


def compute_tile_values(kernel: Kernel, rows: Side, cols: Side, cancelled: NDArray[np.uint8]) -> Array:
    """Compute a tile (rows, cols), which is symmetric if both are the same object.

    Once ``cancelled[0]`` is not 0 it returns as soon as it can, with values of no meaning.
    """

    def compute_leaf(leaf: Kernel) -> Array:
        return _leaf_values(rows.blocks[leaf], cols.blocks[leaf], cancelled, symmetric=rows is cols)

    if rows is cols:
        return combine(kernel, compute_leaf)
    return combine(kernel, compute_leaf, rows.diagonals, cols.diagonals)


def _leaf_values(
    rows: list[BuiltBlock], cols: list[BuiltBlock], cancelled: NDArray[np.uint8], *, symmetric: bool
) -> Array:
    row_starts, col_starts = (np.cumsum([0, *(len(built.block.graphs) for built in side)]) for side in (rows, cols))
    out = np.zeros((row_starts[-1], col_starts[-1]))
    for i, row in enumerate(rows):
        for j, col in enumerate(cols):
            if cancelled[0]:
                return out
            if symmetric and j < i:
                continue
            values = combine_levels(compute_levels(row, col, cancelled), row.kernel)
            if symmetric and i == j:  # both triangles were computed; keep one
                values = np.triu(values) + np.triu(values, 1).T
            row_slice, col_slice = slice(*row_starts[i : i + 2]), slice(*col_starts[j : j + 2])
            out[row_slice, col_slice] = values
            if symmetric:
                out[col_slice, row_slice] = values.T
    return out


def _choose_side(plans: list[Plan]) -> int:
    """Choose how many graphs a tile has on each side: what is lost by an interruption is small, and so are files."""
    graphs = sum(len(block.graphs) for block in plans[0].rows)
    pairs = float(sum(plan.pairs().sum() for plan in plans))
    affordable = graphs * np.sqrt(_MAX_TILE_PAIRS / (2 * pairs)) if pairs else graphs
    low, high = _TILE_SIZES
    # Sides of equal size: on disk the last tile takes as much as the others, however little is in it.
    count = -(-graphs // int(max(low, min(high, affordable))))
    return -(-graphs // max(count, 1)) or 1
