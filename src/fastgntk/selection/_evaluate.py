"""How well does the kernel classify? Two protocols, described in :func:`evaluate`.

No information flows from test to training through the kernel: its value for a pair depends on that pair alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import Memory, Workers, worker_count
from fastgntk.errors import InputError
from fastgntk.graphs import FeatureKind, GraphBatch, as_graphs
from fastgntk.models import Split, check_classes, score_splits
from fastgntk.pairwise import gram_path, normalize
from fastgntk.selection._folds import inner_splits, outer_splits
from fastgntk.selection._grid import Candidate, Grid
from fastgntk.sketch import Sketching, SketchKind

__all__ = ["Choice", "Evaluation", "Protocol", "Record", "StageProgress", "evaluate"]

Protocol = Literal["nested", "du2019"]

StageProgress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total) with stage "kernel" or "learning"."""


@dataclass(frozen=True)
class Choice:
    """The options chosen for one outer fold."""

    blocks: int
    layers: int
    scale: str
    jump: bool
    normalize: bool
    C: float
    edges: str = "plain"


@dataclass(frozen=True, eq=False)
class Record:
    """What an evaluation saw on its way, for reports: enough to fit the machine of each outer fold again."""

    folds: tuple[Split, ...]
    """Training and test graphs of each outer fold."""
    candidates: tuple[Candidate, ...]
    selection: NDArray[np.float64]
    """Mean score of each candidate and C, shape (candidates, C): over the inner folds of all outer folds, or under
    du2019 over the folds reported."""
    engines: tuple[str, ...]
    """What computed each of ``grid.paths()``; engines agree to 1e-8, which may decide a support vector."""
    features: FeatureKind
    inner_folds: int
    seed: int


