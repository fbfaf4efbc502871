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
from fastgntk import (
    GNTK,
    Compute,
    Graph,
    GraphBatch,
    InputError,
    Sketch,
    UnseenLabelWarning,
    cross_gram,
    datasets,
    gram,
)
from fastgntk.compat.grakel import GrakelKernel
from fastgntk.compat.sklearn_gp import ProcessKernel
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
    # The kernel is homogeneous: the column of ones distinguishes rows on one line through the origin.
    return _NODE[np.zeros(len(rows), dtype=np.int64)].with_features(np.column_stack([rows, np.ones(len(rows))]))


class _Rows:
    """Checks X here; y and weights are left to the estimator."""

    def __setattr__(self, name, value):
        # scikit-learn's checks set n_components to 1 wherever it exists; SVMs and random features refuse that.
        if not (name == "n_components" and isinstance(value, int) and value == 1):
            super().__setattr__(name, value)

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
            # For scikit-learn a weight of 0 drops the graph; the estimators refuse it, so it is dropped before.
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


class RowRegressor(_Regression, _WeightedRows, fg.GraphRegressor):
    pass


class RowRegressorCV(_Regression, _Rows, fg.GraphRegressorCV):
    pass


class RowClassifier(_Classification, _WeightedRows, fg.GraphClassifier):
    pass


class RowSVM(_Classification, _Rows, fg.GraphClassifier):
    """Without weights, which support vector machines refuse (test below)."""


class RowClassifierCV(_Classification, _Rows, fg.GraphClassifierCV):
    pass


class _Transformation:
    def transform(self, X):
        return super().transform(self._new_rows(X))


class RowKernel(_Transformation, _Rows, fg.KernelTransformer):
    def fit_transform(self, X, y=None):
        return super().fit_transform(_as_graphs(validate_data(self, X)), y)


class RowNystroem(_Transformation, _Rows, fg.Nystroem):
    def fit_transform(self, X, y=None):
        return super().fit_transform(_as_graphs(validate_data(self, X)), y)


class RowRandomFeatures(_Transformation, _Rows, fg.RandomFeatures):
    pass


_WORDS = "it is refused with an InputError (tests below), but not with the message that scikit-learn expects"
_VALUES = {"check_parameters_default_constructible": "the defaults of kernel and compute are frozen values"}
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
    "check_classifiers_train": "probabilities are calibrated apart from the decision, as those of SVC are: near the "
    "border the more probable class may differ from the predicted one",
}
_OUT_OF_FOLD = {
    "check_sample_weight_equivalence_on_dense_data": "probabilities come from leave-one-out, which keeps the other "
    "copies of repeated graphs; decisions are equivalent",
}
_ONE, _SINGLE = GNTK(1), Compute(n_jobs=1)
ADAPTED = [
    (RowRegressor(_ONE, compute=_SINGLE), _NO_TARGETS | _WEIGHTED),
    (RowRegressorCV(SMALLEST, alphas=(1e-3, 1e-1), compute=_SINGLE), _NO_TARGETS),
    (RowClassifier(_ONE, "ridge", compute=_SINGLE), _CLASSES | _WEIGHTED | _OUT_OF_FOLD),
    (RowSVM(_ONE, compute=_SINGLE), _CLASSES | _CALIBRATED),
    (RowRegressor(_ONE, compute=_SINGLE, solver="features", n_components=60), _NO_TARGETS | _WEIGHTED),
    (RowClassifierCV(SMALLEST, probability=False, compute=_SINGLE), _CLASSES),
    (RowKernel(_ONE, compute=_SINGLE), {}),
    (RowNystroem(_ONE, 8, "kmeans++", compute=_SINGLE), {}),
    (RowRandomFeatures(_ONE, 20, compute=_SINGLE, dtype="float64"), {}),
]


def _checks():
    if estimator_checks_generator is None:
        reason = "scikit-learn before 1.6 has neither estimator_checks_generator nor validate_data"
        return [pytest.param(None, None, marks=pytest.mark.skip(reason=reason))]
    out = []
    for estimator, failing in ADAPTED:
        slow = not isinstance(estimator, RowRegressor | RowKernel | RowRandomFeatures)
        slow |= getattr(estimator, "solver", None) == "features"
        for one in estimator_checks_generator(estimator, expected_failed_checks=_VALUES | failing, mark="xfail"):
            values, marks = (one.values, one.marks) if hasattr(one, "marks") else (one, ())
            out.append(pytest.param(*values, marks=[*marks, pytest.mark.slow] if slow else marks))
    return out


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

