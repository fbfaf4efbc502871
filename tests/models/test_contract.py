from __future__ import annotations

import pickle
from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from tests.tables import FLOAT64, NEGATIVE_WEIGHTS

import fastgntk as fg
from fastgntk import GNTK, Graph, GraphBatch, InputError, UnseenLabelWarning, cross_gram, datasets, gram, normalize
from fastgntk.datasets import Dataset
from fastgntk.selection import Grid

try:
    from sklearn.utils.estimator_checks import estimator_checks_generator
    from sklearn.utils.validation import validate_data
except ImportError:
    estimator_checks_generator = validate_data = None

SMALL = Grid(blocks=(1, 2), layers=(1,), scale=("uniform",), jump=(True,), C=(1.0, 10.0))
SMALLEST = replace(SMALL, blocks=(1,))

# scikit-learn's own checks. They feed rows of numbers: each becomes a graph of one node.

_NODE = GraphBatch.from_graphs([Graph.from_edges([], 1)])


def _as_graphs(rows: np.ndarray) -> GraphBatch:
    # The column of ones makes the kernel, which is homogeneous, tell apart rows on one line through the origin.
    return _NODE[np.zeros(len(rows), dtype=np.int64)].with_features(np.column_stack([rows, np.ones(len(rows))]))


class _Rows:
    """Everything about y and weights is left to the estimator: X alone is checked here."""

    def fit(self, X, y=None):
        return super().fit(_as_graphs(validate_data(self, X)), y)

    def _new_rows(self, X):
        check_is_fitted(self)
        return _as_graphs(validate_data(self, X, reset=False))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array, tags.no_validation = True, False, False
        return tags


class _WeightedRows(_Rows):
    def fit(self, X, y=None, sample_weight=None):
        rows = validate_data(self, X)
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight)
            kept = sample_weight != 0
            # To scikit-learn a weight of 0 is a graph left out; here it is refused, so that is done before.
            if kept.any() and kept.shape == (len(rows),):
                rows, y, sample_weight = rows[kept], np.asarray(y)[kept], sample_weight[kept]
        return super(_Rows, self).fit(_as_graphs(rows), y, sample_weight)


class _Regression:
    def predict(self, X):
        return super().predict(self._new_rows(X))


class _Classification(_Regression):
    def decision_function(self, X):
        return super().decision_function(self._new_rows(X))

    @available_if(lambda self: self.probability)
    def predict_proba(self, X):
        return super().predict_proba(self._new_rows(X))


class RowRegressor(_Regression, _WeightedRows, fg.GNTKRegressor):
    pass


class RowRegressorCV(_Regression, _Rows, fg.GNTKRegressorCV):
    pass


class RowClassifier(_Classification, _WeightedRows, fg.GNTKClassifier):
    pass


class RowMachine(_Classification, _Rows, fg.GNTKClassifier):
    """Without weights, which support vector machines refuse (test below)."""


class RowClassifierCV(_Classification, _Rows, fg.GNTKClassifierCV):
    pass


class _Transformation:
    def transform(self, X):
        return super().transform(self._new_rows(X))


class RowKernel(_Transformation, _Rows, fg.GNTKKernel):
    def fit_transform(self, X, y=None):
        return super().fit_transform(_as_graphs(validate_data(self, X)), y)


class RowNystroem(_Transformation, _Rows, fg.GNTKNystroem):
    def fit_transform(self, X, y=None):
        return super().fit_transform(_as_graphs(validate_data(self, X)), y)


class RowRandomFeatures(_Transformation, _Rows, fg.GNTKRandomFeatures):
    pass


