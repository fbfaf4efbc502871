"""Every engine equals the definition, on every kind of graph; the definition equals what others computed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.oracles.plain import reference_gram
from tests.tables import ALL_SPECS, ENGINES, FAMILIES, FLOAT64, NEGATIVE_WEIGHTS, one_hot

from fastgntk import GNTK, Graph, datasets, gram

VALUES = json.loads((Path(__file__).parents[1] / "oracles" / "values.json").read_text())
PUBLISHED = [(row["set"], GNTK(row["blocks"], row["layers"], row["scale"], row["jump"]), row["K"])
             for row in VALUES["kernels"]]  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("spec", ALL_SPECS)
@pytest.mark.parametrize("engine", ENGINES)
def test_engine_equals_definition(engine, spec, family):
    graphs = FAMILIES[family]
    expected = reference_gram(graphs, one_hot(graphs), ALL_SPECS[spec])
    FLOAT64.check(gram(graphs, ALL_SPECS[spec], engine=engine), expected)


@pytest.mark.parametrize("spec", [name for name, spec in ALL_SPECS.items() if spec.scale != "degree"])
@pytest.mark.parametrize("engine", ENGINES)
def test_engine_equals_definition_with_negative_weights(engine, spec):
    expected = reference_gram(NEGATIVE_WEIGHTS, one_hot(NEGATIVE_WEIGHTS), ALL_SPECS[spec])
    FLOAT64.check(gram(NEGATIVE_WEIGHTS, ALL_SPECS[spec], engine=engine), expected)


def _published_graphs(name: str) -> list[Graph]:
    return [Graph.from_edges(g["edges"], g["n_nodes"], labels=g.get("labels")) for g in VALUES["sets"][name]]


@pytest.mark.parametrize(("name", "spec", "expected"), PUBLISHED)
def test_decoupled_equals_the_authors_script(name, spec, expected):
    FLOAT64.check(gram(_published_graphs(name), spec), expected)


def test_kronecker_equals_the_authors_script():
    name, spec, expected = PUBLISHED[1]
    FLOAT64.check(gram(_published_graphs(name), spec, engine="kronecker"), expected)


@pytest.mark.parametrize(("name", "spec", "expected"), PUBLISHED[:2])
def test_definition_equals_the_authors_script(name, spec, expected):
    graphs = _published_graphs(name)[:2]
    FLOAT64.check(reference_gram(graphs, one_hot(graphs), spec), np.array(expected)[:2, :2])


def test_all_of_the_authors_values(shared_oracle):
    rows = json.loads((shared_oracle / "manifest.json").read_text())
    assert len(rows) == 10
    for row in rows:
        expected = np.load(shared_oracle / row["file"])
        graphs = datasets.load(row["dataset"]).graphs[: len(expected)]
        spec = GNTK(row["blocks"], row["layers"], row["scale"], row["jump"])
        FLOAT64.check(gram(graphs, spec), expected)
