"""What models say of graphs that they never saw, and what is needed to take that apart: for reports.

Machines of an evaluation are fitted again, one for each outer fold, with the options that were chosen there; those of
a classifier on five folds; of ridge regression the closed form of leave-one-out is used. Probabilities are made as
:class:`GNTKClassifier` makes them, from decision values of training graphs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import worker_count
from fastgntk._util.threads import single_threaded_blas
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.models import (
    INTERCEPT,
    Machines,
    Sigmoids,
    Split,
    class_signs,
    decide,
    left_out_decisions,
    place,
    predict_split,
    spread_folds,
)
from fastgntk.pairwise import gram_path, normalize
from fastgntk.selection._evaluate import Evaluation
from fastgntk.selection._grid import Candidate

__all__ = ["Function", "LeftOut", "evaluation_left_out", "machines_left_out", "ridge_left_out", "ridge_probabilities"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_NEAR = 3  # of the most alike graphs
_AT_ONCE = 500  # graphs whose functions are held together
_QUICK = 300  # graphs up to which starting processes takes longer than what they do


class Function(NamedTuple):
    """For t graphs the function that tells of each: offset + Σ_j weight_j k(G, G_j) over all n graphs of the data."""

    weights: Array  # (t, n), 0 for graphs that the model did not see
    offsets: Array  # (t,)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What n graphs got from models that never saw them."""

    kernels: tuple[Candidate, ...]
    engines: tuple[str, ...]
    """What computed each of the kernels."""
    kernel_of: Ints
    """Of each graph, which of ``kernels`` its model used."""
    fold_of: Ints
    """Of each graph, the number of the model that left it out; all 0 with leave-one-out."""
    values: Array
    """Decision values (n, k), one column for each class, or the second of two; or the prediction (n, 1)."""
    said: Ints
    """Numbers of classes; all 0 of a regression."""
    probabilities: Array | None
    near: Ints
    """Numbers (n, up to 3) of the most alike graphs that the model saw, −1 where there are fewer."""
    cosines: Array
    _function: Callable[[Ints], Function] | None
    unit: float = 1.0
    """What values of the kernel are divided by before functions apply."""

    @property
    def can_be_explained(self) -> bool:
        """Whether :meth:`function` is there."""
        return self._function is not None

    def function(self, chosen: Ints) -> Function:
        """Return of chosen graphs the function of the class that was said, or of the target."""
        assert self._function is not None  # the caller asked
        return self._function(chosen)


class _Fold(NamedTuple):
    """A model and the graphs that it left out."""

    train: Ints
    test: Ints
    machines: Machines


class _Outcome(NamedTuple):
    said: Ints
    values: Array
    probabilities: Array
    machines: Machines


