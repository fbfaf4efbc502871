"""What a report tells of an evaluation, against the same figures found another way."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from tests.report.evaluated import (
    COSINE,
    DATA,
    DECISION,
    GRID,
    LABELS,
    PERCENT,
    PROBABILITY,
    SIZES,
    TURNED,
    choice_kernel,
    refitted,
)

from fastgntk import GNTK, gram, normalize
from fastgntk.models import GNTKClassifier
from fastgntk.report.data._collect import surface
from fastgntk.report.data._node_contributions import node_parts
from fastgntk.selection import evaluate
from fastgntk.selection._out_of_fold import evaluation_left_out


def test_confusion_is_that_of_machines_fitted_by_hand(facts, result):
    said = refitted(result, DATA.y)
    classes = sorted(set(DATA.y.tolist()))
    expected = [[int(np.sum((DATA.y == t) & (said == s))) for s in classes] for t in classes]
    assert facts["confusion"] == expected
    assert facts["classes"] == [str(c) for c in classes]
    assert [classes[g["said"]] for g in facts["graphs"]] == said.tolist()
    assert [classes[g["truth"]] for g in facts["graphs"]] == DATA.y.tolist()


@pytest.mark.parametrize("y", [DATA.y, SIZES], ids=["two classes", "three classes"])
@pytest.mark.parametrize("protocol", ["nested", "du2019"])
def test_machines_fitted_again_have_the_accuracies_of_the_evaluation(y, protocol):
    found = evaluate(DATA, y, grid=GRID, folds=5, seed=3, inner_folds=2, protocol=protocol, workers=1)
    numbers = np.unique(y, return_inverse=True)[1]
    left_out = evaluation_left_out(DATA.graphs, numbers, found, workers=1)
    again = [float(np.mean(left_out.said[test] == numbers[test])) for _, test in found.record.folds]
    assert again == list(found.accuracies)
    assert np.array_equal(left_out.said, refitted(found, numbers))


def test_probabilities_are_those_of_a_classifier_that_saw_the_training_part_only(facts, result):
    for (train, test), choice in list(zip(result.record.folds, result.choices, strict=True))[:2]:
        options = {name: getattr(choice, name) for name in ("blocks", "layers", "scale", "jump", "normalize", "C")}
        model = GNTKClassifier(**options, random_state=3, features=LABELS).fit(DATA.graphs[train], DATA.y[train])
        told = np.array([facts["graphs"][i]["probability"] for i in test])
        np.testing.assert_allclose(told, model.predict_proba(DATA.graphs[test]), atol=PROBABILITY)


def test_selection_scores_are_means_over_inner_folds_of_all_outer_folds(result):
    """Written again with scikit-learn alone, for one kernel and C."""
    K = normalize(gram(DATA.graphs, GNTK(2, 1, "degree", True)))
    scores = []
    for train, _ in StratifiedKFold(5, shuffle=True, random_state=3).split(DATA.y, DATA.y):
        inner = StratifiedKFold(3, shuffle=True, random_state=3).split(train, DATA.y[train])
        for a, b in ((train[i], train[j]) for i, j in inner):
            unit = np.diagonal(K)[a].mean() - K[np.ix_(a, a)].mean()
            machine = SVC(kernel="precomputed", C=100.0, tol=0.01).fit(K[np.ix_(a, a)] / unit, DATA.y[a])
            scores.append(machine.score(K[np.ix_(b, a)] / unit, DATA.y[b]))
    place = next(
        i for i, c in enumerate(result.record.candidates) if (c.spec.blocks, c.spec.layers, c.normalize) == (2, 1, True)
    )
    assert result.record.selection[place, 1] == pytest.approx(np.mean(scores), abs=1e-12)


def test_the_surface_is_the_best_over_everything_else(facts, result):
    found = facts["surface"]
    assert (found["blocks"], found["layers"], found["scale"]) == ([1, 2], [1, 2], ["degree"])
    for i, layers in enumerate((1, 2)):
        for j, blocks in enumerate((1, 2)):
            these = [
                result.record.selection[k].max()
                for k, c in enumerate(result.record.candidates)
                if (c.spec.blocks, c.spec.layers) == (blocks, layers)
            ]
            assert found["score"][0][i][j] == pytest.approx(100 * max(these), abs=PERCENT)
    assert sum(count for *_, count in found["chosen"]) == 5


def test_the_best_of_a_surface_may_come_first_or_last():
    tried = [(1, 1, "degree", 80.0), (1, 1, "degree", 70.0), (2, 1, "uniform", 60.0), (2, 1, "uniform", 65.0)]
    found = surface(tried, [(1, 1, "degree"), (2, 1, "uniform"), (1, 1, "degree")], "", max)
    assert found["scale"] == ["degree", "uniform"]
    assert found["score"] == [[[80.0, None]], [[None, 65.0]]]
    assert found["chosen"] == [(1, 1, "degree", 2), (2, 1, "uniform", 1)]
    assert surface(tried, [], "", min)["score"] == [[[70.0, None]], [[None, 60.0]]]


def test_the_json_of_an_evaluation_did_not_change(result):
    assert "record" not in result.to_dict()
    json.dumps(result.to_dict())


def test_neighbours_are_among_the_graphs_that_the_model_saw(facts, result):
    for (train, test), choice in zip(result.record.folds, result.choices, strict=True):
        K = normalize(choice_kernel(choice))
        for i in test[:5]:
            best = np.sort(K[i, train])[::-1][:3]
            near = facts["graphs"][i]["near"]
            assert {j for j, _ in near} <= set(train.tolist())
            np.testing.assert_allclose([c for _, c in near], np.minimum(best, 1.0), atol=COSINE)
            np.testing.assert_allclose([c for _, c in near], [K[i, j] for j, _ in near], atol=COSINE)


@pytest.mark.parametrize("y", [DATA.y, SIZES], ids=["two classes", "three classes"])
@pytest.mark.parametrize("normalized", [True, False])
def test_shares_and_intercept_are_the_decision_for_the_class_that_was_said(y, normalized):
    grid = replace(GRID, blocks=(2,), layers=(1,), normalize=(normalized,))
    found = evaluate(DATA, y, grid=grid, folds=3, seed=1, inner_folds=2, workers=1)
    numbers = np.unique(y, return_inverse=True)[1]
    left_out = evaluation_left_out(DATA.graphs, numbers, found, workers=1)
    chosen = np.concatenate([np.flatnonzero(left_out.said == c)[[7, 0, -1]] for c in np.unique(numbers)])
    shares = node_parts(DATA.graphs, left_out, chosen, workers=1)
    offsets = left_out.function(chosen).offsets
    for place, i in enumerate(chosen.tolist()):
        fold = next(k for k, (_, test) in enumerate(found.record.folds) if i in test)
        train, choice = found.record.folds[fold][0], found.choices[fold]
        K = choice_kernel(choice)
        unit = np.diagonal(K)[train].mean() - K[np.ix_(train, train)].mean()
        signs = np.where(numbers[train] == left_out.said[i], 1, -1)
        machine = SVC(kernel="precomputed", C=choice.C, tol=0.01).fit(K[np.ix_(train, train)] / unit, signs)
        decision = machine.decision_function(K[np.ix_([i], train)] / unit)[0]
        assert len(shares[i]) == DATA.graphs.sizes[i]
        # Of two classes the machine of the first is the other one turned round.
        assert shares[i].sum() + offsets[place] == pytest.approx(decision, abs=TURNED if len(set(y)) == 2 else DECISION)
        own = left_out.values[i] if left_out.values.shape[1] > 1 else left_out.values[i] * [-1, 1]
        assert shares[i].sum() + offsets[place] == pytest.approx(own[left_out.said[i]], abs=DECISION)


def test_compression_and_speed(facts):
    found = facts["compression"]
    assert found["nodes"] == 3371
    assert found["distinct"][:2] == [7, 26]  # elements; closed neighbourhoods, as the docs have them
    assert facts["speed"]["baseline"] > facts["speed"]["seconds"] > 0
    assert not facts["speed"]["measured"]


def test_what_was_run_is_told(facts):
    rows = dict(facts["run"])
    assert rows["data"].startswith("MUTAG: 188 graphs")
    assert len(rows["fingerprint of the data"]) == 16
    assert rows["seed"] == "3"
    assert {"version", "date", "engine", "protocol"} <= set(rows)
    assert facts["score"]["beside"][0]["name"] == "published GNTK"
    assert "optimistic" in facts["score"]["beside"][0]["note"]
    assert len(facts["score"]["folds"]) == 5
    assert "%" in facts["summary"]
