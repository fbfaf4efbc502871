"""Sparse against dense products in the decoupled engine: where the switch between them should be.

Run: python benchmarks/operators.py
"""

from __future__ import annotations

from _common import best_of

import fastgntk as fg
from fastgntk.engines import _aggregation

KERNEL = fg.GNTK(blocks=3, layers=1)


def timed(batch: fg.GraphBatch, ratio: float) -> float:
    kept = _aggregation.SPARSE_OVER_DENSE
    _aggregation.SPARSE_OVER_DENSE = ratio
    try:
        return best_of(lambda: fg.gram(batch, KERNEL, compute=fg.Compute("decoupled", n_jobs=1)))
    finally:
        _aggregation.SPARSE_OVER_DENSE = kept


def main() -> None:
    print(f"{'nodes':>6}{'share of entries set':>22}{'sparse / dense time':>21}   the engine takes")
    for nodes in (20, 60, 150):
        for neighbours in (2, 4, 8, 16):
            count = max(4, 2400 // nodes)
            batch = fg.datasets.synthetic.erdos_renyi(count, nodes, min(1.0, neighbours / nodes), random_state=1).graphs
            share = (len(batch.indices) + batch.n_nodes) / float((batch.sizes**2).sum())
            ratio = timed(batch, 0.0) / timed(batch, 1e12)
            chosen = "sparse" if share * _aggregation.SPARSE_OVER_DENSE < 1 else "dense"
            print(f"{nodes:6}{share:22.3f}{ratio:21.2f}   {chosen}")


if __name__ == "__main__":
    main()