@dataclass(frozen=True)
class Evaluation:
    """The outcome of :func:`evaluate`."""

    protocol: Protocol
    accuracies: tuple[float, ...]
    """Share of graphs classified right, for each outer fold."""
    choices: tuple[Choice, ...]
    """One for each outer fold; under du2019 all the same."""
    grid: Grid
    n_graphs: int
    n_classes: int
    engine: str
    kernel_seconds: float
    learning_seconds: float
    fits: int
    fits_stopped: int
    """How many support vector machines were stopped before they converged."""
    sketching: dict[str, Any] | None = None
    """The sketch, where the kernel was sketched."""
    record: Record | None = None
    """What else is needed to fit the machines of the folds again; not in :meth:`to_dict`."""

    @property
    def mean(self) -> float:
        """Mean accuracy over the folds."""
        return float(np.mean(self.accuracies))

    @property
    def std(self) -> float:
        """Standard deviation of the accuracy over the folds."""
        return float(np.std(self.accuracies))

    @property
    def optimistic(self) -> bool:
        """Whether the reported folds were also used for selection."""
        return self.protocol == "du2019"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values, for JSON."""
        out = {k: v for k, v in self.__dict__.items() if k not in ("grid", "choices", "accuracies", "record")}
        return out | {
            "accuracy_mean": self.mean,
            "accuracy_std": self.std,
            "optimistic": self.optimistic,
            "accuracies": list(self.accuracies),
            "choices": [asdict(c) for c in self.choices],
            "grid": self.grid.to_dict(),
        }


def evaluate(
    source: Any,
    y: Any = None,
    *,
    protocol: Protocol = "nested",
    grid: Grid | None = None,
    folds: int | Sequence[int] | NDArray[Any] = 10,
    inner_folds: int = 5,
    seed: int = 0,
    features: FeatureKind = "auto",
    engine: str = "auto",
    memory: Memory = None,
    workers: Workers = None,
    progress: StageProgress | None = None,
    **sketching: Unpack[SketchKind],
) -> Evaluation:
    """Cross-validate a support vector machine on the kernel, options chosen from a grid.

    Parameters
    ----------
    source : data set, or anything that :func:`fastgntk.as_graphs` accepts
    y : classes, one for each graph; taken from the data set if left out
    protocol : {"nested", "du2019"}
        ``"nested"`` chooses every option by cross-validation within the training part of each outer fold; the test
        fold is used once, for the number reported. ``"du2019"`` chooses options to maximise the mean over the very
        folds that are reported, the way the published GNTK figures were made: optimistic by construction.
    grid : Grid, optional
        Options to try; ``Grid.default(n)`` if left out.
    folds : int or sequence of int
        Number of outer folds, or the fold number of each graph.
    inner_folds : int
        Folds for selection within each training part (nested only).
    seed : int
        Seed of the folds, and of sketches.
    features, engine, memory, workers
        As in :func:`fastgntk.gram`.
    **sketching
        For ``engine="sketched"``: sketch, sketch_size, fresh_each_block, merge_nodes and sketch_features, as there.
    progress : callable, optional
        Called as ``progress(stage, done, total)`` with stage ``"kernel"`` or ``"learning"``.

    Notes
    -----
    C is in units of the kernel's variance: before a machine is fitted, the kernel is divided by
    ``K.diagonal().mean() - K.mean()`` of the training graphs, so that the same C means the same for every kernel.
    docs/evaluate.md shows how to fit a model with the options chosen.

    Examples
    --------
    >>> import fastgntk as fg
    >>> from fastgntk.selection import Grid, evaluate
    >>> small = Grid(blocks=(1,), layers=(1,), scale=("uniform",), jump=(True,), normalize=(True,), C=(10.0, 100.0))
    >>> result = evaluate(fg.datasets.load("MUTAG"), grid=small, folds=3, workers=1)
    >>> len(result.accuracies), result.mean > 0.7
    (3, True)
    """
    if protocol not in get_args(Protocol):
        raise InputError(f"protocol must be one of {', '.join(get_args(Protocol))}, but is {protocol!r}.")
    batch = as_graphs(source)
    labels = check_classes(getattr(source, "y", None) if y is None else y, len(batch))
    outer = outer_splits(labels, folds, seed)
    inner = inner_splits(labels, outer, inner_folds, seed) if protocol == "nested" else []
    grid = Grid.default(len(batch)) if grid is None else grid
    splits = outer + [split for group in inner for split in group]

    kernel_options: dict[str, Any] = {"features": features, "engine": engine, "memory": memory, **sketching}
    chosen = None
    if engine == "sketched":
        kernel_options["seed"] = seed
        chosen = Sketching.from_options({**sketching, "seed": seed})
    run = _Run(batch, labels, splits, grid, kernel_options, worker_count(workers), progress)
    candidates, scores = run.scores()
    n_outer = len(outer)
    tested = scores[:, :n_outer].transpose(1, 0, 2).reshape(n_outer, -1)  # outer fold × (candidate, C)
    if protocol == "nested":
        selection = scores[:, n_outer:].reshape(len(candidates), n_outer, inner_folds, len(grid.C))
        ranking = selection.mean(axis=2).transpose(1, 0, 2).reshape(n_outer, -1)
    else:
        ranking = np.broadcast_to(tested.mean(axis=0), tested.shape)
    picked = ranking.argmax(axis=1)
    record = Record(
        folds=tuple(outer),
        candidates=tuple(candidates),
        selection=ranking.mean(axis=0).reshape(len(candidates), len(grid.C)),
        engines=tuple(run.engines),
        features=features,
        inner_folds=inner_folds,
        seed=seed,
    )
    return Evaluation(
        protocol=protocol,
        accuracies=tuple(float(tested[k, best]) for k, best in enumerate(picked)),
        choices=tuple(_choice(candidates[best // len(grid.C)], grid.C[best % len(grid.C)]) for best in picked),
        grid=grid,
        n_graphs=len(batch),
        n_classes=len(np.unique(labels)),
        engine=run.engine,
        kernel_seconds=run.kernel_seconds,
        learning_seconds=run.learning_seconds,
        fits=scores.size,
        fits_stopped=run.fits_stopped,
        sketching=chosen.to_dict() if chosen is not None and run.engine == "sketched" else None,
        record=record,
    )


def _choice(candidate: Candidate, C: float) -> Choice:
    spec = candidate.spec
    return Choice(spec.blocks, spec.layers, spec.scale, bool(spec.jump), candidate.normalize, C, spec.edges)


class _Run:
    """Compute kernels path by path and score each on all splits, so that few matrices exist at a time."""

    def __init__(
        self,
        batch: GraphBatch,
        y: NDArray[Any],
        splits: list[Split],
        grid: Grid,
        kernel_options: dict[str, Any],
        workers: int,
        progress: StageProgress | None,
    ) -> None:
        self.batch, self.y, self.splits, self.grid = batch, y, splits, grid
        self.kernel_options = {**kernel_options, "workers": workers}
        self.workers, self.progress = workers, progress
        self.engines: list[str] = []
        self.kernel_seconds = self.learning_seconds = 0.0
        self.fits_stopped = 0

    @property
    def engine(self) -> str:
        """What computed the last path."""
        return self.engines[-1]

    def scores(self) -> tuple[list[Candidate], NDArray[np.float64]]:
        """Return the kernels tried and their accuracies, shape (kernels, splits, C)."""
        from joblib import Parallel, delayed

        candidates: list[Candidate] = []
        scores: list[NDArray[np.float64]] = []
        paths = self.grid.paths()
        # Processes: what scikit-learn does around libsvm holds the interpreter lock.
        with Parallel(n_jobs=self.workers, return_as="generator") as parallel:
            for number, spec in enumerate(paths):
                start = time.perf_counter()
                path = gram_path(
                    self.batch,
                    spec,
                    progress=self._stage("kernel", number, len(paths)),
                    **self.kernel_options,
                )
                middle = time.perf_counter()
                self.engines.append(path.engine)
                along = list(self.grid.along(spec))
                tasks = (
                    delayed(score_splits)(
                        _matrix(path.at(c.spec.blocks, c.spec.jump), c), self.y, self.splits, self.grid.C
                    )
                    for c in along
                )
                report = self._stage("learning", number, len(paths))
                for done, (accuracies, stopped) in enumerate(parallel(tasks), start=1):
                    scores.append(accuracies)
                    self.fits_stopped += stopped
                    if report:
                        report(done, len(along))
                candidates += along
                self.kernel_seconds += middle - start
                self.learning_seconds += time.perf_counter() - middle
        return candidates, np.stack(scores)

    def _stage(self, stage: str, number: int, paths: int) -> Callable[[int, int], None] | None:
        """Return a progress callback for the share of one path in the whole."""
        progress = self.progress
        if progress is None:
            return None
        return lambda done, total: progress(stage, number * total + done, paths * total)


def _matrix(kernel: NDArray[np.float64], candidate: Candidate) -> NDArray[np.float64]:
    return normalize(kernel) if candidate.normalize else kernel
