"""Test graphs have no influence on kernels that are fitted to training graphs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.tables import EXACT

import fastgntk as fg
from fastgntk import GNTK, RBF, Compute, Linear, Tanimoto
from fastgntk.selection import Candidates, CrossValidation, evaluate, evaluation_out_of_fold
from fastgntk.selection._fold_grams import FoldGrams, kernel_matrices
from fastgntk.selection._grid import group_into_passes

MUTAG = fg.datasets.load("MUTAG")
NUMBERS = (MUTAG.y > 0).astype(np.int64)
ONE_JOB = Compute(n_jobs=1)
BASE = GNTK(1, 1)
KERNELS = [(BASE.normalized() + RBF("x")).normalized(), BASE * RBF("x") + Linear("x"), RBF("x", 1.0)]


def blocks(n: int = 188) -> np.ndarray:
    x = np.random.default_rng(0).standard_normal((n, 3))
    x[:, 0] += NUMBERS[:n]
    return x


def run(x):
    graphs, candidates = MUTAG.graphs.with_descriptors(x=x), Candidates(tuple(KERNELS), (1.0, 10.0))
    options = {"kernels": candidates, "cv": CrossValidation(4, inner_folds=2, inner_repeats=1), "compute": ONE_JOB}
    result = evaluate(graphs, MUTAG.y, **options)
    return result, evaluation_out_of_fold(graphs, NUMBERS, result, compute=ONE_JOB)


def test_a_test_graph_changes_no_other_prediction_of_its_fold():
    (result, found), x = run(blocks()), blocks()
    test = result.record.folds[0][1]
    x[test[0]] = 1e6
    other, changed = run(x)
    assert changed.values[test[0]] != found.values[test[0]]
    for name in ("values", "predicted", "probabilities", "nearest", "cosines"):
        assert np.array_equal(getattr(found, name)[test[1:]], getattr(changed, name)[test[1:]]), name
    assert other.choices[0] == result.choices[0]
    accuracies = [np.mean(found.predicted[test] == NUMBERS[test]) for _, test in result.record.folds]
    assert accuracies == list(result.accuracies)


@pytest.mark.parametrize("kernel", [*KERNELS, Tanimoto("counts"), BASE + Linear("x", "none")], ids=repr)
def test_matrices_of_folds_are_those_of_the_training_graphs(kernel):
    counts = np.random.default_rng(1).poisson(1.0, (40, 6))
    graphs = MUTAG.graphs[:40].with_descriptors(x=blocks(40), counts=counts)
    paths = group_into_passes([kernel])[0].compute(graphs, ONE_JOB)
    source = kernel_matrices(kernel, paths, graphs, ONE_JOB)
    train = np.arange(5, 33)
    if not any(leaf.requires_fit for leaf in kernel.leaves()):
        assert isinstance(source, np.ndarray)
        EXACT.check(source, fg.gram(graphs, kernel))
        return
    assert isinstance(source, FoldGrams)
    EXACT.check(source.matrix(train)[:, train], fg.cross_gram(graphs, graphs[train], kernel))
    EXACT.check(source.matrix(np.arange(40)), fg.gram(graphs, kernel))
    assert np.array_equal(pickle.loads(pickle.dumps(source)).matrix(train), source.matrix(train))  # for processes


def test_searches_choose_among_kernels_on_descriptors():
    graphs, y = MUTAG.graphs[:90].with_descriptors(x=blocks(90)), blocks(90)[:, 1] ** 2
    regressor = fg.GraphRegressorCV([BASE, RBF("x"), Linear("x")], compute=ONE_JOB).fit(graphs, y)
    assert regressor.best_params_["kernel"] == RBF("x")
    classifier = fg.GraphClassifierCV([RBF("x"), Linear("x")], compute=ONE_JOB).fit(graphs, y > 0.5)
    assert classifier.best_params_["kernel"] == RBF("x")
    # The accuracy is that of support vector machines with scales of each training part.
    options = classifier.best_params_
    splits = fg.models.lenient_stratified_folds((y > 0.5).astype(np.int64), 0)
    correct = 0
    for train, test in splits:
        svm = fg.GraphClassifier(**options, probability=False).fit(graphs[train], y[train] > 0.5)
        correct += int(np.sum(svm.predict(graphs[test]) == (y[test] > 0.5)))
    assert classifier.best_score_ == pytest.approx(correct / 90, abs=1e-12)
