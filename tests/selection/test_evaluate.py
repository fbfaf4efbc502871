from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from fastgntk import GNTK, InputError, datasets, gram, normalize
from fastgntk.datasets import synthetic
from fastgntk.models import _svm as _machine
from fastgntk.selection import Grid, evaluate, read_folds
from fastgntk.selection import _evaluate as module

SMALL = Grid(blocks=(1, 2), layers=(1,), scale=("degree",), jump=(True,), normalize=(True, False), C=(1.0, 100.0))


@pytest.fixture(scope="module")
def rings():
    return synthetic.cycles_with_motifs(60, 8, (3, 5), copies=2, seed=1)


@pytest.mark.parametrize("Cs", [(1.0, 100.0), (100.0, 1.0)])
def test_du2019_is_the_best_mean_over_the_reported_folds(Cs):
    """Written again from its definition, with scikit-learn alone."""
    data = datasets.load("MUTAG")
    result = evaluate(data, protocol="du2019", grid=replace(SMALL, C=Cs), folds=5, seed=3, workers=1)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=3).split(data.y, data.y))
    means = {}
    for blocks in SMALL.blocks:
        raw = gram(data, GNTK(blocks, 1, "degree", True))
        for normalized, K in ((True, normalize(raw)), (False, raw)):
            for C in SMALL.C:
                scores = []
                for train, test in folds:
                    unit = np.diagonal(K)[train].mean() - K[np.ix_(train, train)].mean()
                    machine = SVC(kernel="precomputed", C=C, tol=0.01).fit(
                        K[np.ix_(train, train)] / unit, data.y[train]
                    )
                    scores.append(machine.score(K[np.ix_(test, train)] / unit, data.y[test]))
                means[blocks, normalized, C] = np.mean(scores)
    choice = result.choices[0]
    assert result.mean == pytest.approx(max(means.values()), abs=1e-12)
    assert result.mean == pytest.approx(means[choice.blocks, choice.normalize, choice.C], abs=1e-12)
    assert result.optimistic
    assert len(set(result.choices)) == 1
    assert result.fits == 5 * 4 * 2


def test_nested_never_selects_on_the_test_fold(monkeypatch, rings):
    """Whatever the test folds score, the choice must be the same."""
    chosen = evaluate(rings, grid=SMALL, folds=3, workers=1).choices
    original = module.score_splits

    def lie_about_outer_folds(kernel, y, splits, Cs):
        scores, stopped = original(kernel, y, splits, Cs)
        scores[:3] = np.random.default_rng(int(abs(kernel).sum())).random(scores[:3].shape)
        return scores, stopped

    monkeypatch.setattr(module, "score_splits", lie_about_outer_folds)
    lied = evaluate(rings, grid=SMALL, folds=3, workers=1)
    assert lied.choices == chosen
    assert evaluate(rings, grid=SMALL, folds=3, workers=1, protocol="du2019").choices != chosen


def test_inner_folds_stay_within_the_training_part(monkeypatch, rings):
    seen = []
    original = module.score_splits

    def look(kernel, y, splits, Cs):
        seen.append(splits)
        return original(kernel, y, splits, Cs)

    monkeypatch.setattr(module, "score_splits", look)
    evaluate(rings, grid=SMALL, folds=3, inner_folds=4, workers=1)
    splits = seen[0]
    assert len(splits) == 3 + 3 * 4
    assert sorted(np.concatenate([test for _, test in splits[:3]]).tolist()) == list(range(60))
    for k in range(3):
        outer_train, outer_test = splits[k]
        inner = splits[3 + 4 * k : 3 + 4 * (k + 1)]
        assert sorted(np.concatenate([test for _, test in inner]).tolist()) == sorted(outer_train.tolist())
        for train, test in inner:
            assert not set(train) & set(test)
            assert not set(outer_test) & (set(train) | set(test))


def test_rings_with_different_motifs_are_told_apart(rings):
    result = evaluate(rings, grid=SMALL, folds=5, workers=1)
    assert result.mean > 0.95
    assert result.n_classes == 2


def test_workers_and_repetition_change_nothing(rings):
    one = evaluate(rings, grid=SMALL, folds=3, workers=1)
    two = evaluate(rings, grid=SMALL, folds=3, workers=2)
    assert (one.accuracies, one.choices) == (two.accuracies, two.choices)


def test_given_folds_are_used(rings):
    folds = np.arange(60) // 2 % 3
    result = evaluate(rings, grid=SMALL, folds=folds, workers=1)
    assert len(result.accuracies) == 3
    assert result.accuracies == evaluate(rings, grid=SMALL, folds=folds.tolist(), workers=1).accuracies


def test_progress_runs_through_both_stages(rings):
    calls = []
    grid = Grid(blocks=(1,), layers=(1, 2), scale=("degree",), jump=(True,), normalize=(True,), C=(1.0,))
    evaluate(rings, grid=grid, folds=3, workers=1, progress=lambda *call: calls.append(call))
    for stage in ("kernel", "learning"):
        shares = [done / total for name, done, total in calls if name == stage]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0


def test_fits_that_do_not_converge_are_counted(monkeypatch, rings):
    monkeypatch.setattr(_machine, "_MAX_STEPS", 1)
    result = evaluate(rings, grid=SMALL, folds=3, workers=1)
    assert 0 < result.fits_stopped <= result.fits


