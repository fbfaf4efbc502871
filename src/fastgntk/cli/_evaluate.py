"""``fastgntk evaluate``: how well the kernel classifies a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fastgntk import __version__
from fastgntk.cli import _options as options
from fastgntk.cli._console import key_values, print_json, print_table, progress_bar, seconds
from fastgntk.cli._data import SkipInvalidOption, SmilesOption, TableArgument, check_targets, load_data, tell_skipped
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
from fastgntk.cli._report import ReportOption, as_typed, check_report, written
from fastgntk.datasets import REGISTRY

if TYPE_CHECKING:
    from fastgntk.selection import Choice, Evaluation, Grid, StageProgress

__all__ = ["evaluate"]

_PROTOCOLS = {
    "nested": "nested (options chosen on training folds only)",
    "du2019": "du2019 (options chosen on the folds reported: optimistic)",
}


_FoldsOption = Annotated[
    str,
    typer.Option(
        help="Number of outer folds, or a file with a fold number for each graph, one a line; each fold in turn is the "
        "test part, in ascending order."
    ),
]


def evaluate(
    data: TableArgument,
    protocol: Annotated[str, typer.Option(help="nested, or du2019 as the published figures were made.")] = "nested",
    folds: _FoldsOption = "10",
    inner_folds: Annotated[int, typer.Option(help="Folds within each training part (nested only).")] = 5,
    blocks: options.BlocksOption = None,
    layers: options.LayersOption = None,
    scale: options.ScaleOption = None,
    jump: options.JumpOption = None,
    normalize: options.NormalizeOption = None,
    edges: options.EdgesOption = None,
    c: options.COption = None,
    features: options.FeaturesOption = "auto",
    engine: options.EngineOption = "auto",
    sketch: options.SketchOption = None,
    sketch_size: options.SketchSizeOption = None,
    fresh_each_block: options.FreshOption = None,
    merge_nodes: options.MergeOption = None,
    sketch_features: options.SketchFeaturesOption = None,
    memory: options.MemoryOption = None,
    workers: options.WorkersOption = None,
    seed: Annotated[int, typer.Option(help="Seed of the folds, and of sketches.")] = 0,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="The classes: a column of a table, or a graph attribute in JSON."),
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
    report: ReportOption = None,
    json: options.JsonOption = False,
) -> None:
    """Cross-validate the kernel on DATA, with its options chosen from a grid.

    Past 500 graphs the default grid is smaller: layers 1 and 2, jump, normalised, C of 1, 10 and 100.
    """
    check_report(report)
    from fastgntk import selection  # scikit-learn takes a second, which --help need not wait for

    sketching = options.sketch_options(sketch, sketch_size, fresh_each_block, merge_nodes, sketch_features)
    inputs = Inputs(graph, ends, nodes, targets, node_labels, node_features, edge_labels, edge_weights, directed)
    dataset = load_data(data, smiles=smiles, target=target, skip_invalid=skip_invalid, inputs=inputs, quiet=json)
    tell_skipped(dataset)
    check_targets(dataset, data, inputs)
    grid = selection.Grid.default(len(dataset))
    grid = replace(grid, **options.grid_options(blocks, layers, scale, jump, normalize, c, edges))
    with _stages(quiet=json) as progress:
        result = selection.evaluate(
            dataset,
            protocol=protocol,  # type: ignore[arg-type]  # selection.evaluate checks it and says what is allowed
            grid=grid,
            folds=int(folds) if folds.isdecimal() else selection.read_folds(Path(folds), len(dataset)),
            inner_folds=inner_folds,
            seed=seed,
            features=features,  # type: ignore[arg-type]  # checked by NodeFeatures
            engine=engine,
            memory=memory,
            workers=workers,
            progress=progress,
            **sketching,  # type: ignore[misc]  # without a seed of its own
        )
    row = REGISTRY.get(dataset.name)
    published = row.published if row else None
    if json:
        record = {
            "dataset": dataset.name,
            "version": __version__,
            "features": features,
            "folds": int(folds) if folds.isdecimal() else folds,
            "inner_folds": inner_folds if protocol == "nested" else None,
            "seed": seed,
            "published": published and {"mean": published[0], "std": published[1], "protocol": "du2019"},
            **({} if report is None else {"report": str(report)}),
        }
        print_json(record | result.to_dict())
    else:
        _show(dataset.name, result, grid, published)
    if report is not None:  # what was found is printed before, whatever becomes of the page
        from fastgntk.report import report_evaluation

        with written(report, quiet=json) as bar:
            report_evaluation(report, dataset, result, command=as_typed(), memory=memory, workers=workers, progress=bar)


@contextmanager
def _stages(*, quiet: bool) -> Iterator[StageProgress]:
    """Show kernel and learning, which take turns, as one bar."""
    share = {"kernel": 0.0, "learning": 0.0}
    with progress_bar("evaluating", quiet=quiet) as bar:

        def progress(stage: str, done: int, total: int) -> None:
            share[stage] = done / total
            bar(round(500 * sum(share.values())), 1000)

        yield progress


def _show(name: str, result: Evaluation, grid: Grid, published: tuple[float, float] | None) -> None:
    rows = [
        (
            "accuracy",
            f"{100 * result.mean:.1f} ± {100 * result.std:.1f} %  (mean ± std of {len(result.accuracies)} folds)",
        ),
        ("protocol", _PROTOCOLS[result.protocol]),
        ("published GNTK", _published(published)),
        ("data", f"{result.n_graphs} graphs, {result.n_classes} classes"),
        ("tried", f"{len(grid)} kernels × {len(grid.C)} values of C, {result.fits:,} fits"),
        ("engine", result.engine),
        ("kernel time", seconds(result.kernel_seconds)),
        ("learning time", seconds(result.learning_seconds)),
    ]
    if result.fits_stopped:
        rows.append(("note", f"{result.fits_stopped:,} fits reached the step limit and were used as they were"))
    key_values(f"fastgntk evaluate {name}", rows)
    columns = [("fold", "right"), ("accuracy", "right"), ("blocks", "right"), ("layers", "right")]
    columns += [("scale", "left"), ("jump", "left"), ("normalize", "left"), ("C", "right"), ("edges", "left")]
    columns = columns if len(grid.edges) > 1 else columns[:-1]
    folds = list(zip(result.accuracies, result.choices, strict=True))
    table = [[str(k + 1), f"{100 * a:.1f} %", *_cells(ch)] for k, (a, ch) in enumerate(folds)]
    often, count = Counter(result.choices).most_common(1)[0]
    if 1 < count < len(folds):
        table.append([f"{count} of {len(folds)}", "most often", *_cells(often)])
    table = [row[: len(columns)] for row in table]
    title = "The same options for every fold" if result.optimistic else "Options chosen in each outer fold"
    print_table(title, columns, table)


def _published(figures: tuple[float, float] | None) -> str:
    if figures is None:
        return "none"
    return f"{100 * figures[0]:.1f} ± {100 * figures[1]:.1f} %  (Du et al. 2019, by the du2019 protocol)"


def _cells(choice: Choice) -> list[str]:
    flag = {True: "yes", False: "no"}
    return [
        str(choice.blocks), str(choice.layers), choice.scale, flag[choice.jump], flag[choice.normalize],
        f"{choice.C:g}", choice.edges,
    ]  # fmt: skip
