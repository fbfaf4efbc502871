"""``fastgntk explain``: which nodes a prediction comes from."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from fastgntk.cli import _options as options
from fastgntk.cli._console import key_values, print_json, print_table, verbose
from fastgntk.cli._data import (
    SmilesOption,
    TableArgument,
    graph_name,
    is_table,
    labels_as_trained,
    load_data,
    output_file,
)
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
)
from fastgntk.cli._predict import ModelArgument, remembered, smiles_column
from fastgntk.datasets import Dataset, MoleculeTable, NamedDataset
from fastgntk.errors import InputError
from fastgntk.graphs import UnseenLabelWarning

__all__ = ["explain"]

_SHOWN = 10  # nodes and training graphs in the tables


def explain(
    model: ModelArgument,
    data: TableArgument,
    row: Annotated[int, typer.Option(help="Which graph: its row in the table, or its number; the first is 1.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to draw it: NAME.svg or NAME.png.", show_default="no picture"),
    ] = None,
    smiles: SmilesOption = None,
    graph: GraphOption = None,
    ends: EndsOption = None,
    nodes: NodesOption = None,
    node_labels: NodeLabelsOption = None,
    node_features: NodeFeaturesOption = None,
    edge_labels: EdgeLabelsOption = None,
    edge_weights: EdgeWeightsOption = None,
    directed: DirectedOption = False,
    target: Annotated[str | None, typer.Option(help="Which target, where the model has several.")] = None,
    of_class: Annotated[
        str | None, typer.Option("--class", help="Which class's decision value.", show_default="the predicted one")
    ] = None,
    memory: options.MemoryOption = None,
    workers: options.WorkersOption = None,
    json: options.JsonOption = False,
    chatty: options.VerboseOption = False,
) -> None:
    """Take one prediction apart: the exact share of every node, drawn, and of the training graphs."""
    if output is not None:
        output_file(output, ".svg", ".png")
    from fastgntk.persistence import load_model

    verbose(chatty)
    loaded = load_model(model, memory=memory, workers=workers)
    inputs = Inputs(graph, ends, nodes, None, node_labels, node_features, edge_labels, edge_weights, directed)
    inputs = remembered(loaded, data, inputs)
    listed = inputs.graph is not None
    column = smiles if listed else smiles_column(loaded, data, smiles)
    # Other rows that cannot be read do not matter here; the one asked for does.
    dataset = load_data(data, smiles=column, skip_invalid=is_table(data) and not listed, inputs=inputs, quiet=json)
    dataset = labels_as_trained(dataset, loaded) if listed else dataset
    index = _index(dataset, row)
    one = dataset.graphs[index]
    told = _explanation(loaded, one, target, of_class)
    what = told.output if hasattr(loaded, "classes_") else _target_name(loaded, told.output)
    nodes_called = None
    if isinstance(dataset, NamedDataset):
        start, stop = dataset.graphs.offsets[index : index + 2]
        nodes_called = [str(name) for name in dataset.node_names[start:stop]]
    molecule = dataset.smiles[index] if isinstance(dataset, MoleculeTable) else None
    names = getattr(loaded, "names_", None)
    keeps_graphs = loaded.expansion_.rows.keeps_graphs
    most = told.most_influential(_SHOWN) if keeps_graphs else []
    influential = [(names[i] if names else str(i + 1), share) for i, share in most]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLabelWarning)  # explaining told of them
        alike = _most_similar(loaded, one, names) if keeps_graphs else []
        predicted = _sentence(loaded, one, told, what)
    parts = "nodes" if molecule is None else "atoms"
    line = f"{predicted} = intercept {told.intercept:.3g}, {parts} {told.nodes.sum():+.3g}"
    if output is not None:
        from fastgntk.plotting import draw_attribution

        title = molecule or f"{dataset.name}, graph {graph_name(dataset, index)}"
        draw_attribution(one, told.nodes, output, smiles=molecule, title=title, caption=line)
    if json:
        print_json(
            {
                "model": str(model),
                "row": row,
                "smiles": molecule,
                "output": what,
                "prediction": told.prediction,
                "intercept": told.intercept,
                "nodes": told.nodes.tolist(),
                "node_names": nodes_called,
                "training_graphs": [{"name": name, "share": share} for name, share in influential],
                "most_similar": [{"name": name, "similarity": similarity} for name, similarity in alike],
                "picture": None if output is None else str(output),
            }
        )
        return
    called = dataset.names[index] if isinstance(dataset, NamedDataset) else f"number {row}"
    rows = [("graph", molecule or called), ("prediction", line)]
    if output is not None:
        rows.append(("drawn", str(output)))
    key_values(f"fastgntk explain {dataset.name}, row {row}", rows)
    order = sorted(range(len(told.nodes)), key=lambda u: -abs(told.nodes[u]))[:_SHOWN]
    symbols = [str(label) for label in one.labels] if one.labels is not None and one.labels.ndim == 1 else None
    listed_nodes = nodes_called or [str(u + 1) for u in range(len(told.nodes))]
    print_table(
        "Nodes with the largest shares",
        [("node", "right"), ("label", "left"), ("share", "right")],
        [[listed_nodes[u], symbols[u] if symbols else "", f"{told.nodes[u]:+.4g}"] for u in order],
    )
    if keeps_graphs:
        print_table(
            "Most similar training graphs",
            [("graph", "left"), ("similarity", "right")],
            [[name, f"{similarity:.4f}"] for name, similarity in alike],
        )


def _most_similar(model: Any, graph: Any, names: list[str] | None) -> list[tuple[str, float]]:
    """Return the training graphs that are most like a graph, with their cosines."""
    cosines = model.similarities([graph])[0]
    basis = model.expansion_.basis
    best = (-cosines).argsort(kind="stable")[:5]
    return [(names[int(basis[i])] if names else str(int(basis[i]) + 1), float(cosines[i])) for i in best]


def _index(dataset: Dataset, row: int) -> int:
    """Return the position of a row among the graphs."""
    if not isinstance(dataset, MoleculeTable):
        if not 1 <= row <= len(dataset):
            raise InputError(f"--row must lie in 1..{len(dataset)}, but is {row}.")
        return row - 1
    if row in dataset.skipped:
        raise InputError(f"the SMILES of row {row} cannot be read; correct it.")
    found = [i for i, number in enumerate(dataset.rows.tolist()) if number == row]
    if not found:
        raise InputError(f"--row must lie in 1..{max(int(dataset.rows[-1]), *dataset.skipped, 1)}, but is {row}.")
    return found[0]


def _explanation(model: Any, graph: Any, target: str | None, of_class: str | None) -> Any:
    if hasattr(model, "classes_"):
        if target is not None:
            raise InputError("--target is for regression; this model classifies: use --class.")
        if of_class is None:
            return model.explain(graph)
        for known in model.classes_:
            if str(known) == of_class:
                return model.explain(graph, known)
        raise InputError(f"--class must be one of {', '.join(map(str, model.classes_))}, but is {of_class!r}.")
    if of_class is not None:
        raise InputError("--class is for classification; this model predicts numbers.")
    names = [_target_name(model, name) for name in model.expansion_.names]
    if target is None:
        if len(names) > 1:
            raise InputError(f"the model has several targets; name one with --target: {', '.join(names)}.")
        return model.explain(graph)
    if target not in names:
        raise InputError(f"--target must be one of {', '.join(names)}, but is {target!r}.")
    return model.explain(graph, names.index(target))


def _target_name(model: Any, output: str) -> str:
    names = getattr(model, "about_", {}).get("targets")
    outputs = model.expansion_.names
    return str(names[outputs.index(output)]) if isinstance(names, list) and len(names) == len(outputs) else output


def _sentence(model: Any, graph: Any, told: Any, what: str) -> str:
    """Return the prediction in words."""
    if hasattr(model, "classes_"):
        probability = ""
        if model.sigmoids_ is not None:
            share = model.predict_proba([graph])[0][[str(c) for c in model.classes_].index(what)]
            probability = f" (probability {100 * share:.0f} %)"
        return f"class {what}{probability}: decision {told.prediction:.3g}"
    std = model.predict([graph], return_std=True)[1].ravel()
    spread = std[model.expansion_.names.index(told.output)]
    return f"{what} {told.prediction:.3g} ± {spread:.2g}"
