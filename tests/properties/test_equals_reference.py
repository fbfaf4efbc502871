"""Every engine equals the definition, on every family of graphs; the definition equals independent values."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.oracles import plain_subtree
from tests.oracles.plain import reference_gram
from tests.tables import (
    ALL_KERNELS,
    ENGINES,
    FAMILIES,
    FLOAT64,
    NEGATIVE_WEIGHTS,
    OTHER_KERNELS,
    by_engine,
    case,
    one_hot,
    takes,
)

from fastgntk import GNTK, Compute, Graph, datasets, gram, gram_path

VALUES = json.loads((Path(__file__).parents[1] / "oracles" / "values.json").read_text())
PUBLISHED = [(row["set"], GNTK(row["blocks"], row["layers"], row["scale"], row["jump"]), row["K"])
             for row in VALUES["kernels"]]  # fmt: skip
GRAPHS = FAMILIES | {"negative weights": NEGATIVE_WEIGHTS}


@cache
def _reference(kernel: str, family: str) -> list[list[float]]:
    return reference_gram(GRAPHS[family], one_hot(GRAPHS[family]), ALL_KERNELS[kernel])


@pytest.mark.parametrize("kernel", ALL_KERNELS)
@pytest.mark.parametrize("engine", ENGINES)
def test_engine_equals_definition(engine, kernel):
    for family in FAMILIES:
        with case(family):
            K = gram(FAMILIES[family], **by_engine(engine, ALL_KERNELS[kernel]))
            FLOAT64.check(K, _reference(kernel, family))


@pytest.mark.parametrize("kernel", [name for name, kernel in ALL_KERNELS.items() if kernel.scale != "degree"])
def test_engine_equals_definition_with_negative_weights(kernel):
    for engine in ENGINES:
        with case(engine):
            K = gram(NEGATIVE_WEIGHTS, **by_engine(engine, ALL_KERNELS[kernel]))
            FLOAT64.check(K, _reference(kernel, "negative weights"))


@pytest.mark.parametrize("kernel", OTHER_KERNELS.values(), ids=OTHER_KERNELS)
def test_kernel_on_colours_equals_its_definition(kernel):
    for family in filter(lambda name: takes(kernel, name), FAMILIES):
        with case(family):
            graphs = FAMILIES[family]
            assert np.array_equal(gram(graphs, kernel), plain_subtree.reference_gram(graphs, kernel))


def _published_graphs(name: str) -> list[Graph]:
    return [Graph.from_edges(g["edges"], g["n_nodes"], labels=g.get("labels")) for g in VALUES["sets"][name]]


@pytest.mark.parametrize(("name", "kernel", "expected"), PUBLISHED)
@pytest.mark.parametrize("engine", ENGINES)
def test_engine_equals_the_authors_script(engine, name, kernel, expected):
    graphs, expected = _published_graphs(name), np.array(expected)
    if engine == "kronecker":  # with up to 26 nodes, a pair of graphs takes a matrix of 676 × 676
        kept = [i for i, graph in enumerate(graphs) if graph.n_nodes <= 26]
        graphs, expected = [graphs[i] for i in kept], expected[np.ix_(kept, kept)]
    path = gram_path(graphs, kernel, compute=Compute(engine=engine))
    assert path.engine == engine
    FLOAT64.check(path.at(), expected)


@pytest.mark.parametrize(("name", "kernel", "expected"), PUBLISHED[:2])
def test_definition_equals_the_authors_script(name, kernel, expected):
    graphs = _published_graphs(name)[:2]
    FLOAT64.check(reference_gram(graphs, one_hot(graphs), kernel), np.array(expected)[:2, :2])


@pytest.mark.parametrize("engine", ["lossless", "decoupled"])
def test_engine_equals_all_of_the_authors_values(engine, shared_oracle):
    rows = json.loads((shared_oracle / "manifest.json").read_text())
    assert len(rows) == 10
    for row in rows:
        expected = np.load(shared_oracle / row["file"])
        graphs = datasets.load(row["dataset"]).graphs[: len(expected)]
        kernel = GNTK(row["blocks"], row["layers"], row["scale"], row["jump"])
        with case(row["file"]):
            FLOAT64.check(gram(graphs, kernel, compute=Compute(engine=engine)), expected)
