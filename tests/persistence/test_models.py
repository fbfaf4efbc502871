from __future__ import annotations

import copy
import os
import pickle
import random
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier

import fastgntk as fg
from fastgntk import GNTK, WL, WLOA, Compute, Graph, GraphBatch, InputError, Sketch, datasets
from fastgntk.persistence._archive import read_container, write_container
from fastgntk.selection import Grid

_MUTAG = datasets.load("MUTAG")
LABELS = _MUTAG.graphs[[i for i, graph in enumerate(_MUTAG.graphs) if graph.labels.max() <= 2][:40]]
NO_LABELS = GraphBatch.from_graphs([Graph(graph.adjacency) for graph in LABELS])


def _random(weighted: bool) -> GraphBatch:
    rng = np.random.default_rng(1)
    out = []
    for n in rng.integers(3, 9, 40):
        adjacency = np.triu(rng.random((n, n)) < 0.5, 1) * (rng.uniform(0.2, 3.0, (n, n)) if weighted else 1.0)
        out.append(Graph(adjacency, rng.standard_normal((n, 3))))
    return GraphBatch.from_graphs(out)


ATTRIBUTES, WEIGHTED = _random(weighted=False), _random(weighted=True)
BOTH = replace(ATTRIBUTES, labels=np.arange(ATTRIBUTES.n_nodes) % 3)
SCALED = LABELS.with_node_scale(1.0 / (1 + np.arange(LABELS.n_nodes) % 3))
WORDS = replace(LABELS, edge_labels=np.array(["one", "two", "three", "aromatic"])[LABELS.edge_labels])
SMALL = Grid(blocks=(1, 2), layers=(1,), scale=("uniform",), jump=(True,), C=(1.0, 10.0))
NUMBERS = 3.0 + LABELS.sizes + np.sin(np.arange(40))
SEVERAL = np.column_stack([NUMBERS, np.cos(np.arange(40)), np.full(40, 7.0)])
DESCRIBED = LABELS.with_descriptors(
    x=np.random.default_rng(2).standard_normal((40, 3)) ** 3,
    counts=sparse.csr_array(np.random.default_rng(3).poisson(0.3, (40, 50)), dtype=float),
    unused=np.full(40, np.nan),
)
TWO = np.where(LABELS.sizes > np.median(LABELS.sizes), 1, -1)
THREE = np.array(["small", "middle", "large"])[np.digitize(LABELS.sizes, [15, 19])]

ONE = GNTK(1)
SUM = GNTK(2, 1) + GNTK(1, features="degree").normalized()
_regressor, _classifier = fg.GraphRegressor(ONE, 0.01, n_components=15), fg.GraphClassifier(ONE, alpha=0.01)


def _with(estimator, kernel=None, **options):
    return clone(estimator).set_params(**options, **({} if kernel is None else {"kernel": kernel}))


def _on_features(kernel=ONE, **options):
    return _with(_regressor, kernel, solver="features", **options)


