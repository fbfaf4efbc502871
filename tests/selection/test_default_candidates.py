"""The default candidates suit the graphs, and their matrices do not depend on which kernels share a pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests.tables import FLOAT64

from fastgntk import GNTK, RBF, WLOA, Compute, GraphRegressorCV, InputError, Linear, Tanimoto, datasets, gram
from fastgntk.selection import CrossValidation, Grid, Search, _grid, count_families, evaluate
from fastgntk.selection._comparison import Comparison
from fastgntk.selection._grid import gram_from_paths, group_into_passes

MUTAG = datasets.load("MUTAG")
SOME = MUTAG.graphs[:24]
RNG = np.random.default_rng(0)
SIZES = RNG.random((24, 2)) + SOME.sizes[:, None]
COUNTS = sparse.csr_array(RNG.integers(0, 3, (24, 5)).astype(float))
ONE_JOB = Compute(n_jobs=1)

CONTINUOUS = replace(SOME, labels=None, features=RNG.standard_normal((SOME.n_nodes, 2)))
BOTH = replace(SOME, features=RNG.standard_normal((SOME.n_nodes, 2)))
UNLABELLED = replace(SOME, labels=None)
ON_SIZES = RBF("size", scaling="log") + Linear("size", scaling="log")

# Of a search: depths 1 to 10, three numbers of layers and two scales; products read out every level, normalised.
LABELLED_FAMILIES = {"GNTK": 10 * 3 * 2 * 4, "GNTK × WLOA": 10 * 3 * 2}


@pytest.mark.parametrize(
    ("graphs", "expected"),
    [
        (SOME, LABELLED_FAMILIES),
        (UNLABELLED, LABELLED_FAMILIES),  # colours start from degrees
        (BOTH, LABELLED_FAMILIES),  # colours start from labels
        (CONTINUOUS, {"GNTK": 240}),
        (
            SOME.with_descriptors(size=SIZES),
            dict.fromkeys(
                [
                    "GNTK + RBF + Linear",
                    "GNTK × WLOA + RBF + Linear",
                    "GNTK + GNTK × WLOA + GNTK × WLOA × RBF + RBF + Linear",
                ],
                10 * 2,
            ),
        ),
        (SOME.with_descriptors(counts=COUNTS), {"GNTK + Tanimoto": 20, "GNTK × WLOA + Tanimoto": 20}),
        (CONTINUOUS.with_descriptors(counts=COUNTS), {"GNTK + Tanimoto": 20}),
    ],
    ids=["labels", "no labels", "labels and continuous", "continuous", "dense", "sparse", "continuous, sparse"],
)
def test_default_candidates_of_a_search_suit_the_graphs(graphs, expected, monkeypatch):
    tried = []
    original = Comparison.select

    def select_first(self, kernels, count, advance):
        tried.extend(kernels)
        return original(self, kernels[:1], count, advance)

    monkeypatch.setattr(Comparison, "select", select_first)
    GraphRegressorCV(calibrate=False, compute=ONE_JOB).fit(graphs, SOME.sizes)
    assert dict(count_families(tried)) == expected
    assert len(set(tried)) == len(tried)


def test_products_have_the_same_depth_and_discrete_features():
    grid = Grid(blocks=(1, 4), layers=(2,), scale=("degree",), edges=("typed",), optimal_assignment=(True,))
    deep = [GNTK(b, 2, "degree", edges="typed").normalized() * WLOA(b, "typed").normalized() for b in (1, 4)]
    assert grid.kernels() == deep
    assert WLOA().features == "discrete"
    degrees = Grid(blocks=(1,), layers=(1,), scale=("uniform",), base=GNTK(features="degree"), added=RBF("size"))
    [product] = replace(degrees, optimal_assignment=(True,)).for_graphs(CONTINUOUS).kernels()
    assert product == GNTK(1, 1, features="degree").normalized() * WLOA(1, features="degree").normalized() + RBF("size")


class ScoringError(Exception):
    """Raised with the candidates in place of scoring them."""


def test_default_candidates_of_an_evaluation_suit_the_graphs(monkeypatch):
    def stop(score, batch, candidates, *args, **options):
        raise ScoringError(candidates)

    def candidates(graphs):
        with pytest.raises(ScoringError) as caught:
            evaluate(graphs, MUTAG.y[:24], cv=CrossValidation(folds=2, inner_folds=2))
        return caught.value.args[0]

    monkeypatch.setattr("fastgntk.selection._evaluate.score_kernels", stop)
    assert dict(count_families(candidates(SOME))) == {"GNTK": 40}
    monkeypatch.setattr("fastgntk.selection._grid._FULL_GRID_GRAPHS", 10)  # as if there were many
    kernels = candidates(SOME.with_descriptors(size=SIZES, counts=COUNTS))
    added = ON_SIZES + Tanimoto("counts")
    product = GNTK(8, 1, "degree").normalized() * WLOA(8).normalized()
    interaction = GNTK(8, 1, "degree").normalized() + product + product * RBF("size", scaling="log")
    assert {GNTK(5, 1).normalized() + added, product + added, interaction + added} < set(kernels)
    assert len(kernels) == 30
    assert all(kernel.k2 == added for kernel in kernels)
    assert dict(count_families(candidates(CONTINUOUS))) == {"GNTK": 10}


def test_a_grid_without_kernels_is_refused():
    for options in ({"jump": (False,)}, {"normalize": (False,)}):
        with pytest.raises(InputError, match=r"^optimal_assignment without False leaves no kernel to try, .* add True"):
            Grid(optimal_assignment=(True,), **options)


SHARED = GNTK(2, 1).normalized()
OTHERS = [
    SHARED * WLOA(2).normalized(),
    WLOA(3),
    GNTK(3, 1, jump=False),
    SHARED * WLOA(1).normalized() + RBF("size"),
    RBF("size", length_scale=0.5),
    GNTK(1, 1, "degree").normalized() * WLOA(1).normalized() + 0.5 * Linear("size"),
    GNTK(1, 2),
]


def test_kernels_with_shared_leaves_have_the_same_matrices_in_one_pass(monkeypatch):
    graphs, calls, original = SOME.with_descriptors(size=SIZES), [], _grid.gram_path

    def recording(batch, kernel, **options):
        calls.append(kernel)
        return original(batch, kernel, **options)

    monkeypatch.setattr(_grid, "gram_path", recording)
    kernels, found = [SHARED, *OTHERS], {}
    for group in group_into_passes(kernels):
        paths = group.compute(graphs, ONE_JOB)
        found |= {i: gram_from_paths(kernels[i], paths) for i in group.members}
    assert sorted(found) == list(range(len(kernels)))
    for i, kernel in enumerate(kernels):
        FLOAT64.check(found[i], gram(graphs, kernel))
    # Kernels on nodes are in the pass of the first sum with them; only a leaf of two such passes is computed twice.
    assert calls[:3] == [GNTK(3, 1), WLOA(3), RBF("size")]
    assert sorted(map(repr, calls[3:])) == sorted(
        map(repr, [RBF("size", length_scale=0.5), GNTK(1, 1, "degree"), WLOA(1), Linear("size"), GNTK(1, 2)])
    )


def test_losses_do_not_depend_on_the_other_candidates():
    graphs, y = SOME.with_descriptors(size=SIZES), SOME.sizes + MUTAG.y[:24]
    options = {"alphas": (1e-2, 1.0), "search": Search(sum_weights="given"), "calibrate": False, "compute": ONE_JOB}
    together = GraphRegressorCV([SHARED, *OTHERS], **options).fit(graphs, y).cv_results_
    for params, loss in zip(together["params"], together["loss"], strict=True):
        alone = GraphRegressorCV([params["kernel"]], **options).fit(graphs, y)
        assert alone.best_loss_ == pytest.approx(loss, rel=1e-5)  # kernel values agree to 1e-8, alpha is 1e-2


def test_interactions_need_products_and_are_kept():
    with pytest.raises(InputError, match=r"interaction applies to products .* add True to optimal_assignment"):
        Grid(interaction=RBF("size"))
    graphs = SOME.with_descriptors(size=SIZES)
    given = replace(Grid.full(descriptors=True), interaction=RBF("size", 2.0))
    assert given.for_graphs(graphs).interaction == RBF("size", 2.0)
    assert given.to_dict()["interaction"] == RBF("size", 2.0).to_dict()
    assert Grid().for_graphs(graphs).interaction is None