_TWO = GNTK(2, 1)
MIX = fg.selection.Search(depth_mode="mix")
_SUM = _TWO + GNTK(1, features="degree").normalized()
_FEATURES = {"alpha": 0.1, "solver": "features"}

ESTIMATORS = {
    "regressor": fg.GraphRegressor(_ONE),
    "normalised regressor": fg.GraphRegressor(_TWO.normalized(), 0.1),
    "regressor on a sum": fg.GraphRegressor(_SUM, 0.1),
    "regressor on a product, conjugate gradients": fg.GraphRegressor(_TWO * _ONE, 0.1, solver="cg", n_components=20),
    "regressor on colours": fg.GraphRegressor(fg.WL(2), 0.1),
    "chosen regressor": fg.GraphRegressorCV(SMALL, alphas=(1e-2, 1e-1)),
    "regressor chosen from composites": fg.GraphRegressorCV([_TWO, _SUM, 2.0 * _TWO * _ONE], alphas=(1e-2, 1e-1)),
    "regressor on features": fg.GraphRegressor(_TWO, n_components=60, **_FEATURES),
    "normalised regressor on features": fg.GraphRegressor(_ONE.normalized(), n_components=40, **_FEATURES),
    "ridge classifier on features": fg.GraphClassifier(_ONE, "ridge", n_components=60, **_FEATURES),
    "SVM": fg.GraphClassifier(_TWO.normalized()),
    "SVM on a sum": fg.GraphClassifier(0.5 * _SUM),
    "SVM on two families": fg.GraphClassifier((_ONE * fg.WLOA(2)).normalized()),
    "ridge classifier": fg.GraphClassifier(_ONE, "ridge", alpha=0.1),
    "ridge classifier on a product, Nyström": fg.GraphClassifier(
        (_TWO * _ONE).normalized(), "ridge", alpha=0.1, solver="nystrom", n_components=20
    ),
    "chosen SVM": fg.GraphClassifierCV(SMALL),
    "SVM chosen from composites": fg.GraphClassifierCV([_SUM, _SUM.normalized()]),
    "chosen ridge classifier": fg.GraphClassifierCV(SMALL, method="ridge", alphas=(1e-1,)),
    "kernel": fg.KernelTransformer(GNTK(2, 1, jump=(0.5, 0.0, 1.0))),
    "kernel of a sum": fg.KernelTransformer(_SUM),
    "GraKeL kernel": GrakelKernel(_SUM.normalized()),
    "Nyström": fg.Nystroem(_TWO, 12, "leverage"),
    "Nyström on colours": fg.Nystroem(fg.WLOA(2).normalized(), 9),
    "Nyström on a product": fg.Nystroem((_TWO * _ONE).normalized(), 9),
    "random features": fg.RandomFeatures(GNTK(2), 60, dtype="float64"),
    "normalised random features": fg.RandomFeatures(GNTK(2).normalized(), 60, dtype="float64"),
}
MODELS = {name: estimator for name, estimator in ESTIMATORS.items() if hasattr(estimator, "predict")}
_SLOW = [
    "normalised regressor on features",
    "regressor chosen from composites",
    "chosen SVM",
    "chosen ridge classifier",
    "SVM chosen from composites",
    "GraKeL kernel",
    "Nyström",
    "normalised random features",
]


def _names(table):
    return [pytest.param(name, marks=pytest.mark.slow) if name in _SLOW else name for name in table]


@pytest.fixture(params=_names(ESTIMATORS))
def estimator(request):
    return clone(ESTIMATORS[request.param])


@pytest.fixture(params=_names(ESTIMATORS), scope="module")
def fitted(request):
    """A fitted estimator, for tests that do not change it."""
    return learned(clone(ESTIMATORS[request.param]))


@pytest.fixture(params=_names(MODELS))
def model(request):
    return clone(MODELS[request.param])


def targets(estimator) -> np.ndarray:
    return NUMBERS if is_regressor(estimator) else CLASSES


def learned(estimator):
    return estimator.fit(TRAIN, targets(estimator)[:45])


