from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from fastgntk.models._calibration import Intervals, Sigmoids


def test_intervals_from_wrong_deviations_have_their_coverage():
    rng = np.random.default_rng(0)
    deviations = rng.uniform(0.5, 2.0, 4000)
    errors = 3.0 * deviations * rng.standard_t(3, 4000)  # three times too small, and not Gaussian
    half = Intervals.from_residuals(errors[:2000, None], deviations[:2000, None] ** 2)
    for coverage in (0.5, 0.9, 0.95):
        width = half.width(coverage)[0]
        held = np.mean(np.abs(errors[2000:]) <= width * deviations[2000:])
        assert held == pytest.approx(coverage, abs=0.03)
        plain = np.mean(np.abs(errors[2000:]) <= norm.ppf(0.5 + coverage / 2) * deviations[2000:])
        assert plain < coverage - 0.2


def test_factor_is_the_root_mean_square_ratio():
    some = Intervals.from_residuals(np.array([[2.0], [-4.0]]), np.array([[1.0], [4.0]]))
    assert some.ratios.tolist() == [[2.0], [2.0]]
    assert some.factor.tolist() == [2.0]
    assert Intervals.from_residuals(np.zeros((3, 1)), np.zeros((3, 1))).factor.tolist() == [1.0]


def test_width_past_the_largest_ratio_follows_the_gaussian_tail():
    few = Intervals(np.array([[0.5], [1.0], [1.5]]))
    assert few.width(0.75).tolist() == [1.5]
    assert few.width(0.99)[0] == pytest.approx(few.factor[0] * norm.ppf(0.995))


def test_probabilities_match_observed_frequencies():
    rng = np.random.default_rng(1)
    decisions = rng.normal(0.0, 2.0, (4000, 1))
    truth = 1 / (1 + np.exp(-(1.5 * decisions[:, 0] - 0.7)))
    classes = (rng.random(4000) < truth).astype(np.int64)
    found = Sigmoids.fit(decisions, classes, 2)
    assert found.slope[0] == pytest.approx(1.5, rel=0.1)
    assert found.shift[0] == pytest.approx(-0.7, rel=0.2)
    np.testing.assert_allclose(found.probabilities(decisions)[:, 1], truth, atol=0.05)


def test_probabilities_of_several_classes_add_up_to_one_and_keep_the_order():
    rng = np.random.default_rng(2)
    classes = rng.integers(0, 3, 600)
    decisions = rng.normal(0.0, 0.5, (600, 3)) + 2.0 * (classes[:, None] == np.arange(3))
    shares = Sigmoids.fit(decisions, classes, 3).probabilities(decisions)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert np.mean(shares.argmax(axis=1) == classes) > 0.95


def test_separated_classes_keep_a_finite_slope():
    decisions, classes = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    found = Sigmoids.fit(decisions, classes, 2)
    assert 0 < found.slope[0] < 10
    assert 0.6 < found.probabilities(np.array([[2.0]]))[0, 1] < 0.95


def test_uninformative_decisions_give_the_class_frequency():
    decisions = np.array([[1.0], [2.0], [-1.0], [-2.0], [0.5], [0.1]])
    classes = np.array([0, 0, 1, 1, 0, 0])  # the larger the value, the less the second class
    found = Sigmoids.fit(decisions, classes, 2)
    assert found.slope.tolist() == [0.0]
    assert found.probabilities(decisions)[:, 1].tolist() == pytest.approx([3 / 8] * 6)
