"""A matrix on disk: what kill -9 does, what storing costs, and whether the memory limit holds.

Run: python benchmarks/storing.py [kills] [overhead] [memory] [--data NCI1] [--graphs 1500] [--blocks 9] [--layers 1]

All three parts by default. The data set must be available (FASTGNTK_DATA); the part on memory makes its own graphs and
takes 2.1 GB on the disk of TMPDIR. Exit code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import fastgntk as fg
from fastgntk.pairwise import _group_pairs

Tile = tuple[int, int]
Seconds = tuple[float, float]

COMPUTE = fg.Compute("lossless")
LIMIT = 10**9  # bytes, of the whole process; the matrix takes four times as much
OVERHEAD = 1.05


# Kills: 20 random moments of one build.


def build(args: argparse.Namespace) -> None:
    """Run the build that is killed, and log each tile when it begins."""
    noted = logging.FileHandler(args.log)
    noted.addFilter(lambda record: record.msg.startswith("computing tile"))
    logging.getLogger("fastgntk").addHandler(noted)
    logging.getLogger("fastgntk").setLevel(logging.DEBUG)
    fg.gram(*matrix(args), compute=COMPUTE, store=args.store)


def matrix(args: argparse.Namespace) -> tuple[fg.GraphBatch, fg.GNTK]:
    return fg.datasets.load(args.data).graphs[: args.graphs], fg.GNTK(args.blocks, args.layers)


def started(args: argparse.Namespace, store: Path, log: Path) -> subprocess.Popen[bytes]:
    options = [f"--{name}={getattr(args, name)}" for name in ("data", "graphs", "blocks", "layers")]
    command = [sys.executable, __file__, "--build", f"--store={store}", f"--log={log}", *options]
    return subprocess.Popen(command, start_new_session=True)


def begun(log: Path) -> list[Tile]:
    """Return the tiles that were begun, in order; the last line may be cut off by a kill."""
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return [(int(line.split()[2]), int(line.split()[3])) for line in lines]


def files(store: Path) -> dict[Tile, tuple[int, int]]:
    """Return the finished tiles; a file that is written again has another inode or time."""
    stored = fg.open_gram(store)
    stats = {tile: stored.file(tile).stat() for tile in stored.finished()}
    return {tile: (stat.st_ino, stat.st_mtime_ns) for tile, stat in stats.items()}


def wait_for_a_tile(process: subprocess.Popen[bytes], log: Path, before: int) -> None:
    while process.poll() is None and len(begun(log)) == before:
        time.sleep(0.002)


def kills(args: argparse.Namespace, folder: Path) -> bool:
    """Kill a build at random moments and compare it with one that was left alone."""
    whole, log = folder / "whole.zarr", folder / "whole.log"
    process = started(args, whole, log)
    wait_for_a_tile(process, log, 0)
    start = time.perf_counter()
    assert process.wait() == 0
    seconds = time.perf_counter() - start
    expected = fg.open_gram(whole)
    tiles = len(expected.all_tiles())
    print(f"kills: {tiles} tiles of {expected.tile_size} graphs a side, {seconds:.1f} s without a kill", flush=True)
    store, log, rng = folder / "killed.zarr", folder / "killed.log", random.Random(args.seed)
    # Counted from the first tile of each process on. What was begun has to be done again, so all fall into the build.
    moments = np.diff(sorted(rng.random() * seconds for _ in range(args.kills)), prepend=0.0)
    known: dict[Tile, tuple[int, int]] = {}
    twice, happened = 0, 0
    for number, moment in enumerate([*moments, None], 1):
        before = len(begun(log))
        process = started(args, store, log)
        if moment is not None:
            wait_for_a_tile(process, log, before)
            time.sleep(moment)
            if process.poll() is None:
                happened += 1
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        now = files(store)
        tried = begun(log)[before:]
        again = [tile for tile in known if now.get(tile) != known[tile] or tile in tried]
        twice += len(again)
        in_work = len([tile for tile in tried if tile not in now])
        name = "left alone" if moment is None else f"kill {number} after {moment:.2f} s"
        print(
            f"  {name}: {len(now)} of {tiles} tiles finished, {len(now) - len(known)} of them new, {in_work} were "
            f"being computed, {len(again)} finished ones touched",
            flush=True,
        )
        known = now
    left = list(store.rglob("*.partial"))
    same = np.array_equal(np.asarray(fg.open_gram(store)), np.asarray(expected))
    met = same and not twice and not left and happened == args.kills
    print(
        f"  {happened} of {args.kills} kills hit a build at work; {'the same bits' if same else 'OTHER BITS'}, "
        f"{twice} finished tiles computed again, {len(left)} files left over: {verdict(met)}"
    )
    return met


# Overhead: the same matrix in memory and on disk, in turn.


def overhead(args: argparse.Namespace, folder: Path) -> bool:
    """Compare both as they are, then without the kernel: what is left over is the work of the store itself."""
    graphs, kernel = matrix(args)
    fg.gram(graphs[:50], kernel, compute=COMPUTE, store=folder / "warm.zarr")  # compiled code and Zarr are loaded
    pairs = in_turn(graphs, kernel, folder, args.repeats)
    for what, k in (("by the clock", 0), ("of processor time", 1)):
        low, middle, high = np.quantile([after[k] / before[k] for before, after in pairs], [0.25, 0.5, 0.75])
        print(f"  store over memory {what}: median {middle:.3f}, quartiles {low:.3f} and {high:.3f}")
    compute = _group_pairs.compute_readouts
    _group_pairs.compute_readouts = no_kernel
    try:
        empty = in_turn(graphs, kernel, folder / "empty", args.repeats)
    finally:
        _group_pairs.compute_readouts = compute
    whole = float(np.median([before[1] for before, _ in pairs]))
    ratio = 1 + float(np.median([after[1] - before[1] for before, after in empty])) / whole
    met = ratio < OVERHEAD
    # This one hardly depends on what others do on the machine, since the kernel's seconds are not in the difference.
    print(
        f"overhead, {len(graphs)} graphs: with the store's own work {ratio:.3f} times the processor time in memory, "
        f"target below {OVERHEAD}: {verdict(met)}"
    )
    return met


def in_turn(graphs: fg.GraphBatch, kernel: fg.GNTK, folder: Path, repeats: int) -> list[tuple[Seconds, Seconds]]:
    """Return seconds of the clock and of all processors, in memory and into a store."""
    out = []
    for i in range(repeats):
        ways = [{}, {"store": folder / f"{i}.zarr"}]
        took = {}
        for way in ways if i % 2 else ways[::-1]:
            start = time.perf_counter(), time.process_time()
            fg.gram(graphs, kernel, compute=COMPUTE, **way)
            took["store" in way] = time.perf_counter() - start[0], time.process_time() - start[1]
        out.append((took[False], took[True]))
        print(
            f"  in memory {took[False][0]:.2f} s ({took[False][1]:.2f} s of processors), into a store "
            f"{took[True][0]:.2f} s ({took[True][1]:.2f} s)",
            flush=True,
        )
    return out


def no_kernel(rows: Any, cols: Any, cancelled: Any) -> Any:  # noqa: ARG001
    """Replace the kernel by zeros, at no cost."""
    return np.zeros((rows.kernel.blocks + 1, len(rows.block.graphs), len(cols.block.graphs)))


# Memory: a matrix four times as large as what the process may take.


def build_large(args: argparse.Namespace) -> None:
    """Run the build under the memory limit, and print figures."""
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    kernel = fg.GNTK(1, 1)
    graphs = trees(int((4 * LIMIT / 8) ** 0.5) + 1)
    fg.gram(graphs[:300], kernel, compute=COMPUTE, store=f"{args.store}.warm")
    loaded = peak()
    start = time.perf_counter()
    stored = fg.gram(graphs, kernel, compute=fg.Compute("lossless", max_memory=LIMIT), store=args.store)
    print(len(graphs), time.perf_counter() - start, loaded, peak(), stored.status()["bytes"])


def trees(count: int) -> fg.GraphBatch:
    """Return random trees of 3 to 6 nodes: the cheapest kernel that there is, for it is not what is measured."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(3, 7, count)
    return fg.as_graphs(
        [fg.Graph.from_edges([(int(rng.integers(v)), v) for v in range(1, n)], int(n)) for n in sizes.tolist()]
    )