def output(estimator, X) -> np.ndarray:
    """All predictions of an estimator, one row for each graph."""
    if is_regressor(estimator):
        return np.column_stack([*estimator.predict(X, return_std=True), *estimator.predict_interval(X)])
    if is_classifier(estimator):
        return np.column_stack([estimator.decision_function(X), estimator.predict_proba(X)])
    return estimator.transform(X)


def test_clone_has_the_parameters_but_not_the_fitted_state(fitted):
    copy = clone(fitted)
    assert repr(copy.get_params()) == repr(fitted.get_params())
    with pytest.raises(NotFittedError):
        output(copy, NEW)


def test_parameters_round_trip(estimator):
    other = type(estimator)().set_params(**estimator.get_params())
    assert other.get_params() == estimator.get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'depths'"):
        other.set_params(depths=3)


def test_repr_shows_parameters_that_differ_from_the_default():
    assert repr(ESTIMATORS["ridge classifier"]) == "GraphClassifier(alpha=0.1, kernel=GNTK(blocks=1), method='ridge')"
    assert repr(fg.GraphRegressorCV(search=MIX)) == "GraphRegressorCV(search=Search(depth_mode='mix'))"


@pytest.mark.slow
def test_every_form_of_graphs_gives_the_same_predictions(fitted):
    expected = output(fitted, NEW)
    again = clone(fitted).fit(np.array(list(TRAIN), dtype=object), targets(fitted)[:45].tolist())
    for new in (list(NEW), Dataset(NEW, None, "some"), np.array(list(NEW), dtype=object)):
        assert np.array_equal(output(again, new), expected)


@pytest.mark.parametrize("form", [list, lambda X: Dataset(X, None, "some")], ids=["list", "data set"])
def test_every_form_of_graphs_gives_the_same_model(form):
    for name in ("regressor on a sum", "SVM", "kernel", "random features"):
        model = learned(clone(ESTIMATORS[name]))
        again = clone(model).fit(form(TRAIN), targets(model)[:45])
        assert np.array_equal(output(again, NEW), output(model, NEW))


