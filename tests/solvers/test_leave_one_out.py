"""Leave-one-out without held-out rows equals fits to all other rows but one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import Tolerance

from fastgntk import InputError
from fastgntk.solvers import leave_one_out_without

ROUNDING = Tolerance(relative=1e-9, absolute=1e-11)


@pytest.mark.parametrize("held_out", [[], [3], [0, 7, 8, 20], [*range(1, 25)]])
def test_residuals_equal_those_of_separate_fits(held_out):
    rng = np.random.default_rng(0)
    B, Y = rng.standard_normal((25, 12)), rng.standard_normal((25, 2))
    K, ridge = B @ B.T, 0.3
    (residuals,) = leave_one_out_without(K, Y, ridge, [np.array(held_out, dtype=np.int64)])
    kept = np.setdiff1d(np.arange(25), held_out)
    expected = np.zeros_like(Y)
    for i in kept:
        rest = kept[kept != i]
        alpha = np.linalg.solve(K[np.ix_(rest, rest)] + ridge * np.eye(len(rest)), Y[rest])
        expected[i] = Y[i] - K[i, rest] @ alpha
    ROUNDING.check(residuals, expected)


def test_targets_of_held_out_rows_do_not_matter():
    rng = np.random.default_rng(1)
    B, Y = rng.standard_normal((30, 30)), rng.standard_normal((30, 1))
    rows, other = np.arange(4, 14), Y.copy()
    other[rows] = 1e6
    one, two = (next(leave_one_out_without(B @ B.T, y, 0.1, [rows])) for y in (Y, other))
    np.testing.assert_array_equal(one, two)


def test_each_choice_of_rows_is_independent_of_the_others():
    rng = np.random.default_rng(2)
    B, Y = rng.standard_normal((2100, 3)), rng.standard_normal((2100, 1))  # more than one piece of the mirrored inverse
    choices = [np.arange(5), np.arange(2000, 2100)]
    together = list(leave_one_out_without(B @ B.T, Y, 1.0, choices))
    for rows, found in zip(choices, together, strict=True):
        np.testing.assert_array_equal(found, next(leave_one_out_without(B @ B.T, Y, 1.0, [rows])))
        kept = np.setdiff1d(np.arange(2100), rows)
        A = np.linalg.inv(B[kept] @ B[kept].T + np.eye(len(kept)))
        Tolerance(relative=1e-7, absolute=1e-9).check(found[kept], A @ Y[kept] / A.diagonal()[:, None])


def test_indefinite_matrix_is_refused():
    with pytest.raises(InputError, match="not positive definite; use a larger ridge"):
        next(leave_one_out_without(-np.eye(3), np.ones((3, 1)), 0.5, [np.arange(1)]))
