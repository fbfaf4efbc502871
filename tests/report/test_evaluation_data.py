"""Report data of an evaluation, compared with independent computations."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from tests.report.mutag import (
    COSINE,
    DATA,
    DECISION,
    GRID,
    ONE_JOB,
    OPPOSITE,
    PERCENT,
    PROBABILITY,
    SIZES,
    svm_predictions,
)

from fastgntk import GNTK, RBF, WLOA, GraphClassifier, Linear, gram
from fastgntk.pairwise import normalize
from fastgntk.report.data._graphs import graph_contributions
from fastgntk.report.data._scores import score_surface
from fastgntk.selection import CrossValidation, evaluate, evaluation_out_of_fold

pytestmark = pytest.mark.slow


def test_confusion_matches_scikit_learn_svms(report, result):
    predicted = svm_predictions(result, DATA.y)
    classes = sorted(set(DATA.y.tolist()))
    expected = [[int(np.sum((DATA.y == t) & (predicted == s))) for s in classes] for t in classes]
    assert report["confusion"] == expected
    assert report["classes"] == [str(c) for c in classes]
    assert [classes[g["predicted"]] for g in report["graphs"]] == predicted.tolist()
    assert [classes[g["truth"]] for g in report["graphs"]] == DATA.y.tolist()


@pytest.mark.parametrize("y", [DATA.y, SIZES], ids=["two classes", "three classes"])
@pytest.mark.parametrize("protocol", ["nested", "du2019"])
def test_refitted_svms_reproduce_the_accuracies_of_the_evaluation(y, protocol):
    found = evaluate(
        DATA,
        y,
        kernels=GRID,
        cv=CrossValidation(folds=5, random_state=3, inner_folds=2, protocol=protocol),
        compute=ONE_JOB,
    )
    numbers = np.unique(y, return_inverse=True)[1]
    out_of_fold = evaluation_out_of_fold(DATA.graphs, numbers, found, compute=ONE_JOB)
    again = [float(np.mean(out_of_fold.predicted[test] == numbers[test])) for _, test in found.record.folds]
    assert again == list(found.accuracies)
    assert np.array_equal(out_of_fold.predicted, svm_predictions(found, numbers))


@pytest.mark.filterwarnings("ignore::fastgntk.UnseenLabelWarning")  # the training part lacks a rare element
def test_probabilities_match_a_classifier_of_the_training_part(report, result):
    for (train, test), choice in list(zip(result.record.folds, result.choices, strict=True))[:2]:
        model = GraphClassifier(choice.kernel, C=choice.C, random_state=3).fit(DATA.graphs[train], DATA.y[train])
        shown = np.array([report["graphs"][i]["probability"] for i in test])
        np.testing.assert_allclose(shown, model.predict_proba(DATA.graphs[test]), atol=PROBABILITY)


def test_selection_scores_are_means_over_inner_folds_of_all_outer_folds(result):
    """Recomputed with scikit-learn, for one kernel and C."""
    kernel = GNTK(2, 1, "degree").normalized()
    K = normalize(gram(DATA.graphs, GNTK(2, 1, "degree")))
    scores = []
    for train, _ in StratifiedKFold(5, shuffle=True, random_state=3).split(DATA.y, DATA.y):
        draws = [StratifiedKFold(3, shuffle=True, random_state=seed) for seed in (3, 1003)]
        inner = [(train[i], train[j]) for folds in draws for i, j in folds.split(train, DATA.y[train])]
        for a, b in inner:
            unit = np.diagonal(K)[a].mean() - K[np.ix_(a, a)].mean()
            svm = SVC(kernel="precomputed", C=100.0, tol=0.01).fit(K[np.ix_(a, a)] / unit, DATA.y[a])
            scores.append(svm.score(K[np.ix_(b, a)] / unit, DATA.y[b]))
    place = result.record.kernels.index(kernel)
    assert result.record.scores[place, 1] == pytest.approx(np.mean(scores), abs=1e-12)


def test_surface_is_the_best_over_the_other_options(report, result):
    found = report["surface"]
    assert (found["blocks"], found["layers"], found["scale"]) == ([1, 2], [1, 2], ["degree"])
    for i, layers in enumerate((1, 2)):
        for j, blocks in enumerate((1, 2)):
            these = [
                result.record.scores[k].max()
                for k, kernel in enumerate(result.record.kernels)
                if kernel.leaves() == [GNTK(blocks, layers, "degree")]
            ]
            assert found["score"][0][i][j] == pytest.approx(100 * max(these), abs=PERCENT)
    assert sum(count for *_, count in found["chosen"]) == 5


def test_surface_takes_the_best_in_any_order():
    one, two = GNTK(1, 1, "degree"), GNTK(2, 1, "uniform")
    tried = [(one, 80.0), (one.normalized(), 70.0), (replace(two, jump=False), 60.0), (two, 65.0)]
    found = score_surface(tried, [one, two, one.normalized()], "", max)
    assert found["scale"] == ["degree", "uniform"]
    assert found["score"] == [[[80.0, None]], [[None, 65.0]]]
    assert found["chosen"] == [(1, 1, "degree", 2), (2, 1, "uniform", 1)]
    assert score_surface(tried, [], "", min)["score"] == [[[70.0, None]], [[None, 60.0]]]


def test_surface_leaves_out_combinations_and_weighted_jumps():
    single = GNTK(2, 1)
    others = [single + GNTK(1), single * single, (single * GNTK(1)).normalized(), GNTK(1, jump=(1.0, 0.5))]
    scores = [(kernel, 90.0) for kernel in others]
    assert score_surface(scores, others, "", max) is None
    found = score_surface([*scores, (2.0 * single, 70.0)], [*others, single.normalized()], "Accuracy.", max)
    assert (found["blocks"], found["layers"], found["scale"]) == ([2], [1], ["uniform"])
    assert found["score"] == [[[70.0]]]
    assert found["chosen"] == [(2, 1, "uniform", 1)]
    assert found["note"].startswith("Accuracy. The kernel chosen in 4 of 5 folds is not a single GNTK")
    assert score_surface([(single, 70.0)], [single], "Accuracy.", max)["note"] == "Accuracy."


def test_surface_has_tables_of_products_with_optimal_assignment():
    network = GNTK(2, 1, "degree")
    product = network.normalized() * WLOA(2).normalized()
    tried = [(network, 60.0), (network.normalized(), 70.0), (product, 80.0), (WLOA(2), 95.0)]
    tried += [(product * product, 96.0), (product * WLOA(1), 97.0)]
    described = [(2.0 * kernel + (0.5 * RBF("x") + Linear("x")), score - 1) for kernel, score in tried[:3]]
    for scores in (tried, described):
        found = score_surface(scores, [scores[2][0], scores[2][0], scores[0][0]], "Accuracy.", max)
        assert (found["blocks"], found["layers"], found["scale"]) == ([2], [1], ["degree", "degree × WLOA"])
        assert found["score"] == [[[scores[1][1]]], [[scores[2][1]]]]
        assert found["chosen"] == [(2, 1, "degree × WLOA", 2), (2, 1, "degree", 1)]
        assert found["note"] == "Accuracy. × WLOA: the product with the optimal assignment kernel."
    assert "chosen in 1 of 2 folds is not" in score_surface(tried, [network, WLOA(2)], "Accuracy.", max)["note"]


def test_json_of_an_evaluation_omits_the_record(result):
    assert "record" not in result.to_dict()
    json.dumps(result.to_dict())


def test_neighbours_are_the_most_similar_training_graphs(report, result):
    for (train, test), choice in zip(result.record.folds, result.choices, strict=True):
        K = gram(DATA.graphs, choice.kernel.normalized())
        for i in test[:5]:
            best = np.sort(K[i, train])[::-1][:3]
            near = report["graphs"][i]["neighbours"]
            assert {j for j, _ in near} <= set(train.tolist())
            np.testing.assert_allclose([c for _, c in near], np.minimum(best, 1.0), atol=COSINE)
            np.testing.assert_allclose([c for _, c in near], [K[i, j] for j, _ in near], atol=COSINE)


@pytest.mark.parametrize("y", [DATA.y, SIZES], ids=["two classes", "three classes"])
@pytest.mark.parametrize("normalized", [True, False])
def test_contributions_and_offset_sum_to_the_decision_value_of_the_predicted_class(y, normalized):
    grid = replace(GRID, blocks=(2,), layers=(1,), normalize=(normalized,))
    found = evaluate(DATA, y, kernels=grid, cv=CrossValidation(folds=3, random_state=1, inner_folds=2), compute=ONE_JOB)
    numbers = np.unique(y, return_inverse=True)[1]
    out_of_fold = evaluation_out_of_fold(DATA.graphs, numbers, found, compute=ONE_JOB)
    chosen = np.concatenate([np.flatnonzero(out_of_fold.predicted == c)[[7, 0, -1]] for c in np.unique(numbers)])
    contributions = graph_contributions(DATA.graphs, out_of_fold, chosen, compute=ONE_JOB)
    intercepts = out_of_fold.function(chosen).intercepts
    for place, i in enumerate(chosen.tolist()):
        fold = next(k for k, (_, test) in enumerate(found.record.folds) if i in test)
        train, choice = found.record.folds[fold][0], found.choices[fold]
        K = gram(DATA.graphs, choice.kernel)
        unit = np.diagonal(K)[train].mean() - K[np.ix_(train, train)].mean()
        signs = np.where(numbers[train] == out_of_fold.predicted[i], 1, -1)
        svm = SVC(kernel="precomputed", C=choice.C, tol=0.01).fit(K[np.ix_(train, train)] / unit, signs)
        decision = svm.decision_function(K[np.ix_([i], train)] / unit)[0]
        assert len(contributions[i].nodes) == DATA.graphs.sizes[i]
        # With two classes, the SVM of the first is that of the second with opposite signs.
        assert contributions[i].nodes.sum() + intercepts[place] == pytest.approx(
            decision, abs=OPPOSITE if len(set(y)) == 2 else DECISION
        )
        own = out_of_fold.values[i] if out_of_fold.values.shape[1] > 1 else out_of_fold.values[i] * [-1, 1]
        assert contributions[i].nodes.sum() + intercepts[place] == pytest.approx(
            own[out_of_fold.predicted[i]], abs=DECISION
        )


def test_compression_and_speed(report):
    found = report["compression"]
    assert found["nodes"] == 3371
    assert found["distinct"][:2] == [7, 26]  # elements; closed neighbourhoods, as the docs have them
    assert report["speed"]["baseline"] > report["speed"]["seconds"] > 0
    assert not report["speed"]["measured"]


def test_run_options_and_baselines_are_reported(report):
    rows = dict(report["run"])
    assert rows["data"].startswith("MUTAG: 188 graphs")
    assert len(rows["fingerprint of the data"]) == 16
    assert rows["random state"] == "3"
    assert {"version", "date", "engine", "protocol"} <= set(rows)
    assert report["score"]["baselines"][0]["name"] == "published GNTK"
    assert "optimistic" in report["score"]["baselines"][0]["note"]
    assert len(report["score"]["folds"]) == 5
    assert "%" in report["summary"]
