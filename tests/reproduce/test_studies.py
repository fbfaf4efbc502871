"""The studies of time, sketches and theory: a quick run of each, and the arithmetic of their verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import EXACT

import fastgntk as fg
from fastgntk import InputError
from fastgntk.reproduce import StudyOptions, get_study, run_study
from fastgntk.reproduce._complexity import _count, compute_gains, fit_exponent
from fastgntk.reproduce._figure_sketch import sketched_product
from fastgntk.reproduce._study import PAPER_DATA
from fastgntk.reproduce._table_accuracy import GIN_ACCURACY, GNTK_ACCURACY
from fastgntk.reproduce._table_time import PAPER_SECONDS, _sum_over_pairs
from fastgntk.sketch import AMS, SKETCHES


def quick(name, folder):
    outcome = run_study(get_study(name), folder, StudyOptions(quick=True))
    assert all(path.stat().st_size > 0 for path in outcome.files.values())
    assert run_study(get_study(name), folder, StudyOptions(quick=True)).measured == 0
    return outcome


@pytest.mark.slow
def test_figure_sketch_error_is_below_the_bound_and_decreases_with_the_rate(tmp_path):
    outcome = quick("figure-sketch", tmp_path)
    assert {row["sketch"] for row in outcome.rows} == set(SKETCHES)
    for row in outcome.rows:
        assert (
            0 < row["error"] < row["bound"] <= (row["bound_left"] + row["bound_right"] + row["bound_both"]) * 1.000001
        )
        assert row["entry_error"] < row["entry_bound"]
        assert row["entry_error_median"] < row["entry_error"]
    for sketch in SKETCHES:
        errors = [row["error"] for row in outcome.rows if row["sketch"] == sketch and row["entries"] == "uniform"]
        assert errors[0] > 1.5 * errors[-1]
    assert [row["entries"] for row in outcome.rows] == ["uniform"] * 15 + ["normal"] * 15
    uniform, normal, frobenius, _ = outcome.verdict
    assert "AMS, uniform entries: the mean over all entries is below the bound at every rate, as claimed" in uniform
    assert "AMS, normal entries" in normal
    assert "below the lemma's bound for every sketch and rate" in frobenius


def test_figure_sketch_verdict_reports_an_error_above_the_bound():
    row = {"entries": "uniform", "sketch": "ams", "rate": 0.1, "error": 2.0, "bound": 1.0, "speedup": 3.0}
    row |= {"entry_error": 4.0, "entry_error_median": 1.0, "entry_bound": 3.0}
    entries, frobenius, speed = get_study("figure-sketch").verdict([row])
    assert "the mean over all entries is above the bound at rates 0.1" in entries
    assert "above the lemma's bound for ams at 0.1" in frobenius
    assert "ams up to rate 0.1" in speed


def test_sketched_product_equals_the_product_of_dense_matrices():
    rng = np.random.default_rng(0)
    G, A, H = rng.random((3, 12, 12))
    R, S = AMS.draw(12, 5, rng), AMS.draw(12, 7, rng)
    expected = G.T @ R.dense().T @ R.dense() @ A @ S.dense().T @ S.dense() @ H
    EXACT.check(sketched_product(G, R, A, S, H), expected)


@pytest.mark.slow
def test_table_time_measures_every_engine(tmp_path):
    outcome = quick("table-time", tmp_path)
    assert [row["engine"] for row in outcome.rows] == ["kronecker", "decoupled", "sketched", "lossless"]
    times = {row["engine"]: row["seconds"] for row in outcome.rows}
    assert min(times.values()) > 0
    assert "the paper prints 2.7× for decoupled" in outcome.verdict[0]


def test_table_time_refuses_an_unknown_data_set_before_any_measurement(tmp_path):
    with pytest.raises(InputError, match="did you mean MUTAG"):
        run_study(get_study("table-time"), tmp_path, StudyOptions(data=("MUTAGG",)))


def test_kronecker_times_are_scaled_by_sizes_of_all_pairs():
    squares = np.array([4.0, 9.0, 1.0])
    pairs = [squares[i] * squares[j] for i in range(3) for j in range(i, 3)]
    assert _sum_over_pairs(squares) == sum(pairs)


@pytest.mark.slow
def test_complexity_has_exponents_and_a_map(tmp_path):
    outcome = quick("complexity", tmp_path)
    assert {row["part"] for row in outcome.rows} == {"time", "blocks", "layers", "map"}
    assert "of its counted operations: kronecker N^" in outcome.verdict[0]
    # Whether the times are on a line depends on the machine.
    assert "in L (the theorems: linear); R² of a line: decoupled " in outcome.verdict[1]
    assert len(compute_gains(outcome.rows)) == 8


def test_counted_operations_of_a_pair_leave_out_graphs_alone():
    cell = {"engine": "decoupled", "nodes": 10, "rate": None, "blocks": 3, "layers": 2}
    batch = fg.NodeFeatures("degree").fit_transform(fg.datasets.synthetic.erdos_renyi(2, 10, 0.5).graphs)
    pair = 100 * batch.features.shape[1] + 5 * 2000 + 100 * 6 + 100  # features, aggregation, layers, readout
    assert _count(cell, batch) == pair


def test_gain_is_relative_to_the_faster_exact_engine():
    place = {"part": "map", "nodes": 10, "density": 0.5}
    rows = [
        {**place, "engine": "decoupled", "rate": None, "seconds": 6.0},
        {**place, "engine": "lossless", "rate": None, "seconds": 3.0},
        {**place, "engine": "sketched", "rate": 0.1, "seconds": 0.5},
        {**place, "engine": "sketched", "rate": 0.3, "seconds": 6.0},
    ]
    assert compute_gains(rows) == {(10, 0.5, 0.1): 6.0, (10, 0.5, 0.3): 0.5}


def test_exponents_are_fitted_to_all_sizes():
    sizes = [10, 20, 40, 80]
    assert fit_exponent(sizes, [n**2.5 for n in sizes]) == pytest.approx(2.5)
    # With x = log2(n) as -1.5, -0.5, 0.5, 1.5, raising the last by 1 adds 1.5/5 to the slope of log2(t).
    assert fit_exponent(sizes, [10.0, 20.0, 40.0, 160.0]) == pytest.approx(1.3)


def test_crossovers_hold_for_every_larger_size_and_leave_out_gains_within_the_noise():
    study = get_study("complexity")
    seconds = {100: 0.5, 200: 0.9, 400: 0.5, 800: 0.25}
    rows = [
        {"part": "map", "engine": "decoupled", "nodes": N, "density": 0.5, "rate": None, "seconds": 1.0}
        for N in seconds
    ]
    rows += [
        {"part": "map", "engine": "sketched", "nodes": N, "density": 0.5, "rate": 0.1, "seconds": s}
        for N, s in seconds.items()
    ]
    rows += [{"part": "time", "engine": "sketched", "nodes": N, "seconds": N, "operations": N**2} for N in seconds]
    depths = [{"engine": "decoupled", "blocks": k, "layers": k, "seconds": 2.0 * k + 1} for k in (1, 2, 4)]
    rows += [{"part": part, **depth} for part in ("blocks", "layers") for depth in depths]
    exponents, blocks, layers, crossover, best = study.verdict(rows)
    assert "sketched N^1.00 (T(N, N, b): N^2.00)" in exponents
    assert blocks == "Time is linear in L (the theorems: linear); R² of a line: decoupled 1.000."
    assert layers.startswith("Time is linear in R")
    assert crossover == "At density 0.5 sketching is at least 1.2 times as fast: rate 0.1 from 400 nodes."
    assert "4.0 times, at 800 nodes" in best


@pytest.mark.slow
def test_end_to_end_compares_construction_with_solving(tmp_path):
    outcome = quick("end-to-end", tmp_path)
    assert {row["engine"] for row in outcome.rows} == {"kronecker", "decoupled", "lossless"}
    for row in outcome.rows:
        assert row["build_seconds"] > 0
        assert 0 < row["build_fraction"] < 1
        assert row["build_fraction"] == pytest.approx(
            row["build_seconds"] / (row["build_seconds"] + row["solve_seconds"])
        )
    assert "MUTAG" in outcome.verdict[0]


@pytest.mark.slow
def test_generalization_respects_its_bounds_and_learns(tmp_path):
    outcome = quick("generalization", tmp_path)
    exact = [row for row in outcome.rows if row["rate"] is None]
    for row in exact:
        assert row["label_norm"] <= row["norm_bound"] <= row["norm_bound_du2019"]
        assert row["trace"] <= row["trace_bound"] == 2 * row["graphs"] * 100
        assert row["test_loss"] < 0.5 * row["constant_loss"]
        assert row["spectral_low"] == pytest.approx(1.0, abs=1e-6)
    worst = max(row["test_loss"] for row in exact)
    assert all(row["test_loss"] > worst for row in outcome.rows if row["rate"] == 0.5)
    assert "norm and trace are below their bounds" in outcome.verdict[0]


def test_published_figures_cover_every_data_set():
    assert set(PAPER_DATA) == set(PAPER_SECONDS) == set(GNTK_ACCURACY) == set(GIN_ACCURACY)
