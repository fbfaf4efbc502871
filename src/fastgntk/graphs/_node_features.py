"""Node features as a fitted step: what the kernel starts from."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk.errors import InputError, levels_to_the_caller
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._edge_types import EdgeTypes
from fastgntk.graphs.convert import as_graphs

__all__ = ["FeatureKind", "NodeFeatures", "UnseenLabelWarning"]

FeatureKind = Literal["auto", "attributes", "labels", "all", "degree"]


class UnseenLabelWarning(UserWarning):
    """Some nodes carry a label or degree that was absent when the features were fitted."""


class NodeFeatures:
    """Build node features X (N, d) from what the graphs carry; learned on one batch, applied to others.

    Parameters
    ----------
    kind : {"auto", "attributes", "labels", "all", "degree"}
        ``"attributes"`` uses the graphs' continuous features as they are; ``"labels"`` makes one-hot rows of
        node labels; ``"all"`` puts both side by side; ``"degree"`` makes one-hot rows of degrees. ``"auto"`` takes
        attributes if the fitted batch has them, else labels, else degrees.

    Notes
    -----
    A label that was not there in ``fit`` becomes a zero row, and a warning says how many nodes that concerns;
    :meth:`extend` gives it a column of its own instead, which is what kernels do: so the value for two graphs never
    depends on what else was fitted. One-hot rows are returned as a SciPy CSR array, so that a thousand degrees
    cost no more memory than two. Edge labels become numbers 0, 1, … on the way, for ``GNTK(edges="typed")``.

    Examples
    --------
    >>> from fastgntk.graphs import Graph, GraphBatch
    >>> batch = GraphBatch.from_graphs([Graph.from_edges([(0, 1), (1, 2)], 3, labels=["C", "O", "C"])])
    >>> step = NodeFeatures().fit(batch)
    >>> step.kind_, step.transform(batch).features.toarray().tolist()
    ('labels', [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """

    kind_: str
    width_: int
    categories_: list[NDArray[Any]]
    columns_: list[NDArray[np.int64]]
    """For each category the column that says so."""
    edge_types_: EdgeTypes = EdgeTypes()
    """The distinct edge labels and their numbers."""

    def __init__(self, kind: FeatureKind = "auto") -> None:
        if not isinstance(kind, str) or kind not in get_args(FeatureKind):
            raise InputError(f"features must be one of {', '.join(get_args(FeatureKind))}, but is {kind!r}.")
        self.kind = kind

    def fit(self, source: Any) -> NodeFeatures:
        """Learn the width of the features, and the categories where there are any.

        ``source`` is anything that :func:`fastgntk.as_graphs` accepts, here and below.
        """
        batch = as_graphs(source)
        kind: str = self.kind
        if kind == "auto":
            kind = "attributes" if batch.features is not None else "labels" if batch.labels is not None else "degree"
        self.kind_ = kind
        self.categories_, self.columns_ = [], []
        self.edge_types_ = EdgeTypes().extend(batch.edge_labels)
        if batch.n_nodes == 0:
            self.width_ = 0
        elif kind == "attributes":
            self.width_ = int(self._attributes(batch).shape[1])
        else:
            self.categories_ = [np.unique(column) for column in self._columns(batch)]
            self.width_ = int(self._attributes(batch).shape[1]) if kind == "all" else 0  # attributes come first
            for known in self.categories_:
                self.columns_.append(np.arange(self.width_, self.width_ + len(known)))
                self.width_ += len(known)
        return self

    def extend(self, source: Any) -> NodeFeatures:
        """Return features that know the labels of these graphs too; columns keep their places, new ones come last.

        >>> from fastgntk.graphs import Graph
        >>> known, new = Graph.from_edges([(0, 1)], 2, labels=[7, 9]), Graph.from_edges([(0, 1)], 2, labels=[8, 9])
        >>> step = NodeFeatures().fit([known]).extend([new])
        >>> step.transform([new]).features.toarray().tolist()
        [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
        """
        batch = as_graphs(source)
        self._check_fitted()
        if batch.n_nodes == 0:
            return self
        if not self.categories_ and self.kind_ != "attributes":  # fitted on graphs without nodes
            return NodeFeatures(self.kind_).fit(batch)  # type: ignore[arg-type]
        out = NodeFeatures(self.kind)
        out.edge_types_ = self.edge_types_.extend(batch.edge_labels)
        out.kind_, out.width_, out.categories_, out.columns_ = self.kind_, self.width_, [], []
        if self.kind_ == "attributes":
            return out
        for column, known, places in zip(self._matching(batch), self.categories_, self.columns_, strict=True):
            new = np.setdiff1d(column, known)
            both = np.concatenate([known, new])
            order = np.argsort(both, kind="stable")
            out.categories_.append(both[order])
            out.columns_.append(np.concatenate([places, np.arange(out.width_, out.width_ + len(new))])[order])
            out.width_ += len(new)
        return out

    def unseen(self, source: Any) -> NDArray[np.bool_]:
        """Tell for each node whether it has a label or degree that was not there when the features were fitted."""
        batch = as_graphs(source)
        self._check_fitted()
        out = np.zeros(batch.n_nodes, dtype=bool)
        if self.kind_ != "attributes" and batch.n_nodes and self.categories_:
            for column, known in zip(self._matching(batch), self.categories_, strict=True):
                out |= ~np.isin(column, known)
        return out

    def unseen_edges(self, source: Any) -> NDArray[np.bool_]:
        """Tell for each entry of ``indices`` whether its edge has a label that was not there in fitting."""
        batch = as_graphs(source)
        self._check_fitted()
        if batch.edge_labels is None:
            return np.zeros(len(batch.indices), dtype=bool)
        return ~np.isin(batch.edge_labels, self.edge_types_.of_kind(batch.edge_labels)[0])

    def transform(self, source: Any) -> GraphBatch:
        """Return the graphs as a batch with their features replaced by X."""
        batch = as_graphs(source)
        self._check_fitted()
        if batch.n_nodes == 0:  # graphs without nodes carry nothing that could fit or not
            return batch.with_features(np.zeros((0, self.width_)))
        if batch.edge_labels is not None:
            batch = replace(batch, edge_labels=self.edge_types_.numbers(batch.edge_labels))
        if self.kind_ in ("labels", "degree"):
            return batch.with_features(self._one_hot(batch))
        features, width = self._attributes(batch), self.attributes_width_
        if features.shape[1] != width:
            raise InputError(f"features have width {features.shape[1]}, but the features were fitted on width {width}.")
        if self.kind_ == "attributes":
            return batch
        behind = sparse.csr_array((batch.n_nodes, self.width_ - width))
        return batch.with_features(sparse.hstack([sparse.csr_array(features), behind], "csr") + self._one_hot(batch))

    @property
    def attributes_width_(self) -> int:
        """How many of the columns are continuous features."""
        if self.kind_ not in ("attributes", "all"):
            return 0
        return self.width_ - sum(len(known) for known in self.categories_)

    def fit_transform(self, source: Any) -> GraphBatch:
        """Fit and transform the same graphs."""
        batch = as_graphs(source)
        return self.fit(batch).transform(batch)

    def _check_fitted(self) -> None:
        if not hasattr(self, "kind_"):
            raise InputError("these node features are not fitted; call fit(graphs) first.")

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

    def _matching(self, batch: GraphBatch) -> list[NDArray[Any]]:
        """Return the labels of a batch, column by column, if they are of the kind that was fitted."""
        columns = self._columns(batch)
        if len(columns) != len(self.categories_):
            raise InputError(
                f"nodes carry {len(columns)} labels each, but the features were fitted on {len(self.categories_)}."
            )
        for column, known in zip(columns, self.categories_, strict=True):
            if len(column) and len(known) and column.dtype.kind != known.dtype.kind:
                raise InputError("node labels must be of the kind that was fitted: all integers or all strings.")
        return columns

    def _one_hot(self, batch: GraphBatch) -> Any:
        labels = self._matching(batch)
        seen = np.zeros((batch.n_nodes, len(labels)), dtype=bool)
        places = np.zeros((batch.n_nodes, len(labels)), dtype=np.int64)
        for i, (column, known, places_of) in enumerate(zip(labels, self.categories_, self.columns_, strict=True)):
            if len(known):
                nearest = np.minimum(np.searchsorted(known, column), len(known) - 1)
                seen[:, i] = known[nearest] == column
                places[:, i] = places_of[nearest]
        unseen = ~seen.all(axis=1)
        if unseen.any():
            what = "degree" if self.kind_ == "degree" else "label"
            count = len(np.unique(batch.graph_of_node[unseen]))
            warnings.warn(
                f"{int(unseen.sum())} nodes in {count} graphs have a {what} that was not there when the features "
                "were fitted; its features are zero.",
                UnseenLabelWarning,
                stacklevel=levels_to_the_caller(),
            )
        indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
        matrix = sparse.csr_array((np.ones(int(indptr[-1])), places[seen], indptr), shape=(batch.n_nodes, self.width_))
        matrix.sort_indices()
        return matrix
