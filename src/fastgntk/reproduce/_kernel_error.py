"""Error of the sketched kernel against rate, depth and sketch, and its effect on accuracy. No paper shows this.

A sketch of rate r has ⌈rN⌉ rows for a graph of N nodes. The error is relative in Frobenius norm over the whole Gram
matrix, ‖K̃ − K‖ / ‖K‖, before and after cosine normalisation, which removes the error in the norm of each graph.
Accuracy is that of a support vector machine on the normalised kernel with one fixed C on ten folds, the same for the
exact and the sketched kernel; nothing is selected.

There are three ways to sketch: distinct nodes, all nodes, and, as in the paper, all nodes and the features too. Every
graph has a sketch of its own, so that a Gram matrix averages over many sketches and few seeds suffice.
"""

import warnings
from dataclasses import replace
from functools import lru_cache
from statistics import geometric_mean, mean, median
from typing import Any, NamedTuple

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk.datasets import Dataset, load, synthetic
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK

# Not `evaluate`, which would compute every kernel a second time.
from fastgntk.models import Split, check_classes, score_splits, stratified_folds
from fastgntk.pairwise import Compute, GramPath, NotSketchedWarning, gram_path, normalize
from fastgntk.reproduce._rows import Axes, Cell, Figure, Row, column, distinct, matching
from fastgntk.reproduce._study import Study, StudyOptions
from fastgntk.reproduce._style import SKETCH_COLOURS, SKETCH_MARKERS
from fastgntk.sketch import SKETCHES, Sketch

__all__ = ["STUDY", "relative_error"]


_KERNEL = GNTK(blocks=3, layers=2, scale="degree", jump=True)
_DEPTHS = tuple(range(1, _KERNEL.blocks + 1))
_DATA = ("MUTAG", "PTC", "IMDB-BINARY", "PROTEINS", "dense-200")
# Large dense random graphs, the intended use of sketching: number of graphs, nodes, and densities of the classes, six
# standard deviations apart: the exact kernel separates the classes, and a bad approximation does not.
_DENSE = {"dense-200": (24, 200, (0.44, 0.46)), "dense-60": (20, 60, (0.41, 0.48))}
_GRAPHS, _QUICK_GRAPHS = 120, 60  # of each set, for a study of minutes: time grows with the square
_SEEDS, _FOLDS = 2, 10
_C = 10.0  # in units of variance, as in `evaluate`; the best for the exact kernel on most of the sets
_SMALL, _ROUNDING = 0.1, 1e-7  # a small error, and that of an exact computation
_LOWEST_SHOWN = 1e-3  # lower end of the plots; exact results would otherwise need 16 decades


class _Way(NamedTuple):
    """What is sketched, and its style in the figure."""

    merge_nodes: bool
    sketch_features: bool
    words: str
    line: dict[str, Any]

    @property
    def cell(self) -> Cell:
        return {"merge_nodes": self.merge_nodes, "sketch_features": self.sketch_features}


_MERGED = _Way(True, False, "distinct nodes", {"linestyle": "-"})
_ALL = _Way(False, False, "all nodes", {"linestyle": "--", "markerfacecolor": "white"})
_PAPER = _Way(False, True, "all nodes and features", {"linestyle": ":", "markerfacecolor": "white"})
_WAYS = (_MERGED, _ALL, _PAPER)


class _Exact(NamedTuple):
    """One data set, its folds and its exact kernel."""

    graphs: GraphBatch
    y: Ints
    folds: list[Split]
    path: GramPath
    accuracy: float
    majority: float


def _cells(options: StudyOptions) -> list[Cell]:
    return [
        {"data": name, "sketch": sketch, **way.cell, "rate": rate}
        for name in options.names(("MUTAG", "dense-60"), _DATA, made=_DENSE)
        for sketch in (("ams", "countsketch") if options.quick else SKETCHES)
        for way in _WAYS
        for rate in ((0.3, 0.9) if options.quick else (0.1, 0.3, 0.5, 0.7, 0.9))
    ]


