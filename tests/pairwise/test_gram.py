from __future__ import annotations

import logging
import tracemalloc

import numpy as np
import pytest
from tests.tables import ENGINES, EXACT, FAMILIES, FLOAT64, by_engine

from fastgntk import (
    GNTK,
    Compute,
    Graph,
    InputError,
    NodeFeatures,
    as_graphs,
    cross_gram,
    datasets,
    diagonal,
    estimate_cost,
    gram,
    gram_path,
    prepare,
)
from fastgntk.engines import Extent, get_engine
from fastgntk.pairwise import normalize


def test_empty_batch_gives_empty_gram():
    assert gram([]).shape == (0, 0)
    assert diagonal([]).shape == (0,)
    assert gram_path([], GNTK(blocks=2)).levels.shape == (3, 0, 0)
    assert cross_gram([], FAMILIES["path"]).shape == (0, 2)
    assert cross_gram(FAMILIES["empty graph"][:1], FAMILIES["path"]).tolist() == [[0.0, 0.0]]


FUNCTIONS = [
    gram,
    diagonal,
    gram_path,
    prepare,
    estimate_cost,
    lambda graphs, *a, **o: cross_gram(graphs, graphs, *a, **o),
]


@pytest.mark.parametrize("call", FUNCTIONS)
def test_kernels_and_options_of_another_type_are_refused(call):
    with pytest.raises(InputError, match=r"kernel must be a kernel such as fastgntk\.GNTK\(\), but has type int\."):
        call(FAMILIES["path"], 3)
    with pytest.raises(InputError, match=r"but has type str; parse a string with fastgntk\.parse_kernel\."):
        call(FAMILIES["path"], "GNTK()")
    for wrong in ("lossless", 2, {"n_jobs": 2}, GNTK()):
        words = (
            rf"compute must be a fastgntk\.Compute, such as Compute\(n_jobs=2\), but has type {type(wrong).__name__}\."
        )
        with pytest.raises(InputError, match=words):
            call(FAMILIES["path"], GNTK(), compute=wrong)


def test_each_pair_is_computed_once(monkeypatch):
    engine = type(get_engine("decoupled"))
    monkeypatch.setattr(engine, "max_group_nodes", 1)
    pairs = []
    original = engine.tile_readouts
    monkeypatch.setattr(
        engine, "tile_readouts", lambda self, r, c, x: pairs.append((id(r), id(c))) or original(self, r, c)
    )
    gram(datasets.load("MUTAG").graphs[:7], GNTK(blocks=1), compute=Compute(engine="decoupled"))
    assert len(pairs) == 7 * 8 // 2
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)


def test_progress_ends_at_the_total():
    calls = []
    gram(FAMILIES["path"], compute=Compute(progress=lambda done, total: calls.append((done, total))))
    assert calls[-1][0] == calls[-1][1] > 0


def test_too_little_memory_is_refused_with_the_amount_needed():
    big = [Graph.from_edges([(0, 1)], 700)]
    with pytest.raises(
        InputError, match=r"max_memory=1 MB is too small: .* largest tile 31 MB; pass max_memory='32MB'"
    ):
        gram(big, compute=Compute(max_memory="1MB"))
    assert gram(big, GNTK(blocks=1, layers=1), compute=Compute(max_memory="32MB")).shape == (1, 1)


def test_memory_limits_how_many_tiles_are_in_flight(caplog):
    big = [Graph.from_edges([(0, 1)], 500) for _ in range(3)]
    with caplog.at_level(logging.INFO, logger="fastgntk"):
        gram(big, GNTK(blocks=1, layers=1), compute=Compute(max_memory="17MB", n_jobs=4))
    assert "6 tiles on 1 threads" in caplog.text


@pytest.mark.parametrize("needed", [123, 1_001, 1_450_000, 99_500_001])
def test_the_memory_suggested_is_enough(needed):
    from fastgntk._util.text import memory_budget, round_up_bytes

    assert needed <= memory_budget(round_up_bytes(needed)) < 1.1 * needed + 2


