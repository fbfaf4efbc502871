"""Base class of the estimators, and checks of their input graphs."""

import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from fastgntk._util.arrays import Ints
from fastgntk._util.checks import check_random_state
from fastgntk._util.values import Value
from fastgntk.errors import InputError, user_stacklevel
from fastgntk.graphs import DescriptorScaling, GraphBatch, NodeFeatures, UnseenLabelWarning, as_graphs
from fastgntk.kernels import Kernel, Leaf
from fastgntk.pairwise import Compute

__all__ = ["FrozenParameters", "GraphEstimator", "as_training_graphs", "check_features", "check_new_graphs"]


class FrozenParameters:
    """Mixin for scikit-learn estimators and kernels whose parameters are frozen values."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__blocks=2`` replaces the kernel by a copy with this option."""
        nested: dict[str, dict[str, Any]] = {}
        plain = {}
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if inner and isinstance(getattr(self, outer, None), Value):
                nested.setdefault(outer, {})[inner] = value
            else:
                plain[name] = value
        super().set_params(**plain)  # type: ignore[misc]  # of BaseEstimator, or of a scikit-learn kernel
        for outer, options in nested.items():
            setattr(self, outer, getattr(self, outer).set_params(**options))
        return self


class GraphEstimator(FrozenParameters, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base of all estimators."""

    compute: Compute
    random_state: int | None  # of estimators that call `_seed`

    def _seed(self) -> int:
        return check_random_state(0 if self.random_state is None else self.random_state)  # always reproducible

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs, not rows of numbers
        tags.input_tags.one_d_array = True
        tags.no_validation = True
        return tags


def as_training_graphs(X: Any) -> GraphBatch:
    """Convert training graphs; raise an error if there are none."""
    batch = as_graphs(X)
    if not batch.n_graphs:
        raise InputError("there are no graphs to learn from.")
    return batch


def check_features(features: dict[str, NodeFeatures], batch: GraphBatch) -> None:
    """Raise an error for graphs without the node labels or attributes on which node features were fitted."""
    for encoder in features.values():
        if batch.n_nodes and encoder.kind_ in ("attributes", "all"):
            width = None if batch.features is None else batch.features.shape[1]
            if width != encoder.attributes_width_:
                present = "none" if width is None else f"width {width}"
                raise _wrong_features(f"node features of width {encoder.attributes_width_}", present)
        if batch.n_nodes and encoder.kind_ in ("labels", "all"):
            _check_labels(encoder, batch)


def _check_labels(encoder: NodeFeatures, batch: GraphBatch) -> None:
    kinds = {"U": "text", "i": "integers"}
    kind = encoder.categories_[0].dtype.kind if encoder.categories_ else "i"
    if batch.labels is None or batch.labels.dtype.kind != kind:
        present = "none" if batch.labels is None else f"labels that are {kinds[batch.labels.dtype.kind]}"
        raise _wrong_features(f"node labels that are {kinds[kind]}", present)
    columns = 1 if batch.labels.ndim == 1 else batch.labels.shape[1]
    if columns != max(len(encoder.categories_), 1):
        raise _wrong_features(f"{len(encoder.categories_)} labels a node", f"{columns} labels a node")


def _wrong_features(trained: str, present: str) -> InputError:
    return InputError(
        f"the model was trained on graphs with {trained}, but these have {present}; pass graphs of the same kind."
    )


def _warn_unseen_labels(features: dict[str, NodeFeatures], batch: GraphBatch, *, typed: bool) -> None:
    """Warn if nodes, or with typed edges also edges, have labels on which the features were not fitted."""
    labelled = next((encoder for encoder in features.values() if encoder.kind_ in ("labels", "all")), None)
    if labelled is not None:
        unseen = labelled.unseen(batch)
        _warn_unseen(f"{int(unseen.sum())} nodes in", "these nodes themselves", batch.graph_of_node[unseen])
    if typed:
        encoder = next(iter(features.values()))
        graph_of_edge = np.repeat(batch.graph_of_node, batch.degrees)
        _warn_unseen("edges of", "such edges", graph_of_edge[encoder.unseen_edges(batch)])


def check_new_graphs(
    X: Any,
    kernel: Kernel,
    features: dict[str, NodeFeatures],
    scalings: Mapping[Leaf, DescriptorScaling] = MappingProxyType({}),
) -> GraphBatch:
    """Convert new graphs; raise if they lack what was fitted on the training graphs, warn of unseen labels."""
    batch = X if isinstance(X, GraphBatch) else as_graphs(X)
    check_features(features, batch)
    for scaling in scalings.values():
        scaling.check(batch)
    _warn_unseen_labels(features, batch, typed=any(leaf.uses_edge_labels for leaf in kernel.leaves()))
    return batch


def _warn_unseen(items: str, pronoun: str, graphs: Ints) -> None:
    """Warn about unseen labels; ``graphs`` has the graph of each node or edge with such a label."""
    if len(graphs):
        warnings.warn(
            f"{items} {len(np.unique(graphs))} graphs have a label that no training graph has; the model has "
            f"learned nothing about {pronoun}.",
            UnseenLabelWarning,
            stacklevel=user_stacklevel(),
        )
