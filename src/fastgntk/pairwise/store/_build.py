"""Compute a matrix into a store, or use a stored one; finished tiles are kept, missing and damaged ones computed."""

import logging
import secrets
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import Progress, run_on_threads, single_threaded_blas
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import Kernel, Leaf, Normalized
from fastgntk.pairwise._combine import combine, mirror_upper_triangle
from fastgntk.pairwise._compute import Compute
from fastgntk.pairwise._group_pairs import compute_values
from fastgntk.pairwise._plan import largest_extent, plan_gram
from fastgntk.pairwise._prepared import PreparedGraphs, prepare_batch
from fastgntk.pairwise._prepared_leaf import BuiltGroup
from fastgntk.pairwise.store._manifest import Manifest
from fastgntk.pairwise.store._stored_gram import StoredGram, Tile, lock_store

__all__ = ["StoreBuilder", "Shard", "TileGraphs", "build_gram", "check_shard", "compute_tile_values", "use_stored"]

_log = logging.getLogger("fastgntk")

Shard = tuple[int, int]

_MAX_TILE_PAIRS = 1e8  # pairs of distinct nodes in a tile: an interruption loses at most a second of work
_TILE_SIZES = (32, 1024)  # graphs on a side of a tile: neither thousands of small files nor few large ones
_ADVICE = "give the graphs and the kernel from which it was computed, or leave it out"


def build_gram(
    batch: GraphBatch, kernel: Kernel, compute: Compute, path: Path, shard: Shard, client: Any = None
) -> StoredGram:
    """Compute the missing tiles of a shard, on threads or by a Dask client, and return the store."""
    from fastgntk.pairwise.store import _cluster  # imported here, because it imports this module

    if client is not None:
        _cluster.check_client(client)
    builder = StoreBuilder.start(batch, kernel, compute, path)
    with lock_store(path, shard):
        if shard == (1, 1):  # all other processes are locked out
            builder.stored.remove_partial_files()
        missing = builder.missing(shard)
        if client is None:
            builder.compute_tiles(missing, compute.threads, compute.progress)
        else:
            _cluster.compute_on_cluster(builder, missing, client, compute.progress)
    return builder.stored


def check_shard(shard: Any) -> Shard:
    """Return (k, K) with 1 ≤ k ≤ K; None means (1, 1), the whole matrix."""
    if shard is None:
        return 1, 1
    pair = tuple(shard) if isinstance(shard, tuple | list) else ()
    whole = len(pair) == 2 and all(isinstance(part, int) and not isinstance(part, bool) for part in pair)
    if not whole or not 1 <= pair[0] <= pair[1]:
        raise InputError(f"shard must be (k, K) with 1 ≤ k ≤ K, such as (2, 10), but is {shard!r}.")
    return pair[0], pair[1]


def use_stored(gram: Any, batch: GraphBatch, kernel: Kernel, compute: Compute) -> tuple[StoredGram, PreparedGraphs]:
    """Return a stored matrix, given as an object or a path, and its graphs, prepared as for computing it.

    It must be complete and belong to this kernel, or, if the kernel is normalised, to the kernel before normalisation.
    """
    if not isinstance(gram, StoredGram | str | Path):
        raise InputError(
            f"gram must be a matrix that fastgntk stored, or its path, but has type {type(gram).__name__}; store one "
            "with gram(..., store=path)."
        )
    # Reopened even if open: the folder may have been recreated, so the metadata in memory may be stale.
    stored = StoredGram(gram.path if isinstance(gram, StoredGram) else Path(gram))
    manifest = stored.manifest
    if manifest.graphs != len(batch):
        raise InputError(
            f"{stored.path} holds the matrix of {manifest.graphs} graphs, but there are {len(batch)} to learn from; "
            f"{_ADVICE}."
        )
    stored_kernel = _match_stored_kernel(manifest, kernel)
    prepared = prepare_batch(batch, stored_kernel, compute, engines=manifest.engines_for(stored_kernel, compute.engine))
    manifest.check(Manifest.from_prepared(prepared, manifest.tile_size, manifest.id), stored.path, _ADVICE)
    tiles, finished = len(stored.all_tiles()), len(stored.finished())
    if finished < tiles:
        raise InputError(
            f"{stored.path} has {finished} of its {tiles} tiles; finish it first by repeating the gram call "
            "(fastgntk gram --store) that started it."
        )
    if isinstance(kernel, Normalized) and not isinstance(stored_kernel, Normalized):
        kernel = stored_kernel.normalized()
        prepared = replace(prepared, kernel=kernel)
    return stored, prepared


def _match_stored_kernel(manifest: Manifest, kernel: Kernel) -> Kernel:
    """Return the kernel that the store should hold: ``kernel``, or its inner kernel if that is the stored one."""
    if isinstance(kernel, Normalized) and manifest.as_stored(kernel.kernel) == Kernel.from_dict(manifest.kernel):
        kernel = kernel.kernel
    return manifest.as_stored(kernel)


