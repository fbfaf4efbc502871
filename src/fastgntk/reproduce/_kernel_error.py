"""Error of the sketched kernel against rate, depth and sketch, and its effect on accuracy. No paper shows this.

A sketch of rate r has ⌈rN⌉ rows for a graph of N nodes. The error is relative in Frobenius norm over the whole Gram
matrix, ‖K̃ − K‖ / ‖K‖, before and after cosine normalisation, which removes the error in the norm of each graph.
Accuracy is that of a support vector machine on the normalised kernel with one fixed C on ten folds, the same for the
exact and the sketched kernel; nothing is selected.

There are three variants: a sketch of distinct nodes, of all nodes, and, as in the paper, of all nodes and the features.
Each graph has its own sketch, so that a Gram matrix averages over many sketches. Means are over seeds, and the standard
deviations over seeds are recorded beside them: differences of accuracy are often within that noise.
"""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from statistics import geometric_mean, mean, median, stdev
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
from fastgntk.reproduce._figures import SKETCH_STYLES, Axes, Figure, Row, column, distinct, matching
from fastgntk.reproduce._study import Cell, Study, StudyOptions
from fastgntk.sketch import SKETCHES, Sketch

__all__ = ["STUDY", "relative_error"]


_KERNEL = GNTK(blocks=3, layers=2, scale="degree", jump=True)
_DEPTHS = tuple(range(1, _KERNEL.blocks + 1))
_DATA = ("MUTAG", "PTC", "IMDB-BINARY", "PROTEINS", "dense-200")
# Large dense random graphs, the intended use of sketching: number of graphs, nodes, and densities of the classes, six
# standard deviations apart: the exact kernel separates the classes, and a bad approximation does not.
_DENSE = {"dense-200": (24, 200, (0.44, 0.46)), "dense-60": (20, 60, (0.41, 0.48))}
_GRAPHS, _QUICK_GRAPHS = 120, 60  # graphs of each set, for a study of minutes: time grows with the square
_SEEDS, _QUICK_SEEDS, _FOLDS = 4, 2, 10
_C = 10.0  # in units of variance, as in `evaluate`; the best for the exact kernel on most of the sets
_SMALL, _ROUNDING = 0.1, 1e-7  # a small error, and that of an exact computation
_LOWEST_SHOWN = 1e-3  # lower end of the plots; exact results would otherwise need 16 decades


class _Variant(NamedTuple):
    """What is sketched, and its style in the figure."""

    label: str
    cell: Cell
    line: dict[str, Any]


_HOLLOW = {"markerfacecolor": "white"}
_MERGED = _Variant("distinct nodes", {"merge_nodes": True, "sketch_features": False}, {"linestyle": "-"})
_ALL = _Variant("all nodes", {"merge_nodes": False, "sketch_features": False}, {"linestyle": "--", **_HOLLOW})
_PAPER = _Variant(
    "all nodes and features", {"merge_nodes": False, "sketch_features": True}, {"linestyle": ":", **_HOLLOW}
)
_VARIANTS = (_MERGED, _ALL, _PAPER)


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
        {"data": name, "sketch": sketch, **variant.cell, "rate": rate}
        for name in options.data_sets(_DATA, quick=("MUTAG", "dense-60"), generated=_DENSE)
        for sketch in (("ams", "countsketch") if options.quick else SKETCHES)
        for variant in _VARIANTS
        for rate in ((0.3, 0.9) if options.quick else (0.1, 0.3, 0.5, 0.7, 0.9))
    ]


def _measure(cell: Cell, options: StudyOptions) -> Iterator[Row]:
    from joblib import Parallel, delayed

    exact = _prepare_exact(cell["data"], options.quick, options.seed, options.workers)
    seeds = _QUICK_SEEDS if options.quick else _SEEDS
    # Processes, because threads contend for the interpreter lock on small graphs.
    paths: list[GramPath] = Parallel(n_jobs=min(options.workers, seeds))(
        delayed(_compute_sketched_path)(exact.graphs, cell, seeds * options.seed + run) for run in range(seeds)
    )
    for blocks in _DEPTHS:
        K, sketched = exact.path.at(blocks=blocks), [path.at(blocks=blocks) for path in paths]
        errors = [relative_error(S, K) for S in sketched]
        deepest = blocks == _KERNEL.blocks
        accuracies = [_cross_validate(S, exact.y, exact.folds) for S in sketched] if deepest else []
        yield {
            "blocks": blocks,
            "graphs": len(exact.graphs),
            "nodes": float(exact.graphs.sizes.mean()),
            "seeds": seeds,
            "error": mean(errors),
            "error_std": stdev(errors),
            "normalized_error": mean(relative_error(normalize(S), normalize(K)) for S in sketched),
            # If the smallest eigenvalue over the largest is below 0 by more than rounding, it is no kernel.
            "eigenvalue_ratio": min(float(values[0] / values[-1]) for values in map(np.linalg.eigvalsh, sketched)),
            "accuracy": mean(accuracies) if deepest else None,
            "accuracy_std": stdev(accuracies) if deepest else None,
            "exact_accuracy": exact.accuracy if deepest else None,
            "largest_class": exact.majority if deepest else None,
        }


