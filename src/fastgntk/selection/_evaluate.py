"""Cross-validated accuracy, by one of two protocols.

No information flows from test to training through the kernel: its value for a pair depends on that pair alone.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import Kernel
from fastgntk.models import Split, check_classes, score_splits
from fastgntk.pairwise import Compute, check_compute
from fastgntk.selection._folds import inner_splits, outer_splits
from fastgntk.selection._grid import Candidates, Grid, check_candidates, check_engine_of, passes_of

__all__ = ["Choice", "Evaluation", "Protocol", "Record", "StageProgress", "evaluate"]

Protocol = Literal["nested", "du2019"]

StageProgress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total) with stage "kernel" or "learning"."""


@dataclass(frozen=True)
class Choice:
    """The kernel and the C chosen for one outer fold."""

    kernel: Kernel
    C: float


@dataclass(frozen=True, eq=False)
class Record:
    """The intermediate results of an evaluation, for reports: enough to fit the SVM of each outer fold again."""

    folds: tuple[Split, ...]
    """Training and test graphs of each outer fold."""
    kernels: tuple[Kernel, ...]
    C: tuple[float, ...]
    selection: Array
    """Mean score of each kernel and C, shape (kernels, C): over the inner folds of all outer folds, or under
    du2019 over the folds reported."""
    engines: tuple[str, ...]
    """What computed each kernel; engines agree to 1e-8, which may decide a support vector."""
    inner_folds: int
    seed: int


@dataclass(frozen=True)
class Evaluation:
    """The outcome of :func:`evaluate`."""

    protocol: Protocol
    accuracies: tuple[float, ...]
    """Accuracy of each outer fold."""
    choices: tuple[Choice, ...]
    """One for each outer fold; under du2019 all the same."""
    n_graphs: int
    n_classes: int
    engine: str
    kernel_seconds: float
    learning_seconds: float
    fits: int
    fits_stopped: int
    """How many support vector machines were stopped before they converged."""
    record: Record
    """What else is needed to fit the SVMs of the folds again; not in :meth:`to_dict`."""

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
        out = {k: v for k, v in self.__dict__.items() if k not in ("choices", "accuracies", "record")}
        return out | {
            "accuracy_mean": self.mean,
            "accuracy_std": self.std,
            "optimistic": self.optimistic,
            "accuracies": list(self.accuracies),
            "choices": [{"kernel": repr(c.kernel), "C": c.C} for c in self.choices],
            "kernels": [repr(kernel) for kernel in self.record.kernels],
            "C": list(self.record.C),
        }


