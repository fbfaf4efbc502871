from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from tests.tables import EXACT

from fastgntk import GNTK
from fastgntk.engines import kappa0, kappa1, kappas
from fastgntk.engines._activation import linear_share

ACTIVATIONS = [GNTK(activation=name) for name in ("relu", "leaky", "abs", "linear")]
ANGLES = np.linspace(0.0, np.pi, 41)


def test_values_at_minus_one_zero_and_one():
    EXACT.check(kappa0([1.0, 0.0, -1.0]), [1.0, 0.5, 0.0])
    EXACT.check(kappa1([1.0, 0.0, -1.0]), [1.0, 1 / np.pi, 0.0])


@pytest.mark.parametrize("angle", ANGLES)
def test_kappas_equal_gaussian_expectations(angle):
    # In the plane of x and y a standard normal w has a uniform direction t, and E r² = 2.
    both_positive = (angle - np.pi / 2, np.pi / 2)
    step = 2 * quad(lambda t: 1.0, *both_positive)[0] / (2 * np.pi)
    relu = 2 * 2 * quad(lambda t: np.cos(t) * np.cos(t - angle), *both_positive)[0] / (2 * np.pi)
    np.testing.assert_allclose([kappa0(np.cos(angle)), kappa1(np.cos(angle))], [step, relu], atol=1e-12)


@pytest.mark.parametrize("kernel", ACTIVATIONS, ids=repr)
@pytest.mark.parametrize("angle", ANGLES[::5])
def test_activations_have_their_gaussian_expectations(angle, kernel):
    def phi(t):
        return np.cos(t) * derivative(t)

    def derivative(t):
        return 1.0 if np.cos(t) > 0 else kernel.slope

    def mean(function):  # over directions, divided by that of φ²
        kinks = sorted({-np.pi / 2, np.pi / 2, *(k for k in (angle - np.pi / 2, angle + np.pi / 2) if abs(k) < np.pi)})
        return quad(function, -np.pi, np.pi, points=kinks)[0] / np.pi * 2 / (1 + kernel.slope**2)

    t = linear_share(kernel)
    # E r² = 2 for φ, and no r for φ'.
    np.testing.assert_allclose(kappa1(np.cos(angle), t), mean(lambda x: phi(x) * phi(x - angle)), atol=1e-10)
    expected = mean(lambda x: derivative(x) * derivative(x - angle)) / 2
    np.testing.assert_allclose(kappa0(np.cos(angle), t), expected, atol=1e-10)


@pytest.mark.parametrize("kernel", ACTIVATIONS, ids=repr)
def test_kappa0_is_the_derivative_of_kappa1(kernel):
    lam, t = np.linspace(-0.99, 0.99, 101), linear_share(kernel)
    step = 1e-6
    slope = (kappa1(lam + step, t) - kappa1(lam - step, t)) / (2 * step)
    np.testing.assert_allclose(slope, kappa0(lam, t), atol=1e-8)


def test_norms_change_as_for_relu_and_opposite_vectors_are_equal_for_the_absolute_value():
    for kernel in ACTIVATIONS:
        assert kappa0(1.0, linear_share(kernel)) == kappa1(1.0, linear_share(kernel)) == 1.0
    assert kappa1(-1.0, linear_share(GNTK(activation="abs"))) == 1.0


def test_cosines_past_one_by_rounding_are_taken_as_one():
    over = np.array([1 + 4e-16, -1 - 4e-16, 1.5, -2.0])
    assert kappa0(over).tolist() == [1.0, 0.0, 1.0, 0.0]
    assert kappa1(over).tolist() == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("below", [1e-15, 1e-12, 1e-8])
def test_kappa1_keeps_its_digits_near_one(below):
    lam = 1.0 - below
    delta = 1.0 - lam  # what floating point made of it
    series = 1.0 - delta + 2 * np.sqrt(2) / (3 * np.pi) * delta**1.5
    assert abs(kappa1(lam) - series) < 1e-15


def test_the_fused_form_equals_the_two_functions_and_may_overwrite_its_input():
    lam = np.cos(ANGLES)
    k0, work = np.empty_like(lam), np.empty_like(lam)
    k1 = lam.copy()
    kappas(k1, k0, k1, work)
    EXACT.check(k0, kappa0(lam))
    EXACT.check(k1, kappa1(lam))
    k1 = lam.copy()
    kappas(k1, k0, k1, work, 0.4)
    EXACT.check(k0, kappa0(lam, 0.4))
    EXACT.check(k1, kappa1(lam, 0.4))
