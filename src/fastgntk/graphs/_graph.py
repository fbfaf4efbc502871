"""A single graph."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fastgntk._util.arrays import Array, Int32s, Ints
from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.graphs._csr import Adjacency, entries, from_edges, reverse_edges
from fastgntk.graphs._descriptors import check_graph_descriptors
from fastgntk.graphs._sketch_keys import Keys, caller_key

__all__ = ["Graph"]


class Graph:
    """A graph: adjacency, and optional features and labels of its nodes and edges.

    Parameters
    ----------
    adjacency : square array or SciPy sparse matrix, shape (N, N)
        Entries are edge weights; 0 means no edge. Self loops are dropped and counted in ``n_self_loops``,
        because the kernel adds exactly one itself (Â = A + I).
    features : array, shape (N, d), optional
        Continuous node features, used unchanged.
    labels : sequence of length N or array of shape (N, k), optional
        Discrete node labels, integers or strings; they become one-hot features when a kernel is computed.
    node_scale : array, shape (N,), optional
        The factor c_u of each node, 0 or more, for kernels with ``scale="given"``; other kernels ignore it.
    directed : bool
        If False (default) every edge counts in both directions. If True, row u lists the nodes that u sums over.
    sketch_key : int or str, optional
        Graphs of equal keys and sizes share a sketch; by default graphs of equal content do.
    sketch_size : int, optional
        Rows of the sketch of this graph, for ``Sketch(size="given")``.
    descriptors : dict, optional
        Numbers or vectors by name that belong to the graph as a whole, for kernels such as ``RBF(on="dose")``.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = Graph(np.ones((3, 3)), labels=["C", "C", "O"])
    >>> triangle.n_nodes, triangle.n_edges, triangle.n_self_loops
    (3, 3, 3)
    >>> Graph.from_edges([(0, 1)], n_nodes=3)        # node 2 is isolated, which is legal
    Graph(n_nodes=3, n_edges=1)
    """

    __slots__ = (
        *("descriptors", "edge_labels", "features", "indices", "indptr", "labels", "n_self_loops"),
        *("node_scale", "sketch_key", "sketch_size", "weights"),
    )

    indptr: Ints
    indices: Int32s
    weights: Array | None
    features: Any
    labels: NDArray[Any] | None
    edge_labels: NDArray[Any] | None
    node_scale: Array | None
    n_self_loops: int
    sketch_key: Keys | None
    """The key of the caller as 128 bits, (2,)."""
    sketch_size: int | None
    descriptors: Mapping[str, Any]
    """Vectors (d,) by name; (1, d) in CSR form if they are sparse."""

    def __init__(
        self,
        adjacency: Any,
        features: ArrayLike | None = None,
        *,
        labels: ArrayLike | None = None,
        directed: bool = False,
        node_scale: ArrayLike | None = None,
        sketch_key: int | str | None = None,
        sketch_size: int | None = None,
        descriptors: Mapping[str, Any] | None = None,
    ) -> None:
        n_nodes, rows, cols, weights = entries(adjacency)
        self._fill(from_edges(rows, cols, n_nodes, weights=weights, directed=directed), features, labels)
        self.node_scale = None if node_scale is None else check_node_scale(node_scale, n_nodes)
        self._set_sketch(sketch_key, sketch_size)
        self.descriptors = check_graph_descriptors(descriptors)

    @classmethod
    def from_edges(
        cls,
        edges: ArrayLike,
        n_nodes: int,
        features: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        edge_labels: ArrayLike | None = None,
        directed: bool = False,
        node_scale: ArrayLike | None = None,
        sketch_key: int | str | None = None,
        sketch_size: int | None = None,
        descriptors: Mapping[str, Any] | None = None,
    ) -> Self:
        """Construct a graph from pairs of node indices (0 to n_nodes − 1), each edge once or in both directions.

        ``edge_labels`` are integers or strings, like node labels, one for each edge.
        """
        n_nodes = check_integer("n_nodes", n_nodes, 0)
        try:
            pairs = np.asarray(edges)
        except ValueError:
            raise InputError("edges must be pairs of integers, but their lengths differ.") from None
        if pairs.size == 0:
            pairs = np.empty((0, 2), dtype=np.int64)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise InputError(
                f"edges must be pairs of integers, (m, 2), but has shape {pairs.shape} and dtype {pairs.dtype}."
            )
        weights = None if weights is None else _check_weights(weights, len(pairs))
        edge_labels = None if edge_labels is None else check_labels(edge_labels, len(pairs), of="edge")
        rows, cols = pairs.astype(np.int64).T
        adjacency = from_edges(rows, cols, n_nodes, weights=weights, edge_labels=edge_labels, directed=directed)
        graph = cls.__new__(cls)
        graph._fill(adjacency, features, labels)
        graph.node_scale = None if node_scale is None else check_node_scale(node_scale, n_nodes)
        graph._set_sketch(sketch_key, sketch_size)
        graph.descriptors = check_graph_descriptors(descriptors)
        return graph

    def _fill(self, adjacency: Adjacency, features: ArrayLike | None, labels: ArrayLike | None) -> None:
        self.indptr, self.indices, self.weights = adjacency.indptr, adjacency.indices, adjacency.weights
        self.edge_labels, self.n_self_loops = adjacency.edge_labels, len(adjacency.loops)
        self.features = None if features is None else check_features(features, self.n_nodes)
        self.labels = None if labels is None else check_labels(labels, self.n_nodes)

    def _set_sketch(self, key: int | str | None, size: int | None) -> None:
        self.sketch_key = None if key is None else caller_key(key)
        self.sketch_size = None if size is None else check_integer("sketch_size", size, 1)

    @property
    def n_nodes(self) -> int:
        """Number of nodes N, isolated ones included."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Number of pairs of nodes with an edge between them, in one direction or both."""
        _, _, has_reverse = reverse_edges(self.indptr, self.indices)
        return len(has_reverse) - int(has_reverse.sum()) // 2

    @property
    def adjacency(self) -> Any:
        """The adjacency matrix A as a SciPy CSR array of shape (N, N), without self loops."""
        data = np.ones(len(self.indices)) if self.weights is None else self.weights
        return sparse.csr_array((data, self.indices, self.indptr), shape=(self.n_nodes, self.n_nodes), copy=True)

    @property
    def degrees(self) -> Ints:
        """Number of neighbours |N(u)| of each node, the node itself not counted, weights ignored."""
        return np.diff(self.indptr)

    def __repr__(self) -> str:
        features = "" if self.features is None else f", features={self.features.shape[1]}"
        labels = "" if self.labels is None else ", labels"
        descriptors = "".join(f", {name}={row.shape[-1]}" for name, row in self.descriptors.items())
        return f"Graph(n_nodes={self.n_nodes}, n_edges={self.n_edges}{features}{labels}{descriptors})"


