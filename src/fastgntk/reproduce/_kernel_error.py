"""Error of the sketched kernel against rate, depth and sketch, and what it does to accuracy. No paper shows this.

A sketch of rate r has ⌈rN⌉ rows for a graph of N nodes. The error is relative in Frobenius norm over the whole Gram
matrix, ‖K̃ − K‖ / ‖K‖, of the kernel as it is and after cosine normalisation, which is what the classifier sees: most of
the first is a wrong size of each graph, which normalisation takes away. Accuracy is that of a support vector machine
with one fixed C on ten folds, the same for the exact and the sketched kernel; nothing is selected.

There are three ways to sketch: distinct nodes, all nodes, and, as in the paper, all nodes and the features too.

Every graph draws a sketch of its own, so that a Gram matrix is a mean over many sketches already, and few seeds do.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastgntk.datasets import Dataset, find, load, synthetic
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK

# Not `evaluate`, which would compute every kernel a second time.
from fastgntk.models import Split, check_classes, score_splits, stratified_folds
from fastgntk.pairwise import GramPath, NotSketchedWarning, gram_path, normalize
from fastgntk.reproduce._study import Cell, Row, Study, StudyOptions
from fastgntk.reproduce._style import SKETCH_COLOURS, SKETCH_MARKERS
from fastgntk.sketch import SKETCHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["STUDY", "relative_error"]

Array = NDArray[np.float64]

_SPEC = GNTK(blocks=3, layers=2, scale="degree", jump=True)
_DEPTHS = tuple(range(1, _SPEC.blocks + 1))
_DATA = ("MUTAG", "PTC", "IMDB-BINARY", "PROTEINS", "dense-200")
_RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
# Large dense random graphs, for which sketching is meant: how many, how many nodes, and the share of all edges that
# each class has. The classes differ by six standard deviations of that share: the exact kernel tells them apart, and a
# bad approximation does not.
_DENSE = {"dense-200": (24, 200, (0.44, 0.46)), "dense-60": (20, 60, (0.41, 0.48))}
# So many graphs of each set that the whole study takes minutes: time grows with the square.
_GRAPHS, _QUICK_GRAPHS = 120, 60
_SEEDS = 2
_FOLDS = 10
# In units of variance, as in `learn`. The exact kernel does best with it on most of the sets.
_C = 10.0
# What is left of an error when nothing was sketched.
_ROUNDING = 1e-7
_SMALL = 0.1
# The picture's scale ends here; what is exact would otherwise make it 16 decades high.
_LOWEST_SHOWN = 1e-3


class _Way(NamedTuple):
    """What is sketched, and how the picture shows it."""

    merge_nodes: bool
    sketch_features: bool
    words: str
    line: str
    fill: str | None

    def owns(self, row: Row) -> bool:
        return bool(row["merge_nodes"] == self.merge_nodes and row["sketch_features"] == self.sketch_features)


_MERGED = _Way(True, False, "distinct nodes", "-", None)
_ALL = _Way(False, False, "all nodes", "--", "white")
_PAPER = _Way(False, True, "all nodes and features", ":", "white")
_WAYS = (_MERGED, _ALL, _PAPER)


class _Exact(NamedTuple):
    """One data set, its folds and its exact kernel."""

    graphs: GraphBatch
    y: NDArray[np.int64]
    folds: list[Split]
    path: GramPath
    accuracy: float
    majority: float


def _cells(options: StudyOptions) -> list[Cell]:
    names = options.data or (("MUTAG", "dense-60") if options.quick else _DATA)
    for name in names:
        if name not in _DENSE:
            find(name)  # says so now, not after the sets before it were measured
    sketches = ("ams", "countsketch") if options.quick else tuple(SKETCHES)
    rates = (0.3, 0.9) if options.quick else _RATES
    return [
        {
            "data": name,
            "sketch": sketch,
            "merge_nodes": way.merge_nodes,
            "sketch_features": way.sketch_features,
            "rate": rate,
        }
        for name in names
        for sketch in sketches
        for way in _WAYS
        for rate in rates
    ]


def _measure(cell: Cell, options: StudyOptions) -> list[Row]:
    from joblib import Parallel, delayed

    exact = _exact(cell["data"], options.quick, options.seed, options.workers)
    # Processes: on small graphs threads would wait for each other.
    paths: list[GramPath] = Parallel(n_jobs=min(options.workers, _SEEDS))(
        delayed(_sketched_path)(exact.graphs, cell, _SEEDS * options.seed + run) for run in range(_SEEDS)
    )
    rows = []
    for blocks in _DEPTHS:
        right, sketched = exact.path.at(blocks), [path.at(blocks) for path in paths]
        last = blocks == _SPEC.blocks
        rows.append(
            {
                **cell,
                "blocks": blocks,
                "graphs": len(exact.graphs),
                "nodes": float(exact.graphs.sizes.mean()),
                "seeds": _SEEDS,
                "error": float(np.mean([relative_error(K, right) for K in sketched])),
                "normalized_error": float(np.mean([relative_error(normalize(K), normalize(right)) for K in sketched])),
                "eigenvalue_ratio": min(_eigenvalue_ratio(K) for K in sketched),
                "accuracy": float(np.mean([_accuracy(K, exact.y, exact.folds) for K in sketched])) if last else None,
                "exact_accuracy": exact.accuracy if last else None,
                "largest_class": exact.majority if last else None,
            }
        )
    return rows


def _sketched_path(graphs: GraphBatch, cell: Cell, seed: int) -> GramPath:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSketchedWarning)  # that small graphs are exact at high rates is a finding
        return gram_path(
            graphs,
            _SPEC,
            engine="sketched",
            sketch=cell["sketch"],
            sketch_size=cell["rate"],
            merge_nodes=cell["merge_nodes"],
            sketch_features=cell["sketch_features"],
            seed=seed,
            workers=1,
        )


def relative_error(approximate: Array, exact: Array) -> float:
    """Return ‖K̃ − K‖ / ‖K‖ in Frobenius norm.

    >>> relative_error(np.array([[3.0, 0.0], [4.0, 1.0]]), np.array([[0.0, 0.0], [4.0, 1.0]])) ** 2
    0.5294117647058824
    """
    return float(np.linalg.norm(approximate - exact) / np.linalg.norm(exact))


def _eigenvalue_ratio(K: Array) -> float:
    """Return the smallest eigenvalue over the largest; below 0 by more than rounding, K is no kernel."""
    values = np.linalg.eigvalsh(K)
    return float(values[0] / values[-1])


def _accuracy(K: Array, y: NDArray[np.int64], folds: list[Split]) -> float:
    """Return the mean accuracy over the folds in per cent, of the normalised kernel."""
    scores, _ = score_splits(normalize(K), y, folds, (_C,))
    return 100.0 * float(scores.mean())


@lru_cache(maxsize=1)  # cells come set by set
def _exact(name: str, quick: bool, seed: int, workers: int) -> _Exact:
    data = _dataset(name, _QUICK_GRAPHS if quick else _GRAPHS, seed)
    y = check_classes(data.y, len(data))
    folds = stratified_folds(y, _FOLDS, seed)
    path = gram_path(data.graphs, _SPEC, workers=workers)
    majority = 100.0 * float(np.unique(y, return_counts=True)[1].max() / len(y))
    return _Exact(data.graphs, y, folds, path, _accuracy(path.at(), y, folds), majority)


def _dataset(name: str, most: int, seed: int) -> Dataset:
    """Load a set, or make it; of one with more graphs than ``most`` take so many at random, classes in proportion."""
    from sklearn.model_selection import train_test_split

    if name in _DENSE:
        return synthetic.erdos_renyi(*_DENSE[name], seed=seed)
    data = load(name)
    if len(data) <= most:
        return data
    y = check_classes(data.y, len(data))
    rare = int(np.unique(y, return_counts=True)[1].min() * most // len(data))
    if rare < _FOLDS:
        raise InputError(
            f"of {most} graphs of {name} only {rare} would be of its rarest class, fewer than the {_FOLDS} folds; "
            "leave this set or that class out."
        )
    chosen, _ = train_test_split(np.arange(len(data)), train_size=most, stratify=y, random_state=seed)
    return Dataset(data.graphs[chosen], y[chosen], name)


def _draw(rows: list[Row], figure: Figure) -> None:
    names = list(dict.fromkeys(row["data"] for row in rows))
    panels = figure.subplots(4, len(names), sharex="row", sharey="row", squeeze=False)
    deepest = [row for row in rows if row["blocks"] == _SPEC.blocks]
    middle = _middle_rate(rows)
    at_middle = [row for row in rows if row["rate"] == middle]
    for name, (raw, normalized, depth, accuracy) in zip(names, panels.T, strict=True):
        mine = [row for row in deepest if row["data"] == name]
        raw.set_title(f"{name}\n{mine[0]['graphs']} graphs of {mine[0]['nodes']:.0f} nodes")
        _draw_lines(raw, mine, "rate", "error")
        _draw_lines(normalized, mine, "rate", "normalized_error")
        _draw_lines(depth, [row for row in at_middle if row["data"] == name], "blocks", "error")
        _draw_lines(accuracy, mine, "rate", "accuracy")
        accuracy.axhline(mine[0]["exact_accuracy"], color="black", linewidth=1)
        accuracy.axhline(mine[0]["largest_class"], color="black", linewidth=1, linestyle="-.")
        for panel, column in ((raw, "error"), (normalized, "normalized_error"), (depth, "error")):
            _show_per_cent(panel, [row[column] for row in (at_middle if panel is depth else deepest)])
        for panel in (raw, normalized, accuracy):
            panel.set_xlabel("sketching rate b/N")
            panel.set_xticks(sorted({row["rate"] for row in rows}))
        depth.set(xlabel="blocks", xticks=_DEPTHS)
    for panel, label in zip(
        panels[:, 0],
        ("error of the kernel", "error, normalised", f"error at rate {middle:g}", "accuracy in per cent"),
        strict=True,
    ):
        panel.set_ylabel(label)
    figure.align_ylabels(panels[:, 0])
    _draw_legend(figure, panels[0, 0], {row["sketch"] for row in rows})


def _middle_rate(rows: list[Row]) -> float:
    rates = sorted({row["rate"] for row in rows})
    return float(rates[len(rates) // 2])


def _draw_lines(panel: Axes, rows: list[Row], x: str, y: str) -> None:
    """Draw one line for each sketch and way."""
    for way in reversed(_WAYS):  # the best on top
        for sketch in dict.fromkeys(row["sketch"] for row in rows):
            mine = [row for row in rows if row["sketch"] == sketch and way.owns(row)]
            panel.plot(
                [row[x] for row in mine],
                [row[y] if y == "accuracy" else max(row[y], _LOWEST_SHOWN) for row in mine],
                color=SKETCH_COLOURS[sketch],
                marker=SKETCH_MARKERS[sketch],
                linestyle=way.line,
                linewidth=1.2,
                markerfacecolor=way.fill,
            )


def _show_per_cent(panel: Axes, errors: list[float]) -> None:
    """Scale by decades, from what counts as nothing up to the largest error."""
    last = int(np.ceil(np.log10(max(1.0, *errors))))
    exponents = range(round(np.log10(_LOWEST_SHOWN)), last + 1)
    labels = [f"{10.0 ** (k + 2):,.{max(0, -2 - k)}f} %" for k in exponents]
    labels[0] = f"≤ {labels[0]}"
    panel.set_yscale("log")
    panel.set_yticks([10.0**k for k in exponents], labels)
    panel.minorticks_off()
    panel.set_ylim(0.7 * _LOWEST_SHOWN, 1.5 * 10.0**last)


def _draw_legend(figure: Figure, panel: Axes, sketches: set[str]) -> None:
    lines = [
        panel.plot([], [], color=SKETCH_COLOURS[sketch], marker=SKETCH_MARKERS[sketch], label=sketch)[0]
        for sketch in SKETCH_COLOURS
        if sketch in sketches
    ]
    lines += [
        panel.plot([], [], label=way.words, linestyle=way.line, markerfacecolor=way.fill, color="#666666", marker="o")[
            0
        ]
        for way in _WAYS
    ]
    lines += [
        *panel.plot([], [], color="black", linewidth=1, label="exact kernel"),
        *panel.plot([], [], color="black", linewidth=1, linestyle="-.", label="largest class"),
    ]
    figure.legend(handles=lines, loc="outside lower center", ncols=len(lines))


def _verdict(rows: list[Row]) -> list[str]:
    deepest = [row for row in rows if row["blocks"] == _SPEC.blocks]
    names = list(dict.fromkeys(row["data"] for row in rows))
    return [
        *(_where_small(name, [row for row in deepest if row["data"] == name]) for name in names),
        *(
            _accuracy_lost(rate, [row for row in deepest if row["rate"] == rate])
            for rate in (0.3, 0.5)
            if any(row["rate"] == rate for row in deepest)
        ),
        _compare_ways(deepest, _MERGED, _ALL),
        _compare_ways(deepest, _ALL, _PAPER),
        _best_sketch(deepest),
        _growth_with_depth(rows),
        _definiteness(rows),
    ]


def _where_small(name: str, rows: list[Row]) -> str:
    parts = []
    for way in _WAYS:
        mine = [row for row in rows if way.owns(row)]
        found = []
        for column in ("error", "normalized_error"):
            small = [row["rate"] for row in mine if row[column] < _SMALL]
            lowest = min(mine, key=lambda row: row[column])
            found.append(
                f"from rate {min(small):g} on"
                if small
                else f"at no rate (least {_per_cent(lowest[column])}, {lowest['sketch']} at {lowest['rate']:g})"
            )
        parts.append(f"{way.words} {found[0]}, normalised {found[1]}")
    return f"{name}: an error under {_per_cent(_SMALL)} with some sketch of {'; of '.join(parts)}."


def _accuracy_lost(rate: float, rows: list[Row]) -> str:
    parts = []
    for name in dict.fromkeys(row["data"] for row in rows):
        mine = [row for row in rows if row["data"] == name]
        exact, largest = mine[0]["exact_accuracy"], mine[0]["largest_class"]
        changes = [np.mean([row["accuracy"] for row in mine if way.owns(row)]) - exact for way in _WAYS]
        listed = ", ".join(f"{change:+.1f}" for change in changes)
        parts.append(f"{name} {listed} (exact {exact:.1f}, largest class {largest:.1f})")
    return (
        f"Change of accuracy in points at rate {rate:g}, mean of the sketches, with "
        f"{', '.join(way.words for way in _WAYS)}: {'; '.join(parts)}."
    )


def _compare_ways(rows: list[Row], better: _Way, worse: _Way) -> str:
    pairs = [
        (row, other)
        for row in rows
        for other in rows
        if better.owns(row) and worse.owns(other) and _same(row, other, ("data", "sketch", "rate"))
    ]
    lower, lower_normalized, higher, higher_normalized = (
        sum(sign * row[column] < sign * other[column] for row, other in pairs)
        for sign in (1, -1)
        for column in ("error", "normalized_error")
    )
    gone = sum(row["error"] < _ROUNDING <= other["error"] for row, other in pairs)
    ratios = [other["error"] / row["error"] for row, other in pairs if _ROUNDING <= row["error"] != other["error"]]
    factor = f"; where it is neither gone nor the same, {median(ratios):.2g} times smaller (median)" if ratios else ""
    return (
        f"With {better.words} the error is lower than with {worse.words} in {lower} of {len(pairs)} cases and higher "
        f"in {higher}, normalised {lower_normalized} and {higher_normalized}; gone altogether in {gone}{factor}."
    )


def _best_sketch(rows: list[Row]) -> str:
    """Compare each sketch with the mean of all, where anything was sketched."""
    sketches = list(dict.fromkeys(row["sketch"] for row in rows))
    ratios: dict[str, list[float]] = {sketch: [] for sketch in sketches}
    for first in (row for row in rows if row["sketch"] == sketches[0]):
        alike = [row for row in rows if _same(row, first, ("data", "merge_nodes", "sketch_features", "rate"))]
        if min(row["error"] for row in alike) >= _ROUNDING:
            mean = geometric_mean(row["error"] for row in alike)
            for row in alike:
                ratios[row["sketch"]].append(row["error"] / mean)
    if not all(ratios.values()):
        return "No sketch is better than another: all are exact here."
    means = sorted((geometric_mean(values), sketch) for sketch, values in ratios.items())
    listed = ", ".join(f"{sketch} {value:.2f}" for value, sketch in means)
    return f"The best sketch is {means[0][1]}; error over the mean of all sketches: {listed}."


def _growth_with_depth(rows: list[Row]) -> str:
    parts = []
    for way in _WAYS:
        medians = [
            median(row["error"] for row in rows if way.owns(row) and row["blocks"] == blocks) for blocks in _DEPTHS
        ]
        parts.append(f"{way.words} {', '.join(_per_cent(value) for value in medians)}")
    return f"Median error of all cases with {', '.join(map(str, _DEPTHS))} blocks: {'; '.join(parts)}."


def _definiteness(rows: list[Row]) -> str:
    lowest = min(row["eigenvalue_ratio"] for row in rows)
    outcome = "are positive semi-definite up to rounding" if lowest > -1e-9 else "are NOT all positive semi-definite"
    return f"The sketched matrices {outcome}: the smallest eigenvalue over the largest is {lowest:.1e} or more."


def _same(row: Row, other: Row, names: tuple[str, ...]) -> bool:
    return all(row[name] == other[name] for name in names)


def _per_cent(share: float) -> str:
    return "0" if share < _ROUNDING else f"{100 * share:.3g} %"


STUDY = Study(
    name="kernel-error",
    cells=_cells,
    measure=_measure,
    draw=_draw,
    verdict=_verdict,
    shown=(
        "data",
        "sketch",
        "merge_nodes",
        "sketch_features",
        "rate",
        "blocks",
        "error",
        "normalized_error",
        "accuracy",
    ),
    size=(13.0, 11.0),
    takes_data=True,
)
