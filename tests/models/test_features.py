"""Vectors for linear models: Nystroem and RandomFeatures."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from tests.tables import FLOAT64

import fastgntk as fg
from fastgntk import GNTK, Compute, Graph, datasets
from fastgntk.models._transformers import SELECTIONS, _inverse_root
from fastgntk.solvers import MatrixSource

MUTAG = datasets.load("MUTAG")
GRAPHS = MUTAG.graphs[[i for i, graph in enumerate(MUTAG.graphs) if graph.labels.max() <= 2][:60]]
TRAIN, NEW = GRAPHS[:40], GRAPHS[40:]
KERNEL = GNTK(blocks=2, layers=1)

every_selection = pytest.mark.parametrize("selection", SELECTIONS)


def nystroem(count: int, kernel=KERNEL, **options) -> fg.Nystroem:
    return fg.Nystroem(kernel, count, **options)


# Nyström


@every_selection
def test_with_all_graphs_as_landmarks_inner_products_are_the_kernel(selection):
    vectors = nystroem(100, selection=selection).fit_transform(TRAIN)
    assert vectors.shape == (40, 40)
    FLOAT64.check(vectors @ vectors.T, fg.gram(TRAIN, KERNEL))


@pytest.mark.slow
@every_selection
@pytest.mark.parametrize(
    "kernel",
    [KERNEL, KERNEL.normalized(), KERNEL * GNTK(1, 1, features="degree")],
    ids=["raw", "normalised", "product"],
)
def test_rows_of_landmarks_are_exact(selection, kernel):
    model = nystroem(15, kernel, selection=selection, random_state=3).fit(TRAIN)
    assert len(set(model.landmarks_.tolist())) == 15
    landmarks, new = model.transform(TRAIN[model.landmarks_]), model.transform(NEW)
    assert landmarks.shape == (15, 15)
    K = fg.gram(GRAPHS, kernel)
    FLOAT64.check(new @ landmarks.T, K[40:][:, model.landmarks_])
    FLOAT64.check(landmarks @ landmarks.T, K[np.ix_(model.landmarks_, model.landmarks_)])


@every_selection
def test_fit_transform_equals_transform(selection):
    model = nystroem(12, selection=selection)
    FLOAT64.check(model.fit_transform(TRAIN), model.transform(TRAIN))


def test_the_approximation_is_below_the_kernel_and_improves():
    K = fg.gram(TRAIN, KERNEL)
    left = []
    for count in (3, 10, 25, 40):
        vectors = nystroem(count).fit_transform(TRAIN)
        rest = np.linalg.eigvalsh(K - vectors @ vectors.T)
        assert rest[0] > -1e-7 * K.max()
        left.append(rest.sum())
    assert left[0] > left[1] > left[2] > left[3]


def test_kernel_of_lower_rank_than_landmarks():
    ring = Graph.from_edges([(0, 1), (1, 2), (2, 0)], 3, labels=[0, 0, 0])
    vectors = nystroem(4).fit_transform([ring] * 6)
    assert np.isfinite(vectors).all()
    FLOAT64.check(vectors @ vectors.T, fg.gram([ring] * 6, KERNEL))
    nothing = nystroem(2).fit_transform([Graph.from_edges([], 0), Graph.from_edges([], 0), Graph.from_edges([], 0)])
    assert np.array_equal(nothing, np.zeros((3, 2)))


def _clusters(sizes: list[int]) -> tuple[MatrixSource, np.ndarray]:
    """A kernel of separate groups, 1 within and 0 between, and the group of each item."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return MatrixSource((group[:, None] == group).astype(float)), group


