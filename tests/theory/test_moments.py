"""The power series of the kernel, its weights and its moments."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import EXACT, FAMILIES, FLOAT64

from fastgntk import InputError
from fastgntk.engines import kappa0, kappa1
from fastgntk.theory import aggregated, closed_form, moment, moment_weight

LAMBDA = np.linspace(-0.9, 0.9, 37)


def tensors(graphs, t: int) -> np.ndarray:
    """Φ_t written out: one column Σ_u h̄_u ⊗ … ⊗ h̄_u for each graph."""
    nodes = aggregated(graphs)
    columns = []
    for start, stop in zip(nodes.offsets[:-1], nodes.offsets[1:], strict=True):
        column = np.zeros(nodes.h.shape[1] ** t)
        for h in nodes.h[start:stop]:
            power = np.ones(1)
            for _ in range(t):
                power = np.kron(power, h)
            column += power
        columns.append(column)
    return np.array(columns).T


@pytest.mark.parametrize(
    ("part", "function"),
    [
        ("K1", lambda lam: lam * kappa0(lam)),
        ("K2", kappa1),
        ("K", lambda lam: lam * kappa0(lam) + kappa1(lam)),
    ],
)
def test_series_equals_the_closed_form(part, function):
    EXACT.check(sum(moment_weight(t, part) * LAMBDA**t for t in range(300)), function(LAMBDA))


def test_series_of_moments_equals_the_kernel_of_two_graphs():
    # Between these graphs |λ| stays below 0.999; within a graph λ = 1 occurs, where the series converges too slowly.
    graphs = FAMILIES["continuous features"][:2]
    first, second = (aggregated(graphs).h[:4], aggregated(graphs).h[4:])
    assert np.abs(first @ second.T).max() < 0.999
    total = sum(moment_weight(t) * moment(t, graphs)[0, 1] for t in [0, 1, *range(2, 4000, 2)])
    FLOAT64.check(total, closed_form(graphs).K[0, 1])


@pytest.mark.parametrize("family", FAMILIES)
def test_each_part_of_the_series_is_below_the_kernel(family):
    K = closed_form(FAMILIES[family]).K
    rest = K - sum(moment_weight(t) * moment(t, FAMILIES[family]) for t in (0, 1, 2, 4, 6))
    assert np.linalg.eigvalsh(rest)[0] >= -FLOAT64.absolute * max(1.0, np.abs(K).max())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("t", [1, 2, 3, 4])
def test_moments_are_products_of_tensors(family, t):
    Phi = tensors(FAMILIES[family], t)
    EXACT.check(moment(t, FAMILIES[family]), Phi.T @ Phi)


def test_moment_zero_counts_nonzero_nodes():
    # In the first graph one node of three has no feature in its neighbourhood, in the second both have none.
    assert moment(0, FAMILIES["zero features"]).tolist() == [[4.0, 0.0], [0.0, 0.0]]


def test_inequality_for_the_printed_constants_holds():
    l = np.arange(1, 200)  # noqa: E741  # the paper's letter
    weights = np.array([moment_weight(int(t)) for t in 2 * l])
    assert (weights >= 1 / (np.pi * (2 * l - 1) ** 2)).all()
    assert np.array([moment_weight(int(t)) for t in 2 * l[1:] - 1]).tolist() == [0.0] * 198


def test_invalid_powers_and_parts_are_refused():
    with pytest.raises(InputError, match="t must be a whole number, 0 or more, but is -1"):
        moment_weight(-1)
    with pytest.raises(InputError, match=r"t must be a whole number, 0 or more, but is 1\.5"):
        moment(1.5, FAMILIES["path"])
    with pytest.raises(InputError, match="part must be one of K, K1, K2, but is 'K3'"):
        moment_weight(1, "K3")
