"""Operations counted from sizes equal those of the products, done and counted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import EXACT

from fastgntk import InputError
from fastgntk.theory import count_operations

SIZES, ROWS, D, L, R = [3, 5, 4], [2, 3, 1], 6, 3, 2


class Counted:
    """A matrix whose products add their multiply-adds to a total."""

    total = 0

    def __init__(self, rows: int, cols: int) -> None:
        self.shape = (rows, cols)

    def __matmul__(self, other: Counted) -> Counted:
        assert self.shape[1] == other.shape[0]
        Counted.total += self.shape[0] * self.shape[1] * other.shape[1]
        return Counted(self.shape[0], other.shape[1])


def count_products(method: str) -> int:
    Counted.total = 0
    for i in range(len(SIZES)):
        for j in range(i, len(SIZES)):
            N, M, b, c = SIZES[i], SIZES[j], ROWS[i], ROWS[j]
            for _ in range(2 * L - 1):  # Σ and K, which are equal before the first block
                if method == "kronecker":
                    Counted.total += (N * M) ** 2  # the entries of the Kronecker product
                    Counted(N * M, N * M) @ Counted(N * M, 1)
                elif method == "decoupled":
                    Counted(N, N) @ Counted(N, M) @ Counted(M, M)
                else:
                    inner = Counted(b, N) @ Counted(N, M) @ Counted(M, c)  # S Σ S'ᵀ
                    (Counted(N, b) @ inner) @ Counted(c, M)
    return Counted.total


@pytest.mark.parametrize("method", ["kronecker", "decoupled", "sketched"])
def test_aggregation_counts_the_products_in_the_order_of_the_theorem(method):
    found = count_operations(method, SIZES, D, L, R, ROWS if method == "sketched" else None)
    EXACT.check(found.aggregation, count_products(method))
    pairs = sum(SIZES[i] * SIZES[j] for i in range(3) for j in range(i, 3))
    assert (found.features, found.layers, found.readout) == (D * pairs, L * R * pairs, pairs)
    assert found.once == (sum(n * n * b for n, b in zip(SIZES, ROWS, strict=True)) if method == "sketched" else 0)
    assert found.total == found.once + found.features + found.aggregation + found.layers + found.readout


@pytest.mark.parametrize(("method", "exponent"), [("kronecker", 4), ("decoupled", 3), ("sketched", 2)])
def test_aggregation_grows_as_the_theorems_state(method, exponent):
    small, large = (
        count_operations(method, [N, N], D, L, R, 1 if method == "sketched" else None).aggregation
        for N in (10_000, 20_000)
    )
    assert np.log2(large / small) == pytest.approx(exponent, abs=1e-3)


def test_invalid_arguments_are_refused():
    with pytest.raises(InputError, match="method must be one of kronecker, decoupled, sketched, but is 'lossless'"):
        count_operations("lossless", SIZES, D, L, R)
    with pytest.raises(InputError, match="give them for method='sketched', and only for it"):
        count_operations("sketched", SIZES, D, L, R)
    with pytest.raises(InputError, match="only for it"):
        count_operations("decoupled", SIZES, D, L, R, 3)
    with pytest.raises(InputError, match=r"one number for each of 3 graphs, but has shape \(2,\)"):
        count_operations("sketched", SIZES, D, L, R, [1, 2])
    with pytest.raises(InputError, match="rows must hold integers, 1 or more, but entry 1 is 0"):
        count_operations("sketched", SIZES, D, L, R, [1, 0, 2])
    with pytest.raises(InputError, match=r"rows must hold integers, 1 or more, but entry 0 is 1\.5"):
        count_operations("sketched", SIZES, D, L, R, [1.5, 2, 2])
    with pytest.raises(InputError, match="rows must hold numbers in rows of one length, but is 'a'"):
        count_operations("sketched", SIZES, D, L, R, "a")
    with pytest.raises(InputError, match="sizes must hold integers, 0 or more, but entry 1 is -1"):
        count_operations("decoupled", [3, -1], D, L, R)
    with pytest.raises(InputError, match=r"sizes must hold one number of nodes for each graph, but has shape \(\)"):
        count_operations("decoupled", 3, D, L, R)
    with pytest.raises(InputError, match="blocks must be an integer, 1 or more, but is 0"):
        count_operations("decoupled", SIZES, D, 0, R)
