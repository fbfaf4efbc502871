"""Running times of all engines on the seven data sets (Jiang et al. 2022, Table 2).

"Ours" in that table is decoupling alone: no sketch is used there (Section F), so it stands beside `decoupled` here, and
"GNTK" beside the Kronecker product. Depths are not printed; they are those of ``fastgntk bench``. The Kronecker product
and, on large sets, decoupled and sketched are timed on random graphs and scaled: single graphs by nodes, pairs by pairs
of nodes, pairs of the Kronecker product by the product of squared sizes, which is its cost. The column ``fraction`` is
that of all pairs that were timed.
"""

from collections.abc import Iterator

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk._util.threads import single_threaded_blas
from fastgntk.bench import CASES
from fastgntk.datasets import load
from fastgntk.engines import get_engine
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK
from fastgntk.pairwise import Compute, gram, prepare
from fastgntk.reproduce._figures import ENGINE_COLOURS, Figure, Row, distinct, matching
from fastgntk.reproduce._study import PAPER_DATA, Cell, Study, StudyOptions, timed
from fastgntk.sketch import Sketch

__all__ = ["DEPTHS", "PAPER_SECONDS", "STUDY", "time_engine", "time_kronecker"]

PAPER_SECONDS: dict[str, tuple[float | None, float]] = {
    "COLLAB": (None, 4_523.0),  # GNTK took more than 24 hours
    "IMDB-BINARY": (546.4, 90.7),
    "IMDB-MULTI": (686.0, 112.5),
    "PTC": (46.5, 13.5),
    "NCI1": (10_084.7, 7_446.8),
    "MUTAG": (8.0, 3.0),
    "PROTEINS": (1_392.0, 782.7),
}
"""Published running time of GNTK and of the paper's method, which is decoupling alone, in seconds."""

_ENGINES = ("kronecker", "decoupled", "sketched", "lossless")
_RATE, _BAR = 0.3, 0.8 / 6
_LARGEST = 104  # nodes of a graph that the Kronecker product is timed on: 1 GB for a pair; larger ones are scaled
DEPTHS = {case.name: (case.blocks, case.layers) for case in CASES}  # COLLAB: the deeper of its two


def _cells(options: StudyOptions) -> list[Cell]:
    return [{"data": name, "engine": engine} for name in options.data_sets(PAPER_DATA) for engine in _ENGINES]


def _measure(cell: Cell, options: StudyOptions) -> Iterator[Row]:
    name, engine = cell["data"], cell["engine"]
    batch = NodeFeatures().fit_transform(load(name).graphs)
    if not batch.n_nodes:
        raise InputError(f"{name} has no nodes to measure.")
    sketch = Sketch(size=_RATE, seed=options.seed) if engine == "sketched" else None
    kernel = GNTK(*DEPTHS.get(name, (3, 2)), sketch=sketch)
    seconds_limit = 1.0 if options.quick else 15.0
    measure = time_kronecker if engine == "kronecker" else time_engine
    compute = Compute("auto" if sketch else engine, n_jobs=options.workers)
    seconds, fraction = measure(batch, kernel, compute, seconds_limit, np.random.default_rng(options.seed))
    yield {
        "blocks": kernel.blocks,
        "layers": kernel.layers,
        "graphs": len(batch),
        "nodes": batch.n_nodes,
        "workers": options.workers,
        "rate": sketch.size if sketch else None,
        "seconds": seconds,
        "fraction": fraction,
        "scaled": fraction < 1.0,
        "paper_seconds": _paper_seconds(name, engine),
    }


def _paper_seconds(name: str, engine: str) -> float | None:
    """Return the seconds printed for the same method."""
    printed = dict(zip(("kronecker", "decoupled"), PAPER_SECONDS.get(name, ()), strict=False))
    return printed.get(engine)


