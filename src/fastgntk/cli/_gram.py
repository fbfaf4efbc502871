"""``fastgntk gram``: a kernel matrix in a file."""

from __future__ import annotations

import time
from collections.abc import Callable
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fastgntk import __version__
from fastgntk._util.files import atomic_save
from fastgntk.cli import _options as options
from fastgntk.cli._cluster import ClusterOption, SchedulerOption, check_cluster, executor
from fastgntk.cli._console import key_values, print_json, progress_bar, seconds
from fastgntk.cli._data import SkipInvalidOption, SmilesOption, TableArgument, load_data, output_file, tell_skipped
from fastgntk.cli._estimate import tell_estimate
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
from fastgntk.engines import choose_engine
from fastgntk.errors import InputError
from fastgntk.kernels import GNTK
from fastgntk.pairwise import estimate as estimated
from fastgntk.pairwise import gram as compute
from fastgntk.pairwise import normalize as normalized
from fastgntk.pairwise.store import StoredGram, check_shard
from fastgntk.sketch import Sketching

__all__ = ["gram"]

_DEFAULT = GNTK()


def gram(
    data: TableArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write: K.npy; or K.npz with K, y, and spec and options as JSON."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Where to write tile by tile: K.zarr. The same command goes on after an interruption."),
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="k/K", help="Compute the k-th of K shares into --store, for array jobs.")
    ] = None,
    scheduler: SchedulerOption = None,
    cluster: ClusterOption = None,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", help="Only predict time, memory and disk of --store on 1, 10 and 100 workers, from a sample."
        ),
    ] = False,
    blocks: Annotated[int, typer.Option(help="Number of blocks.")] = _DEFAULT.blocks,
    layers: Annotated[int, typer.Option(help="ReLU layers in each block.")] = _DEFAULT.layers,
    scale: Annotated[str, typer.Option(help="uniform, degree or unit.")] = _DEFAULT.scale,
    jump: Annotated[bool, typer.Option(help="Read out every level, not only the last.")] = bool(_DEFAULT.jump),
    c_phi: Annotated[float, typer.Option(help="Variance factor of the ReLU layers.")] = _DEFAULT.c_phi,
    edges: Annotated[str, typer.Option(help="Whether edge labels count: plain or typed.")] = _DEFAULT.edges,
    normalize: Annotated[bool, typer.Option("--normalize", help="Divide by self-similarities.")] = False,
    features: options.FeaturesOption = "auto",
    engine: options.EngineOption = "auto",
    sketch: options.SketchOption = None,
    sketch_size: options.SketchSizeOption = None,
    fresh_each_block: options.FreshOption = None,
    merge_nodes: options.MergeOption = None,
    sketch_features: options.SketchFeaturesOption = None,
    memory: options.MemoryOption = None,
    workers: options.WorkersOption = None,
    seed: Annotated[int | None, typer.Option(help="Seed of sketches.", show_default="0")] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="The y of K.npz: a column of a table, or a graph attribute in JSON."),
    ] = None,
    smiles: SmilesOption = None,
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
    json: options.JsonOption = False,
) -> None:
    """Compute the kernel matrix of DATA and write it to a file, whole or not at all; or tile by tile into a store."""
    if estimate:
        written = {"output": output, "normalize": normalize or None, "target": target}
        _check_alone(**written, store=store, shard=shard, scheduler=scheduler, cluster=cluster)
    if not estimate and (output is None) == (store is None):
        raise InputError("say where to write the matrix: --output FILE, or --store FOLDER to write it tile by tile.")
    if output is not None:
        output_file(output, ".npy", ".npz")
    for option, given in (("--normalize", normalize), ("--target", target)):
        if store is not None and given:
            raise InputError(f"{option} is for --output; a store holds the kernel alone.")
    if shard is not None and store is None:
        raise InputError("--shard is for --store; give that too.")
    check_cluster(scheduler, cluster, store=store is not None, shard=shard is not None)
    share = None if shard is None else _share(shard)
    spec = GNTK(blocks, layers, scale, jump, c_phi, edges)  # type: ignore[arg-type]  # GNTK checks the words
    sketching = options.sketch_options(sketch, sketch_size, fresh_each_block, merge_nodes, sketch_features, seed)
    chosen = Sketching.from_options(sketching) if engine == "sketched" else None
    inputs = Inputs(graph, ends, nodes, targets, node_labels, node_features, edge_labels, edge_weights, directed)
    dataset = load_data(data, smiles=smiles, target=target, skip_invalid=skip_invalid, inputs=inputs, quiet=json)
    tell_skipped(dataset)
    how: dict[str, Any] = {"features": features, "engine": engine, "memory": memory, "workers": workers, **sketching}
    start = time.perf_counter()
    if estimate:
        with progress_bar("sample", quiet=json) as bar:
            found = estimated(dataset.graphs, spec, progress=bar, **how)
        tell_estimate(found, dataset.name, json)
        return
    if store is not None:
        with executor(scheduler, cluster, workers) as client, progress_bar("kernel", "tiles", quiet=json) as bar:
            counted = _Counted(bar)
            stored = compute(dataset.graphs, spec, store=store, shard=share, executor=client, progress=counted, **how)
        _tell_stored(stored, dataset.name, time.perf_counter() - start, counted.calls, json)
        return
    assert output is not None
    with progress_bar("kernel", quiet=json) as bar:
        K = compute(dataset.graphs, spec, progress=bar, **how)
    took = time.perf_counter() - start
    used = choose_engine(engine, dataset.graphs, None, spec, sketching=chosen).engine.name
    described = chosen.to_dict() if chosen is not None and used == "sketched" else None
    if normalize:
        K = normalized(K)
    if output.suffix == ".npy":
        atomic_save(output, lambda stream: np.save(stream, K, allow_pickle=False))
    else:
        options_used = {"dataset": dataset.name, "features": features, "normalize": normalize, "version": __version__}
        options_used |= {"engine": used, "sketching": described}
        arrays: dict[str, Any] = {"K": K, "spec": np.array(spec.to_json()), "options": np.array(dumps(options_used))}
        if dataset.y is not None:
            arrays["y"] = dataset.y
        atomic_save(output, lambda stream: np.savez(stream, **arrays))
    record = {
        "dataset": dataset.name,
        "version": __version__,
        "spec": spec.to_dict(),
        "features": features,
        "normalize": normalize,
        "shape": list(K.shape),
        "engine": used,
        "sketching": described,
        "seconds": took,
        "output": str(output),
    }
    if json:
        print_json(record)
        return
    key_values(
        f"fastgntk gram {dataset.name}",
        [
            ("written", f"{output}, {K.shape[0]} × {K.shape[1]} float64"),
            ("kernel", _words(spec.to_dict())),
            ("normalized", "yes" if normalize else "no"),
            ("engine", used if described is None else f"{used}, {_words(described)}"),
            ("kernel time", seconds(took)),
        ],
    )


