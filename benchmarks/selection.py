"""Model selection: seconds of ``fastgntk evaluate`` and of ``GraphClassifierCV``, here and with other sources.

python benchmarks/selection.py [--source FOLDER] [NAME ...]

Each row is a process of its own with the default options, less the time of a process that only starts.
With ``--source``, the ``src`` folder of another checkout, every row is measured with it too, in turns, and the ratio is
printed. Data sets must be on this machine; MUTAG is bundled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "src"
START = "from fastgntk import gram, GNTK, datasets; gram(datasets.load('MUTAG').graphs[:40], GNTK(2, 1))"
EVALUATE = "import sys; from fastgntk.cli import main; sys.argv = ['fastgntk', 'evaluate', '{name}']; main()"
SEARCH = (
    "import fastgntk as fg; data = fg.datasets.load('{name}'); model = fg.GraphClassifierCV(); "
    "model.fit(data.graphs, data.y); print('±', getattr(model, 'best_score_', ''))"
)
ROWS = {
    "evaluate MUTAG": EVALUATE.format(name="MUTAG"),
    "evaluate PROTEINS": EVALUATE.format(name="PROTEINS"),
    "evaluate NCI1": EVALUATE.format(name="NCI1"),
    "search IMDB-BINARY": SEARCH.format(name="IMDB-BINARY"),
}


def run(program: str, source: Path) -> tuple[float, str]:
    """Return the seconds of a process, and the last line that it prints with an accuracy."""
    start = time.perf_counter()
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    lines = [line.strip() for line in done.stdout.splitlines() if "±" in line]
    return time.perf_counter() - start, lines[-1] if lines else ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*", default=list(ROWS), help="rows, such as 'evaluate MUTAG'")
    parser.add_argument("--source", type=Path)
    options = parser.parse_args()
    sources = [HERE] if options.source is None else [options.source, HERE]
    starts = {}
    for source in sources:
        run(START, source)  # compiles
        starts[source] = run(START, source)[0]
    for name in options.names:
        seconds = []
        for source in sources:
            total, accuracy = run(ROWS[name], source)
            seconds.append(total - starts[source])
            print(f"{name:20} {str(source)[-30:]:30} {seconds[-1]:8.2f} s  {accuracy}", flush=True)
        if len(seconds) == 2:
            print(f"{name:20} {seconds[0] / seconds[1]:.1f} times faster", flush=True)
