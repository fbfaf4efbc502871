"""The kernel between the nodes of one graph."""

from typing import Any

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.text import format_bytes, round_up_bytes
from fastgntk._util.threads import run, single_threaded_blas
from fastgntk.engines import NodePairs, check_edges
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures, as_graphs
from fastgntk.kernels import GNTK
from fastgntk.pairwise._compute import Compute, check_compute

__all__ = ["check_nodes", "node_diagonal", "node_gram"]


_AT_ONCE = 8  # matrices of a chunk's size that are there while it is computed
_PIECES = 4  # chunks for each worker, so that none waits long for the last


def node_gram(graph: Any, kernel: GNTK = GNTK(), *, nodes: Any = None, compute: Compute | None = None) -> Array:
    """Compute the kernel between the nodes of one graph: Σ_l w_l K(l)_uv, with the weights w_l of ``kernel.jump``.

    Its sum over all pairs is the kernel of the graph with itself.

    Parameters
    ----------
    graph : one graph with N nodes, in any form that :func:`fastgntk.as_graphs` takes, or a batch of one
    kernel : GNTK
        A single tangent kernel without a sketch.
    nodes : sequence of int, or mask of length N, optional
        The m columns that are wanted; all by default. From two blocks on the norms take one matrix of N × N in any case
        (with typed edges two), but nothing else does.
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
    pairs = _NodeColumns(graph, kernel, check_compute(compute))
    chosen = check_nodes(nodes, pairs.size)
    out = np.zeros((pairs.size, len(chosen)))

    def write(places: Ints, values: Array) -> None:
        out[:, places] = values.T

    pairs.compute(chosen, out.nbytes, write)
    return out


def node_diagonal(graph: Any, kernel: GNTK = GNTK(), *, nodes: Any = None, compute: Compute | None = None) -> Array:
    """Compute the kernel of nodes with themselves, the diagonal of :func:`node_gram`, in as much time but less memory.

    Returns
    -------
    array of shape (m,), float64
    """
    pairs = _NodeColumns(graph, kernel, check_compute(compute))
    chosen = check_nodes(nodes, pairs.size)
    out = np.zeros(len(chosen))

    def write(places: Ints, values: Array) -> None:
        out[places] = values[np.arange(len(places)), chosen[places]]

    pairs.compute(chosen, out.nbytes, write)
    return out


def check_nodes(nodes: Any, size: int) -> Ints:
    """Return node numbers 0..size − 1 from numbers, a mask, or None for all."""
    if nodes is None:
        return np.arange(size)
    chosen = np.asarray(nodes)
    if chosen.size == 0:
        return np.zeros(0, dtype=np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
        raise InputError(
            f"nodes must be whole numbers or a mask, but has shape {chosen.shape} and dtype {chosen.dtype}."
        )
    if chosen.dtype.kind == "b":
        if len(chosen) != size:
            raise InputError(f"the mask of nodes has {len(chosen)} entries, but the graph has {size} nodes.")
        return np.flatnonzero(chosen)
    outside = chosen[(chosen < 0) | (chosen >= size)]
    if len(outside):
        raise InputError(f"nodes must lie in 0..{size - 1}, but {outside[0]} was given.")
    return chosen.astype(np.int64)


class _NodeColumns:
    """Columns of the kernel between nodes, in chunks that fit into memory."""

    def __init__(self, graph: Any, kernel: Any, compute: Compute) -> None:
        if not isinstance(kernel, GNTK) or kernel.sketch is not None:
            raise InputError(f"the kernel between nodes must be one GNTK without a sketch, but is {kernel!r}.")
        batch = as_graphs(graph) if isinstance(graph, GraphBatch | list) else as_graphs([graph])
        if len(batch) != 1:
            raise InputError(f"graph must be one graph, but {len(batch)} graphs were given.")
        batch = NodeFeatures(kernel.features).fit(batch).transform(batch)
        check_edges(batch, kernel)
        self._kernel, self._batch, self.size = kernel, batch, batch.n_nodes
        self._memory, self._workers, self._progress = compute.budget, compute.threads, compute.progress

    def compute(self, chosen: Ints, result: int, write: Any) -> None:
        """Compute the chosen columns and hand them to ``write(their places, rows)``, on threads."""
        matrices = 0 if self._kernel.blocks == 1 else 2 if self._kernel.typed else 1
        norms = 8 * matrices * self.size**2
        self._check(result + norms, f"the norms of {self.size} nodes, and the result,")
        if not len(chosen):
            return
        with single_threaded_blas(), np.errstate(all="ignore"):
            pairs = NodePairs(self._batch, self._kernel)
        spare = self._memory - result
        chunks, workers = self._chunks(pairs, chosen, spare)

        def work(places: Ints) -> None:
            with np.errstate(all="ignore"):
                values = pairs.columns(chosen[places])
            if not np.isfinite(values).all():
                raise InputError(
                    "kernel values between nodes leave the range of float64; use scale='degree' or 'unit', fewer "
                    "blocks, or smaller features and weights."
                )
            write(places, values)

        with single_threaded_blas():
            run(work, chunks, workers=workers, progress=self._progress)

    def _chunks(self, pairs: NodePairs, chosen: Ints, spare: int) -> tuple[list[Ints], int]:
        """Return which columns are computed together, and by how many workers.

        Columns that are close in the graph need the same columns of the levels below, so they are put together.
        """
        order = np.argsort(_closeness(self._batch)[chosen], kind="stable")
        workers = self._workers
        while True:
            most = max(1, len(chosen) // (_PIECES * workers))
            chunks = [order[start : start + most] for start in range(0, len(order), most)]
            room = spare // workers
            while max(self._bytes(pairs, chosen[c]) for c in chunks) > room and len(chunks[0]) > 1:
                chunks = [half for c in chunks for half in np.array_split(c, 2) if len(half)]
            needed = max(self._bytes(pairs, chosen[c]) for c in chunks)
            if needed <= room or workers == 1:
                break
            workers -= 1
        self._check(self._memory - spare + needed, "one column and those that it needs")
        return chunks, workers

    def _bytes(self, pairs: NodePairs, chosen: Ints) -> int:
        return 8 * _AT_ONCE * self.size * len(pairs.needed(chosen)[0])

    def _check(self, needed: int, what: str) -> None:
        if needed > self._memory:
            raise InputError(
                f"max_memory={format_bytes(self._memory)} is too small: {what} take {format_bytes(needed)}; pass "
                f"max_memory={round_up_bytes(needed)!r}, or fewer blocks."
            )


def _closeness(batch: GraphBatch) -> Ints:
    """Return for each node a place in an order in which neighbours are near each other."""
    order = sparse.csgraph.reverse_cuthill_mckee(sparse.csr_array(batch.adjacency()), symmetric_mode=False)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place
