"""Threads against processes for the tiles of the decoupled engine, end to end, as ratios to one worker.

Run: python benchmarks/workers.py
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from _common import best_of, sets

import fastgntk as fg
from fastgntk._util.threads import single_threaded_blas
from fastgntk.engines import get_engine
from fastgntk.pairwise._plan import cut_into_groups, plan_gram

KERNEL = fg.GNTK(blocks=3, layers=2)
ENGINE = "decoupled"


def tile(pair):
    with single_threaded_blas():
        return get_engine(ENGINE).tile_readouts(*pair)


def with_processes(batch: fg.GraphBatch, workers: int) -> None:
    """Prepare here, send blocks with each tile, take the tiles back."""
    engine = get_engine(ENGINE)
    batch = fg.NodeFeatures().fit_transform(batch)
    state = engine.finish_preparation(engine.prepare(batch, KERNEL))
    plan = plan_gram(cut_into_groups(engine.graph_sizes(state), engine.max_group_nodes))
    blocks = [engine.build_group(state, b.indices) for b in plan.rows]
    # "spawn" is the only way to start that is safe in a program with threads, on every system.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        list(pool.map(tile, [(blocks[i], blocks[j]) for i, j in plan.group_pairs], chunksize=8))


def main() -> None:
    print(f"{'set':14}{'1 thread':>10}{'2 threads':>12}{'2 processes':>14}   speed-up over one thread")
    for name, batch in sets().items():
        one = best_of(lambda batch=batch: fg.gram(batch, KERNEL, compute=fg.Compute(ENGINE, n_jobs=1)))
        threads = best_of(lambda batch=batch: fg.gram(batch, KERNEL, compute=fg.Compute(ENGINE, n_jobs=2)))
        processes = best_of(lambda batch=batch: with_processes(batch, 2))
        print(f"{name:14}{one:9.2f}s{one / threads:11.2f}×{one / processes:13.2f}×")


if __name__ == "__main__":
    main()
