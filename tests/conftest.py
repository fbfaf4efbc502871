"""The state in which every test starts: no data folder, and a cache of its own."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import threadpoolctl
from hypothesis import settings

# No deadline: a loaded machine is not a defect. On CI the examples are fixed; developers draw new ones.
settings.register_profile("fastgntk", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("quick", settings.get_profile("fastgntk"), max_examples=20)
settings.load_profile("fastgntk")

# A shell that starts the tests in the background makes them, and their child processes, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Test modules load bundled sets while they are imported, which is before any fixture.
os.environ.pop("FASTGNTK_DATA", None)


def pytest_configure(config):
    """Draw few examples in a quick run; compile the loops before workers start, or each of them would do it."""
    if config.option.markexpr == "not slow":
        settings.load_profile("quick")
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        program = (
            "import fastgntk as fg\n"
            "graphs = fg.datasets.load('MUTAG').graphs[:3]\n"
            "fg.gram(graphs, fg.GNTK(2), compute=fg.Compute('lossless'))"
        )
        subprocess.run([sys.executable, "-c", program], check=True)


SHARED = Path(__file__).resolve().parents[2] / "shared"


NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def _caches(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("caches")


@pytest.fixture(autouse=True)
def _own_folders(_caches, monkeypatch):
    # Not one mktemp for each test: it looks through all earlier folders for the next number.
    monkeypatch.setenv("FASTGNTK_CACHE", str(_caches / str(next(NUMBERS))))
    monkeypatch.delenv("FASTGNTK_DATA", raising=False)


@pytest.fixture(scope="module")
def one_blas_thread():
    """Small products in the test itself: threads of BLAS would only wait for each other, and for other tests."""
    with threadpoolctl.threadpool_limits(1, "blas"):
        yield


@pytest.fixture
def shared_data(_caches, monkeypatch) -> Path:
    """The folder with the paper's data sets, where a developer has it beside the project; each is parsed once."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the paper's data sets are not beside the project; bundled and synthetic graphs are tested")
    monkeypatch.setenv("FASTGNTK_DATA", str(folder))
    monkeypatch.setenv("FASTGNTK_CACHE", str(_caches / "shared"))
    return folder


@pytest.fixture
def shared_oracle(shared_data) -> Path:
    folder = shared_data.parent / "oracle"
    if not folder.is_dir():
        pytest.skip("the full oracle matrices are not beside the project; tests/oracles/values.json is tested")
    return folder