def evaluation_left_out(
    batch: GraphBatch,
    numbers: Ints,
    result: Evaluation,
    *,
    memory: Any = None,
    workers: Any = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> LeftOut:
    """Fit the machines of an evaluation again: the same accuracies, and more told.

    With more than two classes the evaluation lets pairs of classes vote, and ``said`` is what they say; values and
    probabilities are those of a machine for each class against the others, as in :class:`GNTKClassifier`. ``progress``
    is called as ``progress(stage, done, total)``, with stage "kernel" or "learning".
    """
    record = result.record
    assert record is not None  # every evaluation has one
    paths = result.grid.paths()
    chosen = [Candidate(replace(paths[0], **_spec_part(choice)), choice.normalize) for choice in result.choices]
    kernels = list(dict.fromkeys(chosen))
    engines = [""] * len(kernels)
    outcomes: list[_Outcome | None] = [None] * len(chosen)
    n = len(batch)
    near, cosines = np.full((n, _NEAR), -1), np.zeros((n, _NEAR))
    n_classes = int(numbers.max()) + 1
    sketching = dict(result.sketching or {})
    if sketching:
        sketching["sketch_size"] = sketching.pop("size")
    needed = [number for number, path in enumerate(paths) if any(_on(path, one) for one in kernels)]
    for step, number in enumerate(needed):
        path, engine = paths[number], record.engines[number]
        levels = gram_path(
            batch,
            path,
            features=record.features,
            engine=engine,
            memory=memory,
            workers=workers,
            progress=None if progress is None else _part(progress, "kernel", step, len(needed)),
            **sketching,
        )
        for place_of, kernel in enumerate(kernels):
            if not _on(path, kernel):
                continue
            engines[place_of] = engine
            raw = levels.at(kernel.spec.blocks, kernel.spec.jump)
            cosine = normalize(raw)
            K = cosine if kernel.normalize else raw
            mine = [k for k, one in enumerate(chosen) if one == kernel]
            splits, Cs = [record.folds[k] for k in mine], [result.choices[k].C for k in mine]
            for k, found in zip(mine, _all(K, numbers, splits, Cs, n_classes, record.seed, True, workers), strict=True):
                outcomes[k] = found
                train, test = record.folds[k]
                near[test], cosines[test] = _nearest(cosine[np.ix_(test, train)], train)
                if progress is not None:
                    progress("learning", sum(o is not None for o in outcomes), len(outcomes))
    done = [outcome for outcome in outcomes if outcome is not None]
    folds = [_Fold(*split, outcome.machines) for split, outcome in zip(record.folds, done, strict=True)]
    kernel_of = np.zeros(n, dtype=np.int64)
    for k, fold in enumerate(folds):
        kernel_of[fold.test] = kernels.index(chosen[k])
    return _assembled(kernels, engines, kernel_of, folds, done, numbers, near, cosines)


def machines_left_out(
    K: Array,
    cosine: Array,
    numbers: Ints,
    kernel: Candidate,
    engine: str,
    C: float,
    seed: int,
    *,
    unit: float = 1.0,
    balanced: bool = False,
    workers: Any = None,
) -> LeftOut:
    """Fit the machines of a classifier on five folds: the values are those that its calibration is learned from.

    K (n, n) is the kernel as the classifier has it: cosines, or values over their ``unit``.
    """
    splits, n_classes = spread_folds(numbers, seed), int(numbers.max()) + 1
    done = _all(K, numbers, splits, [C] * len(splits), n_classes, seed, False, workers, balanced=balanced)
    folds = [_Fold(*split, outcome.machines) for split, outcome in zip(splits, done, strict=True)]
    near, cosines = np.full((len(K), _NEAR), -1), np.zeros((len(K), _NEAR))
    for train, test in splits:
        near[test], cosines[test] = _nearest(cosine[np.ix_(test, train)], train)
    nothing = np.zeros(len(K), dtype=np.int64)
    return replace(_assembled([kernel], [engine], nothing, folds, done, numbers, near, cosines), unit=unit)


def ridge_left_out(
    K: Array | None,
    cosine: Array | None,
    Y: Array,
    mean: Array,
    left_out: Array,
    ridge: Array | float,
    kernel: Candidate,
    engine: str,
    *,
    classes: bool,
    unit: float = 1.0,
    probabilities: Array | None = None,
) -> LeftOut:
    """Take leave-one-out values (n, k) of ridge regression on targets Y (n, k) and their mean (k,).

    With the kernel K (n, n) of the regression, without its constant, functions can be told: without graph i the
    coefficients are α − A⁻¹ e_i α_i / (A⁻¹)_ii, with A = K + 1 + ridge. They are told only if they give the values.
    """
    n, k = left_out.shape
    said = place(left_out) if classes else np.zeros(n, dtype=np.int64)
    near, cosines = np.full((n, _NEAR), -1), np.zeros((n, _NEAR))
    if cosine is not None:
        others = cosine.copy()
        np.fill_diagonal(others, -np.inf)  # a graph was not seen by the model that left it out
        near, cosines = _nearest(others, np.arange(n))
    function = None
    if K is not None:
        inverse = np.linalg.inv(K + INTERCEPT + np.diag(np.broadcast_to(ridge, n)))
        alpha = inverse @ (Y - mean)  # (n, k)
        own = np.diagonal(inverse)
        column, sign = _column(said, k) if classes else (np.zeros(n, dtype=np.int64), np.ones(n))

        def tell(chosen: Ints) -> Function:
            at = alpha[:, column[chosen]].T
            weights = at - inverse[chosen] * (alpha[chosen, column[chosen]] / own[chosen])[:, None]
            weights[np.arange(len(chosen)), chosen] = 0.0  # up to rounding
            offsets = mean[column[chosen]] + INTERCEPT * weights.sum(axis=1)
            return Function(sign[chosen][:, None] * weights, sign[chosen] * offsets)

        again = np.zeros(n)
        for part in np.array_split(np.arange(n), -(-n // _AT_ONCE)):
            told = tell(part)
            again[part] = np.einsum("ij,ij->i", told.weights, K[part]) + told.offsets
        expected = sign * left_out[np.arange(n), column]
        spread = float(np.abs(expected - np.mean(expected)).max(initial=0.0)) + 1e-300
        if np.abs(again - expected).max(initial=0.0) <= 1e-3 * spread:  # not so of weighted graphs
            function = tell
    nothing = np.zeros(n, dtype=np.int64)
    return LeftOut((kernel,), (engine,), nothing, nothing, left_out, said, probabilities, near, cosines, function, unit)


def ridge_probabilities(left_out: Array, numbers: Ints, seed: int) -> Array:
    """Return probabilities (n, c) from left-out values, each fold's from sigmoids that were fitted on the others."""
    n_classes = int(numbers.max()) + 1
    out = np.zeros((len(numbers), n_classes))
    for train, test in spread_folds(numbers, seed):
        out[test] = Sigmoids.fit(left_out[train], numbers[train], n_classes).probabilities(left_out[test])
    return out


def _spec_part(choice: Any) -> dict[str, Any]:
    return {name: getattr(choice, name) for name in ("blocks", "layers", "scale", "jump", "edges")}


def _on(path: GNTK, kernel: Candidate) -> bool:
    return replace(kernel.spec, blocks=path.blocks, jump=path.jump) == path


def _part(progress: Callable[[str, int, int], None], stage: str, step: int, steps: int) -> Callable[[int, int], None]:
    return lambda done, total: progress(stage, step * total + done, steps * total)


def _all(
    K: Array,
    numbers: Ints,
    splits: Sequence[Split],
    Cs: Sequence[float],
    n_classes: int,
    seed: int,
    vote: bool,
    workers: Any,
    balanced: bool = False,
) -> list[_Outcome]:
    """Fit the machines of all splits, in processes where these pay."""
    from joblib import Parallel, delayed

    jobs = worker_count(workers) if len(K) > _QUICK and len(splits) > 1 else 1
    tasks = (
        delayed(_one)(K, numbers, split, C, n_classes, seed, vote, balanced)
        for split, C in zip(splits, Cs, strict=True)
    )
    return list(Parallel(n_jobs=jobs)(tasks))


def _one(
    K: Array, numbers: Ints, split: Split, C: float, n_classes: int, seed: int, vote: bool, balanced: bool
) -> _Outcome:
    train, test = split
    with single_threaded_blas():  # once for all machines: setting it takes as long as a small fit
        signs = class_signs(numbers, n_classes)[train]
        among = K[np.ix_(train, train)]
        machines = decide(among, signs, C, balanced=balanced)
        values = K[np.ix_(test, train)] @ machines.coefficients + machines.offsets
        said = place(values)
        if vote and n_classes > 2:
            said = next(predict_split(K, numbers, split, [C]))[0].astype(np.int64)
        shares = np.bincount(numbers[train], minlength=n_classes) / len(train)
        probabilities = np.broadcast_to(shares, (len(test), n_classes))
        if len(train) > 1:
            left_out = left_out_decisions(among, signs, numbers[train], C, seed, balanced=balanced)
            probabilities = Sigmoids.fit(left_out, numbers[train], n_classes).probabilities(values)
    return _Outcome(said, values, probabilities, machines)


def _nearest(cosine: Array, train: Ints) -> tuple[Ints, Array]:
    """Return the most alike training graphs (t, 3) and their cosines, −1 and 0 where there are fewer."""
    count = min(_NEAR, cosine.shape[1])
    # Sorting all of each row would cost more; of equal ones the first is taken.
    best = np.argsort(-cosine, axis=1, kind="stable")[:, :count]
    found = np.take_along_axis(cosine, best, axis=1)
    numbers, values = np.full((len(cosine), _NEAR), -1), np.zeros((len(cosine), _NEAR))
    numbers[:, :count] = np.where(np.isfinite(found), train[best], -1)
    values[:, :count] = np.where(np.isfinite(found), np.minimum(found, 1.0), 0.0)
    return numbers, values


def _column(said: Ints, k: int) -> tuple[Ints, Array]:
    """Return of each graph the column of the class that was said, and the sign: of two classes there is one column."""
    if k > 1:
        return said, np.ones(len(said))
    return np.zeros(len(said), dtype=np.int64), np.where(said == 1, 1.0, -1.0)


def _assembled(
    kernels: Sequence[Candidate],
    engines: Sequence[str],
    kernel_of: Ints,
    folds: Sequence[_Fold],
    outcomes: Sequence[_Outcome],
    numbers: Ints,
    near: Ints,
    cosines: Array,
) -> LeftOut:
    n, k = len(numbers), outcomes[0].values.shape[1]
    values, probabilities = np.zeros((n, k)), np.zeros((n, outcomes[0].probabilities.shape[1]))
    said, fold_of = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for number, (fold, outcome) in enumerate(zip(folds, outcomes, strict=True)):
        values[fold.test], probabilities[fold.test] = outcome.values, outcome.probabilities
        said[fold.test], fold_of[fold.test] = outcome.said, number
    column, sign = _column(said, k)

    def tell(chosen: Ints) -> Function:
        weights, offsets = np.zeros((len(chosen), n)), np.zeros(len(chosen))
        for number, fold in enumerate(folds):
            mine = np.flatnonzero(fold_of[chosen] == number)
            which, turn = column[chosen[mine]], sign[chosen[mine]]
            weights[np.ix_(mine, fold.train)] = turn[:, None] * fold.machines.coefficients[:, which].T
            offsets[mine] = turn * fold.machines.offsets[which]
        return Function(weights, offsets)

    return LeftOut(tuple(kernels), tuple(engines), kernel_of, fold_of, values, said, probabilities, near, cosines, tell)
