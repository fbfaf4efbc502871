from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.tables import ALL_ENGINES, FAMILIES, FLOAT64

from fastgntk import GNTK, Graph, InputError, cross_gram, datasets, diagonal, gram, prepare
from fastgntk.engines import get_engine


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_rows_against_prepared_graphs_are_rows_against_the_graphs(engine):
    batch = datasets.load("MUTAG").graphs[:6]
    train = prepare(batch, GNTK(2, 1), engine=engine)
    assert (len(train), train.spec, train.engine) == (6, GNTK(2, 1), engine)
    expected = cross_gram(batch[:3], batch, GNTK(2, 1), engine=engine)
    for _ in range(2):
        FLOAT64.check(cross_gram(batch[:3], train), expected)
    FLOAT64.check(cross_gram(batch[:3], train, GNTK(2, 1)), expected)


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_the_diagonal_of_prepared_graphs_is_that_of_the_matrix(engine):
    batch = datasets.load("MUTAG").graphs[:6]
    train = prepare(batch, GNTK(2, 1), engine=engine)
    for _ in range(2):
        FLOAT64.check(diagonal(train), np.diagonal(gram(batch, GNTK(2, 1), engine=engine)))
    with pytest.raises(InputError, match=r"prepared for GNTK\(blocks=2, .* leave spec out"):
        diagonal(train, GNTK(3))


def test_graphs_are_prepared_once(monkeypatch):
    engine = type(get_engine("lossless"))
    seen = []
    original = engine.prepare
    monkeypatch.setattr(engine, "prepare", lambda self, b, s: seen.append(len(b)) or original(self, b, s))
    batch = datasets.load("MUTAG").graphs[:20]
    train = prepare(batch, engine="lossless")
    for i in range(3):
        cross_gram(batch[i : i + 1], train)
    diagonal(train)
    assert seen == [20, 1, 1, 1]


def test_features_are_those_of_the_prepared_graphs():
    train = prepare([Graph.from_edges([(0, 1)], 2, labels=["C", "O"])], GNTK(1))
    with pytest.raises(InputError, match="all integers or all strings"):
        cross_gram([Graph.from_edges([(0, 1)], 2, labels=[6, 7])], train)


def test_another_kernel_is_refused():
    train = prepare(FAMILIES["path"], GNTK(2))
    with pytest.raises(InputError, match=r"prepared for GNTK\(blocks=2, .* leave spec out"):
        cross_gram(FAMILIES["path"], train, GNTK(3))


def test_memory_counts_for_prepared_graphs_too():
    big = [Graph.from_edges([(0, 1)], 700)]
    train = prepare(big, GNTK(1), engine="decoupled")
    with pytest.raises(InputError, match="memory=1 MB is too small"):
        cross_gram(big, train, memory="1MB")


def test_a_failed_call_does_not_spoil_the_next():
    batch = datasets.load("MUTAG").graphs[:20]
    train = prepare(batch, engine="lossless")
    expected = cross_gram(batch[:2], train)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cross_gram(batch[:2], train, progress=stop)
    np.full((4, 2, 20), 7.0)  # what freed memory holds is no longer the right answer
    assert np.array_equal(cross_gram(batch[:2], train), expected)


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_prepared_graphs_survive_pickling(engine):
    batch = datasets.load("MUTAG").graphs[:5]
    train = prepare(batch, GNTK(2, 1), engine=engine)
    copy = pickle.loads(pickle.dumps(train))
    assert np.array_equal(cross_gram(batch[:2], copy), cross_gram(batch[:2], train))


def test_many_calls_are_expected():
    assert prepare(datasets.load("MUTAG").graphs[:5]).engine == "lossless"


def test_options_of_prepared_graphs_cannot_be_changed():
    train = prepare(FAMILIES["path"], GNTK(2), engine="lossless")
    for options in ({"engine": "decoupled"}, {"features": "degree"}):
        with pytest.raises(InputError, match="are those of the prepared graphs; leave them out"):
            cross_gram(FAMILIES["path"], train, **options)
