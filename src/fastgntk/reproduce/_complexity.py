"""Time against graph size, blocks and layers beside counted operations, and a map of where sketching pays.

Two random graphs (every pair of nodes joined with probability ½, degrees as features) of N nodes each, one worker, two
blocks of two layers; the time is that of one pair, after everything that needs one graph only. Jiang et al. 2022,
Theorems 5.3, D.1 and D.2 and the text after Fact 5.1, state N⁴ for the Kronecker product, T(N, N, N) for the decoupled
one and T(N, N, b) for the sketched one, and time linear in L and in R: operations are counted by
:func:`fastgntk.theory.count_operations`. The map compares the sketched engine with the faster of the exact ones, over
size, density and rate.
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
from fastgntk.reproduce._figures import ENGINE_COLOURS, Axes, Figure, Row, column, distinct, matching, plot
from fastgntk.reproduce._study import Cell, Study, StudyOptions, timed
from fastgntk.sketch import Sketch
from fastgntk.theory import count_operations

__all__ = ["STUDY"]

_BLOCKS, _LAYERS = 2, 2
_DENSE, _ROWS = 0.5, 64  # density, and rows of the sketch: b is fixed while N grows, as in T(N, N, b)
_EXPECTED = {"kronecker": "N⁴", "decoupled": "T(N, N, N)", "sketched": "T(N, N, b)", "lossless": "merges, exact"}
_DEPTHS = (1, 2, 4, 6, 8)  # blocks, at one layer each, and layers of two blocks
_DEPTH_NODES = 400
_PAYS = 1.2  # the least gain that counts: times vary by some per cent, and sketching costs accuracy


def _cells(options: StudyOptions) -> list[Cell]:
    sizes, small, map_sizes = [125, 250, 500, 1000, 2000], [12, 16, 24, 32, 48], [100, 200, 400, 800, 1600]
    densities, rates = [0.01, 0.05, 0.1, 0.3, 0.5], [0.05, 0.1, 0.3, 0.5]
    if options.quick:
        sizes, small, map_sizes, densities, rates = [100, 200, 400], [16, 24, 32], [100, 400], [0.05, 0.5], [0.1, 0.3]
    lines: list[Cell] = [
        {"part": "time", "engine": engine, "nodes": N, "density": _DENSE, "rate": None, **_depth()}
        for engine in _EXPECTED
        for N in (small if engine == "kronecker" else sizes)
    ]
    depths = _DEPTHS[:3] if options.quick else _DEPTHS
    lines += [
        {"part": part, "engine": engine, "nodes": _DEPTH_NODES, "density": _DENSE, "rate": None, **_depth(**depth)}
        for engine in ("decoupled", "sketched", "lossless")
        for part in ("blocks", "layers")
        for depth in ({"blocks": k, "layers": 1} if part == "blocks" else {"layers": k} for k in depths)
    ]
    engines = [("decoupled", None), ("lossless", None), *(("sketched", rate) for rate in rates)]
    return lines + [
        {"part": "map", "engine": engine, "nodes": N, "density": p, "rate": rate, **_depth()}
        for N in map_sizes
        for p in densities
        for engine, rate in engines
    ]


def _depth(blocks: int = _BLOCKS, layers: int = _LAYERS) -> Cell:
    return {"blocks": blocks, "layers": layers}


def _measure(cell: Cell, options: StudyOptions) -> Iterator[Row]:
    batch = _sample_graphs(cell["nodes"], cell["density"], options.seed)
    size = _ROWS if cell["rate"] is None else float(cell["rate"])
    engine = get_engine(cell["engine"], Sketch(size=size, seed=options.seed))
    kernel = GNTK(cell["blocks"], cell["layers"])
    with single_threaded_blas():
        _build_groups(engine, _sample_graphs(8, _DENSE, options.seed), kernel)  # loads and compiles
        prepare_seconds, groups = timed(_build_groups, engine, batch, kernel)
        seconds = _measure_shortest_time(lambda: engine.tile_readouts(*groups))
    yield {"seconds": seconds, "prepare_seconds": prepare_seconds / 2, "operations": _count(cell, batch)}


def _count(cell: Cell, batch: GraphBatch) -> float | None:
    """Return the operations of one pair by the theorems, after everything that needs one graph only."""
    if cell["engine"] == "lossless":
        return None
    rows = None
    if cell["engine"] == "sketched":
        rows = _ROWS if cell["rate"] is None else max(1, round(cell["rate"] * cell["nodes"]))
    width = 0 if batch.features is None else batch.features.shape[1]

    def count(graphs: int) -> float:
        sizes = [cell["nodes"]] * graphs
        operations = count_operations(cell["engine"], sizes, width, cell["blocks"], cell["layers"], rows)
        return operations.total - operations.once

    return count(2) - 2 * count(1)  # without the pairs of a graph with itself


def _build_groups(engine: Engine[Any, Any, Any], batch: GraphBatch, kernel: GNTK) -> list[Any]:
    """Do everything that needs one graph only, for two graphs."""
    prepared: Any = engine.prepare(batch, kernel)
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
    """Return the slope of log time over log size, by least squares over all sizes.

    >>> round(fit_exponent([10, 20, 40, 80], [1.0, 8.0, 64.0, 512.0]), 3)
    3.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _fit_lines(rows: list[Row]) -> dict[str, tuple[list[Row], float]]:
    """Return the rows of each engine on dense graphs by size, and the fitted exponent."""
    lines = {}
    for engine in _EXPECTED:
        # Sorted, because an earlier run may have measured other sizes.
        line = sorted(matching(rows, part="time", engine=engine), key=lambda row: row["nodes"])
        if line:
            lines[engine] = line, fit_exponent(column(line, "nodes"), column(line, "seconds"))
    return lines


