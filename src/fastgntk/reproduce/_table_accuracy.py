"""Accuracy on the seven data sets beside published figures (Du et al. 2019 for GNTK, Xu et al. 2019 for GIN).

``du2019`` is the protocol of the published figures: options are chosen on the folds that are reported. All other rows
choose options within the training part of each fold, which estimates the accuracy on new graphs: ``nested`` among the
GNTKs that Du et al. tried (up to 14 blocks, 1 to 3 layers, two scales, with and without jump and normalisation),
``default`` among the default kernels of ``fastgntk evaluate``, ``wl`` and ``wloa`` among the Weisfeiler–Lehman subtree
and optimal assignment kernels (Shervashidze et al. 2011, Kriege et al. 2016) with 1 to 5 iterations, normalised or not.
``wl grakel`` and ``wloa grakel`` are the same kernels as computed by GraKeL, with one seed of the folds.

Figures are means over three seeds of the folds. The work depends on the number of graphs (:class:`Effort`): the inner
folds, and for the large grid of GNTKs the seeds, the values of C, the draws of inner folds and the number of kernels,
the best in ridge regression, for which support vector machines are fitted. Rows of other kernels have the draws and
finalists of ``evaluate``.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fastgntk._util.arrays import Array, Ints
from fastgntk.datasets import REGISTRY, Dataset, load
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import WL, WLOA
from fastgntk.models import check_classes, score_splits
from fastgntk.pairwise import Compute, normalize
from fastgntk.reproduce._figures import Figure, Row, column, distinct, matching
from fastgntk.reproduce._study import PAPER_DATA, Cell, Study, StudyOptions
from fastgntk.selection import Candidates, CrossValidation, Grid, evaluate_each

__all__ = ["GIN_ACCURACY", "GNTK_ACCURACY", "STUDY"]

GNTK_ACCURACY = {row.name: round(100 * row.published[0], 1) for row in REGISTRY.values() if row.published}
"""Accuracy of GNTK in per cent (Du et al. 2019)."""

GIN_ACCURACY = {
    "COLLAB": 80.2,
    "IMDB-BINARY": 75.1,
    "IMDB-MULTI": 52.3,
    "PTC": 64.6,
    "NCI1": 82.7,
    "MUTAG": 89.4,
    "PROTEINS": 76.2,
}
"""Accuracy of GIN in per cent (Xu et al. 2019)."""


class Effort(NamedTuple):
    """How thoroughly options are searched on a data set, by its number of graphs.

    All but ``inner_folds`` is for the large grid of GNTKs; None means that of ``evaluate``.
    """

    inner_folds: int
    seeds: int
    C: tuple[float, ...]
    inner_repeats: int | None = None
    n_finalists: int | None = None

    @classmethod
    def for_graphs(cls, n_graphs: int) -> "Effort":
        """Return the effort that takes minutes on two cores."""
        if n_graphs <= 500:
            return cls(5, 3, _half_decades(-2, 4))
        if n_graphs <= 2_000:
            return cls(5, 3, _half_decades(-1, 3), inner_repeats=1, n_finalists=40)
        return cls(3, 1, _half_decades(0, 3), inner_repeats=1, n_finalists=8)


def _half_decades(first: int, last: int) -> tuple[float, ...]:
    return tuple(float(f"{10.0 ** (i / 2):.2g}") for i in range(2 * first, 2 * last + 1))


_DU2019 = Grid(blocks=tuple(range(1, 15)))
# In COLLAB all nodes are neighbours of one, and colour refinement is stable after two rounds; a kernel takes minutes.
_COLLAB = replace(_DU2019, blocks=(1, 2, 3), layers=(1, 2))
_QUICK_GRID = Grid(blocks=(1, 2), layers=(1,), scale=("uniform",), jump=(True,), C=(1.0, 10.0))
_ROUNDS = 5
_SEEDS = 3
_CANDIDATES = ("gntk", "default", "wl", "wloa")
_GRAKEL = {"wl grakel": 2_000, "wloa grakel": 1_500}  # the largest number of graphs that takes minutes
# Label, colour and marker in the figure.
_STYLE = {
    "nested": ("GNTK here, nested", "#009E73", "o"),
    "default": ("default kernels here, nested", "#D55E00", "P"),
    "du2019": ("GNTK here, du2019", "#56B4E9", "s"),
    "wl": ("WL here, nested", "#E69F00", "^"),
    "wloa": ("WLOA here, nested", "#CC79A7", "v"),
    "published_gntk": ("GNTK, published", "#000000", "D"),
    "published_gin": ("GIN, published", "#777777", "x"),
}


def _cells(options: StudyOptions) -> list[Cell]:
    candidates = _CANDIDATES + (tuple(_GRAKEL) if find_spec("grakel") else ())
    return [{"data": name, "candidates": some} for name in options.data_sets(PAPER_DATA) for some in candidates]


def _measure(cell: Cell, options: StudyOptions) -> Iterator[Row]:
    data = load(cell["data"])
    start = time.perf_counter()
    name = cell["candidates"]
    results = (_evaluate_grakel if name in _GRAKEL else _evaluate_here)(name, data, options)
    for method, runs in results.items():
        yield {
            "method": method,
            "accuracy": 100.0 * float(np.mean([np.mean(run.accuracies) for run in runs])),
            "std": 100.0 * float(np.mean([np.std(run.accuracies) for run in runs])),
            "by_seed": " ".join(f"{100.0 * np.mean(run.accuracies):.2f}" for run in runs),
            "options": most_frequent([choice for run in runs for choice in run.choices]),
            "fits": sum(run.fits for run in runs),
            "fits_stopped": sum(run.fits_stopped for run in runs),
            "engine": runs[0].engine,
            "published_gntk": GNTK_ACCURACY.get(cell["data"]),
            "published_gin": GIN_ACCURACY.get(cell["data"]),
            "graphs": len(data),
            "folds": len(runs[0].accuracies),
            "seconds": time.perf_counter() - start,
        }


class Run(NamedTuple):
    """The results of one seed; the first two have one entry for each outer fold."""

    accuracies: tuple[float, ...]
    choices: tuple[str, ...]
    fits: int
    fits_stopped: int
    engine: str


def _evaluate_here(name: str, data: Dataset, options: StudyOptions) -> dict[str, list[Run]]:
    """Return one run for each seed, of each method."""
    effort, kernels = _search_space(name, data, options)
    large = name == "gntk"
    methods = ("nested", "du2019") if large else (name,)
    seeds = 1 if options.quick else effort.seeds if large else _SEEDS
    cvs = [
        CrossValidation(
            folds=3 if options.quick else 10,
            protocol="du2019" if method == "du2019" else "nested",
            inner_folds=3 if options.quick else effort.inner_folds,
            inner_repeats=effort.inner_repeats if large else None,
            n_finalists=effort.n_finalists if large else None,
            random_state=options.seed + i,
        )
        for method in methods
        for i in range(seeds)
    ]
    found = evaluate_each(data, cvs=cvs, kernels=kernels, compute=Compute(n_jobs=options.workers))
    runs = [
        Run(
            result.accuracies,
            tuple(f"{choice.kernel}, C {choice.C:g}" for choice in result.choices),
            result.n_fits,
            result.n_unconverged,
            result.engine,
        )
        for result in found
    ]
    return {method: runs[i * seeds : (i + 1) * seeds] for i, method in enumerate(methods)}


def _search_space(name: str, data: Dataset, options: StudyOptions) -> tuple[Effort, Grid | Candidates]:
    """Return the effort and the kernels and C to try."""
    effort = Effort.for_graphs(len(data))
    if name.startswith("wl"):
        family = WL if name.split()[0] == "wl" else WLOA
        kernels = [family(h) for h in range(1, _ROUNDS + 1)]
        C = _QUICK_GRID.C if options.quick else Grid.default(len(data)).C
        return effort, Candidates((*[kernel.normalized() for kernel in kernels], *kernels), C)
    if options.quick:
        return effort, _QUICK_GRID
    if name == "default":
        return effort, Grid.default(len(data)).for_graphs(data.graphs)
    return effort, replace(_COLLAB if data.name == "COLLAB" else _DU2019, C=effort.C)


def _evaluate_grakel(name: str, data: Dataset, options: StudyOptions) -> dict[str, list[Run]]:
    """Return the run of one seed with the matrices of GraKeL; nothing if it takes long."""
    if len(data) > _GRAKEL[name]:
        return {}
    effort, candidates = _search_space(name, data, options)
    assert isinstance(candidates, Candidates)
    raw = (subtree_kernels if name == "wl grakel" else assignment_kernels)(data.graphs, _ROUNDS)
    cv = CrossValidation(3, inner_folds=3) if options.quick else CrossValidation(inner_folds=effort.inner_folds)
    cv = replace(cv, random_state=options.seed)
    y = check_classes(data.y, len(data))
    found = nested_selection([normalize(K) for K in raw] + raw, y, candidates.C, cv, workers=options.workers)
    chosen = zip(found.kernels, found.Cs, strict=True)
    choices = tuple(f"{candidates.kernels[i]}, C {C:g}" for i, C in chosen)
    return {name: [Run(found.accuracies, choices, found.fits, found.fits_stopped, "grakel")]}


class Selection(NamedTuple):
    """Results of :func:`nested_selection`; the first three have one entry for each outer fold."""

    accuracies: tuple[float, ...]
    kernels: tuple[int, ...]  # index of the chosen kernel
    Cs: tuple[float, ...]
    fits: int
    fits_stopped: int


def subtree_kernels(batch: GraphBatch, iterations: int) -> list[Array]:
    """Return the kernels of 1..iterations rounds of relabelling, (n, n) each, from one run of GraKeL.

    The kernel of h rounds counts pairs of equal labels, initial ones and those of each round. Initial labels are node
    labels, or degrees if the graphs have none. The kernel with a graph without nodes is 0.
    """
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    filled = np.flatnonzero(batch.sizes)  # GraKeL rejects graphs without nodes
    refinement = WeisfeilerLehman(n_iter=iterations, base_graph_kernel=VertexHistogram)
    # Only `fit`: it has the histograms of every round, while GraKeL's own products sum over all rounds.
    refinement.fit(_grakel_graphs(batch[filled]))
    kernels = np.zeros((iterations + 1, len(batch), len(batch)))
    for level, K in enumerate(kernels):
        histograms = refinement.X[level].X  # graphs × labels
        product = histograms @ histograms.T
        K[np.ix_(filled, filled)] = product.toarray() if sparse.issparse(product) else product
    return list(kernels.cumsum(axis=0)[1:])


def assignment_kernels(batch: GraphBatch, iterations: int) -> list[Array]:
    """Return the optimal assignment kernels of 1..iterations rounds, (n, n) each, by GraKeL."""
    from grakel.kernels import WeisfeilerLehmanOptimalAssignment

    filled = np.flatnonzero(batch.sizes)
    graphs = list(_grakel_graphs(batch[filled]))
    kernels = np.zeros((iterations, len(batch), len(batch)))
    for i in range(iterations):
        kernels[i][np.ix_(filled, filled)] = WeisfeilerLehmanOptimalAssignment(n_iter=i + 1).fit_transform(graphs)
    return list(kernels)


def _grakel_graphs(batch: GraphBatch) -> Iterator[tuple[dict[int, dict[int, int]], dict[int, int]]]:
    """Yield neighbours and labels by node for each graph, the format to which GraKeL converts all other formats."""
    # Reshaped, because NumPy 2.0 returned another shape.
    unique = None if batch.labels is None else np.unique(batch.labels, axis=0, return_inverse=True)[1].reshape(-1)
    labels = (batch.degrees if unique is None else unique).tolist()
    for i, graph in enumerate(batch):
        first, last = int(batch.offsets[i]), int(batch.offsets[i + 1])
        ends, starts = graph.indices.tolist(), graph.indptr.tolist()
        neighbours = {u: dict.fromkeys(ends[starts[u] : starts[u + 1]], 1) for u in range(last - first)}
        yield neighbours, dict(enumerate(labels[first:last]))


def nested_selection(
    kernels: Sequence[Array], y: Ints, Cs: Sequence[float], cv: CrossValidation, *, workers: int
) -> Selection:
    """Choose a kernel and C within the training part of each fold, with the folds, SVMs and units of ``evaluate``."""
    from joblib import Parallel, delayed

    folds = cv.split(y)
    splits = [split for fold in folds for split in (fold.split, *fold.inner)]
    scored = Parallel(n_jobs=workers)(delayed(score_splits)(K, y, splits, Cs) for K in kernels)
    scores = np.stack([accuracies for accuracies, _ in scored]).reshape(len(kernels), len(folds), -1, len(Cs))
    tested, within = scores[:, :, 0], scores[:, :, 1:].mean(axis=2).round(12)  # kernels × folds × C
    best = within.transpose(1, 0, 2).reshape(len(folds), -1).argmax(axis=1)
    kernel, C = np.unravel_index(best, (len(kernels), len(Cs)))
    return Selection(
        accuracies=tuple(tested[kernel, np.arange(len(folds)), C].tolist()),
        kernels=tuple(kernel.tolist()),
        Cs=tuple(float(Cs[i]) for i in C),
        fits=scores.size,
        fits_stopped=sum(int(stopped.sum()) for _, stopped in scored),
    )


def most_frequent(options: Sequence[str]) -> str:
    """Return the options that most folds chose.

    >>> most_frequent(["C 1", "C 10", "C 1"])
    'C 1 (2 of 3 folds)'
    """
    chosen, times = Counter(options).most_common(1)[0]
    return f"{chosen} ({times} of {len(options)} folds)"


def _draw(rows: list[Row], figure: Figure) -> None:
    axes = figure.subplots()
    names = distinct(rows, "data")
    for i, (method, (label, colour, marker)) in enumerate(_STYLE.items()):
        published = method.startswith("published")
        drawn = [row for row in rows if row[method] is not None] if published else matching(rows, method=method)
        if drawn:
            x = [names.index(row["data"]) + 0.14 * (i - (len(_STYLE) - 1) / 2) for row in drawn]
            y, std = column(drawn, method if published else "accuracy"), None if published else column(drawn, "std")
            style: Any = {"color": colour, "marker": marker, "markersize": 6, "linestyle": "none", "linewidth": 1.2}
            axes.errorbar(x, y, yerr=std, capsize=2, label=label, **style)
    for border in range(1, len(names)):
        axes.axvline(border - 0.5, color="#dddddd", linewidth=0.6)
    axes.grid(visible=False, axis="x")
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set(ylabel="accuracy in per cent", title="Mean and standard deviation over the folds")
    figure.legend(loc="outside lower center", ncols=len(_STYLE), handletextpad=0.4, columnspacing=1.4)


def _verdict(rows: list[Row]) -> list[str]:
    by_method = {(row["data"], row["method"]): row for row in rows}
    names = [name for name in distinct(rows, "data") if {(name, "nested"), (name, "du2019")} <= by_method.keys()]
    sentences = [_compare(name, by_method) for name in names]
    if not any(row["method"] in _GRAKEL for row in rows):
        sentences.append(
            "Kernels of GraKeL were left out, because it is not installed; pip install 'fastgntk[reproduce]'."
        )
    optimism = [by_method[name, "du2019"]["accuracy"] - by_method[name, "nested"]["accuracy"] for name in names]
    if len(optimism) > 1:
        sentences.append(
            f"Choosing options on the reported folds adds {np.mean(optimism):.1f} points on average over "
            f"{len(optimism)} sets, and {max(optimism):.1f} at most."
        )
    stopped, total = sum(column(rows, "fits_stopped")), sum(column(rows, "fits"))
    if stopped:
        sentences.append(f"{stopped} of {total} support vector machines were stopped before they converged.")
    return sentences


def _compare(name: str, by_method: dict[tuple[str, str], Row]) -> str:
    nested, selected = by_method[name, "nested"], by_method[name, "du2019"]
    published = selected["published_gntk"]
    parts = [f"{name}: du2019 {_format_accuracy(selected)}"]
    if published is not None:
        within = "within" if abs(selected["accuracy"] - published) <= selected["std"] else "not within"
        parts[0] += f", {within} one standard deviation of the published {published:.1f}"
    parts.append(f"nested {_format_accuracy(nested)}, {_format_difference(nested, selected)} du2019")
    for method, label in (("default", "default kernels"), ("wl", "WL"), ("wloa", "WLOA")):
        if (name, method) in by_method:
            row = by_method[name, method]
            parts.append(f"{label} {_format_accuracy(row)}, {_format_difference(row, nested)} nested")
    return "; ".join(parts) + "."


def _format_accuracy(row: Row) -> str:
    return f"{row['accuracy']:.1f} ± {row['std']:.1f}"


def _format_difference(row: Row, other: Row) -> str:
    points = row["accuracy"] - other["accuracy"]
    return f"{abs(points):.1f} points {'above' if points > 0 else 'below'}"


_SHOWN = ("data", "method", "accuracy", "std", "published_gntk", "published_gin", "seconds")
STUDY = Study("table-accuracy", _cells, _measure, _draw, _verdict, _SHOWN, size=(9.5, 4.8), takes_data=True)
