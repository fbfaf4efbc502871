from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.tables import ALL_ENGINES, FAMILIES, FLOAT64, by_engine

from fastgntk import (
    GNTK,
    WL,
    WLOA,
    Compute,
    Graph,
    InputError,
    cross_gram,
    datasets,
    diagonal,
    gram,
    gram_path,
    prepare,
)
from fastgntk.engines import get_engine
from fastgntk.pairwise import _prepared


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_rows_against_prepared_graphs_are_rows_against_the_graphs(engine):
    batch = datasets.load("MUTAG").graphs[:6]
    how = by_engine(engine, GNTK(2, 1))
    train = prepare(batch, **how)
    assert (len(train), train.kernel, train.engines) == (6, how["kernel"], [engine])
    expected = cross_gram(batch[:3], batch, **how)
    for _ in range(2):
        FLOAT64.check(cross_gram(batch[:3], train), expected)
    FLOAT64.check(cross_gram(batch[:3], train, how["kernel"]), expected)


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_the_diagonal_of_prepared_graphs_is_that_of_the_matrix(engine):
    batch = datasets.load("MUTAG").graphs[:6]
    how = by_engine(engine, GNTK(2, 1))
    train = prepare(batch, **how)
    for _ in range(2):
        FLOAT64.check(diagonal(train), np.diagonal(gram(batch, **how)))
    with pytest.raises(InputError, match=r"prepared for GNTK\(blocks=2, .* but the kernel is GNTK\(\); leave it out"):
        diagonal(train, GNTK(3))


def test_graphs_are_prepared_once(monkeypatch):
    engine = type(get_engine("lossless"))
    seen = []
    original = engine.prepare
    monkeypatch.setattr(engine, "prepare", lambda self, b, *rest: seen.append(len(b)) or original(self, b, *rest))
    batch = datasets.load("MUTAG").graphs[:20]
    train = prepare(batch, compute=Compute(engine="lossless"))
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
    with pytest.raises(InputError, match=r"prepared for GNTK\(blocks=2\), but the kernel is GNTK\(\); leave it out"):
        cross_gram(FAMILIES["path"], train, GNTK(3))


def test_memory_counts_for_prepared_graphs_too():
    big = [Graph.from_edges([(0, 1)], 700)]
    train = prepare(big, GNTK(1), compute=Compute(engine="decoupled"))
    with pytest.raises(InputError, match="max_memory=1 MB is too small"):
        cross_gram(big, train, compute=Compute(max_memory="1MB"))


def test_a_failed_call_does_not_spoil_the_next():
    batch = datasets.load("MUTAG").graphs[:20]
    train = prepare(batch, compute=Compute(engine="lossless"))
    expected = cross_gram(batch[:2], train)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cross_gram(batch[:2], train, compute=Compute(progress=stop))
    np.full((4, 2, 20), 7.0)  # what freed memory holds is no longer the right answer
    assert np.array_equal(cross_gram(batch[:2], train), expected)


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_prepared_graphs_survive_pickling(engine):
    batch = datasets.load("MUTAG").graphs[:5]
    train = prepare(batch, **by_engine(engine, GNTK(2, 1)))
    copy = pickle.loads(pickle.dumps(train))
    assert np.array_equal(cross_gram(batch[:2], copy), cross_gram(batch[:2], train))


@pytest.mark.parametrize("kernel", [GNTK(2, 1), WL(2), WLOA(2).normalized(), GNTK(1, 1).normalized() * WL(1)])
def test_rows_and_subsets_agree_with_their_columns_after_pickling(kernel):
    batch = datasets.load("MUTAG").graphs[:12]
    train = prepare(batch[:8], kernel)
    for given in (train.prepare_rows(batch[5:][::-1]), train.subset(np.array([6, 2]))):
        expected = cross_gram(given.batch, batch[:8], kernel)
        FLOAT64.check(cross_gram(given, train), expected)
        FLOAT64.check(cross_gram(pickle.loads(pickle.dumps(given)), train), expected)
        both = pickle.loads(pickle.dumps((given, train)))
        FLOAT64.check(cross_gram(*both), expected)


def test_rows_prepared_with_other_graphs_are_refused():
    """Their labels may have other columns, and their colours other numbers."""
    batch = datasets.load("MUTAG").graphs[:9]
    train, other = prepare(batch[:5], WL(2)), prepare(batch[5:], WL(2))
    for rows in (other, other.prepare_rows(batch[:2]), prepare(batch[:5], GNTK(2))):
        with pytest.raises(InputError, match=r"not prepared with the column graphs; use cols\.prepare_rows\(graphs\)"):
            cross_gram(rows, train)
    FLOAT64.check(cross_gram(train, train), gram(train))
    part = train.subset(np.array([3, 1]))
    for copy in (part, pickle.loads(pickle.dumps(part))):
        FLOAT64.check(cross_gram(train, copy), gram(train)[:, [3, 1]])
    with pytest.raises(InputError, match="not prepared with the column graphs"):
        cross_gram(train, train.prepare_rows(batch[:2]))  # rows may have further labels


def test_many_calls_are_expected():
    assert prepare(datasets.load("MUTAG").graphs[:5]).engines == ["lossless"]