@dataclass(frozen=True, eq=False)
class TileGraphs:
    """The graphs of a row or column of tiles: their groups for each leaf, and diagonals if the kernel needs them."""

    groups: dict[Leaf, list[BuiltGroup]]
    diagonals: dict[Leaf, Array]


@dataclass(frozen=True, eq=False)
class StoreBuilder:
    """A stored matrix under construction."""

    prepared: PreparedGraphs
    """Graphs in groups that do not cross the borders of tiles."""
    stored: StoredGram

    @classmethod
    def start(cls, batch: GraphBatch, kernel: Kernel, compute: Compute, path: Path) -> Self:
        """Open or create the store; raise if it holds another matrix."""
        stored = StoredGram(path) if path.exists() else None
        engines = None
        if stored is not None:
            kernel = stored.manifest.as_stored(kernel)
            engines = stored.manifest.engines_for(kernel, compute.engine)
        prepared = prepare_batch(batch, kernel, compute, engines=engines, reused=False)
        tile_size = _choose_tile_size(prepared) if stored is None else stored.manifest.tile_size
        manifest = Manifest.from_prepared(prepared, tile_size, secrets.token_hex(8))
        prepared, order = _cut_into_tiles(prepared, tile_size)
        if stored is None:
            stored = StoredGram.create(path, manifest, order)
        stored.manifest.check(manifest, path, "give another path, or delete the store first")
        if not np.array_equal(stored.order, order):
            raise InputError(
                f"{path} was started by fastgntk {stored.manifest.version}, which groups graphs differently; continue "
                "with that version, or delete the store first."
            )
        return cls(prepared, stored)

    def missing(self, shard: Shard) -> list[Tile]:
        """Return the tiles of a shard that have to be computed, and log the numbers of finished and damaged ones."""
        k, count = shard
        # Dealt out in turn from the most expensive one on, so that all shards take about the same time.
        tiles = self.by_cost(self.stored.all_tiles())[k - 1 :: count]
        finished = self.stored.finished() & set(tiles)
        damaged = set(self.stored.damaged(finished))
        if damaged:
            _log.warning("%d tiles of %s are damaged and will be recomputed", len(damaged), self.stored.path)
        _log.info("%s: %d of %d tiles are finished", self.stored.path, len(finished) - len(damaged), len(tiles))
        return [tile for tile in tiles if tile not in finished or tile in damaged]

    def by_cost(self, tiles: list[Tile]) -> list[Tile]:
        """Return the tiles, most expensive first."""
        return sorted(tiles, key=lambda tile: (-self.cost(tile), tile))

    def cost(self, tile: Tile) -> int:
        """Estimate the work of a tile as :meth:`Plan.cost` does, summed over leaves; symmetric tiles count half."""
        pairs = sum(int(np.dot(n_distinct[tile[0]], n_distinct[tile[1]])) for n_distinct in self._n_distinct)
        return pairs // (2 if tile[0] == tile[1] else 1) + 1

    @cached_property
    def _members(self) -> dict[Leaf, list[range]]:
        """For each leaf, the groups of each row of tiles."""
        out = {}
        bounds = np.arange(0, len(self.stored) + self.stored.tile_size, self.stored.tile_size)
        for leaf, graphs in self.prepared.graphs_by_leaf.items():
            starts = np.cumsum([0, *(len(group.indices) for group in graphs.groups)])
            ends = np.minimum(np.searchsorted(starts, bounds), len(graphs.groups)).tolist()
            out[leaf] = [range(start, stop) for start, stop in pairwise(ends)]
        return out

    @cached_property
    def _n_distinct(self) -> list[list[Ints]]:
        """For each leaf and row of tiles, the number of distinct nodes at each level, summed over groups."""
        return [
            [np.sum([graphs.groups[i].n_distinct for i in groups], axis=0) for groups in self._members[leaf]]
            for leaf, graphs in self.prepared.graphs_by_leaf.items()
        ]

    def tile_graphs(self, row: int) -> TileGraphs:
        """Return the graphs of a row of tiles; builds all groups if needed."""
        groups = {}
        for leaf, graphs in self.prepared.graphs_by_leaf.items():
            built = graphs.build(self.prepared.compute.threads)
            groups[leaf] = [built[i] for i in self._members[leaf][row]]
        indices, diagonals = self.stored.row_indices(row), self.prepared.needed_diagonals(self.prepared.compute)
        return TileGraphs(groups, {leaf: values[indices] for leaf, values in diagonals.items()})

    def affordable_threads(self, n_threads: int | None = None) -> int:
        """Return how many tiles fit in memory at once; raise if not even one fits."""
        compute, by_leaf = self.prepared.compute, self.prepared.graphs_by_leaf.values()
        kept_bytes = [graphs.engine.kept_bytes(graphs.state) for graphs in by_leaf]
        # The values of tiles in progress are held twice, once by Zarr.
        value_bytes = (compute.threads if n_threads is None else n_threads) * 2 * 8 * self.stored.tile_size**2
        return min(
            graphs.affordable_threads(plan_gram(graphs.groups), compute, value_bytes + sum(kept_bytes) - leaf_bytes)
            for graphs, leaf_bytes in zip(by_leaf, kept_bytes, strict=True)
        )

    def worker_bytes(self) -> int:
        """Return the maximum memory of a worker: all groups, working memory of a tile, and its values twice."""
        total = 0
        for graphs in self.prepared.graphs_by_leaf.values():
            if graphs.groups:
                engine, largest = graphs.engine, largest_extent(graphs.groups)
                total += engine.kept_bytes(graphs.state) + engine.tile_bytes(largest, largest)
        return total + 2 * 8 * self.stored.tile_size**2 if total else 0

    def build_groups(self, n_threads: int) -> None:
        """Build the groups of all leaves, and compute the diagonals if the kernel needs them."""
        for graphs in self.prepared.graphs_by_leaf.values():
            graphs.build(n_threads)
        self.prepared.needed_diagonals(self.prepared.compute)

    def compute_tiles(self, tiles: list[Tile], n_threads: int, progress: Progress | None) -> None:
        """Compute tiles on threads and store each as soon as it is computed."""
        if not tiles:
            return
        n_threads = self.affordable_threads(n_threads)
        self.build_groups(n_threads)
        cancelled = np.zeros(1, dtype=np.uint8)

        def compute_and_store(tile: Tile) -> None:
            _log.debug("computing tile %d %d of %s", *tile, self.stored.path)
            rows = self.tile_graphs(tile[0])
            cols = rows if tile[0] == tile[1] else self.tile_graphs(tile[1])
            values = compute_tile_values(self.prepared.kernel, rows, cols, cancelled)
            if not cancelled[0]:  # otherwise the values are meaningless
                self.stored.write(tile, values)

        shown = (" and ".join(self.prepared.engines), len(tiles), self.stored.path, n_threads)
        _log.info("engine %s: %d tiles of %s on %d threads", *shown)
        with single_threaded_blas():
            run_on_threads(compute_and_store, tiles, n_threads, self.cost, progress, cancelled)


