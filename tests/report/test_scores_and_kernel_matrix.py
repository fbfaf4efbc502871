"""Calibration, maps, heat map and baselines of a report, compared with independent computations."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tests.report.mutag import AXES, DATA, GRAPH

from fastgntk import GNTK, gram
from fastgntk.datasets import synthetic
from fastgntk.pairwise import normalize
from fastgntk.report.data import _kernel_matrix, _scores
from fastgntk.report.data._scores import classification_baselines, regression_baselines

pytestmark = pytest.mark.slow


def test_calibration_bins_hold_observed_frequencies():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    truth = (rng.random(300) < p**2).astype(np.int64)
    p[:3] = 0.0, 1.0, 0.1
    bins, note = _scores.class_calibration(np.column_stack([1 - p, p]), truth, ["inactive", "active"])
    assert note.startswith("Probability of class active,")
    for b, found in enumerate(bins):
        mine = [i for i in range(300) if b / 10 <= p[i] < (b + 1) / 10 or (b == 9 and p[i] == 1.0)]
        assert found["count"] == len(mine)
        assert found["predicted"] == pytest.approx(np.mean([p[i] for i in mine]), abs=1e-4)
        assert found["observed"] == pytest.approx(np.mean([truth[i] for i in mine]), abs=1e-4)
    assert sum(b["count"] for b in bins) == 300


def test_calibration_of_three_classes_uses_the_most_probable():
    p = np.array([[0.2, 0.75, 0.05], [0.72, 0.2, 0.08], [0.3, 0.4, 0.3]])
    bins, _ = _scores.class_calibration(p, np.array([1, 1, 1]), ["a", "b", "c"])
    assert [(b["count"], b["observed"]) for b in bins] == [(1, 1.0), (2, 0.5)]
    assert bins[1]["predicted"] == pytest.approx(0.735)


@pytest.mark.parametrize(("hits", "count"), [(0, 5), (3, 7), (40, 41), (10, 10)])
def test_wilson_interval_solves_its_equation(hits, count):
    """The ends are the proportions p from which the observed one is 1.96 standard deviations away."""
    low, high = _scores.wilson_interval(hits, count)
    share, z = hits / count, norm.ppf(0.975)
    off = lambda p: (share - p) ** 2 - z**2 * p * (1 - p) / count  # noqa: E731
    # Besides 0 and 1 themselves, which solve the equation too if there are only hits or none.
    assert low == pytest.approx(brentq(off, 1e-9, share - 1e-9) if hits else 0.0, abs=1e-9)
    assert high == pytest.approx(brentq(off, share + 1e-9, 1 - 1e-9) if hits < count else 1.0, abs=1e-9)


def test_principal_components_match_scikit_learn():
    K = normalize(gram(DATA.graphs, GNTK(2, 1)))
    found = _kernel_matrix.compute_spectrum(K)
    theirs = KernelPCA(4, kernel="precomputed", eigen_solver="dense").fit_transform(K)
    for axis in range(4):
        mine = found.coordinates[:, axis]
        AXES.check(np.abs(mine), np.abs(theirs[:, axis]))
        assert mine[np.abs(mine).argmax()] > 0
    centred = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
    values = np.linalg.eigvalsh(centred)[::-1]
    shown = _kernel_matrix.principal_map(found)
    assert f"{100 * values[:2].sum() / values.sum():.0f} %" in shown["note"]
    assert found.effective_rank == pytest.approx(values.sum() ** 2 / np.sum(values**2))
    x = np.array(shown["x"]) / np.abs(shown["x"]).max()
    np.testing.assert_allclose(np.abs(x), np.abs(theirs[:, 0]) / np.abs(theirs[:, 0]).max(), atol=2e-3)


def test_iterative_eigensolver_gives_the_same_axes(monkeypatch):
    K = normalize(gram(DATA.graphs, GNTK(2, 1)))
    full = _kernel_matrix.compute_spectrum(K)
    monkeypatch.setattr(_kernel_matrix, "_FULL", 50)
    some = _kernel_matrix.compute_spectrum(K)
    assert some.condition is None
    AXES.check(some.coordinates[:, :3], full.coordinates[:, :3])
    assert some.total == pytest.approx(full.total)
    assert len(_kernel_matrix.neighbour_map(K, some)["x"]) == len(K)


def test_tsne_map_keeps_neighbours_and_is_deterministic():
    """Two families that the kernel separates well are separate in the map."""
    data = synthetic.cycles_with_motifs(60, 8, (3, 5), copies=2, random_state=1)
    K = normalize(gram(data.graphs, GNTK(2, 1)))
    found = _kernel_matrix.neighbour_map(K, _kernel_matrix.compute_spectrum(K))
    points = np.column_stack([found["x"], found["y"]])
    distance = np.linalg.norm(points[:, None] - points, axis=2) + 1e9 * np.eye(60)
    assert np.mean(data.y[distance.argmin(axis=1)] == data.y) > 0.9
    again = _kernel_matrix.neighbour_map(K, _kernel_matrix.compute_spectrum(K))
    assert (again["x"], again["y"]) == (found["x"], found["y"])


def decode(heat):
    shades = np.frombuffer(base64.b64decode(heat["values"]), dtype=np.uint8).reshape(heat["size"], heat["size"])
    return heat["low"] + (heat["high"] - heat["low"]) * shades / 255


def test_heat_map_is_symmetric_and_grouped_by_class(report, result):
    heat = report["heat_map"]
    counts = np.unique(DATA.y, return_counts=True)[1]
    assert heat["size"] == 188
    assert [(g["name"], g["stop"] - g["start"]) for g in heat["groups"]] == [("-1", counts[0]), ("1", counts[1])]
    decoded_map = decode(heat)
    assert np.array_equal(decoded_map, decoded_map.T)


def test_heat_map_entries_are_block_means(monkeypatch):
    monkeypatch.setattr(_kernel_matrix, "_ROWS", 7)
    rng = np.random.default_rng(0)
    B = rng.random((31, 40))
    K = normalize(B @ B.T)
    numbers = np.arange(31) % 2
    ordered = _kernel_matrix.order_by_class(K, np.arange(31.0), numbers, ["a", "b"])
    order = ordered.order
    assert sorted(order.tolist()) == list(range(31))
    assert numbers[order].tolist() == [0] * 16 + [1] * 15
    decoded_map = decode(_kernel_matrix.make_heat_map(K, ordered))
    edges = [round(31 * i / 7) for i in range(8)]
    for i in range(7):
        for j in range(7):
            values = [
                K[order[a], order[b]] for a in range(edges[i], edges[i + 1]) for b in range(edges[j], edges[j + 1])
            ]
            lowest = np.quantile(decoded_map, 0.0)
            assert decoded_map[i, j] == pytest.approx(max(np.mean(values), lowest), abs=0.01)


def test_order_by_class_places_similar_graphs_next_to_each_other():
    angles = np.array([0.0, 1.4, 0.1, 1.5, 0.05, 1.45])
    K = np.cos(angles[:, None] - angles)
    order = _kernel_matrix.order_by_class(K, angles, np.zeros(6, dtype=np.int64), ["a"]).order
    assert {frozenset(order[:3].tolist()), frozenset(order[3:].tolist())} == {
        frozenset({0, 2, 4}),
        frozenset({1, 3, 5}),
    }


def test_order_by_cluster_places_similar_graphs_next_to_each_other():
    angles = np.array([0.0, 1.4, 0.1, 1.5, 0.05, 1.45, 0.7])
    K = np.cos(angles[:, None] - angles)
    order, groups, _ = _kernel_matrix.order_by_cluster(K, angles, 10 * angles)
    assert sorted(order.tolist()) == list(range(7))
    assert sum(count for _, count in groups) == 7
    assert 2 <= len(groups) <= 6
    start = 0
    for name, count in groups:
        assert name.endswith(f"mean {np.mean(10 * angles[order[start : start + count]]):.3g}")
        start += count
    ends = {frozenset(order[:3].tolist()), frozenset(order[-3:].tolist())}
    assert ends & {frozenset({0, 2, 4}), frozenset({1, 3, 5})}


def test_classification_baselines_use_the_same_folds():
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(DATA.y, DATA.y))
    numbers = np.unique(DATA.y, return_inverse=True)[1]
    majority, counts = classification_baselines(DATA.graphs, numbers, splits)
    expected = [np.mean(numbers[test] == round(numbers[train].mean())) for train, test in splits]
    assert majority["mean"] == pytest.approx(100 * np.mean(expected), abs=1e-3)
    kinds = sorted({label for g in DATA.graphs for label in g.labels.tolist()})
    table = np.array(
        [[g.n_nodes, g.n_edges, *[g.labels.tolist().count(k) for k in kinds]] for g in DATA.graphs], dtype=float
    )
    scores = []
    for train, test in splits:
        scale = StandardScaler().fit(table[train])
        svm = SVC(C=10.0).fit(scale.transform(table[train]), numbers[train])
        scores.append(svm.score(scale.transform(table[test]), numbers[test]))
    assert counts["mean"] == pytest.approx(100 * np.mean(scores), abs=GRAPH)  # columns in another order


def test_mean_baseline_is_leave_one_out():
    y = np.random.default_rng(0).normal(size=40)
    mean, counts = regression_baselines(DATA.graphs[:40], y)
    residuals = [y[i] - np.mean(np.delete(y, i)) for i in range(40)]
    assert mean["mean"] == pytest.approx(np.sqrt(np.mean(np.square(residuals))), rel=1e-4)
    assert counts["mean"] > 0
