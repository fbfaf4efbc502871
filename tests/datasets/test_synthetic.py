from __future__ import annotations

import numpy as np
import pytest

from fastgntk import InputError
from fastgntk.datasets import synthetic

FAMILIES = {
    "erdos_renyi": lambda n, **o: synthetic.erdos_renyi(n, 20, **o),
    "barabasi_albert": lambda n, **o: synthetic.barabasi_albert(n, 20, **o),
    "stochastic_block": lambda n, **o: synthetic.stochastic_block(n, 20, **o),
    "cycles_with_motifs": lambda n, **o: synthetic.cycles_with_motifs(n, 20, **o),
    "clique_egos": lambda n, **o: synthetic.clique_egos(n, 20, **o),
}


def edges(data, i):
    return data.graphs[i].adjacency.toarray()


@pytest.mark.parametrize("family", FAMILIES)
def test_seed_determines_graphs_and_prefix(family):
    make = FAMILIES[family]
    short, long, other = make(6, random_state=3), make(9, random_state=3), make(6, random_state=4)
    assert all(np.array_equal(edges(short, i), edges(long, i)) for i in range(6))
    assert not all(np.array_equal(edges(short, i), edges(other, i)) for i in range(6))
    assert short.y.tolist() == long.y[:6].tolist()
    assert not short.graphs.self_loops.any()


def test_erdos_renyi_density():
    data = synthetic.erdos_renyi(40, 40, (0.1, 0.5))
    density = np.array([g.n_edges / (40 * 39 / 2) for g in data.graphs])
    np.testing.assert_allclose([density[data.y == k].mean() for k in (0, 1)], [0.1, 0.5], atol=0.02)


def test_barabasi_albert_edges_and_hubs():
    data = synthetic.barabasi_albert(10, 100, 2)
    assert {g.n_edges for g in data.graphs} == {2 + 97 * 2}
    assert max(int(g.degrees.max()) for g in data.graphs) > 12


def test_stochastic_blocks_are_denser_inside():
    graph = synthetic.stochastic_block(1, 90, 3, inside=0.6, between=0.1).graphs[0].adjacency.toarray()
    same = (np.arange(90) % 3)[:, None] == (np.arange(90) % 3)[None]
    off = ~np.eye(90, dtype=bool)
    np.testing.assert_allclose([graph[same & off].mean(), graph[~same].mean()], [0.6, 0.1], atol=0.05)


def test_motifs_are_rings_of_the_given_size():
    data = synthetic.cycles_with_motifs(3, 12, (3, 4, 5), copies=2)
    assert [g.n_nodes for g in data.graphs] == [12 + 2 * k for k in (3, 4, 5)]
    assert [g.n_edges for g in data.graphs] == [12 + 2 * (k + 1) for k in (3, 4, 5)]
    for g, k in zip(data.graphs, (3, 4, 5), strict=True):
        ring = g.adjacency.toarray()[12 : 12 + k, 12 : 12 + k]
        assert np.linalg.matrix_power(ring, k).trace() >= 2 * k  # a closed walk of length k goes round it both ways
        assert ring.sum(axis=1).tolist() == [2] * k


def test_ego_networks_are_dense_with_one_centre():
    data = synthetic.clique_egos(6, 40, (2, 5), overlap=0.3)
    for g in data.graphs:
        assert g.degrees[0] == 39
    density = np.array([g.n_edges / (40 * 39 / 2) for g in data.graphs])
    assert density[data.y == 0].min() > density[data.y == 1].max() > 0.2
    assert synthetic.clique_egos(1, 1, 1).graphs[0].n_nodes == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: synthetic.erdos_renyi(2, 5, 1.5), "probability must lie in 0..1, but is 1.5"),
        (lambda: synthetic.barabasi_albert(2, 5, 5), "attach must lie in 1..4, but is 5"),
        (lambda: synthetic.stochastic_block(2, 5, 6), "communities must lie in 1..5"),
        (lambda: synthetic.stochastic_block(2, 5, inside=-0.1), "inside and between must lie in 0..1"),
        (lambda: synthetic.cycles_with_motifs(2, 2), "n_nodes must be 3 or more"),
        (lambda: synthetic.clique_egos(2, 5, 0), "cliques must lie in 1..4"),
        (lambda: synthetic.erdos_renyi(-1, 5), "n_graphs must be 0 or more"),
    ],
)
def test_invalid_parameters(make, words):
    with pytest.raises(InputError, match=words):
        make()
