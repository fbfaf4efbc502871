"""Graphs as engines take them: with encoded node features, and scaled descriptors."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from fastgntk.engines import check_graphs, fit_scaling, scale_descriptors, sketch_rows
from fastgntk.errors import user_stacklevel
from fastgntk.graphs import DescriptorScaling, FeatureKind, GraphBatch, NodeFeatures, content_keys
from fastgntk.kernels import DescriptorKernel, Kernel, Leaf, Network

__all__ = ["EncodedGraphs", "NotSketchedWarning", "check_network", "fit_scalings"]


class NotSketchedWarning(UserWarning):
    """Some graphs are not larger than their sketch, so they are computed exactly."""


@dataclass(frozen=True, eq=False)
class EncodedGraphs:
    """Column graphs, and possibly row graphs, encoded for each leaf of a kernel."""

    features: dict[str, NodeFeatures]
    """The node features by which both were encoded, for each kind."""
    scalings: dict[Leaf, DescriptorScaling]
    cols: dict[Leaf, GraphBatch]
    """The graphs as the engine of each leaf takes them."""
    rows: dict[Leaf, GraphBatch] = field(default_factory=dict)
    """Likewise; empty without row graphs."""

    @classmethod
    def encode(
        cls,
        leaves: list[Leaf],
        cols: GraphBatch,
        rows: GraphBatch | None = None,
        *,
        features: Mapping[str, NodeFeatures] | None = None,
        scalings: Mapping[Leaf, DescriptorScaling] | None = None,
    ) -> Self:
        """Encode graphs for some leaves; raise if a leaf does not apply to the graphs.

        Features and scalings that are not given are fitted on ``cols``, and these features are extended by ``rows``.
        With both given, nothing is fitted, and ``cols`` may also be graphs that become rows later.
        """
        known_features, known_scalings = features or {}, scalings or {}
        fitted: dict[str, NodeFeatures] = {}
        cols_by_kind: dict[str, GraphBatch] = {}
        rows_by_kind: dict[str, GraphBatch] = {}
        for kind in dict.fromkeys(leaf.features for leaf in leaves if leaf.features is not None):
            fitted[kind] = node_features = known_features.get(kind) or _fit_features(kind, cols, rows)
            cols_by_kind[kind] = node_features.transform(cols)
            if rows is not None:
                rows_by_kind[kind] = node_features.transform(rows)
        scales: dict[Leaf, DescriptorScaling] = {
            leaf: known_scalings.get(leaf) or fit_scaling(leaf, cols)
            for leaf in leaves
            if isinstance(leaf, DescriptorKernel)
        }
        cols_by_leaf = _batches_by_leaf(leaves, cols, cols_by_kind, scales)
        rows_by_leaf = {} if rows is None else _batches_by_leaf(leaves, rows, rows_by_kind, scales)
        for leaf in leaves:
            if isinstance(leaf, Network):
                check_network(leaf, [by_leaf[leaf] for by_leaf in (rows_by_leaf, cols_by_leaf) if by_leaf])
        return cls(fitted, scales, cols_by_leaf, rows_by_leaf)


def _fit_features(kind: FeatureKind, cols: GraphBatch, rows: GraphBatch | None) -> NodeFeatures:
    """Fit node features to the columns, and extend them by the rows."""
    features = NodeFeatures(kind).fit(cols)
    return features if rows is None else features.extend(rows)


def _batches_by_leaf(
    leaves: list[Leaf],
    batch: GraphBatch,
    by_kind: Mapping[str, GraphBatch],
    scalings: Mapping[Leaf, DescriptorScaling],
) -> dict[Leaf, GraphBatch]:
    """Return the graphs for each leaf, from a batch and its copies with encoded features of each kind."""
    if any(leaf.sketch for leaf in leaves):
        # Sketches are drawn from the graphs as given: their encoding depends on the graphs it was fitted on.
        keys = content_keys(batch)
        by_kind = {kind: replace(encoded, sketch_keys=keys) for kind, encoded in by_kind.items()}
    by_leaf = {}
    for leaf in leaves:
        by_leaf[leaf] = batch if leaf.features is None else by_kind[leaf.features]
        if isinstance(leaf, DescriptorKernel):
            by_leaf[leaf] = scale_descriptors(by_leaf[leaf], leaf, scalings[leaf])
    return by_leaf


def fit_scalings(kernel: Kernel, batch: GraphBatch) -> dict[Leaf, DescriptorScaling]:
    """Fit the scaling of descriptors to graphs, for each leaf of a kernel that uses them."""
    return {leaf: fit_scaling(leaf, batch) for leaf in kernel.leaves() if isinstance(leaf, DescriptorKernel)}


def check_network(kernel: Network, batches: list[GraphBatch]) -> None:
    """Raise if the kernel does not apply to the edges of the graphs; warn if some are too small for the sketch."""
    for batch in batches:
        check_graphs(batch, kernel)
    if kernel.sketch is None:
        return
    sizes = np.concatenate([batch.sizes for batch in batches])
    rows = np.concatenate([sketch_rows(batch, kernel) for batch in batches])
    exact = int(((rows == sizes) & (sizes > 1)).sum())  # a single-node graph cannot be sketched
    if exact:
        size = kernel.sketch.size
        shown = {"given": "given with the graphs", "auto": f"for error={kernel.sketch.error}"}.get(str(size), size)
        warnings.warn(
            f"the sketch size {shown} is not below the number of nodes of {exact} of {len(sizes)} graphs; "
            "these are computed exactly.",
            NotSketchedWarning,
            stacklevel=user_stacklevel(),
        )
