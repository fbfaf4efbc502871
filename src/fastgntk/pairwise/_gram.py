"""Kernel matrices: check, prepare, compute the leaves of the kernel, combine."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError
from fastgntk.graphs import as_graphs
from fastgntk.kernels import GNTK, Kernel
from fastgntk.pairwise._combine import combine, combine_levels
from fastgntk.pairwise._compute import Compute, check_compute, check_fits_memory, check_kernel
from fastgntk.pairwise._leaf_graphs import LeafGraphs
from fastgntk.pairwise._prepared import PreparedGraphs, prepare_batch, prepare_pair
from fastgntk.pairwise.store import StoredGram, as_path, build_gram, check_shard

__all__ = ["GramPath", "check_options", "cross_gram", "diagonal", "gram", "gram_columns", "gram_path"]


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
        interruption the same call computes what is missing. Needs the extra ``store``.
    shard : (k, K), optional
        Compute only the k-th of K shards into the store, k = 1..K; several processes, on one machine or on many that
        see the same folder, can each have one.
    client : dask.distributed.Client, optional
        Compute the tiles on the workers of a Dask cluster, into a store in a folder that all of them see; graphs are
        prepared on threads here. Needs the extra ``cluster``.

    Returns
    -------
    array of shape (n, n), float64, exactly symmetric (up to rounding where the kernel is normalised), positive
    semi-definite up to rounding; with ``store`` a
    :class:`fastgntk.pairwise.store.StoredGram`, which is read like one

    Examples
    --------
    >>> import numpy as np, fastgntk as fg
    >>> edge, path = fg.Graph(np.eye(2)[::-1]), fg.Graph(np.eye(3, k=1))
    >>> K = fg.gram([edge, path], fg.GNTK(blocks=1, layers=1, jump=False))
    >>> K.shape, bool(K[0, 1] == K[1, 0])
    ((2, 2), True)
    """
    if shard is not None and client is not None:
        raise InputError("shard is for processes without a scheduler, client for one; give one of them.")
    if store is not None:
        path, checked = as_path(store, "store"), check_shard(shard)
        if isinstance(graphs, PreparedGraphs):
            raise InputError("a store prepares its graphs itself; give the graphs, not prepared ones.")
        return build_gram(as_graphs(graphs), _check_kernel(kernel), check_compute(compute), path, checked, client)
    if shard is not None or client is not None:
        raise InputError(f"{'client' if shard is None else 'shard'} is for a store; give store=path too.")
    if isinstance(graphs, PreparedGraphs):
        prepared, options = graphs, check_options(graphs, kernel, compute)
        result_bytes = _count_result(len(prepared.graphs_by_leaf), len(prepared), len(prepared), options)
    else:
        kernel, options, batch = _check_kernel(kernel), check_compute(compute), as_graphs(graphs)
        result_bytes = _count_result(len(kernel.leaves()), len(batch), len(batch), options)
        prepared = prepare_batch(batch, kernel, options, once=True)

    def compute_leaf(graphs: LeafGraphs, compute: Compute) -> Array:
        values = graphs.gram(compute, result_bytes)
        prepared.set_leaf_diagonal(graphs.kernel, np.diagonal(values).copy())
        return values

    return combine(prepared.kernel, _by_leaf(prepared, options, compute_leaf))


def cross_gram(rows: Any, cols: Any, kernel: Kernel | None = None, *, compute: Compute | None = None) -> Array:
    """Compute the kernel between n graphs (rows, such as test graphs) and m graphs (cols, such as training graphs).

    Features are fitted on ``cols``; a node label in ``rows`` that ``cols`` does not have is a label like any other, and
    equal to none of ``cols``. So this is a part of ``gram`` over all graphs. ``cols`` may be prepared graphs; then
    leave out the kernel. ``rows`` may be ``cols.prepare_rows(graphs)``.

    Returns
    -------
    array of shape (n, m), float64
    """
    if isinstance(cols, PreparedGraphs):
        col_graphs, options = cols, check_options(cols, kernel, compute)
        row_graphs = rows if isinstance(rows, PreparedGraphs) else cols.prepare_rows(rows)
        result_bytes = _count_result(len(cols.graphs_by_leaf), len(row_graphs), len(cols), options)
    else:
        kernel, options, rows, cols = _check_kernel(kernel), check_compute(compute), as_graphs(rows), as_graphs(cols)
        result_bytes = _count_result(len(kernel.leaves()), len(rows), len(cols), options)
        row_graphs, col_graphs = prepare_pair(rows, cols, kernel, options)
    row_diagonals, col_diagonals = row_graphs.needed_diagonals(options), col_graphs.needed_diagonals(options)

    def compute_leaf(graphs: LeafGraphs, compute: Compute) -> Array:
        return row_graphs.graphs_by_leaf[graphs.kernel].cross(graphs, compute, result_bytes)

    return combine(col_graphs.kernel, _by_leaf(col_graphs, options, compute_leaf), row_diagonals, col_diagonals)


