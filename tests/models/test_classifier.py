from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from fastgntk import GNTK, GraphClassifier, InputError, datasets, gram

KERNEL = GNTK(2, 1).normalized()
DATA = datasets.load("MUTAG")
TRAIN, TEST = slice(0, 140), slice(140, 188)
# libsvm stops at violations of 0.01; a kernel that differs in the last digits may make it stop elsewhere.
SVM_TOLERANCE = 0.02
SIZES = np.digitize(DATA.graphs.sizes, [15, 20])  # three classes


def test_two_classes_equal_those_of_scikit_learns_svm():
    K = gram(DATA.graphs, KERNEL)
    among = K[TRAIN, TRAIN]
    unit = among.diagonal().mean() - among.mean()
    svm = SVC(kernel="precomputed", C=100.0, tol=1e-2).fit(among / unit, DATA.y[TRAIN])
    model = GraphClassifier(KERNEL, C=100.0).fit(DATA.graphs[TRAIN], DATA.y[TRAIN])
    decisions = model.decision_function(DATA.graphs[TEST])
    expected = svm.decision_function(K[TEST, TRAIN] / unit)
    np.testing.assert_allclose(decisions, expected, atol=SVM_TOLERANCE)
    sure = np.abs(expected) > SVM_TOLERANCE
    assert np.array_equal(model.predict(DATA.graphs[TEST])[sure], svm.predict(K[TEST, TRAIN] / unit)[sure])


def test_each_of_three_classes_has_an_svm_against_the_others():
    K = gram(DATA.graphs, KERNEL)
    among = K[TRAIN, TRAIN]
    unit = among.diagonal().mean() - among.mean()
    model = GraphClassifier(KERNEL, C=10.0).fit(DATA.graphs[TRAIN], SIZES[TRAIN])
    decisions = model.decision_function(DATA.graphs[TEST])
    for c in range(3):
        svm = SVC(kernel="precomputed", C=10.0, tol=1e-2).fit(among / unit, SIZES[TRAIN] == c)
        expected = svm.decision_function(K[TEST, TRAIN] / unit)
        np.testing.assert_allclose(decisions[:, c], expected, atol=SVM_TOLERANCE)
    assert np.array_equal(model.predict(DATA.graphs[TEST]), decisions.argmax(axis=1))


def test_probabilities_equal_those_of_scikit_learns_calibration():
    K = gram(DATA.graphs, KERNEL)
    among = K[TRAIN, TRAIN]
    model = GraphClassifier(KERNEL, C=10.0).fit(DATA.graphs[TRAIN], DATA.y[TRAIN])
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    unit = among.diagonal().mean() - among.mean()
    other = CalibratedClassifierCV(SVC(kernel="precomputed", C=10.0), cv=folds, ensemble=False)
    other.fit(among / unit, DATA.y[TRAIN])
    expected = other.predict_proba(K[TEST, TRAIN] / unit)
    # In each fold the kernel is divided by the variance of that fold's graphs, which moves C by a few per cent.
    np.testing.assert_allclose(model.predict_proba(DATA.graphs[TEST]), expected, atol=0.03)


def test_ridge_on_classes_is_ridge_regression_on_signs():
    K = 1.0 + gram(DATA.graphs, KERNEL)
    signs = np.where(SIZES[TRAIN, None] == np.arange(3), 1.0, -1.0)
    alpha = np.linalg.solve(K[TRAIN, TRAIN] + 1e-2 * np.eye(140), signs - signs.mean(axis=0))
    model = GraphClassifier(KERNEL, "ridge", alpha=1e-2).fit(DATA.graphs[TRAIN], SIZES[TRAIN])
    expected = K[TEST, TRAIN] @ alpha + signs.mean(axis=0)
    # Kernel values in another order of graphs differ by 1e-8 (tests/tables.py); over a ridge of 1e-2 that makes 1e-6.
    np.testing.assert_allclose(model.decision_function(DATA.graphs[TEST]), expected, atol=1e-6)
    probabilities = model.predict_proba(DATA.graphs[TEST])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.mean(probabilities.argmax(axis=1) == SIZES[TEST]) > 0.7


@pytest.mark.parametrize("method", ["svm", "ridge"])
def test_balanced_weights_predict_the_rare_class_more_often(method):
    rare = (DATA.graphs.sizes > 24).astype(int)
    counts = [
        GraphClassifier(GNTK(1, 1).normalized(), method, C=0.1, alpha=1.0, class_weight=weight)
        .fit(DATA.graphs, rare)
        .predict(DATA.graphs)
        .sum()
        for weight in (None, "balanced")
    ]
    assert counts[0] < counts[1]


def test_a_class_of_one_graph_can_be_learned():
    y = np.array(["a"] * 10 + ["b"] * 9 + ["c"])
    model = GraphClassifier(GNTK(1, 1), C=100.0).fit(DATA.graphs[:20], y)
    assert model.predict_proba(DATA.graphs[:20]).shape == (20, 3)
    assert set(model.predict(DATA.graphs[:20])) <= {"a", "b", "c"}


def test_without_calibration_there_are_no_probabilities():
    model = GraphClassifier(GNTK(1, 1), probability=False).fit(DATA.graphs[:40], DATA.y[:40])
    assert model.predict_details(DATA.graphs[:3]).probabilities is None
    assert not hasattr(model, "predict_proba")
    model.probability = True
    with pytest.raises(InputError, match="not calibrated; fit with probability=True"):
        model.predict_proba(DATA.graphs[:3])


def test_review_equals_the_single_predictions():
    model = GraphClassifier(GNTK(1, 1)).fit(DATA.graphs[:60], DATA.y[:60])
    found = model.predict_details(DATA.graphs[60:70])
    assert np.array_equal(found.label, model.predict(DATA.graphs[60:70]))
    assert np.array_equal(found.probabilities, model.predict_proba(DATA.graphs[60:70]))
    assert np.array_equal(found.nearest, model.nearest(DATA.graphs[60:70])[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "tree"}, "method must be svm or ridge, but is 'tree'"),
        ({"class_weight": {0: 1}}, "class_weight must be None or 'balanced'"),
        ({"C": 0}, "C must be a number above 0, but is 0"),
    ],
)
def test_invalid_option_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        GraphClassifier(**options).fit(DATA.graphs[:20], DATA.y[:20])


def test_one_class_is_refused():
    with pytest.raises(InputError, match="needs at least two classes, but all 5 graphs are of class 1"):
        GraphClassifier().fit(DATA.graphs[:5], np.ones(5, dtype=int))
