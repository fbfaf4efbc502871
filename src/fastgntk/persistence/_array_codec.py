"""Graphs and fitted node features as plain arrays, and back.

What comes back is checked to the last index: compiled loops trust the arrays of a batch, so an index out of range in
a hand-made file would read memory that is not its own. A right checksum proves nothing about that.
"""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Int32s, Ints
from fastgntk.errors import InputError
from fastgntk.graphs import EdgeTypes, FeatureKind, GraphBatch, NodeFeatures
from fastgntk.persistence._schema import Arrays, Entry, Part, check_document, check_parts

__all__ = [
    "pack_edge_types",
    "pack_features",
    "pack_graphs",
    "unpack_edge_types",
    "unpack_features",
    "unpack_graphs",
]

_FIELDS = ("offsets", "indptr", "indices", "weights", "labels", "edge_labels", "self_loops")
_SPARSE = ("features.data", "features.indices", "features.indptr", "features.shape")
_GRAPHS = [f"graphs.{name}" for name in (*_FIELDS, *_SPARSE, "features")]
_EDGE_TYPES = {False: "edge_types.whole", True: "edge_types.text"}  # by whether labels are strings
_LABELS = "int64 or str"
_MAX_COLUMNS = 2**31 - 1  # compiled loops count columns with 32 bits

_KIND = Entry(str, f"one of {', '.join(get_args(FeatureKind))}", lambda kind: kind in get_args(FeatureKind))
_FEATURES = {
    "kind": _KIND,
    "fitted_kind": _KIND,
    "width": Entry(int, f"a whole number in 0..{_MAX_COLUMNS}", lambda width: 0 <= width <= _MAX_COLUMNS),
    "categories": Entry(int, "a number of arrays", lambda count: count >= 0),
}


def pack_graphs(batch: GraphBatch) -> Arrays:
    """Return the arrays of a batch, under names that begin with ``graphs.``; nothing is copied.

    A batch that could not be unpacked again is refused here, before it is in a file.
    """
    packed = {name: getattr(batch, name) for name in _FIELDS}
    features = batch.features
    if sparse.issparse(features):
        parts = (features.data, features.indices, features.indptr, np.array(features.shape, dtype=np.int64))
        packed |= dict(zip(_SPARSE, parts, strict=True))
    else:
        packed["features"] = features
    arrays = {f"graphs.{name}": array for name, array in packed.items() if array is not None}
    try:
        unpack_graphs(arrays)
    except InputError as error:
        raise InputError(f"these graphs cannot be saved: {error} Build them with fastgntk.as_graphs.") from None
    return arrays


def unpack_graphs(arrays: Mapping[str, NDArray[Any]]) -> GraphBatch:
    """Return the batch that :func:`pack_graphs` packed; inconsistent arrays raise an :class:`InputError`.

    Arrays are checked one after the other, each against those before it, in a few passes over them. Arrays under other
    names than ``graphs.…`` are ignored. Memory is shared where possible.
    """
    unknown = sorted(name for name in arrays if name.startswith("graphs.") and name not in _GRAPHS)
    if unknown:
        raise InputError(f"the array {unknown[0]} belongs to no batch of graphs.")
    offsets = _check_pointers(arrays, "graphs.offsets", Part("any", "int64"), {})
    sizes = {"graphs": len(offsets) - 1, "nodes": int(offsets[-1]), "nodes+1": int(offsets[-1]) + 1}
    indptr = _check_pointers(arrays, "graphs.indptr", Part("nodes+1", "int64"), sizes)
    sizes["entries"] = int(indptr[-1])
    required = {"graphs.indices": Part("entries", "int32"), "graphs.self_loops": Part("graphs", "int64", minimum=0)}
    indices, _ = check_parts(arrays, required, sizes)
    _check_neighbours(offsets, indptr, indices)
    one_label = arrays.get("graphs.labels", offsets).ndim == 1
    optional = {
        "graphs.weights": Part("entries"),
        "graphs.edge_labels": Part("entries", _LABELS),
        "graphs.labels": Part("nodes" if one_label else "nodes any", _LABELS),
    }
    check_parts(arrays, {name: part for name, part in optional.items() if name in arrays}, sizes)
    fields = {name: arrays.get(f"graphs.{name}") for name in _FIELDS}
    return GraphBatch(**fields, features=_unpack_node_features(arrays, sizes))  # type: ignore[arg-type]  # checked above


def pack_features(step: NodeFeatures, prefix: str = "features.") -> tuple[dict[str, Any], Arrays]:
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


def unpack_features(document: Any, arrays: Mapping[str, NDArray[Any]], prefix: str = "features.") -> NodeFeatures:
    """Return the node features that :func:`pack_features` packed; inconsistent ones raise an :class:`InputError`."""
    if not isinstance(document, dict):
        raise InputError("its node features must be described by a JSON object.")
    kind, fitted, width, count = check_document(document, _FEATURES)
    if fitted == "auto" or kind not in ("auto", fitted):
        raise InputError(f"its node features are of kind {kind!r} but were fitted as {fitted!r}.")
    # Compared as numbers: the count is not turned into names before it is known to be small.
    if 2 * count != sum(name.startswith(prefix) for name in arrays):
        raise InputError(f"the arrays {prefix}… are not as many as the node features need.")
    if count > {"attributes": 0, "degree": 1}.get(fitted, count):
        raise InputError(f"node features of kind {fitted} cannot have {count} lists of categories.")
    part = Part("any", "int64", minimum=0) if fitted == "degree" else Part("any", _LABELS)
    step = NodeFeatures(kind)
    step.kind_, step.width_, step.categories_, step.columns_ = fitted, width, [], []
    for i in range(count):
        categories, columns = _unpack_categories(arrays, f"{prefix}categories.{i}", f"{prefix}columns.{i}", part)
        step.categories_.append(categories)
        step.columns_.append(columns)
    # Columns become indices of a sparse matrix, so each must be there once, and none outside.
    first = step.attributes_width_
    if fitted != "attributes" and (first < 0 or not _count_up(step.columns_, first, width)):
        raise InputError(f"the categories of its node features do not fill {width} columns.")
    return step


