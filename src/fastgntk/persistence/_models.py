"""Save and load fitted classifiers and regressors."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.models import (
    ClassificationModel,
    Expansion,
    GraphClassifier,
    GraphModel,
    GraphRegressor,
    Intervals,
    RegressionModel,
    Sigmoids,
)
from fastgntk.pairwise import Compute, check_compute
from fastgntk.persistence._archive import prepend_path, read_container, write_container
from fastgntk.persistence._basis_codec import pack_basis, unpack_basis
from fastgntk.persistence._schema import Arrays, ArraySpec, Entry, check_array, check_arrays, check_document, check_keys
from fastgntk.solvers import Solution

__all__ = ["load_model", "save_model"]

_CLASSES: dict[str, type[GraphClassifier | GraphRegressor]] = {
    "classifier": GraphClassifier,
    "regressor": GraphRegressor,
}
_NOT_SAVED = ("kernel", "compute")
"""Parameters that are stored elsewhere in the file, or set when loading."""

_NOT_NEGATIVE = Entry.number("a number, 0 or more", lambda value: value >= 0)
_DOCUMENT = {
    "model": Entry(str, f"one of {', '.join(_CLASSES)}", lambda name: name in _CLASSES),
    "outputs": Entry(list, "a list of names", lambda names: len(names) > 0),
    "n_graphs": Entry(int, "a number of graphs", lambda n: n >= 1),
    "n_equal_graphs": Entry(int),
    "about": Entry(dict),
    "params": Entry(dict),
    "solver": Entry(str),
}
_REGRESSION = {"solution": Entry(dict), "single_target": Entry(bool), "noise": _NOT_NEGATIVE}
_SOLUTION = {
    "triangular": Entry(bool),
    "ridge": _NOT_NEGATIVE,
    "jitter": _NOT_NEGATIVE,
    "solver": Entry(str),
    "rank": Entry(int),
    "iterations": Entry(int),
}
_STORED_NAMES = {"basis_indices": "basis", "factor_columns": "landmarks"}
"""Fields of a solution that have another name in the file."""

# Lengths: n training graphs, m basis functions, g graphs among them, k outputs.
_EXPANSION_ARRAYS = {
    "coefficients": ArraySpec("m k"),
    "intercepts": ArraySpec("k"),
    "training_indices": ArraySpec("g", "int64", minimum=0),
}
_SOLUTION_ARRAYS = {
    "basis": ArraySpec("m", "int64"),
    "coefficients": ArraySpec("m k"),
    "scale2": ArraySpec("k", minimum=0.0),
    "leave_one_out": ArraySpec("n k"),
    "leave_one_out_variance": ArraySpec("n"),
}
_REGRESSION_ARRAYS = {
    "intervals.ratios": ArraySpec("n k"),
    "target_scale": ArraySpec("k"),
    "log_marginal_likelihood": ArraySpec("k", finite=False),
}


def save_model(model: GraphModel, path: Path) -> None:
    """Write a fitted model to a file, atomically."""
    kind = "classifier" if isinstance(model, ClassificationModel) else "regressor"
    pack = _pack_classification if isinstance(model, ClassificationModel) else _pack_regression
    expansion = model.expansion_
    document: dict[str, Any] = {
        "model": kind,
        "outputs": list(expansion.output_names),
        "n_graphs": model.n_graphs_,
        "n_equal_graphs": model.n_equal_graphs_,
        "names": getattr(model, "training_names_", None),
        "about": getattr(model, "metadata_", {}),
        "params": _plain_params(model, _CLASSES[kind]),
        "solver": model.solver_,
    }
    arrays: Arrays = {
        "coefficients": expansion.coefficients,
        "intercepts": expansion.intercepts,
        "training_indices": expansion.training_indices,
    }
    for entries, packed in (pack_basis(expansion.basis), pack(model)):
        document |= entries
        arrays |= packed
    write_container(path, document, arrays)


def load_model(path: str | Path, *, compute: Compute | None = None) -> GraphClassifier | GraphRegressor:
    """Load a model saved by ``save``: a fitted :class:`GraphRegressor` or :class:`GraphClassifier`.

    A damaged or inconsistent file, or one of a newer format, raises an error that explains why; nothing in the file is
    executed. ``compute`` applies to predictions on this machine, except for the engine, which is that of the file.

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
    compute = check_compute(compute)
    path = Path(path)
    document, arrays = read_container(path)
    with prepend_path(path):
        return _unpack(document, arrays, compute)


def _unpack(document: dict[str, Any], arrays: Arrays, compute: Compute) -> GraphClassifier | GraphRegressor:
    entries = check_document(document, _DOCUMENT)
    make, params, outputs, n = _CLASSES[entries["model"]], entries["params"], entries["outputs"], entries["n_graphs"]
    basis = unpack_basis(document, arrays, compute)
    check_keys(params, set(make().get_params(deep=False)) - set(_NOT_SAVED))
    model = make(**params, kernel=basis.kernel, compute=compute)
    sizes = {"m": len(basis), "k": len(outputs), "g": len(basis) if basis.keeps_graphs else 0}
    checked = check_arrays(arrays, _EXPANSION_ARRAYS, sizes)
    if not len(basis) or checked["training_indices"].max(initial=0) >= n:
        raise InputError("its training graphs are missing or have invalid indices.")
    model.expansion_ = Expansion(basis, **checked, output_names=tuple(str(name) for name in outputs))
    model.n_graphs_, model.n_equal_graphs_ = n, entries["n_equal_graphs"]
    model.metadata_, model.solver_ = entries["about"], entries["solver"]
    if document.get("names") is not None:
        names = Entry(list, f"a list of {n} names", lambda names: len(names) == n)
        model.training_names_ = [str(name) for name in check_document(document, {"names": names})["names"]]
    if isinstance(model, GraphClassifier):
        _unpack_classification(model, arrays)
    else:
        _unpack_regression(model, document, arrays)
    return model