def _check_weights(weights: ArrayLike, n_edges: int) -> Array:
    try:
        array: Array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("weights must be numbers, one for each edge.") from None
    if array.shape != (n_edges,):
        raise InputError(f"weights must have one entry for each of the {n_edges} edges, but has shape {array.shape}.")
    return array


def check_features(features: ArrayLike, n_nodes: int, node_name: Callable[[int], str] = "node {}".format) -> Any:
    """Return features as float64 of shape (N, d), dense or CSR; ``node_name`` names a node in error messages."""
    array: Any
    if sparse.issparse(features):
        array = sparse.csr_array(features, dtype=np.float64, copy=True)
    else:
        try:
            array = np.array(features, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                "features must be numbers, one row of equal length for each node; pass discrete values as labels=."
            ) from None
    if array.ndim != 2:
        raise InputError(
            f"features must have shape (nodes, width), but has shape {array.shape}; pass discrete values as "
            "labels=, or a single number for each node as a column."
        )
    if array.shape[0] != n_nodes:
        raise InputError(f"features has {array.shape[0]} rows, but the graph has {n_nodes} nodes.")
    if not np.isfinite(array.data if sparse.issparse(array) else array).all():
        dense = array.toarray() if sparse.issparse(array) else array
        node, column = np.argwhere(~np.isfinite(dense))[0].tolist()
        raise InputError(
            f"{node_name(node)} has the feature value {dense[node, column]} in column {column}; features must be "
            "finite: fill in or drop missing values first."
        )
    return array


def check_node_scale(values: ArrayLike, n_nodes: int, node_name: Callable[[int], str] = "node {}".format) -> Array:
    """Return a copy of the scale c_u of each node as float64, (N,); ``node_name`` names a node in error messages."""
    try:
        array: Array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("node_scale must be numbers, one for each node.") from None
    if array.shape != (n_nodes,):
        raise InputError(
            f"node_scale must have one entry for each of the {n_nodes} nodes, but has shape {array.shape}."
        )
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(wrong):
        node = int(wrong[0])
        raise InputError(
            f"{node_name(node)} has the scale {array[node]}; every node_scale must be finite and 0 or more."
        )
    return array


def check_labels(labels: Any, count: int, of: Literal["node", "edge"] = "node") -> NDArray[Any]:
    """Return a copy of labels as int64 or strings, (count,); labels of nodes may have several columns."""
    name, instead = {
        "node": ("labels", "continuous values as features="),
        "edge": ("edge_labels", "one number for each edge as weights="),
    }[of]
    if isinstance(labels, np.ndarray) and labels.dtype.kind != "O":
        array = labels
    else:
        try:
            items = list(labels)
            array = np.array(items) if items else np.zeros(0, dtype=np.int64)
        except (TypeError, ValueError):
            raise InputError(f"{name} must be a sequence with one integer or string for each {of}.") from None
        if len({isinstance(item, str) for item in items}) > 1:
            raise InputError(f"{name} must be all integers or all strings, but contains both.")
    if array.shape[:1] != (count,) or array.ndim > (2 if of == "node" else 1):
        raise InputError(f"{name} must have one entry for each of the {count} {of}s, but has shape {array.shape}.")
    if array.dtype.kind == "U":
        return array.copy()
    if array.dtype.kind not in "buif":
        raise InputError(f"{name} must be integers or strings, but has dtype {array.dtype}.")
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64)
    # Compared in the given type, so that neither fractions nor numbers beyond 64 bits pass.
    if np.array_equal(whole.astype(array.dtype), array) and (array.dtype.kind != "u" or (whole >= 0).all()):
        return whole
    raise InputError(f"{name} must be integers or strings; pass {instead}.")
