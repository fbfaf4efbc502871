"""Running times of all engines on the seven data sets (Jiang et al. 2022, the table of running times).

The depth is that of ``fastgntk bench``. The Kronecker product and, on large sets, decoupled and sketched are timed on
random graphs and scaled: single graphs by nodes, pairs by pairs of nodes, pairs of the Kronecker product by the product
of squared sizes, which is its cost. The column ``share`` is the share of all pairs that was timed.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk._util.threads import single_threaded_blas
from fastgntk.bench import CASES
from fastgntk.datasets import load
from fastgntk.engines import Engine, get_engine
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK
from fastgntk.pairwise import Compute, gram, prepare
from fastgntk.reproduce._published import DATA, PAPER_SECONDS
from fastgntk.reproduce._rows import Cell, Figure, Row, distinct, matching
from fastgntk.reproduce._study import Study, StudyOptions
from fastgntk.reproduce._style import ENGINE_COLOURS
from fastgntk.sketch import Sketch

__all__ = ["STUDY"]

_ENGINES = ("kronecker", "decoupled", "sketched", "lossless")
_RATE, _BAR = 0.3, 0.8 / 6
_LARGEST = 104  # nodes of a graph that the Kronecker product is timed on: 1 GB for a pair; larger ones are scaled
_DEPTHS = {case.name: (case.blocks, case.layers) for case in CASES}  # COLLAB: the deeper of its two


def _cells(options: StudyOptions) -> list[Cell]:
    return [{"data": name, "engine": engine} for name in options.names(("MUTAG",), DATA) for engine in _ENGINES]


def _measure(cell: Cell, options: StudyOptions) -> list[Row]:
    name, engine = cell["data"], cell["engine"]
    batch = NodeFeatures().fit_transform(load(name).graphs)
    if not batch.n_nodes:
        raise InputError(f"{name} has no nodes to measure.")
    sketch = Sketch(size=_RATE, seed=options.seed) if engine == "sketched" else None
    kernel = GNTK(*_DEPTHS.get(name, (3, 2)), sketch=sketch)
    limit = 3.0 if options.quick else 15.0
    time_engine = _time_kronecker if engine == "kronecker" else _time_engine
    compute = Compute("auto" if sketch else engine, n_jobs=options.workers)
    seconds, share = time_engine(batch, kernel, compute, limit, np.random.default_rng(options.seed))
    return [
        {
            **cell,
            "blocks": kernel.blocks,
            "layers": kernel.layers,
            "graphs": len(batch),
            "nodes": batch.n_nodes,
            "workers": options.workers,
            "rate": sketch.size if sketch else None,
            "seconds": seconds,
            "share": share,
            "scaled": share < 1.0,
        }
    ]


def _time_engine(
    batch: GraphBatch, kernel: GNTK, compute: Compute, limit: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the time for all pairs, and the share of pairs of nodes that was timed."""

    def run(work: Callable[..., Any], part: GraphBatch) -> float:
        start = time.perf_counter()
        work(part, kernel, compute=compute)
        return time.perf_counter() - start

    run(gram, batch[:2])  # compiled code is loaded before the clock runs
    if compute.engine == "lossless":
        return run(gram, batch), 1.0  # not scaled, because fewer graphs have fewer equal nodes
    order = rng.permutation(len(batch))
    count = min(len(batch), 32)
    while True:
        part = batch[np.sort(order[:count])]
        seconds = run(gram, part)
        share = part.n_nodes / batch.n_nodes
        if count == len(batch):
            return seconds, 1.0
        if seconds > limit / 4 and share:
            # Preparation grows with the number of graphs, the rest with its square.
            alone = min(run(prepare, part), seconds)
            return scaled_time(alone, seconds - alone, share), share**2
        # The next part should take half the limit; time grows with the square of the number of graphs.
        count = min(len(batch), int(count * min(8.0, max(1.5, (limit / 2 / seconds) ** 0.5))))


def scaled_time(alone: float, pairs: float, share: float) -> float:
    """Scale times on single graphs (``alone``) and on ``pairs``, measured with a share of the nodes, to all graphs.

    >>> scaled_time(alone=1.0, pairs=2.0, share=0.5)
    10.0
    """
    return alone / share + pairs / share**2


