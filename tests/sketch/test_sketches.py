from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import hadamard
from tests.tables import EXACT

from fastgntk import InputError, Sketch
from fastgntk.sketch import SKETCHES, SRHT
from fastgntk.sketch._matrices import hadamard_entries, hadamard_transform, padded_size

pytestmark = pytest.mark.usefixtures("one_blas_thread")

every_sketch = pytest.mark.parametrize("name", SKETCHES)


def draw(name, columns, size, seed=0):
    return SKETCHES[name](columns, size, np.random.default_rng(seed))


@every_sketch
@pytest.mark.parametrize(("columns", "size"), [(1, 1), (5, 3), (64, 20), (100, 99), (300, 7)])
def test_columns_have_the_stated_number_of_entries_and_norm(name, columns, size):
    sketch = draw(name, columns, size)
    S = sketch.dense()
    assert S.shape == (sketch.size, sketch.columns) == (size, columns)
    assert (np.count_nonzero(S, axis=0) == sketch.nonzeros).all()
    if sketch.unit_columns:
        EXACT.check((S**2).sum(axis=0), np.ones(columns))
        assert len(np.unique(np.abs(S[S != 0]))) == 1
    else:
        assert np.ptp((S**2).sum(axis=0)) > 0 or columns == 1


def test_nonzeros_by_kind():
    found = {name: draw(name, 30, 20).nonzeros for name in SKETCHES}
    assert found == {"ams": 20, "gaussian": 20, "srht": 20, "countsketch": 1, "sparse": 8}
    assert draw("sparse", 30, 5).nonzeros == 5


@every_sketch
@pytest.mark.parametrize(("columns", "size"), [(40, 9), (70, 60), (700, 650)])  # the last by the fast transform
def test_left_and_right_are_products_with_the_matrix(name, columns, size):
    sketch = draw(name, columns, size, seed=3)
    M = np.random.default_rng(1).standard_normal((columns, 6))
    EXACT.check(sketch.left(M), sketch.dense() @ M)
    EXACT.check(sketch.right(M.T), M.T @ sketch.dense().T)
    few = sparse.random_array((columns, 6), density=0.3, format="csr", rng=np.random.default_rng(2))
    EXACT.check(sketch.left(few), sketch.dense() @ few.toarray())
    EXACT.check(sketch.right(sparse.csr_array(few.T)), few.toarray().T @ sketch.dense().T)


@pytest.mark.slow
@every_sketch
def test_the_mean_of_the_square_is_the_identity(name):
    columns, size, draws = 6, 4, 4_000
    rng = np.random.default_rng(5)
    total, squares = np.zeros((columns, columns)), np.zeros((columns, columns))
    for _ in range(draws):
        S = SKETCHES[name](columns, size, rng).dense()
        total += S.T @ S
        squares += (S.T @ S) ** 2
    mean = total / draws
    error = np.sqrt(np.maximum(squares / draws - mean**2, 0.0) / draws)  # standard error of each entry
    assert (np.abs(mean - np.eye(columns)) <= 5 * error + 1e-12).all()


@every_sketch
def test_a_subspace_keeps_its_lengths(name):
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((400, 5)))[0]
    distortion = {}
    for size in (12, 250):
        worst = [
            np.abs(np.linalg.svd(draw(name, 400, size, s).left(basis), compute_uv=False) - 1).max() for s in range(8)
        ]
        distortion[size] = np.mean(worst)
    assert distortion[250] < 0.25
    assert distortion[12] > 2 * distortion[250]


@pytest.mark.parametrize("columns", [1, 5, 16, 100])
def test_srht_at_full_padded_size_is_orthogonal(columns):
    S = draw("srht", columns, padded_size(columns)).dense()
    EXACT.check(S.T @ S, np.eye(columns))


def test_srht_refuses_more_rows_than_there_are():
    with pytest.raises(InputError, match="at most 8 rows, but size is 9"):
        draw("srht", 5, 9)


@every_sketch
@pytest.mark.parametrize(
    ("columns", "size", "rng", "message"),
    [
        (3, 0, np.random.default_rng(0), "size must be an integer, 1 or more, but is 0."),
        (3, 1.5, np.random.default_rng(0), "size must be an integer, 1 or more, but is 1.5."),
        (-1, 2, np.random.default_rng(0), "columns must be an integer, 0 or more, but is -1."),
        (3, 2, 0, "rng must be a NumPy generator such as numpy.random.default_rng(0), but is 0."),
    ],
)
def test_draw_refuses_bad_arguments_in_one_sentence(name, columns, size, rng, message):
    with pytest.raises(InputError) as caught:
        SKETCHES[name](columns, size, rng)
    assert str(caught.value) == message


