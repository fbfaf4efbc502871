"""Report data under construction: what evaluation and training have in common."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Bools, Ints
from fastgntk._util.threads import Progress
from fastgntk._version import __version__
from fastgntk.graphs import EqualGraphs
from fastgntk.kernels import GNTK, Kernel, Normalized
from fastgntk.models import Split
from fastgntk.pairwise import PreparedGraphs, describe
from fastgntk.pairwise.store import fingerprint
from fastgntk.report._schema import Bin, Kind, ReportData, Score
from fastgntk.report.data import _kernel_matrix, _scores
from fastgntk.report.data._graphs import Source, graph_data
from fastgntk.report.data._kernel_matrix import Ordering
from fastgntk.report.data._scores import percent
from fastgntk.selection import OutOfFold, count_families

__all__ = ["Collector", "StageTimer", "format_candidates", "format_options"]

# Stages, and their parts of the progress.
_STAGES = {"out-of-fold predictions": 4, "kernel": 2, "maps": 3, "baselines": 2, "node contributions": 5}
_MIN_MEMBERS = 10  # graphs of a class
_MAX_LISTED = 5  # kernels that are listed one by one
_VARIED = ("blocks", "layers", "scale", "jump", "edges")  # options that a grid varies
# Shown unless at their default.
_DEFAULTS = {
    name: getattr(GNTK(), name)
    for name in ("c_phi", "features", "sketch", "self_weight", "pool", "activation", "residual")
}


class StageTimer:
    """Measure the time of stages, and report their progress."""

    def __init__(self, progress: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress
        self._done = 0

    @contextmanager
    def time(self, stage: str) -> Iterator[Callable[[int, int], None]]:
        """Yield a ``progress(done, total)`` of one stage, and record its time."""
        weight, total_weight, start = _STAGES[stage], sum(_STAGES.values()), time.perf_counter()

        def progress(done: int, total: int) -> None:
            if self._progress is not None:
                self._progress(round(1000 * (self._done + weight * done / max(total, 1)) / total_weight), 1000)

        progress(0, 1)
        yield progress
        progress(1, 1)
        self._done += weight
        self.seconds[stage] = time.perf_counter() - start


@dataclass(eq=False)
class Collector:
    """The report data, and what is needed to extend it: the graphs, prepared for the kernel that is shown."""

    source: Source
    timer: StageTimer
    prepared: PreparedGraphs

    def __post_init__(self) -> None:
        self.deepest = max(self.prepared.graphs_by_leaf.values(), key=lambda graphs: graphs.leaf.depth)
        self.warnings: list[str] = []
        self.report = ReportData(title=self.source.name, warnings=self.warnings, maps=[])

    def add_kernel(self, cosine: Array | None, seconds: float, order: Callable[[Array, Array], Ordering]) -> None:
        """Add heat map and maps of the cosines (n, n), if there are any, then distinct nodes and speed.

        ``order(cosine, axis)`` orders the graphs of the heat map; ``axis`` is the first principal component.
        ``seconds`` is the time of the kernel matrix, 0 if it was not computed.
        """
        with self.timer.time("maps"):
            if cosine is not None:
                spectrum = _kernel_matrix.compute_spectrum(cosine)
                ordering = order(cosine, spectrum.coordinates[:, 0])
                self.report["heat_map"] = _kernel_matrix.make_heat_map(cosine, ordering)
                maps = (_kernel_matrix.principal_map(spectrum), _kernel_matrix.neighbour_map(cosine, spectrum))
                self.report["maps"] = [each for each in maps if each is not None]
                self.warnings += _kernel_matrix.rank_warnings(spectrum, len(cosine))
            if compression := _kernel_matrix.count_distinct_nodes(self.deepest):
                self.report["compression"] = compression
            gntk, threads = _scores.single_gntk(self.prepared.kernel), self.prepared.compute.threads
            # The baseline computes one exact tangent kernel.
            is_exact = gntk is not None and gntk.sketch is None
            if seconds and is_exact and (speed := _kernel_matrix.measure_speed(self.deepest, seconds, threads)):
                self.report["speed"] = speed

    def add_classification(
        self,
        kernel: tuple[Array | None, float],
        class_ids: Ints,
        classes: list[str],
        splits: Sequence[Split],
        out_of_fold: OutOfFold,
        accuracy: tuple[float, Sequence[float]],
        protocol: str,
    ) -> None:
        """Add everything that follows from the out-of-fold predictions of n graphs.

        ``kernel`` are the cosines and the time they took, ``class_ids`` (n,) the true classes, ``splits`` the folds on
        which baselines are measured. ``accuracy`` is the mean and that of each fold, without folds for leave-one-out.
        """
        report, predicted, (mean, folds) = self.report, out_of_fold.predicted, accuracy
        self.add_kernel(*kernel, lambda cosine, axis: _kernel_matrix.order_by_class(cosine, axis, class_ids, classes))
        with self.timer.time("baselines"):
            baselines = _scores.published_baselines(self.source.name)
            baselines += _scores.classification_baselines(self.source.batch, class_ids, splits)
        score = Score(
            name="accuracy",
            unit="%",
            mean=percent(mean),
            folds=[percent(each) for each in folds],
            lower_is_better=False,
            baselines=baselines,
            protocol=protocol,
        )
        text = f"{score['mean']:.1f} % of unseen graphs were assigned to the right one of {len(classes)} classes"
        if len(folds):
            score["std"] = percent(float(np.std(folds)))
            text += f" (± {score['std']:.1f} between folds)"
        report["summary"] = f"{text}.{_scores.baseline_text(score)}"
        self.add_score(score, class_ids)
        self.warnings += _class_warnings(class_ids, classes, len(splits))
        confusion = np.zeros((len(classes), len(classes)), dtype=np.int64)
        np.add.at(confusion, (class_ids, predicted), 1)
        report["classes"], report["confusion"] = classes, confusion.tolist()
        if out_of_fold.probabilities is not None:
            self.add_calibration(*_scores.class_calibration(out_of_fold.probabilities, class_ids, classes))
        self.add_graphs(out_of_fold, class_ids.tolist(), predicted.tolist(), predicted != class_ids)

    def add_score(self, score: Score, y: NDArray[Any]) -> None:
        """Add the score, and warn if baselines reach it or equal graphs bound it."""
        self.report["score"] = score
        self.warnings += _scores.baseline_warnings(score)
        kinds = {step.kind_ for step in self.prepared.features.values()}
        if len(kinds) > 1:  # graphs that are equal in one kind of features may differ in another
            return
        leaves = [graphs.leaf for graphs in self.prepared.graphs_by_leaf.values()]
        typed, uses_node_scale = (
            any(leaf.uses_edge_labels for leaf in leaves),
            any(leaf.uses_node_scale for leaf in leaves),
        )
        batch = self.source.batch if uses_node_scale else self.source.batch.with_node_scale(None)
        description = describe(batch, y, features=self.deepest.leaf.features or "auto")
        self.warnings += _equality_warnings(description.equal_typed if typed else description.equal, len(y))

    def add_calibration(self, bins: list[Bin], note: str) -> None:
        """Add a calibration plot, and warn of a large calibration error."""
        self.report["calibration"], self.report["calibration_note"] = bins, note
        self.warnings += _scores.calibration_warnings(bins)

    def add_graphs(self, out_of_fold: OutOfFold, truth: Any, predicted: Any, wrong: Bools) -> None:
        """Add the data of each graph, with drawings and node contributions; arguments as in `graph_data`."""
        with self.timer.time("node contributions") as progress:
            compute = self.prepared.compute.with_progress(progress)
            graphs, labels, omitted = graph_data(self.source, out_of_fold, truth, predicted, wrong, compute=compute)
        self.report["graphs"], self.report["node_labels"] = graphs, labels
        self.warnings += omitted

    def finish(self, kind: Kind, command: str, options: list[tuple[str, str]], times: dict[str, float]) -> ReportData:
        """Add command, options and times, and return the report data; ``times`` are those of the run itself."""
        batch, skipped = self.source.batch, self.source.skipped
        if skipped:
            rows = "row was" if skipped == 1 else "rows were"
            self.warnings.append(f"{skipped:,} {rows} skipped, because RDKit cannot read the SMILES.")
        self.report["kind"], self.report["command"] = kind, command
        self.report["run"] = [
            ("data", f"{self.source.name}: {len(batch):,} graphs, {batch.n_nodes:,} nodes"),
            ("fingerprint of the data", fingerprint(self.prepared)[:16]),
            *options,
            ("node features", " and ".join(dict.fromkeys(step.kind_ for step in self.prepared.features.values()))),
            ("engine", " and ".join(dict.fromkeys(self.prepared.engines))),
            ("version", f"fastgntk {__version__}"),
            ("date", datetime.now().astimezone().isoformat(timespec="seconds")),
        ]
        times |= {f"report: {name}": seconds for name, seconds in self.timer.seconds.items()}
        self.report["stages"] = [(name, round(seconds, 3)) for name, seconds in times.items()]
        return self.report


def _equality_warnings(equal: EqualGraphs | None, n: int) -> list[str]:
    """Warn of graphs that message passing cannot distinguish but whose targets differ."""
    if equal is None or not equal.contradictory:
        return []
    graphs = f"{equal.contradictory:,} of {n:,} graphs look exactly like another one with a different"
    reason = "no message-passing method of any depth can distinguish them"
    if equal.best_accuracy is not None:
        return [f"{graphs} class; {reason}. The accuracy on these graphs is at most {100 * equal.best_accuracy:.1f} %."]
    error = equal.least_error[0] if equal.least_error else 0.0
    return [f"{graphs} target; {reason}. The error on these graphs is at least {error:.3g}."]


def _class_warnings(class_ids: Ints, classes: Sequence[str], folds: int) -> list[str]:
    """Warn of classes with too few members."""
    counts = np.bincount(class_ids, minlength=len(classes))
    minimum = max(_MIN_MEMBERS, folds)
    small = [(name, int(count)) for name, count in zip(classes, counts, strict=True) if count < minimum]
    if not small:
        return []
    named = ", ".join(f"{name[:40]} ({count})" for name, count in small[:6])
    more = f" and {len(small) - 6} more" if len(small) > 6 else ""
    verb = "class has" if len(small) == 1 else "classes have"
    lack = f"fewer than {_MIN_MEMBERS} members" if folds <= _MIN_MEMBERS else f"fewer members than the {folds} folds"
    return [
        f"{len(small)} {verb} {lack}: {named}{more}. Results for so few graphs are uncertain, and some folds may have "
        "none of them."
    ]


def format_candidates(kernels: Sequence[Kernel]) -> str:
    """Format the kernels that were tried: the values of each option, or of combinations the kernels or their families.

    >>> format_candidates([GNTK(1), GNTK(2), GNTK(2).normalized()])
    'blocks 1 2, layers 2, scale uniform, jump yes, edges plain, normalised no yes'
    >>> format_candidates([GNTK(1) + GNTK(2), 0.5 * GNTK(3)])
    'GNTK(blocks=1) + GNTK(blocks=2), 0.5 * GNTK()'
    >>> format_candidates([GNTK(1), *(GNTK(b) + GNTK(2) for b in range(1, 9))])
    'GNTK + GNTK: 8, GNTK: 1'
    """
    tangent = [kernel.kernel if isinstance(kernel, Normalized) else kernel for kernel in kernels]
    if not all(isinstance(kernel, GNTK) and isinstance(kernel.jump, bool) for kernel in tangent):
        if len(kernels) > _MAX_LISTED:
            return ", ".join(f"{family}: {count:,}" for family, count in count_families(kernels))
        return ", ".join(map(repr, kernels))
    values = {name: [getattr(kernel, name) for kernel in tangent] for name in (*_VARIED, *_DEFAULTS)}
    values["normalised"] = [isinstance(kernel, Normalized) for kernel in kernels]
    distinct = {name: list(dict.fromkeys(column)) for name, column in values.items()}
    defaults = {name: [value] for name, value in _DEFAULTS.items()}
    return format_options({name: column for name, column in distinct.items() if column != defaults.get(name)})


def format_options(values: dict[str, Any]) -> str:
    """Format options as text.

    >>> format_options({"kernel": GNTK(2), "C": 10.0, "edges": ["plain", "typed"]})
    'kernel GNTK(blocks=2), C 10, edges plain typed'
    """
    return ", ".join(f"{name} {_format_value(value)}" for name, value in values.items())


def _format_value(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " ".join(_format_value(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
