"""``fastgntk gram``: a kernel matrix in a file, in a store on disk, or only its cost."""

import json
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastgntk import __version__, pairwise
from fastgntk._util.files import atomic_save, check_output_path
from fastgntk._util.text import format_bytes, format_duration
from fastgntk.cli._console import configure_logging, plural, progress_bar
from fastgntk.cli._inputs import Inputs, check_graphs, load_data, warn_skipped, warn_unused_descriptors
from fastgntk.cli._option_groups import OptionGroup, option, with_groups
from fastgntk.cli._options import ComputeOptions, KernelOptions, OutputOptions, SketchOptions
from fastgntk.datasets import Dataset
from fastgntk.errors import InputError
from fastgntk.kernels import Kernel
from fastgntk.pairwise.store import StoredGram, check_shard, connect, local_workers

__all__ = ["StoreOptions", "gram", "show_cost", "describe_store"]

_CLUSTERS = (1, 10, 100)  # workers, in an estimate


@dataclass(frozen=True)
class StoreOptions(OptionGroup):
    """The store of the tiles, and the processes that compute them."""

    panel = "Store: a matrix on disk, written tile by tile"

    store: Path | None = option("Folder such as K.zarr. Rerun the same command to resume after an interruption.")
    shard: str | None = option("Compute the k-th of K shards, for array jobs.", metavar="k/K")
    scheduler: str | None = option("Compute on the workers of a Dask scheduler.", metavar="tcp://host:8786")
    cluster: str | None = option("Compute on --n-jobs Dask processes on this machine.", metavar="local")

    def check(self) -> None:
        """Reject options that do not go together."""
        changed = self.changed("shard", "scheduler", "cluster")
        if changed and self.store is None:
            raise InputError(f"{changed[0]} requires --store.")
        if len(changed) > 1:
            raise InputError(f"{' and '.join(changed)} are mutually exclusive; give one of them.")
        if self.cluster not in (None, "local"):
            raise InputError(f"--cluster must be local, but is {self.cluster!r}; use --scheduler for other workers.")
        self.parse_shard()

    def parse_shard(self) -> tuple[int, int] | None:
        """Return the shard as (k, K)."""
        if self.shard is None:
            return None
        k, slash, count = self.shard.partition("/")
        if not slash or not (k.isdecimal() and count.isdecimal()):
            raise InputError(f"--shard must be k/K such as 2/10, but is {self.shard!r}.")
        return check_shard((int(k), int(count)))

    def connect(self, threads: int) -> AbstractContextManager[Any]:
        """Return a context of a Dask client, or of None for threads."""
        if self.scheduler is not None:
            return connect(self.scheduler)
        return nullcontext() if self.cluster is None else local_workers(threads)


@with_groups
def gram(
    *,
    inputs: Inputs,
    file: Path | None = option("Write K.npy, or K.npz with K, y, kernel and options.", None, "--output", "-o"),
    estimate: bool = option("Only estimate the cost, here and of --store on 1, 10 and 100 workers.", False),
    store: StoreOptions,
    kernel: KernelOptions,
    sketch: SketchOptions,
    compute: ComputeOptions,
    output: OutputOptions,
) -> None:
    """Compute the kernel matrix of DATA and write it to a file, or tile by tile into a store."""
    _check_destination(file, estimate, store, inputs)
    configure_logging(output.verbose)
    chosen = kernel.build(sketch)
    compute.build()  # rejects invalid options before graphs are read
    dataset = load_data(inputs, quiet=output.json)
    warn_skipped(dataset)
    check_graphs(dataset, [chosen])
    if estimate:
        show_cost(dataset, chosen, compute, output, _CLUSTERS)
    elif file is None:
        _write_store(dataset, chosen, store, compute, output)
    else:
        _write_file(dataset, chosen, file, compute, output)
    warn_unused_descriptors(dataset, [chosen])  # last, so that an error is alone


def _check_destination(file: Path | None, estimate: bool, store: StoreOptions, inputs: Inputs) -> None:
    """Reject options that do not go together."""
    target = inputs.changed("target")
    if estimate:
        unused = [*(["--output"] if file is not None else []), *store.changed(), *target]
        if unused:
            raise InputError(f"--estimate computes and writes nothing; leave out {', '.join(unused)}.")
        return
    if file is not None and store.store is not None:
        raise InputError("give --output or --store, not both.")
    if file is None and store.store is None:
        raise InputError("name where to write the matrix: --output FILE, or --store FOLDER to write it tile by tile.")
    if file is not None:
        check_output_path(file, "--output", ".npy", ".npz")
    elif target:
        raise InputError("--target is for --output; a store holds the matrix alone.")
    store.check()


