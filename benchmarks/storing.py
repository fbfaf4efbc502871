"""A matrix on disk: what storing costs, whether the memory limit holds, and what kill -9 does.

Run: python benchmarks/storing.py [--data NCI1] [--graphs 2000] [--blocks 9] [--layers 1] [--kills 20]

The data set has to be there (FASTGNTK_DATA). Every build is a process of its own, peak memory is that of the process.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import fastgntk as fg


def build(asked: argparse.Namespace) -> None:
    """Be one of these processes: build, and print seconds and peak memory in bytes."""
    graphs = fg.datasets.load(asked.data).graphs[: asked.graphs]
    spec = fg.GNTK(asked.blocks, asked.layers)
    with tempfile.TemporaryDirectory() as folder:  # compiled code and Zarr are loaded
        fg.gram(graphs[:10], spec, engine="lossless", store=f"{folder}/K.zarr")
    start = time.perf_counter()
    more = {} if asked.store is None else {"store": asked.store}
    fg.gram(graphs, spec, engine="lossless", memory=asked.memory, **more)
    print(time.perf_counter() - start, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def started(asked: argparse.Namespace, *more: str) -> subprocess.Popen[str]:
    options = [f"--{name}={getattr(asked, name)}" for name in ("data", "graphs", "blocks", "layers")]
    command = [sys.executable, __file__, "--build", *options, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def measured(asked: argparse.Namespace, *more: str) -> tuple[float, float]:
    out, _ = started(asked, *more).communicate()
    seconds, peak = map(float, out.split())
    return seconds, peak


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="NCI1")
    parser.add_argument("--graphs", type=int, default=2_000)
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--build", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.build:
        build(asked)
        return
    with tempfile.TemporaryDirectory() as folder:
        plain, stored = [], []
        for i in range(3):
            plain.append(measured(asked)[0])
            stored.append(measured(asked, f"--store={folder}/{i}.zarr")[0])
        ratio = min(stored) / min(plain)
        print(f"in memory {min(plain):.2f} s, into a store {min(stored):.2f} s, ratio {ratio:.3f}", flush=True)
        once = np.asarray(fg.open_gram(f"{folder}/0.zarr"))
        store, rng, seconds = Path(folder) / "killed.zarr", random.Random(0), min(stored)
        kills = 0
        while True:
            process = started(asked, f"--store={store}")
            try:
                process.communicate(
                    timeout=2.0 + rng.random() * seconds * 2 / asked.kills if kills < asked.kills else None
                )
                break
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                kills += 1
        same = np.array_equal(np.asarray(fg.open_gram(store)), once)
        print(f"killed {kills} times, then finished: {'the same bits' if same else 'OTHER BITS'}")


if __name__ == "__main__":
    main()
