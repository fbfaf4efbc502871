"""One row of the table: the same kernel by the baseline, by ``decoupled`` and by ``lossless``."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fastgntk import datasets
from fastgntk._version import __version__
from fastgntk.bench._cases import Case
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch

__all__ = ["Row", "machine", "measure", "start_up"]

_AT_LEAST = 200  # pairs of the baseline
_MOST = 60_000  # pairs drawn; a baseline that gets through these is timed well enough


@dataclass(frozen=True)
class Row:
    """What was measured of one case; times in seconds, on ``workers`` workers each."""

    name: str
    blocks: int
    layers: int
    workers: int
    graphs: int
    nodes: int
    checksum: str
    baseline_seconds: float
    baseline_pairs: int  # how many pairs were timed
    baseline_scaled: bool  # whether that was a sample
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
        """How many times faster than the baseline."""
        return self.baseline_seconds / self.lossless_seconds

    @property
    def ratio_over_decoupled(self) -> float:
        """How many times faster than the engine ``decoupled``."""
        return self.decoupled_seconds / self.lossless_seconds

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            **asdict(self),
            "ratio": self.ratio,
            "ratio_over_decoupled": self.ratio_over_decoupled,
        }


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
    """Measure one case; ``data`` replaces the case's name as what is loaded.

    Baseline and ``decoupled`` are timed in full when they take less than about ``time_limit`` seconds, and on random
    pairs and random graphs otherwise and scaled. Each runs in a process of its own; the two workers of the baseline are
    two processes, since threads would wait for each other's interpreter lock.
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
        fast, peak = _run("lossless", {**options, "output": str(output)}, home / "lossless.json")
        progress("baseline, one pair at a time")
        pairs = _draw_pairs(n, rng)
        shares = [pairs[i::workers] for i in range(min(workers, len(pairs)))]
        limits = {"at_least": -(-_AT_LEAST // workers), "time": time_limit}
        answers = _run_together("baseline", [{**options, **limits, "pairs": share.tolist()} for share in shares], home)
        progress("decoupled, in blocks")
        graphs = _draw_graphs(batch, case, time_limit, workers, rng)
        slow, _ = _run("decoupled", {**options, "graphs": graphs.tolist()}, home / "decoupled.json")
        K = np.load(output, mmap_mode="r")
        difference = max(_difference(K, share, answer["values"]) for share, answer in zip(shares, answers, strict=True))
    all_pairs = n * (n + 1) // 2
    timed = sum(a["pairs"] for a in answers)
    rate = sum(a["pairs"] / a["seconds"] for a in answers)  # pairs a second, all workers together
    prepare = sum(a["prepare_seconds"] / a["graphs"] for a in answers) / len(answers) * n / workers
    floor = fast["floor_nanoseconds"]
    work = floor * 1e-9 * sum(fast["pairs_by_level"]) * case.layers / workers
    return Row(
        name=case.name,
        blocks=case.blocks,
        layers=case.layers,
        workers=workers,
        graphs=n,
        nodes=batch.n_nodes,
        checksum=_checksum(batch),
        baseline_seconds=all_pairs / rate + prepare,
        baseline_pairs=timed,
        baseline_scaled=timed < all_pairs,
        decoupled_seconds=slow["seconds"] * (batch.n_nodes**2 / 2) / max(slow["node_pairs"], 1),
        decoupled_scaled=len(graphs) < n,
        lossless_seconds=fast["seconds"],
        prepare_seconds=fast["prepare_seconds"],
        tile_seconds=fast["tile_seconds"],
        floor_nanoseconds=floor,
        efficiency=work / fast["tile_seconds"],
        compression=[pairs / max(fast["node_pairs"], 1) for pairs in fast["pairs_by_level"]],
        peak_bytes=peak,
        largest_difference=difference,
    )


def start_up(workers: int = 2) -> tuple[float, float]:
    """Return the time of the first kernel in a process: with nothing compiled before, and in the process after that."""
    with tempfile.TemporaryDirectory(prefix="fastgntk-bench-") as folder:
        home = Path(folder)
        environment = {"NUMBA_CACHE_DIR": str(home / "cache")}
        times = []
        for i in range(2):
            answer, _ = _run("start", {"workers": workers}, home / f"start{i}.json", environment)
            times.append(float(answer["seconds"]))
    return times[0], times[1]


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
    task: str,
    options: dict[str, Any],
    path: Path,
    environment: dict[str, str] | None = None,
    started: list[subprocess.Popen[str]] | None = None,
) -> tuple[dict[str, Any], int]:
    """Run a task in a process of its own; returns its answer and its peak memory, seen from here.

    The process is added to ``started``, so that another thread can end it.
    """
    path.write_text(json.dumps(options))
    command = [sys.executable, "-m", "fastgntk.bench._worker", task, str(path)]
    process = subprocess.Popen(command, env={**os.environ, **(environment or {})}, stderr=subprocess.PIPE, text=True)
    if started is not None:
        started.append(process)
    peak = [0]
    watcher = threading.Thread(target=_watch, args=(process, peak), daemon=True)
    watcher.start()
    try:
        _, complaint = process.communicate()
    except BaseException:
        process.kill()
        process.wait()
        raise
    watcher.join()
    if process.returncode:
        raise RuntimeError(f"the benchmark process for {task} failed:\n{complaint}")
    return json.loads(path.with_suffix(".out").read_text()), peak[0]


def _watch(process: subprocess.Popen[str], peak: list[int]) -> None:
    """Keep the largest resident size of a process, as the system reports it; 0 where it does not."""
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        try:
            for line in status.read_text().splitlines():
                if line.startswith("VmHWM"):
                    peak[0] = max(peak[0], int(line.split()[1]) * 1024)
        except OSError:
            return
        threading.Event().wait(0.05)


def _run_together(task: str, each: list[dict[str, Any]], home: Path) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = [{} for _ in each]
    errors: list[BaseException] = []
    started: list[subprocess.Popen[str]] = []

    def work(i: int) -> None:
        try:
            answers[i], _ = _run(task, each[i], home / f"{task}{i}.json", started=started)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(each))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:  # Ctrl-C reaches this thread only
        for process in started:
            process.kill()
        raise
    if errors:
        raise errors[0]
    return answers


