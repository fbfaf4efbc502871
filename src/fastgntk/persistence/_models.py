"""Models as files: the parts of a fitted model, into an archive and back."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from fastgntk.errors import InputError
from fastgntk.models import ClassificationModel, Expansion, GraphClassifier, GraphModel, GraphRegressor
from fastgntk.pairwise import Compute, check_compute
from fastgntk.persistence._archive import read_container, write_container
from fastgntk.persistence._classification import pack_classification, unpack_classification
from fastgntk.persistence._regression import pack_regression, unpack_regression
from fastgntk.persistence._rows import pack_rows, unpack_rows
from fastgntk.persistence._schema import Arrays, Entry, Part, check_document, check_names, check_parts

__all__ = ["load_model", "save_model"]

_MODELS: dict[str, tuple[type[Any], Any, Any]] = {
    "classifier": (GraphClassifier, pack_classification, unpack_classification),
    "regressor": (GraphRegressor, pack_regression, unpack_regression),
}
_NOT_SAVED = ("kernel", "compute")
"""Parameters that are kept elsewhere in the file, or belong to the reader."""

_DOCUMENT = {
    "model": Entry(str, f"one of {', '.join(_MODELS)}", lambda name: name in _MODELS),
    "outputs": Entry(list, "a list of names", lambda names: len(names) > 0),
    "n_graphs": Entry(int, "a number of graphs", lambda n: n >= 1),
    "n_equal_graphs": Entry(int),
    "about": Entry(dict),
    "params": Entry(dict),
    "solver": Entry(str),
}


def save_model(model: GraphModel, path: Path) -> None:
    """Write a fitted model to a file, whole or not at all."""
    kind = "classifier" if isinstance(model, ClassificationModel) else "regressor"
    expansion = model.expansion_
    document: dict[str, Any] = {
        "model": kind,
        "outputs": list(expansion.names),
        "n_graphs": model.n_graphs_,
        "n_equal_graphs": model.n_equal_graphs_,
        "names": getattr(model, "names_", None),
        "about": getattr(model, "about_", {}),
        "params": _plain_params(model, _MODELS[kind][0]),
        "solver": model.solver_,
    }
    arrays: Arrays = {"coefficients": expansion.coefficients, "offsets": expansion.offsets, "basis": expansion.basis}
    for more, parts in (pack_rows(expansion.rows), _MODELS[kind][1](model)):
        document |= more
        arrays |= parts
    write_container(path, document, arrays)


def load_model(path: str | Path, *, compute: Compute | None = None) -> GraphClassifier | GraphRegressor:
    """Read a model that ``save`` wrote: a fitted :class:`GraphRegressor` or :class:`GraphClassifier`.

    A file that is damaged, made by hand or of a newer format is refused with a sentence that explains why; nothing in
    it is executed. ``compute`` is for predictions on this machine; its engine is the one of the file.

    Examples
    --------
    >>> import fastgntk as fg, pathlib, tempfile
    >>> graphs = fg.datasets.load("MUTAG").graphs[:20]
    >>> model = fg.GraphRegressor(fg.GNTK(blocks=1)).fit(graphs, graphs.sizes)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(pathlib.Path(folder) / "sizes.fgntk")
    ...     again = fg.load_model(pathlib.Path(folder) / "sizes.fgntk")
    >>> bool((again.predict(graphs) == model.predict(graphs)).all())
    True
    """
    how = check_compute(compute)
    document, arrays = read_container(Path(path))
    try:
        return _unpack(document, arrays, how)
    except InputError as error:
        raise InputError(f"{path} is not a model that can be used: {error}") from None


def _unpack(document: dict[str, Any], arrays: Arrays, compute: Compute) -> GraphClassifier | GraphRegressor:
    kind, outputs, n, equal, about, params, solver = check_document(document, _DOCUMENT)
    make, _, unpack = _MODELS[kind]
    rows = unpack_rows(document, arrays, compute)
    check_names(params, set(make().get_params(deep=False)) - set(_NOT_SAVED))
    model: GraphClassifier | GraphRegressor = make(**params, kernel=rows.kernel, compute=compute)
    sizes = {"m": len(rows), "k": len(outputs), "b": len(rows) if rows.keeps_graphs else 0}
    expected = {"coefficients": Part("m k"), "offsets": Part("k"), "basis": Part("b", np.int64, least=0)}
    coefficients, offsets, basis = check_parts(arrays, expected, sizes)
    if not len(rows) or basis.max(initial=0) >= n:
        raise InputError("its training graphs are not numbered as they should be.")
    model.expansion_ = Expansion(rows, coefficients, offsets, basis, tuple(str(name) for name in outputs))
    model.n_graphs_, model.n_equal_graphs_, model.about_, model.solver_ = n, equal, about, solver
    if document.get("names") is not None:
        named = Entry(list, f"a list of {n} names", lambda names: len(names) == n)
        model.names_ = [str(name) for name in check_document(document, {"names": named})[0]]
    unpack(model, document, arrays)
    return model


def _plain_params(model: GraphModel, make: type[Any]) -> dict[str, Any]:
    """Return the parameters of the plain estimator that this model is, without those of the kernel and the machine."""
    given = model.get_params(deep=False) | getattr(model, "best_params_", {})
    wanted = {name: given[name] for name in make().get_params(deep=False) if name in given and name not in _NOT_SAVED}
    return dict(json.loads(json.dumps(wanted, default=_as_number)))


def _as_number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
