"""How many nodes to put into a block of the decoupled engine.

Run: python benchmarks/blocks.py
"""

from __future__ import annotations

from _common import best_of, sets

import fastgntk as fg
from fastgntk.kernel import get_engine

SPEC = fg.GNTK(blocks=3, layers=2)
SIZES = (32, 64, 128, 256, 512, 1024)


def main() -> None:
    engine = type(get_engine("decoupled"))
    kept = engine.block_nodes
    print("time relative to the block size in use, one worker")
    print(f"{'set':14}" + "".join(f"{size:>8}" for size in SIZES))
    for name, batch in sets().items():
        times = {}
        for size in SIZES:
            engine.block_nodes = size
            times[size] = best_of(lambda batch=batch: fg.gram(batch, SPEC, workers=1))
        print(f"{name:14}" + "".join(f"{times[size] / times[kept]:8.2f}" for size in SIZES))
    engine.block_nodes = kept


if __name__ == "__main__":
    main()