_WORDS = "it is refused with an InputError (tests below), but not in the words that scikit-learn looks for"
_NO_TARGETS = {"check_requires_y_none": _WORDS}
_WEIGHTED = {"check_all_zero_sample_weights_error": _WORDS}
_CLASSES = {
    **_NO_TARGETS,
    "check_classifiers_regression_target": _WORDS,
    "check_fit2d_1sample": _WORDS,
    "check_supervised_y_2d": "a column of classes is refused, not taken with a warning",
    "check_class_weight_classifiers": "class_weight is None or 'balanced', not a mapping",
}
_CALIBRATED = {
    "check_classifiers_train": "probabilities are calibrated apart from the decision, as those of SVC are: for graphs "
    "at the border the likelier class may be another than the predicted one",
}
_LEFT_OUT = {
    "check_sample_weight_equivalence_on_dense_data": "probabilities come from graphs that are left out one by one, and "
    "of repeated graphs a copy stays; decisions are equivalent",
}
ADAPTED = [
    (RowRegressor(blocks=1, workers=1), _NO_TARGETS | _WEIGHTED),
    (RowRegressorCV(SMALLEST, ridges=(1e-3, 1e-1), workers=1), _NO_TARGETS),
    (RowClassifier(blocks=1, method="ridge", workers=1), _CLASSES | _WEIGHTED | _LEFT_OUT),
    (RowMachine(blocks=1, workers=1), _CLASSES | _CALIBRATED),
    (RowRegressor(blocks=1, workers=1, solver="features", rank=300), _NO_TARGETS | _WEIGHTED),
    (RowClassifierCV(SMALLEST, probability=False, workers=1), _CLASSES),
    (RowKernel(blocks=1, workers=1), {}),
    (RowNystroem(8, "kmeans++", blocks=1, workers=1), {}),
    (RowRandomFeatures(20, blocks=1, workers=1, dtype="float64"), {}),
]


def _checks():
    if estimator_checks_generator is None:
        reason = "scikit-learn before 1.6 has neither estimator_checks_generator nor validate_data"
        return [pytest.param(None, None, marks=pytest.mark.skip(reason=reason))]
    return [
        one
        for estimator, failing in ADAPTED
        for one in estimator_checks_generator(estimator, expected_failed_checks=failing, mark="xfail")
    ]


def _name(value):
    if value is None:
        return "none"
    if isinstance(value, BaseEstimator):
        return type(value).__name__
    return "-".join([value.func.__name__, *(f"{k}={v}" for k, v in value.keywords.items())])


@pytest.mark.parametrize(("estimator", "check"), _checks(), ids=_name)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


# The same contract on graphs.

_MUTAG = datasets.load("MUTAG")
_COMMON = [i for i, graph in enumerate(_MUTAG.graphs) if graph.labels.max() <= 2][:70]
GRAPHS = _MUTAG.graphs[_COMMON]
TRAIN, NEW = GRAPHS[:45], GRAPHS[45:]
CLASSES = _MUTAG.y[_COMMON]
NUMBERS = GRAPHS.sizes + 3.0 * np.sin(np.arange(len(GRAPHS)))

ESTIMATORS = {
    "regressor": fg.GNTKRegressor(blocks=1),
    "normalised regressor": fg.GNTKRegressor(blocks=2, layers=1, normalize=True, ridge=0.1),
    "chosen regressor": fg.GNTKRegressorCV(SMALL, ridges=(1e-2, 1e-1)),
    "regressor on features": fg.GNTKRegressor(blocks=2, layers=1, ridge=0.1, solver="features", rank=60),
    "normalised regressor on features": fg.GNTKRegressor(
        blocks=1, normalize=True, ridge=0.1, solver="features", rank=40
    ),
    "ridge classifier on features": fg.GNTKClassifier(blocks=1, method="ridge", ridge=0.1, solver="features", rank=60),
    "machine": fg.GNTKClassifier(blocks=2, layers=1, normalize=True),
    "ridge classifier": fg.GNTKClassifier(blocks=1, method="ridge", ridge=0.1),
    "chosen machine": fg.GNTKClassifierCV(SMALL),
    "chosen ridge classifier": fg.GNTKClassifierCV(SMALL, method="ridge", ridges=(1e-1,)),
    "kernel": fg.GNTKKernel(blocks=2, layers=1, jump=(0.5, 0.0, 1.0)),
    "Nyström": fg.GNTKNystroem(12, "leverage", blocks=2, layers=1),
    "normalised Nyström": fg.GNTKNystroem(9, blocks=1, normalize=True),
    "random features": fg.GNTKRandomFeatures(60, blocks=2, dtype="float64"),
    "normalised random features": fg.GNTKRandomFeatures(60, blocks=2, normalize=True, dtype="float64"),
}
MODELS = {name: estimator for name, estimator in ESTIMATORS.items() if hasattr(estimator, "predict")}


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return clone(ESTIMATORS[request.param])