def test_another_engine_for_prepared_graphs_is_refused():
    train = prepare(FAMILIES["path"], GNTK(2), compute=Compute(engine="lossless"))
    words = "the graphs were prepared with engine lossless, but engine='decoupled'; leave it out"
    for call in (gram, diagonal, lambda prepared, **o: cross_gram(FAMILIES["path"], prepared, **o)):
        with pytest.raises(InputError, match=words):
            call(train, compute=Compute(engine="decoupled"))
    expected = gram(train)
    for how in (Compute(), Compute(engine="lossless"), Compute(n_jobs=1, max_memory="1GB")):
        assert np.array_equal(gram(train, compute=how), expected)


TWO_LEAVES = (GNTK(2, 1) + GNTK(1, features="degree")).normalized()


def test_graphs_like_prepared_ones_are_prepared_alike():
    batch = datasets.load("MUTAG").graphs
    train = prepare(batch[:10], TWO_LEAVES, compute=Compute(engine="lossless", n_jobs=1))
    rows = train.prepare_rows(batch[10:14])
    assert (rows.kernel, rows.compute, rows.engines) == (train.kernel, train.compute, train.engines)
    assert set(rows.features) == set(train.features) == {"auto", "degree"}
    whole = gram(batch[:14], TWO_LEAVES)
    FLOAT64.check(cross_gram(rows, train), whole[10:, :10])
    FLOAT64.check(gram(rows), whole[10:, 10:])
    new = Graph.from_edges(
        [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)], 6, labels=[99, 0, 0, 98, 97, 0], edge_labels=[0] * 5
    )
    whole = gram([new, *batch[:10]], TWO_LEAVES)
    FLOAT64.check(cross_gram([new], train), whole[:1, 1:])
    FLOAT64.check(diagonal(train.prepare_rows([new])), whole[0, :1])


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_a_subset_has_the_values_of_its_graphs(engine):
    batch = datasets.load("MUTAG").graphs[: 4 if engine == "kronecker" else 12]
    how = by_engine(engine, GNTK(2, 1))
    train = prepare(batch, how["kernel"] + 2 * how["kernel"].set_params(features="degree"), compute=how["compute"])
    K = gram(train)
    some = np.array([3, 0, 2])
    part = train.subset(some)
    assert (len(part), part.engines, part.kernel) == (3, [engine] * 2, train.kernel)
    FLOAT64.check(gram(part), K[np.ix_(some, some)])
    FLOAT64.check(cross_gram(batch, part), K[:, some])
    FLOAT64.check(diagonal(part), np.diagonal(K)[some])
    assert train.subset(np.arange(len(batch))) is train


def test_a_subset_keeps_known_diagonals_and_features(monkeypatch):
    batch = datasets.load("MUTAG").graphs[:8]
    train = prepare(batch, TWO_LEAVES)
    own = train.leaf_diagonals()
    part = train.subset(np.array([5, 1]))
    monkeypatch.setattr(_prepared, "leaf_diagonal", lambda *_: pytest.fail("computed again"))
    for leaf, values in part.leaf_diagonals().items():
        assert np.array_equal(values, own[leaf][[5, 1]])
    assert part.features == train.features


def test_equal_graphs_of_a_sum_are_equal_in_every_leaf():
    path, star = [(0, 1), (1, 2), (2, 3)], [(0, 1), (0, 2), (0, 3)]
    shapes = [(path, 0), (path, 1), (star, 0), (path, 0), (star, 0), (path, 1), (star, 1)]
    graphs = [Graph.from_edges(edges, 4, labels=[label] * 4) for edges, label in shapes]
    labels, degrees = GNTK(1, 1, features="labels"), GNTK(1, 1, features="degree")
    assert prepare(graphs, labels).first_equal_graph().tolist() == [0, 1, 2, 0, 2, 1, 6]
    assert prepare(graphs, degrees).first_equal_graph().tolist() == [0, 0, 2, 0, 2, 0, 2]
    for kernel in (labels + degrees, degrees * labels, (0.5 * degrees + labels).normalized()):
        assert prepare(graphs, kernel).first_equal_graph().tolist() == [0, 1, 2, 0, 2, 1, 6]
    batch = datasets.load("MUTAG").graphs
    for engine in ("lossless", "decoupled"):
        groups = prepare(batch, labels + degrees, compute=Compute(engine=engine)).first_equal_graph()
        first = [prepare(batch, leaf).first_equal_graph() for leaf in (labels, degrees)]
        expected = [min(j for j in range(i + 1) if all(g[i] == g[j] for g in first)) for i in range(len(batch))]
        assert groups.tolist() == expected
        assert len(set(expected)) < len(batch)


def test_prepared_graphs_show_size_kernel_and_engines():
    train = prepare(FAMILIES["path"], GNTK(2), compute=Compute(engine="decoupled"))
    assert repr(train) == "PreparedGraphs(2 graphs, GNTK(blocks=2), engine=decoupled)"


def test_pickled_graphs_carry_no_callback():
    train = prepare(FAMILIES["path"], GNTK(2), compute=Compute(progress=lambda done, total: None))
    copy = pickle.loads(pickle.dumps(train))
    assert copy.compute.progress is None
    assert copy.compute == train.compute


def test_prepared_graphs_of_an_empty_batch_have_an_empty_path():
    assert gram_path(prepare([], GNTK(2))).levels.shape == (3, 0, 0)
