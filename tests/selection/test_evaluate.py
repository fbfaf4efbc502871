from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from fastgntk import GNTK, Compute, InputError, datasets, gram, parse_kernel
from fastgntk.datasets import synthetic
from fastgntk.models import _svm
from fastgntk.selection import (
    CrossValidation,
    FoldChoice,
    Grid,
    _grid,
    evaluate,
    evaluate_each,
    evaluation_out_of_fold,
    inner_splits,
    read_folds,
)
from fastgntk.selection import _evaluate as module

SINGLE = Compute(n_jobs=1)
CV_OPTIONS = {field.name for field in fields(CrossValidation)}
SMALL = Grid(blocks=(1, 2), layers=(1,), scale=("degree",), jump=(True,), normalize=(True, False), C=(1.0, 100.0))


@pytest.fixture(scope="module")
def rings():
    return synthetic.cycles_with_motifs(60, 8, (3, 5), copies=2, random_state=1)


@pytest.mark.slow
@pytest.mark.parametrize("Cs", [(1.0, 100.0), (100.0, 1.0)])
def test_du2019_is_the_best_mean_over_the_reported_folds(Cs):
    """Compared with a reference in scikit-learn alone."""
    data = datasets.load("MUTAG")
    result = evaluate(
        data,
        cv=CrossValidation(protocol="du2019", folds=5, random_state=3),
        kernels=replace(SMALL, C=Cs),
        compute=SINGLE,
    )
    folds = list(StratifiedKFold(5, shuffle=True, random_state=3).split(data.y, data.y))
    means = {}
    for kernel in SMALL.kernels():
        K = gram(data, kernel)
        for C in SMALL.C:
            scores = []
            for train, test in folds:
                unit = np.diagonal(K)[train].mean() - K[np.ix_(train, train)].mean()
                svm = SVC(kernel="precomputed", C=C, tol=0.01).fit(K[np.ix_(train, train)] / unit, data.y[train])
                scores.append(svm.score(K[np.ix_(test, train)] / unit, data.y[test]))
            means[kernel, C] = np.mean(scores)
    choice = result.choices[0]
    assert result.mean == pytest.approx(max(means.values()), abs=1e-12)
    assert result.mean == pytest.approx(means[choice.kernel, choice.C], abs=1e-12)
    assert result.optimistic
    assert len(set(result.choices)) == 1
    assert result.n_fits == 5 * 4 * 2


def test_nested_never_selects_on_the_test_fold(monkeypatch, rings):
    """The choice does not change with the scores of test folds."""
    chosen = evaluate(rings, kernels=SMALL, cv=3, compute=SINGLE).choices
    original = module.score_splits

    def with_random_outer_scores(kernel, y, splits, Cs):
        scores, stopped = original(kernel, y, splits, Cs)
        scores[0] = np.random.default_rng(int(abs(kernel).sum())).random(len(Cs))  # the outer split comes first
        return scores, stopped

    monkeypatch.setattr(module, "score_splits", with_random_outer_scores)
    changed = evaluate(rings, kernels=SMALL, cv=3, compute=SINGLE)
    assert changed.choices == chosen
    assert (
        evaluate(rings, kernels=SMALL, cv=CrossValidation(folds=3, protocol="du2019"), compute=SINGLE).choices != chosen
    )


def test_inner_folds_stay_within_the_training_part(monkeypatch, rings):
    seen = []
    original = module.score_splits

    def recording(kernel, y, splits, Cs):
        seen.append(splits)
        return original(kernel, y, splits, Cs)

    monkeypatch.setattr(module, "score_splits", recording)
    evaluate(rings, kernels=SMALL, cv=CrossValidation(folds=3, inner_folds=4, inner_repeats=2), compute=SINGLE)
    folds = seen[:3]  # those of the first kernel, the outer split first
    assert [len(splits) for splits in folds] == [1 + 4 * 2] * 3
    assert sorted(np.concatenate([splits[0][1] for splits in folds]).tolist()) == list(range(60))
    for (outer_train, outer_test), *inner in folds:
        for draw in (inner[:4], inner[4:]):
            assert sorted(np.concatenate([test for _, test in draw]).tolist()) == sorted(outer_train.tolist())
        assert [test.tolist() for _, test in inner[:4]] != [test.tolist() for _, test in inner[4:]]
        for train, test in inner:
            assert not set(train) & set(test)
            assert not set(outer_test) & (set(train) | set(test))


