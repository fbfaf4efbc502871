"""What a report tells, against the same figures found another way."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tests.tables import FLOAT64, Tolerance

from fastgntk import (
    GNTK,
    Graph,
    InputError,
    NodeFeatures,
    datasets,
    gram,
    graphs,
    node_shares,
    normalize,
    prepare,
)
from fastgntk.datasets import Dataset, synthetic
from fastgntk.learn import GNTKClassifier, GNTKClassifierCV, GNTKRegressor, GNTKRegressorCV, Grid, evaluate
from fastgntk.learn._left_out import evaluation_left_out
from fastgntk.matrix import node_shares_in_chunks
from fastgntk.report import _maps, _measures
from fastgntk.report._beside import beside_accuracy, beside_error
from fastgntk.report._collect import evaluation_facts
from fastgntk.report._drawings import drawn_part, turn
from fastgntk.report._graphs import graph_facts
from fastgntk.report._source import Source
from fastgntk.report._training import training_facts

DATA = datasets.load("MUTAG")
LABELS = NodeFeatures("labels").fit(DATA.graphs)  # a part of the graphs may lack some
GRID = Grid(blocks=(1, 2), layers=(1, 2), scale=("degree",), jump=(True,), normalize=(True, False), C=(1.0, 100.0))
SIZES = np.digitize(DATA.graphs.sizes, [15, 20])  # three classes

# Shares are rounded to three digits of the largest, and there are at most thirty nodes here.
ROUNDED = Tolerance(relative=0.0, absolute=5e-3 * 30)
PRINTED = Tolerance(relative=1e-3, absolute=1e-3)  # numbers are written with some digits
SOLVED = Tolerance(relative=1e-5, absolute=1e-5)  # kernel values good to 1e-8 over a ridge of 1e-3


@pytest.fixture(scope="module")
def result():
    return evaluate(DATA, grid=GRID, folds=5, seed=3, inner_folds=3, workers=1)


@pytest.fixture(scope="module")
def facts(result):
    return evaluation_facts(DATA, result, workers=1)


def choice_kernel(choice):
    K = gram(DATA.graphs, GNTK(choice.blocks, choice.layers, choice.scale, choice.jump))
    return normalize(K) if choice.normalize else K


def refitted(result, y):
    """Predictions of every graph by a machine of scikit-learn alone, fold after fold."""
    said = np.zeros(len(y), dtype=y.dtype)
    folds = StratifiedKFold(5, shuffle=True, random_state=3).split(y, y)
    for (train, test), choice in zip(folds, result.choices, strict=True):
        K = choice_kernel(choice)
        unit = np.diagonal(K)[train].mean() - K[np.ix_(train, train)].mean()
        machine = SVC(kernel="precomputed", C=choice.C, tol=0.01).fit(K[np.ix_(train, train)] / unit, y[train])
        said[test] = machine.predict(K[np.ix_(test, train)] / unit)
    return said


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
        np.testing.assert_allclose(told, model.predict_proba(DATA.graphs[test]), atol=1e-3)


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
            assert found["score"][0][i][j] == pytest.approx(100 * max(these), abs=1e-3)
    assert sum(count for *_, count in found["chosen"]) == 5


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
            np.testing.assert_allclose([c for _, c in near], np.minimum(best, 1.0), atol=1e-5)
            np.testing.assert_allclose([c for _, c in near], [K[i, j] for j, _ in near], atol=1e-5)


@pytest.mark.parametrize("y", [DATA.y, SIZES], ids=["two classes", "three classes"])
def test_shares_and_intercept_are_the_decision_for_the_class_that_was_said(y):
    found = evaluate(DATA, y, grid=GRID, folds=3, seed=1, inner_folds=2, workers=1)
    numbers = np.unique(y, return_inverse=True)[1]
    left_out = evaluation_left_out(DATA.graphs, numbers, found, workers=1)
    from fastgntk.report._node_parts import node_parts

    chosen = np.array([5, 0, 17, 100, 101, 187, 60])
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
        # Of two classes the machine of the first is the other one turned round, up to libsvm's tolerance of 0.01.
        assert shares[i].sum() + offsets[place] == pytest.approx(decision, abs=0.05 if len(set(y)) == 2 else 1e-5)
        own = left_out.values[i] if left_out.values.shape[1] > 1 else left_out.values[i] * [-1, 1]
        assert shares[i].sum() + offsets[place] == pytest.approx(own[left_out.said[i]], abs=1e-6)


def test_shares_in_drawings_add_up_to_what_explain_says():
    model = GNTKClassifier(2, 1, "degree", C=10.0).fit(DATA.graphs, DATA.y)
    told = training_facts(DATA, model)
    left = model.left_out_[:, 0]
    from fastgntk.learn._folds import spread_folds

    numbers = np.unique(DATA.y, return_inverse=True)[1]
    train, test = spread_folds(numbers, 0)[0]
    one = GNTKClassifier(2, 1, "degree", C=10.0, features=LABELS).fit(DATA.graphs[train], DATA.y[train])
    for i in test[:4]:
        explained = one.explain(DATA.graphs[int(i)])
        np.testing.assert_allclose(told["graphs"][i]["drawing"]["shares"], explained.nodes, atol=6e-3)
        assert explained.prediction == pytest.approx(abs(left[i]), abs=1e-5)
    assert told["score"]["mean"] == pytest.approx(100 * np.mean((left > 0) == (numbers == 1)), abs=1e-3)


@pytest.mark.parametrize("engine", ["lossless", "decoupled", "sketched"])
@pytest.mark.parametrize("nodes", [1, 40, 10_000])
def test_shares_of_many_graphs_are_those_of_one_at_a_time(engine, nodes):
    some = graphs([*DATA.graphs[:7], Graph.from_edges([], 0, labels=[]), DATA.graphs[9]])
    options = {"sketch_size": 4} if engine == "sketched" else {}
    cols = prepare(DATA.graphs[20:40], GNTK(2, 2, "degree"), engine=engine, **options)
    seen = 0
    for part, rows in node_shares_in_chunks(some, cols, nodes=nodes):
        assert part.start == seen
        expected = [node_shares(some[i : i + 1], cols) for i in range(part.start, part.stop)]
        FLOAT64.check(rows, np.concatenate(expected))
        seen = part.stop
    assert seen == len(some)


def test_calibration_bins_count_what_came_true():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    truth = (rng.random(300) < p**2).astype(np.int64)
    p[:3] = 0.0, 1.0, 0.1
    bins, _ = _measures.class_calibration(np.column_stack([1 - p, p]), truth)
    for b, found in enumerate(bins):
        mine = [i for i in range(300) if b / 10 <= p[i] < (b + 1) / 10 or (b == 9 and p[i] == 1.0)]
        assert found["count"] == len(mine)
        assert found["said"] == pytest.approx(np.mean([p[i] for i in mine]), abs=1e-4)
        assert found["was"] == pytest.approx(np.mean([truth[i] for i in mine]), abs=1e-4)
    assert sum(b["count"] for b in bins) == 300


def test_of_three_classes_the_most_probable_is_judged():
    p = np.array([[0.2, 0.75, 0.05], [0.72, 0.2, 0.08], [0.3, 0.4, 0.3]])
    bins, _ = _measures.class_calibration(p, np.array([1, 1, 1]))
    assert [(b["count"], b["was"]) for b in bins] == [(1, 1.0), (2, 0.5)]
    assert bins[1]["said"] == pytest.approx(0.735)


@pytest.mark.parametrize(("hits", "count"), [(0, 5), (3, 7), (40, 41), (10, 10)])
def test_wilson_intervals_solve_their_equation(hits, count):
    """The ends are the shares p at which the observed one is 1.96 standard deviations away."""
    low, high = _measures.wilson(hits, count)
    share, z = hits / count, norm.ppf(0.975)
    off = lambda p: (share - p) ** 2 - z**2 * p * (1 - p) / count  # noqa: E731
    # Beside 0 and 1 themselves, where the equation holds too if all or none came true.
    assert low == pytest.approx(brentq(off, 1e-9, share - 1e-9) if hits else 0.0, abs=1e-9)
    assert high == pytest.approx(brentq(off, share + 1e-9, 1 - 1e-9) if hits < count else 1.0, abs=1e-9)


def test_kernel_pca_is_that_of_scikit_learn():
    K = normalize(gram(DATA.graphs, GNTK(2, 1)))
    found = _maps.spectrum(K)
    theirs = KernelPCA(4, kernel="precomputed", eigen_solver="dense").fit_transform(K)
    for axis in range(4):
        mine = found.coordinates[:, axis]
        EXACT_ENOUGH.check(np.abs(mine), np.abs(theirs[:, axis]))
        assert mine[np.abs(mine).argmax()] > 0
    centred = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
    values = np.linalg.eigvalsh(centred)[::-1]
    shown = _maps.principal_map(found)
    assert f"{100 * values[:2].sum() / values.sum():.0f} %" in shown["note"]
    assert found.effective_rank == pytest.approx(values.sum() ** 2 / np.sum(values**2))
    x = np.array(shown["x"]) / np.abs(shown["x"]).max()
    np.testing.assert_allclose(np.abs(x), np.abs(theirs[:, 0]) / np.abs(theirs[:, 0]).max(), atol=2e-3)


EXACT_ENOUGH = Tolerance(relative=1e-6, absolute=1e-9)


def test_large_sets_have_the_same_axes(monkeypatch):
    K = normalize(gram(DATA.graphs, GNTK(2, 1)))
    full = _maps.spectrum(K)
    monkeypatch.setattr(_maps, "_FULL", 50)
    some = _maps.spectrum(K)
    assert some.condition is None
    EXACT_ENOUGH.check(some.coordinates[:, :3], full.coordinates[:, :3])
    assert some.total == pytest.approx(full.total)
    assert len(_maps.neighbour_map(K, some)["x"]) == len(K)


def test_neighbours_in_the_map_are_neighbours_of_the_kernel():
    """Two families that the kernel tells apart well lie apart in the map."""
    data = synthetic.cycles_with_motifs(60, 8, (3, 5), copies=2, seed=1)
    K = normalize(gram(data.graphs, GNTK(2, 1)))
    found = _maps.neighbour_map(K, _maps.spectrum(K))
    points = np.column_stack([found["x"], found["y"]])
    distance = np.linalg.norm(points[:, None] - points, axis=2) + 1e9 * np.eye(60)
    assert np.mean(data.y[distance.argmin(axis=1)] == data.y) > 0.9
    again = _maps.neighbour_map(K, _maps.spectrum(K))
    assert (again["x"], again["y"]) == (found["x"], found["y"])


def decoded(heat):
    shades = np.frombuffer(base64.b64decode(heat["values"]), dtype=np.uint8).reshape(heat["size"], heat["size"])
    return heat["low"] + (heat["high"] - heat["low"]) * shades / 255


def test_the_heat_map_holds_the_cosines_class_by_class(facts, result):
    heat = facts["heat_map"]
    counts = np.unique(DATA.y, return_counts=True)[1]
    assert heat["size"] == 188
    assert [(g["name"], g["stop"] - g["start"]) for g in heat["groups"]] == [("-1", counts[0]), ("1", counts[1])]
    picture = decoded(heat)
    assert np.array_equal(picture, picture.T)


def test_entries_of_the_heat_map_are_means(monkeypatch):
    monkeypatch.setattr(_maps, "_PICTURE", 7)
    rng = np.random.default_rng(0)
    B = rng.random((31, 40))
    K = normalize(B @ B.T)
    numbers = np.arange(31) % 2
    order, groups, how = _maps.order_by_class(K, numbers, ["a", "b"], np.arange(31.0))
    assert sorted(order.tolist()) == list(range(31))
    assert numbers[order].tolist() == [0] * 16 + [1] * 15
    picture = decoded(_maps.heat_map(K, order, groups, how))
    edges = [round(31 * i / 7) for i in range(8)]
    for i in range(7):
        for j in range(7):
            values = [
                K[order[a], order[b]] for a in range(edges[i], edges[i + 1]) for b in range(edges[j], edges[j + 1])
            ]
            lowest = np.quantile(picture, 0.0)
            assert picture[i, j] == pytest.approx(max(np.mean(values), lowest), abs=0.01)


def test_like_graphs_stand_side_by_side_in_a_class():
    angles = np.array([0.0, 1.4, 0.1, 1.5, 0.05, 1.45])
    K = np.cos(angles[:, None] - angles)
    order, _, _ = _maps.order_by_class(K, np.zeros(6, dtype=np.int64), ["a"], angles)
    assert {frozenset(order[:3].tolist()), frozenset(order[3:].tolist())} == {
        frozenset({0, 2, 4}),
        frozenset({1, 3, 5}),
    }


def test_baselines_are_found_on_the_same_folds():
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(DATA.y, DATA.y))
    numbers = np.unique(DATA.y, return_inverse=True)[1]
    most, counts = beside_accuracy(DATA.graphs, numbers, splits)
    expected = [np.mean(numbers[test] == round(numbers[train].mean())) for train, test in splits]
    assert most["mean"] == pytest.approx(100 * np.mean(expected), abs=1e-3)
    kinds = sorted({label for g in DATA.graphs for label in g.labels.tolist()})
    table = np.array(
        [[g.n_nodes, g.n_edges, *[g.labels.tolist().count(k) for k in kinds]] for g in DATA.graphs], dtype=float
    )
    scores = []
    for train, test in splits:
        scale = StandardScaler().fit(table[train])
        machine = SVC(C=10.0).fit(scale.transform(table[train]), numbers[train])
        scores.append(machine.score(scale.transform(table[test]), numbers[test]))
    assert counts["mean"] == pytest.approx(100 * np.mean(scores), abs=0.6)  # columns in another order: a graph at most


def test_the_mean_as_a_baseline_leaves_each_target_out():
    y = np.random.default_rng(0).normal(size=40)
    mean, counts = beside_error(DATA.graphs[:40], y)
    left_out = [y[i] - np.mean(np.delete(y, i)) for i in range(40)]
    assert mean["mean"] == pytest.approx(np.sqrt(np.mean(np.square(left_out))), rel=1e-4)
    assert counts["mean"] > 0


# --- regression ---


@pytest.fixture(scope="module")
def regression():
    y = DATA.graphs.sizes[:60] + 2.0 * np.random.default_rng(0).normal(size=60)
    model = GNTKRegressor(1, 1, ridge=1e-2).fit(DATA.graphs[:60], y)
    return model, y, training_facts(DATA.graphs[:60], model, y=y)


def test_predictions_of_a_regression_leave_the_graph_out(regression):
    """Each graph by a model of all others, its targets moved to the mean of all as the closed form has it."""
    _, y, facts = regression
    K = gram(DATA.graphs[:60], GNTK(1, 1))
    K = 1.0 + K / np.diagonal(K).mean()
    predicted = []
    for i in range(60):
        rest = np.delete(np.arange(60), i)
        alpha = np.linalg.solve(K[np.ix_(rest, rest)] + 1e-2 * np.eye(59), y[rest] - y.mean())
        predicted.append(y.mean() + K[i, rest] @ alpha)
    PRINTED.check([g["said"]["mean"] for g in facts["graphs"]], predicted)
    assert facts["score"]["mean"] == pytest.approx(np.sqrt(np.mean((y - predicted) ** 2)), rel=1e-4)
    assert facts["score"]["lower_is_better"]
    assert facts["kind"] == "regression"


def test_shares_of_a_regression_add_up_to_the_prediction_that_leaves_the_graph_out(regression):
    _, y, facts = regression
    K = gram(DATA.graphs[:60], GNTK(1, 1))
    unit = np.diagonal(K).mean()
    for i in (0, 7, 31):
        rest = np.delete(np.arange(60), i)
        among = 1.0 + K[np.ix_(rest, rest)] / unit
        alpha = np.linalg.solve(among + 1e-2 * np.eye(59), y[rest] - y.mean())
        rows = node_shares(DATA.graphs[i], DATA.graphs[rest], GNTK(1, 1), features=LABELS) / unit
        np.testing.assert_allclose(facts["graphs"][i]["drawing"]["shares"], rows @ alpha, atol=6e-3)


def test_coverage_is_counted(regression):
    model, _, facts = regression
    residuals = model.solution_.leave_one_out[:, 0] * model.target_scale_[0]
    deviation = np.sqrt(model.solution_.leave_one_out_variance * model.solution_.scale2[0]) * model.target_scale_[0]
    deviation = deviation * model.intervals_.factor[0]
    for found in facts["calibration"]:
        inside = 0
        for r, s in zip(residuals, deviation, strict=True):
            inside += abs(norm.cdf(r / s) - 0.5) <= found["said"] / 2
        assert found["was"] == pytest.approx(inside / 60, abs=1e-4)
    assert [b["said"] for b in facts["calibration"]][-1] == 0.95


def test_intervals_are_those_of_ninety_per_cent(regression):
    _, y, facts = regression
    inside = [g["said"]["low"] <= t <= g["said"]["high"] for g, t in zip(facts["graphs"], y, strict=True)]
    assert 0.85 <= np.mean(inside) <= 1.0
    assert np.mean(inside) < 1.0


def test_ridge_on_classes_leaves_each_graph_out():
    model = GNTKClassifier(1, 1, method="ridge", ridge=1e-2).fit(DATA.graphs, SIZES)
    facts = training_facts(DATA, model, y=SIZES)
    said = model.left_out_.argmax(axis=1)
    assert [g["said"] for g in facts["graphs"]] == said.tolist()
    assert facts["score"]["mean"] == pytest.approx(100 * np.mean(said == SIZES), abs=1e-3)
    assert facts["score"]["folds"] == []
    assert all("shares" in g["drawing"] for g in facts["graphs"])
    assert np.allclose([sum(g["probability"]) for g in facts["graphs"]], 1.0, atol=0.002)


def test_a_balanced_ridge_is_explained_too():
    rare = (DATA.graphs.sizes > 24).astype(int)
    model = GNTKClassifier(1, 1, method="ridge", ridge=1e-2, class_weight="balanced").fit(DATA.graphs, rare)
    facts = training_facts(DATA, model, y=rare)
    assert all("shares" in g["drawing"] for g in facts["graphs"])


def test_shares_that_would_not_add_up_are_left_out():
    y = DATA.graphs.sizes[:40].astype(float)
    weights = np.linspace(0.1, 3.0, 40)
    model = GNTKRegressor(1, 1, ridge=1e-1).fit(DATA.graphs[:40], y, sample_weight=weights)
    facts = training_facts(DATA.graphs[:40], model, y=y)
    assert all("shares" not in g["drawing"] for g in facts["graphs"])
    assert any("Shares of nodes are not shown" in text for text in facts["warnings"])


def test_an_approximate_solver_has_a_report_without_shares():
    y = DATA.graphs.sizes.astype(float)
    for solver in ("nystrom", "features"):
        model = GNTKRegressor(1, 1, ridge=1e-2, solver=solver, rank=30).fit(DATA.graphs, y)
        facts = training_facts(DATA, model, y=y)
        assert len(facts["graphs"]) == 188
        assert ("heat_map" in facts) == (solver == "nystrom")


def test_searches_tell_what_they_tried():
    grid = Grid(blocks=(1, 2), layers=(1,), scale=("uniform", "degree"), jump=(True,), normalize=(True,), C=(10.0,))
    y = DATA.graphs.sizes[:80].astype(float) + np.random.default_rng(1).normal(size=80)
    model = GNTKRegressorCV(grid).fit(DATA.graphs[:80], y)
    found = training_facts(DATA.graphs[:80], model, y=y)["surface"]
    scores = dict(
        zip([(p["blocks"], p["scale"]) for p in model.cv_results_["params"]], model.cv_results_["score"], strict=True)
    )
    for s, scale in enumerate(found["scale"]):
        for b, blocks in enumerate(found["blocks"]):
            assert found["score"][s][0][b] == pytest.approx(np.sqrt(scores[blocks, scale]) * np.std(y), rel=1e-4)
    classifier = GNTKClassifierCV(grid).fit(DATA.graphs, DATA.y)
    told = training_facts(DATA, classifier)
    assert told["score"]["mean"] == pytest.approx(100 * classifier.best_score_, abs=0.6)  # a graph may change sides
    assert told["surface"]["chosen"][0][3] == 1


# --- drawings ---


def test_small_graphs_are_drawn_whole(facts):
    for i in (0, 50, 187):
        graph, drawing = DATA.graphs[i], facts["graphs"][i]["drawing"]
        pairs = {tuple(sorted(e)) for e in zip(drawing["edges"][::2], drawing["edges"][1::2], strict=True)}
        rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
        assert pairs == {tuple(sorted(e)) for e in zip(rows.tolist(), graph.indices.tolist(), strict=True)}
        assert [facts["node_labels"][k] for k in drawing["labels"]] == [str(label) for label in graph.labels]
        assert (facts["graphs"][i]["nodes"], facts["graphs"][i]["edges"]) == (graph.n_nodes, graph.n_edges)


def test_of_large_graphs_the_busy_middle_is_drawn():
    hub = [(0, i) for i in range(1, 301)]
    tail = [(i, i + 1) for i in range(300, 4999)]
    part = drawn_part(Graph.from_edges(hub + tail, 5000))
    assert len(part.nodes) == 150
    assert 0 in part.nodes
    assert 300 in part.nodes  # the one neighbour of the hub with a neighbour of its own
    assert len(part.edges) >= 149  # it hangs together


def test_of_many_edges_a_tree_is_kept():
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    clique = [(i, j) for i in range(60) for j in range(i)]
    part = drawn_part(Graph.from_edges(clique, 60))
    assert len(part.edges) == 400
    assert len({tuple(e) for e in part.edges.tolist()}) == 400
    matrix = coo_array((np.ones(400), tuple(part.edges.T)), shape=(60, 60))
    assert connected_components(matrix, directed=False)[0] == 1


def test_wrong_ones_are_drawn_first_then_an_even_spread():
    wrong = np.zeros(100, dtype=bool)
    wrong[[17, 90]] = True
    order = turn(wrong, 100).tolist()
    assert order[:2] == [17, 90]
    assert sorted(order) == list(range(100))
    first = np.sort(order[2:12])
    assert np.diff(first).max() <= 20
    assert turn(np.ones(3, dtype=bool), 3).tolist() == [0, 1, 2]
    assert turn(np.zeros(1, dtype=bool), 1).tolist() == [0]


def test_drawings_keep_to_a_number_of_bytes(result):
    numbers = np.unique(DATA.y, return_inverse=True)[1]
    left_out = evaluation_left_out(DATA.graphs, numbers, result, workers=1)
    wrong = left_out.said != numbers
    said = left_out.said.tolist()
    source = Source.of(DATA)
    every, _, none = graph_facts(source, left_out, numbers.tolist(), said, wrong)
    assert not none
    some, _, told = graph_facts(source, left_out, numbers.tolist(), said, wrong, bytes_left=60_000)
    assert len(json.dumps(some, separators=(",", ":"))) < 60_000
    drawn = [i for i, g in enumerate(some) if "drawing" in g]
    assert 0 < len(drawn) < 188
    assert f"{len(drawn)} of 188 graphs are drawn" in told[0]
    assert set(np.flatnonzero(wrong).tolist()) <= set(drawn) or set(drawn) <= set(np.flatnonzero(wrong).tolist())
    assert some[drawn[0]]["drawing"] == every[drawn[0]]["drawing"]


def test_without_time_few_shares_are_told(result):
    numbers = np.unique(DATA.y, return_inverse=True)[1]
    left_out = evaluation_left_out(DATA.graphs, numbers, result, workers=1)
    some, _, told = graph_facts(
        Source.of(DATA), left_out, numbers.tolist(), left_out.said.tolist(), left_out.said != numbers, seconds=0.0
    )
    with_shares = sum("shares" in g["drawing"] for g in some)
    assert 0 < with_shares < 188
    assert f"computed for {with_shares} of the 188 graphs" in told[0]


def test_molecules_have_places_and_orders(tmp_path):
    pytest.importorskip("rdkit")
    path = tmp_path / "some.csv"
    path.write_text(
        "smiles,y\n" + "".join(f"{s},{i}\n" for i, s in enumerate(["C=CC#N", "CCO", "c1ccccc1C", "CC(=O)O"] * 3))
    )
    data = datasets.read_table(path, target="y")
    model = GNTKRegressor(1, 1, ridge=1e-1).fit(data.graphs, data.y)
    drawing = training_facts(data, model)["graphs"][0]["drawing"]
    assert len(drawing["places"]) == 8
    edges = dict(zip(zip(drawing["edges"][::2], drawing["edges"][1::2], strict=True), drawing["orders"], strict=True))
    assert edges == {(0, 1): 2.0, (1, 2): 1.0, (2, 3): 3.0}
    xy = np.array(drawing["places"]).reshape(-1, 2)
    lengths = [np.linalg.norm(xy[u] - xy[v]) for u, v in edges]
    np.testing.assert_allclose(lengths, 1.5, atol=0.2)


# --- what the page warns of, and odd data ---


def small(graph_list, y, name="odd"):
    return Dataset(graphs(graph_list), np.array(y), name)


def ring(n, labels=None):
    return Graph.from_edges([(i, (i + 1) % n) for i in range(n)], n, labels=labels or [0] * n)


ONE = Grid(blocks=(1,), layers=(1,), scale=("degree",), jump=(True,), normalize=(False,), C=(10.0,))


def report_of(data, **options):
    found = evaluate(data, grid=ONE, workers=1, **({"folds": 2, "inner_folds": 2} | options))
    told = evaluation_facts(data, found, workers=1)
    json.dumps(told, allow_nan=False)
    return told


def test_equal_graphs_of_different_classes_bound_the_accuracy():
    data = small([ring(4)] * 6 + [ring(5)] * 6, [0, 0, 0, 0, 1, 1] + [1] * 6)
    told = report_of(data)
    assert any("6 of 12 graphs look exactly like another one with a different class" in w for w in told["warnings"])
    assert any("At best 83.3 %" in w for w in told["warnings"])
    assert any("nearly singular" in w for w in told["warnings"])


def test_a_hopeless_score_is_called_that():
    rng = np.random.default_rng(0)
    data = small([ring(int(n)) for n in rng.integers(3, 9, 30)], rng.permutation([0] * 15 + [1] * 15))
    told = report_of(data)
    assert told["score"]["mean"] <= told["score"]["beside"][0]["mean"] or not told["warnings"]
    named = [w for w in told["warnings"] if "no better than “most frequent class”" in w]
    assert bool(named) == (told["score"]["mean"] <= told["score"]["beside"][0]["mean"])


def test_the_optimistic_protocol_and_stopped_fits_are_told(monkeypatch):
    from fastgntk.learn import _machine

    monkeypatch.setattr(_machine, "_MAX_STEPS", 1)
    data = synthetic.cycles_with_motifs(20, 8, (3, 5), copies=2, seed=1)
    told = report_of(data, protocol="du2019")
    assert any("du2019" in w and "optimistic" in w for w in told["warnings"])
    assert any("fits stopped at their step limit" in w for w in told["warnings"])


def test_rare_classes_are_named():
    data = small([ring(3 + i % 5) for i in range(24)], ["often"] * 20 + ["<b>rare</b>"] * 4)
    told = report_of(data)
    assert any("<b>rare</b> (4)" in w for w in told["warnings"])
    assert told["classes"] == ["<b>rare</b>", "often"]


def test_twenty_classes_with_long_names():
    names = [f"{'a long name ' * 20}{i:02d}" for i in range(20)]
    data = small([ring(3 + i % 20) for i in range(60)], [names[i % 20] for i in range(60)])
    told = report_of(data, folds=3)
    assert told["classes"] == names
    assert np.sum(told["confusion"]) == 60
    assert len(told["graphs"][0]["probability"]) == 20


def test_empty_graphs_have_a_place():
    data = small([Graph.from_edges([], 0, labels=[])] * 4 + [ring(4), ring(5)] * 4, [0] * 4 + [1] * 8)
    told = report_of(data)
    assert told["graphs"][0]["drawing"] == {"nodes": 0, "edges": [], "labels": [], "shares": []}
    model = GNTKClassifier(1, 1, C=10.0).fit(data.graphs, data.y)
    json.dumps(training_facts(data, model), allow_nan=False)


def test_a_class_with_one_member_can_be_reported_after_training():
    y = np.array(["a"] * 10 + ["b"] * 9 + ["c"])
    model = GNTKClassifier(1, 1, C=100.0).fit(DATA.graphs[:20], y)
    told = training_facts(DATA.graphs[:20], model, y=y)
    assert np.sum(told["confusion"]) == 20
    assert any("c (1)" in w for w in told["warnings"])


def test_two_graphs_are_enough_for_a_page():
    model = GNTKClassifier(1, 1).fit(DATA.graphs[:2], ["a", "b"])
    told = training_facts(DATA.graphs[:2], model, y=["a", "b"])
    json.dumps(told, allow_nan=False)
    assert told["maps"] == []


def test_equal_targets_make_a_sensible_page():
    y = np.full(12, 3.0)
    model = GNTKRegressor(1, 1).fit(DATA.graphs[:12], y)
    told = training_facts(DATA.graphs[:12], model, y=y)
    json.dumps(told, allow_nan=False)
    assert told["score"]["mean"] == 0.0


def test_one_graph_cannot_be_evaluated():
    with pytest.raises(InputError, match="at least two classes"):
        evaluate(DATA.graphs[:1], [1])


def test_a_graph_of_five_thousand_nodes_is_drawn_in_part():
    rng = np.random.default_rng(0)
    large = [Graph.from_edges([(i, int(rng.integers(0, i))) for i in range(1, n)], n) for n in (5000, 300)]
    data = small([*large, *[Graph.from_edges([(0, i) for i in range(1, n)], n) for n in range(3, 9)]], [0, 1] * 4)
    told = report_of(data)
    first = told["graphs"][0]
    assert (first["nodes"], first["edges"]) == (5000, 4999)
    assert first["drawing"]["nodes"] == len(first["drawing"]["shares"]) == 150
    assert first["drawing"]["edges"]


def test_other_data_than_was_evaluated_are_refused(result):
    with pytest.raises(InputError, match="the evaluation is of 188 graphs, but data has 10"):
        evaluation_facts(DATA.graphs[:10], result, y=DATA.y[:10])
    model = GNTKRegressor(1, 1).fit(DATA.graphs[:12], np.arange(12.0))
    with pytest.raises(InputError, match="fitted on 12 graphs, but data has 188"):
        training_facts(DATA, model)
    with pytest.raises(InputError, match="not fitted"):
        training_facts(DATA, GNTKRegressor())


def test_rows_left_out_when_reading_are_told(result):
    source = replace(Source.of(DATA), skipped=3)
    from fastgntk.report._collect import about_reading

    assert "3 rows were left out" in about_reading(source)[0]


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
