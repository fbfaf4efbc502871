"""Cross-validated accuracy, by one of two protocols.

No information flows from test to training through the kernel: its value for a pair depends on that pair alone, or is
computed for each split with scales that are fitted to its training graphs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.arrays import Array, Bools, Ints
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, as_graphs
from fastgntk.kernels import Kernel
from fastgntk.models import Split, check_classes, score_splits
from fastgntk.pairwise import Compute, check_compute
from fastgntk.selection._cross_validation import CrossValidation, NestedSplits, Protocol, check_cv
from fastgntk.selection._fold_grams import FoldGrams, map_folds
from fastgntk.selection._grid import Candidates, Grid, StageProgress, check_candidates, check_sketches
from fastgntk.selection._score_kernels import score_kernels
from fastgntk.selection._screening import choose_finalists, screening_sample, screening_score

__all__ = ["FoldChoice", "Evaluation", "SelectionRecord", "evaluate", "evaluate_each"]

_DIGITS = 12  # of mean accuracies, so that rounding errors do not decide ties


@dataclass(frozen=True)
class FoldChoice:
    """The kernel and the C chosen for one outer fold."""

    kernel: Kernel
    C: float


@dataclass(frozen=True, eq=False)
class SelectionRecord:
    """Intermediate results of an evaluation, from which reports refit the SVM of each outer fold."""

    folds: tuple[Split, ...]
    """Indices of the training and test graphs of each outer fold."""
    kernels: tuple[Kernel, ...]
    C: tuple[float, ...]
    scores: Array
    """Mean score of each kernel and C, shape (kernels, C): over the inner folds of all outer folds, or with
    ``"du2019"`` over the reported folds; with ``n_finalists`` over those outer folds in which the kernel was one, and
    NaN if it never was."""
    engines: tuple[str, ...]
    """Engine of each kernel, empty if no SVM was fitted in any cross-validation of the call.

    Engines agree to 1e-8, a difference that can change a support vector.
    """
    cv: CrossValidation
    """The options, with defaults resolved."""


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
    n_fits: int
    """Number of support vector machines."""
    n_unconverged: int
    """Number of support vector machines stopped before they converged."""
    record: SelectionRecord
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
    C is in units of the kernel's variance: before an SVM is fitted, the kernel is divided by
    ``K.diagonal().mean() - K.mean()`` of the training graphs, so that C has the same meaning for every kernel.
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
    """Run several cross-validations, such as both protocols or several seeds, and compute each Gram matrix once.

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
    nested_splits = [check_cv(cv).split(labels) for cv in cvs]
    candidates, Cs = check_candidates(kernels, Grid.default(len(batch)).for_graphs(batch))
    designs = [check_cv(cv).resolve(len(batch), len(candidates)) for cv in cvs]
    compute = check_compute(compute)
    check_sketches(candidates, compute)
    kept = [np.ones((len(candidates), len(nested.outer)), dtype=bool) for nested in nested_splits]
    screening_seconds = np.zeros(2)
    screened = any(design.n_finalists is not None for design in designs)
    stages = _split_progress(progress, 2 if screened else 1)
    if screened:
        errors, screening_seconds = _screen(batch, labels, candidates, designs, nested_splits, compute, stages[0])
        kept = [choose_finalists(part, design.n_finalists) for part, design in zip(errors, designs, strict=True)]
    # Whether an SVM is fitted, kernels × splits of all designs.
    fitted = np.concatenate(
        [part[:, nested.outer_index()] for part, nested in zip(kept, nested_splits, strict=True)], axis=1
    )
    flat = [split for nested in nested_splits for split in nested.flatten()]
    svm_scores = _score_svms(batch, labels, candidates, Cs, flat, fitted, compute, stages[-1])
    results, last = [], 0
    for design, nested in zip(designs, nested_splits, strict=True):
        first, last = last, last + len(nested.flatten())
        part = svm_scores.of_splits(slice(first, last))
        results.append(_make_evaluation(design, nested, labels, candidates, Cs, part, screening_seconds))
    return results


class _SVMScores(NamedTuple):
    """Results of :func:`_score_svms`."""

    fitted: Bools  # kernels × splits, whether SVMs are fitted
    scores: Array  # kernels × splits × C, NaN where no SVM is fitted
    n_unconverged: Ints  # kernels × splits, fits stopped early
    engines: tuple[str, ...]  # of each kernel, empty if it is not used
    kernel_seconds: float
    learning_seconds: float

    def of_splits(self, chosen: slice) -> "_SVMScores":
        """Return the scores of some of the splits."""
        return self._replace(
            fitted=self.fitted[:, chosen], scores=self.scores[:, chosen], n_unconverged=self.n_unconverged[:, chosen]
        )


