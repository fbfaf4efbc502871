"""Rows of a model in its file: training graphs, or what random features are drawn from.

Graphs are kept in the form in which they were given, as far as the kernel uses them, with the fitted node features;
colours and norms are computed again on loading, which takes a fraction of a second. A model on random features has no
graphs in its file, but the seed and sizes of its draws, and one vector to compare with.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from fastgntk.engines import TangentFeatures, compiled_code_runs
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK, Kernel, Normalized
from fastgntk.models import FeatureRows, KernelRows, Rows, drawn_width
from fastgntk.pairwise import Compute, prepare_batch, tangent_leaves
from fastgntk.persistence._array_codec import (
    pack_edge_types,
    pack_features,
    pack_graphs,
    unpack_edge_types,
    unpack_features,
    unpack_graphs,
)
from fastgntk.persistence._schema import Arrays, Entry, Part, check_document, check_names, check_parts, finite_number

__all__ = ["pack_rows", "unpack_rows"]

_DOCUMENT = {
    "kernel": Entry(dict, "a kernel"),
    "engines": Entry(list, "a list of engines", lambda names: all(isinstance(name, str) for name in names)),
    "features": Entry(list, "a list of node features"),
    "unit": finite_number("a number above 0", lambda value: value > 0),
}
_DRAWS = {
    "size": Entry(int, "a whole number", lambda value: value >= 1),
    "width": Entry(int, "a whole number", lambda value: value >= 0),
    "types": Entry(int, "a whole number", lambda value: value >= 1),
    "seed": Entry(int, "a seed", lambda value: 0 <= value < 2**32),
}
_MAX_DEPTH = 1000  # blocks and layers


def pack_rows(rows: Rows) -> tuple[dict[str, Any], Arrays]:
    """Return the document and the arrays of the rows."""
    document: dict[str, Any] = {"kernel": rows.kernel.to_dict(), "unit": rows.unit, "features": [], "engines": []}
    arrays: Arrays = {}
    for i, step in enumerate(rows.features.values()):
        described, packed = pack_features(step, f"features.{i}.")
        document["features"].append(described)
        arrays |= packed
    if isinstance(rows, KernelRows):
        document["engines"] = rows.prepared.engines
        arrays |= pack_graphs(_drop_unused(rows.prepared.batch, rows.features, rows.kernel))
        diagonals = rows.prepared.leaf_diagonals(rows.compute.watched(None))
        arrays |= {f"diagonal.{i}": diagonals[leaf] for i, leaf in enumerate(rows.prepared.leaves)}
    elif isinstance(rows, FeatureRows):
        document["draws"] = {name: int(getattr(rows.draws, name)) for name in _DRAWS}
        arrays["probe"] = rows.probe()
        arrays |= pack_edge_types(rows.transformer.node_features_.edge_types_) if rows.draws.kernel.typed else {}
    return document, arrays


def unpack_rows(document: dict[str, Any], arrays: Arrays, compute: Compute) -> Rows:
    """Return the rows that :func:`pack_rows` packed; inconsistent ones raise an :class:`InputError`."""
    options, engines, described, unit = check_document(document, _DOCUMENT)
    kernel = Kernel.from_dict(options)
    leaves = tangent_leaves(kernel)
    for leaf in leaves:
        if max(leaf.blocks, leaf.layers) > _MAX_DEPTH:
            depth = f"blocks={leaf.blocks} and layers={leaf.layers}"
            raise InputError(f"{depth} exceed the maximum of {_MAX_DEPTH}; the file is probably corrupt.")
    kinds = list(dict.fromkeys(leaf.features for leaf in leaves))
    steps = [unpack_features(entry, arrays, f"features.{i}.") for i, entry in enumerate(described[: len(kinds)])]
    if len(described) != len(kinds) or [step.kind for step in steps] != kinds:
        raise InputError("its node features do not fit its kernel.")
    if "draws" in document:
        return _unpack_draws(document, arrays, kernel, steps[0], compute, float(unit))
    batch = unpack_graphs(arrays)
    diagonal_parts = {f"diagonal.{i}": Part("m", minimum=0.0) for i in range(len(leaves))}
    diagonals = check_parts(arrays, diagonal_parts, {"m": len(batch)})
    features: dict[str, NodeFeatures] = {step.kind: step.extend(batch) for step in steps}
    prepared = prepare_batch(batch, kernel, compute, features, engines=_engines(engines, leaves))
    for leaf, values in zip(leaves, diagonals, strict=True):
        prepared.set_leaf_diagonal(leaf, values)
    return KernelRows(prepared, float(unit))


def _engines(engines: list[str], leaves: list[GNTK]) -> list[str] | None:
    """Return the engines of the file if this machine has all of them; they must fit the leaves of the kernel."""
    if [name == "sketched" for name in engines] != [leaf.sketch is not None for leaf in leaves]:
        raise InputError("its engines do not fit its kernel.")
    available = {"decoupled", "kronecker", *(("lossless", "sketched") if compiled_code_runs() else ())}
    return engines if set(engines) <= available else None


def _unpack_draws(
    document: dict[str, Any], arrays: Arrays, kernel: Kernel, step: NodeFeatures, compute: Compute, unit: float
) -> Rows:
    """Draw the random features of the file again, and check that they are the same."""
    (draws,) = check_document(document, {"draws": Entry(dict)})
    check_names(draws, _DRAWS)
    size, width, types, seed = check_document(draws, _DRAWS)
    tangent = kernel.kernel if isinstance(kernel, Normalized) else kernel
    probe = arrays.get("probe")
    if not isinstance(tangent, GNTK) or tangent.sketch is not None or width != drawn_width(step) or probe is None:
        raise InputError("its random features do not fit its kernel.")
    step.edge_types_ = unpack_edge_types(arrays)
    only_features = not any(tangent.level_weights[1:])  # then there are as many as columns, whatever the size
    if types > len(step.edge_types_) + 1 or not (size == probe.size or only_features):
        raise InputError("the number of its random features is wrong.")
    # Draws for the first layer take some 100 bytes for each column and type; a file can claim any number of columns.
    if 100 * width * (types + 1) > compute.budget:
        raise InputError(f"its node features have {width:,} columns, which is too much for the memory.")
    rows = FeatureRows.restore(TangentFeatures(tangent, size, width, types, seed), step, kernel, compute, unit)
    (expected,) = check_parts(arrays, {"probe": Part("m")}, {"m": len(rows)})
    if not np.allclose(expected, rows.probe(), rtol=1e-6, atol=1e-9 * unit):
        raise InputError("its random features are drawn differently by this version of NumPy; train it again.")
    return rows


def _drop_unused(batch: GraphBatch, features: dict[str, NodeFeatures], kernel: Kernel) -> GraphBatch:
    """Return the graphs without the attributes and labels that the kernel does not use."""
    kinds = {step.kind_ for step in features.values()}
    return replace(
        batch,
        features=batch.features if kinds & {"attributes", "all"} else None,
        labels=batch.labels if kinds & {"labels", "all"} else None,
        edge_labels=batch.edge_labels if any(leaf.typed for leaf in tangent_leaves(kernel)) else None,
    )
