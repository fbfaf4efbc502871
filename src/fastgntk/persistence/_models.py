"""Models as files: the parts of a fitted classifier or regressor, into an archive and back."""

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
from fastgntk.persistence._archive import read_container, write_container
from fastgntk.persistence._array_codec import pack_basis, unpack_basis
from fastgntk.persistence._schema import Arrays, Entry, Part, check_document, check_names, check_parts, finite_number
from fastgntk.solvers import Solution

__all__ = ["load_model", "save_model"]

_CLASSES: dict[str, type[GraphClassifier | GraphRegressor]] = {
    "classifier": GraphClassifier,
    "regressor": GraphRegressor,
}
_NOT_SAVED = ("kernel", "compute")
"""Parameters that are kept elsewhere in the file, or belong to the reader."""

_NOT_NEGATIVE = finite_number("a number, 0 or more", lambda value: value >= 0)
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
# Lengths: n training graphs, m rows, k outputs.
_SOLUTION_PARTS = {
    "basis": Part("m", "int64"),
    "coefficients": Part("m k"),
    "scale2": Part("k", minimum=0.0),
    "leave_one_out": Part("n k"),
    "leave_one_out_variance": Part("n"),
}
_REGRESSION_PARTS = {
    "intervals.ratios": Part("n k"),
    "target_scale": Part("k"),
    "log_marginal_likelihood": Part("k", finite=False),
}


def save_model(model: GraphModel, path: Path) -> None:
    """Write a fitted model to a file, atomically."""
    kind = "classifier" if isinstance(model, ClassificationModel) else "regressor"
    pack = _pack_classification if isinstance(model, ClassificationModel) else _pack_regression
    expansion = model.expansion_
    document: dict[str, Any] = {
        "model": kind,
        "outputs": list(expansion.names),
        "n_graphs": model.n_graphs_,
        "n_equal_graphs": model.n_equal_graphs_,
        "names": getattr(model, "names_", None),
        "about": getattr(model, "about_", {}),
        "params": _plain_params(model, _CLASSES[kind]),
        "solver": model.solver_,
    }
    arrays: Arrays = {
        "coefficients": expansion.coefficients,
        "intercepts": expansion.intercepts,
        "training_indices": expansion.training_indices,
    }
    for entries, parts in (pack_basis(expansion.basis), pack(model)):
        document |= entries
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
    compute = check_compute(compute)
    document, arrays = read_container(Path(path))
    try:
        return _unpack(document, arrays, compute)
    except InputError as error:
        raise InputError(f"{path} is not a model that can be used: {error}") from None


def _unpack(document: dict[str, Any], arrays: Arrays, compute: Compute) -> GraphClassifier | GraphRegressor:
    kind, outputs, n, n_equal, about, params, solver = check_document(document, _DOCUMENT)
    rows = unpack_basis(document, arrays, compute)
    check_names(params, set(_CLASSES[kind]().get_params(deep=False)) - set(_NOT_SAVED))
    model = _CLASSES[kind](**params, kernel=rows.kernel, compute=compute)
    sizes = {"m": len(rows), "k": len(outputs), "b": len(rows) if rows.keeps_graphs else 0}
    expected = {"coefficients": Part("m k"), "intercepts": Part("k"), "training_indices": Part("b", "int64", minimum=0)}
    coefficients, intercepts, basis = check_parts(arrays, expected, sizes)
    if not len(rows) or basis.max(initial=0) >= n:
        raise InputError("its training graphs are missing or have invalid indices.")
    model.expansion_ = Expansion(rows, coefficients, intercepts, basis, tuple(str(name) for name in outputs))
    model.n_graphs_, model.n_equal_graphs_, model.about_, model.solver_ = n, n_equal, about, solver
    if document.get("names") is not None:
        names = Entry(list, f"a list of {n} names", lambda names: len(names) == n)
        model.names_ = [str(name) for name in check_document(document, {"names": names})[0]]
    if isinstance(model, GraphClassifier):
        _unpack_classification(model, arrays)
    else:
        _unpack_regression(model, document, arrays)
    return model


