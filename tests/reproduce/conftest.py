"""A fixed commit: one made while a test runs would discard the rows that the test expects to be reused."""

from __future__ import annotations

import pytest

from fastgntk.reproduce import _study


@pytest.fixture(autouse=True)
def _fixed_commit(monkeypatch):
    monkeypatch.setattr(_study, "_commit", lambda: "0123abc")
