"""Kernel matrices in stores on disk: building one on threads or on Dask workers, and describing one."""

# ruff: noqa: RUF009  # option() makes a dataclass field

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastgntk._util.text import format_bytes, format_duration
from fastgntk.cli._console import progress_bar
from fastgntk.cli._groups import OptionGroup, option
from fastgntk.cli._options import ComputeOptions, OutputOptions
from fastgntk.datasets import Dataset
from fastgntk.errors import InputError
from fastgntk.kernels import Kernel
from fastgntk.pairwise import gram
from fastgntk.pairwise.store import StoredGram, check_shard, connected, local_workers, open_gram

__all__ = ["StoreOptions", "show_store", "write_store"]


@dataclass(frozen=True)
class StoreOptions(OptionGroup):
    """Where tiles are written, and by which processes they are computed."""

    panel = "Store: a matrix on disk, written tile by tile"

    store: Path | None = option(None, help="Folder such as K.zarr. The same command continues after an interruption.")
    shard: str | None = option(None, metavar="k/K", help="Compute the k-th of K shards, for array jobs.")
    scheduler: str | None = option(None, metavar="tcp://host:8786", help="Compute on the workers of a Dask scheduler.")
    cluster: str | None = option(None, metavar="local", help="Compute on --n-jobs Dask processes of this machine.")

    def check(self) -> None:
        """Refuse options that do not go together."""
        given = self.given("shard", "scheduler", "cluster")
        if given and self.store is None:
            raise InputError(f"{given[0]} is for --store; give that too.")
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} are different ways to share the work; give one of them.")
        if self.cluster not in (None, "local"):
            raise InputError(f"--cluster must be local, but is {self.cluster!r}; use --scheduler for other workers.")
        self.share()

    def share(self) -> tuple[int, int] | None:
        """Return the shard as numbers."""
        if self.shard is None:
            return None
        k, slash, count = self.shard.partition("/")
        if not slash or not (k.isdecimal() and count.isdecimal()):
            raise InputError(f"--shard must be k/K such as 2/10, but is {self.shard!r}.")
        return check_shard((int(k), int(count)))

    def client(self, threads: int) -> AbstractContextManager[Any]:
        """Return a Dask client as a context, or None for threads."""
        if self.scheduler is not None:
            return connected(self.scheduler)
        return nullcontext() if self.cluster is None else local_workers(threads)


def write_store(
    dataset: Dataset, kernel: Kernel, options: StoreOptions, compute: ComputeOptions, output: OutputOptions
) -> None:
    """Compute missing tiles, and print how far the store is."""
    assert options.store is not None
    how, share, start, computed = compute.build(), options.share(), time.perf_counter(), 0
    with options.client(how.threads) as client, progress_bar("kernel", "tiles", quiet=output.json) as bar:

        def progress(done: int, total: int) -> None:  # called once for each finished tile
            nonlocal computed
            computed += 1
            bar(done, total)

        how = how.watched(progress)
        stored = gram(dataset.graphs, kernel, compute=how, store=options.store, shard=share, client=client)
    took, state = time.perf_counter() - start, stored.progress()
    record = {"dataset": dataset.name, "store": str(stored.path), "seconds": took, "computed": computed}
    rate = f"{computed:,} now, {computed / took:.1f} per second" if computed else "already complete"
    rows = [
        ("store", f"{stored.path}, {stored.shape[0]} × {stored.shape[1]} float64"),
        ("tiles", f"{state['finished']:,} of {state['tiles']:,}; {rate}"),
        ("kernel", _about(stored)["kernel"]),
        ("engine", " and ".join(dict.fromkeys(stored.manifest.engines))),
        ("time", format_duration(took)),
    ]
    output.show({**record, **state, **_about(stored)}, f"fastgntk gram {dataset.name}", rows)


def show_store(path: Path, output: OutputOptions) -> None:
    """Print what a store holds, and how much of it is finished."""
    stored = open_gram(path)
    state, known = stored.progress(), stored.manifest
    share = 100 * state["finished"] / max(state["tiles"], 1)
    rows = [
        ("matrix", f"{known.graphs:,} × {known.graphs:,} float64"),
        ("tiles", f"{state['finished']:,} of {state['tiles']:,}, {share:.0f} %"),
        ("on disk", f"{format_bytes(state['bytes'])} of {format_bytes(8 * known.side**2 * state['tiles'])}"),
        ("graphs in a tile", f"{known.side:,} on each side"),
        ("kernel", _about(stored)["kernel"]),
        ("features", ", ".join(known.features)),
        ("engine", " and ".join(dict.fromkeys(known.engines))),
        ("data", f"{known.data[:12]}… (fingerprint)"),
        ("made by", f"fastgntk {known.version}"),
    ]
    output.show({"store": str(path), **state, **_about(stored)}, str(path), rows)


def _about(stored: StoredGram) -> dict[str, Any]:
    """Return the manifest with the kernel as text."""
    return stored.manifest.to_dict() | {"kernel": repr(Kernel.from_dict(stored.manifest.kernel))}
