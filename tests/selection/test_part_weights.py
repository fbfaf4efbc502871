"""Weights of the parts of a sum, chosen by marginal likelihood."""

from __future__ import annotations

import numpy as np
import pytest

from fastgntk import GNTK, RBF, Compute, GraphRegressor, GraphRegressorCV, InputError, Linear, datasets, gram
from fastgntk.kernels import Scaled
from fastgntk.selection import Search
from fastgntk.selection._comparison import summands

MUTAG = datasets.load("MUTAG")
N = 60
RNG = np.random.default_rng(5)
INFORMATIVE, NOISE = RNG.standard_normal((N, 2)), RNG.standard_normal((N, 3))
GRAPHS = MUTAG.graphs[:N].with_descriptors(good=INFORMATIVE, noise=NOISE)
Y = GRAPHS.sizes + 2.0 * np.sin(INFORMATIVE[:, 0]) + INFORMATIVE[:, 1] + 0.3 * RNG.standard_normal(N)
PARTS = [GNTK(2, 1), RBF("good"), Linear("noise")]
SUM = PARTS[0] + PARTS[1] + PARTS[2]
LIKELIHOOD = Search(sum_weights="likelihood")

# Scale and ridge of the formula below are on a grid, whose points are within this much of the best log likelihood.
BETWEEN_POINTS = 0.1


def fit(kernels, search=LIKELIHOOD, **options):
    return GraphRegressorCV(kernels, search=search, calibrate=False, compute=Compute(n_jobs=1), **options)


def log_likelihood(weights, matrices) -> float:
    """Of a Gaussian process with these weights and the best scale, ridge and noise; the intercept is nearly free."""
    n, y = len(Y), Y - Y.mean()
    K = np.einsum("k,kij->ij", weights, matrices)
    best = -np.inf
    for scale in np.logspace(-1.5, 1.5, 7) / K.diagonal().mean():
        values, vectors = np.linalg.eigh(scale * K + 10.0)
        projected = (vectors.T @ y) ** 2
        for ridge in np.logspace(-5, 1, 49):
            variance = np.mean(projected / (values + ridge))
            best = max(best, -0.5 * (n * np.log(2 * np.pi * variance) + np.log(values + ridge).sum() + n))
    return best


def split(kernel):
    """Weight of each of PARTS in a sum."""
    found = dict.fromkeys(PARTS, 0.0)
    for part in summands(kernel):
        found[part.kernel if isinstance(part, Scaled) else part] = part.factor if isinstance(part, Scaled) else 1.0
    assert list(found) == PARTS
    return np.array(list(found.values()))


def test_weights_maximise_the_marginal_likelihood():
    weights = split(fit([SUM]).fit(GRAPHS, Y).best_params_["kernel"])
    matrices = np.array([gram(GRAPHS, part) for part in PARTS])
    units = matrices / np.einsum("kii->k", matrices)[:, None, None] * N
    found = log_likelihood(weights, matrices)
    others = np.logspace(-2, 2, 5)
    best = max(log_likelihood([1.0, a, b], units) for a in others for b in (0.0, *others))
    assert found > best - BETWEEN_POINTS
    assert found > log_likelihood(np.ones(3), matrices) + 1.0  # the weights matter
    # In units of the mean diagonal, the part without information has nearly no weight.
    sizes = weights * np.einsum("kii->k", matrices) / N
    assert sizes[2] < 0.02 * sizes.max()
    assert sizes[:2].min() > 0


def test_weights_are_chosen_on_request():
    assert fit([SUM], Search()).fit(GRAPHS, Y).best_params_["kernel"] == SUM
    model = fit([SUM]).fit(GRAPHS, Y)
    chosen = model.best_params_["kernel"]
    assert chosen != SUM
    assert set(chosen.leaves()) <= set(SUM.leaves())
    # The chosen weights are those of the fitted model.
    plain = GraphRegressor(**model.best_params_).fit(GRAPHS, Y)
    np.testing.assert_allclose(model.predict(GRAPHS[:5]), plain.predict(GRAPHS[:5]), rtol=1e-6)


def test_kernels_that_are_no_sums_keep_their_place():
    kernels = [PARTS[0], SUM, 2.0 * GNTK(1, 1), PARTS[1]]
    tried = [params["kernel"] for params in fit(kernels).fit(GRAPHS, Y).cv_results_["params"]]
    assert [tried[i] for i in (0, 2, 3)] == [kernels[i] for i in (0, 2, 3)]
    assert tried[1] == fit([SUM]).fit(GRAPHS, Y).best_params_["kernel"] != SUM


def test_unknown_weights_are_refused():
    with pytest.raises(InputError, match=r"^sum_weights must be given or likelihood, but is 'best'\.$"):
        Search(sum_weights="best")