def test_the_record_is_plain_json(rings):
    record = evaluate(rings, grid=SMALL, folds=3, workers=1).to_dict()
    back = json.loads(json.dumps(record))
    assert back["accuracy_mean"] == pytest.approx(np.mean(back["accuracies"]))
    assert back["accuracy_std"] == pytest.approx(np.std(back["accuracies"]))
    assert len(back["choices"]) == 3
    assert back["grid"]["C"] == [1.0, 100.0]
    assert back["engine"] == "decoupled"


def test_numpy_values_in_a_grid_become_plain_ones():
    grid = Grid(blocks=np.array([1, 2]), C=np.array([1, 10]), jump=np.array([True]))
    assert json.loads(json.dumps(grid.to_dict()))["blocks"] == [1, 2]


def test_a_run_that_converges_counts_no_stopped_fits(rings):
    assert evaluate(rings, grid=SMALL, folds=3, workers=1).fits_stopped == 0


@pytest.mark.parametrize("protocol", ["nested", "du2019"])
def test_ties_go_to_the_first_of_the_grid(monkeypatch, rings, protocol):
    monkeypatch.setattr(module, "score_splits", lambda kernel, y, splits, Cs: (np.full((len(splits), len(Cs)), 0.5), 0))
    for choice in evaluate(rings, protocol=protocol, grid=SMALL, folds=3, workers=1).choices:
        assert (choice.blocks, choice.normalize, choice.C) == (1, True, 1.0)


def test_the_unit_of_c_is_taken_from_training_graphs_only():
    """Self-similarities of test graphs must not reach the machine."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    y = (X[:, 0] > 0).astype(int)
    K = X @ X.T
    train, test = np.arange(20), np.arange(20, 30)
    seen, _ = module.score_splits(K, y, [(train, test)], [0.05, 1.0])
    inflated = K.copy()
    inflated[test, test] *= 1e6
    assert np.array_equal(seen, module.score_splits(inflated, y, [(train, test)], [0.05, 1.0])[0])


def test_the_default_grid_shrinks_for_many_graphs():
    assert len(Grid.default(500)) == len(Grid()) == 120
    assert len(Grid.default(501)) == 20


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"y": [0] * 59}, r"y must have one class for each of the 60 graphs, but has shape \(59,\)"),
        ({"y": [1] * 60}, "at least two classes, but all 60 graphs are of class 1"),
        ({"y": np.linspace(0, 1, 60)}, "y holds real numbers"),
        (
            {"y": ["a"] * 57 + ["b"] * 3},
            "class b has 3 members, fewer than folds=10; use at most folds=3, or leave",
        ),
        (
            {"y": [0] * 56 + [1] * 4, "folds": 4},
            "3 members in the training part of outer fold 1, fewer than inner_folds=5; use at most inner_folds=3",
        ),
        ({"y": [0, 1] * 2 + [2] * 56, "folds": 2, "inner_folds": 2}, "1 member .* more graphs of it are needed"),
        ({"folds": ["a"] * 60}, r"but has shape \(60,\) and dtype <U1"),
        ({"folds": 1}, "folds must be 2 or more, but is 1"),
        ({"inner_folds": 1}, "inner_folds must be 2 or more, but is 1"),
        ({"seed": -1}, r"seed must lie in 0\.\.4294967295, but is -1"),
        ({"folds": [0] * 60}, "folds must have at least two different numbers"),
        ({"folds": [0, 1]}, "folds must hold one whole number for each of the 60 graphs"),
        ({"folds": np.arange(60) % 2}, "all members of class 0 are in fold 0, so nothing is left to learn it from"),
        ({"protocol": "loo"}, "protocol must be one of nested, du2019, but is 'loo'"),
        ({"engine": "warp"}, "engine must be one of"),
    ],
)
def test_bad_input_is_named(rings, options, words):
    with pytest.raises(InputError, match=words):
        evaluate(rings, **{"workers": 1, "grid": SMALL, **options})


def test_graphs_without_classes_are_refused():
    with pytest.raises(InputError, match="there are no class labels; pass y"):
        evaluate(datasets.load("MUTAG").graphs)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"blocks": ()}, "blocks must have at least one value"),
        ({"blocks": (0, 2)}, "blocks must be a whole number, 1 or more, but is 0"),
        ({"layers": (0,)}, "layers must be a whole number, 1 or more, but is 0"),
        ({"scale": ("loud",)}, "scale must be one of uniform, degree, unit, but is 'loud'"),
        ({"C": (1.0, -1.0)}, "C must hold numbers above 0"),
        ({"C": ("a",)}, "C must hold numbers above 0"),
        ({"blocks": 3}, "blocks must be a sequence of values to try, but is 3"),
        ({"blocks": (1, 2.5)}, "blocks must be a whole number"),
        ({"jump": ("no",)}, "jump must hold True and False only"),
        ({"normalize": (1,)}, "normalize must hold True and False only"),
    ],
)
def test_bad_grids_are_named(options, words):
    with pytest.raises(InputError, match=words):
        Grid(**options)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0\n1\n", "has 2 lines, but there are 3 graphs"),
        ("0\nx\n1\n", r"line 2: expected a fold number, found 'x'"),
        ("0\n1 2\n", r"line 2: expected a fold number, found '1 2'"),
        ("0\n--5\n1\n", r"line 2: expected a fold number, found '--5'"),
        ("0\n99999999999999999999\n1\n", "line 2: expected a fold number"),
    ],
)
def test_bad_folds_files_are_named(tmp_path, text, words):
    (tmp_path / "folds.txt").write_text(text)
    with pytest.raises(InputError, match=words):
        read_folds(tmp_path / "folds.txt", 3)
    with pytest.raises(InputError, match="cannot be read"):
        read_folds(tmp_path / "none.txt", 3)
