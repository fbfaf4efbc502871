"""Which kernel and which ridge: scored by closed-form leave-one-out, all depths from one pass.

Many kernels are compared on some of the graphs, and the few best of them on three times as many: the time of an
eigendecomposition grows with the cube, and what more graphs tell about which kernel is better does not. Graphs that no
kernel of the grid can tell apart are computed once. A kernel costs one eigendecomposition, whatever the number of
ridges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastgntk._util.memory import memory_budget, worker_count
from fastgntk._util.threads import run as run_on_threads
from fastgntk._util.threads import single_threaded_blas
from fastgntk.engines import equal_graphs
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch
from fastgntk.kernels import GNTK
from fastgntk.models import INTERCEPT, KernelOptions
from fastgntk.pairwise import fitted, gram_path, normalize
from fastgntk.selection._grid import Candidate, Grid
from fastgntk.selection._level_weights import mix_levels
from fastgntk.solvers import RIDGES, EigenPath, Score

__all__ = ["Advance", "Selected", "mixed", "select", "subset"]

Array = NDArray[np.float64]
Advance = Callable[[float], None]
"""Called with the share of the work that is done, 0 to 1."""


_SECOND_ROUND = 3  # times as many graphs as in the first


@dataclass(frozen=True)
class Selected:
    """A kernel with its best ridge and what that scored: the smaller, the better."""

    candidate: Candidate
    ridge: float
    score: float


@dataclass(frozen=True, eq=False)
class _Sample:
    """Graphs with targets, equal ones merged."""

    distinct: GraphBatch  # m graphs
    kinds: NDArray[np.int64]  # (n,), which of them each graph is
    Y: Array  # (n, k), centred
    weights: Array | None  # (n,)

    @classmethod
    def of(
        cls,
        batch: GraphBatch,
        groups: NDArray[np.int64],
        Y: Array,
        weights: Array | None,
        some: NDArray[np.int64],
    ) -> _Sample:
        """Take some graphs of a batch."""
        _, first, kinds = np.unique(groups[some], return_index=True, return_inverse=True)
        # Numbered as they first occur: without equal graphs, kinds and graphs are then in the same order.
        order = np.argsort(first)
        first, kinds = first[order], np.argsort(order)[kinds]
        targets, own = Y[some], None if weights is None else weights[some]
        centred = targets - np.average(targets, axis=0, weights=own)
        return cls(batch[some[first]], np.asarray(kinds, dtype=np.int64), centred, own)

    def in_units(self, K: Array, normalized: bool) -> Array:
        """Return the raw kernel among distinct graphs as ridge regression takes it (`_rows`)."""
        if normalized:
            return INTERCEPT + normalize(K)
        return INTERCEPT + K / (float(np.average(K.diagonal()[self.kinds], weights=self.weights)) or 1.0)

    def path(self, K: Array, normalized: bool) -> EigenPath:
        """Decompose a raw kernel among distinct graphs."""
        return EigenPath(self.in_units(K, normalized), self.kinds, weights=self.weights)


def select(
    batch: GraphBatch,
    Y: Array,
    grid: Grid,
    options: KernelOptions,
    *,
    weights: Array | None = None,
    ridges: Sequence[float] = RIDGES,
    score: Score,
    screen: int,
    finalists: int,
    seed: int = 0,
    advance: Advance = lambda share: None,  # noqa: ARG005  # nobody is watching
) -> tuple[list[Selected], list[Selected]]:
    """Return the finalists, best first, and what every kernel scored in the first round.

    ``options`` say how kernels are computed; their own kernel is not used. Up to ``screen`` graphs there is one round.
    """
    for name, count in (("screen", screen), ("finalists", finalists)):
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            raise InputError(f"{name} must be a whole number, 1 or more, but is {count!r}.")
    groups = _equal(batch, options, grid)
    some = subset(len(batch), Y, screen, seed)
    two_rounds = len(some) < len(batch)
    first_share = 0.5 if two_rounds else 1.0
    candidates = [(path, list(grid.along(path))) for path in grid.paths()]
    first = _score_all(
        _Sample.of(batch, groups, Y, weights, some),
        candidates,
        options,
        ridges,
        score,
        lambda done: advance(first_share * done),
    )
    # Stable, so that of equal kernels the first of the grid wins.
    ranked = sorted(first, key=lambda found: found.score)
    best = ranked[:finalists]
    if two_rounds:
        again = [(path, [b.candidate for b in best if _on_path(b.candidate, path)]) for path in grid.paths()]
        shorter = [(replace(path, blocks=max(c.spec.blocks for c in along)), along) for path, along in again if along]
        more = subset(len(batch), Y, _SECOND_ROUND * screen, seed)
        second = _score_all(
            _Sample.of(batch, groups, Y, weights, more),
            shorter,
            options,
            ridges,
            score,
            lambda done: advance(0.5 + 0.5 * done),
        )
        best = sorted(second, key=lambda found: found.score)
    return best, first


def _score_all(
    sample: _Sample,
    candidates: list[tuple[GNTK, list[Candidate]]],
    options: KernelOptions,
    ridges: Sequence[float],
    score: Score,
    advance: Advance,
) -> list[Selected]:
    """Score kernels path by path, on threads: what takes time there is LAPACK, which releases the interpreter."""
    out: list[Selected] = []
    for number, (spec, along) in enumerate(candidates):
        levels = gram_path(sample.distinct, spec, features=options.features, **options.how)
        found: list[Selected | None] = [None] * len(along)

        def compute(i: int, along: Any = along, levels: Any = levels, found: Any = found) -> None:
            candidate = along[i]
            K = levels.at(candidate.spec.blocks, candidate.spec.jump)
            found[i] = Selected(candidate, *score(sample.path(K, candidate.normalize), sample.Y, ridges))

        def report(done: int, total: int, number: int = number) -> None:
            advance((number + done / total) / len(candidates))

        # A decomposition takes some seven matrices beside the levels.
        spare = memory_budget(options.memory) - levels.levels.nbytes
        workers = min(worker_count(options.workers), max(1, spare // (7 * 8 * len(sample.distinct) ** 2 + 1)))
        with single_threaded_blas():
            run_on_threads(compute, range(len(along)), workers=workers, progress=report)
        out += [one for one in found if one is not None]
    return out


def _equal(batch: GraphBatch, options: KernelOptions, grid: Grid) -> NDArray[np.int64]:
    step = fitted(options.features, batch)
    return equal_graphs(step.transform(batch), max(grid.blocks), typed="typed" in grid.edges)


def subset(n: int, Y: Array, most: int, seed: int) -> NDArray[np.int64]:
    """Return some graphs, in order; targets that are constant among them would say nothing, so a few more are taken."""
    if n <= most:
        return np.arange(n)
    shuffled = np.random.default_rng(seed).permutation(n)
    varied = np.ptp(Y[shuffled[:most]], axis=0) > 0
    extra = [int(np.argmax(Y[:, k] != Y[shuffled[0], k])) for k in np.flatnonzero(~varied)]
    return np.unique(np.concatenate([shuffled[:most], np.array(extra, dtype=np.int64)]))


def _on_path(candidate: Candidate, path: GNTK) -> bool:
    return replace(candidate.spec, blocks=1, jump=True) == replace(path, blocks=1, jump=True)


def mixed(
    batch: GraphBatch,
    Y: Array,
    grid: Grid,
    options: KernelOptions,
    single: Sequence[Selected],
    *,
    weights: Array | None = None,
    ridges: Sequence[float],
    score: Score,
    screen: int,
    seed: int = 0,
    tried: int = 3,
    advance: Advance = lambda share: None,  # noqa: ARG005
) -> Selected:
    """Return the best mix of depths: level weights of the largest marginal likelihood, ridge by ``score``.

    Layers, scale, edges and normalisation are those of the ``tried`` best combinations among kernels of a single depth.
    """
    sample = _Sample.of(batch, _equal(batch, options, grid), Y, weights, subset(len(batch), Y, screen, seed))
    kinds: list[tuple[GNTK, bool]] = []
    for found in sorted(single, key=lambda one: one.score):
        kind = (replace(found.candidate.spec, blocks=max(grid.blocks), jump=True), found.candidate.normalize)
        if kind not in kinds:
            kinds.append(kind)
    best: Selected | None = None
    for number, (deepest_kernel, normalized) in enumerate(kinds[:tried]):
        path = gram_path(sample.distinct, deepest_kernel, features=options.features, **options.how)
        with single_threaded_blas():  # matrices this small gain nothing from more, and lose much on a busy machine
            mix = mix_levels(path.levels[:, sample.kinds[:, None], sample.kinds], sample.Y, normalized)
        deepest = max(1, int(np.flatnonzero(mix)[-1]))
        spec = replace(deepest_kernel, blocks=deepest, jump=tuple(mix[: deepest + 1].tolist()))
        ridge, bad = score(sample.path(path.at(deepest, spec.jump), normalized), sample.Y, ridges)
        if best is None or bad < best.score:
            best = Selected(Candidate(spec, normalized), ridge, bad)
        advance((number + 1) / min(tried, len(kinds)))
    assert best is not None  # a grid has at least one kernel
    return best
