"""Running times of all engines on the seven data sets (Jiang et al. 2022, the table of running times).

The depth is that of ``fastgntk bench``. The Kronecker product and, on large sets, decoupled and sketched are timed on
random graphs and scaled: single graphs by nodes, pairs by pairs of nodes, pairs of the Kronecker product by the product
of squared sizes, which is its cost. The column ``share`` says what share of all pairs was timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastgntk import datasets
from fastgntk._util.threads import single_threaded_blas
from fastgntk.bench import CASES
from fastgntk.engines import Engine, get_engine
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK
from fastgntk.pairwise import gram, prepare
from fastgntk.reproduce._published import DATA, PAPER_SECONDS
from fastgntk.reproduce._study import Cell, Row, Study, StudyOptions
from fastgntk.reproduce._style import ENGINE_COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDY"]

_ENGINES = ("kronecker", "decoupled", "sketched", "lossless")
_RATE = 0.3
_LARGEST = 104  # nodes of a graph that the Kronecker product is timed on: 1 GB for a pair; larger ones are scaled
_DEPTHS = {case.name: (case.blocks, case.layers) for case in CASES}  # COLLAB: the deeper of its two


def _cells(options: StudyOptions) -> list[Cell]:
    names = options.data or (("MUTAG",) if options.quick else DATA)
    for name in names:
        datasets.find(name)  # an unknown name is said before anything is measured
    return [{"data": name, "engine": engine} for name in names for engine in _ENGINES]


def _measure(cell: Cell, options: StudyOptions) -> list[Row]:
    raw = datasets.load(cell["data"]).graphs
    batch = NodeFeatures().fit_transform(raw)
    if not batch.n_nodes:
        raise InputError(f"{cell['data']} has no nodes to measure.")
    blocks, layers = _DEPTHS.get(cell["data"], (3, 2))
    spec = GNTK(blocks, layers)
    limit = 3.0 if options.quick else 15.0
    rng = np.random.default_rng(options.seed)
    seconds: float | None
    if cell["engine"] == "kronecker":
        seconds, share = _time_kronecker(batch, spec, limit, options.workers, rng)
    else:
        seconds, share = _time_engine(batch, spec, cell["engine"], limit, options, rng)
    return [
        {
            **cell,
            "blocks": blocks,
            "layers": layers,
            "graphs": len(batch),
            "nodes": batch.n_nodes,
            "workers": options.workers,
            "rate": _RATE if cell["engine"] == "sketched" else None,
            "seconds": seconds,
            "share": share,
            "scaled": share < 1.0,
        }
    ]


def _time_engine(
    batch: GraphBatch, spec: GNTK, name: str, limit: float, options: StudyOptions, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the time for all pairs, and the share of pairs of nodes that was timed."""
    sketching: dict[str, Any] = {"sketch_size": _RATE, "seed": options.seed} if name == "sketched" else {}

    def run(work: Callable[..., Any], part: GraphBatch) -> float:
        start = time.perf_counter()
        work(part, spec, engine=name, workers=options.workers, **sketching)
        return time.perf_counter() - start

    run(gram, batch[:2])  # compiled code is loaded before the clock runs
    if name == "lossless":
        return run(gram, batch), 1.0  # not scaled: on fewer graphs it merges less
    order = rng.permutation(len(batch))
    count = min(len(batch), 32)
    while True:
        part = batch[np.sort(order[:count])]
        seconds = run(gram, part)
        share = part.n_nodes / batch.n_nodes
        if count == len(batch):
            return seconds, 1.0
        if seconds > limit / 4 and share:
            # What needs one graph only grows with the number of graphs, the rest with its square.
            alone = min(run(prepare, part), seconds)
            return scaled_time(alone, seconds - alone, share), share**2
        # The next part is expected to take half the limit; its time goes with the square of its size.
        count = min(len(batch), int(count * min(8.0, max(1.5, (limit / 2 / seconds) ** 0.5))))


def scaled_time(alone: float, pairs: float, share: float) -> float:
    """Return the time of all graphs from that of a share of their nodes, spent on single graphs and on pairs.

    >>> scaled_time(alone=1.0, pairs=2.0, share=0.5)
    10.0
    """
    return alone / share + pairs / share**2


