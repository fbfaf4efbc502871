"""``fastgntk gram``: a kernel matrix in a file, in a store on disk, or only its cost."""

import time
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fastgntk import __version__
from fastgntk._util.files import atomic_save, check_place
from fastgntk._util.text import format_duration
from fastgntk.cli._console import progress_bar, show_log
from fastgntk.cli._cost import show_cost
from fastgntk.cli._data import load_data, warn_skipped
from fastgntk.cli._groups import with_groups
from fastgntk.cli._inputs import Inputs
from fastgntk.cli._options import ComputeOptions, KernelOptions, OutputOptions, SketchOptions
from fastgntk.cli._store import StoreOptions, write_store
from fastgntk.datasets import Dataset
from fastgntk.errors import InputError
from fastgntk.kernels import Kernel
from fastgntk.pairwise import gram as compute_gram
from fastgntk.pairwise import prepare_batch

__all__ = ["gram"]

_WORKERS = (1, 10, 100)  # of the clusters of an estimate


@with_groups
def gram(
    *,
    inputs: Inputs,
    file: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write K.npy, or K.npz with K, y, kernel and options.")
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only estimate the cost, here and of --store on 1, 10 and 100 workers.")
    ] = False,
    store: StoreOptions,
    kernel: KernelOptions,
    sketch: SketchOptions,
    compute: ComputeOptions,
    output: OutputOptions,
) -> None:
    """Compute the kernel matrix of DATA and write it to a file, or tile by tile into a store."""
    _check_destination(file, estimate, store, inputs)
    show_log(output.verbose)
    chosen = kernel.build(sketch)
    compute.build()  # refuses wrong options before graphs are read
    dataset = load_data(inputs, quiet=output.json)
    warn_skipped(dataset)
    if estimate:
        show_cost(dataset, chosen, compute, output, _WORKERS)
    elif file is None:
        write_store(dataset, chosen, store, compute, output)
    else:
        _write_file(dataset, chosen, file, compute, output)


def _check_destination(file: Path | None, estimate: bool, store: StoreOptions, inputs: Inputs) -> None:
    """Refuse options that do not go together."""
    targets = inputs.given("target")
    if estimate:
        given = [*(["--output"] if file is not None else []), *store.given(), *targets]
        if given:
            raise InputError(f"--estimate computes and writes nothing; leave out {', '.join(given)}.")
        return
    if file is not None and store.store is not None:
        raise InputError("give --output or --store, not both.")
    if file is None and store.store is None:
        raise InputError("give a place for the matrix: --output FILE, or --store FOLDER to write it tile by tile.")
    if file is not None:
        check_place(file, "--output", ".npy", ".npz")
    elif targets:
        raise InputError("--target is for --output; a store holds the matrix alone.")
    store.check()


def _write_file(dataset: Dataset, kernel: Kernel, file: Path, compute: ComputeOptions, output: OutputOptions) -> None:
    start = time.perf_counter()
    with progress_bar("kernel", quiet=output.json) as bar:
        prepared = prepare_batch(dataset.graphs, kernel, compute.build(bar), once=True)
        K = compute_gram(prepared)
    took = time.perf_counter() - start
    engine = " and ".join(dict.fromkeys(prepared.engines))
    about = {"dataset": dataset.name, "version": __version__, "engine": engine}
    if file.suffix.lower() == ".npy":
        atomic_save(file, lambda stream: np.save(stream, K, allow_pickle=False))
    else:
        arrays: dict[str, Any] = {"K": K, "kernel": np.array(repr(kernel)), "options": np.array(dumps(about))}
        if dataset.y is not None:
            arrays["y"] = dataset.y
        atomic_save(file, lambda stream: np.savez(stream, **arrays))
    record = {**about, "kernel": repr(kernel), "shape": list(K.shape), "seconds": took, "output": str(file)}
    rows = [
        ("written", f"{file}, {K.shape[0]} × {K.shape[1]} float64"),
        ("kernel", repr(kernel)),
        ("engine", engine),
        ("kernel time", format_duration(took)),
    ]
    output.show(record, f"fastgntk gram {dataset.name}", rows)
