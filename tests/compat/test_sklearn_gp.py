from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from tests.tables import FLOAT64

from fastgntk import GNTK, Compute, Graph, InputError, NodeFeatures, cross_gram, datasets, diagonal, gram
from fastgntk.compat.sklearn_gp import ProcessKernel
from fastgntk.models import _training_kernel

MUTAG = datasets.load("MUTAG")
TRAIN, TEST = MUTAG.graphs[:40], MUTAG.graphs[150:160]
SIZES = TRAIN.sizes.astype(float)
KERNEL = GNTK(2, 1)
COSINE = KERNEL.normalized()


@pytest.fixture
def computed(monkeypatch):
    """The number of graphs of each Gram matrix that was computed."""
    found: list[int] = []

    def counting(batch, *args, **kwargs):
        found.append(len(batch))
        return gram(batch, *args, **kwargs)

    monkeypatch.setattr(_training_kernel.pairwise, "gram", counting)
    return found


def reference_posterior(noise: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean and variance of a Gaussian process with the normalised kernel, written out; and its log likelihood."""
    K = gram(TRAIN, COSINE) + noise * np.eye(len(TRAIN))
    k = cross_gram(TEST, TRAIN, COSINE)
    mean = k @ np.linalg.solve(K, SIZES)
    variance = 1.0 - np.sum(k * np.linalg.solve(K, k.T).T, axis=1)
    likelihood = -0.5 * (SIZES @ np.linalg.solve(K, SIZES) + np.linalg.slogdet(K)[1] + len(TRAIN) * np.log(2 * np.pi))
    return mean, variance, likelihood


@pytest.mark.parametrize(
    "graph_kernel", [KERNEL, COSINE, KERNEL * GNTK(1, 1, features="degree")], ids=["raw", "normalised", "product"]
)
def test_values_equal_those_of_gram(graph_kernel):
    kernel = ProcessKernel(graph_kernel)
    FLOAT64.check(kernel(TRAIN), gram(TRAIN, graph_kernel))
    FLOAT64.check(kernel(TEST, TRAIN), cross_gram(TEST, TRAIN, graph_kernel))
    FLOAT64.check(kernel.diag(TEST), diagonal(TEST, graph_kernel))
    assert kernel(TRAIN, eval_gradient=True)[1].shape == (40, 40, 0)
    assert not kernel.is_stationary()
    assert not kernel.requires_vector_input


@pytest.mark.parametrize(
    "given", [TRAIN, list(TRAIN), np.array(list(TRAIN), dtype=object)], ids=["batch", "list", "array"]
)
def test_posterior_equals_the_reference(given):
    mean, variance, likelihood = reference_posterior(0.1)
    model = GaussianProcessRegressor(ProcessKernel(COSINE), alpha=0.1).fit(given, SIZES)
    found, std = model.predict(TEST, return_std=True)
    np.testing.assert_allclose(found, mean, rtol=1e-6)
    np.testing.assert_allclose(std**2, variance, rtol=1e-4)
    np.testing.assert_allclose(model.predict(TEST, return_cov=True)[1].diagonal(), variance, rtol=1e-4)
    assert model.log_marginal_likelihood() == pytest.approx(likelihood, rel=1e-6)
    np.testing.assert_allclose(
        model.fit(given, SIZES).predict(TEST), mean, rtol=1e-6
    )  # fit added nothing to the matrix that is kept


def test_scale_and_noise_are_optimised_and_the_matrix_is_computed_once(computed):
    kernel = ConstantKernel() * ProcessKernel(COSINE) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, n_restarts_optimizer=3, normalize_y=True, random_state=0)
    model.fit(TRAIN, SIZES)
    assert computed == [40]
    assert model.kernel_.n_dims == 2
    assert model.log_marginal_likelihood() > model.log_marginal_likelihood(kernel.theta) + 1
    assert computed == [40]  # clones share the matrix
    model.predict(TEST, return_std=True)
    assert computed == [40]
    assert model.sample_y(TEST, 3).shape == (10, 3)
    assert computed == [40, 10]
    model.log_marginal_likelihood(kernel.theta)
    assert computed == [40, 10]  # the sample did not displace the training graphs


def test_process_before_fit_is_the_prior():
    model = GaussianProcessRegressor(ProcessKernel(KERNEL))
    mean, std = model.predict(TEST, return_std=True)
    assert not mean.any()
    FLOAT64.check(std**2, diagonal(TEST, KERNEL))


def test_classes_are_learned(computed):
    labels = np.array(["few", "many", "most"])[np.digitize(SIZES, [15, 20])]
    model = GaussianProcessClassifier(1e5 * ProcessKernel(COSINE), optimizer=None).fit(TRAIN, labels)
    assert computed == [40]  # for all three one-against-rest problems
    assert model.score(TRAIN, labels) > 0.9
    np.testing.assert_allclose(model.predict_proba(TEST).sum(axis=1), 1.0)


def test_selection_and_cross_validation_work():
    model = GaussianProcessRegressor(ProcessKernel(GNTK(1, 1).normalized()) + WhiteKernel(0.1), optimizer=None)
    search = GridSearchCV(model, {"kernel__k1__kernel__kernel__blocks": [1, 2]}, cv=2).fit(TRAIN, SIZES)
    one, two = (
        cross_val_score(clone(model).set_params(kernel__k1__kernel__kernel__blocks=blocks), TRAIN, SIZES, cv=2).mean()
        for blocks in (1, 2)
    )
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], [one, two])
    assert one != two


def test_matrix_is_reused_for_the_same_graphs_and_options(computed):
    kernel = ProcessKernel(KERNEL)
    first = kernel(TRAIN)
    np.testing.assert_array_equal(kernel(TRAIN[:]), first)  # another object, the same content
    assert computed == [40]
    kernel.set_params(kernel__blocks=1)
    FLOAT64.check(kernel(TRAIN), gram(TRAIN, GNTK(1, 1)))
    labels = TRAIN.labels.copy()
    labels[0] = 6
    other = replace(TRAIN, labels=labels)
    FLOAT64.check(kernel(other), gram(other, GNTK(1, 1)))
    sparse = NodeFeatures().fit_transform(TRAIN)
    FLOAT64.check(kernel(sparse), kernel(TRAIN))
    doubled = sparse.with_features(2 * sparse.features)
    FLOAT64.check(kernel(doubled), 4 * kernel(TRAIN))


def test_array_may_be_filled_with_other_graphs():
    kernel, given = ProcessKernel(KERNEL), np.array(list(TRAIN[:4]), dtype=object)
    kernel(given)
    given[0] = TEST[0]
    FLOAT64.check(kernel(given), gram(list(given), KERNEL))


def test_results_are_copies():
    kernel = ProcessKernel(KERNEL)
    kernel(TRAIN)[:] = 0
    kernel.diag(TRAIN)[:] = 0
    assert kernel(TRAIN).all()
    assert kernel.diag(TRAIN).all()


def test_clone_and_pickle_keep_the_options():
    kernel = ProcessKernel(COSINE)
    K = kernel(TRAIN)
    for other in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert other == kernel
        assert other is not kernel
        np.testing.assert_array_equal(other(TRAIN), K)
    assert len(pickle.dumps(kernel)) < 1000  # no graphs and no matrix
    assert repr(kernel) == "ProcessKernel(GNTK(blocks=2, layers=1).normalized())"
    model = GaussianProcessRegressor(kernel, alpha=0.1).fit(TRAIN, SIZES)
    FLOAT64.check(pickle.loads(pickle.dumps(model)).predict(TEST), model.predict(TEST))


def test_invalid_kernel_and_graphs_are_refused():
    with pytest.raises(InputError, match=r"kernel must be a kernel such as fastgntk\.GNTK\(\), but has type int"):
        ProcessKernel(3)(TRAIN)
    with pytest.raises(InputError, match="leave Y out"):
        ProcessKernel()(TRAIN, TEST, eval_gradient=True)
    with pytest.raises(InputError, match="but these have none"):
        ProcessKernel()([Graph(np.ones((2, 2)))], TRAIN)


def test_nested_parameters_replace_the_kernel():
    kernel = ProcessKernel(KERNEL + COSINE) + WhiteKernel(0.1)
    kernel.set_params(k1__kernel__k1__blocks=3, k1__compute__n_jobs=1)
    assert kernel.k1.kernel == GNTK(3, 1) + COSINE
    assert kernel.k1.compute == Compute(n_jobs=1)
    assert kernel.get_params()["k1__kernel__k1__blocks"] == 3
