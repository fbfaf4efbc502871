"""Measure one row of the table: the same kernel by the baseline, ``decoupled`` and ``lossless``."""

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from fastgntk import datasets
from fastgntk._util.arrays import Ints
from fastgntk._version import __version__
from fastgntk.engines import decoupled_seconds
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK

__all__ = ["CASES", "Case", "Measurement", "installed_versions", "machine", "measure", "time_start_up"]

_MIN_PAIRS, _MAX_PAIRS = 200, 60_000  # pairs of the baseline


@dataclass(frozen=True)
class Case:
    """A data set and a depth."""

    name: str
    blocks: int
    layers: int


CASES = (
    Case("MUTAG", 3, 2),
    Case("PTC", 9, 1),
    Case("IMDB-BINARY", 3, 2),
    Case("IMDB-MULTI", 3, 2),
    Case("PROTEINS", 3, 2),
    Case("NCI1", 9, 1),
    Case("COLLAB", 1, 2),
    Case("COLLAB", 3, 2),
)


@dataclass(frozen=True)
class Measurement(Case):
    """Measurements of one case; times in seconds, on ``workers`` workers each."""

    workers: int
    graphs: int
    nodes: int
    checksum: str
    baseline_seconds: float
    baseline_pairs: int  # timed
    baseline_scaled: bool  # whether the time is extrapolated from a sample of pairs
    decoupled_seconds: float
    decoupled_scaled: bool
    lossless_seconds: float
    prepare_seconds: float
    tile_seconds: float
    floor_nanoseconds: float
    efficiency: float
    compression: list[float]  # pairs of distinct nodes over pairs of nodes, by level
    peak_bytes: int
    largest_difference: float  # relative, between lossless and baseline on the pairs of the baseline

    @property
    def ratio(self) -> float:
        """Speed-up over the baseline."""
        return self.baseline_seconds / self.lossless_seconds

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        over_decoupled = self.decoupled_seconds / self.lossless_seconds
        return asdict(self) | {"ratio": self.ratio, "ratio_over_decoupled": over_decoupled}