def _write_file(dataset: Dataset, kernel: Kernel, file: Path, compute: ComputeOptions, output: OutputOptions) -> None:
    start = time.perf_counter()
    with progress_bar("kernel", quiet=output.json) as bar:
        prepared = pairwise.prepare_batch(dataset.graphs, kernel, compute.build(bar), reused=False)
        K = pairwise.gram(prepared)
    seconds = time.perf_counter() - start
    engine = " and ".join(dict.fromkeys(prepared.engines))
    metadata = {"dataset": dataset.name, "version": __version__, "engine": engine}
    if file.suffix.lower() == ".npy":
        atomic_save(file, lambda stream: np.save(stream, K, allow_pickle=False))
    else:
        arrays: dict[str, Any] = {"K": K, "kernel": np.array(repr(kernel)), "options": np.array(json.dumps(metadata))}
        if dataset.y is not None:
            arrays["y"] = dataset.y
        atomic_save(file, lambda stream: np.savez(stream, **arrays))
    record = {**metadata, "kernel": repr(kernel), "shape": list(K.shape), "seconds": seconds, "output": str(file)}
    rows = [
        ("written", f"{file}, {K.shape[0]} × {K.shape[1]} float64"),
        ("kernel", repr(kernel)),
        ("engine", engine),
        ("kernel time", format_duration(seconds)),
    ]
    output.show(record, f"fastgntk gram {dataset.name}", rows)


def _write_store(
    dataset: Dataset, kernel: Kernel, options: StoreOptions, compute: ComputeOptions, output: OutputOptions
) -> None:
    """Compute missing tiles, and print the progress of the store."""
    store, shard, settings = options.store, options.parse_shard(), compute.build()
    assert store is not None
    start, computed = time.perf_counter(), 0
    with options.connect(settings.threads) as client, progress_bar("kernel", "tiles", quiet=output.json) as bar:

        def progress(done: int, total: int) -> None:  # called once for each finished tile
            nonlocal computed
            computed += 1
            bar(done, total)

        settings = settings.with_progress(progress)
        stored = pairwise.gram(dataset.graphs, kernel, compute=settings, store=store, shard=shard, client=client)
    seconds, record = time.perf_counter() - start, describe_store(stored)
    rate = f"{computed:,} now, {computed / seconds:.1f} per second" if computed else "already complete"
    rows = [
        ("store", f"{stored.path}, {stored.shape[0]} × {stored.shape[1]} float64"),
        ("tiles", f"{record['finished']:,} of {record['tiles']:,}; {rate}"),
        ("kernel", record["kernel"]),
        ("engine", " and ".join(dict.fromkeys(stored.manifest.engines))),
        ("time", format_duration(seconds)),
    ]
    build = {"dataset": dataset.name, "store": str(stored.path), "seconds": seconds, "computed": computed}
    output.show(build | record, f"fastgntk gram {dataset.name}", rows)


def describe_store(stored: StoredGram) -> dict[str, Any]:
    """Return the progress and the manifest of a store, with the kernel as text."""
    kernel = Kernel.from_dict(stored.manifest.kernel)
    return {**stored.status(), **stored.manifest.to_dict(), "kernel": repr(kernel)}


def show_cost(
    dataset: Dataset, kernel: Kernel, compute: ComputeOptions, output: OutputOptions, clusters: Sequence[int] = ()
) -> None:
    """Print the expected cost of a kernel matrix, also on clusters with these numbers of workers."""
    with progress_bar("sample", quiet=output.json) as bar:
        cost = pairwise.estimate_cost(dataset.graphs, kernel, compute=compute.build(bar), cluster=clusters or None)
    rows = [("graphs", f"{cost.graphs:,} with {cost.nodes:,} nodes"), ("pairs of nodes", f"{cost.node_pairs:,}")]
    for leaf in cost.leaves:
        compression = ", ".join(f"{100 * fraction:.3g} %" for fraction in leaf.compression)
        width = f", at most {leaf.widest:,} distinct nodes each" if leaf.pairs else ""
        rows += [("kernel", leaf.kernel)] if len(cost.leaves) > 1 else []
        rows += [
            ("engine", f"{leaf.engine}: {leaf.reason}"),
            ("groups of graphs", f"{leaf.groups:,}{width}"),
            ("tiles", f"{leaf.tiles:,} on {plural(cost.threads, 'thread')}"),
        ]
        if leaf.pairs:
            rows.append(("distinct pairs", f"{compression} of all pairs of nodes (block by block)"))
    rows += [
        ("expected time", f"about {format_duration(cost.seconds)}, plus start-up"),
        ("expected memory", f"{format_bytes(cost.bytes)}, plus Python itself"),
    ]
    if cluster := cost.cluster:
        times = zip(cluster.workers, cluster.seconds, strict=True)
        rows += [(plural(workers, "worker"), f"about {format_duration(seconds)}") for workers, seconds in times]
        longest = format_duration(cluster.longest)
        memory = f"up to {format_bytes(cluster.worker_bytes)} for each worker of one thread, plus Python itself"
        rows += [
            ("preparation", f"{format_duration(cluster.preparing)}, included in each of these times"),
            ("tiles in a store", f"{cluster.tiles:,}, the longest takes {longest}; timed: {cluster.sampled:,}"),
            ("worker memory", memory),
            ("disk", format_bytes(cluster.disk_bytes)),
        ]
    record = {"dataset": dataset.name, "version": __version__, "kernel": repr(kernel), "estimate": cost.to_dict()}
    output.show(record, f"{dataset.name}: estimate for {kernel}", rows)
