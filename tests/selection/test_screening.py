"""Screening before support vector machines: the same protocol for fewer kernels, and test graphs take no part."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from fastgntk import GNTK, RBF, WL, Compute, Graph, GraphBatch, InputError, Linear, datasets, gram
from fastgntk.report import report_evaluation
from fastgntk.selection import CrossValidation, Grid, _grid, _screening, evaluate, evaluation_out_of_fold, outer_splits
from fastgntk.selection._screening import screening_sample, screening_score

DATA = datasets.load("MUTAG")
GRAPHS, Y = DATA.graphs[::2], DATA.y[::2]
GRID = Grid(blocks=(1, 3), layers=(1,), C=(1.0, 100.0))  # 16 kernels
OPTIONS = {"kernels": GRID, "compute": Compute(n_jobs=1)}
CV = CrossValidation(folds=4, inner_folds=3, inner_repeats=1, n_finalists=len(GRID))


@pytest.fixture(scope="module")
def complete():
    return evaluate(GRAPHS, Y, CV, **OPTIONS)


def test_all_kernels_as_finalists_change_nothing(complete):
    same = evaluate(GRAPHS, Y, replace(CV, n_finalists=100), **OPTIONS)
    assert same.accuracies == complete.accuracies
    assert same.choices == complete.choices
    np.testing.assert_array_equal(same.record.scores, complete.record.scores)


@pytest.mark.parametrize("protocol", ["nested", "du2019"])
def test_support_vector_machines_are_fitted_for_finalists_only(protocol):
    stages = []
    result = evaluate(
        GRAPHS,
        Y,
        **OPTIONS,
        cv=replace(CV, protocol=protocol, n_finalists=3),
        progress=lambda *args: stages.append(args),
    )
    splits = 4 * (1 + 3) if protocol == "nested" else 4
    assert result.n_fits == 3 * splits * 2
    known = ~np.isnan(result.record.scores)
    assert known.all(axis=1).sum() == known.any(axis=1).sum() >= 3
    assert known.all(axis=1).sum() == 3 or protocol == "nested"
    assert all(known[result.record.kernels.index(choice.kernel)].all() for choice in result.choices)
    fractions = [done / total for stage, done, total in stages if stage == "learning"]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def copies(graph, count=30):
    n = graph.n_nodes
    edges = [(i, int(j)) for i in range(n) for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]] if i < j]
    shifted = [(a + n * k, b + n * k) for k in range(count) for a, b in edges]
    return Graph.from_edges(shifted, n * count, labels=np.tile(graph.labels, count))


def refitted_error(K, signs, train):
    """Leave-one-out error rate within the training graphs by a separate fit for each, for the best ridge."""
    within = K[np.ix_(train, train)]
    variance = within.diagonal().mean() - within.mean()
    A, best = K / 2.0 ** round(np.log2(variance)) + 1.0, np.inf
    for ridge in (1e-3, 1e-2, 1e-1):
        residuals = np.empty(len(train))
        for k, i in enumerate(train):
            rest = np.delete(train, k)
            alpha = np.linalg.solve(A[np.ix_(rest, rest)] + ridge * np.eye(len(rest)), signs[rest])
            residuals[k] = signs[i] - A[i, rest] @ alpha
        misses = np.mean((signs[train] - residuals > 0) != (signs[train] > 0))
        best = min(best, misses + 0.999 / len(train) * min(1.0, np.mean(residuals**2)))
    return best


def test_a_single_finalist_is_the_best_of_separate_fits():
    kernels = [GNTK(3, 1), GNTK(1, 1, "degree").normalized(), GNTK(2, 2).normalized()]
    result = evaluate(GRAPHS, Y, **(OPTIONS | {"kernels": kernels}), cv=replace(CV, n_finalists=1))
    signs = np.where(Y.max() == Y, 1.0, -1.0)
    grams = [gram(GRAPHS, kernel) for kernel in kernels]
    for (train, _), choice in zip(result.record.folds, result.choices, strict=True):
        errors = [refitted_error(K, signs, train) for K in grams]
        assert choice.kernel == kernels[int(np.argmin(errors))]


def test_labels_of_test_graphs_do_not_choose_the_finalists():
    folds = np.arange(len(Y)) % 4
    options = OPTIONS | {"cv": replace(CV, folds=folds, n_finalists=2)}
    wrong = Y.copy()
    test = outer_splits(Y, folds, 0)[1][1]
    wrong[test] = np.where(Y[test] == Y.min(), Y.max(), Y.min())
    true, false = evaluate(GRAPHS, Y, **options), evaluate(GRAPHS, wrong, **options)
    assert true.choices[1] == false.choices[1]
    assert true.accuracies[1] == pytest.approx(1.0 - false.accuracies[1])


@pytest.mark.parametrize("largest_sample", [1500, 60])
def test_descriptors_of_test_graphs_do_not_choose_the_finalists(monkeypatch, largest_sample):
    """Neither by the scales of descriptors, nor by the scale of the kernel."""
    monkeypatch.setattr(_screening, "_LARGEST_SAMPLE", largest_sample)
    kernels = [GNTK(1, 1) * RBF("x") + Linear("x"), GNTK(1, 1).normalized(), RBF("x", 1.0)]
    kernels.append(kernels[1] + Linear("x"))
    x = np.random.default_rng(0).standard_normal((len(Y), 3))
    x[:, 0] += Y.max() == Y

    def run(x):
        return evaluate(GRAPHS.with_descriptors(x=x), Y, replace(CV, n_finalists=1), **(OPTIONS | {"kernels": kernels}))

    result = run(x)
    inside = np.isin(result.record.folds[0][1], screening_sample(len(Y)))
    x[result.record.folds[0][1][inside][0]] = 1e6
    assert run(x).choices[0].kernel == result.choices[0].kernel
    # The same without descriptors: a test graph that is many copies of itself.
    graphs = replace(GRAPHS, edge_labels=None)
    test = result.record.folds[0][1][inside][0]
    large = GraphBatch.from_graphs([copies(graphs[i]) if i == test else graphs[i] for i in range(len(Y))])
    kernels = [WL(1), WL(2), GNTK(1, 1)]
    options = OPTIONS | {"kernels": kernels}
    before, after = (evaluate(graphs, Y, replace(CV, n_finalists=1), **options) for graphs in (graphs, large))
    assert before.choices[0].kernel == after.choices[0].kernel


def test_nearly_constant_kernels_are_no_finalists():
    x = np.random.default_rng(0).standard_normal((len(Y), 2))
    kernels = [*(RBF("x", 1e5 * i) for i in range(1, 4)), GNTK(1, 1)]
    result = evaluate(GRAPHS.with_descriptors(x=x), Y, replace(CV, n_finalists=1), **(OPTIONS | {"kernels": kernels}))
    assert {choice.kernel for choice in result.choices} == {GNTK(1, 1)}


def test_folds_without_training_graphs_in_the_sample_take_the_first_kernels(monkeypatch):
    monkeypatch.setattr(_screening, "_LARGEST_SAMPLE", 4)
    sample = screening_sample(len(Y))
    K = gram(GRAPHS, GNTK(1, 1))[np.ix_(sample, sample)]
    outside = np.setdiff1d(np.arange(len(Y)), sample)
    assert screening_score(Y, [outside], sample)(K, 0).tolist() == [np.inf]


def test_reports_refit_with_the_engine_and_depth_of_the_finalists(monkeypatch):
    kernels = [GNTK(depth, 1) for depth in (8, 3, 1, 2)]
    options = OPTIONS | {"kernels": kernels, "compute": Compute(engine="decoupled", n_jobs=1)}
    result = evaluate(GRAPHS, Y, replace(CV, n_finalists=1), **options)
    used = [kernel for kernel, engine in zip(kernels, result.record.engines, strict=True) if engine]
    calls, original = [], _grid.gram_path

    def recording(batch, kernel, *, compute):
        calls.append((kernel.blocks, compute.engine))
        return original(batch, kernel, compute=compute)

    monkeypatch.setattr(_grid, "gram_path", recording)
    evaluation_out_of_fold(GRAPHS, (Y.max() == Y).astype(np.int64), result, compute=Compute(n_jobs=1))
    assert len(used) < len(kernels)
    assert calls == [(max(kernel.blocks for kernel in used), "decoupled")]


def test_report_of_a_screened_evaluation(tmp_path):
    result = evaluate(GRAPHS, Y, **OPTIONS, cv=replace(CV, n_finalists=1))
    data = datasets.Dataset(GRAPHS, Y, "half of MUTAG")
    report = report_evaluation(tmp_path / "page.html", data, result, compute=Compute(n_jobs=1))
    json.dumps(report, allow_nan=False)
    known = ~np.isnan(result.record.scores).any(axis=1)
    cells = {(k.leaves()[0].blocks, k.leaves()[0].scale) for k in np.array(result.record.kernels, object)[known]}
    assert dict(report["run"])["finalists"] == "1 in each fold, by leave-one-out"
    shown = [score for layers in report["surface"]["score"] for row in layers for score in row if score is not None]
    assert len(shown) == len(cells) < 4


def test_finalists_must_be_positive():
    with pytest.raises(InputError, match="n_finalists must be an integer, 1 or more, but is 0"):
        evaluate(GRAPHS, Y, kernels=[GNTK(1)], cv=CrossValidation(n_finalists=0))


def test_many_graphs_are_screened_on_a_sample_of_the_training_graphs(monkeypatch):
    monkeypatch.setattr(_screening, "_LARGEST_SAMPLE", 40)
    sample = screening_sample(len(Y))
    assert len(np.unique(sample)) == 40
    K, train = gram(GRAPHS, GNTK(2, 1)), np.arange(50)
    found = screening_score(Y, [train, np.arange(len(Y))], sample)(K[np.ix_(sample, sample)], 0)
    signs = np.where(Y.max() == Y, 1.0, -1.0)[sample]
    inside = np.flatnonzero(sample < 50)
    expected = [refitted_error(K[np.ix_(sample, sample)], signs, part) for part in (inside, np.arange(40))]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    result = evaluate(GRAPHS, Y, **OPTIONS, cv=replace(CV, n_finalists=2))
    assert result.n_fits == 2 * 4 * 4 * 2