def r_squared(depths: list[int], seconds: list[float]) -> float:
    """Return how much of the variance of times a straight line over depth explains, R².

    >>> round(r_squared([1, 2, 4], [3.0, 5.0, 9.0]), 3)
    1.0
    """
    return float(np.corrcoef(depths, seconds)[0, 1] ** 2)


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
    axes, blocks, layers = top.subplots(1, 3, width_ratios=(2.2, 1.0, 1.0))
    for engine, (line, exponent) in _fit_lines(rows).items():
        label = f"{engine}: N^{exponent:.2f}  ({_EXPECTED[engine]})"
        plot(axes, line, "nodes", "seconds", color=ENGINE_COLOURS[engine], marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="nodes N of each graph", ylabel="seconds for one pair")
    axes.set_title(f"One pair of dense graphs (density {_DENSE:g}, b = {_ROWS})")
    axes.legend(fontsize=8)
    for axis, part, letter in ((blocks, "blocks", "L"), (layers, "layers", "R")):
        for engine in distinct(matching(rows, part=part), "engine"):
            line = sorted(matching(rows, part=part, engine=engine), key=lambda row: row[part])
            plot(axis, line, part, "seconds", color=ENGINE_COLOURS[engine], marker="o")
        axis.set(xlim=(0, None), ylim=(0, None), xlabel=f"{part} {letter}", title=f"Linear in {letter}")
        axis.set_ylabel("seconds for one pair")
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


def _counted(line: list[Row]) -> str:
    return f"N^{fit_exponent(column(line, 'nodes'), column(line, 'operations')):.2f}"


def _verdict(rows: list[Row]) -> list[str]:
    exponents = ", ".join(
        f"{engine} N^{exponent:.2f}" + (f" ({_EXPECTED[engine]}: {_counted(line)})" if engine != "lossless" else "")
        for engine, (line, exponent) in _fit_lines(rows).items()
    )
    depth_sentences = []
    for part, letter in (("blocks", "L"), ("layers", "R")):
        lines = {
            engine: matching(rows, part=part, engine=engine) for engine in distinct(matching(rows, part=part), "engine")
        }
        fits = {engine: r_squared(column(line, part), column(line, "seconds")) for engine, line in lines.items()}
        claim = "is linear" if min(fits.values()) > 0.98 else "is not a straight line"
        listed = ", ".join(f"{engine} {fit:.3f}" for engine, fit in fits.items())
        depth_sentences.append(f"Time {claim} in {letter} (the theorems: linear); R² of a line: {listed}.")
    gains = compute_gains(rows)
    sizes, densities, rates = (sorted(set(values)) for values in zip(*gains, strict=True))
    sentences = [f"Fitted exponents of one dense pair, and of its counted operations: {exponents}.", *depth_sentences]
    for density in densities:
        parts = []
        for rate in rates:
            # The smallest size such that sketching pays there and at all larger sizes.
            start = next((N for N in sizes if all(gains[M, density, rate] >= _PAYS for M in sizes if M >= N)), None)
            where = f"from {start} nodes" if start else f"at no size up to {sizes[-1]}"
            parts.append(f"rate {rate:g} {where}")
        sentences.append(f"At density {density:g} sketching is at least {_PAYS:g} times as fast: {', '.join(parts)}.")
    (N, density, rate), gain = max(gains.items(), key=lambda item: item[1])
    best = f"The largest gain is {gain:.1f} times, at {N} nodes, density {density:g} and rate {rate:g}."
    return [*sentences, best]


_SHOWN = ("part", "engine", "nodes", "density", "rate", "blocks", "layers", "seconds", "operations")
STUDY = Study("complexity", _cells, _measure, _draw, _verdict, _SHOWN, size=(10.0, 7.0))
