"""What all estimators share: their kernel options, checking of graphs, and saving."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fastgntk._util.checks import check_flag
from fastgntk._util.threads import Progress
from fastgntk.engines import equal_graphs
from fastgntk.errors import InputError, levels_to_the_caller
from fastgntk.graphs import GraphBatch, NodeFeatures, UnseenLabelWarning, as_graphs
from fastgntk.kernels import GNTK
from fastgntk.models._explanation import NO_TRAINING_GRAPHS, Expansion
from fastgntk.models._kernel_rows import KernelOptions, KernelRows, TrainingKernel
from fastgntk.sketch import SketchOptions

__all__ = ["GraphEstimator", "GraphModel", "spec_of", "tell_unseen"]

_log = logging.getLogger("fastgntk")


class GraphEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Turn the parameters of an estimator into a kernel."""

    def _options(self) -> KernelOptions:
        sketching = {} if self.sketching is None else self.sketching
        known = SketchOptions.__annotations__
        if not isinstance(sketching, Mapping) or not set(sketching) <= set(known):
            raise InputError(f"sketching must be a mapping of {', '.join(known)}, but is {sketching!r}.")
        return KernelOptions(
            spec_of(self),
            check_flag("normalize", self.normalize),
            self.features,
            self.engine,
            dict(sketching),
            self.memory,
            self.workers,
        )

    def _progress(self) -> Progress | None:
        return self.progress  # type: ignore[no-any-return]

    def _seed(self) -> int:
        seed = self.random_state
        if seed is None:  # what scikit-learn calls no seed; results here never depend on the moment
            return 0
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**32:
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
    """How it was solved: the solver that was asked for or chosen, or svc."""
    n_graphs_: int
    """Number of training graphs."""
    n_equal_graphs_: int
    """How many training graphs equal an earlier one: the kernel cannot tell them apart."""
    names_: list[str]
    """What the training graphs are called, if ``name`` was told; kept in model files."""
    about_: dict[str, Any]
    """Where the model comes from, if ``name`` was told; kept in model files."""

    def _training(self, X: Any, options: KernelOptions, stored: Any = None) -> TrainingKernel:
        """Check training graphs and make their kernel, of values on disk if some are given."""
        batch = as_graphs(X)
        if not len(batch):
            raise InputError("there are no graphs to learn from.")
        kernel = TrainingKernel(batch, options, self._progress(), stored=stored)
        self._start_anew(kernel)
        return kernel

    def _start_anew(self, kernel: TrainingKernel) -> None:
        """Forget what belongs to graphs fitted before, and count training graphs that equal an earlier one."""
        for told in ("names_", "about_"):  # of graphs that were fitted before
            self.__dict__.pop(told, None)
        step: Any = kernel.options.features
        spec = kernel.options.spec
        groups = equal_graphs(step.extend(kernel.batch).transform(kernel.batch), spec.blocks, typed=spec.typed)
        self.n_graphs_ = kernel.n
        self.n_equal_graphs_ = int(np.sum(groups != np.arange(kernel.n)))
        if self.n_equal_graphs_:
            _log.info(
                "%d of %d training graphs equal an earlier one: %d blocks of refinement cannot tell them apart",
                self.n_equal_graphs_,
                kernel.n,
                spec.blocks,
            )

    def _new(self, X: Any) -> GraphBatch:
        """Check new graphs."""
        check_is_fitted(self)
        batch = as_graphs(X)
        rows = self.expansion_.rows
        rows.check(batch)
        tell_unseen(rows.features, batch, typed=rows.options.spec.typed)
        return batch

    def similarities(self, X: Any) -> NDArray[np.float64]:
        """Return the cosine of each graph with each of the m graphs that carry coefficients, shape (t, m)."""
        batch = self._new(X)
        rows = self.expansion_.rows
        if not isinstance(rows, KernelRows):
            raise InputError(NO_TRAINING_GRAPHS)
        out = np.zeros((len(batch), len(rows)))
        for part, values, own in rows.chunks(batch, self._progress()):
            out[part] = rows.cosine(values, own)
        return out

    def nearest(self, X: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return for each graph the number of the training graph most like it, and how like: the cosine, at most 1.

        With an approximate solver only its landmarks are compared; ``solver="features"`` has none.
        """
        return self._nearest(self.similarities(X))

    def _nearest_in(
        self, values: NDArray[np.float64], own: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the same for a chunk of rows; −1 and NaN if there are no training graphs to compare with."""
        rows = self.expansion_.rows
        if not isinstance(rows, KernelRows):
            return np.full(len(values), -1), np.full(len(values), np.nan)
        return self._nearest(rows.cosine(values, own))

    def _nearest(self, cosine: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        best = cosine.argmax(axis=1)
        return self.expansion_.basis[best], cosine[np.arange(len(cosine)), best]

    def name(self, names: Sequence[str] | None = None, **about: Any) -> Any:
        """Say what the training graphs are called, and anything else (plain values) that the model file should tell."""
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


def spec_of(estimator: Any) -> GNTK:
    """Return the kernel that the parameters of an estimator say."""
    return GNTK(estimator.blocks, estimator.layers, estimator.scale, estimator.jump, estimator.c_phi, estimator.edges)


def tell_unseen(step: NodeFeatures, batch: GraphBatch, *, typed: bool) -> None:
    """Warn if some nodes, or with typed edges some edges, have labels on which the features were not fitted."""
    if step.kind_ in ("labels", "all"):
        unseen = step.unseen(batch)
        _tell_unseen(f"{int(unseen.sum())} nodes in", "these nodes themselves", batch.graph_of_node[unseen])
    if typed:
        graph_of_edge = np.repeat(batch.graph_of_node, batch.degrees)
        _tell_unseen("edges of", "such edges", graph_of_edge[step.unseen_edges(batch)])


def _tell_unseen(which: str, these: str, graphs_of: NDArray[np.int64]) -> None:
    """Warn if some nodes, or edges, have labels that no training graph has; given are the graphs that they are of."""
    if len(graphs_of):
        warnings.warn(
            f"{which} {len(np.unique(graphs_of))} graphs have a label that no training graph has; the model knows "
            f"nothing of {these}.",
            UnseenLabelWarning,
            stacklevel=levels_to_the_caller(),
        )