MODELS = {
    "cholesky": (_regressor, LABELS, NUMBERS),
    "eigen": (_with(_regressor, solver="eigen"), LABELS, NUMBERS),
    "nystrom": (_with(_regressor, solver="nystrom"), LABELS, NUMBERS),
    "sketched solver": (_with(_regressor, solver="sketched"), LABELS, NUMBERS),
    "cg": (_with(_regressor, solver="cg"), LABELS, NUMBERS),
    "features": (_on_features(), LABELS, NUMBERS),
    "normalised features of several targets": (
        _on_features(GNTK(2).normalized(), n_components=20, random_state=3),
        ATTRIBUTES,
        SEVERAL,
    ),
    "features, typed edges": (_on_features(GNTK(2, edges="typed")), WORDS, NUMBERS),
    "features, types in numbers": (_on_features(GNTK(1, edges="typed")), LABELS, NUMBERS),
    "features, only level 0": (_on_features(GNTK(1, jump=(1.0, 0.0))), BOTH, NUMBERS),
    "features of attributes": (_on_features(), ATTRIBUTES, NUMBERS),
    "features for three": (_with(_classifier, method="ridge", solver="features", n_components=20), LABELS, THREE),
    "alpha 0": (_with(_regressor, alpha=0.0), LABELS, NUMBERS),
    "normalised": (_with(_regressor, ONE.normalized()), LABELS, NUMBERS),
    "not calibrated": (_with(_regressor, calibrate=False), LABELS, NUMBERS),
    "several targets": (_regressor, LABELS, SEVERAL),
    "several targets, normalised nystrom": (_with(_regressor, ONE.normalized(), solver="nystrom"), ATTRIBUTES, SEVERAL),
    "constant target": (_regressor, LABELS, np.full(40, 7.0)),
    "attributes": (_regressor, ATTRIBUTES, NUMBERS),
    "attributes and labels": (_with(_regressor, GNTK(1, features="all")), BOTH, NUMBERS),
    "given scale": (_with(_regressor, GNTK(1, scale="given") + ONE), SCALED, NUMBERS),
    "features, given scale": (_on_features(GNTK(1, scale="given")), SCALED, NUMBERS),
    "typed edges": (_with(_regressor, GNTK(2, edges="typed")), LABELS, NUMBERS),
    "edges typed by words": (_with(_regressor, GNTK(2, edges="typed")), WORDS, NUMBERS),
    "degree": (_with(_regressor, GNTK(1, features="degree")), LABELS, NUMBERS),
    "degree without labels": (_regressor, NO_LABELS, NUMBERS),
    "edge weights": (_with(_regressor, GNTK(1, scale="degree")), WEIGHTED, NUMBERS),
    "level weights": (_with(_regressor, GNTK(2, jump=(0.5, 0.0, 1.25))), LABELS, NUMBERS),
    "sketch": (_with(_regressor, GNTK(1, sketch=Sketch(size=0.5, seed=3))), LABELS, NUMBERS),
    "kronecker": (_with(_regressor, compute=Compute("kronecker")), ATTRIBUTES, NUMBERS),
    "sum": (_with(_regressor, SUM), LABELS, NUMBERS),
    "product, nystrom": (_with(_regressor, GNTK(2, 1) * SUM, solver="nystrom"), LABELS, SEVERAL),
    "normalised sum, typed edges": (
        _with(_regressor, (0.5 * SUM + GNTK(2, edges="typed")).normalized(), solver="cg"),
        WORDS,
        NUMBERS,
    ),
    "of two families": (_with(_regressor, ONE * WLOA(2) + WL(1, edges="typed")), LABELS, NUMBERS),
    "colours of labels besides attributes": (_with(_regressor, ONE * WLOA(2)), BOTH, NUMBERS),
    "colours of degrees": (_with(_regressor, WLOA(2)), NO_LABELS, NUMBERS),
    "sum of a sketch": (_with(_regressor, ONE + 2.0 * GNTK(1, sketch=Sketch(size=4))), LABELS, NUMBERS),
    "three kinds of features": (
        _with(_regressor, ONE * GNTK(1, features="labels") + GNTK(1, features="degree")),
        BOTH,
        NUMBERS,
    ),
    "descriptors": (_with(_regressor, 0.1 * ONE + fg.RBF("x", scaling="log") + fg.Linear("x")), DESCRIBED, NUMBERS),
    "weights by descriptors, nystrom": (
        _with(_regressor, (ONE * fg.RBF("x")).normalized() + fg.Tanimoto("counts"), solver="nystrom"),
        DESCRIBED,
        SEVERAL,
    ),
    "descriptors alone, SVMs": (_with(_classifier, fg.RBF("x", 2.0)), DESCRIBED, THREE),
    "chosen": (fg.GraphRegressorCV(SMALL, alphas=(0.01, 0.1)), LABELS, NUMBERS),
    "chosen from composites": (fg.GraphRegressorCV([SUM, SUM.normalized()], alphas=(0.01, 0.1)), LABELS, NUMBERS),
    "mixed": (
        fg.GraphRegressorCV(SMALL, search=fg.selection.Search(depth_mode="mix"), alphas=(0.01,)),
        LABELS,
        NUMBERS,
    ),
    "SVM": (_classifier, LABELS, TWO),
    "normalised SVM": (_with(_classifier, ONE.normalized()), ATTRIBUTES, TWO),
    "SVMs": (_classifier, LABELS, THREE),
    "SVMs of a product": (_with(_classifier, (SUM * ONE).normalized()), LABELS, THREE),
    "SVMs without probability": (_with(_classifier, probability=False), LABELS, THREE),
    "SVM on colours": (_with(_classifier, WLOA(2).normalized()), NO_LABELS, TWO),
    "ridge": (_with(_classifier, method="ridge"), LABELS, TWO),
    "ridge for three": (_with(_classifier, method="ridge", solver="nystrom", n_components=15), LABELS, THREE),
    "chosen SVM": (fg.GraphClassifierCV(SMALL), LABELS, TWO),
    "chosen ridge": (fg.GraphClassifierCV(SMALL, method="ridge", class_weight="balanced"), LABELS, THREE),
}


