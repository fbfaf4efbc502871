"""The maps that random features are made of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard
from tests.tables import EXACT

from fastgntk.sketch import GaussianProjection, TensorSketch

pytestmark = pytest.mark.usefixtures("one_blas_thread")


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("size", "columns"), [(1, 1), (5, 3), (64, 64), (20, 100), (300, 7)])
def test_a_projection_is_the_product_with_its_pieces_written_out(size, columns):
    W = GaussianProjection(size, columns, generator(0))
    width = 1 << (columns - 1).bit_length()
    H = hadamard(width)
    pieces = [
        H @ np.diag(g) @ np.eye(width)[order] @ H @ np.diag(signs)
        for signs, order, g in zip(W._signs, W._orders, W._gaussians, strict=True)
    ]
    dense = np.concatenate(pieces)[:size, :columns]
    M = generator(1).standard_normal((columns, 4))
    EXACT.check(W(M), dense @ M)
    EXACT.check(W(np.eye(columns)), dense)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "columns", "row"), [(4, 4, 2), (8, 3, 7), (3, 6, 1)])
def test_each_row_of_a_projection_is_standard_gaussian(size, columns, row):
    draws = 6_000
    rng = generator(2)
    rows = np.array([GaussianProjection(size, columns, rng)(np.eye(columns))[row] for _ in range(draws)])
    products = rows[:, :, None] * rows[:, None, :]
    error = products.std(axis=0) / np.sqrt(draws)
    assert (np.abs(products.mean(axis=0) - np.eye(columns)) < 5 * error).all()
    along = rows @ (np.ones(columns) / np.sqrt(columns))
    for power, moment, spread in ((4, 3.0, np.sqrt(96)), (6, 15.0, np.sqrt(10_170))):
        assert abs((along**power).mean() - moment) < 5 * spread / np.sqrt(draws)


@pytest.mark.parametrize(("size", "left", "right"), [(1, 1, 1), (6, 3, 4), (7, 10, 2), (16, 5, 5)])
def test_a_tensor_sketch_is_the_count_sketch_of_all_products(size, left, right):
    T = TensorSketch(size, left, right, generator(3))
    a, b = generator(4).standard_normal((left, 3)), generator(5).standard_normal((right, 3))
    first, second = T._left.dense(), T._right.dense()
    expected = np.zeros((size, 3))
    for i in range(left):
        for j in range(right):
            place = (np.flatnonzero(first[:, i])[0] + np.flatnonzero(second[:, j])[0]) % size
            expected[place] += first[:, i].sum() * second[:, j].sum() * a[i] * b[j]
    EXACT.check(T(a, b), expected)


@pytest.mark.slow
def test_inner_products_of_tensor_sketches_are_products_on_average():
    a, b = generator(6).standard_normal((3, 2)), generator(7).standard_normal((4, 2))
    rng = generator(8)
    sketches = [TensorSketch(8, 3, 4, rng)(a, b) for _ in range(4_000)]
    found = np.array([(t[:, 0] @ t[:, 1], t[:, 0] @ t[:, 0]) for t in sketches])
    expected = [(a[:, 0] @ a[:, 1]) * (b[:, 0] @ b[:, 1]), (a[:, 0] @ a[:, 0]) * (b[:, 0] @ b[:, 0])]
    assert (np.abs(found.mean(axis=0) - expected) < 5 * found.std(axis=0) / np.sqrt(len(found))).all()


def test_single_precision_stays_single():
    M = np.ones((5, 2), dtype=np.float32)
    assert GaussianProjection(9, 5, generator(0))(M).dtype == np.float32
    assert TensorSketch(9, 5, 5, generator(0))(M, M).dtype == np.float32