@every_sketch
def test_matrices_of_another_length_are_refused(name):
    sketch = draw(name, 4, 3)
    with pytest.raises(InputError, match=r"M must have shape \(4, m\), because S has 4 columns, but .* \(5, 2\)"):
        sketch.left(np.ones((5, 2)))
    with pytest.raises(InputError, match=r"M must have shape \(4, m\), because S has 4 columns, but .* \(4,\)"):
        sketch.left([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(InputError, match=r"M must have shape \(m, 4\), because S has 4 columns, but .* \(2, 5\)"):
        sketch.right(sparse.csr_array(np.ones((2, 5))))


@pytest.mark.parametrize("n", [1, 2, 64, 128, 512])
def test_the_transform_is_the_matrix_of_scipy(n):
    expected = hadamard(n).astype(float)
    assert np.array_equal(hadamard_transform(np.eye(n)), expected)
    assert np.array_equal(hadamard_entries(np.arange(n), np.arange(n)), expected)


def test_costs_are_as_stated():
    assert draw("ams", 100, 10).cost(3) == draw("gaussian", 100, 10).cost(3) == 100 * 10 * 3
    assert draw("countsketch", 100, 10).cost(3) == 100 * 3
    assert draw("sparse", 100, 10).cost(3) == 100 * 8 * 3
    assert draw("srht", 4096, 10).cost(1) == 4096 * 10
    assert draw("srht", 4096, 4000).cost(1) == 4096 * 2 * 64
    assert isinstance(draw("srht", 4, 2), SRHT)


def test_a_graph_has_the_same_sketch_in_every_call_and_another_one_otherwise():
    content, other = bytes(range(16)), bytes(range(1, 17))

    def matrix(content=content, block=1, **options):
        return Sketch("gaussian", 8, **options).draw(30, 8, content, block).dense()

    assert np.array_equal(matrix(), matrix())
    assert np.array_equal(matrix(block=1), matrix(block=2))
    for different in (
        matrix(other),
        matrix(seed=1),
        matrix(fresh_each_block=True, block=1),
        matrix(fresh_each_block=True, block=2),
    ):
        assert not np.allclose(matrix(), different)
    assert not np.allclose(matrix(fresh_each_block=True, block=1), matrix(fresh_each_block=True, block=2))


def test_sizes_and_rates():
    assert [Sketch(size=64).rows(n) for n in (10, 64, 65)] == [None, None, 64]
    assert [Sketch(size=0.3).rows(n) for n in (1, 2, 10, 11)] == [None, 1, 3, 4]
    assert [Sketch(size=rate).rows(n) for rate, n in ((0.07, 100), (0.55, 100), (0.28, 25))] == [7, 55, 7]
    assert [Sketch(size=rate).rows(n) for rate, n in ((1e-15, 9), (0.9, 5))] == [1, None]
    assert Sketch(size=1.0).rows(10) is None
    assert Sketch(size=np.int64(7)).size == 7
    assert [Sketch(size="given").rows(10, own) for own in (3, 10, 11)] == [3, None, None]
    assert Sketch(size="auto") == Sketch(size="auto", error=0.1) != Sketch(size="auto", error=0.2)
    with pytest.raises(InputError, match="size='given' needs the number of rows of the graph"):
        Sketch(size="given").rows(10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"size": 0},
            "the size of a sketch must be 'given', 'auto', a number of rows, 1 or more, or a rate in (0, 1] such as "
            "0.3, but is 0.",
        ),
        ({"size": -3}, "but is -3."),
        ({"size": 1.5}, "but is 1.5."),
        ({"size": 0.0}, "but is 0.0."),
        ({"size": float("nan")}, "but is nan."),
        ({"size": True}, "but is True."),
        ({"size": "64"}, "but is '64'."),
        ({"size": "auto", "error": 0}, "the error of a sketch must be a number above 0, but is 0."),
        ({"size": "auto", "error": -0.1}, "but is -0.1."),
        ({"size": "auto", "error": float("nan")}, "but is nan."),
        ({"size": "auto", "error": "small"}, "but is 'small'."),
        (
            {"error": 0.1},
            "the error of a sketch is for size='auto', but the size is 0.3; leave out the error.",
        ),
        ({"size": "given", "error": 0.1}, "but the size is 'given'; leave out the error."),
        ({"kind": "am"}, "the kind of a sketch must be one of ams, gaussian, srht, countsketch, sparse, but is 'am'."),
        ({"kind": 3}, "but is 3."),
        ({"seed": 0.5}, "seed must be an integer, 0 or more, but is 0.5."),
        ({"seed": -1}, "but is -1."),
        ({"seed": None}, "but is None."),
        ({"merge_nodes": 1}, "merge_nodes must be True or False, but is 1."),
        ({"fresh_each_block": "yes"}, "fresh_each_block must be True or False, but is 'yes'."),
    ],
)
def test_bad_options_are_refused_in_one_sentence(options, message):
    with pytest.raises(InputError) as caught:
        Sketch(**options)
    assert message in str(caught.value)
