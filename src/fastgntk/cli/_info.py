"""``fastgntk info``: this installation, or one data set."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

from fastgntk import __version__
from fastgntk._util.memory import memory_budget, worker_count
from fastgntk._util.text import format_bytes
from fastgntk.cli._console import key_values, print_json, seconds
from fastgntk.cli._data import DATA_HELP, SkipInvalidOption, SmilesOption, load_data
from fastgntk.cli._inputs import (
    DirectedOption,
    EdgeLabelsOption,
    EdgeWeightsOption,
    EndsOption,
    GraphOption,
    Inputs,
    NodeFeaturesOption,
    NodeLabelsOption,
    NodesOption,
    TargetsOption,
)
from fastgntk.cli._options import (
    EngineOption,
    FreshOption,
    JsonOption,
    MemoryOption,
    MergeOption,
    SketchFeaturesOption,
    SketchOption,
    SketchSizeOption,
    WorkersOption,
    sketch_options,
)
from fastgntk.datasets import cache_folder
from fastgntk.engines import engine_names
from fastgntk.errors import InputError
from fastgntk.kernels import GNTK
from fastgntk.pairwise import Forecast, describe, forecast
from fastgntk.pairwise.store import is_store, open_gram

__all__ = ["info"]

_DEFAULT = GNTK()


def info(
    data: Annotated[str | None, typer.Argument(metavar="[DATA]", help=f"Graphs to describe. {DATA_HELP}")] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what the kernel matrix of DATA will take, before anything runs.")
    ] = False,
    blocks: Annotated[int, typer.Option(help="Number of blocks, for --plan.")] = _DEFAULT.blocks,
    layers: Annotated[int, typer.Option(help="ReLU layers in each block, for --plan.")] = _DEFAULT.layers,
    engine: EngineOption = "auto",
    sketch: SketchOption = None,
    sketch_size: SketchSizeOption = None,
    fresh_each_block: FreshOption = None,
    merge_nodes: MergeOption = None,
    sketch_features: SketchFeaturesOption = None,
    smiles: SmilesOption = None,
    target: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="What is to be learned: counts equal graphs that differ.")
    ] = None,
    skip_invalid: SkipInvalidOption = False,
    graph: GraphOption = None,
    ends: EndsOption = None,
    nodes: NodesOption = None,
    targets: TargetsOption = None,
    node_labels: NodeLabelsOption = None,
    node_features: NodeFeaturesOption = None,
    edge_labels: EdgeLabelsOption = None,
    edge_weights: EdgeWeightsOption = None,
    directed: DirectedOption = False,
    memory: MemoryOption = None,
    workers: WorkersOption = None,
    json: JsonOption = False,
) -> None:
    """Describe this installation, or the graphs of DATA, or with --plan how its kernel matrix would be computed."""
    sketching = sketch_options(sketch, sketch_size, fresh_each_block, merge_nodes, sketch_features)
    if sketching and not plan:
        raise InputError("the options of a sketch are for --plan: fastgntk info --plan NAME --engine sketched.")
    if data is None:
        if plan:
            raise InputError("--plan needs a data set: fastgntk info --plan NAME.")
        _show_installation(json)
        return
    if is_store(data):
        _show_store(Path(data), json)
        return
    inputs = Inputs(graph, ends, nodes, targets, node_labels, node_features, edge_labels, edge_weights, directed)
    dataset = load_data(data, smiles=smiles, target=target, skip_invalid=skip_invalid, inputs=inputs, quiet=json)
    if plan:
        spec = GNTK(blocks, layers)
        found = forecast(dataset.graphs, spec, engine=engine, memory=memory, workers=workers, **sketching)
        if json:
            print_json({"dataset": dataset.name, "blocks": blocks, "layers": layers, "plan": found.to_dict()})
            return
        key_values(f"{dataset.name}, {blocks} blocks of {layers} layers", _plan_rows(found))
        return
    told = describe(dataset.graphs, dataset.y)
    classes = dataset.counts.classes
    kind = "none" if dataset.y is None else "classes" if classes else "real numbers"
    if json:
        print_json({"name": dataset.name, "targets": kind, "classes": classes, **told.to_dict()})
        return
    key_values(dataset.name, [("targets", f"{classes:,} classes" if classes else kind), *told.rows()])


def _show_store(path: Path, json: bool) -> None:
    stored = open_gram(path)
    told, known = stored.progress(), stored.manifest
    if json:
        print_json({"store": str(path), **told, **known.to_dict()})
        return
    rows = [
        ("matrix", f"{known.graphs:,} × {known.graphs:,} float64"),
        ("tiles", f"{told['finished']:,} of {told['tiles']:,}, {100 * told['finished'] / max(told['tiles'], 1):.0f} %"),
        ("on disk", f"{format_bytes(told['bytes'])} of {format_bytes(8 * known.side**2 * told['tiles'])}"),
        ("graphs in a tile", f"{known.side:,} on each side"),
        ("kernel", ", ".join(f"{name} {value}" for name, value in known.spec.items())),
        ("features", known.features),
        ("engine", known.engine),
        ("data", f"{known.data[:12]}… (fingerprint)"),
        ("made by", f"fastgntk {known.version}"),
    ]
    key_values(str(path), rows)


def _show_installation(json: bool) -> None:
    record = _installation()
    if json:
        print_json(record)
    else:
        key_values("fastgntk", [(name.replace("_", " "), _show(name, value)) for name, value in record.items()])


def _plan_rows(plan: Forecast) -> list[tuple[str, str]]:
    compression = ", ".join(f"{100 * share:.3g} %" for share in plan.compression)
    return [
        ("engine", f"{plan.engine}: {plan.reason}"),
        ("graphs", f"{plan.graphs:,} with {plan.nodes:,} nodes"),
        ("blocks of graphs", f"{plan.blocks:,}, at most {plan.widest:,} distinct nodes each"),
        ("tiles", f"{plan.tiles:,} on {plan.workers} threads"),
        ("pairs of nodes", f"{plan.node_pairs:,}"),
        ("of these distinct", f"{compression} (block by block)"),
        ("expected time", f"about {seconds(plan.seconds)}, and start-up"),
        ("expected memory", f"{format_bytes(plan.bytes)}, beside Python itself"),
    ]


def _installation() -> dict[str, Any]:
    return {
        "version": __version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
        "system": f"{platform.system()} {platform.machine()}",
        "workers": worker_count(None),
        "memory_limit": memory_budget(None),
        "engines": engine_names(),
        "data_folder": _data_folder(),
        "cache_folder": str(cache_folder()),
    }


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


def _show(name: str, value: Any) -> str:
    if name == "memory_limit":
        return f"{format_bytes(value)} (a quarter of RAM; --memory changes it)"
    if isinstance(value, list):
        return ", ".join(value)
    return str(value)
