"""What runs in a process of its own: ``python -m fastgntk.bench._worker TASK OPTIONS``, JSON in and out."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from fastgntk import datasets
from fastgntk._util.threads import single_threaded_blas
from fastgntk.bench._baseline import Baseline
from fastgntk.engines import layer_nanoseconds
from fastgntk.graphs import GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK
from fastgntk.pairwise import Options, combine, gram, plan_gram, write_both_triangles


def _load(options: dict[str, Any]) -> tuple[GraphBatch, GNTK]:
    batch = NodeFeatures().fit_transform(datasets.load(options["data"]).graphs)
    return batch, GNTK(options["blocks"], options["layers"])


def start(options: dict[str, Any]) -> dict[str, Any]:
    """Time the first kernel of this process, with all that is imported, loaded or compiled for it."""
    begin = time.perf_counter()
    graphs = datasets.load("MUTAG").graphs[:4]
    gram(graphs, GNTK(2, 2), engine="lossless", workers=options["workers"])
    return {"seconds": time.perf_counter() - begin}


def lossless(options: dict[str, Any]) -> dict[str, Any]:
    """Time the lossless engine stage by stage and write the matrix."""
    batch, spec = _load(options)
    gram(batch[:3], spec, engine="lossless")  # compiled code is loaded before the clock starts
    floors = [layer_nanoseconds()]
    begin = time.perf_counter()
    checked = Options.check(spec, "lossless", options["memory"], options["workers"], None)
    run = checked.start(batch, None, 8 * len(batch) ** 2)
    cut = run.cut(batch)
    plan = plan_gram(cut.blocks)
    run.build(cut, checked.workers)
    out = np.zeros((len(batch), len(batch)))
    ready = time.perf_counter()
    run.tiles(cut, cut, plan, write_both_triangles(out, combine(spec)), None)
    end = time.perf_counter()
    floors.append(layer_nanoseconds())
    np.save(options["output"], out)
    return {
        "seconds": end - begin,
        "prepare_seconds": ready - begin,
        "tile_seconds": end - ready,
        "floor_nanoseconds": min(floors),
        "tiles": len(plan.tiles),
        "blocks": len(plan.rows),
        "pairs_by_level": plan.pairs().tolist(),
        "node_pairs": batch.n_nodes**2 // 2,
    }


def decoupled(options: dict[str, Any]) -> dict[str, Any]:
    """Time the decoupled engine, in blocks as it is used, on some of the graphs."""
    batch, spec = _load(options)
    part = batch[np.array(options["graphs"])]
    gram(part[:2], spec, engine="decoupled")
    begin = time.perf_counter()
    gram(part, spec, engine="decoupled", workers=options["workers"])
    return {"seconds": time.perf_counter() - begin, "node_pairs": part.n_nodes**2 / 2}


def baseline(options: dict[str, Any]) -> dict[str, Any]:
    """Time single pairs in this process until the time is used up, at least as many as asked for."""
    batch, spec = _load(options)
    pairs = np.array(options["pairs"], dtype=np.int64)
    runner = Baseline(batch, spec)
    values: list[float] = []
    seconds = 0.0
    with single_threaded_blas():
        while len(values) < len(pairs) and (len(values) < options["at_least"] or seconds < options["time"]):
            some, took = runner.time_pairs(pairs[len(values) : len(values) + 50])
            values += some
            seconds += took
    return {
        "seconds": seconds,
        "pairs": len(values),
        "values": values,
        "prepare_seconds": runner.prepare_seconds,
        "graphs": runner.graphs,
    }


def main() -> None:
    """Run one task and write its answer to a file."""
    task, path = sys.argv[1], Path(sys.argv[2])
    options = json.loads(path.read_text())
    tasks = {"start": start, "lossless": lossless, "decoupled": decoupled, "baseline": baseline}
    path.with_suffix(".out").write_text(json.dumps(tasks[task](options)))


if __name__ == "__main__":
    main()
