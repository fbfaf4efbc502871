"""``fastgntk explain``: the contribution of each node to a prediction, printed and drawn."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastgntk._util.files import check_output_path
from fastgntk.cli._console import configure_logging, print_table
from fastgntk.cli._inputs import Inputs, graph_name
from fastgntk.cli._option_groups import REQUIRED, option, with_groups
from fastgntk.cli._options import LocalComputeOptions, OutputOptions
from fastgntk.cli._predict import MODEL, is_classifier, load_new_graphs, target_names
from fastgntk.datasets import Dataset, MoleculeTable, NamedDataset
from fastgntk.errors import InputError
from fastgntk.graphs import UnseenLabelWarning
from fastgntk.kernels import Kernel, parse_kernel

__all__ = ["SingleGraphInputs", "explain"]

_NODES = 10  # in the table
_INFLUENTIAL, _SIMILAR = 10, 5  # training graphs


@dataclass(frozen=True)
class SingleGraphInputs(Inputs):
    """Graphs from which one is chosen; rows that cannot be read are skipped."""

    omitted = ("target", "targets", "skip_invalid")

    skip_invalid: bool = True


@with_groups
def explain(
    *,
    model: Path = MODEL,
    inputs: SingleGraphInputs,
    row: int = option("Row of the graph in the table, or its position, counted from 1.", REQUIRED),
    file: Path | None = option("Image file to write.", None, "--output", "-o", metavar="NAME.svg or NAME.png"),
    target: str | None = option("The target, if the model has several."),
    of_class: str | None = option("The class to explain.", None, "--class", show_default="the predicted class"),
    factor: str | None = option(
        "The factor of a product that is divided among the nodes: its index, from 0, or the kernel as text.",
        show_default="the first",
        metavar="FACTOR",
    ),
    compute: LocalComputeOptions,
    output: OutputOptions,
) -> None:
    """Decompose one prediction into the exact contributions of all nodes, of descriptors and of training graphs."""
    if file is not None:
        check_output_path(file, "--output", ".svg", ".png")
    from fastgntk.persistence import load_model  # scikit-learn takes a second to load, which --help does not need

    configure_logging(output.verbose)
    loaded = load_model(model, compute=compute.build())
    dataset = load_new_graphs(inputs, loaded, quiet=output.json)
    index = _find_row(dataset, row)
    graph, name = dataset.graphs[index], graph_name(dataset, index)
    explanation = loaded.explain(graph, *_choose_output(loaded, target, of_class), factor=_parse_factor(factor))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLabelWarning)  # model.explain has issued it
        record = _to_record(explanation, loaded, dataset, index)
        text = _describe_prediction(record, loaded, graph)
    picture = None if file is None else str(file)
    if file is not None:
        from fastgntk.plotting import draw_attribution

        title = name if record["smiles"] else f"{dataset.name}, graph {name}"
        draw_attribution(graph, record["nodes"], file, smiles=record["smiles"], title=title, caption=text)
    rows = [("graph", name), ("prediction", text)] + ([("picture", picture)] if picture else [])
    record = {"model": str(model), "row": row, **record, "picture": picture}
    output.show(record, f"fastgntk explain {dataset.name}, row {row}", rows)
    if not output.json:
        _show_contributions(record, graph)


def _parse_factor(text: str | None) -> int | Kernel | None:
    """Return the index of a factor, or the kernel."""
    if text is None:
        return None
    return int(text) if text.strip().removeprefix("-").isdecimal() else parse_kernel(text)


def _find_row(dataset: Dataset, row: int) -> int:
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


def _choose_output(model: Any, target: str | None, of_class: str | None) -> list[Any]:
    """Return the argument of ``explain`` for the target or class of the options; none for the default."""
    if is_classifier(model):
        if target is not None:
            raise InputError("--target is for regression, but this model classifies; use --class.")
        classes = [c for c in model.classes_ if str(c) == of_class]
        if of_class is not None and not classes:
            raise InputError(f"--class must be one of {', '.join(map(str, model.classes_))}, but is {of_class!r}.")
        return classes
    if of_class is not None:
        raise InputError("--class is for classification, but this model predicts numbers; leave it out.")
    names = target_names(model)
    if target is None and len(names) > 1:
        raise InputError(f"the model has several targets; name one with --target: {', '.join(names)}.")
    if target is not None and target not in names:
        raise InputError(f"--target must be one of {', '.join(names)}, but is {target!r}.")
    return [] if target is None else [names.index(target)]


def _to_record(explanation: Any, model: Any, dataset: Dataset, index: int) -> dict[str, Any]:
    """Return an explanation as plain values, with names of the output, the nodes and the training graphs."""
    output = explanation.output
    if not is_classifier(model):
        output = target_names(model)[model.expansion_.output_names.index(output)]
    influential, similar = [], []
    if model.expansion_.basis.keeps_graphs:
        influential = explanation.most_influential(_INFLUENTIAL)
        cosines, basis = model.similarities([dataset.graphs[index]])[0], model.expansion_.training_indices
        similar = [(int(basis[i]), float(cosines[i])) for i in (-cosines).argsort(kind="stable")[:_SIMILAR]]
    node_names = None
    if isinstance(dataset, NamedDataset):
        start, stop = dataset.graphs.offsets[index : index + 2]
        node_names = [str(name) for name in dataset.node_names[start:stop]]
    names = getattr(model, "training_names_", None)
    return {
        "smiles": dataset.smiles[index] if isinstance(dataset, MoleculeTable) else None,
        "output": output,
        "prediction": explanation.prediction,
        "intercept": explanation.intercept,
        "nodes": explanation.node_contributions.tolist(),
        "descriptors": explanation.descriptor_contributions,
        "node_names": node_names,
        "training_graphs": [{"name": names[i] if names else str(i + 1), "contribution": v} for i, v in influential],
        "most_similar": [{"name": names[i] if names else str(i + 1), "similarity": v} for i, v in similar],
    }


def _describe_prediction(record: dict[str, Any], model: Any, graph: Any) -> str:
    """Return the prediction and its parts in words, with its probability or standard deviation."""
    output, value = record["output"], record["prediction"]
    if not is_classifier(model):
        std = model.predict([graph], return_std=True)[1].ravel()[target_names(model).index(output)]
        text = f"{output} {value:.3g} ± {std:.2g}"
    elif model.sigmoids_ is None:
        text = f"class {output}: decision {value:.3g}"
    else:
        probability = model.predict_proba([graph])[0][[str(c) for c in model.classes_].index(output)]
        text = f"class {output} (probability {100 * probability:.0f} %): decision {value:.3g}"
    parts = "nodes" if record["smiles"] is None else "atoms"
    blocks = "".join(f", {name} {contribution:+.3g}" for name, contribution in record["descriptors"].items())
    return f"{text} = intercept {record['intercept']:.3g}, {parts} {sum(record['nodes']):+.3g}{blocks}"


def _show_contributions(record: dict[str, Any], graph: Any) -> None:
    values, labels = record["nodes"], graph.labels
    symbols = [str(label) for label in labels] if labels is not None and labels.ndim == 1 else [""] * len(values)
    names = record["node_names"] or [str(u + 1) for u in range(len(values))]
    largest = sorted(range(len(values)), key=lambda u: -abs(values[u]))[:_NODES]
    rows = [[names[u], symbols[u], f"{values[u]:+.4g}"] for u in largest]
    columns = {"node": "right", "label": "left", "contribution": "right"}
    print_table("Nodes with the largest contributions", columns, rows)
    if record["most_similar"]:
        rows = [[similar["name"], f"{similar['similarity']:.4f}"] for similar in record["most_similar"]]
        print_table("Most similar training graphs", {"graph": "left", "similarity": "right"}, rows)