@pytest.mark.parametrize("selection", ["kmeans++", "leverage"])
def test_small_groups_get_landmarks(selection):
    source, group = _clusters([200, 1, 50, 1, 2])
    reached = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        landmarks, columns = SELECTIONS[selection](source, 20, rng)
        reached += len(set(group[landmarks]))
        assert len(set(landmarks.tolist())) == 20
        if columns is not None:
            assert np.array_equal(columns, source.full()[:, landmarks])
    uniformly = np.mean(
        [len(set(group[SELECTIONS["uniform"](source, 20, np.random.default_rng(s))[0]])) for s in range(40)]
    )
    assert uniformly < 3.0
    assert reached / 40 > (4.9 if selection == "kmeans++" else uniformly + 0.5)


def test_kmeans_uses_distances_and_not_angles():
    points = np.repeat([1.0, 0.0, 10.0], [50, 50, 1])
    source = MatrixSource(np.outer(points, points))
    for seed in range(20):
        landmarks, _ = SELECTIONS["kmeans++"](source, 3, np.random.default_rng(seed))
        assert set(points[landmarks]) == {0.0, 1.0, 10.0}


def test_leverage_selection_follows_ridge_leverage_scores():
    rng = np.random.default_rng(0)
    V = rng.standard_normal((60, 8)) * np.array([9, 5, 3, 2, 1, 1, 0.5, 0.2])
    K = V @ V.T + 0.05 * np.eye(60)
    count = 30
    values = np.linalg.eigvalsh(K)
    ridges = np.geomspace(1e-9, values.sum(), 4000)
    ridge = ridges[np.argmin(np.abs([(values / (values + r)).sum() - count / 2 for r in ridges]))]
    exact = np.diag(K @ np.linalg.inv(K + ridge * np.eye(60)))
    drawn = np.zeros(60)
    for seed in range(400):
        drawn[SELECTIONS["leverage"](MatrixSource(K), count, np.random.default_rng(seed))[0]] += 1
    assert np.corrcoef(exact, drawn)[0, 1] > 0.8


@every_selection
def test_landmarks_do_not_depend_on_the_unit_of_the_kernel(selection):
    V = np.random.default_rng(1).standard_normal((40, 6))
    found = [
        SELECTIONS[selection](MatrixSource(c * V @ V.T), 9, np.random.default_rng(0))[0].tolist()
        for c in (1.0, 2.0**40, 2.0**-40)
    ]
    assert found[0] == found[1] == found[2]


def test_directions_of_rounding_noise_are_dropped():
    same = Graph.from_edges([(0, 1), (1, 2)], 3, np.random.default_rng(0).random((3, 2)))
    K = fg.gram([same] * 30, KERNEL, compute=Compute(engine="decoupled"))
    noisy = K * (1 + 1e-12 * np.random.default_rng(1).standard_normal(K.shape))
    root = _inverse_root(noisy)
    assert np.linalg.matrix_rank(root, tol=1e-6 * np.abs(root).max()) == 1


# Random features


def random(size: int, kernel=KERNEL, **options) -> fg.RandomFeatures:
    return fg.RandomFeatures(kernel, size, **options)


@pytest.mark.parametrize("kernel", [KERNEL, KERNEL.normalized()], ids=["raw", "normalised"])
def test_random_features_approximate_the_kernel(kernel):
    vectors = random(8192, kernel).fit(TRAIN).transform(NEW)
    K = fg.gram(NEW, kernel)
    assert vectors.dtype == np.float32
    assert np.abs(vectors @ vectors.T / K - 1).max() < 0.05
    if kernel != KERNEL:
        np.testing.assert_allclose((vectors**2).sum(axis=1), 1.0, rtol=1e-5)


def test_single_and_double_precision_agree():
    single, double = (random(300, dtype=dtype).fit_transform(TRAIN) for dtype in ("float32", "float64"))
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, rtol=1e-3, atol=1e-4 * np.abs(double).max())


def test_some_graphs_with_all_labels_are_enough_to_fit():
    few = [int(np.flatnonzero([label in graph.labels for graph in TRAIN])[0]) for label in np.unique(TRAIN.labels)]
    assert np.array_equal(random(100).fit(TRAIN[few]).transform(NEW), random(100).fit(TRAIN).transform(NEW))