@pytest.fixture(params=ESTIMATORS, scope="module")
def fitted(request):
    """For tests that leave it as it is."""
    return learned(clone(ESTIMATORS[request.param]))


@pytest.fixture(params=MODELS)
def model(request):
    return clone(MODELS[request.param])


def targets(estimator) -> np.ndarray:
    return NUMBERS if is_regressor(estimator) else CLASSES


def learned(estimator):
    return estimator.fit(TRAIN, targets(estimator)[:45])


def output(estimator, X) -> np.ndarray:
    """Everything that an estimator says of graphs, one row each."""
    if is_regressor(estimator):
        return np.column_stack([*estimator.predict(X, return_std=True), *estimator.predict_interval(X)])
    if is_classifier(estimator):
        return np.column_stack([estimator.decision_function(X), estimator.predict_proba(X)])
    return estimator.transform(X)


def test_a_clone_has_the_parameters_but_not_what_was_learned(fitted):
    copy = clone(fitted)
    assert repr(copy.get_params()) == repr(fitted.get_params())
    with pytest.raises(NotFittedError):
        output(copy, NEW)


def test_parameters_go_round(estimator):
    other = type(estimator)().set_params(**estimator.get_params())
    assert other.get_params() == estimator.get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'depths'"):
        other.set_params(depths=3)


def test_repr_says_what_is_not_the_default():
    assert repr(ESTIMATORS["ridge classifier"]) == "GNTKClassifier(blocks=1, method='ridge', ridge=0.1)"
    assert repr(fg.GNTKRegressorCV(depth="mix")) == "GNTKRegressorCV(depth='mix')"


@pytest.mark.parametrize(
    "form",
    [list, lambda X: Dataset(X, None, "some"), lambda X: np.array(list(X), dtype=object)],
    ids=["list", "data set", "array"],
)
def test_every_form_of_graphs_gives_the_same(fitted, form):
    expected = output(fitted, NEW)
    again = clone(fitted).fit(form(TRAIN), targets(fitted)[:45].tolist())
    assert np.array_equal(output(again, form(NEW)), expected)


