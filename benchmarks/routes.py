"""A whole regression by each solver: seconds with the kernel, error on other molecules, and peak memory of the process.

python benchmarks/routes.py --table FILE.csv [--solver NAME ...] [--rank M] [--memory 4GB] [N ...]

The target is RDKit's logP with variance 1, as in benchmarks/solvers.py, with the same kernel and ridge. Each row
is a process of its own. Molecules come again, in another order, when the table has fewer than N.
"""

from __future__ import annotations

import argparse
import resource
import time
from multiprocessing import get_context

import numpy as np

import fastgntk as fg
from solvers import KERNEL, TEST, molecules, rms


def row(table: str, n: int, solver: str, rank: int | None, memory: str | None) -> None:
    graphs, y = molecules(table, 10**9)
    some = (
        np.random.default_rng(1).integers(TEST, len(graphs), n) if n > len(graphs) - TEST else np.arange(TEST, TEST + n)
    )
    train, target = graphs[some], y[some]
    model = fg.GraphRegressor(
        KERNEL.normalized(), 0.01, solver=solver, n_components=rank, compute=fg.Compute(max_memory=memory)
    )
    start = time.perf_counter()
    model.fit(train, target)
    fitted = time.perf_counter()
    value, std = model.predict(graphs[:TEST], return_std=True)
    done = time.perf_counter()
    inside = np.mean(np.abs(value - y[:TEST]) < 1.645 * std)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{n:7} {solver:9} {model.solver_:9} {model.solution_.rank:6} {fitted - start:8.1f} {done - fitted:8.2f} "
        f"{rms(value - y[:TEST]) / y.std():7.4f} {inside:7.1%} {peak:6.2f} GB",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", metavar="N", type=int, nargs="*", default=[5000])
    parser.add_argument("--table", metavar="FILE.csv", required=True)
    parser.add_argument("--solver", nargs="*", default=["auto", "nystrom", "features"])
    parser.add_argument("--rank", type=int)
    parser.add_argument("--memory")
    options = parser.parse_args()
    print("  graphs given     solver     rank      fit  predict   error   in 90%  peak")
    for n_graphs in options.counts:
        for name in options.solver:
            process = get_context("spawn").Process(
                target=row, args=(options.table, n_graphs, name, options.rank, options.memory)
            )
            process.start()
            process.join()