def _check_alone(**given: Any) -> None:
    """Refuse options that say where to compute, or where and what to write, where there is nothing to write."""
    named = ", ".join(f"--{name}" for name, value in given.items() if value is not None)
    if named:
        raise InputError(f"--estimate only predicts what --store would take; leave {named} out.")


def _share(text: str) -> tuple[int, int]:
    k, slash, count = text.partition("/")
    if not slash or not (k.isdecimal() and count.isdecimal()):
        raise InputError(f"--shard must be k/K such as 2/10, but is {text!r}.")
    return check_shard((int(k), int(count)))


class _Counted:
    """Count calls of a progress, which are finished tiles."""

    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self.progress = progress
        self.calls = 0

    def __call__(self, done: int, total: int) -> None:
        self.calls += 1
        self.progress(done, total)


def _tell_stored(stored: StoredGram, name: str, took: float, computed: int, json: bool) -> None:
    told = {**stored.progress(), "computed": computed}
    if json:
        print_json({"dataset": name, "store": str(stored.path), "seconds": took, **told, **stored.manifest.to_dict()})
        return
    rows = [
        ("store", f"{stored.path}, {stored.shape[0]} × {stored.shape[1]} float64"),
        ("tiles", f"{told['finished']:,} of {told['tiles']:,}; {computed:,} now, {computed / took:.1f} a second"),
        ("kernel", _words(stored.manifest.spec)),
        ("engine", stored.manifest.engine),
        ("time", seconds(took)),
    ]
    key_values(f"fastgntk gram {name}", rows)


def _words(options: dict[str, Any]) -> str:
    return dumps(options).strip("{}").replace('"', "")
