"""The graphs of a report, and the data of each: prediction, similar graphs, drawing with contributions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array, Bools, Ints
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.pairwise import Compute
from fastgntk.report._schema import Drawing, GraphData, Interval
from fastgntk.report.data._drawings import LabelIndex, Subgraph, edge_counts, molecule_drawing, plain_drawing
from fastgntk.report.data._node_contributions import node_contributions
from fastgntk.selection import OutOfFold

__all__ = ["Source", "drawing_order", "graph_data"]


_BYTES = 2_400_000  # of all graphs; the whole page then stays below 3 MB
_CONTRIBUTION_BYTES = 7  # of one node
_MOLECULES = 2_000  # up to which RDKit computes the layout
_NAME_LENGTH = 120


@dataclass(frozen=True, eq=False)
class Source:
    """Graphs with what the data set provides about them."""

    batch: GraphBatch
    name: str
    names: list[str]  # of the graphs
    smiles: tuple[str, ...] | None
    skipped: int  # rows of a table that could not be read
    targets: tuple[str, ...]

    @classmethod
    def of(cls, data: Any) -> Source:
        """Convert a data set, or anything that :func:`fastgntk.as_graphs` accepts."""
        batch = as_graphs(data)
        smiles = getattr(data, "smiles", None)
        names = getattr(data, "names", None) or smiles or [str(i) for i in range(len(batch))]
        short = [text if len(text) <= _NAME_LENGTH else text[: _NAME_LENGTH - 1] + "…" for text in map(str, names)]
        name = str(getattr(data, "name", "") or "graphs")
        skipped = len(getattr(data, "skipped", ()))
        return cls(batch, name, short, smiles, skipped, tuple(getattr(data, "targets", ())))


def graph_data(
    source: Source,
    out_of_fold: OutOfFold,
    truth: Sequence[int | float],
    predicted: Sequence[int | Interval],
    wrong: Bools,
    *,
    max_bytes: int = _BYTES,
    seconds: float = 20.0,
    compute: Compute | None = None,
) -> tuple[list[GraphData], list[str], list[str]]:
    """Return the data of each graph, the names of node labels, and warnings about omitted drawings.

    Graphs with wrong predictions are drawn first.
    """
    batch = source.batch
    labels = LabelIndex(batch)
    edges, sizes = edge_counts(batch), batch.sizes.tolist()
    graphs = []
    for i, name in enumerate(source.names):
        graph = GraphData(name=name, truth=truth[i], predicted=predicted[i], nodes=sizes[i], edges=edges[i])
        if out_of_fold.probabilities is not None:
            graph["probability"] = np.round(out_of_fold.probabilities[i], 3).tolist()
        similar = zip(out_of_fold.near[i].tolist(), out_of_fold.cosines[i].tolist(), strict=True)
        neighbours = [(j, round(cosine, 5)) for j, cosine in similar if j >= 0]
        if neighbours:
            graph["neighbours"] = neighbours
        graphs.append(graph)
    room = max_bytes - _size_in_bytes(graphs) - _size_in_bytes(labels.names)
    drawings = _drawings(source, labels, drawing_order(wrong), room, out_of_fold.can_be_explained)
    chosen = np.array(list(drawings), dtype=np.int64)
    contributions = node_contributions(batch, out_of_fold, chosen, seconds=seconds, compute=compute)
    for i, (drawing, part) in drawings.items():
        if i in contributions:
            drawing["contributions"] = _rounded(contributions[i][part.nodes])
        graphs[i]["drawing"] = drawing
    omitted = _omissions(len(batch), len(drawings), len(contributions), out_of_fold.can_be_explained)
    return graphs, labels.names, omitted


def _drawings(
    source: Source, labels: LabelIndex, order: Ints, room: int, explained: bool
) -> dict[int, tuple[Drawing, Subgraph]]:
    out: dict[int, tuple[Drawing, Subgraph]] = {}
    batch = source.batch
    molecules = source.smiles if source.smiles is not None and len(source.smiles) <= _MOLECULES else None
    for i in order.tolist():
        graph, start = batch[i], int(batch.offsets[i])
        found = None
        if molecules is not None:
            found = molecule_drawing(molecules[i], graph, labels.of(start, np.arange(graph.n_nodes)))
        if found is None:
            part = Subgraph.of(graph)
            found = plain_drawing(part, labels.of(start, part.nodes)), part
        room -= _size_in_bytes(found[0]) + len('"drawing":,"contributions":[]')
        room -= explained * _CONTRIBUTION_BYTES * len(found[1].nodes)
        if room < 0:
            break
        out[i] = found
    return out


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


def _size_in_bytes(value: Any) -> int:
    """Return the size of a value as JSON."""
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def _rounded(contributions: Array) -> list[float]:
    """Round to three significant digits of the largest contribution."""
    largest = float(np.abs(contributions).max(initial=0.0)) or 1.0
    digits = 2 - int(np.floor(np.log10(largest)))
    return [float(value) for value in np.round(contributions, digits)]


def _omissions(n: int, drawn: int, explained: int, can_be_explained: bool) -> list[str]:
    out = []
    if drawn < n:
        out.append(
            f"To keep the page small, {drawn:,} of {n:,} graphs are drawn: wrong predictions first, then others spread "
            "evenly over the data."
        )
    if not can_be_explained:
        out.append(
            "Node contributions are not shown: for this solver, or this many graphs, they are not available "
            "out-of-fold."
        )
    elif explained < drawn:
        out.append(f"To save time, node contributions were computed for {explained:,} of the {drawn:,} graphs drawn.")
    return out