def test_nothing_works_before_fit(model):
    for method in ("predict", "similarities", "nearest", "review", "explain", "save", "name"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(NEW[:1])


def test_a_pickled_model_says_the_same(fitted):
    assert np.array_equal(output(pickle.loads(pickle.dumps(fitted)), NEW), output(fitted, NEW))


def test_a_model_mapped_from_a_file_says_the_same(tmp_path, fitted):
    joblib.dump(fitted, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert np.array_equal(output(mapped, NEW), output(fitted, NEW))


def test_a_mix_of_depths_is_a_model_as_any_other():
    model = fg.GNTKRegressorCV(SMALLEST, depth="mix", ridges=(0.1,)).fit(TRAIN, NUMBERS[:45])
    alone = fg.GNTKRegressor(**model.best_params_).fit(TRAIN, NUMBERS[:45])
    assert np.array_equal(output(model, NEW), output(alone, NEW))
    assert np.array_equal(output(pickle.loads(pickle.dumps(model)), NEW), output(model, NEW))


def test_fitting_again_forgets_what_was_before(estimator):
    y = targets(estimator)
    fresh = clone(estimator).fit(TRAIN[:30], y[:30])
    learned(estimator).fit(TRAIN[:30], y[:30])
    assert np.array_equal(output(estimator, NEW), output(fresh, NEW))
    assert vars(estimator).keys() == vars(fresh).keys()


def test_fitting_again_forgets_names(tmp_path, model):
    learned(model).name([str(i) for i in range(45)], source="elsewhere")
    model.fit(TRAIN[:30], targets(model)[:30]).save(tmp_path / "model.fgntk")
    again = fg.load_model(tmp_path / "model.fgntk")
    assert not hasattr(again, "names_")
    assert again.about_ == {}


def test_fitting_changes_neither_parameters_nor_data(estimator):
    params, y = estimator.get_params(), targets(estimator)[:45].copy()
    estimator.fit(TRAIN, y)
    assert estimator.get_params() == params
    assert np.array_equal(y, targets(estimator)[:45])


def test_predictions_depend_on_their_graph_alone(fitted):
    expected = output(fitted, NEW)
    order = np.random.default_rng(0).permutation(len(NEW))
    FLOAT64.check(output(fitted, NEW[order]), expected[order])
    FLOAT64.check(np.concatenate([output(fitted, [graph]) for graph in NEW[:8]]), expected[:8])


# What scikit-learn does with estimators.


def _by_hand(K, y, machine):
    """Scores of a precomputed kernel over three folds."""
    scores = []
    for train, test in KFold(3).split(K):
        fitted = clone(machine).fit(K[np.ix_(train, train)], y[train])
        scores.append(fitted.score(K[np.ix_(test, train)], y[test]))
    return np.array(scores)


@pytest.mark.parametrize("X", [GRAPHS, np.array(list(GRAPHS), dtype=object)], ids=["batch", "array"])
@pytest.mark.parametrize(
    ("machine", "y"), [(SVC(kernel="precomputed"), CLASSES), (KernelRidge(kernel="precomputed"), NUMBERS)]
)
def test_a_pipeline_scores_as_by_hand(X, machine, y):
    spec = GNTK(blocks=2, layers=1)
    pipeline = make_pipeline(fg.GNTKKernel(blocks=2, layers=1, normalize=True), machine)
    expected = _by_hand(normalize(gram(GRAPHS, spec)), y, machine)
    FLOAT64.check(cross_val_score(pipeline, X, y, cv=KFold(3), error_score="raise"), expected)


def test_a_pipeline_can_be_searched():
    pipeline = make_pipeline(fg.GNTKKernel(layers=1, normalize=True), SVC(kernel="precomputed"))
    options = {"gntkkernel__blocks": [1, 3], "svc__C": [0.1, 100.0]}
    search = GridSearchCV(pipeline, options, cv=KFold(3), error_score="raise").fit(list(GRAPHS), CLASSES)
    expected = [
        _by_hand(normalize(gram(GRAPHS, GNTK(blocks, 1))), CLASSES, SVC(kernel="precomputed", C=C)).mean()
        for blocks in (1, 3)
        for C in (0.1, 100.0)
    ]
    FLOAT64.check(search.cv_results_["mean_test_score"], expected)
    assert search.predict(list(NEW)).shape == (25,)


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (fg.GNTKRegressor(layers=1), {"blocks": [1, 2], "ridge": [1e-2, 10.0]}),
        (fg.GNTKClassifier(layers=1, normalize=True, probability=False), {"blocks": [1, 2], "C": [0.1, 100.0]}),
    ],
)
def test_a_search_scores_as_single_estimators_do(estimator, options):
    X, y = list(TRAIN), targets(estimator)[:45]
    search = GridSearchCV(estimator, options, cv=KFold(3), error_score="raise").fit(X, y)
    scores = [
        cross_val_score(clone(estimator).set_params(**params), X, y, cv=KFold(3)).mean()
        for params in search.cv_results_["params"]
    ]
    assert np.array_equal(search.cv_results_["mean_test_score"], scores)
    assert len(set(scores)) > 2
    best = clone(estimator).set_params(**search.best_params_).fit(X, y)
    assert np.array_equal(search.predict(X), best.predict(X))


def test_estimators_that_choose_can_be_cross_validated():
    assert cross_val_score(ESTIMATORS["chosen regressor"], list(GRAPHS), NUMBERS, cv=3).min() > 0.5
    assert cross_val_score(ESTIMATORS["chosen machine"], list(GRAPHS), CLASSES, cv=3).min() > 0.6


# What the numbers are.


