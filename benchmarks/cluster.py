"""A stored matrix on more workers: accuracy of estimates, and the speed-up by a second Dask worker.

Run: python benchmarks/cluster.py [--data NCI1] [--graphs 1000 4110] [--blocks 9] [--layers 1] [--only dask]

The data set must be available (FASTGNTK_DATA). Every measurement has a process of its own; nothing else should run.
Real runs and Dask workers have one thread; the time to start workers is not counted. If something else does run, the
processor time of the busiest worker and of the preparing process still shows how the work was divided.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time

import fastgntk as fg
from fastgntk.pairwise.store import local_workers

COMPUTE = fg.Compute("lossless", n_jobs=1)


def measure(args: argparse.Namespace) -> None:
    """Run one measurement: print seconds, and processor seconds of this process and of the busiest worker."""
    graphs = fg.datasets.load(args.data).graphs[: args.graphs[0]]
    kernel = fg.GNTK(args.blocks, args.layers)
    if args.part == "estimate":
        print(fg.estimate_cost(graphs, kernel, compute=COMPUTE, cluster=[1]).cluster.seconds[0], 0, 0)
        return
    with tempfile.TemporaryDirectory() as folder:
        if args.part == "real":
            print(timed(graphs, kernel, f"{folder}/K.zarr", None), 0, 0)
            return
        with local_workers(int(args.part)) as client:
            for i in range(3):  # all workers have loaded compiled code
                timed(graphs[:300], kernel, f"{folder}/{i}.zarr", client)
            before, here = client.run(time.process_time), time.process_time()
            seconds = timed(graphs, kernel, f"{folder}/K.zarr", client)
            here = time.process_time() - here
            after = client.run(time.process_time)
            print(seconds, here, max(after[worker] - before[worker] for worker in before))


def timed(graphs: fg.GraphBatch, kernel: fg.GNTK, store: str, client: object) -> float:
    start = time.perf_counter()
    fg.gram(graphs, kernel, compute=COMPUTE, store=store, client=client)
    return time.perf_counter() - start


def measured(args: argparse.Namespace, part: str, graphs: int) -> list[float]:
    options = [f"--data={args.data}", f"--blocks={args.blocks}", f"--layers={args.layers}"]
    command = [sys.executable, __file__, *options, "--graphs", str(graphs), "--part", part]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [float(number) for number in out.split()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="NCI1")
    parser.add_argument("--graphs", type=int, nargs="+", default=[1000, 4110])
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--only", choices=["estimate", "dask"])
    parser.add_argument("--part", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        measure(args)
        return
    for graphs in args.graphs if args.only != "dask" else []:
        expected, real = (measured(args, part, graphs)[0] for part in ("estimate", "real"))
        ratio = expected / real
        print(f"{graphs} graphs: expected {expected:.1f} s, took {real:.1f} s, ratio {ratio:.2f}", flush=True)
    if args.only == "estimate":
        return
    one, two = (measured(args, count, max(args.graphs)) for count in "12")
    for name, (seconds, here, busiest) in (("one Dask worker", one), ("two", two)):
        print(f"{name}: {seconds:.1f} s; processor time {here:.1f} s here, {busiest:.1f} s of the busiest worker")
    print(f"two are {one[0] / two[0]:.2f} times as fast; by processor time {sum(one[1:]) / sum(two[1:]):.2f} times")


if __name__ == "__main__":
    main()
