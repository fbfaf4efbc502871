"""The three-term bound of the sketching lemma, and the exact mean square of the error over all sketches."""

from __future__ import annotations

from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from tests.tables import EXACT

from fastgntk import InputError
from fastgntk.theory import beta, sketching_bound, sketching_rms

# Every sketch of few rows and columns, with its probability: averages over them are exact.


def all_signs(b: int, n: int):
    for signs in product([-1.0, 1.0], repeat=b * n):
        yield 2.0 ** -(b * n), np.reshape(signs, (b, n)) / np.sqrt(b)


def all_gaussians(b: int, n: int):
    # Gauss–Hermite quadrature with three points is exact up to degree 5; the squared error has degree 4 in each entry.
    points, weights = np.array([-np.sqrt(3), 0.0, np.sqrt(3)]), np.array([1, 4, 1]) / 6
    for chosen in product(range(3), repeat=b * n):
        yield float(np.prod(weights[list(chosen)])), np.reshape(points[list(chosen)], (b, n)) / np.sqrt(b)


def all_sparse(b: int, n: int, s: int):
    columns = []
    for rows in combinations(range(b), s):
        for signs in product([-1.0, 1.0], repeat=s):
            column = np.zeros(b)
            column[list(rows)] = np.array(signs) / np.sqrt(s)
            columns.append(column)
    for chosen in product(columns, repeat=n):
        yield len(columns) ** -float(n), np.array(chosen).T