def _compute_sketched_path(graphs: GraphBatch, cell: Cell, seed: int) -> GramPath:
    variant = {name: cell[name] for name in _MERGED.cell}
    sketch = Sketch(cell["sketch"], size=cell["rate"], seed=seed, **variant)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSketchedWarning)  # small graphs are exact at high rates: a result
        return gram_path(graphs, replace(_KERNEL, sketch=sketch), compute=Compute(n_jobs=1))


def relative_error(approximate: Array, exact: Array) -> float:
    """Return ‖K̃ − K‖ / ‖K‖ in Frobenius norm.

    >>> relative_error(np.array([[3.0, 0.0], [4.0, 1.0]]), np.array([[0.0, 0.0], [4.0, 1.0]])) ** 2
    0.5294117647058824
    """
    return float(np.linalg.norm(approximate - exact) / np.linalg.norm(exact))


def _cross_validate(K: Array, y: Ints, folds: list[Split]) -> float:
    """Return the mean accuracy of the normalised kernel over the folds, in per cent."""
    scores, _ = score_splits(normalize(K), y, folds, (_C,))
    return 100.0 * float(scores.mean())


@lru_cache(maxsize=1)  # cells are sorted by data set
def _prepare_exact(name: str, quick: bool, seed: int, workers: int) -> _Exact:
    data = _load_sample(name, _QUICK_GRAPHS if quick else _GRAPHS, seed)
    y = check_classes(data.y, len(data))
    folds = stratified_folds(y, _FOLDS, seed)
    path = gram_path(data.graphs, _KERNEL, compute=Compute(n_jobs=workers))
    majority = 100.0 * float(np.unique(y, return_counts=True)[1].max() / len(y))
    return _Exact(data.graphs, y, folds, path, _cross_validate(path.at(), y, folds), majority)