def peak() -> int:
    """Return the most memory that this process had so far, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def memory(_: argparse.Namespace, folder: Path) -> bool:
    """Build under a limit that the operating system enforces, then check some rows."""
    command = [sys.executable, __file__, "--large", f"--store={folder / 'large.zarr'}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f"memory: the build ended with {done.returncode}: {verdict(False)}")
        return False
    n, seconds, loaded, most, taken = map(float, done.stdout.split())
    stored, graphs = fg.open_gram(folder / "large.zarr"), trees(int(n))
    some = np.random.default_rng(1).choice(len(graphs), 5, replace=False)
    right = np.allclose(stored[some], fg.cross_gram(graphs[some], graphs, fg.GNTK(1, 1)), rtol=1e-7)
    met = right and most < LIMIT
    print(
        f"memory: a matrix of {8 * n * n / 1e9:.2f} GB ({n:.0f} graphs) under a limit of {LIMIT / 1e9:.2f} GB took "
        f"{seconds:.0f} s; the process had {loaded / 1e9:.2f} GB before and {most / 1e9:.2f} GB at most, the store has "
        f"{taken / 1e9:.2f} GB, {'rows are right' if right else 'ROWS ARE WRONG'}: {verdict(met)}"
    )
    return met


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


PARTS = {"kills": kills, "overhead": overhead, "memory": memory}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    parser.add_argument("--data", default="NCI1")
    parser.add_argument("--graphs", type=int, default=1_500)
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="of the moments of kills")
    for name in ("--build", "--large"):
        parser.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    for name in ("--store", "--log"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.build or args.large:
        (build if args.build else build_large)(args)
        return
    met = True
    for part in args.parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            met &= PARTS[part](args, Path(folder))
    sys.exit(not met)


if __name__ == "__main__":
    main()