@pytest.mark.parametrize("density", [0.002, 0.3])
@pytest.mark.parametrize("blocks", [1, 3])
def test_peak_memory_stays_below_the_estimate_of_the_engine(density, blocks):
    batch = NodeFeatures().fit_transform(datasets.synthetic.erdos_renyi(2, 600, density).graphs)
    engine = get_engine("decoupled")
    kernel = GNTK(blocks=blocks, layers=2)
    allowed = engine.tile_bytes(Extent(600), Extent(600))
    tracemalloc.start()
    prepared = engine.finish_preparation(engine.prepare(batch, kernel))
    rows, cols = (engine.build_group(prepared, np.array([i])) for i in (0, 1))
    kept, peak = tracemalloc.get_traced_memory()
    assert peak < allowed + kept
    tracemalloc.reset_peak()
    engine.tile_readouts(rows, cols)
    assert tracemalloc.get_traced_memory()[1] < allowed + kept
    tracemalloc.stop()


def test_too_little_memory_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(type(get_engine("decoupled")), "build_group", lambda *a: pytest.fail("prepared first"))
    for call in (gram, diagonal, gram_path, lambda graphs, **o: cross_gram(graphs, graphs, **o)):
        with pytest.raises(InputError, match="is too small"):
            call([Graph.from_edges([(0, 1)], 700)], compute=Compute(max_memory="1MB"))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_depends_on_its_two_graphs_alone(engine):
    train = [Graph.from_edges([(0, 1)], 2, labels=["C", "O"]), Graph.from_edges([(0, 1)], 2, labels=["C", "C"])]
    test = [Graph.from_edges([(0, 1), (1, 2)], 3, labels=["B", "N", "N"]), train[0]]
    how = by_engine(engine, GNTK(blocks=2))
    whole = gram([*test, *train], **how)
    FLOAT64.check(cross_gram(test, train, **how), whole[:2, 2:])
    prepared = prepare(train, **how)
    FLOAT64.check(cross_gram(test, prepared), whole[:2, 2:])
    FLOAT64.check(gram(prepared.prepare_rows(test)), whole[:2, :2])
    FLOAT64.check(diagonal(prepared.prepare_rows(test)), np.diagonal(whole)[:2])


def test_an_error_in_a_worker_names_its_graphs(monkeypatch):
    engine = type(get_engine("decoupled"))

    def fail(self, *_):
        raise ZeroDivisionError("inside")

    monkeypatch.setattr(engine, "tile_readouts", fail)
    with pytest.raises(ZeroDivisionError, match="inside") as caught:
        gram(FAMILIES["path"])
    assert caught.value.__notes__ == ["while computing graphs 0..1 × 0..1"]


def test_path_refuses_depths_it_does_not_have():
    path = gram_path(FAMILIES["path"], GNTK(blocks=2))
    for blocks, jump, words in [
        (3, True, r"the path ends at depth 2, but GNTK\(\) has depth 3; compute a deeper path"),
        (0, True, "blocks must be an integer, 1 or more, but is 0"),
        ("2", True, "blocks must be an integer"),
        (2, "no", "jump must be True, False or a weight for each level 0\\.\\.2, but is 'no'"),
    ]:
        with pytest.raises(InputError, match=words):
            path.at(blocks=blocks, jump=jump)


def test_graphs_may_come_from_a_generator():
    expected = gram(FAMILIES["path"])
    assert np.array_equal(gram(g for g in FAMILIES["path"]), expected)
    FLOAT64.check(cross_gram(iter(FAMILIES["path"]), iter(FAMILIES["path"])), expected)
    FLOAT64.check(diagonal(iter(FAMILIES["path"])), np.diagonal(expected))


def test_progress_must_be_a_function():
    with pytest.raises(InputError, match="progress must be a function"):
        gram(FAMILIES["path"], compute=Compute(progress=True))


def test_features_of_prepared_graphs_serve_rows_columns_and_diagonals():
    chain = Graph.from_edges([(0, 1), (1, 2)], 3, labels=["C", "C", "O"])
    train = [chain, Graph.from_edges([(0, 1)], 2, labels=["C", "O"])]
    new = [Graph.from_edges([(0, 1)], 2, labels=["C", "Cl"])]
    prepared = prepare(train)
    rows = prepared.prepare_rows(new)
    K = normalize(cross_gram(rows, prepared), diagonal(rows), diagonal(prepared))
    FLOAT64.check(K, normalize(gram([*new, *train]))[:1, 1:])
    assert (np.abs(K) <= 1).all()


