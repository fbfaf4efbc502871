"""Construction of the kernel matrix against solving the regression, end to end.

The first contribution of Jiang et al. 2022 (Section 1): the construction, O(n² N⁴) with the Kronecker product, and not
the regression, O(n³), takes the time of learning with the kernel. Here the construction is timed as in the table of
running times, and solving is one ridge regression on the matrix by Cholesky decomposition. On the data sets n and N are
given; on random graphs n = 500 is fixed and N grows. One worker.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import linalg

from fastgntk._util.threads import single_threaded_blas
from fastgntk.datasets import load, synthetic
from fastgntk.graphs import GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK
from fastgntk.pairwise import Compute
from fastgntk.reproduce._figures import ENGINE_COLOURS, Figure, Row, distinct, matching, plot
from fastgntk.reproduce._study import Cell, Study, StudyOptions, timed
from fastgntk.reproduce._table_time import DEPTHS, time_engine, time_kronecker

__all__ = ["STUDY"]

_DATA = ("MUTAG", "PTC", "IMDB-BINARY", "IMDB-MULTI", "PROTEINS")
_ENGINES = ("kronecker", "decoupled", "lossless")
_DENSITY, _GRAPHS = 0.1, 500


def _cells(options: StudyOptions) -> list[Cell]:
    graphs, sizes = (60, (10, 20)) if options.quick else (_GRAPHS, (10, 20, 40, 80, 160))
    sets: list[Cell] = [{"data": name, "nodes": None, "graphs": None} for name in options.data_sets(_DATA)]
    sets += [{"data": "random graphs", "nodes": N, "graphs": graphs} for N in sizes]
    return [{**one, "engine": engine} for one in sets for engine in _ENGINES]


def _measure(cell: Cell, options: StudyOptions) -> Iterator[Row]:
    batch = _load(cell["data"], cell["nodes"], cell["graphs"], options.seed)
    kernel = GNTK(*DEPTHS.get(cell["data"], (3, 2)))
    seconds_limit, rng = (0.3 if options.quick else 10.0), np.random.default_rng(options.seed)
    measure = time_kronecker if cell["engine"] == "kronecker" else time_engine
    build, fraction = measure(batch, kernel, Compute(cell["engine"], n_jobs=1), seconds_limit, rng)
    solve = _time_solving(len(batch), rng)
    build_fraction = None if build is None else build / (build + solve)
    yield {
        "n": len(batch),
        "mean_nodes": batch.n_nodes / max(len(batch), 1),
        "build_seconds": build,
        "solve_seconds": solve,
        "build_fraction": build_fraction,
        "scaled": fraction < 1.0,
    }


@lru_cache(maxsize=2)
def _load(data: str, nodes: int | None, graphs: int | None, seed: int) -> GraphBatch:
    if nodes is None or graphs is None:
        return NodeFeatures().fit_transform(load(data).graphs)
    return NodeFeatures("degree").fit_transform(
        synthetic.erdos_renyi(graphs, nodes, _DENSITY, random_state=seed).graphs
    )


def _time_solving(n: int, rng: np.random.Generator) -> float:
    """Return the shortest time of a Cholesky decomposition and a solution with n rows; the values do not matter."""
    B = rng.standard_normal((n, n))
    K, y = B @ B.T + n * np.eye(n), rng.standard_normal(n)
    with single_threaded_blas():
        times = [timed(lambda: linalg.cho_solve(linalg.cho_factor(K), y))[0] for _ in range(5)]
    return min(times)


def _draw(rows: list[Row], figure: Figure) -> None:
    sets, random = figure.subplots(1, 2)
    names = [name for name in distinct(rows, "data") if name != "random graphs"]
    for k, engine in enumerate(_ENGINES):
        seconds = {row["data"]: row["build_seconds"] or np.nan for row in matching(rows, engine=engine)}
        position = np.arange(len(names)) + (k - 1.5) * 0.2
        sets.bar(position, [seconds.get(n, np.nan) for n in names], 0.2, color=ENGINE_COLOURS[engine], label=engine)
        line = sorted(matching(rows, data="random graphs", engine=engine), key=lambda row: row["nodes"])
        plot(random, line, "nodes", "build_seconds", color=ENGINE_COLOURS[engine], marker="o")
    solving = {row["data"]: row["solve_seconds"] for row in rows}
    position = np.arange(len(names)) + 0.3
    sets.bar(position, [solving.get(n, np.nan) for n in names], 0.2, color="#999999", label="solving")
    line = sorted(matching(rows, data="random graphs", engine="lossless"), key=lambda row: row["nodes"])
    plot(random, line, "nodes", "solve_seconds", color="#999999", marker="o")
    sets.set_xticks(np.arange(len(names)), names, fontsize=7)
    sets.grid(axis="x", visible=False)
    sets.set(yscale="log", ylabel="seconds", title="Construction and solving")
    graphs = line[0]["n"] if line else _GRAPHS
    random.set(xscale="log", yscale="log", xlabel="nodes N of each graph", title=f"{graphs} random graphs")
    figure.legend(*sets.get_legend_handles_labels(), ncols=4, fontsize=8, loc="outside lower center")


def _verdict(rows: list[Row]) -> list[str]:
    sentences = []
    for name in distinct(rows, "data"):
        parts: list[Any] = []
        for engine in _ENGINES:
            fractions = [
                row["build_fraction"]
                for row in matching(rows, data=name, engine=engine)
                if row["build_fraction"] is not None
            ]
            if fractions:
                low, high = f"{min(fractions):.1%}", f"{max(fractions):.1%}"
                parts.append(f"{engine} {low}" + (f" to {high}" if low != high else ""))
        sentences.append(f"{name}: construction takes {', '.join(parts)} of the time end to end.")
    return sentences


_SHOWN = ("data", "nodes", "n", "mean_nodes", "engine", "build_seconds", "solve_seconds", "build_fraction")
STUDY = Study("end-to-end", _cells, _measure, _draw, _verdict, _SHOWN, size=(9.0, 4.0), takes_data=True)