def test_methods_raise_not_fitted_error_before_fit(model):
    for method in ("predict", "similarities", "nearest", "predict_details", "explain", "save", "annotate"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(NEW[:1])


def test_pickled_estimator_predicts_the_same(fitted):
    assert np.array_equal(output(pickle.loads(pickle.dumps(fitted)), NEW), output(fitted, NEW))


@pytest.mark.slow
def test_memory_mapped_estimator_predicts_the_same(tmp_path, fitted):
    joblib.dump(fitted, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert np.array_equal(output(mapped, NEW), output(fitted, NEW))


def test_mix_of_depths_equals_the_plain_model():
    model = fg.GraphRegressorCV(SMALLEST, search=MIX, alphas=(0.1,)).fit(TRAIN, NUMBERS[:45])
    alone = fg.GraphRegressor(**model.best_params_).fit(TRAIN, NUMBERS[:45])
    assert np.array_equal(output(model, NEW), output(alone, NEW))
    assert np.array_equal(output(pickle.loads(pickle.dumps(model)), NEW), output(model, NEW))


@pytest.mark.slow
def test_fitting_again_equals_fitting_once(estimator):
    y = targets(estimator)
    fresh = clone(estimator).fit(TRAIN[:30], y[:30])
    learned(estimator).fit(TRAIN[:30], y[:30])
    assert np.array_equal(output(estimator, NEW), output(fresh, NEW))
    assert vars(estimator).keys() == vars(fresh).keys()


def test_fitting_again_drops_names(tmp_path, model):
    learned(model).annotate([str(i) for i in range(45)], source="elsewhere")
    model.fit(TRAIN[:30], targets(model)[:30]).save(tmp_path / "model.fgntk")
    again = fg.load_model(tmp_path / "model.fgntk")
    assert not hasattr(again, "training_names_")
    assert again.metadata_ == {}


def test_fit_changes_neither_parameters_nor_data(estimator):
    params, y = estimator.get_params(), targets(estimator)[:45].copy()
    estimator.fit(TRAIN, y)
    assert estimator.get_params() == params
    assert np.array_equal(y, targets(estimator)[:45])


@pytest.mark.slow
def test_prediction_depends_on_its_graph_alone(fitted):
    expected = output(fitted, NEW)
    order = np.random.default_rng(0).permutation(len(NEW))
    FLOAT64.check(output(fitted, NEW[order]), expected[order])
    FLOAT64.check(np.concatenate([output(fitted, [graph]) for graph in NEW[:8]]), expected[:8])


# Pipelines, cross-validation and searches of scikit-learn.


def _scores(K, y, estimator):
    """Scores of a precomputed kernel over three folds."""
    scores = []
    for train, test in KFold(3).split(K):
        fitted = clone(estimator).fit(K[np.ix_(train, train)], y[train])
        scores.append(fitted.score(K[np.ix_(test, train)], y[test]))
    return np.array(scores)


@pytest.mark.parametrize(
    ("X", "estimator", "y"),
    [
        (GRAPHS, SVC(kernel="precomputed"), CLASSES),
        (np.array(list(GRAPHS), dtype=object), KernelRidge(kernel="precomputed"), NUMBERS),
    ],
    ids=["batch", "array"],
)
def test_pipeline_scores_equal_those_of_precomputed_kernels(X, estimator, y):
    pipeline = make_pipeline(fg.KernelTransformer(_TWO.normalized()), estimator)
    expected = _scores(gram(GRAPHS, _TWO.normalized()), y, estimator)
    FLOAT64.check(cross_val_score(pipeline, X, y, cv=KFold(3), error_score="raise"), expected)


@pytest.mark.slow
def test_pipeline_can_be_searched():
    pipeline = make_pipeline(fg.KernelTransformer(GNTK(1, 1).normalized()), SVC(kernel="precomputed"))
    options = {"kerneltransformer__kernel__kernel__blocks": [1, 3], "svc__C": [0.1, 100.0]}
    search = GridSearchCV(pipeline, options, cv=KFold(3), error_score="raise").fit(list(GRAPHS), CLASSES)
    expected = [
        _scores(gram(GRAPHS, GNTK(blocks, 1).normalized()), CLASSES, SVC(kernel="precomputed", C=C)).mean()
        for blocks in (1, 3)
        for C in (0.1, 100.0)
    ]
    FLOAT64.check(search.cv_results_["mean_test_score"], expected)
    assert search.predict(list(NEW)).shape == (25,)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (fg.GraphRegressor(_TWO), {"kernel__blocks": [1, 2], "alpha": [1e-2, 10.0]}),
        (fg.GraphRegressor(_SUM), {"kernel__k1__blocks": [1, 2], "kernel__k2__kernel__layers": [1, 2]}),
        (
            fg.GraphClassifier(_TWO.normalized(), probability=False),
            {"kernel__kernel__blocks": [1, 2], "C": [0.1, 100.0]},
        ),
    ],
    ids=["regressor", "regressor on a sum", "SVM"],
)
def test_grid_search_scores_equal_those_of_single_estimators(estimator, options):
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


def test_searches_can_be_cross_validated():
    assert cross_val_score(ESTIMATORS["chosen regressor"], list(GRAPHS), NUMBERS, cv=3).min() > 0.5
    assert cross_val_score(ESTIMATORS["chosen SVM"], list(GRAPHS), CLASSES, cv=3).min() > 0.6


# Values.


@pytest.mark.filterwarnings("ignore::fastgntk.UnseenLabelWarning")
@pytest.mark.parametrize("kernel", [GNTK(2, 1, "degree"), GNTK(2, 1, "degree").normalized(), _SUM * _TWO])
def test_kernel_values_do_not_depend_on_the_fitted_graphs(kernel):
    """Also for new graphs with labels that no training graph has."""
    rare = [i for i, graph in enumerate(_MUTAG.graphs) if graph.labels.max() > 2][:8]
    new = _MUTAG.graphs[rare]
    K = gram(TRAIN + new, kernel)
    step = fg.KernelTransformer(kernel)
    FLOAT64.check(step.fit_transform(TRAIN), K[:45, :45])
    FLOAT64.check(step.transform(new), K[45:, :45])
    FLOAT64.check(step.fit(TRAIN[:5]).transform(new), K[45:, :5])