@pytest.mark.parametrize("normalized", [False, True])
def test_kernel_values_do_not_depend_on_what_was_fitted(normalized):
    """New graphs have labels that no training graph has, and still their kernel is that of all graphs together."""
    rare = [i for i, graph in enumerate(_MUTAG.graphs) if graph.labels.max() > 2][:8]
    new = _MUTAG.graphs[rare]
    spec = GNTK(blocks=2, layers=1, scale="degree")
    K = gram(TRAIN + new, spec)
    K = normalize(K) if normalized else K
    step = fg.GNTKKernel(2, 1, "degree", normalize=normalized)
    FLOAT64.check(step.fit_transform(TRAIN), K[:45, :45])
    FLOAT64.check(step.transform(new), K[45:, :45])
    FLOAT64.check(step.fit(TRAIN[:5]).transform(new), K[45:, :5])


def test_a_model_warns_of_labels_it_does_not_know():
    rare = next(graph for graph in _MUTAG.graphs if graph.labels.max() > 2)
    model = learned(clone(ESTIMATORS["regressor"]))
    with pytest.warns(UnseenLabelWarning, match="in 1 graphs have a label that no training graph has"):
        model.predict([rare])


def test_node_features_fitted_elsewhere_learn_the_labels_of_the_training_graphs():
    graphs = _MUTAG.graphs[:80]
    given = fg.GNTKRegressor(blocks=1, features=fg.NodeFeatures().fit(TRAIN)).fit(graphs, graphs.sizes)
    own = fg.GNTKRegressor(blocks=1).fit(graphs, graphs.sizes)
    FLOAT64.check(given.predict(NEW), own.predict(NEW))
    assert given.n_equal_graphs_ == own.n_equal_graphs_


@pytest.mark.parametrize("solver", ["cholesky", "eigen", "nystrom", "sketched", "cg", "features"])
def test_several_targets_are_each_as_alone(solver):
    Y = np.column_stack([NUMBERS, 1e3 * np.cos(GRAPHS.sizes), np.full(len(NUMBERS), 7.0)])
    model = fg.GNTKRegressor(blocks=1, ridge=0.1, solver=solver, rank=20).fit(TRAIN, Y[:45])
    mean, std = model.predict(NEW, return_std=True)
    ends = model.predict_interval(NEW, 0.8)
    for k in range(3):
        alone = clone(model).fit(TRAIN, Y[:45, k])
        FLOAT64.check(mean[:, k], alone.predict(NEW))
        FLOAT64.check(std[:, k], alone.predict(NEW, return_std=True)[1])
        for end, expected in zip(ends, alone.predict_interval(NEW, 0.8), strict=True):
            FLOAT64.check(end[:, k], expected)
        explained = model.explain(NEW[0], target=k)
        FLOAT64.check(explained.nodes, alone.explain(NEW[0]).nodes)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("kind", [fg.GNTKRegressor, fg.GNTKClassifier])
def test_weights_are_graphs_that_come_several_times(kind, normalized):
    model = kind(blocks=1, ridge=0.1, normalize=normalized)
    if is_classifier(model):
        model.set_params(method="ridge")
    predict = (lambda m: m.predict(NEW)) if is_regressor(model) else (lambda m: m.decision_function(NEW))
    y, weights = targets(model)[:45], np.arange(45) % 3 + 1
    several = np.repeat(np.arange(45), weights)
    weighted = predict(model.fit(TRAIN, y, sample_weight=weights))
    FLOAT64.check(weighted, predict(clone(model).fit(TRAIN[several], y[several])))
    assert not np.allclose(weighted, predict(clone(model).fit(TRAIN, y)))


