from __future__ import annotations

import pytest
from tests.report.mutag import DATA, GRID, ONE_JOB

from fastgntk.report.data._evaluation import evaluation_data
from fastgntk.selection import CrossValidation, evaluate


@pytest.fixture(scope="session")
def result():
    cv = CrossValidation(folds=5, random_state=3, inner_folds=3, inner_repeats=2, n_finalists=len(GRID))
    return evaluate(DATA, kernels=GRID, cv=cv, compute=ONE_JOB)


@pytest.fixture(scope="session")
def report(result):
    return evaluation_data(DATA, result, compute=ONE_JOB)