def measure(
    case: Case,
    *,
    workers: int = 2,
    max_memory: int | None = None,
    time_limit: float = 20.0,
    progress: Callable[[str], None] = lambda stage: None,  # noqa: ARG005
) -> Measurement:
    """Measure one case.

    Baseline and ``decoupled`` are timed in full if they take less than about ``time_limit`` seconds; otherwise the time
    is extrapolated from random pairs and random graphs. Each runs in its own process. The baseline has one process per
    worker, because threads would contend for the interpreter lock.
    """
    batch = datasets.load(case.name).graphs
    n = len(batch)
    if n == 0:
        raise InputError(f"{case.name} has no graphs to measure.")
    options = {
        "data": case.name,
        "blocks": case.blocks,
        "layers": case.layers,
        "workers": workers,
        "max_memory": max_memory,
    }
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(prefix="fastgntk-bench-") as folder:
        progress("lossless")
        matrix = Path(folder, "K.npy")
        [lossless] = _run("lossless", [{**options, "output": str(matrix)}], folder)
        progress("baseline, one pair at a time")
        pairs = _draw_pairs(n, rng)
        shards = [pairs[i::workers] for i in range(min(workers, len(pairs)))]
        limits = {"min_pairs": -(-_MIN_PAIRS // workers), "time_limit": time_limit}
        baselines = _run("baseline", [{**options, **limits, "pairs": shard.tolist()} for shard in shards], folder)
        progress("decoupled, in blocks")
        graphs = _draw_graphs(batch, case, time_limit, workers, rng)
        [decoupled] = _run("decoupled", [{**options, "graphs": graphs.tolist()}], folder)
        values = np.concatenate([b["values"] for b in baselines])
        i, j = np.concatenate([shard[: len(b["values"])] for shard, b in zip(shards, baselines, strict=True)]).T
        differences = np.abs(np.load(matrix, mmap_mode="r")[i, j] - values) / np.maximum(np.abs(values), 1e-300)
    all_pairs = n * (n + 1) // 2
    rate = sum(len(b["values"]) / b["seconds"] for b in baselines)  # pairs per second, all workers together
    prepare_seconds = float(np.mean([b["prepare_seconds"] for b in baselines])) * n / workers
    floor_seconds = lossless["floor_nanoseconds"] * 1e-9 * lossless.pop("pairs") * case.layers / workers
    return Measurement(
        **asdict(case),
        workers=workers,
        graphs=n,
        nodes=batch.n_nodes,
        checksum=_checksum(batch),
        baseline_seconds=all_pairs / rate + prepare_seconds,
        baseline_pairs=len(values),
        baseline_scaled=len(values) < all_pairs,
        decoupled_seconds=decoupled["seconds"] * (batch.n_nodes / max(decoupled["nodes"], 1)) ** 2,
        decoupled_scaled=len(graphs) < n,
        lossless_seconds=lossless["prepare_seconds"] + lossless["tile_seconds"],
        efficiency=floor_seconds / lossless["tile_seconds"],
        largest_difference=float(np.max(differences)),
        **lossless,
    )


def time_start_up(workers: int = 2) -> tuple[float, float]:
    """Return the time to the first kernel of a process with an empty and with a filled cache of compiled code."""
    with tempfile.TemporaryDirectory(prefix="fastgntk-bench-") as folder:
        cache, inputs = str(Path(folder, "cache")), [{"workers": workers}]
        cold, warm = (_run("start", inputs, folder, NUMBA_CACHE_DIR=cache)[0]["seconds"] for _ in range(2))
    return cold, warm


def installed_versions(*packages: str) -> dict[str, Any]:
    """Return the versions of fastgntk, Python and some packages, and the system."""
    versions = {"version": __version__, "python": platform.python_version()}
    for name in packages:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "none"
    return {**versions, "system": f"{platform.system()} {platform.machine()}"}


def machine() -> dict[str, Any]:
    """Describe this machine and the versions in use."""
    cpuinfo = Path("/proc/cpuinfo")
    match = re.search(r"^model name\s*:\s*(.*)$", cpuinfo.read_text() if cpuinfo.exists() else "", re.MULTILINE)
    processor = match[1].strip() if match else platform.processor() or "unknown"
    return {**installed_versions("numpy", "scipy", "numba"), "processor": processor, "cores": os.cpu_count()}


def _run(task: str, inputs: list[dict[str, Any]], folder: str | Path, **environment: str) -> list[dict[str, Any]]:
    """Run a task in separate processes, one for each of its inputs and all at once; return their results."""
    paths = [Path(folder, f"{task}{i}.json") for i in range(len(inputs))]
    command, variables = [sys.executable, "-m", "fastgntk.bench._worker", task], {**os.environ, **environment}
    processes: list[subprocess.Popen[str]] = []
    try:
        for path, options in zip(paths, inputs, strict=True):
            path.write_text(json.dumps(options))
            processes.append(subprocess.Popen([*command, str(path)], env=variables, stderr=subprocess.PIPE, text=True))
        errors = [process.communicate()[1] for process in processes]
    finally:
        for process in processes:
            process.kill()  # after Ctrl-C; does nothing if the process has ended
            process.wait()
    for process, error in zip(processes, errors, strict=True):
        if process.returncode:
            raise RuntimeError(f"the benchmark process for {task} failed:\n{error}")
    return [json.loads(path.with_suffix(".out").read_text()) for path in paths]


def _draw_pairs(n: int, rng: np.random.Generator) -> Ints:
    """Return the pairs i ≤ j in random order, at most ``_MAX_PAIRS``."""
    if n * (n + 1) // 2 <= _MAX_PAIRS:
        return rng.permutation(np.column_stack(np.triu_indices(n)).astype(np.int64))
    drawn = np.sort(rng.integers(0, n, (3 * _MAX_PAIRS, 2)), axis=1)
    # A diagonal pair is drawn half as often as the others, which is negligible among millions of pairs.
    distinct, first = np.unique(drawn, axis=0, return_index=True)
    return np.asarray(distinct[np.argsort(first)][:_MAX_PAIRS], dtype=np.int64)


def _draw_graphs(batch: GraphBatch, case: Case, time_limit: float, workers: int, rng: np.random.Generator) -> Ints:
    """Return all graphs, or a random subset that takes ``decoupled`` about half the time limit."""
    pairs = case.blocks * batch.n_nodes**2 / 2
    expected = decoupled_seconds(batch, None, GNTK(case.blocks, case.layers), pairs) / workers
    fraction = min(1.0, (0.5 * time_limit / max(expected, 1e-9)) ** 0.5)
    count = min(len(batch), max(2, int(fraction * len(batch))))
    return np.sort(rng.choice(len(batch), count, replace=False))


def _checksum(batch: GraphBatch) -> str:
    features = None if batch.features is None else sparse.csr_array(batch.features).toarray()
    arrays = (batch.offsets, batch.indptr, batch.indices, batch.weights, batch.labels, features)
    content = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays if array is not None)
    return hashlib.sha256(content).hexdigest()[:16]
