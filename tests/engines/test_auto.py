from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest

from fastgntk import GNTK, Compute, Graph, InputError, as_graphs, datasets, diagonal, estimate_cost, gram
from fastgntk.engines import _auto, _base, choose_engine


@pytest.fixture
def without_numba(monkeypatch):
    def find(name):
        if name == "numba":
            raise ImportError("no numba here")
        return __import__(name, fromlist=["_"])

    monkeypatch.setattr(_base, "import_module", find)
    _auto._warn_about_numba.cache_clear()


def test_little_work_is_not_worth_loading_compiled_code():
    choice = choose_engine("auto", datasets.load("MUTAG").graphs[:5], None, GNTK())
    assert choice.engine.name == "decoupled"
    assert "so little work" in choice.reason


def test_real_sets_take_the_lossless_engine_with_a_reason():
    choice = choose_engine("auto", datasets.load("MUTAG").graphs, None, GNTK(3, 2))
    assert choice.engine.name == "lossless"
    assert "times faster than decoupled" in choice.reason


def test_large_dense_graphs_without_equal_nodes_take_numpy():
    rng = np.random.default_rng(0)
    dense = as_graphs(
        [Graph(np.triu(rng.random((900, 900)) < 0.9, 1), rng.standard_normal((900, 2))) for _ in range(2)]
    )
    choice = choose_engine("auto", dense, None, GNTK(3, 1))
    assert choice.engine.name == "decoupled"
    assert "so dense" in choice.reason


def test_more_work_never_takes_less_time():
    batch = datasets.load("MUTAG").graphs
    for estimate in (_auto.decoupled_seconds, _auto.lossless_seconds):
        times = [estimate(batch, None, GNTK(3, 2), pairs) for pairs in (1e3, 1e6, 1e9)]
        assert times == sorted(times)
        assert estimate(batch, None, GNTK(3, 3), 1e9) > times[-1]
        dense = datasets.synthetic.clique_egos(20, 40, 1).graphs
        assert estimate(dense, None, GNTK(3, 2), 1e9) > times[-1]


def test_the_diagonal_counts_its_own_pairs_only(caplog):
    batch = datasets.load("MUTAG").graphs
    with caplog.at_level(logging.INFO, logger="fastgntk"):
        diagonal(batch[:40], GNTK(1, 1))
        gram(batch, GNTK(3, 2))
    assert "engine decoupled (so little work" in caplog.text
    assert "engine lossless (about" in caplog.text


def test_an_engine_chosen_by_name_is_taken():
    few = datasets.load("MUTAG").graphs[:2]
    for name in ("lossless", "decoupled", "kronecker"):
        choice = choose_engine(name, few, None, GNTK())
        assert (choice.engine.name, choice.reason) == (name, "chosen by name")


def test_without_numba_everything_runs_with_one_notice(without_numba, caplog):
    batch = datasets.load("MUTAG").graphs
    with caplog.at_level(logging.WARNING, logger="fastgntk"):
        choices = [choose_engine("auto", batch, None, GNTK(3, 2)) for _ in range(3)]
    assert {c.engine.name for c in choices} == {"decoupled"}
    assert "numba cannot be imported" in choices[0].reason
    assert caplog.text.count("numba cannot be imported") == 1


def test_without_numba_a_compiled_engine_is_refused_with_advice(without_numba):
    with pytest.raises(InputError, match="needs numba, which cannot be imported here; install numba, or use"):
        gram(datasets.load("MUTAG").graphs[:2], compute=Compute(engine="lossless"))


@pytest.mark.slow
def test_a_python_without_numba_computes_the_same():
    program = (
        "import sys; sys.modules['numba'] = None\n"
        "import fastgntk as fg\n"
        "print(fg.gram(fg.datasets.load('MUTAG').graphs, fg.GNTK(4, 3))[3, 5])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr.count("numba cannot be imported") == 1
    K = gram(datasets.load("MUTAG").graphs, GNTK(4, 3), compute=Compute(engine="lossless"))
    np.testing.assert_allclose(float(done.stdout), K[3, 5], rtol=1e-7)


def test_an_estimate_names_engine_reason_and_cost():
    batch = datasets.load("MUTAG").graphs
    cost = estimate_cost(batch, GNTK(3, 2))
    assert cost.engine == "lossless"
    assert (cost.graphs, cost.nodes, cost.node_pairs) == (188, 3371, 3371 * 3372 // 2)
    (leaf,) = cost.leaves
    assert (leaf.kernel, leaf.engine) == ("GNTK()", "lossless")
    assert "times faster than decoupled" in leaf.reason
    assert len(leaf.pairs) == len(leaf.compression) == 3
    assert leaf.pairs[2] > leaf.pairs[0]
    assert 0.0 < cost.seconds == leaf.seconds < 60.0
    assert cost.bytes > 8 * 188**2
    decoupled = estimate_cost(batch, GNTK(3, 2), compute=Compute(engine="decoupled"))
    assert decoupled.leaves[0].compression[0] == pytest.approx(1.0, abs=0.01)
    with pytest.raises(InputError, match="is too small"):
        estimate_cost(batch, compute=Compute(max_memory="100kB"))
