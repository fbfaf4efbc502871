"""The explanation of one prediction as plain values, with names of the output, the nodes and the training graphs."""

import warnings
from typing import Any

from fastgntk.cli._new_graphs import is_classifier, target_names
from fastgntk.datasets import Dataset, MoleculeTable, NamedDataset
from fastgntk.errors import InputError
from fastgntk.graphs import UnseenLabelWarning

__all__ = ["explain_graph", "prediction_text"]

_INFLUENTIAL, _SIMILAR = 10, 5  # training graphs


def explain_graph(
    model: Any, dataset: Dataset, index: int, *, target: str | None = None, of_class: str | None = None
) -> dict[str, Any]:
    """Explain the prediction for one graph of a data set: contributions, and training graphs."""
    graph = dataset.graphs[index]
    found = model.explain(graph, *_output(model, target, of_class))
    output, names = found.output, getattr(model, "names_", None)
    if not is_classifier(model):
        output = target_names(model)[model.expansion_.names.index(output)]
    influential, similar = [], []
    if model.expansion_.rows.keeps_graphs:
        influential, similar = found.most_influential(_INFLUENTIAL), _most_similar(model, graph)
    return {
        "smiles": dataset.smiles[index] if isinstance(dataset, MoleculeTable) else None,
        "output": output,
        "prediction": found.prediction,
        "intercept": found.intercept,
        "nodes": found.nodes.tolist(),
        "node_names": _node_names(dataset, index),
        "training_graphs": [{"name": names[i] if names else str(i + 1), "contribution": v} for i, v in influential],
        "most_similar": [{"name": names[i] if names else str(i + 1), "similarity": v} for i, v in similar],
    }


def prediction_text(model: Any, graph: Any, found: dict[str, Any]) -> str:
    """Return the prediction and its parts in words, with its probability or standard deviation."""
    output, value = found["output"], found["prediction"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLabelWarning)  # the explanation has given it
        if not is_classifier(model):
            spread = model.predict([graph], return_std=True)[1].ravel()[target_names(model).index(output)]
            text = f"{output} {value:.3g} ± {spread:.2g}"
        elif model.sigmoids_ is None:
            text = f"class {output}: decision {value:.3g}"
        else:
            share = model.predict_proba([graph])[0][[str(c) for c in model.classes_].index(output)]
            text = f"class {output} (probability {100 * share:.0f} %): decision {value:.3g}"
    parts = "nodes" if found["smiles"] is None else "atoms"
    return f"{text} = intercept {found['intercept']:.3g}, {parts} {sum(found['nodes']):+.3g}"


def _output(model: Any, target: str | None, of_class: str | None) -> list[Any]:
    """Return the argument of ``explain`` for the target or class of the options; none for the default."""
    if is_classifier(model):
        if target is not None:
            raise InputError("--target is for regression, but this model classifies; use --class.")
        found = [known for known in model.classes_ if str(known) == of_class]
        if of_class is not None and not found:
            raise InputError(f"--class must be one of {', '.join(map(str, model.classes_))}, but is {of_class!r}.")
        return found
    if of_class is not None:
        raise InputError("--class is for classification, but this model predicts numbers; leave it out.")
    names = target_names(model)
    if target is None and len(names) > 1:
        raise InputError(f"the model has several targets; name one with --target: {', '.join(names)}.")
    if target is not None and target not in names:
        raise InputError(f"--target must be one of {', '.join(names)}, but is {target!r}.")
    return [] if target is None else [names.index(target)]


def _most_similar(model: Any, graph: Any) -> list[tuple[int, float]]:
    """Return the training graphs with the largest cosines: index and cosine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLabelWarning)  # the explanation has given it
        cosines, basis = model.similarities([graph])[0], model.expansion_.basis
    return [(int(basis[i]), float(cosines[i])) for i in (-cosines).argsort(kind="stable")[:_SIMILAR]]


def _node_names(dataset: Dataset, index: int) -> list[str] | None:
    if not isinstance(dataset, NamedDataset):
        return None
    start, stop = dataset.graphs.offsets[index : index + 2]
    return [str(name) for name in dataset.node_names[start:stop]]
