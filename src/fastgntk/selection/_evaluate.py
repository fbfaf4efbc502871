"""Cross-validated accuracy, by one of two protocols.

Ridge regression screens the kernels in each outer fold; support vector machines are fitted for the finalists; a kernel
and C are chosen, and give the accuracy of the fold.

No information flows from test to training through the kernel: its value for a pair depends on that pair alone, or is
computed for each split with scales that are fitted to its training graphs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Ints
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import Kernel
from fastgntk.models import check_classes, score_splits
from fastgntk.pairwise import Compute, check_compute
from fastgntk.selection._cross_validation import CrossValidation, OuterFold, check_cv
from fastgntk.selection._evaluation import Evaluation, FoldChoice, SelectionRecord
from fastgntk.selection._fold_grams import FoldGrams, map_folds
from fastgntk.selection._grid import Candidates, Grid, StageProgress, check_candidates, check_sketches
from fastgntk.selection._score_kernels import KernelScores, score_kernels
from fastgntk.selection._screening import screening_sample, screening_score, smallest

__all__ = ["evaluate", "evaluate_each"]

_DIGITS = 12  # of mean accuracies, so that rounding errors do not decide ties


def evaluate(
    source: Any,
    y: Any = None,
    cv: int | CrossValidation = CrossValidation(),
    *,
    kernels: Grid | Candidates | Sequence[Kernel] | None = None,
    compute: Compute | None = None,
    progress: StageProgress | None = None,
) -> Evaluation:
    """Cross-validate a support vector machine, with the kernel and C chosen from candidates.

    Parameters
    ----------
    source : data set, or anything that :func:`fastgntk.as_graphs` accepts
    y : classes, one for each graph; taken from the data set if left out
    cv : int or CrossValidation
        Folds, protocol, seed and how options are chosen; an integer is a number of outer folds.
    kernels : Grid, Candidates or sequence of Kernel, optional
        Kernels, and with a grid or candidates the C, to try; ``Grid.default(n)`` if left out: GNTKs, and beyond 500
        graphs their products with optimal assignment kernels, unless node features are continuous. Kernels on
        descriptors are added. With more kernels than ``cv.n_finalists``, SVMs are fitted for the finalists only.
    compute : Compute, optional
        As in :func:`fastgntk.gram`, but its progress callback is not used.
    progress : callable, optional
        Called as ``progress(stage, done, total)`` with stage ``"kernel"`` or ``"learning"``.

    Notes
    -----
    C is that of a kernel with variance 1: before an SVM is fitted, the kernel is divided by its variance on the
    training graphs, ``K.diagonal().mean() - K.mean()``, so that C has the same meaning for every kernel.
    docs/evaluate.md shows how to fit a model with the chosen options.

    Examples
    --------
    >>> import fastgntk as fg
    >>> kernels = [fg.GNTK(1, 1).normalized(), (fg.GNTK(1, 1) + fg.GNTK(2, 1)).normalized()]
    >>> result = fg.selection.evaluate(fg.datasets.load("MUTAG"), cv=3, kernels=kernels)
    >>> len(result.accuracies), result.mean > 0.7
    (3, True)
    """
    return evaluate_each(source, y, [cv], kernels=kernels, compute=compute, progress=progress)[0]


def evaluate_each(
    source: Any,
    y: Any = None,
    cvs: Sequence[int | CrossValidation] = (CrossValidation(),),
    *,
    kernels: Grid | Candidates | Sequence[Kernel] | None = None,
    compute: Compute | None = None,
    progress: StageProgress | None = None,
) -> list[Evaluation]:
    """Run several cross-validations, such as both protocols or several seeds, with the same Gram matrices.

    The results are those of :func:`evaluate` for each of ``cvs``, but each has the time of all of them.

    Examples
    --------
    >>> import fastgntk as fg
    >>> from fastgntk.selection import CrossValidation, evaluate_each
    >>> cvs = [CrossValidation(folds=3, random_state=seed) for seed in (0, 1)]
    >>> results = evaluate_each(fg.datasets.load("MUTAG"), cvs=cvs, kernels=[fg.GNTK(1, 1), fg.GNTK(2, 1)])
    >>> [result.mean > 0.7 for result in results]
    [True, True]
    """
    batch = as_graphs(source)
    labels = check_classes(getattr(source, "y", None) if y is None else y, len(batch))
    if not isinstance(cvs, Sequence) or not cvs:
        example = "[CrossValidation(random_state=seed) for seed in range(3)]"
        raise InputError(f"cvs must be a sequence of cross-validations, such as {example}, but is {cvs!r}.")
    checked = [check_cv(cv) for cv in cvs]
    folds = [cv.split(labels) for cv in checked]
    kernels, Cs = check_candidates(kernels, Grid.default(len(batch)).for_graphs(batch))
    compute = check_compute(compute)
    check_sketches(kernels, compute)
    task = _Task(batch, labels, kernels, Cs, compute)
    runs = [_start_run(cv, outer_folds, task) for cv, outer_folds in zip(checked, folds, strict=True)]
    searches = [search for run in runs for search in run.searches]
    screened = any(run.cv.n_finalists is not None for run in runs)
    stages = [_choose_finalists(task, runs, _half(progress, 0))] if screened else []
    stages.append(_score_finalists(task, searches, _half(progress, 1) if screened else progress))
    return [_make_evaluation(task, run, stages) for run in runs]


class _Task(NamedTuple):
    """What all runs share."""

    batch: GraphBatch
    labels: NDArray[Any]
    kernels: list[Kernel]
    Cs: tuple[float, ...]
    compute: Compute


class _SVMScores(NamedTuple):
    """Results of support vector machines with one kernel in one outer fold."""

    tested: Array  # (C,), accuracy on the test graphs
    inner: Array  # (inner splits, C), accuracies
    n_unconverged: int


@dataclass(eq=False)
class _FoldSearch:
    """The search for a kernel and C in one outer fold.

    All kernels are finalists until `_choose_finalists` is called; `_score_finalists` fills in the scores.
    """

    fold: OuterFold
    selection_graphs: Ints
    """The graphs on which the choice may depend."""
    finalists: Ints
    """Indices of the kernels for which support vector machines are fitted."""
    scores: dict[int, _SVMScores] = field(default_factory=dict)
    """Those of the finalists, by index."""


class _Run(NamedTuple):
    """One cross-validation: its options and a search for each outer fold."""

    cv: CrossValidation  # with defaults resolved
    searches: list[_FoldSearch]


def _start_run(cv: CrossValidation, outer_folds: list[OuterFold], task: _Task) -> _Run:
    """Return a run in which all kernels are finalists."""
    nested = cv.protocol == "nested"
    graphs, kernels = np.arange(len(task.batch)), np.arange(len(task.kernels))
    searches = [_FoldSearch(fold, fold.split[0] if nested else graphs, kernels) for fold in outer_folds]
    return _Run(cv.resolve(len(graphs), len(kernels)), searches)


def _half(progress: StageProgress | None, index: int) -> StageProgress | None:
    """Return a callback for the first or second half of each stage."""
    return None if progress is None else partial(_report_half, progress, index)


def _report_half(progress: StageProgress, index: int, stage: str, done: int, total: int) -> None:
    progress(stage, index * total + done, 2 * total)


def _choose_finalists(task: _Task, runs: Sequence[_Run], progress: StageProgress | None) -> KernelScores:
    """Keep the kernels with the smallest leave-one-out errors in each outer fold, on a sample of large sets."""
    searches = [(search, run.cv.n_finalists) for run in runs for search in run.searches]
    sample = screening_sample(len(task.batch))
    score = screening_score(task.labels, [search.selection_graphs for search, _ in searches], sample)
    n_jobs = task.compute.threads
    results = score_kernels(score, task.batch[sample], task.kernels, task.compute, n_jobs=n_jobs, progress=progress)
    for errors, (search, count) in zip(np.stack(results.scores, axis=1), searches, strict=True):
        search.finalists = smallest(errors, count)
    return results


def _score_finalists(task: _Task, searches: Sequence[_FoldSearch], progress: StageProgress | None) -> KernelScores:
    """Fill in the scores of all finalists; a finalist in several folds is computed once.

    The result has an engine for every kernel, empty for those that are not finalists.
    """
    used = np.unique(np.concatenate([search.finalists for search in searches])).tolist()
    searches_with = {i: [search for search in searches if i in search.finalists] for i in used}
    folds = [[search.fold for search in searches_with[i]] for i in used]
    score = partial(_svm_scores, y=task.labels, folds=folds, Cs=task.Cs)
    kernels, n_jobs = [task.kernels[i] for i in used], task.compute.threads
    results = score_kernels(score, task.batch, kernels, task.compute, n_jobs=n_jobs, progress=progress)
    for i, kernel_scores in zip(used, results.scores, strict=True):
        for search, scores in zip(searches_with[i], kernel_scores, strict=True):
            search.scores[i] = scores
    engines = dict(zip(used, results.engines, strict=True))
    return results._replace(engines=[engines.get(i, "") for i in range(len(task.kernels))])


def _svm_scores(
    matrices: Array | FoldGrams,
    index: int,
    *,
    y: NDArray[Any],
    folds: Sequence[Sequence[OuterFold]],
    Cs: Sequence[float],
) -> list[_SVMScores]:
    """Return the scores of one kernel in each of its folds."""
    return [_score_fold(matrices, y, fold, Cs) for fold in folds[index]]


def _score_fold(matrices: Array | FoldGrams, y: NDArray[Any], fold: OuterFold, Cs: Sequence[float]) -> _SVMScores:
    splits = [fold.split, *fold.inner]
    results = map_folds(lambda K, some: score_splits(K, y, some, Cs), matrices, splits)
    tested, *inner = np.concatenate([accuracies for accuracies, _ in results])
    return _SVMScores(tested, np.reshape(inner, (-1, len(Cs))), sum(int(stopped.sum()) for _, stopped in results))


def _make_evaluation(task: _Task, run: _Run, stages: Sequence[KernelScores]) -> Evaluation:
    """Return the result of a run, with the times of all stages."""
    engines = stages[-1].engines
    searches = run.searches
    tested, ranking = _rank(task, run)
    folds, (kernel, C) = np.arange(len(searches)), _choose(ranking)
    used = np.unique(np.concatenate([search.finalists for search in searches]))
    n_splits = sum((1 + len(search.fold.inner)) * len(search.finalists) for search in searches)
    return Evaluation(
        protocol=run.cv.protocol,
        accuracies=tuple(tested[folds, kernel, C].tolist()),
        choices=tuple(FoldChoice(task.kernels[i], task.Cs[k]) for i, k in zip(kernel, C, strict=True)),
        n_graphs=len(task.labels),
        n_classes=len(np.unique(task.labels)),
        engine=" and ".join(dict.fromkeys(engines[i] for i in used)),
        kernel_seconds=sum(stage.kernel_seconds for stage in stages),
        learning_seconds=sum(stage.learning_seconds for stage in stages),
        n_fits=n_splits * len(task.Cs),
        n_unconverged=sum(scores.n_unconverged for search in searches for scores in search.scores.values()),
        record=SelectionRecord(
            folds=tuple(search.fold.split for search in searches),
            kernels=tuple(task.kernels),
            C=task.Cs,
            scores=_mean_of_known(ranking),
            engines=tuple(engines),
            cv=run.cv,
        ),
    )


def _choose(ranking: Array) -> tuple[Ints, Ints]:
    """Return the index of the best kernel and of its best C in each outer fold, the first of equals."""
    rounded = np.where(np.isnan(ranking), -np.inf, ranking.round(_DIGITS))
    kernel, C = np.unravel_index(rounded.reshape(len(ranking), -1).argmax(axis=1), ranking.shape[1:])
    return kernel, C


def _rank(task: _Task, run: _Run) -> tuple[Array, Array]:
    """Return the accuracy on the test graphs and the selection score, shape (outer folds, kernels, C) each.

    Both are NaN where a kernel is not a finalist.
    """
    shape = len(run.searches), len(task.kernels), len(task.Cs)
    tested, ranking = np.full(shape, np.nan), np.full(shape, np.nan)
    for k, search in enumerate(run.searches):
        for i, scores in search.scores.items():
            tested[k, i] = scores.tested
            if search.fold.inner:
                ranking[k, i] = scores.inner.mean(axis=0)
    if run.cv.protocol == "du2019":
        ranking[:] = tested.mean(axis=0)
    return tested, ranking


def _mean_of_known(ranking: Array) -> Array:
    """Return the mean over folds without NaN; NaN where there is no number."""
    known = ~np.isnan(ranking)
    count = known.sum(axis=0)
    total = np.where(known, ranking, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))
