from __future__ import annotations

import pytest
from tests.report.mutag import DATA, GRID

from fastgntk.report.data._evaluation import evaluation_data
from fastgntk.selection import evaluate


@pytest.fixture(scope="session")
def result():
    return evaluate(DATA, grid=GRID, folds=5, seed=3, inner_folds=3, workers=1)


@pytest.fixture(scope="session")
def report(result):
    return evaluation_data(DATA, result, workers=1)