def test_unseen_labels_raise_a_warning():
    rare = next(graph for graph in _MUTAG.graphs if graph.labels.max() > 2)
    for name in ("regressor", "regressor on a sum"):
        model = learned(clone(ESTIMATORS[name]))
        with pytest.warns(UnseenLabelWarning, match="in 1 graphs have a label that no training graph has"):
            model.predict([rare])
    for step in (fg.KernelTransformer(_ONE), fg.Nystroem(_ONE, 5)):
        step.fit(TRAIN)
        with pytest.warns(UnseenLabelWarning, match="in 1 graphs have a label that no training graph has"):
            step.transform([rare])


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["cholesky", "eigen", "nystrom", "sketched", "cg", "features"])
def test_several_targets_equal_single_ones(solver):
    Y = np.column_stack([NUMBERS, 1e3 * np.cos(GRAPHS.sizes), np.full(len(NUMBERS), 7.0)])
    model = fg.GraphRegressor(_ONE, 0.1, solver=solver, n_components=20).fit(TRAIN, Y[:45])
    mean, std = model.predict(NEW, return_std=True)
    ends = model.predict_interval(NEW, 0.8)
    for k in range(3):
        alone = clone(model).fit(TRAIN, Y[:45, k])
        FLOAT64.check(mean[:, k], alone.predict(NEW))
        FLOAT64.check(std[:, k], alone.predict(NEW, return_std=True)[1])
        for end, expected in zip(ends, alone.predict_interval(NEW, 0.8), strict=True):
            FLOAT64.check(end[:, k], expected)
        explained = model.explain(NEW[0], target=k)
        FLOAT64.check(explained.node_contributions, alone.explain(NEW[0]).node_contributions)


@pytest.mark.parametrize("kernel", [_ONE, _ONE.normalized()], ids=["raw", "normalised"])
@pytest.mark.parametrize("kind", [fg.GraphRegressor, fg.GraphClassifier])
def test_integer_weights_equal_repeated_graphs(kind, kernel):
    model = kind(kernel, alpha=0.1)
    if is_classifier(model):
        model.set_params(method="ridge")
    predict = (lambda m: m.predict(NEW)) if is_regressor(model) else (lambda m: m.decision_function(NEW))
    y, weights = targets(model)[:45], np.arange(45) % 3 + 1
    several = np.repeat(np.arange(45), weights)
    weighted = predict(model.fit(TRAIN, y, sample_weight=weights))
    FLOAT64.check(weighted, predict(clone(model).fit(TRAIN[several], y[several])))
    assert not np.allclose(weighted, predict(clone(model).fit(TRAIN, y)))


@pytest.mark.parametrize("method", ["svm", "ridge"])
@pytest.mark.parametrize("names", [np.array(["no", "yes"]), np.array(["no", "yes"], dtype=object), np.array([3, 17])])
def test_class_names_do_not_change_predictions(method, names):
    plain = fg.GraphClassifier(_ONE, method).fit(TRAIN, CLASSES[:45])
    numbers = np.searchsorted(plain.classes_, CLASSES)
    model = clone(plain).fit(TRAIN, names[numbers[:45]])
    assert np.array_equal(model.decision_function(NEW), plain.decision_function(NEW))
    assert np.array_equal(model.predict(NEW), names[np.searchsorted(plain.classes_, plain.predict(NEW))])
    assert model.classes_.tolist() == names.tolist()
    assert model.score(NEW, names[numbers[45:]]) == plain.score(NEW, CLASSES[45:])
    assert model.explain(NEW[0], of_class=names[1]).prediction == plain.explain(NEW[0], of_class=1).prediction


@pytest.mark.parametrize("method", ["svm", "ridge"])
@pytest.mark.parametrize("kind", [fg.GraphClassifier(_ONE), fg.GraphClassifierCV(SMALL, alphas=(1e-2,))])
def test_three_classes_have_a_decision_value_each(kind, method):
    sizes = np.array(["small", "middle", "large"])[np.digitize(GRAPHS.sizes, [15, 19])]
    model = clone(kind).set_params(method=method).fit(TRAIN, sizes[:45])
    decisions, probabilities = model.decision_function(NEW), model.predict_proba(NEW)
    assert decisions.shape == probabilities.shape == (25, 3)
    assert np.array_equal(model.predict(NEW), model.classes_[decisions.argmax(axis=1)])
    assert model.score(NEW, sizes[45:]) > 0.7
    FLOAT64.check(probabilities.sum(axis=1), np.ones(25))
    assert probabilities.min() > 0
    for k in range(3):  # the order of decision values and of odds before normalisation
        odds = model.sigmoids_.slope[k] * decisions[:, k] + model.sigmoids_.shift[k]
        assert np.array_equal(np.argsort(odds, kind="stable"), np.argsort(decisions[:, k], kind="stable"))