def _plain_params(model: GraphModel, make: type[Any]) -> dict[str, Any]:
    """Return the parameters of the plain estimator that this model is, without those of the kernel and the machine."""
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
        parts = {"sigmoids.slope": Part("k"), "sigmoids.shift": Part("k")}
        model.sigmoids_ = Sigmoids(*check_parts(arrays, parts, {"k": k}))


def _pack_regression(model: RegressionModel) -> tuple[dict[str, Any], Arrays]:
    """Return the solution of ridge regression, from which variances are computed, and the calibrated intervals."""
    parts, numbers = model.solution_.to_arrays()
    if not model.expansion_.basis.keeps_graphs:
        parts["noise_factor"] = _pack_triangle(parts["noise_factor"].T)
    if numbers["triangular"]:
        parts["factor"] = _pack_triangle(parts["factor"])
    arrays = {f"solution.{name}": array for name, array in parts.items()}
    arrays["intervals.ratios"] = model.intervals_.ratios
    arrays["target_scale"] = model.target_scale_
    arrays["log_marginal_likelihood"] = np.atleast_1d(np.asarray(model.log_marginal_likelihood_))
    return {"solution": numbers, "single_target": bool(model.single_target_), "noise": float(model.noise_)}, arrays


def _unpack_regression(model: GraphRegressor, document: dict[str, Any], arrays: Arrays) -> None:
    numbers, single, noise = check_document(document, _REGRESSION)
    triangular = check_document(numbers, _SOLUTION)[0]
    parts = {name.removeprefix("solution."): array for name, array in arrays.items() if name.startswith("solution.")}
    rows, k = model.expansion_.basis, len(model.expansion_.intercepts)
    m = len(rows) + (not rows.keeps_graphs)  # one more is constant
    sizes = {"n": model.n_graphs_, "m": m, "k": k}
    (landmarks,) = check_parts(parts, {"landmarks": Part("any", "int64", minimum=0)}, sizes)
    p = len(landmarks)
    if p > m or landmarks.max(initial=-1) >= m:
        raise InputError("its landmarks are not among its training graphs.")
    basis = check_parts(parts, _SOLUTION_PARTS, sizes)[0]
    if not np.array_equal(basis, model.expansion_.training_indices if rows.keeps_graphs else np.arange(m)):
        raise InputError("its solution does not match its training graphs.")
    if triangular:
        parts["factor"] = _unpack_triangle(parts, "factor", p)
    if not rows.keeps_graphs:
        parts["noise_factor"] = _unpack_triangle(parts, "noise_factor", m).T
    check_parts(parts, {"factor": Part("p any"), "noise_factor": Part("p any")}, {"p": p})
    if set(parts) & set(numbers):
        raise InputError("parts of its solution occur twice.")
    ratios, scale, likelihood = check_parts(arrays, _REGRESSION_PARTS, sizes)
    if single and k != 1:
        raise InputError("its targets do not fit each other.")
    model.solution_ = Solution.from_arrays(parts, numbers)
    model.intervals_, model.target_scale_ = Intervals(ratios), scale
    model.single_target_, model.noise_ = single, float(noise)
    model.log_marginal_likelihood_ = float(likelihood[0]) if single else likelihood


def _pack_triangle(factor: Array) -> Array:
    """Return the lower triangle row by row: half of the file is zeros otherwise."""
    return np.concatenate([factor[i, : i + 1] for i in range(len(factor))])


def _unpack_triangle(parts: Arrays, name: str, size: int) -> Array:
    (packed,) = check_parts(parts, {name: Part("triangle")}, {"triangle": size * (size + 1) // 2})
    out = np.zeros((size, size), order="F")
    for i in range(size):
        out[i, : i + 1] = packed[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
    return out
