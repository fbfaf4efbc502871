"""The process of one task: ``python -m fastgntk.bench._worker TASK OPTIONS``, JSON in and out."""

import json
import re
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
from fastgntk.pairwise import Compute, estimate_cost, gram, prepare


def _set_up(options: dict[str, Any], engine: str = "auto") -> tuple[GraphBatch, GNTK, Compute]:
    batch = NodeFeatures().fit_transform(datasets.load(options["data"]).graphs)
    compute = Compute(engine, n_jobs=options["workers"], max_memory=options["max_memory"])
    return batch, GNTK(options["blocks"], options["layers"]), compute


def start(options: dict[str, Any]) -> dict[str, Any]:
    """Time the first kernel of this process, including imports, loading and compilation."""
    begin = time.perf_counter()
    gram(datasets.load("MUTAG").graphs[:4], GNTK(2, 2), compute=Compute("lossless", n_jobs=options["workers"]))
    return {"seconds": time.perf_counter() - begin}


def lossless(options: dict[str, Any]) -> dict[str, Any]:
    """Time the two stages of the lossless engine and write the matrix."""
    batch, kernel, compute = _set_up(options, "lossless")
    gram(batch[:3], kernel, compute=compute)  # compiled code is loaded before the clock starts
    floors = [layer_nanoseconds(kernel)]
    begin = time.perf_counter()
    prepared = prepare(batch, kernel, compute=compute)
    ready = time.perf_counter()
    K = gram(prepared)
    end = time.perf_counter()
    floors.append(layer_nanoseconds(kernel))
    np.save(options["output"], K)
    peak = _peak_bytes()
    leaf = estimate_cost(batch, kernel, compute=compute).leaves[0]
    return {
        "prepare_seconds": ready - begin,
        "tile_seconds": end - ready,
        "floor_nanoseconds": min(floors),
        "pairs": sum(leaf.pairs),
        "compression": leaf.compression,
        "peak_bytes": peak,
    }


def decoupled(options: dict[str, Any]) -> dict[str, Any]:
    """Time the decoupled engine on a subset of the graphs."""
    batch, kernel, compute = _set_up(options, "decoupled")
    subset = batch[np.array(options["graphs"])]
    gram(subset[:2], kernel, compute=compute)
    begin = time.perf_counter()
    gram(subset, kernel, compute=compute)
    return {"seconds": time.perf_counter() - begin, "nodes": subset.n_nodes}


def baseline(options: dict[str, Any]) -> dict[str, Any]:
    """Time single pairs until the time is used up, but at least the minimum number of pairs."""
    batch, kernel, _ = _set_up(options)
    pairs = np.array(options["pairs"], dtype=np.int64)
    timer, seconds = Baseline(batch, kernel), 0.0
    values: list[float] = []
    with single_threaded_blas():
        while len(values) < len(pairs) and (len(values) < options["min_pairs"] or seconds < options["time_limit"]):
            chunk_values, chunk_seconds = timer.time_pairs(pairs[len(values) : len(values) + 50])
            values += chunk_values
            seconds += chunk_seconds
    return {"seconds": seconds, "values": values, "prepare_seconds": timer.prepare_seconds / timer.graphs}


def _peak_bytes() -> int:
    """Return the largest resident size of this process; 0 where the system does not report it."""
    # Not `resource.getrusage`: after a fork, that includes the size of the parent process.
    status = Path("/proc/self/status")
    match = re.search(r"VmHWM:\s*(\d+) kB", status.read_text() if status.exists() else "")
    return 1024 * int(match[1]) if match else 0


if __name__ == "__main__":
    tasks = {"start": start, "lossless": lossless, "decoupled": decoupled, "baseline": baseline}
    task, path = tasks[sys.argv[1]], Path(sys.argv[2])
    path.with_suffix(".out").write_text(json.dumps(task(json.loads(path.read_text()))))