def gram_columns(prepared: PreparedGraphs, indices: Ints, compute: Compute | None = None) -> Array:
    """Compute some columns of the Gram matrix of prepared graphs, shape (n, m)."""
    options = check_options(prepared, None, compute)
    result_bytes = _count_result(len(prepared.graphs_by_leaf), len(prepared), len(indices), options)
    cols = prepared.prepare_rows(prepared.batch[indices])
    diagonals = prepared.needed_diagonals(options)
    col_diagonals = {leaf: values[indices] for leaf, values in diagonals.items()}

    def compute_leaf(graphs: LeafGraphs, compute: Compute) -> Array:
        return np.ascontiguousarray(cols.graphs_by_leaf[graphs.kernel].cross(graphs, compute, result_bytes).T)

    return combine(prepared.kernel, _by_leaf(prepared, options, compute_leaf), diagonals, col_diagonals)


def diagonal(graphs: Any, kernel: Kernel | None = None, *, compute: Compute | None = None) -> Array:
    """Compute the kernel of each graph with itself, the diagonal of :func:`gram`, without the rest of it.

    ``graphs`` may be prepared graphs; then leave out the kernel.

    Returns
    -------
    array of shape (n,), float64
    """
    if isinstance(graphs, PreparedGraphs):
        return graphs.diagonal(check_options(graphs, kernel, compute)).copy()
    kernel, options, batch = _check_kernel(kernel), check_compute(compute), as_graphs(graphs)
    check_fits_memory(8 * len(batch), options.budget)
    pairs = float(np.sum(batch.sizes.astype(np.float64) ** 2))
    return prepare_batch(batch, kernel, options, once=True, pairs=pairs).diagonal(options)


@dataclass(frozen=True, eq=False)
class GramPath:
    """Hold the readout of every level, from which the kernel of every depth is a sum.

    Attributes
    ----------
    kernel : GNTK
        The deepest kernel.
    levels : array of shape (blocks + 1, n, n)
        ``levels[l]`` is Σ_uv K(l)_uv of every pair; level 0 is the features alone.
    engine : str
        What computed it.
    """

    kernel: GNTK
    levels: Array
    engine: str

    def at(self, blocks: int | None = None, jump: bool | tuple[float, ...] | None = None) -> Array:
        """Return the Gram matrix of that depth; what is left out comes from ``kernel``."""
        wanted = replace(
            self.kernel,
            blocks=self.kernel.blocks if blocks is None else blocks,
            jump=self.kernel.jump if jump is None else jump,
        )
        if wanted.blocks > self.kernel.blocks:
            raise InputError(f"blocks must lie in 1..{self.kernel.blocks}, but is {blocks!r}.")
        return combine_levels(self.levels[: wanted.blocks + 1], wanted)


def gram_path(graphs: Any, kernel: GNTK | None = None, *, compute: Compute | None = None) -> GramPath:
    """Compute the kernels of all depths 1..blocks, with and without jump, in one pass.

    The arguments are those of :func:`gram`; ``kernel.blocks`` is the largest depth. Only a GNTK has depths.

    Examples
    --------
    >>> import fastgntk as fg
    >>> graphs = fg.datasets.load("MUTAG").graphs[:5]
    >>> path = fg.gram_path(graphs, fg.GNTK(blocks=3))
    >>> path.at(blocks=2, jump=False).shape
    (5, 5)
    """
    prepared = graphs if isinstance(graphs, PreparedGraphs) else None
    options = check_compute(compute) if prepared is None else check_options(prepared, kernel, compute)
    deepest = _check_kernel(kernel) if prepared is None else prepared.kernel
    if not isinstance(deepest, GNTK):
        raise InputError(f"only a GNTK has depths, but the kernel is {deepest}; compute its parts one by one.")
    batch = as_graphs(graphs) if prepared is None else prepared.batch
    check_fits_memory(8 * (deepest.blocks + 1) * len(batch) ** 2, options.budget)
    if prepared is None:
        prepared = prepare_batch(batch, deepest, options, once=True)
    leaf_graphs = prepared.graphs_by_leaf[deepest]
    return GramPath(deepest, leaf_graphs.levels(options), leaf_graphs.choice.engine.name)


def _check_kernel(kernel: Any) -> Kernel:
    return GNTK() if kernel is None else check_kernel(kernel)


def check_options(prepared: PreparedGraphs, kernel: Any, compute: Any) -> Compute:
    """Return the options of a call with prepared graphs; refuse what preparing has settled already."""
    if kernel is not None and kernel != prepared.kernel:
        raise InputError(f"the graphs were prepared for {prepared.kernel}, but the kernel is {kernel}; leave it out.")
    if compute is None:
        return prepared.compute
    options = check_compute(compute)
    if options.engine != "auto" and set(prepared.engines) != {options.engine}:
        used = " and ".join(dict.fromkeys(prepared.engines))
        raise InputError(f"the graphs were prepared with engine {used}, but engine={options.engine!r}; leave it out.")
    return options


def _count_result(leaves: int, n: int, m: int, compute: Compute) -> int:
    """Count the bytes of the result, and of the matrices of leaves beside it; refuse more than the limit."""
    result_bytes = 8 * n * m * (1 if leaves == 1 else leaves + 1)
    check_fits_memory(result_bytes, compute.budget)
    return result_bytes


def _by_leaf(
    prepared: PreparedGraphs, compute: Compute, compute_leaf: Callable[[LeafGraphs, Compute], Array]
) -> Callable[[Kernel], Array]:
    """Return the function of a leaf that :func:`combine` takes; each leaf is an equal part of the progress."""
    numbers = {leaf: i for i, leaf in enumerate(prepared.graphs_by_leaf)}
    return lambda leaf: compute_leaf(prepared.graphs_by_leaf[leaf], compute.for_part(numbers[leaf], len(numbers)))
