from __future__ import annotations

import numpy as np
import pytest

from fastgntk import GNTKClassifier, GNTKRegressor, Graph, InputError, cross_gram, datasets, node_shares
from fastgntk.solvers import SOLVERS

DATA = datasets.load("MUTAG")
TRAIN = DATA.graphs[:80]
NEW = DATA.graphs[100]
SIZES = np.digitize(TRAIN.sizes, [15, 20])


def check(told, prediction):
    scale = max(1.0, abs(prediction))
    assert told.nodes.sum() + told.intercept == pytest.approx(prediction, abs=1e-8 * scale)
    assert told.training_graphs.sum() + told.intercept == pytest.approx(prediction, abs=1e-8 * scale)
    assert told.prediction == pytest.approx(prediction, abs=1e-8 * scale)
    assert told.nodes.shape == (NEW.n_nodes,)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_shares_of_a_regression_add_up_to_the_prediction(solver, normalize):
    model = GNTKRegressor(3, 1, normalize=normalize, ridge=1e-2, solver=solver, rank=20)
    model.fit(TRAIN, TRAIN.sizes + 0.5 * DATA.y[:80])
    check(model.explain(NEW), model.predict([NEW])[0])


@pytest.mark.parametrize("engine", ["decoupled", "sketched"])
def test_shares_add_up_for_other_engines(engine):
    sketching = {"sketch_size": 6} if engine == "sketched" else None
    model = GNTKRegressor(2, 1, ridge=1e-2, engine=engine, sketching=sketching).fit(TRAIN[:40], TRAIN[:40].sizes)
    check(model.explain(NEW), model.predict([NEW])[0])


def test_shares_are_coefficients_times_the_kernel_of_each_node():
    model = GNTKRegressor(2, 1, normalize=True, ridge=1e-2).fit(TRAIN, TRAIN.sizes)
    rows = node_shares(NEW, TRAIN, model._options().spec)
    own = np.sqrt(cross_gram([NEW], [NEW], model._options().spec)[0, 0])
    cols = np.sqrt([cross_gram([g], [g], model._options().spec)[0, 0] for g in TRAIN])
    expected = rows / own / cols * model.solution_.alpha[:, 0] * model.target_scale_
    np.testing.assert_allclose(model.explain(NEW).shares, expected, rtol=1e-6)


def test_the_right_target_of_several_is_explained():
    Y = np.column_stack([TRAIN.sizes, -3.0 * TRAIN.sizes**0.5])
    model = GNTKRegressor(2, 1, ridge=1e-2).fit(TRAIN, Y)
    for target in (0, 1):
        check(model.explain(NEW, target), model.predict([NEW])[0, target])
    with pytest.raises(InputError, match=r"there are 2 targets; say which one to explain, 0\.\.1"):
        model.explain(NEW)
    with pytest.raises(InputError, match=r"target must lie in 0\.\.1, but is 2"):
        model.explain(NEW, 2)


@pytest.mark.parametrize("method", ["svc", "ridge"])
def test_shares_of_every_class_add_up_to_its_decision_value(method):
    three = GNTKClassifier(2, 1, normalize=True, method=method).fit(TRAIN, SIZES)
    decisions = three.decision_function([NEW])[0]
    for c in range(3):
        check(three.explain(NEW, c), decisions[c])
    check(three.explain(NEW), decisions.max())
    two = GNTKClassifier(2, 1, method=method).fit(TRAIN, np.array(["no", "yes"])[DATA.y[:80].clip(0)])
    value = two.decision_function([NEW])[0]
    check(two.explain(NEW, "yes"), value)
    check(two.explain(NEW, "no"), -value)
    assert two.explain(NEW).output == two.predict([NEW])[0]
    with pytest.raises(InputError, match="class 'maybe' is not among no, yes"):
        two.explain(NEW, "maybe")


def test_equal_nodes_have_equal_shares():
    star = Graph.from_edges([(0, i) for i in range(1, 6)], 6, labels=[0] * 6)
    model = GNTKRegressor(2, 1).fit(TRAIN, TRAIN.sizes)
    told = model.explain(star)
    np.testing.assert_allclose(told.nodes[1:], told.nodes[1], rtol=1e-9)
    assert told.nodes[0] != pytest.approx(told.nodes[1])


def test_the_largest_shares_come_first():
    told = GNTKRegressor(2, 1).fit(TRAIN, TRAIN.sizes).explain(NEW)
    first = told.most_influential(3)
    assert [abs(share) for _, share in first] == sorted(np.abs(told.training_graphs), reverse=True)[:3]
    assert told.training_graphs[first[0][0]] == first[0][1]


def test_one_graph_at_a_time_is_explained():
    model = GNTKRegressor(1, 1).fit(TRAIN, TRAIN.sizes)
    with pytest.raises(InputError, match="explain takes one graph, but 2 came"):
        model.explain(TRAIN[:2])
    assert np.array_equal(model.explain(TRAIN[:1]).nodes, model.explain(TRAIN[0]).nodes)
