"""Weisfeiler–Lehman kernels: GraKeL's values, numbers of colours that stay, and input that is refused."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from tests.oracles.plain_subtree import reference_gram
from tests.tables import EXACT, FAMILIES

from fastgntk import (
    WL,
    WLOA,
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
from fastgntk.engines import _subtree_colours as colours
from fastgntk.engines._weisfeiler_lehman import Histograms

MUTAG = datasets.load("MUTAG").graphs


def grakel_graphs(graphs):
    labels = graphs.degrees if graphs.labels is None else graphs.labels
    for i, graph in enumerate(graphs):
        own = labels[graphs.offsets[i] : graphs.offsets[i + 1]].tolist()
        rows = np.repeat(np.arange(graph.n_nodes), graph.degrees).tolist()
        neighbours = {u: {} for u in range(graph.n_nodes)}
        for u, v in zip(rows, graph.indices.tolist(), strict=True):
            neighbours[u][v] = 1.0
        yield neighbours, dict(enumerate(own))


def equals_grakel(graphs, kernel):
    grakel = pytest.importorskip("grakel")
    for normalize in (False, True):
        theirs = grakel.WeisfeilerLehman(
            n_iter=kernel.iterations, base_graph_kernel=grakel.VertexHistogram, normalize=normalize
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = theirs.fit_transform(grakel_graphs(graphs))
        EXACT.check(gram(graphs, kernel.normalized() if normalize else kernel), expected)


def test_subtree_kernel_equals_that_of_grakel():
    equals_grakel(MUTAG, WL(4))


@pytest.mark.parametrize("name", ["NCI1", "PROTEINS", "PTC", "IMDB-BINARY"])
def test_subtree_kernel_equals_that_of_grakel_on_other_sets(name, shared_data):
    equals_grakel(datasets.load(name).graphs[::20], WL(3))


@pytest.mark.parametrize("kernel", [WL(3), WLOA(3)], ids=str)
def test_common_and_rare_colours_together_equal_the_definition(kernel, monkeypatch):
    monkeypatch.setattr(Histograms, "max_group_nodes", 300)  # several tiles
    graphs = MUTAG[::3]  # so many that some colours are in a twentieth of the graphs, and others are not
    state = Histograms().prepare(NodeFeatures().fit_transform(graphs), kernel)
    assert 0 < len(state.common) < len(np.unique(state.entries.keys))
    assert np.array_equal(gram(graphs, kernel), reference_gram(list(graphs), kernel))


@pytest.mark.parametrize("kernel", [WL(3), WLOA(2), WLOA(2, edges="typed")], ids=str)
def test_new_colours_match_nothing_and_count_in_the_diagonal(kernel):
    whole = gram(MUTAG, kernel)
    train = prepare(MUTAG[:20], kernel)
    new = train.prepare_rows(MUTAG[20:120])
    newer = new.prepare_rows(MUTAG[120:])  # its colours follow those of both
    assert np.array_equal(cross_gram(new, train), whole[20:120, :20])
    assert np.array_equal(cross_gram(newer, new), whole[120:, 20:120])
    assert np.array_equal(gram(newer), whole[120:, 120:])
    assert np.array_equal(new.diagonal(), whole.diagonal()[20:120])


def test_dictionaries_colour_as_compiled_code_does(monkeypatch):
    batch = NodeFeatures().fit_transform(MUTAG[:60])
    half = NodeFeatures().fit(MUTAG[:60]).transform(MUTAG[:20])
    monkeypatch.setattr(colours, "_FEW_ROWS", -1)  # else dictionaries colour few rows while numba is not loaded
    found = []
    for colour in (colours._colour_compiled, colours._colour_by_dictionary):
        monkeypatch.setattr(colours, "_colour_compiled", colour)
        _, palette = colours.colour_nodes(half, 3, uses_edge_labels=True)
        found.append(colours.colour_nodes(batch, 3, uses_edge_labels=True, known=palette))
    for one, two in zip(found[0][1].levels, found[1][1].levels, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert np.array_equal(found[0][0], found[1][0])
    assert [len(level.centres) for level in found[0][1].levels] == (found[0][0].max(axis=1) + 1).tolist()


def test_kernels_run_without_numba(monkeypatch):
    expected = gram(MUTAG, WLOA(3))
    monkeypatch.setitem(sys.modules, "numba", None)  # importing it raises ImportError
    assert np.array_equal(gram(MUTAG, WLOA(3)), expected)


def test_directions_and_weights_of_edges_matter():
    there, back = ([Graph.from_edges([edge], 2, labels=[0, 1], directed=True)] for edge in ((0, 1), (1, 0)))
    assert cross_gram(there, back, WL(1)).item() == 2  # the two labels: afterwards neither node has the same row
    weighted = [Graph.from_edges([(0, 1)], 2, labels=[0, 1], weights=[w]) for w in (1.0, 2.0, 1.0)]
    assert gram(weighted, WLOA(2)).tolist() == [[6, 2, 6], [2, 6, 2], [6, 2, 6]]
    unweighted = [Graph.from_edges([(0, 1)], 2, labels=[0, 1])]
    assert cross_gram(unweighted, weighted, WLOA(2)).tolist() == [[6, 2, 6]]


def test_a_node_is_no_neighbour_of_itself():
    # Both nodes have the closed neighbourhood {0, 1}, so that networks see them as equal.
    edge = Graph.from_edges([(0, 1)], 2, labels=[0, 1])
    assert gram_path([edge], WL(1)).levels[:, 0, 0].tolist() == [2, 2]


def test_graphs_without_nodes_have_the_value_zero():
    graphs = as_graphs([Graph.from_edges([], 0, labels=[]), FAMILIES["path"][0]])
    assert gram(graphs, WL(2))[0].tolist() == [0, 0]
    assert diagonal(graphs[:1], WLOA(2)).tolist() == [0]
    assert gram(graphs[:0], WL(2)).shape == (0, 0)


def test_many_iterations_stay_exact():
    graphs = MUTAG[:5]
    deep = gram(graphs, WLOA(300))
    levels = gram_path(graphs, WLOA(30)).levels
    assert np.array_equal(deep, levels.sum(axis=0) + 270 * levels[-1])  # colours are stable after a few iterations


def test_cost_counts_pairs_of_graphs_only():
    (cost,) = estimate_cost(MUTAG, WL(5)).leaves
    assert (cost.engine, cost.pairs, cost.compression) == ("histograms", [], [])
    assert cost.seconds < estimate_cost(MUTAG, WL(6)).seconds < 10 * cost.seconds


def test_memory_of_a_tile_grows_with_its_levels():
    small, large = (estimate_cost(MUTAG, WL(depth)).bytes for depth in (1, 21))
    assert large - small >= 20 * 8 * 188**2


def test_continuous_features_and_missing_labels_are_refused():
    continuous, plain = FAMILIES["continuous features"], Graph.from_edges([(0, 1)], 2)
    with pytest.raises(
        InputError,
        match=r"needs node labels, but the graphs have continuous features only; use features='degree', or a",
    ):
        gram(continuous, WL())
    with pytest.raises(InputError, match="features='attributes' may be continuous, but WLOA compares discrete"):
        WLOA(features="attributes")
    with pytest.raises(InputError, match="the graphs have no node labels; use features='degree'"):
        gram([plain], WL(features="labels"))
    with pytest.raises(InputError, match="edges='typed' needs edge labels"):
        gram([plain], WL(edges="typed"))
    with pytest.raises(InputError, match="iterations must be an integer, 0 or more, but is -1"):
        WL(-1)
    assert gram(continuous, WL(1, features="degree")).shape == (3, 3)
