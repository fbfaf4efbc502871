"""Cross-validated accuracy, by one of two protocols, and its folds.

No information flows from test to training through the kernel: its value for a pair depends on that pair alone, or is
computed for each split with scales that are fitted to its training graphs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.checks import check_integer
from fastgntk.errors import InputError
from fastgntk.graphs import as_graphs
from fastgntk.kernels import Kernel
from fastgntk.models import Split, check_classes, score_splits, stratified_folds
from fastgntk.pairwise import Compute, check_compute
from fastgntk.selection._fold_grams import FoldGrams, map_folds
from fastgntk.selection._grid import Candidates, Grid, StageProgress, check_candidates, check_sketches
from fastgntk.selection._score_kernels import score_kernels
from fastgntk.selection._screening import choose_finalists, screening_sample, screening_score

__all__ = ["FoldChoice", "Evaluation", "Protocol", "Record", "evaluate", "inner_splits", "outer_splits", "read_folds"]

Protocol = Literal["nested", "du2019"]


@dataclass(frozen=True)
class FoldChoice:
    """The kernel and the C chosen for one outer fold."""

    kernel: Kernel
    C: float


@dataclass(frozen=True, eq=False)
class Record:
    """Intermediate results of an evaluation, from which reports refit the SVM of each outer fold."""

    folds: tuple[Split, ...]
    """Indices of the training and test graphs of each outer fold."""
    kernels: tuple[Kernel, ...]
    C: tuple[float, ...]
    scores: Array
    """Mean score of each kernel and C, shape (kernels, C): over the inner folds of all outer folds, or with
    ``"du2019"`` over the reported folds; with ``finalists`` over those outer folds in which the kernel was one, and NaN
    if it never was."""
    engines: tuple[str, ...]
    """Engine of each kernel; engines agree to 1e-8, a difference that can change a support vector."""
    inner_folds: int
    random_state: int


@dataclass(frozen=True)
class Evaluation:
    """Result of :func:`evaluate`."""

    protocol: Protocol
    accuracies: tuple[float, ...]
    """Accuracy of each outer fold."""
    choices: tuple[FoldChoice, ...]
    """One for each outer fold; with ``"du2019"`` all are equal."""
    n_graphs: int
    n_classes: int
    engine: str
    kernel_seconds: float
    learning_seconds: float
    fits: int
    fits_stopped: int
    """Number of support vector machines stopped before they converged."""
    record: Record
    """The intermediate results; not in :meth:`to_dict`."""

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
    finalists: int | None = None,
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
        Kernels, and with a grid or candidates the C, to try; ``Grid.default(n)`` if left out: GNTKs, and their
        products with optimal assignment kernels unless node features are continuous, plus kernels on descriptors.
    protocol : {"nested", "du2019"}
        ``"nested"`` chooses every option by cross-validation within the training graphs of each outer fold; the test
        fold is used once, for the reported accuracy. ``"du2019"`` chooses the options that maximise the mean over the
        reported folds, as for the published GNTK results: optimistic by construction.
    folds : int or sequence of int
        Number of outer folds, or the fold number of each graph.
    inner_folds : int
        Number of inner folds within the training graphs of each outer fold (nested only).
    finalists : int, optional
        Number of kernels for which support vector machines are fitted, in each outer fold; all if left out. They are
        those with the smallest leave-one-out error of ridge regression on the training graphs of the fold, or with
        ``"du2019"`` on all graphs; beyond 1,500 graphs on a random sample of them.
    random_state : int
        Seed of the folds.
    compute : Compute, optional
        As in :func:`fastgntk.gram`, but its progress callback is not used.
    progress : callable, optional
        Called as ``progress(stage, done, total)`` with stage ``"kernel"`` or ``"learning"``.

    Notes
    -----
    C is in units of the kernel's variance: before an SVM is fitted, the kernel is divided by
    ``K.diagonal().mean() - K.mean()`` of the training graphs, so that C has the same meaning for every kernel.
    docs/evaluate.md shows how to fit a model with the chosen options.

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
    candidates, Cs = check_candidates(kernels, Grid.default(len(batch)).for_graphs(batch))
    compute = check_compute(compute)
    check_sketches(candidates, compute)
    if finalists is not None:
        check_integer("finalists", finalists, 1)
    call = partial(score_kernels, compute=compute, n_jobs=compute.threads)
    kept, screened = np.ones((len(candidates), len(outer)), dtype=bool), None
    if finalists is not None and finalists < len(candidates):
        shown = None if progress is None else partial(_report_half, progress, 0)
        progress = None if progress is None else partial(_report_half, progress, 1)
        # With du2019 all graphs take part in every choice.
        training = [train for train, _ in outer] if protocol == "nested" else [np.arange(len(batch))]
        sample = screening_sample(len(batch), random_state)
        score = screening_score(labels, training, sample)
        screened = call(score, batch[sample], candidates, progress=shown)
        kept = np.broadcast_to(choose_finalists(np.stack(screened.scores), finalists), kept.shape)
    splits = outer + [split for group in inner for split in group]
    fold_of_split = np.concatenate([np.arange(len(outer)), np.repeat(np.arange(len(inner)), inner_folds)])
    used = np.flatnonzero(kept.any(axis=1))
    fits = [np.flatnonzero(kept[i][fold_of_split]) for i in used]  # indices of the splits
    fit = partial(_score_source, y=labels, splits=splits, Cs=Cs, fits=fits)
    scored = call(fit, batch, [candidates[i] for i in used], progress=progress)
    scores = np.full((len(candidates), len(splits), len(Cs)), np.nan)
    for i, chosen, (accuracies, _) in zip(used, fits, scored.scores, strict=True):
        scores[i, chosen] = accuracies
    tested = scores[:, : len(outer)].transpose(1, 0, 2).reshape(len(outer), -1)  # outer fold × (kernel, C)
    if protocol == "nested":
        within = scores[:, len(outer) :].reshape(len(candidates), len(outer), inner_folds, len(Cs))
        ranking = within.mean(axis=2).transpose(1, 0, 2).reshape(len(outer), -1)
    else:
        ranking = np.broadcast_to(tested.mean(axis=0), tested.shape)
    picked = np.where(np.isnan(ranking), -np.inf, ranking).argmax(axis=1)
    engines = [""] * len(candidates) if screened is None else list(screened.engines)
    for i, engine in zip(used, scored.engines, strict=True):
        engines[i] = engine
    return Evaluation(
        protocol=protocol,
        accuracies=tuple(float(tested[k, best]) for k, best in enumerate(picked)),
        choices=tuple(FoldChoice(candidates[best // len(Cs)], Cs[best % len(Cs)]) for best in picked),
        n_graphs=len(batch),
        n_classes=len(np.unique(labels)),
        engine=" and ".join(dict.fromkeys(scored.engines)),
        kernel_seconds=scored.kernel_seconds + (screened.kernel_seconds if screened else 0.0),
        learning_seconds=scored.learning_seconds + (screened.learning_seconds if screened else 0.0),
        fits=sum(map(len, fits)) * len(Cs),
        fits_stopped=sum(stopped for _, stopped in scored.scores),
        record=Record(
            folds=tuple(outer),
            kernels=tuple(candidates),
            C=Cs,
            scores=_mean_of_known(ranking).reshape(len(candidates), len(Cs)),
            engines=tuple(engines),
            inner_folds=inner_folds,
            random_state=random_state,
        ),
    )


def _report_half(progress: StageProgress, half: int, stage: str, done: int, total: int) -> None:
    progress(stage, half * total + done, 2 * total)


def _mean_of_known(ranking: Array) -> Array:
    """Return the mean over folds without NaN; NaN where there is no number."""
    known = ~np.isnan(ranking)
    count = known.sum(axis=0)
    total = np.where(known, ranking, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(ranking.shape[1], np.nan), where=count > 0))


def _score_source(
    source: Array | FoldGrams,
    index: int,
    *,
    y: NDArray[Any],
    splits: Sequence[Split],
    Cs: Sequence[float],
    fits: Sequence[Ints],
) -> tuple[Array, int]:
    """Return the accuracy for the splits of a kernel and every C, and the number of fits that were stopped early."""
    chosen = [splits[i] for i in fits[index]]
    parts = map_folds(lambda K, some: score_splits(K, y=y, splits=some, Cs=Cs), source, chosen)
    return np.concatenate([accuracies for accuracies, _ in parts]), sum(stopped for _, stopped in parts)


def outer_splits(y: NDArray[Any], folds: int | Sequence[int] | NDArray[Any], random_state: int) -> list[Split]:
    """Return the outer splits: stratified for a number of folds, or one for each fold number of the graphs."""
    if isinstance(folds, int | np.integer):
        return stratified_folds(y, int(folds), random_state)
    fold_of_graph = np.asarray(folds)
    if fold_of_graph.shape != y.shape or fold_of_graph.dtype.kind not in "iu":
        given = f"shape {fold_of_graph.shape} and dtype {fold_of_graph.dtype}"
        raise InputError(f"folds must hold one integer for each of the {len(y)} graphs, but has {given}.")
    fold_ids = np.unique(fold_of_graph)
    if len(fold_ids) < 2:
        raise InputError("folds must have at least two distinct values.")
    splits = [(np.flatnonzero(fold_of_graph != k), np.flatnonzero(fold_of_graph == k)) for k in fold_ids]
    for k, (train, _) in zip(fold_ids, splits, strict=True):
        missing = np.setdiff1d(y, y[train])
        if len(missing):
            raise InputError(f"all members of class {missing[0]} are in fold {k}, so nothing is left to learn it from.")
    return splits


def inner_splits(y: NDArray[Any], outer: Sequence[Split], n_folds: int, random_state: int) -> list[list[Split]]:
    """Return inner splits of the training graphs of each outer split."""
    groups = []
    for k, (train, _) in enumerate(outer):
        where = f" in the training part of outer fold {k + 1}"
        within = stratified_folds(y[train], n_folds, random_state, name="inner_folds", where=where)
        groups.append([(train[a], train[b]) for a, b in within])
    return groups


def read_folds(path: str | Path, n_graphs: int) -> Ints:
    """Read a text file with one fold number per line, in the order of the graphs."""
    try:
        lines = Path(path).read_text().rstrip().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the folds file {path} cannot be read: {error}.") from None
    folds = np.zeros(len(lines), dtype=np.int64)
    for i, line in enumerate(lines):
        try:
            folds[i] = int(line)
        except (ValueError, OverflowError):
            raise InputError(f"{path}, line {i + 1}: expected a fold number, found {line[:40]!r}.") from None
    if len(folds) != n_graphs:
        raise InputError(f"{path} has {len(folds)} lines, but there are {n_graphs} graphs; give one line each.")
    return folds