def test_normalize_of_gram_and_of_cross_gram_agree():
    graphs = datasets.load("MUTAG").graphs[:6]
    kernel = GNTK(blocks=2)
    whole = normalize(gram(graphs, kernel))
    d = diagonal(graphs, kernel)
    assert np.all(np.diagonal(whole) == 1.0)
    FLOAT64.check(normalize(cross_gram(graphs[:2], graphs, kernel), d[:2], d)[:, 2:], whole[:2, 2:])
    FLOAT64.check(whole, gram(graphs, kernel) / np.sqrt(np.outer(d, d)))


def test_normalize_survives_very_small_and_very_large_kernels():
    for factor in (1e-300, 1e300):
        EXACT.check(normalize(factor * np.array([[1.0, 0.5], [0.5, 1.0]])), [[1.0, 0.5], [0.5, 1.0]])


def test_a_path_gives_copies():
    path = gram_path(FAMILIES["path"], GNTK(blocks=2))
    for jump in (False, True):
        path.at(blocks=1, jump=jump)[:] = -1
    assert (path.levels > 0).all()


def test_normalize_gives_zero_for_graphs_similar_to_nothing():
    K = normalize(gram(FAMILIES["empty graph"]))
    EXACT.check(K, [[0, 0, 0], [0, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.ones((2, 3)),), "needs the diagonals"),
        ((np.ones((2, 3)), np.ones(2)), "needs the diagonals"),
        ((np.ones((2, 3)), np.ones(3), np.ones(3)), "lengths 3 and 3, but K has shape"),
        ((np.ones(3),), "must be a matrix"),
        ((-np.eye(2),), "must not be negative"),
        (([[np.nan, 1], [1, 1]],), "must be finite"),
    ],
)
def test_normalize_refuses_bad_matrices(arguments, words):
    with pytest.raises(InputError, match=words):
        normalize(*arguments)


@pytest.mark.slow
def test_few_distinct_nodes_do_not_make_tiles_of_all_graphs():
    # 4,000 graphs of one node each have five distinct nodes; their values still take memory.
    many = [Graph.from_edges([], 1, labels=[i % 5]) for i in range(4000)]
    gram(many[:2], GNTK(3, 1), compute=Compute(engine="lossless"))  # loading compiled code is not what is measured
    tracemalloc.start()
    K = gram(many, GNTK(3, 1), compute=Compute("lossless", max_memory="160MB"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 160e6
    assert np.array_equal(K[:5, :5], K[5:10, 15:20])


@pytest.mark.slow
def test_wide_features_count():
    from scipy import sparse

    wide = sparse.csr_array(([1.0, 1.0], [5, 1_999_999], [0, 1, 2]), shape=(2, 2_000_000))
    batch = as_graphs([Graph.from_edges([(0, 1)], 2)]).with_features(wide)
    with pytest.raises(InputError, match=r"max_memory=1 MB is too small: .* largest tile 5\d\d MB"):
        gram(batch, GNTK(1), compute=Compute("lossless", max_memory="1MB"))
    assert gram(batch, GNTK(1), compute=Compute("lossless", max_memory="1GB")).shape == (1, 1)


def test_memory_is_checked_before_work_that_needs_it(monkeypatch):
    rng = np.random.default_rng(0)
    large = [Graph.from_edges([(0, 1)], 1500, rng.standard_normal((1500, 2)))]
    engine = type(get_engine("lossless"))
    monkeypatch.setattr(engine, "run_task", lambda *a: pytest.fail("norms first"))
    for call in (gram, diagonal, gram_path, prepare):
        with pytest.raises(InputError, match="max_memory=1 MB is too small"):
            call(large, GNTK(2), compute=Compute("lossless", max_memory="1MB"))


def test_a_star_of_many_equal_leaves_is_small():
    n = 60_000
    star = Graph.from_edges([(0, i) for i in range(1, n)], n)
    K = gram([star], GNTK(3, 1), compute=Compute("lossless", max_memory="20MB"))
    assert np.isfinite(K).all()