def test_rings_with_different_motifs_are_distinguished(rings):
    result = evaluate(rings, kernels=SMALL, cv=5, compute=SINGLE)
    assert result.mean > 0.95
    assert result.n_classes == 2


@pytest.mark.slow
def test_threads_and_repetition_change_nothing(rings):
    one = evaluate(rings, kernels=SMALL, cv=3, compute=SINGLE)
    two = evaluate(rings, kernels=SMALL, cv=3, compute=Compute(n_jobs=2))
    assert (one.accuracies, one.choices) == (two.accuracies, two.choices)


def test_given_folds_are_used(rings):
    folds = np.arange(60) // 2 % 3
    result = evaluate(rings, kernels=SMALL, cv=CrossValidation(folds=folds), compute=SINGLE)
    tests = [test.tolist() for _, test in result.record.folds]
    assert tests == [np.flatnonzero(folds == k).tolist() for k in range(3)]
    assert len(result.accuracies) == 3
    assert (
        result.accuracies
        == evaluate(rings, kernels=SMALL, cv=CrossValidation(folds=folds.tolist()), compute=SINGLE).accuracies
    )


def test_progress_runs_through_both_stages(rings):
    calls = []
    kernels = [GNTK(1, 1).normalized(), GNTK(1, 2).normalized(), GNTK(1, 1) + GNTK(1, 2)]
    evaluate(rings, kernels=kernels, cv=3, compute=SINGLE, progress=lambda *call: calls.append(call))
    for stage in ("kernel", "learning"):
        shares = [done / total for name, done, total in calls if name == stage]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0


def test_fits_that_do_not_converge_are_counted(monkeypatch, rings):
    monkeypatch.setattr(_svm, "_MAX_STEPS", 1)
    result = evaluate(rings, kernels=SMALL, cv=3, compute=SINGLE)
    assert 0 < result.n_unconverged <= result.n_fits


def test_to_dict_is_plain_json(rings):
    record = evaluate(rings, kernels=SMALL, cv=3, compute=SINGLE).to_dict()
    back = json.loads(json.dumps(record))
    assert back["accuracy_mean"] == pytest.approx(np.mean(back["accuracies"]))
    assert back["accuracy_std"] == pytest.approx(np.std(back["accuracies"]))
    assert len(back["choices"]) == 3
    assert back["C"] == [1.0, 100.0]
    assert [parse_kernel(text) for text in back["kernels"]] == SMALL.kernels()
    assert parse_kernel(back["choices"][0]["kernel"]) in SMALL.kernels()
    assert back["engine"] == "decoupled"


def test_numpy_values_in_a_grid_become_plain_values():
    grid = Grid(blocks=np.array([1, 2]), C=np.array([1, 10]), jump=np.array([True]))
    assert json.loads(json.dumps(grid.to_dict()))["blocks"] == [1, 2]


def test_a_run_that_converges_counts_no_stopped_fits(rings):
    assert evaluate(rings, kernels=SMALL, cv=3, compute=SINGLE).n_unconverged == 0


@pytest.mark.parametrize("protocol", ["nested", "du2019"])
def test_ties_go_to_the_first_of_the_grid(monkeypatch, rings, protocol):
    def equal_scores(K, y, splits, Cs):
        return np.full((len(splits), len(Cs)), 0.5), np.zeros(len(splits), dtype=int)

    monkeypatch.setattr(module, "score_splits", equal_scores)
    for choice in evaluate(
        rings, cv=CrossValidation(protocol=protocol, folds=3), kernels=SMALL, compute=SINGLE
    ).choices:
        assert (choice.kernel, choice.C) == (GNTK(1, 1, "degree").normalized(), 1.0)


