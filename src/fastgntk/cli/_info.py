"""``fastgntk info`` and ``fastgntk datasets``: this installation, one data set or store, all known data sets."""

import os
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

from fastgntk import __version__
from fastgntk._util.checks import worker_count
from fastgntk._util.text import format_bytes, memory_budget
from fastgntk.cli._console import print_json, print_table, show_log
from fastgntk.cli._cost import show_cost
from fastgntk.cli._data import load_data, warn_skipped
from fastgntk.cli._groups import with_groups
from fastgntk.cli._inputs import InfoInputs
from fastgntk.cli._options import ComputeOptions, JsonOutput, KernelOptions, OutputOptions, SketchOptions
from fastgntk.cli._store import show_store
from fastgntk.datasets import REGISTRY, Dataset, cache_folder, find
from fastgntk.engines import EXACT_ENGINES
from fastgntk.errors import InputError
from fastgntk.pairwise import describe
from fastgntk.pairwise.store import is_store

__all__ = ["datasets", "info"]


@with_groups
def info(
    *,
    inputs: InfoInputs,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Estimate the cost of the kernel matrix of DATA, without computing it.")
    ] = False,
    kernel: KernelOptions,
    sketch: SketchOptions,
    compute: ComputeOptions,
    output: OutputOptions,
) -> None:
    """Describe this installation, or the graphs of DATA, or with --estimate the cost of their kernel matrix."""
    show_log(output.verbose)
    chosen = kernel.build(sketch)
    unused = [] if estimate else [name for name in (*kernel.given(), *sketch.given()) if name != "--features"]
    if unused:
        raise InputError(f"{unused[0]} is for --estimate; give that too.")
    if not inputs.data:
        if estimate:
            raise InputError("--estimate needs a data set: fastgntk info DATA --estimate.")
        _show_installation(output)
        return
    if is_store(inputs.data):
        show_store(Path(inputs.data), output)
        return
    compute.build()  # refuses wrong options before graphs are read
    dataset = load_data(inputs, quiet=output.json)
    if not output.json:
        warn_skipped(dataset)
    if not estimate:
        _show_data(dataset, kernel.features or "auto", output)
    else:
        show_cost(dataset, chosen, compute, output)


def _show_data(dataset: Dataset, features: Any, output: OutputOptions) -> None:
    found = describe(dataset.graphs, dataset.y, features=features)
    classes = dataset.counts.classes
    kind = "none" if dataset.y is None else "classes" if classes else "real numbers"
    record = {"name": dataset.name, "targets": kind, "classes": classes, **found.to_dict()}
    output.show(record, dataset.name, [("targets", f"{classes:,} classes" if classes else kind), *found.rows()])


def _show_installation(output: OutputOptions) -> None:
    engines = ["auto", *EXACT_ENGINES]
    record = {
        "version": __version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
        "system": f"{platform.system()} {platform.machine()}",
        "n_jobs": worker_count(None),
        "max_memory": memory_budget(None),
        "engines": engines,
        "data_folder": _data_folder(),
        "cache_folder": str(cache_folder()),
    }
    memory = f"{format_bytes(memory_budget(None))} (a quarter of RAM; --max-memory changes it)"
    shown = record | {"max_memory": memory, "engines": ", ".join(engines)}
    output.show(record, "fastgntk", [(name.replace("_", " "), str(value)) for name, value in shown.items()])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _data_folder() -> str:
    folder = os.environ.get("FASTGNTK_DATA")
    if not folder:
        return "none (set FASTGNTK_DATA)"
    return folder if Path(folder).is_dir() else f"{folder} (does not exist)"


@with_groups
def datasets(*, output: JsonOutput) -> None:
    """List the known data sets with their counts and where each was found."""
    records: list[dict[str, Any]] = []
    for row in REGISTRY.values():
        where, path = _find(row.name, row.url)
        about = {"node_labels": row.node_labels, "where": where, "path": path, "citation": row.citation}
        records.append({"name": row.name, **asdict(row.counts), **about})
    if output.json:
        print_json(records)
        return
    counts = ("graphs", "nodes", "edges", "classes")
    columns = [("name", "left"), *((name, "right") for name in counts), ("labels", "left"), ("found in", "left")]
    rows = [
        [r["name"], *(f"{r[name]:,}" for name in counts), "yes" if r["node_labels"] else "no", r["where"]]
        for r in records
    ]
    note = "to download: on first use. not found: put NAME.zip into a folder and set FASTGNTK_DATA to it."
    print_table(None, columns, rows, note)


def _find(name: str, url: str | None) -> tuple[str, str | None]:
    try:
        where, path = find(name)
    except InputError:  # it has no public address and is in no folder
        return "not found", None
    return ("to download", url) if where == "download" else (where, str(path))