def test_memory_and_threads_change_rounding_only():
    expected = random(200, dtype="float64", compute=Compute(n_jobs=1)).fit(TRAIN).transform(GRAPHS)
    for compute in (Compute(max_memory="1 MB"), Compute(max_memory="100 kB"), Compute(n_jobs=3)):
        found = random(200, dtype="float64", compute=compute).fit(TRAIN).transform(GRAPHS)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())


def test_progress_ends_at_the_total():
    calls = []
    compute = Compute(max_memory="5 kB", progress=lambda done, total: calls.append((done, total)))
    random(50, compute=compute).fit(TRAIN).transform(NEW)
    assert len(calls) > 1
    assert calls[-1][0] == calls[-1][1]


def test_vectors_of_empty_graphs_count_as_memory():
    calls = []
    compute = Compute(n_jobs=1, max_memory="300 kB", progress=lambda done, total: calls.append(done))
    model = random(1000, compute=compute).fit(TRAIN)
    nothing = [Graph.from_edges([], 0, labels=np.zeros(0, dtype=np.int64))] * 40
    assert not model.transform(nothing).any()
    assert len(calls) >= 4  # 640 kB of vectors in double precision beside 160 kB of result


def _star(*labels):
    return Graph.from_edges([(0, 1), (0, 2), (0, 3)], 4, labels=[0, 1, *labels])


def test_unseen_labels_are_distinguished():
    train, new = [_star(1, 1), _star(0, 1)], [_star(7, 1), _star(7, 9), _star(9, 8)]
    model = random(16_384, dtype="float64").fit(train)
    with pytest.warns(fg.UnseenLabelWarning, match="5 nodes in 3 graphs have a label"):
        vectors = model.transform(new)
    assert np.abs(vectors @ model.transform(train).T / fg.cross_gram(new, train, KERNEL) - 1).max() < 0.06
    assert np.abs(vectors @ vectors.T / fg.gram(new, KERNEL) - 1).max() < 0.06


def test_vectors_of_unseen_labels_do_not_depend_on_other_graphs():
    model = random(64, dtype="float64").fit([_star(1, 1)])
    with pytest.warns(fg.UnseenLabelWarning):
        alone, beside = model.transform([_star(7, 8)]), model.transform([_star(5, 6), _star(7, 8)])
    np.testing.assert_allclose(alone[0], beside[1], rtol=1e-10, atol=1e-10 * np.abs(alone).max())


def test_unseen_labels_in_several_columns():
    def pair(*labels):
        return Graph.from_edges([(0, 1)], 2, labels=np.array(labels))

    model = random(200, GNTK(2, 1, jump=(1, 0, 0)), dtype="float64").fit([pair([0, 0], [1, 1])])
    with pytest.warns(fg.UnseenLabelWarning):
        vectors = model.transform([pair([5, 6], [0, 1]), pair([5, 7], [4, 3])])
    new = [pair([5, 6], [0, 1]), pair([5, 7], [4, 3])]
    FLOAT64.check(vectors @ vectors.T, fg.gram(new, GNTK(blocks=2, layers=1, jump=(1, 0, 0))))


def test_unseen_edge_types():
    def chain(*kinds):
        return Graph.from_edges([(0, 1), (1, 2), (2, 3)], 4, labels=[0, 1, 0, 1], edge_labels=[0, *kinds])

    typed = GNTK(blocks=2, layers=1, edges="typed")
    train, new = [chain(0, 1), chain(1, 1)], [chain(5, 0)]
    model = random(16_384, typed, dtype="float64").fit(train)
    with pytest.warns(fg.UnseenLabelWarning, match="edges of 1 graphs have a label"):
        vectors = model.transform(new)
    assert np.abs(vectors @ model.transform(train).T / fg.cross_gram(new, train, typed) - 1).max() < 0.06
    with pytest.raises(fg.InputError, match="edges='typed' needs edge labels"):
        random(100, typed).fit([Graph.from_edges([(0, 1)], 2, labels=[0, 1])])