def test_the_unit_of_c_is_taken_from_training_graphs_only():
    """The diagonal of test graphs does not reach the SVM."""
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
    assert len(Grid()) == 120
    assert len(Grid.default(500)) == 40
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
        ({"y": [0, 1] * 2 + [2] * 56, "folds": 2, "inner_folds": 2}, "1 member .* add graphs of this class"),
        ({"folds": ["a"] * 60}, r"but has shape \(60,\) and dtype <U1"),
        ({"folds": 1}, "folds must be 2 or more, but is 1"),
        ({"inner_folds": 1}, "inner_folds must be an integer, 2 or more, but is 1"),
        ({"random_state": -1}, "random_state must be an integer, 0 or more, but is -1"),
        ({"folds": [0] * 60}, "folds must have at least two distinct values"),
        ({"folds": [0, 1]}, "folds must hold one integer for each of the 60 graphs"),
        ({"folds": np.arange(60) % 2}, "all members of class 0 are in fold 0, so nothing is left to learn it from"),
        ({"protocol": "loo"}, "protocol must be one of nested, du2019, but is 'loo'"),
        ({"inner_folds": 2.5}, r"inner_folds must be an integer, 2 or more, but is 2\.5"),
        ({"inner_repeats": 0}, "inner_repeats must be an integer, 1 or more, but is 0"),
        ({"cv": "10"}, r"cv must be a number of folds or a CrossValidation, such as .*, but has type str"),
        ({"compute": {"n_jobs": 1}}, r"compute must be a fastgntk\.Compute, such as .*, but has type dict"),
        ({"kernels": GNTK()}, "kernels must be .* sequence of kernels to try, but has type GNTK"),
        ({"kernels": [GNTK(), 3]}, "kernels must be .*, but item 1 has type int"),
    ],
)
def test_invalid_input_is_refused(rings, options, words):
    def call():
        cv = CrossValidation(**{name: options[name] for name in CV_OPTIONS & options.keys()})
        others = {name: value for name, value in options.items() if name not in CV_OPTIONS}
        return evaluate(rings, **{"cv": cv, "compute": SINGLE, "kernels": SMALL, **others})

    with pytest.raises(InputError, match=words):
        call()


def test_graphs_without_classes_are_refused():
    with pytest.raises(InputError, match="there are no class labels; pass y"):
        evaluate(datasets.load("MUTAG").graphs)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"blocks": ()}, "blocks must have at least one value"),
        ({"blocks": (0, 2)}, "blocks must be an integer, 1 or more, but is 0"),
        ({"layers": (0,)}, "layers must be an integer, 1 or more, but is 0"),
        ({"scale": ("loud",)}, "scale must be one of uniform, degree, unit, given, symmetric, but is 'loud'"),
        ({"C": (1.0, -1.0)}, "every C must be a number above 0"),
        ({"C": ("a",)}, "every C must be a number above 0"),
        ({"blocks": 3}, "blocks must be a sequence of values to try, but is 3"),
        ({"blocks": (1, 2.5)}, "blocks must be an integer"),
        ({"jump": ("no",)}, "every value of jump must be True or False"),
        ({"normalize": (1,)}, "every value of normalize must be True or False"),
    ],
)
def test_invalid_grid_is_refused(options, words):
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
def test_invalid_folds_file_is_refused(tmp_path, text, words):
    (tmp_path / "folds.txt").write_text(text)
    with pytest.raises(InputError, match=words):
        read_folds(tmp_path / "folds.txt", 3)
    with pytest.raises(InputError, match="cannot be read"):
        read_folds(tmp_path / "none.txt", 3)


@pytest.mark.slow
def test_composite_kernels_are_evaluated_as_precomputed_ones(rings):
    """The choice and the accuracies are those of the same kernels, computed one by one."""
    kernels = [
        GNTK(1, 1, "degree") + GNTK(2, 1, features="degree").normalized(),
        (GNTK(2, 1, "degree") * GNTK(1, 1, "degree")).normalized(),
        0.5 * GNTK(2, 1, "degree"),
        GNTK(1, 1, "degree"),
    ]
    found = evaluate(rings, kernels=kernels, cv=CrossValidation(folds=3, inner_folds=2), compute=SINGLE)
    assert found.record.kernels == tuple(kernels)
    assert found.record.C == Grid().C
    splits = [*found.record.folds, *(s for group in inner_splits(rings.y, found.record.folds, 2, 0) for s in group)]
    scores = np.array([module.score_splits(gram(rings.graphs, k), rings.y, splits, Grid().C)[0] for k in kernels])
    for fold in range(3):
        inner = scores[:, 3 + 2 * fold : 5 + 2 * fold].mean(axis=1)
        kernel, C = np.unravel_index(inner.argmax(), inner.shape)
        assert found.choices[fold] == FoldChoice(kernels[kernel], Grid().C[C])
        assert found.accuracies[fold] == scores[kernel, fold, C]


