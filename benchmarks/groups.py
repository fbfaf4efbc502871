"""How many nodes to put into a group: of the decoupled engine, and distinct ones of the lossless engine.

Run: python benchmarks/groups.py
"""

from __future__ import annotations

from _common import best_of, sets

import fastgntk as fg
from fastgntk.engines import get_engine

KERNEL = fg.GNTK(blocks=3, layers=2)
SIZES = (32, 64, 128, 256, 384, 512, 1024)


def main() -> None:
    for name in ("decoupled", "lossless"):
        engine = type(get_engine(name))
        kept = engine.max_group_nodes
        print(f"{name}: time relative to the width in use ({kept}), one worker")
        print(f"{'set':14}" + "".join(f"{size:>8}" for size in SIZES))
        for title, batch in sets().items():
            times = {}
            for size in SIZES:
                engine.max_group_nodes = size
                times[size] = best_of(lambda b=batch, n=name: fg.gram(b, KERNEL, compute=fg.Compute(n, n_jobs=1)))
            print(f"{title:14}" + "".join(f"{times[size] / times[kept]:8.2f}" for size in SIZES))
        engine.max_group_nodes = kept


if __name__ == "__main__":
    main()
