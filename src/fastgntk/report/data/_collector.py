"""Report data under construction: what evaluation and training have in common."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Bools
from fastgntk._util.threads import Progress
from fastgntk._version import __version__
from fastgntk.kernels import GNTK, Kernel, Normalized
from fastgntk.pairwise import PreparedGraphs, describe
from fastgntk.pairwise.store import fingerprint
from fastgntk.report._schema import Bin, Kind, ReportData, Score
from fastgntk.report.data._graphs import Source, graph_data
from fastgntk.report.data._heat_map import Ordered, heat_map
from fastgntk.report.data._maps import neighbour_map, principal_map, spectrum
from fastgntk.report.data._metrics import single_gntk
from fastgntk.report.data._speed import compression, speed
from fastgntk.report.data._warnings import baseline_warnings, calibration_warnings, equality_warnings, rank_warnings
from fastgntk.selection import OutOfFold

__all__ = ["BASELINES", "KERNEL", "PREDICTIONS", "Collector", "Stages", "format_candidates", "format_options"]


PREDICTIONS, KERNEL, BASELINES = "out-of-fold predictions", "kernel", "baselines"
_MAPS, _CONTRIBUTIONS = "maps", "node contributions"
_VARIED = ("blocks", "layers", "scale", "jump", "edges")  # options that a grid varies
_FIXED = {name: getattr(GNTK(), name) for name in ("c_phi", "features", "sketch")}  # shown unless at their default
_WEIGHTS = {PREDICTIONS: 4, KERNEL: 2, _MAPS: 3, BASELINES: 2, _CONTRIBUTIONS: 5}  # parts of the progress


class Stages:
    """Measure the time of stages, and report their progress."""

    def __init__(self, progress: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress
        self._done = 0

    @contextmanager
    def stage(self, name: str) -> Iterator[Callable[[int, int], None]]:
        """Yield a ``progress(done, total)`` of one stage, and record its time."""
        weight, whole, start = _WEIGHTS[name], sum(_WEIGHTS.values()), time.perf_counter()

        def progress(done: int, total: int) -> None:
            if self._progress is not None:
                self._progress(round(1000 * (self._done + weight * done / max(total, 1)) / whole), 1000)

        progress(0, 1)
        yield progress
        progress(1, 1)
        self._done += weight
        self.seconds[name] = time.perf_counter() - start


@dataclass(eq=False)
class Collector:
    """The report data, and what is needed to extend it: the graphs, prepared for the kernel that is shown."""

    source: Source
    stages: Stages
    prepared: PreparedGraphs

    def __post_init__(self) -> None:
        self.leaf = max(self.prepared.leaves.values(), key=lambda leaf: leaf.kernel.blocks)  # the deepest
        self.warnings: list[str] = []
        self.report = ReportData(title=self.source.name, warnings=self.warnings, maps=[])

    def add_kernel(self, cosine: Array | None, seconds: float, ordered: Callable[[Array, Array], Ordered]) -> None:
        """Add heat map and maps of the cosines (n, n), if there are any, then distinct nodes and speed.

        ``ordered(cosine, axis)`` orders the graphs of the heat map; ``axis`` is the first principal component.
        ``seconds`` is the time of the kernel matrix, 0 if it was not computed.
        """
        with self.stages.stage(_MAPS):
            if cosine is not None:
                found = spectrum(cosine)
                self.report["heat_map"] = heat_map(cosine, ordered(cosine, found.coordinates[:, 0]))
                maps = (principal_map(found), neighbour_map(cosine, found))
                self.report["maps"] = [one for one in maps if one is not None]
                self.warnings += rank_warnings(found, len(cosine))
            if merged := compression(self.leaf):
                self.report["compression"] = merged
            gntk, threads = single_gntk(self.prepared.kernel), self.prepared.compute.threads
            # The baseline computes one exact tangent kernel.
            if seconds and gntk and gntk.sketch is None and (compared := speed(self.leaf, seconds, threads)):
                self.report["speed"] = compared

    def add_score(self, score: Score, y: NDArray[Any]) -> None:
        """Add the score, and warn if baselines reach it or equal graphs bound it."""
        self.report["score"] = score
        self.warnings += baseline_warnings(score)
        kinds = {step.kind_ for step in self.prepared.features.values()}
        if len(kinds) > 1:  # graphs that are equal in one kind of features may differ in another
            return
        equal = describe(self.source.batch, y, features=self.leaf.kernel.features)
        typed = any(leaf.kernel.typed for leaf in self.prepared.leaves.values())
        self.warnings += equality_warnings(equal.equal_typed if typed else equal.equal, len(y))

    def add_calibration(self, bins: list[Bin], note: str) -> None:
        """Add a calibration plot, and warn of a large calibration error."""
        self.report["calibration"], self.report["calibration_note"] = bins, note
        self.warnings += calibration_warnings(bins)

    def add_graphs(self, out_of_fold: OutOfFold, truth: Any, predicted: Any, wrong: Bools) -> None:
        """Add the data of each graph, with drawings and node contributions; arguments as in `graph_data`."""
        with self.stages.stage(_CONTRIBUTIONS) as progress:
            compute = self.prepared.compute.watched(progress)
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
        times |= {f"report: {name}": seconds for name, seconds in self.stages.seconds.items()}
        self.report["stages"] = [(name, round(seconds, 3)) for name, seconds in times.items()]
        return self.report


def format_candidates(kernels: Sequence[Kernel]) -> str:
    """Format the kernels that were tried: the values of each option, or some kernels if they are combinations.

    >>> format_candidates([GNTK(1), GNTK(2), GNTK(2).normalized()])
    'blocks 1 2, layers 2, scale uniform, jump yes, edges plain, normalised no yes'
    >>> format_candidates([GNTK(1) + GNTK(2), 0.5 * GNTK(3)])
    'GNTK(blocks=1) + GNTK(blocks=2), 0.5 * GNTK()'
    """
    tangent = [kernel.kernel if isinstance(kernel, Normalized) else kernel for kernel in kernels]
    if not all(isinstance(kernel, GNTK) and isinstance(kernel.jump, bool) for kernel in tangent):
        more = f" and {len(kernels) - 5} more" if len(kernels) > 5 else ""
        return ", ".join(map(repr, kernels[:5])) + more
    values = {name: [getattr(kernel, name) for kernel in tangent] for name in (*_VARIED, *_FIXED)}
    values["normalised"] = [isinstance(kernel, Normalized) for kernel in kernels]
    distinct = {name: list(dict.fromkeys(some)) for name, some in values.items()}
    return format_options({k: some for k, some in distinct.items() if k not in _FIXED or some != [_FIXED[k]]})


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
        return " ".join(_format_value(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
