"""Node models: against refits, against theory on block models, and against label propagation."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fastgntk import GNTK, Graph, InputError, NodeClassifier, NodeRegressor, Sketch, datasets, node_gram
from fastgntk.solvers import MatrixSource, solve


def block_model(n, n_blocks, inside, between, seed):
    """Adjacency and blocks."""
    rng = np.random.default_rng(seed)
    block = np.repeat(np.arange(n_blocks), n // n_blocks)
    upper = np.triu(rng.random((n, n)) < np.where(block[:, None] == block, inside, between), 1)
    return (upper | upper.T).astype(float), block


def one_hot_nodes(adjacency):
    return Graph(adjacency, sparse.eye_array(len(adjacency), format="csr"))


MOLECULE = datasets.load("MUTAG").graphs[3]
SIZES = np.arange(MOLECULE.n_nodes) ** 1.5


@pytest.mark.parametrize("edges", ["plain", "typed"])
def test_regression_is_ridge_regression_on_the_node_kernel(edges):
    kernel, some = GNTK(2, 1, "degree", edges=edges), [1, 4, 5, 9, 11, 14]
    model = NodeRegressor(kernel, alpha=0.1).fit(MOLECULE, SIZES, some)
    K = node_gram(MOLECULE, kernel)
    unit = K[some, some].mean()
    y = (SIZES[some] - SIZES[some].mean()) / SIZES[some].std()
    A = K[np.ix_(some, some)] / unit + 1.0 + 0.1 * np.eye(6)
    rows = K[:, some] / unit + 1.0
    expected = SIZES[some].mean() + SIZES[some].std() * rows @ np.linalg.solve(A, y)
    np.testing.assert_allclose(model.predict(), expected, rtol=1e-6)
    np.testing.assert_allclose(model.predict([3, 0]), expected[[3, 0]], rtol=1e-6)
    variance = K.diagonal() / unit + 1.0 - np.einsum("ti,ij,tj->t", rows, np.linalg.inv(A), rows) + 0.1
    s2 = y @ np.linalg.solve(A, y) / 6
    raw = SIZES[some].std() * np.sqrt(variance * s2)
    ratios = []
    for i in range(6):
        others = np.delete(np.arange(6), i)
        inner = A[np.ix_(others, others)]
        left = y[i] - A[i, others] @ np.linalg.solve(inner, y[others])
        ratios.append(left**2 / (s2 * (A[i, i] - A[i, others] @ np.linalg.solve(inner, A[others, i]))))
    deviation = model.predict(return_std=True)[1]
    np.testing.assert_allclose(deviation, raw * np.sqrt(np.mean(ratios)), rtol=1e-5)


def test_several_targets_and_all_nodes():
    Y = np.column_stack([SIZES, -SIZES])
    model = NodeRegressor(alpha=1e-3).fit(MOLECULE, Y)
    assert model.predict().shape == Y.shape
    value, std = model.predict([1, 2], return_std=True)
    assert value.shape == std.shape == (2, 2)
    np.testing.assert_allclose(value[:, 0], -value[:, 1], rtol=1e-8)


def test_classification_is_ridge_regression_on_signs():
    classes = np.array(["a", "b", "c"])[np.arange(MOLECULE.n_nodes) % 3]
    model = NodeClassifier(alpha=0.5).fit(MOLECULE, classes)
    K = node_gram(MOLECULE, GNTK(2, 1, "unit"))
    source = MatrixSource(K / K.diagonal().mean() + 1.0)
    signs = np.where(classes[:, None] == ["a", "b", "c"], 1.0, -1.0)
    found = solve(source, signs - signs.mean(axis=0), 0.5)
    expected = signs.mean(axis=0) + found.predict(source.full()[:, found.basis_indices])
    np.testing.assert_allclose(model.decision_function(), expected, rtol=1e-5, atol=1e-8)
    assert (model.predict() == np.array(["a", "b", "c"])[expected.argmax(axis=1)]).all()
    probabilities = model.predict_proba([4, 5])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.slow
def test_one_block_on_a_block_model_agrees_with_theory():
    """With one-hot features the kernel of two nodes depends on common neighbours, whose limit is known.

    Two nodes of a block have (n/2)(p² + q²) of them, two of different blocks n p q, and all have degree (n/2)(p + q).
    """
    p, q, n = 0.3, 0.1, 3000
    adjacency, block = block_model(n, 2, p, q, 0)
    K = node_gram(one_hot_nodes(adjacency), GNTK(1, 1, "unit", jump=False), nodes=range(100))
    same = block[:, None] == block[:100]
    np.fill_diagonal(same[:100], False)
    other = block[:, None] != block[:100]
    for pairs, shared in ((same, (p * p + q * q) / (p + q)), (other, 2 * p * q / (p + q))):
        angle = np.pi - np.arccos(shared)
        limit = (2 * shared * angle + np.sqrt(1 - shared**2)) / np.pi  # λ κ0(λ) + κ1(λ)
        assert K[pairs].mean() == pytest.approx(limit, rel=0.02)


def propagated(adjacency, block, labelled):
    """Label propagation (Zhou et al. 2004): F = (1 − α S)⁻¹ Y with S the normalised adjacency matrix; the best α."""
    degree = np.maximum(adjacency.sum(axis=1), 1e-12)
    S = adjacency / np.sqrt(np.outer(degree, degree))
    Y = np.zeros((len(block), block.max() + 1))
    Y[labelled, block[labelled]] = 1.0
    rest = np.setdiff1d(np.arange(len(block)), labelled)
    found = [np.linalg.solve(np.eye(len(S)) - a * S, Y).argmax(axis=1) for a in (0.5, 0.9, 0.99, 0.999)]
    return max(np.mean(f[rest] == block[rest]) for f in found)


@pytest.mark.slow
def test_blocks_are_found_better_than_by_label_propagation():
    ours, theirs = [], []
    for seed in range(3):
        adjacency, block = block_model(450, 3, 0.06, 0.012, seed)
        labelled = np.random.default_rng(seed).choice(450, 45, replace=False)
        rest = np.setdiff1d(np.arange(450), labelled)
        model = NodeClassifier(GNTK(3, 1, "unit")).fit(one_hot_nodes(adjacency), block, labelled)
        ours.append(np.mean(model.predict(rest) == block[rest]))
        theirs.append(propagated(adjacency, block, labelled))
    assert np.mean(ours) > np.mean(theirs) > 0.5


def test_invalid_nodes_and_targets_are_refused():
    for model in (NodeClassifier(), NodeRegressor()):
        with pytest.raises(InputError, match="nodes must lie in"):
            model.fit(MOLECULE, SIZES, [0, 99])
        with pytest.raises(InputError, match="no node is labelled"):
            model.fit(MOLECULE, SIZES, [])
        with pytest.raises(InputError, match="has an entry twice"):
            model.fit(MOLECULE, SIZES, [1, 1])
        with pytest.raises(InputError, match=r"for each of the 2 labelled nodes, .* but has 3"):
            model.fit(MOLECULE, [1.0, 2.0, 3.0], [0, 1])
        with pytest.raises(InputError, match="one graph, but 2 graphs were given"):
            model.fit(datasets.load("MUTAG").graphs[:2], SIZES)
    with pytest.raises(InputError, match="needs at least two classes"):
        NodeClassifier().fit(MOLECULE, np.zeros(MOLECULE.n_nodes, dtype=int))
    with pytest.raises(InputError, match="targets must be finite"):
        NodeRegressor().fit(MOLECULE, [np.nan, 1.0], [0, 1])


def test_unfitted_model_raises_not_fitted_error():
    for call in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(NodeClassifier(), call)()


def test_list_of_one_graph_is_accepted():
    K = node_gram([MOLECULE], nodes=[0])
    np.testing.assert_array_equal(K, node_gram(MOLECULE, nodes=[0]))
    assert NodeRegressor().fit([MOLECULE], SIZES).nodes_.tolist() == list(range(MOLECULE.n_nodes))


def test_one_class_is_refused():
    with pytest.raises(InputError, match="at least two classes, but all 2 nodes are of class a"):
        NodeClassifier().fit(MOLECULE, ["a", "a"], [0, 1])


@pytest.mark.parametrize("model", [NodeClassifier(), NodeRegressor()], ids=["classifier", "regressor"])
@pytest.mark.parametrize(
    "kernel", [GNTK(1) + GNTK(2), GNTK(2).normalized(), GNTK(2, sketch=Sketch(size=4))], ids=["sum", "cosine", "sketch"]
)
def test_composite_and_sketched_kernels_are_refused(model, kernel):
    words = re.escape(f"the kernel between nodes must be one GNTK or NNGP without a sketch, but is {kernel}.")
    with pytest.raises(InputError, match=f"^{words}$"):
        clone(model).set_params(kernel=kernel).fit(MOLECULE, np.arange(MOLECULE.n_nodes) % 2)
