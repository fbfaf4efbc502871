"""``fastgntk explain``: the contribution of each node to a prediction, printed and drawn."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fastgntk._util.files import check_place
from fastgntk.cli._console import print_json, print_table, print_values, show_log
from fastgntk.cli._data import graph_name
from fastgntk.cli._explained import explain_graph, prediction_text
from fastgntk.cli._groups import with_groups
from fastgntk.cli._inputs import OneGraphInputs
from fastgntk.cli._new_graphs import ModelArgument, load_new_graphs
from fastgntk.cli._options import LocalComputeOptions, OutputOptions
from fastgntk.datasets import Dataset, MoleculeTable
from fastgntk.errors import InputError

__all__ = ["explain"]

_NODES = 10  # in the table


@with_groups
def explain(
    *,
    model: ModelArgument,
    inputs: OneGraphInputs,
    row: Annotated[int, typer.Option(help="The graph: its row in the table, or its number; the first is 1.")],
    file: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="NAME.svg or NAME.png", help="Where to draw it.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The target, if the model has several.")] = None,
    of_class: Annotated[
        str | None, typer.Option("--class", help="The class to explain.", show_default="the predicted class")
    ] = None,
    compute: LocalComputeOptions,
    output: OutputOptions,
) -> None:
    """Decompose one prediction into the exact contributions of all nodes, and of the training graphs."""
    if file is not None:
        check_place(file, "--output", ".svg", ".png")
    from fastgntk.persistence import load_model  # scikit-learn takes a second to load, which --help does not need

    show_log(output.verbose)
    loaded = load_model(model, compute=compute.build())
    dataset = load_new_graphs(inputs, loaded, quiet=output.json)
    index = _index(dataset, row)
    graph, name = dataset.graphs[index], graph_name(dataset, index)
    found = explain_graph(loaded, dataset, index, target=target, of_class=of_class)
    text = prediction_text(loaded, graph, found)
    if file is not None:
        from fastgntk.plotting import draw_attribution

        title = name if found["smiles"] else f"{dataset.name}, graph {name}"
        draw_attribution(graph, found["nodes"], file, smiles=found["smiles"], title=title, caption=text)
    picture = None if file is None else str(file)
    if output.json:
        print_json({"model": str(model), "row": row, **found, "picture": picture})
        return
    rows = [("graph", name), ("prediction", text)]
    print_values(f"fastgntk explain {dataset.name}, row {row}", rows + ([("picture", picture)] if picture else []))
    _show_contributions(found, graph)


def _index(dataset: Dataset, row: int) -> int:
    """Return the position of a row among the graphs."""
    if not isinstance(dataset, MoleculeTable):
        if not 1 <= row <= len(dataset):
            raise InputError(f"--row must lie in 1..{len(dataset)}, but is {row}.")
        return row - 1
    if row in dataset.skipped:
        raise InputError(f"the SMILES of row {row} cannot be read; correct it.")
    rows: list[int] = dataset.rows.tolist()
    if row not in rows:
        raise InputError(f"--row must lie in 1..{max(rows[-1], *dataset.skipped, 1)}, but is {row}.")
    return rows.index(row)


def _show_contributions(found: dict[str, Any], graph: Any) -> None:
    values, labels = found["nodes"], graph.labels
    symbols = [str(label) for label in labels] if labels is not None and labels.ndim == 1 else [""] * len(values)
    names = found["node_names"] or [str(u + 1) for u in range(len(values))]
    largest = sorted(range(len(values)), key=lambda u: -abs(values[u]))[:_NODES]
    print_table(
        "Nodes with the largest contributions",
        [("node", "right"), ("label", "left"), ("contribution", "right")],
        [[names[u], symbols[u], f"{values[u]:+.4g}"] for u in largest],
    )
    if found["most_similar"]:
        print_table(
            "Most similar training graphs",
            [("graph", "left"), ("similarity", "right")],
            [[one["name"], f"{one['similarity']:.4f}"] for one in found["most_similar"]],
        )
