"""The factor of a product whose nodes carry the contributions."""

from __future__ import annotations

import pytest
from tests.tables import EXACT, FLOAT64

from fastgntk import GNTK, WL, WLOA, InputError, cross_gram, datasets, node_contributions, prepare

GRAPHS = datasets.load("MUTAG").graphs[:12]
A, B, C = GNTK(2).normalized(), WLOA(2).normalized(), WL(1)


@pytest.mark.parametrize("factor", [0, 1, A, B])
def test_contributions_of_a_factor_are_its_own_times_the_other(factor):
    chosen, other = (A, B) if factor in (0, A) else (B, A)
    train = prepare(GRAPHS[1:], A * B)
    found = node_contributions(GRAPHS[0], train, factor=factor)
    FLOAT64.check(found, node_contributions(GRAPHS[0], GRAPHS[1:], chosen) * cross_gram(GRAPHS[:1], GRAPHS[1:], other))
    FLOAT64.check(found.sum(axis=0), cross_gram(GRAPHS[:1], train)[0])


def test_factors_of_nested_products_are_numbered_from_left_to_right():
    kernel = (2.0 * A * C).normalized() * (B + C) + 0.5 * (C * A * B)
    for factor in range(3):
        found = node_contributions(GRAPHS[0], GRAPHS[1:], kernel, factor=factor)
        FLOAT64.check(found.sum(axis=0), cross_gram(GRAPHS[:1], GRAPHS[1:], kernel)[0])
    by_index = node_contributions(GRAPHS[0], GRAPHS[1:], A * B * C, factor=2)
    EXACT.check(node_contributions(GRAPHS[0], GRAPHS[1:], A * B * C, factor=C), by_index)
    EXACT.check(node_contributions(GRAPHS[0], GRAPHS[1:], A * (B * C), factor=2), by_index)
    second = node_contributions(GRAPHS[0], GRAPHS[1:], A * (B * C), factor=1)
    EXACT.check(second, node_contributions(GRAPHS[0], GRAPHS[1:], B * (A * C)))
    EXACT.check(node_contributions(GRAPHS[0], GRAPHS[1:], C * (A * B)), by_index)


@pytest.mark.parametrize(
    ("kernel", "factor", "words"),
    [
        (
            A * B,
            C,
            r"WL\(iterations=1\) is not a factor of .*; its factors are 0: GNTK\(blocks=2\)\.normalized\(\), 1: ",
        ),
        (A * B, 2, r"factor must lie in 0\.\.1, but is 2; the factors are 0: "),
        (A * B, -1, r"factor must lie in 0\.\.1, but is -1"),
        (A * B + B * C, A, "is not a factor of WLOA"),
        (A + B, 0, "factor names a factor of a product, but .* has no product; leave it out"),
        (A * B, "WL(1)", r"factor must be the index of a factor, or a kernel, but is 'WL\(1\)'"),
        (A * B, True, "factor must be the index of a factor, or a kernel, but is True"),
    ],
)
def test_other_factors_are_refused(kernel, factor, words):
    with pytest.raises(InputError, match=words):
        node_contributions(GRAPHS[0], GRAPHS[1:], kernel, factor=factor)
