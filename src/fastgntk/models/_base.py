"""What estimators share: parameters that are values, checks of graphs, nearest training graphs, saving."""

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_integer
from fastgntk._util.values import Value
from fastgntk.errors import InputError, levels_to_the_caller
from fastgntk.graphs import GraphBatch, NodeFeatures, UnseenLabelWarning, as_graphs
from fastgntk.models._explanation import NO_TRAINING_GRAPHS, Expansion
from fastgntk.models._kernel_rows import KernelRows, check_features
from fastgntk.models._training_kernel import TrainingKernel
from fastgntk.pairwise import check_compute, check_kernel, prepare_batch, tangent_leaves
from fastgntk.pairwise.store import use_stored

__all__ = ["FrozenParameters", "GraphEstimator", "GraphModel", "nonempty", "warn_unseen_labels"]

_log = logging.getLogger("fastgntk")


class FrozenParameters:
    """Mixin for estimators and kernels of scikit-learn with parameters that are frozen values."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__blocks=2`` replaces the kernel by one with that option."""
        nested: dict[str, dict[str, Any]] = {}
        plain = {}
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if inner and isinstance(getattr(self, outer, None), Value):
                nested.setdefault(outer, {})[inner] = value
            else:
                plain[name] = value
        super().set_params(**plain)  # type: ignore[misc]  # of BaseEstimator, or of a kernel of scikit-learn
        for outer, options in nested.items():
            setattr(self, outer, getattr(self, outer).set_params(**options))
        return self


