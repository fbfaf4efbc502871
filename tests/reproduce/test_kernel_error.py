"""The study of the error of the sketched kernel: recomputed figures, and sentences for given rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.tables import EXACT, FLOAT64

from fastgntk import GNTK, Compute, InputError, Sketch, datasets, gram_path
from fastgntk.pairwise import normalize
from fastgntk.reproduce import StudyOptions, get_study, run_study
from fastgntk.reproduce import _kernel_error as module
from fastgntk.selection import CrossValidation, Grid, evaluate

pytestmark = pytest.mark.slow

QUICK = StudyOptions(quick=True)
STUDY = get_study("kernel-error")


def cell(way=module._MERGED, **changes):
    return {"data": "MUTAG", "sketch": "ams", **way.cell, "rate": 0.3} | changes


def test_relative_error_is_that_of_the_frobenius_norm():
    exact = np.array([[1.0, 2.0], [2.0, 4.0]])
    approximate = np.array([[1.0, 5.0], [5.0, 4.0]])
    assert module.relative_error(approximate, exact) == pytest.approx(math.sqrt(18.0) / 5.0)


def test_sketch_of_the_size_of_the_graph_is_exact_without_a_warning():
    rows = list(STUDY.measure(cell(module._PAPER, rate=1.0), QUICK))
    assert [row["blocks"] for row in rows] == [1, 2, 3]
    for row in rows:
        assert 0 <= row["error"] < FLOAT64.relative
        assert 0 <= row["normalized_error"] < FLOAT64.relative
    assert rows[-1]["accuracy"] == rows[-1]["exact_accuracy"]


@pytest.mark.parametrize("way", module._VARIANTS, ids=lambda way: way.label)
def test_error_decreases_with_the_rate(way):
    low, high = (list(STUDY.measure(cell(way, rate=rate), QUICK))[-1] for rate in (0.1, 0.9))
    assert low["error"] > 2 * high["error"]
    assert low["normalized_error"] > 1.5 * high["normalized_error"]


def test_row_has_the_mean_error_of_its_seeds_at_its_depth():
    graphs = module._prepare_exact("MUTAG", True, 4, 1).graphs
    row = list(STUDY.measure(cell(module._PAPER), StudyOptions(quick=True, seed=4)))[1]
    exact = gram_path(graphs, module._KERNEL).at(blocks=2)
    errors, normalized, ratios = [], [], []
    for seed in (8, 9):
        sketch = Sketch("ams", size=0.3, seed=seed, merge_nodes=False, sketch_features=True)
        K = gram_path(graphs, replace(module._KERNEL, sketch=sketch)).at(blocks=2)
        errors.append(math.sqrt(((K - exact) ** 2).sum() / (exact**2).sum()))
        apart = normalize(K) - normalize(exact)
        normalized.append(math.sqrt((apart**2).sum() / (normalize(exact) ** 2).sum()))
        values = np.linalg.eigvalsh(K)
        ratios.append(values[0] / values[-1])
    assert row["blocks"] == 2
    found = [row["error"], row["error_std"], row["normalized_error"], row["eigenvalue_ratio"]]
    spread = abs(errors[0] - errors[1]) / math.sqrt(2)
    EXACT.check(found, [np.mean(errors), spread, np.mean(normalized), min(ratios)])
    assert row["accuracy"] is None
    assert row["accuracy_std"] is None


def test_accuracies_equal_those_of_evaluate_on_the_same_folds():
    rows = list(STUDY.measure(cell(module._ALL), QUICK))
    exact = module._prepare_exact("MUTAG", True, 0, 1)
    folds = np.empty(len(exact.y), dtype=int)
    for number, (_, test) in enumerate(exact.folds):
        folds[test] = number

    def accuracy(kernel):
        options = {"blocks": (3,), "layers": (2,), "scale": ("degree",), "jump": (True,), "normalize": (True,)}
        grid = Grid(**options, C=(10.0,), base=kernel)
        compute = Compute(n_jobs=1)
        return (
            100
            * evaluate(
                exact.graphs, exact.y, kernels=grid, cv=CrossValidation(protocol="du2019", folds=folds), compute=compute
            ).mean
        )

    sketches = [Sketch("ams", size=0.3, seed=seed, merge_nodes=False) for seed in (0, 1)]
    first, second = (accuracy(GNTK(sketch=sketch)) for sketch in sketches)
    assert rows[-1]["exact_accuracy"] == pytest.approx(accuracy(GNTK()))
    assert rows[-1]["accuracy"] == pytest.approx((first + second) / 2)
    assert rows[-1]["accuracy_std"] == pytest.approx(abs(first - second) / math.sqrt(2))
    assert rows[-1]["largest_class"] == pytest.approx(100 * np.bincount(exact.y == 1).max() / 60)


def test_folds_are_those_of_evaluate():
    exact = module._prepare_exact("MUTAG", True, 0, 1)
    kernels = [module._KERNEL.normalized()]
    result = evaluate(
        exact.graphs, exact.y, kernels=kernels, cv=CrossValidation(protocol="du2019"), compute=Compute(n_jobs=1)
    )
    for (_, test), (_, expected) in zip(exact.folds, result.record.folds, strict=True):
        assert test.tolist() == expected.tolist()


def test_large_data_set_is_sampled_with_classes_in_proportion():
    whole, part = datasets.load("MUTAG"), module._load_sample("MUTAG", 60, 0)
    assert len(part) == 60
    assert np.mean(part.y == 1) == pytest.approx(np.mean(whole.y == 1), abs=1 / 60)
    assert (part.graphs.sizes != module._load_sample("MUTAG", 60, 1).graphs.sizes).any()
    assert len(module._load_sample("MUTAG", 500, 0)) == 188
    with pytest.raises(InputError, match="only 6 would be of its rarest class, fewer than the 10 folds"):
        module._load_sample("MUTAG", 20, 0)


def test_unknown_data_set_is_refused_before_any_measurement():
    with pytest.raises(InputError, match="did you mean MUTAG"):
        STUDY.cells(StudyOptions(data=("dense-60", "MUTAGG")))


def test_full_study_has_every_sketch_way_and_rate(shared_data):
    cells = STUDY.cells(StudyOptions())
    assert len(cells) == 5 * 5 * 3 * 5
    assert {c["data"] for c in cells} == {"MUTAG", "PTC", "IMDB-BINARY", "PROTEINS", "dense-200"}


def made(way, rate, error, sketch="ams", blocks=3, accuracy=70.0):
    return cell(way, rate=rate, sketch=sketch) | {
        "blocks": blocks,
        "error": error,
        "normalized_error": error / 4,
        "eigenvalue_ratio": 1e-3,
        "accuracy": accuracy,
        "accuracy_std": 6.0,
        "seeds": 2,
        "exact_accuracy": 80.0,
        "largest_class": 66.5,
    }


def rows_by_hand():
    rows = []
    for way, factor in zip(module._VARIANTS, (1, 10, 100), strict=True):
        for sketch, better in (("ams", 1.0), ("srht", 0.25)):
            rows += [made(way, 0.3, 0.3 * factor * better, sketch), made(way, 0.5, 0.06 * factor * better, sketch)]
            rows += [made(way, 0.3, 0.01, sketch, blocks) for blocks in (1, 2)]
    return rows


def test_verdict_lists_rates_with_a_small_error():
    first = STUDY.verdict(rows_by_hand())[0]
    assert first == (
        "MUTAG: an error under 10 % with some sketch of distinct nodes from rate 0.3 on, normalised from rate 0.3 on; "
        "of all nodes at no rate (least 15 %, srht at 0.5), normalised from rate 0.5 on; of all nodes and features at "
        "no rate (least 150 %, srht at 0.5), normalised at no rate (least 37.5 %, srht at 0.5)."
    )


def test_verdict_compares_ways_and_sketches():
    rows = rows_by_hand()
    verdict = STUDY.verdict(rows)
    # Two sketches, two seeds each: 6/sqrt(4).
    assert "MUTAG -10.0 ± 3.0, -10.0 ± 3.0, -10.0 ± 3.0 (exact 80.0, largest class 66.5)" in verdict[1]
    assert "lower than with all nodes in 4 of 4 cases and higher in 0, normalised 4 and 0; zero in 0" in verdict[3]
    assert "10 times smaller (median)" in verdict[3]
    assert verdict[5] == "The best sketch is srht; error over the mean of all sketches: srht 0.50, ams 2.00."
    assert verdict[7].startswith("The sketched matrices are positive semi-definite up to rounding")
    rows[0]["eigenvalue_ratio"] = -0.01
    assert "NOT all positive semi-definite" in STUDY.verdict(rows)[7]
    for row in rows:
        row["error"] = 1e-16
    assert STUDY.verdict(rows)[5] == "No sketch is better than another: all are exact here."


def test_quick_run_writes_its_files_once(tmp_path):
    outcome = run_study(STUDY, tmp_path, QUICK)
    assert outcome.measured == 2 * 2 * 3 * 2
    assert set(outcome.files) == {"csv", "png", "svg", "json"}
    assert all(path.stat().st_size > 0 for path in outcome.files.values())
    assert len(outcome.rows) == 3 * outcome.measured
    assert outcome.verdict[0].startswith("MUTAG: an error under 10 %")
    assert outcome.verdict[-1].startswith("The sketched matrices are positive semi-definite up to rounding")
    again = run_study(STUDY, tmp_path, QUICK)
    assert again.measured == 0
    assert again.verdict == outcome.verdict
