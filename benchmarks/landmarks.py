"""Features in place of the matrix: time, accuracy and error against their number, beside the exact kernel.

python benchmarks/landmarks.py [NCI1 COLLAB ...] [--columns 50 100 200 400 800] [--compare 400] [--folds 10]

Each set gets the kernel in KERNELS, normalised. "exact" is a support vector machine on the matrix; the others are
SVMs on inner products of features: of Nystroem with uniform landmarks (--columns), and with --compare features of
Nystroem with other selections of landmarks, of RandomFeatures, and of the first eigenvectors of the matrix, which are
optimal. All have the same folds, and C is chosen by three folds within the training folds. Landmarks come from the
training folds. Seconds are those of the features of all graphs, or of the matrix, in one run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import linalg
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

import fastgntk as fg
from fastgntk.models._transformers import SELECTIONS, _inverse_root
from fastgntk.solvers import MatrixSource

KERNELS = {"NCI1": fg.GNTK(9, 1), "COLLAB": fg.GNTK(2, 2), "PROTEINS": fg.GNTK(3, 1), "MUTAG": fg.GNTK(3, 1)}
CHOICE = {"C": [10.0, 100.0, 1000.0, 10_000.0]}

Columns = Callable[[np.ndarray], np.ndarray]
"""From the numbers of training graphs to the columns of all graphs."""


def accuracy(kernel: Columns, y: np.ndarray, folds: int) -> float:
    """Return per cents right; ``kernel`` gives the whole matrix from the numbers of training graphs."""

    def score(train: np.ndarray, test: np.ndarray) -> float:
        K = kernel(train)
        search = GridSearchCV(SVC(kernel="precomputed", cache_size=1000), CHOICE, cv=3)
        return search.fit(K[np.ix_(train, train)], y[train]).score(K[np.ix_(test, train)], y[test])

    splits = StratifiedKFold(folds, shuffle=True, random_state=0).split(y, y)
    return 100 * float(np.mean(Parallel(2, prefer="threads")(delayed(score)(*split) for split in splits)))


def products(columns: Columns) -> Columns:
    def kernel(train: np.ndarray) -> np.ndarray:
        V = columns(train)
        return V @ V.T

    return kernel


def eigenvectors_of(K: np.ndarray, count: int) -> Columns:
    """Return columns that no others of their number beat in the squared error among the training graphs."""

    def columns(train: np.ndarray) -> np.ndarray:
        n = len(train)
        values, vectors = linalg.eigh(K[np.ix_(train, train)], subset_by_index=[n - count, n - 1])
        return K[:, train] @ (vectors / np.sqrt(values))

    return columns


def nystroem_of(K: np.ndarray, selection: str, count: int) -> Columns:
    """Return vectors with landmarks among the training graphs, from the exact matrix: the same numbers, at once."""

    def vectors(train: np.ndarray) -> np.ndarray:
        source = MatrixSource(K[np.ix_(train, train)])
        landmarks = train[SELECTIONS[selection](source, min(count, len(train)), np.random.default_rng(0))[0]]
        return K[:, landmarks] @ _inverse_root(K[np.ix_(landmarks, landmarks)])

    return vectors


def timed(function: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def error(V: np.ndarray, K: np.ndarray) -> float:
    """Return the root mean square of what inner products are off by; the normalised kernel has ones on its diagonal."""
    squares = [np.square(V[i : i + 500] @ V.T - K[i : i + 500]).mean(axis=1) for i in range(0, len(K), 500)]
    return float(np.sqrt(np.concatenate(squares).mean()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=["NCI1", "COLLAB"])
    parser.add_argument("--columns", type=int, nargs="*", default=[50, 100, 200, 400, 800])
    parser.add_argument("--compare", type=int, default=400)
    parser.add_argument("--folds", type=int, default=10)
    args = parser.parse_args()
    for name in args.sets:
        compare(name, args.columns, args.compare, args.folds)


def compare(name: str, counts: list[int], count: int, folds: int) -> None:
    data, kernel = fg.datasets.load(name), KERNELS[name].normalized()
    fg.gram(data.graphs[:50], kernel)  # compiled code is loaded
    print(f"{name}: {len(data):,} graphs, {kernel}")
    K, whole = timed(lambda: fg.gram(data.graphs, kernel))
    right = accuracy(lambda _: K, data.y, folds)
    print(f"{'exact matrix':34} {whole:8.1f} s   {right:5.2f} %", flush=True)

    def row(what: str, model: Any, kernel: Columns) -> None:
        V, took = timed(lambda: model.fit_transform(data.graphs))
        found = accuracy(kernel, data.y, folds)
        comparison = f"{whole / took:5.1f} times as fast, {found - right:+.2f} points, error {error(V, K):.5f}"
        print(f"{what:34} {took:8.1f} s   {found:5.2f} %   {comparison}", flush=True)

    pairs = [(m, "uniform") for m in counts] + [
        (count, selection) for selection in SELECTIONS if selection != "uniform"
    ]
    for m, selection in pairs:
        model = fg.Nystroem(kernel, m, selection)
        row(f"Nyström {m:5} {selection}", model, products(nystroem_of(K, selection, m)))
    model = fg.RandomFeatures(kernel, count, dtype="float64")
    V = model.fit_transform(data.graphs)
    row(f"random features {count:5}", model, products(lambda _: V))
    best = accuracy(products(eigenvectors_of(K, count)), data.y, folds)
    print(f"{f'eigenvectors {count:5}':34} {'':10}   {best:5.2f} %   {'':20} {best - right:+.2f} points", flush=True)


if __name__ == "__main__":
    main()
