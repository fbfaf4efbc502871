"""Features in place of the matrix: time, accuracy and error against their number, beside the exact kernel.

python benchmarks/landmarks.py [NCI1 COLLAB ...] [--columns 50 100 200 400 800] [--folds 10]

Each set gets the kernel in KERNELS, normalised. "exact" is a support vector machine on the matrix; the others are
linear support vector machines on the columns of GNTKNystroem (three ways to draw landmarks) and of GNTKRandomFeatures.
All have the same folds, and C is chosen on the training folds by three folds in them. Landmarks come from the training
folds. Seconds are those of the columns of all graphs, or of the matrix, in one run on this machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC, LinearSVC

import fastgntk as fg
from fastgntk.learn._landmarks import SELECTIONS
from fastgntk.learn._nystroem import _inverse_root
from fastgntk.learn.solve import MatrixSource

KERNELS = {"NCI1": fg.GNTK(9, 1), "COLLAB": fg.GNTK(2, 2), "PROTEINS": fg.GNTK(3, 1), "MUTAG": fg.GNTK(3, 1)}
CHOICE = {"C": [1.0, 10.0, 100.0, 1000.0, 10_000.0]}


def accuracy(scores: Callable[[np.ndarray, np.ndarray], float], y: np.ndarray, folds: int) -> str:
    splits = StratifiedKFold(folds, shuffle=True, random_state=0).split(y, y)
    found = 100 * np.array([scores(train, test) for train, test in splits])
    return f"{found.mean():5.2f} ± {found.std():.2f} %"


def exact(K: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray, np.ndarray], float]:
    def score(train: np.ndarray, test: np.ndarray) -> float:
        search = GridSearchCV(SVC(kernel="precomputed"), CHOICE, cv=3)
        return search.fit(K[np.ix_(train, train)], y[train]).score(K[np.ix_(test, train)], y[test])

    return score


def linear(vectors: Callable[[np.ndarray], np.ndarray], y: np.ndarray) -> Callable[[np.ndarray, np.ndarray], float]:
    def score(train: np.ndarray, test: np.ndarray) -> float:
        V = vectors(train)
        search = GridSearchCV(LinearSVC(dual=False, max_iter=5000), CHOICE, cv=3)
        return search.fit(V[train], y[train]).score(V[test], y[test])

    return score


def nystroem_of(K: np.ndarray, selection: str, count: int) -> Callable[[np.ndarray], np.ndarray]:
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
    parser.add_argument("--folds", type=int, default=10)
    args = parser.parse_args()
    for name in args.sets:
        data, spec = fg.datasets.load(name), KERNELS[name]
        options = {"blocks": spec.blocks, "layers": spec.layers, "normalize": True}
        fg.gram(data.graphs[:50], spec)  # compiled code is there now
        print(f"{name}: {len(data):,} graphs, {options}")
        K, whole = timed(lambda data=data, spec=spec: fg.normalize(fg.gram(data.graphs, spec)))
        print(f"{'exact matrix':34} {whole:8.1f} s   {accuracy(exact(K, data.y), data.y, args.folds)}", flush=True)
        for count in args.columns:
            for selection in SELECTIONS:
                model = fg.GNTKNystroem(count, selection, **options)
                V, took = timed(lambda data=data, model=model: model.fit_transform(data.graphs))
                told = accuracy(linear(nystroem_of(K, selection, count), data.y), data.y, args.folds)
                print(
                    f"Nyström {count:5} {selection:20} {took:8.1f} s   {told}   {whole / took:5.1f} times as fast, "
                    f"error {error(V, K):.4f}",
                    flush=True,
                )
            model = fg.GNTKRandomFeatures(count, **options, dtype="float64")
            V, took = timed(lambda data=data, model=model: model.fit_transform(data.graphs))
            told = accuracy(linear(lambda _, V=V: V, data.y), data.y, args.folds)
            print(
                f"random features {count:5}{'':13} {took:8.1f} s   {told}   {whole / took:5.1f} times as fast, "
                f"error {error(V, K):.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
