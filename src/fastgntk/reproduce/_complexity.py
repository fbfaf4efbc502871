"""Time against graph size on dense graphs, with fitted exponents, and a map of where sketching pays.

Two random graphs (every pair of nodes joined with probability ½, degrees as features) of N nodes each, one worker, two
blocks of two layers; the time is that of one pair, after everything that needs one graph only. The paper states N⁴ for
the Kronecker product, T(N, N, N) for the decoupled one and T(N, N, b) for the sketched one. The map compares the
sketched engine with the faster of the exact ones, over size, density and rate.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from timeit import timeit
from typing import Any

import numpy as np

from fastgntk._util.threads import single_threaded_blas
from fastgntk.datasets import synthetic
from fastgntk.engines import Engine, get_engine
from fastgntk.graphs import GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK
from fastgntk.reproduce._figures import ENGINE_COLOURS, Axes, Figure, Row, column, matching, plot
from fastgntk.reproduce._study import Cell, Study, StudyOptions, timed
from fastgntk.sketch import Sketch

__all__ = ["STUDY"]

_KERNEL = GNTK(blocks=2, layers=2)
_DENSE, _ROWS = 0.5, 64  # density, and rows of the sketch: b is fixed while N grows, as in T(N, N, b)
_EXPECTED = {"kronecker": "N⁴", "decoupled": "T(N, N, N)", "sketched": "T(N, N, b)", "lossless": "merges, exact"}


def _cells(options: StudyOptions) -> list[Cell]:
    sizes, small, map_sizes = [125, 250, 500, 1000, 2000], [12, 16, 24, 32, 48], [100, 200, 400, 800, 1600]
    densities, rates = [0.01, 0.05, 0.1, 0.3, 0.5], [0.05, 0.1, 0.3, 0.5]
    if options.quick:
        sizes, small, map_sizes, densities, rates = [100, 200, 400], [16, 24, 32], [100, 400], [0.05, 0.5], [0.1, 0.3]
    lines: list[Cell] = [
        {"part": "time", "engine": engine, "nodes": N, "density": _DENSE, "rate": None}
        for engine in _EXPECTED
        for N in (small if engine == "kronecker" else sizes)
    ]
    engines = [("decoupled", None), ("lossless", None), *(("sketched", rate) for rate in rates)]
    return lines + [
        {"part": "map", "engine": engine, "nodes": N, "density": p, "rate": rate}
        for N in map_sizes
        for p in densities
        for engine, rate in engines
    ]


def _measure(cell: Cell, options: StudyOptions) -> Iterator[Row]:
    batch = _sample_graphs(cell["nodes"], cell["density"], options.seed)
    size = _ROWS if cell["rate"] is None else float(cell["rate"])
    engine = get_engine(cell["engine"], Sketch(size=size, seed=options.seed))
    with single_threaded_blas():
        _build_groups(engine, _sample_graphs(8, _DENSE, options.seed))  # loads and compiles
        prepare_seconds, groups = timed(_build_groups, engine, batch)
        seconds = _measure_shortest_time(lambda: engine.tile(*groups))
    yield {"seconds": seconds, "prepare_seconds": prepare_seconds / 2}


def _build_groups(engine: Engine[Any, Any], batch: GraphBatch) -> list[Any]:
    """Do everything that needs one graph only, for two graphs."""
    prepared: Any = engine.prepare(batch, _KERNEL)
    for task in engine.preparation_tasks(prepared):
        engine.run_task(prepared, task, np.zeros(1, dtype=np.uint8))
    prepared = engine.finish_preparation(prepared)
    return [engine.build_group(prepared, np.array([i])) for i in (0, 1)]


@lru_cache(maxsize=2)
def _sample_graphs(nodes: int, density: float, seed: int) -> GraphBatch:
    return NodeFeatures("degree").fit_transform(synthetic.erdos_renyi(2, nodes, density, random_state=seed).graphs)


def _measure_shortest_time(work: Callable[[], Any]) -> float:
    """Return the shortest time of a few runs, since other processes can only add to it."""
    work()  # loads and compiles
    times: list[float] = []
    while len(times) < 3 or (sum(times) < 0.3 and len(times) < 20):
        times.append(timeit(work, number=1))
        if times[-1] > 2.0:
            break
    return min(times)


def fit_exponent(sizes: list[int], seconds: list[float]) -> float:
    """Return the slope of log time over log size for the three largest sizes, where start-up no longer counts.

    >>> round(fit_exponent([10, 20, 40, 80], [9.0, 8.0, 64.0, 512.0]), 3)
    3.0
    """
    return float(np.polyfit(np.log(sizes[-3:]), np.log(seconds[-3:]), 1)[0])


def _fit_lines(rows: list[Row]) -> dict[str, tuple[list[Row], float]]:
    """Return the rows of each engine on dense graphs by size, and the fitted exponent."""
    lines = {}
    for engine in _EXPECTED:
        # Sorted, because an earlier run may have measured other sizes.
        line = sorted(matching(rows, part="time", engine=engine), key=lambda row: row["nodes"])
        if line:
            lines[engine] = line, fit_exponent(column(line, "nodes"), column(line, "seconds"))
    return lines


def compute_gains(rows: list[Row]) -> dict[tuple[int, float, float], float]:
    """Return for (nodes, density, rate) the speed-up of sketching over the faster exact engine."""
    gains = {}
    for row in matching(rows, part="map", engine="sketched"):
        nodes, density = row["nodes"], row["density"]
        exact = matching(rows, part="map", nodes=nodes, density=density, rate=None)
        gains[nodes, density, row["rate"]] = min(column(exact, "seconds")) / row["seconds"]
    return gains


def _draw(rows: list[Row], figure: Figure) -> None:
    gains = compute_gains(rows)
    rates = sorted({rate for _, _, rate in gains})
    top, bottom = np.asarray(figure.subfigures(2, 1, height_ratios=(1.15, 1.0)), dtype=object)
    axes = top.subplots()
    for engine, (line, exponent) in _fit_lines(rows).items():
        label = f"{engine}: N^{exponent:.2f}  ({_EXPECTED[engine]})"
        plot(axes, line, "nodes", "seconds", color=ENGINE_COLOURS[engine], marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="nodes N of each graph", ylabel="seconds for one pair")
    axes.set_title(f"One pair of dense graphs (density {_DENSE:g}, b = {_ROWS}), with fitted exponents")
    axes.legend(fontsize=8)
    panels = bottom.subplots(1, len(rates), sharey=True, squeeze=False)[0]
    for axis, rate in zip(panels, rates, strict=True):
        _draw_map(axis, gains, rate)
    panels[0].set_ylabel("density")
    bottom.suptitle("How many times faster sketching is than the faster exact engine, for one pair", fontsize=10)


def _draw_map(axis: Axes, gains: dict[tuple[int, float, float], float], rate: float) -> None:
    sizes, densities = sorted({N for N, _, _ in gains}), sorted({p for _, p, _ in gains})
    values = np.array([[gains[N, p, rate] for N in sizes] for p in densities])
    axis.imshow(np.log2(values), cmap="RdBu", vmin=-4, vmax=4, origin="lower", aspect="auto")
    for i, j in np.ndindex(values.shape):
        strong = abs(np.log2(values[i, j])) > 2.5
        axis.text(j, i, f"{values[i, j]:.2g}", ha="center", va="center", fontsize=7, color="w" if strong else "k")
    axis.set_xticks(range(len(sizes)), [str(N) for N in sizes])
    axis.set_yticks(range(len(densities)), [f"{p:g}" for p in densities])
    axis.grid(visible=False)
    axis.set(title=f"rate {rate:g}", xlabel="nodes")


def _verdict(rows: list[Row]) -> list[str]:
    exponents = ", ".join(
        f"{engine} N^{exponent:.2f}" + (f" (paper: {_EXPECTED[engine]})" if engine != "lossless" else "")
        for engine, (_, exponent) in _fit_lines(rows).items()
    )
    gains = compute_gains(rows)
    sizes, densities, rates = (sorted(set(values)) for values in zip(*gains, strict=True))
    sentences = [f"Fitted exponents of one dense pair: {exponents}."]
    for density in densities:
        parts = []
        for rate in rates:
            # The smallest size such that sketching pays there and at all larger sizes.
            start = next((N for N in sizes if all(gains[M, density, rate] > 1.0 for M in sizes if M >= N)), None)
            where = f"from {start} nodes" if start else f"at no size up to {sizes[-1]}"
            parts.append(f"rate {rate:g} {where}")
        sentences.append(f"At density {density:g} sketching pays: {', '.join(parts)}.")
    (N, density, rate), gain = max(gains.items(), key=lambda item: item[1])
    best = f"The largest gain is {gain:.1f} times, at {N} nodes, density {density:g} and rate {rate:g}."
    return [*sentences, best]


_SHOWN = ("part", "engine", "nodes", "density", "rate", "seconds", "prepare_seconds")
STUDY = Study("complexity", _cells, _measure, _draw, _verdict, _SHOWN, size=(10.0, 7.0))