def compute_tile_values(kernel: Kernel, rows: TileGraphs, cols: TileGraphs, cancelled: NDArray[np.uint8]) -> Array:
    """Compute a tile (rows, cols), which is symmetric if both are the same object.

    Once ``cancelled[0]`` is not 0 it returns meaningless values as soon as it can.
    """
    symmetric = rows is cols
    leaf_values = {
        leaf: _leaf_values(rows.groups[leaf], cols.groups[leaf], cancelled, symmetric) for leaf in rows.groups
    }
    if cancelled[0]:
        return next(iter(leaf_values.values()))
    return combine(kernel, leaf_values) if symmetric else combine(kernel, leaf_values, rows.diagonals, cols.diagonals)


def _leaf_values(
    rows: list[BuiltGroup], cols: list[BuiltGroup], cancelled: NDArray[np.uint8], symmetric: bool
) -> Array:
    row_starts, col_starts = (
        np.cumsum([0, *(len(built.group.indices) for built in groups)]) for groups in (rows, cols)
    )
    out = np.zeros((row_starts[-1], col_starts[-1]))
    for i, row in enumerate(rows):
        for j, col in enumerate(cols):
            if cancelled[0]:
                return out
            if symmetric and j < i:
                continue
            values = compute_values(row, col, cancelled)
            if symmetric and i == j:  # rounding differs between the two triangles; keep one
                values = mirror_upper_triangle(values)
            row_slice, col_slice = slice(*row_starts[i : i + 2]), slice(*col_starts[j : j + 2])
            out[row_slice, col_slice] = values
            if symmetric:
                out[col_slice, row_slice] = values.T
    return out


def _cut_into_tiles(prepared: PreparedGraphs, tile_size: int) -> tuple[PreparedGraphs, Ints]:
    """Return the graphs in groups that make up tiles of this size, and their order, common to all leaves."""
    first, *further = prepared.graphs_by_leaf
    by_leaf = {first: prepared.graphs_by_leaf[first].cut(tile_size)}
    order = np.concatenate([np.zeros(0, dtype=np.int64), *(group.indices for group in by_leaf[first].groups)])
    by_leaf |= {leaf: prepared.graphs_by_leaf[leaf].cut(tile_size, order) for leaf in further}
    return replace(prepared, graphs_by_leaf=by_leaf), order


def _choose_tile_size(prepared: PreparedGraphs) -> int:
    """Choose the number of graphs on each side of a tile, so that an interruption loses little and files stay small."""
    plans = [plan_gram(graphs.groups) for graphs in prepared.graphs_by_leaf.values()]
    n_graphs = sum(len(group.indices) for group in plans[0].rows)
    pairs = float(sum(plan.node_pairs().sum() for plan in plans))
    affordable = n_graphs * np.sqrt(_MAX_TILE_PAIRS / (2 * pairs)) if pairs else n_graphs
    low, high = _TILE_SIZES
    # Tiles of equal size: on disk a partial last tile takes as much as a full one.
    count = -(-n_graphs // int(max(low, min(high, affordable))))
    return -(-n_graphs // max(count, 1)) or 1
