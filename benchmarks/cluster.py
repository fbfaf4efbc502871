"""A stored matrix on more workers: whether estimates hold, and what a second Dask worker brings.

Run: python benchmarks/cluster.py [--data NCI1] [--graphs 1000 4110] [--blocks 9] [--layers 1] [--only dask]

The data set has to be there (FASTGNTK_DATA). Every figure is taken in a process of its own; nothing else should run.
Real runs have one thread; so have Dask workers, of which the time to start is not counted. Where something else does
run, the processor time of the busiest worker and of the process that prepares still says how the work was shared.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time

import fastgntk as fg
from fastgntk.pairwise.store import local_workers


def measure(asked: argparse.Namespace) -> None:
    """Be one of these processes: print seconds, and processor seconds of this process and of the busiest worker."""
    graphs = fg.datasets.load(asked.data).graphs[: asked.graphs[0]]
    spec = fg.GNTK(asked.blocks, asked.layers)
    if asked.part == "estimate":
        print(fg.estimate(graphs, spec, engine="lossless", workers=1, cluster=[1]).seconds[0], 0, 0)
        return
    with tempfile.TemporaryDirectory() as folder:
        if asked.part == "real":
            print(timed(graphs, spec, f"{folder}/K.zarr", None), 0, 0)
            return
        with local_workers(int(asked.part)) as client:
            for i in range(3):  # all workers have loaded compiled code
                timed(graphs[:300], spec, f"{folder}/{i}.zarr", client)
            before, here = client.run(time.process_time), time.process_time()
            seconds = timed(graphs, spec, f"{folder}/K.zarr", client)
            here = time.process_time() - here
            after = client.run(time.process_time)
            print(seconds, here, max(after[worker] - before[worker] for worker in before))


def timed(graphs: fg.GraphBatch, spec: fg.GNTK, store: str, client: object) -> float:
    start = time.perf_counter()
    fg.gram(graphs, spec, engine="lossless", store=store, executor=client, workers=1)
    return time.perf_counter() - start


def measured(asked: argparse.Namespace, part: str, graphs: int) -> list[float]:
    options = [f"--data={asked.data}", f"--blocks={asked.blocks}", f"--layers={asked.layers}"]
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
    asked = parser.parse_args()
    if asked.part:
        measure(asked)
        return
    for graphs in asked.graphs if asked.only != "dask" else []:
        expected, real = (measured(asked, part, graphs)[0] for part in ("estimate", "real"))
        ratio = expected / real
        print(f"{graphs} graphs: expected {expected:.1f} s, took {real:.1f} s, ratio {ratio:.2f}", flush=True)
    if asked.only == "estimate":
        return
    one, two = (measured(asked, count, max(asked.graphs)) for count in "12")
    for name, (seconds, here, busiest) in (("one Dask worker", one), ("two", two)):
        print(f"{name}: {seconds:.1f} s; processor time {here:.1f} s here, {busiest:.1f} s of the busiest worker")
    print(f"two are {one[0] / two[0]:.2f} times as fast; by processor time {sum(one[1:]) / sum(two[1:]):.2f} times")


if __name__ == "__main__":
    main()
