"""Explanations: contributions of nodes and of training graphs add up to the prediction, for every kernel and solver."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import FLOAT64

from fastgntk import (
    GNTK,
    RBF,
    WL,
    WLOA,
    Compute,
    Graph,
    GraphClassifier,
    GraphRegressor,
    InputError,
    Linear,
    Sketch,
    Tanimoto,
    cross_gram,
    datasets,
    diagonal,
    gram,
    node_contributions,
)
from fastgntk.solvers import SOLVERS

DATA = datasets.load("MUTAG")
TRAIN = DATA.graphs[:60]
NEW = DATA.graphs[100]
SIZES = np.digitize(TRAIN.sizes, [15, 20])
KERNEL = GNTK(2, 1)
DEGREES = GNTK(1, 1, features="degree")
COMPOSITES = {
    "sum": KERNEL + DEGREES.normalized(),
    "product": KERNEL * DEGREES,
    "scaled": 2.5 * KERNEL,
    "normalised sum": (KERNEL + 0.5 * DEGREES).normalized(),
    "colours": WLOA(2).normalized() + WL(2),
    "product of two families": WLOA(2).normalized() * KERNEL,
    "product of a sum": (KERNEL + DEGREES) * GNTK(1, 1).normalized(),
}


def check(explanation, prediction):
    scale = max(1.0, abs(prediction))
    rest = explanation.intercept + sum(explanation.descriptor_contributions.values())
    assert explanation.node_contributions.sum() + rest == pytest.approx(prediction, abs=1e-8 * scale)
    assert explanation.training_contributions.sum() + explanation.intercept == pytest.approx(
        prediction, abs=1e-8 * scale
    )
    assert explanation.prediction == pytest.approx(prediction, abs=1e-8 * scale)
    assert explanation.node_contributions.shape == (NEW.n_nodes,)


@pytest.mark.parametrize("kernel", [GNTK(3, 1), GNTK(3, 1).normalized()], ids=["raw", "normalised"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_contributions_to_a_regression_add_up_to_the_prediction(solver, kernel):
    model = GraphRegressor(kernel, alpha=1e-2, solver=solver, n_components=20)
    model.fit(TRAIN, TRAIN.sizes + 0.5 * DATA.y[:60])
    check(model.explain(NEW), model.predict([NEW])[0])


@pytest.mark.parametrize("name", COMPOSITES)
@pytest.mark.parametrize("solver", ["cholesky", "nystrom"])
def test_contributions_through_a_composite_kernel_add_up_to_the_prediction(name, solver):
    model = GraphRegressor(COMPOSITES[name], alpha=1e-2, solver=solver, n_components=20).fit(TRAIN, TRAIN.sizes)
    check(model.explain(NEW), model.predict([NEW])[0])


@pytest.mark.parametrize("factor", [None, 0, 1, KERNEL])
def test_contributions_of_either_factor_add_up_to_the_prediction(factor):
    kernel = COMPOSITES["product of two families"]
    regressor = GraphRegressor(kernel, alpha=1e-2).fit(TRAIN, TRAIN.sizes)
    classifier = GraphClassifier(kernel).fit(TRAIN, DATA.y[:60])
    several = GraphClassifier(kernel).fit(TRAIN, SIZES)
    for model, output, prediction in (
        (regressor, None, regressor.predict([NEW])[0]),
        (classifier, 1, classifier.decision_function([NEW])[0]),
        (several, 2, several.decision_function([NEW])[0, 2]),
    ):
        found, basis = model.explain(NEW, output, factor=factor), model.expansion_.basis
        check(found, prediction)
        parts = node_contributions(NEW, basis.prepared, factor=factor) / basis.kernel_scale
        FLOAT64.check(found.node_by_training, parts * model.expansion_.coefficients[:, 2 if model is several else 0])


def test_a_factor_of_no_product_is_refused():
    for solver in ("cholesky", "features"):
        model = GraphRegressor(KERNEL, solver=solver, n_components=20).fit(TRAIN, TRAIN.sizes)
        with pytest.raises(InputError, match=r"factor names a factor of a product, but GNTK.* has no product"):
            model.explain(NEW, factor=0)


@pytest.mark.parametrize(
    "kernel",
    [
        KERNEL.normalized() + 0.5 * RBF("x") + Linear("y"),
        KERNEL * RBF("x") + Linear("x"),
        (KERNEL.normalized() + RBF("x") * Tanimoto("y")).normalized(),
    ],
    ids=repr,
)
def test_contributions_of_nodes_and_descriptors_add_up_to_the_prediction(kernel):
    rng = np.random.default_rng(0)
    graphs = DATA.graphs[:101].with_descriptors(x=rng.standard_normal((101, 3)), y=rng.poisson(1.0, (101, 4)))
    y = graphs.sizes + 3.0 * graphs.descriptors["x"][:, 0]
    model = GraphRegressor(kernel, alpha=1e-2).fit(graphs[:60], y[:60])
    explanation = model.explain(graphs[100])
    check(explanation, model.predict(graphs[100:])[0])
    assert set(explanation.descriptor_by_training) == {leaf.on for leaf in kernel.leaves()[1:]}
    classifier = GraphClassifier(kernel, alpha=1e-2).fit(graphs[:60], DATA.y[:60])
    decision = classifier.decision_function(graphs[100:])[0]
    check(classifier.explain(graphs[100], 1), decision)
    check(classifier.explain(graphs[100], -1), -decision)


def test_a_block_has_the_contribution_of_its_kernels():
    graphs = TRAIN.with_descriptors(x=np.sin(TRAIN.sizes), y=np.arange(60.0))
    model = GraphRegressor(KERNEL + RBF("x") + 3.0 * Linear("x") + RBF("y"), alpha=1e-2).fit(graphs, TRAIN.sizes)
    explanation, expansion = model.explain(graphs[3]), model.expansion_
    weights = expansion.coefficients[:, 0] / expansion.basis.kernel_scale
    row = (gram(graphs, RBF("x")) + 3.0 * gram(graphs, Linear("x")))[3, expansion.training_indices]
    assert explanation.descriptor_contributions["x"] == pytest.approx(row @ weights, rel=1e-9)
    FLOAT64.check(explanation.node_by_training, node_contributions(graphs[3:4], expansion.basis.prepared) * weights)


@pytest.mark.parametrize("method", ["svm", "ridge"])
def test_contributions_to_a_decision_of_a_composite_kernel_add_up(method):
    model = GraphClassifier(COMPOSITES["sum"], method, alpha=1e-2).fit(TRAIN, DATA.y[:60])
    check(model.explain(NEW, 1), model.decision_function([NEW])[0])


@pytest.mark.parametrize(
    ("kernel", "compute"),
    [(KERNEL, Compute(engine="decoupled")), (GNTK(2, 1, sketch=Sketch(size=6)), Compute())],
    ids=["decoupled", "sketched"],
)
def test_contributions_add_up_for_other_engines(kernel, compute):
    model = GraphRegressor(kernel, alpha=1e-2, compute=compute).fit(TRAIN[:40], TRAIN[:40].sizes)
    check(model.explain(NEW), model.predict([NEW])[0])


def test_contributions_are_coefficients_times_the_kernel_of_each_node():
    model = GraphRegressor(KERNEL.normalized(), alpha=1e-2).fit(TRAIN, TRAIN.sizes)
    norms = np.sqrt(diagonal([NEW], KERNEL)[0] * diagonal(TRAIN, KERNEL))
    rows = node_contributions(NEW, TRAIN, KERNEL) / norms
    expected = rows * model.solution_.coefficients[:, 0] * model.target_scale_
    np.testing.assert_allclose(model.explain(NEW).node_by_training, expected, rtol=1e-6)


def test_contributions_through_a_product_weight_the_training_graphs():
    """f(G) = b + Σ_u Σ_i α_i k1(u, G_i) k2(G, G_i), with k1 of each node and k2 of the whole graph."""
    model = GraphRegressor(KERNEL * DEGREES, alpha=1e-2).fit(TRAIN, TRAIN.sizes)
    unit = np.mean(diagonal(TRAIN, KERNEL) * diagonal(TRAIN, DEGREES))
    alpha = model.solution_.coefficients[:, 0] * model.target_scale_ / unit
    expected = node_contributions(NEW, TRAIN, KERNEL) * cross_gram([NEW], TRAIN, DEGREES)[0] * alpha
    found = model.explain(NEW)
    FLOAT64.check(found.node_by_training, expected)
    FLOAT64.check(found.intercept + expected.sum(), model.predict([NEW])[0])


def test_contributions_through_a_sum_are_those_of_its_terms():
    model = GraphRegressor(KERNEL + 0.5 * DEGREES, alpha=1e-2).fit(TRAIN, TRAIN.sizes)
    unit = np.mean(diagonal(TRAIN, KERNEL) + 0.5 * diagonal(TRAIN, DEGREES))
    alpha = model.solution_.coefficients[:, 0] * model.target_scale_ / unit
    terms = node_contributions(NEW, TRAIN, KERNEL) + 0.5 * node_contributions(NEW, TRAIN, DEGREES)
    FLOAT64.check(model.explain(NEW).node_by_training, terms * alpha)


def test_each_of_several_targets_can_be_explained():
    Y = np.column_stack([TRAIN.sizes, -3.0 * TRAIN.sizes**0.5])
    model = GraphRegressor(KERNEL, alpha=1e-2).fit(TRAIN, Y)
    for target in (0, 1):
        check(model.explain(NEW, target), model.predict([NEW])[0, target])
    with pytest.raises(InputError, match=r"there are 2 targets; choose one to explain, target=0\.\.1"):
        model.explain(NEW)
    with pytest.raises(InputError, match=r"target must lie in 0\.\.1, but is 2"):
        model.explain(NEW, 2)


@pytest.mark.parametrize("method", ["svm", "ridge"])
def test_contributions_to_every_class_add_up_to_its_decision_value(method):
    three = GraphClassifier(KERNEL.normalized(), method).fit(TRAIN, SIZES)
    decisions = three.decision_function([NEW])[0]
    for c in range(3):
        check(three.explain(NEW, c), decisions[c])
    check(three.explain(NEW), decisions.max())
    two = GraphClassifier(KERNEL, method).fit(TRAIN, np.array(["no", "yes"])[DATA.y[:60].clip(0)])
    value = two.decision_function([NEW])[0]
    check(two.explain(NEW, "yes"), value)
    check(two.explain(NEW, "no"), -value)
    assert two.explain(NEW).output == two.predict([NEW])[0]
    with pytest.raises(InputError, match="class 'maybe' is not among no, yes"):
        two.explain(NEW, "maybe")


def test_equal_nodes_have_equal_contributions():
    star = Graph.from_edges([(0, i) for i in range(1, 6)], 6, labels=[0] * 6)
    nodes = GraphRegressor(KERNEL).fit(TRAIN, TRAIN.sizes).explain(star).node_contributions
    np.testing.assert_allclose(nodes[1:], nodes[1], rtol=1e-9)
    assert nodes[0] != pytest.approx(nodes[1])


def test_most_influential_training_graphs_come_first():
    explanation = GraphRegressor(KERNEL).fit(TRAIN, TRAIN.sizes).explain(NEW)
    first = explanation.most_influential(3)
    assert [abs(value) for _, value in first] == sorted(np.abs(explanation.training_contributions), reverse=True)[:3]
    assert explanation.training_contributions[first[0][0]] == first[0][1]


def test_explain_takes_one_graph():
    model = GraphRegressor(GNTK(1, 1)).fit(TRAIN, TRAIN.sizes)
    with pytest.raises(InputError, match="graph must be one graph, but 2 graphs were given"):
        model.explain(TRAIN[:2])
    assert np.array_equal(model.explain(TRAIN[:1]).node_contributions, model.explain(TRAIN[0]).node_contributions)
