from __future__ import annotations

import pytest
from tests.report.evaluated import DATA, GRID

from fastgntk.report.data._collect import evaluation_facts
from fastgntk.selection import evaluate


@pytest.fixture(scope="session")
def result():
    return evaluate(DATA, grid=GRID, folds=5, seed=3, inner_folds=3, workers=1)


@pytest.fixture(scope="session")
def facts(result):
    return evaluation_facts(DATA, result, workers=1)
