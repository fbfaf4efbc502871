"""Keys of graphs, from which their sketches are drawn: digests of the content, or numbers and names of the caller.

A digest is of the graph as given. Features and edge types that are encoded for a kernel depend on the other graphs that
the encoder was fitted on, and would give one graph different sketches in training and in prediction.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Ints
from fastgntk.errors import InputError

if TYPE_CHECKING:
    from fastgntk.graphs._batch import GraphBatch

__all__ = ["Keys", "caller_key", "caller_keys", "check_sketch_sizes", "content_keys"]

Keys = NDArray[np.uint64]
"""Keys of n graphs, 128 bits each, (n, 2)."""

_Part = Callable[[Any], Iterable[Any]]


def content_keys(batch: "GraphBatch") -> Keys:
    """Return the keys of all graphs (n, 2): those of the caller, or else digests of the graphs.

    A digest covers nodes, edges, weights, node labels, features and edge labels, in the order of the nodes; not
    ``node_scale``, which kernels of other scales have to ignore. It depends on values alone: not on the other graphs,
    on the width of integers or strings, on dense or sparse storage, nor on the sign of a zero. Weights that are all 1
    count as none. Costs some 30 µs for each graph.

    >>> from fastgntk.graphs import Graph, GraphBatch
    >>> edge, other = (Graph.from_edges([(0, 1)], 2, labels=labels) for labels in (["C", "C"], ["C", "O"]))
    >>> keys = content_keys(GraphBatch.from_graphs([edge, other, edge]))
    >>> [bool((keys[0] == key).all()) for key in keys]
    [True, False, True]
    """
    if batch.sketch_keys is not None:
        return batch.sketch_keys
    features = None if batch.features is None else _canonical(batch.features)
    nodes, edges = batch.offsets, batch.indptr[batch.offsets]
    # Name of a part, its values, the rows of each graph, and the function that makes its bytes independent of storage.
    parts: list[tuple[bytes, Any, Any, _Part]] = [
        (b"degrees", batch.degrees, nodes, _integers),
        (b"indices", batch.indices, edges, _integers),
        (b"weights", batch.weights, edges, _factors),
        (b"labels", batch.labels, nodes, _labels),
        (b"edge labels", batch.edge_labels, edges, _labels),
        (b"features", features, nodes, _entries),
    ]
    present = [part for part in parts if part[1] is not None]
    keys = np.empty((len(batch), 2), dtype=np.uint64)
    for i in range(len(batch)):
        digest = hashlib.blake2b(digest_size=16, person=b"content")
        for name, values, offsets, canonical in present:
            if offsets[i] == offsets[i + 1]:  # a graph without edges may have edge labels because other graphs do
                continue
            for array in canonical(values[int(offsets[i]) : int(offsets[i + 1])]):
                digest.update(b"%s %s %d %s;" % (name, array.dtype.str.encode(), array.ndim, str(array.shape).encode()))
                digest.update(np.ascontiguousarray(array).tobytes())
        keys[i] = np.frombuffer(digest.digest(), dtype="<u8")
    return keys


def caller_key(key: Any, name: str = "sketch_key") -> Keys:
    """Return the key (2,) for an integer or a string; 7 and "7" are different keys."""
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        text = f"integer {int(key)}"
    elif isinstance(key, str):
        text = f"string {key}"
    else:
        raise InputError(f"{name} must be an integer or a string, but is {key!r}.")
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=b"caller")
    return np.frombuffer(digest.digest(), dtype="<u8").astype(np.uint64)


def caller_keys(keys: Any, count: int) -> Keys:
    """Return the keys (count, 2) for a sequence of integers or strings."""
    if isinstance(keys, str) or not isinstance(keys, Sequence | np.ndarray):
        raise InputError(f"sketch_keys must be a sequence of integers or strings, but is {keys!r}.")
    if len(keys) != count:
        raise InputError(f"sketch_keys must have one entry for each of the {count} graphs, but has {len(keys)}.")
    made = [caller_key(key, f"the sketch key of graph {i}") for i, key in enumerate(keys)]
    return np.array(made, dtype=np.uint64).reshape(count, 2)


def check_sketch_sizes(sizes: Any, count: int) -> Ints:
    """Return the numbers of rows (count,) as int64."""
    try:
        array = np.asarray(sizes)
    except ValueError:
        raise InputError("sketch_sizes must be integers, one for each graph.") from None
    if array.shape != (count,):
        raise InputError(
            f"sketch_sizes must have one entry for each of the {count} graphs, but has shape {array.shape}."
        )
    if count and array.dtype.kind not in "iu":
        raise InputError(f"sketch_sizes must be integers, but has dtype {array.dtype}.")
    if (array < 1).any():
        i = int(np.flatnonzero(array < 1)[0])
        raise InputError(f"sketch_sizes must be 1 or more, but is {array[i]} for graph {i}.")
    return array.astype(np.int64)


def _integers(values: Any) -> Iterable[Any]:
    yield values.astype("<i8")


def _factors(values: Any) -> Iterable[Any]:
    """Yield numbers that default to 1, unless they all are."""
    if not (values == 1.0).all():
        yield values.astype("<f8") + 0.0


def _labels(values: Any) -> Iterable[Any]:
    """Yield labels with one column or several; strings as wide as the longest of this graph."""
    rows = values.reshape(len(values), -1)
    yield np.array(rows.tolist()).astype("<U") if rows.dtype.kind == "U" else rows.astype("<i8")


def _entries(rows: Any) -> Iterable[Any]:
    """Yield the width of features, and positions and values of those that are not 0."""
    if sparse.issparse(rows):
        positions, values = (
            rows.indices + rows.shape[1] * np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)),
            rows.data,
        )
    else:
        positions = np.flatnonzero(rows)
        values = rows.ravel()[positions]
    yield np.array([rows.shape[1]], dtype="<i8")
    yield positions.astype("<i8")
    yield values.astype("<f8")


def _canonical(features: Any) -> Any:
    """Return features whose rows can be compared: a CSR array with sorted columns, without duplicates and zeros."""
    if not sparse.issparse(features):
        return features
    out = sparse.csr_array(features, copy=True)
    out.sum_duplicates()
    out.eliminate_zeros()
    return out
