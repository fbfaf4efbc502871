"""Models as files: what a fitted model is made of, into a container and back.

The training graphs are kept as they came, as far as the kernel uses them, with the fitted node features beside them;
colours and norms are found again on loading, which takes a fraction of a second and lets any engine use the file. A
model on random features has no graphs in its file, but what they are drawn from, and one vector to compare with.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import memory_budget, worker_count
from fastgntk.engines import RandomFeatures, compiled_code_runs, engine_names
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.models import (
    ClassificationModel,
    Expansion,
    FeatureRows,
    GNTKClassifier,
    GNTKRegressor,
    GraphModel,
    Intervals,
    KernelOptions,
    KernelRows,
    Rows,
    Sigmoids,
    drawn_width,
)
from fastgntk.persistence._archive import read_container, write_container
from fastgntk.persistence._array_codec import (
    pack_edge_types,
    pack_features,
    pack_graphs,
    unpack_edge_types,
    unpack_features,
    unpack_graphs,
)
from fastgntk.sketch import Sketching, SketchOptions
from fastgntk.solvers import Solution

__all__ = ["load_model", "save_model"]

Arrays = dict[str, NDArray[Any]]

_NOT_SAVED = {"memory", "workers", "progress", "features", "normalize", "sketching", *GNTK().to_dict()}
"""Parameters that belong to the reader, or are kept elsewhere in the file."""
_DRAWN_FROM = ("size", "width", "types", "seed")
"""What random features depend on beside the kernel."""
_DEEPEST = 1000  # blocks and layers; what a file asks for past this would only keep the machine busy


def save_model(model: GraphModel, path: Path) -> None:
    """Write a fitted model to a file, whole or not at all."""
    expansion = model.expansion_
    rows = expansion.rows
    features, arrays = pack_features(rows.features)
    arrays |= {"coefficients": expansion.coefficients, "offsets": expansion.offsets, "basis": expansion.basis}
    document: dict[str, Any] = {
        "model": "classifier" if isinstance(model, ClassificationModel) else "regressor",
        "spec": rows.options.spec.to_dict(),
        "normalize": rows.options.normalize,
        "engine": rows.options.engine,
        "sketching": dict(rows.options.sketching),
        "features": features,
        "unit": rows.unit,
        "outputs": list(expansion.names),
        "n_graphs": model.n_graphs_,
        "n_equal_graphs": model.n_equal_graphs_,
        "names": model.names_ if hasattr(model, "names_") else None,
        "about": model.about_ if hasattr(model, "about_") else {},
        "params": _plain_params(model),
        "solver": model.solver_,
    }
    _pack_rows(rows, document, arrays)
    if isinstance(model, ClassificationModel):
        arrays["classes"] = model.classes_
        if model.sigmoids_ is not None:
            arrays |= {"sigmoids.slope": model.sigmoids_.slope, "sigmoids.shift": model.sigmoids_.shift}
    else:
        _pack_regression(model, document, arrays)
    write_container(path, document, arrays)


def load_model(path: str | Path, *, memory: Any = None, workers: int | None = None) -> Any:
    """Read a model that ``save`` wrote: a fitted :class:`GNTKRegressor` or :class:`GNTKClassifier`.

    A file that is damaged, made by hand or of a newer format is refused with a sentence that says why; nothing in it
    is executed. ``memory`` and ``workers`` are for predictions on this machine.

    Examples
    --------
    >>> import fastgntk as fg, pathlib, tempfile
    >>> graphs = fg.datasets.load("MUTAG").graphs[:20]
    >>> model = fg.GNTKRegressor(blocks=1).fit(graphs, graphs.sizes)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(pathlib.Path(folder) / "sizes.fgntk")
    ...     again = fg.load_model(pathlib.Path(folder) / "sizes.fgntk")
    >>> bool((again.predict(graphs) == model.predict(graphs)).all())
    True
    """
    memory_budget(memory)  # refused here, not as a fault of the file
    worker_count(workers)
    document, arrays = read_container(Path(path))
    try:
        return _assemble(document, arrays, memory, workers)
    except InputError as error:
        raise InputError(f"{path} is not a model that can be used: {error}") from None


def _pack_rows(rows: Rows, document: dict[str, Any], arrays: Arrays) -> None:
    """Add the training graphs, or what random features are drawn from."""
    if isinstance(rows, KernelRows):
        arrays |= pack_graphs(_what_counts(rows.batch, rows.features.kind_, rows.options.spec))
        arrays["own"] = rows.own
    elif isinstance(rows, FeatureRows):
        draws = rows.draws
        document["random_features"] = {name: int(getattr(draws, name)) for name in _DRAWN_FROM}
        arrays["probe"] = rows.probe()
        arrays |= pack_edge_types(rows.features.edge_types_) if rows.options.spec.typed else {}


def _pack_regression(model: Any, document: dict[str, Any], arrays: Arrays) -> None:
    parts, numbers = model.solution_.to_arrays()
    if not model.expansion_.rows.keeps_graphs:
        parts["noise_factor"] = _packed_triangle(parts["noise_factor"].T)
    if numbers["triangular"]:
        parts["factor"] = _packed_triangle(parts["factor"])
    arrays |= {f"solution.{name}": array for name, array in parts.items()}
    arrays["intervals.ratios"] = model.intervals_.ratios
    arrays["target_scale"] = model.target_scale_
    arrays["log_marginal_likelihood"] = np.atleast_1d(np.asarray(model.log_marginal_likelihood_))
    document |= {"solution": numbers, "single_target": bool(model.single_target_), "noise": float(model.noise_)}


def _assemble(document: dict[str, Any], arrays: Arrays, memory: Any, workers: int | None) -> Any:
    spec = GNTK.from_dict(_get(document, "spec", dict))
    if max(spec.blocks, spec.layers) > _DEEPEST:
        raise InputError(f"it asks for {spec.blocks} blocks of {spec.layers} layers, which nobody can mean.")
    engine = _get(document, "engine", str)
    sketching = _get(document, "sketching", dict)
    if sketching and engine != "sketched":
        raise InputError(f"it has options of a sketch, but its engine is {engine!r}.")
    if engine == "sketched":
        Sketching.from_options(_known(sketching, get_type_hints(SketchOptions)))  # type: ignore[arg-type]
    step = unpack_features(_get(document, "features", dict), _named(arrays, "features."))
    options = KernelOptions(
        spec,
        _get(document, "normalize", bool),
        step,
        "auto" if engine not in engine_names() or (engine == "lossless" and not compiled_code_runs()) else engine,
        sketching,
        memory,
        workers,
    )
    unit = _number(document, "unit")
    if not unit > 0:
        raise InputError("its unit is not above 0.")
    rows = (_restore_feature_rows if "random_features" in document else _restore_rows)(document, arrays, options, unit)
    m, k = len(rows), len(_get(document, "outputs", list))
    n = _get(document, "n_graphs", int)
    basis = _array(arrays, "basis", (m if rows.keeps_graphs else 0,), np.int64)
    if m == 0 or k == 0 or n < 1 or basis.min(initial=0) < 0 or basis.max(initial=0) >= n:
        raise InputError("its training graphs are not numbered as they should be.")
    params = _get(document, "params", dict)
    make = {"regressor": GNTKRegressor, "classifier": GNTKClassifier}.get(_get(document, "model", str))
    if make is None:
        raise InputError(f"it is a {document['model']!r}, which this version does not know.")
    model = make(**_known(params, set(make().get_params()) - _NOT_SAVED), memory=memory, workers=workers)
    model.set_params(
        blocks=spec.blocks,
        layers=spec.layers,
        scale=spec.scale,
        jump=spec.jump,
        c_phi=spec.c_phi,
        edges=spec.edges,
        normalize=options.normalize,
        features=document["features"]["kind"],
        sketching=options.sketching or None,
    )
    names = tuple(str(name) for name in document["outputs"])
    coefficients, offsets = _array(arrays, "coefficients", (m, k)), _array(arrays, "offsets", (k,))
    model.expansion_ = Expansion(rows, coefficients, offsets, basis, names)
    model.n_graphs_, model.n_equal_graphs_ = n, _get(document, "n_equal_graphs", int)
    model.about_ = _get(document, "about", dict)
    model.solver_ = _get(document, "solver", str) if "solver" in document else "unknown"  # not in files of before
    if document.get("names") is not None:
        model.names_ = [str(name) for name in _get(document, "names", list)]
        if len(model.names_) != n:
            raise InputError(f"it has {len(model.names_)} names for {n} training graphs.")
    if make is GNTKClassifier:
        _restore_classification(model, arrays, k)
    else:
        _restore_regression(model, document, arrays, k)
    return model


def _restore_rows(document: dict[str, Any], arrays: Arrays, options: KernelOptions, unit: float) -> Rows:  # noqa: ARG001
    """Return the kernel with the training graphs of the file."""
    batch = unpack_graphs(_named(arrays, "graphs."))
    own = _array(arrays, "own", (len(batch),))
    if (own < 0).any():
        raise InputError("its self-similarities are not all 0 or more.")
    return KernelRows.prepare(batch, options, unit, own)


def _restore_feature_rows(document: dict[str, Any], arrays: Arrays, options: KernelOptions, unit: float) -> Rows:
    """Draw the random features of the file again, and see that they came out the same."""
    drawn_from = _known(_get(document, "random_features", dict), _DRAWN_FROM)
    size, width, types, seed = (_get(drawn_from, name, int) for name in _DRAWN_FROM)
    step: Any = options.features
    probe = arrays.get("probe")
    if options.engine == "sketched" or width != drawn_width(step) or not 0 <= seed < 2**32 or probe is None:
        raise InputError("its random features do not fit its kernel.")
    step.edge_types_ = unpack_edge_types(_named(arrays, "edge_types."))
    only_features = not any(options.spec.level_weights[1:])  # then there are as many as columns, whatever was asked for
    if not 1 <= types <= len(step.edge_types_) + 1 or not (size == probe.size or only_features):
        raise InputError("its random features are not as many as they should be.")
    # Draws for the first layer take some 100 bytes for each column and type; a file can claim any number of columns.
    if 100 * width * (types + 1) > memory_budget(options.memory):
        raise InputError(f"its node features have {width:,} columns, which is too much for the memory.")
    rows = FeatureRows.restore(RandomFeatures(options.spec, size, width, types, seed), options, unit)
    if not np.allclose(_array(arrays, "probe", (len(rows),)), rows.probe(), rtol=1e-6, atol=1e-9 * unit):
        raise InputError("its random features are drawn otherwise by this version of NumPy; train it again.")
    return rows


def _restore_classification(model: Any, arrays: Arrays, k: int) -> None:
    classes = arrays.get("classes")
    if classes is None or classes.ndim != 1 or len(classes) != (2 if k == 1 else k) or k == 2:
        raise InputError("its classes do not fit its decision functions.")
    model.classes_ = classes
    model.sigmoids_ = None
    if "sigmoids.slope" in arrays:
        model.sigmoids_ = Sigmoids(_array(arrays, "sigmoids.slope", (k,)), _array(arrays, "sigmoids.shift", (k,)))


def _restore_regression(model: Any, document: dict[str, Any], arrays: Arrays, k: int) -> None:
    parts, numbers = _named(arrays, "solution."), _get(document, "solution", dict)
    parts = {name.removeprefix("solution."): array for name, array in parts.items()}
    expansion = model.expansion_
    n, m = model.n_graphs_, len(expansion.rows) + (not expansion.rows.keeps_graphs)  # one more is constant
    basis = expansion.basis if expansion.rows.keeps_graphs else np.arange(m)
    landmarks = parts.get("landmarks")
    p = 0 if landmarks is None or landmarks.ndim != 1 else len(landmarks)
    _array(parts, "landmarks", (p,), np.int64)
    if landmarks is None or p > m or (p and not 0 <= landmarks.min() <= landmarks.max() < m):
        raise InputError("its landmarks are not among its training graphs.")
    if not np.array_equal(_array(parts, "basis", (m,), np.int64), basis):
        raise InputError("its solution is of other training graphs.")
    shapes = {"alpha": (m, k), "scale2": (k,), "leave_one_out": (n, k), "leave_one_out_variance": (n,)}
    for name, shape in shapes.items():
        _array(parts, name, shape)
    if (parts["scale2"] < 0).any():
        raise InputError("its variances are not all 0 or more.")
    if _get(numbers, "triangular", bool):
        parts["factor"] = _unpacked_triangle(_array(parts, "factor", (p * (p + 1) // 2,)), p)
    if not expansion.rows.keeps_graphs:
        parts["noise_factor"] = _unpacked_triangle(_array(parts, "noise_factor", (m * (m + 1) // 2,)), m).T
    for name in ("factor", "noise_factor"):
        wide = parts[name].shape[1] if name in parts and parts[name].ndim == 2 else 0
        _array(parts, name, (p, wide))
    for name in ("ridge", "jitter"):
        if _number(numbers, name) < 0:
            raise InputError(f"its {name} is below 0.")
    for name, kind in (("solver", str), ("rank", int), ("iterations", int)):
        _get(numbers, name, kind)
    if set(parts) & set(numbers):
        raise InputError("its solution has parts that are there twice.")
    model.solution_ = Solution.from_arrays(parts, numbers)
    model.intervals_ = Intervals(_array(arrays, "intervals.ratios", (n, k)))
    model.target_scale_ = _array(arrays, "target_scale", (k,))
    model.single_target_ = _get(document, "single_target", bool)
    model.noise_ = _number(document, "noise")
    if model.noise_ < 0:
        raise InputError("its noise is below 0.")
    likelihood = arrays.get("log_marginal_likelihood")
    whole = likelihood is not None and likelihood.dtype == np.float64 and likelihood.shape == (k,)
    if likelihood is None or not whole or (model.single_target_ and k != 1):
        raise InputError("its targets do not fit each other.")
    model.log_marginal_likelihood_ = float(likelihood[0]) if model.single_target_ else likelihood


def _plain_params(model: GraphModel) -> dict[str, Any]:
    """Return the parameters of the plain estimator that this model is, without those of the kernel and the machine."""
    plain = GNTKClassifier() if isinstance(model, ClassificationModel) else GNTKRegressor()
    given = model.get_params() | getattr(model, "best_params_", {})
    wanted = {name: given[name] for name in plain.get_params() if name in given and name not in _NOT_SAVED}
    return dict(json.loads(json.dumps(wanted, default=_as_number)))


def _as_number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def _what_counts(batch: GraphBatch, kind: str, spec: GNTK) -> GraphBatch:
    """Leave out what the kernel does not use."""
    return replace(
        batch,
        features=batch.features if kind in ("attributes", "all") else None,
        labels=batch.labels if kind in ("labels", "all") else None,
        edge_labels=batch.edge_labels if spec.typed else None,
    )


def _packed_triangle(factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lower triangle row by row: half of the file is zeros otherwise."""
    return np.concatenate([factor[i, : i + 1] for i in range(len(factor))])


def _unpacked_triangle(packed: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    out = np.zeros((size, size), order="F")
    for i in range(size):
        out[i, : i + 1] = packed[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
    return out


def _named(arrays: Arrays, prefix: str) -> Arrays:
    return {name: array for name, array in arrays.items() if name.startswith(prefix)}


def _array(arrays: Arrays, name: str, shape: tuple[int, ...], kind: type = np.float64) -> NDArray[Any]:
    """Return an array of the file if it is what it should be."""
    array = arrays.get(name)
    if array is None or array.dtype != kind or array.shape != shape:
        found = "missing" if array is None else f"{array.dtype} of shape {array.shape}"
        raise InputError(f"its part {name!r} must be {np.dtype(kind)} of shape {shape}, but is {found}.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"its part {name!r} holds values that are no numbers.")
    return array


def _known(options: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return options if all of them are known."""
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise InputError(f"it has the option {unknown[0]!r}, which this version does not know.")
    return options


def _get(document: dict[str, Any], name: str, kind: type) -> Any:
    value = document.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InputError(f"its entry {name!r} is missing or not of the right kind.")
    return value


def _number(document: dict[str, Any], name: str) -> float:
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise InputError(f"its entry {name!r} is missing or no number.")
    return float(value)