@pytest.mark.parametrize("method", ["svc", "ridge"])
@pytest.mark.parametrize("names", [np.array(["no", "yes"]), np.array(["no", "yes"], dtype=object), np.array([3, 17])])
def test_classes_may_have_any_names(method, names):
    plain = fg.GNTKClassifier(blocks=1, method=method).fit(TRAIN, CLASSES[:45])
    numbers = np.searchsorted(plain.classes_, CLASSES)
    model = clone(plain).fit(TRAIN, names[numbers[:45]])
    assert np.array_equal(model.decision_function(NEW), plain.decision_function(NEW))
    assert np.array_equal(model.predict(NEW), names[np.searchsorted(plain.classes_, plain.predict(NEW))])
    assert model.classes_.tolist() == names.tolist()
    assert model.score(NEW, names[numbers[45:]]) == plain.score(NEW, CLASSES[45:])
    assert model.explain(NEW[0], of_class=names[1]).prediction == plain.explain(NEW[0], of_class=1).prediction


@pytest.mark.parametrize("method", ["svc", "ridge"])
@pytest.mark.parametrize("kind", [fg.GNTKClassifier(blocks=1), fg.GNTKClassifierCV(SMALL, ridges=(1e-2,))])
def test_three_classes(kind, method):
    sizes = np.array(["small", "middle", "large"])[np.digitize(GRAPHS.sizes, [15, 19])]
    model = clone(kind).set_params(method=method).fit(TRAIN, sizes[:45])
    decisions, probabilities = model.decision_function(NEW), model.predict_proba(NEW)
    assert decisions.shape == probabilities.shape == (25, 3)
    assert np.array_equal(model.predict(NEW), model.classes_[decisions.argmax(axis=1)])
    assert model.score(NEW, sizes[45:]) > 0.7
    FLOAT64.check(probabilities.sum(axis=1), np.ones(25))
    assert probabilities.min() > 0
    for k in range(3):  # a class's own decision and its share before all are made to add up to 1
        odds = model.sigmoids_.slope[k] * decisions[:, k] + model.sigmoids_.shift[k]
        assert np.array_equal(np.argsort(odds, kind="stable"), np.argsort(decisions[:, k], kind="stable"))


def test_probabilities_follow_the_decision_and_add_up_to_one():
    for name in ("machine", "ridge classifier", "chosen machine", "chosen ridge classifier"):
        model = learned(clone(ESTIMATORS[name]))
        decisions, probabilities = model.decision_function(NEW), model.predict_proba(NEW)
        FLOAT64.check(probabilities.sum(axis=1), np.ones(25))
        assert np.array_equal(np.argsort(decisions), np.argsort(probabilities[:, 1]))
        assert np.ptp(probabilities[:, 1]) > 0.2


def test_probabilities_must_be_asked_for_before_fit():
    model = fg.GNTKClassifier(blocks=1, probability=False).fit(TRAIN, CLASSES[:45])
    assert model.review(NEW).probabilities is None
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(NEW)


# What is refused, in which words.

_REGRESSORS = [ESTIMATORS["regressor"], ESTIMATORS["chosen regressor"]]
_CLASSIFIERS = [ESTIMATORS["machine"], ESTIMATORS["chosen ridge classifier"]]


def _with(values, changes):
    out = list(values)
    for i, value in changes.items():
        out[i] = value
    return out


@pytest.mark.parametrize("estimator", _REGRESSORS)
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (_with(NUMBERS, {4: np.nan, 9: np.inf}), "must be finite, but those of graphs 4 and 9 are not"),
        (_with(NUMBERS, {2: None}), "must be finite, but those of graph 2 are not"),
        (np.column_stack([NUMBERS, _with(NUMBERS, {7: np.nan})]), "those of graph 7 are not"),
        (_with(NUMBERS, {0: "heavy", 3: "light"}), "needs numbers as targets, but there is text for graphs 0 and 3"),
        (["C"] * 70, "there is text for graphs 0, 1, 2, 3, 4 and 65 more; for classes use a classifier"),
        (NUMBERS[:69], r"one row for each of the 70 graphs, but has shape \(69,\)"),
        (np.zeros((70, 0)), r"one row for each of the 70 graphs, but has shape \(70, 0\)"),
        (np.zeros((70, 2, 2)), r"has shape \(70, 2, 2\)"),
        (None, "pass y"),
    ],
)
def test_bad_targets_are_named(estimator, y, words):
    y = np.array(y, dtype=object) if isinstance(y, list) else y
    with pytest.raises(InputError, match=words):
        clone(estimator).fit(GRAPHS, y)


