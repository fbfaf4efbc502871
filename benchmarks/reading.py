"""Reading TU files: parsing the text, and loading the parsed copy.

Run: python benchmarks/reading.py [FILE.zip ...]       (a synthetic set of two million edges without arguments)
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import fastgntk as fg


def measure(path: Path) -> None:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["FASTGNTK_CACHE"] = cache
        start = time.perf_counter()
        data = fg.datasets.read_tu(path)
        parsed = time.perf_counter() - start
        fg.datasets.load(path)
        start = time.perf_counter()
        fg.datasets.load(path)
        loaded = time.perf_counter() - start
    lines = 2 * data.counts.edges
    print(f"{data.name:16}{lines:>12,} lines   parse {parsed:6.2f} s   parsed copy {loaded:6.2f} s")


def main() -> None:
    if len(sys.argv) > 1:
        for argument in sys.argv[1:]:
            measure(Path(argument))
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(fg.datasets.write_tu(fg.datasets.synthetic.clique_egos(1000, 80, 3, random_state=0), folder))


if __name__ == "__main__":
    main()
