"""Compare kernels by closed-form leave-one-out, all depths in one pass.

Many kernels are compared on some of the graphs, and the few best of them on three times as many: the time of an
eigendecomposition grows with the cube, and what more graphs add to the comparison does not. Graphs that no
kernel can distinguish are computed once. A kernel costs one eigendecomposition, whatever the number of ridges.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastgntk._util.arrays import Array, Ints
from fastgntk._util.threads import run as run_on_threads
from fastgntk._util.threads import single_threaded_blas
from fastgntk.engines import equal_graphs
from fastgntk.errors import InputError
from fastgntk.graphs import GraphBatch, NodeFeatures
from fastgntk.kernels import GNTK, Kernel, Normalized
from fastgntk.models import INTERCEPT
from fastgntk.pairwise import Compute, gram_path, normalize, tangent_leaves
from fastgntk.selection._grid import passes_of
from fastgntk.selection._level_weights import level_weights
from fastgntk.solvers import EigenPath, Score

__all__ = ["Comparison", "Selected", "fraction_of"]

Advance = Callable[[float], None]
"""Called with the fraction of the work that is done, 0 to 1."""

_SECOND_ROUND = 3  # times as many graphs as in the first


@dataclass(frozen=True)
class Selected:
    """A kernel with its best regularisation and its score: the smaller, the better."""

    kernel: Kernel
    alpha: float
    score: float


@dataclass(frozen=True, eq=False)
class _Sample:
    """Graphs with targets, equal ones merged."""

    distinct: GraphBatch  # m graphs
    kinds: Ints  # (n,), which of them each graph is
    Y: Array  # (n, k), centred
    weights: Array | None  # (n,)

    def path(self, K: Array, normalized: bool) -> EigenPath:
        """Decompose a kernel among distinct graphs, in the units of ridge regression."""
        unit = 1.0 if normalized else float(np.average(K.diagonal()[self.kinds], weights=self.weights)) or 1.0
        return EigenPath(INTERCEPT + K / unit if not normalized else INTERCEPT + K, self.kinds, weights=self.weights)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Graphs with targets on which kernels are compared.

    ``score`` chooses the regularisation among ``alphas`` and returns how bad the kernel is with it. Up to ``screen``
    graphs there is one round.
    """

    batch: GraphBatch
    Y: Array
    weights: Array | None
    alphas: Sequence[float]
    score: Score
    screen: int
    seed: int
    compute: Compute

    def select(
        self, kernels: Sequence[Kernel], finalists: int, advance: Advance
    ) -> tuple[list[Selected], list[Selected]]:
        """Return the finalists, best first, and the score of every kernel in the first round."""
        groups = self._equal(kernels)
        some = subset(len(self.batch), self.Y, self.screen, self.seed)
        two_rounds = len(some) < len(self.batch)
        first_part = 0.5 if two_rounds else 1.0
        first = self._score_all(self._sample(groups, some), kernels, lambda done: advance(first_part * done))
        # Stable, so that of equal kernels the first wins.
        best = sorted(first, key=lambda found: found.score)[:finalists]
        if two_rounds:
            more = subset(len(self.batch), self.Y, _SECOND_ROUND * self.screen, self.seed)
            again = [
                one.kernel for part in passes_of(kernels) for one in best if kernels.index(one.kernel) in part.places
            ]
            second = self._score_all(self._sample(groups, more), again, lambda done: advance(0.5 + 0.5 * done))
            best = sorted(second, key=lambda found: found.score)
        return best, first

    def weigh_levels(self, single: Sequence[Selected], advance: Advance, tried: int = 3) -> Selected:
        """Return the best kernel with weights on all levels: those of the largest marginal likelihood.

        Everything but depth and jump is that of the ``tried`` best tangent kernels among ``single``, normalised or not.
        """
        tangent = [one for one in sorted(single, key=lambda one: one.score) if isinstance(_inner(one.kernel), GNTK)]
        if not tangent:
            raise InputError(
                "depth='mix' is for a single GNTK, normalised or not, but all kernels to try are combinations; add "
                "one, or use depth='best'."
            )
        kinds: dict[Kernel, int] = {}  # the largest depth of each kernel but for depth and jump
        for one in tangent:
            kind = one.kernel.map_leaves(lambda leaf: replace(leaf, blocks=1, jump=True))  # type: ignore[type-var]
            kinds[kind] = max(kinds.get(kind, 1), tangent_leaves(one.kernel)[0].blocks)
        groups = self._equal([one.kernel for one in single])
        sample = self._sample(groups, subset(len(self.batch), self.Y, self.screen, self.seed))
        best: Selected | None = None
        for number, (kind, depth) in enumerate(list(kinds.items())[:tried]):
            deepest, normalized = replace(tangent_leaves(kind)[0], blocks=depth), isinstance(kind, Normalized)
            path = gram_path(sample.distinct, deepest, compute=self.compute.watched(None))
            with single_threaded_blas():  # matrices this small gain nothing from more, and lose much on a busy machine
                weights = level_weights(path.levels[:, sample.kinds[:, None], sample.kinds], sample.Y, normalized)
            blocks = max(1, int(np.flatnonzero(weights)[-1]))
            mixed = replace(deepest, blocks=blocks, jump=tuple(weights[: blocks + 1].tolist()))
            K = path.at(blocks, mixed.jump)
            alpha, bad = self.score(sample.path(normalize(K) if normalized else K, normalized), sample.Y, self.alphas)
            if best is None or bad < best.score:
                best = Selected(mixed.normalized() if normalized else mixed, alpha, bad)
            advance((number + 1) / min(tried, len(kinds)))
        assert best is not None
        return best

    def _sample(self, groups: Ints, some: Ints) -> _Sample:
        """Take some graphs of the batch."""
        _, first, kinds = np.unique(groups[some], return_index=True, return_inverse=True)
        # Numbered as they first occur: without equal graphs, kinds and graphs are then in the same order.
        order = np.argsort(first)
        first, kinds = first[order], np.argsort(order)[kinds]
        targets, own = self.Y[some], None if self.weights is None else self.weights[some]
        centred = targets - np.average(targets, axis=0, weights=own)
        return _Sample(self.batch[some[first]], np.asarray(kinds, dtype=np.int64), centred, own)

    def _score_all(self, sample: _Sample, kernels: Sequence[Kernel], advance: Advance) -> list[Selected]:
        """Score kernels pass by pass, on threads: what takes time there is LAPACK, which releases the interpreter."""
        out: list[Selected | None] = [None] * len(kernels)
        passes = passes_of(kernels)
        for number, one in enumerate(passes):
            levels = one.compute(sample.distinct, self.compute.watched(None))

            def compute(place: int, levels: Any = levels) -> None:
                kernel = kernels[place]
                path = sample.path(levels.gram(kernel), isinstance(kernel, Normalized))
                out[place] = Selected(kernel, *self.score(path, sample.Y, self.alphas))

            def report(done: int, total: int, number: int = number) -> None:
                advance((number + done / total) / len(passes))

            # A decomposition takes some seven matrices beside the levels.
            spare = self.compute.budget - levels.nbytes
            workers = min(self.compute.threads, max(1, spare // (7 * 8 * len(sample.distinct) ** 2 + 1)))
            with single_threaded_blas():
                run_on_threads(compute, one.places, workers=workers, progress=report)
        return [found for found in out if found is not None]

    def _equal(self, kernels: Sequence[Kernel]) -> Ints:
        """Return for each graph the number of the first one that no kernel distinguishes from it."""
        leaves = [leaf for kernel in kernels for leaf in tangent_leaves(kernel)]
        groups = []
        for kind in dict.fromkeys(leaf.features for leaf in leaves):
            same = [leaf for leaf in leaves if leaf.features == kind]
            ready = NodeFeatures(kind).fit(self.batch).transform(self.batch)
            blocks, typed = max(leaf.blocks for leaf in same), any(leaf.typed for leaf in same)
            groups.append(equal_graphs(ready, blocks, typed=typed))
        if len(groups) == 1:
            return groups[0]
        _, first, number = np.unique(np.stack(groups), axis=1, return_index=True, return_inverse=True)
        return np.asarray(first[number.ravel()], dtype=np.int64)


def subset(n: int, Y: Array, most: int, seed: int) -> Ints:
    """Return some graphs, in order; a few more if targets would be constant among them."""
    if n <= most:
        return np.arange(n)
    shuffled = np.random.default_rng(seed).permutation(n)
    varied = np.ptp(Y[shuffled[:most]], axis=0) > 0
    extra = [int(np.argmax(Y[:, k] != Y[shuffled[0], k])) for k in np.flatnonzero(~varied)]
    return np.unique(np.concatenate([shuffled[:most], np.array(extra, dtype=np.int64)]))


def fraction_of(progress: Any, start: float, stop: float) -> Advance:
    """Return a callback for one part of the work, of a callback ``progress(done, total)`` or None."""
    if progress is None:
        return lambda share: None  # noqa: ARG005
    return lambda share: progress(round(1000 * (start + (stop - start) * share)), 1000)


def _inner(kernel: Kernel) -> Kernel:
    return kernel.kernel if isinstance(kernel, Normalized) else kernel