def test_probabilities_follow_the_decision_and_add_up_to_one():
    for name in ("SVM", "ridge classifier", "chosen SVM", "chosen ridge classifier", "SVM on a sum"):
        model = learned(clone(ESTIMATORS[name]))
        decisions, probabilities = model.decision_function(NEW), model.predict_proba(NEW)
        FLOAT64.check(probabilities.sum(axis=1), np.ones(25))
        assert np.array_equal(np.argsort(decisions), np.argsort(probabilities[:, 1]))
        assert np.ptp(probabilities[:, 1]) > 0.2


def test_predict_proba_needs_probability():
    model = fg.GraphClassifier(_ONE, probability=False).fit(TRAIN, CLASSES[:45])
    assert model.predict_details(NEW).probabilities is None
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(NEW)


# Error messages.

_REGRESSORS = [ESTIMATORS["regressor"], ESTIMATORS["chosen regressor"]]
_CLASSIFIERS = [ESTIMATORS["SVM"], ESTIMATORS["chosen ridge classifier"]]


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
def test_invalid_targets_are_refused(estimator, y, words):
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
def test_invalid_classes_are_refused(estimator, y, words):
    with pytest.raises(InputError, match=words):
        clone(estimator).fit(GRAPHS, y)


@pytest.mark.parametrize("estimator", [*_REGRESSORS, _CLASSIFIERS[1]])
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(69), r"sample_weight must have shape \(70,\), one weight .* has shape \(69,\)"),
        (np.ones((70, 1)), r"sample_weight must have shape \(70,\)"),
        (_with(np.ones(70), {3: 0.0}), "sample_weight must be finite and above .* for graph 3"),
        (_with(np.ones(70), {3: -1.0, 8: np.nan}), "sample_weight must be finite and above .* for graphs 3 and 8"),
        (["much"] * 70, "sample_weight"),
    ],
)
def test_invalid_weights_are_refused(estimator, weights, words):
    with pytest.raises(InputError, match=words):
        clone(estimator).fit(GRAPHS, targets(estimator), sample_weight=weights)


@pytest.mark.parametrize("name", ["SVM", "chosen SVM"])
def test_support_vector_machines_take_no_weights(name):
    with pytest.raises(InputError, match="sample_weight needs method='ridge'"):
        clone(ESTIMATORS[name]).fit(TRAIN, CLASSES[:45], sample_weight=np.ones(45))


