"""Options of kernels on descriptors, and the descriptors that they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import described

import fastgntk as fg
from fastgntk import RBF, InputError, Linear, Tanimoto, gram

GRAPHS = described()[:4]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RBF(""), "on must be the name of descriptors, such as 'rdkit', but is ''"),
        (lambda: Linear(3), "on must be the name of descriptors, .* but is 3"),
        (lambda: RBF("x", "mean"), "length_scale must be a number above 0 or 'median', but is 'mean'"),
        (lambda: RBF("x", 0), "length_scale must be a number above 0, but is 0"),
        (lambda: RBF("x", scaling="minmax"), "scaling must be one of standard, log, none, but is 'minmax'"),
        (lambda: Linear("x", None), "scaling must be one of standard, log, none, but is None"),
        (lambda: fg.parse_kernel("Tanimoto()"), "Tanimoto"),
    ],
)
def test_bad_options_are_refused(make, message):
    with pytest.raises((InputError, TypeError), match=message):
        make()


def with_block(values):
    return GRAPHS.with_descriptors(x=values)


@pytest.mark.parametrize(
    ("graphs", "kernel", "message"),
    [
        (
            GRAPHS,
            RBF("rdkit"),
            r"needs the descriptors 'rdkit', but the graphs have only 'heavy', 'dose', 'far', 'counts', .*; add them",
        ),
        (
            GRAPHS.with_descriptors(dict.fromkeys(GRAPHS.descriptors)),
            Linear("x"),
            "needs .* 'x', but the graphs have none",
        ),
        (with_block([1.0, np.nan, 3.0, np.nan]), RBF("x"), "^graphs 1 and 3 of 4 have no descriptors 'x'"),
        (with_block([[1, 2], [1, np.inf], [3, 4], [0, 0]]), Linear("x"), "graph 1 has inf in column 1 of .* 'x'; they"),
        (
            with_block([[1, 2], [1, np.nan], [3, 4], [0, 0]]),
            Tanimoto("x"),
            "graph 1 has nan in column 1 .* must be fin",
        ),
        (with_block([[1, 2], [1, 0], [3, -4], [0, 0]]), Tanimoto("x"), r"graph 2 has -4.0 in column 1 .* 0 or more"),
        (with_block([2.0] * 4), RBF("x"), "'x' are the same for all 4 training graphs, so there is nothing to learn"),
        (with_block([2.0] * 4), RBF("x", scaling="none"), "the same for all training graphs, which gives no median"),
        (with_block([[1e300], [2e300], [0], [0]]), Linear("x", "none"), "leave the range of float64; use smaller"),
    ],
)
def test_bad_descriptors_are_refused_in_one_sentence(graphs, kernel, message):
    with pytest.raises(InputError, match=message) as caught:
        gram(graphs, kernel)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_unused_descriptors_may_be_missing():
    graphs = with_block([1.0, np.nan, np.inf, 0.0])
    assert gram(graphs, RBF("dose")).shape == (4, 4)


def test_another_width_at_prediction_is_refused_with_both_widths():
    model = fg.GraphRegressor(RBF("x")).fit(with_block(np.eye(4)[:, :3]), [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(InputError, match="'x' is 2, but 3 in the training graphs; compute them in the same"):
        model.predict(with_block(np.ones((4, 2))))
    with pytest.raises(InputError, match=r"^graph 2 of 4 has no descriptors 'x'"):
        model.predict(with_block(np.where(np.arange(4) == 2, np.nan, 1.0)[:, None] * np.ones(3)))


def test_constant_columns_are_left_out():
    values = np.array([[1.0, 7.1], [2.0, 7.1], [4.0, 7.1], [0.0, 7.1]])
    for kernel in (RBF("x"), Linear("x"), Linear("x", "log")):
        assert np.array_equal(gram(with_block(values), kernel), gram(with_block(values[:, :1]), kernel))
        new = with_block(values + np.array([0.0, 5.0]))  # other values of the column at prediction change nothing
        assert np.array_equal(
            fg.cross_gram(new, with_block(values), kernel),
            fg.cross_gram(with_block(values), with_block(values), kernel),
        )


def test_squares_beyond_float64_are_standardised():
    large = gram(with_block([1e200, 2e200, 0.0, 5e200]), Linear("x"))
    np.testing.assert_allclose(large, gram(with_block([1.0, 2.0, 0.0, 5.0]), Linear("x")), rtol=1e-12)


def test_the_median_of_many_graphs_is_that_of_a_thousand_of_them():
    values = np.random.default_rng(0).standard_normal(1201)
    values[600:] *= 100.0
    graphs = described(1201).with_descriptors(x=values)
    chosen = values[np.linspace(0, 1200, 1000).round().astype(int)]
    i, j = np.triu_indices(1000, 1)
    median = np.median((chosen[i] - chosen[j]) ** 2)
    K = fg.cross_gram(graphs[:5], fg.prepare(graphs, RBF("x", scaling="none")))
    np.testing.assert_allclose(K, np.exp(-((values[:5, None] - values) ** 2) / median), rtol=1e-9, atol=1e-300)
