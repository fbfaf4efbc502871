"""Regressors in files: the solution of ridge regression, for variances, and calibrated intervals."""

from typing import Any

import numpy as np

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.models import Intervals
from fastgntk.persistence._schema import Arrays, Entry, Part, check_document, check_parts, named, number
from fastgntk.solvers import Solution

__all__ = ["pack_regression", "unpack_regression"]

_DOCUMENT = {
    "solution": Entry(dict),
    "single_target": Entry(bool),
    "noise": number("a number, 0 or more", least=0.0),
}
_SOLUTION = {
    "triangular": Entry(bool),
    "ridge": number("a number, 0 or more", least=0.0),
    "jitter": number("a number, 0 or more", least=0.0),
    "solver": Entry(str),
    "rank": Entry(int),
    "iterations": Entry(int),
}
_PARTS = {
    "basis": Part("m", np.int64),
    "alpha": Part("m k"),
    "scale2": Part("k", least=0.0),
    "leave_one_out": Part("n k"),
    "leave_one_out_variance": Part("n"),
}
_ARRAYS = {
    "intervals.ratios": Part("n k"),
    "target_scale": Part("k"),
    "log_marginal_likelihood": Part("k", finite=False),
}


def pack_regression(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Return the document and the arrays of a regressor, beside those of every model."""
    parts, numbers = model.solution_.to_arrays()
    if not model.expansion_.rows.keeps_graphs:
        parts["noise_factor"] = _packed_triangle(parts["noise_factor"].T)
    if numbers["triangular"]:
        parts["factor"] = _packed_triangle(parts["factor"])
    arrays = {f"solution.{name}": array for name, array in parts.items()}
    arrays["intervals.ratios"] = model.intervals_.ratios
    arrays["target_scale"] = model.target_scale_
    arrays["log_marginal_likelihood"] = np.atleast_1d(np.asarray(model.log_marginal_likelihood_))
    return {"solution": numbers, "single_target": bool(model.single_target_), "noise": float(model.noise_)}, arrays


def unpack_regression(model: Any, document: dict[str, Any], arrays: Arrays) -> None:
    """Set what :func:`pack_regression` packed; anything wrong with it is an error."""
    numbers, single, noise = check_document(document, _DOCUMENT)
    triangular = check_document(numbers, _SOLUTION)[0]
    parts = named(arrays, "solution.")
    rows, k = model.expansion_.rows, len(model.expansion_.offsets)
    m = len(rows) + (not rows.keeps_graphs)  # one more is constant
    landmarks = parts.get("landmarks")
    p = 0 if landmarks is None or landmarks.ndim != 1 else len(landmarks)
    sizes = {
        "n": model.n_graphs_,
        "m": m,
        "k": k,
        "p": p,
        "p triangle": p * (p + 1) // 2,
        "m triangle": m * (m + 1) // 2,
    }
    check_parts(parts, {"landmarks": Part("p", np.int64, least=0)}, sizes)
    if landmarks is None or p > m or landmarks.max(initial=-1) >= m:
        raise InputError("its landmarks are not among its training graphs.")
    basis = check_parts(parts, _PARTS, sizes)[0]
    if not np.array_equal(basis, model.expansion_.basis if rows.keeps_graphs else np.arange(m)):
        raise InputError("its solution is of other training graphs.")
    if triangular:
        parts["factor"] = _unpacked_triangle(_triangle(parts, "factor", p), p)
    if not rows.keeps_graphs:
        parts["noise_factor"] = _unpacked_triangle(_triangle(parts, "noise_factor", m), m).T
    for name in ("factor", "noise_factor"):
        wide = parts[name].shape[1] if name in parts and parts[name].ndim == 2 else 0
        check_parts(parts, {name: Part("p wide")}, {"p": p, "wide": wide})
    if set(parts) & set(numbers):
        raise InputError("parts of its solution occur twice.")
    ratios, scale, likelihood = check_parts(arrays, _ARRAYS, sizes)
    if single and k != 1:
        raise InputError("its targets do not fit each other.")
    model.solution_ = Solution.from_arrays(parts, numbers)
    model.intervals_, model.target_scale_ = Intervals(ratios), scale
    model.single_target_, model.noise_ = single, float(noise)
    model.log_marginal_likelihood_ = float(likelihood[0]) if single else likelihood


def _triangle(parts: Arrays, name: str, size: int) -> Array:
    found: Array = check_parts(parts, {name: Part("triangle")}, {"triangle": size * (size + 1) // 2})[0]
    return found


def _packed_triangle(factor: Array) -> Array:
    """Return the lower triangle row by row: half of the file is zeros otherwise."""
    return np.concatenate([factor[i, : i + 1] for i in range(len(factor))])


def _unpacked_triangle(packed: Array, size: int) -> Array:
    out = np.zeros((size, size), order="F")
    for i in range(size):
        out[i, : i + 1] = packed[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
    return out
