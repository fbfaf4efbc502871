"""Kernel matrices: check, prepare, compute the leaves of the kernel, combine."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import Kernel, Leaf
from fastgntk.pairwise._arguments import resolve_arguments, resolve_compute
from fastgntk.pairwise._combine import combine, combine_levels
from fastgntk.pairwise._compute import Compute, check_fits_memory
from fastgntk.pairwise._group_pairs import leaf_cross, leaf_gram, leaf_readouts
from fastgntk.pairwise._prepared import PreparedGraphs, prepare_batch, prepare_pair
from fastgntk.pairwise._prepared_leaf import PreparedLeaf
from fastgntk.pairwise.store import StoredGram, as_path, build_gram, check_shard

__all__ = ["GramPath", "cross_gram", "diagonal", "gram", "gram_columns", "gram_path"]


@overload
def gram(graphs: Any, kernel: Kernel | None = None, *, compute: Compute | None = None, store: None = None) -> Array: ...


@overload
def gram(
    graphs: Any,
    kernel: Kernel | None = None,
    *,
    compute: Compute | None = None,
    store: str | Path,
    shard: tuple[int, int] | None = None,
    client: Any = None,
) -> StoredGram: ...


def gram(
    graphs: Any,
    kernel: Kernel | None = None,
    *,
    compute: Compute | None = None,
    store: str | Path | None = None,
    shard: tuple[int, int] | None = None,
    client: Any = None,
) -> Array | StoredGram:
    """Compute the kernel between all pairs of graphs.

    Parameters
    ----------
    graphs : anything that :func:`fastgntk.as_graphs` accepts, n graphs
        Or graphs from :func:`fastgntk.prepare`; then leave out the kernel.
    kernel : Kernel, optional
        ``GNTK()`` if left out.
    compute : Compute, optional
        Engine, threads, memory and progress; nothing in it changes values beyond rounding.
    store : str or Path, optional
        A folder for the matrix, such as ``"gram.zarr"``. It is written tile by tile and never held in memory; after an
        interruption the same call computes the missing tiles. Needs the extra ``store``.
    shard : (k, K), optional
        Compute only the k-th of K shards into the store, k = 1..K; several processes, on one machine or on many that
        see the same folder, can compute one each.
    client : dask.distributed.Client, optional
        Compute the tiles on the workers of a Dask cluster, into a store in a folder that all of them see; graphs are
        prepared on threads here. Needs the extra ``cluster``.

    Returns
    -------
    array of shape (n, n), float64: symmetric, exactly unless part of the kernel is normalised; positive semi-definite
    up to rounding. With ``store`` a :class:`fastgntk.pairwise.store.StoredGram`, which is read like an array

    Examples
    --------
    >>> import numpy as np, fastgntk as fg
    >>> edge, path = fg.Graph(np.eye(2)[::-1]), fg.Graph(np.eye(3, k=1))
    >>> K = fg.gram([edge, path], fg.GNTK(blocks=1, layers=1, jump=False))
    >>> K.shape, bool(K[0, 1] == K[1, 0])
    ((2, 2), True)
    """
    if shard is not None and client is not None:
        raise InputError("shard and client are mutually exclusive.")
    if store is not None:
        path, store_shard = as_path(store, "store"), check_shard(shard)
        if isinstance(graphs, PreparedGraphs):
            raise InputError("a store prepares its graphs itself; give the graphs, not prepared ones.")
        batch, kernel, compute = resolve_arguments(graphs, kernel, compute)
        assert isinstance(batch, GraphBatch)
        return build_gram(batch, kernel, compute, path, store_shard, client)
    if shard is not None or client is not None:
        raise InputError(f"{'client' if shard is None else 'shard'} requires store=path.")
    graphs, kernel, compute = resolve_arguments(graphs, kernel, compute)
    result_bytes = _check_result_fits(kernel, len(graphs), len(graphs), compute)
    prepared = graphs if isinstance(graphs, PreparedGraphs) else prepare_batch(graphs, kernel, compute, reused=False)

    leaf_values = {}
    for leaf, prepared_leaf, part in _leaves(prepared, compute):
        leaf_values[leaf] = leaf_gram(prepared_leaf, part, result_bytes)
        prepared.set_leaf_diagonal(leaf, np.diagonal(leaf_values[leaf]).copy())
    return combine(kernel, leaf_values)


def cross_gram(rows: Any, cols: Any, kernel: Kernel | None = None, *, compute: Compute | None = None) -> Array:
    """Compute the kernel between n graphs (rows, such as test graphs) and m graphs (cols, such as training graphs).

    Features are fitted on ``cols``; a node label that occurs only in ``rows`` is a label like any other, different from
    all labels of ``cols``. So the result is a block of ``gram`` over all graphs, except for kernels on descriptors,
    whose scales are fitted on ``cols`` alone. ``cols`` may be prepared graphs; then leave out the kernel. ``rows`` may
    then be ``cols.prepare_rows(graphs)``.

    Returns
    -------
    array of shape (n, m), float64
    """
    col_graphs, kernel, compute = resolve_arguments(cols, kernel, compute)
    if not (isinstance(col_graphs, PreparedGraphs) and isinstance(rows, PreparedGraphs)):
        rows = as_graphs(rows)
    result_bytes = _check_result_fits(kernel, len(rows), len(col_graphs), compute)
    if isinstance(col_graphs, PreparedGraphs):
        row_graphs = rows if isinstance(rows, PreparedGraphs) else col_graphs.prepare_rows(rows)
        if not row_graphs.agrees_with(col_graphs):
            raise InputError("the row graphs were not prepared with the column graphs; use cols.prepare_rows(graphs).")
    else:
        row_graphs, col_graphs = prepare_pair(rows, col_graphs, kernel, compute)
    row_diagonals, col_diagonals = row_graphs.needed_diagonals(compute), col_graphs.needed_diagonals(compute)

    leaf_values = {
        leaf: leaf_cross(row_graphs.graphs_by_leaf[leaf], prepared_leaf, part, result_bytes)
        for leaf, prepared_leaf, part in _leaves(col_graphs, compute)
    }
    return combine(kernel, leaf_values, row_diagonals, col_diagonals)


def gram_columns(
    prepared: PreparedGraphs, indices: Ints, cols: PreparedGraphs | None = None, *, compute: Compute | None = None
) -> Array:
    """Compute some columns of the Gram matrix of prepared graphs, shape (n, m).

    ``cols`` may be ``prepared.subset(indices)``, if that is needed for other computations too.
    """
    compute = resolve_compute(prepared, None, compute)
    result_bytes = _check_result_fits(prepared.kernel, len(prepared), len(indices), compute)
    if cols is None or cols is prepared:  # rounding differs between a cross matrix and a symmetric one
        cols = prepared.prepare_rows(prepared.batch[indices])
    diagonals = prepared.needed_diagonals(compute)
    col_diagonals = {leaf: values[indices] for leaf, values in diagonals.items()}

    leaf_values = {
        leaf: np.ascontiguousarray(leaf_cross(cols.graphs_by_leaf[leaf], prepared_leaf, part, result_bytes).T)
        for leaf, prepared_leaf, part in _leaves(prepared, compute)
    }
    return combine(prepared.kernel, leaf_values, diagonals, col_diagonals)


def diagonal(graphs: Any, kernel: Kernel | None = None, *, compute: Compute | None = None) -> Array:
    """Compute the kernel of each graph with itself, the diagonal of :func:`gram`, without its other entries.

    ``graphs`` may be prepared graphs; then leave out the kernel.

    Returns
    -------
    array of shape (n,), float64
    """
    graphs, kernel, compute = resolve_arguments(graphs, kernel, compute)
    if isinstance(graphs, PreparedGraphs):
        return np.array(graphs.diagonal(compute))
    check_fits_memory(8 * len(graphs), compute.memory_budget)
    pairs = float(np.sum(graphs.sizes.astype(np.float64) ** 2))
    return prepare_batch(graphs, kernel, compute, reused=False, pairs=pairs).diagonal(compute)


@dataclass(frozen=True, eq=False)
class GramPath:
    """Hold the readout of every level, from which the kernel of every depth is a sum.

    Attributes
    ----------
    kernel : Leaf
        The deepest kernel, such as a GNTK.
    levels : array of shape (depth + 1, n, n)
        ``levels[l]`` is the readout of level l of every pair; level 0 is the features alone.
    engine : str
        The engine that computed the levels.
    """

    kernel: Leaf
    levels: Array
    engine: str

    def at(self, **options: Any) -> Array:
        """Return the Gram matrix of another depth or other weights of levels, such as ``at(blocks=2, jump=False)``.

        Options that are left out are those of ``kernel``.
        """
        return self.at_kernel(self.kernel.set_params(**options))

    def at_kernel(self, kernel: Leaf) -> Array:
        """Return the Gram matrix of a kernel that differs from ``self.kernel`` in depth and weights of levels only."""
        if kernel.with_all_levels(self.kernel.depth) != self.kernel.with_all_levels(self.kernel.depth):
            raise InputError(f"the path is that of {self.kernel}, which has other options than {kernel}.")
        if kernel.depth > self.kernel.depth:
            raise InputError(
                f"the path ends at depth {self.kernel.depth}, but {kernel} has depth {kernel.depth}; compute a "
                "deeper path."
            )
        return combine_levels(self.levels[: kernel.depth + 1], kernel)


def gram_path(graphs: Any, kernel: Leaf | None = None, *, compute: Compute | None = None) -> GramPath:
    """Compute the kernels of all depths of a kernel, and for networks with and without jump, in one pass.

    The arguments are those of :func:`gram`; the kernel has the largest depth. Combinations of kernels have no depth.

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs[:5]
    >>> path = fg.gram_path(graphs, fg.GNTK(blocks=3))
    >>> path.at(blocks=2, jump=False).shape
    (5, 5)
    """
    graphs, leaf, compute = resolve_arguments(graphs, kernel, compute)
    if not isinstance(leaf, Leaf):
        raise InputError(
            f"gram_path needs a single kernel such as GNTK(3), but the kernel is {leaf}; compute its parts one by "
            "one and combine them."
        )
    check_fits_memory(8 * (leaf.depth + 1) * len(graphs) ** 2, compute.memory_budget)
    prepared = graphs if isinstance(graphs, PreparedGraphs) else prepare_batch(graphs, leaf, compute, reused=False)
    prepared_leaf = prepared.graphs_by_leaf[leaf]
    return GramPath(leaf, leaf_readouts(prepared_leaf, compute), prepared_leaf.engine.name)


def _check_result_fits(kernel: Kernel, n: int, m: int, compute: Compute) -> int:
    """Return the size of the result and of the matrices of leaves alongside it; raise if it does not fit."""
    n_leaves = len(kernel.leaves())
    result_bytes = 8 * n * m * (1 if n_leaves == 1 else n_leaves + 1)
    check_fits_memory(result_bytes, compute.memory_budget)
    return result_bytes


def _leaves(prepared: PreparedGraphs, compute: Compute) -> Iterator[tuple[Leaf, PreparedLeaf, Compute]]:
    """Yield each leaf with its graphs, and ``compute`` with an equal part of the progress."""
    for i, (leaf, prepared_leaf) in enumerate(prepared.graphs_by_leaf.items()):
        yield leaf, prepared_leaf, compute.for_part(i, len(prepared.graphs_by_leaf))