@pytest.mark.parametrize("size", [1e18, 1e-22, 1e-30])
def test_single_precision_holds_features_of_any_size(size):
    rng = np.random.default_rng(0)
    graphs = [Graph.from_edges([(0, 1), (1, 2)], 3, size * rng.random((3, 3))) for _ in range(4)]
    vectors = random(4096).fit(graphs).transform(graphs).astype(np.float64)
    assert np.abs(vectors @ vectors.T / fg.gram(graphs, KERNEL) - 1).max() < 0.06


def test_single_precision_holds_depth():
    clique = [Graph.from_edges([(i, j) for i in range(n) for j in range(i)], n, labels=[0] * n) for n in (300, 200)]
    for kernel in (GNTK(12, 1).normalized(), GNTK(12, 1, "degree")):
        vectors = random(700, kernel).fit(clique).transform(clique)
        assert np.isfinite(vectors).all()
    with pytest.raises(fg.InputError, match=r"features of graph 0 leave the range of float32; use a normalised kernel"):
        random(700, GNTK(20, 1)).fit(clique).transform(clique)


def test_memory_below_the_result_is_refused():
    with pytest.raises(fg.InputError, match=r"the result alone takes 16 kB"):
        random(100, compute=Compute(max_memory="10 kB")).fit(TRAIN).transform(TRAIN)
    model = nystroem(20).fit(TRAIN)
    with pytest.raises(fg.InputError, match=r"the result alone takes 6 kB"):
        model.set_params(compute__max_memory="5 kB").transform(TRAIN)
    for selection in ("kmeans++", "leverage"):
        with pytest.raises(fg.InputError, match=r"the result alone takes 6 kB"):
            nystroem(20, selection=selection, compute=Compute(max_memory="5 kB")).fit(TRAIN)


def test_memory_limit_holds():
    graphs = fg.as_graphs([Graph.from_edges([(0, 1)], 2, labels=[0, 1])] * 20_000)
    model = random(64, compute=Compute(n_jobs=1, max_memory="12 MB")).fit(graphs)
    tracemalloc.start()
    try:
        ready = model.encode(graphs)
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        model.vectors(ready)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert 8e6 < peak < 16e6  # the batch with features is made again


def test_linear_model_on_features_is_close_to_kernel_ridge():
    y = np.asarray(GRAPHS.sizes, dtype=float)
    K = fg.gram(GRAPHS, KERNEL)
    ridge = 1e-2 * np.diag(K).mean()
    expected = KernelRidge(alpha=ridge, kernel="precomputed").fit(K[:40, :40], y[:40]).predict(K[40:, :40])
    for features in (random(4096), nystroem(30)):
        model = make_pipeline(features, Ridge(alpha=ridge, fit_intercept=False)).fit(TRAIN, y[:40])
        assert np.abs(model.predict(NEW) - expected).max() < 0.2 * expected.std()


def test_feature_names():
    assert nystroem(2).fit(TRAIN).get_feature_names_out().tolist() == ["nystroem0", "nystroem1"]
    assert len(random(33).fit(TRAIN).get_feature_names_out()) == 33


def test_empty_batch_is_refused_in_fit_and_transformed():
    for model in (nystroem(3), random(30)):
        with pytest.raises(fg.InputError, match="there are no graphs to learn from"):
            model.fit([])
        assert model.fit(TRAIN).transform(TRAIN[:0]).shape[0] == 0


@pytest.mark.parametrize(
    "kernel", [KERNEL + KERNEL, 2.0 * KERNEL, GNTK(2, 1, sketch=fg.Sketch()), KERNEL.normalized() * KERNEL]
)
def test_random_features_refuse_composite_and_sketched_kernels(kernel):
    words = "need a single GNTK or NNGP without a sketch, normalised or not, but the kernel is .*; use Nystroem"
    with pytest.raises(fg.InputError, match=words):
        random(30, kernel).fit(TRAIN)