@cache
def fitted(name: str):
    """A model of the table, fitted on thirty graphs; tests do not change it."""
    estimator, graphs, y = MODELS[name]
    return clone(estimator).fit(graphs[:30], y[:30])


def everything(model, graphs) -> dict[str, np.ndarray]:
    """All predictions of a model."""
    out = {"predict": model.predict(graphs)}
    if model.expansion_.basis.keeps_graphs:
        out |= {f"nearest {i}": part for i, part in enumerate(model.nearest(graphs))}
        out["similarities"] = model.similarities(graphs)
    if is_classifier(model):
        out["decision"] = model.decision_function(graphs)
        if model.sigmoids_ is not None:
            out["probabilities"] = model.predict_proba(graphs)
        outputs = [{"of_class": c} for c in model.classes_.tolist()]
        details = model.predict_details(graphs)
    else:
        out["std"] = model.predict(graphs, return_std=True)[1]
        out["low"], out["high"] = model.predict_interval(graphs, 0.7)
        outputs = [{"target": k} for k in range(len(model.expansion_.intercepts))]
        details = model.predict_details(graphs, 0.95)
    out |= {f"details {name}": part for name, part in details._asdict().items() if part is not None}
    for which in outputs:
        found = model.explain(graphs[0], **which)
        name = f"explain {found.output}"
        out[f"{name} contributions"] = found.node_by_training
        out[f"{name} rest"] = np.array([found.intercept, found.prediction])
        out[f"{name} training"] = found.training_indices
        out |= {f"{name} {block}": values for block, values in found.descriptor_by_training.items()}
    return out