@pytest.mark.parametrize("estimator", _CLASSIFIERS)
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.ones(70), "at least two classes"),
        (["all"] * 70, "at least two classes"),
        (NUMBERS, "real numbers|continuous"),
        (np.where(CLASSES > 0, np.nan, 0.0), "y"),
        (np.where(CLASSES > 0, np.inf, 0.0), "y"),
        (np.array([None if c > 0 else "no" for c in CLASSES], dtype=object), "y"),
        (np.array([1 if c > 0 else "no" for c in CLASSES], dtype=object), "y"),
        (CLASSES[:69], r"one class for each of the 70 graphs, but has shape \(69,\)"),
        (np.column_stack([CLASSES, CLASSES]), r"one class for each of the 70 graphs, but has shape \(70, 2\)"),
        (None, "pass y"),
    ],
)
def test_bad_classes_are_named(estimator, y, words):
    with pytest.raises(InputError, match=words):
        clone(estimator).fit(GRAPHS, y)


@pytest.mark.parametrize("estimator", [*_REGRESSORS, _CLASSIFIERS[1]])
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(69), r"sample_weight must have shape \(70,\), but has \(69,\)"),
        (np.ones((70, 1)), r"sample_weight must have shape \(70,\)"),
        (_with(np.ones(70), {3: 0.0}), "sample_weight must be above .* for graph 3"),
        (_with(np.ones(70), {3: -1.0, 8: np.nan}), "sample_weight must be above .* for graphs 3 and 8"),
        (["much"] * 70, "sample_weight"),
    ],
)
def test_bad_weights_are_named(estimator, weights, words):
    with pytest.raises(InputError, match=words):
        clone(estimator).fit(GRAPHS, targets(estimator), sample_weight=weights)


@pytest.mark.parametrize("name", ["machine", "chosen machine"])
def test_support_vector_machines_take_no_weights(name):
    with pytest.raises(InputError, match="sample_weight needs method='ridge'"):
        clone(ESTIMATORS[name]).fit(TRAIN, CLASSES[:45], sample_weight=np.ones(45))


def test_no_graphs_is_refused_in_fit_and_fine_in_predict(fitted):
    with pytest.raises(InputError, match="there are no graphs"):
        clone(fitted).fit([], [])
    assert output(fitted, []).shape == (0, output(fitted, NEW[:1]).shape[1])