def _load_sample(name: str, max_graphs: int, seed: int) -> Dataset:
    """Load or generate a data set; keep at most ``max_graphs``, drawn at random with classes in proportion."""
    from sklearn.model_selection import train_test_split

    if name in _DENSE:
        return synthetic.erdos_renyi(*_DENSE[name], random_state=seed)
    data = load(name)
    if len(data) <= max_graphs:
        return data
    y = check_classes(data.y, len(data))
    rare = int(np.unique(y, return_counts=True)[1].min() * max_graphs // len(data))
    if rare < _FOLDS:
        raise InputError(
            f"of {max_graphs} graphs of {name} only {rare} would be of its rarest class, fewer than the {_FOLDS} "
            "folds; leave this set or that class out."
        )
    chosen, _ = train_test_split(np.arange(len(data)), train_size=max_graphs, stratify=y, random_state=seed)
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
    _draw_legend(figure, distinct(rows, "sketch"))


def _draw_lines(panel: Axes, rows: list[Row], x: str, y: str) -> None:
    """Draw one line for each sketch and variant."""
    for variant in reversed(_VARIANTS):  # the best on top
        for sketch in distinct(rows, "sketch"):
            line = matching(rows, sketch=sketch, **variant.cell)
            values = np.maximum(column(line, y), _LOWEST_SHOWN)
            panel.plot(column(line, x), values, linewidth=1.2, **variant.line, **SKETCH_STYLES[sketch])


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

    entries = {sketch: style for sketch, style in SKETCH_STYLES.items() if sketch in sketches}
    entries |= {variant.label: variant.line | {"color": "#666666", "marker": "o"} for variant in _VARIANTS}
    entries |= {"exact kernel": {"color": "black", "linewidth": 1}}
    entries |= {"largest class": {"color": "black", "linewidth": 1, "linestyle": "-."}}
    lines = [Line2D([], [], label=label, **style) for label, style in entries.items()]
    figure.legend(handles=lines, loc="outside lower center", ncols=len(lines))


def _verdict(rows: list[Row]) -> list[str]:
    deepest = matching(rows, blocks=_KERNEL.blocks)
    at_rates = [(rate, matching(deepest, rate=rate)) for rate in (0.3, 0.5)]
    return [
        *(_list_small_errors(name, matching(deepest, data=name)) for name in distinct(rows, "data")),
        *(_compare_accuracies(rate, rows_of_rate) for rate, rows_of_rate in at_rates if rows_of_rate),
        _compare_variants(deepest, _MERGED, _ALL),
        _compare_variants(deepest, _ALL, _PAPER),
        _rank_sketches(deepest),
        _compare_depths(rows),
        _check_definiteness(rows),
    ]


def _list_small_errors(name: str, rows: list[Row]) -> str:
    parts = []
    for variant in _VARIANTS:
        ranges = []
        for error in ("error", "normalized_error"):
            lowest = min(matching(rows, **variant.cell), key=lambda row: row[error])
            rates = [row["rate"] for row in matching(rows, **variant.cell) if row[error] < _SMALL]
            nowhere = f"at no rate (least {_format_per_cent(lowest[error])}, {lowest['sketch']} at {lowest['rate']:g})"
            ranges.append(f"from rate {min(rates):g} on" if rates else nowhere)
        parts.append(f"{variant.label} {ranges[0]}, normalised {ranges[1]}")
    return f"{name}: an error under {_format_per_cent(_SMALL)} with some sketch of {'; of '.join(parts)}."


def _compare_accuracies(rate: float, rows: list[Row]) -> str:
    parts = []
    for name in distinct(rows, "data"):
        first = matching(rows, data=name)[0]
        exact, largest = first["exact_accuracy"], first["largest_class"]
        cells = [matching(rows, data=name, **variant.cell) for variant in _VARIANTS]
        points = ", ".join(f"{mean(column(c, 'accuracy')) - exact:+.1f} ± {_standard_error(c):.1f}" for c in cells)
        parts.append(f"{name} {points} (exact {exact:.1f}, largest class {largest:.1f})")
    return (
        f"Change of accuracy in points at rate {rate:g}, mean of the sketches ± its standard error over seeds, with "
        f"{', '.join(variant.label for variant in _VARIANTS)}: {'; '.join(parts)}."
    )


def _standard_error(rows: list[Row]) -> float:
    """Return the standard error of the mean accuracy of all sketches, from the standard deviations over seeds."""
    return float(np.sqrt(sum(row["accuracy_std"] ** 2 / row["seeds"] for row in rows)) / len(rows))


def _compare_variants(rows: list[Row], better: _Variant, worse: _Variant) -> str:
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
        f"With {better.label} the error is lower than with {worse.label} in {lower} of {len(pairs)} cases and higher "
        f"in {higher}, normalised {lower_normalized} and {higher_normalized}; zero in {exact} of them{factor}."
    )


def _rank_sketches(rows: list[Row]) -> str:
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
    ranking = ", ".join(f"{sketch} {value:.2f}" for value, sketch in means)
    return f"The best sketch is {means[0][1]}; error over the mean of all sketches: {ranking}."


def _compare_depths(rows: list[Row]) -> str:
    parts = []
    for variant in _VARIANTS:
        medians = [median(column(matching(rows, blocks=blocks, **variant.cell), "error")) for blocks in _DEPTHS]
        parts.append(f"{variant.label} {', '.join(map(_format_per_cent, medians))}")
    return f"Median error of all cases with {', '.join(map(str, _DEPTHS))} blocks: {'; '.join(parts)}."


def _check_definiteness(rows: list[Row]) -> str:
    lowest = min(column(rows, "eigenvalue_ratio"))
    outcome = "are positive semi-definite up to rounding" if lowest > -1e-9 else "are NOT all positive semi-definite"
    return f"The sketched matrices {outcome}: the smallest eigenvalue over the largest is {lowest:.1e} or more."


def _format_per_cent(fraction: float) -> str:
    return "0" if fraction < _ROUNDING else f"{100 * fraction:.3g} %"


_SHOWN = ("data", "sketch", "merge_nodes", "sketch_features", "rate", "blocks", "error", "normalized_error", "accuracy")
STUDY = Study("kernel-error", _cells, _measure, _draw, _verdict, _SHOWN, size=(13.0, 11.0), takes_data=True)
