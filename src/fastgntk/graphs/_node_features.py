"""Node features X and edge types as a fitted step: the input of the kernel."""

import warnings
from dataclasses import replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk._util.arrays import Bools, Ints
from fastgntk.errors import InputError, user_stacklevel
from fastgntk.graphs._batch import GraphBatch
from fastgntk.graphs._csr import row_offsets
from fastgntk.graphs.convert import as_graphs

__all__ = ["EdgeTypes", "FeatureKind", "NodeFeatures", "UnseenLabelWarning"]

FeatureKind = Literal["auto", "attributes", "labels", "all", "degree", "discrete"]


class UnseenLabelWarning(UserWarning):
    """Some nodes have a label or degree that was absent when the features were fitted."""


class EdgeTypes:
    """Indices 0, 1, … for edge labels; an integer label never equals a string label."""

    def __init__(self, known: dict[bool, tuple[NDArray[Any], Ints]] | None = None) -> None:
        self.known = known or {}  # by whether they are strings: sorted labels and their indices

    def of_kind(self, labels: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
        """Return the known labels of the same kind (integers or strings) as ``labels``, and their indices."""
        nothing = np.zeros(0, dtype=labels.dtype), np.zeros(0, dtype=np.int64)
        return self.known.get(labels.dtype.kind == "U", nothing)

    def extend(self, labels: NDArray[Any] | None) -> Self:
        """Return types that include these labels; known labels keep their indices, new ones follow."""
        if labels is None:
            return self
        extended = _add_categories(*self.of_kind(labels), labels, len(self))
        return type(self)({**self.known, labels.dtype.kind == "U": extended})

    def indices(self, labels: NDArray[Any]) -> Ints:
        """Return the index of each label; unknown labels get the next indices."""
        known, indices = self.extend(labels).of_kind(labels)
        return np.asarray(indices[np.searchsorted(known, labels)], dtype=np.int64)

    @property
    def has_text(self) -> bool:
        """Whether some of the labels are strings."""
        return True in self.known

    def __len__(self) -> int:
        return sum(len(known) for known, _ in self.known.values())


def _add_categories(old: NDArray[Any], indices: Ints, labels: NDArray[Any], start: int) -> tuple[NDArray[Any], Ints]:
    """Return the sorted union of old categories and labels, and their indices; those of new ones start at ``start``."""
    new = np.setdiff1d(labels, old)
    categories = np.concatenate([old, new])
    order = np.argsort(categories, kind="stable")
    return categories[order], np.append(indices, start + np.arange(len(new)))[order]


class NodeFeatures:
    """Build node features X (N, d) from features, labels or degrees; fitted on one batch, applied to others.

    Parameters
    ----------
    kind : {"auto", "attributes", "labels", "all", "degree", "discrete"}
        ``"attributes"`` uses the continuous features of the graphs unchanged; ``"labels"`` one-hot encodes node
        labels; ``"all"`` puts both side by side; ``"degree"`` one-hot encodes degrees. ``"auto"`` takes attributes
        if the fitted batch has them, else labels, else degrees; ``"discrete"`` takes labels, or degrees if the graphs
        carry nothing, and is an error if they carry attributes alone.

    Notes
    -----
    A label that was absent in ``fit`` becomes a zero row, with a warning that counts these nodes. Kernels use
    :meth:`extend` instead, which gives it a column of its own: the kernel value of two graphs never depends on the
    other graphs that were fitted. One-hot rows are returned as a SciPy CSR array, so that a thousand degrees take no
    more memory than two. Edge labels become indices 0, 1, …, for ``GNTK(edges="typed")``.

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
    columns_: list[Ints]
    """The column of each category."""
    edge_types_: EdgeTypes = EdgeTypes()
    """The distinct edge labels and their indices."""

    def __init__(self, kind: FeatureKind = "auto") -> None:
        if not isinstance(kind, str) or kind not in get_args(FeatureKind):
            raise InputError(f"features must be one of {', '.join(get_args(FeatureKind))}, but is {kind!r}.")
        self.kind = kind

    def fit(self, source: Any) -> Self:
        """Determine the width of the features and the categories.

        ``source`` is anything that :func:`fastgntk.as_graphs` accepts, here and below.
        """
        batch = _as_batch(source)
        self.kind_ = self.kind
        if self.kind == "auto":
            has_labels = batch.labels is not None
            self.kind_ = "attributes" if batch.features is not None else "labels" if has_labels else "degree"
        if self.kind == "discrete":
            if batch.labels is None and batch.features is not None:
                raise InputError(
                    "features='discrete' needs node labels, but the graphs have continuous features only; use "
                    "features='degree', or a GNTK with features='attributes'."
                )
            self.kind_ = "degree" if batch.labels is None else "labels"
        self.categories_, self.columns_ = [], []
        self.edge_types_ = EdgeTypes().extend(batch.edge_labels)
        self.width_ = 0
        if batch.n_nodes and self.kind_ != "attributes":
            self.categories_ = [np.unique(labels) for labels in self._label_columns(batch)]
        if batch.n_nodes and self.kind_ in ("attributes", "all"):  # attributes come first
            self.width_ = int(self._attributes(batch).shape[1])
        for categories in self.categories_:
            self.columns_.append(np.arange(self.width_, self.width_ + len(categories)))
            self.width_ += len(categories)
        return self

    def extend(self, source: Any) -> Self:
        """Return features that include the labels of these graphs; known columns keep their position, new ones follow.

        >>> from fastgntk.graphs import Graph
        >>> known, new = Graph.from_edges([(0, 1)], 2, labels=[7, 9]), Graph.from_edges([(0, 1)], 2, labels=[8, 9])
        >>> step = NodeFeatures().fit([known]).extend([new])
        >>> step.transform([new]).features.toarray().tolist()
        [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
        """
        batch = self._fitted(source)
        if batch.n_nodes == 0:
            return self
        if not self.categories_ and self.kind_ != "attributes":  # fitted on graphs without nodes
            return type(self)(self.kind_).fit(batch)  # type: ignore[arg-type]
        extended = type(self)(self.kind)
        extended.edge_types_ = self.edge_types_.extend(batch.edge_labels)
        extended.kind_, extended.width_, extended.categories_, extended.columns_ = self.kind_, self.width_, [], []
        if self.kind_ == "attributes":
            return extended
        for labels, categories, columns in self._matching_columns(batch):
            all_categories, all_columns = _add_categories(categories, columns, labels, extended.width_)
            extended.categories_.append(all_categories)
            extended.columns_.append(all_columns)
            extended.width_ += len(all_categories) - len(categories)
        return extended

    def unseen(self, source: Any) -> Bools:
        """Return for each node whether its label or degree was absent when the features were fitted."""
        batch = self._fitted(source)
        if not batch.n_nodes or not self.categories_:
            return np.zeros(batch.n_nodes, dtype=bool)
        is_known, _ = self._find_columns(batch)
        return np.asarray(~is_known.all(axis=1))

    def unseen_edges(self, source: Any) -> Bools:
        """Return for each entry of ``indices`` whether the label of its edge was absent in fitting."""
        batch = self._fitted(source)
        if batch.edge_labels is None:
            return np.zeros(len(batch.indices), dtype=bool)
        return ~np.isin(batch.edge_labels, self.edge_types_.of_kind(batch.edge_labels)[0])

    def transform(self, source: Any) -> GraphBatch:
        """Return the graphs as a batch whose features are X."""
        batch = self._fitted(source)
        if batch.n_nodes == 0:  # without nodes there is nothing to check
            return batch.with_features(np.zeros((0, self.width_)))
        if batch.edge_labels is not None:
            batch = replace(batch, edge_labels=self.edge_types_.indices(batch.edge_labels))
        if self.kind_ in ("labels", "degree"):
            return batch.with_features(self._one_hot(batch))
        features, width = self._attributes(batch), self.attributes_width_
        if features.shape[1] != width:
            raise InputError(f"features have width {features.shape[1]}, but the features were fitted on width {width}.")
        if self.kind_ == "attributes":
            return batch
        padding = sparse.csr_array((batch.n_nodes, self.width_ - width))
        return batch.with_features(sparse.hstack([sparse.csr_array(features), padding], "csr") + self._one_hot(batch))

    @property
    def attributes_width_(self) -> int:
        """Number of columns that are continuous features."""
        return self.width_ - sum(map(len, self.categories_))

    def fit_transform(self, source: Any) -> GraphBatch:
        """Fit and transform the same graphs."""
        batch = _as_batch(source)
        return self.fit(batch).transform(batch)

    def _fitted(self, source: Any) -> GraphBatch:
        if not hasattr(self, "kind_"):
            raise InputError("these node features are not fitted; call fit(graphs) first.")
        return _as_batch(source)

    def _attributes(self, batch: GraphBatch) -> Any:
        if batch.features is None:
            raise InputError("the graphs have no continuous features; use features='labels' or features='degree'.")
        return batch.features

    def _label_columns(self, batch: GraphBatch) -> list[NDArray[Any]]:
        if self.kind_ == "degree":
            return [batch.degrees]
        if batch.labels is None:
            raise InputError("the graphs have no node labels; use features='degree'.")
        return [batch.labels] if batch.labels.ndim == 1 else list(batch.labels.T)

    def _matching_columns(self, batch: GraphBatch) -> list[tuple[NDArray[Any], NDArray[Any], Ints]]:
        """Return the labels of a batch with the fitted categories and their columns, after checking that they match."""
        labels = self._label_columns(batch)
        if len(labels) != len(self.categories_):
            fitted = len(self.categories_)
            raise InputError(f"nodes have {len(labels)} labels each, but the features were fitted on {fitted}.")
        for column, categories in zip(labels, self.categories_, strict=True):
            if len(column) and len(categories) and column.dtype.kind != categories.dtype.kind:
                raise InputError("node labels must be of the fitted kind: all integers or all strings.")
        return list(zip(labels, self.categories_, self.columns_, strict=True))

    def _find_columns(self, batch: GraphBatch) -> tuple[Bools, Ints]:
        """Return whether each label of each node is known, and its column of X; both of shape (N, labels)."""
        is_known = np.zeros((batch.n_nodes, len(self.categories_)), dtype=bool)
        columns_of_X = np.zeros(is_known.shape, dtype=np.int64)
        for i, (labels, categories, columns) in enumerate(self._matching_columns(batch)):
            if len(categories):
                nearest = np.minimum(np.searchsorted(categories, labels), len(categories) - 1)
                is_known[:, i] = categories[nearest] == labels
                columns_of_X[:, i] = columns[nearest]
        return is_known, columns_of_X

    def _one_hot(self, batch: GraphBatch) -> Any:
        is_known, columns = self._find_columns(batch)
        unseen = ~is_known.all(axis=1)
        if unseen.any():
            what = "degree" if self.kind_ == "degree" else "label"
            count = len(np.unique(batch.graph_of_node[unseen]))
            warnings.warn(
                f"{int(unseen.sum())} nodes in {count} graphs have a {what} that was absent when the features were "
                "fitted; its features are zero.",
                UnseenLabelWarning,
                stacklevel=user_stacklevel(),
            )
        indptr = row_offsets(is_known.sum(axis=1))
        entries = np.ones(int(indptr[-1])), columns[is_known], indptr
        matrix = sparse.csr_array(entries, shape=(batch.n_nodes, self.width_))
        matrix.sort_indices()
        return matrix


def _as_batch(source: Any) -> GraphBatch:
    return source if isinstance(source, GraphBatch) else as_graphs(source)
