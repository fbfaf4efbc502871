"""How good are predictions for molecules, and their intervals? Three tables of measurements, random splits.

python benchmarks/molecules.py FOLDER [--sets FreeSolv ESOL Lipophilicity] [--splits 10] [--out molecules.csv]

FOLDER holds the tables of MoleculeNet named in SETS. Split s leaves out a fifth of the molecules, drawn with seed s,
the same for every method. Everything is chosen on the other four fifths. Methods:

gntk        GraphRegressorCV on GNTKs alone: kernel and alpha by leave-one-out
mix         the same with Search(depth_mode="mix")
typed       the same with edges="typed", each kind of bond with weights of its own
products    the default kernels without descriptors: GNTKs, and their products with WLOA
default     the default kernels with RDKit descriptors: sums of a GNTK or a product, RBF and Linear, and interactions
default typed   the same with edges="typed"
rdkit       RBF and Linear on the descriptors, without the graphs
forest      random forest of 500 trees on Morgan fingerprints, radius 2, 2,048 bits, a third of them at each split
tanimoto    Gaussian process with the Tanimoto kernel of the same fingerprints, noise by marginal likelihood

Intervals are "raw", mean ± z standard deviations of the method (of a forest: over its trees), or "calibrated": as wide
as they had to be for molecules that were left out, one at a time for kernels and out of bag for forests. A result goes
into the CSV file as soon as it is there, and what is there already is not computed again. Needs RDKit.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator
from scipy.special import ndtri
from sklearn.ensemble import RandomForestRegressor

import fastgntk as fg
from fastgntk.models import Intervals
from fastgntk.solvers import EigenPath

SETS = {
    "FreeSolv": ("FreeSolv_SAMPL.csv", "expt"),
    "ESOL": ("ESOL_delaney-processed.csv", "measured log solubility in mols per litre"),
    "Lipophilicity": ("Lipophilicity.csv", "exp"),
}
COVERAGES = (0.5, 0.9, 0.95)
RIDGES = 10.0 ** np.arange(-8.0, 2.0)  # those that GraphRegressorCV tries
COLUMNS = (
    *("set", "split", "method", "intervals", "train", "test", "rmse", "mae"),
    *("cover50", "cover90", "cover95", "width90", "fit_seconds", "predict_seconds", "chosen"),
)


class Outcome(NamedTuple):
    """Predictions of a method for t test molecules."""

    mean: np.ndarray  # (t,)
    half: dict[str, np.ndarray]  # by kind of intervals: half widths (coverages, t)
    fit_seconds: float
    predict_seconds: float
    chosen: str


class Split(NamedTuple):
    """A table of n molecules, cut in two."""

    table: fg.datasets.MoleculeTable
    prints: np.ndarray  # (n, 2048) bits
    train: np.ndarray
    test: np.ndarray
    y: np.ndarray  # of the training molecules


def search(
    split: Split, kernels: fg.selection.Grid | list[fg.Kernel], *, depth_mode: str = "best", descriptors: bool = False
) -> Outcome:
    graphs = split.table.graphs if descriptors else replace(split.table.graphs, descriptors={})
    train, test = graphs[split.train], graphs[split.test]
    fitting = time.perf_counter()
    if isinstance(kernels, fg.selection.Grid):
        kernels = kernels.for_graphs(train)
    model = fg.GraphRegressorCV(kernels, search=fg.selection.Search(depth_mode=depth_mode)).fit(train, split.y)
    predicting = time.perf_counter()
    found = model.predict_details(test)  # prediction, standard deviation, interval and nearest molecule
    end = time.perf_counter()
    mean, deviation = found.value, found.std / model.intervals_.factor
    half = {
        "calibrated": np.array([model.intervals_.width(c) * deviation for c in COVERAGES]),
        "raw": np.array([ndtri(0.5 + c / 2) * deviation for c in COVERAGES]),
    }
    chosen = model.best_params_ | {"leave_one_out": model.best_loss_, "single_depth": model.single_depth_loss_}
    chosen["kernel"] = repr(chosen["kernel"])
    return Outcome(mean, half, predicting - fitting, end - predicting, json.dumps(chosen))


FULL = fg.selection.Grid.full()
ALONE = replace(FULL, optimal_assignment=(False,))
DESCRIBED = fg.selection.Grid.full(descriptors=True)
RDKIT = [fg.RBF("rdkit", scaling="log") + fg.Linear("rdkit", scaling="log")]


def forest(split: Split) -> Outcome:
    train, test, y = split.prints[split.train], split.prints[split.test], split.y
    fitting = time.perf_counter()
    model = RandomForestRegressor(500, max_features=1 / 3, n_jobs=-1, random_state=0).fit(train, y)
    predicting = time.perf_counter()
    votes = np.array([tree.predict(test) for tree in model.estimators_])  # (trees, t)
    end = time.perf_counter()
    mean, std = votes.mean(axis=0), votes.std(axis=0)
    # Out of bag: each training molecule as the trees see it that were grown without it.
    own = np.array([tree.predict(train) for tree in model.estimators_])
    for tree, drawn in enumerate(model.estimators_samples_):
        own[tree, drawn] = np.nan
    return Outcome(
        mean,
        half_widths(std, y - np.nanmean(own, axis=0), np.nanstd(own, axis=0)),
        predicting - fitting,
        end - predicting,
        "",
    )


def tanimoto(split: Split) -> Outcome:
    """Do what the GNTK does with another kernel: constant added, targets scaled, calibrated alike.

    Leave-one-out errors are the same for all small ridges here, so they cannot choose; the likelihood can.
    """
    train, test, y = split.prints[split.train], split.prints[split.test], split.y
    fitting = time.perf_counter()
    center, scale = y.mean(), y.std()
    Y = (y - center) / scale
    path = EigenPath(1.0 + similarity(train, train))
    ridge = RIDGES[int(path.losses(Y, RIDGES, "likelihood").argmin())]
    found = path.solution(Y, ridge)
    predicting = time.perf_counter()
    cross = 1.0 + similarity(test, train)
    mean = center + scale * found.predict(cross)[:, 0]
    noise = ridge + found.jitter
    unit = scale * np.sqrt(found.scale2[0])
    std = unit * np.sqrt(found.variance(cross, np.full(len(test), 2.0)) + noise)
    end = time.perf_counter()
    off, own = scale * found.leave_one_out[:, 0], unit * np.sqrt(found.leave_one_out_variance)
    chosen = json.dumps({"ridge": ridge})
    return Outcome(mean, half_widths(std, off, own), predicting - fitting, end - predicting, chosen)


METHODS: dict[str, Callable[[Split], Outcome]] = {
    "gntk": partial(search, kernels=ALONE),
    "mix": partial(search, kernels=ALONE, depth_mode="mix"),
    "typed": partial(search, kernels=replace(ALONE, edges=("typed",))),
    "products": partial(search, kernels=FULL),
    "default": partial(search, kernels=DESCRIBED, descriptors=True),
    "default typed": partial(search, kernels=replace(DESCRIBED, edges=("typed",)), descriptors=True),
    "rdkit": partial(search, kernels=RDKIT, descriptors=True),
    "forest": forest,
    "tanimoto": tanimoto,
}


def similarity(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the Tanimoto kernel between rows of bits: bits in common over bits in either."""
    common = one @ other.T
    either = one.sum(axis=1)[:, None] + other.sum(axis=1) - common
    return np.divide(common, either, out=np.ones_like(common), where=either > 0)