def test_kernels_of_one_path_share_a_pass(monkeypatch, rings):
    """Depths, sums and normalised forms of the same options come from one computation."""
    calls = []
    original = _grid.gram_path

    def recording(batch, kernel, **options):
        calls.append(kernel)
        return original(batch, kernel, **options)

    monkeypatch.setattr(_grid, "gram_path", recording)
    kernels = [GNTK(1, 1), GNTK(3, 1, jump=False).normalized(), GNTK(2, 1) + GNTK(1, 1), 2.0 * GNTK(1, 1)]
    evaluate(rings, kernels=kernels, cv=3, compute=SINGLE)
    assert calls == [GNTK(3, 1)]


def test_out_of_fold_predictions_reproduce_the_accuracies(rings):
    kernels = [GNTK(1, 1, "degree") + GNTK(1, 1, features="degree"), GNTK(2, 1, "degree").normalized()]
    result = evaluate(rings, kernels=kernels, cv=3, compute=SINGLE)
    numbers = np.unique(rings.y, return_inverse=True)[1]
    found = evaluation_out_of_fold(rings.graphs, numbers, result, compute=SINGLE)
    for number, (_, test) in enumerate(result.record.folds):
        assert np.mean(found.predicted[test] == numbers[test]) == result.accuracies[number]
        assert (found.fold_index[test] == number).all()
        assert {found.kernels[i] for i in found.kernel_index[test]} == {result.choices[number].kernel}
    function = found.function(np.arange(60))
    for i, kernel in enumerate(found.kernels):
        mine = found.kernel_index == i
        values = np.einsum("ij,ij->i", function.weights, gram(rings.graphs, kernel)) + function.intercepts
        sign = np.where(found.predicted == 1, 1.0, -1.0)
        np.testing.assert_allclose(values[mine], (sign * found.values[:, 0])[mine], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("n_graphs", "n_kernels", "expected"),
    [(500, 40, (4, 12)), (501, 40, (2, 20)), (2_000, 20, (2, None)), (2_001, 20, (1, 8)), (188, 120, (4, 36))],
)
def test_draws_and_finalists_depend_on_the_numbers_of_graphs_and_kernels(n_graphs, n_kernels, expected):
    found = CrossValidation().resolve(n_graphs, n_kernels)
    assert (found.inner_repeats, found.n_finalists) == expected
    assert CrossValidation(protocol="du2019").resolve(n_graphs, n_kernels).n_finalists is None
    given = CrossValidation(inner_repeats=3, n_finalists=2).resolve(n_graphs, n_kernels)
    assert (given.inner_repeats, given.n_finalists) == (3, 2)


def test_rounding_errors_do_not_break_ties(monkeypatch, rings):
    """The order of the inner folds changes the last digit of their mean, which must not count."""
    orders = np.random.default_rng(0)

    def same_numbers_in_another_order(K, y, splits, Cs):
        scores = np.tile(np.linspace(0.1, 0.9, len(splits))[:, None], len(Cs))
        scores[1:] = scores[1 + orders.permutation(len(splits) - 1)]  # the first is the outer split
        return scores, np.zeros(len(splits), dtype=int)

    monkeypatch.setattr(module, "score_splits", same_numbers_in_another_order)
    cv = CrossValidation(3, inner_repeats=8)
    for choice in evaluate(rings, cv=cv, kernels=SMALL, compute=SINGLE).choices:
        assert choice.kernel == SMALL.kernels()[0]


@pytest.mark.parametrize("cvs", [[], CrossValidation(), 3])
def test_cross_validations_must_be_a_sequence(rings, cvs):
    with pytest.raises(InputError, match=r"cvs must be a sequence of cross-validations, such as \[CrossValidation"):
        evaluate_each(rings, cvs=cvs, kernels=SMALL, compute=SINGLE)


def test_several_cross_validations_give_the_results_of_each_alone(rings):
    cvs = [
        CrossValidation(folds=3, inner_folds=2, random_state=1),
        CrossValidation(4, "du2019", n_finalists=2),
        CrossValidation(folds=np.arange(60) % 3, inner_folds=3, n_finalists=1),
    ]
    found = evaluate_each(rings, cvs=cvs, kernels=SMALL, compute=SINGLE)
    for cv, result in zip(cvs, found, strict=True):
        alone = evaluate(rings, cv=cv, kernels=SMALL, compute=SINGLE)
        assert (result.protocol, result.accuracies, result.choices) == (
            cv.protocol,
            alone.accuracies,
            alone.choices,
        )
        assert (result.n_fits, result.n_unconverged) == (alone.n_fits, alone.n_unconverged)
        assert result.engine == alone.engine
        np.testing.assert_array_equal(result.record.scores, alone.record.scores)
