"""Which solver for how many graphs? Accuracy against time, on random graphs or molecules and a quantity of them.

python benchmarks/solvers.py [N ...]                    training graphs, 1000 2000 4000 by default; 20000 take 12 GB
python benchmarks/solvers.py --table FILE.csv [N ...]   molecules of a table of SMILES; the target is RDKit's logP

Seconds are those of the solver, without the kernel matrix. "apart" is the root mean square of the difference
to the predictions of Cholesky, "less" the share of test graphs whose variance is below the exact one, and "least" the
smallest ratio of the two. The target has variance 1.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import fastgntk as fg
from fastgntk.sketch import SKETCHES
from fastgntk.solvers import EigenPath, MatrixSource, SolverOptions, default_rank, solve

KERNEL = fg.GNTK(blocks=3, layers=1, scale="degree")
TEST = 500
# Past these an eigendecomposition takes many minutes, and a sketch by dense random matrices as long as Cholesky.
MOST_FOR_EIGEN = 5_000
MOST_FOR_ALL_SKETCHES = 2_000


def random_graphs(n: int) -> tuple[fg.GraphBatch, np.ndarray]:
    """Return n random graphs of 16 nodes, sparse to dense, and the energy of each: the sum of |eigenvalues|."""
    graphs = fg.datasets.synthetic.erdos_renyi(n, 16, list(np.linspace(0.05, 0.35, 31)), random_state=0).graphs
    order = np.random.default_rng(0).permutation(n)  # the family deals its densities out in turn
    graphs = graphs[order]
    energy = [np.abs(np.linalg.eigvalsh(g.adjacency.toarray())).sum() for g in graphs]
    return graphs, np.array(energy)


def molecules(path: str, n: int) -> tuple[fg.GraphBatch, np.ndarray]:
    """Return n molecules of a table in random order, and the logarithm of their partition coefficient after Crippen."""
    from rdkit import Chem, rdBase
    from rdkit.Chem.Crippen import MolLogP

    table = fg.datasets.read_table(path, skip_invalid=True)
    order = np.random.default_rng(0).permutation(len(table))[:n]
    with rdBase.BlockLogs():
        values = [MolLogP(Chem.MolFromSmiles(table.smiles[i])) for i in order]
    return table.graphs[order], np.array(values)


def kernels(graphs: fg.GraphBatch, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the kernel among the first n graphs, and of the rest with them; normalized in place, to save memory."""
    compute = fg.Compute(max_memory="16GB")
    K = fg.gram(graphs[:n], KERNEL, compute=compute)
    cross = fg.cross_gram(graphs[n:], graphs[:n], KERNEL, compute=compute)
    size = np.sqrt(K.diagonal())
    K /= size[:, None]
    K /= size
    cross /= np.sqrt(fg.diagonal(graphs[n:], KERNEL))[:, None]
    cross /= size
    K += 1.0  # the intercept, as the estimators have it
    cross += 1.0
    return K, cross


def compare(n: int, table: str | None) -> None:
    graphs, y = random_graphs(n + TEST) if table is None else molecules(table, n + TEST)
    start = time.perf_counter()
    K, cross = kernels(graphs, n)
    took = time.perf_counter() - start
    Y = (y - y[:n].mean()) / y[:n].std()
    few = min(n, 1000)
    ridges = 10.0 ** np.arange(-6.0, 2.0)
    ridge = ridges[EigenPath(K[:few, :few]).losses(Y[:few], ridges).argmin()]
    print(f"{n} graphs, kernel in {took:.1f} s, ridge {ridge:g} by leave-one-out on {few}", flush=True)
    print("  solver              rank  steps  seconds    RMSE   apart  leave-one-out   less  least")
    source, own = MatrixSource(K), np.full(TEST, 2.0)
    exact = None
    for label, options in cases(n):
        start = time.perf_counter()
        found = solve(source, Y[:n], ridge, **options)
        took = time.perf_counter() - start
        near = cross[:, found.basis_indices]
        f, variance = found.predict(near)[:, 0], found.variance(near, own)
        if exact is None:
            exact = f, variance
        ratio = variance / exact[1]
        less, loo = np.mean(ratio < 1 - 1e-6), rms(found.leave_one_out)
        print(
            f"  {label:18} {found.rank:5} {found.iterations:6} {took:8.2f} {rms(f - Y[n:]):7.4f} "
            f"{rms(f - exact[0]):7.4f} {loo:14.4f} {less:6.1%} {ratio.min():6.2f}",
            flush=True,
        )


def cases(n: int):
    yield "cholesky", {"solver": "cholesky"}
    if n <= MOST_FOR_EIGEN:
        yield "eigen", {"solver": "eigen"}
    for rank in sorted({min(n, 100), default_rank(n), min(n, 2 * default_rank(n))}):
        yield "nystrom", {"solver": "nystrom", "options": SolverOptions(rank)}
        for sketch in SKETCHES if n <= MOST_FOR_ALL_SKETCHES else ["sparse"]:
            yield f"sketched, {sketch}"[:18], {"solver": "sketched", "options": SolverOptions(rank, sketch=sketch)}
        yield "cg", {"solver": "cg", "options": SolverOptions(rank)}


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", metavar="N", type=int, nargs="*", default=[1000, 2000, 4000])
    parser.add_argument("--table", metavar="FILE.csv")
    options = parser.parse_args()
    for n_graphs in options.counts:
        compare(n_graphs, options.table)
