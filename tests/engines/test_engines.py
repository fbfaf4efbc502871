from __future__ import annotations

import numpy as np
import pytest
from tests.tables import ALL_ENGINES, DESCRIPTOR_KERNELS, ENGINES, OTHER_KERNELS

from fastgntk import GNTK, Compute, Graph, InputError, gram
from fastgntk.engines import EXACT_ENGINES, engines_of, get_engine
from fastgntk.engines._base import ENGINES as TABLE


def test_the_table_of_tests_has_every_engine():
    assert tuple(ENGINES) == EXACT_ENGINES
    others = {name for kernel in (OTHER_KERNELS | DESCRIPTOR_KERNELS).values() for name in engines_of(kernel)}
    assert sorted({*ALL_ENGINES} | others) == sorted(TABLE)


@pytest.mark.parametrize("given", ["fast", "", None, 3, ["lossless"], "Lossless"])
def test_unknown_engine_is_refused_with_the_names_that_exist(given):
    with pytest.raises(InputError, match="engine must be one of auto, lossless, decoupled, kronecker, but is "):
        Compute(engine=given)


def test_unknown_name_has_no_engine():
    with pytest.raises(InputError, match=r"engine must be one of lossless, decoupled, kronecker, .* but is 'x'"):
        get_engine("x")


def test_kronecker_refuses_graphs_that_it_cannot_hold():
    large = Graph.from_edges([(0, 1)], 300)
    with pytest.raises(InputError, match=r"90000 × 90000 .* use engine='decoupled'"):
        gram([large], GNTK(blocks=1), compute=Compute(engine="kronecker", max_memory="500TB"))


def test_closed_form_of_one_block_and_one_layer_with_unit_scale():
    # K = Σ_uv λ κ0(λ) + κ1(λ), with λ the cosine of the summed neighbourhoods (docs/math.md).
    graph = Graph.from_edges([(0, 1), (1, 2)], 3, np.array([[1.0, 0.2], [0.3, -1.0], [0.5, 0.5]]))
    h = (np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]]) @ graph.features).astype(float)
    h /= np.linalg.norm(h, axis=1, keepdims=True)
    lam = np.clip(h @ h.T, -1, 1)
    angle = np.arccos(lam)
    expected = np.sum(lam * (1 - angle / np.pi) + (lam * (np.pi - angle) + np.sin(angle)) / np.pi)
    np.testing.assert_allclose(gram([graph], GNTK(1, 1, "unit", False))[0, 0], expected, rtol=1e-7)


def test_trace_of_the_one_block_kernel_is_at_most_2_n_squared_nodes():
    rng = np.random.default_rng(0)
    many = [Graph(np.triu(rng.random((9, 9)) < 0.4, 1), rng.standard_normal((9, 4))) for _ in range(6)]
    K = gram(many, GNTK(1, 1, "unit", False))
    assert 0 < K.trace() <= 2 * len(many) * 9**2
