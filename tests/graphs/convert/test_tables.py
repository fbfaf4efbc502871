from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastgntk.graphs.convert import _tables
from fastgntk.graphs.convert._tables import ColumnBuffer


@pytest.fixture(autouse=True)
def chunks_of_three(monkeypatch):
    """Split a few values into many chunks."""
    monkeypatch.setattr(_tables, "_CHUNK", 3)


def buffered(*of_graphs: list, kind: type | None = None) -> ColumnBuffer:
    values = ColumnBuffer(kind)
    for values_of_graph in of_graphs:
        values.extend(values_of_graph)
    return values


numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
vectors = st.lists(st.floats(allow_nan=False), min_size=2, max_size=2)
anything = numbers | st.text(max_size=2) | st.none() | st.booleans() | st.lists(numbers, max_size=2)


@given(st.lists(st.lists(anything, max_size=5), max_size=6))
def test_tolist_returns_all_values_unchanged(of_graphs):
    values = list(chain.from_iterable(of_graphs))
    listed = buffered(*of_graphs).tolist()
    assert listed == values
    assert list(map(type, listed)) == list(map(type, values))


@given(st.lists(st.lists(numbers, max_size=5), min_size=1, max_size=6))
def test_numbers_equal_the_numpy_array(of_graphs):
    values = list(chain.from_iterable(of_graphs))
    combined = buffered(*of_graphs).combine()
    if isinstance(combined, list):  # a part of several kinds
        assert combined == values
    else:
        assert combined.shape == (len(values),)
        assert np.array_equal(combined.astype(np.float64), np.array(values, dtype=np.float64))


@given(st.lists(st.lists(vectors, min_size=1, max_size=5), min_size=1, max_size=6))
def test_vectors_of_numbers_are_rows(of_graphs):
    values = list(chain.from_iterable(of_graphs))
    assert buffered(*of_graphs).combine(vectors=True).tolist() == values
    assert buffered(*of_graphs).combine() == values


@pytest.mark.parametrize(
    ("of_graphs", "dtype"),
    [
        (([0, 255],), np.uint8),
        (([1, 2, 3], [256]), np.int64),
        (([-1],), np.int64),
        (([1, 2, 3], [0.5]), np.float64),
        (([[1, 2], [3, 4]],), np.uint8),
        (([[1, 2], [3, 4], [5, 6]], [[0.5, 1.0]]), np.float64),
    ],
)
def test_integer_dtype_is_minimal(of_graphs, dtype):
    combined = buffered(*of_graphs).combine(vectors=True)
    assert combined.dtype == dtype
    assert combined.tolist() == list(chain.from_iterable(of_graphs))


@pytest.mark.parametrize(
    "of_graphs",
    [
        (),
        (["1.5", "2"],),
        ([1, 2, 3], ["a"]),
        ([1.0, None],),
        ([True, False],),
        ([2**63],),
        ([[1.0], [2.0, 3.0]],),
        ([[1.0], [2.0], [3.0]], [[4.0, 5.0]]),
        ([[]],),
        ([["1.5"], ["2"]],),
        ([[1, 0.5]],),
        ([[1, [2]]],),
        ([[[1.0]], [[2.0]]],),
        ([1.0, 2.0, 3.0], [[4.0]]),
    ],
)
def test_other_values_stay_in_a_list(of_graphs):
    assert buffered(*of_graphs).combine(vectors=True) == [
        value for values_of_graph in of_graphs for value in values_of_graph
    ]


def test_lists_that_hold_themselves_stay_lists():
    value: list = [1]
    value[0] = value
    assert buffered([value]).combine(vectors=True)[0] is value


def test_given_kind_is_not_checked():
    assert buffered([1, 2], [3, 4], [500], kind=int).combine().tolist() == [1, 2, 3, 4, 500]
    with pytest.raises(TypeError):
        buffered([1, 2, 3.0], kind=int)
