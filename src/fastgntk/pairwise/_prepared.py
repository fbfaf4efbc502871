"""Graphs prepared once: converted, with features, an engine for each leaf of the kernel, coloured and cut into groups.

All computations of kernel values start from this value.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines import (
    EXACT_ENGINES,
    EngineChoice,
    check_graphs,
    choose_engine,
    fit_scaling,
    merge_first_equal,
    scale_descriptors,
    sketch_rows,
)
from fastgntk.errors import InputError, user_stacklevel
from fastgntk.graphs import DescriptorScaling, FeatureKind, GraphBatch, NodeFeatures, as_graphs, content_keys
from fastgntk.kernels import GNTK, DescriptorKernel, Kernel, Leaf, Network
from fastgntk.pairwise._combine import combine_diagonals, needs_diagonals
from fastgntk.pairwise._compute import Compute, check_compute, check_fits_memory, check_kernel
from fastgntk.pairwise._group_pairs import leaf_diagonal
from fastgntk.pairwise._plan import plan_gram
from fastgntk.pairwise._prepared_leaf import PreparedLeaf

__all__ = [
    "NotSketchedWarning",
    "PreparedGraphs",
    "as_single_graph",
    "check_call",
    "choose_engine_for_reuse",
    "fit_scalings",
    "prepare",
    "prepare_batch",
    "prepare_pair",
    "resolve",
]


class NotSketchedWarning(UserWarning):
    """Some graphs are not larger than their sketch, so they are computed exactly."""


@dataclass(eq=False, repr=False)
class PreparedGraphs:
    """Hold n graphs prepared for many computations; returned by :func:`prepare`.

    Attributes
    ----------
    kernel : Kernel
    compute : Compute
    batch : GraphBatch
        The graphs as given, before node features are encoded.
    features : dict of str to NodeFeatures
        The fitted node features, for each kind of features in the kernel.
    scalings : dict of Leaf to DescriptorScaling
        The fitted scaling of descriptors, for each leaf of the kernel that uses them.
    engines : list of str
        The engine of each leaf of the kernel.
    """

    kernel: Kernel
    compute: Compute
    batch: GraphBatch
    features: dict[str, NodeFeatures]
    scalings: dict[Leaf, DescriptorScaling]
    graphs_by_leaf: dict[Leaf, PreparedLeaf] = field(default_factory=dict)
    _diagonals: dict[Leaf, Array] = field(default_factory=dict, init=False)

    @property
    def engines(self) -> list[str]:
        """The engine of each leaf of the kernel."""
        return [graphs.engine.name for graphs in self.graphs_by_leaf.values()]

    def __len__(self) -> int:
        return self.batch.n_graphs

    def __repr__(self) -> str:
        return f"PreparedGraphs({len(self)} graphs, {self.kernel}, engine={' and '.join(dict.fromkeys(self.engines))})"

    def __getstate__(self) -> dict[str, Any]:
        # Graphs are prepared again on loading: their prepared form is larger, and compiled code must own its arrays.
        kept = ("kernel", "batch", "features", "scalings", "_diagonals")
        state = {name: getattr(self, name) for name in kept}
        return state | {"compute": self.compute.with_progress(None), "engines": self.engines}

    def __setstate__(self, state: dict[str, Any]) -> None:
        engines, diagonals = state.pop("engines"), state.pop("_diagonals")
        again = prepare_batch(**state, engines=engines)
        self.__dict__.update(again.__dict__, _diagonals=diagonals)

    def prepare_rows(self, graphs: Any) -> PreparedGraphs:
        """Prepare other graphs the same way, as rows of a cross matrix with these; new labels get new columns."""
        batch = as_graphs(graphs) if not isinstance(graphs, GraphBatch) else graphs
        return self._prepare_with_features(batch, {kind: step.extend(batch) for kind, step in self.features.items()})

    def subset(self, indices: Ints) -> PreparedGraphs:
        """Return some of the graphs, prepared on their own, to be rows of a matrix with these or columns for others."""
        if np.array_equal(indices, np.arange(len(self))):
            return self
        out = self._prepare_with_features(self.batch[indices], self.features)
        out.take_diagonals(self, indices)
        return out

    def _prepare_with_features(self, batch: GraphBatch, features: dict[str, NodeFeatures]) -> PreparedGraphs:
        encoded = _EncodedGraphs.encode([batch], self.kernel.leaves(), features, self.scalings)
        choices = {leaf: self.graphs_by_leaf[leaf].choice for leaf in encoded.by_leaf}
        (out,) = encoded.prepare(self.kernel, self.compute, choices, self.graphs_by_leaf)
        return out

    def take_diagonals(self, whole: PreparedGraphs, indices: Ints) -> None:
        """Keep the diagonals that were computed for the whole set; these graphs are its subset ``indices``."""
        if whole is not self:
            self._diagonals |= {leaf: values[indices] for leaf, values in whole._diagonals.items()}

    def leaf_diagonals(self, compute: Compute | None = None) -> dict[Leaf, Array]:
        """Return k(G, G) of every graph for each leaf of the kernel, computed once."""
        compute = self.compute if compute is None else compute
        missing = [leaf for leaf in self.graphs_by_leaf if leaf not in self._diagonals]
        if missing:
            check_fits_memory(8 * len(self) * len(missing), compute.memory_budget)
        for i, leaf in enumerate(missing):
            self._diagonals[leaf] = leaf_diagonal(self.graphs_by_leaf[leaf], compute.for_part(i, len(missing)))
        return self._diagonals

    def needed_diagonals(self, compute: Compute) -> dict[Leaf, Array]:
        """Return the diagonals of the leaves if any part of the kernel is normalised, and none otherwise."""
        return self.leaf_diagonals(compute.with_progress(None)) if needs_diagonals(self.kernel) else {}

    def set_leaf_diagonal(self, leaf: Leaf, values: Array) -> None:
        """Keep the diagonal of a leaf that was computed with its Gram matrix."""
        self._diagonals[leaf] = values

    def first_equal_graph(self) -> Ints:
        """Return for each graph the index of the first one that no leaf of the kernel can distinguish from it."""
        return merge_first_equal([graphs.first_equal_graph() for graphs in self.graphs_by_leaf.values()])

    def diagonal(self, compute: Compute | None = None) -> Array:
        """Return the kernel of each graph with itself (n,)."""
        return combine_diagonals(self.kernel, self.leaf_diagonals(compute))


def prepare(graphs: Any, kernel: Kernel | None = None, *, compute: Compute | None = None) -> PreparedGraphs:
    """Prepare graphs once for many computations, such as the training set of a model.

    ``gram``, ``cross_gram``, ``diagonal`` and ``node_contributions`` accept the result in place of graphs, without a
    kernel; the values are the same. ``cross_gram(new, prepare(graphs, kernel))`` prepares only the new graphs.

    Examples
    --------
    >>> import fastgntk as fg
    >>> data = fg.datasets.load("MUTAG").graphs
    >>> train = fg.prepare(data[:100], fg.GNTK(blocks=2))
    >>> fg.cross_gram(data[100:101], train).shape
    (1, 100)
    """
    kernel = GNTK() if kernel is None else check_kernel(kernel)
    prepared = prepare_batch(as_graphs(graphs), kernel, check_compute(compute))
    for prepared_leaf in prepared.graphs_by_leaf.values():
        prepared_leaf.build(prepared_leaf.affordable_threads(plan_gram(prepared_leaf.groups), prepared.compute, 0))
    return prepared


def resolve(
    graphs: Any, kernel: Kernel | None, compute: Compute | None
) -> tuple[GraphBatch | PreparedGraphs, Kernel, Compute]:
    """Return converted or prepared graphs, and the kernel and options of a call; None means those of prepared graphs.

    For graphs that are not prepared, None means the default.
    """
    if isinstance(graphs, PreparedGraphs):
        return graphs, graphs.kernel, check_call(graphs, kernel, compute)
    kernel, compute = GNTK() if kernel is None else check_kernel(kernel), check_compute(compute)
    return as_graphs(graphs), kernel, compute


def as_single_graph(graph: Any) -> GraphBatch:
    """Convert one graph, or a batch or list of one, to a batch of one."""
    batch = as_graphs(graph if isinstance(graph, GraphBatch | list) else [graph])
    if len(batch) != 1:
        raise InputError(f"graph must be one graph, but {len(batch)} graphs were given.")
    return batch


def check_call(prepared: PreparedGraphs, kernel: Kernel | None, compute: Compute | None) -> Compute:
    """Return the options of a call with prepared graphs; raise if kernel or engine differ from theirs."""
    if kernel is not None and kernel != prepared.kernel:
        raise InputError(f"the graphs were prepared for {prepared.kernel}, but the kernel is {kernel}; leave it out.")
    if compute is None:
        return prepared.compute
    compute = check_compute(compute)
    by_leaf = prepared.graphs_by_leaf
    engines = [by_leaf[leaf].engine.name for leaf in by_leaf if isinstance(leaf, Network)]
    if compute.engine != "auto" and not set(engines) <= {compute.engine}:
        used = " and ".join(dict.fromkeys(engines))
        raise InputError(f"the graphs were prepared with engine {used}, but engine={compute.engine!r}; leave it out.")
    return compute


def fit_scalings(kernel: Kernel, batch: GraphBatch) -> dict[Leaf, DescriptorScaling]:
    """Fit the scaling of descriptors to graphs, for each leaf of a kernel that uses them."""
    return {leaf: fit_scaling(leaf, batch) for leaf in kernel.leaves() if isinstance(leaf, DescriptorKernel)}


def prepare_batch(
    batch: GraphBatch,
    kernel: Kernel,
    compute: Compute,
    features: dict[str, NodeFeatures] | None = None,
    scalings: Mapping[Leaf, DescriptorScaling] | None = None,
    *,
    engines: Sequence[str] | None = None,
    reused: bool = True,
    pairs: float | None = None,
) -> PreparedGraphs:
    """Prepare converted graphs; features and scalings of descriptors are fitted on them unless they are given.

    ``engines`` fixes the engine of each leaf. With ``reused`` engines are chosen for many computations, including some
    with other graphs; otherwise for one Gram matrix, or for a number ``pairs`` of node pairs.
    """
    leaves = kernel.leaves()
    encoded = _EncodedGraphs.encode([batch], leaves, features or {}, scalings or {})
    names = {} if engines is None else dict(zip(leaves, engines, strict=True))

    def choose(leaf: Leaf, batch: GraphBatch) -> EngineChoice:
        engine = names.get(leaf, compute.engine)
        if isinstance(leaf, Network) and leaf in names and engine in EXACT_ENGINES:
            # If all graphs are smaller than their sketch, a stored matrix has an exact engine, and keeps it.
            leaf = replace(leaf, sketch=None)
        return choose_engine(engine, batch, None, leaf, pairs, reused=reused)

    choices = {leaf: choose(leaf, *batches) for leaf, batches in encoded.by_leaf.items()}
    (out,) = encoded.prepare(kernel, compute, choices)
    return out


def prepare_pair(rows: GraphBatch, cols: GraphBatch, kernel: Kernel, compute: Compute) -> list[PreparedGraphs]:
    """Prepare two sets of graphs for one matrix; all is fitted on the columns, and features extended by the rows."""
    encoded = _EncodedGraphs.encode([rows, cols], kernel.leaves(), {}, {})
    choices = {leaf: choose_engine(compute.engine, a, b, leaf) for leaf, (a, b) in encoded.by_leaf.items()}
    return encoded.prepare(kernel, compute, choices)


@dataclass(frozen=True, eq=False)
class _EncodedGraphs:
    """Sets of graphs, encoded by the same fitted features and scalings for each leaf of a kernel.

    All sets but the last are rows of matrices with the last one.
    """

    batches: list[GraphBatch]
    """The graphs as given."""
    features: dict[str, NodeFeatures]
    scalings: dict[Leaf, DescriptorScaling]
    by_leaf: dict[Leaf, list[GraphBatch]]
    """The graphs of each set as the engine of a leaf takes them."""

    @classmethod
    def encode(
        cls,
        batches: list[GraphBatch],
        leaves: list[Leaf],
        known_features: Mapping[str, NodeFeatures],
        known_scalings: Mapping[Leaf, DescriptorScaling],
    ) -> Self:
        """Encode all sets for some leaves; raise if a leaf does not apply to the graphs.

        Unknown features and scalings are fitted on the last set, and these features are extended by the others.
        """
        features: dict[str, NodeFeatures] = {}
        encoded: dict[str, list[GraphBatch]] = {}
        for kind in dict.fromkeys(leaf.features for leaf in leaves if leaf.features is not None):
            features[kind] = step = known_features.get(kind) or _fit_features(kind, batches)
            encoded[kind] = list(map(step.transform, batches))
        if any(leaf.sketch for leaf in leaves):
            # Sketches are drawn from the graphs as given: their encoding depends on the graphs it was fitted on.
            keys = list(map(content_keys, batches))
            encoded = {
                kind: [replace(b, sketch_keys=graph_keys) for b, graph_keys in zip(encoded[kind], keys, strict=True)]
                for kind in encoded
            }
        scalings: dict[Leaf, DescriptorScaling] = {}
        by_leaf: dict[Leaf, list[GraphBatch]] = {}
        for leaf in leaves:
            by_leaf[leaf] = batches if leaf.features is None else encoded[leaf.features]
            if isinstance(leaf, DescriptorKernel):
                scalings[leaf] = scaling = known_scalings.get(leaf) or fit_scaling(leaf, batches[-1])
                by_leaf[leaf] = [scale_descriptors(batch, leaf, scaling) for batch in by_leaf[leaf]]
            if isinstance(leaf, Network):
                _check(leaf, by_leaf[leaf])
        return cls(batches, features, scalings, by_leaf)

    def prepare(
        self,
        kernel: Kernel,
        compute: Compute,
        choices: Mapping[Leaf, EngineChoice],
        cols: Mapping[Leaf, PreparedLeaf] | None = None,
    ) -> list[PreparedGraphs]:
        """Prepare all sets with the chosen engine of each leaf; with ``cols``, the last set is rows for those."""
        prepared = [PreparedGraphs(kernel, compute, batch, self.features, self.scalings) for batch in self.batches]
        for leaf, (*row_batches, last_batch) in self.by_leaf.items():
            last = PreparedLeaf.prepare(leaf, last_batch, choices[leaf], None if cols is None else cols[leaf])
            rows = [PreparedLeaf.prepare(leaf, batch, choices[leaf], last) for batch in row_batches]
            for graphs, prepared_leaf in zip(prepared, [*rows, last], strict=True):
                graphs.graphs_by_leaf[leaf] = prepared_leaf
        return prepared


def _fit_features(kind: FeatureKind, batches: list[GraphBatch]) -> NodeFeatures:
    """Fit node features to the last of several sets of graphs, and extend them by the others."""
    features = NodeFeatures(kind).fit(batches[-1])
    for rows in batches[:-1]:
        features = features.extend(rows)
    return features


def choose_engine_for_reuse(name: str, batch: GraphBatch, kernel: Leaf) -> str:
    """Return the name of the engine that :func:`prepare` takes for these graphs."""
    return choose_engine(name, batch, None, kernel, reused=True).engine.name


def _check(kernel: Network, batches: list[GraphBatch]) -> None:
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