def test_empty_batch_is_refused_in_fit_and_predicted(fitted):
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
        fg.GraphRegressor(GNTK(1) + GNTK(1, features="attributes")),
        fg.GraphClassifier(),
        fg.KernelTransformer(),
        fg.Nystroem(),
        fg.RandomFeatures(),
    ],
)
def test_graphs_of_another_kind_are_refused(estimator, graphs, words):
    rng = np.random.default_rng(5)
    train = [Graph.from_edges([(0, 1)], 2, rng.random((2, 2))) for _ in range(6)]
    estimator = clone(estimator).fit(train, [0, 1] * 3)
    call = estimator.transform if hasattr(estimator, "transform") else estimator.predict
    with pytest.raises(InputError, match=words):
        call(graphs)


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (fg.GraphRegressor, {"alpha": -1.0}, r"alpha must be a number, 0 or more, but is -1\.0"),
        (fg.GraphRegressor, {"solver": "magic"}, "solver must be one of auto, cholesky"),
        (fg.GraphRegressor, {"solver": "nystrom", "n_components": 0}, "n_components must be an integer, 1 or more"),
        (fg.GraphRegressor, {"random_state": -1}, "random_state must be an integer, 0 or more"),
        (fg.GraphRegressor, {"random_state": 2**32}, r"random_state must be an integer in 0\.\.4294967295"),
        (
            fg.GraphRegressorCV,
            {"kernels": {"blocks": [1]}},
            "kernels must be .* sequence of kernels .* but has type dict",
        ),
        (fg.GraphRegressorCV, {"kernels": [_ONE, "GNTK()"]}, "kernels must be .*, but item 1 has type str"),
        (fg.GraphRegressorCV, {"kernels": []}, "kernels must be .*, but is empty"),
        (fg.GraphRegressorCV, {"search": "mix"}, "search must be a Search, such as .*, but has type str"),
        (
            fg.GraphRegressorCV,
            {"kernels": [_SUM], "search": MIX},
            "depth_mode='mix' needs a single GNTK",
        ),
        (fg.GraphRegressorCV, {"alphas": ()}, "alphas must be numbers above 0"),
        (fg.GraphClassifier, {"C": 0.0}, r"C must be a number above 0, but is 0\.0"),
        (fg.GraphClassifier, {"method": "tree"}, "method must be svm or ridge, but is 'tree'"),
        (fg.GraphClassifier, {"method": "ridge", "alpha": "much"}, "alpha must be a number, 0 or more, but is 'much'"),
        (fg.GraphClassifier, {"class_weight": {0: 2}}, "class_weight must be None or 'balanced'"),
        (fg.GraphClassifierCV, {"method": "tree"}, "method must be svm or ridge, but is 'tree'"),
        (fg.Nystroem, {"n_components": 0}, "n_components must be an integer, 1 or more, but is 0"),
        (fg.Nystroem, {"selection": "best"}, r"selection must be one of uniform, kmeans\+\+, leverage"),
        (fg.Nystroem, {"selection": ["uniform"]}, "selection must be one of"),
        (fg.RandomFeatures, {"n_components": 1.5}, r"n_components must be an integer, 2 or more, but is 1\.5"),
        (fg.RandomFeatures, {"n_components": 5}, "n_components must be 7 or more for 3 blocks, but is 5"),
        (fg.RandomFeatures, {"dtype": "int8"}, "dtype must be 'float32' or 'float64', but is 'int8'"),
        (fg.RandomFeatures, {"exact_norms": 1}, "exact_norms must be True or False, but is 1"),
        (
            fg.RandomFeatures,
            {"kernel": _SUM},
            "random features need a single GNTK or NNGP without a sketch, normalised or not",
        ),
        (
            fg.RandomFeatures,
            {"kernel": GNTK(sketch=Sketch())},
            "random features need a single GNTK or NNGP without a sketch",
        ),
        (
            fg.GraphRegressor,
            {"solver": "features", "kernel": _SUM},
            "random features need a single GNTK or NNGP without a sketch",
        ),
        (
            fg.GraphClassifier,
            {"method": "ridge", "solver": "features", "kernel": GNTK(sketch=Sketch(size=4))},
            "random features need a single GNTK or NNGP without a sketch",
        ),
    ],
)
def test_invalid_parameter_is_refused_when_fitting(kind, options, words):
    estimator = kind(**options)  # scikit-learn's rule: nothing is checked before fit
    with pytest.raises(InputError, match=f"{words}.*\\.$"):
        estimator.fit(TRAIN, targets(estimator)[:45])


# Kernel and compute, which every estimator takes.

_SEARCHES = [fg.GraphRegressorCV, fg.GraphClassifierCV]
_OF_NODES = [fg.NodeRegressor, fg.NodeClassifier]
_OTHERS = [fg.GraphRegressor, fg.GraphClassifier, fg.KernelTransformer, fg.Nystroem, fg.RandomFeatures, GrakelKernel]
EVERY = [*_OTHERS, ProcessKernel, *_OF_NODES, *_SEARCHES]


def fit_any(estimator):
    if isinstance(estimator, ProcessKernel):
        estimator(TRAIN)
    elif type(estimator) in _OF_NODES:
        estimator.fit(TRAIN[0], np.arange(TRAIN[0].n_nodes) % 2)
    else:
        learned(estimator)
    return estimator


def predict_any(estimator):
    if isinstance(estimator, ProcessKernel):
        return estimator(NEW, TRAIN)
    return estimator.predict() if type(estimator) in _OF_NODES else output(estimator, NEW)


def test_tables_hold_every_estimator():
    public = [getattr(module, name) for module in (fg.models, fg.selection) for name in module.__all__]
    kinds = {kind for kind in public if isinstance(kind, type) and issubclass(kind, BaseEstimator)}
    abstract = {
        fg.models.GraphModel,
        fg.models.RegressionModel,
        fg.models.ClassificationModel,
    }
    assert kinds - abstract == set(EVERY) - {GrakelKernel, ProcessKernel}
    assert {type(estimator) for estimator in ESTIMATORS.values()} == set(EVERY) - {ProcessKernel, *_OF_NODES}


