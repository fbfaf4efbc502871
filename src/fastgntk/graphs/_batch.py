"""Many graphs in concatenated arrays."""

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk.errors import InputError
from fastgntk.graphs._csr import Adjacency, row_offsets
from fastgntk.graphs._descriptors import check_block, single_row, stack_descriptors
from fastgntk.graphs._graph import Graph, check_features, check_node_scale
from fastgntk.graphs._sketch_keys import Keys, caller_keys, check_sketch_sizes

__all__ = ["GraphBatch", "concatenate_parts"]

_Array = TypeVar("_Array", bound=NDArray[Any])


@dataclass(frozen=True, eq=False, repr=False)
class GraphBatch(Sequence[Graph]):
    """An immutable sequence of n graphs, held as concatenated compressed rows.

    ``batch[3]`` is a :class:`Graph`, ``batch[10:20]`` a batch that shares memory, ``batch[[4, 1, 1]]`` and
    ``batch[mask]`` are batches with copied rows, ``a + b`` is the concatenation.

    Attributes
    ----------
    offsets : int64, (n + 1,)
        Nodes of graph i are rows ``offsets[i]:offsets[i + 1]`` of every array with an entry for each node.
    indptr : int64, (N + 1,)
        Neighbours of node u (numbered over all graphs) are ``indices[indptr[u]:indptr[u + 1]]``.
    indices : int32, (m,)
        Neighbours, numbered within their own graph, so that a slice of the batch needs no renumbering.
    weights : float64, (m,) or None
        Edge weights; None means that all are 1.
    features : float64 array or CSR array, (N, d), or None
    labels : integers or strings, (N,) or (N, k), or None
    edge_labels : integers or strings, (m,), or None
    self_loops : int64, (n,)
        Number of self loops dropped from each graph.
    node_scale : float64, (N,), or None
        The factor c_u of each node, for kernels with ``scale="given"``.
    sketch_keys : uint64, (n, 2), or None
        Graphs of equal keys and sizes share a sketch; if None, graphs of equal content do.
    sketch_sizes : int64, (n,), or None
        Rows of the sketch of each graph, for ``Sketch(size="given")``.
    descriptors : dict of str to float64 array or CSR array, (n, d)
        Named blocks of numbers for kernels such as ``RBF(on=name)``; a row of NaN marks a graph without the block.

    Examples
    --------
    >>> pair = GraphBatch.from_graphs([Graph.from_edges([(0, 1)], 2), Graph.from_edges([(0, 1), (1, 2)], 3)])
    >>> len(pair), pair.n_nodes, pair[1].n_edges
    (2, 5, 2)
    """

    offsets: Ints
    indptr: Ints
    indices: Int32s
    weights: Array | None = None
    features: Any = None
    labels: NDArray[Any] | None = None
    edge_labels: NDArray[Any] | None = None
    self_loops: Ints = field(kw_only=True)
    node_scale: Array | None = field(default=None, kw_only=True)
    sketch_keys: Keys | None = field(default=None, kw_only=True)
    sketch_sizes: Ints | None = field(default=None, kw_only=True)
    descriptors: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, dict):
                value = {key: _frozen(block) for key, block in value.items()}
            object.__setattr__(self, name, value if isinstance(value, dict) else _frozen(value))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # unpickled arrays are writable

    @classmethod
    def from_graphs(cls, graphs: Sequence[Graph]) -> Self:
        """Concatenate graphs; all must carry the same kinds of features and labels."""
        graphs = list(graphs)
        node_counts = [g.n_nodes for g in graphs]
        edge_counts = [len(g.indices) for g in graphs]
        starts = row_offsets(edge_counts)
        edge_labels = [g.edge_labels for g in graphs]
        weights = [np.ones(len(g.indices)) if g.weights is None else g.weights for g in graphs]
        return cls(
            offsets=row_offsets(node_counts),
            indptr=np.concatenate([g.indptr[:-1] + s for g, s in zip(graphs, starts, strict=False)] + [starts[-1:]]),
            indices=np.concatenate([np.zeros(0, dtype=np.int32), *(g.indices for g in graphs)]),
            weights=np.concatenate(weights) if any(g.weights is not None for g in graphs) else None,
            features=concatenate_parts([g.features for g in graphs], node_counts, "features"),
            labels=concatenate_parts([g.labels for g in graphs], node_counts, "labels"),
            edge_labels=concatenate_parts(edge_labels, edge_counts, "edge_labels") if any(edge_counts) else None,
            self_loops=np.array([g.n_self_loops for g in graphs], dtype=np.int64),
            node_scale=concatenate_parts([g.node_scale for g in graphs], node_counts, "node_scales"),
            sketch_keys=_per_graph([g.sketch_key for g in graphs], "sketch_key"),
            sketch_sizes=_per_graph([g.sketch_size for g in graphs], "sketch_size"),
            descriptors=stack_descriptors([g.descriptors for g in graphs]),
        )

    @classmethod
    def from_adjacency(
        cls, adjacency: Adjacency, sizes: Ints, *, features: Any = None, labels: NDArray[Any] | None = None
    ) -> Self:
        """Split the block-diagonal adjacency of graphs of these sizes; features and labels have a row for each node."""
        offsets = row_offsets(sizes)
        starts = np.repeat(offsets[:-1].astype(np.int32), sizes)
        graph_of_loop = np.searchsorted(offsets, adjacency.loops, side="right") - 1
        return cls(
            offsets=offsets,
            indptr=adjacency.indptr,
            indices=adjacency.indices - np.repeat(starts, np.diff(adjacency.indptr)),
            weights=adjacency.weights,
            features=features,
            labels=labels,
            edge_labels=adjacency.edge_labels,
            self_loops=np.bincount(graph_of_loop, minlength=len(sizes)).astype(np.int64),
        )

    @cached_property
    def n_graphs(self) -> int:
        """Number of graphs, as ``len``."""
        return len(self.offsets) - 1

    @cached_property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs together."""
        return int(self.offsets[-1] - self.offsets[0])

    @cached_property
    def sizes(self) -> Ints:
        """Number of nodes of each graph."""
        return _read_only(np.diff(self.offsets))

    @cached_property
    def degrees(self) -> Ints:
        """Number of neighbours of each node, the node itself not counted, weights ignored."""
        return _read_only(np.diff(self.indptr))

    @cached_property
    def graph_of_node(self) -> Ints:
        """For each node the index of its graph."""
        return _read_only(np.repeat(np.arange(len(self)), self.sizes))

    @property
    def global_indices(self) -> Ints:
        """``indices`` numbered over all graphs."""
        starts = np.repeat(self.offsets[:-1], self.sizes)
        return np.repeat(starts, self.degrees) + self.indices

    def adjacency(self) -> Any:
        """Return the block-diagonal adjacency matrix of all graphs, CSR of shape (N, N), without self loops."""
        data = np.ones(len(self.indices)) if self.weights is None else self.weights.copy()
        return sparse.csr_array((data, self.global_indices, self.indptr), shape=(self.n_nodes, self.n_nodes))

    def with_features(self, features: Any) -> Self:
        """Return the same graphs with other node features, shape (N, d), dense or SciPy sparse."""
        return replace(self, features=check_features(features, self.n_nodes))

    def with_node_scale(self, node_scale: ArrayLike | None) -> Self:
        """Return the same graphs with these factors c_u of all nodes, shape (N,), or without any."""
        if node_scale is None:
            return replace(self, node_scale=None)

        def node_name(node: int) -> str:
            graph = int(self.graph_of_node[node])
            return f"node {node - int(self.offsets[graph])} of graph {graph}"

        return replace(self, node_scale=check_node_scale(node_scale, self.n_nodes, node_name))

    def with_sketch_keys(self, keys: Sequence[int | str]) -> Self:
        """Return the same graphs with an integer or a string for each; graphs of equal keys and sizes share a sketch.

        By default graphs of equal content share one: nodes in order, edges, weights, labels and features.
        """
        return replace(self, sketch_keys=caller_keys(keys, len(self)))

    def with_sketch_sizes(self, sizes: Any) -> Self:
        """Return the same graphs with a number of rows for the sketch of each, for ``Sketch(size="given")``."""
        return replace(self, sketch_sizes=check_sketch_sizes(sizes, len(self)))

    def with_descriptors(self, blocks: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """Return the same graphs with these descriptors besides their own; None removes a block.

        A block has a row of numbers for each graph, (n, d), dense or SciPy sparse, or one number for each, (n,).

        >>> edge = Graph.from_edges([(0, 1)], 2)
        >>> batch = GraphBatch.from_graphs([edge, edge]).with_descriptors(dose=[0.5, 2.0])
        >>> batch.descriptors["dose"].tolist(), batch[1].descriptors["dose"].tolist()
        ([[0.5], [2.0]], [2.0])
        """
        given = {**(blocks or {}), **named}
        checked = {name: check_block(name, block, len(self)) for name, block in given.items() if block is not None}
        kept = {name: block for name, block in self.descriptors.items() if name not in given}
        return replace(self, descriptors=kept | checked)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> Graph: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | NDArray[Any]) -> Self: ...

    def __getitem__(self, index: Any) -> Graph | Self:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return self._contiguous(start, max(start, stop))
            return self._take(np.arange(start, stop, step))
        if np.ndim(index) == 1:
            chosen = np.asarray(index)
            kind, count = chosen.dtype.kind, len(chosen)
            if count and kind not in "biu":
                dtype = chosen.dtype
                raise IndexError(f"graphs are chosen by integers or a mask, but the index has dtype {dtype}.")
            if count and kind == "b" and count != len(self):
                raise IndexError(f"the mask has {count} entries, but the batch has {len(self)} graphs.")
            return self._take(np.flatnonzero(chosen) if kind == "b" else chosen.astype(np.int64))
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise IndexError(f"graph {position} of a batch of {len(self)}.")
        return self._graph(position % len(self))

    def __iter__(self) -> Iterator[Graph]:
        return (self._graph(i) for i in range(len(self)))

    def __add__(self, other: Self) -> Self:
        return self.from_graphs([*self, *other])

    def __repr__(self) -> str:
        return f"GraphBatch({len(self)} graphs, {self.n_nodes} nodes)"

    def _graph(self, i: int) -> Graph:
        part = self._contiguous(i, i + 1)
        graph = Graph.__new__(Graph)
        graph.indptr, graph.indices, graph.weights = part.indptr, part.indices, part.weights
        graph.features, graph.labels, graph.edge_labels = part.features, part.labels, part.edge_labels
        graph.node_scale = part.node_scale
        graph.n_self_loops = int(part.self_loops[0])
        graph.sketch_key = None if part.sketch_keys is None else part.sketch_keys[0]
        graph.sketch_size = None if part.sketch_sizes is None else int(part.sketch_sizes[0])
        graph.descriptors = {name: single_row(block) for name, block in part.descriptors.items()}
        return graph

    def _contiguous(self, start: int, stop: int) -> Self:
        nodes = slice(int(self.offsets[start]), int(self.offsets[stop]))
        edges = slice(int(self.indptr[nodes.start]), int(self.indptr[nodes.stop]))
        offsets = self.offsets[start : stop + 1] - nodes.start
        indptr = self.indptr[nodes.start : nodes.stop + 1] - edges.start
        return self._select(offsets, indptr, slice(start, stop), nodes, edges)

    def _take(self, graphs: Ints) -> Self:
        graphs = np.where(graphs < 0, graphs + len(self), graphs)
        if len(graphs) and (graphs.min() < 0 or graphs.max() >= len(self)):
            raise IndexError(f"graph indices must lie in 0..{len(self) - 1}.")
        sizes = self.sizes[graphs]
        nodes = _ranges(self.offsets[:-1][graphs], sizes)
        degrees = self.degrees[nodes]
        edges = _ranges(self.indptr[:-1][nodes], degrees)
        return self._select(row_offsets(sizes), row_offsets(degrees), graphs, nodes, edges)

    def _select(self, offsets: Ints, indptr: Ints, graphs: Any, nodes: Any, edges: Any) -> Self:
        """Return a batch with these graphs, nodes and edges, each a slice or an array of indices."""
        rows = {"indices": edges, "weights": edges, "edge_labels": edges, "features": nodes, "labels": nodes}
        rows["node_scale"] = nodes
        arrays: dict[str, Any] = {name: getattr(self, name) for name in rows}
        arrays |= {name: array[rows[name]] for name, array in arrays.items() if array is not None}
        for name in ("self_loops", "sketch_keys", "sketch_sizes"):
            array = getattr(self, name)
            arrays[name] = None if array is None else array[graphs]
        arrays["descriptors"] = {name: block[graphs] for name, block in self.descriptors.items()}
        return type(self)(offsets=offsets, indptr=indptr, **arrays)


def _frozen(value: Any) -> Any:
    """Return a read-only view of an array, dense or CSR; None stays None."""
    if sparse.issparse(value):
        arrays = tuple(_read_only(array) for array in (value.data, value.indices, value.indptr))
        return sparse.csr_array(arrays, shape=value.shape)
    return None if value is None else _read_only(value)


def _read_only(array: _Array) -> _Array:
    """Return a read-only view, because arrays of a batch are shared by its slices and by all callers."""
    view: _Array = array.view()
    view.flags.writeable = False
    return view


def _per_graph(values: Sequence[Any], name: str) -> Any:
    """Return the values of all graphs as an array, None if no graph has one; raise if only some have."""
    present = [i for i, value in enumerate(values) if value is not None]
    if 0 < len(present) < len(values):
        lacks = next(i for i, value in enumerate(values) if value is None)
        raise InputError(
            f"graph {present[0]} has a {name} but graph {lacks} has none; give one to all graphs or to none."
        )
    return np.array(values) if present else None


def _ranges(starts: Ints, lengths: Ints) -> Ints:
    """Concatenate arange(start, start + length) for each pair."""
    return np.arange(lengths.sum()) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)


def concatenate_parts(parts: Sequence[Any], lengths: Sequence[int], name: str) -> Any:
    """Concatenate the features or labels of graphs with these numbers of nodes or edges, or raise if they differ.

    So for other arrays with an entry for each node. A graph of length 0 is compatible with all others, with or without
    features or labels.
    """
    counted = [(i, part) for i, part in enumerate(parts) if lengths[i]]
    if not counted:
        return parts[0] if parts else None
    start, first = counted[0]
    for i, part in counted:
        if (part is None) != (first is None):
            has, lacks = (start, i) if part is None else (i, start)
            what = name.replace("_", " ")
            raise InputError(f"graph {has} has {what} but graph {lacks} has none; give them to all graphs or to none.")
        if part is None:
            continue
        if part.shape[1:] != first.shape[1:]:
            a, b = (int(array.shape[1]) if array.ndim == 2 else 1 for array in (first, part))
            differ = f"graph {start} has {a} and graph {i} has {b}"
            raise InputError(f"{name} must have the same width in all graphs, but {differ}.")
        if name != "features" and part.dtype.kind != first.dtype.kind:
            raise InputError(f"{name} must be all integers or all strings, but graphs {start} and {i} differ.")
    if first is None:
        return None
    filled = [part for _, part in counted]
    if any(sparse.issparse(part) for part in filled):
        return sparse.vstack([sparse.csr_array(part) for part in filled], format="csr")
    return np.concatenate(filled)
