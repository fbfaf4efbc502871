"""``fastgntk info`` and ``fastgntk datasets``: this installation, one data set or store, all known data sets."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fastgntk._util.checks import thread_count
from fastgntk._util.text import format_bytes, memory_budget
from fastgntk.bench import installed_versions
from fastgntk.cli._console import configure_logging, print_json, print_table
from fastgntk.cli._gram import describe_store, show_cost
from fastgntk.cli._inputs import DATA_HELP, Inputs, check_graphs, load_data, warn_skipped
from fastgntk.cli._option_groups import argument, option, with_groups
from fastgntk.cli._options import ComputeOptions, JsonOutput, KernelOptions, OutputOptions, SketchOptions
from fastgntk.datasets import REGISTRY, Dataset, cache_folder, find
from fastgntk.engines import EXACT_ENGINES
from fastgntk.errors import InputError
from fastgntk.pairwise import describe
from fastgntk.pairwise.store import is_store, open_gram

__all__ = ["InfoInputs", "datasets", "info", "locate_dataset"]


@dataclass(frozen=True)
class InfoInputs(Inputs):
    """Graphs to describe, if any."""

    data: str = argument(f"Graphs to describe. {DATA_HELP}", "", metavar="[DATA]", show_default=False)


@with_groups
def info(
    *,
    inputs: InfoInputs,
    estimate: bool = option("Estimate the cost of the kernel matrix of DATA, without computing it.", False),
    kernel: KernelOptions,
    sketch: SketchOptions,
    compute: ComputeOptions,
    output: OutputOptions,
) -> None:
    """Describe this installation, or the graphs of DATA, or with --estimate the cost of their kernel matrix."""
    configure_logging(output.verbose)
    chosen = kernel.build(sketch)
    unused = [] if estimate else [name for name in (*kernel.changed(), *sketch.changed()) if name != "--features"]
    if unused:
        raise InputError(f"{unused[0]} is for --estimate; give that too.")
    if not inputs.data:
        if estimate:
            raise InputError("--estimate needs a data set: fastgntk info DATA --estimate.")
        _show_installation(output)
        return
    if is_store(inputs.data):
        _show_store(Path(inputs.data), output)
        return
    compute.build()  # rejects invalid options before graphs are read
    dataset = load_data(inputs, quiet=output.json)
    if not output.json:
        warn_skipped(dataset)
    if estimate:
        check_graphs(dataset, [chosen])
        show_cost(dataset, chosen, compute, output)
    else:
        _show_data(dataset, kernel.features or "auto", output)


def _show_data(dataset: Dataset, features: Any, output: OutputOptions) -> None:
    statistics = describe(dataset.graphs, dataset.y, features=features)
    classes = dataset.counts.classes
    kind = "none" if dataset.y is None else "classes" if classes else "real numbers"
    record = {"name": dataset.name, "targets": kind, "classes": classes, **statistics.to_dict()}
    output.show(record, dataset.name, [("targets", f"{classes:,} classes" if classes else kind), *statistics.rows()])


def _show_store(path: Path, output: OutputOptions) -> None:
    stored = open_gram(path)
    record, manifest = describe_store(stored), stored.manifest
    finished, tiles = record["finished"], record["tiles"]
    rows = [
        ("matrix", f"{manifest.graphs:,} × {manifest.graphs:,} float64"),
        ("tiles", f"{finished:,} of {tiles:,}, {100 * finished / max(tiles, 1):.0f} %"),
        ("on disk", f"{format_bytes(record['bytes'])} of {format_bytes(8 * manifest.tile_size**2 * tiles)}"),
        ("graphs in a tile", f"{manifest.tile_size:,} on each side"),
        ("kernel", record["kernel"]),
        ("features", ", ".join(manifest.features)),
        ("engine", " and ".join(dict.fromkeys(manifest.engines))),
        ("data", f"{manifest.data[:12]}… (fingerprint)"),
        ("made by", f"fastgntk {manifest.version}"),
    ]
    output.show({"store": str(path), **record}, str(path), rows)


def _show_installation(output: OutputOptions) -> None:
    engines = ["auto", *EXACT_ENGINES]
    data_folder = os.environ.get("FASTGNTK_DATA") or "none (set FASTGNTK_DATA)"
    if os.environ.get("FASTGNTK_DATA") and not Path(data_folder).is_dir():
        data_folder += " (does not exist)"
    record = {
        **installed_versions("numpy", "scipy", "scikit-learn", "numba"),
        "n_jobs": thread_count(None),
        "max_memory": memory_budget(None),
        "engines": engines,
        "data_folder": data_folder,
        "cache_folder": str(cache_folder()),
    }
    memory = f"{format_bytes(memory_budget(None))} (a quarter of RAM; --max-memory changes it)"
    shown = record | {"max_memory": memory, "engines": ", ".join(engines)}
    output.show(record, "fastgntk", [(name.replace("_", " "), str(value)) for name, value in shown.items()])


@with_groups
def datasets(*, output: JsonOutput) -> None:
    """List the known data sets with their counts and where each was found."""
    records: list[dict[str, Any]] = []
    for entry in REGISTRY.values():
        location, path = locate_dataset(entry.name)
        source = {"where": location, "path": path or entry.url, "citation": entry.citation}
        records.append({"name": entry.name, **asdict(entry.counts), "node_labels": entry.node_labels, **source})
    if output.json:
        print_json(records)
        return
    counts = ("graphs", "nodes", "edges", "classes")
    columns = {"name": "left", **dict.fromkeys(counts, "right"), "labels": "left", "found in": "left"}
    rows = [
        [r["name"], *(f"{r[name]:,}" for name in counts), "yes" if r["node_labels"] else "no", r["where"]]
        for r in records
    ]
    note = "to download: on first use. not found: put NAME.zip into a folder and set FASTGNTK_DATA to it."
    print_table(None, columns, rows, note)


def locate_dataset(name: str) -> tuple[str, str | None]:
    """Return where a data set was found, and its path; None if it is not on this machine."""
    try:
        location, path = find(name)
    except InputError:  # it has no public address and is in no folder
        return "not found", None
    return ("to download", None) if location == "download" else (location, str(path))