def pack_edge_types(types: EdgeTypes) -> Arrays:
    """Return the labels of edges and their numbers: ``edge_types.whole``, ``edge_types.whole.numbers``, ….

    >>> sorted(pack_edge_types(EdgeTypes().extend(np.array([7, 3]))))
    ['edge_types.whole', 'edge_types.whole.numbers']
    """
    arrays = {}
    for is_text, (labels, numbers) in types.known.items():
        arrays[_EDGE_TYPES[is_text]], arrays[f"{_EDGE_TYPES[is_text]}.numbers"] = labels, numbers
    return arrays


def unpack_edge_types(arrays: Mapping[str, NDArray[Any]]) -> EdgeTypes:
    """Return the types that :func:`pack_edge_types` packed; other arrays are ignored."""
    types = EdgeTypes(
        {
            is_text: _unpack_categories(arrays, name, f"{name}.numbers", Part("any", "str" if is_text else "int64"))
            for is_text, name in _EDGE_TYPES.items()
            if name in arrays
        }
    )
    if not _count_up((numbers for _, numbers in types.known.values()), 0, len(types)):
        raise InputError("its types of edges are not numbered 0, 1, 2, ….")
    return types


def _unpack_categories(
    arrays: Mapping[str, NDArray[Any]], name: str, name_of_numbers: str, part: Part
) -> tuple[NDArray[Any], Ints]:
    """Return categories, which must be sorted because they are looked up by bisection, and the number of each."""
    (categories,) = check_parts(arrays, {name: part}, {})
    if not np.all(categories[1:] > categories[:-1]):
        raise InputError(f"the array {name} must hold labels in order, each once.")
    (numbers,) = check_parts(arrays, {name_of_numbers: Part("n", "int64")}, {"n": len(categories)})
    return categories, numbers


def _count_up(numbers: Iterable[Ints], start: int, stop: int) -> bool:
    """Return whether these are the numbers from ``start`` to ``stop``, each once, in any order."""
    together = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *numbers]))
    # Lengths are compared first: a file can claim a ``stop`` for which memory is too small.
    return len(together) == stop - start and np.array_equal(together, np.arange(start, stop))


def _check_pointers(arrays: Mapping[str, NDArray[Any]], name: str, part: Part, sizes: dict[str, int]) -> Any:
    (pointers,) = check_parts(arrays, {name: part}, sizes)
    # Compared and not subtracted: the difference of two hostile numbers can overflow and look harmless.
    if not len(pointers) or pointers[0] != 0 or np.any(pointers[1:] < pointers[:-1]):
        raise InputError(f"the array {name} must start at 0 and never fall.")
    return pointers


def _check_neighbours(offsets: Ints, indptr: Ints, indices: Int32s) -> None:
    """Refuse neighbours outside of their graph, and rows that are not in the one form that all graphs here have."""
    sizes, degrees = np.diff(offsets), np.diff(indptr)
    size_of_node = np.repeat(sizes, sizes)
    if np.any((indices < 0) | (indices >= np.repeat(size_of_node, degrees))):
        raise InputError("the array graphs.indices points outside of its graph.")
    nodes = np.arange(len(size_of_node)) - np.repeat(offsets[:-1], sizes)
    if np.any(indices == np.repeat(nodes, degrees)):
        raise InputError("the array graphs.indices must not hold self loops.")
    rises = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(indices))] - 1] = True  # where a new row begins, anything goes
    if not rises.all():
        raise InputError("the array graphs.indices must list the neighbours of each node in order, each once.")


def _unpack_node_features(arrays: Mapping[str, NDArray[Any]], sizes: dict[str, int]) -> Any:
    """Return the features of the nodes, dense or sparse, if there are any."""
    is_sparse = any(f"graphs.{name}" in arrays for name in _SPARSE)
    if "graphs.features" in arrays:
        if is_sparse:
            raise InputError("the array graphs.features comes both dense and sparse.")
        (features,) = check_parts(arrays, {"graphs.features": Part("nodes any")}, sizes)
        if features.shape[1] > _MAX_COLUMNS:
            raise InputError(f"the array graphs.features must have at most {_MAX_COLUMNS} columns.")
        return features
    if not is_sparse:
        return None
    ((height, width),) = check_parts(arrays, {"graphs.features.shape": Part("two", "int64")}, {"two": 2})
    if height != sizes["nodes"] or not 0 <= width <= _MAX_COLUMNS:
        raise InputError(f"the array graphs.features.shape must be ({sizes['nodes']}, width).")
    pointer_part = Part("nodes+1", "int32 or int64")  # SciPy has both
    pointers = _check_pointers(arrays, "graphs.features.indptr", pointer_part, sizes)
    stored = {"graphs.features.indices": Part("n", str(pointers.dtype)), "graphs.features.data": Part("n")}
    columns, data = check_parts(arrays, stored, {"n": int(pointers[-1])})
    if np.any((columns < 0) | (columns >= width)):
        raise InputError(f"the array graphs.features.indices must lie in 0..{width - 1}.")
    return sparse.csr_array((data, columns, pointers), shape=(int(height), int(width)))