def _make_evaluation(
    design: CrossValidation,
    nested: NestedSplits,
    labels: NDArray[Any],
    candidates: Sequence[Kernel],
    Cs: tuple[float, ...],
    svm_scores: _SVMScores,
    screening_seconds: Array,
) -> Evaluation:
    """Return the result of one design from the scores of its splits."""
    tested, ranking = _rank(svm_scores.scores, nested)
    picked = np.where(np.isnan(ranking), -np.inf, ranking.round(_DIGITS)).argmax(axis=1)
    return Evaluation(
        protocol=design.protocol,
        accuracies=tuple(float(tested[k, best]) for k, best in enumerate(picked)),
        choices=tuple(FoldChoice(candidates[best // len(Cs)], Cs[best % len(Cs)]) for best in picked),
        n_graphs=len(labels),
        n_classes=len(np.unique(labels)),
        engine=" and ".join(dict.fromkeys(np.array(svm_scores.engines)[svm_scores.fitted.any(axis=1)].tolist())),
        kernel_seconds=float(screening_seconds[0] + svm_scores.kernel_seconds),
        learning_seconds=float(screening_seconds[1] + svm_scores.learning_seconds),
        n_fits=int(svm_scores.fitted.sum()) * len(Cs),
        n_unconverged=int(svm_scores.n_unconverged.sum()),
        record=SelectionRecord(
            folds=tuple(nested.outer),
            kernels=tuple(candidates),
            C=Cs,
            scores=_mean_of_known(ranking).reshape(len(candidates), len(Cs)),
            engines=svm_scores.engines,
            cv=design,
        ),
    )


def _split_progress(progress: StageProgress | None, parts: int) -> list[StageProgress | None]:
    """Return a callback for each of some parts of the work, which share each stage equally."""
    if progress is None:
        return [None] * parts
    return [partial(_report_part, progress, part, parts) for part in range(parts)]


def _report_part(progress: StageProgress, part: int, parts: int, stage: str, done: int, total: int) -> None:
    progress(stage, part * total + done, parts * total)


def _screen(
    batch: GraphBatch,
    labels: NDArray[Any],
    candidates: Sequence[Kernel],
    designs: Sequence[CrossValidation],
    nested_splits: Sequence[NestedSplits],
    compute: Compute,
    progress: StageProgress | None,
) -> tuple[list[Array], Array]:
    """Return the leave-one-out error of each kernel on the training graphs of each outer split, for each design.

    Also return the seconds for kernels and for errors.
    """
    sets = []
    for design, nested in zip(designs, nested_splits, strict=True):
        # With du2019 all graphs take part in every choice.
        all_graphs = [np.arange(len(batch))] * len(nested.outer)
        sets.append([train for train, _ in nested.outer] if design.protocol == "nested" else all_graphs)
    sample = screening_sample(len(batch))
    score = screening_score(labels, [train for group in sets for train in group], sample)
    results = score_kernels(score, batch[sample], candidates, compute, n_jobs=compute.threads, progress=progress)
    ends = np.cumsum([len(group) for group in sets])[:-1]
    seconds = np.array([results.kernel_seconds, results.learning_seconds])
    return np.split(np.stack(results.scores), ends, axis=1), seconds


def _score_svms(
    batch: GraphBatch,
    labels: NDArray[Any],
    candidates: list[Kernel],
    Cs: Sequence[float],
    splits: Sequence[Split],
    fitted: Bools,
    compute: Compute,
    progress: StageProgress | None,
) -> _SVMScores:
    """Return the accuracies of SVMs for the kernels and splits where ``fitted`` is true, and every C."""
    used = np.flatnonzero(fitted.any(axis=1))
    kernels = [candidates[i] for i in used]
    chosen_splits = [np.flatnonzero(fitted[i]) for i in used]
    score = partial(_score_kernel, y=labels, splits=splits, Cs=Cs, chosen_splits=chosen_splits)
    results = score_kernels(score, batch, kernels, compute, n_jobs=compute.threads, progress=progress)
    scores, n_unconverged = np.full((*fitted.shape, len(Cs)), np.nan), np.zeros(fitted.shape, dtype=np.int64)
    engines = [""] * len(candidates)
    for i, chosen, engine, result in zip(used, chosen_splits, results.engines, results.scores, strict=True):
        engines[i] = engine
        scores[i, chosen], n_unconverged[i, chosen] = result
    seconds = results.kernel_seconds, results.learning_seconds
    return _SVMScores(fitted, scores, n_unconverged, tuple(engines), *seconds)


def _rank(scores: Array, nested: NestedSplits) -> tuple[Array, Array]:
    """Return the accuracy on the test graphs, and the score of the choice, shape (outer splits, kernels · C) each."""
    tested, within = nested.separate(scores)
    n_outer = tested.shape[1]
    reported = np.broadcast_to(tested.mean(axis=1, keepdims=True), tested.shape)
    ranking = within.mean(axis=2) if nested.inner else reported
    tested, ranking = (values.transpose(1, 0, 2).reshape(n_outer, -1) for values in (tested, ranking))
    return tested, ranking


def _mean_of_known(ranking: Array) -> Array:
    """Return the mean over folds without NaN; NaN where there is no number."""
    known = ~np.isnan(ranking)
    count = known.sum(axis=0)
    total = np.where(known, ranking, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(ranking.shape[1], np.nan), where=count > 0))


def _score_kernel(
    matrices: Array | FoldGrams,
    index: int,
    *,
    y: NDArray[Any],
    splits: Sequence[Split],
    Cs: Sequence[float],
    chosen_splits: Sequence[Ints],
) -> tuple[Array, Ints]:
    """Return the accuracy for the splits of a kernel and every C, and the number of fits stopped in each split."""
    chosen = [splits[i] for i in chosen_splits[index]]
    parts = map_folds(lambda K, some: score_splits(K, y=y, splits=some, Cs=Cs), matrices, chosen)
    accuracies, n_unconverged = zip(*parts, strict=True)
    return np.concatenate(accuracies), np.concatenate(n_unconverged)
