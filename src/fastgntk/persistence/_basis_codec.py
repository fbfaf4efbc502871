"""Conversion of the basis of a model to plain arrays and back: training graphs or random features.

Graphs are stored in their original form, without attributes and labels that the kernel does not use, and with the
fitted node features; colours and norms are recomputed on loading, which takes a fraction of a second. The file of a
model on random features has no graphs, but the seed and sizes of its draws and one vector to compare with.

On loading every index is checked: compiled loops trust the arrays of a batch, so an index out of range in a hand-made
file would read foreign memory. A valid checksum does not rule this out.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Int32s, Ints
from fastgntk.engines import TangentFeatures, available_engines
from fastgntk.errors import InputError
from fastgntk.graphs import EdgeTypes, FeatureKind, GraphBatch, NodeFeatures, content_keys
from fastgntk.kernels import DescriptorKernel, Kernel, Network, Normalized
from fastgntk.models import Basis, FeatureBasis, KernelBasis, n_drawn_columns
from fastgntk.pairwise import Compute, prepare_batch
from fastgntk.persistence._descriptor_codec import (
    DESCRIPTORS_PREFIX,
    pack_descriptors,
    pack_scalings,
    unpack_descriptors,
    unpack_scalings,
)
from fastgntk.persistence._matrix_codec import CSR_PARTS, MAX_COLUMNS, check_pointers, pack_matrix, unpack_matrix
from fastgntk.persistence._schema import Arrays, ArraySpec, Entry, check_array, check_arrays, check_document, check_keys

__all__ = ["pack_features", "pack_graphs", "pack_basis", "unpack_features", "unpack_graphs", "unpack_basis"]

_FIELDS = (
    *("offsets", "indptr", "indices", "weights", "labels", "edge_labels", "self_loops"),
    *("node_scale", "sketch_keys", "sketch_sizes"),
)
_GRAPHS = [f"graphs.{name}" for name in (*_FIELDS, "features", *(f"features.{part}" for part in CSR_PARTS))]
_EDGE_TYPES = {False: "edge_types.whole", True: "edge_types.text"}  # by whether labels are strings
_LABELS = "int64 or str"

_BASIS = {
    "kernel": Entry(dict, "a kernel"),
    "engines": Entry(list, "a list of engines", lambda names: all(isinstance(name, str) for name in names)),
    "features": Entry(list, "a list of node features"),
    "kernel_scale": Entry.number("a number above 0", lambda value: value > 0),
}
_DRAWS = {
    "size": Entry(int, "an integer", lambda value: value >= 1),
    "width": Entry(int, "an integer", lambda value: value >= 0),
    "types": Entry(int, "an integer", lambda value: value >= 1),
    "seed": Entry(int, "a seed", lambda value: 0 <= value < 2**32),
}
_FITTED_KINDS = {"auto": {"attributes", "labels", "degree"}, "discrete": {"labels", "degree"}}  # else the kind itself
_KIND = Entry(str, f"one of {', '.join(get_args(FeatureKind))}", lambda kind: kind in get_args(FeatureKind))
_FEATURES = {
    "kind": _KIND,
    "fitted_kind": _KIND,
    "width": Entry(int, f"an integer in 0..{MAX_COLUMNS}", lambda width: 0 <= width <= MAX_COLUMNS),
    "categories": Entry(int, "a number of arrays", lambda count: count >= 0),
}


def pack_basis(basis: Basis) -> tuple[dict[str, Any], Arrays]:
    """Return the document and the arrays of a basis."""
    document: dict[str, Any] = {"kernel": basis.kernel.to_dict(), "kernel_scale": basis.kernel_scale}
    document |= {"features": [], "engines": []}
    arrays: Arrays = {}
    for i, encoder in enumerate(basis.features.values()):
        described, packed = pack_features(encoder, f"features.{i}.")
        document["features"].append(described)
        arrays |= packed
    if isinstance(basis, KernelBasis):
        document["engines"] = basis.prepared.engines
        arrays |= pack_graphs(_drop_unused(basis.prepared.batch, basis.features, basis.kernel))
        arrays |= pack_scalings(basis.scalings)
        diagonals = basis.prepared.leaf_diagonals(basis.compute.with_progress(None))
        arrays |= {f"diagonal.{i}": diagonals[leaf] for i, leaf in enumerate(basis.prepared.graphs_by_leaf)}
    elif isinstance(basis, FeatureBasis):
        document["draws"] = {name: int(getattr(basis.draws, name)) for name in _DRAWS}
        arrays["probe"] = basis.probe()
        arrays |= (
            _pack_edge_types(basis.transformer.node_features_.edge_types_)
            if basis.draws.kernel.uses_edge_labels
            else {}
        )
    return document, arrays


def unpack_basis(document: dict[str, Any], arrays: Arrays, compute: Compute) -> Basis:
    """Return the basis packed by :func:`pack_basis`; inconsistent input raises an :class:`InputError`."""
    entries = check_document(document, _BASIS)
    described, kernel_scale = entries["features"], float(entries["kernel_scale"])
    kernel = Kernel.from_dict(entries["kernel"])
    leaves = kernel.leaves()
    kinds = list(dict.fromkeys(leaf.features for leaf in leaves if leaf.features is not None))
    encoders = [unpack_features(entry, arrays, f"features.{i}.") for i, entry in enumerate(described[: len(kinds)])]
    if len(described) != len(kinds) or [encoder.kind for encoder in encoders] != kinds:
        raise InputError("its node features do not fit its kernel.")
    if "draws" in document:
        if not encoders:
            raise InputError("its random features do not fit its kernel.")
        return _unpack_draws(document, arrays, kernel, encoders[0], compute, kernel_scale)
    batch = unpack_graphs(arrays)
    if batch.sketch_keys is None and any(leaf.sketch is not None for leaf in leaves):
        raise InputError("it lacks the keys of the sketches of its graphs; train it again.")
    spec = ArraySpec("m", minimum=0.0)
    diagonals = [check_array(arrays, f"diagonal.{i}", spec, m=len(batch)) for i in range(len(leaves))]
    features: dict[str, NodeFeatures] = {encoder.kind: encoder.extend(batch) for encoder in encoders}
    engines = entries["engines"]
    if [name == "sketched" for name in engines] != [leaf.sketch is not None for leaf in leaves]:
        raise InputError("its engines do not fit its kernel.")
    known = engines if set(engines) <= set(available_engines()) else None  # None chooses engines for this machine
    scalings = unpack_scalings(leaves, arrays, batch)
    prepared = prepare_batch(batch, kernel, compute, features, scalings, engines=known)
    for leaf, values in zip(leaves, diagonals, strict=True):
        prepared.set_leaf_diagonal(leaf, values)
    return KernelBasis(prepared, kernel_scale)


def _unpack_draws(
    document: dict[str, Any],
    arrays: Arrays,
    kernel: Kernel,
    encoder: NodeFeatures,
    compute: Compute,
    kernel_scale: float,
) -> Basis:
    """Draw the random features of the file again, and check that the draws are the same."""
    draws = check_document(document, {"draws": Entry(dict)})["draws"]
    check_keys(draws, _DRAWS)
    sizes = check_document(draws, _DRAWS)
    size, width, types = sizes["size"], sizes["width"], sizes["types"]
    network = kernel.kernel if isinstance(kernel, Normalized) else kernel
    probe = arrays.get("probe")
    if (
        not isinstance(network, Network)
        or network.sketch is not None
        or width != n_drawn_columns(encoder)
        or probe is None
    ):
        raise InputError("its random features do not fit its kernel.")
    encoder.edge_types_ = _unpack_edge_types(arrays)
    only_features = not any(network.level_weights[1:])  # then the size of the probe is the number of columns
    if types > len(encoder.edge_types_) + 1 or not (size == probe.size or only_features):
        raise InputError("the number of its random features is wrong.")
    # Draws for the first layer take some 100 bytes for each column and type; a file can claim any number of columns.
    if 100 * width * (types + 1) > compute.memory_budget:
        raise InputError(f"its node features have {width:,} columns, which exceeds the memory limit.")
    tangent_features = TangentFeatures(network, size, width, types, sizes["seed"])
    basis = FeatureBasis.restore(tangent_features, encoder, kernel, compute, kernel_scale)
    expected = check_array(arrays, "probe", ArraySpec("m"), m=len(basis))
    if not np.allclose(expected, basis.probe(), rtol=1e-6, atol=1e-9 * kernel_scale):
        raise InputError("its random features are drawn differently by this version of NumPy; train it again.")
    return basis


def _drop_unused(batch: GraphBatch, features: dict[str, NodeFeatures], kernel: Kernel) -> GraphBatch:
    """Return the graphs without the attributes and labels that the kernel does not use, but with the keys of these."""
    kinds = {encoder.kind_ for encoder in features.values()}
    sketches = [leaf.sketch for leaf in kernel.leaves() if leaf.sketch is not None]
    return replace(
        batch,
        features=batch.features if kinds & {"attributes", "all"} else None,
        labels=batch.labels if kinds & {"labels", "all"} else None,
        edge_labels=batch.edge_labels if any(leaf.uses_edge_labels for leaf in kernel.leaves()) else None,
        node_scale=batch.node_scale if any(leaf.uses_node_scale for leaf in kernel.leaves()) else None,
        sketch_keys=content_keys(batch) if sketches else None,
        sketch_sizes=batch.sketch_sizes if any(sketch.size == "given" for sketch in sketches) else None,
        descriptors={name: batch.descriptors[name] for name in _used_descriptors(kernel)},
    )


def _used_descriptors(kernel: Kernel) -> list[str]:
    return list(dict.fromkeys(leaf.on for leaf in kernel.leaves() if isinstance(leaf, DescriptorKernel)))


def pack_graphs(batch: GraphBatch) -> Arrays:
    """Return the arrays of a batch, with names that begin with ``graphs.``, without copying.

    A batch that cannot be unpacked raises an error here, before it is written to a file.
    """
    fields = {f"graphs.{name}": getattr(batch, name) for name in _FIELDS}
    arrays = {name: array for name, array in fields.items() if array is not None}
    arrays |= pack_matrix("graphs.features", batch.features) | pack_descriptors(batch.descriptors)
    try:
        unpack_graphs(arrays)
    except InputError as error:
        raise InputError(f"these graphs cannot be saved: {error} Build them with fastgntk.as_graphs.") from None
    return arrays


def unpack_graphs(arrays: Arrays) -> GraphBatch:
    """Return the batch packed by :func:`pack_graphs`; inconsistent arrays raise an :class:`InputError`.

    Each array is checked against the earlier ones, in a few passes. Arrays whose names do not begin with ``graphs.``
    are ignored. Memory is shared where possible.
    """
    names = [name for name in arrays if name.startswith("graphs.") and not name.startswith(DESCRIPTORS_PREFIX)]
    unknown = sorted(set(names) - set(_GRAPHS))
    if unknown:
        raise InputError(f"the array {unknown[0]} does not belong to a batch of graphs.")
    offsets = check_pointers(arrays, "graphs.offsets", ArraySpec("any", "int64"))
    sizes = {"graphs": len(offsets) - 1, "nodes": int(offsets[-1]), "nodes+1": int(offsets[-1]) + 1}
    indptr = check_pointers(arrays, "graphs.indptr", ArraySpec("nodes+1", "int64"), **sizes)
    sizes["entries"] = int(indptr[-1])
    check_array(arrays, "graphs.self_loops", ArraySpec("graphs", "int64", minimum=0), **sizes)
    _check_neighbours(offsets, indptr, check_array(arrays, "graphs.indices", ArraySpec("entries", "int32"), **sizes))
    one_label = arrays.get("graphs.labels", offsets).ndim == 1
    optional = {
        "graphs.weights": ArraySpec("entries"),
        "graphs.edge_labels": ArraySpec("entries", _LABELS),
        "graphs.node_scale": ArraySpec("nodes", minimum=0.0),
        "graphs.sketch_keys": ArraySpec("graphs two", "uint64"),
        "graphs.sketch_sizes": ArraySpec("graphs", "int64", minimum=1),
        "graphs.labels": ArraySpec("nodes" if one_label else "nodes any", _LABELS),
    }
    check_arrays(arrays, {name: spec for name, spec in optional.items() if name in arrays}, sizes | {"two": 2})
    fields = {name: arrays.get(f"graphs.{name}") for name in _FIELDS}
    features = unpack_matrix(arrays, "graphs.features", sizes["nodes"])
    descriptors = unpack_descriptors(arrays, sizes["graphs"])
    return GraphBatch(**fields, features=features, descriptors=descriptors)  # type: ignore[arg-type]  # checked above


def pack_features(encoder: NodeFeatures, prefix: str = "features.") -> tuple[dict[str, Any], Arrays]:
    """Return fitted node features as a JSON document and arrays: ``features.categories.0``, ``features.columns.0``, ….

    Examples
    --------
    >>> from fastgntk.graphs import Graph
    >>> encoder = NodeFeatures().fit([Graph.from_edges([(0, 1)], 2, labels=["C", "O"])])
    >>> pack_features(encoder)[0]
    {'kind': 'auto', 'fitted_kind': 'labels', 'width': 2, 'categories': 1}
    """
    if not hasattr(encoder, "kind_"):
        raise InputError("these node features are not fitted; call fit(graphs) first.")
    width, count = int(encoder.width_), len(encoder.categories_)
    document = {"kind": encoder.kind, "fitted_kind": encoder.kind_, "width": width, "categories": count}
    arrays = {f"{prefix}categories.{i}": categories for i, categories in enumerate(encoder.categories_)}
    arrays |= {f"{prefix}columns.{i}": columns for i, columns in enumerate(encoder.columns_)}
    unpack_features(document, arrays, prefix)
    return document, arrays


def unpack_features(document: Any, arrays: Arrays, prefix: str = "features.") -> NodeFeatures:
    """Return the node features packed by :func:`pack_features`; inconsistent input raises an :class:`InputError`."""
    if not isinstance(document, dict):
        raise InputError("its node features must be described by a JSON object.")
    entries = check_document(document, _FEATURES)
    kind, fitted, width, count = (entries[name] for name in ("kind", "fitted_kind", "width", "categories"))
    if fitted not in _FITTED_KINDS.get(kind, {kind}):
        raise InputError(f"its node features are of kind {kind!r} but were fitted as {fitted!r}.")
    # Numbers are compared first: names are made from the count only once it is known to be small.
    if 2 * count != sum(name.startswith(prefix) for name in arrays):
        raise InputError(f"the arrays {prefix}… do not match the number of categories of the node features.")
    if count > {"attributes": 0, "degree": 1}.get(fitted, count):
        raise InputError(f"node features of kind {fitted} cannot have {count} lists of categories.")
    spec = ArraySpec("any", "int64", minimum=0) if fitted == "degree" else ArraySpec("any", _LABELS)
    encoder = NodeFeatures(kind)
    encoder.kind_, encoder.width_, encoder.categories_, encoder.columns_ = fitted, width, [], []
    for i in range(count):
        categories, columns = _unpack_categories(arrays, f"{prefix}categories.{i}", f"{prefix}columns.{i}", spec)
        encoder.categories_.append(categories)
        encoder.columns_.append(columns)
    # Columns become indices of a sparse matrix, so each must occur once, within range.
    first = encoder.attributes_width_
    if fitted != "attributes" and (first < 0 or not _is_range(encoder.columns_, first, width)):
        raise InputError(f"the categories of its node features do not fill {width} columns.")
    return encoder


def _pack_edge_types(types: EdgeTypes) -> Arrays:
    """Return the labels of edges and their indices: ``edge_types.whole``, ``edge_types.whole.numbers``, ….

    >>> sorted(_pack_edge_types(EdgeTypes().extend(np.array([7, 3]))))
    ['edge_types.whole', 'edge_types.whole.numbers']
    """
    arrays = {}
    for is_text, (labels, indices) in types.known.items():
        arrays[_EDGE_TYPES[is_text]], arrays[f"{_EDGE_TYPES[is_text]}.numbers"] = labels, indices
    return arrays


def _unpack_edge_types(arrays: Arrays) -> EdgeTypes:
    types = EdgeTypes()
    for is_text, name in _EDGE_TYPES.items():
        if name in arrays:
            spec = ArraySpec("any", "str" if is_text else "int64")
            types.known[is_text] = _unpack_categories(arrays, name, f"{name}.numbers", spec)
    if not _is_range((indices for _, indices in types.known.values()), 0, len(types)):
        raise InputError("its types of edges are not numbered 0, 1, 2, ….")
    return types


def _unpack_categories(arrays: Arrays, name: str, numbers_name: str, spec: ArraySpec) -> tuple[NDArray[Any], Ints]:
    """Return categories, which must be sorted because they are looked up by bisection, and the number of each."""
    categories = check_array(arrays, name, spec)
    if not np.all(categories[1:] > categories[:-1]):
        raise InputError(f"the array {name} must hold labels in order, each once.")
    return categories, check_array(arrays, numbers_name, ArraySpec("n", "int64"), n=len(categories))


def _is_range(indices: Iterable[Ints], start: int, stop: int) -> bool:
    """Return whether these are the integers of ``range(start, stop)``, each once, in any order."""
    together = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *indices]))
    # Lengths are compared first, because a file can claim a ``stop`` that exceeds the memory.
    return len(together) == stop - start and np.array_equal(together, np.arange(start, stop))


def _check_neighbours(offsets: Ints, indptr: Ints, indices: Int32s) -> None:
    """Raise an error for neighbours outside of their graph, self loops, and neighbours not in ascending order."""
    sizes, degrees = np.diff(offsets), np.diff(indptr)
    size_of_node = np.repeat(sizes, sizes)
    if np.any((indices < 0) | (indices >= np.repeat(size_of_node, degrees))):
        raise InputError("the array graphs.indices points outside of its graph.")
    nodes = np.arange(len(size_of_node)) - np.repeat(offsets[:-1], sizes)
    if np.any(indices == np.repeat(nodes, degrees)):
        raise InputError("the array graphs.indices must not hold self loops.")
    rises = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(indices))] - 1] = True  # across nodes
    if not rises.all():
        raise InputError("the array graphs.indices must list the neighbours of each node in order, each once.")