@pytest.mark.parametrize("kind", EVERY)
def test_number_of_parameters(kind):
    assert len(kind().get_params(deep=False)) <= 10


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind not in _SEARCHES])
@pytest.mark.parametrize("kernel", ["GNTK()", GNTK, {"blocks": 2}, None], ids=["text", "class", "dict", "None"])
def test_kernel_of_the_wrong_type_is_refused(kind, kernel):
    words = r"^kernel must be a kernel such as fastgntk\.GNTK\(\), but has type \w+(; parse a string with .*)?\.$"
    with pytest.raises(InputError, match=words):
        fit_any(kind(kernel=kernel))


@pytest.mark.parametrize("kind", _SEARCHES)
@pytest.mark.parametrize("kernels", ["GNTK()", GNTK(), 3], ids=["text", "kernel", "number"])
def test_candidates_of_the_wrong_type_are_refused(kind, kernels):
    words = (
        r"^kernels must be a Grid, Candidates or a sequence of kernels to try, but has type \w+(; pass \[kernel\])?\.$"
    )
    with pytest.raises(InputError, match=words):
        fit_any(kind(kernels=kernels))


@pytest.mark.parametrize("kind", EVERY)
def test_compute_of_the_wrong_type_is_refused(kind):
    words = r"^compute must be a fastgntk\.Compute, such as Compute\(n_jobs=2\), but has type dict\.$"
    with pytest.raises(InputError, match=words):
        fit_any(kind(compute={"n_jobs": 2}))


@pytest.mark.parametrize("kind", EVERY)
def test_compute_none_is_the_default(kind):
    options = {"kernels": [_ONE]} if kind in _SEARCHES else {"kernel": _ONE}
    none, default = (fit_any(kind(**options, **more)) for more in ({"compute": None}, {}))
    assert np.array_equal(predict_any(none), predict_any(default))


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind not in _SEARCHES])
def test_nested_parameter_replaces_the_kernel(kind):
    estimator = kind(kernel=_ONE)
    assert estimator.set_params(kernel__blocks=2, compute__n_jobs=1) is estimator
    assert (estimator.kernel, estimator.compute) == (GNTK(2), Compute(n_jobs=1))
    assert GNTK(1) == _ONE
    expected = fit_any(kind(kernel=GNTK(2)))
    assert np.array_equal(predict_any(fit_any(estimator)), predict_any(expected))
    with pytest.raises(ValueError, match="depths"):
        estimator.set_params(kernel__depths=2)


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind not in (*_SEARCHES, *_OF_NODES)])
def test_nested_parameter_of_a_composite_kernel(kind):
    estimator = kind(kernel=_TWO + GNTK(1).normalized())
    estimator.set_params(kernel__k1__blocks=4, kernel__k2__kernel__layers=3)
    assert estimator.kernel == GNTK(4, 1) + GNTK(1, 3).normalized()
    assert estimator.get_params()["kernel__k2__kernel__layers"] == 3


@pytest.mark.parametrize("kind", EVERY)
def test_clone_keeps_the_same_kernel_object(kind):
    options = {"kernels": (_TWO, _SUM)} if kind in _SEARCHES else {"kernel": _SUM}
    compute = Compute(n_jobs=1)
    copy = clone(kind(**options, compute=compute))
    assert copy.compute is compute
    if kind in _SEARCHES:
        assert all(one is other for one, other in zip(copy.kernels, options["kernels"], strict=True))
    else:
        assert copy.kernel is _SUM


def test_negative_edge_weights_are_refused_as_by_gram():
    with pytest.raises(InputError) as expected:
        gram(NEGATIVE_WEIGHTS, GNTK(scale="degree"))
    with pytest.raises(InputError) as found:
        fg.GraphRegressor(GNTK(scale="degree")).fit(NEGATIVE_WEIGHTS, [0.0, 1.0])
    assert str(found.value) == str(expected.value)


def test_transform_equals_cross_gram():
    for kernel in (_TWO, _SUM.normalized()):
        FLOAT64.check(fg.KernelTransformer(kernel).fit(TRAIN).transform(NEW), cross_gram(NEW, TRAIN, kernel))
