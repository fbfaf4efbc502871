"""The kernel node by node: contributions of nodes to the values of their graph, and the kernel between its nodes."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.text import format_bytes, round_up_bytes
from fastgntk._util.threads import run, single_threaded_blas
from fastgntk.engines import NodePairs, check_graphs
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures, as_graphs
from fastgntk.kernels import GNTK, DescriptorKernel, Kernel, Leaf, Network
from fastgntk.pairwise._combine import combine_nodes
from fastgntk.pairwise._compute import Compute, check_compute, check_kernel
from fastgntk.pairwise._factors import put_factor_first
from fastgntk.pairwise._group_pairs import leaf_contributions, leaf_cross
from fastgntk.pairwise._prepared import PreparedGraphs, check_call, prepare

__all__ = ["Contributions", "as_single_graph", "check_nodes", "contributions", "contributions_in_chunks"]
__all__ += ["node_contributions", "node_contributions_in_chunks", "node_diagonal", "node_gram"]

_NODES_PER_PASS = 1024  # enough to merge many nodes in few calls, while rows stay in the cache
_ARRAYS_PER_CHUNK = 8  # arrays of a chunk's size that exist at the same time
_CHUNKS_PER_THREAD = 4  # so that no thread waits long for the last one to finish


class Contributions(NamedTuple):
    """The parts of a row of a kernel matrix; over nodes and blocks of descriptors they add up to the row."""

    nodes: Array  # (N, m)
    descriptors: dict[str, Array]  # (m,) for each block that a kernel on descriptors uses


def node_contributions(
    graph: Any,
    cols: Any,
    kernel: Kernel | None = None,
    *,
    factor: int | Kernel | None = None,
    compute: Compute | None = None,
) -> Array:
    """Compute the contribution of each node of one graph to its kernel with m graphs.

    A tangent kernel is a sum over pairs of nodes, Σ_u Σ_l Σ_v K(l)_uv (an NNGP with Σ in place of K), and row u of the
    result holds the terms of node u, divided by the number of pairs with ``pool="mean"``. So is :class:`fastgntk.WL`;
    what a colour adds to :class:`fastgntk.WLOA` is shared equally among its nodes. The rows add up to the row that
    :func:`cross_gram` returns, at the same cost. Contributions to a sum of kernels add up; in a product the nodes are
    those of one factor, and the other factors weight the m graphs. Terms of kernels on descriptors belong to no node
    and are missing.

    Parameters
    ----------
    graph : one graph with N nodes
    cols : m graphs
        They may be prepared; then leave out the kernel.
    kernel : Kernel, optional
    factor : int or Kernel, optional
        The factor of a product whose nodes are counted, as a kernel or by its index; 0, the first, by default.
    compute : Compute, optional

    Returns
    -------
    array of shape (N, m), float64

    Examples
    --------
    >>> import numpy as np, fastgntk as fg
    >>> data = fg.datasets.load("MUTAG").graphs
    >>> parts = fg.node_contributions(data[0], data[:5])
    >>> parts.shape, bool(np.allclose(parts.sum(axis=0), fg.gram(data[:5])[0]))
    ((17, 5), True)
    """
    prepared = cols if isinstance(cols, PreparedGraphs) else prepare(cols, kernel, compute=compute)
    compute = check_call(prepared, kernel, compute)
    kernel = put_factor_first(prepared.kernel, factor)
    return contributions(as_single_graph(graph), prepared, compute, kernel).nodes


def node_contributions_in_chunks(
    graphs: Any, cols: PreparedGraphs, *, nodes: int = _NODES_PER_PASS, compute: Compute | None = None
) -> Iterator[tuple[slice, Array]]:
    """Yield the results of :func:`node_contributions` for many graphs, in order, several graphs at a time.

    Each item is a slice of graphs and the rows of all their nodes, one row for each node and m columns.
    """
    for chunk, terms in contributions_in_chunks(graphs, cols, nodes=nodes, compute=compute):
        yield chunk, terms.nodes


def contributions_in_chunks(
    graphs: Any, cols: PreparedGraphs, *, nodes: int = _NODES_PER_PASS, compute: Compute | None = None
) -> Iterator[tuple[slice, Contributions]]:
    """Yield the contributions to the rows of many graphs, in order; of several graphs at a time, or of one.

    Each item is a slice of graphs and the contributions of all their nodes, and of the descriptors. Graphs with up
    to ``nodes`` nodes in total are computed in one pass, as one graph: their disjoint union. A sketch, a mean, a
    normalisation and a product depend on the whole graph, so for such kernels graphs come one at a time.
    """
    compute = check_call(cols, None, compute)
    batch = as_graphs(graphs)
    max_nodes = max(1, min(nodes, compute.memory_budget // (16 * 8 * max(len(cols), 1))))
    together = isinstance(cols.kernel, Network) and cols.kernel.sketch is None and cols.kernel.pool == "sum"
    start = 0
    while start < len(batch):
        stop = start + 1
        if together:
            stop = max(stop, int(np.searchsorted(batch.offsets, batch.offsets[start] + max_nodes, side="right")) - 1)
        yield slice(start, stop), contributions(_union(batch[start:stop]), cols, compute)
        start = stop


def _union(batch: GraphBatch) -> GraphBatch:
    """Return all graphs of a batch as one graph; one graph keeps its descriptors and the keys of its sketch."""
    if len(batch) == 1:
        return batch
    shift = np.repeat(np.repeat(batch.offsets[:-1], batch.sizes), batch.degrees)
    return replace(
        batch,
        offsets=np.array([0, batch.n_nodes]),
        indices=(batch.indices + shift).astype(np.int32),
        self_loops=np.array([batch.self_loops.sum()]),
        sketch_keys=None,
        sketch_sizes=None,
        descriptors={},
    )


def contributions(
    batch: GraphBatch, cols: PreparedGraphs, compute: Compute, kernel: Kernel | None = None
) -> Contributions:
    """Return the contributions of the nodes and of the descriptors of one graph to its row of the matrix.

    ``kernel`` is that of ``cols`` with the factors of products in another order; nodes are those of the first.
    """
    row, n = cols.prepare_others(batch), batch.n_nodes
    blocks = list(dict.fromkeys(leaf.on for leaf in row.graphs_by_leaf if isinstance(leaf, DescriptorKernel)))
    parts: dict[Leaf, Array] = {}  # a row for each node, then one for each block
    for leaf, graphs in row.graphs_by_leaf.items():
        if isinstance(leaf, DescriptorKernel):
            parts[leaf] = np.zeros((n + len(blocks), len(cols)))
            parts[leaf][n + blocks.index(leaf.on)] = leaf_cross(graphs, cols.graphs_by_leaf[leaf], compute, 0)[0]
        else:
            values = leaf_contributions(graphs, cols.graphs_by_leaf[leaf], compute)
            parts[leaf] = np.pad(values, ((0, len(blocks)), (0, 0))) if blocks else values
    diagonals = row.needed_diagonals(compute), cols.needed_diagonals(compute)
    combined = combine_nodes(kernel or cols.kernel, parts, *diagonals)
    return Contributions(combined[:n], dict(zip(blocks, combined[n:], strict=True)))


def node_gram(graph: Any, kernel: Network = GNTK(), *, nodes: Any = None, compute: Compute | None = None) -> Array:
    """Compute the kernel between the nodes of one graph: Σ_l w_l K(l)_uv, with the weights w_l of ``kernel.jump``.

    Its sum over all pairs is the kernel of the graph with itself; with ``pool="mean"`` it is divided by N².

    Parameters
    ----------
    graph : one graph with N nodes, in any form that :func:`fastgntk.as_graphs` takes, or a batch of one
    kernel : GNTK or NNGP
        A single kernel of a network without a sketch; for an NNGP the result is Σ_l w_l Σ(l)_uv.
    nodes : sequence of int, or mask of length N, optional
        The m columns to compute; all by default. With two or more blocks the norms always need one N × N matrix (two
        with typed edges); nothing else does.
    compute : Compute, optional
        Threads, memory and progress; there is one way to compute this, so engines do not apply.

    Returns
    -------
    array of shape (N, m), float64

    Examples
    --------
    >>> import fastgntk as fg
    >>> graph = fg.datasets.load("MUTAG").graphs[0]
    >>> K = fg.node_gram(graph, fg.GNTK(blocks=2))
    >>> K.shape, bool(abs(K.sum() / fg.gram([graph], fg.GNTK(blocks=2))[0, 0] - 1) < 1e-7)
    ((17, 17), True)
    >>> fg.node_gram(graph, fg.GNTK(blocks=2), nodes=[3, 5]).shape
    (17, 2)
    """
    compute, batch = check_compute(compute), _prepare_graph(graph, kernel)
    chosen = check_nodes(nodes, batch.n_nodes)
    out = np.zeros((batch.n_nodes, len(chosen)))

    def write(columns: Ints, values: Array) -> None:
        out[:, columns] = values.T

    _compute_columns(batch, kernel, compute, chosen, out.nbytes, write)
    return out


def node_diagonal(graph: Any, kernel: Network = GNTK(), *, nodes: Any = None, compute: Compute | None = None) -> Array:
    """Compute the kernel of nodes with themselves, the diagonal of :func:`node_gram`, in as much time but less memory.

    Returns
    -------
    array of shape (m,), float64
    """
    compute, batch = check_compute(compute), _prepare_graph(graph, kernel)
    chosen = check_nodes(nodes, batch.n_nodes)
    out = np.zeros(len(chosen))

    def write(columns: Ints, values: Array) -> None:
        out[columns] = values[np.arange(len(columns)), chosen[columns]]

    _compute_columns(batch, kernel, compute, chosen, out.nbytes, write)
    return out


def check_nodes(nodes: Any, size: int) -> Ints:
    """Return indices of nodes, 0..size − 1, from indices, a mask, or None for all."""
    if nodes is None:
        return np.arange(size)
    chosen = np.asarray(nodes)
    if chosen.size == 0:
        return np.zeros(0, dtype=np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
        raise InputError(f"nodes must be integers or a mask, but has shape {chosen.shape} and dtype {chosen.dtype}.")
    if chosen.dtype.kind == "b":
        if len(chosen) != size:
            raise InputError(f"the mask of nodes has {len(chosen)} entries, but the graph has {size} nodes.")
        return np.flatnonzero(chosen)
    outside = chosen[(chosen < 0) | (chosen >= size)]
    if len(outside):
        raise InputError(f"nodes must lie in 0..{size - 1}, but {outside[0]} was given.")
    return chosen.astype(np.int64)


def _prepare_graph(graph: Any, kernel: Any) -> GraphBatch:
    """Return a batch of one graph with node features, for the kernel between its nodes."""
    if not isinstance(check_kernel(kernel), Network) or kernel.sketch is not None:
        raise InputError(f"the kernel between nodes must be one GNTK or NNGP without a sketch, but is {kernel!r}.")
    batch = as_single_graph(graph)
    batch = NodeFeatures(kernel.features).fit(batch).transform(batch)
    check_graphs(batch, kernel)
    return batch


def _compute_columns(
    batch: GraphBatch,
    kernel: Network,
    compute: Compute,
    chosen: Ints,
    result_bytes: int,
    write: Callable[[Ints, Array], None],
) -> None:
    """Compute the chosen columns on threads, and pass them to ``write(positions in chosen, rows)``."""
    n_matrices = 0 if kernel.blocks == 1 else 2 if kernel.typed else 1
    norm_bytes = 8 * n_matrices * batch.n_nodes**2
    _check_memory(compute, result_bytes + norm_bytes, f"the norms of {batch.n_nodes} nodes, and the result,")
    if not len(chosen):
        return
    with single_threaded_blas(), np.errstate(all="ignore"):
        pairs = NodePairs(batch, kernel)
    chunks, n_threads = _split_into_chunks(pairs, batch, chosen, compute, result_bytes)

    def work(positions: Ints) -> None:
        with np.errstate(all="ignore"):
            values = pairs.columns(chosen[positions])
        if not np.isfinite(values).all():
            raise InputError(
                "kernel values between nodes leave the range of float64; use scale='degree' or 'unit', fewer "
                "blocks, or smaller features and weights."
            )
        write(positions, values)

    with single_threaded_blas():
        run(work, chunks, n_threads, progress=compute.progress)


def _split_into_chunks(
    pairs: NodePairs, batch: GraphBatch, chosen: Ints, compute: Compute, result_bytes: int
) -> tuple[list[Ints], int]:
    """Return chunks of columns to compute together, and the number of threads.

    Columns of nodes that are close in the graph need the same columns of lower levels, so they share a chunk.
    """
    by_closeness = sparse.csgraph.reverse_cuthill_mckee(sparse.csr_array(batch.adjacency()), symmetric_mode=False)
    order = np.argsort(np.argsort(by_closeness)[chosen], kind="stable")

    def largest_bytes(chunks: list[Ints]) -> int:
        return max(8 * _ARRAYS_PER_CHUNK * batch.n_nodes * len(pairs.needed(chosen[chunk])[0]) for chunk in chunks)

    n_threads = compute.threads
    while True:
        length = max(1, len(chosen) // (_CHUNKS_PER_THREAD * n_threads))
        chunks = [order[start : start + length] for start in range(0, len(order), length)]
        available_bytes = (compute.memory_budget - result_bytes) // n_threads
        while (chunk_bytes := largest_bytes(chunks)) > available_bytes and len(chunks[0]) > 1:
            chunks = [half for chunk in chunks for half in np.array_split(chunk, 2) if len(half)]
        if chunk_bytes <= available_bytes or n_threads == 1:
            break
        n_threads -= 1
    _check_memory(compute, result_bytes + chunk_bytes, "one column and those that it needs")
    return chunks, n_threads


def _check_memory(compute: Compute, needed_bytes: int, what: str) -> None:
    if needed_bytes > compute.memory_budget:
        raise InputError(
            f"max_memory={format_bytes(compute.memory_budget)} is too small: {what} take {format_bytes(needed_bytes)}; "
            f"pass max_memory={round_up_bytes(needed_bytes)!r}, or fewer blocks."
        )


def as_single_graph(graph: Any) -> GraphBatch:
    """Convert one graph, or a batch or list of one, to a batch of one."""
    batch = as_graphs(graph if isinstance(graph, GraphBatch | list) else [graph])
    if len(batch) != 1:
        raise InputError(f"graph must be one graph, but {len(batch)} graphs were given.")
    return batch
