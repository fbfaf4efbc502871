"""Many graphs end to end: the 41,127 molecules of HIV, a million molecules in one pass, and which route for how many.

python benchmarks/large.py hiv HIV.csv                                    scaffold split, ROC-AUC, a forest beside it
python benchmarks/large.py stream SMILES.csv.gz [10000 100000 1000000]    features only, some molecules at a time
python benchmarks/large.py routes SMILES.csv.gz [1000 10000 100000]       matrix, landmarks and features; each by itself

The scaffold split puts molecules with the same Murcko scaffold on one side: scaffolds in the order of their number of
molecules, the most frequent first, fill 80 per cent for training, then 10 for validation and 10 for the test. The table
of the others is that of MOSES, in the package molsets: moses/dataset/data/train.csv.gz. Needs RDKit.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem import rdFingerprintGenerator
from rdkit.Chem.Scaffolds import MurckoScaffold
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

import fastgntk as fg

KERNEL = fg.GNTK(3, 1).normalized()
ALPHAS = 10.0 ** np.arange(-5, 2)
CHUNK = 5_000


def peak() -> str:
    return f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB"


def scaffold_split(smiles: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    groups = defaultdict(list)
    with rdBase.BlockLogs():
        for i, text in enumerate(smiles):
            groups[MurckoScaffold.MurckoScaffoldSmilesFromSmiles(text)].append(i)
    order = np.concatenate(sorted(groups.values(), key=lambda members: (-len(members), members[0])))
    a, b = int(0.8 * len(order)), int(0.9 * len(order))
    return order[:a], order[a:b], order[b:]


def prints(smiles: list[str]) -> np.ndarray:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    with rdBase.BlockLogs():
        return np.array([generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in smiles], dtype=np.uint8)


def report(name: str, features: Callable[[], object], graphs: fg.GraphBatch, y: np.ndarray, split: tuple) -> None:
    """Fit for several alphas, choose by the validation part, and report the test part."""
    train, valid, test = split
    start = time.perf_counter()
    step = features().fit(graphs[train])
    V = {part: step.transform(graphs[index]) for part, index in zip(("train", "valid", "test"), split, strict=True)}
    found = []
    for alpha in ALPHAS:
        model = make_pipeline(RidgeClassifier(alpha=alpha, class_weight="balanced")).fit(V["train"], y[train])
        scores = [
            roc_auc_score(y[i], model.decision_function(V[part])) for part, i in (("valid", valid), ("test", test))
        ]
        found.append((scores[0], scores[1], alpha))
    valid_auc, test_auc, alpha = max(found)
    took = time.perf_counter() - start
    print(f"{name:30} {took:6.0f} s  ROC-AUC {valid_auc:.3f} / {test_auc:.3f}  alpha {alpha:g}  {peak()}", flush=True)


def hiv(path: str) -> None:
    start = time.perf_counter()
    table = fg.datasets.read_table(path, target="HIV_active", skip_invalid=True)
    y = np.asarray(table.y).astype(int).ravel()
    split = scaffold_split(list(table.smiles))
    print(
        f"{len(table):,} molecules read and split in {time.perf_counter() - start:.0f} s; ROC-AUC of validation / test"
    )
    for count in (500, 1000):
        report(f"Nystroem({count})", lambda m=count: fg.Nystroem(KERNEL, m), table.graphs, y, split)
    for count in (1024, 4096):
        report(
            f"RandomFeatures({count})",
            lambda m=count: fg.RandomFeatures(KERNEL, m, dtype="float64"),
            table.graphs,
            y,
            split,
        )
    print(f"so far {time.perf_counter() - start:.0f} s", flush=True)
    begin = time.perf_counter()
    X, (train, valid, test) = prints(list(table.smiles)), split
    forest = RandomForestClassifier(500, class_weight="balanced", n_jobs=-1, random_state=0).fit(X[train], y[train])
    scores = [roc_auc_score(y[part], forest.predict_proba(X[part])[:, 1]) for part in (valid, test)]
    print(
        f"{'forest on Morgan fingerprints':30} {time.perf_counter() - begin:6.0f} s  "
        f"ROC-AUC {scores[0]:.3f} / {scores[1]:.3f}"
    )
    print(f"all of it {time.perf_counter() - start:.0f} s, {peak()}")


def chunks_of(path: str, count: int) -> Iterator[list[str]]:
    with gzip.open(path, "rt", newline="") as lines:
        rows = (row["SMILES"] for row in islice(csv.DictReader(lines), count))
        while chunk := list(islice(rows, CHUNK)):
            yield chunk


def stream(path: str, counts: list[int], columns: int) -> None:
    for count in counts:
        step = fg.RandomFeatures(KERNEL, columns)
        done, reading, computing = 0, 0.0, 0.0
        moments = np.zeros((columns, columns))  # all that ridge regression needs of the features
        for chunk in chunks_of(path, count):
            begin = time.perf_counter()
            graphs = fg.as_graphs(chunk)
            read = time.perf_counter()
            vectors = (step.transform if done else step.fit_transform)(graphs)
            moments += vectors.T @ vectors
            reading, computing = reading + read - begin, computing + time.perf_counter() - read
            done += len(chunk)
        both = reading + computing
        print(
            f"{done:9,} molecules, {columns} features: {both:7.1f} s, {done / both:6.0f} a second; "
            f"SMILES {reading:.1f} s, features {computing:.1f} s or {done / computing:.0f} a second; {peak()}",
            flush=True,
        )


ROUTES: dict[str, tuple[int, Callable[[fg.GraphBatch], object]]] = {
    "matrix": (10_000, lambda graphs: fg.gram(graphs, KERNEL)),
    "Nystroem(1000)": (100_000, lambda graphs: fg.Nystroem(KERNEL, 1000).fit_transform(graphs)),
    "RandomFeatures(1024)": (1_000_000, lambda graphs: fg.RandomFeatures(KERNEL, 1024).fit_transform(graphs)),
}
"""By name: for how many graphs at most, and what it computes."""


def routes(path: str, counts: list[int]) -> None:
    fg.gram(fg.as_graphs(next(chunks_of(path, 10))))  # compiled code is loaded
    for count in counts:
        for name, (most, _) in ROUTES.items():
            if count <= most:  # in a process of its own, so that the peak of memory is its own
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                    print(f"{count:9,} {name:28} {pool.submit(route, path, count, name).result()}", flush=True)


def route(path: str, count: int, name: str) -> str:
    graphs = fg.as_graphs([smiles for chunk in chunks_of(path, count) for smiles in chunk])
    before, start = peak(), time.perf_counter()
    ROUTES[name][1](graphs)
    return f"{time.perf_counter() - start:8.1f} s, {peak()} ({before} with the graphs alone)"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["hiv", "stream", "routes"])
    parser.add_argument("path")
    parser.add_argument("counts", type=int, nargs="*")
    parser.add_argument("--columns", type=int, default=1024)
    args = parser.parse_args()
    if args.what == "hiv":
        hiv(args.path)
    elif args.what == "stream":
        stream(args.path, args.counts or [10_000, 100_000], args.columns)
    else:
        routes(args.path, args.counts or [1_000, 10_000, 100_000])


if __name__ == "__main__":
    main()