def _time_kronecker(
    batch: GraphBatch, kernel: GNTK, compute: Compute, limit: float, rng: np.random.Generator
) -> tuple[float | None, float]:
    """Time random pairs of the literal formula one by one, and scale by N² N'² and the number of threads.

    The time is None if all graphs are too large.
    """
    engine: Engine = get_engine("kronecker")
    prepared = engine.prepare(batch, kernel)
    squares = batch.sizes.astype(np.float64) ** 2
    small = np.flatnonzero((batch.sizes > 0) & (batch.sizes <= _LARGEST))
    if not len(small):
        return None, 0.0
    done, spent, pairs = 0.0, 0.0, 0
    with single_threaded_blas():
        while spent < limit:
            i, j = (int(k) for k in rng.choice(small, 2))
            blocks = [engine.block(prepared, np.array([k])) for k in (i, j)]  # once for each graph: not timed
            start = time.perf_counter()
            engine.tile(*blocks)
            spent += time.perf_counter() - start
            done += squares[i] * squares[j]
            pairs += 1
    return spent * _half(squares) / done / compute.threads, min(1.0, pairs / _half(np.ones(len(batch))))


def _half(squares: Array) -> float:
    """Return Σ over pairs i ≤ j of the products."""
    return float((squares.sum() ** 2 + (squares**2).sum()) / 2)


def _draw(rows: list[Row], figure: Figure) -> None:
    axes = figure.subplots()
    names = distinct(rows, "data")
    bars = [("GNTK, as printed", "#999999", [_paper(n, 0) for n in names])]
    bars += [("Jiang et al., as printed", "#cccccc", [_paper(n, 1) for n in names])]
    for engine in _ENGINES:
        found = {row["data"]: row["seconds"] or np.nan for row in matching(rows, engine=engine)}
        bars.append((engine, ENGINE_COLOURS[engine], [found.get(n, np.nan) for n in names]))
    for k, (label, colour, values) in enumerate(bars):
        axes.bar(np.arange(len(names)) + (k - 2.5) * _BAR, values, _BAR, color=colour, label=label)
    axes.set_xticks(np.arange(len(names)), names)
    axes.grid(axis="x", visible=False)
    axes.set(yscale="log", ylabel="seconds", title="Time of the kernel matrix")
    axes.legend(ncols=3, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.08))


def _paper(name: str, which: int) -> float:
    """Return the published time in seconds; 24 hours where the paper gives that as a lower bound."""
    printed = PAPER_SECONDS.get(name, (np.nan, np.nan))[which]
    return 86_400.0 if printed is None else printed


def _verdict(rows: list[Row]) -> list[str]:
    sentences = []
    for name in distinct(rows, "data"):
        found = {row["engine"]: row["seconds"] for row in matching(rows, data=name) if row["seconds"]}
        if len(found) < len(_ENGINES):
            continue
        here = ", ".join(f"{engine} {_ratio(found['kronecker'] / found[engine])}" for engine in _ENGINES[1:])
        printed = ""
        if name in PAPER_SECONDS:
            more = "more than " if PAPER_SECONDS[name][0] is None else ""
            printed = f"; the paper prints a speed-up of {more}{_paper(name, 0) / _paper(name, 1):.1f}"
        sketched, lossless = (found["decoupled"] / found[engine] for engine in ("sketched", "lossless"))
        sentences.append(
            f"{name}: over the Kronecker product here {here}{printed}. "
            f"Sketching is {sketched:.2f} times as fast as decoupled, lossless {lossless:.0f} times."
        )
    return sentences or ["Nothing to compare yet: not every engine was measured."]


def _ratio(value: float) -> str:
    return f"{value:,.0f}×" if value >= 10 else f"{value:.1f}×"


_SHOWN = ("data", "engine", "blocks", "layers", "seconds", "share", "scaled")
STUDY = Study("table-time", _cells, _measure, _draw, _verdict, _SHOWN, size=(9.0, 4.5), takes_data=True)