def check_same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name, values in one.items():
        assert values.dtype == other[name].dtype, name
        # Without training graphs there is no similarity to them.
        assert np.array_equal(values, other[name], equal_nan=name == "details similarity"), name


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_loaded_model_predicts_the_same_to_the_last_bit(tmp_path, name):
    model, new = fitted(name), MODELS[name][1][30:]
    model.save(tmp_path / "model.fgntk")
    again = fg.load_model(tmp_path / "model.fgntk")
    assert type(again) is (fg.GraphClassifier if is_classifier(model) else fg.GraphRegressor)
    check_same(everything(again, new), everything(model, new))
    assert (again.n_graphs_, again.n_equal_graphs_) == (model.n_graphs_, model.n_equal_graphs_)
    assert again.kernel == model.expansion_.basis.kernel
    assert again.solver_ == model.solver_
    if is_classifier(model):
        assert again.classes_.tolist() == model.classes_.tolist()
    else:
        assert np.array_equal(again.log_marginal_likelihood_, model.log_marginal_likelihood_, equal_nan=True)
        assert again.solution_.solver == model.solution_.solver


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_saving_is_deterministic(tmp_path, name):
    first, second, third, fourth = (tmp_path / f"{i}.fgntk" for i in range(4))
    fitted(name).save(first)
    fitted(name).save(str(second))
    assert second.read_bytes() == first.read_bytes()
    fg.load_model(str(first)).save(third)
    fg.load_model(third).save(fourth)
    assert fourth.read_bytes() == third.read_bytes()
    if not hasattr(fitted(name), "best_params_"):  # a search becomes the plain model, which has more parameters
        assert third.read_bytes() == first.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_refitting_a_loaded_model_gives_the_same_model(tmp_path, name):
    model, (_, graphs, y) = fitted(name), MODELS[name]
    model.save(tmp_path / "model.fgntk")
    again = clone(fg.load_model(tmp_path / "model.fgntk")).set_params(compute=model.compute)
    check_same(everything(again.fit(graphs[:30], y[:30]), graphs[30:]), everything(model, graphs[30:]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sum", "product, nystrom", "SVMs of a product", "features"])
def test_pickled_model_predicts_the_same_to_the_last_bit(name):
    model, new = fitted(name), MODELS[name][1][30:]
    check_same(everything(pickle.loads(pickle.dumps(model)), new), everything(model, new))


@pytest.mark.parametrize("name", ["cholesky", "SVMs"])
def test_names_are_saved(tmp_path, name):
    model = copy.copy(fitted(name))
    model.annotate([f"molecule {i}" for i in range(30)], source="assay", column="size", n=[1, {"deep": None}])
    model.save(tmp_path / "model.fgntk")
    again = fg.load_model(tmp_path / "model.fgntk")
    assert again.training_names_ == [f"molecule {i}" for i in range(30)]
    assert again.metadata_ == {"source": "assay", "column": "size", "n": [1, {"deep": None}]}


def test_model_without_names_loads_without_names(tmp_path):
    fitted("cholesky").save(tmp_path / "model.fgntk")
    again = fg.load_model(tmp_path / "model.fgntk")
    assert not hasattr(again, "training_names_")
    assert again.metadata_ == {}
    with pytest.raises(InputError, match="names must be 30, one for each training graph, but are 2"):
        again.annotate(["a", "b"])


def test_compute_is_that_of_the_reader(tmp_path):
    model = _with(_regressor, compute=Compute(n_jobs=1, max_memory="1GB")).fit(LABELS[:30], NUMBERS[:30])
    model.save(tmp_path / "model.fgntk")
    compute = Compute(n_jobs=2, max_memory="2GB")
    again = fg.load_model(tmp_path / "model.fgntk", compute=compute)
    assert again.compute == again.expansion_.basis.compute == compute
    with pytest.raises(InputError, match=r"compute must be a fastgntk\.Compute, such as .*, but has type dict"):
        fg.load_model(tmp_path / "model.fgntk", compute={"n_jobs": 2})
    check_same(everything(again, LABELS[30:]), everything(model, LABELS[30:]))


def test_class_names_of_dtype_object_can_be_saved(tmp_path):
    model = clone(_classifier).fit(LABELS[:30], THREE[:30].astype(object))
    model.save(tmp_path / "model.fgntk")
    again = fg.load_model(tmp_path / "model.fgntk")
    assert again.predict(LABELS[30:]).tolist() == model.predict(LABELS[30:]).tolist()


def test_failed_save_keeps_the_old_file(monkeypatch, tmp_path):
    path = tmp_path / "model.fgntk"
    fitted("cholesky").save(path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"model.fgntk cannot be written \(No space left on device\)"):
        fitted("SVM").save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.fgntk"]


def test_other_files_are_refused(tmp_path):
    for path in (tmp_path / "none.fgntk", tmp_path, Path(__file__)):
        with pytest.raises(InputError) as found:
            fg.load_model(path)
        assert str(found.value).startswith(str(path))


# Files with valid checksums and inconsistent content.


@cache
def _small(name: str):
    """A model of nine graphs."""
    estimator, graphs, y = MODELS[name]
    numbers = [*range(6), 15, 20, 25] if name != "SVMs" else np.argsort(LABELS.sizes)[::5]
    return _with(estimator, compute=Compute(n_jobs=1)).fit(graphs[numbers], y[numbers])


def altered(path: Path, name: str, change) -> Path:
    """Save a model, change document and arrays in place, and write them with valid checksums."""
    _small(name).save(path)
    document, arrays = read_container(path)
    arrays = {key: array.copy() for key, array in arrays.items()}
    change(document, arrays)
    write_container(path, document, arrays)
    return path


def _entry(*keys, to):
    def change(document, arrays):
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = to

    return change


def _part(name, to):
    """Replace an array by a function of it; None drops it."""

    def change(document, arrays):
        if to is None:
            del arrays[name]
        else:
            arrays[name] = to(arrays.get(name))

    return change


def _put(value, *index):
    def put(array):
        array[index] = value
        return array

    return put


def _more_landmarks(document, arrays):
    arrays["solution.landmarks"] = np.zeros(12, dtype=np.int64)
    arrays["solution.factor"] = np.ones(12 * 13 // 2)
    arrays["solution.noise_factor"] = np.zeros((12, 0))


def _no_classes(document, arrays):
    document["outputs"] = []
    arrays["coefficients"], arrays["intercepts"] = arrays["coefficients"][:, :0], arrays["intercepts"][:0]
    for name in ("classes", "sigmoids.slope", "sigmoids.shift"):
        arrays[name] = arrays[name][:0]


def _wide(document, arrays):
    """A number of attribute columns that nothing else in the file confirms."""
    document["features"][0]["width"], document["draws"]["width"] = 2**31 - 1, 2**31


def _deep(document, arrays):
    for _ in range(400):
        document["kernel"] = {"is": "Scaled", "factor": 1.0, "kernel": document["kernel"]}


def _swapped_features(document, arrays):
    document["features"] = document["features"][::-1]


def _third_leaf(document, arrays):
    extra = GNTK(1, 3).to_dict()
    document["kernel"] = {"is": "Sum", "k1": document["kernel"], "k2": extra}
    document["engines"].append(document["engines"][0])


INCONSISTENT = {
    "coefficients of another shape": ("cholesky", _part("coefficients", lambda a: a[:-1])),
    "coefficients of another kind": ("cholesky", _part("coefficients", lambda a: a.astype(np.float32))),
    "no number among coefficients": ("cholesky", _part("coefficients", _put(np.nan, 2, 0))),
    "coefficients missing": ("cholesky", _part("coefficients", None)),
    "intercepts of another shape": ("several targets", _part("intercepts", lambda a: a[:1])),
    "infinite intercept": ("SVM", _part("intercepts", _put(np.inf, 0))),
    "indices out of range": ("cholesky", _part("training_indices", _put(9, 0))),
    "indices below 0": ("cholesky", _part("training_indices", _put(-1, 0))),
    "indices of another length": ("SVM", _part("training_indices", lambda a: a[:-1])),
    "landmarks out of range": ("nystrom", _part("solution.landmarks", _put(9, 0))),
    "landmarks below 0": ("nystrom", _part("solution.landmarks", _put(-1, 0))),
    "landmarks as floats": ("nystrom", _part("solution.landmarks", lambda a: a.astype(float))),
    "landmarks missing": ("nystrom", _part("solution.landmarks", None)),
    "more landmarks than graphs": ("cholesky", _more_landmarks),
    "factor of another shape": ("nystrom", _part("solution.factor", lambda a: a[:-1])),
    "triangle of another length": ("cholesky", _part("solution.factor", lambda a: a[:-1])),
    "no number in a factor": ("nystrom", _part("solution.factor", _put(np.nan, 0, 0))),
    "no number in the noise factor": ("nystrom", _part("solution.noise_factor", _put(np.nan, 0, 0))),
    "basis of the solution is one number": ("cholesky", _part("solution.basis", lambda a: np.array(3))),
    "basis of the solution too short": ("cholesky", _part("solution.basis", lambda a: a[:2])),
    "negative scale": ("cholesky", _part("solution.scale2", lambda a: -a)),
    "leave-one-out of another shape": ("cholesky", _part("solution.leave_one_out", lambda a: a[1:])),
    "part of a solution too many": ("cholesky", _part("solution.extra", lambda a: np.ones(2))),
    "alpha is text": ("cholesky", _entry("solution", "ridge", to="much")),
    "alpha is null": ("cholesky", _entry("solution", "ridge", to=None)),
    "alpha below 0": ("cholesky", _entry("solution", "ridge", to=-100.0)),
    "jitter is a list": ("cholesky", _entry("solution", "jitter", to=[1.0, 2.0])),
    "an array among the numbers": ("cholesky", _entry("solution", "basis", to=5)),
    "scale among the numbers": ("cholesky", _entry("solution", "scale2", to="x")),
    "triangular is a number": ("nystrom", _entry("solution", "triangular", to=1)),
    "solution missing": ("cholesky", _entry("solution", to=None)),
    "intervals of another shape": ("cholesky", _part("intervals.ratios", lambda a: a[1:])),
    "target scale of another shape": ("several targets", _part("target_scale", lambda a: a[1:])),
    "likelihood is text": ("cholesky", _part("log_marginal_likelihood", lambda a: np.array(["x"]))),
    "one target or three": ("several targets", _entry("single_target", to=True)),
    "negative diagonal": ("cholesky", _part("diagonal.0", _put(-1.0, 3))),
    "diagonal of another length": ("cholesky", _part("diagonal.0", lambda a: a[1:])),
    "diagonal missing": ("cholesky", _part("diagonal.0", None)),
    "diagonal of the second kernel missing": ("sum", _part("diagonal.1", None)),
    "diagonal of the second kernel negative": ("sum", _part("diagonal.1", _put(-1.0, 0))),
    "kernel scale of 0": ("cholesky", _entry("kernel_scale", to=0.0)),
    "kernel scale is true": ("cholesky", _entry("kernel_scale", to=True)),
    "kernel scale past all floats": ("cholesky", _entry("kernel_scale", to=10**400)),
    "neighbours out of range": ("SVM", _part("graphs.indices", _put(1000, 0))),
    "graphs without an end": ("SVM", _part("graphs.offsets", lambda a: a[:-1])),
    "graphs without labels": ("SVM", _part("graphs.labels", None)),
    "fewer graphs than numbers": ("cholesky", _entry("n_graphs", to=5)),
    "number of graphs is text": ("cholesky", _entry("n_graphs", to="9")),
    "half a graph": ("SVM", _entry("n_graphs", to=9.5)),
    "names of another number": ("cholesky", _entry("names", to=["a", "b"])),
    "names are no list": ("cholesky", _entry("names", to={"a": 1})),
    "about is a list": ("cholesky", _entry("about", to=[])),
    "unknown model": ("cholesky", _entry("model", to="oracle")),
    "model is a number": ("cholesky", _entry("model", to=3)),
    "another model": ("SVM", _entry("model", to="regressor")),
    "unknown parameter": ("cholesky", _entry("params", "temperature", to=3)),
    "params is a list": ("cholesky", _entry("params", to=[])),
    "compute among the parameters": ("cholesky", _entry("params", "compute", to={"n_jobs": 1})),
    "kernel among the parameters": ("cholesky", _entry("params", "kernel", to=1)),
    "progress among the parameters": ("cholesky", _entry("params", "progress", to="bar")),
    "kernel is text": ("cholesky", _entry("kernel", to="GNTK()")),
    "kernel of an unknown class": ("cholesky", _entry("kernel", "is", to="Oracle")),
    "kernel without a class": ("cholesky", _entry("kernel", "is", to=None)),
    "a sketch in place of a kernel": ("cholesky", _entry("kernel", to=Sketch().__dict__ | {"is": "Sketch"})),
    "unknown kernel option": ("cholesky", _entry("kernel", "heads", to=8)),
    "bad kernel option": ("cholesky", _entry("kernel", "blocks", to=0)),
    "kernel past any depth": ("cholesky", _entry("kernel", "blocks", to=10**6)),
    "kernel option past all floats": ("cholesky", _entry("kernel", "c_phi", to=10**400)),
    "level weights of another number": ("level weights", _entry("kernel", "blocks", to=5)),
    "normalised kernel of nothing": ("normalised", _entry("kernel", "kernel", to=None)),
    "factor of 0": ("sum of a sketch", _entry("kernel", "k2", "factor", to=0.0)),
    "term of a sum is a number": ("sum", _entry("kernel", "k1", to=3)),
    "term of a sum missing": ("sum", _entry("kernel", to={"is": "Sum", "k1": GNTK(1).to_dict()})),
    "kernel nested too deeply": ("cholesky", _deep),
    "one kernel more than diagonals": ("sum", _third_leaf),
    "engines is text": ("cholesky", _entry("engines", to="lossless")),
    "engines are numbers": ("cholesky", _entry("engines", to=[1])),
    "sketched engine without a sketch": ("cholesky", _entry("engines", to=["sketched"])),
    "one engine for two kernels": ("sum", _entry("engines", to=["lossless"])),
    "exact engine with a sketch": ("sketch", _entry("engines", to=["decoupled"])),
    "bad sketch": ("sketch", _entry("kernel", "sketch", "size", to="large")),
    "keys of sketches missing": ("sketch", _part("graphs.sketch_keys", None)),
    "keys of sketches of another type": ("sketch", _part("graphs.sketch_keys", lambda a: a.astype(np.int64))),
    "keys of fewer graphs": ("sketch", _part("graphs.sketch_keys", lambda a: a[1:])),
    "sketches of no rows": ("sketch", _part("graphs.sketch_sizes", lambda a: np.zeros(40, dtype=np.int64))),
    "sketch is a number": ("sketch", _entry("kernel", "sketch", to=3)),
    "unknown option of a sketch": ("sketch", _entry("kernel", "sketch", "colour", to=1)),
    "features are no list": ("cholesky", _entry("features", to={"kind": "auto"})),
    "features missing": ("sum", _entry("features", to=[])),
    "features of the second kernel missing": ("sum", lambda document, arrays: document["features"].pop()),
    "features of the kernels swapped": ("sum", _swapped_features),
    "features of another width": ("attributes", _entry("features", 0, "width", to=4)),
    "features of an unknown kind": ("attributes", _entry("features", 0, "kind", to="colour")),
    "columns out of range": ("SVM", _part("features.0.columns.0", _put(7, 0))),
    "columns of the second kernel out of range": ("sum", _part("features.1.columns.0", _put(7, 0))),
    "more outputs than functions": ("SVMs", _entry("outputs", to=["a", "b", "c", "d"])),
    "outputs missing": ("SVMs", _entry("outputs", to=None)),
    "classes of another number": ("SVMs", _part("classes", lambda a: a[:2])),
    "two classes with a function each": ("SVMs", _part("classes", lambda a: np.append(a, "huge"))),
    "classes in a table": ("SVM", _part("classes", lambda a: a[None])),
    "classes missing": ("SVM", _part("classes", None)),
    "no classes": ("SVMs", _no_classes),
    "more features than coefficients": ("features", _entry("draws", "size", to=16)),
    "features beyond memory": ("features", _entry("draws", "size", to=10**12)),
    "features of other draws": ("features", _entry("draws", "seed", to=1)),
    "features of no seed": ("features", _entry("draws", "seed", to=-1)),
    "features drawn for another width": ("features", _entry("draws", "width", to=5)),
    "features of a width beyond memory": ("features of attributes", _wide),
    "features of more types": ("features", _entry("draws", "types", to=2)),
    "features of no type": ("features", _entry("draws", "types", to=0)),
    "features with more options": ("features", _entry("draws", "colour", to=2)),
    "features that are a list": ("features", _entry("draws", to=[])),
    "features without a probe": ("features", _part("probe", None)),
    "features of a sketch": ("features", _entry("kernel", "sketch", to={"is": "Sketch"})),
    "features of a sum": ("features", _entry("kernel", to=(ONE + GNTK(2)).to_dict())),
    "features of another kernel": ("features", _entry("kernel", "layers", to=1)),
    "features with training graphs": ("features", _part("training_indices", lambda a: np.zeros(15, dtype=np.int64))),
    "features without coefficients": ("features", _part("coefficients", lambda a: a[:-1])),
    "features of no graphs": ("features", _entry("n_graphs", to=0)),
    "a triangle too short": ("features", _part("solution.noise_factor", lambda a: a[:-1])),
    "no number in a triangle": ("features", _part("solution.noise_factor", _put(np.nan, 3))),
    "solver is a number": ("features", _entry("solver", to=3)),
    "types of edges twice": ("features, typed edges", _part("edge_types.text.numbers", lambda a: 0 * a)),
    "types of edges past the end": ("features, typed edges", _part("edge_types.text.numbers", lambda a: a + 1)),
    "types of edges without numbers": ("features, typed edges", _part("edge_types.text.numbers", None)),
    "types of edges out of order": ("features, typed edges", _part("edge_types.text", lambda a: a[::-1].copy())),
    "types of edges of another kind": ("features, typed edges", _part("edge_types.text", lambda a: np.arange(len(a)))),
    "sigmoids of another number": ("SVMs", _part("sigmoids.slope", lambda a: a[1:])),
    "half of the sigmoids": ("SVM", _part("sigmoids.shift", None)),
}


@pytest.mark.parametrize("what", INCONSISTENT)
def test_inconsistent_file_is_refused(tmp_path, what):
    path = altered(tmp_path / "model.fgntk", *INCONSISTENT[what])
    with pytest.raises(InputError) as found:
        fg.load_model(path)
    assert str(found.value).startswith(f"{path} ")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({name for name, _ in INCONSISTENT.values()}))
def test_unchanged_parts_are_accepted(tmp_path, name):
    path = altered(tmp_path / "model.fgntk", name, lambda document, arrays: None)
    graphs = MODELS[name][1][30:32]
    check_same(everything(fg.load_model(path), graphs), everything(_small(name), graphs))


_KINDS = [None, True, -1, 0, 2, 1.5, "text", [], [1], {}, {"text": 1}, ["a", None]]


def _alter_document(chance: random.Random, document: dict) -> str:
    place, keys = document, []
    while True:
        keys.append(chance.choice(sorted(place)))
        inner = place[keys[-1]]
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            inner = chance.choice(inner)
        if not (isinstance(inner, dict) and inner and chance.random() < 0.8):
            break
        place = inner
    if chance.random() < 0.2:
        del place[keys[-1]]
        return f"{keys} dropped"
    place[keys[-1]] = chance.choice(_KINDS)
    return f"{keys} = {place[keys[-1]]!r}"


def _alter_arrays(chance: random.Random, arrays: dict[str, np.ndarray]) -> str:
    name = chance.choice(sorted(arrays))
    array = arrays[name]
    kind = chance.choice(["drop", "move", "cut", "grow", "retype", "reshape", "swap", "value"])
    if kind in ("drop", "move"):
        del arrays[name]
        if kind == "move":
            arrays[chance.choice([*sorted(arrays), "elsewhere", f"{name}.more"])] = array
    elif kind == "cut":
        arrays[name] = array[: chance.randrange(len(array) + 1)] if array.ndim else array[None]
    elif kind == "grow":
        arrays[name] = np.concatenate([array, array]) if array.ndim and len(array) else np.zeros(3)
    elif kind == "retype":
        types = [np.float64, np.float32, np.int64, np.int32, np.uint8, bool, "U3"]
        arrays[name] = np.zeros(array.shape, chance.choice(types))
    elif kind == "reshape":
        arrays[name] = chance.choice([array.T, array.reshape(-1), array[None], array[..., None]]).copy()
    elif kind == "swap":
        other = chance.choice(sorted(arrays))
        arrays[name], arrays[other] = arrays[other], array
    elif array.size and array.dtype.kind in "if":
        values = [-1, 0, 10**6, *([np.nan, np.inf, -np.inf, 1e300] if array.dtype.kind == "f" else [2**31 - 1])]
        array.reshape(-1)[chance.randrange(array.size)] = chance.choice(values)
    return f"{name}: {kind}"


_slow = ["several targets, normalised nystrom", "SVMs", "sketch", "features, typed edges", "features for three"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["cholesky", "product, nystrom", "features", *(pytest.param(name, marks=pytest.mark.slow) for name in _slow)],
)
def test_random_changes_raise_nothing_but_input_errors(tmp_path, name):
    path, graphs = tmp_path / "model.fgntk", MODELS[name][1][30:32]
    _small(name).save(path)
    document, arrays = read_container(path)
    broken, refused = [], 0
    for seed in range(90):
        chance = random.Random(f"{name} {seed}")
        changed, parts = copy.deepcopy(document), {key: array.copy() for key, array in arrays.items()}
        alter, what = chance.choice([(_alter_document, changed), (_alter_arrays, parts)])
        described = ", ".join(alter(chance, what) for _ in range(chance.choice([1, 1, 2])))
        write_container(path, changed, parts)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as those of overflow
                everything(fg.load_model(path), graphs)
        except InputError:
            refused += 1
        except Exception as error:
            broken.append(f"seed {seed}: {described}: {type(error).__name__}: {error}")
    assert not broken, "\n".join(broken)
    assert 30 < refused < 90