class GraphEstimator(FrozenParameters, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base of estimators with a ``kernel`` and a ``compute``, which are frozen values."""

    def _seed(self) -> int:
        seed = 0 if self.random_state is None else self.random_state  # results never depend on the moment
        if check_integer("random_state", seed, 0) >= 2**32:
            raise InputError(f"random_state must be a whole number in 0..{2**32 - 1}, but is {seed!r}.")
        return int(seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs, not rows of numbers
        tags.input_tags.one_d_array = True
        tags.no_validation = True
        return tags


class GraphModel(GraphEstimator):
    """A fitted function of graphs that can be explained and saved."""

    expansion_: Expansion
    solver_: str
    """The solver of ridge regression that was given or chosen, or ``"svm"``."""
    n_graphs_: int
    """Number of training graphs."""
    n_equal_graphs_: int
    """How many training graphs equal an earlier one: the kernel cannot distinguish them."""
    names_: list[str]
    """Names of the training graphs, if they were given to ``annotate``; kept in model files."""
    about_: dict[str, Any]
    """Where the model comes from, if that was given to ``annotate``; kept in model files."""

    def _training(self, X: Any, gram: Any = None) -> TrainingKernel:
        """Prepare training graphs and return their kernel, of values on disk if ``gram`` is given."""
        batch = nonempty(as_graphs(X))
        kernel, compute = check_kernel(self.kernel), check_compute(self.compute)
        if gram is None:
            training = TrainingKernel(prepare_batch(batch, kernel, compute), compute.progress)
        else:
            stored, prepared = use_stored(gram, batch, kernel, compute)
            training = TrainingKernel(prepared, compute.progress, stored=stored)
        self._start(training)
        return training

    def _start(self, training: TrainingKernel) -> None:
        """Drop what belongs to graphs fitted before, and count training graphs that equal an earlier one."""
        for attribute in ("names_", "about_"):
            self.__dict__.pop(attribute, None)
        groups = training.prepared.equal_graphs()
        self.n_graphs_ = training.n
        self.n_equal_graphs_ = int(np.sum(groups != np.arange(training.n)))
        if self.n_equal_graphs_:
            _log.info(
                "%d of %d training graphs equal an earlier one: the colour refinement of %s cannot distinguish them",
                self.n_equal_graphs_,
                training.n,
                training.prepared.kernel,
            )

    def _new(self, X: Any) -> GraphBatch:
        """Convert and check new graphs."""
        check_is_fitted(self)
        batch = X if isinstance(X, GraphBatch) else as_graphs(X)
        rows = self.expansion_.rows
        check_features(rows.features, batch)
        warn_unseen_labels(rows.features, batch, typed=any(leaf.typed for leaf in tangent_leaves(rows.kernel)))
        return batch

    def similarities(self, X: Any) -> Array:
        """Return the cosine of each graph with each of the m graphs that carry coefficients, shape (t, m)."""
        batch = self._new(X)
        rows = self.expansion_.rows
        if not isinstance(rows, KernelRows):
            raise InputError(NO_TRAINING_GRAPHS)
        out = np.zeros((len(batch), len(rows)))
        for part, values, own in rows.chunks(batch, self._progress()):
            out[part] = rows.cosine(values, own)
        return out

    def nearest(self, X: Any) -> tuple[Ints, Array]:
        """Return for each graph the index of the most similar training graph, and the cosine, at most 1.

        With an approximate solver only its landmarks are compared; ``solver="features"`` has none.
        """
        return self._nearest(self.similarities(X))

    def _progress(self) -> Any:
        return check_compute(self.compute).progress

    def _nearest_in(self, values: Array, own: Array) -> tuple[Ints, Array]:
        """Return the same for a chunk of rows; −1 and NaN if there are no training graphs to compare with."""
        rows = self.expansion_.rows
        if not isinstance(rows, KernelRows):
            return np.full(len(values), -1), np.full(len(values), np.nan)
        return self._nearest(rows.cosine(values, own))

    def _nearest(self, cosine: Array) -> tuple[Ints, Array]:
        best = cosine.argmax(axis=1)
        return self.expansion_.basis[best], cosine[np.arange(len(cosine)), best]

    def annotate(self, names: Sequence[str] | None = None, **about: Any) -> Self:
        """Give the training graphs names, and the model file anything else (plain values) about its origin."""
        check_is_fitted(self)
        if names is not None:
            if len(names) != self.n_graphs_:
                raise InputError(f"names must be {self.n_graphs_}, one for each training graph, but are {len(names)}.")
            self.names_ = [str(name) for name in names]
        if about:
            self.about_ = about
        return self

    def save(self, path: str | Path) -> None:
        """Write the model to a file (``.fgntk``), whole or not at all; :func:`fastgntk.load_model` reads it."""
        from fastgntk.persistence import save_model

        check_is_fitted(self)
        save_model(self, Path(path))


def nonempty(batch: GraphBatch) -> GraphBatch:
    """Return training graphs; there must be at least one."""
    if not batch.n_graphs:
        raise InputError("there are no graphs to learn from.")
    return batch


def warn_unseen_labels(features: dict[str, NodeFeatures], batch: GraphBatch, *, typed: bool) -> None:
    """Warn if some nodes, or with typed edges some edges, have labels on which the features were not fitted."""
    labelled = next((step for step in features.values() if step.kind_ in ("labels", "all")), None)
    if labelled is not None:
        unseen = labelled.unseen(batch)
        _warn_unseen(f"{int(unseen.sum())} nodes in", "these nodes themselves", batch.graph_of_node[unseen])
    if typed:
        step = next(iter(features.values()))
        graph_of_edge = np.repeat(batch.graph_of_node, batch.degrees)
        _warn_unseen("edges of", "such edges", graph_of_edge[step.unseen_edges(batch)])


def _warn_unseen(which: str, these: str, graphs_of: Ints) -> None:
    """Warn if some nodes, or edges, have labels that no training graph has; given are the graphs that they are of."""
    if len(graphs_of):
        warnings.warn(
            f"{which} {len(np.unique(graphs_of))} graphs have a label that no training graph has; the model has "
            f"learned nothing about {these}.",
            UnseenLabelWarning,
            stacklevel=levels_to_the_caller(),
        )