def half_widths(std: np.ndarray, residuals: np.ndarray, deviations: np.ndarray) -> dict[str, np.ndarray]:
    """Return half widths for standard deviations (t,), calibrated by residuals (n,) with theirs."""
    intervals = Intervals.from_residuals(residuals[:, None], deviations[:, None] ** 2)
    return {
        "calibrated": np.array([intervals.width(coverage)[0] * std for coverage in COVERAGES]),
        "raw": np.array([ndtri(0.5 + coverage / 2) * std for coverage in COVERAGES]),
    }


def fingerprints(smiles: tuple[str, ...]) -> np.ndarray:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    out = np.zeros((len(smiles), 2048))
    for row, text in zip(out, smiles, strict=True):
        DataStructs.ConvertToNumpyArray(generator.GetFingerprint(Chem.MolFromSmiles(text)), row)
    return out


def rows(name: str, seed: int, method: str, split: Split, found: Outcome) -> list[dict[str, object]]:
    """Return one row of the CSV file for each kind of intervals."""
    error = np.abs(split.table.y[split.test] - found.mean)
    out = []
    for kind, half in found.half.items():
        inside = (error <= half).mean(axis=1)
        out.append(
            {
                **{"set": name, "split": seed, "method": method, "intervals": kind},
                **{"train": len(split.train), "test": len(split.test)},
                **{"rmse": np.sqrt(np.mean(error**2)), "mae": error.mean()},
                **dict(zip(("cover50", "cover90", "cover95"), inside, strict=True)),
                "width90": 2 * half[1].mean(),
                **{"fit_seconds": found.fit_seconds, "predict_seconds": found.predict_seconds},
                "chosen": found.chosen,
            }
        )
    return out


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, found: list[dict[str, object]]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerows(found)