def _time_kronecker(
    batch: GraphBatch, spec: GNTK, limit: float, workers: int, rng: np.random.Generator
) -> tuple[float | None, float]:
    """Time random pairs of the literal formula one by one, and scale by N² N'², on all workers.

    None where every graph is too large for it.
    """
    engine: Engine = get_engine("kronecker")
    prepared = engine.prepare(batch, spec)
    squares = batch.sizes.astype(np.float64) ** 2
    small = np.flatnonzero((batch.sizes > 0) & (batch.sizes <= _LARGEST))
    if not len(small):
        return None, 0.0
    done, spent, pairs = 0.0, 0.0, 0
    total = _half(squares)
    with single_threaded_blas():
        while spent < limit:
            i, j = (int(k) for k in rng.choice(small, 2))
            blocks = [engine.block(prepared, np.array([k])) for k in (i, j)]  # once for each graph: not timed
            start = time.perf_counter()
            engine.tile(*blocks)
            spent += time.perf_counter() - start
            done += squares[i] * squares[j]
            pairs += 1
    return spent * total / done / workers, min(1.0, pairs / (len(batch) * (len(batch) + 1) / 2))


def _half(squares: NDArray[np.float64]) -> float:
    """Return Σ over pairs i ≤ j of the products."""
    return float((squares.sum() ** 2 + (squares**2).sum()) / 2)


def _draw(rows: list[Row], figure: Figure) -> None:
    axes = figure.subplots()
    names = list(dict.fromkeys(row["data"] for row in rows))
    width = 0.8 / 6
    bars = [("GNTK, as printed", "#999999", [_paper(n, 0) for n in names])]
    bars += [("Jiang et al., as printed", "#cccccc", [_paper(n, 1) for n in names])]
    for engine in _ENGINES:
        found = {row["data"]: row["seconds"] for row in rows if row["engine"] == engine}
        bars.append((engine, ENGINE_COLOURS[engine], [found.get(n) or np.nan for n in names]))
    for k, (label, colour, values) in enumerate(bars):
        axes.bar(np.arange(len(names)) + (k - 2.5) * width, values, width, color=colour, label=label)
    axes.set_xticks(np.arange(len(names)), names)
    axes.grid(axis="x", visible=False)
    axes.set(yscale="log", ylabel="seconds", title="Time of the kernel matrix")
    axes.legend(ncols=3, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.08))


def _paper(name: str, which: int) -> float:
    """Return the printed time; 24 hours where it is only said to be more."""
    if name not in PAPER_SECONDS:
        return float("nan")
    printed = PAPER_SECONDS[name][which]
    return 86_400.0 if printed is None else printed


def _verdict(rows: list[Row]) -> list[str]:
    sentences = []
    for name in dict.fromkeys(row["data"] for row in rows):
        found = {row["engine"]: row["seconds"] for row in rows if row["data"] == name and row["seconds"]}
        if len(found) < len(_ENGINES):
            continue
        here = ", ".join(f"{engine} {_ratio(found['kronecker'] / found[engine])}" for engine in _ENGINES[1:])
        gntk, fast = PAPER_SECONDS.get(name, (None, float("nan")))
        more = "more than " if gntk is None else ""
        printed = (
            f"; the paper prints a speed-up of {more}{_paper(name, 0) / fast:.1f}" if name in PAPER_SECONDS else ""
        )
        sketched, lossless = (found["decoupled"] / found[engine] for engine in ("sketched", "lossless"))
        sentences.append(
            f"{name}: over the Kronecker product here {here}{printed}. "
            f"Sketching is {sketched:.2f} times as fast as decoupled, lossless {lossless:.0f} times."
        )
    return sentences or ["Nothing to compare yet: not every engine was measured."]


def _ratio(value: float) -> str:
    return f"{value:,.0f}×" if value >= 10 else f"{value:.1f}×"


STUDY = Study(
    name="table-time",
    cells=_cells,
    measure=_measure,
    draw=_draw,
    verdict=_verdict,
    shown=("data", "engine", "blocks", "layers", "seconds", "share", "scaled"),
    size=(9.0, 4.5),
    takes_data=True,
)
