"""Graphs and fitted node features as plain arrays, and back.

What comes back is checked to the last index: compiled loops trust the arrays of a batch, so an index out of range in
a hand-made file would read memory that is not its own. A right checksum proves nothing about that.
"""

from collections.abc import Mapping
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Int32s, Ints
from fastgntk.errors import InputError
from fastgntk.graphs import EdgeTypes, FeatureKind, GraphBatch, NodeFeatures

__all__ = [
    "pack_edge_types",
    "pack_features",
    "pack_graphs",
    "unpack_edge_types",
    "unpack_features",
    "unpack_graphs",
]

Arrays = Mapping[str, NDArray[Any]]

_GRAPHS = "graphs."
_REQUIRED = ("offsets", "indptr", "indices", "self_loops")
_OPTIONAL = ("weights", "labels", "edge_labels")
_SPARSE = ("features.data", "features.indices", "features.indptr", "features.shape")
_EDGE_TYPES = {False: "edge_types.whole", True: "edge_types.text"}  # by whether labels are text
_NO_MODEL = "the model is damaged or was not saved by fastgntk"
_MOST_COLUMNS = 2**31 - 1  # compiled loops count columns with 32 bits


def pack_graphs(batch: GraphBatch) -> dict[str, NDArray[Any]]:
    """Return the arrays of a batch, under names that begin with ``graphs.``; nothing is copied.

    A batch that could not be unpacked again is refused here, before it is in a file.
    """
    packed = {name: getattr(batch, name) for name in _REQUIRED + _OPTIONAL if getattr(batch, name) is not None}
    features = batch.features
    if sparse.issparse(features):
        parts = (features.data, features.indices, features.indptr, np.array(features.shape, dtype=np.int64))
        packed |= dict(zip(_SPARSE, parts, strict=True))
    elif features is not None:
        packed["features"] = features
    arrays = {_GRAPHS + name: array for name, array in packed.items()}
    try:
        _assemble(arrays)
    except InputError as error:
        raise InputError(f"these graphs cannot be saved: {error}; build them with fastgntk.as_graphs.") from None
    return arrays


def unpack_graphs(arrays: Arrays) -> GraphBatch:
    """Return the batch that :func:`pack_graphs` packed; anything wrong with its arrays is an error.

    Arrays under other names than ``graphs.…`` are left alone. Memory is shared where possible. Costs a few passes
    over the arrays.
    """
    try:
        return _assemble(arrays)
    except InputError as error:
        raise InputError(f"{error}; {_NO_MODEL}.") from None


