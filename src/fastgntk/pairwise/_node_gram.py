"""The kernel between the nodes of one graph, and its diagonal."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.text import format_bytes, round_up_bytes
from fastgntk._util.threads import run_on_threads, single_threaded_blas
from fastgntk.engines import NodePairs, check_graphs
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK, Network
from fastgntk.pairwise._arguments import as_single_graph
from fastgntk.pairwise._compute import Compute, check_compute, check_kernel

__all__ = ["check_nodes", "node_diagonal", "node_gram"]

_ARRAYS_PER_CHUNK = 8  # arrays of a chunk's size that exist at the same time
_CHUNKS_PER_THREAD = 4  # so that no thread waits long for the last one to finish


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
    n_matrices = 0 if kernel.blocks == 1 else 2 if kernel.uses_edge_labels else 1
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
        run_on_threads(work, chunks, n_threads, progress=compute.progress)


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
