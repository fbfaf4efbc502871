"""The graphs of a report, and the data of each: prediction, similar graphs, drawing with node contributions."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from fastgntk._util.arrays import Array, Bools, Ints
from fastgntk.engines import EXACT_ENGINES
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import Network, Normalized
from fastgntk.pairwise import Compute, check_compute, contributions_in_chunks, fit_scalings, prepare_batch
from fastgntk.report._schema import Drawing, GraphData, Interval
from fastgntk.report.data._drawings import draw_graph, edge_counts, index_labels, shorten
from fastgntk.selection import OutOfFold

__all__ = ["Source", "drawing_order", "graph_contributions", "graph_data"]

_MAX_BYTES = 2_400_000  # bytes of all graphs; the whole page then stays below 3 MB
_CONTRIBUTION_BYTES = 7  # of one node
_MAX_MOLECULES = 2_000  # up to which RDKit computes the layout
_NAME_LENGTH = 120
_SECONDS = 20.0  # for node contributions


@dataclass(frozen=True, eq=False)
class Source:
    """Graphs with what the data set provides about them."""

    batch: GraphBatch
    name: str
    names: list[str]  # names of the graphs
    smiles: tuple[str, ...] | None
    skipped: int  # rows of a table that could not be read
    targets: tuple[str, ...]

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """Convert a data set, or anything that :func:`fastgntk.as_graphs` accepts."""
        batch = as_graphs(data)
        smiles = getattr(data, "smiles", None)
        names = getattr(data, "names", None) or smiles or range(len(batch))
        name, skipped = str(getattr(data, "name", "") or "graphs"), len(getattr(data, "skipped", ()))
        short_names = [shorten(str(each), _NAME_LENGTH) for each in names]
        return cls(batch, name, short_names, smiles, skipped, tuple(getattr(data, "targets", ())))


def graph_data(
    source: Source,
    out_of_fold: OutOfFold,
    truth: Sequence[int | float],
    predicted: Sequence[int | Interval],
    wrong: Bools,
    *,
    max_bytes: int = _MAX_BYTES,
    seconds: float = _SECONDS,
    compute: Compute | None = None,
) -> tuple[list[GraphData], list[str], list[str]]:
    """Return the data of each graph, the names of node labels, and warnings about omitted drawings.

    Graphs with wrong predictions are drawn first.
    """
    batch = source.batch
    edges, sizes = edge_counts(batch).tolist(), batch.sizes.tolist()
    graphs = []
    for i, name in enumerate(source.names):
        graph = GraphData(name=name, truth=truth[i], predicted=predicted[i], nodes=sizes[i], edges=edges[i])
        if out_of_fold.probabilities is not None:
            graph["probability"] = np.round(out_of_fold.probabilities[i], 3).tolist()
        similar = zip(out_of_fold.nearest[i].tolist(), out_of_fold.cosines[i].tolist(), strict=True)
        if neighbours := [(j, round(cosine, 5)) for j, cosine in similar if j >= 0]:
            graph["neighbours"] = neighbours
        graphs.append(graph)
    label_names, labels = index_labels(batch)
    max_bytes -= _size_in_bytes(graphs) + _size_in_bytes(label_names)
    node_bytes = _CONTRIBUTION_BYTES if out_of_fold.can_be_explained else 0
    drawings = _draw_graphs(source, labels, drawing_order(wrong), max_bytes, node_bytes)
    chosen = np.array(list(drawings), dtype=np.int64)
    contributions = graph_contributions(batch, out_of_fold, chosen, seconds, compute)
    for i, (drawing, nodes) in drawings.items():
        if i in contributions:
            drawing["contributions"] = _round_contributions(contributions[i].nodes[nodes])
            if blocks := contributions[i].descriptors:
                rounded = _round_contributions(np.array(list(blocks.values())))
                graphs[i]["descriptors"] = dict(zip(blocks, rounded, strict=True))
        graphs[i]["drawing"] = drawing
    warnings = _omission_warnings(len(batch), len(drawings), len(contributions), out_of_fold.can_be_explained)
    return graphs, label_names, warnings


def _draw_graphs(
    source: Source, labels: Ints | None, order: Ints, max_bytes: int, node_bytes: int
) -> dict[int, tuple[Drawing, Ints]]:
    """Return drawings, and the nodes drawn, of as many graphs as fit."""
    drawings: dict[int, tuple[Drawing, Ints]] = {}
    batch = source.batch
    smiles = source.smiles if source.smiles and len(source.smiles) <= _MAX_MOLECULES else [None] * len(batch)
    for i in order.tolist():
        node_labels = None if labels is None else labels[batch.offsets[i] : batch.offsets[i + 1]]
        drawing, nodes = draw_graph(batch[i], node_labels, smiles[i])
        max_bytes -= _size_in_bytes(drawing) + len('"drawing":,"contributions":[]') + node_bytes * len(nodes)
        if max_bytes < 0:
            break
        drawings[i] = drawing, nodes
    return drawings


def drawing_order(wrong: Bools) -> Ints:
    """Return the order in which graphs are drawn: wrong predictions first, then the rest in van der Corput order.

    Every prefix of the rest is spread evenly over the data.
    """
    rest = np.flatnonzero(~wrong)
    # Bit reversal: 0, 1/2, 1/4, 3/4, ... of the whole.
    bits = max(1, int(len(rest) - 1).bit_length())
    reversed_bits = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(2**bits)]
    order = np.array([i for i in reversed_bits if i < len(rest)], dtype=np.int64)
    return np.concatenate([np.flatnonzero(wrong), rest[order]])


class GraphContributions(NamedTuple):
    """The contributions to one prediction; with the offset they sum to the decision value."""

    nodes: Array  # (N,)
    descriptors: dict[str, float]


def graph_contributions(
    batch: GraphBatch, out_of_fold: OutOfFold, chosen: Ints, seconds: float = _SECONDS, compute: Compute | None = None
) -> dict[int, GraphContributions]:
    """Return the contributions of the nodes and the descriptors of chosen graphs.

    Graphs are processed in order; those not reached within ``seconds`` are missing.
    """
    contributions: dict[int, GraphContributions] = {}
    if not out_of_fold.can_be_explained or not len(chosen):
        return contributions
    start, compute = time.perf_counter(), check_compute(compute)
    for index, graphs, train in _same_kernel(out_of_fold, chosen):
        kernel, engines = out_of_fold.kernels[index], out_of_fold.engines[index].split(" and ")
        # The time is divided among the kernels by their number of graphs.
        deadline = start + seconds * (len(contributions) + len(graphs)) / len(chosen)
        engine = next((name for name in engines if name in EXACT_ENGINES), "auto")
        silent = replace(compute, engine=engine, progress=None)
        # The kernel of a network inside a normalised one is computed for many graphs at once, and then normalised.
        inner = kernel.kernel if isinstance(kernel, Normalized) and isinstance(kernel.kernel, Network) else kernel
        cols = prepare_batch(
            batch, inner, silent, scalings=fit_scalings(inner, batch if train is None else batch[train])
        )
        # Weights of cosines times these scales, of both graphs, are weights of the inner kernel.
        diagonal = np.ones(len(batch)) if inner is kernel else cols.diagonal()
        scales = np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(batch)), where=diagonal > 0)
        # At least one chunk per kernel, about a thousand nodes.
        for part, kernel_values in contributions_in_chunks(batch[graphs], cols):
            rows = graphs[part]
            weights = out_of_fold.function(rows).weights / out_of_fold.kernel_scale * scales * scales[rows][:, None]
            sizes = batch.sizes[rows]
            values = np.einsum("uj,uj->u", kernel_values.nodes, np.repeat(weights, sizes, axis=0))
            # A chunk of a kernel on descriptors is a single graph.
            blocks = {name: float(values @ weights[0]) for name, values in kernel_values.descriptors.items()}
            parts = (GraphContributions(nodes, blocks) for nodes in np.split(values, np.cumsum(sizes)[:-1]))
            contributions |= dict(zip(rows.tolist(), parts, strict=True))
            if compute.progress is not None:
                compute.progress(len(contributions), len(chosen))
            if time.perf_counter() > deadline:
                break
    return contributions


def _same_kernel(out_of_fold: OutOfFold, chosen: Ints) -> Iterator[tuple[int, Ints, Ints | None]]:
    """Yield the index of a kernel, the chosen graphs that it predicts, and the graphs to which it is fitted, if any.

    A kernel that is fitted to training graphs is a different one in each fold.
    """
    for index, kernel in enumerate(out_of_fold.kernels):
        graphs = chosen[out_of_fold.kernel_index[chosen] == index]
        if out_of_fold.trained_on is None or not any(leaf.requires_fit for leaf in kernel.leaves()):
            if len(graphs):
                yield index, graphs, None
            continue
        for fold in np.unique(out_of_fold.fold_index[graphs]).tolist():
            yield index, graphs[out_of_fold.fold_index[graphs] == fold], out_of_fold.trained_on[fold]


def _size_in_bytes(value: Any) -> int:
    """Return the size of a value as JSON."""
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def _round_contributions(contributions: Array) -> list[float]:
    """Round to three significant digits of the largest contribution."""
    largest = float(np.abs(contributions).max(initial=0.0)) or 1.0
    digits = 2 - int(np.floor(np.log10(largest)))
    return [float(value) for value in np.round(contributions, digits)]


def _omission_warnings(n: int, drawn: int, explained: int, can_be_explained: bool) -> list[str]:
    warnings = []
    if drawn < n:
        warnings.append(
            f"To keep the page small, {drawn:,} of {n:,} graphs are drawn: wrong predictions first, then others spread "
            "evenly over the data."
        )
    if not can_be_explained:
        warnings.append(
            "Node contributions are not shown: for this solver, or this many graphs, they are not available "
            "out-of-fold."
        )
    elif explained < drawn:
        warnings.append(
            f"To save time, node contributions were computed for {explained:,} of the {drawn:,} graphs drawn."
        )
    return warnings