def pack_features(step: NodeFeatures, prefix: str = "features.") -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return fitted node features as a JSON document and arrays: ``features.categories.0``, ``features.columns.0``, ….

    Examples
    --------
    >>> from fastgntk.graphs import Graph
    >>> step = NodeFeatures().fit([Graph.from_edges([(0, 1)], 2, labels=["C", "O"])])
    >>> pack_features(step)[0]
    {'kind': 'auto', 'fitted_kind': 'labels', 'width': 2, 'categories': 1}
    """
    if not hasattr(step, "kind_"):
        raise InputError("these node features are not fitted; call fit(graphs) first.")
    document = {
        "kind": step.kind,
        "fitted_kind": step.kind_,
        "width": int(step.width_),
        "categories": len(step.categories_),
    }
    arrays = {f"{prefix}categories.{i}": categories for i, categories in enumerate(step.categories_)}
    arrays |= {f"{prefix}columns.{i}": columns for i, columns in enumerate(step.columns_)}
    unpack_features(document, arrays, prefix)
    return document, arrays


def unpack_features(document: Any, arrays: Arrays, prefix: str = "features.") -> NodeFeatures:
    """Return the fitted node features that :func:`pack_features` packed; anything wrong with them is an error."""
    if not isinstance(document, dict):
        raise InputError(f"the node features must be described by a JSON object; {_NO_MODEL}.")
    kind, fitted = (_known_kind(document.get(name)) for name in ("kind", "fitted_kind"))
    if fitted == "auto" or kind not in ("auto", fitted):
        raise InputError(f"the node features are of kind {kind!r} but were fitted as {fitted!r}; {_NO_MODEL}.")
    width, count = document.get("width"), document.get("categories")
    if type(width) is not int or not 0 <= width <= _MOST_COLUMNS:
        raise InputError(f"the width of the node features must be a whole number, 0 or more; {_NO_MODEL}.")
    categories, columns = (_numbered(arrays, f"{prefix}{part}.", count) for part in ("categories", "columns"))
    if len(categories) > {"attributes": 0, "degree": 1}.get(fitted, len(categories)):
        raise InputError(f"node features of kind {fitted} cannot have {count} lists of categories; {_NO_MODEL}.")
    for i, (known, places) in enumerate(zip(categories, columns, strict=True)):
        _check_categories(known, f"{prefix}categories.{i}", degrees=fitted == "degree")
        if not (isinstance(places, np.ndarray) and places.dtype == np.int64 and places.shape == known.shape):
            raise InputError(f"the array {prefix}columns.{i} must hold one integer for each category; {_NO_MODEL}.")
    # Columns become indices of a sparse matrix, so each must be there once, and none outside.
    places = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *columns]))
    before = width - len(places) if fitted == "all" else 0  # columns of attributes
    if fitted != "attributes" and not (before >= 0 and np.array_equal(places, np.arange(before, width))):
        raise InputError(f"the categories of the node features do not fill {width} columns; {_NO_MODEL}.")
    step = NodeFeatures(kind)
    step.kind_, step.width_, step.categories_, step.columns_ = fitted, width, categories, columns
    return step


def pack_edge_types(types: EdgeTypes) -> dict[str, NDArray[Any]]:
    """Return the labels of edges and their numbers: ``edge_types.whole``, ``edge_types.whole.numbers``, ….

    >>> sorted(pack_edge_types(EdgeTypes().extend(np.array([7, 3]))))
    ['edge_types.whole', 'edge_types.whole.numbers']
    """
    arrays = {}
    for is_text, (known, numbers) in types.known.items():
        arrays[_EDGE_TYPES[is_text]], arrays[f"{_EDGE_TYPES[is_text]}.numbers"] = known, numbers
    return arrays


def unpack_edge_types(arrays: Arrays) -> EdgeTypes:
    """Return the types that :func:`pack_edge_types` packed; other arrays are ignored."""
    known = {}
    for is_text, name in _EDGE_TYPES.items():
        if name in arrays:
            labels, numbers = arrays[name], arrays.get(f"{name}.numbers")
            _check_categories(labels, name, degrees=False)
            fits = numbers is not None and numbers.dtype == np.int64 and numbers.shape == labels.shape
            if numbers is None or not fits or is_text != (labels.dtype.kind == "U"):
                raise InputError(f"the array {name} must hold labels, with a number for each; {_NO_MODEL}.")
            known[is_text] = labels, numbers
    types = EdgeTypes(known)
    places = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *(numbers for _, numbers in known.values())]))
    if not np.array_equal(places, np.arange(len(types))):
        raise InputError(f"the types of edges are not numbered as they should be; {_NO_MODEL}.")
    return types


def _numbered(arrays: Arrays, prefix: str, count: Any) -> list[NDArray[Any]]:
    """Return the arrays prefix0, prefix1, …, if they are as many as they should be."""
    names = {name for name in arrays if name.startswith(prefix)}
    # Compared as numbers first: a count is not to be turned into names before it is known to be small.
    if type(count) is not int or count != len(names) or names != {f"{prefix}{i}" for i in range(count)}:
        raise InputError(f"the arrays {prefix}… are not as many as the node features need; {_NO_MODEL}.")
    return [arrays[f"{prefix}{i}"] for i in range(count)]


def _known_kind(kind: Any) -> FeatureKind:
    for known in get_args(FeatureKind):
        if kind == known:
            return cast(FeatureKind, known)
    raise InputError(f"the node features are of no known kind; {_NO_MODEL}.")


def _assemble(arrays: Arrays) -> GraphBatch:
    """Check the arrays one after the other, each against those before it, and make the batch."""
    given = {name.removeprefix(_GRAPHS): array for name, array in arrays.items() if name.startswith(_GRAPHS)}
    unknown = sorted(set(given) - {*_REQUIRED, *_OPTIONAL, *_SPARSE, "features"})
    if unknown:
        raise InputError(f"the array graphs.{unknown[0]} belongs to no batch of graphs")
    missing = [name for name in _REQUIRED if name not in given]
    if missing:
        raise InputError(f"the array graphs.{missing[0]} is missing")
    offsets, indptr, indices = given["offsets"], given["indptr"], given["indices"]
    _check(offsets, "offsets", np.int64, (None,))
    _check_pointers(offsets, "offsets")
    n_graphs, n_nodes = len(offsets) - 1, int(offsets[-1])
    _check(indptr, "indptr", np.int64, (n_nodes + 1,))
    _check_pointers(indptr, "indptr")
    n_entries = int(indptr[-1])
    _check(indices, "indices", np.int32, (n_entries,))
    _check_neighbours(offsets, indptr, indices)
    _check(given["self_loops"], "self_loops", np.int64, (n_graphs,))
    _require(bool(np.all(given["self_loops"] >= 0)), "self_loops", "must hold counts, 0 or more")
    if "weights" in given:
        _check(given["weights"], "weights", np.float64, (n_entries,))
    if "edge_labels" in given:
        _check_labels(given["edge_labels"], "edge_labels", n_entries, "entries of indices", dimensions=(1,))
    if "labels" in given:
        _check_labels(given["labels"], "labels", n_nodes, "nodes", dimensions=(1, 2))
    return GraphBatch(
        offsets=offsets,
        indptr=indptr,
        indices=indices,
        weights=given.get("weights"),
        features=_features(given, n_nodes),
        labels=given.get("labels"),
        edge_labels=given.get("edge_labels"),
        self_loops=given["self_loops"],
    )


def _require(holds: bool, name: str, what: str) -> None:
    if not holds:
        raise InputError(f"the array graphs.{name} {what}")


def _check(array: Any, name: str, dtype: type[np.generic], shape: tuple[int | None, ...]) -> None:
    """Compare dtype and shape, where None is any length, and refuse numbers that are not finite."""
    fits = (
        isinstance(array, np.ndarray)
        and array.dtype == dtype
        and array.ndim == len(shape)
        and all(wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True))
    )
    if not fits:
        lengths = ", ".join("any" if length is None else str(length) for length in shape)
        _require(False, name, f"must have dtype {np.dtype(dtype)} and shape ({lengths})")
    if array.dtype.kind == "f":
        _require(bool(np.isfinite(array).all()), name, "must hold finite numbers")


def _check_pointers(pointers: NDArray[Any], name: str) -> None:
    # Compared and not subtracted: the difference of two hostile numbers can overflow and look harmless.
    grows = len(pointers) > 0 and pointers[0] == 0 and bool(np.all(pointers[1:] >= pointers[:-1]))
    _require(grows, name, "must start at 0 and never fall")


def _check_neighbours(offsets: Ints, indptr: Ints, indices: Int32s) -> None:
    """Refuse neighbours outside of their graph, and rows that are not in the one form that all graphs here have."""
    sizes, degrees = np.diff(offsets), np.diff(indptr)
    size_of_node = np.repeat(sizes, sizes)
    in_range = (indices >= 0) & (indices < np.repeat(size_of_node, degrees))
    _require(bool(in_range.all()), "indices", "points outside of its graph")
    own = np.arange(len(size_of_node)) - np.repeat(offsets[:-1], sizes)
    _require(bool(np.all(indices != np.repeat(own, degrees))), "indices", "must not hold self loops")
    rises = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(indices))] - 1] = True  # where a new row begins, anything goes
    _require(bool(rises.all()), "indices", "must list the neighbours of each node in order, each once")


def _check_labels(labels: Any, name: str, count: int, of: str, *, dimensions: tuple[int, ...]) -> None:
    fits = (
        isinstance(labels, np.ndarray)
        and (labels.dtype == np.int64 or labels.dtype.kind == "U")
        and labels.ndim in dimensions
        and labels.shape[0] == count
    )
    _require(fits, name, f"must hold integers or strings, one row for each of the {count} {of}")


def _features(given: Arrays, n_nodes: int) -> Any:
    present = [name for name in _SPARSE if name in given]
    if "features" in given:
        _require(not present, "features", "comes both dense and sparse")
        _check(given["features"], "features", np.float64, (n_nodes, None))
        _require(given["features"].shape[1] <= _MOST_COLUMNS, "features", f"must have at most {_MOST_COLUMNS} columns")
        return given["features"]
    if not present:
        return None
    for name in _SPARSE:
        _require(name in given, name, "is missing")
    data, columns, pointers, shape = (given[name] for name in _SPARSE)
    _check(shape, "features.shape", np.int64, (2,))
    height, width = shape.tolist()
    _require(height == n_nodes and 0 <= width <= _MOST_COLUMNS, "features.shape", f"must be ({n_nodes}, width)")
    index_type = np.int64 if getattr(columns, "dtype", None) == np.int64 else np.int32  # SciPy has both
    _check(pointers, "features.indptr", index_type, (n_nodes + 1,))
    _check_pointers(pointers, "features.indptr")
    _check(columns, "features.indices", index_type, (int(pointers[-1]),))
    _check(data, "features.data", np.float64, (int(pointers[-1]),))
    _require(bool(np.all((columns >= 0) & (columns < width))), "features.indices", f"must lie in 0..{width - 1}")
    return sparse.csr_array((data, columns, pointers), shape=(height, width))


def _check_categories(column: Any, name: str, *, degrees: bool) -> None:
    fits = (
        isinstance(column, np.ndarray)
        and column.ndim == 1
        and (column.dtype == np.int64 or (column.dtype.kind == "U" and not degrees))
        and bool(np.all(column[1:] > column[:-1]))  # they are looked up by bisection
        and not (degrees and len(column) and column[0] < 0)
    )
    if not fits:
        raise InputError(f"the array {name} must hold integers or strings in order, each once; {_NO_MODEL}.")