def _measure(cell: Cell, options: StudyOptions) -> list[Row]:
    from joblib import Parallel, delayed

    exact = _exact(cell["data"], options.quick, options.seed, options.workers)
    # Processes, because threads contend for the interpreter lock on small graphs.
    paths: list[GramPath] = Parallel(n_jobs=min(options.workers, _SEEDS))(
        delayed(_sketched_path)(exact.graphs, cell, _SEEDS * options.seed + run) for run in range(_SEEDS)
    )
    rows = []
    for blocks in _DEPTHS:
        K, sketched = exact.path.at(blocks), [path.at(blocks) for path in paths]
        last = blocks == _KERNEL.blocks
        rows.append(
            {
                **cell,
                "blocks": blocks,
                "graphs": len(exact.graphs),
                "nodes": float(exact.graphs.sizes.mean()),
                "seeds": _SEEDS,
                "error": mean(relative_error(S, K) for S in sketched),
                "normalized_error": mean(relative_error(normalize(S), normalize(K)) for S in sketched),
                # If the smallest eigenvalue over the largest is below 0 by more than rounding, it is no kernel.
                "eigenvalue_ratio": min(float(values[0] / values[-1]) for values in map(np.linalg.eigvalsh, sketched)),
                "accuracy": mean(_accuracy(S, exact.y, exact.folds) for S in sketched) if last else None,
                "exact_accuracy": exact.accuracy if last else None,
                "largest_class": exact.majority if last else None,
            }
        )
    return rows


def _sketched_path(graphs: GraphBatch, cell: Cell, seed: int) -> GramPath:
    ways = {name: cell[name] for name in ("merge_nodes", "sketch_features")}
    sketch = Sketch(cell["sketch"], size=cell["rate"], seed=seed, **ways)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSketchedWarning)  # small graphs are exact at high rates: a result
        return gram_path(graphs, replace(_KERNEL, sketch=sketch), compute=Compute(n_jobs=1))


def relative_error(approximate: Array, exact: Array) -> float:
    """Return ‖K̃ − K‖ / ‖K‖ in Frobenius norm.

    >>> relative_error(np.array([[3.0, 0.0], [4.0, 1.0]]), np.array([[0.0, 0.0], [4.0, 1.0]])) ** 2
    0.5294117647058824
    """
    return float(np.linalg.norm(approximate - exact) / np.linalg.norm(exact))


def _accuracy(K: Array, y: Ints, folds: list[Split]) -> float:
    """Return the mean accuracy of the normalised kernel over the folds, in per cent."""
    scores, _ = score_splits(normalize(K), y, folds, (_C,))
    return 100.0 * float(scores.mean())


@lru_cache(maxsize=1)  # cells are sorted by data set
def _exact(name: str, quick: bool, seed: int, workers: int) -> _Exact:
    data = _dataset(name, _QUICK_GRAPHS if quick else _GRAPHS, seed)
    y = check_classes(data.y, len(data))
    folds = stratified_folds(y, _FOLDS, seed)
    path = gram_path(data.graphs, _KERNEL, compute=Compute(n_jobs=workers))
    majority = 100.0 * float(np.unique(y, return_counts=True)[1].max() / len(y))
    return _Exact(data.graphs, y, folds, path, _accuracy(path.at(), y, folds), majority)


