"""Describe a set of graphs: sizes, attributes of nodes and edges, and graphs that no kernel can distinguish."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from fastgntk.engines import indistinguishable_graphs
from fastgntk.errors import InputError
from fastgntk.graphs import Description, EqualGraphs, FeatureKind, GraphBatch, NodeFeatures, Spread, as_graphs

__all__ = ["describe"]


def describe(graphs: Any, y: ArrayLike | None = None, *, features: FeatureKind = "auto") -> Description:
    """Summarise graphs, find equal ones, and bound the score that any model can reach on targets ``y``.

    Two graphs are equal if colour refinement (1-WL) cannot distinguish them: nodes start with the features of the
    kernel (``features``, as in :class:`fastgntk.GNTK`) and their ``node_scale``, if there is one, and each round takes
    their neighbours with the edge weights into account, until no round separates more nodes. All message-passing
    methods give equal graphs equal values, so equal graphs with different targets bound their scores: integers and text
    are classes and bound the accuracy; real numbers bound the root mean square error.

    Examples
    --------
    >>> import fastgntk as fg
    >>> ring = fg.Graph.from_edges([(i, (i + 1) % 6) for i in range(6)], 6)
    >>> triangles = fg.Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], 6)
    >>> about = fg.describe([ring, triangles, ring, ring], ["one", "two", "one", "one"])
    >>> about.components, about.equal.duplicates, about.equal.best_accuracy
    (5, 3, 0.75)
    """
    batch = as_graphs(graphs)
    targets = None if y is None else _targets(y, len(batch))
    step = NodeFeatures(features).fit(batch)
    ready = step.transform(batch)
    pattern = _pattern(batch)
    transposed = pattern.tocsc()
    mutual = np.array_equal(pattern.indices, transposed.indices) and np.array_equal(pattern.indptr, transposed.indptr)
    pairs = pattern if mutual else (pattern + pattern.T).tocsr()
    edges = np.diff(pairs.indptr[batch.offsets]) // 2
    # If every edge has its counterpart, strong components equal weak ones, and need no second copy of the edges.
    count, component = connected_components(pattern, connection="strong" if mutual else "weak")
    first = np.full(count, batch.n_nodes)
    np.minimum.at(first, component, np.arange(batch.n_nodes))
    components = np.bincount(batch.graph_of_node[first], minlength=len(batch))
    return Description(
        graphs=len(batch),
        nodes=batch.n_nodes,
        edges=int(edges.sum()),
        directed=not mutual or not _same_both_ways(batch),
        weighted=batch.weights is not None and bool(np.any(batch.weights != 1)),
        self_loops=int(batch.self_loops.sum()),
        nodes_per_graph=_spread(batch.sizes),
        edges_per_graph=_spread(edges),
        neighbours_per_node=_spread(batch.degrees),
        isolated_nodes=int(np.sum(np.diff(pairs.indptr) == 0)),
        graphs_without_edges=int(np.sum(edges == 0)),
        components=int(count),
        connected_graphs=int(np.sum(components == 1)),
        node_labels=0 if batch.labels is None else len(np.unique(batch.labels, axis=0)),
        node_attributes=0 if batch.features is None else int(batch.features.shape[1]),
        descriptors={name: int(block.shape[1]) for name, block in batch.descriptors.items()},
        node_scale=batch.node_scale is not None,
        edge_labels=0 if batch.edge_labels is None else len(np.unique(batch.edge_labels)),
        features=step.kind_,
        equal=_equal(ready, targets, uses_edge_labels=False),
        equal_typed=None if batch.edge_labels is None else _equal(ready, targets, uses_edge_labels=True),
    )


def _pattern(batch: GraphBatch) -> Any:
    """Return the block-diagonal edge pattern, with small dtypes because data sets have millions of edges."""
    index = np.int32 if max(batch.n_nodes, len(batch.indices)) < 2**31 else np.int64
    columns = np.repeat(np.repeat(batch.offsets[:-1].astype(index), batch.sizes), batch.degrees) + batch.indices
    ones = np.ones(len(columns), dtype=np.int8)
    pattern = sparse.csr_array((ones, columns, batch.indptr.astype(index)), shape=(batch.n_nodes, batch.n_nodes))
    pattern.sort_indices()
    return pattern


def _same_both_ways(batch: GraphBatch) -> bool:
    """Return whether weights are symmetric; edges must be."""
    if batch.weights is None:
        return True
    matrix = batch.adjacency()
    matrix.sort_indices()
    return bool(np.array_equal(matrix.data, matrix.tocsc().data))


def _spread(values: NDArray[np.integer]) -> Spread:
    if not len(values):
        return Spread(0, 0.0, 0.0, 0)
    return Spread(int(values.min()), float(np.median(values)), float(values.mean()), int(values.max()))


def _targets(y: ArrayLike, count: int) -> NDArray[Any]:
    targets: NDArray[Any] = np.asarray(y)
    if targets.dtype.kind == "O":
        targets = targets.astype(str)
    if targets.ndim not in (1, 2) or len(targets) != count:
        raise InputError(f"y must have one entry for each of the {count} graphs, but has shape {targets.shape}.")
    if targets.dtype.kind == "f" and not np.isfinite(targets).all():
        raise InputError("y must be finite; leave out graphs without a target.")
    return targets


def _equal(ready: GraphBatch, targets: NDArray[Any] | None, *, uses_edge_labels: bool) -> EqualGraphs | None:
    result = indistinguishable_graphs(
        ready, uses_edge_labels=uses_edge_labels, uses_node_scale=ready.node_scale is not None
    )
    if result is None:
        return None
    first_equal, rounds = result
    classes, class_of_graph, sizes = np.unique(first_equal, return_inverse=True, return_counts=True)
    shared = sizes > 1
    duplicates, repeated, n_graphs = len(first_equal) - len(classes), int(shared.sum()), int(sizes[shared].sum())
    if targets is None or not len(first_equal):
        return EqualGraphs(duplicates, repeated, n_graphs, rounds)
    # Each distinct target of each class of equal graphs, and the number of graphs of the class with this target.
    _, value = np.unique(targets, axis=0, return_inverse=True)
    base = int(value.max(initial=0)) + 1
    pairs, votes = np.unique(class_of_graph * base + value.ravel(), return_counts=True)
    owner = pairs // base
    contradictory = int(sizes[np.bincount(owner, minlength=len(classes)) > 1].sum())
    if targets.dtype.kind != "f":
        majority = np.zeros(len(classes), dtype=np.int64)
        np.maximum.at(majority, owner, votes)
        best = float(majority.sum() / len(first_equal))
        return EqualGraphs(duplicates, repeated, n_graphs, rounds, contradictory, best_accuracy=best)
    columns = targets.astype(np.float64).reshape(len(first_equal), -1)
    means = np.zeros((len(classes), columns.shape[1]))
    np.add.at(means, class_of_graph, columns)
    squares = (columns - (means / sizes[:, None])[class_of_graph]) ** 2
    errors = tuple(float(error) for error in np.sqrt(squares.mean(axis=0)))
    return EqualGraphs(duplicates, repeated, n_graphs, rounds, contradictory, least_error=errors)