@pytest.mark.parametrize(
    ("graphs", "words"),
    [
        (
            [Graph.from_edges([(0, 1)], 2, np.eye(2, 3))],
            "trained on graphs with node features of width 2, but .* width 3",
        ),
        ([Graph.from_edges([(0, 1)], 2)], "trained on graphs with node features of width 2, but these have none"),
        (np.eye(3), "got one matrix"),
        (["CCO"], "trained on graphs with node features of width 2, but these have width 32"),
        ([3], "graph 0 is an int"),
    ],
)
@pytest.mark.parametrize(
    "estimator",
    [
        fg.GNTKRegressor(),
        fg.GNTKClassifier(),
        fg.GNTKKernel(),
        fg.GNTKNystroem(),
        fg.GNTKRandomFeatures(),
    ],
)
def test_other_graphs_than_those_learned_from_are_refused(estimator, graphs, words):
    rng = np.random.default_rng(5)
    train = [Graph.from_edges([(0, 1)], 2, rng.random((2, 2))) for _ in range(6)]
    estimator = clone(estimator).fit(train, [0, 1] * 3)
    call = estimator.transform if hasattr(estimator, "transform") else estimator.predict
    with pytest.raises(InputError, match=words):
        call(graphs)


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (fg.GNTKRegressor, {"blocks": 0}, "blocks must be a whole number, 1 or more, but is 0"),
        (fg.GNTKRegressor, {"normalize": "yes"}, "normalize must be True or False, but is 'yes'"),
        (fg.GNTKRegressor, {"ridge": -1.0}, "ridge"),
        (fg.GNTKRegressor, {"solver": "magic"}, "solver must be one of auto, cholesky"),
        (fg.GNTKRegressor, {"solver": "nystrom", "rank": 0}, "rank must be a whole number, 1 or more"),
        (fg.GNTKRegressor, {"random_state": -1}, "random_state must be a whole number in 0"),
        (fg.GNTKRegressor, {"features": "magic"}, "features must be one of auto"),
        (fg.GNTKRegressor, {"engine": "warp"}, "engine must be one of"),
        (fg.GNTKRegressorCV, {"grid": {"blocks": [1]}}, "grid must be a fastgntk.selection.Grid, but is a dict"),
        (fg.GNTKRegressorCV, {"depth": "deep"}, "depth must be best or mix"),
        (fg.GNTKRegressorCV, {"criterion": "luck"}, "criterion must be one of leave_one_out, likelihood"),
        (fg.GNTKRegressorCV, {"ridges": ()}, "ridges must be numbers above 0"),
        (fg.GNTKRegressorCV, {"screen": 0}, "screen must be a whole number, 1 or more"),
        (fg.GNTKRegressorCV, {"finalists": True}, "finalists must be a whole number, 1 or more"),
        (fg.GNTKClassifier, {"C": 0.0}, "C must be a number above 0, but is 0.0"),
        (fg.GNTKClassifier, {"method": "tree"}, "method must be svc or ridge, but is 'tree'"),
        (fg.GNTKClassifier, {"class_weight": {0: 2}}, "class_weight must be None or 'balanced'"),
        (fg.GNTKClassifierCV, {"method": "tree"}, "method must be svc or ridge, but is 'tree'"),
        (fg.GNTKKernel, {"c_phi": 0}, "c_phi must be a number above 0, but is 0"),
        (fg.GNTKNystroem, {"n_landmarks": 0}, "n_landmarks must be a whole number, 1 or more, but is 0"),
        (fg.GNTKNystroem, {"selection": "best"}, r"selection must be one of uniform, kmeans\+\+, leverage"),
        (fg.GNTKNystroem, {"selection": ["uniform"]}, "selection must be one of"),
        (fg.GNTKNystroem, {"sketching": [1]}, "sketching must be a mapping of sketch, sketch_size"),
        (fg.GNTKRegressor, {"sketching": {"size": 3}}, "sketching must be a mapping of sketch, sketch_size"),
        (fg.GNTKRandomFeatures, {"n_features": 1.5}, "n_features must be a whole number, 2 or more, but is 1.5"),
        (fg.GNTKRandomFeatures, {"n_features": 5}, "n_features must be 7 or more for 3 blocks, but is 5"),
        (fg.GNTKRandomFeatures, {"dtype": "int8"}, "dtype must be 'float32' or 'float64', but is 'int8'"),
        (fg.GNTKRandomFeatures, {"exact_norms": 1}, "exact_norms must be True or False, but is 1"),
        (fg.GNTKRandomFeatures, {"normalize": None}, "normalize must be True or False, but is None"),
        (fg.GNTKRandomFeatures, {"scale": "none"}, "scale must be one of uniform"),
        (fg.GNTKRandomFeatures, {"workers": 0}, "workers must be a whole number, 1 or more"),
    ],
)
def test_bad_parameters_are_named_when_fitting(kind, options, words):
    estimator = kind(**options)  # scikit-learn's rule: nothing is checked before fit
    with pytest.raises(InputError, match=words):
        estimator.fit(TRAIN, targets(estimator)[:45])


def test_negative_edge_weights_are_refused_as_the_kernel_does():
    with pytest.raises(InputError) as expected:
        gram(NEGATIVE_WEIGHTS, GNTK(scale="degree"))
    with pytest.raises(InputError) as found:
        fg.GNTKRegressor(scale="degree").fit(NEGATIVE_WEIGHTS, [0.0, 1.0])
    assert str(found.value) == str(expected.value)


def test_rows_are_those_of_cross_gram():
    step = fg.GNTKKernel(blocks=2, layers=1).fit(TRAIN)
    FLOAT64.check(step.transform(NEW), cross_gram(NEW, TRAIN, GNTK(2, 1)))