def _draw_pairs(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return all pairs i ≤ j in random order, or as many random ones as are ever timed."""
    if n * (n + 1) // 2 <= _MOST:
        i, j = np.triu_indices(n)
        order = rng.permutation(len(i))
        return np.column_stack([i, j])[order].astype(np.int64)
    drawn = np.sort(rng.integers(0, n, (3 * _MOST, 2)), axis=1)
    # Of the ordered pairs, a diagonal one is drawn half as often as it should be; among millions that is nothing.
    distinct, first = np.unique(drawn, axis=0, return_index=True)
    return np.asarray(distinct[np.argsort(first)][:_MOST], dtype=np.int64)


def _draw_graphs(
    batch: GraphBatch, case: Case, time_limit: float, workers: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return all graphs, or random ones that ``decoupled`` gets through in about half the time limit."""
    from fastgntk.engines import decoupled_seconds
    from fastgntk.kernels import GNTK

    pairs = case.blocks * batch.n_nodes**2 / 2
    expected = decoupled_seconds(batch, None, GNTK(case.blocks, case.layers), pairs) / workers
    share = min(1.0, (0.5 * time_limit / max(expected, 1e-9)) ** 0.5)
    if share == 1.0:
        return np.arange(len(batch))
    return np.sort(rng.choice(len(batch), max(2, int(share * len(batch))), replace=False))


def _difference(K: NDArray[np.float64], pairs: NDArray[np.int64], values: list[float]) -> float:
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
