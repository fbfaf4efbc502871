"""One row of the table: the same kernel by the baseline, by ``decoupled`` and by ``lossless``."""

import hashlib
import json
import os
import platform
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
from fastgntk._util.arrays import Array, Ints
from fastgntk._version import __version__
from fastgntk.engines import decoupled_seconds
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK

__all__ = ["CASES", "Case", "Row", "machine", "measure", "start_up"]


@dataclass(frozen=True)
class Case:
    """One row: a data set and a depth."""

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

_MIN_PAIRS, _MAX_PAIRS = 200, 60_000  # of the baseline
_OF_LOSSLESS = ("prepare_seconds", "tile_seconds", "floor_nanoseconds", "compression", "peak_bytes")


@dataclass(frozen=True)
class Row:
    """Measurements of one case; times in seconds, on ``workers`` workers each."""

    name: str
    blocks: int
    layers: int
    workers: int
    graphs: int
    nodes: int
    checksum: str
    baseline_seconds: float
    baseline_pairs: int  # that were timed
    baseline_scaled: bool  # whether these are a sample
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

    @property
    def ratio_over_decoupled(self) -> float:
        """Speed-up over the engine ``decoupled``."""
        return self.decoupled_seconds / self.lossless_seconds

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self) | {"ratio": self.ratio, "ratio_over_decoupled": self.ratio_over_decoupled}


def measure(
    case: Case,
    *,
    data: str | None = None,
    workers: int = 2,
    memory: int | None = None,
    time_limit: float = 20.0,
    seed: int = 0,
    progress: Callable[[str], None] = lambda stage: None,  # noqa: ARG005
) -> Row:
    """Measure one case; ``data`` is loaded in place of the data set of the case.

    Baseline and ``decoupled`` are timed in full if they take less than about ``time_limit`` seconds; otherwise random
    pairs and random graphs are timed and scaled. Each runs in a process of its own. The baseline has one process per
    worker, because threads would contend for the interpreter lock.
    """
    name = data or case.name
    batch = datasets.load(name).graphs
    n = len(batch)
    if n == 0:
        raise InputError(f"{name} has no graphs to measure.")
    options = {"data": name, "blocks": case.blocks, "layers": case.layers, "workers": workers, "memory": memory}
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(prefix="fastgntk-bench-") as folder:
        home = Path(folder)
        progress("lossless")
        output = home / "K.npy"
        [fast] = _run("lossless", [{**options, "output": str(output)}], home)
        progress("baseline, one pair at a time")
        pairs = _draw_pairs(n, rng)
        shares = [pairs[i::workers] for i in range(min(workers, len(pairs)))]
        limits = {"at_least": -(-_MIN_PAIRS // workers), "time": time_limit}
        timed = _run("baseline", [{**options, **limits, "pairs": share.tolist()} for share in shares], home)
        progress("decoupled, in blocks")
        graphs = _draw_graphs(batch, case, time_limit, workers, rng)
        [slow] = _run("decoupled", [{**options, "graphs": graphs.tolist()}], home)
        K = np.load(output, mmap_mode="r")
        difference = max(_difference(K, share, found["values"]) for share, found in zip(shares, timed, strict=True))
    all_pairs = n * (n + 1) // 2
    timed_pairs = sum(len(found["values"]) for found in timed)
    rate = sum(len(found["values"]) / found["seconds"] for found in timed)  # pairs per second, all workers together
    prepare = float(np.mean([found["prepare_seconds"] for found in timed])) * n / workers
    floor_seconds = fast["floor_nanoseconds"] * 1e-9 * fast["pairs"] * case.layers / workers
    return Row(
        name=case.name,
        blocks=case.blocks,
        layers=case.layers,
        workers=workers,
        graphs=n,
        nodes=batch.n_nodes,
        checksum=_checksum(batch),
        baseline_seconds=all_pairs / rate + prepare,
        baseline_pairs=timed_pairs,
        baseline_scaled=timed_pairs < all_pairs,
        decoupled_seconds=slow["seconds"] * (batch.n_nodes / max(slow["nodes"], 1)) ** 2,
        decoupled_scaled=len(graphs) < n,
        lossless_seconds=fast["prepare_seconds"] + fast["tile_seconds"],
        efficiency=floor_seconds / fast["tile_seconds"],
        largest_difference=difference,
        **{name: fast[name] for name in _OF_LOSSLESS},
    )


def start_up(workers: int = 2) -> tuple[float, float]:
    """Return the time of the first kernel of a process, with an empty and with a filled cache of compiled code."""
    with tempfile.TemporaryDirectory(prefix="fastgntk-bench-") as folder:
        home = Path(folder)
        environment = {"NUMBA_CACHE_DIR": str(home / "cache")}
        cold, warm = (_run("start", [{"workers": workers}], home, environment)[0]["seconds"] for _ in range(2))
    return cold, warm


def machine() -> dict[str, Any]:
    """Describe this machine and the versions in use."""
    return {
        "version": __version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "scipy", "numba")},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _run(
    task: str, each: list[dict[str, Any]], home: Path, environment: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """Run a task in processes of their own, one for each entry of ``each`` and all at once; return their results."""
    paths = [home / f"{task}{i}.json" for i in range(len(each))]
    command, settings = [sys.executable, "-m", "fastgntk.bench._worker", task], {**os.environ, **(environment or {})}
    processes: list[subprocess.Popen[str]] = []
    try:
        for path, options in zip(paths, each, strict=True):
            path.write_text(json.dumps(options))
            process = subprocess.Popen([*command, str(path)], env=settings, stderr=subprocess.PIPE, text=True)
            processes.append(process)
        errors = [process.communicate()[1] for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:  # after Ctrl-C
                process.kill()
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
    share = min(1.0, (0.5 * time_limit / max(expected, 1e-9)) ** 0.5)
    if share == 1.0:
        return np.arange(len(batch))
    return np.sort(rng.choice(len(batch), max(2, int(share * len(batch))), replace=False))


def _difference(K: Array, pairs: Ints, values: list[float]) -> float:
    if not values:
        return 0.0
    done = pairs[: len(values)]
    expected = np.array(values)
    return float(np.max(np.abs(K[done[:, 0], done[:, 1]] - expected) / np.maximum(np.abs(expected), 1e-300)))


def _checksum(batch: GraphBatch) -> str:
    digest = hashlib.sha256()
    for array in (batch.offsets, batch.indptr, batch.indices, batch.weights, batch.labels):
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    if batch.features is not None:
        digest.update(sparse.csr_array(batch.features).toarray().tobytes())
    return digest.hexdigest()[:16]