def _plain_params(model: GraphModel, make: type[Any]) -> dict[str, Any]:
    """Return the parameters of the plain estimator equivalent to the model, without kernel and compute options."""
    params = model.get_params(deep=False) | getattr(model, "best_params_", {})
    names = set(make().get_params(deep=False)) & set(params) - set(_NOT_SAVED)
    saved = {name: params[name] for name in names}
    text = json.dumps(saved, default=lambda value: value.item() if isinstance(value, np.generic) else str(value))
    return dict(json.loads(text))


def _pack_classification(model: ClassificationModel) -> tuple[dict[str, Any], Arrays]:
    arrays: Arrays = {"classes": model.classes_}
    if model.sigmoids_ is not None:
        arrays |= {"sigmoids.slope": model.sigmoids_.slope, "sigmoids.shift": model.sigmoids_.shift}
    return {}, arrays


def _unpack_classification(model: GraphClassifier, arrays: Arrays) -> None:
    k = len(model.expansion_.intercepts)
    classes = arrays.get("classes")
    if classes is None or classes.ndim != 1 or len(classes) != (2 if k == 1 else k) or k == 2:
        raise InputError("its classes do not fit its decision functions.")
    model.classes_ = classes
    model.sigmoids_ = None
    if "sigmoids.slope" in arrays:
        slope, shift = (check_array(arrays, f"sigmoids.{name}", ArraySpec("k"), k=k) for name in ("slope", "shift"))
        model.sigmoids_ = Sigmoids(slope, shift)


def _pack_regression(model: RegressionModel) -> tuple[dict[str, Any], Arrays]:
    """Return the solution of ridge regression, which gives the variances, and the calibrated intervals."""
    fields, scalars = model.solution_.to_arrays()
    if not model.expansion_.basis.keeps_graphs:
        fields["noise_factor"] = _pack_triangle(fields["noise_factor"].T)
    if scalars["triangular"]:
        fields["factor"] = _pack_triangle(fields["factor"])
    arrays = {f"solution.{_STORED_NAMES.get(name, name)}": array for name, array in fields.items()}
    arrays["intervals.ratios"] = model.intervals_.ratios
    arrays["target_scale"] = model.target_scale_
    arrays["log_marginal_likelihood"] = np.atleast_1d(np.asarray(model.log_marginal_likelihood_))
    return {"solution": scalars, "single_target": bool(model.single_target_), "noise": float(model.noise_)}, arrays


def _unpack_regression(model: GraphRegressor, document: dict[str, Any], arrays: Arrays) -> None:
    entries = check_document(document, _REGRESSION)
    scalars, single = entries["solution"], entries["single_target"]
    triangular = check_document(scalars, _SOLUTION)["triangular"]
    fields = {name.removeprefix("solution."): array for name, array in arrays.items() if name.startswith("solution.")}
    basis, k = model.expansion_.basis, len(model.expansion_.intercepts)
    m = len(basis) + (not basis.keeps_graphs)  # plus the constant feature
    sizes = {"n": model.n_graphs_, "m": m, "k": k}
    factor_columns = check_array(fields, "landmarks", ArraySpec("any", "int64", minimum=0))
    p = len(factor_columns)
    if p > m or factor_columns.max(initial=-1) >= m:
        raise InputError("the columns of its factors are not among those of its basis.")
    indices = model.expansion_.training_indices if basis.keeps_graphs else np.arange(m)
    if not np.array_equal(check_arrays(fields, _SOLUTION_ARRAYS, sizes)["basis"], indices):
        raise InputError("its solution does not match its training graphs.")
    if triangular:
        fields["factor"] = _unpack_triangle(fields, "factor", p)
    if not basis.keeps_graphs:
        fields["noise_factor"] = _unpack_triangle(fields, "noise_factor", m).T
    check_arrays(fields, {"factor": ArraySpec("p any"), "noise_factor": ArraySpec("p any")}, {"p": p})
    fields |= {name: fields.pop(stored) for name, stored in _STORED_NAMES.items()}
    if set(fields) & set(scalars):
        raise InputError("fields of its solution occur twice.")
    checked = check_arrays(arrays, _REGRESSION_ARRAYS, sizes)
    if single and k != 1:
        raise InputError("its entry 'single_target' does not fit its number of targets.")
    model.solution_ = Solution.from_arrays(fields, scalars)
    model.intervals_, model.target_scale_ = Intervals(checked["intervals.ratios"]), checked["target_scale"]
    model.single_target_, model.noise_ = single, float(entries["noise"])
    likelihood = checked["log_marginal_likelihood"]
    model.log_marginal_likelihood_ = float(likelihood[0]) if single else likelihood


def _pack_triangle(factor: Array) -> Array:
    """Return the lower triangle row by row, without the zeros that would be half of the file."""
    return np.concatenate([factor[i, : i + 1] for i in range(len(factor))])


def _unpack_triangle(arrays: Arrays, name: str, size: int) -> Array:
    packed = check_array(arrays, name, ArraySpec("triangle"), triangle=size * (size + 1) // 2)
    out = np.zeros((size, size), order="F")
    for i in range(size):
        out[i, : i + 1] = packed[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
    return out