def _dataset(name: str, most: int, seed: int) -> Dataset:
    """Load or generate a data set; keep at most ``most`` graphs, drawn at random with classes in proportion."""
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
    names, rates = distinct(rows, "data"), sorted(distinct(rows, "rate"))
    panels = figure.subplots(4, len(names), sharex="row", sharey="row", squeeze=False)
    middle = rates[len(rates) // 2]
    deepest, at_middle = matching(rows, blocks=_KERNEL.blocks), matching(rows, rate=middle)
    lines = (
        ("error of the kernel", deepest, "rate", "error"),
        ("error, normalised", deepest, "rate", "normalized_error"),
        (f"error at rate {middle:g}", at_middle, "blocks", "error"),
        ("accuracy in per cent", deepest, "rate", "accuracy"),
    )
    for name, panels_of_set in zip(names, panels.T, strict=True):
        first = matching(deepest, data=name)[0]
        panels_of_set[0].set_title(f"{name}\n{first['graphs']} graphs of {first['nodes']:.0f} nodes")
        for panel, (_, shown, x, y) in zip(panels_of_set, lines, strict=True):
            _draw_lines(panel, matching(shown, data=name), x, y)
            if y != "accuracy":
                _show_per_cent(panel, column(shown, y))
            xlabel, xticks = ("blocks", _DEPTHS) if x == "blocks" else ("sketching rate b/N", rates)
            panel.set(xlabel=xlabel, xticks=xticks)
        panels_of_set[3].axhline(first["exact_accuracy"], color="black", linewidth=1)
        panels_of_set[3].axhline(first["largest_class"], color="black", linewidth=1, linestyle="-.")
    for panel, (label, *_) in zip(panels[:, 0], lines, strict=True):
        panel.set_ylabel(label)
    figure.align_ylabels(panels[:, 0])
    _draw_legend(figure, [sketch for sketch in SKETCH_COLOURS if sketch in distinct(rows, "sketch")])


def _draw_lines(panel: Axes, rows: list[Row], x: str, y: str) -> None:
    """Draw one line for each sketch and way."""
    for way in reversed(_WAYS):  # the best on top
        for sketch in distinct(rows, "sketch"):
            mine = matching(rows, sketch=sketch, **way.cell)
            values = np.maximum(column(mine, y), _LOWEST_SHOWN)
            style = way.line | {"color": SKETCH_COLOURS[sketch], "marker": SKETCH_MARKERS[sketch]}
            panel.plot(column(mine, x), values, linewidth=1.2, **style)


def _show_per_cent(panel: Axes, errors: list[float]) -> None:
    """Use a logarithmic scale in per cent that ends above the largest error."""
    last = int(np.ceil(np.log10(max(1.0, *errors))))
    exponents = range(round(np.log10(_LOWEST_SHOWN)), last + 1)
    labels = [f"{10.0 ** (k + 2):,.{max(0, -2 - k)}f} %" for k in exponents]
    labels[0] = f"≤ {labels[0]}"
    panel.set_yscale("log")
    panel.set_yticks([10.0**k for k in exponents], labels)
    panel.minorticks_off()
    panel.set_ylim(0.7 * _LOWEST_SHOWN, 1.5 * 10.0**last)


def _draw_legend(figure: Figure, sketches: list[str]) -> None:
    from matplotlib.lines import Line2D

    entries: dict[str, Any] = {s: {"color": SKETCH_COLOURS[s], "marker": SKETCH_MARKERS[s]} for s in sketches}
    entries |= {way.words: way.line | {"color": "#666666", "marker": "o"} for way in _WAYS}
    entries |= {"exact kernel": {"color": "black", "linewidth": 1}}
    entries |= {"largest class": {"color": "black", "linewidth": 1, "linestyle": "-."}}
    lines = [Line2D([], [], label=label, **style) for label, style in entries.items()]
    figure.legend(handles=lines, loc="outside lower center", ncols=len(lines))


def _verdict(rows: list[Row]) -> list[str]:
    deepest = matching(rows, blocks=_KERNEL.blocks)
    at_rates = [(rate, matching(deepest, rate=rate)) for rate in (0.3, 0.5)]
    return [
        *(_where_small(name, matching(deepest, data=name)) for name in distinct(rows, "data")),
        *(_accuracy_lost(rate, mine) for rate, mine in at_rates if mine),
        _compare_ways(deepest, _MERGED, _ALL),
        _compare_ways(deepest, _ALL, _PAPER),
        _best_sketch(deepest),
        _growth_with_depth(rows),
        _definiteness(rows),
    ]


def _where_small(name: str, rows: list[Row]) -> str:
    parts = []
    for way in _WAYS:
        mine = matching(rows, **way.cell)
        found = []
        for error in ("error", "normalized_error"):
            small = [row["rate"] for row in mine if row[error] < _SMALL]
            lowest = min(mine, key=lambda row: row[error])
            found.append(
                f"from rate {min(small):g} on"
                if small
                else f"at no rate (least {_per_cent(lowest[error])}, {lowest['sketch']} at {lowest['rate']:g})"
            )
        parts.append(f"{way.words} {found[0]}, normalised {found[1]}")
    return f"{name}: an error under {_per_cent(_SMALL)} with some sketch of {'; of '.join(parts)}."


def _accuracy_lost(rate: float, rows: list[Row]) -> str:
    parts = []
    for name in distinct(rows, "data"):
        mine = matching(rows, data=name)
        exact, largest = mine[0]["exact_accuracy"], mine[0]["largest_class"]
        changes = [mean(column(matching(mine, **way.cell), "accuracy")) - exact for way in _WAYS]
        listed = ", ".join(f"{change:+.1f}" for change in changes)
        parts.append(f"{name} {listed} (exact {exact:.1f}, largest class {largest:.1f})")
    return (
        f"Change of accuracy in points at rate {rate:g}, mean of the sketches, with "
        f"{', '.join(way.words for way in _WAYS)}: {'; '.join(parts)}."
    )


def _compare_ways(rows: list[Row], better: _Way, worse: _Way) -> str:
    pairs = [
        (row, other)
        for row in matching(rows, **better.cell)
        for other in matching(rows, **worse.cell, **{name: row[name] for name in ("data", "sketch", "rate")})
    ]
    lower, lower_normalized, higher, higher_normalized = (
        sum(sign * row[error] < sign * other[error] for row, other in pairs)
        for sign in (1, -1)
        for error in ("error", "normalized_error")
    )
    exact = sum(row["error"] < _ROUNDING <= other["error"] for row, other in pairs)
    ratios = [other["error"] / row["error"] for row, other in pairs if _ROUNDING <= row["error"] != other["error"]]
    factor = f"; where it is neither zero nor the same, {median(ratios):.2g} times smaller (median)" if ratios else ""
    return (
        f"With {better.words} the error is lower than with {worse.words} in {lower} of {len(pairs)} cases and higher "
        f"in {higher}, normalised {lower_normalized} and {higher_normalized}; zero in {exact} of them{factor}."
    )


def _best_sketch(rows: list[Row]) -> str:
    """Compare each sketch with the mean of all, in the cases where every sketch has an error."""
    sketches = distinct(rows, "sketch")
    ratios: dict[str, list[float]] = {sketch: [] for sketch in sketches}
    for first in matching(rows, sketch=sketches[0]):
        alike = matching(rows, **{name: first[name] for name in ("data", "merge_nodes", "sketch_features", "rate")})
        if min(column(alike, "error")) >= _ROUNDING:
            for row in alike:
                ratios[row["sketch"]].append(row["error"] / geometric_mean(column(alike, "error")))
    if not all(ratios.values()):
        return "No sketch is better than another: all are exact here."
    means = sorted((geometric_mean(values), sketch) for sketch, values in ratios.items())
    listed = ", ".join(f"{sketch} {value:.2f}" for value, sketch in means)
    return f"The best sketch is {means[0][1]}; error over the mean of all sketches: {listed}."


def _growth_with_depth(rows: list[Row]) -> str:
    parts = []
    for way in _WAYS:
        medians = [median(column(matching(rows, blocks=blocks, **way.cell), "error")) for blocks in _DEPTHS]
        parts.append(f"{way.words} {', '.join(map(_per_cent, medians))}")
    return f"Median error of all cases with {', '.join(map(str, _DEPTHS))} blocks: {'; '.join(parts)}."


def _definiteness(rows: list[Row]) -> str:
    lowest = min(column(rows, "eigenvalue_ratio"))
    outcome = "are positive semi-definite up to rounding" if lowest > -1e-9 else "are NOT all positive semi-definite"
    return f"The sketched matrices {outcome}: the smallest eigenvalue over the largest is {lowest:.1e} or more."


def _per_cent(share: float) -> str:
    return "0" if share < _ROUNDING else f"{100 * share:.3g} %"


_SHOWN = ("data", "sketch", "merge_nodes", "sketch_features", "rate", "blocks", "error", "normalized_error", "accuracy")
STUDY = Study("kernel-error", _cells, _measure, _draw, _verdict, _SHOWN, size=(13.0, 11.0), takes_data=True)
