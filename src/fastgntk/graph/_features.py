"""Node features as a fitted step: what the kernel starts from."""

from __future__ import annotations

import warnings
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk.errors import InputError, levels_to_the_caller
from fastgntk.graph._batch import GraphBatch
from fastgntk.graph._convert import graphs

__all__ = ["FeatureKind", "NodeFeatures", "UnseenLabelWarning"]

FeatureKind = Literal["auto", "attributes", "labels", "degree"]


class UnseenLabelWarning(UserWarning):
    """Some nodes carry a label or degree that was absent when the features were fitted."""


class NodeFeatures:
    """Build node features X (N, d) from what the graphs carry; learned on one batch, applied to others.

    Parameters
    ----------
    kind : {"auto", "attributes", "labels", "degree"}
        ``"attributes"`` uses the graphs' continuous features as they are; ``"labels"`` makes one-hot rows of
        node labels; ``"degree"`` makes one-hot rows of degrees. ``"auto"`` takes the first of these that the
        fitted batch has.

    Notes
    -----
    A label that was not there in ``fit`` becomes a zero row, which contributes nothing to the kernel, and a
    warning says how many nodes that concerns. One-hot rows are returned as a SciPy CSR array, so that a
    thousand degrees cost no more memory than two.

    Examples
    --------
    >>> from fastgntk.graph import Graph, GraphBatch
    >>> batch = GraphBatch.from_graphs([Graph.from_edges([(0, 1), (1, 2)], 3, labels=["C", "O", "C"])])
    >>> step = NodeFeatures().fit(batch)
    >>> step.kind_, step.transform(batch).features.toarray().tolist()
    ('labels', [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """

    kind_: str
    width_: int
    categories_: list[NDArray[Any]]

    def __init__(self, kind: FeatureKind = "auto") -> None:
        if not isinstance(kind, str) or kind not in get_args(FeatureKind):
            raise InputError(f"features must be one of {', '.join(get_args(FeatureKind))}, but is {kind!r}.")
        self.kind = kind

    def fit(self, source: Any) -> NodeFeatures:
        """Learn the width of the features, and the categories where there are any.

        ``source`` is anything that :func:`fastgntk.graphs` accepts, here and below.
        """
        batch = graphs(source)
        kind: str = self.kind
        if kind == "auto":
            kind = "attributes" if batch.features is not None else "labels" if batch.labels is not None else "degree"
        self.kind_ = kind
        self.categories_ = []
        if batch.n_nodes == 0:
            self.width_ = 0
        elif kind == "attributes":
            self.width_ = int(self._attributes(batch).shape[1])
        else:
            self.categories_ = [np.unique(column) for column in self._columns(batch)]
            self.width_ = sum(len(c) for c in self.categories_)
        return self

    def transform(self, source: Any) -> GraphBatch:
        """Return the graphs as a batch with their features replaced by X."""
        batch = graphs(source)
        if not hasattr(self, "kind_"):
            raise InputError("these node features are not fitted; call fit(graphs) first.")
        if batch.n_nodes == 0:  # graphs without nodes carry nothing that could fit or not
            return batch.with_features(np.zeros((0, self.width_)))
        if self.kind_ != "attributes":
            return batch.with_features(self._one_hot(batch))
        features = self._attributes(batch)
        if features.shape[1] != self.width_:
            raise InputError(
                f"features have width {features.shape[1]}, but the features were fitted on width {self.width_}."
            )
        return batch

    def fit_transform(self, source: Any) -> GraphBatch:
        """Fit and transform the same graphs."""
        batch = graphs(source)
        return self.fit(batch).transform(batch)

    def _attributes(self, batch: GraphBatch) -> Any:
        if batch.features is None:
            raise InputError("the graphs carry no continuous features; use features='labels' or features='degree'.")
        return batch.features

    def _columns(self, batch: GraphBatch) -> list[NDArray[Any]]:
        if self.kind_ == "degree":
            return [batch.degrees]
        if batch.labels is None:
            raise InputError("the graphs carry no node labels; use features='degree'.")
        return [batch.labels] if batch.labels.ndim == 1 else list(batch.labels.T)

    def _one_hot(self, batch: GraphBatch) -> Any:
        columns = self._columns(batch)
        if len(columns) != len(self.categories_):
            raise InputError(
                f"nodes carry {len(columns)} labels each, but the features were fitted on {len(self.categories_)}."
            )
        blocks, unseen = [], np.zeros(batch.n_nodes, dtype=bool)
        for column, categories in zip(columns, self.categories_, strict=True):
            if len(column) and len(categories) and column.dtype.kind != categories.dtype.kind:
                raise InputError("node labels must be of the kind that was fitted: all integers or all strings.")
            place = np.searchsorted(categories, column)
            clipped = np.minimum(place, max(len(categories) - 1, 0))
            seen = categories[clipped] == column if len(categories) else np.zeros(len(column), dtype=bool)
            indptr = np.concatenate([[0], np.cumsum(seen)])
            blocks.append(
                sparse.csr_array(
                    (np.ones(int(indptr[-1])), clipped[seen], indptr), shape=(len(column), len(categories))
                )
            )
            unseen |= ~seen
        if unseen.any():
            what = "degree" if self.kind_ == "degree" else "label"
            count = len(np.unique(batch.graph_of_node[unseen]))
            warnings.warn(
                f"{int(unseen.sum())} nodes in {count} graphs have a {what} that was not there when the features "
                "were fitted; its features are zero.",
                UnseenLabelWarning,
                stacklevel=levels_to_the_caller(),
            )
        return sparse.hstack(blocks, format="csr") if len(blocks) > 1 else blocks[0]