CASES = {
    # every sketch of b rows and n columns; b1, b2, n
    "ams": (all_signs, 2, 1, 3),
    "gaussian": (all_gaussians, 2, 1, 2),
    "countsketch": (partial(all_sparse, s=1), 2, 3, 3),
    "sparse": (partial(all_sparse, s=2), 3, 4, 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("sketch", CASES)
def test_mean_square_equals_the_average_over_all_sketches(sketch):
    sketches, b1, b2, n = CASES[sketch]
    rng = np.random.default_rng(0)
    g, A, h = rng.standard_normal((n, 2)), rng.standard_normal((n, n)), rng.standard_normal((n, 3))
    rights = list(sketches(b2, n))
    mean, square = np.zeros((2, 3)), np.zeros((2, 3))
    for p, R in sketches(b1, n):
        for q, S in rights:
            error = g.T @ R.T @ R @ A @ S.T @ S @ h - g.T @ A @ h
            mean += p * q * error
            square += p * q * error**2
    assert np.abs(mean).max() < EXACT.relative
    EXACT.check(sketching_rms(g, A, h, b1, b2, sketch), np.sqrt(square))


def test_terms_are_those_of_each_pair_of_columns():
    rng = np.random.default_rng(1)
    G, A, H = rng.standard_normal((5, 2)), rng.standard_normal((5, 4)), rng.standard_normal((4, 3))
    bound = sketching_bound(G, A, H, 9, 16, beta1=2.0, beta2=3.0)
    for i in range(2):
        for j in range(3):
            g, h, norm = G[:, i], H[:, j], np.linalg.norm
            EXACT.check(bound.left[i, j], 2 / 3 * norm(g) * norm(A @ h))
            EXACT.check(bound.right[i, j], 3 / 4 * norm(g @ A) * norm(h))
            EXACT.check(bound.both[i, j], 6 / 12 * norm(g) * norm(h) * norm(A))
            single = sketching_bound(g, A, h, 9, 16, 2.0, 3.0)
            EXACT.check(single.total.item(), bound.total[i, j])
            EXACT.check(single.frobenius, bound.total[i, j])
    EXACT.check(bound.frobenius, np.sqrt((bound.total**2).sum()))
    EXACT.check(sketching_bound(G, A, H, 9, 16, 2.0).right, bound.right * 2 / 3)


def draw(sketch: str, b: int, n: int, rng: np.random.Generator) -> np.ndarray:
    if sketch == "gaussian":
        return rng.standard_normal((b, n)) / np.sqrt(b)
    if sketch == "ams":
        return rng.choice([-1.0, 1.0], (b, n)) / np.sqrt(b)
    S = np.zeros((b, n))
    S[rng.integers(0, b, n), np.arange(n)] = rng.choice([-1.0, 1.0], n)
    return S


def failures(sketch: str, value: float, draws: int = 400) -> float:
    """Which share of errors is above the bound with that β."""
    rng, n, b = np.random.default_rng(2), 30, 20
    g, A, h = rng.standard_normal(n), rng.standard_normal((n, n)), rng.standard_normal(n)
    bound = sketching_bound(g, A, h, b, b, value).frobenius
    count = 0
    for _ in range(draws):
        R, S = draw(sketch, b, n, rng), draw(sketch, b, n, rng)
        count += abs((g @ R.T) @ (R @ A @ S.T) @ (S @ h) - g @ A @ h) > bound
    return count / draws


@pytest.mark.parametrize("sketch", ["ams", "gaussian"])
def test_bound_holds_with_constant_one_and_fails_with_a_small_one(sketch):
    assert failures(sketch, beta(sketch, 30)) == 0
    assert failures(sketch, beta(sketch, 30, constant=0.03)) > 0.3


def test_countsketch_constant_is_that_of_chebyshev():
    delta = 0.2
    assert failures("countsketch", beta("countsketch", 30, delta=delta, constant=np.sqrt(2))) <= 2 * delta + delta**2
    assert failures("countsketch", beta("countsketch", 30, delta=0.99, constant=0.1)) > 0.3


def test_matrix_bound_holds():
    rng = np.random.default_rng(3)
    G, A, H = rng.standard_normal((30, 4)), rng.standard_normal((30, 30)), rng.standard_normal((30, 5))
    bound = sketching_bound(G, A, H, 20, 25, beta("ams", 30)).frobenius
    rms = np.linalg.norm(sketching_rms(G, A, H, 20, 25))
    errors = []
    for _ in range(200):
        R, S = draw("ams", 20, 30, rng), draw("ams", 25, 30, rng)
        errors.append(np.linalg.norm(G.T @ R.T @ R @ A @ S.T @ S @ H - G.T @ A @ H))
    assert max(errors) < bound
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(rms, rel=0.1)


def test_beta_follows_the_formula_of_each_sketch():
    for name in ("ams", "gaussian", "srht"):
        EXACT.check(beta(name, 100, constant=2.0), 2 * np.log(100) ** 1.5)
    EXACT.check(beta("countsketch", 7, delta=0.04, constant=3.0), 15.0)
    assert beta("ams", 1) == beta("ams", 2) > 0


@pytest.mark.parametrize("s", [1, 2, 8])
def test_sparse_beta_covers_two_nodes_in_one_row(s):
    # Their inner product is then 1/s instead of 0, which happens with probability above 1/b, however large b is.
    for b in (10, 1_000, 1_000_000):
        assert beta("sparse", 30, nonzeros=s, size=b) / np.sqrt(b) >= 1 / s


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: beta("sign", 3), "sketch must be one of ams, gaussian, srht, countsketch, sparse, but is 'sign'"),
        (lambda: beta("ams", 0), "n must be a number, 1 or more, but is 0"),
        (lambda: beta("ams", None), "n must be a number, 1 or more, but is None"),
        (lambda: beta("countsketch", 3, delta=0), "delta must lie between 0 and 1, but is 0"),
        (lambda: beta("sparse", 3), "needs nonzeros and size with 1 ≤ nonzeros ≤ size.*but they are None and None"),
        (lambda: beta("sparse", 3, nonzeros=5, size=4), "but they are 5 and 4"),
        (lambda: beta("sparse", 3, nonzeros="a", size=4), "nonzeros must be an integer, 1 or more, but is 'a'"),
        (lambda: sketching_bound(np.ones(2), np.eye(3), np.ones(3), 1, 1, 1.0), r"A must have shape \(2, 3\)"),
        (lambda: sketching_bound(np.ones(3), np.eye(3), np.ones(3), 0, 1, 1.0), "b1 must be a number above 0"),
        (lambda: sketching_bound(np.ones(3), np.eye(3), np.ones(3), 1, "a", 1.0), "b2 must be .*, but is 'a'"),
        (lambda: sketching_bound(np.ones(3), np.eye(3), np.ones(3), 1, 1, -1), "beta1 must be .* above 0, but is -1"),
        (lambda: sketching_bound(np.ones(3), np.eye(3), np.ones(3), 1, 1, 1, "a"), "beta2 must be .*, but is 'a'"),
        (lambda: sketching_bound(np.ones(1), [[np.nan]], np.ones(1), 1, 1, 1.0), r"A must hold .* entry \(0, 0\) is"),
        (
            lambda: sketching_bound(np.ones((1, 1, 1)), np.eye(3), np.ones(3), 1, 1, 1.0),
            "g must be .*, but has 3 dimensions",
        ),
        (lambda: sketching_rms(np.ones(3), np.eye(3), np.ones(3), 1, 1, "srht"), "but is 'srht'"),
    ],
)
def test_mismatched_input_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