def time_engine(
    batch: GraphBatch, kernel: GNTK, compute: Compute, seconds_limit: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the time for all pairs, and the fraction of pairs of nodes that was timed."""
    gram(batch[:2], kernel, compute=compute)  # compiled code is loaded before the clock runs
    order = rng.permutation(len(batch))
    # The lossless engine is not scaled, because fewer graphs have fewer equal nodes.
    count = len(batch) if compute.engine == "lossless" else min(len(batch), 32)
    while True:
        part = batch[np.sort(order[:count])]
        seconds, _ = timed(gram, part, kernel, compute=compute)
        fraction = part.n_nodes / batch.n_nodes
        if count == len(batch):
            return seconds, 1.0
        if seconds > seconds_limit / 4 and fraction:
            preparation = min(timed(prepare, part, kernel, compute=compute)[0], seconds)
            return scaled_time(preparation, seconds - preparation, fraction), fraction**2
        # The next part should take half the limit; time grows with the square of the number of graphs.
        count = min(len(batch), int(count * min(8.0, max(1.5, (seconds_limit / 2 / seconds) ** 0.5))))


def scaled_time(preparation: float, pairs: float, fraction: float) -> float:
    """Scale times that were measured with a fraction of the nodes to all graphs; pairs grow as the square.

    >>> scaled_time(preparation=1.0, pairs=2.0, fraction=0.5)
    10.0
    """
    return preparation / fraction + pairs / fraction**2


def time_kronecker(
    batch: GraphBatch, kernel: GNTK, compute: Compute, seconds_limit: float, rng: np.random.Generator
) -> tuple[float | None, float]:
    """Time random pairs of the literal formula one by one, and scale by N² N'² and the number of threads.

    The time is None if all graphs are too large.
    """
    engine = get_engine("kronecker")
    prepared = engine.prepare(batch, kernel)
    squares = batch.sizes.astype(np.float64) ** 2
    small = np.flatnonzero((batch.sizes > 0) & (batch.sizes <= _LARGEST))
    if not len(small):
        return None, 0.0
    done, spent, pairs = 0.0, 0.0, 0
    with single_threaded_blas():
        while spent < seconds_limit:
            i, j = (int(k) for k in rng.choice(small, 2))
            groups = [engine.build_group(prepared, np.array([k])) for k in (i, j)]  # once for each graph: not timed
            spent += timed(engine.tile_readouts, *groups)[0]
            done += squares[i] * squares[j]
            pairs += 1
    seconds = spent * _sum_over_pairs(squares) / done / compute.threads
    return seconds, min(1.0, pairs / _sum_over_pairs(np.ones(len(batch))))


def _sum_over_pairs(squares: Array) -> float:
    """Return Σ over pairs i ≤ j of the products."""
    return float((squares.sum() ** 2 + (squares**2).sum()) / 2)


def _draw(rows: list[Row], figure: Figure) -> None:
    axes = figure.subplots()
    names = distinct(rows, "data")
    bars = [("GNTK, as printed", "#999999", [_published_seconds(n, 0) for n in names])]
    bars += [("Jiang et al. (decoupled), as printed", "#cccccc", [_published_seconds(n, 1) for n in names])]
    for engine in _ENGINES:
        seconds = {row["data"]: row["seconds"] or np.nan for row in matching(rows, engine=engine)}
        bars.append((engine, ENGINE_COLOURS[engine], [seconds.get(n, np.nan) for n in names]))
    for k, (label, colour, values) in enumerate(bars):
        axes.bar(np.arange(len(names)) + (k - 2.5) * _BAR, values, _BAR, color=colour, label=label)
    unfinished = [i for i, name in enumerate(names) if PAPER_SECONDS.get(name, (0.0,))[0] is None]
    if unfinished:
        heights = [1.5 * _published_seconds(names[i], 0) for i in unfinished]
        positions, label = np.array(unfinished) - 2.5 * _BAR, "printed as more than 24 hours"
        axes.plot(positions, heights, linestyle="", color="black", marker="$↑$", markersize=9, label=label)
    axes.set_xticks(np.arange(len(names)), names)
    axes.grid(axis="x", visible=False)
    axes.set(yscale="log", ylabel="seconds", title="Time of the kernel matrix")
    axes.legend(ncols=3, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.08))


def _published_seconds(name: str, which: int) -> float:
    """Return the published time in seconds; 24 hours where the paper gives that as a lower bound."""
    printed = PAPER_SECONDS.get(name, (np.nan, np.nan))[which]
    return 86_400.0 if printed is None else printed


def _verdict(rows: list[Row]) -> list[str]:
    sentences = []
    for name in distinct(rows, "data"):
        seconds = {row["engine"]: row["seconds"] for row in matching(rows, data=name) if row["seconds"]}
        if len(seconds) < len(_ENGINES):
            continue
        ratios = {engine: seconds["kronecker"] / seconds[engine] for engine in _ENGINES[1:]}
        speedups = ", ".join(f"{engine} {_format_ratio(ratio)}" for engine, ratio in ratios.items())
        printed = ""
        if name in PAPER_SECONDS:
            more = "more than " if PAPER_SECONDS[name][0] is None else ""
            speedup = _published_seconds(name, 0) / _published_seconds(name, 1)
            printed = f"; the paper prints {more}{speedup:.1f}× for decoupled"
        sketched, lossless = (seconds["decoupled"] / seconds[engine] for engine in ("sketched", "lossless"))
        sentences.append(
            f"{name}: over the Kronecker product here {speedups}{printed}. "
            f"Sketching is {sketched:.2f} times as fast as decoupled, lossless {lossless:.0f} times."
        )
    return sentences or ["Nothing to compare yet: not every engine was measured."]


def _format_ratio(value: float) -> str:
    return f"{value:,.0f}×" if value >= 10 else f"{value:.1f}×"


_SHOWN = ("data", "engine", "blocks", "layers", "seconds", "fraction", "scaled", "paper_seconds")
STUDY = Study("table-time", _cells, _measure, _draw, _verdict, _SHOWN, size=(9.0, 4.5), takes_data=True)
