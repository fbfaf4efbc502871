"""What is told of each graph: what was said, what is alike, and its drawing with shares, in so many bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk.report._schema import Drawing, GraphFacts, Interval
from fastgntk.report.data._drawings import (
    Labels,
    Part,
    drawn_part,
    edge_counts,
    molecule_drawing,
    plain_drawing,
    size_in_bytes,
    turn,
)
from fastgntk.report.data._node_contributions import node_parts
from fastgntk.report.data._source import Source
from fastgntk.selection import LeftOut

__all__ = ["graph_facts"]

Ints = NDArray[np.int64]

_BYTES = 2_400_000  # of all that is told of graphs; with pictures and the page itself that stays below 3 MB
_SHARE_BYTES = 7  # of one node's share
_MOLECULES = 2_000  # up to which RDKit finds places


def graph_facts(
    source: Source,
    left_out: LeftOut,
    truth: Sequence[int | float],
    said: Sequence[int | Interval],
    wrong: NDArray[np.bool_],
    *,
    bytes_left: int = _BYTES,
    seconds: float = 20.0,
    progress: Callable[[int, int], None] | None = None,
    **how: Any,
) -> tuple[list[GraphFacts], list[str], list[str]]:
    """Return what is told of each graph, the names of node labels, and what was left out, in sentences.

    Graphs that were predicted wrong are drawn first. ``how`` says how kernels are computed, as in `node_parts`.
    """
    batch = source.batch
    labels = Labels(batch)
    edges, sizes = edge_counts(batch), batch.sizes.tolist()
    facts = []
    for i, name in enumerate(source.names):
        one = GraphFacts(name=name, truth=truth[i], said=said[i], nodes=sizes[i], edges=edges[i])
        if left_out.probabilities is not None:
            one["probability"] = np.round(left_out.probabilities[i], 3).tolist()
        near = [(int(j), round(float(c), 5)) for j, c in zip(left_out.near[i], left_out.cosines[i], strict=True)]
        if near[0][0] >= 0:
            one["near"] = [pair for pair in near if pair[0] >= 0]
        facts.append(one)
    room = bytes_left - size_in_bytes(facts) - size_in_bytes(labels.names)
    drawings = _drawings(source, labels, turn(wrong, len(batch)), room, left_out.can_be_explained)
    chosen = np.array(list(drawings), dtype=np.int64)
    shares = node_parts(batch, left_out, chosen, seconds=seconds, progress=progress, **how)
    for i, (drawing, part) in drawings.items():
        if i in shares:
            # A graph has few nodes or many, and its value is about 1: three digits of the largest share.
            drawing["shares"] = _rounded(shares[i][part.nodes])
        facts[i]["drawing"] = drawing
    return facts, labels.names, _missing(len(batch), len(drawings), len(shares), left_out.can_be_explained)


def _drawings(
    source: Source, labels: Labels, order: Ints, room: int, with_shares: bool
) -> dict[int, tuple[Drawing, Part]]:
    out: dict[int, tuple[Drawing, Part]] = {}
    batch = source.batch
    molecules = source.smiles if source.smiles is not None and len(source.smiles) <= _MOLECULES else None
    for i in order.tolist():
        graph, start = batch[i], int(batch.offsets[i])
        found = None
        if molecules is not None:
            found = molecule_drawing(molecules[i], graph, labels.of(start, np.arange(graph.n_nodes)))
        if found is None:
            part = drawn_part(graph)
            found = plain_drawing(part, labels.of(start, part.nodes)), part
        room -= (
            size_in_bytes(found[0]) + with_shares * _SHARE_BYTES * len(found[1].nodes) + len('"drawing":,"shares":[]')
        )
        if room < 0:
            break
        out[i] = found
    return out


def _rounded(shares: NDArray[np.float64]) -> list[float]:
    largest = float(np.abs(shares).max(initial=0.0))
    if largest == 0.0:
        return [0.0] * len(shares)
    digits = 2 - int(np.floor(np.log10(largest)))
    return [float(share) for share in np.round(shares, digits)]


def _missing(n: int, drawn: int, shared: int, can_be_explained: bool) -> list[str]:
    out = []
    if drawn < n:
        out.append(
            f"To keep the page small {drawn:,} of {n:,} graphs are drawn: those that were predicted wrong first, then "
            "others spread evenly over the data."
        )
    if not can_be_explained:
        out.append(
            "Shares of nodes are not shown: by this solver, or with so many graphs, they are not known of models that "
            "leave a graph out."
        )
    elif shared < drawn:
        out.append(f"To save time, shares of nodes were computed for {shared:,} of the {drawn:,} graphs drawn.")
    return out
