"""What a Gram matrix will take, before anything runs: engine and why, blocks, merging, time and memory."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Unpack

from fastgntk._util.memory import Memory, Workers
from fastgntk.engines import Extent, check_edges, forecast_seconds
from fastgntk.graphs import FeatureKind, NodeFeatures, as_graphs
from fastgntk.kernels import GNTK
from fastgntk.pairwise._options import Options, fitted
from fastgntk.pairwise._plan import largest_extent, plan_gram
from fastgntk.sketch import SketchOptions

__all__ = ["Forecast", "forecast"]


@dataclass(frozen=True)
class Forecast:
    """Say how :func:`fastgntk.gram` would compute a matrix.

    Attributes
    ----------
    engine, reason : str
        Which engine, and why it and no other.
    graphs, nodes : int
    blocks, tiles, workers : int
        Graphs are cut into blocks, and tiles of two blocks run on that many workers.
    widest : int
        The most distinct nodes of a block.
    node_pairs : int
        Pairs of nodes, the diagonal and one triangle.
    pairs : list of int
        Pairs of distinct nodes that are computed, level by level.
    compression : list of float
        The second over the first.
    seconds : float
        Expected time, from a cost model; for ``lossless`` scaled to this machine by a short measurement.
    bytes : int
        Expected peak memory of result, tiles in work and prepared graphs, beside what Python itself takes.
    """

    engine: str
    reason: str
    graphs: int
    nodes: int
    blocks: int
    tiles: int
    workers: int
    widest: int
    node_pairs: int
    pairs: list[int]
    compression: list[float]
    seconds: float
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)


def forecast(
    graphs: Any,
    spec: GNTK | None = None,
    *,
    features: FeatureKind | NodeFeatures = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    **sketching: Unpack[SketchOptions],
) -> Forecast:
    """Tell what :func:`gram` with the same arguments would do, without computing the matrix.

    Graphs are coloured and cut for it, which takes seconds where the matrix takes minutes. A budget that is too small
    is refused here as there.

    Examples
    --------
    >>> import fastgntk as fg
    >>> plan = fg.forecast(fg.datasets.load("MUTAG").graphs, fg.GNTK(blocks=3), engine="lossless")
    >>> plan.engine, plan.graphs, [round(share, 3) for share in plan.compression]
    ('lossless', 188, [0.0, 0.004, 0.039])
    """
    options = Options.check(spec, engine, memory, workers, None, sketching)
    batch = as_graphs(graphs)
    batch = fitted(features, batch).transform(batch)
    check_edges(batch, options.spec)
    run = options.start(batch, None, 8 * len(batch) ** 2)
    cut = run.cut(batch)
    plan = plan_gram(cut.blocks)
    used = run.affordable_workers(plan, cut.prepared)
    largest = largest_extent(cut.blocks) if cut.blocks else Extent(0)
    tile = run.engine.tile_bytes(largest, largest)
    pairs = plan.pairs().tolist()
    if len(pairs) < options.spec.blocks:  # an engine that merges nothing has the same pairs at every level
        pairs = pairs * options.spec.blocks
    node_pairs = batch.n_nodes * (batch.n_nodes + 1) // 2
    return Forecast(
        engine=run.engine.name,
        reason=run.choice.reason,
        graphs=len(batch),
        nodes=batch.n_nodes,
        blocks=len(cut.blocks),
        tiles=len(plan.tiles),
        workers=used,
        widest=largest.width,
        node_pairs=node_pairs,
        pairs=pairs,
        compression=[count / max(node_pairs, 1) for count in pairs],
        seconds=forecast_seconds(run.engine.name, batch, options.spec, sum(pairs), options.sketching)
        / min(used, max(len(plan.tiles), 1)),
        bytes=run.result + run.engine.kept_bytes(cut.prepared) + used * tile,
    )
