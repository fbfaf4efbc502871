"""Graphs prepared once: converted, with features, an engine for each leaf of the kernel, coloured and cut into groups.

All computations of kernel values start from this value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.engines import EXACT_ENGINES, EngineChoice, choose_engine, merge_first_equal
from fastgntk.graphs import DescriptorScaling, GraphBatch, NodeFeatures, as_graphs
from fastgntk.kernels import GNTK, Kernel, Leaf, Network
from fastgntk.pairwise._combine import combine_diagonals, needs_diagonals
from fastgntk.pairwise._compute import Compute, check_compute, check_fits_memory, check_kernel
from fastgntk.pairwise._encoded import EncodedGraphs
from fastgntk.pairwise._group_pairs import leaf_diagonal
from fastgntk.pairwise._plan import plan_gram
from fastgntk.pairwise._prepared_leaf import PreparedLeaf

__all__ = ["PreparedGraphs", "choose_engine_for_reuse", "prepare", "prepare_batch", "prepare_pair"]


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
    reference : PreparedGraphs or None
        The graphs whose features, scalings and colours these reuse: they are rows of a matrix with it, or some of it.
    graphs_by_leaf : dict of Leaf to PreparedLeaf
        What the engine of each leaf of the kernel has prepared.
    engines : list of str
        The engine of each leaf of the kernel.
    """

    kernel: Kernel
    compute: Compute
    batch: GraphBatch
    features: dict[str, NodeFeatures]
    scalings: dict[Leaf, DescriptorScaling]
    graphs_by_leaf: dict[Leaf, PreparedLeaf] = field(default_factory=dict)
    reference: PreparedGraphs | None = None
    is_subset: bool = False
    """Whether these are some of the reference; rows of a matrix with it may have further features."""
    token: str = field(default_factory=lambda: uuid4().hex)
    """Equal for copies, such as those of another process."""
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
        kept = ("kernel", "batch", "features", "scalings")
        state = {name: getattr(self, name) for name in kept}
        state |= {"compute": self.compute.with_progress(None), "engines": self.engines}
        return state | {
            "copied": {name: getattr(self, name) for name in ("reference", "is_subset", "token", "_diagonals")}
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        copied = state.pop("copied")
        if copied["reference"] is None:
            again = prepare_batch(**state)
        else:
            again = copied["reference"]._prepare_with_features(state["batch"], state["features"])
            again.compute = state["compute"]
        self.__dict__.update(again.__dict__ | copied)

    def prepare_rows(self, graphs: Any) -> PreparedGraphs:
        """Prepare other graphs the same way, as rows of a cross matrix with these; new labels get new columns."""
        batch = as_graphs(graphs) if not isinstance(graphs, GraphBatch) else graphs
        return self._prepare_with_features(batch, {kind: step.extend(batch) for kind, step in self.features.items()})

    def subset(self, indices: Ints) -> PreparedGraphs:
        """Return some of the graphs, to be the rows or columns of a matrix with these, or the columns for others."""
        if np.array_equal(indices, np.arange(len(self))):
            return self
        out = self._prepare_with_features(self.batch[indices], self.features)
        out.is_subset = True
        out.take_diagonals(self, indices)
        return out

    def without_reference(self) -> PreparedGraphs:
        """Return the same graphs without the reference, so that it need not stay in memory or be saved with them."""
        out = replace(self, reference=None, is_subset=False)
        out._diagonals = self._diagonals
        return out

    def _prepare_with_features(self, batch: GraphBatch, features: dict[str, NodeFeatures]) -> PreparedGraphs:
        encoded = EncodedGraphs.encode(self.kernel.leaves(), batch, features=features, scalings=self.scalings)
        choices = {leaf: cols.choice for leaf, cols in self.graphs_by_leaf.items()}
        by_leaf = _prepare_leaves(encoded.cols, choices, self.graphs_by_leaf)
        return PreparedGraphs(self.kernel, self.compute, batch, encoded.features, encoded.scalings, by_leaf, self)

    def agrees_with(self, cols: PreparedGraphs) -> bool:
        """Return whether these graphs can be rows of a matrix with ``cols``."""
        return self.token == cols.token or self._refers_to(cols) or (cols.is_subset and cols._refers_to(self))

    def _refers_to(self, graphs: PreparedGraphs) -> bool:
        return self.reference is not None and self.reference.token == graphs.token

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
    encoded = EncodedGraphs.encode(leaves, batch, features=features, scalings=scalings)
    names = {} if engines is None else dict(zip(leaves, engines, strict=True))

    choices: dict[Leaf, EngineChoice] = {}
    for leaf, encoded_batch in encoded.cols.items():
        engine, computed_leaf = names.get(leaf, compute.engine), leaf
        if isinstance(leaf, Network) and leaf in names and engine in EXACT_ENGINES:
            # A stored matrix whose graphs are all smaller than their sketch records an exact engine; it is kept.
            computed_leaf = replace(leaf, sketch=None)
        choices[leaf] = choose_engine(engine, encoded_batch, None, computed_leaf, pairs, reused=reused)
    by_leaf = _prepare_leaves(encoded.cols, choices)
    return PreparedGraphs(kernel, compute, batch, encoded.features, encoded.scalings, by_leaf)


def prepare_pair(
    rows: GraphBatch, cols: GraphBatch, kernel: Kernel, compute: Compute
) -> tuple[PreparedGraphs, PreparedGraphs]:
    """Prepare row and column graphs for one matrix.

    Features and scalings are fitted on the columns, and features are extended by the rows.
    """
    encoded = EncodedGraphs.encode(kernel.leaves(), cols, rows)
    choices = {
        leaf: choose_engine(compute.engine, encoded.rows[leaf], encoded_cols, leaf)
        for leaf, encoded_cols in encoded.cols.items()
    }
    col_leaves = _prepare_leaves(encoded.cols, choices)
    row_leaves = _prepare_leaves(encoded.rows, choices, col_leaves)
    col_graphs = PreparedGraphs(kernel, compute, cols, encoded.features, encoded.scalings, col_leaves)
    return PreparedGraphs(kernel, compute, rows, encoded.features, encoded.scalings, row_leaves, col_graphs), col_graphs


def _prepare_leaves(
    batches: Mapping[Leaf, GraphBatch],
    choices: Mapping[Leaf, EngineChoice],
    cols: Mapping[Leaf, PreparedLeaf] | None = None,
) -> dict[Leaf, PreparedLeaf]:
    """Prepare encoded graphs with the chosen engine of each leaf; they are rows of matrices with ``cols``, if given."""
    return {
        leaf: PreparedLeaf.prepare(leaf, batch, choices[leaf], None if cols is None else cols[leaf])
        for leaf, batch in batches.items()
    }


def choose_engine_for_reuse(name: str, batch: GraphBatch, kernel: Leaf) -> str:
    """Return the name of the engine that :func:`prepare` takes for these graphs."""
    return choose_engine(name, batch, None, kernel, reused=True).engine.name
