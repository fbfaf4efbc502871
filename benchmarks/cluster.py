"""A stored matrix on more workers: whether estimates hold, and what a second Dask worker brings.

Run: python benchmarks/cluster.py [--data NCI1] [--graphs 1000 4110] [--blocks 9] [--layers 1]

The data set has to be there (FASTGNTK_DATA). Every figure is taken in a process of its own; nothing else should run.
Real runs have one thread; so have Dask workers, of which the time to start is not counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time

import fastgntk as fg
from fastgntk.matrix import local_workers


def measure(asked: argparse.Namespace) -> None:
    """Be one of these processes: print seconds."""
    graphs = fg.datasets.load(asked.data).graphs[: asked.graphs[0]]
    spec = fg.GNTK(asked.blocks, asked.layers)
    if asked.part == "estimate":
        print(fg.estimate(graphs, spec, engine="lossless", workers=1, cluster=[1]).seconds[0])
        return
    with tempfile.TemporaryDirectory() as folder:
        if asked.part == "real":
            print(timed(graphs, spec, f"{folder}/K.zarr", None))
            return
        with local_workers(int(asked.part)) as client:
            for i in range(3):  # all workers have loaded compiled code
                timed(graphs[:300], spec, f"{folder}/{i}.zarr", client)
            print(timed(graphs, spec, f"{folder}/K.zarr", client))


def timed(graphs: fg.GraphBatch, spec: fg.GNTK, store: str, client: object) -> float:
    start = time.perf_counter()
    fg.gram(graphs, spec, engine="lossless", store=store, executor=client, workers=1)
    return time.perf_counter() - start


def measured(asked: argparse.Namespace, part: str, graphs: int) -> float:
    options = [f"--data={asked.data}", f"--blocks={asked.blocks}", f"--layers={asked.layers}"]
    command = [sys.executable, __file__, *options, "--graphs", str(graphs), "--part", part]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="NCI1")
    parser.add_argument("--graphs", type=int, nargs="+", default=[1000, 4110])
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        measure(asked)
        return
    for graphs in asked.graphs:
        expected, real = measured(asked, "estimate", graphs), measured(asked, "real", graphs)
        ratio = expected / real
        print(f"{graphs} graphs: expected {expected:.1f} s, took {real:.1f} s, ratio {ratio:.2f}", flush=True)
    one, two = (measured(asked, count, max(asked.graphs)) for count in "12")
    print(f"one Dask worker {one:.1f} s, two {two:.1f} s: {one / two:.2f} times as fast")


if __name__ == "__main__":
    main()