def evaluate(
    source: Any,
    y: Any = None,
    *,
    kernels: Grid | Candidates | Sequence[Kernel] | None = None,
    protocol: Protocol = "nested",
    folds: int | Sequence[int] | NDArray[Any] = 10,
    inner_folds: int = 5,
    random_state: int = 0,
    compute: Compute | None = None,
    progress: StageProgress | None = None,
) -> Evaluation:
    """Cross-validate a support vector machine, with the kernel and C chosen from candidates.

    Parameters
    ----------
    source : data set, or anything that :func:`fastgntk.as_graphs` accepts
    y : classes, one for each graph; taken from the data set if left out
    kernels : Grid, Candidates or sequence of Kernel, optional
        Kernels, and with a grid or candidates the C, to try; ``Grid.default(n)`` if left out.
    protocol : {"nested", "du2019"}
        ``"nested"`` chooses every option by cross-validation within the training part of each outer fold; the test
        fold is used once, for the number reported. ``"du2019"`` chooses options to maximise the mean over the very
        folds that are reported, the way the published GNTK figures were made: optimistic by construction.
    folds : int or sequence of int
        Number of outer folds, or the fold number of each graph.
    inner_folds : int
        Folds for selection within each training part (nested only).
    random_state : int
        Seed of the folds.
    compute : Compute, optional
        As in :func:`fastgntk.gram`; its progress is not used.
    progress : callable, optional
        Called as ``progress(stage, done, total)`` with stage ``"kernel"`` or ``"learning"``.

    Notes
    -----
    C is in units of the kernel's variance: before an SVM is fitted, the kernel is divided by
    ``K.diagonal().mean() - K.mean()`` of the training graphs, so that the same C means the same for every kernel.
    docs/evaluate.md shows how to fit a model with the options chosen.

    Examples
    --------
    >>> import fastgntk as fg
    >>> kernels = [fg.GNTK(1, 1).normalized(), (fg.GNTK(1, 1) + fg.GNTK(2, 1)).normalized()]
    >>> result = fg.selection.evaluate(fg.datasets.load("MUTAG"), kernels=kernels, folds=3)
    >>> len(result.accuracies), result.mean > 0.7
    (3, True)
    """
    if protocol not in get_args(Protocol):
        raise InputError(f"protocol must be one of {', '.join(get_args(Protocol))}, but is {protocol!r}.")
    batch = as_graphs(source)
    labels = check_classes(getattr(source, "y", None) if y is None else y, len(batch))
    outer = outer_splits(labels, folds, random_state)
    inner = inner_splits(labels, outer, inner_folds, random_state) if protocol == "nested" else []
    candidates, Cs = check_candidates(kernels, Grid.default(len(batch)))
    how = check_compute(compute)
    check_engine_of(candidates, how)
    splits = outer + [split for group in inner for split in group]
    run = _Run(batch, labels, splits, candidates, Cs, how, progress)
    scores = run.scores()
    n_outer = len(outer)
    tested = scores[:, :n_outer].transpose(1, 0, 2).reshape(n_outer, -1)  # outer fold × (kernel, C)
    if protocol == "nested":
        selection = scores[:, n_outer:].reshape(len(candidates), n_outer, inner_folds, len(Cs))
        ranking = selection.mean(axis=2).transpose(1, 0, 2).reshape(n_outer, -1)
    else:
        ranking = np.broadcast_to(tested.mean(axis=0), tested.shape)
    picked = ranking.argmax(axis=1)
    return Evaluation(
        protocol=protocol,
        accuracies=tuple(float(tested[k, best]) for k, best in enumerate(picked)),
        choices=tuple(Choice(candidates[best // len(Cs)], Cs[best % len(Cs)]) for best in picked),
        n_graphs=len(batch),
        n_classes=len(np.unique(labels)),
        engine=" and ".join(dict.fromkeys(run.engines)),
        kernel_seconds=run.kernel_seconds,
        learning_seconds=run.learning_seconds,
        fits=scores.size,
        fits_stopped=run.fits_stopped,
        record=Record(
            folds=tuple(outer),
            kernels=tuple(candidates),
            C=Cs,
            selection=ranking.mean(axis=0).reshape(len(candidates), len(Cs)),
            engines=tuple(run.engines),
            inner_folds=inner_folds,
            seed=random_state,
        ),
    )


class _Run:
    """Compute kernels pass by pass and score each on all splits, so that few matrices exist at a time."""

    def __init__(
        self,
        batch: GraphBatch,
        y: NDArray[Any],
        splits: list[Split],
        kernels: Sequence[Kernel],
        Cs: tuple[float, ...],
        compute: Compute,
        progress: StageProgress | None,
    ) -> None:
        self.batch, self.y, self.splits, self.kernels, self.Cs = batch, y, splits, kernels, Cs
        self.compute, self.progress = compute, progress
        self.engines = [""] * len(kernels)
        self.kernel_seconds = self.learning_seconds = 0.0
        self.fits_stopped = 0

    def scores(self) -> Array:
        """Return the accuracies of all kernels, shape (kernels, splits, C)."""
        from joblib import Parallel, delayed

        scores = np.zeros((len(self.kernels), len(self.splits), len(self.Cs)))
        passes = passes_of(self.kernels)
        # Processes: what scikit-learn does around libsvm holds the interpreter lock.
        with Parallel(n_jobs=self.compute.threads, return_as="generator") as parallel:
            for number, one in enumerate(passes):
                start = time.perf_counter()
                how = self.compute.watched(self._stage("kernel", number, len(passes)))
                levels = one.compute(self.batch, how)
                middle = time.perf_counter()
                tasks = (
                    delayed(score_splits)(levels.gram(self.kernels[place]), self.y, self.splits, self.Cs)
                    for place in one.places
                )
                report = self._stage("learning", number, len(passes))
                for done, (place, found) in enumerate(zip(one.places, parallel(tasks), strict=True), start=1):
                    scores[place], stopped = found
                    self.engines[place] = levels.engine
                    self.fits_stopped += stopped
                    if report:
                        report(done, len(one.places))
                self.kernel_seconds += middle - start
                self.learning_seconds += time.perf_counter() - middle
        return scores

    def _stage(self, stage: str, number: int, passes: int) -> Callable[[int, int], None] | None:
        """Return a progress callback for one pass of several."""
        progress = self.progress
        if progress is None:
            return None
        return lambda done, total: progress(stage, number * total + done, passes * total)
