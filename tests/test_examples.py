"""Every program in examples/ runs, without a network, and prints what it should."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"

# What each prints, with numbers as groups, and the least that each number may be.
PRINTS = {
    "gaussian_process.py": (
        r"kernel: .*ProcessKernel\(GNTK\(blocks=2\)\.normalized\(\)\).*\nmean error: ([\d.]+) nodes, (\d+) % within",
        (0.0, 80.0),
    ),
    "grakel_script.py": (r"accuracy: ([\d.]+) %\n", (75.0,)),
    "pipeline.py": (
        r"chosen: \{'gram__kernel': GNTK\(blocks=(\d)\)\.normalized\(\), 'svm__C': (\d+)\}\naccuracy: ([\d.]+) %\n",
        (1.0, 10.0, 75.0),
    ),
}


def test_every_example_has_an_expected_output():
    assert {path.name for path in FOLDER.iterdir() if path.suffix == ".py"} == set(PRINTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PRINTS))
def test_example_prints_expected_result(name, tmp_path):
    path = FOLDER / name
    assert len(path.read_text().splitlines()) < 40
    done = subprocess.run(
        [sys.executable, "-W", "error", path],
        cwd=tmp_path,
        env={**os.environ, "https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"},  # no server
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pattern, least = PRINTS[name]
    found = re.search(pattern, done.stdout)
    assert found, done.stdout
    assert all(float(number) >= floor for number, floor in zip(found.groups(), least, strict=True)), done.stdout