def run(folder: Path, names: list[str], methods: list[str], splits: int, path: Path) -> None:
    done = {(row["set"], int(row["split"]), row["method"]) for row in read(path)}
    for name in names:
        file, target = SETS[name]
        table = fg.datasets.read_table(folder / file, target=target, descriptors="rdkit")
        prints = fingerprints(table.smiles)
        n = len(table.graphs)
        for seed in range(splits):
            order = np.random.default_rng(seed).permutation(n)
            train = np.sort(order[n // 5 :])
            split = Split(table, prints, train, np.sort(order[: n // 5]), table.y[train])
            for method in methods:
                if (name, seed, method) in done:
                    continue
                found = rows(name, seed, method, split, METHODS[method](split))
                append(path, found)
                first = found[0]
                print(
                    f"{name}, split {seed}, {method}: RMSE {first['rmse']:.3f}, 90 % interval holds "
                    f"{100 * first['cover90']:.0f} %, {first['fit_seconds']:.1f} s",
                    flush=True,
                )


def summary(path: Path) -> None:
    """Print means over splits, ± the standard deviation over splits for the RMSE; of seconds the least."""
    results = read(path)
    print("\n| set | method | splits | RMSE | intervals | 50 % | 90 % | 95 % | width of 90 % | fit, s | predict, s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    groups = dict.fromkeys((row["set"], row["method"], row["intervals"]) for row in results)
    order = {name: place for place, name in enumerate([*SETS, *METHODS])}
    for name, method, kind in sorted(groups, key=lambda key: (order[key[0]], order[key[1]], key[2])):
        own = [row for row in results if (row["set"], row["method"], row["intervals"]) == (name, method, kind)]
        values = {column: np.array([float(row[column]) for row in own]) for column in COLUMNS[6:-1]}
        covers = " | ".join(f"{100 * values[c].mean():.1f}" for c in ("cover50", "cover90", "cover95"))
        print(
            f"| {name} | {method} | {len(own)} | {values['rmse'].mean():.3f} ± {values['rmse'].std():.3f} | {kind} "
            f"| {covers} | {values['width90'].mean():.2f} | {values['fit_seconds'].min():.1f} "
            f"| {values['predict_seconds'].min():.2f} |"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Predictions for molecules, and how far to trust them.")
    parser.add_argument("folder", type=Path, help="where the tables are")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("molecules.csv"), help="results, kept from run to run")
    args = parser.parse_args()
    run(args.folder, args.sets, args.methods, args.splits, args.out)
    summary(args.out)
